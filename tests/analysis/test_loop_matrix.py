import numpy as np
import pytest
from loop_matrix import joint_freedoms, loop_closure_matrix, loop_cycles
from oracles import rank
from random_mechanisms import random_loops
from scipy.linalg import null_space, subspace_angles

import sparsebody as sb
from sparsebody.analysis.cycle_bases import LOOP_BASES
from sparsebody.equations.initial_state import consistent_state
from sparsebody.model.gallery import build


def door():
    """Return a door on two hinges, and a bar that nothing joins to the world."""
    mechanism = sb.Mechanism("door")
    for name in ("door", "knob", "loose"):
        mechanism.add_body(name, mass=1.0, inertia=[1, 1, 1])
    for height in (0, 1):
        mechanism.add_joint(
            f"hinge {height}", sb.Revolute(), sb.WORLD, "door", point=[0, 0, height]
        )
        mechanism.add_joint(f"lock {height}", sb.Spherical(), "knob", "loose", point=[1, 0, height])
    mechanism.add_joint("free", sb.Free(), sb.WORLD, "knob")
    return mechanism


MECHANISMS = {
    "ladder": lambda: build("ladder", rungs=4),
    "lattice": lambda: build("lattice", rows=3, columns=3, joint="universal"),
    "cube": lambda: build("lattice", rows=2, columns=2, layers=2),
    "scissor": lambda: build("scissor", pairs=3, drive=True),
    "torus": lambda: build("four-bar-torus", rows=3, columns=3),
    "stewart": lambda: build("stewart", drive=True),
    "door": door,
    "random": lambda: random_loops(np.random.default_rng(1), 8, 4),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_all_bases_leave_the_same_velocities_and_as_many_as_the_bodies_have(name):
    system = MECHANISMS[name]().compile()
    state = consistent_state(system)
    left = None
    for basis in LOOP_BASES:
        cycles = loop_cycles(system, basis)
        if cycles is None:
            assert basis == "faces"
            continue
        null = null_space(loop_closure_matrix(system, state, cycles).toarray(), rcond=1e-10)
        if left is None:
            left = null
            assert null.shape[1] == _mobility(system, state)
        assert null.shape == left.shape, basis
        if null.shape[1]:
            assert subspace_angles(null, left).max() < 1e-6, basis


def _mobility(system, state):
    """Freedoms of the joints: those of the bodies, less six for what hangs on no joint with rows.

    What moves as one with joints of no rows alone has no velocity in a joint.
    """
    rooted = np.arange(system.n_bodies + 1)
    for j in np.flatnonzero(np.diff(system.first_row) > 0):
        one, two = rooted[system.predecessor[j]], rooted[system.successor[j]]
        rooted[rooted == one] = two
    n_loose = len(set(rooted[:-1].tolist()) - {rooted[-1]})
    return 6 * (system.n_bodies - n_loose) - rank(system, state)


def test_velocities_around_a_loop_add_up_to_nothing():
    system = random_loops(np.random.default_rng(4), 6, 3, moving=True).compile()
    state = consistent_state(system)
    free, n_free = joint_freedoms(system, state)
    motion = sb.ForwardDynamics(system, state).evaluate(state).motion
    velocities = []
    for j in range(system.n_joints):
        S = free[j, : n_free[j]]
        qd = np.linalg.lstsq(S.T, motion.velocity[j], rcond=None)[0]
        np.testing.assert_allclose(S.T @ qd, motion.velocity[j] * bool(n_free[j]), atol=1e-9)
        velocities.append(qd)
    for basis in LOOP_BASES:
        cycles = loop_cycles(system, basis)
        if cycles is not None:
            K = loop_closure_matrix(system, state, cycles)
            assert np.abs(K @ np.concatenate(velocities)).max() < 1e-9

"""Initial assembly: nearest poses, consistent velocities, drives, and what cannot close."""

import numpy as np
import oracles
import pytest
from random_mechanisms import random_loops

import sparsebody as sb
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.equations.initial_state import consistent_state, mechanism_size
from sparsebody.equations.system_motion import constraint_errors
from sparsebody.errors import AssemblyError, ModelError
from sparsebody.kinematics.joint_motion import (
    body_rotations,
    joint_motion,
)
from sparsebody.kinematics.poses import displaced, point_position
from sparsebody.model.frames import Frame
from sparsebody.model.gallery import build
from sparsebody.model.joints import (
    JOINT_TYPES,
    Cylindrical,
    Fixed,
    JointType,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
)
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.system import State, System
from sparsebody.model.time_functions import Polynomial, Sinusoid
from sparsebody.spatial import plucker_parts, quaternion_exponential, rotation_logarithm

MOBILE = ("spherical", "universal", "planar", "cylindrical", "point-on-line", "point-on-plane")


def errors(system: System, state: State) -> tuple[float, float]:
    """Largest position and velocity error of any row."""
    position, _ = constraint_errors(system, state)
    rows, asked = dense_rows(system, state), oracles.prescribed_velocities(system, state.time)
    return np.abs(position).max(), np.abs(rows @ state.velocity.ravel() - asked).max()


def dense_rows(system: System, state: State) -> np.ndarray:
    """A (n_rows, 6 n_bodies) in body coordinates, from the textbook form."""
    book, n = oracles.assemble(system, state), 6 * system.n_bodies
    A = book.matrix.toarray()[n:, :n].reshape(-1, system.n_bodies, 6)
    to_world = np.linalg.inv(book.world_to_body)
    return np.einsum("rni,nij->rnj", A, to_world).reshape(-1, n)


def least_solution(system: System, A: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The solution (n_bodies, 6) of A x = right with the least x' I x."""
    L = [np.linalg.cholesky(I) for I in system.spatial_inertia]
    blocks = A.reshape(len(A), -1, 6)
    whitened = np.stack([np.linalg.solve(L_i, blocks[:, i].T).T for i, L_i in enumerate(L)], axis=1)
    y = np.linalg.lstsq(whitened.reshape(A.shape), right, rcond=1e-9)[0].reshape(-1, 6)
    return np.array([np.linalg.solve(L_i.T, y_i) for L_i, y_i in zip(L, y, strict=True)])


def twist_between(first: State, second: State) -> np.ndarray:
    """Twists (n_bodies, 6) in the body coordinates of `first`."""
    R_1, R_2 = body_rotations(first), body_rotations(second)
    turn = [rotation_logarithm(one.T @ two) for one, two in zip(R_1, R_2, strict=True)]
    slide = np.einsum("nij,ni->nj", R_1, second.position - first.position)
    return np.concatenate([turn, slide], axis=1)


SYSTEMS = {
    "four-bar": lambda: build("four-bar", speed=2.0),
    "scissor": lambda: build("scissor", pairs=5, drive=True),
    "free scissor": lambda: build("scissor", pairs=5),
    "bricard": lambda: build("bricard"),
    "ladder": lambda: build("ladder", rungs=8, disorder=0.1),
    "stewart": lambda: build("stewart", drive=True),
} | {
    f"random {k}": lambda k=k: random_loops(np.random.default_rng(k), 8, 2, MOBILE, moving=True)
    for k in (1, 2, 3)
}


@pytest.mark.parametrize("size", [1e-6, 1e-3, 3e-2])
@pytest.mark.parametrize("name", SYSTEMS)
def test_perturbed_loops_close_and_move_consistently(name: str, size: float) -> None:
    system = SYSTEMS[name]().compile()
    rng = np.random.default_rng(7)
    before = displaced(system.initial_state, size * rng.normal(size=(system.n_bodies, 6)))
    before = before.with_(velocity=before.velocity + rng.normal(size=before.velocity.shape))
    after = consistent_state(system, before)
    position, velocity = errors(system, after)
    assert position <= 1e-12 * max(1.0, mechanism_size(system))
    assert velocity <= 1e-11
    assert np.abs(twist_between(before, after)).max() < 30.0 * size
    assert after.time == before.time


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_correction_is_the_least_in_the_metric_of_the_inertias(name: str) -> None:
    system = SYSTEMS[name]().compile()
    closed = consistent_state(system)
    rng, size = np.random.default_rng(8), 1e-5
    before = displaced(closed, size * rng.normal(size=(system.n_bodies, 6)))
    twist = twist_between(before, consistent_state(system, before))
    delta, _ = constraint_errors(system, before)
    expected = least_solution(system, dense_rows(system, closed), -delta)
    np.testing.assert_allclose(twist, expected, atol=1e-2 * np.abs(expected).max())


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_change_of_velocity_is_the_least_in_the_metric_of_the_inertias(name: str) -> None:
    system = SYSTEMS[name]().compile()
    closed = consistent_state(system)
    rng = np.random.default_rng(9)
    before = closed.with_(velocity=rng.normal(size=closed.velocity.shape))
    after = consistent_state(system, before)
    A, asked = dense_rows(system, closed), oracles.prescribed_velocities(system, closed.time)
    expected = least_solution(system, A, asked - A @ before.velocity.ravel())
    np.testing.assert_allclose(after.velocity - before.velocity, expected, atol=1e-8)
    np.testing.assert_array_equal(after.position, closed.position)


def test_a_consistent_state_stays_as_it_is() -> None:
    system = build("four-bar", speed=2.0).compile()
    once = consistent_state(system)
    twice = consistent_state(system, once)
    np.testing.assert_array_equal(once.position, twice.position)
    np.testing.assert_array_equal(once.orientation, twice.orientation)
    np.testing.assert_allclose(once.velocity, twice.velocity, atol=1e-13)


def test_far_from_the_origin_rounding_is_no_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism, x = Mechanism(), 1e7 / 3
    for name, there in (("left", x), ("right", x + 0.7)):
        mechanism.add_body(name, mass=1.0, inertia=[0.1, 0.2, 0.3], position=[there, x, 0.0])
    frames = {"predecessor_frame": at(0.4), "successor_frame": at(-0.3)}
    mechanism.add_joint("hinge", Revolute(), "left", "right", **frames)
    system = mechanism.compile()
    assert errors(system, system.initial_state)[0] > 1e-10
    monkeypatch.delattr("sparsebody.equations.initial_state.splu")
    state = consistent_state(system)
    np.testing.assert_array_equal(state.position, system.initial_state.position)


def test_a_body_off_its_hinge_is_moved_back_without_turning() -> None:
    mechanism = Mechanism()
    mechanism.add_body("bar", mass=1.0, inertia=[0.1, 0.1, 0.1], position=[0.6, 0, 0])
    mechanism.add_joint("hinge", Revolute(), WORLD, "bar", successor_frame=at(-0.5))
    state = consistent_state(mechanism.compile())
    np.testing.assert_allclose(state.position, [[0.5, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(state.orientation, [[1, 0, 0, 0]], atol=1e-12)


def at(x: float) -> Frame:
    return Frame((x, 0.0, 0.0))


@pytest.mark.parametrize("time", [0.0, 0.7, 2.5, 40.0])
def test_drives_are_obeyed_at_any_time(time: float) -> None:
    mechanism = Mechanism()
    wave, ramp = Sinusoid(0.3, 2.0, offset=0.2), Polynomial((0.1, 0.3))
    mechanism.add_body("slider", mass=1.0, inertia=[0.1, 0.1, 0.1])
    mechanism.add_body("wheel", mass=1.0, inertia=[0.1, 0.1, 0.1])
    mechanism.add_joint("slide", Prismatic(), WORLD, "slider", axis=[1, 0, 0], prescribed=wave)
    mechanism.add_joint("axle", Revolute(), "slider", "wheel", prescribed=ramp)
    system = mechanism.compile()
    state = consistent_state(system, system.initial_state.with_(time=time))
    place, speed, _ = wave(time)
    angle, rate, _ = ramp(time)
    np.testing.assert_allclose(point_position(system, state, "slider", [0, 0, 0])[0], place)
    R = body_rotations(state)[1]
    np.testing.assert_allclose(R[:2, 0], [np.cos(angle), np.sin(angle)], atol=1e-12)
    np.testing.assert_allclose(state.velocity[0], [0, 0, 0, speed, 0, 0], atol=1e-12)
    np.testing.assert_allclose(state.velocity[1, :3], [0, 0, rate], atol=1e-12)
    turns = (angle - state.coordinate[1]) / (2 * np.pi)
    np.testing.assert_allclose(turns, np.round(turns), atol=1e-10)


@pytest.mark.parametrize(
    "turn", [(0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (1, 1, 1, 1), (0.02, 1, 0, 0)]
)
@pytest.mark.parametrize("joint_type", [Fixed(), Prismatic(), Revolute(), Cylindrical(), Planar()])
def test_a_joint_put_together_backwards_is_turned_round(
    joint_type: JointType, turn: tuple[float, ...]
) -> None:
    """Half a turn, and a third of one about the diagonal, leave sines or products zero."""
    mechanism = Mechanism("backwards")
    orientation = np.array(turn) / np.linalg.norm(turn)
    mechanism.add_body("bar", mass=1.0, inertia=[0.1, 0.2, 0.2], orientation=orientation)
    mechanism.add_joint("joint", joint_type, WORLD, "bar", predecessor_frame=Frame())
    system = mechanism.compile()
    motion = joint_motion(system, consistent_state(system))
    E, r = motion.rotation[0], motion.translation[0]
    q = joint_type.coordinates(E, r)
    np.testing.assert_allclose(plucker_parts(joint_type.transform(q))[0], E, atol=1e-11)


@pytest.mark.parametrize("size", [0.0, 1e-9, 0.3])
@pytest.mark.parametrize("axis", [(1, 0, 0), (1, 1, 0), (0.6, 0, 0.8)])
@pytest.mark.parametrize("name", sorted(JOINT_TYPES))
def test_open_chains_close_whatever_way_their_bodies_lie(
    name: str, axis: tuple[float, ...], size: float
) -> None:
    """Bodies turned half round about axes where errors, or their rates, are zero; or near them."""
    number = {"helical": (0.1,), "constant-distance": (0.7,)}.get(name, ())
    rng = np.random.default_rng(1)
    mechanism, before = Mechanism("heap"), WORLD
    for i in range(3):
        turn = np.pi * np.array(axis) / np.linalg.norm(axis) + size * rng.normal(size=3)
        mechanism.add_body(
            f"body-{i}",
            mass=1.0,
            inertia=[0.1, 0.2, 0.25],
            position=[2.0 + i, -1.0, 3.0] + size * rng.normal(size=3),
            orientation=quaternion_exponential(turn),
        )
        mechanism.add_joint(
            f"joint-{i}",
            JOINT_TYPES[name](*number),
            before,
            f"body-{i}",
            predecessor_frame=Frame((0.5, 0.1, 0.2)),
            successor_frame=Frame((-0.3, 0.2, 0.1)),
        )
        before = f"body-{i}"
    system = mechanism.compile()
    if system.n_rows:
        assert errors(system, consistent_state(system))[0] < 1e-10


@pytest.mark.parametrize("seed", range(8))
def test_slender_bodies_do_not_spin_away_from_closing(seed: int) -> None:
    system = build("governor").compile()
    rng = np.random.default_rng(seed)
    start = displaced(system.initial_state, 0.05 * rng.normal(size=(system.n_bodies, 6)))
    assert errors(system, consistent_state(system, start))[0] < 1e-10


def test_joints_that_cannot_close_are_named_with_their_gap() -> None:
    mechanism = Mechanism("triangle")
    mechanism.add_body("bar", mass=1.0, inertia=[0.1, 0.1, 0.1])
    mechanism.add_joint("left", Spherical(), WORLD, "bar", predecessor_frame=at(0.0))
    mechanism.add_joint("right", Spherical(), WORLD, "bar", predecessor_frame=at(1.0))
    message = r"mechanism 'triangle' does not close.*'(left|right)' is off by 0\.5.*correct"
    with pytest.raises(AssemblyError, match=message):
        consistent_state(mechanism.compile())


def test_a_drive_against_a_joint_is_refused() -> None:
    mechanism = Mechanism("stuck")
    mechanism.add_body("bar", mass=1.0, inertia=[0.1, 0.1, 0.1])
    still, turning = Polynomial((0.0,)), Polynomial((0.0, 2.0))
    mechanism.add_joint("still", Revolute(), WORLD, "bar", prescribed=still)
    mechanism.add_joint("turning", Revolute(), WORLD, "bar", prescribed=turning)
    message = r"'stuck' has no consistent velocity.*'(still|turning)' is off by 1 .*works against"
    with pytest.raises(AssemblyError, match=message):
        consistent_state(mechanism.compile())


def test_a_state_that_is_none_is_refused() -> None:
    system = build("four-bar").compile()
    bad = system.initial_state.with_(position=np.full((3, 3), np.nan))
    with pytest.raises(ModelError, match=r"state.position of 'crank' is \[nan nan nan\]"):
        consistent_state(system, bad)


def test_without_joints_only_the_coordinates_are_filled() -> None:
    mechanism = Mechanism()
    mechanism.add_body("stone", mass=1.0, inertia=[1, 1, 1], linear_velocity=[1, 2, 3])
    system = mechanism.compile()
    state = consistent_state(system)
    np.testing.assert_array_equal(state.velocity, system.initial_state.velocity)
    assert mechanism_size(system) == 1.0


def test_forward_dynamics_assembles_by_itself() -> None:
    mechanism = Mechanism()
    mechanism.add_body("bar", mass=1.0, inertia=[0.1, 0.1, 0.1], position=[0.5, 0, 0])
    mechanism.add_joint("one", Spherical(), WORLD, "bar", successor_frame=at(-0.4))
    mechanism.add_joint("two", Spherical(), WORLD, "bar", point=[1, 0, 0])
    dynamics = ForwardDynamics(build("four-bar").compile())
    assert dynamics.rank == 17
    with pytest.raises(AssemblyError, match="'one'"):
        ForwardDynamics(mechanism.compile())


def test_soft_motions_get_consistent_velocities() -> None:
    """In a lift of 200 pairs, singular values go down to 1e-6 of the largest."""
    system = build("scissor", pairs=200).compile()
    state = system.initial_state
    velocity = np.random.default_rng(0).normal(size=state.velocity.shape)
    after = consistent_state(system, state.with_(velocity=velocity))
    assert errors(system, after)[1] <= 1e-11


def test_bodies_that_are_held_stay_and_heavier_ones_move_less():
    def shifts(**options):
        mechanism = sb.Mechanism("pair")
        for name, x in (("left", 0.0), ("right", 1.5)):
            mechanism.add_body(name, mass=1.0, inertia=[1, 1, 1], position=[x, 0, 0])
        frame = sb.Frame([0.5, 0, 0]), sb.Frame([-0.5, 0, 0])
        mechanism.add_joint(
            "ball",
            sb.Spherical(),
            "left",
            "right",
            predecessor_frame=frame[0],
            successor_frame=frame[1],
        )
        system = mechanism.compile()
        state = sb.consistent_state(system, **options)
        told = {change.body for change in sb.state_changes(system, system.initial_state, state)}
        return np.abs(state.position - system.initial_state.position)[:, 0], told

    np.testing.assert_allclose(shifts()[0], [0.25, 0.25])
    found, told = shifts(fixed=["left"])
    assert (found[0], told) == (0.0, {"right"})
    assert found[1] == pytest.approx(0.5)
    np.testing.assert_allclose(shifts(weights={"right": 4.0})[0], [0.4, 0.1], rtol=1e-9)
    with pytest.raises(ModelError, match=r"no body 'middle'"):
        shifts(fixed=["middle"])
    with pytest.raises(ModelError, match=r"body 'left': weight is 0.0; it must be positive"):
        shifts(weights={"left": 0.0})

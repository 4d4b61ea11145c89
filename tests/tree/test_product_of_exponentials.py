import numpy as np
import pytest
from product_of_exponentials import (
    ScrewTree,
    adjoint,
    articulated_bodies,
    pose,
    screw_tree,
)
from random_mechanisms import random_tree

from sparsebody.errors import ModelError
from sparsebody.spatial import rotation_exponential, spatial_inertia
from sparsebody.tree import joint_coordinates, spanning_tree, tree_dynamics
from sparsebody.tree.rnea import recursion
from sparsebody.tree.tree_motion import body_accelerations, link_forces, motion_at_coordinates

SCREWS = ("revolute", "prismatic", "helical")
LINEAR_FIRST = [3, 4, 5, 0, 1, 2]


@pytest.mark.parametrize("seed", range(10))
def test_products_of_exponentials_and_the_compiled_recursion_agree(seed):
    rng = np.random.default_rng(seed)
    system = random_tree(rng, 9, SCREWS).compile()
    tree = spanning_tree(system)
    q, qd = joint_coordinates(tree, system.initial_state)
    tau = rng.normal(size=tree.n_velocities)
    gravity = np.concatenate([np.zeros(3), -system.gravity])
    found = articulated_bodies(screw_tree(tree), q, qd, tau, base_acceleration=gravity)
    compiled = tree_dynamics("aba", system, tree).joint_acceleration(q, qd, tau)
    np.testing.assert_allclose(compiled, found.qdd, atol=1e-11 * np.abs(found.qdd).max())
    own = system.initial_state.velocity[tree.body]
    np.testing.assert_allclose(found.velocity, own, atol=1e-11)


def test_external_wrenches_act_alike():
    rng = np.random.default_rng(20)
    system = random_tree(rng, 6, SCREWS).compile()
    tree = spanning_tree(system)
    q, qd = joint_coordinates(tree, system.initial_state)
    wrench = rng.normal(size=(6, 6))
    tau = np.zeros(6)
    gravity = np.concatenate([np.zeros(3), -system.gravity])
    found = articulated_bodies(screw_tree(tree), q, qd, tau, wrench[tree.body], gravity)
    motion = motion_at_coordinates(tree, q, qd)
    required, acceleration, _ = recursion(
        tree, motion, found.qdd, link_forces(tree, motion, wrench)
    )
    np.testing.assert_allclose(required, tau, atol=1e-11 * np.abs(found.qdd).max())
    bodies = body_accelerations(tree, motion, acceleration)[tree.body]
    felt = found.acceleration.copy()  # gravity is an acceleration of the base there
    for i, R in enumerate(motion.pose[:, :9].reshape(-1, 3, 3)):
        far = tree.links.constants[i, 12:21].reshape(3, 3)
        felt[i, 3:] += far @ R.T @ system.gravity
    np.testing.assert_allclose(felt, bodies, atol=1e-11 * np.abs(bodies).max())


def test_the_bar_with_a_disc_has_the_articulated_inertia_of_the_worked_example():
    length, m_bar, m_disc = 0.8, 2.0, 3.0
    bar, disc = np.array([0.11, 0.02, 0.13]), np.array([0.05, 0.09, 0.06])  # about the centers
    along = np.array([0.0, 1.0, 0.0])
    at_pole = spatial_inertia(m_bar, 0.5 * length * along, np.diag(bar))
    tree = ScrewTree(
        parent=np.array([-1, 0]),
        home=np.array([np.eye(4), pose(np.eye(3), length * along)]),
        screw=np.array([[1.0, 0, 0, 0, 0, 0], [0, 1.0, 0, 0, 0, 0]]),  # the disc spins about y
        inertia=np.array([at_pole, spatial_inertia(m_disc, np.zeros(3), np.diag(disc))]),
    )
    found = articulated_bodies(tree, np.zeros(2), np.zeros(2), np.zeros(2))
    m, first = m_bar + m_disc, length * m_disc + 0.5 * length * m_bar
    pole = bar + m_bar * (0.5 * length) ** 2 * np.array([1.0, 0.0, 1.0])
    expected = np.diag(
        [m, m, m, pole[0] + disc[0] + m_disc * length**2, pole[1], pole[2] + disc[2]]
    )
    expected[5, 5] += m_disc * length**2
    expected[0, 5] = expected[5, 0] = -first
    expected[2, 3] = expected[3, 2] = first
    inertia = found.inertia[0][np.ix_(LINEAR_FIRST, LINEAR_FIRST)]
    np.testing.assert_allclose(inertia, expected, atol=1e-14)
    alpha_x, alpha_y = 1.7, -0.6
    wrench = inertia @ [0.0, 0.0, 0.0, alpha_x, alpha_y, 0.0]
    np.testing.assert_allclose(
        wrench, [0, 0, alpha_x * first, expected[3, 3] * alpha_x, pole[1] * alpha_y, 0], atol=1e-14
    )


def test_adjoints_compose():
    rng = np.random.default_rng(1)
    g = [pose(rotation_exponential(rng.normal(size=3)), rng.normal(size=3)) for _ in range(2)]
    np.testing.assert_allclose(adjoint(g[0] @ g[1]), adjoint(g[0]) @ adjoint(g[1]), atol=1e-14)


def test_joints_of_several_freedoms_are_refused():
    system = random_tree(np.random.default_rng(0), 2, ("spherical",)).compile()
    with pytest.raises(ModelError, match="joint 'j0' is not a screw's"):
        screw_tree(spanning_tree(system))

"""Methods for closed loops on 500 random mechanisms, and what holds for their matrices."""

import numpy as np
import pytest
from overconstrained import random_mechanism
from pinocchio_models import PinocchioModel

import sparsebody as sb
from sparsebody.dynamics.tree import TREE_CHOICES, TREE_METHODS, spanning_tree, tree_dynamics
from sparsebody.dynamics.tree.branch_sparsity import symmetric
from sparsebody.dynamics.tree.crba import free_equations
from sparsebody.dynamics.tree.loops_direct import LoopsDirect
from sparsebody.dynamics.tree.loops_force import LoopsForce
from sparsebody.dynamics.tree.loops_projection import LoopsProjection
from sparsebody.dynamics.tree.problem import TreeProblem
from sparsebody.kinematics.motion import body_rotations
from sparsebody.model.gallery import build

BATCHES, PER_BATCH = 10, 50
LOOP_METHODS = (LoopsDirect, LoopsForce, LoopsProjection)


def gap(found, expected, system):
    """The largest difference relative to the largest acceleration, gravity's included."""
    size = max(np.abs(expected).max(), np.abs(system.gravity).max())
    return np.abs(found - expected).max() / size


@pytest.mark.parametrize("batch", range(BATCHES))
def test_all_methods_and_pinocchio_agree_on_random_mechanisms(batch):
    redundant = 0
    for seed in range(batch * PER_BATCH, (batch + 1) * PER_BATCH):
        system = random_mechanism(seed).compile()
        state = sb.consistent_state(system)
        sparse = sb.ForwardDynamics(system, state)
        solution = sparse(state)
        expected = solution.acceleration
        redundant += len(sparse.redundant_rows) > 0
        tree = spanning_tree(system)
        for name, method in TREE_METHODS.items():
            if method.takes_loops or tree.n_loops == 0:
                found = tree_dynamics(name, system, tree)(state)
                assert gap(found.acceleration, expected, system) < 1e-9, (name, seed)
                assert max(found.residual, found.dropped_residual) < 1e-9, (name, seed)
        nothing = np.zeros((system.n_joints, 6)), np.zeros((system.n_bodies, 6))
        peer = PinocchioModel(system, state).solve(*nothing)
        assert gap(peer.acceleration, expected, system) < 1e-9, seed
        assert_energy_is_kept(TreeProblem(tree, state), solution)
    assert redundant > 0.4 * PER_BATCH


def assert_energy_is_kept(problem, solution):
    """Kinetic energy grows by the work of gravity, and of constraints on what is left of A v."""
    system, v, a = problem.system, problem.state.velocity, solution.acceleration
    kinetic = np.einsum("na,nab,nb->n", v[:, :3], system.inertia, a[:, :3])
    kinetic += system.mass * np.einsum("na,na->n", v[:, 3:], a[:, 3:])
    speed = np.einsum("nab,nb->na", body_rotations(problem.state), v[:, 3:])
    weight = system.mass * (speed @ system.gravity)
    violation = problem.constraint.velocity
    assert np.abs(violation).max(initial=0.0) < 1e-8 * np.abs(v).max(initial=1.0)
    work = solution.multiplier @ violation
    size = np.abs([kinetic, weight]).max(initial=1.0)
    assert abs(kinetic.sum() - weight.sum() - work) < 1e-12 * size


@pytest.mark.parametrize("batch", range(BATCHES))
def test_matrices_of_random_mechanisms_are_what_theory_says(batch):
    for seed in range(batch * PER_BATCH, (batch + 1) * PER_BATCH):
        system = random_mechanism(seed).compile()
        state = sb.consistent_state(system)
        tree = spanning_tree(system, list(TREE_CHOICES)[seed % len(TREE_CHOICES)])
        projection = LoopsProjection(system, tree)
        problem = projection.problem(state)
        assert_subspaces_are_reciprocal(problem)
        H, right = free_equations(problem)
        equations = projection.equations(problem)
        explicit = projection.explicit(equations, H)
        K, G, g = equations.matrix, explicit.G, explicit.g
        H = symmetric(tree.pattern, H)
        size = np.abs(K).max(initial=1.0) * np.abs(G).max(initial=1.0)
        np.testing.assert_allclose(K @ G, 0.0, atol=1e-12 * size)
        size = max(np.abs(equations.right).max(initial=1.0), np.abs(K).max(initial=0.0))
        np.testing.assert_allclose(
            K @ g, equations.right, atol=1e-10 * size * np.abs(g).max(initial=1.0)
        )
        assert G.shape[1] == tree.n_velocities - np.linalg.matrix_rank(K, tol=1e-8 * size)
        projected = np.triu(explicit.projected_inertia(tree.pattern, free_equations(problem)[0]))
        np.testing.assert_allclose(projected, np.triu(G.T @ H @ G), atol=1e-11 * np.abs(H).max())
        if G.shape[1]:
            assert np.linalg.eigvalsh(G.T @ H @ G).min() > 0.0
        solutions = [method(system, tree).solve(problem) for method in LOOP_METHODS]
        force = [K.T @ s.multiplier[projection.clusters.row] for s in solutions]
        size = max(np.abs(H @ solutions[0].qdd).max(initial=1.0), np.abs(right).max(initial=0.0))
        for solution, tau_c in zip(solutions, force, strict=True):
            np.testing.assert_allclose(tau_c, force[0], atol=1e-9 * size)
            np.testing.assert_allclose(H @ solution.qdd - right, tau_c, atol=1e-9 * size)
            assert solution.is_unique == (np.linalg.matrix_rank(K, tol=1e-8 * size) == len(K))


def assert_subspaces_are_reciprocal(problem):
    """T' S = 0 at every joint."""
    system, motion = problem.system, problem.joints
    for j, joint_type in enumerate(system.joint_types):
        q = joint_type.coordinates(motion.rotation[j], motion.translation[j])
        S, T = joint_type.motion_subspace(q), problem.subspace[system.rows(j)]
        assert len(T) + S.shape[1] == 6
        np.testing.assert_allclose(T @ S, 0.0, atol=1e-13 * np.abs(S).max(initial=1.0))


@pytest.mark.parametrize("method", LOOP_METHODS)
def test_one_object_serves_at_many_states(method):
    """In singular poses and out of them: the stretched four-bar, and what moves around it."""
    system = build("n-four-bar", loops=3).compile()
    dynamics = method(system)
    state = sb.consistent_state(system)
    trajectory = sb.simulate(system, duration=0.4, step=0.01)
    for k in range(0, len(trajectory), 5):
        state = trajectory.state(k)
        expected = sb.ForwardDynamics(system, state)(state)
        found = dynamics(state)
        assert gap(found.acceleration, expected.acceleration, system) < 1e-9

"""Joint-space equations H qdd + C = tau of a spanning tree, first-order form, inverse dynamics.

Featherstone (2008), secs. 3.1, 5.3, 8.3 and 8.12.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from scipy.linalg import cho_solve, cholesky, qr, solve_triangular, svd

from sparsebody import errors, tolerances
from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray
from sparsebody.assembly.body_forces import add_joint_wrenches
from sparsebody.equations import inverse
from sparsebody.equations.inverse import Actuation, ActuatorRows, Balance, DesiredMotion
from sparsebody.model.system import State, System
from sparsebody.tree import loops_aba, loops_projection, recursions, tree_choice
from sparsebody.tree.method import TreeDynamics, TreeProblem, TreeSolution, accelerations_of
from sparsebody.tree.spanning_tree import AnyTree, SpanningTree, loop_error


@dataclass(frozen=True, eq=False)
class JointSpace:
    """A mechanism in the coordinates of its spanning tree: Featherstone (2008), (3.1), (8.3).

    Springs, loads and gravity are part of C; loops and prescribed motions exert tau = K' lambda.
    """

    tree: SpanningTree
    q: FloatArray  # (n_positions,) [rad, m]; unit quaternions of spherical and free joints
    qd: FloatArray  # (n_velocities,) [rad/s, m/s]
    qdd: FloatArray  # (n_velocities,) [rad/s^2, m/s^2]
    H: FloatArray  # (n_velocities, n_velocities) joint-space inertia
    C: FloatArray  # (n_velocities,) joint-space bias force [N m, N]

    @property
    def names(self) -> Sequence[str]:
        """(n_velocities,) joints of velocity coordinates, with an index where one has several."""
        return [self.tree.velocity_name(k) for k in range(self.tree.n_velocities)]


def joint_space(system: System, state: State, tree: AnyTree = "minimum-nonzeros") -> JointSpace:
    """Return coordinates, accelerations, inertia and bias force of a mechanism, with any loops.

    At a consistent `state`, by a tree or one of TREE_CHOICES; ModelError if H, which is
    dense, is too large.
    """
    dynamics = loops_aba.LoopsArticulatedBody(system, tree)
    problem, tree = dynamics.problem(state), dynamics.tree
    H = recursions.dense_inertia(tree, problem.motion)
    C = recursions.joint_space_bias_force(tree, problem.motion, problem.force)
    q, qd = recursions.joint_coordinates(tree, state)
    return JointSpace(tree, q, qd, dynamics.solve(problem).qdd, H, C)


class StateSpace:
    """First-order form dx/dt = f(t, x), x = (q, qd), of the dynamics of a spanning tree.

    `dynamics`: any method; with closed loops it needs Baumgarte stabilization. Positions of
    spherical and free joints are quaternions, so that n_positions exceeds n_velocities.
    """

    def __init__(self, dynamics: TreeDynamics) -> None:
        self.dynamics = dynamics
        self.tree = dynamics.tree

    def pack(self, state: State) -> FloatArray:
        """Return x (n_positions + n_velocities,) of a state."""
        return np.concatenate(recursions.joint_coordinates(self.tree, state))

    def unpack(self, x: FloatArray, time: float = 0.0) -> State:
        """Return the state of x."""
        return recursions.tree_state(self.tree, *self._parts(x), time=time)

    def __call__(self, time: float, x: FloatArray) -> FloatArray:
        """Return dx/dt = (Q(q) qd, qdd)."""
        q, qd = self._parts(x)
        problem = self.dynamics.problem(recursions.tree_state(self.tree, q, qd, time=time))
        rates = recursions.position_rates(self.tree, q, qd)
        return np.concatenate([rates, self.dynamics.solve(problem).qdd])

    def _parts(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        n = self.tree.n_positions
        if np.shape(x) != (n + self.tree.n_velocities,):
            raise errors.ShapeError(
                f"x has shape {np.shape(x)}; the tree has {n} positions and "
                f"{self.tree.n_velocities} velocities"
            )
        return x[:n], x[n:]


Forces: TypeAlias = tuple[FloatArray, FloatArray, Actuation]
"""Of actuators (p,), multipliers (n_rows,) of loop rows, and the classification."""


class TreeInverseMethod(inverse.InverseMethod):
    """Inverse dynamics by a spanning tree, of TREE_CHOICES; parameters as in InverseMethod.

    Actuators may be on loop joints. ModelError if the method takes trees only and a joint closes a
    loop.
    """

    takes_loops: ClassVar[bool]

    def __init__(self, system: System, tree: str = "minimum-nonzeros", **options: Any) -> None:
        super().__init__(system, **options)
        self.tree = tree_choice.spanning_tree(self.system, tree)
        if self.tree.n_loops and not self.takes_loops:
            raise loop_error(self.tree, self.name, ["sparse", ProjectedInverse.name])

    def solve(self, desired: DesiredMotion, actuators: ActuatorRows) -> Balance:
        """Return the balance from tau_ID of the tree."""
        problem = TreeProblem(self.tree, desired.state, desired.body_force)
        qdd = recursions.joint_accelerations(self.tree, problem.motion, desired.acceleration)
        tau = recursions.inverse_dynamics(self.tree, problem.motion, qdd, problem.force)
        force, loop_multiplier, actuation = self.forces(problem, tau, actuators)
        system, joint = self.system, self.actuators.joint
        load = np.zeros((system.n_bodies, 6))
        if desired.body_force is not None:
            load += desired.body_force
        wrenches = actuators.active_force * force[:, None]
        add_joint_wrenches(system, desired.joints, joint, wrenches, load)
        actuated = TreeProblem(self.tree, desired.state, load)
        result = accelerations_of(actuated, TreeSolution(qdd, loop_multiplier), "basic")
        return Balance(force, result.multiplier, self.tree.n_loops == 0, actuation)

    @abstractmethod
    def forces(self, problem: TreeProblem, tau: FloatArray, actuators: ActuatorRows) -> Forces:
        """Return the forces of actuators and loops, from tau_ID."""


class RecursiveNewtonEuler(TreeInverseMethod):
    """Trees in O(n): u is tau_ID. Featherstone (2008), sec. 5.3. Parameters: TreeInverseMethod."""

    name = "rnea"
    takes_loops = False

    def forces(self, problem: TreeProblem, tau: FloatArray, actuators: ActuatorRows) -> Forces:
        """Pick the actuated coordinates; what the others would need stays unbalanced."""
        tree, p = self.tree, len(self.actuators)
        first = tree.first_velocity[tree.tree_index[self.actuators.joint]]
        actuation = Actuation(p, p, tree.n_velocities - len(tree.prescribed.velocity))
        return tau[first + self.actuators.coordinate], np.zeros(self.system.n_rows), actuation


class ProjectedInverse(TreeInverseMethod):
    """Loops by G_u' u = G' tau_ID. Featherstone (2008), (8.63). Parameters: TreeInverseMethod."""

    name = "loops-projection"
    takes_loops = True

    def forces(self, problem: TreeProblem, tau: FloatArray, actuators: ActuatorRows) -> Forces:
        """Solve (8.63), then tau_ID - tau = K' lambda."""
        explicit, tree = loops_projection.explicit_at(problem), problem.tree
        H = recursions.dense_inertia(tree, problem.motion)
        link, wrench = tree.ends(self.actuators.joint), actuators.rows.copy()
        native.rows_to_links(tree.links, problem.motion, link, wrench)
        rates = recursions.powers(tree, problem.motion, link, wrench)  # of actuators at unit qd
        G = explicit.G  # K G = 0, (8.41)
        if len(tree.is_prescribed):
            G = G[:, ~tree.is_prescribed[explicit.independent]]
        scale = 1.0 / inverse.inertial_norms(self.system, self.actuators.joint, actuators.rows)
        force, rank = actuator_forces(rates, G, H, tau, self.weights, scale)
        multiplier = np.zeros(self.system.n_rows)
        multiplier[explicit.clusters.row] = explicit.multipliers(tau - rates.T @ force)
        return force, multiplier, Actuation(len(force), rank, G.shape[1])


def actuator_forces(
    rates: FloatArray, G: FloatArray, H: FloatArray, tau: FloatArray, w: FloatArray, s: FloatArray
) -> tuple[FloatArray, int]:
    """Return u (p,) with G_u' u = G' tau and least sum(w u^2), and the rank of G_u. (8.63).

    G_u = rates @ G, of the actuators' `rates` (p, n) at unit velocities of the tree and G (n, m).
    The part of `tau` (n,) that actuators cannot balance is least in the metric of H^-1, H (n, n).
    w (p,) are weights; s (p,) scales rates to about one.
    """
    p, m = len(rates), G.shape[1]
    if m == 0 or p == 0:
        return np.zeros(p), 0
    L = cholesky(H, lower=True)
    motions = qr(L.T @ G, mode="economic")[0]
    L_rates = solve_triangular(L, rates.T, lower=True)
    U, singular, Vt = svd(s[:, None] * (L_rates.T @ motions))
    rank = int(np.count_nonzero(singular > tolerances.SINGULAR_TOLERANCE))
    right = motions.T @ solve_triangular(L, tau, lower=True)
    force = U[:, :rank] @ (Vt[:rank] @ right / singular[:rank])
    null, stiff = U[:, rank:], w * s**2
    if rank < p:
        square = null.T @ (stiff[:, None] * null)
        force -= null @ cho_solve((cholesky(square, lower=True), True), null.T @ (stiff * force))
    return s * force, rank

from fractions import Fraction

import numpy as np
import pinocchio as pin
import pytest
from random_arms import Case, Instant, random_arm, tip_pose

from sparsebody.classical import ALGORITHMS
from sparsebody.classical.costs import counted
from sparsebody.classical.counting import converted, converted_array
from sparsebody.classical.operators import STORAGES, SpatialOperators, body_masses
from sparsebody.errors import ModelError
from sparsebody.tree import spanning_tree, tree_state
from sparsebody.tree.recursions import joint_space_inertia, motion_at_state, symmetric


def case(seed, n, **kind):
    return Case.random(np.random.default_rng(seed), n, **kind)


def cases(count):
    """Arms of both conventions and trees, n = 1 to 12."""
    for k in range(count):
        kind = "standard" if k % 3 == 0 else "modified"
        yield case(k, 1 + k % 12, tree=k % 3 == 2, convention=kind)


def dense(matrix):
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)


def far(result, expected):
    result, expected = dense(result), dense(expected)
    return float(np.abs(result - expected).max() / np.abs(expected).max())


def composite_inertia(arm, q):
    """H of the composite-rigid-body algorithm in the spanning tree of the arm's mechanism."""
    tree = spanning_tree(arm.mechanism().compile())
    position = tree.first_velocity[tree.tree_index]
    coordinates = np.empty(arm.n)
    coordinates[position] = q
    motion = motion_at_state(tree, tree_state(tree, coordinates, np.zeros(arm.n)))
    return symmetric(tree.pattern, joint_space_inertia(tree, motion))[np.ix_(position, position)]


def exact(one):
    """The operators on rational numbers; identities of operators hold without rounding."""
    links = converted(one.arm.links, Fraction)
    inertia = (links.inertia + links.inertia.swapaxes(1, 2)) / 2
    links = links._replace(
        inertia=inertia,
        moment=links.mass[:, None] * links.com,
        spatial_inertia=body_masses(links.mass, links.com, inertia),
    )
    motion = converted(one.arm.motion(one.at.q, one.at.qd, one.at.qdd), Fraction)
    tip = converted_array(SpatialOperators.of(one.arm, one.at.q).tip_shift, Fraction)
    return SpatialOperators(links, motion._replace(wrench=0 * motion.wrench), one.arm.n - 1, tip)


def test_the_mass_matrix_is_that_of_composite_bodies_and_its_factors_are_the_inverse():
    for one in cases(24):
        H, unit = composite_inertia(one.arm, one.at.q), np.eye(one.arm.n)
        for storage in STORAGES:
            operators = SpatialOperators.of(one.arm, one.at.q, storage=storage)
            L, inverse = dense(operators.factor), dense(operators.inverse_mass_matrix())
            assert far(operators.mass_matrix(), H) < 1e-12
            assert far((L @ dense(operators.D) @ L.T)[::-1, ::-1], H) < 1e-12
            assert far(inverse @ H, unit) < 1e-11
            assert far(inverse, np.linalg.inv(H)) < 1e-11


@pytest.mark.parametrize("tree", [False, True])
def test_identities_of_the_operators_are_exact(tree):
    on = exact(case(5, 3, tree=tree))
    one, joints = np.eye(18, dtype=object), np.eye(3, dtype=object)
    eps, phi, psi, H, K, P, D = on.eps, on.phi, on.psi, on.H, on.K, on.P, on.D
    eps_psi = eps - K @ H
    assert not (eps @ eps @ eps).any()
    assert (phi == one + eps + eps @ eps).all()
    assert (phi @ (one - eps) == one).all()
    assert (psi @ (one - eps_psi) == one).all()
    assert (P - eps_psi @ P @ eps_psi.T == on.M).all()
    assert (P - eps @ P @ eps.T + K @ D @ K.T == on.M).all()
    assert (H @ phi @ on.M @ phi.T @ H.T == on.factor @ D @ on.factor.T).all()
    assert (on.factor @ on.inverse_factor == joints).all()
    assert (on.inverse_factor @ H @ phi == H @ psi).all()
    assert (on.mass_matrix() @ on.inverse_mass_matrix() == joints).all()


@pytest.mark.parametrize("storage", STORAGES)
def test_dynamics_by_matrices_with_a_force_at_the_tip_are_pinocchios(storage):
    for one in cases(36):
        at, last = one.at, one.arm.n - 1
        operators = SpatialOperators.of(one.arm, at.q, storage=storage)
        on_links = np.zeros((one.arm.n, 6))
        on_links[last] = -operators.tip_shift @ at.wrench[0]  # what the tip exerts acts back
        tau = one.theirs.rnea(at, on_links)
        assert far(operators.inverse_dynamics(at.qd, at.qdd, at.wrench[0]), tau) < 1e-11
        qdd = one.theirs.aba(at, tau, on_links)
        assert far(operators.forward_dynamics(at.qd, tau, at.wrench[0]), qdd) < 1e-11


def test_the_jacobian_is_how_the_tip_of_the_table_moves():
    one, step = case(1, 6, convention="standard"), 1e-6
    J = SpatialOperators.of(one.arm, one.at.q).jacobian()
    R, _ = tip_pose(one.arm, one.at.q)
    for j in range(6):
        ahead, behind = (tip_pose(one.arm, one.at.q + h * np.eye(6)[j]) for h in (step, -step))
        turn = R.T @ (ahead[0] - behind[0]) / (2 * step)
        spin = [turn[2, 1], turn[0, 2], turn[1, 0]]
        result = np.concatenate([spin, R.T @ (ahead[1] - behind[1]) / (2 * step)])
        np.testing.assert_allclose(result, J[:, j], atol=1e-8)


def test_sparse_operators_hold_what_is_not_zero_and_serve_long_arms():
    rng = np.random.default_rng(2)
    arm, at = random_arm(rng, 300), Instant.random(rng, 300)
    operators = SpatialOperators.of(arm, at.q, storage="sparse")
    tau = ALGORITHMS["spatial-operators"](arm, at.q, at.qd, at.qdd)
    assert far(operators.inverse_dynamics(at.qd, at.qdd), tau) < 1e-12
    for qdd in (
        operators.forward_dynamics(at.qd, tau),
        ALGORITHMS["spatial-operators-forward"](arm, at.q, at.qd, tau),
    ):
        assert far(operators.inverse_dynamics(at.qd, qdd), tau) < 1e-12
    assert operators.eps.nnz <= 27 * 299
    assert operators.M.nnz <= 24 * 300
    assert operators.H.nnz == 300


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tip": 2}, "tip is link 2; give the index of a link, 0 to 1"),
        ({"tip": -1}, "tip is link -1"),
        ({"tip": 1.0}, r"tip is link 1\.0"),
        ({"tip": 0.5}, r"tip is link 0\.5"),
        ({"storage": "csr"}, "storage is 'csr'; give one of .*dense.*sparse"),
        ({"q": [0, 0, 0]}, r"q has shape \(3,\); give 2 numbers"),
        ({"q": [0, np.nan]}, "q is .*nan.*finite"),
    ],
)
def test_what_does_not_fit_is_an_error(change, message):
    arm = random_arm(np.random.default_rng(4), 2)
    given = {"q": [0, 0]} | change
    with pytest.raises(ModelError, match=message):
        SpatialOperators.of(arm, **given)


def test_rates_and_wrenches_that_do_not_fit_are_an_error():
    operators = SpatialOperators.of(random_arm(np.random.default_rng(4), 2), [0, 0])
    with pytest.raises(ModelError, match=r"qd has shape \(1,\); give 2 numbers"):
        operators.inverse_dynamics([0], [0, 0])
    with pytest.raises(ModelError, match=r"tip_wrench has shape \(3,\); give 6 numbers"):
        operators.forward_dynamics([0, 0], [0, 0], [0, 0, 0])


def test_counts_of_the_recursions():
    inverse, forward = (counted(ALGORITHMS[f"spatial-operators{x}"]) for x in ("", "-forward"))
    assert (str(inverse.multiplications), str(inverse.additions)) == ("125 n - 129", "100 n - 111")
    assert (str(forward.multiplications), str(forward.additions)) == ("314 n - 372", "253 n - 313")
    bent = counted(ALGORITHMS["spatial-operators-forward"], "right-angled")
    assert (str(bent.multiplications), bent.smallest) == ("193 n - 248", 4)
    assert bent.to_dict()["smallest"] == 4


@pytest.mark.parametrize("storage", STORAGES)
def test_jacobians_and_velocities_are_pinocchios_of_any_link(storage):
    for one in cases(12):
        q, theirs = one.theirs._theirs(one.at.q), one.theirs
        velocities = SpatialOperators.of(one.arm, one.at.q).velocities(one.at.qd)
        for link in range(one.arm.n - 1):
            J = dense(SpatialOperators.of(one.arm, one.at.q, tip=link, storage=storage).jacobian())
            joint = int(theirs.index[link])
            expected = pin.computeJointJacobian(theirs.model, theirs.data, q, joint)
            expected = expected[[3, 4, 5, 0, 1, 2]][:, theirs.order]
            np.testing.assert_allclose(J, expected, atol=1e-13)
            np.testing.assert_allclose(velocities[link], expected @ one.at.qd, atol=1e-12)

"""What joint types can stand in for others."""

import numpy as np
import pytest
from random_mechanisms import random_position

from sparsebody.analysis.relaxations import relaxations
from sparsebody.model.joints import JOINT_TYPES, ConstantDistance, Helical, Revolute
from sparsebody.spatial import plucker_parts, plucker_transform

TYPES = {
    name: kind(0.3) if kind in (Helical, ConstantDistance) else kind()
    for name, kind in JOINT_TYPES.items()
}


@pytest.mark.parametrize("name", TYPES)
def test_what_stands_in_takes_every_pose_and_frees_more(name: str) -> None:
    old = TYPES[name]
    rng = np.random.default_rng(7)
    for relaxation in relaxations(old):
        R, new = relaxation.turn, relaxation.new
        E, r = plucker_parts(old.transform(random_position(rng, old)))
        S = old.motion_subspace(old.coordinates(E, r))
        extra = relaxation.extra_at(old, E, r)
        assert extra.shape == (relaxation.n_removed, 6)
        assert np.linalg.matrix_rank(np.column_stack([S, extra.T])) == S.shape[1] + len(extra)
        if new is None:
            assert relaxation.n_removed == old.n_constraints
            continue
        assert relaxation.n_removed == old.n_constraints - new.n_constraints
        turned, shifted = R.T @ E @ R, R.T @ r
        q = new.coordinates(turned, shifted)
        np.testing.assert_allclose(new.transform(q), plucker_transform(turned, shifted), atol=1e-9)
        T = new.constraint_force_subspace(q)
        T = np.concatenate([R @ T[:3], R @ T[3:]])  # in the old S axes
        np.testing.assert_allclose(T.T @ S, 0.0, atol=1e-9)
        np.testing.assert_allclose(T.T @ extra.T, 0.0, atol=1e-9)


def test_a_hinge_can_become_what_the_book_says() -> None:
    found = {(relaxation.name, relaxation.n_removed) for relaxation in relaxations(Revolute())}
    assert found == {
        ("cylindrical", 1),
        ("universal", 1),
        ("planar", 2),
        ("spherical", 2),
        ("point-on-line", 3),
        ("point-on-plane", 4),
        ("no joint", 5),
    }


def test_nothing_is_freer_than_free() -> None:
    assert relaxations(TYPES["free"]) == ()

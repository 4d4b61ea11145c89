import numpy as np
import pytest

from sparsebody.assembly.constraint import kkt_structure
from sparsebody.model.gallery import build


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8, 1.0])
def test_joints_have_as_many_rows_as_are_kept_and_vanish_without_any(share: float) -> None:
    system = build("scissor", pairs=6).compile()
    keep = np.random.default_rng(0).random(system.n_rows) < share
    structure = kkt_structure(system, keep)
    joints, sizes = np.unique(system.row_joint[keep], return_counts=True)
    pattern = structure.pattern
    np.testing.assert_array_equal(structure.joints, joints)
    np.testing.assert_array_equal(pattern.block_sizes[pattern.n_primal :], sizes)
    np.testing.assert_array_equal(pattern.ends[:, 0], system.predecessor[joints])
    np.testing.assert_array_equal(pattern.ends[:, 1], system.successor[joints])
    np.testing.assert_array_equal(structure.rows, np.flatnonzero(keep))


def test_without_a_choice_all_rows_are_kept() -> None:
    system = build("scissor", pairs=6).compile()
    everything = kkt_structure(system, np.ones(system.n_rows, dtype=bool))
    np.testing.assert_array_equal(kkt_structure(system).rows, everything.rows)
    np.testing.assert_array_equal(
        kkt_structure(system).pattern.block_sizes, everything.pattern.block_sizes
    )

import numpy as np
import pytest
from front_rows import random_rows
from patterns import ladder

from sparsebody.sparse.rank.row_fronts import fronts


@pytest.mark.parametrize("seed", range(10))
def test_a_joint_is_in_the_front_from_its_first_body_to_its_last(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pattern, _ = random_rows(rng, n_bodies=8)
    order = rng.permutation(pattern.n_primal)
    sweep, place = fronts(pattern, order), np.argsort(order)
    spans = [[place[body] for body in pair if body >= 0] for pair in pattern.ends]
    size = pattern.block_sizes[pattern.n_primal :]
    width = max(
        sum(size[j] for j, span in enumerate(spans) if min(span) <= step <= max(span))
        for step in range(pattern.n_primal)
    )
    assert sweep.width == width


def test_a_ladder_has_a_front_of_fixed_width() -> None:
    for rungs in (5, 50, 500):
        pattern = ladder(rungs)
        assert fronts(pattern, np.arange(pattern.n_primal)).width == 12

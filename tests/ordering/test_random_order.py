import numpy as np
from patterns import ladder

from sparsebody.ordering.references import random_order


def test_each_seed_gives_its_own_order_with_all_bodies_first():
    pattern = ladder(10)
    first, second = random_order(pattern), random_order(pattern, seed=1)
    assert not np.array_equal(first, second)
    assert set(first[:20]) == set(second[:20]) == set(range(20))

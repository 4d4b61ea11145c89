import numpy as np
from patterns import ladder

from sparsebody.ordering.references import natural


def test_natural_is_the_order_of_the_numbers():
    np.testing.assert_array_equal(natural(ladder(3)), np.arange(13))

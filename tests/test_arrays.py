"""Large arrays lie where they are read fast; complex ones are no numbers."""

import numpy as np
import pytest

from sparsebody.arrays import LARGE, large_zeros, numbers
from sparsebody.errors import ModelError


@pytest.mark.parametrize("shape", [0, 1, 7, (5, 3), LARGE // 8 - 1, LARGE // 8 + 1])
@pytest.mark.parametrize("dtype", [np.float64, np.uint32])
def test_arrays_are_zero_and_begin_with_a_cache_line(shape, dtype):
    for _ in range(3):
        result = large_zeros(shape, dtype)
        assert result.shape == np.zeros(shape).shape
        assert result.dtype == dtype
        assert result.ctypes.data % 64 == 0
        assert not result.any()


@pytest.mark.parametrize("value", [np.array([1j]), [1j], None, "x", [[1.0], [1.0, 2.0]]])
def test_what_is_no_array_of_real_numbers_is_refused(value):
    with pytest.raises(ModelError, match=r"^mass is .*give numbers"):
        numbers(value, "mass")

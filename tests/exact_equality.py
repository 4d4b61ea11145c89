"""Equality to the last bit, of objects with all their fields."""

from dataclasses import fields, is_dataclass

import numpy as np


def assert_same(first, second):
    """Assert that two objects have the same types, fields and values, to the last bit."""
    assert type(first) is type(second)
    if isinstance(first, np.ndarray):
        assert (first.shape, first.dtype) == (second.shape, second.dtype)
        if first.dtype == object:
            assert_same(first.tolist(), second.tolist())
        else:
            assert first.tobytes() == second.tobytes()
    elif isinstance(first, dict):
        assert list(first) == list(second)
        assert_same(list(first.values()), list(second.values()))
    elif isinstance(first, tuple | list):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            assert_same(one, other)
    elif is_dataclass(first):
        for field in fields(first):
            assert_same(getattr(first, field.name), getattr(second, field.name))
    else:
        assert first == second

"""Parameters of gallery mechanisms, from the strings of a command line too."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

import numpy as np

from sparsebody.errors import ModelError

WORDS = {"true": True, "yes": True, "on": True, "1": True}
WORDS |= {"false": False, "no": False, "off": False, "0": False}


LARGEST = 10_000_000  # bodies; more do not fit into the memory of a machine


def check_size(sizes: Mapping[str, int]) -> None:
    """Raise ModelError, naming the parameters, where they ask for more than LARGEST parts."""
    if math.prod(max(1, size) for size in sizes.values()) > LARGEST:
        listed = ", ".join(f"{name} is {size:.6g}" for name, size in sizes.items())
        raise ModelError(f"{listed}; a mechanism has {LARGEST} bodies at most")


def converted(value: Any, annotation: Any, name: str) -> Any:
    """Return `value` as its parameter's annotation asks.

    Parameters
    ----------
    value : object
        A string, or already of the right type.
    annotation : type
        int, float, bool, str, a Literal of strings or a tuple of floats.
    name : str
        Of the parameter, for the message.

    Raises
    ------
    ModelError
        Naming the parameter, the value and what it should be.
    """
    if get_origin(annotation) is Literal:
        if value not in get_args(annotation):
            raise ModelError(f"{name} is {value!r}; give one of: {', '.join(get_args(annotation))}")
        return value
    if get_origin(annotation) is tuple:
        return _numbers(value, len(get_args(annotation)), name)
    return {int: _integer, float: _number, bool: _truth, str: _word}[annotation](value, name)


def _integer(value: Any, name: str) -> int:
    number = _number(value, name)
    if not number.is_integer():
        raise ModelError(f"{name} is {value!r}; give a whole number")
    return int(number)


def _number(value: Any, name: str) -> float:
    try:
        number = math.nan if isinstance(value, bool | np.bool_) else float(value)
    except (OverflowError, TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ModelError(f"{name} is {value!r}; give a number")
    return number


def _truth(value: Any, name: str) -> bool:
    if str(value).lower() not in WORDS:
        raise ModelError(f"{name} is {value!r}; give true or false")
    return WORDS[str(value).lower()]


def _word(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise ModelError(f"{name} is {value!r}; give a word")
    return value


def _numbers(value: Any, size: int, name: str) -> tuple[float, ...]:
    parts = value.split(",") if isinstance(value, str) else list(np.atleast_1d(value))
    if len(parts) != size:
        raise ModelError(f"{name} is {value!r}; give {size} numbers, such as 0,0,-9.81")
    return tuple(_number(part, name) for part in parts)

"""Options of planar kernels."""  # still used by planar*.py

from __future__ import annotations

from typing import Any

KERNEL: dict[str, Any] = {
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
    "_nrt": False,
}
PHASE: dict[str, Any] = {"cache": True, "error_model": "numpy", "_nrt": False}
UNIT = 2.00001e-6  # what the square of a unit quaternion's length may be off

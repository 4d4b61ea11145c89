"""The native kernels (C++, folder `core/`), one submodule for each folder there.

Wheels for x86-64 hold three builds, of which the best that this processor can run is imported;
a build from source holds one. SPARSEBODY_LEVEL chooses another one by name.
"""

import importlib
import importlib.util
import os

from sparsebody._core import _cpu

LEVELS = ("x86_64_v4", "x86_64_v3", "x86_64_v2")
PARTS = (
    "base",
    "dynamics",
    "factorization",
    "graph",
    "joints",
    "linearization",
    "model",
    "ordering",
    "rank",
    "simulation",
    "tree",
)


def available_levels() -> list[str]:
    """Return the builds that are installed and that this processor can run, the best one first."""
    runnable = LEVELS[max(0, 4 - _cpu.level()) :]
    names = ("native", *runnable, "portable")
    return [name for name in names if importlib.util.find_spec(f"{__name__}.{name}")]


def _chosen_level() -> str:
    levels = available_levels()
    if not levels:
        raise ImportError(
            "sparsebody's native kernels are missing or need a newer processor (x86-64-v2); "
            "install sparsebody from source: pip install --no-binary sparsebody sparsebody"
        )
    name = os.environ.get("SPARSEBODY_LEVEL", levels[0])
    if name not in (*levels, "sanitized"):
        raise ImportError(f"SPARSEBODY_LEVEL is {name!r}; available here: {', '.join(levels)}")
    return name


level = _chosen_level()
_native = importlib.import_module(f"{__name__}.{level}")
globals().update({part: getattr(_native, part) for part in PARTS})

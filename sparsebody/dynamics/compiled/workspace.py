"""Types and constants of planar tables."""  # still used by planar*.py

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

WORLD_ROOT = 2.0**200  # C and sqrt(m) of the world: what rows hold at its end must not count
Index = NDArray[np.uint32]

"""The algorithms of the literature on arms and trees of hinges and slides, to be compared.

An algorithm is a file with a kernel that takes `Links` and a `Motion`, and a line in ALGORITHMS.
The same kernel runs compiled on floats and, by `counting.interpreted`, on numbers that count.
"""

from sparsebody.classical.algorithm import Algorithm
from sparsebody.classical.arm import Arm
from sparsebody.classical.kernels.balafoutis_patel_misra import balafoutis_patel_misra
from sparsebody.classical.kernels.gibbs_appell import gibbs_appell, gibbs_appell_forward
from sparsebody.classical.kernels.kane import kane
from sparsebody.classical.kernels.lagrangian import hollerbach_3x3, hollerbach_4x4, waters
from sparsebody.classical.kernels.newton_euler import luh_walker_paul
from sparsebody.classical.kernels.operator_recursions import operator_forward, operator_inverse
from sparsebody.classical.kernels.uicker_kahn import uicker_kahn, uicker_kahn_forward
from sparsebody.classical.kernels.vukobratovic_stepanenko import vukobratovic_stepanenko
from sparsebody.classical.kernels.walker_orin import walker_orin_1, walker_orin_2, walker_orin_3
from sparsebody.errors import UnknownNameError

_TABLE = (
    Algorithm("uicker-kahn", "Uicker (1965), Kahn (1969)", uicker_kahn, 4),
    Algorithm("waters", "Waters (1979)", waters, 2),
    Algorithm("hollerbach-4x4", "Hollerbach (1980)", hollerbach_4x4, 1),
    Algorithm("hollerbach-3x3", "Hollerbach (1980)", hollerbach_3x3, 1),
    Algorithm(
        "vukobratovic-stepanenko",
        "Vukobratovic, Stepanenko (1973), spatial form",
        vukobratovic_stepanenko,
        1,
        takes_wrenches=True,
    ),
    Algorithm(
        "luh-walker-paul", "Luh, Walker, Paul (1980)", luh_walker_paul, 1, takes_wrenches=True
    ),
    Algorithm(
        "balafoutis-patel-misra",
        "Balafoutis, Patel, Misra (1988)",
        balafoutis_patel_misra,
        1,
        takes_wrenches=True,
    ),
    Algorithm("gibbs-appell", "Gibbs (1879), Appell (1900), Popov", gibbs_appell, 3),
    Algorithm("spatial-operators", "Rodriguez, Jain (1992)", operator_inverse, 1, False, True),
    Algorithm("kane", "Kane, Levinson (1985); Ma, Xu", kane, 2, takes_wrenches=True),
    Algorithm("uicker-kahn-forward", "Uicker (1965), Kahn (1969)", uicker_kahn_forward, 4, True),
    Algorithm("gibbs-appell-forward", "Popov", gibbs_appell_forward, 3, True),
    Algorithm("walker-orin-1", "Walker, Orin (1982), method 1", walker_orin_1, 3, True, True),
    Algorithm("walker-orin-2", "Walker, Orin (1982), method 2", walker_orin_2, 3, True, True),
    Algorithm("walker-orin-3", "Walker, Orin (1982), method 3", walker_orin_3, 3, True, True),
    Algorithm(
        "spatial-operators-forward", "Rodriguez, Jain (1992)", operator_forward, 1, True, True
    ),
)
ALGORITHMS: dict[str, Algorithm] = {algorithm.name: algorithm for algorithm in _TABLE}


def algorithm(name: str) -> Algorithm:
    """Return a line of ALGORITHMS; UnknownNameError if there is none."""
    if name not in ALGORITHMS:
        raise UnknownNameError(f"no algorithm {name!r}; give one of {', '.join(ALGORITHMS)}")
    return ALGORITHMS[name]


__all__ = ["ALGORITHMS", "Algorithm", "Arm", "algorithm"]

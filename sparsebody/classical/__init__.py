"""The algorithms of the literature on arms and trees of hinges and slides, to be compared.

An algorithm is a file with a kernel that takes `Links` and a `Motion`, and a line in ALGORITHMS.
The same kernel runs compiled on floats and, by `counting.interpreted`, on numbers that count.
"""

from sparsebody.classical.algorithm import Algorithm
from sparsebody.classical.arm import Arm
from sparsebody.classical.luh_walker_paul import luh_walker_paul
from sparsebody.errors import UnknownNameError

ALGORITHMS: dict[str, Algorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm(
            "luh-walker-paul",
            "Newton-Euler in link coordinates",
            "Luh, Walker, Paul (1980)",
            luh_walker_paul,
            growth=1,
            takes_wrenches=True,
            literature="luh_walker_paul_hollerbach_count",
        ),
    )
}


def algorithm(name: str) -> Algorithm:
    """Return a line of ALGORITHMS; UnknownNameError if there is none."""
    if name not in ALGORITHMS:
        raise UnknownNameError(f"no algorithm {name!r}; give one of {', '.join(ALGORITHMS)}")
    return ALGORITHMS[name]


__all__ = ["ALGORITHMS", "Algorithm", "Arm", "algorithm"]

"""The algorithms of the literature on arms and trees of revolute and prismatic joints.

An algorithm is a file with a kernel that takes `Links` and a `Motion`, and a line in ALGORITHMS.
The same kernel runs compiled on floats and, by `counting.interpreted`, on numbers that count.
"""

from sparsebody.classical.algorithms import ALGORITHMS, Algorithm, algorithm
from sparsebody.classical.arm import Arm

__all__ = ["ALGORITHMS", "Algorithm", "Arm", "algorithm"]

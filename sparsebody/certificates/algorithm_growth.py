"""How the work of the algorithms grows with a family of mechanisms, told from its patterns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.assembly.constraint import kkt_structure
from sparsebody.errors import ShapeError
from sparsebody.model.gallery import GALLERY, build
from sparsebody.ordering.literature_orders import ALGORITHMS, algorithm_order
from sparsebody.plots.curves import Line
from sparsebody.sparse.elimination_tree import ordering_metrics
from sparsebody.study.families import Family, check_family
from sparsebody.study.fits import Growth, growth


@dataclass(frozen=True, eq=False)
class AlgorithmGrowth:
    """The predicted flops of one algorithm, and the power of the number of bodies that fits."""

    name: str
    n_bodies: FloatArray  # (k,)
    flops: FloatArray  # (k,)
    fit: Growth | None  # None with one size

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings."""
        return {
            "algorithm": self.name,
            "bodies": self.n_bodies.tolist(),
            "flops": self.flops.tolist(),
            "exponent": None if self.fit is None else self.fit.exponent,
        }

    @property
    def line(self) -> Line:
        """For plot_growth."""
        ends = np.array([] if self.fit is None else [self.fit.smallest, self.fit.largest])
        values = ends if self.fit is None else self.fit(ends)
        return Line(self.name, self.n_bodies, self.flops, ends, values, self.name == "auto")


def growing_family(mechanism: str, parameters: Mapping[str, Any]) -> Family:
    """Return the family of a gallery mechanism whose size parameters above one grow together.

    A lattice of one layer stays in its plane. What is one everywhere grows as a whole.

    Raises
    ------
    UnknownNameError
        If the gallery has no such mechanism.
    ModelError
        If it does not grow.
    """
    build(mechanism, **parameters)
    entry = GALLERY[mechanism]
    size = {
        name: float(parameters.get(name, entry.defaults[name])) for name in entry.size_parameters
    }
    grows = tuple(name for name, value in size.items() if value > 1.0) or tuple(size)
    fixed = {name: value for name, value in parameters.items() if name not in grows}
    family = Family(mechanism, mechanism, fixed, grows)
    check_family(family)
    return family


def algorithm_growth(
    family: Family, sizes: Sequence[int], names: Sequence[str] = ()
) -> tuple[AlgorithmGrowth, ...]:
    """Return the growth of the predicted flops with all constraint rows, dependent ones too.

    Parameters
    ----------
    family : Family
        A gallery mechanism that grows.
    sizes : sequence of int
        Wanted numbers of bodies; the nearest that the family has are taken.
    names : sequence of str
        Keys of ALGORITHMS; default: all.

    Raises
    ------
    ShapeError
        If there is no size, or one that is not positive.
    UnknownNameError
        For an algorithm that is not there.
    ModelError
        If the family cannot be built.
    """
    if len(sizes) == 0 or min(sizes) < 1:
        raise ShapeError(f"sizes are {list(sizes)}; give numbers of bodies, such as 64, 256, 1024")
    check_family(family)
    values = sorted({family.parameter(size) for size in sizes})
    patterns = [kkt_structure(family.of_parameter(k).compile()).pattern for k in values]
    n_bodies = np.array([pattern.n_primal for pattern in patterns], dtype=float)
    growths = []
    for name in dict.fromkeys(names or ALGORITHMS):
        orders = (algorithm_order(pattern, name) for pattern in patterns)
        metrics = map(ordering_metrics, patterns, orders)
        flops = np.array([one.flops for one in metrics])
        growths.append(AlgorithmGrowth(name, n_bodies, flops, growth(n_bodies, flops)))
    return tuple(growths)

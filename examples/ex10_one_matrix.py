"""One matrix, every algorithm
===========================

One matrix, every algorithm: the methods of multibody dynamics as orders of [D A'; A -eps].

Penalty methods eliminate joints first, Delassus' bodies first, articulated bodies a leaf and then
its joint. The same factorization runs them all: what is predicted is what it counts, and smaller
eps brings digits only to those that have no joint before its bodies. Then loops: on a ladder,
trees that make the joint-space inertia H sparse make the loop matrix K dense, and the other way
round, whereas K of the least cycle basis is sparse, but K H^-1 K' with no basis. The command
`sparsebody algorithms lattice --sizes 64,256,1024 --growth flops.png` draws the growth.
"""

import tempfile
from pathlib import Path

import numpy as np

import sparsebody as sb
from sparsebody.analysis import compare_algorithms, compare_loop_bases
from sparsebody.assembly import kkt_structure
from sparsebody.certificates import algorithm_growth, growing_family
from sparsebody.ordering import algorithm_order
from sparsebody.plots import plot_orders, save_figure
from sparsebody.sparse import ordering_metrics
from sparsebody.study import growth
from sparsebody.viewer import order_page

TILTED = (3.0, -4.0, -8.0)  # gravity that loads every joint
MECHANISMS = {
    "tree": {"bodies": 60},
    "ladder": {"rungs": 12, "gravity": TILTED},
    "lattice": {"rows": 4, "columns": 4, "gravity": TILTED},
}
SIZES = (32, 128, 512)  # bodies
EPS = (1e-4, 1e-8, 1e-12, 0.0)
LOOPS = {
    "ladder": [{"rungs": n} for n in (8, 16, 32)],
    "lattice": [{"rows": n, "columns": n} for n in (4, 6, 9)],
    "cube": [{"rows": n, "columns": n, "layers": n} for n in (2, 3, 4)],
    "scissor": [{"pairs": n} for n in (8, 16, 32)],
}
BASES = ("minimum", "faces", "breadth-first tree", "depth-first tree", "random tree")
FOLDER = Path(tempfile.gettempdir())


def main() -> float:
    """Return counted flops over predicted ones, of all algorithms on all mechanisms together."""
    counted = predicted = 0.0
    for family, size in MECHANISMS.items():
        comparison = compare_algorithms(sb.build(family, **size), eps=EPS)
        print(f"{family}: flops, counted ones, time, errors with eps = {EPS}")
        for line in comparison.lines:
            errors = "".join(f"{error:>9.0e}" for error in line.errors.values())
            print(
                f"  {line.name:<17}{line.metrics.flops:>10.0f}{line.counted_flops:>10.0f}"
                f"{1e6 * line.seconds:>8.0f} us{errors}"
            )
            counted, predicted = counted + line.counted_flops, predicted + line.metrics.flops
        if family == "ladder":
            figure = plot_orders(comparison.pattern, comparison.orders, family)
            print(f"  {save_figure(figure, FOLDER / 'one-matrix.png')}")
            order_page(sb.build(family, **size)).save(FOLDER / "one-matrix.html")
    for family, size in MECHANISMS.items():
        grown = algorithm_growth(growing_family(family, size), SIZES)
        print(f"{family}: flops grow as", ", ".join(f"{one.name} {one.fit}" for one in grown))
    print_star()
    print_loop_bases()
    return counted / predicted


def print_star() -> None:
    """Say how two algorithms do where many bodies hang on one."""
    patterns = [kkt_structure(star(n)).pattern for n in (100, 200, 400)]
    n_bodies = np.array([pattern.n_primal for pattern in patterns], dtype=float)
    for name in ("delassus", "articulated-body"):
        orders = [algorithm_order(pattern, name) for pattern in patterns]
        flops = np.array([one.flops for one in map(ordering_metrics, patterns, orders)])
        print(f"star: {name} takes {growth(n_bodies, flops)}")


def star(n: int) -> sb.System:
    """Return n balls around a hub on the world."""
    mechanism = sb.Mechanism("star")
    angle = np.linspace(0.0, 2.0 * np.pi, n, endpoint=False)
    position = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    mechanism.add_body("hub", mass=1.0, inertia=[1, 1, 1])
    mechanism.add_joint("base", sb.Spherical(), sb.WORLD, "hub", point=[0, 0, 1])
    ball = mechanism.add_bodies("ball-{}", mass=1.0, inertia=[0.1, 0.1, 0.1], position=2 * position)
    mechanism.add_joints("rod-{}", sb.Spherical(), np.zeros_like(ball), ball, point=position)
    return mechanism.compile()


def print_loop_bases() -> None:
    """Print the nonzeros of loop closure on growing mechanisms, basis by basis."""
    for family, sizes in LOOPS.items():
        gallery = "lattice" if family == "cube" else family
        comparisons = [compare_loop_bases(sb.build(gallery, **size), BASES) for size in sizes]
        loops = np.array([one.dimension for one in comparisons], dtype=float)
        print(
            f"{family} of {loops.astype(int).tolist()} loops: nonzeros of K, K W K', K H^-1 K', H"
        )
        for basis in BASES:
            lines = [line for one in comparisons for line in one.lines if line.name == basis]
            if len(lines) == len(comparisons):
                last = lines[-1]
                power = growth(loops, np.array([line.nnz_k for line in lines], dtype=float))
                print(
                    f"  {basis:<20}{last.nnz_k:>8}{last.nnz_coupling:>8}{last.nnz_product:>8}"
                    f"{last.nnz_h:>8}   K: {power}"
                )


if __name__ == "__main__":
    main()

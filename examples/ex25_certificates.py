"""Certificates of linear work
===========================

For a family of mechanisms and an ordering, `certify` proves that no front exceeds a width at any
size, so that the work is O(n), or fits the order of growth where there is no such bound. Ladders
are O(n) in most orders, chains in all; square lattices cannot be.
"""

import tempfile
from pathlib import Path

from matplotlib.figure import Figure

import sparsebody as sb
from sparsebody.plots import save_figure
from sparsebody.viewer import order_page

FAMILIES = ("chain", "ladder", "lattice")


def main() -> int:
    """Return the width of the fronts of ladders in scalar rows."""
    figure = Figure(figsize=(5, 3.5), layout="constrained")
    axes = figure.subplots()
    width = {}
    for name in FAMILIES:
        certificate = sb.certify(name, "minimum-degree", largest=600)
        print(certificate)
        width[name] = certificate.width
        bodies = [size.n_bodies for size in certificate.sizes]
        axes.loglog(
            bodies,
            [size.flops for size in certificate.sizes],
            "o-",
            label=f"{name}: {certificate.claim}",
        )
    axes.set(xlabel="bodies", ylabel="flops of a factorization")
    axes.legend()
    folder = Path(tempfile.gettempdir())
    print(save_figure(figure, folder / "certificates.png"))
    order_page(sb.build("ladder", rungs=30), "minimum-degree").save(folder / "ladder.html")
    return width["ladder"]


if __name__ == "__main__":
    main()

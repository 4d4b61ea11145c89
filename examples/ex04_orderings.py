"""Elimination orders on a ladder
==============================

Costs of elimination orders on a ladder: linear in its length with a good one.

With a good order, doubling the ladder doubles the entries of the factor L and the work, whereas the
joint-space inertia matrix of any spanning tree gets four times the entries. Featherstone (2008),
sec. 8.13.
"""

import tempfile
from pathlib import Path

import sparsebody as sb
from sparsebody.plots import plot_fill, save_figure
from sparsebody.viewer import order_page

ORDERINGS = ("natural", "reverse-cuthill-mckee", "level-sweep", "minimum-degree")


def main() -> float:
    """Return the growth of the work with the best order as the ladder is doubled."""
    flops, nonzeros = {}, {}
    for rungs in (100, 200):
        system = sb.build("ladder", rungs=rungs).compile()
        print(f"{rungs} rungs")
        for name in ORDERINGS:
            dynamics = sb.ForwardDynamics(system, ordering=name)
            metrics = dynamics.choice.metrics[name]
            flops[name, rungs] = metrics.flops
            nonzeros[name] = metrics.nnz_l  # of the longer ladder in the end
            print(
                f"  {name:<24}{metrics.flops:>12.3g} flops {metrics.nnz_l:>8} entries of L, "
                f"bandwidth {metrics.scalar_bandwidth}"
            )
    best = min(ORDERINGS, key=lambda name: flops[name, 200])
    growth = flops[best, 200] / flops[best, 100]
    print(f"{best}: {growth:.3f} times the work for twice the ladder")
    flops_of_longer = {name: flops[name, 200] for name in ORDERINGS}
    figure = plot_fill(nonzeros, flops_of_longer, "ladder of 200 rungs")
    folder = Path(tempfile.gettempdir())
    print(save_figure(figure, folder / "ladder-orders.png"))
    order_page(system, best).save(folder / "ladder-orders.html")
    return growth


if __name__ == "__main__":
    main()

"""An atlas of redundancy
======================

How many rows are redundant, and how many freedoms remain, in overconstrained mechanisms of the
literature: counted numerically, and beside what is known of each. The count of Grübler and Kutzbach
is wrong for all but two of them, by just the redundant rows.
"""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import sparsebody as sb
from sparsebody.plots import save_figure

PAIRS, LOOPS = 10, 8
KNOWN = {  # name: parameters, mobility
    "four-bar": ({}, 1),
    "slider-crank": ({}, 1),
    "bricard": ({}, 1),
    "stewart": ({}, 6),
    "scissor": ({"pairs": PAIRS}, 1),
    "n-four-bar": ({"loops": LOOPS}, 1),
    "five-bar-array": ({"loops": LOOPS}, LOOPS + 1),
    "ring": ({"bodies": 6, "joint": "revolute"}, 4),
}


def main() -> int:
    """Return how many mobilities differ from those that are known."""
    different, redundant, kutzbach = 0, [], []
    print(f"{'':<16}{'rows':>6}{'redundant':>11}{'mobility':>10}{'known':>7}{'Kutzbach':>10}")
    for name, (parameters, known) in KNOWN.items():
        counts = sb.count_mobility(sb.build(name, **parameters).compile())
        count = 6 * counts.bodies - counts.constraint_rows
        print(
            f"{name:<16}{counts.constraint_rows:>6}{counts.redundant_rows:>11}"
            f"{counts.mobility:>10}{known:>7}{count:>10}"
        )
        different += counts.mobility != known
        redundant.append(counts.redundant_rows / counts.constraint_rows)
        kutzbach.append(count)
    figure = Figure(figsize=(6, 3), layout="constrained")
    axes = figure.subplots()
    position = np.arange(len(KNOWN))
    axes.barh(position, 100 * np.array(redundant))
    axes.set_yticks(position, list(KNOWN))
    axes.set_xlabel("redundant constraint rows [%]")
    folder = Path(tempfile.gettempdir())
    print(save_figure(figure, folder / "atlas.png"))
    motion = sb.simulate(sb.build("bricard").compile(), duration=2.0, step=0.01)
    motion.show(output=folder / "bricard.html")
    return different


if __name__ == "__main__":
    main()

"""The table of orderings that several commands print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from sparsebody.cli.output import print_table, seconds

if TYPE_CHECKING:
    from sparsebody.analysis.order_comparison import OrderingLine

_HEADER = ("ordering", "flops", "nnz(L)", "band", "blocks", "height", "front", "with", "time")


def print_orderings(lines: Sequence[OrderingLine]) -> None:
    """Print one line for each ordering: work, fill-in, shape and predicted time.

    What there is to say about orders that were given stands below.
    """
    print_table(_HEADER, [_cells(line) for line in lines])
    for line in lines:
        if line.remark:
            click.echo(f"{line.name}: {line.remark}")


def _cells(line: OrderingLine) -> tuple[str, ...]:
    metrics = line.metrics
    return (
        line.name,
        f"{metrics.flops:.3g}",
        f"{metrics.nnz_l}",
        f"{metrics.scalar_bandwidth}",
        f"{metrics.block_bandwidth}",
        f"{metrics.etree_height}",
        f"{metrics.largest_front}",
        line.factorization,
        seconds(line.predicted_seconds),
    )

"""What a report says of a study with details: promises, every case, phases, shuffled numbering."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple

from sparsebody.study.family_rows import OURS, TIME, FamilyRows
from sparsebody.study.measure import Row
from sparsebody.study.pages import Heading, Paragraph, Part, Table
from sparsebody.study.plan import Study
from sparsebody.study.promises import Finding

_PHASES = ("kinematics", "factorize", "solve")
_ONCE = ("build", "compile", "analyze")


def findings(study: Study | None, rows: Sequence[Row]) -> list[Finding]:
    """Return the promises of a study, judged."""
    return [] if study is None or study.promises is None else list(study.promises.load()(rows))


def promise_parts(findings: Sequence[Finding]) -> Iterator[Part]:
    """Yield a table of promises."""
    if findings:
        yield Heading("Promises")
        yield Table(("promise", "bodies: measured", "limit", "verdict"), [*map(astuple, findings)])


def detail_parts(study: Study, families: Sequence[FamilyRows]) -> Iterator[Part]:
    """Yield tables of every case."""
    yield Heading("Time and error")
    yield Paragraph("The last column is a method's time over that of sparse.")
    header = ("family", "bodies", "method", "us", "us per body", "error", "kappa", "over sparse")
    yield Table(header, [line for family in families for line in _cases(family)])
    profile = [line for family in families for line in _profile(family)]
    if profile:
        yield Heading("Where the time of sparse goes")
        yield Paragraph("Microseconds, operations and memory for each body.")
        phases = ("kinematics and assembly", "factorize", "solve", "all", "with joint forces")
        work = ("flops", "GFLOP/s of factorize", "kB", *_ONCE)
        yield Table(("family", "bodies", *phases, *work), profile)
    shuffled = list(_shuffled(study, families))
    if shuffled:
        yield Heading("Shuffled numbering")
        yield Table(("family", "method", "bodies", "shuffled / ordered"), shuffled)


def _cases(family: FamilyRows) -> Iterator[tuple[str, ...]]:
    ours = family.curve(OURS, TIME) if OURS in family.rows else {}
    for label, rows in family.rows.items():
        for row in sorted(rows, key=lambda row: row["n_bodies"]):
            n, us = row["n_bodies"], 1e6 * row[TIME]
            ratio = f"{row[TIME] / ours[n]:.2f}" if n in ours else ""
            accuracy = [f"{row[name]:.0e}" for name in ("error", "kappa")]
            yield family.name, f"{n}", label, f"{us:.4g}", f"{us / n:.3g}", *accuracy, ratio


def _profile(family: FamilyRows) -> Iterator[tuple[str, ...]]:
    rows = [row for row in family.rows.get(OURS, ()) if row["forces_seconds"] > 0.0]
    for row in sorted(rows, key=lambda row: row["n_bodies"]):
        n = row["n_bodies"]
        names = (*(f"{name}_seconds" for name in _PHASES), TIME, "forces_seconds")
        rate = 1e-9 * row["flops"] / row["factorize_seconds"]
        yield (
            family.name,
            f"{n}",
            *(f"{1e6 * row[name] / n:.3f}" for name in names),
            f"{row['flops'] / n:.0f}",
            f"{rate:.2f}",
            f"{1e3 * (row['system_mb'] + row['memory_mb']) / n:.2f}",
            *(f"{1e6 * row[f'{name}_seconds'] / n:.3g}" for name in _ONCE),
        )


def _shuffled(study: Study, families: Sequence[FamilyRows]) -> Iterator[tuple[str, ...]]:
    """Yield how many times slower methods are with bodies and joints in a random order."""
    by_name = {family.name: family for family in families}
    for name, rows in by_name.items():
        base = by_name.get(study.ordered_family(name))
        if base is None:
            continue
        for label in rows.rows.keys() & base.rows.keys():
            ordered = base.curve(label, TIME)
            for n, seconds in rows.curve(label, TIME).items():
                if n in ordered:
                    yield base.name, label, f"{n:.0f}", f"{seconds / ordered[n]:.2f}"

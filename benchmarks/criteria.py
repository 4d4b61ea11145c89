"""What sparsebody promises about forward dynamics, each promise beside what was measured.

Every number comes from the rows of one run; a table says what is kept, and no test depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

OURS = "sparsebody"
PINOCCHIO = (
    "pinocchio-aba",
    "pinocchio-lcaba",
    "pinocchio-lcaba-accurate",
    "pinocchio-constraint-dynamics",
)
LEAN = tuple(name.replace("pinocchio", "pinocchio-lean") for name in PINOCCHIO)
PEERS = (*PINOCCHIO, *LEAN, "mujoco", "exudyn", "drake")
LETTERS = {"ladder": "A", "scissor": "B", "lattice": "C50", "chain": "D"}
MILLION = 1e6
SIZE_SLACK = 1.12  # a lattice has the number of bodies of a square


class Results:
    """The rows of one run: those measured, and the sizes at which sparsebody failed."""

    def __init__(self, rows: list[dict[str, str]]) -> None:
        self.rows = {
            (row["mechanism"], row["method"], row["relabelled"] == "True", n): row
            for row in rows
            if row["status"] == "ok" and (n := int(row["n_bodies"]))
        }
        self.failed = {
            (row["mechanism"], int(row["n_bodies"])): row["status"]
            for row in rows
            if row["status"] != "ok" and (row["method"], row["relabelled"]) == (OURS, "False")
        }

    def value(
        self, mechanism: str, method: str, n: int, column: str, relabelled: bool = False
    ) -> float:
        """Return a number of a row, NaN where there is none."""
        text = self.rows.get((mechanism, method, relabelled, n), {}).get(column, "")
        return float(text) if text else math.nan

    def sizes(
        self, mechanism: str, low: float = 0.0, high: float = math.inf, relabelled: bool = False
    ) -> list[int]:
        """Return the numbers of bodies at which sparsebody was measured, from low to high."""
        return sorted(
            n
            for name, method, shuffled, n in self.rows
            if (name, method, shuffled) == (mechanism, OURS, relabelled)
            and low / SIZE_SLACK <= n <= high * SIZE_SLACK
        )

    def best(
        self,
        mechanism: str,
        methods: tuple[str, ...],
        n: int,
        error: float = math.inf,
    ) -> tuple[float, str]:
        """Return the least time [us] of some methods that reach an error, and whose it is."""
        times = [
            (self.value(mechanism, method, n, "cpu_us"), method)
            for method in methods
            if self.value(mechanism, method, n, "acceleration_error") <= error
        ]
        return min((one for one in times if one[0] > 0.0), default=(math.nan, ""))


@dataclass(frozen=True)
class Finding:
    """One promise, and what came of it."""

    promise: str
    measured: str  # number of bodies: value, ...
    limit: str
    verdict: str


Values = dict[int, tuple[float, float, str]]  # number of bodies: value, limit, remark


def finding(
    promise: str,
    values: Values,
    limit: str,
    needed: tuple[int, ...] = (),
    is_kept: Callable[[float, float], bool] = lambda value, limit: value <= limit,
    form: str = ".3g",
) -> Finding:
    """Judge every value by its own limit.

    Parameters
    ----------
    promise, limit : str
        For readers.
    values : dict
        By number of bodies; NaN is what was not measured.
    needed : tuple of int
        About the numbers of bodies without which the promise is only kept in part.
    is_kept : callable
        Of value and limit.
    form : str
        How values are written.
    """
    known = {n: one for n, one in values.items() if not math.isnan(one[0] + one[1])}
    parts = [f"{n}: {value:{form}}{remark}" for n, (value, _, remark) in known.items()]
    broken = [n for n, (value, bound, _) in known.items() if not is_kept(value, bound)]
    lacking = [n for n in needed if not any(n / SIZE_SLACK <= m <= n * SIZE_SLACK for m in known)]
    if not known:
        verdict = "not measured"
    elif broken:
        verdict = "NOT MET at " + ", ".join(map(str, broken))
    elif lacking:
        verdict = "met, but not measured at " + ", ".join(map(str, lacking))
    else:
        verdict = "met"
    return Finding(promise, "; ".join(parts) or "-", limit, verdict)


def _at_least(value: float, limit: float) -> bool:
    return value >= limit


# ---- the promises ----------------------------------------------------------------------------


def speed_per_body(results: Results, mechanism: str, limit: float) -> Finding:
    """Microseconds per body of the whole evaluation."""
    values = {
        n: (results.value(mechanism, OURS, n, "cpu_us_per_body"), limit, "")
        for n in results.sizes(mechanism, 128)
    }
    for (name, n), status in results.failed.items():
        if name == mechanism and n >= 128:
            values[n] = (math.inf, limit, f" ({status})")
    promise = f"{LETTERS[mechanism]}: us per body, N >= 128"
    return finding(promise, values, f"<= {limit}", (128, 512, 2048, 8192, 32768, 131072, 1048576))


def speed_against(
    results: Results,
    mechanism: str,
    methods: tuple[str, ...],
    sizes: tuple[float, float],
    limit: float,
    who: str,
    error: float = math.inf,
    needed: tuple[int, ...] = (),
) -> Finding:
    """How many times faster than the fastest of some peers."""
    values: Values = {}
    for n in results.sizes(mechanism, *sizes):
        time, name = results.best(mechanism, methods, n, error)
        values[n] = (time / results.value(mechanism, OURS, n, "cpu_us"), limit, f" ({name})")
    low, high = sizes
    extent = f"N = {low:.0f} to {high:.0f}" if high < math.inf else f"N >= {low:.0f}"
    promise = f"{LETTERS[mechanism]}: times faster than {who}, {extent}"
    return finding(promise, values, f">= {limit}", needed, _at_least)


def accuracy(results: Results, mechanism: str) -> Finding:
    """Acceleration error beside that of SuperLU, refined once."""
    values: Values = {}
    for n in results.sizes(mechanism):
        error = results.value(mechanism, OURS, n, "acceleration_error")
        other = results.value(mechanism, "linear-superlu", n, "acceleration_error")
        kappa = results.value(mechanism, OURS, n, "kappa")
        limit = 1e-10 if error <= 1e-10 else 10.0 * other  # NaN without SuperLU
        values[n] = (error, limit, f" (SuperLU {other:.0e}, kappa {kappa:.0e})")
    limit_text = "<= max(1e-10, 10 x SuperLU)"
    return finding(f"{LETTERS[mechanism]}: acceleration error", values, limit_text, form=".0e")


def growth(results: Results, mechanism: str) -> Finding:
    """Exponent of time over size from 512 bodies on."""
    sizes = results.sizes(mechanism, 512)
    time = [results.value(mechanism, OURS, n, "cpu_us") for n in sizes]
    values: Values = {}
    if len(sizes) > 1:
        slope = float(np.polyfit(np.log(sizes), np.log(time), 1)[0])
        values[sizes[-1]] = (slope, math.nan, f" (from {sizes[0]} on)")
        values = {n: (value, 0.05, remark) for n, (value, _, remark) in values.items()}
    promise = f"{LETTERS[mechanism]}: exponent of time over N, 512 to 10^6"
    within = lambda value, limit: abs(value - 1.0) <= limit  # noqa: E731
    return finding(promise, values, "0.95 to 1.05", (1048576,), within, ".3f")


def memory(results: Results, mechanism: str) -> Finding:
    """Resident memory for each body of a million: model, preparation and evaluation."""
    values: Values = {}
    for n in results.sizes(mechanism, MILLION):
        model, peak, held = (
            1e3 * results.value(mechanism, OURS, n, name) / n
            for name in ("system_mb", "memory_mb", "held_mb")
        )
        remark = f" at the peak of preparation (model {model:.2f}; {model + held:.2f} afterwards)"
        values[n] = (model + peak, 4.0, remark)
    return finding(f"{LETTERS[mechanism]}: kB per body at 10^6", values, "<= 4", (1048576,))


def preparation(results: Results, mechanism: str) -> Finding:
    """Seconds to compile and to analyze a million bodies."""
    values: Values = {}
    for n in results.sizes(mechanism, MILLION):
        parts = [results.value(mechanism, OURS, n, name) for name in ("compile_ms", "analyze_ms")]
        build = results.value(mechanism, OURS, n, "build_ms")
        per_million = 1e-3 * MILLION / n
        told = [f"{per_million * part:.1f}" for part in (build, *parts)]
        remark = f" (building {told[0]} not counted; compile {told[1]}, analyze {told[2]})"
        values[n] = (per_million * sum(parts), 10.0, remark)
    promise = f"{LETTERS[mechanism]}: s to compile and analyze 10^6 bodies"
    return finding(promise, values, "<= 10", (1048576,))


def lattice_against_cholmod(results: Results) -> Finding:
    """Whole evaluation over factorization and solution alone."""
    values: Values = {}
    for n in results.sizes("lattice", 512, 8192):
        other = results.value("lattice", "linear-cholmod", n, "cpu_us")
        values[n] = (results.value("lattice", OURS, n, "cpu_us") / other, 1.3, "")
    promise = "C50: time over CHOLMOD's factor + solve, N = 512 to 8192"
    return finding(promise, values, "<= 1.3", (512, 2048, 8192))


def chain_against_aba(results: Results) -> Finding:
    """Time over that of the articulated-body algorithm."""
    values: Values = {}
    for n in results.sizes("chain", 128):
        time, name = results.best("chain", PINOCCHIO[:1] + LEAN[:1], n)
        values[n] = (results.value("chain", OURS, n, "cpu_us") / time, 1.5, f" ({name})")
    promise = "D: time over Pinocchio's ABA, N >= 128"
    return finding(promise, values, "<= 1.5", (128, 512, 2048, 8192))


def smallest(results: Results, mechanism: str) -> Finding:
    """Whole call from Python at 8 bodies over Pinocchio's fastest from Python."""
    values: Values = {}
    for n in results.sizes(mechanism, 8, 8):
        time, name = results.best(mechanism, PINOCCHIO, n)
        own, whole = (results.value(mechanism, OURS, n, name) for name in ("cpu_us", "forces_us"))
        remark = f" ({own:.1f} us, {whole:.1f} us with joint forces; {name} {time:.1f} us)"
        values[n] = (own / time, 1.0, remark)
    promise = f"{LETTERS[mechanism]}: N = 8, call from Python over Pinocchio's fastest"
    return finding(promise, values, "<= 1", (8,))


def relabelling(results: Results, mechanism: str) -> Finding:
    """Time with bodies and joints shuffled over that with them in order."""
    values: Values = {}
    for n in results.sizes(mechanism, relabelled=True):
        shuffled = results.value(mechanism, OURS, n, "cpu_us", relabelled=True)
        values[n] = (shuffled / results.value(mechanism, OURS, n, "cpu_us"), 1.3, "")
    return finding(f"{LETTERS[mechanism]}: shuffled over ordered time", values, "< 1.3")


def findings(rows: list[dict[str, str]]) -> Iterator[Finding]:
    """Return every promise with what was measured."""
    results = Results(rows)
    pinocchio, everyone = PINOCCHIO + LEAN, "every peer"
    yield speed_per_body(results, "ladder", 1.0)
    yield speed_against(
        results, "ladder", pinocchio, (32, 512), 2.0, "Pinocchio's fastest", needed=(32, 128, 512)
    )
    yield speed_against(
        results, "ladder", pinocchio, (2048, math.inf), 10.0, "Pinocchio's fastest", needed=(2048,)
    )
    yield speed_per_body(results, "scissor", 0.4)
    lcaba = tuple(name for name in pinocchio if name.endswith("lcaba"))
    fastest = "LCABA at its fastest"
    yield speed_against(results, "scissor", lcaba, (32, 512), 2.0, fastest, needed=(32, 128, 512))
    exact = f"{everyone} with an error of at most 1e-8"
    yield speed_against(results, "scissor", PEERS, (32, math.inf), 2.0, exact, 1e-8, (32, 128))
    yield speed_against(
        results, "scissor", PEERS, (2048, math.inf), 5.0, everyone, needed=(2048, 8192)
    )
    for mechanism in ("ladder", "scissor"):
        yield accuracy(results, mechanism)
    for promise in (growth, memory, preparation):
        for mechanism in ("ladder", "scissor"):
            yield promise(results, mechanism)
    yield lattice_against_cholmod(results)
    yield speed_against(results, "lattice", PEERS, (8, math.inf), 1.0, everyone, needed=(8, 8192))
    yield chain_against_aba(results)
    for mechanism in ("ladder", "scissor"):
        yield smallest(results, mechanism)
    for mechanism in LETTERS:
        yield relabelling(results, mechanism)


def table(rows: list[dict[str, str]]) -> list[str]:
    """Return a Markdown table of all promises."""
    lines = ["| promise | bodies: measured | limit | verdict |", "|---|---|---|---|"]
    for one in findings(rows):
        lines.append(f"| {one.promise} | {one.measured} | {one.limit} | {one.verdict} |")
    return lines

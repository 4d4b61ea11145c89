"""Promises about forward dynamics, each judged by the rows of one study."""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from operator import ge, le

import numpy as np

from sparsebody.study.findings import OURS, SIZE_SLACK, Finding, Values, judged
from sparsebody.study.rows import Row, case_of_row

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
TIME = "seconds_median"


class Results:
    """The rows that were measured, and the sizes at which sparsebody failed."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows: dict[tuple[str, str, int], Row] = {}
        self.failed: dict[tuple[str, int], str] = {}
        for row in rows:
            label = case_of_row(row).series.label
            if row["status"] == "ok":
                self.rows[row["family"], label, row["n_bodies"]] = row
            elif label == OURS:
                self.failed[row["family"], row["size"]] = row["status"]

    def value(self, family: str, method: str, n: int, column: str = TIME) -> float:
        """Return a number of a row, NaN where there is none."""
        return float(self.rows.get((family, method, n), {}).get(column, math.nan))

    def sizes(
        self, family: str, low: float = 0.0, high: float = math.inf, ours: str = OURS
    ) -> list[int]:
        """Return the numbers of bodies at which a method was measured, from low to high."""
        return sorted(
            n
            for name, method, n in self.rows
            if (name, method) == (family, ours) and low / SIZE_SLACK <= n <= high * SIZE_SLACK
        )

    def best(
        self, family: str, methods: Sequence[str], n: int, error: float = math.inf
    ) -> tuple[float, str]:
        """Return the least time [s] of some methods that reach an error, and whose it is.

        Unknown errors are within infinity alone.
        """
        times = [
            (self.value(family, method, n), method)
            for method in methods
            if error == math.inf or self.value(family, method, n, "error") <= error
        ]
        return min((one for one in times if one[0] > 0.0), default=(math.nan, ""))


def speed_per_body(results: Results, family: str, limit: float) -> Finding:
    """Microseconds per body of the whole evaluation."""
    values: dict[int, tuple[float, float, str]] = {
        n: (1e6 * results.value(family, OURS, n) / n, limit, "") for n in results.sizes(family, 128)
    }
    for (name, n), status in results.failed.items():
        if name == family and n >= 128:
            values[n] = (math.inf, limit, f" ({status})")
    needed = (128, 512, 2048, 8192, 32768, 131072, 1048576)
    return judged(f"{LETTERS[family]}: us per body, N >= 128", values, f"<= {limit}", needed)


def compared(
    results: Results,
    family: str,
    what: str,
    methods: Sequence[str],
    sizes: tuple[float, float],
    limit: float,
    needed: Sequence[int] = (),
    error: float = math.inf,
    ours: str = OURS,
) -> Finding:
    """Time over that of the fastest of some methods, or how many times faster that is."""
    is_speedup, values = what.startswith(FASTER), {}
    for n in results.sizes(family, *sizes, ours):
        time, name = results.best(family, methods, n, error)
        ratio = results.value(family, ours, n) / time
        remark = f" ({name})" * (len(methods) > 1)
        values[n] = (1.0 / ratio if is_speedup else ratio, limit, remark)
    low, high = sizes
    extent = f"N = {low:.0f} to {high:.0f}" if high < math.inf else f"N >= {low:.0f}"
    sign, is_met = (">=", ge) if is_speedup else ("<=", le)
    promise = f"{LETTERS[family]}: {what}, {extent}"
    return judged(promise, values, f"{sign} {limit}", needed, is_met)


def accuracy(results: Results, family: str) -> Finding:
    """Acceleration error beside that of SuperLU, refined once."""
    values = {}
    for n in results.sizes(family):
        error, kappa = (results.value(family, OURS, n, name) for name in ("error", "kappa"))
        other = results.value(family, "linear-superlu", n, "error")
        limit = 1e-10 if error <= 1e-10 else 10.0 * other  # NaN without SuperLU
        values[n] = (error, limit, f" (SuperLU {other:.0e}, kappa {kappa:.0e})")
    promise, limit_text = f"{LETTERS[family]}: acceleration error", "<= max(1e-10, 10 x SuperLU)"
    return judged(promise, values, limit_text, form=".0e")


def growth(results: Results, family: str) -> Finding:
    """Exponent of time over size from 512 bodies on."""
    sizes = results.sizes(family, 512)
    time = [results.value(family, OURS, n) for n in sizes]
    values: Values = {}
    if len(sizes) > 1:
        slope = float(np.polyfit(np.log(sizes), np.log(time), 1)[0])
        values = {sizes[-1]: (slope, 0.05, f" (from {sizes[0]} on)")}
    promise = f"{LETTERS[family]}: exponent of time over N, 512 to 10^6"
    within = lambda value, limit: abs(value - 1.0) <= limit  # noqa: E731
    return judged(promise, values, "0.95 to 1.05", (1048576,), within, ".3f")


def memory(results: Results, family: str) -> Finding:
    """Resident memory for each body of a million: model, preparation and evaluation."""
    values = {}
    for n in results.sizes(family, MILLION):
        names = ("system_mb", "memory_mb", "held_mb")
        model, peak, held = (1e3 * results.value(family, OURS, n, name) / n for name in names)
        remark = f" at the peak of preparation (model {model:.2f}; {model + held:.2f} afterwards)"
        values[n] = (model + peak, 4.0, remark)
    return judged(f"{LETTERS[family]}: kB per body at 10^6", values, "<= 4", (1048576,))


def preparation(results: Results, family: str) -> Finding:
    """Seconds to compile and to analyze a million bodies."""
    values = {}
    for n in results.sizes(family, MILLION):
        names = ("build_seconds", "compile_seconds", "analyze_seconds")
        spent = [MILLION / n * results.value(family, OURS, n, name) for name in names]
        build, compiled, analyzed = (f"{part:.1f}" for part in spent)
        remark = f" (building {build} not counted; compile {compiled}, analyze {analyzed})"
        values[n] = (sum(spent[1:]), 10.0, remark)
    promise = f"{LETTERS[family]}: s to compile and analyze 10^6 bodies"
    return judged(promise, values, "<= 10", (1048576,))


def smallest(results: Results, family: str) -> Finding:
    """Whole call from Python at 8 bodies over Pinocchio's fastest from Python."""
    values = {}
    for n in results.sizes(family, 8, 8):
        time, name = results.best(family, PINOCCHIO, n)
        own, whole = (results.value(family, OURS, n, key) for key in (TIME, "forces_seconds"))
        us = f"{1e6 * own:.1f} us, {1e6 * whole:.1f} us with joint forces"
        values[n] = (own / time, 1.0, f" ({us}; {name} {1e6 * time:.1f} us)")
    promise = f"{LETTERS[family]}: N = 8, call from Python over Pinocchio's fastest"
    return judged(promise, values, "<= 1", (8,))


def shuffling(results: Results, family: str) -> Finding:
    """Time with bodies and joints shuffled over that with them in order."""
    values = {}
    for n in results.sizes(f"{family}-shuffled"):
        shuffled = results.value(f"{family}-shuffled", OURS, n)
        values[n] = (shuffled / results.value(family, OURS, n), 1.3, "")
    return judged(f"{LETTERS[family]}: shuffled over ordered time", values, "< 1.3")


FASTER = "times faster than"
LCABA = tuple(name for name in PINOCCHIO + LEAN if name.endswith("lcaba"))
PINOCCHIOS = f"{FASTER} Pinocchio's fastest", PINOCCHIO + LEAN
EVERYONE = f"{FASTER} every peer", PEERS
EXACT = f"{FASTER} every peer with an error of at most 1e-8", PEERS
ABA = "time over Pinocchio's ABA", (PINOCCHIO[0], LEAN[0])
CHOLMOD = "time over CHOLMOD's factor + solve", ("linear-cholmod",)


def findings(rows: Sequence[Row]) -> Iterator[Finding]:
    """Yield every promise with what was measured."""
    results = Results(rows)
    against, small = partial(compared, results), (32, 128, 512)
    yield speed_per_body(results, "ladder", 1.0)
    yield against("ladder", *PINOCCHIOS, (32, 512), 2.0, small)
    yield against("ladder", *PINOCCHIOS, (2048, math.inf), 10.0, (2048,))
    yield speed_per_body(results, "scissor", 0.4)
    yield against("scissor", f"{FASTER} LCABA at its fastest", LCABA, (32, 512), 2.0, small)
    yield against("scissor", *EXACT, (32, math.inf), 2.0, (32, 128), 1e-8)
    yield against("scissor", *EVERYONE, (2048, math.inf), 5.0, (2048, 8192))
    for promise in (accuracy, growth, memory, preparation):
        for family in ("ladder", "scissor"):
            yield promise(results, family)
    yield against("lattice", *CHOLMOD, (512, 8192), 1.3, (512, 2048, 8192))
    yield against("lattice", *EVERYONE, (8, math.inf), 1.0, (8, 8192))
    yield against("chain", *ABA, (128, math.inf), 1.5, (128, 512, 2048, 8192))
    for family in ("ladder", "scissor"):
        yield smallest(results, family)
    for family in LETTERS:
        yield shuffling(results, family)

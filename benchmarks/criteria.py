"""Promises about forward dynamics, each judged by the rows of one study."""

import math
from collections.abc import Iterator, Sequence
from operator import ge

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

    def sizes(self, family: str, low: float = 0.0, high: float = math.inf) -> list[int]:
        """Return the numbers of bodies at which sparsebody was measured, from low to high."""
        return sorted(
            n
            for name, method, n in self.rows
            if (name, method) == (family, OURS) and low / SIZE_SLACK <= n <= high * SIZE_SLACK
        )

    def best(
        self, family: str, methods: Sequence[str], n: int, error: float = math.inf
    ) -> tuple[float, str]:
        """Return the least time [s] of some methods that reach an error, and whose it is."""
        times = [
            (self.value(family, method, n), method)
            for method in methods
            if self.value(family, method, n, "error") <= error
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


def speed_against(
    results: Results,
    family: str,
    methods: Sequence[str],
    sizes: tuple[float, float],
    limit: float,
    who: str,
    error: float = math.inf,
    needed: Sequence[int] = (),
) -> Finding:
    """How many times faster than the fastest of some peers."""
    values = {}
    for n in results.sizes(family, *sizes):
        time, name = results.best(family, methods, n, error)
        values[n] = (time / results.value(family, OURS, n), limit, f" ({name})")
    low, high = sizes
    extent = f"N = {low:.0f} to {high:.0f}" if high < math.inf else f"N >= {low:.0f}"
    promise = f"{LETTERS[family]}: times faster than {who}, {extent}"
    return judged(promise, values, f">= {limit}", needed, ge)


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


def lattice_against_cholmod(results: Results) -> Finding:
    """Whole evaluation over factorization and solution alone."""
    values = {}
    for n in results.sizes("lattice", 512, 8192):
        other = results.value("lattice", "linear-cholmod", n)
        values[n] = (results.value("lattice", OURS, n) / other, 1.3, "")
    promise = "C50: time over CHOLMOD's factor + solve, N = 512 to 8192"
    return judged(promise, values, "<= 1.3", (512, 2048, 8192))


def chain_against_aba(results: Results) -> Finding:
    """Time over that of the articulated-body algorithm."""
    values = {}
    for n in results.sizes("chain", 128):
        time, name = results.best("chain", PINOCCHIO[:1] + LEAN[:1], n)
        values[n] = (results.value("chain", OURS, n) / time, 1.5, f" ({name})")
    promise = "D: time over Pinocchio's ABA, N >= 128"
    return judged(promise, values, "<= 1.5", (128, 512, 2048, 8192))


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


def findings(rows: Sequence[Row]) -> Iterator[Finding]:
    """Yield every promise with what was measured."""
    results = Results(rows)
    pinocchio, everyone = PINOCCHIO + LEAN, "every peer"
    whose = "Pinocchio's fastest"
    yield speed_per_body(results, "ladder", 1.0)
    yield speed_against(results, "ladder", pinocchio, (32, 512), 2.0, whose, needed=(32, 128, 512))
    yield speed_against(results, "ladder", pinocchio, (2048, math.inf), 10.0, whose, needed=(2048,))
    yield speed_per_body(results, "scissor", 0.4)
    lcaba = [name for name in pinocchio if name.endswith("lcaba")]
    whose = "LCABA at its fastest"
    yield speed_against(results, "scissor", lcaba, (32, 512), 2.0, whose, needed=(32, 128, 512))
    exact = f"{everyone} with an error of at most 1e-8"
    yield speed_against(results, "scissor", PEERS, (32, math.inf), 2.0, exact, 1e-8, (32, 128))
    large = (2048, 8192)
    yield speed_against(results, "scissor", PEERS, (2048, math.inf), 5.0, everyone, math.inf, large)
    for promise in (accuracy, growth, memory, preparation):
        for family in ("ladder", "scissor"):
            yield promise(results, family)
    yield lattice_against_cholmod(results)
    yield speed_against(results, "lattice", PEERS, (8, math.inf), 1.0, everyone, needed=(8, 8192))
    yield chain_against_aba(results)
    for family in ("ladder", "scissor"):
        yield smallest(results, family)
    for family in LETTERS:
        yield shuffling(results, family)

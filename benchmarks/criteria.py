"""Promises about forward dynamics, each judged by the rows of one study."""

import math
from collections.abc import Iterator, Sequence
from operator import ge, le

import numpy as np

from sparsebody.study.findings import OURS, SIZE_SLACK, Finding, Values, judged
from sparsebody.study.fits import growth
from sparsebody.study.rows import Row, case_of_row

ALGORITHMS = ("aba", "lcaba", "lcaba-accurate", "constraint-dynamics")
PINOCCHIO = tuple(f"pinocchio-{name}" for name in ALGORITHMS)
LEAN = tuple(f"pinocchio-lean-{name}" for name in ALGORITHMS)
LCABA = "pinocchio-lcaba", "pinocchio-lean-lcaba"
PEERS = (*PINOCCHIO, *LEAN, "mujoco", "exudyn", "drake")
LETTERS = {"ladder": "A", "scissor": "B", "lattice": "C50", "chain": "D"}
MILLION = 1e6
TIME = "seconds_median"
FASTER = "times faster than"


class OfFamily:
    """What was measured of one family, and the sizes at which sparsebody failed."""

    def __init__(self, family: str, rows: Sequence[Row]) -> None:
        self.name = LETTERS.get(family, family)
        self.rows: dict[tuple[str, int], Row] = {}
        self.failed: dict[int, str] = {}
        for row in (row for row in rows if row["family"] == family):
            label = case_of_row(row).series.label
            if row["status"] == "ok":
                self.rows[label, row["n_bodies"]] = row
            elif label == OURS:
                self.failed[row["size"]] = row["status"]

    def value(self, n: int, column: str = TIME, method: str = OURS) -> float:
        """Return a number of a row, NaN where there is none."""
        return float(self.rows.get((method, n), {}).get(column, math.nan))

    def sizes(self, low: float = 0.0, high: float = math.inf, method: str = OURS) -> list[int]:
        """Return the numbers of bodies at which a method was measured, from low to high."""
        known = (n for label, n in self.rows if label == method)
        return sorted(n for n in known if low / SIZE_SLACK <= n <= high * SIZE_SLACK)

    def best(self, methods: Sequence[str], n: int, error: float = math.inf) -> tuple[float, str]:
        """Return the least time [s] of some methods that reach an error, and whose it is.

        Unknown errors are within infinity alone.
        """
        is_any = error == math.inf
        exact = (one for one in methods if is_any or self.value(n, "error", one) <= error)
        times = ((self.value(n, TIME, one), one) for one in exact)
        return min((one for one in times if one[0] > 0.0), default=(math.nan, ""))


def speed_per_body(of: OfFamily, limit: float) -> Finding:
    """Microseconds per body of the whole evaluation."""
    values = {n: (1e6 * of.value(n) / n, limit, "") for n in of.sizes(128)}
    values |= {n: (math.inf, limit, f" ({why})") for n, why in of.failed.items() if n >= 128}
    needed = (128, 512, 2048, 8192, 32768, 131072, 1048576)
    return judged(f"{of.name}: us per body, N >= 128", values, f"<= {limit}", needed)


def compared(
    of: OfFamily,
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
    for n in of.sizes(*sizes, ours):
        time, name = of.best(methods, n, error)
        ratio = of.value(n, TIME, ours) / time
        remark = f" ({name})" * (len(methods) > 1)
        values[n] = (1.0 / ratio if is_speedup else ratio, limit, remark)
    low, high = sizes
    extent = f"N = {low:.0f} to {high:.0f}" if high < math.inf else f"N >= {low:.0f}"
    sign, is_met = (">=", ge) if is_speedup else ("<=", le)
    return judged(f"{of.name}: {what}, {extent}", values, f"{sign} {limit}", needed, is_met)


def accuracy(of: OfFamily) -> Finding:
    """Acceleration error beside that of SuperLU, refined once."""
    values = {}
    for n in of.sizes():
        error, kappa = of.value(n, "error"), of.value(n, "kappa")
        other = of.value(n, "error", "linear-superlu")
        limit = 1e-10 if error <= 1e-10 else 10.0 * other  # NaN without SuperLU
        values[n] = (error, limit, f" (SuperLU {other:.0e}, kappa {kappa:.0e})")
    limit_text = "<= max(1e-10, 10 x SuperLU)"
    return judged(f"{of.name}: acceleration error", values, limit_text, form=".0e")


def exponent(of: OfFamily) -> Finding:
    """Exponent of time over size from 512 bodies on."""
    values: Values = {}
    n = np.array(of.sizes(512))
    if (fit := growth(n, np.array([of.value(k) for k in n]))) is not None:
        values = {int(n[-1]): (fit.exponent, 0.05, f" (from {n[0]} on)")}
    within = lambda value, limit: abs(value - 1.0) <= limit  # noqa: E731
    promise = f"{of.name}: exponent of time over N, 512 to 10^6"
    return judged(promise, values, "0.95 to 1.05", (1048576,), within, ".3f")


def memory(of: OfFamily) -> Finding:
    """Resident memory for each body of a million: model, preparation and evaluation."""
    values = {}
    for n in of.sizes(MILLION):
        names = ("system_mb", "memory_mb", "held_mb")
        model, peak, held = (1e3 * of.value(n, name) / n for name in names)
        remark = f" at the peak of preparation (model {model:.2f}; {model + held:.2f} afterwards)"
        values[n] = (model + peak, 4.0, remark)
    return judged(f"{of.name}: kB per body at 10^6", values, "<= 4", (1048576,))


def preparation(of: OfFamily) -> Finding:
    """Seconds to compile and to analyze a million bodies."""
    values = {}
    for n in of.sizes(MILLION):
        names = ("build_seconds", "compile_seconds", "analyze_seconds")
        build, compiled, analyzed = (MILLION / n * of.value(n, name) for name in names)
        remark = f"building {build:.1f} not counted; compile {compiled:.1f}, analyze {analyzed:.1f}"
        values[n] = (compiled + analyzed, 10.0, f" ({remark})")
    promise = f"{of.name}: s to compile and analyze 10^6 bodies"
    return judged(promise, values, "<= 10", (1048576,))


def smallest(of: OfFamily) -> Finding:
    """Whole call from Python at 8 bodies over Pinocchio's fastest from Python."""
    values = {}
    for n in of.sizes(8, 8):
        time, name = of.best(PINOCCHIO, n)
        own, whole = of.value(n), of.value(n, "forces_seconds")
        us = f"{1e6 * own:.1f} us, {1e6 * whole:.1f} us with joint forces"
        values[n] = (own / time, 1.0, f" ({us}; {name} {1e6 * time:.1f} us)")
    promise = f"{of.name}: N = 8, call from Python over Pinocchio's fastest"
    return judged(promise, values, "<= 1", (8,))


def shuffling(of: OfFamily, shuffled: OfFamily) -> Finding:
    """Time with bodies and joints shuffled over that with them in order."""
    values = {n: (shuffled.value(n) / of.value(n), 1.3, "") for n in shuffled.sizes()}
    return judged(f"{of.name}: shuffled over ordered time", values, "< 1.3")


def findings(rows: Sequence[Row]) -> Iterator[Finding]:
    """Yield every promise with what was measured."""
    all_four = ladder, scissor, lattice, chain = [OfFamily(name, rows) for name in LETTERS]
    fastest, small = (f"{FASTER} Pinocchio's fastest", PINOCCHIO + LEAN), (32, 128, 512)
    everyone, large = f"{FASTER} every peer", (2048, math.inf)
    yield speed_per_body(ladder, 1.0)
    yield compared(ladder, *fastest, (32, 512), 2.0, small)
    yield compared(ladder, *fastest, large, 10.0, (2048,))
    yield speed_per_body(scissor, 0.4)
    yield compared(scissor, f"{FASTER} LCABA at its fastest", LCABA, (32, 512), 2.0, small)
    exact = f"{everyone} with an error of at most 1e-8"
    yield compared(scissor, exact, PEERS, (32, math.inf), 2.0, (32, 128), 1e-8)
    yield compared(scissor, everyone, PEERS, large, 5.0, (2048, 8192))
    for promise in (accuracy, exponent, memory, preparation):
        yield from map(promise, (ladder, scissor))
    factor, sizes = "time over CHOLMOD's factor + solve", (512, 2048, 8192)
    yield compared(lattice, factor, ("linear-cholmod",), (512, 8192), 1.3, sizes)
    yield compared(lattice, everyone, PEERS, (8, math.inf), 1.0, (8, 8192))
    aba = "time over Pinocchio's ABA", (PINOCCHIO[0], LEAN[0])
    yield compared(chain, *aba, (128, math.inf), 1.5, (128, *sizes))
    yield from map(smallest, (ladder, scissor))
    for name, family in zip(LETTERS, all_four, strict=True):
        yield shuffling(family, OfFamily(f"{name}-shuffled", rows))

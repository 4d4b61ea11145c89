"""LDL' of the scaled [D A'; A 0] by MUMPS, in one process or distributed over the ranks of MPI.

All ranks run the same program and hold the same matrix; each gives MUMPS the columns of its part of
the elimination order, gets its part of the factors, and the solution of rank 0. Pivots, of 1 x 1
and 2 x 2, are chosen within fronts. Amestoy, Duff, L'Excellent and Koster (2001), SIAM J. Matrix
Anal. Appl. 23:15.
"""

import atexit
import ctypes
import threading
import weakref
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparsebody import errors, ranks, tolerances
from sparsebody.arrays import FloatArray, Int32Array, IntArray
from sparsebody.factorization import backend, layouts, unit_factors
from sparsebody.sparse.pattern import BlockPattern, check_order
from sparsebody.sparse.saddle import SaddleMatrix

ANALYZE, FACTORIZE, SOLVE = 1, 2, 3  # jobs of MUMPS
SYMMETRIC, DISTRIBUTED, GIVEN_ORDER = 2, 3, 1
# Parameters, numbered as in the users' guide: no scaling, that is ours; a given order; more room
# than predicted, for pivots that are delayed; entries on all ranks; rows of rounding are found.
SETTINGS = {7: GIVEN_ORDER, 8: 0, 14: 30, 18: DISTRIBUTED, 24: 1, 28: 1}
MORE_ROOM = 400  # per cent, where delayed pivots have filled the first
# Largest entry of a row that is rounding, in a matrix of unit diagonal. Where dependent rows are
# expected: in lattices of up to 20 x 20 x 20 any value from 1e-9 to 1e-7 gives the rank that QR
# decides, or that the smaller ones follow; else only what no refinement mends.
DEPENDENT_PIVOT, ZERO_PIVOT = 1e-8, 1.0 / tolerances.LARGEST_INVERSE

ROOM = (-8, -9, -11, -14, -15, -17, -20)  # errors that more room mends
MEMORY = (-5, -7, -13, -19, -22)  # errors of memory that is not there
MEANINGS = {
    -1: "another rank has failed",
    -2: "the number of entries is out of range",
    -3: "ranks have called different steps: all must run the same program",
    -4: "the elimination order is no permutation",
    -5: "memory for the analysis is lacking",
    -6: "the pattern is singular",
    -7: "memory for the analysis is lacking",
    -8: "delayed pivots need more integer workspace",
    -9: "delayed pivots need more workspace",
    -10: "the matrix is singular",
    -11: "the workspace is too small to solve",
    -13: "memory cannot be allocated",
    -14: "the integer workspace is too small to solve",
    -15: "the integer workspace is too small to refine",
    -16: "the matrix has no rows",
    -17: "the buffer of messages to send is too small",
    -19: "the limit of memory is too small",
    -20: "the buffer of received messages is too small",
    -22: "an array cannot be used or allocated",
    -51: "the graph is too large for 32-bit orderings",
    -90: "factors cannot be written to the disk",
}
REMEDIES = {
    ROOM: "take an order in which joints come after their bodies, or leave dependent rows out",
    MEMORY: "give more ranks (mpiexec -n) on more machines, or an order with less fill-in",
}

_one_at_a_time = threading.Lock()  # MUMPS has variables that threads would share
_contexts: dict[int, Any] = {}  # of MUMPS, by serial number
_released: set[int] = set()  # those that nothing uses any more on this rank


def _new_context() -> tuple[int, Any]:
    """Return a context on all ranks, having freed those that no rank uses any more."""
    import mumps

    everybody = ranks.communicator()
    for serial in sorted(set.intersection(*everybody.allgather(_released))):
        _contexts.pop(serial).destroy()
        _released.discard(serial)
    context = mumps.DMumpsContext(par=1, sym=SYMMETRIC, comm=everybody)
    context.set_silent()
    for index, value in SETTINGS.items():
        context.set_icntl(index, value)
    serial = max(_contexts, default=-1) + 1
    _contexts[serial] = context
    return serial, context


@atexit.register
def _abandon() -> None:
    """Leave contexts to the end of the process: MPI may be finalized before they are destroyed."""
    for context in _contexts.values():
        context.id = None


def available_megabytes() -> float:
    """Return the memory of this machine that nothing uses; infinite if unknown."""
    try:
        with open("/proc/meminfo") as lines:
            return next(float(s.split()[1]) / 1024 for s in lines if s.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return float("inf")


def part_of_order(pattern: BlockPattern, order: IntArray) -> tuple[int, int]:
    """Return the range of the order whose columns this rank gives: about as many as any other's.

    Neighbours in an order by dissection are neighbours in the graph.
    """
    rows = np.cumsum(pattern.block_sizes[order])
    everybody = ranks.communicator()
    share = rows[-1] / everybody.size
    first, last = np.searchsorted(rows, [everybody.rank * share, (everybody.rank + 1) * share])
    return int(first), int(len(order) if everybody.rank == everybody.size - 1 else last)


@dataclass(eq=False)
class MumpsFactor:
    """What MUMPS holds of one pattern, on all ranks; overwritten in place."""

    n_rows: int
    row: Int32Array  # (n_entries,) from 1, of the entries of this rank in elimination order
    column: Int32Array
    newest: int = field(default=0)
    megabytes: dict[str, list[int]] = field(default_factory=dict)  # of each rank

    def __post_init__(self) -> None:
        self.values = np.zeros(len(self.row))
        self._position = np.arange(1, self.n_rows + 1, dtype=np.int32)
        with _one_at_a_time:
            serial, self._context = _new_context()
            weakref.finalize(self, _released.add, serial)
            self._context.set_shape(self.n_rows)
            self._context.set_distributed_assembled(self.row, self.column, self.values)
            self._context.id.perm_in = self._context.cast_array(self._position)
        self.analyze()

    def analyze(self, finds_null_pivots: bool = False) -> None:
        """Analyze the entries of all ranks; MemoryLimitError if a machine has too little memory.

        To find all null pivots, the last front must not be ScaLAPACK's: it needs more memory then.
        """
        from mpi4py import MPI

        with _one_at_a_time:
            self._context.set_icntl(13, int(finds_null_pivots))
            self._run(ANALYZE)
        self._keep_megabytes("predicted", 15)
        everybody = ranks.communicator()
        machine = everybody.Split_type(MPI.COMM_TYPE_SHARED)
        needed = machine.allreduce(self.megabytes["predicted"][everybody.rank])
        machine.Free()
        machines = everybody.allgather((needed, available_megabytes()))
        needed, available = max(machines, key=lambda pair: pair[0] - pair[1])
        if needed > available:
            raise errors.MemoryLimitError(
                f"MUMPS needs {needed} MB on one machine, of {sum(self.megabytes['predicted'])} MB "
                f"on {everybody.size} ranks, but {available:.0f} MB are available there: "
                f"{REMEDIES[MEMORY]}"
            )

    def _run(self, job: int) -> None:
        """Do a job; where it lacks room, once more with more."""
        try:
            self._context.run(job=job)
        except RuntimeError as error:
            number = self._context.get_infog(1)
            if number in ROOM and job == FACTORIZE and self._context.get_icntl(14) < MORE_ROOM:
                self._context.set_icntl(14, MORE_ROOM)
                self._run(job)
                return
            raise failure(number, self._context.get_infog(2)) from error

    def _keep_megabytes(self, what: str, index: int) -> None:
        megabytes = int(self._context.get_info(index))
        self.megabytes[what] = ranks.communicator().allgather(megabytes)

    def sizes(self) -> dict[str, dict[str, float]]:
        """Return flops and entries of the factors; the latter in millions beyond 32 bits."""
        context = self._context
        entries = (float(context.get_infog(index)) for index in (20, 29))
        return {
            "flops": {"predicted": context.get_rinfog(1), "used": context.get_rinfog(3)},
            "entries": {
                what: n if n >= 0.0 else -1e6 * n
                for what, n in zip(("predicted", "used"), entries, strict=True)
            },
        }

    def refactorize(self, null_pivot: float) -> int:
        """Factorize the values; return the serial number of this factorization.

        Rows with no entry larger than `null_pivot` are left out.
        """
        self.newest += 1
        with _one_at_a_time:
            self._context.set_cntl(3, -null_pivot)  # negative: not relative to the matrix
            self._run(FACTORIZE)
        self._keep_megabytes("used", 22)
        return self.newest

    def null_pivots(self) -> IntArray:
        """Return the rows, in elimination order, of which the newest factors keep rounding only."""
        n = self._context.get_infog(28)
        everybody, rows = ranks.communicator(), None
        if everybody.rank == 0 and n:
            address = ctypes.cast(self._context.id.pivnul_list, ctypes.POINTER(ctypes.c_int32))
            rows = np.ctypeslib.as_array(address, (n,)).astype(np.intp) - 1
        return np.zeros(0, dtype=np.intp) if n == 0 else everybody.bcast(rows)

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Solve with the newest factors; (n_rows,) or (n_rows, k), the same bits on all ranks."""
        columns = np.array(rhs.T, dtype=float, order="C")  # overwritten
        instance = self._context.id
        instance.nrhs, instance.lrhs = columns.size // self.n_rows, self.n_rows
        instance.rhs = self._context.cast_array(columns)
        with _one_at_a_time:
            self._run(SOLVE)
        ranks.communicator().Bcast(columns)
        return columns.T


def failure(number: int, detail: int) -> errors.SparsebodyError:
    """Return the error that INFOG(1) and INFOG(2) of MUMPS stand for."""
    meaning = MEANINGS.get(number, "see its users' guide")
    remedy = next((f": {text}" for kind, text in REMEDIES.items() if number in kind), "")
    kind = errors.MemoryLimitError if number in (*ROOM, *MEMORY) else errors.SparsebodyError
    if number in (-6, -10):
        kind, remedy = errors.SingularSystemError, f": {backend.REMEDY}"
    return kind(f"MUMPS ends with error {number} ({detail}), {meaning}{remedy}")


@dataclass(frozen=True, eq=False)
class MumpsNumeric:
    """The factors of one matrix, until the next one is factorized."""

    pattern: BlockPattern
    order: IntArray  # of the scalar rows
    scale: FloatArray  # in elimination order
    factor: MumpsFactor
    serial: int
    null_pivots: IntArray  # rows, in natural order, that depend on those before them

    @property
    def rank(self) -> int:
        """Number of independent rows of A."""
        return self.pattern.n_rows - self.pattern.n_primal_rows - len(self.null_pivots)

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for rhs (n_rows,) or (n_rows, k) in natural order; zero at null pivots."""
        backend.check_rhs(rhs, self.pattern)
        backend.check_newest(self.serial, self.factor.newest)
        scale = self.scale if rhs.ndim == 1 else self.scale[:, None]
        x = np.empty(rhs.shape)
        x[self.order] = scale * self.factor.solve(scale * rhs[self.order])
        return x


@dataclass(eq=False)
class MumpsSymbolic:
    """The entries of this rank, and MUMPS' analysis of those of all ranks."""

    pattern: BlockPattern
    order: IntArray  # of the scalar rows
    layout: layouts.SaddleLayout
    stored: IntArray  # (n_entries,) those of the layout's values that are in the lower triangle
    factor: MumpsFactor
    accepts_dependent_rows: bool = False

    def accept_dependent_rows(self) -> None:
        """Analyze again, so that dependent rows get no multipliers instead of being an error."""
        self.accepts_dependent_rows = True
        self.factor.analyze(finds_null_pivots=True)

    def factorize(self, matrix: SaddleMatrix) -> MumpsNumeric:
        """Factorize, overwriting earlier factors; SingularSystemError at a pivot of rounding.

        Where dependent rows are accepted, their multipliers are zero, and the residual tells
        whether they contradict the others.
        """
        backend.check_pattern(matrix, self.pattern)
        scale = layouts.scales(matrix)
        self._fill(matrix, scale, 0.0)
        expected = DEPENDENT_PIVOT if self.accepts_dependent_rows else ZERO_PIVOT
        serial = self.factor.refactorize(expected)
        null_pivots = self.order[self.factor.null_pivots()]
        if len(null_pivots) == 0:
            backend.check_regular(self.factor.solve, self.pattern.n_rows)
        elif not self.accepts_dependent_rows:
            raise backend.vanishing_pivot(self.pattern, int(null_pivots.max()))
        scale = scale[self.order]
        return MumpsNumeric(self.pattern, self.order, scale, self.factor, serial, null_pivots)

    def _fill(self, matrix: SaddleMatrix, scale: FloatArray, shift: float) -> None:
        """Give MUMPS the entries of the scaled [D A'; A shift] that are of this rank."""
        values = np.empty(self.layout.n_values)
        self.layout.fill(matrix, scale, shift, values)
        self.factor.values[:] = values[self.stored]

    def eliminate(self, rows: FloatArray, delta: float) -> None:
        """Factorize [1 A'; A -delta] for A (n_dual_rows, 2, width), dependent rows or not."""
        n, width = self.pattern.n_primal, rows.shape[2]
        ones = np.tile(np.eye(width), (n, 1, 1))
        self._fill(SaddleMatrix(self.pattern, ones, ones, rows), np.ones(len(self.order)), -delta)
        self.factor.refactorize(ZERO_PIVOT)

    def unit_solution(self, rows: FloatArray, rhs: FloatArray) -> FloatArray:
        """Return x (n_rows,) by the factors of `rows`, the newest ones."""
        x = np.empty(len(rhs))
        x[self.order] = self.factor.solve(rhs[self.order])
        return x

    def explain(self) -> dict[str, object]:
        """Return what MUMPS reports of its analysis and of the newest factors.

        The memory [MB] of each rank, predicted and used; flops, predicted and done; entries.
        """
        megabytes = {what: list(each) for what, each in self.factor.megabytes.items()}
        return {"megabytes": megabytes, **self.factor.sizes()}


def analyze(pattern: BlockPattern, order: IntArray) -> MumpsSymbolic:
    """Lay out the part of this rank and analyze all, in a repaired order if joints come too early.

    Raises MemoryLimitError if a machine has too little memory, SparsebodyError if the ranks do not
    analyze the same.
    """
    check_order(pattern, order)
    order = unit_factors.safe_order(pattern, order)
    checksum = 0
    for array in (pattern.block_sizes, pattern.ends, order):
        checksum = zlib.crc32(array.tobytes(), checksum)
    if len(set(ranks.communicator().allgather(checksum))) > 1:
        raise errors.SparsebodyError(
            "the ranks analyze different matrices: under mpiexec all of them must run the same "
            "program with the same arguments"
        )
    layout, columns = layouts.saddle_columns(
        pattern, order, lower=True, part=part_of_order(pattern, order)
    )
    column = np.repeat(np.arange(pattern.n_rows, dtype=np.int32), np.diff(columns.indptr))
    stored = np.flatnonzero(columns.indices >= column)
    factor = MumpsFactor(pattern.n_rows, columns.indices[stored] + 1, column[stored] + 1)
    return MumpsSymbolic(pattern, pattern.scalar_order(order), layout, stored, factor)

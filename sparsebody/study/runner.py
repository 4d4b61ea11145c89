"""Run a study: every case without a row, several at a time, and the result file at the end."""

import json
import math
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from heapq import heappop, heappush
from pathlib import Path

from sparsebody import ranks, writing
from sparsebody.errors import StudyError
from sparsebody.study.machine import record_environment
from sparsebody.study.measure import measure, solve_reference
from sparsebody.study.plan import Case, Series, Study
from sparsebody.study.processes import Failure, cluster_executor, executor, isolated
from sparsebody.study.rows import Journal, Row, blank_row, write_results
from sparsebody.study.study_references import forget_missing, give_up_reference, is_settled

Report = Callable[[Case, Row, int, int], None]
"""report(case, row, done, all): called after every case."""

DOCUMENT = "study.json"
FATAL = ("timeout", "out-of-memory", "crashed", "skipped")  # larger sizes are not tried


def run_study(
    study: Study,
    folder: Path,
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    file_format: str = "csv",
    retry: bool = False,
    budget: float = math.inf,
    report: Report | None = None,
) -> Path:
    """Run the cases of a study that have no row yet, and return its result file.

    Parameters
    ----------
    study : Study
        From `read_study`.
    folder : Path
        Of rows, references and results; a study that was killed continues from them.
    jobs : int
        Cases that run at a time on this machine, or jobs of a batch system that run them; under
        mpiexec, one on each rank except the first.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers run the cases instead, or one of BATCH_SYSTEMS,
        "slurm" say, whose jobs become such workers. Workers that cannot read `folder` compute no
        errors.
    file_format : {"csv", "parquet"}
        Of the result file.
    retry : bool
        Run the cases again that failed or exceeded a limit.
    budget : float
        Time [s] after which no case begins; with a finite one, small cases run first.
    report : callable, optional
        See Report.

    Raises
    ------
    StudyError
        If the folder holds the rows of another study, or another process runs it.
    OutputError
        If the folder cannot be written.
    MissingDependencyError
        Without Dask or dask-jobqueue for `scheduler`, without PyArrow for Parquet.
    """
    if not study.cases:
        raise StudyError("no method of this study suits any of its families; nothing would run")
    with Journal(folder, study) as journal:
        with writing.write_errors(folder):
            (folder / DOCUMENT).write_text(json.dumps(study.document, indent=1) + "\n")
        known = {
            case: row
            for case in study.cases
            if (row := journal.rows.get(case)) and not (retry and row["status"] != "ok")
        }
        if retry:
            forget_missing(folder)
        if len(known) < len(study.cases) or ranks.n_ranks() > 1:  # other ranks wait for an end
            record_environment(folder)
            root = folder.resolve()
            cluster = None if scheduler is None else cluster_executor(scheduler, jobs)
            with cluster or executor(jobs) as pool:
                is_here = scheduler is None and ranks.n_ranks() == 1
                at_once = jobs if is_here else len(study.cases)
                queue = CaseQueue(study, folder, known, time.monotonic() + budget)
                submit: Submit = lambda *job: pool.submit(run_job, study, root, *job)  # noqa: E731
                for case, row in queue.rows(submit, at_once):
                    journal.add(case, row)
                    known[case] = row
                    if report is not None:
                        report(case, row, len(known), len(study.cases))
        rows = [journal.rows[case] for case in study.cases if case in journal.rows]
        return write_results(rows, folder / f"results.{file_format}")


Submit = Callable[[str, Case], "Future[Row | Failure]"]
JOBS: dict[str, Callable[[Study, Case, Path], Row]] = {
    "measure": measure,
    "reference": solve_reference,
}


def run_job(study: Study, folder: Path, job: str, case: Case) -> Row:
    """Run a job on a case in a process of its own; return a row, also if the process dies."""
    start = time.perf_counter()
    limits = study.time_limit(case), study.settings.memory_limit
    row = isolated(_job, (study, folder, job, case), *limits)
    if isinstance(row, Failure):
        return blank_row(case, **vars(row))
    return dict(row) | {"case_seconds": time.perf_counter() - start}


def _job(study: Study, folder: Path, job: str, case: Case) -> Row:
    study.prepare()
    return JOBS[job](study, case, folder)


@dataclass(eq=False)
class CaseQueue:
    """Which cases may run: each after its reference, and after the next smaller of its series.

    A series ends where a case took too long or too much memory: larger ones are skipped. Series
    that reach the largest sizes go first, so that short cases are left for the end; with a
    deadline, small sizes go first.
    """

    study: Study
    folder: Path
    known: dict[Case, Row]
    deadline: float = math.inf  # of the monotonic clock, after which no case begins
    queues: dict[Series, deque[Case]] = field(default_factory=lambda: defaultdict(deque))
    stopped: dict[Series, Row] = field(default_factory=dict)
    awaited: dict[tuple[str, int, int], list[Case]] = field(default_factory=dict)
    reach: dict[Series, int] = field(init=False)  # largest size
    ready: list[tuple[int, Case, str]] = field(default_factory=list)  # heap of jobs

    def __post_init__(self) -> None:
        for case in self.study.cases:
            row = self.known.get(case)
            if row is None:
                self.queues[case.series].append(case)
            else:
                self._note(case, row)
        self.reach = {series: queue[-1].size for series, queue in self.queues.items()}

    def _note(self, case: Case, row: Row) -> None:
        """Remember the smallest case of a series that exceeded a limit."""
        before = self.stopped.get(case.series)
        if row["status"] in FATAL and (before is None or case.size < before["size"]):
            self.stopped[case.series] = row

    def rows(self, submit: Submit, at_once: int) -> Iterator[tuple[Case, Row]]:
        """Yield the rows of all cases as they come, with `at_once` jobs submitted at a time."""
        running: dict[Future[Row | Failure], tuple[str, Case]] = {}
        for series in self.queues:
            yield from self._advance(series)
        while running or self._may_begin():
            while self._may_begin() and len(running) < at_once:
                _, case, job = heappop(self.ready)
                running[submit(job, case)] = job, case
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=lambda one: running[one][1]):
                job, case = running.pop(future)
                ended = future.result()
                row = blank_row(case, **vars(ended)) if isinstance(ended, Failure) else ended
                if job == "reference":  # those that wait for it may run
                    if row["status"] != "ok":
                        give_up_reference(case, self.folder, f"{row['status']} {row['message']}")
                    for waiting in self.awaited.pop(case.reference):
                        self._add("measure", waiting)
                    continue
                self._note(case, row)
                yield case, row
                yield from self._advance(case.series)

    def _may_begin(self) -> bool:
        return bool(self.ready) and time.monotonic() < self.deadline

    def _advance(self, series: Series) -> Iterator[tuple[Case, Row]]:
        """Let the next case of a series run, or yield rows that say why there are no more."""
        queue = self.queues[series]
        while queue:
            case = queue.popleft()
            before = self.stopped.get(series)
            if before is None or case.size < before["size"]:
                if is_settled(self.study, case, self.folder):
                    self._add("measure", case)
                    return
                waiting = self.awaited.setdefault(case.reference, [])
                if not waiting:
                    self._add("reference", case)
                waiting.append(case)
                return
            reason = before["message"]
            if before["status"] != "skipped":
                reason = f"{before['status']} with {before['size']} bodies"
            yield case, blank_row(case, status="skipped", message=reason)

    def _add(self, job: str, case: Case) -> None:
        first = -self.reach[case.series] if self.deadline == math.inf else case.size
        heappush(self.ready, (first, case, job))

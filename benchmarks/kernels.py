"""Compiles what the cases of a study will run: `python -m benchmarks.kernels STUDY.toml`.

Two processes go through all families and methods, each beginning elsewhere; what one has claimed
the other leaves to it, and finds in the cache. Wide fronts, decisions on rank and samples have
kernels of their own, which small mechanisms do not need.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from sparsebody.study.files import study_of
from sparsebody.study.measure import WARM, warm_up
from sparsebody.study.plan import AUTO, PEER, Case, Series, Study
from sparsebody.study.server import guarded
from sparsebody.study.shared_cache import share_cache

SHARES = 2
SIZES = (WARM, 32, 128)
LARGE = 6000  # of the first family


def compile_all(file: Path) -> None:
    """Compile on two processes, and wait for both."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as claims:
        command = [sys.executable, "-m", __spec__.name, str(file), claims]
        running = [subprocess.Popen([*command, str(share)]) for share in range(SHARES)]
        failures = [process.wait() for process in running]
    if any(failures):
        sys.exit("kernels could not be compiled; see above")
    print(f"kernels compiled in {time.perf_counter() - start:.0f} s", flush=True)


def compile_share(file: Path, claims: Path, share: int) -> None:
    """Run small what no other process has claimed; the first one takes methods from the end."""
    share_cache()
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    document.pop("paths", None)  # of engines, which are left out
    names = list(document["families"])
    first = share * len(names) // SHARES
    for name in names[first:] + names[:first]:
        study = study_of(_alone(document, name))
        cases = sorted(_cases(study, LARGE if name == names[0] else 0))
        for case in cases if share else reversed(cases):
            if _claim(claims, case):
                guarded(partial(warm_up, most=case.size), study, case, claims)


def _claim(claims: Path, case: Case) -> bool:
    """Tell whether this process is the first that asks for a case."""
    try:
        (claims / "-".join(map(str, case.columns.values()))).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _alone(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the study of one of its families."""
    runs = [
        {**run, "families": [name]} for run in document["runs"] if name in run.get("families", name)
    ]
    return {**document, "families": {name: document["families"][name]}, "runs": runs}


def _cases(study: Study, large: int) -> Iterator[Case]:
    """Yield every series but engines' at one size; the automatic orders at others, too."""
    reach: dict[Series, int] = {}
    for case in study.cases:
        reach[case.series] = max(case.size, reach.get(case.series, 0))
    for series, most in reach.items():
        if series.method == PEER:
            continue
        sizes: tuple[int, ...] = SIZES if series.ordering in ("", AUTO) else SIZES[:1]
        if series == Case(0, series).automatic:
            sizes += (large,)
        yield from (Case(size, series) for size in sizes if 0 < size <= most)


if __name__ == "__main__":
    study_file, *rest = sys.argv[1:]
    if rest:
        compile_share(Path(study_file), Path(rest[0]), int(rest[1]))
    else:
        compile_all(Path(study_file))

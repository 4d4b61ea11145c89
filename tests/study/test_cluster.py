"""Runs where Dask is installed: pip install 'sparsebody[study]'."""

import pytest

from sparsebody.errors import StudyError
from sparsebody.study.plan import study_of
from sparsebody.study.rows import read_results
from sparsebody.study.runner import run_study

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")
STUDY = {
    "batch_seconds": 1e-4,
    "repeats": 1,
    "families": {"chain": {"mechanism": "chain"}},
    "runs": [{"sizes": [2, 3], "methods": ["sparse", "aba"]}],
}


def test_the_workers_of_a_cluster_run_the_cases(tmp_path):
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, processes=False
    ) as cluster:
        path = run_study(study_of(STUDY), tmp_path, scheduler=cluster.scheduler_address)
    rows = read_results(path)
    assert [row["status"] for row in rows] == 4 * ["ok"]
    assert all(row["error"] < 1e-12 for row in rows)


def test_a_scheduler_that_is_not_there_is_named(tmp_path):
    with pytest.raises(StudyError, match="no Dask scheduler answers at nonsense:xx"):
        run_study(study_of(STUDY), tmp_path, scheduler="nonsense:xx")

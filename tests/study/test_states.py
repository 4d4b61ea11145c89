import numpy as np

from sparsebody.study.measure import solve_reference
from sparsebody.study.plan import study_of
from sparsebody.study.study_references import is_known, is_settled, problem_of, state_file

STUDY = study_of(
    {
        "batch_seconds": 1e-4,
        "repeats": 1,
        "families": {
            "moving": {"mechanism": "ring", "motion": "random"},
            "resting": {"mechanism": "ring"},
        },
        "reference": {"largest": 4},
        "runs": [{"sizes": [4, 6]}],
    }
)
CASES = {(case.series.family, case.size): case for case in STUDY.cases}


def test_a_moving_state_is_stored_once_and_is_what_every_case_gets(tmp_path):
    case = CASES["moving", 6]
    assert not is_settled(STUDY, case, tmp_path)
    solve_reference(STUDY, case, tmp_path)
    assert is_settled(STUDY, case, tmp_path)
    system = STUDY.families["moving"].build(6).compile()
    fresh = problem_of(STUDY, case, system, tmp_path / "elsewhere").state
    file = state_file(case, tmp_path)
    with np.load(file) as kept:
        assert np.array_equal(kept["velocity"], fresh.velocity)
    np.savez(file, velocity=2.0 * fresh.velocity)
    stored = problem_of(STUDY, case, system, tmp_path).state
    assert np.array_equal(stored.velocity, 2.0 * fresh.velocity)
    assert np.array_equal(stored.position, fresh.position)


def test_a_resting_state_needs_no_file(tmp_path):
    case = CASES["resting", 6]
    assert is_known(STUDY, case, tmp_path)
    assert is_settled(STUDY, case, tmp_path)
    assert not is_settled(STUDY, CASES["resting", 4], tmp_path)  # it has a reference

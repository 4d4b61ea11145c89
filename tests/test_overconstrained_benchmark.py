"""The table of redundant families."""

import numpy as np
import pytest

from benchmarks import overconstrained
from benchmarks.overconstrained import FAMILIES, HEAD, line, main, rows

SMALL = {"scissor": 5, "bricard": 1}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_families_have_what_is_expected_of_them(family):
    for row in rows(family, SMALL.get(family.name, 3)):
        assert row.is_right
        assert row.certain
        assert row.violation < 1e-12
        assert row.error < max(1e-10, 10 * row.kappa * np.finfo(float).eps)
        assert len(line(row)) >= len(HEAD)


def test_a_wrong_count_is_told_and_fails(monkeypatch, capsys):
    family = overconstrained.Family(
        "bricard", FAMILIES[-1].build, lambda n: 2, lambda n: 1, (1,), ()
    )
    monkeypatch.setattr(overconstrained, "FAMILIES", (family,))
    monkeypatch.setattr("sys.argv", ["overconstrained", "--full"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 1
    assert "WRONG, certain" in capsys.readouterr().out


def test_large_mechanisms_have_no_dense_reference():
    row = rows(FAMILIES[2], 40)[0]
    assert np.isnan(row.error)

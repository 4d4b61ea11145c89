"""sparsebody modes: what it prints, and files that are there already."""

import pytest
from command_line import document, refusal, run


def test_modes_are_printed_and_written(tmp_path):
    words = ["modes", "four-bar", "--output", tmp_path / "new"]
    table = run(*words).stdout
    assert "1.13768" in table
    assert "vibration" in table
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "mode-1.h5",
        "mode-1.png",
    ]
    assert "mode-1.h5 exists" in refusal(*words)
    result = document(*words, "--overwrite")
    assert result["mechanisms"] == 0
    assert result["files"] == [str(tmp_path / "new" / "mode-1.h5")]
    assert result["modes"][0]["frequency"] == pytest.approx(1.13768, rel=1e-5)


def test_files_that_are_there_are_noticed_before_anything_is_computed(tmp_path, monkeypatch):
    (tmp_path / "mode-1.h5").touch()
    monkeypatch.setattr("sparsebody.cli.motion_commands._modes", lambda *words: pytest.fail("ran"))
    assert "mode-1.h5 exists" in refusal("modes", "four-bar", "--output", tmp_path)

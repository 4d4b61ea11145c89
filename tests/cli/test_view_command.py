"""sparsebody view: the files that it writes, and what it refuses before anything is read."""

import pytest
from command_line import document, printed, refusal

from sparsebody.viewer import browser


@pytest.fixture
def motion(tmp_path):
    path = tmp_path / "motion.h5"
    words = "simulate", "four-bar", "--duration", 0.1, "--step", 0.01, "--output", path, "--quiet"
    printed(*words)
    return path


def test_pages_of_motions_poses_and_orders_are_written(motion, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert printed("view", motion) == "motion.html\n"
    assert printed("view", "four-bar", "--color", "order") == "four-bar.html\n"
    assert document("view", "chain", "-p", "bodies=3", "--order") == {"files": ["chain-order.html"]}
    for name in ("motion", "four-bar", "chain-order"):
        assert (tmp_path / f"{name}.html").read_text().startswith("<!doctype html>")
    assert "motion.html exists" in refusal("view", motion)
    printed("view", motion, "--overwrite")


def test_pictures_and_films_take_their_options(motion, tmp_path, monkeypatch):
    calls = []

    def drawn(page, times, **look):
        calls.append((times, look))
        import io

        from PIL import Image

        file = io.BytesIO()
        Image.new("RGB", (8, 8)).save(file, "PNG")
        return [file.getvalue()] * len(times)

    monkeypatch.setattr(browser, "captured", drawn)
    monkeypatch.setattr(browser, "find_browser", lambda: "chromium")
    png, gif = tmp_path / "a.png", tmp_path / "a.gif"
    words = "--png", png, "--gif", gif, "--time", 0.05, "--duration", 0.2, "--size", "320x200"
    assert printed("view", motion, *words) == f"{png}\n{gif}\n"
    (picture, look), (film, _) = calls
    assert picture == [0.05]
    assert (look["width"], look["height"]) == (320, 200)
    assert film == pytest.approx([0.0, 0.025, 0.05, 0.075])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["four-bar", "--color", "blue"], "plain, speed, energy, load, order"),
        (["four-bar", "--size", "3"], "no size such as 1280x720"),
        (["four-bar", "--order", "--color", "speed"], "a page of its own"),
        (["four-bar", "--ordering", "auto-x"], "--ordering is for --order"),
        (["four-bar", "--time", "1"], "--time is for --png"),
        (["missing.h5"], "missing.h5"),
        (["missing.h5", "-p", "a=1"], "is a trajectory"),
        (["four-bar", "--color", "load"], "no reactions are recorded"),
        (["four-bar", "--png", "a.jpg"], "must end in .png"),
    ],
)
def test_what_makes_no_sense_is_refused(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message in refusal("view", *words)
    assert list(tmp_path.iterdir()) == []


def test_an_order_is_not_shown_of_a_motion(motion, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "--order is for mechanisms" in refusal("view", motion, "--order")

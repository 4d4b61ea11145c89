import io

import numpy as np
import pytest
from PIL import Image

import sparsebody as sb
from sparsebody.errors import MissingDependencyError, OutputError, UnknownNameError
from sparsebody.viewer import browser, page_of, save_film, save_picture


@pytest.fixture(scope="module")
def page():
    system = sb.build("pendulum").compile()
    return page_of(sb.simulate(system, duration=0.4, step=0.02))


@pytest.mark.browser
def test_pictures_are_drawn_by_the_page(page):
    first, later = browser.captured(page, [0.0, 0.4], width=320, height=200)
    pictures = [
        np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), float) for png in (first, later)
    ]
    assert pictures[0].shape == (200, 320, 3)
    assert (np.abs(pictures[0] - pictures[1]).max(axis=2) > 40).mean() > 0.003  # it has moved
    assert pictures[0][100, 5].min() > 230


def fake_pictures(monkeypatch, n=3):
    """The browser draws n gray pictures."""

    def drawn(page, times, **look):
        files = [io.BytesIO() for _ in times]
        for k, file in enumerate(files):
            Image.new("RGB", (64, 40), (80 * k, 80 * k, 80 * k)).save(file, "PNG")
        return [file.getvalue() for file in files]

    monkeypatch.setattr(browser, "captured", drawn)
    monkeypatch.setattr(browser, "find_browser", lambda: "chromium")


def test_a_gif_has_a_frame_for_every_time(page, monkeypatch, tmp_path):
    fake_pictures(monkeypatch)
    path = save_film(page, tmp_path / "a.gif", [0.0, 0.1, 0.2], 10.0)
    with Image.open(path) as film:
        assert (film.n_frames, film.info["duration"]) == (3, 100)


def test_a_picture_is_written_whole(page, monkeypatch, tmp_path):
    fake_pictures(monkeypatch)
    with Image.open(save_picture(page, tmp_path / "a.png")) as picture:
        assert picture.size == (64, 40)


def test_without_a_browser_the_error_says_what_to_install(page, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CHROME_BIN", raising=False)
    with pytest.raises(MissingDependencyError, match="apt-get install chromium"):
        save_picture(page, tmp_path / "a.png")
    monkeypatch.setenv("CHROME_BIN", "no-such-browser")
    with pytest.raises(MissingDependencyError, match="CHROME_BIN is 'no-such-browser'"):
        browser.find_browser()


def test_without_ffmpeg_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(browser, "find_browser", lambda: "chromium")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingDependencyError, match="apt-get install ffmpeg"):
        browser.check_drawable(tmp_path / "a.mp4")


def test_a_browser_that_draws_nothing_is_named(page, monkeypatch, tmp_path):
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\n")
    silent.chmod(0o755)
    monkeypatch.setenv("CHROME_BIN", str(silent))
    with pytest.raises(OutputError, match="silent did not draw the page"):
        browser.captured(page, [0.0])


def test_unknown_formats_are_refused(page, tmp_path):
    with pytest.raises(UnknownNameError, match=r"is a \.png"):
        save_picture(page, tmp_path / "a.jpg")
    with pytest.raises(UnknownNameError, match=r"one of \.gif, \.mp4"):
        save_film(page, tmp_path / "a.avi", [0.0])


def test_films_end_before_they_begin_again():
    assert browser.film_times(1.0, 2.0, 4) == [1.0, 1.25, 1.5, 1.75]

"""Pictures and films of a page, drawn by the page itself in headless Chromium."""

import base64
import io
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
from PIL import Image

from sparsebody.errors import MissingDependencyError, OutputError, UnknownNameError
from sparsebody.viewer.page_file import Page
from sparsebody.writing import replaced

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# WebGL without a graphics card, no profile of the user's, and nothing sent anywhere.
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
)
FILMS = (".gif", ".mp4")
_PATIENCE = 600.0  # [s] for a film
_CAPTURED = re.compile(r'<pre id="captured"[^>]*>(.*?)</pre>', re.DOTALL)


def find_browser() -> str:
    """Return the path of Chromium or Chrome: CHROME_BIN, or the first one on PATH.

    Raises
    ------
    MissingDependencyError
        If there is none.
    """
    named = os.environ.get("CHROME_BIN")
    path = next(filter(None, map(shutil.which, [named] if named else BROWSERS)), None)
    if path is None:
        looked = f"CHROME_BIN is {named!r}, which is no program" if named else "none is on PATH"
        raise MissingDependencyError(
            f"pictures of a page need Chromium or Chrome; {looked}. Install it (on Debian: apt-get "
            "install chromium), or name it by CHROME_BIN"
        )
    return path


def save_picture(page: Page, path: str | Path, time: float | None = None, **look: object) -> Path:
    """Write a PNG of the page at a time [s], by default the first frame.

    Parameters
    ----------
    page : Page
        Of a motion or a pose.
    path : path-like
        The file, ending in .png.
    time : float, optional
        Of the motion [s].
    **look
        What the page's URL takes: width, height [pixels], view, color, theme, forces.

    Raises
    ------
    UnknownNameError
        If the name of the file does not end in .png.
    MissingDependencyError
        If there is no browser.
    OutputError
        If the browser draws nothing, or the file cannot be written.
    """
    path = Path(path)
    if path.suffix.lower() != ".png":
        raise UnknownNameError(f"{path}: a picture of a page is a .png, not {path.suffix!r}")
    (picture,) = captured(page, [time], **look)
    with replaced(path) as draft:
        draft.write_bytes(picture)
    return path


def save_film(
    page: Page,
    path: str | Path,
    times: Sequence[float],
    frames_per_second: float = 20.0,
    **look: object,
) -> Path:
    """Write a GIF or MP4 of the page at given times [s] of its motion.

    Parameters
    ----------
    page : Page
        Of a motion.
    path : path-like
        The file, ending in .gif or .mp4.
    times : sequence of float
        One for each picture [s].
    frames_per_second : float
        At which they are played.
    **look
        As of `save_picture`.

    Raises
    ------
    UnknownNameError
        If the name of the file does not end in .gif or .mp4.
    MissingDependencyError
        If there is no browser, or no ffmpeg for an MP4.
    OutputError
        If the browser draws nothing, or the file cannot be written.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in FILMS:
        raise UnknownNameError(f"{path}: a film is one of {', '.join(FILMS)}, not {path.suffix!r}")
    check_drawable(path)
    pictures = captured(page, times, **look)
    with replaced(path) as draft:
        if suffix == ".gif":
            _write_gif(pictures, draft, frames_per_second)
        else:
            _write_mp4(pictures, draft, frames_per_second)
    return path


def check_drawable(path: Path) -> None:
    """Raise MissingDependencyError where a picture or film of this kind cannot be made."""
    find_browser()
    if path.suffix.lower() == ".mp4" and shutil.which("ffmpeg") is None:
        raise MissingDependencyError(
            f"{path}: MP4 films need ffmpeg, which is not on PATH; install it (on Debian: apt-get "
            "install ffmpeg), or write a .gif"
        )


def film_times(start: float, end: float, n_pictures: int) -> list[float]:
    """Return n times [s], the last one before the end, so that periods can be repeated."""
    return np.linspace(start, end, n_pictures, endpoint=False).tolist()


def captured(page: Page, times: Sequence[float | None], **look: object) -> list[bytes]:
    """Return PNG pictures that the page draws of itself at some times, without its controls."""
    query = {
        "capture": ",".join("" if t is None else repr(float(t)) for t in times),
        "theme": "light",
    }
    fragment = urlencode(query | {key: str(value) for key, value in look.items()}, safe=",")
    with tempfile.TemporaryDirectory(prefix="sparsebody-") as folder:
        url = page.save(Path(folder) / "page.html").as_uri()
        text = _dumped(f"{url}#{fragment}", Path(folder))
    match = _CAPTURED.search(text)
    if match is None:
        raise OutputError(
            f"the browser {find_browser()} did not draw the page; open it by hand to see why "
            "(WebGL is needed)"
        )
    return [base64.b64decode(picture.split(",", 1)[1]) for picture in json.loads(match.group(1))]


def _dumped(url: str, folder: Path) -> str:
    """Return the document of a page after its script has run."""
    profile = f"--user-data-dir={folder / 'profile'}"
    command = [find_browser(), *FLAGS, profile, "--dump-dom", url]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False)
    except subprocess.TimeoutExpired as error:
        raise OutputError(f"the browser drew nothing in {_PATIENCE:.0f} s; ask for less") from error
    return done.stdout.decode("utf-8", "replace")


def _write_gif(pictures: Sequence[bytes], path: Path, frames_per_second: float) -> None:
    images = [Image.open(io.BytesIO(picture)).convert("RGB") for picture in pictures]
    some = np.vstack([np.asarray(image)[::2, ::2] for image in images[:: len(images) // 4 or 1]])
    palette = Image.fromarray(some).quantize(128)  # one for all, so that colors do not flicker
    frames = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    pause = round(1000.0 / frames_per_second)
    frames[0].save(
        path, format="GIF", save_all=True, append_images=frames[1:], duration=pause, loop=0
    )


def _write_mp4(pictures: Sequence[bytes], path: Path, frames_per_second: float) -> None:
    command = ["ffmpeg", "-loglevel", "error", "-y", "-f", "image2pipe", "-framerate"]
    command += [f"{frames_per_second:g}", "-i", "-", "-pix_fmt", "yuv420p", "-vf"]
    command += ["pad=ceil(iw/2)*2:ceil(ih/2)*2", "-movflags", "+faststart", "-f", "mp4", str(path)]
    done = subprocess.run(command, input=b"".join(pictures), capture_output=True, check=False)
    if done.returncode:
        raise OutputError(f"ffmpeg failed: {done.stderr.decode(errors='replace').strip()}")

"""sparsebody view, plot: motions, mechanisms, orders as pages, pictures, films and figures."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Any

import click

import sparsebody as sb
from sparsebody import errors, plots, viewer
from sparsebody.cli import arguments as arg
from sparsebody.cli import output as out

_FRAMES_PER_SECOND = 20.0  # of films


def _pixels(word: str) -> tuple[int, int]:
    width, height = map(int, word.lower().split("x"))
    if not (64 <= width <= 8192 and 64 <= height <= 8192):
        raise ValueError
    return width, height


_PIXELS = arg.Parsed("WxH", _pixels, "is no size such as 1280x720, of 64 to 8192 pixels")


@click.command()
@arg.source_argument("trajectory|mechanism")
@arg.new_file_option("--output", help="HTML file.  [default: NAME.html in this directory]")
@arg.flag("--open", "opens", help="Open the page in the browser.")
@click.option("--color", metavar="NAME", help="plain, speed, energy, load (of joints) or order.")
@click.option("--frames", type=click.IntRange(1), help="Frames at most.  [default: 400]")
@arg.flag("--order", "shows_order", help="Show graph, elimination tree and matrix instead.")
@click.option("--ordering", default="auto", metavar="NAME", help="Elimination order of --order.")
@arg.new_file_option("--png", help="Picture of the page, drawn by Chromium without a window.")
@arg.new_file_option("--gif", help="Film of the motion, likewise.")
@arg.new_file_option("--mp4", help="Film of the motion, made by ffmpeg of such pictures.")
@click.option("--time", type=float, help="Of the picture [s].  [default: the first frame]")
@click.option("--duration", type=arg.SECONDS, default=5.0, help="Of the film [s].")
@click.option("--size", type=_PIXELS, default="1280x720", help="Of picture and film [pixels].")
@click.option("--view", type=click.Choice(viewer.VIEWS), default="default", help="Likewise.")
@click.option("--theme", type=click.Choice(viewer.THEMES), default="light", help="Likewise.")
@arg.flag("--reactions", help="Draw reaction forces as arrows in picture and film.")
@arg.context_flag("--recover", "Show what can be read of a damaged trajectory.")
@arg.overwrite_option
@arg.json_option
def view(
    source: arg.Source,
    output: Path | None,
    opens: bool,
    color: str | None,
    frames: int | None,
    shows_order: bool,
    ordering: str,
    **pictures: Any,
) -> None:
    """Write a 3-D page of a trajectory (.h5), or of MECHANISM at its initial pose.

    The page is one HTML file that needs no network: it plays the motion, turns, shows the data of
    a clicked body or joint, and colors bodies by speed, kinetic energy, the loads of their joints
    or the elimination order. Pictures and films are drawn by the same page.

    \b
      sparsebody view out/scissor.h5 --open
      sparsebody view stewart --png stewart.png
      sparsebody view lattice -p rows=8 -p columns=8 --order --ordering minimum-degree
    """  # noqa: D301 (a backspace keeps click from filling the lines)
    drawn = {kind: pictures.pop(kind) for kind in ("png", "gif", "mp4")}
    drawn = {kind: path for kind, path in drawn.items() if path is not None}
    if color is not None and color not in viewer.COLORS:
        known = ", ".join(viewer.COLORS)
        raise click.BadParameter(f"{color!r} is none of {known}", param_hint="'--color'")
    if shows_order and (drawn or color):
        raise click.UsageError("--order shows a page of its own, without --color and pictures")
    if ordering != "auto" and not shows_order:
        raise click.UsageError("--ordering is for --order")
    if pictures["time"] is not None and "png" not in drawn:
        raise click.UsageError("--time is for --png")
    for kind, path in drawn.items():
        if path.suffix.lower() != f".{kind}":
            raise click.UsageError(f"--{kind} {path}: the name must end in .{kind}")
        viewer.check_drawable(path)
    name = Path(source.name).stem + ("-order" if shows_order else "")
    file = output or (None if drawn and not opens else Path(f"{name}.html"))
    if file is not None and output is None:
        arg.check_new(file)
    subject = _subject(source)
    if shows_order:
        if isinstance(subject, sb.Trajectory):
            raise click.UsageError(f"--order is for mechanisms, but {source.name} is a trajectory")
        page = viewer.order_page(subject, ordering)
    else:
        page = viewer.page_of(subject, color=color, n_frames=frames)
    _draw(page, subject, drawn, **pictures)
    if file is not None:
        page.save(file)
    files = [path for path in (file, *drawn.values()) if path is not None]
    if arg.is_given("json"):
        out.print_json({"files": [str(path) for path in files]})
    else:
        out.echo_paths(*files)
    if opens and file is not None:
        webbrowser.open(file.resolve().as_uri())


def _subject(source: arg.Source) -> sb.Trajectory | sb.Mechanism:
    """Return the trajectory or the mechanism."""
    if source.trajectory is None:
        return source.load()
    try:
        return sb.Trajectory.load(source.trajectory, recover=arg.is_given("recover"))
    except errors.SimulationError as error:  # a missing file is bad input
        raise click.UsageError(str(error)) from error


def _draw(
    page: viewer.Page, subject: sb.Trajectory | sb.Mechanism, drawn: dict[str, Path], **options: Any
) -> None:
    """Draw a picture and films."""
    width, height = options["size"]
    look = {"width": width, "height": height, "view": options["view"], "theme": options["theme"]}
    look |= {"forces": "on"} if options["reactions"] else {}
    for kind, path in drawn.items():
        if kind == "png":
            viewer.save_picture(page, path, options["time"], **look)
            continue
        if not isinstance(subject, sb.Trajectory):
            raise click.UsageError(f"--{kind} is for motions; give a trajectory (.h5)")
        n = max(2, round(_FRAMES_PER_SECOND * options["duration"]))
        times = viewer.film_times(float(subject.time[0]), float(subject.time[-1]), n)
        viewer.save_film(page, path, times, _FRAMES_PER_SECOND, **look)


# ---- figures ----------------------------------------------------------------------------------

_FORMATS = ("png", "svg", "pdf")


@click.command()
@arg.source_argument("trajectory|mechanism", (*arg.FILE_SUFFIXES, *arg.TRAJECTORY_SUFFIXES))
@arg.file_option("--output", default=Path("."), help="Picture, or directory for several.")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="NAME",
    help="Of a trajectory: motion, trajectory, energy, drift, spy; default: motion, energy, spy. "
    "Of a mechanism: mechanism, spy; default: both. all: every one. May be repeated.",
)
@click.option("--body", "bodies", multiple=True, metavar="NAME", help="Body to trace; may repeat.")
@click.option("--instants", type=click.IntRange(1, 24), default=6, help="In pictures of a motion.")
@click.option("--format", "suffix", type=click.Choice(_FORMATS), default="png")
@arg.context_flag("--overwrite", "Replace existing pictures.")
@arg.context_flag("--recover", "Draw what can be read of a damaged trajectory.")
@arg.solver_options
@arg.json_option
def plot(
    source: arg.Source, output: Path, kinds: tuple[str, ...], suffix: str, **options: Any
) -> None:
    """Draw a trajectory (.h5) or a mechanism; one picture for each kind."""
    choices = plots.Options(**options)
    if source.trajectory is None:
        subject: plots.Subject = plots.MechanismPictures(source.load(), choices)
    else:
        try:
            recover = arg.is_given("recover")
            subject = plots.trajectory_subject(source.trajectory, choices, recover=recover)
        except errors.SimulationError as error:  # a missing file or an unknown body is bad input
            raise click.UsageError(str(error)) from error
    chosen = subject.kinds(kinds)
    if output.suffix and not output.is_dir():
        plots.check_format(output)
    files = arg.output_files(output, Path(source.name).stem, "kind", chosen, f".{suffix}")
    for file in files:
        arg.check_new(file)
    figures = [subject.figure(kind) for kind in chosen]
    for figure, file in zip(figures, files, strict=True):
        plots.save_figure(figure, file)
    if arg.is_given("json"):
        named = zip(chosen, map(str, files), strict=True)
        out.print_json({"files": [{"kind": kind, "path": file} for kind, file in named]})
    else:
        out.echo_paths(*files)

import json

import pytest
from click.testing import CliRunner

from sparsebody.cli import main
from sparsebody.model.gallery import build
from sparsebody.simulation import simulate

MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


def run(*arguments):
    return CliRunner().invoke(main, ["plot", *map(str, arguments)])


@pytest.fixture(scope="module")
def trajectory(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "scissor.h5"
    words = ["--duration", "0.1", "--step", "0.02", "--quiet", "--output", str(path)]
    result = CliRunner().invoke(main, ["simulate", "scissor", "-p", "pairs=2", *words])
    assert result.exit_code == 0
    return path


def test_a_trajectory_alone_makes_motion_energy_and_spy(trajectory, tmp_path):
    result = run(trajectory, "--output", tmp_path / "new", "--json")
    assert result.exit_code == 0, result.stderr
    files = json.loads(result.stdout)["files"]
    assert [file["kind"] for file in files] == ["motion", "energy", "spy"]
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert names == ["scissor-energy.png", "scissor-motion.png", "scissor-spy.png"]


def test_all_makes_every_kind(trajectory, tmp_path):
    assert run(trajectory, "--kind", "all", "--output", tmp_path).exit_code == 0
    assert len(list(tmp_path.iterdir())) == 5


@pytest.mark.parametrize("suffix", MAGIC)
def test_the_suffix_says_the_format(trajectory, tmp_path, suffix):
    path = tmp_path / f"energy.{suffix}"
    assert run(trajectory, "--kind", "energy", "--output", path).exit_code == 0
    assert path.read_bytes().startswith(MAGIC[suffix])


def test_a_directory_takes_the_format_asked_for(trajectory, tmp_path):
    run(trajectory, "--kind", "drift", "--format", "pdf", "--output", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["scissor-drift.pdf"]


def test_a_mechanism_makes_its_picture_and_a_spy_plot(tmp_path):
    result = run("ladder", "-p", "rungs=3", "--output", tmp_path)
    assert result.stdout.split() == [
        str(tmp_path / "ladder-mechanism.png"),
        str(tmp_path / "ladder-spy.png"),
    ]


def test_a_picture_is_replaced_only_when_asked(trajectory, tmp_path):
    path = tmp_path / "mine.png"
    path.write_text("mine")
    words = [trajectory, "--kind", "energy", "--output", path]
    refused = run(*words)
    assert refused.exit_code == 2
    assert "exists; give another --output, or --overwrite" in refused.stderr
    assert path.read_text() == "mine"
    assert run(*words, "--overwrite").exit_code == 0


def test_a_trajectory_without_a_mechanism_is_drawn_as_far_as_can_be(tmp_path):
    path = tmp_path / "bare.h5"
    simulate(build("pendulum").compile(), duration=0.02, step=0.01, output=path)
    assert run(path, "--output", tmp_path / "out").exit_code == 0
    result = run(path, "--kind", "motion", "--output", tmp_path / "motion.png")
    assert result.exit_code == 2
    assert "holds no mechanism" in result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--kind", "film"], "kind is 'film'; this can be drawn as motion, trajectory, energy"),
        (["--output", "motion.jpeg"], "no picture format '.jpeg'"),
        (["--output", "both.png"], "is one picture, but there are 3 kinds"),
        (["--instants", "0"], "'--instants'"),
        (["-p", "pairs=3"], "-p is for gallery mechanisms"),
    ],
)
def test_bad_options_end_with_code_2_and_draw_nothing(trajectory, tmp_path, words, message):
    result = run(trajectory, *words)
    assert result.exit_code == 2
    assert message in result.stderr


def test_an_unknown_body_is_named(trajectory, tmp_path):
    result = run(trajectory, "--body", "elbow", "--output", tmp_path)
    assert result.exit_code == 2
    assert "no body 'elbow'" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_picture_that_cannot_be_written_is_named_before_any_is_drawn(
    trajectory, tmp_path, monkeypatch
):
    monkeypatch.setattr("sparsebody.plots.style.save_figure", None)
    path = tmp_path / "loop.png"
    path.symlink_to(path)
    result = run(trajectory, "--kind", "energy", "--output", path)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"sparsebody: error: cannot write {str(path)!r}: ")


def test_a_missing_trajectory_ends_with_code_2():
    result = run("nowhere.h5")
    assert result.exit_code == 2
    assert "there is no trajectory file 'nowhere.h5'" in result.stderr


def test_a_file_that_is_no_trajectory_is_named(tmp_path):
    path = tmp_path / "broken.h5"
    path.write_text("nothing")
    result = run(path)
    assert result.exit_code == 2
    assert str(path) in result.stderr

import h5py
import pytest
from command_line import document, printed, refusal, run

import sparsebody as sb


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "swing.h5"
    words = ("--duration", 0.05, "--step", 0.01, "--record-reactions", "--output", path)
    printed("simulate", "four-bar", *words, "--quiet")
    return path


def test_a_trajectory_is_written_in_every_format(recorded, tmp_path):
    tables = ("energies", "bodies", "joints", "reactions")
    for kind, suffix in (("csv", "csv"), ("parquet", "parquet")):
        if kind == "parquet":
            pytest.importorskip("pyarrow")
        output = document("export", recorded, "--format", kind, "--output", tmp_path)
        files = [tmp_path / f"swing-{table}.{suffix}" for table in tables]
        assert output == {"files": [str(file) for file in files], "left_out": []}
        assert all(file.stat().st_size > 0 for file in files)
    path = tmp_path / "new" / "swing.vtkhdf"
    assert printed("export", recorded, "--format", "vtk", "--output", path) == f"{path}\n"
    with h5py.File(path) as file:
        assert file["VTKHDF/bodies/Steps"].attrs["NSteps"] == 6


def test_tables_that_a_trajectory_does_not_have_are_left_out_of_all(tmp_path):
    path = tmp_path / "bare.h5"
    system = sb.build("pendulum").compile()
    sb.simulate(system, duration=0.02, step=0.01, output=sb.Output(path))
    files = document("export", path, "--format", "csv", "--output", tmp_path)["files"]
    assert [file.rsplit("-", 1)[1] for file in files] == ["energies.csv", "bodies.csv"]
    words = ("--format", "csv", "--table", "reactions", "--output", tmp_path)
    assert "has no reactions of joints" in refusal("export", path, *words)


def test_a_mechanism_is_written_in_every_format(tmp_path):
    pytest.importorskip("mujoco")
    for kind, suffix in (("mjcf", "xml"), ("urdf", "urdf"), ("json", "json")):
        words = ("-p", "bodies=3", "--format", kind, "--output", tmp_path)
        (file,) = document("export", "chain", *words)["files"]
        assert file == str(tmp_path / f"chain.{suffix}")
        assert sb.load_mechanism(file).n_bodies == 3


def test_what_a_format_cannot_hold_is_told(tmp_path):
    words = ("export", "scissor", "-p", "pairs=2", "-p", "drive=yes", "--format", "mjcf")
    result = run(*words, "--output", tmp_path / "lift.mjcf")
    assert result.stdout == f"{tmp_path / 'lift.mjcf'}\n"
    assert "sparsebody: " in result.stderr
    assert "prescribed motions are left out" in result.stderr


def test_existing_files_are_kept_without_overwrite(recorded, tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("mine")
    words = ("export", recorded, "--format", "csv", "--table", "energies", "--output", path)
    assert "exists; give another --output, or --overwrite" in refusal(*words)
    assert path.read_text() == "mine"
    printed(*words, "--overwrite")
    assert path.read_text().startswith("time,kinetic_energy,")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "vtx"], "--format of a trajectory is 'vtx'; give one of vtk, csv, parquet"),
        (["--format", "mjcf"], "--format of a trajectory is 'mjcf'; give one of vtk, csv"),
        (["--format", "csv", "--table", "x"], "--table is 'x'; give one of energies, bodies"),
        (["--format", "csv", "--output", "x.csv"], "x.csv is one file, but there are 4 tables"),
        (["--format", "vtk", "--output", "x.vtk"], "x.vtk must end in .vtkhdf"),
        (["--format", "vtk", "-p", "a=1"], "-p is for gallery mechanisms"),
    ],
)
def test_words_that_make_no_sense_are_refused(recorded, words, message):
    assert message in refusal("export", recorded, *words)


def test_files_that_are_missing_or_cut_are_refused(recorded, tmp_path):
    missing, cut = tmp_path / "missing.h5", tmp_path / "cut.h5"
    cut.write_bytes(recorded.read_bytes()[:-100])
    out = ("--format", "vtk", "--output", tmp_path)
    assert "there is no trajectory file" in refusal("export", missing, *out)
    assert "was cut: 100 bytes are missing" in refusal("export", cut, *out)
    assert list(tmp_path.iterdir()) == [cut]
    kind = "--format of a mechanism is 'vtk'; give one of mjcf, urdf, json"
    assert kind in refusal("export", "four-bar", *out)

import dataclasses

import pytest
from command_line import document, printed, run

from sparsebody.analysis.inspection import inspect_mechanism
from sparsebody.cli.mechanism_commands import _redundancy
from sparsebody.model.files import read_mechanism
from sparsebody.model.gallery import GALLERY, build
from sparsebody.simulation import simulate

SMALL = {
    "bodies": 4,
    "rungs": 3,
    "elements": 3,
    "pairs": 3,
    "rings": 3,
    "loops": 3,
    "rows": 3,
    "columns": 3,
    "layers": 1,
}
COUNTS = ("bodies", "joints", "loops", "mobility", "constraint_rows", "redundant_rows", "rank")
MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


def test_the_list_for_scripts_has_every_mechanism_with_its_parameters():
    entries = document("gallery")
    assert [entry["name"] for entry in entries] == list(GALLERY)
    scissor = next(entry for entry in entries if entry["name"] == "scissor")
    assert scissor["size_parameters"] == ["pairs"]
    assert scissor["parameters"]["drive"] is False
    assert scissor["summary"]


def test_the_list_for_people_has_every_mechanism():
    listed = printed("gallery")
    assert all(name in listed for name in GALLERY)


def test_a_mechanism_is_described_with_its_counts():
    found = document("gallery", "ladder", "-p", "rungs=4")
    assert (found["bodies"], found["joints"]) == (8, 12)
    assert "8 bodies, 12 joints" in printed("gallery", "ladder", "-p", "rungs=4")


def test_a_mechanism_is_written_to_a_file_in_a_new_directory(tmp_path):
    path = tmp_path / "new" / "chain.json"
    printed("gallery", "chain", "-p", "bodies=3", "--output", path)
    assert read_mechanism(path).n_bodies == 3


def test_a_driven_scissor_has_three_redundant_rows_for_each_loop_between_pairs():
    found = document("inspect", "scissor", "-p", "pairs=4", "-p", "drive=yes")
    assert found["bodies"] == 8
    assert found["joints"] == 12
    assert found["loops"] == 4
    assert found["mobility"] == 0
    assert found["redundant_rows"] == 9
    assert sum(found["redundant_joints"].values()) == 9
    assert found["certain"] is True


def test_a_four_bar_of_spatial_hinges_has_mobility_1_and_3_redundant_rows():
    found = document("inspect", "four-bar")
    counts = {key: found[key] for key in COUNTS}
    assert counts == {
        "bodies": 3,
        "joints": 4,
        "loops": 1,
        "mobility": 1,
        "constraint_rows": 20,
        "redundant_rows": 3,
        "rank": 17,
    }
    assert found["joint_types"] == {"revolute": 4}


@pytest.mark.parametrize("name", GALLERY)
def test_every_mechanism_of_the_gallery_can_be_inspected(name):
    entry = GALLERY[name]
    sizes = [f"{key}={SMALL[key]}" for key in entry.size_parameters]
    found = document("inspect", name, *(word for size in sizes for word in ("-p", size)))
    assert all(isinstance(found[key], int) for key in COUNTS)
    assert all(isinstance(found[key], str) for key in ("name", "ordering", "factorization", "why"))
    assert found["rank"] == found["constraint_rows"] - found["redundant_rows"]
    assert found["residual"] < 1e-9
    assert found["dropped_residual"] < 1e-7
    assert found["initial_error"] < 1e-6
    assert found["ordering"] in [line["name"] for line in found["orderings"]]


def test_the_ordering_and_the_factorization_asked_for_are_taken():
    found = document("inspect", "chain", "--ordering", "natural", "--factorization", "superlu")
    assert (found["ordering"], found["factorization"]) == ("natural", "superlu")
    assert [line["name"] for line in found["orderings"]] == ["natural"]


def test_people_read_the_same_counts_and_the_orderings():
    text = printed("inspect", "scissor", "-p", "pairs=3", "-p", "drive=yes")
    text = " ".join(text.split())
    assert "redundant rows 6, certain; left out at" in text
    assert "mobility 0 (with 1 prescribed coordinate)" in text
    assert "condition number 45; rounding moves accelerations by up to" in text
    assert "minimum-degree" in text


def test_people_read_what_special_geometry_adds():
    text = " ".join(printed("inspect", "bricard").split())
    assert "generic rank 30 of 30, mobility 0; special geometry adds 1 redundant row and" in text
    text = printed("inspect", "rotating-squares", "-p", "rows=5")
    text = " ".join(text.split())
    assert "generic in plane rank 59 of 64, mobility 1; special geometry adds 1 redundant" in text
    found = document("inspect", "stewart")
    assert found["generic"] == {"freedoms": 6, "rows": 72, "rank": 72, "mobility": 6}
    assert found["generic_in_plane"] is None
    assert found["redundancy_doubt"] == ""


def test_people_read_why_a_decision_is_in_doubt():
    found = inspect_mechanism(build("bricard"))
    doubtful = dataclasses.replace(found, certain=False, redundancy_doubt="nearly singular")
    assert "1, NOT certain: nearly singular; left out at" in _redundancy(doubtful)


def test_people_read_what_closed_loops_do():
    text = printed("inspect", "four-bar")
    text = " ".join(text.split())
    assert "spanning tree 3 freedoms, breadth-first; 1 loop in 1 cluster" in text
    assert "loop constraints 5, of rank 2: overconstrained by 3" in text
    assert "pose regular" in text
    assert "configurations 2 with the same coordinate 0 of joint 'crank-pivot'" in text
    assert "loop constraints" not in printed("inspect", "chain")


def test_a_file_is_inspected_as_the_mechanism_that_it_was_written_from(tmp_path):
    path = tmp_path / "ring.json"
    printed("gallery", "ring", "-p", "bodies=5", "--output", path)
    from_file, from_gallery = (
        document("inspect", *of) for of in ([path], ["ring", "-p", "bodies=5"])
    )
    assert [from_file[key] for key in COUNTS] == [from_gallery[key] for key in COUNTS]


def test_subgroups_are_listed_in_words_and_in_json():
    arguments = ["scissor", "-p", "pairs=6"]
    (found,) = document("inspect", *arguments)["subgroups"]
    assert (found["kind"], found["base"], found["loops"]) == ("planar", "world", 5)
    assert (len(found["bodies"]), len(found["joints"])) == (12, 17)
    assert sum(found["redundant_joints"].values()) == found["redundant_rows"] == 15
    told = printed("inspect", *arguments)
    assert "planar, about the world: 12 bodies, 17 joints, 5 loops: 15 redundant rows" in told


def test_subgroups_can_be_switched_off():
    found = document("inspect", "scissor", "-p", "pairs=6", "--reduction", "none")
    assert found["subgroups"] == []
    assert found["planar"] is False
    assert found["redundant_rows"] == 15


def test_reactions_and_remedies_are_told_joint_by_joint():
    text = printed("inspect", "four-bar")
    assert "3 dimensions not determined, at 4 of 4 joints" in text
    assert "joint 'crank-pin': force x, y unique; force z, torque x, y not: " in text
    assert "; replace by point-on-line to remove them" in text
    assert "verified in 2 poses: rank 17" in text


def test_large_mechanisms_are_advised_when_asked_to(tmp_path):
    words = ("scissor", "-p", "pairs=40")
    assert "advice" not in document("inspect", *words)
    target = tmp_path / "advised.json"
    found = document("inspect", *words, "--advice", "--save-advised", str(target))
    assert found["advice"]["verified"] is True
    assert len(found["reactions"]["joints"]) == 118
    again = document("inspect", str(target))
    assert (again["redundant_rows"], again["mobility"]) == (0, found["mobility"])
    assert again["reactions"]["dimension"] == 0


def test_what_the_joints_of_trees_exert_is_determined():
    text = printed("inspect", "chain")
    assert "all determined" in text
    assert "advice" not in text


@pytest.fixture(scope="module")
def trajectory(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "scissor.h5"
    words = ["--duration", "0.1", "--step", "0.02", "--quiet", "--output", str(path)]
    printed("simulate", "scissor", "-p", "pairs=2", *words)
    return path


def test_a_trajectory_alone_makes_motion_energy_and_spy(trajectory, tmp_path):
    files = document("plot", trajectory, "--output", tmp_path / "new")["files"]
    assert [file["kind"] for file in files] == ["motion", "energy", "spy"]
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert names == ["scissor-energy.png", "scissor-motion.png", "scissor-spy.png"]


def test_all_makes_every_kind(trajectory, tmp_path):
    assert run("plot", trajectory, "--kind", "all", "--output", tmp_path).exit_code == 0
    assert len(list(tmp_path.iterdir())) == 5


@pytest.mark.parametrize("suffix", MAGIC)
def test_the_suffix_says_the_format(trajectory, tmp_path, suffix):
    path = tmp_path / f"energy.{suffix}"
    assert run("plot", trajectory, "--kind", "energy", "--output", path).exit_code == 0
    assert path.read_bytes().startswith(MAGIC[suffix])


def test_a_directory_takes_the_format_asked_for(trajectory, tmp_path):
    run("plot", trajectory, "--kind", "drift", "--format", "pdf", "--output", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["scissor-drift.pdf"]


def test_a_mechanism_makes_its_picture_and_a_spy_plot(tmp_path):
    result = run("plot", "ladder", "-p", "rungs=3", "--output", tmp_path)
    assert result.stdout.split() == [
        str(tmp_path / "ladder-mechanism.png"),
        str(tmp_path / "ladder-spy.png"),
    ]


def test_a_trajectory_without_a_mechanism_is_drawn_as_far_as_can_be(tmp_path):
    path = tmp_path / "bare.h5"
    simulate(build("pendulum").compile(), duration=0.02, step=0.01, output=path)
    assert run("plot", path, "--output", tmp_path / "out").exit_code == 0
    result = run("plot", path, "--kind", "motion", "--output", tmp_path / "motion.png")
    assert result.exit_code == 2
    assert "holds no mechanism" in result.stderr


def test_an_unknown_body_is_named(trajectory, tmp_path):
    result = run("plot", trajectory, "--body", "elbow", "--output", tmp_path)
    assert result.exit_code == 2
    assert "no body 'elbow'" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_picture_that_cannot_be_written_is_named_before_any_is_drawn(
    trajectory, tmp_path, monkeypatch
):
    monkeypatch.setattr("sparsebody.plots.style.save_figure", None)
    path = tmp_path / "loop.png"
    path.symlink_to(path)
    result = run("plot", trajectory, "--kind", "energy", "--output", path)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"sparsebody: error: cannot write {str(path)!r}: ")

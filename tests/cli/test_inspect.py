import dataclasses
import json

import pytest
from click.testing import CliRunner

from sparsebody.analysis.inspection import inspect_mechanism
from sparsebody.cli import main
from sparsebody.cli.mechanism_commands import _redundancy
from sparsebody.model.gallery import GALLERY, build

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


def inspected(*arguments):
    result = CliRunner().invoke(main, ["inspect", *arguments, "--json"])
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return json.loads(result.stdout)


def test_a_driven_scissor_has_three_redundant_rows_for_each_loop_between_pairs():
    found = inspected("scissor", "-p", "pairs=4", "-p", "drive=yes")
    assert found["bodies"] == 8
    assert found["joints"] == 12
    assert found["loops"] == 4
    assert found["mobility"] == 0
    assert found["redundant_rows"] == 9
    assert sum(found["redundant_joints"].values()) == 9
    assert found["certain"] is True


def test_a_four_bar_of_spatial_hinges_has_mobility_1_and_3_redundant_rows():
    found = inspected("four-bar")
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
    found = inspected(name, *(word for size in sizes for word in ("-p", size)))
    assert all(isinstance(found[key], int) for key in COUNTS)
    assert all(isinstance(found[key], str) for key in ("name", "ordering", "factorization", "why"))
    assert found["rank"] == found["constraint_rows"] - found["redundant_rows"]
    assert found["residual"] < 1e-9
    assert found["dropped_residual"] < 1e-7
    assert found["initial_error"] < 1e-6
    assert found["ordering"] in [line["name"] for line in found["orderings"]]


def test_the_ordering_and_the_factorization_asked_for_are_taken():
    found = inspected("chain", "--ordering", "natural", "--factorization", "superlu")
    assert (found["ordering"], found["factorization"]) == ("natural", "superlu")
    assert [line["name"] for line in found["orderings"]] == ["natural"]


def test_people_read_the_same_counts_and_the_orderings():
    result = CliRunner().invoke(main, ["inspect", "scissor", "-p", "pairs=3", "-p", "drive=yes"])
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    assert "redundant rows 6, certain; left out at" in text
    assert "mobility 0 (with 1 prescribed coordinate)" in text
    assert "condition number 45; rounding moves accelerations by up to" in text
    assert "minimum-degree" in text


def test_people_read_what_special_geometry_adds():
    text = " ".join(CliRunner().invoke(main, ["inspect", "bricard"]).stdout.split())
    assert "generic rank 30 of 30, mobility 0; special geometry adds 1 redundant row and" in text
    result = CliRunner().invoke(main, ["inspect", "rotating-squares", "-p", "rows=5"])
    text = " ".join(result.stdout.split())
    assert "generic in plane rank 59 of 64, mobility 1; special geometry adds 1 redundant" in text
    found = inspected("stewart")
    assert found["generic"] == {"freedoms": 6, "rows": 72, "rank": 72, "mobility": 6}
    assert found["generic_in_plane"] is None
    assert found["redundancy_doubt"] == ""


def test_people_read_why_a_decision_is_in_doubt():
    found = inspect_mechanism(build("bricard"))
    doubtful = dataclasses.replace(found, certain=False, redundancy_doubt="nearly singular")
    assert "1, NOT certain: nearly singular; left out at" in _redundancy(doubtful)


def test_people_read_what_closed_loops_do():
    result = CliRunner().invoke(main, ["inspect", "four-bar"])
    text = " ".join(result.stdout.split())
    assert "spanning tree 3 freedoms, breadth-first; 1 loop in 1 cluster" in text
    assert "loop constraints 5, of rank 2: overconstrained by 3" in text
    assert "pose regular" in text
    assert "configurations 2 with the same coordinate 0 of joint 'crank-pivot'" in text
    assert "loop constraints" not in CliRunner().invoke(main, ["inspect", "chain"]).stdout


def test_a_file_is_inspected_as_the_mechanism_that_it_was_written_from(tmp_path):
    path = tmp_path / "ring.json"
    written = CliRunner().invoke(main, ["gallery", "ring", "-p", "bodies=5", "--output", str(path)])
    assert written.exit_code == 0
    from_file, from_gallery = inspected(str(path)), inspected("ring", "-p", "bodies=5")
    assert [from_file[key] for key in COUNTS] == [from_gallery[key] for key in COUNTS]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scisor"], "no mechanism 'scisor' in the gallery; it has chain, "),
        (["scissor", "-p", "pairs"], "'pairs' is not of the form key=value"),
        (["scissor", "-p", "pairs="], "'pairs=' is not of the form key=value"),
        (["scissor", "-p", "pears=3"], "scissor has no parameter 'pears'; it has pairs, "),
        (["scissor", "-p", "pairs=two"], "pairs is 'two'"),
        (["scissor", "-p", "pairs=0"], "pairs is 0; give 1 or more"),
        (["scissor", "-p", "pairs=2", "-p", "pairs=3"], "'pairs' is given twice"),
        (["nowhere/robot.json"], "nowhere/robot.json"),
        (["nowhere/robot.json", "-p", "pairs=2"], "-p is for gallery mechanisms"),
        (["nowhere/robot.xyz"], "unknown suffix '.xyz'"),
        (["chain", "--ordering", "best"], "best"),
        (["chain", "--factorization", "best"], "best"),
        (["chain", "--reduction", "best"], "reduction is 'best'; give one of auto, none"),
        ([], "Missing argument 'MECHANISM'"),
        (["chain", "--jason"], "No such option"),
    ],
)
def test_bad_input_ends_with_code_2_and_one_line_that_says_what_is_wrong(arguments, message):
    result = CliRunner().invoke(main, ["inspect", *arguments, "--json"])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("sparsebody: error: ")
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_subgroups_are_listed_in_words_and_in_json():
    arguments = ["scissor", "-p", "pairs=6"]
    (found,) = inspected(*arguments)["subgroups"]
    assert (found["kind"], found["base"], found["loops"]) == ("planar", "world", 5)
    assert (len(found["bodies"]), len(found["joints"])) == (12, 17)
    assert sum(found["redundant_joints"].values()) == found["redundant_rows"] == 15
    told = CliRunner().invoke(main, ["inspect", *arguments]).stdout
    assert "planar, about the world: 12 bodies, 17 joints, 5 loops: 15 redundant rows" in told


def test_subgroups_can_be_switched_off():
    found = inspected("scissor", "-p", "pairs=6", "--reduction", "none")
    assert found["subgroups"] == []
    assert found["planar"] is False
    assert found["redundant_rows"] == 15


def test_a_broken_file_ends_with_code_2_and_names_the_file(tmp_path):
    path = tmp_path / "broken.json"
    path.write_text('{"directed": true,')
    result = CliRunner().invoke(main, ["inspect", str(path)])
    assert result.exit_code == 2
    assert f"sparsebody: error: {path}" in result.stderr


def test_reactions_and_remedies_are_told_joint_by_joint():
    result = CliRunner().invoke(main, ["inspect", "four-bar"])
    assert "3 dimensions not determined, at 4 of 4 joints" in result.stdout
    assert "joint 'crank-pin': force x, y unique; force z, torque x, y not: " in result.stdout
    assert "; replace by point-on-line to remove them" in result.stdout
    assert "verified in 2 poses: rank 17" in result.stdout


def test_large_mechanisms_are_advised_when_asked_to(tmp_path):
    words = ("scissor", "-p", "pairs=40")
    assert "advice" not in inspected(*words)
    target = tmp_path / "advised.json"
    found = inspected(*words, "--advice", "--save-advised", str(target))
    assert found["advice"]["verified"] is True
    assert len(found["reactions"]["joints"]) == 118
    again = inspected(str(target))
    assert (again["redundant_rows"], again["mobility"]) == (0, found["mobility"])
    assert again["reactions"]["dimension"] == 0


def test_what_the_joints_of_trees_exert_is_determined():
    result = CliRunner().invoke(main, ["inspect", "chain"])
    assert "all determined" in result.stdout
    assert "advice" not in result.stdout

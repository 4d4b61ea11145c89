import pytest
from command_line import document, printed, refusal
from linkages import small_sizes

import sparsebody as sb
from sparsebody.model.gallery import GALLERY

EVERY_KIND = ("motion", "trajectory", "energy", "drift", "spy")
COUNTS = ("bodies", "joints", "loops", "mobility", "constraint_rows", "redundant_rows", "rank")


def test_the_list_for_scripts_has_every_mechanism_with_its_parameters():
    entries = document("gallery")
    assert [entry["name"] for entry in entries] == list(GALLERY)
    scissor = next(entry for entry in entries if entry["name"] == "scissor")
    assert scissor["size_parameters"] == ["pairs"]
    assert scissor["parameters"]["drive"] is False
    assert scissor["summary"]
    ladder = document("gallery", "ladder", "-p", "rungs=4")
    assert (ladder["bodies"], ladder["joints"]) == (8, 12)


@pytest.mark.parametrize(
    ("words", "counts"),
    [
        (["four-bar"], (3, 4, 1, 1, 20, 3, 17)),
        (["scissor", "-p", "pairs=4", "-p", "drive=yes"], (8, 12, 4, 0, 57, 9, 48)),
        (["scissor", "-p", "pairs=6", "--reduction", "none"], (12, 18, 6, 1, 86, 15, 71)),
    ],
)
def test_mechanisms_are_inspected_by_their_counts(words, counts):
    inspection = document("inspect", *words)
    assert tuple(inspection[key] for key in COUNTS) == counts
    assert sum(inspection["redundant_joints"].values()) == inspection["redundant_rows"]
    assert inspection["certain"] is True
    if "none" in words:
        assert (inspection["subgroups"], inspection["planar"]) == ([], False)


def test_joint_types_and_what_special_geometry_adds_are_given():
    assert document("inspect", "four-bar")["joint_types"] == {"revolute": 4}
    stewart = document("inspect", "stewart")
    assert stewart["generic"] == {"freedoms": 6, "rows": 72, "rank": 72, "mobility": 6}
    assert (stewart["generic_in_plane"], stewart["redundancy_doubt"]) == (None, "")


@pytest.mark.parametrize("name", GALLERY)
def test_every_mechanism_of_the_gallery_can_be_inspected(name):
    sizes = [f"{key}={value}" for key, value in small_sizes(name).items()]
    inspection = document("inspect", name, *(word for size in sizes for word in ("-p", size)))
    assert all(isinstance(inspection[key], int) for key in COUNTS)
    assert all(
        isinstance(inspection[key], str) for key in ("name", "ordering", "factorization", "why")
    )
    assert inspection["rank"] == inspection["constraint_rows"] - inspection["redundant_rows"]
    assert inspection["residual"] < 1e-9
    assert inspection["dropped_residual"] < 1e-7
    assert inspection["initial_error"] < 1e-6
    assert inspection["ordering"] in [line["name"] for line in inspection["orderings"]]


def test_a_file_is_inspected_as_the_mechanism_that_it_was_written_from(tmp_path):
    path, ring = tmp_path / "new" / "ring.json", ["ring", "-p", "bodies=5"]
    printed("gallery", *ring, "--output", path)
    from_file, from_gallery = (document("inspect", *words) for words in ([path], ring))
    assert [from_file[key] for key in COUNTS] == [from_gallery[key] for key in COUNTS]


def test_subgroups_are_listed():
    (subgroup,) = document("inspect", "scissor", "-p", "pairs=6")["subgroups"]
    assert (subgroup["kind"], subgroup["base"], subgroup["loops"]) == ("planar", "world", 5)
    assert (len(subgroup["bodies"]), len(subgroup["joints"])) == (12, 17)
    assert sum(subgroup["redundant_joints"].values()) == subgroup["redundant_rows"] == 15


def test_large_mechanisms_are_advised_when_asked_to(tmp_path):
    words = ("scissor", "-p", "pairs=40")
    assert "advice" not in document("inspect", *words)
    target = tmp_path / "advised.json"
    inspection = document("inspect", *words, "--advice", "--save-advised", str(target))
    assert inspection["advice"]["verified"] is True
    assert len(inspection["reactions"]["joints"]) == 118
    again = document("inspect", str(target))
    assert (again["redundant_rows"], again["mobility"]) == (0, inspection["mobility"])
    assert again["reactions"]["dimension"] == 0


@pytest.fixture(scope="module")
def trajectory(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "scissor.h5"
    words = ["--duration", "0.1", "--step", "0.02", "--quiet", "--output", str(path)]
    printed("simulate", "scissor", "-p", "pairs=2", *words)
    return path


@pytest.mark.parametrize(
    ("options", "pictures"),
    [
        ([], ["motion.png", "energy.png", "spy.png"]),
        (["--kind", "drift", "--format", "pdf"], ["drift.pdf"]),
        (["--kind", "all"], [f"{kind}.png" for kind in EVERY_KIND]),
    ],
)
def test_a_trajectory_makes_the_pictures_asked_for(trajectory, tmp_path, options, pictures):
    files = document("plot", trajectory, *options, "--output", tmp_path / "new")["files"]
    assert [file["kind"] for file in files] == [name.partition(".")[0] for name in pictures]
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert names == sorted(f"scissor-{name}" for name in pictures)


def test_a_mechanism_makes_its_picture_and_a_spy_plot(tmp_path):
    words = printed("plot", "ladder", "-p", "rungs=3", "--output", tmp_path).split()
    assert words == [str(tmp_path / f"ladder-{kind}.png") for kind in ("mechanism", "spy")]


def test_a_trajectory_without_a_mechanism_is_drawn_as_far_as_can_be(tmp_path, trajectory):
    path = tmp_path / "bare.h5"
    sb.simulate(sb.build("pendulum").compile(), duration=0.02, step=0.01, output=path)
    printed("plot", path, "--output", tmp_path / "out")
    output = ["--output", tmp_path / "motion.png"]
    assert "holds no mechanism" in refusal("plot", path, "--kind", "motion", *output)
    assert "no body 'elbow'" in refusal(
        "plot", trajectory, "--body", "elbow", *output[:1], tmp_path
    )
    assert {file.name for file in tmp_path.iterdir()} == {"bare.h5", "out"}


def test_a_picture_that_cannot_be_written_is_named_before_any_is_drawn(
    trajectory, tmp_path, monkeypatch
):
    monkeypatch.setattr("sparsebody.plots.save_figure", None)
    path = tmp_path / "loop.png"
    path.symlink_to(path)
    message = refusal("plot", trajectory, "--kind", "energy", "--output", path, code=1)
    assert message.startswith(f"sparsebody: error: cannot write {str(path)!r}: ")

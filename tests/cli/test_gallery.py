import json

from click.testing import CliRunner

from sparsebody.cli import main
from sparsebody.model.files import read_mechanism
from sparsebody.model.gallery import GALLERY


def run(*arguments):
    return CliRunner().invoke(main, ["gallery", *arguments])


def test_the_list_for_scripts_has_every_mechanism_with_its_parameters():
    entries = json.loads(run("--json").stdout)
    assert [entry["name"] for entry in entries] == list(GALLERY)
    scissor = next(entry for entry in entries if entry["name"] == "scissor")
    assert scissor["size_parameters"] == ["pairs"]
    assert scissor["parameters"]["drive"] is False
    assert scissor["summary"]


def test_the_list_for_people_has_every_mechanism():
    listed = run().stdout
    assert all(name in listed for name in GALLERY)


def test_a_mechanism_is_described_with_its_counts():
    found = json.loads(run("ladder", "-p", "rungs=4", "--json").stdout)
    assert (found["bodies"], found["joints"]) == (8, 12)
    assert "8 bodies, 12 joints" in run("ladder", "-p", "rungs=4").stdout


def test_a_mechanism_is_written_to_a_file_in_a_new_directory(tmp_path):
    path = tmp_path / "new" / "chain.json"
    result = run("chain", "-p", "bodies=3", "--output", str(path))
    assert result.exit_code == 0
    assert read_mechanism(path).n_bodies == 3


def test_a_file_is_replaced_only_when_asked(tmp_path):
    path = tmp_path / "chain.json"
    path.write_text("mine")
    refused = run("chain", "--output", str(path))
    assert refused.exit_code == 2
    assert "exists; give another --output, or --overwrite" in refused.stderr
    assert path.read_text() == "mine"
    assert run("chain", "--output", str(path), "--overwrite").exit_code == 0
    assert read_mechanism(path).n_bodies == 10


def test_only_json_files_are_written(tmp_path):
    result = run("chain", "--output", str(tmp_path / "chain.xml"))
    assert result.exit_code == 2
    assert "written as .json" in result.stderr


def test_an_output_without_a_name_is_refused(tmp_path):
    result = run("--output", str(tmp_path / "chain.json"))
    assert result.exit_code == 2
    assert "give the NAME" in result.stderr


def test_numbers_out_of_range_are_refused_in_one_line():
    for parameter in ("length=1e300", "bodies=1e12", "bodies=true"):
        result = run("chain", "-p", parameter)
        assert result.exit_code == 2
        assert result.stderr.count("\n") == 1


def test_an_unknown_name_is_refused():
    result = run("chian")
    assert result.exit_code == 2
    assert "no mechanism 'chian'" in result.stderr

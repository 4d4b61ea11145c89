import json

import pytest
from click.testing import CliRunner

from sparsebody.cli import main


def run(*arguments):
    return CliRunner().invoke(main, [*map(str, arguments)])


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus") / "made" / "here"
    options = ["--families", "n-four-bar", "--sizes", "3", "--forms", "kkt,schur"]
    result = run("corpus", folder, *options)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.strip() == f"{folder / 'corpus.json'}: 4 matrices of 1 mechanisms"
    return folder, options


def test_scripts_are_told_what_is_written_and_whether_it_is_whole(corpus):
    folder, options = corpus
    result = run("corpus", folder, *options, "--overwrite", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout) == {
        "index": str(folder / "corpus.json"),
        "problems": 1,
        "matrices": 4,
    }
    result = run("corpus", folder, "--verify", "--json")
    assert json.loads(result.stdout) == {"files": 24, "broken": []}
    readme = (folder / "README.md").read_text()
    assert "4 symmetric matrices of 1 mechanisms" in readme
    assert "{" not in readme


def test_people_are_told_which_files_have_changed(corpus, tmp_path):
    folder = tmp_path / "mine"
    assert run("corpus", folder, *corpus[1]).exit_code == 0
    assert "24 files, all as they were written" in run("corpus", folder, "--verify").stdout
    (folder / "n-four-bar_3" / "n-four-bar_3_kkt.mtx").unlink()
    result = run("corpus", folder, "--verify")
    assert result.exit_code == 1
    assert "1 of 24 files are missing or changed, such as" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sizes", "8,many"], "'8,many' is not a list of whole numbers, such as 8,32,128"),
        (["--families", "laddr"], "no family 'laddr' in the corpus; there are chain, tree"),
        (["--forms", "kkt,lu"], "no form 'lu'; there are kkt"),
        (["--sizes", "0"], "0 bodies; give sizes of 1 to"),
    ],
)
def test_bad_input_is_one_line_and_code_2(options, message, tmp_path):
    result = run("corpus", tmp_path / "new", *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "new").exists()


def test_a_corpus_is_not_replaced_unasked(corpus):
    result = run("corpus", *corpus[:1], *corpus[1])
    assert result.exit_code == 2
    assert "holds a corpus; give another directory, or --overwrite" in result.stderr


def test_orders_of_written_matrices_are_judged_and_saved(corpus, tmp_path):
    name = corpus[0] / "n-four-bar_3" / "n-four-bar_3_kkt_kept"
    blocks = f"{name}_blocks.json"
    saved = tmp_path / "best.iperm"
    ours = run("order", f"{name}.mtx", "--blocks", blocks, "--ordering", "leaves-first")
    assert "of 3 bodies and 4 joints" in ours.stdout
    options = ["--ordering", "leaves-first", "--save-order", saved]
    assert run("order", f"{name}.mtx", "--blocks", blocks, *options).exit_code == 0
    options = ["--ordering", "natural", "--order-file", saved]
    result = run("order", f"{name}.mtx", "--blocks", blocks, *options)
    assert "best.iperm: admissible" in result.stdout
    assert "7 entries, counted from 0, positions, the inverse of the order" in result.stdout
    result = run("order", f"{name}.mtx", "--blocks", blocks, *options, "--json")
    found = {line["ordering"]: line for line in json.loads(result.stdout)}
    assert found["best.iperm"]["remark"] == "admissible"
    assert found["best.iperm"]["flops"] <= found["natural"]["flops"]
    result = run("order", "ladder", *options)
    assert result.exit_code == 2
    assert "the order 'best.iperm' has 7 entries, but ladder has 20 bodies" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.mtx", "-p", "rungs=3"], "-p is for mechanisms, but a.mtx is a matrix"),
        (["a.mtx", "--factorization", "dense"], "--factorization is for mechanisms"),
        (["ladder", "--blocks", "b.json"], "--blocks is for a matrix (.mtx), but ladder is"),
        (["a.mtx"], "a.mtx: cannot be read"),
        (["ladder", "--order-file", "none"], "none: cannot be read"),
    ],
)
def test_options_that_do_not_go_together_are_told(arguments, message):
    result = run("order", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_pictures_are_of_bodies_and_joints_only(tmp_path):
    graph = tmp_path / "a.graph"
    graph.write_text("2 1\n2\n1\n")
    result = run("order", graph, "--spy", tmp_path / "a.png")
    assert result.exit_code == 2
    assert "--spy draws matrices of bodies and joints" in result.stderr

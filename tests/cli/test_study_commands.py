import pytest
from command_line import document, printed, refusal, run

STUDY = """
batch_seconds = 1e-4
repeats = 1
[reference]
largest = 1
[families.chain]
mechanism = "chain"
[[runs]]
sizes = [2]
factorizations = ["dense"]
"""


def test_a_study_runs_and_says_where_its_results_are(tmp_path):
    (tmp_path / "mine.toml").write_text(STUDY)
    words = ["study", tmp_path / "mine.toml", "--output", tmp_path / "out"]
    first = run(*words, "--jobs", "1", "--time-limit", "50")
    target = tmp_path / "out" / "results.csv"
    assert first.stdout == f"{target}: 1 cases: 1 ok\n"
    assert first.stderr == ""
    again = document(*words, "--memory-limit", "900")
    assert again == {"results": str(target), "cases": 1, "status": {"ok": 1}}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus") / "made" / "here"
    words = ["corpus", folder, "--families", "n-four-bar", "--sizes", "3", "--forms", "kkt,schur"]
    result = run(*words)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.strip() == f"{folder / 'corpus.json'}: 4 matrices of 1 mechanisms"
    return folder, words


def test_scripts_are_told_what_is_written_and_whether_it_is_whole(corpus):
    folder, words = corpus
    written = document(*words, "--overwrite")
    assert written == {"index": str(folder / "corpus.json"), "problems": 1, "matrices": 4}
    assert document("corpus", folder, "--verify") == {"files": 24, "broken": []}
    readme = (folder / "README.md").read_text()
    assert "4 symmetric matrices of 1 mechanisms" in readme
    assert "{" not in readme


def test_people_are_told_which_files_have_changed_and_a_corpus_is_not_replaced(corpus, tmp_path):
    folder = tmp_path / "mine"
    printed("corpus", folder, *corpus[1][2:])
    assert "24 files, all as they were written" in printed("corpus", folder, "--verify")
    (folder / "n-four-bar_3" / "n-four-bar_3_kkt.mtx").unlink()
    message = refusal("corpus", folder, "--verify", code=1)
    assert "1 of 24 files are missing or changed, such as" in message
    assert "holds a corpus; give another directory, or --overwrite" in refusal(*corpus[1])


def test_orders_of_written_matrices_are_judged_and_saved(corpus, tmp_path):
    name = corpus[0] / "n-four-bar_3" / "n-four-bar_3_kkt_independent"
    words = ["order", f"{name}.mtx", "--blocks", f"{name}_blocks.json"]
    saved = tmp_path / "best.iperm"
    save = ["--ordering", "leaves-first", "--save-order", saved]
    assert "of 3 bodies and 4 joints" in printed(*words, *save)
    options = ["--ordering", "natural", "--order-file", saved]
    text = printed(*words, *options)
    assert "best.iperm: admissible" in text
    assert "7 entries, counted from 0, positions, the inverse of the order" in text
    lines = {line["ordering"]: line for line in document(*words, *options)}
    assert lines["best.iperm"]["remark"] == "admissible"
    assert lines["best.iperm"]["flops"] <= lines["natural"]["flops"]
    message = refusal("order", "ladder", *options)
    assert "the order 'best.iperm' has 7 entries, but ladder has 20 bodies" in message
    (tmp_path / "a.graph").write_text("2 1\n2\n1\n")
    message = refusal("order", tmp_path / "a.graph", "--spy", tmp_path / "a.png")
    assert "--spy draws matrices of bodies and joints" in message

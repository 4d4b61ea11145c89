from command_line import document, printed, refusal, run

TWO = ["classical", "--algorithms", "luh-walker-paul,balafoutis-patel-misra"]


def test_a_ladder_is_certified_for_scripts():
    found = document("certify", "ladder", "--largest", "128")
    assert (found["claim"], found["width"], found["status"]) == ("O(n)", 15, "proved")
    assert found["proof"]["period"] == 2
    assert {"n_bodies", "nnz_l", "flops", "largest_front"} <= found["sizes"][0].keys()
    assert found["growth"]["flops"]["low"] <= 1.05


def test_people_read_the_verdict_first_and_a_table():
    options = ["-p", "layers=1", "--ordering", "minimum-degree", "--largest", "256"]
    first, *_, last = printed("certify", "lattice", *options).splitlines()
    assert first.startswith("lattice, sparse, minimum-degree: O(n^")
    assert first.endswith("not proved, observed")
    assert last.split()[0] == "256"


def test_nonzeros_of_every_tree_are_a_method():
    found = document("certify", "ladder", "--method", "crba", "--largest", "128")
    assert found["quadratic"] == 9 / 8


def test_counts_are_printed_beside_the_published_ones():
    text = printed(*TWO, "--counts")
    assert "122 n - 60" in text
    assert "93" not in text.split("at n = 6")[0]
    assert "489 420" in text
    assert "Balafoutis/Patel/Misra: Six products" in text
    assert "CPU time" not in text


def test_times_and_a_figure_are_made(tmp_path):
    path = tmp_path / "costs.svg"
    words = [*TWO, "--times", "--sizes", "6,3", "--figure", path]
    assert "at n = 6" not in printed(*words)
    assert path.stat().st_size > 1000
    assert "exists" in refusal(*words)


def test_one_size_has_no_powers_and_progress_is_on_stderr_alone():
    words = [*TWO, "--times", "--sizes", "4"]
    result = run(*words)
    assert "nan" not in result.stdout
    assert "2/2" in result.stderr
    assert run(*words, "--quiet").stderr == ""
    assert document(*words)["costs"][0]["exponents"]["compiled"] is None


def test_json_has_everything():
    found = document(*TWO, "--sizes", "3,6")
    assert [one["algorithm"] for one in found["counts"]] == TWO[2].split(",")
    assert found["counts"][0]["all_multiplications"] == "122 n - 60"
    assert found["published"][-1]["printed"] == [489, 420]
    assert list(found["costs"][0]["python_seconds"]) == ["3", "6"]


def test_an_algorithm_of_which_nothing_is_published_is_counted():
    words = ["classical", "--algorithms", "walker-orin-2", "--counts"]
    text = printed(*words)
    assert "38 n^2" in text
    assert "published as" not in text
    found = document(*words)
    assert (len(found["counts"]), found["published"], found["costs"]) == (1, [], [])

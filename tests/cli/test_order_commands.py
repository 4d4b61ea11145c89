import pytest
from command_line import document, printed, refusal

from sparsebody.analysis.cycle_bases import LOOP_BASES
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.model.gallery import build
from sparsebody.ordering import available_orderings, order
from sparsebody.ordering.literature_orders import ALGORITHMS
from sparsebody.sparse.elimination_tree import ordering_metrics

KEYS = ("nnz_l", "flops", "block_bandwidth", "etree_height", "largest_front")


def test_every_ordering_is_compared_by_its_metrics_and_the_cheapest_comes_first():
    found = document("order", "ladder", "-p", "rungs=5")
    assert sorted(line["ordering"] for line in found) == sorted(available_orderings())
    assert [line["flops"] for line in found] == sorted(line["flops"] for line in found)
    system = build("ladder", rungs=5).compile()
    pattern = ForwardDynamics(system).structure.pattern
    for line in found:
        places = system.initial_state.position
        metrics = ordering_metrics(pattern, order(pattern, line["ordering"], places))
        assert {key: line[key] for key in KEYS} == {key: getattr(metrics, key) for key in KEYS}


def test_a_ladder_has_a_bandwidth_of_three_blocks_in_the_order_of_figure_8_4():
    (line,) = document("order", "ladder", "-p", "rungs=20", "--ordering", "level-sweep")
    assert line["block_bandwidth"] == 3


def test_people_read_a_table_of_orderings_and_what_auto_takes(tmp_path):
    file = tmp_path / "made" / "spy.svg"
    words = ["order", "scissor", "-p", "pairs=6", "--spy", file]
    text = printed(*words)
    assert "nnz(L)" in text
    assert "chosen by auto: " in text
    assert "<svg" in file.read_text()
    assert "exists; give another" in refusal(*words)
    printed(*words, "--overwrite")


def test_every_algorithm_is_compared_and_its_growth_fitted():
    words = ["ladder", "-p", "rungs=6", "--sizes", "16,64", "--eps", "1e-9"]
    found = document("algorithms", *words)
    assert [line["algorithm"] for line in found["algorithms"]] == list(ALGORITHMS)
    for line in found["algorithms"]:
        assert line["flops"] == line["counted_flops"]
        assert line["errors"]["1e-09"] < 1e-5
    assert [one["bodies"] for one in found["growth"]] == [[16.0, 64.0]] * len(ALGORITHMS)
    assert found["growth"][0]["exponent"] == pytest.approx(1.0, abs=0.1)


def test_people_read_tables_of_algorithms_and_see_pictures(tmp_path):
    pictures = tmp_path / "spy.svg", tmp_path / "growth.svg"
    options = ["--spy", pictures[0], "--growth", pictures[1], "--sizes", "4,9,16"]
    words = ["algorithms", "lattice", "-p", "rows=3", "-p", "columns=3", *options]
    stdout = printed(*words, "--algorithm", "penalty")
    for text in ("eps 1e-08", "Bayo", "16 bodies", "n^", *map(str, pictures)):
        assert text in stdout
    assert all("<svg" in picture.read_text() for picture in pictures)
    assert "exists; give another" in refusal(*words)


def test_every_basis_is_compared_and_the_sparsest_comes_first():
    found = document("loop-bases", "ladder", "-p", "rungs=6")
    assert (found["loops"], found["planar"]) == (6, True)
    assert sorted(line["basis"] for line in found["bases"]) == sorted(LOOP_BASES)
    nonzeros = [line["nnz_k"] for line in found["bases"]]
    assert nonzeros == sorted(nonzeros)
    assert found["bases"][0]["nnz_k"] == 6 * 3 * (5 * 4 + 3)  # squares, and two joints on the world


def test_people_read_a_table_of_bases():
    size = ["-p", "rows=3", "-p", "columns=3", "-p", "layers=3"]
    stdout = printed("loop-bases", "lattice", *size, "--seed", "3")
    for text in ("28 loops; no faces", "K H^-1 K'", "minimum-fronts tree"):
        assert text in stdout

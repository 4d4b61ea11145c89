"""Orderings, algorithms, loop bases, certificates and classical counts, for scripts."""

import pytest
from command_line import document, printed, refusal

import sparsebody as sb
from sparsebody.analysis.cycle_bases import LOOP_BASES
from sparsebody.ordering import ALGORITHMS, available_orderings, order
from sparsebody.sparse.elimination_tree import ordering_metrics

KEYS = ("nnz_l", "flops", "block_bandwidth", "etree_height", "largest_front")
TWO = ["classical", "--algorithms", "luh-walker-paul,balafoutis-patel-misra"]


def test_every_ordering_is_compared_by_its_metrics_and_the_cheapest_comes_first():
    lines = document("order", "ladder", "-p", "rungs=5")
    assert sorted(line["ordering"] for line in lines) == sorted(available_orderings())
    assert [line["flops"] for line in lines] == sorted(line["flops"] for line in lines)
    system = sb.build("ladder", rungs=5).compile()
    pattern = sb.ForwardDynamics(system).structure.pattern
    for line in lines:
        positions = system.initial_state.position
        metrics = ordering_metrics(pattern, order(pattern, line["ordering"], positions))
        assert {key: line[key] for key in KEYS} == {key: getattr(metrics, key) for key in KEYS}


def test_every_algorithm_is_compared_and_its_growth_fitted():
    words = ["ladder", "-p", "rungs=6", "--sizes", "16,64", "--eps", "1e-9"]
    comparison = document("algorithms", *words)
    assert [line["algorithm"] for line in comparison["algorithms"]] == list(ALGORITHMS)
    for line in comparison["algorithms"]:
        assert line["flops"] == line["counted_flops"]
        assert line["errors"]["1e-09"] < 1e-5
    growth = comparison["growth"]
    assert [one["bodies"] for one in growth] == [[16.0, 64.0]] * len(ALGORITHMS)
    assert growth[0]["exponent"] == pytest.approx(1.0, abs=0.1)


def test_every_basis_is_compared_and_the_sparsest_comes_first():
    comparison = document("loop-bases", "ladder", "-p", "rungs=6")
    assert (comparison["loops"], comparison["planar"]) == (6, True)
    assert sorted(line["basis"] for line in comparison["bases"]) == sorted(LOOP_BASES)
    nonzeros = [line["nnz_k"] for line in comparison["bases"]]
    assert nonzeros == sorted(nonzeros)
    assert nonzeros[0] == 6 * 3 * (5 * 4 + 3)  # squares, and two joints on the world


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (["order", "scissor", "-p", "pairs=6"], ["--spy"]),
        (
            ["algorithms", "ladder", "-p", "rungs=2", "--algorithm", "penalty"],
            ["--sizes", "4,9,16", "--spy", "--growth"],
        ),
        ([*TWO, "--times", "--sizes", "6,3"], ["--figure"]),
    ],
)
def test_pictures_are_made_in_new_directories_and_replaced_only_when_asked(
    command, options, tmp_path
):
    pictures = []
    for option in options:
        command = [*command, option]
        if option in ("--spy", "--growth", "--figure"):
            pictures.append(tmp_path / "made" / f"{option[2:]}.svg")
            command.append(pictures[-1])
    text = printed(*command)
    for picture in pictures:
        assert "<svg" in picture.read_text()
        assert str(picture) in text
    assert "exists; give another" in refusal(*command)
    if "--figure" not in options:
        printed(*command, "--overwrite")


def test_a_ladder_is_certified_for_scripts():
    certificate = document("certify", "ladder", "--largest", "128")
    verdict = [certificate[key] for key in ("claim", "width", "status")]
    assert verdict == ["O(n)", 15, "proved"]
    assert certificate["proof"]["period"] == 2
    assert {"n_bodies", "nnz_l", "flops", "largest_front"} <= certificate["sizes"][0].keys()
    assert certificate["growth"]["flops"]["low"] <= 1.05
    every_tree = document("certify", "ladder", "--method", "crba", "--largest", "128")
    assert every_tree["quadratic"] == 9 / 8


def test_counts_and_costs_of_classical_algorithms_are_given_beside_the_published_ones():
    classical = document(*TWO, "--sizes", "3,6")
    assert [one["algorithm"] for one in classical["counts"]] == TWO[2].split(",")
    assert classical["counts"][0]["all_multiplications"] == "122 n - 60"
    assert classical["published"][-1]["printed"] == [489, 420]
    assert list(classical["costs"][0]["python_seconds"]) == ["3", "6"]
    unpublished = document("classical", "--algorithms", "walker-orin-2", "--counts")
    assert len(unpublished["counts"]) == 1
    assert (unpublished["published"], unpublished["costs"]) == ([], [])


def test_one_size_has_no_powers():
    words = [*TWO, "--times", "--sizes", "4"]
    assert "nan" not in printed(*words, "--quiet")
    assert document(*words)["costs"][0]["exponents"]["compiled"] is None

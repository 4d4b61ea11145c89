"""Certificates of growth: laws, proofs, inertia and the literature's algorithms."""

import json
from itertools import pairwise

import numpy as np
import pytest
from networkx import Graph, SpanningTreeIterator, bfs_edges
from patterns import eliminated, filled_in, ladder, pattern_of

import sparsebody as sb
from sparsebody.assembly.constraint import kkt_structure
from sparsebody.certificates.certificate import (
    algorithm_growth,
    asymptotic,
    certify_inertia,
    growing_family,
    law,
    local_exponents,
    logarithmic_growth,
)
from sparsebody.certificates.eliminations import elimination_graph
from sparsebody.errors import ModelError, OrderingError, ShapeError, UnknownNameError
from sparsebody.ordering import algorithm_order, order
from sparsebody.sparse.elimination_tree import ordering_metrics
from sparsebody.sparse.treewidth import exact_width
from sparsebody.study.families import Family
from sparsebody.tree import spanning_tree
from sparsebody.tree.fronts import least_elimination
from sparsebody.tree.tree_choice import joint_freedoms, nonzero_bound

RAILS = Family("rails", "lattice", {"rows": 3, "layers": 1})
SQUARES = Family("squares", "lattice", {"layers": 1})


def strip(rails, length):
    """Return the pattern of a lattice of some rails with joints of three rows, columns in turn."""
    body = np.arange(rails * length).reshape(length, rails)
    pairs = [(body[:-1], body[1:]), (body[:, :-1], body[:, 1:])]
    ends = np.concatenate([np.c_[first.ravel(), second.ravel()] for first, second in pairs])
    return pattern_of(ends, body.size, joint_size=3)


@pytest.mark.parametrize(
    ("family", "ordering", "kind"),
    [
        (Family("random tree", "tree", {"random": True}), "minimum-fill", "forest"),
        ("ladder", "auto", "rules"),
        (Family("tube", "tube", {"rails": 3}), "pathwidth-sweep", "rules"),
        (RAILS, "reverse-cuthill-mckee", "rules"),
    ],
)
def test_bounded_fronts_are_proved_and_are_those_of_dense_elimination(family, ordering, kind):
    result = sb.certify(family, ordering, largest=256)
    assert (result.claim, result.status, result.proof.kind) == ("O(n)", "proved", kind)
    assert str(result) == f"O(n), width {result.width}"
    grown = Family(family, family) if isinstance(family, str) else family
    system = grown.build(90).compile()
    pattern = pattern_of(np.c_[system.predecessor, system.successor], system.n_bodies)
    pattern.block_sizes[system.n_bodies :] = np.diff(system.first_row)
    sequence = order(pattern, result.ordering)
    size = pattern.block_sizes[sequence]
    fronts = [size[[i, *below]].sum() for i, below in enumerate(eliminated(pattern, sequence))]
    assert max(fronts) == result.width
    assert all(one.front_bound <= result.width for one in result.sizes if one.front_bound)
    assert result.growth["flops"].exponent == pytest.approx(1.0, abs=0.05)
    json.dumps(result.to_dict())


def test_no_order_of_a_small_ladder_has_narrower_fronts_than_the_bound_of_the_certificate():
    result = sb.certify(lambda k: ladder(k), "leaves-first", largest=128)
    pattern = ladder(8)
    width, _ = exact_width(*pattern.adjacency, pattern.block_sizes)
    assert result.sizes[0].n_bodies == pattern.n_primal
    assert width <= result.sizes[0].front_bound == 15 <= result.width


def test_square_lattices_are_not_certified_and_grow_as_every_order_must():
    result = sb.certify(SQUARES, "nested-dissection", largest=1024)
    assert (result.claim, result.status, result.width) == ("O(n^1.5)", "observed", None)
    assert str(result) == "O(n^1.5), fronts grow as sqrt(n); not proved, observed"
    assert result.fill.is_better  # n log n
    assert result.growth["front_bound"].exponent == pytest.approx(0.5, abs=0.03)
    assert [one.front_bound for one in result.sizes[-2:]] == [3 * 23, 3 * 32]  # rows of k paths
    assert result.sizes[-1].least_flops < result.sizes[-1].flops


def late(length):
    return strip(2 if length < 75 else 2 + length // 40, length)


def alternating(pattern):
    """Return a sweep along a strip that is as narrow as it can be, but for every 64th member."""
    name = "reverse-cuthill-mckee" if pattern.n_primal % 64 else "random"
    return order(pattern, name)


@pytest.mark.parametrize(
    ("family", "ordering", "largest"),
    [(late, "leaves-first", 1024), ("ladder", "random", 256), (ladder, alternating, 256)],
)
def test_what_is_narrow_at_some_sizes_only_is_not_certified(family, ordering, largest):
    result = sb.certify(family, ordering, largest=largest)
    assert result.proof is None
    if family is late:
        widths = [one.largest_front for one in result.sizes]
        assert widths[0] == widths[3] < widths[-2] < widths[-1]
    if ordering == "random":
        assert result.growth["flops"].low > 1.0


def test_rules_of_narrow_members_do_not_stand_for_wider_ones():
    def wider_once(length):
        return strip(2 if length < 75 else 4, length)

    result = sb.certify(wider_once, "reverse-cuthill-mckee", largest=1024)
    if result.proof is not None:
        assert result.proof.kind == "types"
        assert result.width >= max(one.largest_front for one in result.sizes)


def test_every_second_member_may_not_be_overlooked():
    def trees_and_ladders(value):
        return sb.build("ladder", rungs=value) if value % 2 else sb.build("chain", bodies=2 * value)

    result = sb.certify(trees_and_ladders, "leaves-first", largest=256)
    assert (result.status, result.width) == ("conditional", 15)  # of ladders; chains 11


def test_members_that_double_with_every_step_are_not_made_much_too_large():
    made = []

    def doubling(value):
        made.append(value)
        return sb.build("tree", bodies=2**value - 1)

    result = sb.certify(doubling, largest=256)
    assert [one.n_bodies for one in result.sizes] == [15, 31, 63, 127, 255]
    assert max(made) <= 10
    assert "n^-0.00" not in "\n".join(result.lines())


def test_dissection_grows_on_branches_and_productions_alone_bound_fronts_on_condition():
    result = sb.certify("ladder", "nested-dissection", largest=256)
    assert (str(result), result.status) == ("O(n), width 18", "proved")
    assert (result.proof.is_sweep, result.proof.is_exact) == (False, False)
    assert "by one of alternatives" in result.proof.premise
    ring = sb.certify("ring", "nested-dissection", largest=256)
    assert (ring.status, ring.proof.kind, ring.width) == ("conditional", "types", 15)
    assert str(ring) == "O(n), width 15 if no other production comes"


def test_loops_aba_is_linear_with_a_good_tree_only():
    def out_and_back(system):
        """Return the tree of a ladder that goes along one rail and back along the other."""
        rails = [name for name in system.joint_names if name.startswith("rail")]
        joints = ["base-0", *rails, f"rung-{system.n_bodies // 2 - 1}"]
        return spanning_tree(system, joints=joints)

    good = sb.certify("ladder", method="loops-aba", tree="minimum-fronts", largest=128)
    assert str(good) == "O(n), width 18"
    bad = sb.certify("ladder", method="loops-aba", tree=out_and_back, largest=128)
    assert (bad.proof, bad.ordering) == (None, "out_and_back")
    assert bad.growth["flops"].low > 2.0
    assert bad.sizes[-1].largest_front > 128
    chain = sb.certify("chain", method="loops-aba", largest=128)
    assert (chain.proof.kind, chain.width) == ("forest", 12)  # of two links
    assert {one.largest_front for one in chain.sizes} == {12}


@pytest.mark.parametrize("choice", ["breadth-first", "depth-first"])
def test_the_graph_of_loops_aba_has_the_fronts_of_its_recursion(choice):
    system = sb.build("lattice", rows=3, columns=8, layers=1).compile()
    result = least_elimination(spanning_tree(system, choice))
    tree, sizes, _ = elimination_graph(result)
    indptr, indices = tree.graph
    columns = filled_in([set(indices[a:b].tolist()) for a, b in pairwise(indptr)])
    rows = [sum(sizes[[pivot, *later]]) for pivot, later in enumerate(columns)]
    assert max(rows) - 6 <= result.widest <= max(rows) + 6  # link and parent share rows; lanes


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (("ladder",), {"method": "aba"}, UnknownNameError, "method is 'aba'; give one of sparse"),
        (("ladder",), {"method": "loops-aba", "tree": "oak"}, UnknownNameError, "tree is 'oak'"),
        (("ladder",), {"largest": 20}, ModelError, "has 1 of 4 sizes .* 16 to 20 bodies; give 256"),
        (("ladder",), {"largest": 10**8}, ModelError, "largest is 100000000; give 1048576 bodies"),
        (("ladder", "exact-treewidth"), {}, OrderingError, "takes .* at most, .* another ordering"),
        ((lambda k: ladder(5),), {}, ModelError, "does not grow: 10 bodies at 3, no more up to 24"),
        ((lambda k: k,), {}, ModelError, "returns int at 3; return a Mechanism"),
        ((ladder, lambda pattern: [0]), {}, OrderingError, "returned no order"),
        ((ladder,), {"time": True}, ModelError, "patterns only, which do not do for times"),
        ((ladder,), {"method": "loops-aba"}, ModelError, "do not do for method 'loops-aba'"),
    ],
)
def test_bad_input_is_named(arguments, options, error, message):
    with pytest.raises(error, match=message):
        sb.certify(*arguments, **options)


def test_times_are_measured_where_they_are_asked_for():
    result = sb.certify("chain", "leaves-first", largest=128, time=True)
    assert all(one.seconds > 0.0 for one in result.sizes)
    assert "seconds" in result.growth
    assert result.table()[0][-1] == "time"


N = 2.0 ** np.arange(4, 13)


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (7 * N, "n"),
        (2 + N**1.5, "n^1.5"),
        (3 * np.sqrt(N), "sqrt(n)"),
        (0 * N + 5, "1"),
        (N ** (2 / 3), "n^(2/3)"),
        (N**1.2, "n^1.20"),
        (N**1.41, "n^1.41"),  # near 4/3, and surely another
    ],
)
def test_orders_of_growth_have_their_names(values, name):
    assert law(asymptotic(N, values)) == name


def test_doubtful_exponents_have_no_name_and_n_log_n_is_told_from_powers():
    noise = np.exp(np.random.default_rng(1).normal(0.0, 0.3, len(N)))
    assert law(asymptotic(N, N * noise)).startswith("n^")
    np.testing.assert_allclose(local_exponents(N, N**1.5), 1.5)
    logarithmic = logarithmic_growth(N, N * (4 + 3 * np.log2(N)))
    assert logarithmic.is_better
    assert (logarithmic.constant, logarithmic.slope) == pytest.approx((4.0, 3.0))
    assert not logarithmic_growth(N, N**1.15).is_better
    assert logarithmic_growth(N[:2], N[:2]) is None


def all_trees(system, root):
    """Yield nonzeros of H on every spanning tree from the world (-1), or from a free body."""
    graph, freedoms = Graph(), joint_freedoms(system)
    for j, ends in enumerate(zip(system.predecessor, system.successor, strict=True)):
        if root == -1 or min(ends) >= 0:
            graph.add_edge(*map(int, ends), freedoms=int(freedoms[j]))
    start, own = (0, 0) if root == -1 else (6, 21)
    for tree in SpanningTreeIterator(graph):
        above, nonzeros = {root: start}, own
        for parent, body in bfs_edges(tree, root):
            f = graph[parent][body]["freedoms"]
            nonzeros += f * above[parent] + f * (f + 1) // 2
            above[body] = above[parent] + f
        yield nonzeros


@pytest.mark.parametrize("rungs", [2, 3, 4])
def test_the_bound_of_a_ladder_is_the_least_of_all_its_spanning_trees(rungs):
    system = sb.build("ladder", rungs=rungs).compile()
    bound = nonzero_bound(system)
    assert bound.from_world == min(all_trees(system, -1))
    floating = min(min(all_trees(system, root)) for root in range(0, 2 * rungs, rungs))
    assert bound.nonzeros <= min(floating, bound.from_world)


def test_the_bound_holds_where_joints_have_different_freedoms():
    system = sb.build("stewart").compile()
    bound = nonzero_bound(system)
    for choice in ("breadth-first", "minimum-nonzeros", "depth-first"):
        assert bound.from_world <= spanning_tree(system, choice).n_inertia_nonzeros
    for root in ("platform", *system.body_names[:3]):
        assert bound.nonzeros <= spanning_tree(system, root=root).n_inertia_nonzeros


def test_every_tree_of_a_ladder_has_a_quadratic_number_of_nonzeros():
    result = certify_inertia("ladder", largest=256)
    assert result.quadratic == 9 / 8
    assert result.claim == "n^2"
    for one in result.sizes:
        assert one.every_tree >= 9 / 8 * one.n_bodies**2 - 3 * one.n_bodies
        assert one.every_tree <= min(one.nonzeros.values())
    ratios = np.divide(
        *[[one.every_tree for one in result.sizes[s]] for s in (np.s_[2:], np.s_[1:-1])]
    )
    assert np.all((ratios > 3.2) & (ratios < 4.1))
    json.dumps(result.to_dict())


@pytest.mark.parametrize("family", ["n-four-bar", "tree"])
def test_mechanisms_with_wide_layers_have_no_such_bound(family):
    result = certify_inertia(family, largest=256)
    assert result.quadratic is None
    assert result.growth["every_tree"].high < 1.5
    assert "observed" in str(result)


def test_flops_are_those_predicted_for_the_mechanisms_and_one_size_has_no_growth():
    (growth,) = algorithm_growth(Family("ladder", "ladder"), (10, 40), ("delassus",))
    assert growth.n_bodies.tolist() == [10.0, 40.0]
    for rungs, flops in zip((5, 20), growth.flops, strict=True):
        pattern = kkt_structure(sb.build("ladder", rungs=rungs).compile()).pattern
        metrics = ordering_metrics(pattern, algorithm_order(pattern, "delassus"))
        assert flops == metrics.flops
    assert growth.to_dict()["exponent"] == growth.fit.exponent
    assert growth.line.label == "delassus"
    (single,) = algorithm_growth(Family("chain", "chain"), (16,), ("auto",))
    assert (single.fit, single.to_dict()["exponent"], len(single.line.fit_n)) == (None, None, 0)


def test_a_lattice_of_one_layer_stays_in_its_plane():
    assert growing_family("lattice", {}).grows == ("rows", "columns")
    assert growing_family("lattice", {"layers": "2"}).grows == ("rows", "columns", "layers")
    assert growing_family("ladder", {"rungs": "1"}).grows == ("rungs",)


def test_on_a_lattice_dissection_takes_n_to_three_halves_and_baraff_n_cubed():
    expected = {"dissection": 1.5, "band": 2.0, "baraff": 3.0, "depth-first": 2.0}
    growth = algorithm_growth(growing_family("lattice", {}), (64, 256, 1024), tuple(expected))
    assert {one.name: one.fit.exponent for one in growth} == pytest.approx(expected, abs=0.05)


def growth_of(mechanism, parameters=(), sizes=(8,), names=()):
    return algorithm_growth(growing_family(mechanism, dict(parameters)), sizes, names)


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda: growth_of("chain", sizes=()), ShapeError, "give numbers of bodies"),
        (lambda: growth_of("chain", sizes=(0, 4)), ShapeError, "give numbers of bodies"),
        (lambda: growth_of("lattice", {"rows": "x"}), ModelError, "rows is 'x'"),
        (lambda: certify_inertia("ladder", largest=5000), ModelError, "5000; .* 2000 or fewer"),
    ],
)
def test_growth_and_inertia_of_what_cannot_be_are_refused(ask, error, message):
    with pytest.raises(error, match=message):
        ask()

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from patterns import eliminated, graph_pattern, ordered_patterns, renumbered

import sparsebody as sb
from sparsebody.assembly.constraint import kkt_structure
from sparsebody.ordering import order
from sparsebody.sparse import subtree_rules
from sparsebody.sparse.elimination_tree import elimination, postordered
from sparsebody.sparse.subtree_rules import (
    TOP,
    Derivation,
    Productions,
    affine_rules,
    closed,
    merged,
)


def derived(productions, pattern, order):
    order = np.asarray(order, dtype=np.intp)
    kinds = order >= pattern.n_primal
    labels = list(zip(kinds.tolist(), pattern.block_sizes[order].tolist(), strict=True))
    return productions.derivations(elimination(pattern, order), labels)


@settings(max_examples=20)
@given(case=ordered_patterns(), seed=st.integers(0, 99))
def test_derivations_do_not_depend_on_numbering_nor_on_equivalent_orders(case, seed):
    productions = Productions()
    expected = sorted(derived(productions, *case))
    pattern, order = case
    other, label = renumbered(pattern, seed)
    assert sorted(derived(productions, other, label[order])) == expected
    assert sorted(derived(productions, pattern, postordered(pattern, order))) == expected


@settings(max_examples=20)
@given(case=ordered_patterns(), small=st.integers(0, 5))
def test_widths_are_the_fronts_of_dense_symbolic_elimination(case, small):
    pattern, order = case
    productions = Productions(small, 2)
    result = derived(productions, pattern, order)
    size = pattern.block_sizes[order]
    fronts = [size[[i, *below]].sum() for i, below in enumerate(eliminated(pattern, order))]
    assert max(productions.widths) == max(fronts, default=0)
    assert result[0][0] == (TOP, pattern.n_blocks)
    if small == 0:
        used = [productions.widths[node.production] for _, node in result[1:]]
        assert sorted(used) == sorted(fronts)


def test_what_a_pivot_couples_to_only_by_fill_makes_another_production():
    chorded = nx.path_graph(3)
    chorded.add_edge(0, 2)
    productions = Productions()
    for graph in (nx.path_graph(3), chorded):
        pattern = graph_pattern(graph)
        derived(productions, pattern, range(pattern.n_blocks))
    shapes = {shape.front for shape in productions.numbers}
    assert len(shapes) < len(productions.numbers)


X, Y = ((0, 0),), ((0, 1),)


def halving(sizes):
    """Return the nodes of trees whose subtrees are a root and two halves."""
    table = {}

    def split(slot, m):
        if (slot, m) in table:
            return
        halves = ((X, m // 2), (Y, m - 1 - m // 2)) if m > 2 else ()
        table[slot, m] = Derivation(7 if halves else m, halves)
        for child in halves:
            split(*child)

    for m in sizes:
        split(X, m)
        table[TOP, m] = Derivation(9, ((X, m),))
    return table


def halving_rules(*left_out):
    table = {key: node for key, node in halving(range(1, 60)).items() if key not in left_out}
    return affine_rules(merged([table.items()]), 2)


def test_halving_is_closed_under_growth_and_tells_trees_of_any_size():
    rules = closed(halving_rules(), [20, 21])
    assert not rules.is_sweep
    assert rules.productions == {1, 2, 7, 9}
    large = halving([500, 1234, 5679])
    assert rules.predicts(large.items())
    large[X, 500] = Derivation(8, large[X, 500].children)
    assert not rules.predicts(large.items())


def test_what_leads_to_a_subtree_nobody_has_seen_or_has_no_rule_is_not_closed():
    assert closed(halving_rules((Y, 2)), [20, 21]) is None
    known = halving_rules()
    rules = {of: rule for of, rule in known.rules.items() if of != (Y, 1)}
    assert closed(subtree_rules.Rules(2, rules, known.listed), [20, 21]) is None


def sized(size_of, sizes):
    """Return subtrees in X with one child in Y, of sizes that are given."""
    return merged([[((X, m), Derivation(1, ((Y, size_of(m)),))) for m in sizes]])


def test_a_rule_is_read_off_three_sizes_and_begins_where_they_are_affine():
    table = sized(lambda m: 5 if m < 9 else m - 3, range(5, 20, 2))
    rule = subtree_rules.Rule(9, Derivation(1, ((Y, 6),)), (2,))
    assert affine_rules(table, 2).rules == {(X, 1): (rule,)}
    assert affine_rules(sized(lambda m: m - 3, (17, 19)), 2).rules == {}


def eliminated_family(name, ordering, values, productions, **parameters):
    result = []
    for value in values:
        key = {"ladder": "rungs", "lattice": "columns", "ring": "bodies"}[name]
        pattern = kkt_structure(sb.build(name, **parameters, **{key: value}).compile()).pattern
        sequence = order(pattern, ordering)
        result.append((pattern, sequence, derived(productions, pattern, sequence)))
    return result


def grown(rules, productions, m):
    """Return the graph of m blocks that rules derive, and the rows of all fronts."""
    shapes, graph, fronts = list(productions.numbers), nx.Graph(), []
    waiting = [(TOP, m, ())]
    while waiting:
        slot, size, above = waiting.pop()
        node = Derivation(size, ())
        if slot is not None:
            (node,) = rules.derivations((slot, size))
        shape, front = shapes[node.production], []
        if shape.front:
            front = [len(graph), *above]
            graph.add_node(front[0], label=str(shape.front[0]))
            graph.add_edges_from(
                (front[0], other) for other, near in zip(above, shape.coupled, strict=True) if near
            )
            fronts.append(sum(rows for _, rows in shape.front))
        children = iter(node.children)
        for positions, kind in shape.glues:
            child = next(children) if kind < 0 else (None, kind)
            waiting.append((*child, tuple(front[position] for position in positions)))
    return graph, sorted(fronts)


@pytest.mark.parametrize(
    ("name", "ordering", "parameters", "small", "context", "period"),
    [
        ("ladder", "leaves-first", {}, 0, 1, 5),
        ("ring", "minimum-degree", {}, 0, 1, 2),
        ("lattice", "pathwidth-sweep", {"rows": 3, "layers": 1}, 0, 1, 8),
        ("lattice", "leaves-first", {"rows": 3, "layers": 1}, 20, 2, 16),
    ],
)
def test_rules_of_small_members_build_large_ones_and_their_fronts(
    name, ordering, parameters, small, context, period
):
    productions = Productions(small, context)
    sample = eliminated_family(name, ordering, range(3, 40), productions, **parameters)
    table = merged(nodes for *_, nodes in sample)
    blocks = [pattern.n_blocks for pattern, *_ in sample]
    steps = period // (blocks[1] - blocks[0])
    rules = closed(affine_rules(table, period), blocks[10 : 10 + steps])
    ((pattern, sequence, nodes),) = eliminated_family(
        name, ordering, [60], productions, **parameters
    )
    assert rules.predicts(nodes)
    graph, fronts = grown(rules, productions, pattern.n_blocks)
    size = pattern.block_sizes[sequence]
    expected = [size[[i, *below]].sum() for i, below in enumerate(eliminated(pattern, sequence))]
    assert fronts == sorted(expected)
    assert fronts[-1] == max(productions.widths[number] for number in rules.productions)
    assert nx.vf2pp_is_isomorphic(graph, block_graph(pattern), node_label="label")


def block_graph(pattern):
    graph = nx.Graph()
    for block, rows in enumerate(pattern.block_sizes.tolist()):
        graph.add_node(block, label=str((block >= pattern.n_primal, rows)))
    for joint, ends in enumerate(pattern.ends.tolist()):
        graph.add_edges_from((pattern.n_primal + joint, end) for end in ends if end >= 0)
    return graph

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from patterns import eliminated, graph_pattern, ladder, patterns

from sparsebody.sparse.elimination_tree import elimination, postordered
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.subtree_rules import TOP, Productions


def derived(productions, pattern, order):
    order = np.asarray(order, dtype=np.intp)
    kinds = order >= pattern.n_primal
    labels = list(zip(kinds.tolist(), pattern.block_sizes[order].tolist(), strict=True))
    return productions.derivations(elimination(pattern, order), labels)


def renumbered(pattern, order, seed):
    """Return the pattern with bodies and joints renumbered, and the same order of it."""
    generator = np.random.default_rng(seed)
    body, joint = generator.permutation(pattern.n_primal), generator.permutation(pattern.n_dual)
    label = np.concatenate([body, pattern.n_primal + joint]).astype(np.intp)
    sizes, ends = np.empty_like(pattern.block_sizes), np.empty_like(pattern.ends)
    sizes[label] = pattern.block_sizes
    ends[joint] = np.where(pattern.ends >= 0, np.append(body, 0)[pattern.ends], -1)
    return BlockPattern(sizes, ends), label[order]


@st.composite
def ordered_patterns(draw):
    pattern = draw(patterns())
    return pattern, np.array(draw(st.permutations(range(pattern.n_blocks))), dtype=np.intp)


@settings(max_examples=20)
@given(case=ordered_patterns(), seed=st.integers(0, 99))
def test_derivations_do_not_depend_on_numbering_nor_on_equivalent_orders(case, seed):
    productions = Productions()
    expected = sorted(derived(productions, *case))
    assert sorted(derived(productions, *renumbered(*case, seed))) == expected
    pattern, order = case
    assert sorted(derived(productions, pattern, postordered(pattern, order))) == expected


@settings(max_examples=20)
@given(case=ordered_patterns(), small=st.integers(0, 5))
def test_widths_are_the_fronts_of_dense_symbolic_elimination(case, small):
    pattern, order = case
    productions = Productions(small, 2)
    found = derived(productions, pattern, order)
    size = pattern.block_sizes[order]
    fronts = [size[[i, *below]].sum() for i, below in enumerate(eliminated(pattern, order))]
    assert max(productions.widths) == max(fronts, default=0)
    assert found[0][0] == (TOP, pattern.n_blocks)
    if small == 0:
        used = [productions.widths[node.production] for _, node in found[1:]]
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


def test_a_sweep_along_a_ladder_has_as_many_productions_however_long_it_is():
    productions, counts = Productions(), []
    for rungs in (10, 20, 80):
        pattern = ladder(rungs)
        order = np.argsort(np.r_[np.arange(2 * rungs) / 2, pattern.ends.max(axis=1) / 2 + 0.1])
        derived(productions, pattern, order)
        counts.append(len(productions.numbers))
    assert counts[0] == counts[1] == counts[2] < 12

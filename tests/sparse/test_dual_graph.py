import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from patterns import eliminated, patterns

from sparsebody.sparse.searches import dual_graph, with_primal_blocks


@given(pattern=patterns())
def test_dual_blocks_are_joined_where_the_schur_complement_is_not_zero(pattern):
    touches = np.zeros((pattern.n_dual, pattern.n_primal + 1))
    for side in range(2):
        touches[np.arange(pattern.n_dual), pattern.ends[:, side]] = 1.0
    schur = touches[:, :-1] @ touches[:, :-1].T
    np.fill_diagonal(schur, 0.0)
    indptr, indices = dual_graph(pattern)
    for j in range(pattern.n_dual):
        np.testing.assert_array_equal(indices[indptr[j] : indptr[j + 1]], np.flatnonzero(schur[j]))


@given(pattern=patterns(), data=st.data())
def test_fronts_of_dual_blocks_are_those_of_their_graph(pattern, data):
    duals = np.array(data.draw(st.permutations(range(pattern.n_dual))), dtype=np.intp)
    order = with_primal_blocks(pattern, duals)
    columns = dict(zip(order.tolist(), eliminated(pattern, order), strict=True))
    indptr, indices = dual_graph(pattern)
    graph = [set(indices[indptr[j] : indptr[j + 1]].tolist()) for j in range(pattern.n_dual)]
    for dual in duals.tolist():
        found = {int(order[k]) - pattern.n_primal for k in columns[pattern.n_primal + dual]}
        assert found == graph[dual]
        for other in graph[dual]:
            graph[other] = (graph[other] | graph[dual]) - {other, dual}


@given(pattern=patterns(), data=st.data())
def test_every_primal_block_comes_right_before_its_first_dual_one(pattern, data):
    duals = np.array(data.draw(st.permutations(range(pattern.n_dual))), dtype=np.intp)
    order = with_primal_blocks(pattern, duals).tolist()
    assert sorted(order) == list(range(pattern.n_blocks))
    for primal in range(pattern.n_primal):
        following = [b for b in order[order.index(primal) :] if b >= pattern.n_primal]
        its = pattern.neighbours(primal)
        assert len(its) == 0 or (following[0] in its and set(its) <= set(following))

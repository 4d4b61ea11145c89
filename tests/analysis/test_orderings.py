import pytest

from sparsebody.analysis.order_comparison import compare_orderings
from sparsebody.errors import OrderingError
from sparsebody.model.gallery import build
from sparsebody.sparse import treewidth


def test_an_ordering_that_gives_up_is_left_out_unless_asked_for(monkeypatch):
    monkeypatch.setattr(treewidth, "_MOST_SETS", 3)
    squares = build("lattice", rows=3, columns=3, layers=1)
    names = {line.name for line in compare_orderings(squares).lines}
    assert "exact-treewidth" not in names
    assert "exact-bandwidth" in names
    with pytest.raises(OrderingError, match="more than 3 sets"):
        compare_orderings(squares, ["exact-treewidth"])


def test_exponential_orderings_are_for_few_blocks_unless_asked_for():
    names = {line.name for line in compare_orderings(build("tube", rings=4, rails=4)).lines}
    assert not names & {"exact-treewidth", "exact-bandwidth"}

import numpy as np
import pytest
from patterns import ladder

import sparsebody as sb
from sparsebody.errors import OrderingError
from sparsebody.model.gallery import build
from sparsebody.ordering import ORDERINGS, available_orderings, is_admissible, order
from sparsebody.ordering.ordering_choice import candidate_orderings, choose


@pytest.fixture(autouse=True)
def table():
    """Leave the table as it was."""
    before = dict(ORDERINGS)
    yield
    ORDERINGS.clear()
    ORDERINGS.update(before)


def backwards(pattern):
    return np.arange(pattern.n_blocks)[::-1]


def bodies_backwards(pattern):
    return np.r_[np.arange(pattern.n_primal)[::-1], pattern.n_primal : pattern.n_blocks]


def test_one_line_makes_an_ordering_that_dynamics_takes():
    system = build("ladder", rungs=4).compile()
    state = sb.consistent_state(system)
    expected = sb.ForwardDynamics(system, state)(state).acceleration
    sb.register_ordering("mine", backwards)
    dynamics = sb.ForwardDynamics(system, state, ordering="mine")
    assert dynamics.ordering == "mine"
    np.testing.assert_allclose(dynamics(state).acceleration, expected, rtol=1e-9, atol=1e-9)
    assert "mine" in available_orderings()


def test_joints_that_come_too_early_are_moved():
    sb.register_ordering("mine", backwards)
    assert is_admissible(ladder(5), order(ladder(5), "mine"))
    assert ORDERINGS["mine"].admissible


def test_an_order_is_used_as_it_is_where_nothing_is_promised():
    sb.register_ordering("mine", backwards, admissible=False)
    np.testing.assert_array_equal(order(ladder(5), "mine"), backwards(ladder(5)))
    assert not ORDERINGS["mine"].admissible


def test_a_promise_is_held_to():
    sb.register_ordering("good", bodies_backwards, admissible=True)
    np.testing.assert_array_equal(order(ladder(5), "good"), bodies_backwards(ladder(5)))
    sb.register_ordering("bad", backwards, admissible=True)
    with pytest.raises(
        OrderingError, match=r"'bad' promises.*joint 0 \(block 10\).*bodies \[0, 1\]"
    ):
        order(ladder(5), "bad")


@pytest.mark.parametrize("returned", [[0, 1], [0] * 23, np.linspace(0, 1, 23), None])
def test_what_is_no_order_is_refused_by_the_name_of_the_function(returned):
    sb.register_ordering("mine", lambda pattern: returned)
    with pytest.raises(OrderingError, match=r"'mine' returned no order.*each of 23 blocks once"):
        order(ladder(5), "mine")


@pytest.mark.parametrize("name", ["auto", "minimum-fill", "", 3])
def test_names_that_are_taken_or_none_are_refused(name):
    with pytest.raises(OrderingError, match="take a name not in the table"):
        sb.register_ordering(name, backwards)


def test_what_cannot_be_called_is_refused():
    with pytest.raises(OrderingError, match="must be a function"):
        sb.register_ordering("mine", [1, 2])


def test_positions_reach_an_ordering_that_takes_them():
    system = build("lattice", rows=3, columns=4).compile()
    state, seen = sb.consistent_state(system), []

    def from_left_to_right(pattern, positions):
        seen.append(positions)
        bodies = np.argsort(positions[:, 0], kind="stable")
        return np.r_[bodies, np.arange(pattern.n_primal, pattern.n_blocks)]

    sb.register_ordering("left-to-right", from_left_to_right, takes_positions=True)
    sb.ForwardDynamics(system, state, ordering="left-to-right")
    np.testing.assert_array_equal(seen[0], state.position)


def test_the_automatic_choice_tries_it_where_it_is_offered():
    sb.register_ordering("mine", bodies_backwards, largest_automatic=100)
    assert "mine" in candidate_orderings(ladder(5))
    assert "mine" not in candidate_orderings(ladder(50))
    assert "mine" in choose(ladder(5)).predictions

import numpy as np
import pytest
from page_documents import unpacked

import sparsebody as sb
from sparsebody.errors import ModelError, UnknownNameError
from sparsebody.viewer import order_page


def test_the_structure_of_l_is_that_of_dense_elimination():
    mechanism = sb.build("four-bar-torus", rows=3, columns=3)
    header, page = unpacked(order_page(mechanism, "minimum-degree").document)
    n = len(page["order"])
    coupled = np.eye(n, dtype=bool)
    for k in range(n):
        coupled[k, page["coupled"][page["coupled_first"][k] : page["coupled_first"][k + 1]]] = True
    for k in range(n):  # eliminating a block couples all its later neighbours
        later = np.flatnonzero(coupled[k, k + 1 :]) + k + 1
        coupled[np.ix_(later, later)] = True
        np.testing.assert_array_equal(
            page["l_below"][page["l_first"][k] : page["l_first"][k + 1]], later
        )
        assert page["parent"][k] == (later[0] if len(later) else -1)
    assert header["ordering"] == "minimum-degree"


def test_bodies_and_joints_keep_their_names_and_places():
    mechanism = sb.build("lattice", rows=2, columns=3)
    header, page = unpacked(order_page(mechanism).document)
    system = mechanism.compile()
    assert header["names"][: header["n_bodies"]] == list(system.body_names)
    position = page["place"][np.argsort(page["order"])]
    bodies = position[: system.n_bodies]
    assert len(np.unique(bodies.round(6), axis=0)) == system.n_bodies


def test_what_is_too_large_or_unknown_is_refused():
    with pytest.raises(ModelError, match="at most 6000"):
        order_page(sb.build("ladder", rungs=2000))
    with pytest.raises(UnknownNameError):
        order_page(sb.build("four-bar"), "alphabetical")

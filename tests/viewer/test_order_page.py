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


def test_places_are_in_the_plane_of_motion_whatever_the_direction_of_gravity():
    """The axis of both revolutes is y exactly, and so is gravity: nothing tells what is upwards."""
    mechanism = sb.Mechanism("flat", gravity=(0.0, -9.81, 0.0))
    mechanism.add_body("a", mass=1.0, inertia=[0.1, 0.1, 0.1], position=(0.5, 0.0, 0.0))
    mechanism.add_body("b", mass=1.0, inertia=[0.1, 0.1, 0.1], position=(1.0, 0.0, 0.5))
    z_to_y = (0.5, -0.5, -0.5, -0.5)
    for ends, points in (
        ((sb.WORLD, "a"), ((0.0, 0.0, 0.0), (-0.5, 0.0, 0.0))),
        (("a", "b"), ((0.5, 0.0, 0.0), (0.0, 0.0, -0.5))),
    ):
        first, second = (sb.Frame(point, z_to_y) for point in points)
        mechanism.add_joint(
            ends[1], sb.Revolute(), *ends, predecessor_frame=first, successor_frame=second
        )
    _, page = unpacked(order_page(mechanism).document)
    place = page["place"][np.argsort(page["order"])]  # of both bodies, then both joints
    distances = np.linalg.norm(place[:, None] - place, axis=2)
    points = np.array([[0.5, 0.0], [1.0, 0.5], [0.0, 0.0], [1.0, 0.0]])
    expected = np.linalg.norm(points[:, None] - points, axis=2)
    np.testing.assert_allclose(distances, expected, atol=1e-6)


def test_what_is_too_large_or_unknown_is_refused():
    with pytest.raises(ModelError, match="at most 6000"):
        order_page(sb.build("ladder", rungs=2000))
    with pytest.raises(UnknownNameError):
        order_page(sb.build("four-bar"), "alphabetical")

import numpy as np
import pytest

from sparsebody.plots.view import choose_view

DOWN_Y, DOWN_Z = np.array([0.0, -9.81, 0.0]), np.array([0.0, 0.0, -9.81])
SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])


def in_plane(normal):
    return np.insert(SQUARE, normal, 0.3, axis=1)


@pytest.mark.parametrize(
    ("normal", "labels"),
    [(0, ("y [m]", "z [m]")), (1, ("x [m]", "z [m]")), (2, ("x [m]", "y [m]"))],
)
def test_points_in_a_coordinate_plane_are_seen_along_its_normal(normal, labels):
    view = choose_view([in_plane(normal)], DOWN_Z)
    assert view.labels == labels
    assert np.allclose(view(in_plane(normal)), SQUARE)


def test_a_straight_mechanism_is_seen_in_a_plane_that_holds_gravity():
    line = np.array([[-1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert choose_view([line], DOWN_Y).labels == ("x [m]", "y [m]")
    assert choose_view([line], DOWN_Z).labels == ("x [m]", "z [m]")


def test_a_planar_motion_of_a_thick_mechanism_is_seen_along_its_normal():
    thick = np.concatenate([in_plane(2), in_plane(2) + np.array([0, 0, 1])])
    moved = thick + np.array([0.1, 0.2, 0.0])
    moved[0] += [0.3, 0.0, 0.0]
    assert choose_view([thick, moved], DOWN_Y).labels == ("x [m]", "y [m]")


def test_points_in_space_are_seen_in_three_dimensions():
    points = np.random.default_rng(0).normal(size=(10, 3))
    assert not choose_view([points], DOWN_Z).is_planar


def test_a_tilted_plane_keeps_its_distances_and_has_up_on_top():
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    points = in_plane(2) @ turn.T
    view = choose_view([points], DOWN_Z)
    assert view.is_planar
    seen = view(points)
    for k in range(3):
        apart = np.linalg.norm(points[k + 1] - points[k])
        assert np.linalg.norm(seen[k + 1] - seen[k]) == pytest.approx(apart)
    assert view.axes[1] @ DOWN_Z < 0


def test_a_flipped_view_exchanges_its_axes():
    view = choose_view([in_plane(1)], DOWN_Z).flipped()
    assert view.labels == ("z [m]", "x [m]")
    assert np.allclose(view(in_plane(1)), SQUARE[:, ::-1])

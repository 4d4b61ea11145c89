import numpy as np
import pytest

import sparsebody as sb
from sparsebody.model.gallery import GALLERY
from sparsebody.viewer.parts import Kind, Picture, Role, body_parts, joint_parts, strands

UP = np.array([0.0, 0.0, 1.0])


def picture_of(mechanism):
    system = mechanism.compile()
    return Picture(system, system.initial_state)


def pair_of(shape_a=None, shape_b=None, points=((-1, 0, 0), (1, 0, 0))):
    """Body a with revolutes at points, to the world, and body b at the last of them."""
    m = sb.Mechanism("m")
    m.add_body("a", mass=1.0, inertia=[0.01, 0.3, 0.3], shape=shape_a)
    m.add_body("b", mass=1.0, inertia=[0.01, 0.3, 0.3], position=(2, 0, 0), shape=shape_b)
    for k, point in enumerate(points[:-1]):
        m.add_joint(f"ground-{k}", sb.Revolute(), "world", "a", point=point, axis=(0, 1, 0))
    m.add_joint("pin", sb.Revolute(), "a", "b", point=points[-1], axis=(0, 1, 0))
    return picture_of(m)


@pytest.mark.parametrize("name", GALLERY)
def test_every_body_and_joint_of_the_gallery_is_drawn(name):
    picture = picture_of(sb.build(name))
    bodies = body_parts(picture)
    assert set(bodies.body) == set(range(picture.system.n_bodies))
    joints = joint_parts(picture, np.zeros(picture.system.n_joints, dtype=int), UP)
    drawn = joints.owner[joints.role == Role.JOINT]
    assert set(drawn) == set(np.flatnonzero(~picture.of_type("free")))
    hanging = strands(picture)
    for numbers in (bodies.frame, joints.frame, hanging.point, hanging.radius):
        assert np.isfinite(numbers).all()
    assert (np.linalg.norm(bodies.frame[:, :, :3], axis=1) > 0).all()


def test_a_body_of_two_joints_is_a_flat_link_between_them():
    parts = body_parts(pair_of())
    (box,) = np.flatnonzero((parts.kind == Kind.BOX) & (parts.body == 0))
    frame = parts.frame[box]
    assert np.linalg.norm(frame[:, 0]) == pytest.approx(2.0)  # from (-1, 0, 0) to (1, 0, 0)
    assert np.abs(frame[1, 2]) == pytest.approx(np.linalg.norm(frame[:, 2]))  # flat along y
    np.testing.assert_allclose(frame[[0, 2], 3], 0.0, atol=1e-12)


def test_links_that_meet_at_a_hinge_lie_in_different_layers():
    picture = pair_of(*(sb.Polyline(((-1, 0, 0), (1, 0, 0))),) * 2)
    assert sorted(picture.layer) == [-0.5, 0.5]
    parts = body_parts(picture)
    boxes = parts.frame[parts.kind == Kind.BOX]
    low, high = np.sort(boxes[:, 1, 3])
    depth = np.linalg.norm(boxes[:, :, 2], axis=1)
    assert high - low >= depth.mean()


def test_three_coplanar_joints_make_a_plate_of_their_triangle():
    corners = np.array([(-1.0, 0, -0.5), (0.2, 0, 0.9), (1.0, 0, 0.0)])
    parts = body_parts(pair_of(points=corners))
    plate = parts.frame[(parts.kind == Kind.PRISM) & (parts.body == 0)]
    areas = 0.5 * np.linalg.norm(np.cross(plate[:, :, 0], plate[:, :, 1]), axis=1)
    a, b = corners[1] - corners[0], corners[2] - corners[0]
    assert areas.sum() == pytest.approx(0.5 * np.linalg.norm(np.cross(a, b)))


def test_three_joints_in_line_make_links_from_their_middle():
    parts = body_parts(pair_of(points=((-1, 0, 0), (0, 0, 0), (1, 0, 0))))
    mine = parts.body == 0
    assert set(parts.kind[mine]) == {Kind.BOX, Kind.CYLINDER}
    assert np.abs(parts.frame[mine][:, 2, 3]).max() < 1e-12


def test_a_free_body_is_the_box_of_its_inertia():
    m = sb.Mechanism("m")
    x, y, z = 1.0, 0.6, 0.4
    moments = np.array([y**2 + z**2, x**2 + z**2, x**2 + y**2]) * 3.0 / 12.0
    m.add_body("a", mass=3.0, inertia=moments)
    (frame,) = body_parts(picture_of(m)).frame
    assert sorted(np.linalg.norm(frame[:, :3], axis=0)) == pytest.approx([z, y, x])


def test_shapes_keep_their_sizes_and_places():
    shape = sb.Cylinder(0.2, 1.5, sb.Frame((0.1, 0.0, 0.3)))
    m = sb.Mechanism("m")
    m.add_body("a", mass=1.0, inertia=[1, 1, 1], center_of_mass=(0.1, 0, 0), shape=shape)
    parts = body_parts(picture_of(m))
    assert parts.kind.tolist() == [Kind.CYLINDER]
    np.testing.assert_allclose(parts.frame[0], [[0.2, 0, 0, 0], [0, 0.2, 0, 0], [0, 0, 1.5, 0.3]])


def test_meshes_are_stored_once_and_placed_by_their_frames():
    corners, faces = np.array([[0.0, 0, 1], [4, 0, 1], [0, 2, 1]]), [[0, 1, 2]]  # flat
    frame = sb.Frame((0.1, 0.2, 0.3), (0.6, 0.0, 0.8, 0.0))
    compound = sb.CompoundShape([sb.Mesh(corners, faces), sb.Box((1, 1, 1))])
    picture = pair_of(compound, sb.Mesh(corners, faces, frame))
    assert len(picture.meshes) == 1
    parts = body_parts(picture)
    assert sorted(parts.kind) == [Kind.BOX, Kind.MESH, Kind.MESH]  # no rods to joints elsewhere
    meshes = parts.frame[parts.kind == Kind.MESH][np.argsort(parts.body[parts.kind == Kind.MESH])]
    unit = np.array([[-0.5, -0.5, 0], [0.5, -0.5, 0], [-0.5, 0.5, 0]])
    for matrix, at in zip(meshes, (sb.Frame(), frame), strict=True):
        expected = at.origin + corners @ at.rotation.T
        np.testing.assert_allclose(matrix[:, 3] + unit @ matrix[:, :3].T, expected, atol=3e-6)


def test_joints_away_from_a_shape_are_tied_to_it():
    shape = sb.Polyline(((-1, 0, 0), (1, 0, 0)))
    parts = body_parts(pair_of(shape, points=((-1, 0, 0), (0.5, 0, 0.8))))
    rods = parts.frame[(parts.kind == Kind.CYLINDER) & (parts.body == 0)]
    lengths = np.linalg.norm(rods[:, :, 2], axis=1)
    assert np.isclose(lengths, 0.8).sum() == 1


def test_redundant_joints_have_a_ring():
    picture = picture_of(sb.build("four-bar"))
    parts = joint_parts(picture, np.array([0, 0, 3, 0]), UP)
    assert parts.owner[parts.kind == Kind.RING].tolist() == [2]


def test_beams_are_drawn_between_their_ends():
    picture = picture_of(sb.build("compliant-lattice", rows=2, columns=2))
    hanging = strands(picture)
    assert set(hanging.kind) == {2}
    assert len(hanging.kind) == len(picture.system.elastic)


def test_planar_mechanisms_know_their_normal():
    normal = picture_of(sb.build("scissor")).plane_normal
    np.testing.assert_allclose(np.abs(normal), [0, 1, 0], atol=1e-12)
    assert picture_of(sb.build("stewart")).plane_normal is None

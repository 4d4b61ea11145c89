"""Trajectories in VTK files and tables, with the numbers of the trajectory."""

import csv
import json

import h5py
import numpy as np
import pytest

import sparsebody as sb
from sparsebody.dynamics.energy import kinetic_energy
from sparsebody.errors import (
    FileFormatError,
    MissingDependencyError,
    OutputError,
    SimulationOptionError,
    UnknownNameError,
)
from sparsebody.export import trajectory_export
from sparsebody.export.vtk_files import equivalent_sides
from sparsebody.kinematics.joint_motion import body_rotations, world_wrenches
from sparsebody.model.files import mechanism_document
from sparsebody.plots.outline import mechanism_outline

TABLES = ("energies", "bodies", "joints", "reactions")


@pytest.fixture(scope="module")
def lift():
    """A driven lift with a beam and a rod, so that there are links and curves."""
    mechanism = sb.build("scissor", pairs=3)
    names = list(mechanism.body_names)
    mechanism.add_point_force("strut", names[0], names[-1], stiffness=1.0, rest_length=1.0)
    section = {"E": 1e6, "G": 4e5, "A": 1e-4, "I_y": 1e-9, "I_z": 1e-9, "J": 2e-9}
    start, end = (mechanism.body(name).position for name in names[1:3])
    mechanism.add_beam("leaf", *names[1:3], **section, start=start, end=end)
    return mechanism


@pytest.fixture(scope="module")
def run(lift, tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "lift.h5"
    output = sb.Output(path, source=json.dumps(mechanism_document(lift)))
    record = sb.Recording(reactions=True)
    options = {"duration": 0.05, "step": 0.005, "method": "rk4"}
    return sb.simulate(lift.compile(), **options, record=record, output=output)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of few records, so that there are several."""
    monkeypatch.setattr(trajectory_export, "BLOCK_BYTES", 3000)
    monkeypatch.setattr("sparsebody.simulation.trajectory_reading.BLOCK_BYTES", 3000)


@pytest.fixture
def without_file(run):
    return sb.Trajectory(**vars(run) | {"source": None, "path": None})


# ---- VTK --------------------------------------------------------------------------------------

# What the specification of VTKHDF 2.1 asks of polydata with steps: https://docs.vtk.org
POLYDATA = ("NumberOfPoints", "Points", "Vertices", "Lines", "Polygons", "Strips", "Steps")
TOPOLOGY = ("NumberOfCells", "NumberOfConnectivityIds", "Offsets", "Connectivity")
STEPS = ("Values", "PartOffsets", "NumberOfParts", "PointOffsets", "CellOffsets")
STEPS += ("ConnectivityIdOffsets", "PointDataOffsets")


def vtk_file(tmp_path, trajectory, **options):
    path = tmp_path / "lift.vtkhdf"
    sb.export_trajectory(trajectory, path, **options)
    return path


def test_the_layout_is_that_of_the_specification(tmp_path, run):
    with h5py.File(vtk_file(tmp_path, run.path)) as file:
        root, n = file["VTKHDF"], len(run)
        assert root.attrs["Type"] == b"PartitionedDataSetCollection"
        assert tuple(root.attrs["Version"]) == (2, 1)
        assert list(root["Assembly"]) == ["bodies", "joints", "outlines"]
        for index, name in enumerate(root["Assembly"]):
            link, block = root["Assembly"].get(name, getlink=True), root[name]
            assert isinstance(link, h5py.SoftLink)
            assert link.path == f"/VTKHDF/{name}"
            assert (block.attrs["Type"], block.attrs["Index"]) == (b"PolyData", index)
            assert set(POLYDATA) <= set(block)
            size = block["NumberOfPoints"][0]
            assert block["Points"].shape == (n * size, 3)
            for kind in POLYDATA[2:6]:
                assert set(block[kind]) == set(TOPOLOGY)
                cells, ids = block[kind]["NumberOfCells"][0], block[kind]["Offsets"][-1]
                assert block[kind]["Offsets"].shape == (cells + 1,)
                assert block[kind]["NumberOfConnectivityIds"][0] == ids
                assert (block[kind]["Connectivity"][:] < size).all()
            steps = block["Steps"]
            assert set(steps) == set(STEPS)
            assert steps.attrs["NSteps"] == n
            np.testing.assert_array_equal(steps["Values"], run.time)
            assert steps["CellOffsets"].shape == steps["ConnectivityIdOffsets"].shape == (n, 4)
            assert set(steps["PointDataOffsets"]) == set(block["PointData"])
            for data, offsets in steps["PointDataOffsets"].items():
                assert len(block["PointData"][data]) == offsets[-1] + size
        for what in ("body", "joint"):
            names = file["sparsebody"][f"{what}_names"].asstr()[:]
            assert tuple(names) == getattr(run, f"{what}_names")


def test_every_record_has_poses_velocities_energies_reactions_and_outlines(tmp_path, run, lift):
    system = lift.compile()
    outline = mechanism_outline(lift, system)
    with h5py.File(vtk_file(tmp_path, run.path)) as file:
        root, n = file["VTKHDF"], len(run)
        bodies, joints, lines = (root[name] for name in ("bodies", "joints", "outlines"))

        def of(block, name):
            values = block["PointData"][name][:]
            return values.reshape(n, -1, *values.shape[1:])

        np.testing.assert_array_equal(bodies["Points"][:].reshape(run.position.shape), run.position)
        np.testing.assert_array_equal(of(bodies, "orientation"), run.orientation)
        np.testing.assert_allclose(of(bodies, "kinetic_energy").sum(1), run.kinetic_energy)
        for k in (0, n - 1):
            state = run.state(k)
            R = body_rotations(state)
            for name, part in (("angular_velocity", slice(3)), ("velocity", slice(3, 6))):
                expected = np.einsum("nij,nj->ni", R, state.velocity[:, part])
                np.testing.assert_allclose(of(bodies, name)[k], expected, atol=1e-15)
            assert kinetic_energy(system, state) == pytest.approx(run.kinetic_energy[k])
            wrench = world_wrenches(system, state, run.joint_wrench[k])
            np.testing.assert_allclose(of(joints, "force")[k], wrench[:, 3:])
            np.testing.assert_allclose(of(joints, "moment")[k], wrench[:, :3])
            size = np.linalg.norm(wrench[:, 3:], axis=1)
            np.testing.assert_allclose(of(joints, "force_magnitude")[k], size)
            points = joints["Points"][:].reshape(n, -1, 3)[k]
            np.testing.assert_array_equal(points, outline.joints.at(state))
            curves = outline.beam_curves(state).reshape(-1, 3)
            expected = np.concatenate([outline.lines.at(state), outline.links.at(state), curves])
            np.testing.assert_array_equal(lines["Points"][:].reshape(n, -1, 3)[k], expected)
        assert len(lines["Lines/Offsets"]) == 1 + len(outline.lines.body) // 2 + 1 + 1
        kinds = file["sparsebody"]["joint_types"].asstr()[:][joints["PointData/type"][:]]
        assert [*kinds] == [joint.type.name for joint in lift.joints.values()]


def test_sizes_are_those_of_boxes_with_the_same_inertia():
    mechanism, sides = sb.Mechanism("boxes"), np.array([[1.0, 2.0, 3.0], [0.3, 0.0, 0.2]])
    for k, (a, b, c) in enumerate(sides):
        moments = 5.0 / 12.0 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
        mechanism.add_body(f"box-{k}", mass=5.0, inertia=moments)
    np.testing.assert_allclose(equivalent_sides(mechanism.compile()), sides, atol=1e-8)


def test_without_a_mechanism_there_are_bodies_alone(tmp_path, without_file, lift):
    with h5py.File(vtk_file(tmp_path, without_file)) as file:
        assert list(file["VTKHDF/Assembly"]) == ["bodies"]
        assert "kinetic_energy" not in file["VTKHDF/bodies/PointData"]
    with h5py.File(vtk_file(tmp_path, without_file, mechanism=lift)) as file:
        assert len(file["VTKHDF/Assembly"]) == 3
    with pytest.raises(SimulationOptionError, match=r"has other bodies or .*'four-bar'"):
        vtk_file(tmp_path, without_file, mechanism=sb.build("four-bar"))


@pytest.mark.vtk
def test_the_reader_of_vtk_gives_the_numbers_of_the_trajectory(tmp_path, run, lift):
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkIOHDF import vtkHDFReader

    reader = vtkHDFReader()
    reader.SetFileName(str(vtk_file(tmp_path, run.path)))
    reader.UpdateInformation()
    assert reader.GetNumberOfSteps() == len(run)
    outline = mechanism_outline(lift, lift.compile())
    for k in range(len(run)):
        reader.SetStep(k)
        reader.Update()
        output = reader.GetOutputDataObject(0)
        bodies, joints, lines = (output.GetPartition(block, 0) for block in range(3))

        def of(block, name):
            return vtk_to_numpy(block.GetPointData().GetArray(name))

        positions = [vtk_to_numpy(block.GetPoints().GetData()) for block in (bodies, joints, lines)]
        np.testing.assert_array_equal(positions[0], run.position[k])
        np.testing.assert_array_equal(positions[1], outline.joints.at(run.state(k)))
        np.testing.assert_array_equal(of(bodies, "orientation"), run.orientation[k])
        np.testing.assert_array_equal(of(bodies, "body"), np.arange(len(run.body_names)))
        assert of(bodies, "kinetic_energy").sum() == pytest.approx(run.kinetic_energy[k])
        force = np.linalg.norm(run.joint_wrench[k, :, 3:], axis=1)
        np.testing.assert_allclose(of(joints, "force_magnitude"), force, rtol=1e-12)
        n_lines = len(outline.lines.body) // 2 + 2
        assert (bodies.GetNumberOfVerts(), lines.GetNumberOfLines()) == (6, n_lines)


# ---- tables -----------------------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES)
def test_tables_in_files_are_those_of_data_frames(tmp_path, run, table):
    pandas = pytest.importorskip("pandas")
    parquet = pytest.importorskip("pyarrow.parquet")
    frame = run.to_dataframe(table)
    for suffix, read in ((".csv", pandas.read_csv), (".parquet", pandas.read_parquet)):
        path = tmp_path / f"table{suffix}"
        sb.export_trajectory(run.path, path, table=table)
        stored = read(path)
        assert list(stored) == list(frame)
        for name in frame:
            if name in ("body", "joint", "type"):
                assert [*stored[name].astype(str)] == [*frame[name].astype(str)]
            elif suffix == ".parquet":
                np.testing.assert_array_equal(stored[name], frame[name])
    with (tmp_path / "table.csv").open() as file:  # the numbers, as Python reads them
        rows = list(csv.DictReader(file))
    last = frame.columns[-1]
    np.testing.assert_array_equal([float(row[last] or "nan") for row in rows], frame[last])
    units = parquet.read_schema(tmp_path / "table.parquet")
    of_file = {field.name: field.metadata[b"unit"].decode() for field in units}
    assert of_file == frame.attrs["units"]


def test_records_are_counted_as_they_are_written(tmp_path, run):
    reports = []
    sb.export_trajectory(
        run, tmp_path / "e.csv", table="energies", progress=lambda *n: reports.append(n)
    )
    assert len(reports) > 2
    assert reports[-1] == (len(run), len(run))
    assert sorted(reports) == reports


def test_tables_that_need_no_mechanism_do_not_look_at_the_source(tmp_path, without_file):
    strange = sb.Trajectory(**vars(without_file) | {"source": "no mechanism"})
    sb.export_trajectory(strange, tmp_path / "e.csv", table="energies")
    with pytest.raises(FileFormatError, match="source: line 1, column 1: not JSON"):
        sb.export_trajectory(strange, tmp_path / "j.csv", table="joints")
    assert [path.name for path in tmp_path.iterdir()] == ["e.csv"]


# ---- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "table", "words"),
    [
        ("a.vtk", None, "the suffix of the file is '.vtk'; give one of .vtkhdf, .csv, .parquet"),
        ("a.csv", "energy", "table is 'energy'; give one of energies, bodies, joints, reactions"),
        ("a.csv", None, "table is ''; give one of"),
    ],
)
def test_unknown_formats_and_tables_are_named(tmp_path, run, name, table, words):
    with pytest.raises(UnknownNameError, match=words):
        sb.export_trajectory(run, tmp_path / name, table=table)
    assert list(tmp_path.iterdir()) == []


def test_reactions_and_mechanisms_that_are_missing_are_named(tmp_path, without_file):
    bare = sb.Trajectory(**vars(without_file) | {"joint_wrench": None})
    with pytest.raises(SimulationOptionError, match=r"has no reactions of joints; simulate with "):
        sb.export_trajectory(bare, tmp_path / "r.csv", table="reactions")
    with pytest.raises(SimulationOptionError, match=r"holds no mechanism, which table 'joints'"):
        sb.export_trajectory(bare, tmp_path / "j.csv", table="joints")
    with pytest.raises(SimulationOptionError, match=r"table 'bodies' is for .csv, .parquet files"):
        sb.export_trajectory(bare, tmp_path / "v.vtkhdf", table="bodies")
    assert list(tmp_path.iterdir()) == []


def test_damaged_files_are_told_and_leave_nothing(tmp_path, run):
    path, target = tmp_path / "cut.h5", tmp_path / "cut.vtkhdf"
    path.write_bytes(run.path.read_bytes()[:-1000])
    with pytest.raises(SimulationOptionError, match="was cut: 1000 bytes are missing"):
        sb.export_trajectory(path, target)
    path.write_bytes(run.path.read_bytes())
    with h5py.File(path, "r+") as file:
        file["orientation"][7, 2] = 0.4
    with pytest.raises(SimulationOptionError, match="record 7 is no state"):
        sb.export_trajectory(path, target)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["a.vtkhdf", "a.csv", "a.parquet"])
def test_an_interruption_leaves_what_was_there(tmp_path, run, name):
    pytest.importorskip("pyarrow")
    path = tmp_path / name
    path.write_text("what was there")

    def interrupt(done, n):
        raise KeyboardInterrupt

    table = None if name == "a.vtkhdf" else "bodies"
    with pytest.raises(KeyboardInterrupt):
        sb.export_trajectory(run.path, path, table=table, progress=interrupt)
    assert path.read_text() == "what was there"
    assert list(tmp_path.iterdir()) == [path]


def test_missing_packages_and_folders_are_named(tmp_path, run, monkeypatch):
    with pytest.raises(OutputError, match=r"cannot write '.*No such file or directory"):
        sb.export_trajectory(run, tmp_path / "none" / "e.csv", table="energies")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'sparsebody\[tables\]'"):
        sb.export_trajectory(run, tmp_path / "e.parquet", table="energies")
    assert list(tmp_path.iterdir()) == []

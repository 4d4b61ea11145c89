"""The page on files against the files themselves."""

import re
from pathlib import Path

import h5py
import numpy as np
import pytest

import sparsebody as sb

PAGE = (Path(__file__).parents[1] / "docs" / "files.md").read_text()


def rows(header):
    """The cells of the table below a header."""
    table = PAGE.split(f"| {header} |", 1)[1].split("\n\n", 1)[0]
    lines = [line for line in table.splitlines()[2:] if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [[name.strip("`"), *others] for name, *others in cells]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A trajectory with everything that there can be."""
    path = tmp_path_factory.mktemp("runs") / "all.h5"
    system = sb.build("scissor", pairs=2, drive=True).compile()
    options = {"duration": 0.02, "step": 0.01, "method": "generalized-alpha"}
    record = sb.Recording(reactions=True)
    sb.simulate(system, **options, record=record, output=sb.Output(path, source="{}"))
    with h5py.File(path) as file:
        yield file


def test_datasets_are_those_of_the_page_with_their_shapes_and_types(file):
    documented = {name: cells for name, *cells in rows("dataset | shape")}
    assert documented.keys() == set(file)
    sizes = {"n": len(file["time"]), "bodies": len(file["body_names"])}
    sizes |= {"joints": len(file["joint_names"]), "coordinates": file["coordinate"].shape[1]}
    assert len(set(sizes.values())) == len(sizes)
    for name, (shape, kind, unit, _) in documented.items():
        dataset = file[name]
        words = [word.strip() for word in shape.split(",") if word.strip()]
        expected = [sizes.get(word) or (None if word == "any" else int(word)) for word in words]
        assert len(expected) == dataset.ndim
        assert all(e in (None, n) for e, n in zip(expected, dataset.shape, strict=True)), name
        if kind == "float64":
            assert dataset.dtype == np.float64
            assert unit or name == "checkpoint"
        elif kind == "text":
            assert h5py.check_string_dtype(dataset.dtype) is not None
        else:
            parts = re.findall(r"(\w+) (float64|\d+ bytes)", kind)
            assert [part for part, _ in parts] == list(dataset.dtype.names)
            sizes_of = [8 if what == "float64" else int(what.split()[0]) for _, what in parts]
            assert sizes_of == [dataset.dtype[part].itemsize for part, _ in parts]


def test_attributes_are_those_of_the_page_with_their_types(file):
    documented = {name: kind for name, kind, _ in rows("attribute | type")}
    assert documented.keys() == set(file.attrs)
    kinds = {"text": str, "integer": (int, np.integer), "boolean": np.bool_}
    kinds |= {"float64": np.floating}
    for name, kind in documented.items():
        assert isinstance(file.attrs[name], kinds[kind]), name
    assert file.attrs["format"] in PAGE


def test_blocks_of_vtk_files_are_those_of_the_page(file, tmp_path):
    lift = sb.build("scissor", pairs=2, drive=True)
    path = tmp_path / "all.vtkhdf"
    sb.export_trajectory(sb.Trajectory.load(file.filename), path, mechanism=lift)
    with h5py.File(path) as vtk:
        documented = {name: data for name, _, data in rows("block | cells")}
        assert documented.keys() == set(vtk["VTKHDF/Assembly"])
        for name, data in documented.items():
            assert set(re.findall(r"`(\w+)`", data)) == set(vtk[f"VTKHDF/{name}/PointData"])


def test_columns_of_tables_are_those_of_the_page(file):
    pytest.importorskip("pandas")
    run = sb.Trajectory.load(file.filename)
    lift = sb.build("scissor", pairs=2, drive=True)
    for table, text, _ in rows("table | columns"):
        frame = run.to_dataframe(table, lift)
        names = re.findall(r"`(\w+)`(?: to `(\w+)`)?", text)
        documented = []
        for first, last in names:
            axes = "wxyz" if first.endswith("_w") else "xyz"
            documented += [f"{first[:-1]}{axis}" for axis in axes] if last else [first]
        if table == "joints":
            documented = [name for name in documented if not name[-1].isdigit()]
            assert {name for name in frame if name not in documented} >= {"q0", "q1", "v0", "v1"}
        else:
            assert list(frame) == documented
        units = re.findall(r"\[(.*?)\]", text)
        assert set(units) <= set(frame.attrs["units"].values())

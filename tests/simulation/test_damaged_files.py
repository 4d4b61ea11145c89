"""Trajectory files that were cut, flipped, retyped or emptied: a named error, or what is left."""

import os
import random
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

import sparsebody as sb
from sparsebody.plots import Options, trajectory_subject
from sparsebody.simulation.trajectory_reading import CHANNELS, EVENTS, OPTIONAL_CHANNELS, TEXTS

N_SEEDS = int(os.environ.get("SPARSEBODY_DAMAGED_FILES", "80"))  # more on demand
RUN = {"duration": 0.05, "step": 0.005, "record": sb.Recording(reactions=True)}


@pytest.fixture(scope="module")
def system():
    return sb.build("four-bar").compile()


@pytest.fixture(scope="module")
def sound(system, tmp_path_factory):
    path = tmp_path_factory.mktemp("sound") / "run.h5"
    sb.simulate(system, output=sb.Output(path, source="{}"), **RUN)
    return path


@pytest.fixture
def path(sound, tmp_path):
    """A copy that may be damaged."""
    return Path(shutil.copy(sound, tmp_path))


def cut(path, rng):
    os.truncate(path, rng.randrange(path.stat().st_size))


def flip(path, rng):
    content = bytearray(path.read_bytes())
    end = rng.choice([12, 4096, len(content)])
    for _ in range(rng.randrange(1, 20)):
        content[rng.randrange(end)] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def change_dataset(path, rng):
    with h5py.File(path, "r+") as file:
        name = rng.choice(sorted(file))
        shape, change = file[name].shape, rng.randrange(5)
        del file[name]
        if change == 1:
            file.create_dataset(name, shape, "i2")
        elif change == 2:
            file.create_dataset(name, (*shape, 2), "f8")
        elif change == 3:
            file.create_group(name)
        elif change == 4:
            file.create_dataset(name, data=h5py.Empty("f8"))


def change_attribute(path, rng):
    with h5py.File(path, "r+") as file:
        name = rng.choice(sorted(file.attrs))
        del file.attrs[name]
        values = [None, "", "[]", '{"step": "x"}', np.arange(3), -1, np.nan, h5py.Empty("f8")]
        if (value := rng.choice(values)) is not None:
            file.attrs[name] = value


def change_values(path, rng):
    with h5py.File(path, "r+") as file:
        dataset = file[rng.choice(["time", "position", "orientation", "velocity"])]
        dataset[rng.randrange(len(dataset))] = rng.choice([np.nan, np.inf, 1e300, 0.0])


def message_of(use):
    """Return the message of a named error, None if there is none."""
    try:
        use()
    except sb.SparsebodyError as error:
        return str(error)


@pytest.mark.parametrize("seed", range(N_SEEDS))
def test_damage_is_named_and_what_is_left_recovered(path, system, seed):
    rng = random.Random(seed)
    rng.choice([cut, flip, change_dataset, change_attribute, change_values])(path, rng)

    def pictures():
        trajectory_subject(path, Options((), 6, "auto", "auto")).figure("energy")

    def recovered():
        trajectory = sb.Trajectory.load(path, recover=True)
        assert np.isfinite(trajectory.position).all()
        assert trajectory.events[-1].kind == "recovery"

    def resumed():
        sb.simulate(system, output=sb.Output(path, source="{}", resume=True), **RUN)

    for use in (lambda: sb.Trajectory.load(path), pictures, recovered, resumed):
        assert path.name in (message_of(use) or path.name)


@pytest.mark.parametrize("name", [*CHANNELS, *TEXTS, EVENTS])
def test_a_missing_dataset_is_named(path, name):
    with h5py.File(path, "r+") as file:
        del file[name]
    if name in OPTIONAL_CHANNELS:
        assert getattr(sb.Trajectory.load(path), name) is None
        return
    with pytest.raises(sb.SparsebodyError, match=f"{name!r} is missing"):
        sb.Trajectory.load(path)


def test_records_before_the_damage_are_recovered(path):
    whole = sb.Trajectory.load(path)
    with h5py.File(path, "r+") as file:
        file["orientation"][4, 1] = 0.0
        del file["momentum"]
        del file["body_names"]
    with pytest.raises(sb.SparsebodyError, match="'body_names' is missing"):
        sb.Trajectory.load(path)
    rest = sb.Trajectory.load(path, recover=True)
    assert len(rest) == 4
    np.testing.assert_array_equal(rest.position, whole.position[:4])
    np.testing.assert_array_equal(rest.joint_wrench, whole.joint_wrench[:4])
    assert np.isnan(rest.momentum).all()
    assert rest.body_names == ("body 0", "body 1", "body 2")
    assert "'momentum' is missing" in rest.events[0].message


def test_a_cut_file_ends_at_once_and_its_records_are_recovered(path):
    whole = sb.Trajectory.load(path)
    os.truncate(path, path.stat().st_size - 1000)
    with pytest.raises(sb.SparsebodyError, match="1000 bytes are missing"):
        sb.Trajectory.load(path)
    rest = sb.Trajectory.load(path, recover=True)
    np.testing.assert_array_equal(rest.position, whole.position[: len(rest)])


def test_a_run_of_another_version_is_not_overwritten(path, system):
    with h5py.File(path, "r+") as file:
        slots = file["checkpoint"][:, :-3]
        del file["checkpoint"]
        file["checkpoint"] = slots
    content = path.read_bytes()
    with pytest.raises(sb.SparsebodyError, match="which this version does not read"):
        sb.simulate(
            system, output=sb.Output(path, source="{}", resume=True), **RUN | {"duration": 0.1}
        )
    assert path.read_bytes() == content

import numpy as np
import pytest
from linkages import one_body
from random_mechanisms import random_loops

import sparsebody as sb
from sparsebody.errors import MissingDependencyError, SimulationOptionError, UnknownNameError
from sparsebody.kinematics.joint_motion import body_rotations
from sparsebody.simulation.trajectory_files import recorded
from sparsebody.simulation.trajectory_tables import TABLES

pandas = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def swing():
    linkage = sb.build("four-bar")
    record = sb.Recording(reactions=True)
    return linkage, sb.simulate(linkage.compile(), duration=0.2, step=0.01, record=record)


def test_energies_have_a_row_for_each_record_and_the_numbers_of_the_trajectory(swing):
    _, run = swing
    frame = run.to_dataframe()
    assert len(frame) == len(run)
    for name in ("time", "kinetic_energy", "energy", "velocity_error"):
        np.testing.assert_array_equal(frame[name], getattr(run, name))
    parts = [f"{what}_{axis}" for what in ("angular_momentum", "momentum") for axis in "xyz"]
    np.testing.assert_array_equal(frame[parts], run.momentum)


def test_bodies_and_reactions_have_a_row_for_each_record_and_name(swing):
    _, run = swing
    frame = run.to_dataframe("bodies")
    assert [*frame["body"][:3]] == list(run.body_names)
    for name in run.body_names:
        rows, i = frame[frame["body"] == name], run.body(name)
        np.testing.assert_array_equal(rows[[f"position_{a}" for a in "xyz"]], run.position[:, i])
        turn = rows[[f"orientation_{part}" for part in "wxyz"]]
        np.testing.assert_array_equal(turn, run.orientation[:, i])
        state = run.state(7)
        world = body_rotations(state)[i] @ state.velocity[i].reshape(2, 3).T
        columns = [f"{what}_{a}" for a in "xyz" for what in ("angular_velocity", "velocity")]
        np.testing.assert_allclose(rows[columns].iloc[7], world.ravel(), atol=1e-15)
    frame = run.to_dataframe("reactions")
    columns = [f"{what}_{a}" for what in ("moment", "force") for a in "xyz"]
    wrench = np.asarray(frame[columns]).reshape(run.joint_wrench.shape)
    np.testing.assert_array_equal(wrench, run.joint_wrench)
    assert [*frame["joint"][:4]] == list(run.joint_names)


@pytest.mark.parametrize("seed", range(3))
def test_joint_coordinates_of_all_types_are_those_at_each_state(seed):
    types = tuple(sb.JOINT_TYPES)
    mechanism = random_loops(np.random.default_rng(seed), 12, 12, types, types, moving=True)
    system = mechanism.compile()
    state = system.initial_state
    run = recorded(system, [state, state.with_(time=1.0)], None, None)
    frame = run.to_dataframe("joints", mechanism)
    positions, velocities = sb.joint_positions(system, state), sb.joint_velocities(system, state)
    for name, (_, row) in zip(system.joint_names, frame.iterrows(), strict=False):
        assert (row["joint"], row["type"]) == (name, mechanism.joint(name).type.name)
        for letter, expected in (("q", positions[name]), ("v", velocities[name])):
            columns = [column for column in frame if column[0] == letter and column[1:].isdigit()]
            result = row[columns].astype(float)
            np.testing.assert_allclose(result[: len(expected)], expected, atol=1e-13)
            assert result[len(expected) :].isna().all()


def test_angles_count_turns_where_something_tracks_them():
    wheel = one_body(sb.Revolute(), angular_velocity=[0, 0, 9.0])
    wheel.add_joint_force("brake", "joint", damping=0.1)
    run = sb.simulate(wheel.compile(), duration=2.0, step=0.05)
    frame = run.to_dataframe("joints", wheel)
    np.testing.assert_array_equal(frame["q0"], run.coordinate[:, 0])
    assert frame["q0"].iloc[-1] > 4 * np.pi
    np.testing.assert_allclose(frame["v0"], run.velocity[:, 0, 2], rtol=1e-12)


def test_every_column_has_a_unit(swing):
    linkage, run = swing
    for table in TABLES:
        frame = run.to_dataframe(table, linkage)
        assert list(frame.attrs["units"]) == list(frame)


def test_what_is_missing_is_named(swing, monkeypatch):
    linkage, run = swing
    with pytest.raises(UnknownNameError, match="table is 'energy'; give one of energies, bodies"):
        run.to_dataframe("energy")
    with pytest.raises(SimulationOptionError, match="the trajectory of 'four-bar' holds no mech"):
        run.to_dataframe("joints")
    with pytest.raises(SimulationOptionError, match="other bodies or joints than mechanism 'pend"):
        run.to_dataframe("joints", sb.build("pendulum"))
    bare = sb.simulate(linkage.compile(), duration=0.01, step=0.01)
    with pytest.raises(SimulationOptionError, match=r"has no reactions.*Recording\(reactions=True"):
        bare.to_dataframe("reactions")
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'sparsebody\[tables\]'"):
        run.to_dataframe()

"""Stiffness, mass ratios and steps beyond all measure: a run is right, or says what is wrong."""

import re
import warnings
from functools import cache, partial

import numpy as np
import pytest
from random_mechanisms import add_joint, copied

import sparsebody as sb
from sparsebody.errors import EnergyWarning, SparsebodyError
from sparsebody.simulation import INTEGRATORS

STEPS, STEP, SPEED = 20, 0.01, 0.1  # of a run; [s] unless given; of vibrations, at first [m/s]
RESOLVED = 4e-4  # largest error [m] of second order where steps suffice; of first order, 50 times


def bob(gravity, **velocities):
    mechanism = sb.Mechanism("bob", gravity=[0, 0, gravity])
    mechanism.add_body("bob", mass=1.0, inertia=[1.0] * 3, position=[1, 0, 0], **velocities)
    return mechanism


def torsion_spring(stiffness):
    mechanism = bob(0.0, linear_velocity=[0, SPEED, 0], angular_velocity=[0, 0, SPEED])
    mechanism.add_joint("pin", sb.Revolute(), sb.WORLD, "bob", point=[0, 0, 0], axis=[0, 0, 1])
    mechanism.add_joint_force("spring", "pin", stiffness=stiffness)
    return vibration(mechanism, np.sqrt(stiffness / 2.0))


def bushing(stiffness):
    mechanism = bob(0.0, linear_velocity=[0, SPEED, 0])
    frames = {"predecessor_frame": sb.Frame([1, 0, 0]), "successor_frame": sb.Frame()}
    mechanism.add_bushing("mount", sb.WORLD, "bob", stiffness=stiffness * np.eye(6), **frames)
    return vibration(mechanism, np.sqrt(stiffness))


def vibration(mechanism, rate):
    """v sin(w t) / w along y; where steps do not resolve it, anything within its amplitude."""
    position = [[1, SPEED / rate * np.sin(rate * STEPS * STEP), 0]]
    return mechanism.compile(), STEP, position, RESOLVED if rate < 10.0 else 2.2 * SPEED / rate


def compliant_joint(stiffness):
    systems = []  # the rigid pendulum is the limit, and the reference from 1e12 on
    for compliance in (1.0 / stiffness, 0.0):
        hinge = {"point": [0, 0, 0], "axis": [0, 1, 0], "compliance": compliance}
        mechanism = bob(-9.81)
        mechanism.add_joint("pin", sb.Revolute(), sb.WORLD, "bob", **hinge)
        systems.append(mechanism.compile())
    return systems[0], STEP, resolved(systems[stiffness > 1e9]), RESOLVED


def scaled(name, ratio, step=STEP, tolerance=RESOLVED, **sizes):
    system = copied(sb.build(name, **sizes), masses=ratio).compile()
    return system, step, resolved(system, step), tolerance


def resolved(system, step=STEP):
    return sb.simulate(system, duration=STEPS * step, step=step / 40, method="rk4").position[-1]


KINDS = (torsion_spring, bushing, compliant_joint)
CASES = {f"{kind.__name__} {k:g}": partial(kind, k) for kind in KINDS for k in (1.0, 1e6, 1e12)}
for r in (1e8, 1e-8):  # the middle body's mass
    CASES[f"chain {r:g}"] = partial(scaled, "chain", [1.0, r, 1.0], bodies=3)
    CASES[f"four-bar {r:g}"] = partial(scaled, "four-bar", [1.0, r, 1.0])
for name, step in (("four-bar", 0.1), ("pendulum", 0.1), ("pendulum", 0.5)):
    CASES[f"{name} by {step} s"] = partial(scaled, name, 1.0, step, 0.3)
prepared = cache(lambda case: CASES[case]())


@pytest.mark.parametrize("method", [*INTEGRATORS, "auto"])
@pytest.mark.parametrize("case", CASES)
def test_a_run_is_right_or_says_what_is_wrong(case, method):
    (system, step, reference, tolerance), fault = prepared(case), ""
    with warnings.catch_warnings(record=True) as doubts:
        warnings.simplefilter("always")
        try:
            run = sb.simulate(system, duration=STEPS * step, step=step, method=method)
        except SparsebodyError as error:
            fault = str(error)
    if fault:
        assert re.search(r"stopped at t = .* s: .*'(bob|pin|.*-pi.*)'.*; take smaller steps", fault)
    elif not any(doubt.category is EnergyWarning for doubt in doubts):
        factor = 50.0 if (method, tolerance) == ("semi-implicit-euler", RESOLVED) else 1.0
        assert np.abs(run.position[-1] - reference).max() < factor * tolerance


@pytest.mark.filterwarnings("ignore:errors of the steps of")
@pytest.mark.parametrize("method", ["generalized-alpha", "generalized-alpha-2"])
def test_implicit_schemes_tell_of_a_start_that_several_branches_may_leave(method):
    """A flat sheet of balls has dependent rows at its start alone; a ladder has them everywhere."""
    for name, is_singular in (("lattice", True), ("ladder", False)):
        run = sb.simulate(sb.build(name).compile(), duration=0.02, step=0.002, method=method)
        notes = [event.message for event in run.events if event.kind == "undetermined branch"]
        assert bool(notes) == is_singular
        assert all("compliance and the step decide" in message for message in notes)


def test_adaptive_steps_that_do_not_resolve_a_whip_say_so():
    """A heavy rocker reaches its dead center, and turns the light bars in microseconds."""
    system = copied(sb.build("four-bar"), masses=[1.0, 1.0, 1e8]).compile()
    with pytest.warns(EnergyWarning, match="fell by .* give a smaller rtol"):
        sb.simulate(system, duration=0.5, step="auto", method="generalized-alpha-2")


def enlarged(mechanism, size):
    """The mechanism at rest, lengths and gravity times a factor, so that it moves alike."""
    copy = sb.Mechanism(mechanism.name, size * np.asarray(mechanism.gravity))
    for name, body in mechanism.bodies.items():
        copy.add_body(
            name,
            mass=body.mass,
            inertia=size**2 * np.asarray(body.inertia),
            center_of_mass=size * np.asarray(body.center_of_mass),
            position=size * np.asarray(body.position),
            orientation=body.orientation,
        )
    for name, joint in mechanism.joints.items():
        frames = (
            sb.Frame(size * np.asarray(frame.origin), frame.orientation)
            for frame in (joint.predecessor_frame, joint.successor_frame)
        )
        add_joint(copy, name, joint.type, (joint.predecessor, joint.successor), *frames)
    return copy


@pytest.mark.parametrize("method", ["auto", "generalized-alpha"])
def test_a_singular_start_is_told_of_in_metres_and_in_kilometres(method):
    metres, kilometres = (
        sb.simulate(enlarged(sb.build("lattice"), size).compile(), duration=0.02, step=2e-3,
                    method=method)
        for size in (1.0, 1024.0)
    )  # fmt: skip
    events = [[(event.kind, event.time) for event in run.events] for run in (metres, kilometres)]
    assert events[0] == events[1]
    assert "rows depend on others at this pose" in kilometres.events[0].message
    np.testing.assert_array_equal(kilometres.position, 1024.0 * metres.position)


@pytest.mark.parametrize("method", ["radau-iia", "generalized-alpha-2"])
@pytest.mark.parametrize("step", [0.002, "auto"])
def test_dependent_rows_and_extreme_masses_are_left_to_auto(method, step):
    mechanism, motion = sb.build("scissor", pairs=3), {"duration": 0.1, "step": step}
    masses = np.ones(len(mechanism.body_names))
    masses[-1] = 1e8
    system = copied(mechanism, masses=masses).compile()
    with pytest.raises(
        SparsebodyError, match=r'if rows depend on .*method="auto"|method="auto" if'
    ):
        sb.simulate(system, method=method, **motion)
    run = sb.simulate(system, **motion)
    assert run.energy_error < 1e-3

"""Programs and commands of the README and the guides, run as printed."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from command_line import printed

from sparsebody.ordering import ORDERINGS

ROOT = Path(__file__).parents[1]
FILES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md")))
PAGES = {path: path.read_text() for path in FILES}
PROGRAMS = [
    pytest.param(program, id=f"{path.name}-{number}")
    for path, text in PAGES.items()
    for number, program in enumerate(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
]
TEXT = "\n".join(PAGES.values())


def classical(names, text):
    lines = text.replace("\n ", " ").splitlines()
    forces = {re.findall(r"\[.*?\]", line)[0] for line in lines}  # the same to eight digits
    assert (len(lines), len(forces), lines[2][-11:]) == (3, 1, "117 n - 118")


def operators(names, text):
    on, product = names["on"], names["H"] @ names["phi"] @ names["M"] @ names["phi"].T
    np.testing.assert_allclose(on.factor @ on.D @ on.factor.T, product @ names["H"].T, atol=1e-14)
    given = [names[name] for name in ("arm", "q", "qd", "tau")]
    qdd = names["ALGORITHMS"]["spatial-operators-forward"](*given)
    np.testing.assert_allclose(qdd, on.forward_dynamics(*given[2:]), rtol=1e-12)


def bounces(names, text):
    first = np.sqrt(4.0 / 9.81)  # falling 2 m, then up with 0.8 of the velocity
    times = [event.time for event in names["run"].events if event.kind == "event"]
    np.testing.assert_allclose(times, first * np.array([1.0, 2.6]), rtol=1e-6)


def same_motion(names, text):
    gradient, lift = names["gradient"], names["lift"]
    by_inertia = gradient["inertia"][:, :3] * np.diagonal(lift.inertia, axis1=1, axis2=2)
    assert gradient["gravity"][2] > 1e-3  # but not of all inertias in proportion
    assert abs(gradient["mass"] @ lift.mass + by_inertia.sum()) < 1e-12


CHECKS = {  # by words of a program: a function, or what is true of its names and of its `text`
    "uicker-kahn": classical,
    "SpatialOperators.of": operators,
    "floor.change": bounces,
    'Mechanism("four-bar"': [
        "dynamics.redundant_rows.size == 3",
        "abs(trajectory.energy_error) < 1e-6",
        "'[' in text",
    ],
    'build("lattice"': [
        "abs(trajectory.time[-1] - 1.0) < 1e-9",
        "trajectory.position_error.max() < 1e-6 * 8",  # of its size
        "'implicit steps' in text",
    ],
    'method in ("rk4", "variational")': ["error[-200:].max() < 1.1 * error[:200].max()"],
    "register_ordering": ["'left-to-right' in text"],
    'Mechanism("chain")': [
        "(chain.n_bodies, chain.n_joints) == (1000, 1000)",
        "(chain.body_names[7], chain.compile().joint_names[7]) == ('bar-7', 'ball-7')",
        "chain.compile().predecessor[0] == -1",
    ],
    "inverse_dynamics": [
        "found.force.shape == (1,)",
        "str(found.actuation) in text and str(found.actuation) in pages",
    ],
    "apply_advice": [
        "'[147.15  49.05]' in text",
        "\"joint 'low': force x, y, z, torque x, y not: 5 redundant constraints\" in text",
        "\"remove joint 'high'\" in text",
        "advice.is_verified",
        "proper.n_joints == 1",
    ],
    "compare_algorithms": [
        "line.counted_flops == line.metrics.flops",
        "basis.loops == 20",
        "'penalty' in text",
    ],
    "sb.certify": ["f'# {found}' in pages and 'O(n), width 15' in text", "'exactly' in text"],
    'build("andrews")': ["'15.8107' in text"],
    "CONTROL_FUNCTION": ["0.0 < run.kinetic_energy[-1] < run.kinetic_energy.max()"],
    "jax_accelerations": ["abs(float(mass) / (200 / (9.81 * 16 * np.cos(0.4))) - 1) < 1e-9"],
    "of.vjp(weight)": [
        "gradient['mass'].sum() < 0.0 < gradient['stiffness'][0]",
        "'by the' in text",
    ],
    "simulate_with_pullback": same_motion,
    "h5py.File": ["'four-bar auto (51,)\\nTrue' in text"],
    "sb.export_trajectory": [
        "path.stat().st_size > 10000",
        "text == 'lift.vtkhdf 21 time steps\\n'",
    ],
    "run.to_dataframe": [
        "height.shape == (51, 3)",
        "np.isclose(height.iloc[0, 0], run.position[0, 0, 1])",
    ],
    "sb.write_robot": ["np.abs(again - acceleration).max() < 1e-12 * np.abs(acceleration).max()"],
    "sb.kkt_matrix": [
        "np.allclose(x[:18], sb.ForwardDynamics(system)(state).acceleration.ravel())",
        "'crank angular x' in text",
    ],
    "compliance=softness": ["'2 bodies, 2 joints, 6 constraint rows' in text"],
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs_as_printed(program, capsys, monkeypatch):
    for name in set(ORDERINGS):
        monkeypatch.setitem(ORDERINGS, name, ORDERINGS[name])  # so that a new one goes again
    if "import jax" in program:
        pytest.importorskip("jax")
    if "to_dataframe" in program:
        pytest.importorskip("pandas")
    names = {}
    exec(program, names)
    scope = {"np": np} | names | {"text": (text := capsys.readouterr().out), "pages": TEXT}
    (check,) = [check for words, check in CHECKS.items() if words in program]
    if callable(check):
        check(names, text)
    else:
        assert [claim for claim in check if not eval(claim, scope)] == []


def test_the_commands_of_the_pages_are_understood():
    commands = re.findall(r"^    sparsebody (.*?)(?:\s+#.*)?$", TEXT, re.MULTILINE)
    assert len(commands) >= 20
    for command in commands:
        name, *options = shlex.split(command)
        text = printed(name, "--help")
        assert [word for word in options if word.startswith("-") and word not in text] == []


def test_links_lead_to_files():
    for path, text in PAGES.items():
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        for link in re.findall(r"\]\((?!http)(.*?)\)", prose):
            assert (path.parent / link).exists(), f"{path}: {link}"

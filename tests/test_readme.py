"""Programs and commands of the README and of the pages of the site, run as printed."""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest
from command_line import printed

from sparsebody.study.plan import read_study

ROOT = Path(__file__).parents[1]
GENERATED = {"benchmarks", "gallery", "reference"}  # folders that the build of the site makes
GUIDES = [
    path
    for path in sorted(ROOT.glob("docs/**/*.md"))
    if path.relative_to(ROOT / "docs").parts[0] not in GENERATED
]
FILES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *GUIDES)
PAGES = {path: path.read_text() for path in FILES}
PROGRAMS = [
    pytest.param(program, id=f"{path.parent.name}/{path.name}-{number}")
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
    "predicted_megabytes": [
        "'a solution by 2 threads' in text",
        "explained['predicted_seconds']"
        " < 0.7 * min(explained['predictions'][explained['ordering']].values())",
    ],
    "dynamics.redundant_rows.size": [
        "dynamics.redundant_rows.size == 3",
        "abs(trajectory.energy_error) < 1e-6",
        "'[' in text",
    ],
    "duration=1.0, step=0.002": [
        "abs(trajectory.time[-1] - 1.0) < 1e-9",
        "trajectory.position_error.max() < 1e-6 * 8",  # of its size
        "'implicit steps' in text",
    ],
    'method in ("rk4", "variational")': ["error[-400:].max() < 1.1 * error[:400].max()"],
    "from_left_to_right": ["'left-to-right' in text"],
    'Mechanism("chain")': [
        "(chain.n_bodies, chain.n_joints) == (1000, 1000)",
        "(chain.body_names[7], chain.compile().joint_names[7]) == ('bar-7', 'ball-7')",
        "chain.compile().predecessor[0] == -1",
    ],
    "inverse_dynamics": [
        "forces.force.shape == (1,)",
        "str(forces.actuation) in text and str(forces.actuation) in pages",
    ],
    "apply_advice": [
        "'[147.15  49.05]' in text",
        "\"joint 'low': force x, y, z, torque x, y indeterminate: 5 redundant\" in text",
        "\"remove joint 'high'\" in text",
        "advice.is_verified",
        "proper.n_joints == 1",
    ],
    "compare_algorithms": [
        "line.counted_flops == line.metrics.flops",
        "basis.loops == 20",
        "'penalty' in text",
    ],
    "certificate.proof.statement": [
        "f'# {certificate}' in pages and 'O(n), width 15' in text",
        "'exactly' in text",
    ],
    'build("andrews")': ["'15.8107' in text"],
    "CONTROL_FUNCTION": ["0.0 < run.kinetic_energy[-1] < run.kinetic_energy.max()"],
    "jax_accelerations": ["abs(float(mass) / (200 / (9.81 * 16 * np.cos(0.4))) - 1) < 1e-9"],
    "derivatives.vjp(weight)": [
        "gradient['mass'].sum() < 0.0 < gradient['stiffness'][0]",
        "'by the' in text",
    ],
    "simulate_with_pullback": same_motion,
    'Mechanism("pendulum"': [
        "np.isclose(result.acceleration[0, 1], 14.715)",
        "np.isclose(np.linalg.norm(result.joint_wrench[0, 3:]), 9.81 / 4)",
    ],
    'explain()["factorization"]': ["'redundant_rows=3, mobility=1' in text"],
    "pairs=6, drive=True": ["trajectory.position_error.max() < 1e-9", "len(trajectory) == 201"],
    'figure("mechanism")': ["figure.axes"],
    'Mechanism("sheet"': ["(sheet.n_bodies, sheet.n_joints) == (36, 64)"],
    "rows=6, columns=6).compile()": ["'rows depend on others' in text"],
    "compliance=1e-6).compile()": ["run.elastic_energy.max() > 0.0", "run.energy_error < 1e-3"],
    "np.polyfit": ["abs(exponent - 1.0) < 0.05"],
    "by_distance": ["'by-distance' in text"],
    "rows=12, columns=12": ["[line.name for line in comparison.lines][-1] == 'natural'"],
    "largest=300": ["'width 11' in text and 'width 15' in text"],
    "ring.graph": ["[line.metrics.nnz_l for line in orders.comparison.lines] == [9, 9]"],
    "structure = sb.ForwardDynamics": ["'40 bodies, 60 joints' in text"],
    "dynamics.condition": ["9e3 < estimate.kappa < 2e4"],
    "counts.redundant_rows, counts.mobility": ["'four-bar 20 3 1' in text"],
    '("loops-aba", "loops-direct")': ["np.abs(other - sparse).max() < 1e-7 * np.abs(sparse).max()"],
    "rows=4, columns=4": ["'implicit steps' in text", "run.position_error.max() < 1e-5"],
    'support="free"': [
        "bent.n_mechanisms == 6",
        "abs(bent.frequency[6] / 53.26 - 1.0) < 1e-3",  # 4.73^2 sqrt(E h^2 / 12 rho) / 2 pi
    ],
    "in JOINT_TYPES.items()": ["np.abs(T.T @ S).max() < 1e-12", "text.count('\\n') == 3"],
    "bodies_last_first": ["'last-first' in text"],
    "class Inversion": ["np.abs(own.acceleration - usual.acceleration).max() < 1e-9"],
    "midpoint_step": ["3.5 < ratio < 4.5"],
    "GalleryEntry(swing)": ["abs(float(text.split()[-1]) - 9.81 / 2.0) < 1e-3"],
    "3 > 1 + 1": ["'no body has principal moments 1, 1, 3' in text"],
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
    "trajectory.show(color=": ["text.strip().endswith('.html')", "page.title == 'four-bar'"],
    "sb.predict_cost": ["text.startswith('512 bodies') and '1000000000 bodies' in text"],
    "parts.explain()": ["result.solver.converged and result.solver.iterations < 9"],
    "compliance=softness": ["'2 bodies, 2 joints, 6 constraint rows' in text"],
}


@pytest.mark.usefixtures("restored_tables")
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs_as_printed(program, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
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


@pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler")
def test_the_control_in_c_brakes_as_its_stand_in_does(tmp_path):
    page = PAGES[ROOT / "docs/motion.md"]
    (source,) = re.findall(r"```c\n(.*?)```", page, re.DOTALL)
    (command,) = re.findall(r"`(cc .*?)`", page)
    (function,) = re.findall(r"`(CONTROL_FUNCTION\(\(.*?)`", page)
    (program,) = [
        text for text in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "brake" in text
    ]
    (tmp_path / "brake.c").write_text(source)
    subprocess.run(shlex.split(command), check=True, cwd=tmp_path)
    exec(program, names := {})
    compiled = eval(function.replace("./", f"{tmp_path}/"), names)
    run = names["sb"].simulate(names["run"].system, duration=1.0, step=0.01, control=compiled)
    np.testing.assert_array_equal(run.position, names["run"].position)


def test_every_block_of_the_pages_is_of_a_kind_that_is_tested():
    tested = {"python", "toml"}  # here, and commands, which are indented
    elsewhere = {
        "docs/how-to/joint-type.md": {"cpp", "{code-block} python"},
        "docs/motion.md": {"c"},
    }
    for path, text in PAGES.items():
        kinds = set(re.findall(r"^```(\S.*)$", text, re.MULTILINE))
        shown = re.compile(r"{(toctree|math|grid|image|tab|csv-table)")
        kinds -= {kind for kind in kinds if shown.match(kind)}
        assert kinds - tested == elsewhere.get(str(path.relative_to(ROOT)), set())


def test_the_commands_of_the_pages_are_understood():
    commands = re.findall(r"^    sparsebody (.*?)(?:\s+#.*)?$", TEXT, re.MULTILINE)
    assert len(commands) >= 27
    for command in commands:
        name, *options = shlex.split(re.sub(r"^--import \S+ ", "", command))
        text = printed(name, "--help")
        assert [word for word in options if word.startswith("-") and word not in text] == []


def test_studies_of_the_pages_are_read(tmp_path):
    studies = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    assert studies
    for study in studies:
        (tmp_path / "study.toml").write_text(study)
        assert len(read_study(tmp_path / "study.toml").cases) > 10


def test_links_lead_to_files():
    made = {"gallery": "examples", "benchmarks": "benchmarks", "reference": "sparsebody"}
    for path, text in PAGES.items():
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        for link in re.findall(r"\]\((?!http)(.*?)\)", prose):
            target = Path(os.path.normpath(path.parent / link))
            folder, *rest = os.path.relpath(target, ROOT / "docs").split("/")
            if folder == "gallery" and rest != ["index.rst"]:
                target = ROOT / "examples" / Path(*rest).with_suffix(".py")
            elif folder in made:
                target = ROOT / made[folder]
            assert target.exists(), f"{path}: {link}"

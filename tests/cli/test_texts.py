"""The words of every command that prints a text for people."""

import dataclasses
import shlex

import pytest
from command_line import document, printed

import sparsebody as sb
from sparsebody._core import level
from sparsebody.analysis.inspection import inspect_mechanism
from sparsebody.cli.mechanism_commands import _redundancy
from sparsebody.model.gallery import GALLERY

TEXTS = {
    "gallery": GALLERY,
    "gallery ladder -p rungs=4": ["8 bodies, 12 joints"],
    "inspect scissor -p pairs=3 -p drive=yes": [
        "redundant rows 6, certain; left out at",
        "mobility 0 (with 1 prescribed coordinate)",
        "condition number 45; rounding moves accelerations by up to",
        "minimum-degree",
    ],
    "inspect bricard": [
        "generic rank 30 of 30, mobility 0; special geometry adds 1 redundant row and",
    ],
    "inspect rotating-squares -p rows=5": [
        "generic in plane rank 59 of 64, mobility 1; special geometry adds 1 redundant",
    ],
    "inspect four-bar": [
        "spanning tree 3 freedoms, breadth-first; 1 loop in 1 cluster",
        "loop constraints 5, of rank 2: overconstrained by 3",
        "pose regular",
        "configurations 2 with coordinate 0 of joint 'crank-pivot' fixed",
        "3 dimensions not determined, at 4 of 4 joints",
        "joint 'crank-pin': force x, y unique; force z, torque x, y indeterminate: ",
        "; replace by point-on-line to remove them",
        "verified in 2 poses: rank 17",
    ],
    "inspect chain": ["all determined"],
    "inspect scissor -p pairs=6": [
        "planar, about the world: 12 bodies, 17 joints, 5 loops: 15 redundant rows",
    ],
    "order scissor -p pairs=6": ["nnz(L)", "chosen by auto: "],
    "algorithms lattice -p rows=3 -p columns=3 --sizes 4,9,16 --algorithm penalty": [
        *("eps 1e-08", "Bayo", "16 bodies", "n^"),
    ],
    "loop-bases lattice -p rows=3 -p columns=3 -p layers=3 --seed 3": [
        *("28 loops; no faces", "K H^-1 K'", "minimum-fronts tree"),
    ],
    "certify lattice -p layers=1 --ordering minimum-degree --largest 256": [
        *("lattice, sparse, minimum-degree: O(n^", "not proved, observed"),
    ],
    "classical --algorithms luh-walker-paul,balafoutis-patel-misra --counts": [
        *("122 n - 60", "489 420", "Balafoutis/Patel/Misra: Six products"),
    ],
    "classical --algorithms walker-orin-2 --counts": ["38 n^2"],
    "simulate pendulum --duration 0.1": [
        *("energy error", "position error", "wall time", "100, 101 recorded"),
    ],
    "doctor": [f"native kernels {level}", "scikit-sparse", "all checks passed, in"],
}
UNSAID = {
    "inspect chain": ["loop constraints", "advice"],
    "classical --algorithms luh-walker-paul,balafoutis-patel-misra --counts": ["CPU time"],
    "classical --algorithms walker-orin-2 --counts": ["published as"],
}


@pytest.mark.parametrize("command", TEXTS)
def test_people_read_the_words(command):
    text = " ".join(printed(*shlex.split(command)).split())
    for words in TEXTS[command]:
        assert " ".join(words.split()) in text
    for words in UNSAID.get(command, []):
        assert words not in text


def test_people_read_why_a_decision_is_in_doubt():
    inspection = inspect_mechanism(sb.build("bricard"))
    doubtful = dataclasses.replace(inspection, certain=False, redundancy_doubt="nearly singular")
    assert "1, NOT certain: nearly singular; left out at" in _redundancy(doubtful)


def test_the_build_of_the_kernels_in_use_is_told_to_scripts():
    report = document("doctor", "--no-self-test")
    assert report["kernels"]["in_use"] in report["kernels"]["available"]
    assert report["packages"]["numpy"]

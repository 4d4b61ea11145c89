import importlib
import tempfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("restored_tables")
EXPECTED = {  # the number that main() returns: at least, at most
    "ex01_pendulum": (0.0, 1e-6),  # relative error of the period
    "ex02_four_bar": (0.0, 1e-10),  # difference of accelerations and forces in the plane
    "ex03_scissor": (0.0, 1e-9),  # relative error of the torque
    "ex04_orderings": (1.95, 2.05),  # growth of the work on a ladder twice as long
    "ex05_record": (0.0, 1e-5),  # energy error
    "ex06_ram": (0.0, 1e-12),  # accelerations and forces, from the sparse system's
    "ex07_loop_clusters": (3, 3),  # minimal loop clusters
    "ex08_ladder_ordering": (3, 3),  # bandwidth in blocks
    "ex09_own_ordering": (1.0, 1.0),  # work on a tree, over the least
    "ex10_one_matrix": (1.0, 1.0),  # operations counted, over those predicted
    "ex11_classical": (0.0, 1e-12),  # between algorithms
    "ex12_six_revolute_arm": (0.0, 1e-12),  # difference of algorithms, relative
    "ex13_buckling": (0.0, 1e-4),  # relative error of the buckling load
    "ex14_vibrations": (0.0, 1e-10),  # relative error of frequencies
    "ex15_waves": (0.0, 1e-6),  # relative difference of speeds of sound
    "ex16_gradient": (0.0, 1e-8),  # error of an arrival [m, rad/s]
    "ex17_sensitivities": (0.0, 1e-10),  # of Euler's theorem on homogeneous functions, relative
    "ex18_stewart": (0.0, 1e-9),  # relative error of the forces, by virtual work
    "ex19_andrews": (0.0, 1e-6),  # error of an angle of 15.8 rad
    "ex20_door": (0.0, 1e-9),  # relative error of the shares of the weight
    "ex21_latch": (0.0, 1e-12),  # relative error of the speed after the impact
    "ex22_control_in_c": (0.0, 1e-6),  # relative error of the speed
    "ex23_robot": (0.0, 1e-7),  # distance from MuJoCo's hand [m]
    "ex24_large_ladder": (0.0, 1e-9),  # relative error of the balance of forces
    "ex25_certificates": (15, 15),  # width of a ladder's fronts
    "ex26_atlas": (0, 0),  # mobilities that differ from the known ones
    "ex27_arch": (0.0, 1e-9),  # relative error of the limit load
    "ex28_free_body": (0.0, 1e-4),  # error of an angular velocity of 4 rad/s
}

WITHOUT_PAGE = {"ex12_six_revolute_arm"}  # an arm of slender rods, which no motion can be of


def test_every_example_is_checked():
    folder = Path(__file__).parents[1] / "examples"
    assert sorted(path.stem for path in folder.glob("ex*.py")) == sorted(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_example_computes_the_number_that_it_should(name, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    least, most = EXPECTED[name]
    assert least <= importlib.import_module(f"examples.{name}").main() <= most
    assert capsys.readouterr().out
    assert (name in WITHOUT_PAGE) != any(tmp_path.rglob("*.html"))

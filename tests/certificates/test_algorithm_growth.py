import pytest

from sparsebody.assembly.constraint import kkt_structure
from sparsebody.certificates.algorithm_growth import algorithm_growth, growing_family
from sparsebody.errors import ModelError, ShapeError, UnknownNameError
from sparsebody.model.gallery import build
from sparsebody.ordering.literature_orders import algorithm_order
from sparsebody.sparse.elimination_tree import ordering_metrics
from sparsebody.study.families import Family


def exponents(mechanism, sizes, names, **parameters):
    found = algorithm_growth(growing_family(mechanism, parameters), sizes, names)
    return {one.name: one.fit.exponent for one in found}


def test_flops_are_those_predicted_for_the_mechanisms():
    (found,) = algorithm_growth(Family("ladder", "ladder"), (10, 40), ("delassus",))
    assert found.n_bodies.tolist() == [10.0, 40.0]
    for rungs, flops in zip((5, 20), found.flops, strict=True):
        pattern = kkt_structure(build("ladder", rungs=rungs).compile()).pattern
        metrics = ordering_metrics(pattern, algorithm_order(pattern, "delassus"))
        assert flops == metrics.flops
    assert found.to_dict()["exponent"] == found.fit.exponent
    assert found.line.label == "delassus"


def test_a_lattice_of_one_layer_stays_in_its_plane():
    assert growing_family("lattice", {}).grows == ("rows", "columns")
    assert growing_family("lattice", {"layers": "2"}).grows == ("rows", "columns", "layers")
    assert growing_family("ladder", {"rungs": "1"}).grows == ("rungs",)


def test_on_a_lattice_dissection_takes_n_to_three_halves_and_baraff_n_cubed():
    found = exponents("lattice", (64, 256, 1024), ("dissection", "baraff", "depth-first"))
    assert found["dissection"] == pytest.approx(1.5, abs=0.05)
    assert found["baraff"] == pytest.approx(3.0, abs=0.05)
    assert found["depth-first"] == pytest.approx(2.0, abs=0.05)


def test_one_size_has_no_growth():
    (found,) = algorithm_growth(Family("chain", "chain"), (16,), ("auto",))
    assert found.fit is None
    assert found.to_dict()["exponent"] is None
    assert len(found.line.fit_n) == 0


@pytest.mark.parametrize(
    ("mechanism", "parameters", "sizes", "names", "error", "message"),
    [
        ("chain", {}, (), (), ShapeError, "give numbers of bodies"),
        ("chain", {}, (0, 4), (), ShapeError, "give numbers of bodies"),
        ("chain", {}, (8,), ("aba",), UnknownNameError, "no algorithm 'aba'"),
        ("chian", {}, (8,), (), UnknownNameError, "no mechanism 'chian'"),
        ("stewart", {}, (8,), (), ModelError, "no size parameter of stewart"),
        ("lattice", {"rows": "x"}, (8,), (), ModelError, "rows is 'x'"),
    ],
)
def test_bad_input_is_told(mechanism, parameters, sizes, names, error, message):
    with pytest.raises(error, match=message):
        algorithm_growth(growing_family(mechanism, parameters), sizes, names)

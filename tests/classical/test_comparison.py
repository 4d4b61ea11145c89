from fractions import Fraction

import pytest

from sparsebody.classical import ALGORITHMS, Algorithm
from sparsebody.classical.counts import counted
from sparsebody.classical.kernels.newton_euler import luh_walker_paul, without_accelerations
from sparsebody.classical.literature import PUBLISHED, comparisons
from sparsebody.errors import UnknownNameError

QUICK = [one for one in ALGORITHMS.values() if one.growth < 4]
CONTRADICTIONS = {  # formulas that do not give what is printed for n = 6
    "Uicker/Kahn": (67143, 51548),
    "Luh/Walker/Paul": (852, 738),
    "Gibbs-Appell (Popov)": (2929, 2431),
}


@pytest.fixture(scope="module")
def rows():
    return {
        row.published.label: row for row in comparisons({one.name: counted(one) for one in QUICK})
    }


def test_formulas_give_the_printed_numbers_but_for_known_contradictions():
    for one in PUBLISHED:
        for formula, printed in zip(
            (one.multiplications, one.additions), one.printed or (), strict=False
        ):
            if formula is not None and one.label not in CONTRADICTIONS:
                assert formula(6) == printed
    for label, values in CONTRADICTIONS.items():
        found = next(one for one in PUBLISHED if one.label == label)
        assert (found.multiplications(6), found.additions(6)) == values != found.printed


def test_each_published_row_names_an_algorithm_and_says_one_thing_about_it():
    for one in PUBLISHED:
        assert one.algorithm in ALGORITHMS or one.remark.startswith("Not implemented")
        assert one.remark.endswith(".")


@pytest.mark.parametrize(
    ("label", "least", "most"),
    [
        ("Waters", 0.97, 1.02),
        ("Hollerbach 4x4", 0.96, 1.0),
        ("Hollerbach 3x3", 0.89, 0.91),
        ("Walker/Orin", 1.06, 1.13),
        ("Luh/Walker/Paul", 0.84, 0.89),
        ("Balafoutis/Patel/Misra", 1.02, 1.06),
    ],
)
def test_counts_are_near_the_printed_ones(rows, label, least, most):
    assert all(least < ratio < most + 0.005 for ratio in rows[label].ratio)


def test_figures_in_sentences_are_counted(rows):
    bias = Algorithm("bias forces", "", bias_forces, 1)
    composite, without = counted(ALGORITHMS["walker-orin-3"]), counted(bias)
    left = composite.multiplications(6) - without.multiplications(6)
    assert (left, composite.additions(6) - without.additions(6)) == (816, 626)
    assert "816 and 626" in rows["Walker/Orin, method 3"].published.remark
    planar = counted(ALGORITHMS["spatial-operators"], "planar")
    assert (planar.multiplications(6), planar.additions(6)) == (98, 77)
    assert "98 and 77" in rows["Spatial operators (Liu)"].published.remark


def bias_forces(links, motion):
    return luh_walker_paul(links, without_accelerations(links, motion))


def test_rows_that_are_not_implemented_have_no_ratio(rows):
    assert rows["Renaud"].counted is None
    assert rows["Renaud"].ratio is None
    assert rows["Renaud"].to_dict()["printed"] == (992, 776)


def test_only_what_was_counted_is_compared():
    some = {"kane": counted(ALGORITHMS["kane"])}
    assert [row.published.label for row in comparisons(some, all_published=False)] == [
        "Kane (Ma/Xu)"
    ]


def test_the_lagrangians_leading_terms_are_the_published_ones():
    """Full 4x4 products: per (i, j, k, l) two and a trace; per pair three, a trace and gravity."""
    lagrangian = counted(ALGORITHMS["uicker-kahn"])
    published = next(one for one in PUBLISHED if one.algorithm == "uicker-kahn")
    assert published.multiplications is not None
    assert lagrangian.all_multiplications.coefficients[4] == Fraction(65, 2)
    assert (
        lagrangian.all_multiplications.coefficients[4] == published.multiplications.coefficients[4]
    )
    assert lagrangian.all_additions.coefficients[4] == published.additions.coefficients[4] == 25
    waters = counted(ALGORITHMS["waters"])
    assert waters.all_multiplications.coefficients[2] == Fraction(3 * 64 + 20, 2)
    assert waters.all_additions.coefficients[2] == Fraction(3 * 48 + 3 + 12 + 2 + 2, 2)


def test_an_unknown_geometry_is_an_error_that_lists_the_known():
    with pytest.raises(UnknownNameError, match=r"no geometry 'round'; give one of general"):
        counted(ALGORITHMS["kane"], "round")

import json

import jsonschema
import networkx as nx
import numpy as np
import pytest
from exact_solution import exact_solution, relative_difference
from scipy.io import mmread

import sparsebody as sb
from sparsebody import schemas
from sparsebody.analysis.order_comparison import compare_pattern
from sparsebody.assembly.constraint import kkt_structure
from sparsebody.corpus import corpus_files
from sparsebody.corpus.corpus_families import FAMILIES, CorpusPlan
from sparsebody.corpus.corpus_files import broken_files
from sparsebody.corpus.corpus_problem import corpus_problem
from sparsebody.errors import FileFormatError, StudyError, UnknownNameError
from sparsebody.ordering import order
from sparsebody.sparse.elimination_tree import ordering_metrics

PLAN = CorpusPlan(("n-four-bar", "bricard"), (3,))  # of three bodies; a Bricard has always five


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    sb.write_corpus(folder, PLAN)
    return folder, sb.read_corpus(folder)


def files(corpus, record):
    folder = corpus[0] / record["folder"]
    return {kind: folder / name for kind, name in record["files"].items()}


def written(corpus, record, *kinds):
    paths = files(corpus, record)
    arrays = (mmread(paths[kind], spmatrix=False) for kind in kinds)
    return [np.asarray(a.toarray() if hasattr(a, "toarray") else a) for a in arrays]


def matrices(corpus, **entries):
    return [m for m in corpus[1]["matrices"] if entries.items() <= m.items()]


def test_every_matrix_is_what_its_record_says(corpus):
    assert len(corpus[1]["matrices"]) == 12  # 2 problems, 3 forms, all rows or the independent ones
    for record in corpus[1]["matrices"]:
        K, b, x = written(corpus, record, "matrix", "right_hand_side", "solution")
        np.testing.assert_array_equal(K, K.T)
        assert (K.shape[0], np.count_nonzero(K)) == (record["n"], record["nnz"])
        eigenvalues, sigma = np.linalg.eigvalsh(K), np.linalg.svd(K, compute_uv=False)
        zero = 1e-12 * sigma[0]
        inertia = {
            "positive": np.sum(eigenvalues > zero),
            "negative": np.sum(eigenvalues < -zero),
            "zero": np.sum(np.abs(eigenvalues) <= zero),
        }
        assert inertia == record["inertia"]
        assert record["rank"] == np.linalg.matrix_rank(K, tol=zero)
        assert record["inertia_by"] == "rank and eigenvalues"
        assert record["kappa"] == pytest.approx(sigma[0] / sigma[record["rank"] - 1], rel=1e-2)
        scale = (np.abs(K) @ np.abs(x) + np.abs(b)).max()
        assert np.abs(K @ x - b).max() < 1e-15 * scale
        assert record["backward_error"] < 2.0**-52


def test_reference_solutions_are_right_to_the_last_digit_and_of_least_norm_if_singular(corpus):
    for record in corpus[1]["matrices"]:
        K, b, x = written(corpus, record, "matrix", "right_hand_side", "solution")
        if record["solution"] == "least-norm":
            least = np.linalg.pinv(K, rcond=1e-12) @ b
            assert np.abs(x - least).max() < 1e-12 * record["kappa"] * np.abs(x).max()
        elif record["family"] == "n-four-bar":
            error = relative_difference(x.ravel(), exact_solution(K, b.ravel()))
            assert error <= record["solution_error"] < 1.2e-16
    assert {record["solution"] for record in corpus[1]["matrices"]} == {"unique", "least-norm"}


def test_kept_rows_are_those_of_a_and_have_its_rank(corpus):
    for problem in corpus[1]["problems"]:
        A, independent = written(corpus, problem, "constraints", "independent_rows")
        assert A.shape == (problem["constraint_rows"], 6 * problem["n_bodies"])
        rank = np.linalg.matrix_rank(A, tol=1e-10)
        assert problem["rank"] == problem["rank_by_svd"] == rank == independent.size
        assert problem["redundant_rows"] == len(A) - rank > 0
        chosen = A[independent.ravel().astype(int) - 1]  # counted from 1
        assert np.linalg.matrix_rank(chosen, tol=1e-10) == rank
        assert problem["sigma_zero"] < 1e-13 < problem["sigma_min"]
        n = A.shape[1]
        for rows, expected in (("all", A), ("independent", chosen)):
            (record,) = matrices(corpus, problem=problem["name"], form="kkt", rows=rows)
            (K,) = written(corpus, record, "matrix")
            np.testing.assert_array_equal(K[n:, :n], expected)


def test_the_schur_form_is_minus_the_schur_complement_of_the_kkt_matrix(corpus):
    (whole,) = matrices(corpus, family="bricard", form="kkt", rows="all")
    (schur,) = matrices(corpus, family="bricard", form="schur", rows="all")
    (damped,) = matrices(corpus, family="bricard", form="quasi-definite", rows="all")
    (K,), (S,), (Q,) = (written(corpus, record, "matrix") for record in (whole, schur, damped))
    n = K.shape[0] - S.shape[0]
    np.testing.assert_allclose(S, K[n:, :n] @ np.linalg.solve(K[:n, :n], K[:n, n:]), atol=1e-12)
    expected = K.copy()
    expected[n:, n:] -= damped["delta"] * np.eye(len(S))
    np.testing.assert_array_equal(Q, expected)


def test_graph_and_coordinates_are_those_of_the_mechanism(corpus):
    problem = corpus[1]["problems"][0]
    graph = nx.read_graphml(files(corpus, problem)["graph"], force_multigraph=True)
    mechanism = sb.build("n-four-bar", loops=1)
    assert nx.utils.graphs_equal(
        nx.MultiDiGraph(mechanism.graph.edges), nx.MultiDiGraph(nx.MultiDiGraph(graph).edges)
    )
    assert [graph.nodes[name]["weight"] for name in mechanism.body_names] == [6, 6, 6]
    assert graph.nodes["world"]["weight"] == 0
    assert {data["weight"] for *_, data in graph.edges(data=True)} == {5}
    (record,) = matrices(corpus, problem=problem["name"], form="kkt", rows="all")
    (position,) = written(corpus, record, "coordinates")
    names = json.loads(files(corpus, record)["blocks"].read_text())["names"]
    at = {key: data for _, _, key, data in graph.edges(keys=True, data=True)} | dict(graph.nodes)
    np.testing.assert_array_equal(position, [[at[name][c] for c in "xyz"] for name in names])


def test_orders_of_the_written_pattern_cost_what_those_of_the_mechanism_cost(corpus):
    system = corpus_problem(FAMILIES["n-four-bar"], 1, 0).system
    pattern = kkt_structure(system).pattern
    (record,) = matrices(corpus, family="n-four-bar", form="kkt", rows="all")
    paths = files(corpus, record)
    read = sb.read_pattern(paths["matrix"], paths["blocks"])
    names = ["natural", "leaves-first", "minimum-degree"]
    comparison = compare_pattern(read, names).comparison
    assert {line.name: line.metrics for line in comparison.lines} == {
        name: ordering_metrics(pattern, order(pattern, name)) for name in names
    }
    problem = corpus[1]["problems"][0]
    graph = sb.read_pattern(files(corpus, problem)["quotient_graph"])
    np.testing.assert_array_equal(graph.block_sizes, read.block_sizes)
    np.testing.assert_array_equal(graph.adjacency[1], read.adjacency[1])


def test_the_same_plan_gives_the_same_bytes_also_after_an_interruption(corpus, tmp_path):
    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sb.write_corpus(tmp_path, PLAN, report=stop)
    (tmp_path / ".bricard_5.part").mkdir()
    (tmp_path / ".bricard_5.part" / "half").write_text("a")
    assert not (tmp_path / "corpus.json").exists()
    with pytest.raises(StudyError, match="interrupted corpus of other families"):
        sb.write_corpus(tmp_path, CorpusPlan(("ring",), (3,)))
    before = (tmp_path / "n-four-bar_3" / "problem.json").stat().st_mtime_ns
    sb.write_corpus(tmp_path, PLAN)
    assert (tmp_path / "n-four-bar_3" / "problem.json").stat().st_mtime_ns == before
    assert contents(tmp_path) == contents(corpus[0])


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_nothing_is_replaced_unless_that_is_asked_for(corpus, tmp_path, monkeypatch):
    with pytest.raises(StudyError, match="holds a corpus; give another directory, or --overwrite"):
        sb.write_corpus(corpus[0], PLAN)
    (tmp_path / corpus_files.UNFINISHED).write_text("{")
    with pytest.raises(StudyError, match="interrupted corpus"):
        sb.write_corpus(tmp_path, PLAN)
    (tmp_path / corpus_files.UNFINISHED).unlink()
    (tmp_path / "thesis.tex").write_text("a")
    for overwrite in (False, True):
        with pytest.raises(StudyError, match=r"other things, such as 'thesis.tex'; give an empty"):
            sb.write_corpus(tmp_path, PLAN, overwrite=overwrite)
    with pytest.raises(StudyError, match=r"is a file; give a directory"):
        sb.write_corpus(tmp_path / "thesis.tex", PLAN)
    mine = tmp_path / "mine"
    sb.write_corpus(mine, CorpusPlan(("bricard",), (3,), ("kkt",)))
    (mine / "notes").mkdir()
    (mine / "n-four-bar_3").write_text("a")
    plan = CorpusPlan(("n-four-bar",), (3,), ("schur",))
    with pytest.raises(StudyError, match=r"n-four-bar_3 is no problem of a corpus; move it"):
        sb.write_corpus(mine, plan, overwrite=True)
    (mine / "n-four-bar_3").unlink()
    sb.write_corpus(mine, plan, overwrite=True)
    names = {"README.md", "corpus.json", "n-four-bar_3", "notes"}
    assert {path.name for path in mine.iterdir()} == names


def test_changed_and_missing_files_and_broken_indices_are_found(corpus, tmp_path):
    sb.write_corpus(tmp_path, CorpusPlan(("bricard",), (3,), ("schur",)))
    index = sb.read_corpus(tmp_path)
    assert list(broken_files(tmp_path, index)) == []
    changed, missing = (tmp_path / "bricard_5" / f"bricard_5_{end}.mtx" for end in ("A", "schur_x"))
    changed.write_text(changed.read_text() + "%")
    missing.unlink()
    assert set(broken_files(tmp_path, index)) == {changed, missing}
    path = tmp_path / "corpus.json"
    for text, message in (
        (path.read_text().replace('"n": 30', '"n": -30'), r"matrices\[0\]\.n: -30"),
        ("{", "not JSON"),
        ("[]", "not the index of a corpus"),
    ):
        path.write_text(text)
        with pytest.raises(FileFormatError, match=message):
            sb.read_corpus(tmp_path)
    with pytest.raises(FileFormatError, match="cannot be read"):
        sb.read_corpus(tmp_path / "bricard_5")
    jsonschema.Draft202012Validator.check_schema(schemas._validator("sparsebody.corpus").schema)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"families": ("laddr",)}, UnknownNameError, "the family is .laddr.; give one of chain"),
        ({"families": ("ring", "ring")}, StudyError, "'ring' is given twice"),
        ({"forms": ("lu",)}, UnknownNameError, "the form is .lu.; give one of kkt, quasi-definite"),
        ({"forms": ()}, StudyError, "the forms are"),
        ({"sizes": (8, 8)}, StudyError, r"the sizes are \[8, 8\]; give one or more, each once"),
        ({"sizes": (0,)}, StudyError, "0 bodies; give sizes of 1 to"),
        ({"seed": -1}, StudyError, "the seed is -1"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        CorpusPlan(**options)


def test_every_family_is_there_at_any_size_once():
    for name in FAMILIES:
        plan = CorpusPlan((name,), (1, 2, 8, 30))
        assert len({value for _, value in plan.problems.values()}) == len(plan.problems) >= 1

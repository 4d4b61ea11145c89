"""Check that CHOLMOD factorizes and orders, and say which BLAS it runs on."""

import sys
from pathlib import Path

import numpy as np
from scipy.sparse import csc_matrix, eye, random
from sksparse.cholmod import analyze


def check_solution(ordering: str) -> None:
    """Exit with a message if CHOLMOD does not solve a random positive definite system."""
    root = random(300, 300, density=0.02, random_state=np.random.default_rng(1), format="csc")
    matrix = csc_matrix(root @ root.T + eye(300))
    rhs = np.ones(300)
    x = analyze(matrix, mode="supernodal", ordering_method=ordering).cholesky(matrix)(rhs)
    residual = np.abs(matrix @ x - rhs).max()
    if residual > 1e-10:
        sys.exit(f"CHOLMOD with the ordering {ordering!r} left a residual of {residual:.1e}")


def system_blas() -> str:
    """Return the library that Debian's alternatives gave to CHOLMOD, '' where not known."""
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return ""
    files = {line.split()[-1] for line in maps.read_text().splitlines()}
    return next((name for name in sorted(files) if "/libblas.so" in name), "")


if __name__ == "__main__":
    for name in ("natural", "amd", "metis", "nesdis"):
        check_solution(name)
    blas = system_blas()
    print(f"CHOLMOD works, with AMD and METIS; its BLAS is {blas or 'not known'}")
    if "/blas/" in blas:
        print(
            "warning: that is the slow reference BLAS; install libopenblas-dev, or choose another"
        )
        print("one: update-alternatives --config libblas.so.3-x86_64-linux-gnu")

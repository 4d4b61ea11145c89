"""Benchmarks: the same mechanisms for sparsebody and its peers; one CSV row for each case."""

import os

# Everything here is timed on one thread, which NumPy's BLAS learns before it is loaded.
os.environ.update(
    dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
)

"""Programs run under mpiexec, for the tests."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
MPIEXEC = ["mpiexec", "--oversubscribe", "-n"]
SPARSEBODY = [sys.executable, "-m", "sparsebody.cli"]


def start(n_ranks, *command):
    """Start a command on some ranks."""
    return subprocess.Popen(
        [*MPIEXEC, str(n_ranks), *map(str, command)],
        env=os.environ | ROOT | ONE_THREAD,
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(n_ranks, *command):
    """Return exit code, standard output and standard error of a command on some ranks."""
    process = start(n_ranks, *command)
    output, errors = process.communicate(timeout=120)
    return process.returncode, output, errors

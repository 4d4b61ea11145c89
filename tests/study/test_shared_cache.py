import os
import subprocess
import sys

KERNEL = """
from numba import njit

@njit(cache=True)
def twice(x):
    return x + x
"""
WRITER = """
import sys
from sparsebody.study.shared_cache import share_cache
share_cache()
share_cache()  # does nothing
from kernel import twice
print("ready", flush=True)
sys.stdin.readline()
found = [twice(x) for x in ({given})]
loaded = sum(twice.stats.cache_hits.values())
print(found, loaded, flush=True)
"""
NUMBERS = "1.5, True, 2j, 7"
TUPLES = "(1, 2), (1.0,), ('a', 2j), ((1, 2), 3.0)"


def writer(folder, given):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER.format(given=given)],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_of_two_processes_that_compile_one_kernel_none_loses_what_it_compiled(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    both = [writer(tmp_path, given) for given in (NUMBERS, TUPLES)]
    for process in both:
        process.stdout.readline()
    for process in both:
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=60)[0] for process in both]
    assert said[0].startswith("[3.0, 2, 4j, 14]")
    assert said[1].startswith("[(1, 2, 1, 2), (1.0, 1.0), ('a', 2j, 'a', 2j), ((1, 2), 3.0, (1, 2)")
    later = writer(tmp_path, f"{NUMBERS}, {TUPLES}").communicate("\n", timeout=60)[0]
    assert later.split()[-1] == "8"

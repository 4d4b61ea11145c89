"""Importing this module runs every kernel once; see `benchmarks.warm`."""

from benchmarks.warm import warm_up

warm_up(verbose=True)

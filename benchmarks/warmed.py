"""Importing this module runs every kernel once; see `benchmarks.warm`."""

from benchmarks.warm import SMALL, warm_up

warm_up((SMALL,))

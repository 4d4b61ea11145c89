"""Public names of `sparsebody.study`, loaded at first use."""

# ruff: noqa: I001

# What is measured
from .families import Family as Family, Problem as Problem
from .plan import Case as Case, Study as Study, read_study as read_study

# Running it
from .runner import run_study as run_study

# Functions of studies: engines, references, promises
from .measure import Prepared as Prepared
from .study_references import Reference as Reference
from .findings import Finding as Finding, judged as judged

# What came out
from .rows import read_results as read_results
from .fits import Crossover as Crossover, Growth as Growth, crossover as crossover, growth as growth
from .reports import write_report as write_report

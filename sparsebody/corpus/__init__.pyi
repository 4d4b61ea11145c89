"""Public names of `sparsebody.corpus`, loaded at first use."""

# ruff: noqa: I001

# Matrices of a plan
from .corpus_families import (
    FAMILIES as FAMILIES,
    FORMS as FORMS,
    CorpusFamily as CorpusFamily,
    CorpusPlan as CorpusPlan,
)

# In files
from .corpus_files import (
    broken_files as broken_files,
    read_corpus as read_corpus,
    write_corpus as write_corpus,
)

"""Benchmarks: the same mechanisms for sparsebody and its peers; one CSV row for each case."""

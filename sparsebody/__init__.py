"""Rigid-body dynamics on the whole body-joint graph, by sparse factorization."""

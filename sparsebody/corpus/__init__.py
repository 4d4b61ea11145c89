"""Families of matrices with everything known about them, for authors of sparse solvers."""

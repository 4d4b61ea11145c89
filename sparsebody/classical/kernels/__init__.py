"""Kernels of the algorithms, one school a file, and the vectors and matrices that they share."""

"""Solvers: vectors in R^p out of kernel columns. They know nothing of structures."""

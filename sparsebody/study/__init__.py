"""Scaling studies: a file of cases, a runner of them in processes of their own, one result file."""

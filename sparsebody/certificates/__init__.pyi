"""Public names of `sparsebody.certificates`, loaded at first use."""

# ruff: noqa: I001

# Certificates
from .certificate import certify as certify, certify_inertia as certify_inertia
from .certificate import Certificate as Certificate, InertiaCertificate as InertiaCertificate
from .proofs import Proof as Proof

# Predicted growth of the literature's algorithms
from .certificate import (
    AlgorithmGrowth as AlgorithmGrowth,
    algorithm_growth as algorithm_growth,
    growing_family as growing_family,
)

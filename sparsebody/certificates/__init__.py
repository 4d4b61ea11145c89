"""Certificates of growth: how the work of a family grows, with proofs where fronts stay bounded."""

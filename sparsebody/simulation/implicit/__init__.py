"""Implicit time integration with compliant joints: no decision on rank, no stiffness too large."""

"""Relative motion at the joints, position and velocity errors, moving bodies."""

"""From motion to the system (8.64): constraint rows, body forces, the matrix."""

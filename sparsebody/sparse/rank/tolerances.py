"""Tolerances of all rank decisions, each with its reason.

Rows are equilibrated: of unit norm, and with even parts on all bodies. So a remainder |R_jj|, what
is left of a row beside the rows decided before it, is a number between 0 and 1 whatever the units,
sizes and masses are, and eps = 2.2e-16 is the rounding of one operation on it.
"""

from __future__ import annotations

# Remainder, relative to the largest one, up to which a row is dependent. Sparse QR counts the same
# rows for any value from 1e-9 to 1e-7 on scissors of 20,000 pairs and sheets of 100 x 100 with mass
# ratios of 1e6; and below 1e-8, the root of eps, A A' says nothing about a row.
RANK_TOLERANCE = 1e-8

# Stands for the largest remainder dropped where none is, so that gaps are finite: a few eps.
REMAINDER_FLOOR = 1e-15

# Largest remainder of a dependent row. Errors of sparse methods add up over the rows that they go
# on with, to some 1e4 eps in fronts of bounded width, ...
DEPENDENT_REMAINDER = 2e-12
# ... and grow with the inverse of the least remainder kept, as those of any triangular solve.
AMPLIFIED_ROUNDING = 2e-14

# Least remainder of a clearly independent row, ten times the tolerance: a pose at 1e-9 from a
# singular one leaves remainders of 1e-9, which are no rounding.
INDEPENDENT_REMAINDER = 1e-7

# Ratio of the least remainder kept to the largest dropped from which a decision is clear by itself:
# every tolerance over three decades gives the same rows.
CLEAR_GAP = 1e3
# The same of a second method that only confirms a count: a gap of ten between neighbouring
# remainders, out of thousands, is no accident where it is at the very same count.
SECOND_GAP = 10.0

# Shift of A A' before its pivots are taken: those of dependent rows are then about the shift, those
# of independent ones the squares of remainders. It exceeds rounding, eps times the number of rows
# that meet in a front; the gap grows as 1 / shift down to 1e-13.
SCHUR_SHIFT = 1e-12
# The same where only the least eigenvalue of A A' is computed: beyond its rounding, and below the
# squares of remainders that count.
GRAM_SHIFT = 1e-14

# Least singular value of all rows from which none is dependent: no remainder is smaller, and ten
# times INDEPENDENT_REMAINDER leaves room for the error of a Lanczos iteration.
REGULAR_SINGULAR_VALUE = 1e-6
# Least singular value of the rows kept below which another choice is tried: their Schur complement
# has a condition number of 1e12, so that solutions with it have four digits.
POOR_SINGULAR_VALUE = 1e-6

# Part of the best conditioning that a choice made joint by joint may cost: two digits, because
# unlike that of free pivoting it stays independent in other poses.
JOINTWISE_SHARE = 0.01

# Least pivots of a body's Gram matrix in equilibration: by its own diagonal entry, so that no
# direction is enlarged by more than 10, ...
OWN_PIVOT = 1e-2
# ... and by the largest entry, so that no unit is enlarged by more than some 3,000, and rounding on
# a body with it.
LARGEST_PIVOT = 1e-7

# Remainder up to which a freedom or a wrench of unit size depends on others in a single loop.
CIRCULATION_TOLERANCE = RANK_TOLERANCE

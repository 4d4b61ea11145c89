"""Tolerances of all computations except those of time steps, each with its reason.

Those of rank decisions come first. Their rows are equilibrated: of unit norm, and with even parts
on all bodies. So a remainder |R_jj|, the norm of the part of a row orthogonal to those before it,
is between 0 and 1 whatever the units, sizes and masses are, and eps = 2.2e-16 is the rounding of
one operation on it.
"""

import numpy as np

# Divisor in place of zero, so that 0 / 0 is 0: less than any force or acceleration that counts.
LEAST_DIVISOR = 1e-300

# ---- rank decisions ---------------------------------------------------------------------------

# Remainder, relative to the largest one, up to which a row is dependent. Sparse QR counts the same
# rows for any value from 1e-9 to 1e-7 on scissors of 20,000 pairs and sheets of 100 x 100 with mass
# ratios of 1e6; and below 1e-8, the root of eps, A A' says nothing about a row.
RANK_TOLERANCE = 1e-8

# Counts as the largest remainder of dependent rows if there are none, so that gaps are finite:
# a few eps.
REMAINDER_FLOOR = 1e-15

# Largest remainder of a dependent row. Errors of sparse methods add up over eliminations, to some
# 1e4 eps in fronts of bounded width, ...
DEPENDENT_REMAINDER = 2e-12
# ... and grow with the inverse of the least remainder of an independent row, as those of any
# triangular solve.
AMPLIFIED_ROUNDING = 2e-14

# Least remainder of a clearly independent row, ten times the tolerance: a pose at 1e-9 from a
# singular one leaves remainders of 1e-9, which are no rounding.
INDEPENDENT_REMAINDER = 1e-7

# Ratio of the least remainder of independent rows to the largest of dependent ones from which a
# decision is clear by itself: every tolerance over three decades gives the same rows.
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
# Least singular value of the independent rows below which another choice is tried: their Schur
# complement has a condition number of 1e12, so that solutions with it have four digits.
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

# ---- geometry of what a user gives -------------------------------------------------------------

# A user's unit quaternion, unit axis or rotation may be off by this much.
UNIT_TOLERANCE = 1e-6
# Symmetry and triangle inequality of a rotational inertia, relative.
INERTIA_TOLERANCE = 1e-9
# A principal moment below this part of the largest one is zero.
MOMENT_TOLERANCE = 1e-14
# Smallest singular value, relative, of independent unit columns.
SUBSPACE_TOLERANCE = 1e-10
# Relative difference of pivots, so that rounding does not choose among equals.
TIE_TOLERANCE = 1e-9
# Relative distance of elements that are taken for one.
ELEMENT_TOLERANCE = 1e-12
# Errors of right angles and parallels in robot files, of common points per length of the arms.
AXIS_TOLERANCE = 1e-8

# ---- closed joints and consistent states -------------------------------------------------------

# Errors of closed joints, relative to the size of the mechanism ...
CLOSURE_TOLERANCE = 1e-12
# ... or, where that is more, relative to the farthest position.
POSITION_ROUNDING = 8 * np.finfo(float).eps
# Errors of points that subgroups fix in bodies, in sizes of these: integrators only correct them.
POINT_TOLERANCE = 1e-6
# Rounding of the same points.
POINT_ROUNDING = 1e-11
# Errors of loops in other configurations [rad], or relative to the typical length.
CONFIGURATION_CLOSURE = 1e-10
# Difference of poses that are taken for one configuration, in the same units: where the pose is
# singular, an error of the loops of 1e-10 is one of 1e-5 in coordinates.
POSE_TOLERANCE = 1e-5
# Singular values of K below this, relative, are not divided by on the way to other configurations.
DEPENDENT_DIRECTION = 1e-8
# Errors of loops by a user's closure function [rad, m], times the size of the mechanism.
FUNCTION_CLOSURE = 1e-6
# Position error [rad, m], the smallest joint size being 1 m or less.
NEARBY_CLOSURE = 1e-11
# Part of a random velocity below which what joints leave of it is no motion.
JOINT_SPEED_TOLERANCE = 1e-9

# ---- solutions and their residuals -------------------------------------------------------------

# Relative, of a solution or of rows that were left out; a larger one gets a warning.
WORST_RESIDUAL = 1e-6
# Relative residual of forces.
FORCE_TOLERANCE = 1e-9
# The same of multipliers, whose forces nearly cancel.
MULTIPLIER_TOLERANCE = 1e-14
# Errors of desired accelerations, on joints and on bodies, relative.
MOTION_TOLERANCE = 1e-6
# Relative residual of corrections, which are repeated anyway.
CORRECTION_GOAL = 1e-9
# Relative residual at which solutions for estimates are not refined further.
ESTIMATE_RESIDUAL = 1e-9
# Residual before refinement of a solution by QR that is worth a warning, relative.
ROUGH_RESIDUAL = 0.1
# Relative: rounding of the residual itself.
ROUNDING_RESIDUAL = 4e-16
# Relative violation of constraints.
VIOLATION_TOLERANCE = 1e-10
# Difference of poses and subspaces that count as equal where one joint type replaces another.
RELAXATION_TOLERANCE = 1e-9

# ---- factorizations and refinement -------------------------------------------------------------

# Inverse of the rounding error of a zero pivot, in a matrix with a unit diagonal.
LARGEST_INVERSE = 1e15
# |A' y| over |A|' |y|, below which a combination of rows is zero but for rounding.
DEPENDENCE_TOLERANCE = 1e-14
# A residual that no correction makes smaller.
REFINED_RESIDUAL = 1e-15
# Relative error of the primal part at which corrections end.
REFINED_ERROR = 1e-13
# A correction by conjugate gradients after which no other is needed.
GRADIENT_CORRECTION = 1e-6
# A first correction, relative, of factors that are too rough for refinement.
ROUGH_FACTORS = 1e-2
# Rounding of the terms of a residual g - A x.
RESIDUAL_ROUNDING = 1e-15
# Relative residual above which a regularized matrix has not helped to solve the true one.
ACCEPTED_RESIDUAL = 1e-10
# Relative growth of an eigenvalue in one step that ends the iteration ...
GROWTH_TOLERANCE = 1e-2
# ... and of one that is to be known to three digits.
EIGENVALUE_TOLERANCE = 1e-4

# ---- loops of a spanning tree ------------------------------------------------------------------

# A pivot of A, of rows of unit length, below which QR is more accurate.
DELASSUS_PIVOT = 1e-9
# Remainder from which a row that was left out before is independent.
REGAINED_REMAINDER = 1e-5
# Singular values below this, relative, of K with scaled rows, are zero.
SINGULAR_TOLERANCE = 1e-9

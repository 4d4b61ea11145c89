// L D L' of the leading rows of a dense symmetric front, and the Schur complement C* of the others:
//
//   [A  B]   [L1   ] [D    ] [L1' L2']
//   [B' C] = [L2  1] [   C*] [    1  ],   V = D L2' = L1^-1 B,   C* = C - L2 V.
//
// Signs of the pivots are known, so that nothing is interchanged. Blocked as in Golub and Van Loan (2013), sec. 4.2;
// the products are tiles of 6 by 8 in registers, of packed operands: Van Zee and van de Geijn (2015), ACM TOMS 41:14.
#pragma once

#include <cstdint>

#include "base/array.hpp"

namespace sparsebody::front_ldl {

inline constexpr double doubtful_ratio = 1e-13;  // of a pivot to its scale, 450 eps: it may be nothing but rounding
inline constexpr Index no_doubt = -1;
inline constexpr double parallel_flops = 2e6;  // from which on another thread saves more than its start takes

// Columns of storage come in fours; the spare ones are zero.
inline Index padded(Index n) { return (n + 3) / 4 * 4; }

// The pivots' rows of a front, of which the factors remain.
struct PivotRows {
  Index n_pivots, n_below;
  double* values;  // (n_pivots, stride): [A, B] from the diagonal on, each padded; becomes [L1', L2'] with 1 / D

  Index first_below() const { return padded(n_pivots); }
  Index stride() const { return padded(n_pivots) + padded(n_below); }
  // y := D^-1 L1^-1 y of the pivots, and L2 L1^-1 y is added to `below` (padded(n_below),).
  void substitute(double* y, double* below) const;
  // y := L1'^-1 (y - L2' below) of the pivots.
  void substitute_back(double* y, const double* below) const;
};

// A front, row by row.
struct Front : PivotRows {
  double* contribution;           // (n_below, contribution_stride): C, its upper triangle, which becomes C*
  Index contribution_stride;
  const std::uint8_t* is_primal;  // (n_pivots,) primal pivots are positive, dual ones negative
  double* reference;              // (padded(n_pivots),) or null: scales of pivots, |diagonal| plus changes by primal pivots
  double* below_reference;        // (padded(n_below),) the same of the rows below
  bool is_whole = false;          // both triangles of C are stored, and there are at most six pivots
};

// Doubles of scratch that `eliminate` needs.
Index scratch_size(Index n_pivots, Index n_below);

// Eliminates the pivots. Dual ones are moved away from zero by `shift` times their reference, or by -shift itself if
// that is negative. Returns `no_doubt`, or the first pivot that may be nothing but rounding; without a shift the
// elimination ends there. Any number of threads gives the same bits.
Index eliminate(const Front& front, double shift, double* scratch, Index n_threads);

}  // namespace sparsebody::front_ldl

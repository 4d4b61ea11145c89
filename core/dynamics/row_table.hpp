// Constraint rows of a mechanism, and what its evaluations take. Bodies and joints are numbered by their positions in the
// elimination order, so that an evaluation walks through memory from one end to the other.
#pragma once

#include "base/array.hpp"
#include "dynamics/constraint_rows.hpp"
#include "spatial/double_double.hpp"

namespace sparsebody {

inline constexpr Index large_mechanism = 1 << 12;  // bodies from which on memory is requested ahead
inline constexpr Index cache_line = 8;             // doubles
// Roots of inertia and mass of the world: what rows hold at its end must not count in their norms.
inline constexpr double world_root = 0x1p200;

// Rows of A, those of a joint together: m joints, k rows, n bodies of 6 or 3 freedoms.
template <class T>
struct RowTableOf {
  enum Kind : std::uint32_t {
    carried,  // T constant in the axes of the successor
    general,  // computed by other functions
    line,     // in a plane, a point of the successor on a line of the predecessor
  };
  View<const std::uint32_t> predecessor, successor, kind;  // (m,) bodies, n for the world
  // (m, 3) or, in a plane, (m, 4): reference point of the rows where the world is the successor [m]; normal of a line on
  // the predecessor, and point on the successor
  View<const T, 2> anchor;
  View<const std::uint32_t> first_row;    // (m + 1,)
  View<const std::uint32_t> user_row;     // (k,) the user's numbers
  View<const std::uint32_t> general_row;  // (k,) index of general rows among those
  View<T, 3> rows;                        // (k, 2, freedoms) on predecessor and successor, where inertias are one

  Index n_joints() const { return predecessor.size(); }
  // One after the last row of a joint.
  Index end(Index j) const { return first_row[j + 1]; }
};
using RowTable = RowTableOf<double>;

// Where rows that are constant in the axes of successors come from, in the user's numbering.
struct SuccessorFrames {
  View<const Index> row_joint;     // (n_rows,)
  View<const double, 3> rotation;  // (n_joints, 3, 3) from S to the successor
  View<const double, 2> point;     // (n_joints, 3) origin of S from the center of mass [m]
  View<const double, 2> distinct;  // rows of T'
  View<const std::int32_t> subspace;  // (n_rows,) which of these

  const double* T(Index row) const { return &distinct(subspace[row], 0); }
};

// State, applied loads and what general functions compute; the user's numbering.
struct EvaluationInput {
  View<const double, 2> position, orientation, velocity;  // (n, 3), (n, 4), (n, 6) as in State
  View<const double, 2> load;                             // (n, 6) additional forces, or (0, 6)
  View<const double, 3> general_rows;                     // (k_general, 2, 6)
  View<const double> general_gamma;                       // (k_general,)
  View<const double> stabilization;                       // (k_all,) added to gamma, or (0,)
};

}  // namespace sparsebody

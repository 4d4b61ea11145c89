// Position and velocity errors of all constraint rows, in one pass over the joints: delta of X_SP, as each
// joint type defines it, and T' v_J. Featherstone (2008), (8.27), (8.10).
#pragma once

#include <algorithm>
#include <cmath>

#include "base/vec.hpp"
#include "model/body_forces.hpp"
#include "spatial/lanes.hpp"

namespace sparsebody::simulation {

// The largest |s_k v_k|, or |v_k| without s; NaN if any is not finite.
inline double largest(View<const double> v, View<const double> s = {}) {
  using Lanes = Vec<8>;
  const Index n = v.size(), whole = n - n % 8;
  const auto product = [&](Index k) { return s.empty() ? v[k] : s[k] * v[k]; };
  Lanes size, sum;
  for (Index k = 0; k < whole; k += 8) {
    const Lanes x = Lanes::load(&v[k]), y = s.empty() ? x : x * Lanes::load(&s[k]);
    size = larger(size, y), sum += y;
  }
  double most = 0.0, total = 0.0;
  for (int k = 0; k < 8; ++k) most = std::max(most, size[k]), total += sum[k];
  for (Index k = whole; k < n; ++k) most = std::max(most, std::abs(product(k))), total += product(k);
  return most + (total - total);
}
inline double largest(View<const double, 2> v) { return largest(View<const double>(v.data(), v.size())); }

struct RowErrors {
  Array<double> position, velocity;
};

// delta and T' v_J of all rows.
RowErrors row_errors(const model::JointTable& joints, const model::BodyMotions& bodies, Index threads);

// Up to four joints of one type in a row, whose motions are computed at once; the last one stands for missing ones.
struct JointBatch {
  JointBatch(const model::JointTable& joints, Index first, Index last);

  Index first, end;
  Index predecessor[4], successor[4];
  double X_P[12][4], X_S[12][4];  // entries of E, then r, by lane
};

// Of what is read at four times at once, in more streams than caches foresee.
inline constexpr Index numbers_ahead = 96;

// The motions of the world, then of all bodies, at four times.
using MotionsAtTimes = std::vector<BodyMotion<InSpace<Lanes>>>;

// The largest errors of rows at four times, NaN if one is not finite; and the sums of lambda' delta.
struct ErrorsAtTimes {
  struct Largest {
    Vec<n_lanes> size, sum;

    SB_INLINE void add(const Lanes& error) { size = larger(size, error.v), sum += error.v; }
    double operator[](int lane) const { return size[lane] + (sum[lane] - sum[lane]); }
  };
  Largest position, velocity;
  Lanes work;
};

// The joints of a system, none of which has a prescribed coordinate, laid out for many evaluations.
class JointErrors {
 public:
  explicit JointErrors(const model::JointTable& joints);

  Index n_rows() const { return joints_.subspaces.size(); }
  const model::JointTable& joints() const { return joints_; }

  // Fills delta, T' v_J or both; (0,) is not filled.
  void fill(const model::MotionList& motions, View<double> delta, View<double> velocity) const;
  RowErrors at(const model::BodyMotions& bodies) const;
  // multiplier: lambda (n_rows,) at each time, or null.
  ErrorsAtTimes at_times(const MotionsAtTimes& motions, const double* const (&multiplier)[n_lanes]) const;

 private:
  model::JointTable joints_;
  std::vector<JointBatch> batches_;
};

}  // namespace sparsebody::simulation

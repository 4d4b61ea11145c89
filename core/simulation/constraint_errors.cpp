#include "simulation/constraint_errors.hpp"

#include <algorithm>

#include "base/threads.hpp"
#include "base/vec.hpp"
#include "joints/joint_types.hpp"

namespace sparsebody::simulation {

namespace {

constexpr int n_lanes = 4;

// A number of each of four joints.
struct Lanes {
  Vec<n_lanes> v;

  SB_INLINE Lanes(double s = 0.0) : v(broadcast<n_lanes>(s)) {}
  SB_INLINE Lanes(const Vec<n_lanes>& lanes) : v(lanes) {}
  SB_INLINE friend Lanes operator+(const Lanes& a, const Lanes& b) { return a.v + b.v; }
  SB_INLINE friend Lanes operator-(const Lanes& a, const Lanes& b) { return a.v - b.v; }
  SB_INLINE friend Lanes operator-(const Lanes& a) { return -a.v; }
  SB_INLINE friend Lanes operator*(const Lanes& a, const Lanes& b) { return a.v * b.v; }
};

SB_INLINE Transform<Lanes> load(const double (&frame)[12][n_lanes]) {
  Lanes numbers[12];
  for (int k = 0; k < 12; ++k) numbers[k] = Vec<n_lanes>::load(frame[k]);
  return {Mat3<Lanes>::load(numbers), Vec3<Lanes>::load(numbers + 9)};
}

// Makes rows of four by four numbers columns.
template <class Row>
SB_INLINE void transpose(Row (&row)[n_lanes]) {
  if constexpr (native_lanes >= n_lanes) {
    const auto pairs = [&](int k, auto shuffle) SB_UNROLL { return shuffle(row[k].v, row[k + 1].v); };
    const auto even = [](auto a, auto b) SB_UNROLL { return __builtin_shufflevector(a, b, 0, 4, 2, 6); };
    const auto odd = [](auto a, auto b) SB_UNROLL { return __builtin_shufflevector(a, b, 1, 5, 3, 7); };
    const auto a = pairs(0, even), b = pairs(0, odd), c = pairs(2, even), d = pairs(2, odd);
    row[0].v = __builtin_shufflevector(a, c, 0, 1, 4, 5), row[1].v = __builtin_shufflevector(b, d, 0, 1, 4, 5);
    row[2].v = __builtin_shufflevector(a, c, 2, 3, 6, 7), row[3].v = __builtin_shufflevector(b, d, 2, 3, 6, 7);
  } else {
    double of[n_lanes][n_lanes];
    for (int k = 0; k < n_lanes; ++k) row[k].store(of[k]);
    for (int k = 0; k < n_lanes; ++k) row[k] = gathered<n_lanes>({of[0][k], of[1][k], of[2][k], of[3][k]});
  }
}

// Calls move(first) for numbers [first, first + 4) that together are the first n, 12 or 18.
template <int n, class Move>
SB_INLINE void for_fours(const Move& move) {
  unrolled<0, n / 4>([&](auto k) SB_UNROLL { move(4 * int(k)); });
  if constexpr (n % 4 > 0) move(n - 4);
}

// The motions of four bodies: poses, or all 18 numbers.
template <int n>
SB_INLINE BodyMotion<InSpace<Lanes>> gather(const double* const (&of)[n_lanes]) {
  Lanes numbers[18];
  for_fours<n>([&](int first) SB_UNROLL {
    Vec<n_lanes> row[n_lanes];
    unrolled<0, n_lanes>([&](auto lane) SB_UNROLL {
      row[lane] = Vec<n_lanes>::load(of[lane] + first);
    });
    transpose(row);
    unrolled<0, n_lanes>([&](auto k) SB_UNROLL { numbers[first + k] = row[k]; });
  });
  return {Mat3<Lanes>::load(numbers), Vec3<Lanes>::load(numbers + 9), Motion<Lanes>::load(numbers + 12)};
}

template <int n>
SB_INLINE void store(const Transform<Lanes>& X, const Motion<Lanes>& v, double (&of)[n_lanes][18]) {
  Lanes numbers[18];
  X.E.store(numbers), X.r.store(numbers + 9), v.store(numbers + 12);
  for_fours<n>([&](int first) SB_UNROLL {
    Vec<n_lanes> row[n_lanes] = {numbers[first].v, numbers[first + 1].v, numbers[first + 2].v, numbers[first + 3].v};
    transpose(row);
    unrolled<0, n_lanes>([&](auto lane) SB_UNROLL { row[lane].store(of[lane] + first); });
  });
}

// The errors of a batch, from where the motions of its bodies stand.
template <int n>
SB_INLINE void fill_batch(const model::JointTable& joints, const JointBatch& batch, const double* const (&p)[n_lanes],
                          const double* const (&s)[n_lanes], View<double> delta, View<double> velocity) {
  const bool fills_position = delta.size() > 0, fills_velocity = velocity.size() > 0;
  double of[n_lanes][18];
  const auto motion = model::joint_motion(load(batch.X_P), load(batch.X_S), gather<n>(p), gather<n>(s));
  store<n>(motion.X, motion.v_J, of);
  visit_joint(int(joints.kind[batch.first]), 0.0, [&]<class J>(const J&) {
    for (Index j = batch.first; j < batch.end; ++j) {
      const Index lane = j - batch.first, first = joints.first_row[j];
      const Transform<double> X{Mat3<double>::load(of[lane]), Vec3<double>::load(of[lane] + 9)};
      const auto v_J = Motion<double>::load(of[lane] + 12);
      const J joint = joint_of<J>(joints.parameter[j]);
      if (fills_position) joint.error(X, delta.data() + first);
      if (!fills_velocity) continue;
      if constexpr (J::info.has_varying_T) {
        const auto T = joint.constraint_force_subspace(X);
        for (std::size_t k = 0; k < T.size(); ++k) velocity[first + k] = dot(v_J, T[k]);
      } else if constexpr (requires { joint.constraint_velocities(v_J, velocity.data()); }) {
        joint.constraint_velocities(v_J, velocity.data() + first);
      } else {
        for (Index k = first; k < joints.first_row[j + 1]; ++k)
          velocity[k] = dot(v_J, Force<double>::load(joints.subspaces[k]));
      }
    }
  });
}

}  // namespace

JointBatch::JointBatch(const model::JointTable& joints, Index begin, Index last) : first(begin), end(begin) {
  while (end < last && end < first + n_lanes && joints.kind[end] == joints.kind[first]) ++end;
  for (int lane = 0; lane < n_lanes; ++lane) {
    const Index j = std::min(first + lane, end - 1);
    predecessor[lane] = joints.frames.predecessor[j], successor[lane] = joints.frames.successor[j];
    for (const auto& [X, numbers] : {std::pair{joints.frames.X_P(j), &X_P}, std::pair{joints.frames.X_S(j), &X_S}}) {
      for (int a = 0; a < 9; ++a) (*numbers)[a][lane] = X.E.m[a];
      for (int a = 0; a < 3; ++a) (*numbers)[9 + a][lane] = (&X.r.x)[a];
    }
  }
}

RowErrors row_errors(const model::JointTable& joints, const model::BodyMotions& bodies, Index threads) {
  const Index n_rows = joints.subspaces.size();
  RowErrors out{Array<double>::uninitialized({n_rows}), Array<double>::uninitialized({n_rows})};
  run_ranges(joints.size(), threads, [&](Index first, Index last) {
    for (Index j = first; j < last;) {
      const JointBatch batch(joints, j, last);
      model::BodyMotion at[2][n_lanes];
      const double *p[n_lanes], *s[n_lanes];
      for (int lane = 0; lane < n_lanes; ++lane) {
        p[lane] = model::numbers(at[0][lane] = bodies[batch.predecessor[lane]]);
        s[lane] = model::numbers(at[1][lane] = bodies[batch.successor[lane]]);
      }
      fill_batch<18>(joints, batch, p, s, out.position, out.velocity);
      j = batch.end;
    }
  });
  return out;
}

JointErrors::JointErrors(const model::JointTable& joints) : joints_(joints) {
  batches_.reserve(joints.size() / n_lanes + 1);
  for (Index j = 0; j < joints.size(); j = batches_.back().end) batches_.emplace_back(joints, j, joints.size());
}

void JointErrors::fill(const model::MotionList& motions, View<double> delta, View<double> velocity) const {
  with_constant<18, 12>(velocity.size() > 0 ? 18 : 12, [&](auto n) {
    for (const JointBatch& batch : batches_) {
      const double *p[n_lanes], *s[n_lanes];
      for (int lane = 0; lane < n_lanes; ++lane) {
        p[lane] = model::numbers(motions[batch.predecessor[lane]]);
        s[lane] = model::numbers(motions[batch.successor[lane]]);
      }
      fill_batch<n>(joints_, batch, p, s, delta, velocity);
    }
  });
}

}  // namespace sparsebody::simulation

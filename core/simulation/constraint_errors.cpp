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
SB_INLINE BodyMotion<InSpace<Lanes>> gather(const model::MotionList& motions, const Index (&body)[n_lanes]) {
  Lanes numbers[18];
  for_fours<n>([&](int first) SB_UNROLL {
    Vec<n_lanes> row[n_lanes];
    unrolled<0, n_lanes>([&](auto lane) SB_UNROLL {
      row[lane] = Vec<n_lanes>::load(motions.numbers(body[lane]) + first);
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

}  // namespace

JointErrors::JointErrors(const model::JointTable& joints) : joints_(joints) {
  batches_.reserve(joints.size() / n_lanes + 1);
  for (Index j = 0; j < joints.size();) {
    Batch batch{j, j, {}, {}, {}, {}};
    while (batch.end < joints.size() && batch.end < j + n_lanes && joints.kind[batch.end] == joints.kind[j]) ++batch.end;
    for (int lane = 0; lane < n_lanes; ++lane) {
      const Index k = std::min(j + lane, batch.end - 1);
      batch.predecessor[lane] = joints.frames.predecessor[k], batch.successor[lane] = joints.frames.successor[k];
      for (const auto& [X, numbers] : {std::pair{joints.frames.X_P(k), &batch.X_P}, std::pair{joints.frames.X_S(k), &batch.X_S}}) {
        for (int a = 0; a < 9; ++a) (*numbers)[a][lane] = X.E.m[a];
        for (int a = 0; a < 3; ++a) (*numbers)[9 + a][lane] = (&X.r.x)[a];
      }
    }
    batches_.push_back(batch);
    j = batch.end;
  }
}

RowErrors JointErrors::operator()(const model::BodyMotions& bodies, Index threads) const {
  model::MotionList motions(bodies.position.rows());
  motions = bodies;
  RowErrors out{Array<double>::uninitialized({n_rows()}), Array<double>::uninitialized({n_rows()})};
  run_ranges(n_batches(), threads, [&](Index first, Index last) {
    fill(motions, first, last, out.position, out.velocity);
  });
  return out;
}

void JointErrors::fill(const model::MotionList& motions, Index begin, Index end, View<double> delta,
                       View<double> velocity) const {
  const bool fills_position = delta.size() > 0, fills_velocity = velocity.size() > 0;
  double of[n_lanes][18];
  const auto fill_motions = [&]<int n>(const Batch& batch, std::integral_constant<int, n>) {
    const auto motion = model::joint_motion(load(batch.X_P), load(batch.X_S), gather<n>(motions, batch.predecessor),
                                            gather<n>(motions, batch.successor));
    store<n>(motion.X, motion.v_J, of);
  };
  for (Index b = begin; b < end; ++b) {
    const Batch& batch = batches_[b];
    with_constant<18, 12>(fills_velocity ? 18 : 12, [&](auto n) { fill_motions(batch, n); });
    visit_joint(int(joints_.kind[batch.first]), 0.0, [&]<class J>(const J&) {
      for (Index j = batch.first; j < batch.end; ++j) {
        const Index lane = j - batch.first, first = joints_.first_row[j];
        const Transform<double> X{Mat3<double>::load(of[lane]), Vec3<double>::load(of[lane] + 9)};
        const auto v_J = Motion<double>::load(of[lane] + 12);
        const J joint = joint_of<J>(joints_.parameter[j]);
        if (fills_position) joint.error(X, delta.data() + first);
        if (!fills_velocity) continue;
        if constexpr (J::info.has_varying_T) {
          const auto T = joint.constraint_force_subspace(X);
          for (std::size_t k = 0; k < T.size(); ++k) velocity[first + k] = dot(v_J, T[k]);
        } else if constexpr (requires { joint.constraint_velocities(v_J, velocity.data()); }) {
          joint.constraint_velocities(v_J, velocity.data() + first);
        } else {
          for (Index k = first; k < joints_.first_row[j + 1]; ++k)
            velocity[k] = dot(v_J, Force<double>::load(joints_.subspaces[k]));
        }
      }
    });
  }
}

}  // namespace sparsebody::simulation

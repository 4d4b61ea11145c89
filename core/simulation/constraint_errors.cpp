#include "simulation/constraint_errors.hpp"

#include <algorithm>

#include "base/threads.hpp"
#include "joints/joint_types.hpp"
#include "spatial/lanes.hpp"

namespace sparsebody::simulation {

namespace {

SB_INLINE Transform<Lanes> load(const double (&frame)[12][n_lanes]) {
  Lanes numbers[12];
  for (int k = 0; k < 12; ++k) numbers[k] = Vec<n_lanes>::load(frame[k]);
  return {Mat3<Lanes>::load(numbers), Vec3<Lanes>::load(numbers + 9)};
}

// The motions of four bodies from their first n entries: 12 of the pose (R, x), or 18 with the velocity.
template <int n>
SB_INLINE BodyMotion<InSpace<Lanes>> gather(const double* const (&of)[n_lanes]) {
  Lanes numbers[18];
  load_lanes<n>(of, numbers);
  return {Mat3<Lanes>::load(numbers), Vec3<Lanes>::load(numbers + 9), Motion<Lanes>::load(numbers + 12)};
}

// Stores m numbers of each joint of a batch from its first row on.
template <int m>
SB_INLINE void scatter(const Lanes (&numbers)[m], const JointBatch& batch, View<const Index> first_row, View<double> to) {
  double unused[m], *rows[n_lanes];
  for (int lane = 0; lane < n_lanes; ++lane)
    rows[lane] = batch.first + lane < batch.end ? &to[first_row[batch.first + lane]] : unused;
  store_lanes<m>(numbers, {rows[0], rows[1], rows[2], rows[3]});
}

// The numbers of rows of a joint type, without those of prescribed coordinates.
template <class J>
inline constexpr int n_rows_of = 6 - J::info.n_velocities;

// Fills delta and T' v_J of joint j; null is not filled.
template <class J>
void fill_joint(const model::JointTable& joints, Index j, const Transform<double>& X, const Motion<double>& v_J, double* delta,
                double* velocity) {
  const J joint = joint_of<J>(joints.parameter[j]);
  if (delta != nullptr) joint.error(X, delta);
  if (velocity == nullptr) return;
  if constexpr (J::info.has_varying_T) {
    const auto T = joint.constraint_force_subspace(X);
    for (std::size_t k = 0; k < T.size(); ++k) velocity[k] = dot(v_J, T[k]);
  } else if constexpr (requires { joint.constraint_velocities(v_J, velocity); }) {
    joint.constraint_velocities(v_J, velocity);
  } else {
    for (int k = 0; k < n_rows_of<J>; ++k)
      velocity[k] = dot(v_J, Force<double>::load(joints.subspaces[joints.first_row[j] + k]));
  }
}

// Whether a type has errors of four poses at once.
template <class J>
concept HasSmallErrors = requires(Vec3<Lanes> v, Lanes* delta) { J::small_error(v, v, delta); };

// f(lane, X, v_J) of four motions; without velocities if n is 12.
template <int n, class F>
SB_INLINE void for_lanes(const model::JointMotion<Lanes>& motion, F f) {
  double of[n_lanes][18];
  Lanes numbers[18];
  motion.X.E.store(numbers), motion.X.r.store(numbers + 9), motion.v_J.store(numbers + 12);
  store_lanes<n>(numbers, {of[0], of[1], of[2], of[3]});
  for (int lane = 0; lane < n_lanes; ++lane)
    f(lane, Transform<double>{Mat3<double>::load(of[lane]), Vec3<double>::load(of[lane] + 9)},
      Motion<double>::load(of[lane] + 12));
}

// Fills delta and T' v_J of a batch of joints, from pointers to the motions of its predecessors p and successors s.
template <int n>
SB_INLINE void fill_batch(const model::JointTable& joints, const JointBatch& batch, const double* const (&p)[n_lanes],
                          const double* const (&s)[n_lanes], View<double> delta, View<double> velocity) {
  const bool fills_position = delta.size() > 0, fills_velocity = velocity.size() > 0;
  const auto motion = model::joint_motion(load(batch.X_P), load(batch.X_S), gather<n>(p), gather<n>(s));
  visit_joint(int(joints.kind[batch.first]), 0.0, [&]<class J>(const J&) {
    if constexpr (HasSmallErrors<J>) {
      Lanes error[n_rows_of<J>], rate[n_rows_of<J>];
      const auto& [E, r] = motion.X;
      if (!fills_position || J::small_error(E * r, Vec3<Lanes>{E(0, 2), E(1, 2), E(2, 2)}, error)) {
        if (fills_position) scatter(error, batch, joints.first_row, delta);
        if (fills_velocity) J::constraint_velocities(motion.v_J, rate), scatter(rate, batch, joints.first_row, velocity);
        return;
      }
    }
    for_lanes<n>(motion, [&](int lane, const Transform<double>& X, const Motion<double>& v_J) {
      const Index j = batch.first + lane;
      if (j >= batch.end) return;
      const Index first = joints.first_row[j];
      fill_joint<J>(joints, j, X, v_J, fills_position ? delta.data() + first : nullptr,
                    fills_velocity ? velocity.data() + first : nullptr);
    });
  });
}

// The same of one joint at four times, with no more of its motion than small errors need; false where one is too open.
template <class J, int m>
SB_INLINE bool fill_small(const Transform<Lanes>& X_P, const Transform<Lanes>& X_S, const BodyMotion<InSpace<Lanes>>& p,
                          const BodyMotion<InSpace<Lanes>>& s, Lanes (&delta)[m], Lanes (&velocity)[m]) {
  const Mat3<Lanes> R_S = s.R * transpose(X_S.E);  // S to world axes
  const Vec3<Lanes> arm = s.R * X_S.r, from_p = s.x - p.x + arm;
  const Vec3<Lanes> offset = transpose_times(R_S, from_p - p.R * X_P.r), z = transpose_times(R_S, p.R * X_P.E.row(2));
  if (!J::small_error(offset, z, delta)) return false;
  const Vec3<Lanes> w_p = p.R * p.v.angular, w_s = s.R * s.v.angular;
  const Vec3<Lanes> u = s.R * s.v.linear + cross(w_s, arm) - p.R * p.v.linear - cross(w_p, from_p);  // at the origin of S
  J::constraint_velocities(Motion<Lanes>{transpose_times(R_S, w_s - w_p), transpose_times(R_S, u)}, velocity);
  return true;
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

static RowErrors unfilled(Index n_rows) {
  return {Array<double>::uninitialized({n_rows}), Array<double>::uninitialized({n_rows})};
}

RowErrors row_errors(const model::JointTable& joints, const model::BodyMotions& bodies, Index threads) {
  RowErrors out = unfilled(joints.subspaces.size());
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

ErrorsAtTimes JointErrors::at_times(const MotionsAtTimes& motions, const double* const (&multiplier)[n_lanes]) const {
  ErrorsAtTimes out;
  visit_joints(joints_.kind, joints_.parameter, [&]<class J>(Index j, const J&) {
    if constexpr (constexpr int m = n_rows_of<J>; m > 0) {
      const auto& frames = joints_.frames;
      const Transform<Lanes> X_P(frames.X_P(j)), X_S(frames.X_S(j));
      const auto &p = motions[frames.predecessor[j] + 1], &s = motions[frames.successor[j] + 1];
      Lanes delta[m], velocity[m], lambda[m];
      bool is_filled = false;
      if constexpr (HasSmallErrors<J>) is_filled = fill_small<J>(X_P, X_S, p, s, delta, velocity);
      if (!is_filled) {
        double of[2][m][n_lanes];
        for_lanes<18>(model::joint_motion(X_P, X_S, p, s), [&](int lane, const Transform<double>& X, const Motion<double>& v_J) {
          double errors[2][m];
          fill_joint<J>(joints_, j, X, v_J, errors[0], errors[1]);
          for (int k = 0; k < m; ++k) of[0][k][lane] = errors[0][k], of[1][k][lane] = errors[1][k];
        });
        for (int k = 0; k < m; ++k) delta[k] = Vec<n_lanes>::load(of[0][k]), velocity[k] = Vec<n_lanes>::load(of[1][k]);
      }
      for (int k = 0; k < m; ++k) out.position.add(delta[k]), out.velocity.add(velocity[k]);
      if (multiplier[0] == nullptr) return;
      const Index first = joints_.first_row[j];
      for (const double* of : multiplier) prefetch(of + first + numbers_ahead);
      load_lanes<m>({multiplier[0] + first, multiplier[1] + first, multiplier[2] + first, multiplier[3] + first}, lambda);
      for (int k = 0; k < m; ++k) out.work = out.work + lambda[k] * delta[k];
    }
  });
  return out;
}

RowErrors JointErrors::at(const model::BodyMotions& bodies) const {
  RowErrors out = unfilled(n_rows());
  model::MotionList motions(bodies.position.rows());
  motions = bodies;
  fill(motions, out.position, out.velocity);
  return out;
}

}  // namespace sparsebody::simulation

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

SB_INLINE BodyMotion<InSpace<Lanes>> gather(const model::MotionList& motions, const Index (&body)[n_lanes]) {
  const double* of[n_lanes];
  for (int lane = 0; lane < n_lanes; ++lane) of[lane] = motions.numbers(body[lane]);
  Lanes numbers[18];
  for (int k = 0; k < 18; ++k) numbers[k] = gathered<n_lanes>({of[0][k], of[1][k], of[2][k], of[3][k]});
  return {Mat3<Lanes>::load(numbers), Vec3<Lanes>::load(numbers + 9), Motion<Lanes>::load(numbers + 12)};
}

void store(const Transform<Lanes>& X, const Motion<Lanes>& v, double (&numbers)[18][n_lanes]) {
  Lanes of[18];
  X.E.store(of), X.r.store(of + 9), v.store(of + 12);
  for (int k = 0; k < 18; ++k) of[k].v.store(numbers[k]);
}

}  // namespace

JointErrors::JointErrors(const model::JointTable& joints) : joints_(joints) {
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
  double numbers[18][n_lanes];
  for (Index b = begin; b < end; ++b) {
    const Batch& batch = batches_[b];
    const auto motion = model::joint_motion(load(batch.X_P), load(batch.X_S), gather(motions, batch.predecessor),
                                            gather(motions, batch.successor));
    store(motion.X, motion.v_J, numbers);
    visit_joint(int(joints_.kind[batch.first]), 0.0, [&]<class J>(const J&) {
      for (Index j = batch.first; j < batch.end; ++j) {
        const Index lane = j - batch.first, first = joints_.first_row[j];
        double of[18];
        for (int k = 0; k < 18; ++k) of[k] = numbers[k][lane];
        const Transform<double> X{Mat3<double>::load(of), Vec3<double>::load(of + 9)};
        const auto v_J = Motion<double>::load(of + 12);
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

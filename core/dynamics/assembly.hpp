// The system (8.64) at a state: tables of rows, units of bodies, vectors, and their assembly in ranges of bodies and
// joints, in space and in a plane. Featherstone (2008), (8.10):  T'(a_s - a_p) = gamma = -T'(v_J x v_p) - T°' v_J,
// v_J = v_s - v_p, T° the derivative of T seen from S.
//
// Bodies and joints are numbered by their positions in the elimination order, so that an evaluation walks through memory
// from one end to the other. Constraint rows that are constant on the successor need no joint frames: they are carried
// over to the predecessor by the transform between the two body frames.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <tuple>
#include <vector>

#include "base/array.hpp"
#include "base/threads.hpp"
#include "base/vec.hpp"
#include "spatial/planar.hpp"

namespace sparsebody {

inline constexpr Index large_mechanism = 1 << 12;  // bodies from which on memory is requested ahead
inline constexpr Index cache_line = 8;             // doubles
// Roots of inertia and mass of the world: so large that scaled row entries on the world vanish from norms, while their
// squares, 2^400 and 2^-400, are finite.
inline constexpr double world_root = 0x1p200;

// Motions of n bodies, which an assembly fills, and of the world.
template <class Space>
Array<BodyMotion<Space>> before_world(Index n) {
  auto bodies = Array<BodyMotion<Space>>::uninitialized({n + 1});
  bodies[n] = {};
  return bodies;
}

// Rows of A, those of a joint together: m joints, k rows, n bodies of 6 or 3 freedoms.
template <class T>
struct RowTableOf {
  enum Kind : std::uint32_t {
    carried,  // T constant in the axes of the successor
    general,  // computed by other functions
    line,     // in a plane, a point of the successor on a line of the predecessor
  };
  View<const std::uint32_t> predecessor, successor, kind;  // (m,) bodies, n for the world
  // (m, 3), in a plane (m, 4). Where the world is the successor, the reference point of the rows [m]. Of a line, its
  // normal on the predecessor, then the point on the successor [m]; the line's offset drops out of derivatives.
  View<const T, 2> anchor;
  View<const std::uint32_t> first_row;    // (m + 1,)
  View<const std::uint32_t> user_row;     // (k,) the user's numbers
  View<const std::uint32_t> general_row;  // (k,) index into general_rows and general_gamma
  View<T, 3> rows;                        // (k, 2, freedoms) on predecessor and successor, in units of the bodies

  Index n_joints() const { return predecessor.size(); }
  // One after the last row of a joint.
  Index end(Index j) const { return first_row[j + 1]; }
};
using RowTable = RowTableOf<double>;

// The joints and rows of a system that tables are made of, in the user's numbering.
struct JointRows {
  View<const Index> row_joint;            // (n_rows,)
  View<const Index, 2> ends;              // (n_joints, 2), -1 for the world
  View<const std::uint32_t> kind;         // (n_joints,)
  View<const double, 2> anchor;           // (n_joints, 3 or 4)
  View<const std::uint32_t> general_row;  // (n_rows,)
  View<const Index> position;             // (n,) where each body is in the elimination order
};

// A table of some of the user's rows, those of a joint together, and its memory; the rows themselves are to be filled.
class StoredRowTable : public RowTable {
 public:
  StoredRowTable(View<const Index> selected, const JointRows& all, Index width) : values_({selected.size(), 2, width}) {
    const Index n_rows = selected.size();
    const auto joint = [&](Index k) { return all.row_joint[selected[k]]; };
    Index m = 0;
    for (Index k = 0; k < n_rows; ++k) m += k == 0 || joint(k) != joint(k - 1);
    anchors_ = Array<double, 2>::uninitialized({m, all.anchor.shape(1)});
    const Index sizes[] = {m, m, m, m + 1, n_rows, n_rows};
    for (int a = 0; a < 6; ++a) numbers_[a] = Array<std::uint32_t>::uninitialized({sizes[a]});
    auto& [predecessors, successors, kinds, first, user, general] = numbers_;
    const auto number = [&](Index body) { return std::uint32_t(body < 0 ? all.position.size() : all.position[body]); };
    for (Index k = 0, i = 0; k < n_rows; ++k) {
      user[k] = std::uint32_t(selected[k]), general[k] = all.general_row[selected[k]];
      if (const Index j = joint(k); k == 0 || j != joint(k - 1)) {
        predecessors[i] = number(all.ends(j, 0)), successors[i] = number(all.ends(j, 1)), kinds[i] = all.kind[j];
        std::ranges::copy(all.anchor[j], &anchors_(i, 0));
        first[i++] = std::uint32_t(k);
      }
    }
    first[m] = std::uint32_t(n_rows);
    static_cast<RowTable&>(*this) = {predecessors, successors, kinds, anchors_, first, user, general, values_};
  }

 private:
  Array<std::uint32_t> numbers_[6];
  Array<double, 2> anchors_;
  Array<double, 3> values_;
};

// Sources of rows that are constant in the axes of successors, in the user's numbering.
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
  bool has_motions = false;  // whether the motions of the bodies are filled already, in a plane
};

// ---- Bodies with six freedoms, and the vectors of (8.64).
//
// A body has the rotational inertia C C' about its center of mass, in its axes, and the mass m. Vectors are in units in
// which its inertia is the identity: a motion is (C' w, sqrt(m) u), a force (C^-1 n, f / sqrt(m)).

// Units of a body: row i of the table `unit`.
struct BodyUnit {
  double root[6];       // C, a lower triangle row by row
  double inverse[6];    // C^-1
  double mass_root;     // sqrt(m)
  double mass_inverse;  // 1 / sqrt(m)

  Lower3<double> C() const { return Lower3<double>::load(root); }
  Lower3<double> C_inverse() const { return Lower3<double>::load(inverse); }
  Force<double> to_unit(const Force<double>& f) const { return {C_inverse() * f.angular, mass_inverse * f.linear}; }
  Force<double> from_unit(const Force<double>& f) const { return {C() * f.angular, mass_root * f.linear}; }
  Motion<double> to_unit(const Motion<double>& v) const {
    return {transpose_times(C(), v.angular), mass_root * v.linear};
  }
  Motion<double> from_unit(const Motion<double>& v) const {
    return {transpose_times(C_inverse(), v.angular), mass_inverse * v.linear};
  }
  // C^-1 (I w x w)
  Vec3<double> gyroscopic_moment(const Vec3<double>& w) const {
    return C_inverse() * cross(C() * transpose_times(C(), w), w);
  }
};
inline constexpr Index unit_columns = sizeof(BodyUnit) / sizeof(double);

// Fills BodyUnits (n + 1, 14): the Cholesky factor C of each rotational inertia, its inverse, and those of the mass.
// bodies: the user's numbers in elimination order.
inline void fill_units(View<const double> mass, View<const double, 3> inertia, View<const Index> bodies,
                       View<double, 2> unit) {
  const auto units = reinterpret_cast<BodyUnit*>(unit.data());
  const Index n = bodies.size();
  for (Index i = 0; i < n; ++i) {
    const double* const I = inertia[bodies[i]].data();
    const double c0 = std::sqrt(I[0]), c1 = I[3] / c0, c3 = I[6] / c0;
    const double c2 = std::sqrt(I[4] - c1 * c1), c4 = (I[7] - c1 * c3) / c2;
    const double c5 = std::sqrt(I[8] - c3 * c3 - c4 * c4), m = std::sqrt(mass[bodies[i]]);
    units[i] = {{c0, c1, c2, c3, c4, c5},
                {1.0 / c0, -c1 / (c0 * c2), 1.0 / c2, (c1 * c4 / c2 - c3) / (c0 * c5), -c4 / (c2 * c5), 1.0 / c5},
                m, 1.0 / m};
  }
  constexpr double c = world_root, one = 1.0 / world_root;
  units[n] = {{c, 0.0, c, 0.0, 0.0, c}, {one, 0.0, one, 0.0, 0.0, one}, c, one};
}

// Bodies in a state, and the system [1 A'; A 0] x = right of (8.64).
struct SpatialWorkspace {
  using Scalar = double;
  using Space = InSpace<double>;
  // Checks of the states of some bodies: quaternions unit, all numbers finite.
  struct Check {
    bool is_unit = true;
    double total = 0.0;  // of all numbers

    void take(const Check& other) { is_unit &= other.is_unit, total += other.total; }
    bool is_sound() const { return is_unit && total - total == 0.0; }  // total - total: NaN where one is not finite
  };

  RowTable constraints;
  View<const std::uint32_t> body;    // (n,) the user's numbers
  View<const double> gravity_;       // (3,) [m/s^2]
  View<const double, 2> unit;        // (n + 1, 14) BodyUnits; row n is the world
  View<double> right;                // (6 n + k,) forces, then gamma
  Array<BodyMotion<Space>> bodies = before_world<Space>(body.size());

  Index n_bodies() const { return body.size(); }
  const BodyUnit& unit_of(Index i) const { return *reinterpret_cast<const BodyUnit*>(unit[i].data()); }
  Vec3<double> gravity() const { return Vec3<double>::load(gravity_.data()); }
  // Keeps the motion of a body, number by number, as a copy of the whole goes through memory.
  const BodyMotion<Space>& store_motion(Index i, const BodyMotion<Space>& motion, Check&) {
    motion.R.store(bodies[i].R.m);
    bodies[i].x = motion.x, bodies[i].v = motion.v;
    return motion;
  }
  // A force on a body, and a row of A, in units; a planar workspace also sets rows to zero that are rounding alone.
  Force<double> force_to_unit(Index i, const Force<double>& f) const { return unit_of(i).to_unit(f); }
  Force<double> row_to_unit(Index i, const Force<double>& t) const { return unit_of(i).to_unit(t); }
  // A motion of a body from its part of a solution.
  Motion<double> motion_of(Index i, const double* x) const { return unit_of(i).from_unit(Motion<double>::load(x)); }
};

// ---- Outcome of an evaluation

inline constexpr Index bad_state = -(Index(1) << 62);      // status: numbers not finite, or quaternions not of unit length
inline constexpr Index outside_subgroups = bad_state + 1;  // status: bodies out of the plane, or of their subgroups

struct Refinement {
  double residual = std::numeric_limits<double>::quiet_NaN();    // relative
  double correction = std::numeric_limits<double>::quiet_NaN();  // relative size of the last one, or of the next one
};
struct EvaluationResult {
  Index status;  // of the factorization, or one of the above
  Refinement refinement;
};

// ---- Assembly, of any workspace

// Of the square of a quaternion's length, which may be off by 1e-6 (UNIT_TOLERANCE in Python), with room for rounding.
inline constexpr double unit_norm_tolerance = 2.00001e-6;
// Prefetched ahead of the loops over large mechanisms: tenths of a microsecond of work, the latency of memory.
inline constexpr Index bodies_ahead = 16, joints_ahead = 32, numbers_ahead = 600;

// Rotation matrix of q, which is taken as unit in double; for wider scalars it is normalized first.
template <class T>
Mat3<T> rotation(const double* q) {
  T w = q[0], x = q[1], y = q[2], z = q[3];
  if constexpr (!std::is_same_v<T, double>) {
    const T scale = inverse_sqrt(w * w + x * x + y * y + z * z);
    w = scale * w, x = scale * x, y = scale * y, z = scale * z;
  }
  return Mat3<T>::from_quaternion(w, x, y, z);
}

template <class Workspace>
[[gnu::noinline]] void prefetch_body(const Workspace& w, const EvaluationInput& in, Index i) {
  const Index b = w.body[i];
  const double* const v = in.velocity.data() + 6 * b;
  const void* const lines[] = {in.position.data() + 3 * b, in.orientation.data() + 4 * b, v, v + 5,
                               w.bodies.data() + i, (const char*)(w.bodies.data() + i + 1) - 1, w.unit[i].data(),
                               w.unit[i].end() - 1, w.right.data() + Workspace::Space::n_freedoms * i};
  for (const void* line : lines) __builtin_prefetch(line);
}

// Fills the forces -v x* I v + f on a body whose motion is filled.
template <class Workspace>
void fill_force(Workspace& w, const EvaluationInput& in, Index i) {
  using Scalar = typename Workspace::Scalar;
  const auto& body = w.bodies[i];
  const auto& unit = w.unit_of(i);
  typename Workspace::Space::Force f{
      unit.gyroscopic_moment(body.v.angular),
      unit.mass_root * (transpose_times(body.R, w.gravity()) - cross(body.v.angular, body.v.linear))};  // m (R'g - w x u) / sqrt(m)
  if (in.load.rows() > 0) f += w.force_to_unit(i, Force<Scalar>::load(&in.load(w.body[i], 0)));
  f.store(&w.right[Workspace::Space::n_freedoms * i]);
}

// Gathers the states of bodies [first, last), fills their motions and forces.
template <class Workspace>
typename Workspace::Check fill_bodies(Workspace& w, const EvaluationInput& in, Index first, Index last) {
  using T = typename Workspace::Scalar;
  const bool is_large = w.n_bodies() > large_mechanism;
  typename Workspace::Check check;
  for (Index i = first; i < last; ++i) {
    if (is_large) prefetch_body(w, in, std::min(i + bodies_ahead, w.n_bodies() - 1));
    const Index b = w.body[i];
    const double* const q = &in.orientation(b, 0);
    const auto x = Vec3<T>::load(&in.position(b, 0));
    const auto v = Motion<T>::load(&in.velocity(b, 0));
    check.is_unit &= std::abs(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1.0) < unit_norm_tolerance;
    check.total += double((x.x + x.y + x.z) + (v.angular.x + v.angular.y + v.angular.z) +
                          (v.linear.x + v.linear.y + v.linear.z));
    w.store_motion(i, {rotation<T>(q), x, v}, check);
    fill_force(w, in, i);
  }
  return check;
}

// Fills the rows of joints [first, last) of a table on their predecessors, and gamma (k,); call fill_bodies first.
template <class Workspace>
void fill_rows(const Workspace& w, const RowTableOf<typename Workspace::Scalar>& table, const EvaluationInput& in,
               typename Workspace::Scalar* gamma, Index first, Index last) {
  using T = typename Workspace::Scalar;
  using Space = typename Workspace::Space;
  using Row = typename Space::Force;
  constexpr int n_freedoms = Space::n_freedoms, size = 2 * n_freedoms;
  const Index world = w.n_bodies();
  const bool is_large = table.n_joints() > large_mechanism;
  T* const rows = table.rows.data();
  for (Index j = first; j < last; ++j) {
    const Index begin = table.first_row[j], end = table.end(j);
    const Index p = table.predecessor[j], s = table.successor[j];
    T* const own = rows + size * begin;
    if (is_large) {
      for (Index at = 0; at < size * (end - begin); at += cache_line) __builtin_prefetch(own + at + numbers_ahead);
      for (const auto& column : {table.predecessor, table.successor, table.first_row})
        __builtin_prefetch(column.data() + j + joints_ahead);
      __builtin_prefetch(gamma + begin + numbers_ahead / size);
    }
    if (table.kind[j] == RowTable::general) {
      for (Index k = begin; k < end; ++k) {
        const Index g = table.general_row[k];
        gamma[k] = in.general_gamma[g];
        w.row_to_unit(p, Force<T>::load(&in.general_rows(g, 0, 0))).store(rows + size * k);
        w.row_to_unit(s, Force<T>::load(&in.general_rows(g, 1, 0))).store(rows + size * k + n_freedoms);
      }
      continue;
    }
    if constexpr (n_freedoms == 3)
      if (table.kind[j] == RowTable::line) {
        const T* const c = &table.anchor(j, 0);
        const typename Workspace::LineRow row(w.bodies[p], w.bodies[s], {c[0], c[1]}, {c[2], c[3]});
        w.unit_of(p).to_unit(row.on_predecessor).store(own);
        w.unit_of(s).to_unit(row.on_successor).store(own + n_freedoms);
        gamma[begin] = row.gamma;
        continue;
      }
    if (p == world) {
      std::fill(gamma + begin, gamma + end, T(0.0));
      continue;
    }
    const BodyMotion<Space>&predecessor = w.bodies[p], &successor = w.bodies[s];
    const auto x_s = s == world ? Space::Vector::load(&table.anchor(j, 0)) : successor.x;
    const typename Space::Transform X_p{transpose_times(successor.R, predecessor.R),  // to the axes of s, about x_s
                                        transpose_times(predecessor.R, x_s - predecessor.x)};
    const typename Space::Motion v_p = X_p * predecessor.v, bias = cross(successor.v - v_p, v_p);  // v_J x v_p
    const auto unit_s = w.unit_of(s), unit_p = w.unit_of(p);
    for (Index k = begin; k < end; ++k) {
      const Row t = unit_s.from_unit(Row::load(rows + size * k + n_freedoms));
      gamma[k] = -dot(bias, t);
      unit_p.to_unit(-X_p.transpose(t)).store(rows + size * k);
    }
  }
  if (!in.stabilization.empty())
    for (Index k = table.first_row[first]; k < Index(table.first_row[last]); ++k)
      gamma[k] += in.stabilization[table.user_row[k]];
}

// Fills all rows of a table on their predecessors, and gamma, on several threads.
template <class Workspace>
void fill_rows(const Workspace& w, const RowTableOf<typename Workspace::Scalar>& table, const EvaluationInput& in,
               typename Workspace::Scalar* gamma, Index threads) {
  run_ranges(table.n_joints(), threads,
             [&](Index first, Index last) { fill_rows(w, table, in, gamma, first, last); });
}

// Fills the rows of the system, and gamma.
template <class Workspace>
void fill_all_rows(const Workspace& w, const EvaluationInput& in, Index threads) {
  fill_rows(w, w.constraints, in, w.right.data() + Workspace::Space::n_freedoms * w.n_bodies(), threads);
}

// Fills rows and right-hand side where the motions of the bodies are filled already.
template <class Workspace>
void assemble_at_motions(Workspace& w, const EvaluationInput& in, Index threads) {
  run_ranges(w.n_bodies(), threads, [&](Index first, Index last) {
    for (Index i = first; i < last; ++i) fill_force(w, in, i);
  });
  fill_all_rows(w, in, threads);
}

// Fills rows and right-hand side at a state; returns the checks of the state.
template <class Workspace>
typename Workspace::Check assemble_all(Workspace& w, const EvaluationInput& in, Index threads) {
  typename Workspace::Check check;
  std::mutex mutex;
  run_ranges(w.n_bodies(), threads, [&](Index first, Index last) {
    const auto part = fill_bodies(w, in, first, last);
    const std::lock_guard lock(mutex);
    check.take(part);
  });
  fill_all_rows(w, in, threads);
  return check;
}

// Fills T' of a table on the successors; other rows stay as they are. Where the world is the successor, in world axes
// about the origin of S.
template <class Workspace>
void fill_rows_on_successors(const Workspace& w, const RowTableOf<typename Workspace::Scalar>& table,
                             const SuccessorFrames& frames, Index threads) {
  using T = typename Workspace::Scalar;
  for_each(table.n_joints(), threads, [&](Index j) {
    if (table.kind[j] != RowTable::carried) return;
    const Index s = table.successor[j];
    for (Index k = table.first_row[j]; k < table.end(j); ++k) {
      const Index row = table.user_row[k], joint = frames.row_joint[row];
      const auto R = Mat3<T>::load(frames.rotation[joint].data());
      const auto t = Force<T>::load(frames.T(row));
      Force<T> f = {R * t.angular, R * t.linear};
      if (s != w.n_bodies()) f = f.about(-Vec3<T>::load(frames.point[joint].data()));
      w.row_to_unit(s, f).store(&table.rows(k, 1, 0));
    }
  });
}

// Accelerations (n, 6) and multipliers (k_all,), if any, of a solution x, in the user's numbering and units; multipliers
// get the sign of forces on successors.
template <class Workspace>
void to_user_order(const Workspace& w, View<const double> x, View<double, 2> acceleration, View<double> multiplier,
                   Index threads) {
  constexpr int n_freedoms = Workspace::Space::n_freedoms;
  const Index n = w.n_bodies();
  const bool is_large = n > large_mechanism;
  run_ranges(n, threads, [&](Index first, Index last) {
    for (Index i = first; i < last; ++i) {
      if (is_large) {
        const Index ahead = std::min(i + bodies_ahead, n - 1);
        const double *const a = acceleration.data() + 6 * Index(w.body[ahead]), *const unit = w.unit[ahead].data();
        for (const double* p : {a, a + 5, x.data() + n_freedoms * ahead, unit, unit + cache_line}) prefetch(p);
      }
      w.motion_of(i, x.data() + n_freedoms * i).store(&acceleration(w.body[i], 0));
    }
  });
  if (multiplier.empty()) return;
  const auto& user_row = w.constraints.user_row;
  run_ranges(user_row.size(), threads, [&](Index first, Index last) {
    for (Index k = first; k < last; ++k) multiplier[user_row[k]] = -x[n_freedoms * n + k];
  });
}

// Forces on the bodies (n, 6) and numbers of all rows (k_all,) of the user's as a right-hand side.
inline void from_user_order(const SpatialWorkspace& w, View<const double, 2> force, View<const double> row,
                            View<double> right) {
  const Index n = w.n_bodies();
  for (Index i = 0; i < n; ++i)
    w.force_to_unit(i, Force<double>::load(&force(w.body[i], 0))).store(&right[6 * i]);
  const auto& user_row = w.constraints.user_row;
  for (Index k = 0; k < user_row.size(); ++k) right[6 * n + k] = row[user_row[k]];
}

// gamma - a x of the k-th row of a table, of its j-th joint; x: motions of n bodies.
inline double residual(const RowTable& table, Index j, Index k, double gamma, Index n, View<const double> x) {
  const Index n_freedoms = table.rows.shape(2);
  for (const int side : {0, 1}) {
    const Index b = side == 0 ? table.predecessor[j] : table.successor[j];
    if (b == n) continue;
    for (Index a = 0; a < n_freedoms; ++a) gamma -= table.rows(k, side, a) * x[n_freedoms * b + a];
  }
  return gamma;
}

// The largest violation of rows that are left out, A x = gamma, by a solution x of a system of n bodies; NaN if any is.
//
// Relative to max|A| max(|x|, |f|) and max|gamma| of all rows, not to the row's own terms: a row orthogonal to every
// admissible acceleration (stretched linkage) has only rounding there.
inline double violation(const RowTable& left_out, View<const double> gamma, const RowTable& constraints, Index n,
                        View<const double> x, View<const double> right) {
  const auto largest = [](const double* first, const double* last) {
    Vec<8> sizes;
    for (; last - first >= 8; first += 8) sizes = larger(sizes, Vec<8>::load(first));
    double m = 0.0;
    for (int k = 0; k < 8; ++k) m = std::max(m, sizes[k]);
    for (; first < last; ++first) m = std::max(m, std::abs(*first));
    return m;
  };
  const Index n_freedoms = left_out.rows.shape(2);
  double worst = 0.0, total = 0.0;
  for (Index j = 0; j < left_out.n_joints(); ++j)
    for (Index k = left_out.first_row[j]; k < left_out.end(j); ++k) {
      const double r = residual(left_out, j, k, gamma[k], n, x);
      worst = std::max(worst, std::abs(r)), total += r;
    }
  const double entry = std::max(largest(constraints.rows.begin(), constraints.rows.end()),
                                largest(left_out.rows.begin(), left_out.rows.end()));
  const Index n_primal = n_freedoms * n;
  double scale = std::max(largest(right.begin() + n_primal, right.end()), largest(gamma.begin(), gamma.end()));
  for (const auto& v : {x, right}) scale = std::max(scale, entry * largest(v.begin(), v.begin() + n_primal));
  return (scale > 0.0 ? worst / scale : worst) + (total - total);  // NaN where a residual is not finite
}

// The largest relative violation of the rows left out by the newest solution of an evaluation; fills their gamma.
template <class E>
double violation(const E& evaluation, const RowTable& left_out, const EvaluationInput& in, View<double> gamma) {
  const auto& e = assembling(evaluation);
  fill_rows(e.system, left_out, in, gamma.data(), e.threads);
  return violation(left_out, gamma, e.system.constraints, e.n_bodies(), solution_of(e), e.system.right);
}

// The lengths of the rows of a table (k,), in units of the bodies.
inline Array<double> row_lengths(const RowTable& table) {
  Array<double> length(table.rows.rows());
  for (Index k = 0; k < length.size(); ++k) {
    double square = 0.0;
    for (const double a : table.rows[k]) square += a * a;
    length[k] = std::sqrt(square);
  }
  return length;
}

// |a x| / |a| of the rows of a table (k,), as filled last, 0 of those that are zero; x: the newest solution of an evaluation.
template <class E>
Array<double> sines(const E& evaluation, const RowTable& table) {
  const auto& e = assembling(evaluation);
  Array<double> sine = row_lengths(table);
  for (Index j = 0; j < table.n_joints(); ++j)
    for (Index k = table.first_row[j]; k < table.end(j); ++k)
      if (sine[k] > 0.0) sine[k] = std::abs(residual(table, j, k, 0.0, e.n_bodies(), solution_of(e))) / sine[k];
  return sine;
}

}  // namespace sparsebody

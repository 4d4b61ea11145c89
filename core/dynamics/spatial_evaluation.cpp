#include "dynamics/spatial_evaluation.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/threads.hpp"
#include "base/vec.hpp"

namespace sparsebody {

// ---- Residual of the system [1 A'; A 0] x = right, and its scale

namespace {

// If the residual of the rows is larger, relative to the largest term of A a, it is compared with the largest term of
// A f, too, f the accelerations of free bodies: in equilibrium a is zero but for rounding.
constexpr double free_motion_tolerance = 1e-7;

// part / whole; `part` if the whole is zero.
double relative(double part, double whole) { return whole > 0.0 ? part / whole : part; }

// Enlarges the first lanes of sizes.
template <int lanes>
SB_INLINE void enlarge(Vec<8>& sizes, const Vec<lanes>& v) {
  if constexpr (lanes == 8) sizes = larger(sizes, v);
  else sizes.low = larger(sizes.low, v);
}
template <int lanes>
SB_INLINE void accumulate(Vec<8>& sum, const Vec<lanes>& v) {
  if constexpr (lanes == 8) sum += v;
  else sum.low += v;
}

// The n rows of a joint: residual = right - A x, and the wrenches A' y on its two bodies.
template <int n>
SB_INLINE void row_residual(const double* rows, const double* x_p, const double* x_s, const double* multiplier,
                            const double* right, double* residual, double* wrench_p, double* wrench_s,
                            SolutionWorkspace& w) {
  constexpr int lanes = n < 4 ? 4 : 8;
  using Vec8 = Vec<8>;
  const Vec8 a_p = Vec8::load<6>(x_p), a_s = Vec8::load<6>(x_s);
  Vec8 t_p[n], t_s[n], terms = w.of_rows.terms;
  Vec<4> products[n];
  unrolled<0, n>([&](auto k) SB_UNROLL {
    t_p[k] = Vec8::load<6>(rows + 12 * k);
    t_s[k] = Vec8::load<6>(rows + 12 * k + 6);
    const Vec8 on_p = t_p[k] * a_p, on_s = t_s[k] * a_s;
    terms = larger(larger(terms, on_p), on_s);
    products[k] = folded(on_p + on_s);
  });
  const auto gamma = Vec<lanes>::template load<n>(right);
  const auto r = gamma - sums<lanes>(products);
  r.template store<n>(residual);
  w.of_rows.terms = terms;
  enlarge<lanes>(w.of_rows.terms, gamma);
  enlarge<lanes>(w.of_rows.residual, r);
  accumulate<lanes>(w.of_rows.sum, r);
  for (const auto& [wrench, t] : {std::pair{wrench_p, &t_p}, std::pair{wrench_s, &t_s}}) {
    Vec8 f = Vec8::load(wrench);
    unrolled<0, n>([&](auto k) SB_UNROLL { f += (*t)[k] * multiplier[k]; });
    f.store(wrench);
    w.wrenches = larger(w.wrenches, f);
  }
}

void begin_residual(SolutionWorkspace& w) {
  w.of_bodies = w.of_rows = {};
  w.wrenches = {};
}

// Enlarges the sizes of all parts by those of one.
void enlarge(SolutionWorkspace& all, const SolutionWorkspace& part) {
  for (const auto& [to, from] : {std::pair{&all.of_bodies, &part.of_bodies}, std::pair{&all.of_rows, &part.of_rows}}) {
    to->terms = larger(to->terms, from->terms);
    to->residual = larger(to->residual, from->residual);
    to->sum += from->sum;
  }
  all.wrenches = larger(all.wrenches, part.wrenches);
}

// Fills the residual for ranges of joints and bodies, the last first; call it for all joints of a body before the body.
void fill_residual(SolutionWorkspace& w, const RowTable& table, Index n, const double* right, Index first_joint,
                          Index last_joint, Index first_body, Index last_body) {
  using Vec8 = Vec<8>;
  const bool is_large = n > large_mechanism;
  const double* const rows = table.rows.data();
  const double* const padded_x = w.padded_x.data();
  double *const wrench = w.wrench.data(), *const residual = w.residual.data();
  double on_world[8] = {};
  for (Index j = last_joint - 1; j >= first_joint; --j) {
    const Index begin = table.first_row[j], end = table.first_row[j + 1];
    if (is_large) {
      const Index rows_ahead = numbers_ahead / 12;
      for (Index at = 12 * begin; at < 12 * end; at += cache_line) prefetch(rows + at - numbers_ahead);
      for (const double* v : {(const double*)residual, right}) prefetch(v + 6 * n + begin - rows_ahead);
      for (const auto& column : {table.predecessor, table.successor, table.first_row})
        prefetch(column.data() + j - joints_ahead);
    }
    const Index p = table.predecessor[j], s = table.successor[j], row = 6 * n + begin;
    const double* const x_p = padded_x + (p < n ? margin + 6 * p : 0);
    const double* const x_s = padded_x + (s < n ? margin + 6 * s : 0);
    with_constant<5, 3, 2, 1, 4, 6>(end - begin, [&](auto n_rows) SB_UNROLL {  // the frequent numbers of rows first
      row_residual<n_rows>(rows + 12 * begin, x_p, x_s, padded_x + margin + row, right + row, residual + row,
                                   p < n ? wrench + 8 * p : on_world, s < n ? wrench + 8 * s : on_world, w);
    });
  }
  for (Index i = last_body - 1; i >= first_body; --i) {
    if (is_large) {
      prefetch(wrench + 8 * (i - bodies_ahead));
      prefetch(residual + 6 * (i - bodies_ahead));
    }
    const Vec8 a = Vec8::load<6>(padded_x + margin + 6 * i), f = Vec8::load<6>(right + 6 * i);
    const Vec8 r = f - a - Vec8::load(wrench + 8 * i);  // f - a - A' y
    r.store<6>(residual + 6 * i);
    Vec8{}.store(wrench + 8 * i);
    w.of_bodies.terms = larger(larger(w.of_bodies.terms, a), f);
    w.of_bodies.residual = larger(w.of_bodies.residual, r);
    w.of_bodies.sum += r;
  }
}

// The largest product of an entry of the rows and one of x (6 n,).
double largest_term(const RowTable& table, Index n, const double* x) {
  double largest = 0.0;
  for (Index j = 0; j < table.n_joints(); ++j)
    for (const int side : {0, 1}) {
      const Index b = side == 0 ? table.predecessor[j] : table.successor[j];
      if (b == n) continue;
      for (Index k = table.first_row[j]; k < Index(table.first_row[j + 1]); ++k)
        for (int a = 0; a < 6; ++a) largest = std::max(largest, std::abs(table.rows(k, side, a) * x[6 * b + a]));
    }
  return largest;
}

// The relative size of a residual that is filled for all joints and bodies.
//
// Forces and accelerations have different units, so each half has its own scale: the largest force; the largest
// product of an entry of a row and one of the solution, or where these vanish, as in equilibrium, of the
// accelerations of the bodies without constraints.
double relative_residual(const SolutionWorkspace& w, const RowTable& table, Index n, const double* right) {
  double terms = w.of_rows.largest_term();
  const double row_residual = w.of_rows.largest_residual();
  if (!(row_residual <= free_motion_tolerance * terms)) terms = std::max(terms, largest_term(table, n, right));
  const double of_bodies = relative(w.of_bodies.largest_residual(), w.of_bodies.largest_term());
  const double of_rows = relative(row_residual, terms);
  return std::max(of_bodies, of_rows) + 0.0 * (of_bodies + of_rows);  // NaN if either is
}

// ---- Evaluation

constexpr Index chunks_ahead = 4;  // by which one thread of a pipeline may be ahead of the other

// Fills rows and right-hand side for ranges of bodies and joints; returns whether the state is sound.
bool assemble(SpatialWorkspace& w, const EvaluationInput& in, const Chunk& chunk, const Chunk& next) {
  const bool is_sound = fill_bodies(w, in, chunk.body, next.body).is_sound();
  fill_rows(w, w.constraints, in, w.right.data() + 6 * w.n_bodies(), chunk.joint, next.joint);
  return is_sound;
}

// Calls visit(begin, end) for the ranges between indices of a sorted list in [first, last), the last range first.
template <class Visit>
void for_runs(const std::vector<Index>& without, Index first, Index last, const Visit& visit) {
  auto next = std::lower_bound(without.begin(), without.end(), last);
  for (Index end = last; end > first;) {
    const bool is_whole = next == without.begin() || *std::prev(next) < first;
    const Index begin = is_whole ? first : *--next + 1;
    if (begin < end) visit(begin, end);
    end = is_whole ? first : begin - 1;
  }
}

// Fills the residual of the joints and bodies of a chunk that belong to no other part.
void fill_inner_residual(const SpatialEvaluation& evaluation, SolutionWorkspace& w, View<const double> right,
                         const Chunk& chunk, const Chunk& next) {
  const RowTable& table = evaluation.system.constraints;
  const Index n = evaluation.n_bodies();
  for_runs(evaluation.schedule.border_joints, chunk.residual_joint, next.residual_joint,
           [&](Index first, Index last) { fill_residual(w, table, n, right.data(), first, last, 0, 0); });
  for_runs(evaluation.schedule.border_bodies, chunk.residual_body, next.residual_body,
           [&](Index first, Index last) { fill_residual(w, table, n, right.data(), 0, 0, first, last); });
}

}  // namespace

Index SpatialEvaluation::assemble(const EvaluationInput& in) {
  return assemble_all(system, in, threads).is_sound() ? block_ldl::regular : bad_state;
}

Index SpatialEvaluation::assemble_and_eliminate(const EvaluationInput& in, Index part, const block_ldl::Storage& storage,
                                                std::atomic<bool>& is_sound) {
  const std::vector<Chunk>& chunks = schedule.parts[part];
  const block_ldl::Layout& layout = factors->layout;
  const bool is_assembled = part > 0 && part == layout.n_parts();  // the ancestors of all parts, assembled before them
  std::vector<std::uint8_t> is_open(chunks.size());
  Index status = block_ldl::regular;
  run_pipeline(
      Index(chunks.size()) - 1, factors->threads_of_part(), chunks_ahead,
      [&](Index c, Index n_ahead) {
        const Chunk &chunk = chunks[c], &next = chunks[c + 1];
        if (!is_assembled && !sparsebody::assemble(system, in, chunk, next)) is_sound = false;
        is_open[c] = n_ahead > chunks_ahead / 2;  // this thread is the faster one
        if (is_open[c]) block_ldl::open_panels(layout, rows(), system.right, storage, chunk.pivot, next.pivot);
      },
      [&](Index c) {
        if (status == block_ldl::regular)
          status = block_ldl::eliminate(layout, rows(), system.right, 0.0, storage, chunks[c].pivot,
                                                chunks[c + 1].pivot, is_open[c]);
      });
  return status;
}

Index SpatialEvaluation::assemble_and_factorize(const EvaluationInput& in) {
  std::atomic<bool> is_sound = true;
  if (factors->layout.n_parts() > 0) {
    const std::vector<Chunk>& ancestors = schedule.parts.back();
    for (const Index i : schedule.shared_bodies) fill_bodies(system, in, i, i + 1);
    if (!sparsebody::assemble(system, in, ancestors.front(), ancestors.back())) return bad_state;
  }
  const Index status = factors->eliminate_parts(rows(), system.right, 0.0, [&](Index p, const auto& storage) {
    return assemble_and_eliminate(in, p, storage, is_sound);
  });
  if (!is_sound) return bad_state;
  if (status != block_ldl::regular) factors->eliminate(rows(), system.right, block_ldl::dual_shift);
  return status;
}

template <class Fill>
double SpatialEvaluation::residual_in_parts(View<const double> right, const Fill& fill) {
  begin_residual(solution);
  std::vector<SolutionWorkspace> workspace(factors ? factors->layout.n_parts() : 0, solution);
  fill(Index(workspace.size()), solution);
  run_tasks(Index(workspace.size()), threads, [&](Index p) { fill(p, workspace[p]); });
  for (const SolutionWorkspace& part : workspace) enlarge(solution, part);
  const auto& [parts, shared, joints, bodies] = schedule;
  const auto border = [&](Index first_joint, Index last_joint, Index first_body, Index last_body) {
    fill_residual(solution, system.constraints, n_bodies(), right.data(), first_joint, last_joint, first_body,
                  last_body);
  };
  for (std::size_t k = joints.size(); k-- > 0;) border(joints[k], joints[k] + 1, 0, 0);
  for (std::size_t k = bodies.size(); k-- > 0;) border(0, 0, bodies[k], bodies[k] + 1);
  return relative_residual(solution, system.constraints, n_bodies(), right.data());
}

double SpatialEvaluation::substitute() {
  const View<double> right = system.right, x = solution.x();
  const block_ldl::Layout& layout = factors->layout;
  return residual_in_parts(right, [&](Index part, SolutionWorkspace& w) {
    const std::vector<Chunk>& chunks = schedule.parts[part];
    const Index last = Index(chunks.size()) - 2;
    std::vector<std::uint8_t> is_filled(chunks.size());
    const auto fill = [&](Index i, block_ldl::Steps steps) {
      block_ldl::substitute(layout, rows(), factors->storage(part), right, x, chunks[last - i].pivot,
                            chunks[last - i + 1].pivot, steps);
    };
    run_pipeline(
        last + 1, factors->threads_of_part(), chunks_ahead,
        [&](Index i, Index n_ahead) {
          is_filled[i] = factors->threads_of_part() < 2 || n_ahead > chunks_ahead / 2;
          fill(i, is_filled[i] ? block_ldl::both_steps : block_ldl::first_step);
        },
        [&](Index i) {
          if (!is_filled[i]) fill(i, block_ldl::second_step);
          fill_inner_residual(*this, w, right, chunks[last - i], chunks[last - i + 1]);
        });
  });
}

double SpatialEvaluation::compute_residual(View<const double> right) {
  return residual_in_parts(right, [&](Index part, SolutionWorkspace& w) {
    fill_inner_residual(*this, w, right, schedule.parts[part].front(), schedule.parts[part].back());
  });
}

Refinement SpatialEvaluation::refine(View<const double> right, double goal, bool is_exact, bool is_shifted,
                                     double residual) {
  double correction = 0.0;
  const double sufficient = std::max(
      sufficient_residual, wrench_rounding * relative(ResidualSizes::largest(solution.wrenches),
                                                      solution.of_bodies.largest_term()));
  for (Index step = 0; step < max_corrections && !(residual <= goal); ++step) {
    const double size = factors->solve(rows(), solution.residual, 0.0, true, solution.x());
    correction = size / std::max(solution.of_bodies.largest_term(), size);
    if (correction > rough_correction && !is_shifted) break;
    const bool is_last = step == max_corrections - 1 || correction < accurate_correction || is_shifted;
    const double before = residual;
    if (!is_last || is_exact || !(residual < sufficient)) residual = compute_residual(right);
    if (is_last && (residual < sufficient || is_shifted || !(residual < before / 2))) break;
  }
  return {residual, correction};
}

Refinement SpatialEvaluation::solve(View<const double> right, double larger_goal, bool is_shifted) {
  factors->solve(rows(), right, 1.0, false, solution.x());
  return refine(right, std::max(goal, larger_goal), true, is_shifted, compute_residual(right));
}

EvaluationResult SpatialEvaluation::accelerate(const EvaluationInput& in, View<double, 2> acceleration,
                                               View<double> multiplier) {
  const Index status = assemble_and_factorize(in);
  if (status == bad_state) return {bad_state, {}};
  const double residual = substitute();
  const Refinement refinement =
      refine(system.right, goal, !multiplier.empty(), status != block_ldl::regular, residual);
  to_user_order(acceleration, multiplier);
  return {status, refinement};
}

EvaluationResult SpatialEvaluation::accelerate_by_factors(const EvaluationInput& in, View<double, 2> acceleration,
                                                          View<double> multiplier) {
  const Index status = assemble(in);
  if (status != block_ldl::regular) return {status, {}};
  const Refinement refinement = solve(system.right, 0.0, false);
  to_user_order(acceleration, multiplier);
  return {status, refinement};
}

void SpatialEvaluation::to_user_order(View<double, 2> acceleration, View<double> multiplier) const {
  sparsebody::to_user_order(system, solution.x(), acceleration, multiplier, threads);
}

// ---- Bodies within displacement subgroups about the world

namespace {

constexpr double direction_tolerance = 1e-9;  // of directions, and of parts of velocities
constexpr double rounded_velocity = 1e-12;    // rounding of the velocities of bodies at rest [m/s]

// Invariants of a body: two directions and a point of it, in body and in world coordinates. The point must not move
// along `across` by more than `reach` [m].
struct FixedDirections {
  double first[3], first_world[3], second[3], second_world[3];
  double point[3], point_world[3], across[3][3], reach;

  // Displacement of the point from point_world.
  Vec3<double> point_error(const Vec3<double>& x, const Mat3<double>& R) const {
    return x + R * Vec3<double>::load(point) - Vec3<double>::load(point_world);
  }
  bool hold(const Vec3<double>& x, const Mat3<double>& R) const {
    for (const auto& [direction, world] : {std::pair{first, first_world}, std::pair{second, second_world}}) {
      const Vec3<double> error = R * Vec3<double>::load(direction) - Vec3<double>::load(world);
      if (!(std::max({std::abs(error.x), std::abs(error.y), std::abs(error.z)}) <= direction_tolerance)) return false;
    }
    const Vec3<double> error = point_error(x, R);
    for (const auto& line : across)
      if (!(std::abs(dot(Vec3<double>::load(line), error)) <= reach)) return false;
    return true;
  }
};

using Twist = std::array<double, 6>;

Twist load(const double* p) { return {p[0], p[1], p[2], p[3], p[4], p[5]}; }

// Q' v with d columns of Q
template <int d>
Twist transpose_times(const double* Q, const Twist& v) {
  Twist y{};
  for (int r = 0; r < 6; ++r)
    for (int c = 0; c < d; ++c) y[c] += v[r] * Q[6 * r + c];
  return y;
}

template <int d>
Twist times(const double* Q, const Twist& y) {
  Twist v{};
  for (int r = 0; r < 6; ++r)
    for (int c = 0; c < d; ++c) v[r] += Q[6 * r + c] * y[c];
  return v;
}

// Q' v and Q y; of at most three freedoms at half the cost.
Twist on_freedoms(const double* Q, Index d, const Twist& v) {
  return d <= 3 ? transpose_times<3>(Q, v) : transpose_times<6>(Q, v);
}

Twist in_body(const double* Q, Index d, const Twist& y) { return d <= 3 ? times<3>(Q, y) : times<6>(Q, y); }

double largest(const Twist& v) {
  double m = 0.0;
  for (const double a : v) m = std::max(m, std::abs(a));
  return m;
}

}  // namespace

bool ReducedEvaluation::fill_bodies() {
  const SpatialWorkspace& w = unreduced.system;
  double fastest = 0.0, outside = 0.0;
  bool are_fixed = true;
  for (Index i = 0; i < n_bodies(); ++i) {
    const Index d = freedoms[i];
    const double* const Q = &basis(i, 0);
    const Twist f = on_freedoms(Q, d, load(&w.right[6 * i]));
    std::copy(f.begin(), f.end(), &reduced.system.right[6 * i]);
    const BodyUnit& unit = w.unit_of(i);
    Twist v;
    unit.to_unit(w.bodies[i].v).store(v.data());
    fastest = std::max(fastest, unit.mass_inverse * largest(v));  // [m/s]: rotations at the radius of gyration
    if (d == 6) continue;
    const Twist within = in_body(Q, d, on_freedoms(Q, d, v));
    for (int a = 0; a < 6; ++a) v[a] -= within[a];
    outside = std::max(outside, unit.mass_inverse * largest(v));
    const auto& directions = *reinterpret_cast<const FixedDirections*>(&fixed(i, 0));
    are_fixed = are_fixed && directions.hold(w.bodies[i].x, w.bodies[i].R);
  }
  return are_fixed && outside <= direction_tolerance * fastest + rounded_velocity;
}

void ReducedEvaluation::fill_rows() {
  const RowTable &table = unreduced.system.constraints, &to = reduced.system.constraints;
  for (Index j = 0; j < table.n_joints(); ++j) {
    const Index ends[2] = {table.predecessor[j], table.successor[j]};
    const bool is_varying = !has_successor_rows || table.kind[j] == RowTable::general;
    for (Index k = table.first_row[j]; k < Index(table.first_row[j + 1]); ++k)
      for (int side = 0; side < 1 + is_varying; ++side) {
        const Twist row = on_freedoms(&basis(ends[side], 0), freedoms[ends[side]], load(&table.rows(k, side, 0)));
        std::copy(row.begin(), row.end(), &to.rows(k, side, 0));
      }
  }
  has_successor_rows = true;
}

Index ReducedEvaluation::assemble(const EvaluationInput& in) {
  const Index status = unreduced.assemble(in);
  if (status != block_ldl::regular) return status;
  const bool is_within = fill_bodies();
  fill_rows();
  const View<double> right = unreduced.system.right;
  std::copy(right.begin() + 6 * n_bodies(), right.end(), reduced.system.right.begin() + 6 * n_bodies());
  return is_within ? block_ldl::regular : outside_subgroups;
}

EvaluationResult ReducedEvaluation::accelerate(const EvaluationInput& in, View<double, 2> acceleration,
                                               View<double> multiplier) {
  const Index status = assemble(in);
  return solved(status == block_ldl::regular ? factorize() : status, acceleration, multiplier);
}

EvaluationResult ReducedEvaluation::accelerate_by_factors(const EvaluationInput& in, View<double, 2> acceleration,
                                                          View<double> multiplier) {
  return solved(assemble(in), acceleration, multiplier);
}

EvaluationResult ReducedEvaluation::solved(Index status, View<double, 2> acceleration, View<double> multiplier) {
  if (status != block_ldl::regular) return {status, {}};
  const Refinement refinement = solve(reduced.system.right, 0.0, false);
  to_user_order(acceleration, multiplier);
  return {status, refinement};
}

void ReducedEvaluation::to_user_order(View<double, 2> acceleration, View<double> multiplier) {
  const View<double> x = reduced.solution.x(), unreduced_x = unreduced.solution.x();
  const Index n = n_bodies();
  for (Index i = 0; i < n; ++i) {
    const Twist a = in_body(&basis(i, 0), freedoms[i], load(&x[6 * i]));
    std::copy(a.begin(), a.end(), &unreduced_x[6 * i]);
  }
  std::copy(x.begin() + 6 * n, x.end(), unreduced_x.begin() + 6 * n);
  unreduced.to_user_order(acceleration, multiplier);
}

double retract(View<const double, 2> fixed, View<const double, 2> position, View<const double, 2> orientation,
               View<double, 2> retracted) {
  double farthest = 0.0;
  for (Index i = 0; i < fixed.rows(); ++i) {
    const auto& directions = *reinterpret_cast<const FixedDirections*>(&fixed(i, 0));
    const double* const q = &orientation(i, 0);
    const Vec3<double> error = directions.point_error(Vec3<double>::load(&position(i, 0)),
                                                    Mat3<double>::from_quaternion(q[0], q[1], q[2], q[3]));
    for (int a = 0; a < 3; ++a) {
      const double part = dot(Vec3<double>::load(directions.across[a]), error);
      retracted(i, a) = position(i, a) - part;
      farthest = std::max(farthest, std::abs(part) / directions.reach);
    }
  }
  return farthest;
}

}  // namespace sparsebody

#include "dynamics/spatial_evaluation.hpp"

#include <limits>

namespace sparsebody {

Index SpatialEvaluation::assemble_and_factorize(const EvaluationInput& in) {
  Index status = block_ldl::regular;
  for (std::size_t c = 0; c + 1 < chunks.size(); ++c) {
    const Chunk &chunk = chunks[c], &next = chunks[c + 1];
    if (!sparsebody::assemble(system, in, chunk.body, next.body, chunk.joint, next.joint)) return bad_state;
    if (status == block_ldl::regular)
      status = block_ldl::eliminate<double>(tables, rows(), system.right, 0.0, storage, chunk.pivot, next.pivot);
  }
  if (status != block_ldl::regular)
    block_ldl::eliminate<double>(tables, rows(), system.right, block_ldl::dual_shift, storage, 0, chunks.back().pivot);
  return status;
}

// Backward substitution with what the elimination has made of the right-hand side; returns the relative residual.
double SpatialEvaluation::substitute() {
  const View<double> right = system.right, x = solution.x();
  begin_residual(solution);
  for (std::size_t c = chunks.size() - 1; c-- > 0;) {
    const Chunk &chunk = chunks[c], &next = chunks[c + 1];
    block_ldl::substitute<double>(tables, rows(), storage, right, x, chunk.pivot, next.pivot);
    fill_residual(solution, system.kept, n_bodies(), right.data(), chunk.residual_joint, next.residual_joint,
                  chunk.residual_body, next.residual_body);
  }
  return relative_residual(solution, system.kept, n_bodies(), right.data());
}

Refinement SpatialEvaluation::refine(View<const double> right, double goal, bool is_exact, bool is_shifted,
                                     double residual) {
  double correction = 0.0;
  const double sufficient = std::max(
      sufficient_residual, wrench_rounding * relative(ResidualSizes::largest(solution.wrenches),
                                                      solution.primal.largest_term()));
  for (Index step = 0; step < max_corrections && !(residual <= goal); ++step) {
    const double size =
        block_ldl::solve<double>(tables, rows(), storage, solution.residual, 0.0, true, solution.x());
    correction = size / std::max(solution.primal.largest_term(), size);
    if (correction > rough_correction && !is_shifted) break;
    const bool is_last = step == max_corrections - 1 || correction < accurate_correction || is_shifted;
    const double before = residual;
    if (!is_last || is_exact || !(residual < sufficient)) residual = compute_residual(right);
    if (is_last && (residual < sufficient || is_shifted || !(residual < before / 2))) break;
  }
  return {residual, correction};
}

Refinement SpatialEvaluation::solve(View<const double> right, double larger_goal, bool is_shifted) {
  block_ldl::solve<double>(tables, rows(), storage, right, 1.0, false, solution.x());
  return refine(right, std::max(goal, larger_goal), true, is_shifted, compute_residual(right));
}

void SpatialEvaluation::to_user_order(View<double, 2> acceleration, View<double> multiplier) const {
  const Index n = n_bodies();
  const double* const x = solution.x().data();
  const bool is_large = n > large_mechanism;
  for (Index i = 0; i < n; ++i) {
    if (is_large) {
      const Index ahead = std::min(i + bodies_ahead, n - 1);
      const double* const a = acceleration.data() + 6 * Index(system.body[ahead]);
      const double* const unit = system.unit_of(ahead).root;
      for (const double* p : {a, a + 5, x + 6 * ahead, unit, unit + cache_line}) prefetch(p);
    }
    system.unit_of(i).from_unit(Motion<double>::load(x + 6 * i)).store(&acceleration(system.body[i], 0));
  }
  if (multiplier.empty()) return;
  const auto& user_row = system.kept.user_row;
  for (Index k = 0; k < user_row.size(); ++k) multiplier[user_row[k]] = -x[6 * n + k];
}

EvaluationResult SpatialEvaluation::accelerate(const EvaluationInput& in, View<double, 2> acceleration,
                                               View<double> multiplier) {
  const Index status = assemble_and_factorize(in);
  if (status == bad_state) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    return {bad_state, {nan, nan}};
  }
  const double residual = substitute();
  const Refinement refinement =
      refine(system.right, goal, !multiplier.empty(), status != block_ldl::regular, residual);
  to_user_order(acceleration, multiplier);
  return {status, refinement};
}

namespace {

// The body of a joint that comes last; -1 if both are the world, n.
Index last_body(const RowTable& kept, Index joint, Index n) {
  Index last = -1;
  for (const Index body : {Index(kept.predecessor[joint]), Index(kept.successor[joint])})
    if (body < n) last = std::max(last, body);
  return last;
}

// Up to which bodies and joints the panels that each chunk opens are made of.
void set_assembly_ranges(const block_ldl::Tables& tables, const RowTable& kept, Index n, std::vector<Chunk>& chunks) {
  const auto& pivots = tables.pivots;
  Index body = 0, joint = 0;
  for (std::size_t c = 0; c + 2 < chunks.size(); ++c) {
    const Index last_opened = pivots[chunks[c + 1].pivot].first_opened;
    for (Index i = pivots[chunks[c].pivot].first_opened; i < last_opened; ++i) {
      const Index p = tables.opened[i];
      const Index end = Index(pivots[p].natural) + Index(pivots[p].size);
      Index last = end - 6 * n;  // row of A up to which joints are needed
      if (last <= 0) body = std::max(body, end / 6);
      for (Index f = pivots[p].first_fill; f < Index(pivots[p + 1].first_fill); ++f)
        last = std::max(last, Index(tables.fills[f].a_row) + 1);
      for (; joint < kept.n_joints() && Index(kept.first_row[joint]) < last; ++joint)
        body = std::max(body, last_body(kept, joint, n) + 1);
    }
    chunks[c + 1].body = body, chunks[c + 1].joint = joint;
  }
}

// The joints and bodies before which residuals wait for pivots of earlier chunks.
void set_residual_ranges(const block_ldl::Tables& tables, const RowTable& kept, Index n, std::vector<Chunk>& chunks) {
  std::vector<Index> after(n, 0);  // up to the last joint of each body
  for (Index joint = 0; joint < kept.n_joints(); ++joint)
    for (const Index b : {Index(kept.predecessor[joint]), Index(kept.successor[joint])})
      if (b < n) after[b] = joint + 1;
  Index known = 0, joint = 0, body = 0;
  for (std::size_t c = 0; c + 2 < chunks.size(); ++c) {
    for (Index j = chunks[c].pivot; j < chunks[c + 1].pivot; ++j) {
      const Index end = Index(tables.pivots[j].natural) + Index(tables.pivots[j].size);
      Index waiting = 0;
      for (; end <= 6 * n && known < end / 6; ++known) waiting = std::max(waiting, after[known]);
      body = std::max(body, known);
      for (; joint < waiting || (joint < kept.n_joints() && 6 * n + Index(kept.first_row[joint]) < end); ++joint)
        body = std::max(body, last_body(kept, joint, n) + 1);
    }
    chunks[c + 1].residual_joint = joint, chunks[c + 1].residual_body = body;
  }
}

}  // namespace

std::vector<Chunk> make_chunks(const block_ldl::Tables& tables, const RowTable& kept, Index n, Index length) {
  const Index n_pivots = tables.n_pivots(), m = kept.n_joints();
  std::vector<Chunk> chunks(std::max<Index>(1, (n_pivots + length - 1) / length) + 1);
  for (std::size_t c = 0; c < chunks.size(); ++c) chunks[c].pivot = Index(c) * length;
  chunks.back() = {n_pivots, n, m, m, n};
  set_assembly_ranges(tables, kept, n, chunks);
  set_residual_ranges(tables, kept, n, chunks);
  return chunks;
}

}  // namespace sparsebody

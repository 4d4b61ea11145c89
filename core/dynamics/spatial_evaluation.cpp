#include "dynamics/spatial_evaluation.hpp"

#include "base/threads.hpp"

namespace sparsebody {

namespace {

constexpr Index chunks_ahead = 4;  // of the slower one of two threads

// Fills rows and right-hand side for ranges of bodies and joints; returns whether the state is one.
bool assemble(SpatialWorkspace& w, const EvaluationInput& in, const Chunk& chunk, const Chunk& next) {
  const bool is_sound = fill_bodies(w, in, chunk.body, next.body).is_sound();
  fill_rows(w, w.kept, in, w.right.data() + 6 * w.n_bodies(), chunk.joint, next.joint);
  return is_sound;
}

// Calls visit(begin, end) for what is left of [first, last) without the numbers of a sorted list, backwards.
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

}  // namespace

Index SpatialEvaluation::assemble(const EvaluationInput& in) {
  return assemble_all(system, in, threads).is_sound() ? block_ldl::regular : bad_state;
}

Index SpatialEvaluation::assemble_and_eliminate(const EvaluationInput& in, Index part, const block_ldl::Storage& storage,
                                                std::atomic<bool>& is_sound) {
  const std::vector<Chunk>& chunks = schedule.parts[part];
  const block_ldl::Layout& layout = factors->layout;
  const bool is_assembled = part > 0 && part == layout.n_parts();
  std::vector<std::uint8_t> is_open(chunks.size());
  Index status = block_ldl::regular;
  run_pipeline(
      Index(chunks.size()) - 1, factors->threads_of_part(), chunks_ahead,
      [&](Index c, Index n_ahead) {
        const Chunk &chunk = chunks[c], &next = chunks[c + 1];
        if (!is_assembled && !sparsebody::assemble(system, in, chunk, next)) is_sound = false;
        is_open[c] = n_ahead > chunks_ahead / 2;  // there is time for it
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
    fill_residual(solution, system.kept, n_bodies(), right.data(), first_joint, last_joint, first_body, last_body);
  };
  for (std::size_t k = joints.size(); k-- > 0;) border(joints[k], joints[k] + 1, 0, 0);
  for (std::size_t k = bodies.size(); k-- > 0;) border(0, 0, bodies[k], bodies[k] + 1);
  return relative_residual(solution, system.kept, n_bodies(), right.data());
}

// Of the joints and bodies of a chunk that belong to no other part.
static void fill_inner_residual(const SpatialEvaluation& evaluation, SolutionWorkspace& w, View<const double> right,
                                const Chunk& chunk, const Chunk& next) {
  const RowTable& kept = evaluation.system.kept;
  const Index n = evaluation.n_bodies();
  for_runs(evaluation.schedule.border_joints, chunk.residual_joint, next.residual_joint,
           [&](Index first, Index last) { fill_residual(w, kept, n, right.data(), first, last, 0, 0); });
  for_runs(evaluation.schedule.border_bodies, chunk.residual_body, next.residual_body,
           [&](Index first, Index last) { fill_residual(w, kept, n, right.data(), 0, 0, first, last); });
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
                                                      solution.primal.largest_term()));
  for (Index step = 0; step < max_corrections && !(residual <= goal); ++step) {
    const double size = factors->solve(rows(), solution.residual, 0.0, true, solution.x());
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

namespace {

// The bodies and joints of one part.
struct Range {
  Index body, joint, end_body, end_joint;

  bool has_body(Index b) const { return body <= b && b < end_body; }
};

// The body of a joint that comes last in a part; -1 if none is there.
Index last_body(const RowTable& kept, Index joint, const Range& range) {
  Index last = -1;
  for (const Index body : {Index(kept.predecessor[joint]), Index(kept.successor[joint])})
    if (range.has_body(body)) last = std::max(last, body);
  return last;
}

// Up to which bodies and joints the panels that each chunk opens are made of.
void set_assembly_ranges(const block_ldl::Layout& layout, const RowTable& kept, Index n, const Range& range,
                         std::vector<Chunk>& chunks) {
  const auto& pivots = layout.pivots;
  Index body = range.body, joint = range.joint;
  for (std::size_t c = 0; c + 2 < chunks.size(); ++c) {
    const Index last_opened = pivots[chunks[c + 1].pivot].first_opened;
    for (Index i = pivots[chunks[c].pivot].first_opened; i < last_opened; ++i) {
      const Index p = layout.opened[i];
      if (pivots[p].kind == block_ldl::contribution) continue;
      const Index end = Index(pivots[p].natural) + Index(pivots[p].size);
      Index last = end - 6 * n;  // row of A up to which joints are needed
      if (last <= 0) body = std::max(body, end / 6);
      for (Index f = pivots[p].first_fill; f < Index(pivots[p + 1].first_fill); ++f)
        last = std::max(last, Index(layout.fills[f].a_row) + 1);
      for (; joint < range.end_joint && Index(kept.first_row[joint]) < last; ++joint)
        body = std::max(body, last_body(kept, joint, range) + 1);
    }
    chunks[c + 1].body = body, chunks[c + 1].joint = joint;
  }
}

// The joints and bodies before which residuals wait for pivots of earlier chunks.
void set_residual_ranges(const block_ldl::Layout& layout, const RowTable& kept, Index n, const Range& range,
                         std::vector<Chunk>& chunks) {
  std::vector<Index> after(range.end_body - range.body, range.joint);  // up to the last joint of each body
  for (Index joint = range.joint; joint < range.end_joint; ++joint)
    for (const Index b : {Index(kept.predecessor[joint]), Index(kept.successor[joint])})
      if (range.has_body(b)) after[b - range.body] = joint + 1;
  Index known = range.body, joint = range.joint, body = range.body;
  for (std::size_t c = 0; c + 2 < chunks.size(); ++c) {
    for (Index j = chunks[c].pivot; j < chunks[c + 1].pivot; ++j) {
      const Index end = Index(layout.pivots[j].natural) + Index(layout.pivots[j].size);
      Index waiting = range.joint;
      for (; end <= 6 * n && known < end / 6; ++known) waiting = std::max(waiting, after[known - range.body]);
      body = std::max(body, known);
      for (; joint < waiting || (joint < range.end_joint && 6 * n + Index(kept.first_row[joint]) < end); ++joint)
        body = std::max(body, last_body(kept, joint, range) + 1);
    }
    chunks[c + 1].residual_joint = joint, chunks[c + 1].residual_body = body;
  }
}

// The bodies and joints of each part: they are numbered as they are eliminated.
std::vector<Range> make_ranges(const block_ldl::Layout& layout, const RowTable& kept, Index n) {
  std::vector<Range> ranges;
  Index body = 0, joint = 0;
  for (const block_ldl::Part& part : layout.parts) {
    Range range{body, joint, body, joint};
    for (Index j = part.begin; j < part.contributions; ++j) {
      const Index end = Index(layout.pivots[j].natural) + Index(layout.pivots[j].size);
      if (end <= 6 * n) range.end_body = std::max(range.end_body, end / 6);
      else while (range.end_joint < kept.n_joints() && 6 * n + Index(kept.first_row[range.end_joint]) < end) ++range.end_joint;
    }
    if (&part == &layout.parts.back()) range.end_body = n, range.end_joint = kept.n_joints();
    ranges.push_back(range);
    body = range.end_body, joint = range.end_joint;
  }
  return ranges;
}

}  // namespace

Schedule make_schedule(const block_ldl::Layout* factors_layout, const RowTable& kept, Index n, Index chunk_length) {
  Schedule schedule;
  if (factors_layout == nullptr) {
    schedule.parts = {{{}, {0, n, kept.n_joints(), kept.n_joints(), n}}};
    return schedule;
  }
  const block_ldl::Layout& layout = *factors_layout;
  const std::vector<Range> ranges = make_ranges(layout, kept, n);
  for (std::size_t p = 0; p < ranges.size(); ++p) {
    const Range& range = ranges[p];
    const block_ldl::Part& part = layout.parts[p];
    const Index n_pivots = part.contributions - part.begin;
    std::vector<Chunk> chunks(std::max<Index>(1, (n_pivots + chunk_length - 1) / chunk_length) + 1);
    for (std::size_t c = 0; c < chunks.size(); ++c) chunks[c].pivot = part.begin + Index(c) * chunk_length;
    chunks.front() = {part.begin, range.body, range.joint, range.joint, range.body};
    chunks.back() = {part.end, range.end_body, range.end_joint, range.end_joint, range.end_body};
    set_assembly_ranges(layout, kept, n, range, chunks);
    set_residual_ranges(layout, kept, n, range, chunks);
    schedule.parts.push_back(std::move(chunks));
  }
  if (layout.n_parts() == 0) return schedule;

  const Range& ancestors = ranges.back();
  std::vector<bool> is_border(n + 1);
  for (Index joint = 0; joint < kept.n_joints(); ++joint) {
    const Index bodies[] = {Index(kept.predecessor[joint]), Index(kept.successor[joint])};
    if (joint < ancestors.joint && !ancestors.has_body(bodies[0]) && !ancestors.has_body(bodies[1])) continue;
    schedule.border_joints.push_back(joint);
    for (const Index b : bodies) {
      if (joint >= ancestors.joint && b < ancestors.body) schedule.shared_bodies.push_back(b);
      is_border[b] = true;
    }
  }
  for (Index b = 0; b < n; ++b)
    if (is_border[b] || b >= ancestors.body) schedule.border_bodies.push_back(b);
  return schedule;
}

}  // namespace sparsebody

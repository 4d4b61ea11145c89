#include "dynamics/schedule.hpp"

namespace sparsebody {

namespace {

// The bodies and joints of one part.
struct Range {
  Index body, joint, end_body, end_joint;

  bool has_body(Index b) const { return body <= b && b < end_body; }
};

// The last of a joint's bodies that belong to a part; -1 if neither does.
Index last_body(const RowTable& table, Index joint, const Range& range) {
  Index last = -1;
  for (const Index body : {Index(table.predecessor[joint]), Index(table.successor[joint])})
    if (range.has_body(body)) last = std::max(last, body);
  return last;
}

// The ends of the bodies and joints that each chunk assembles: those whose entries its panels hold. Chunk c opens the
// panels that its pivots write into first; their entries come from the pivots themselves and from rows of A in the
// fill.
void set_assembly_ranges(const block_ldl::Layout& layout, const RowTable& table, Index n, const Range& range,
                         std::vector<Chunk>& chunks) {
  const auto& pivots = layout.pivots;
  Index body = range.body, joint = range.joint;  // bodies and joints before these are assembled
  for (std::size_t c = 0; c + 2 < chunks.size(); ++c) {
    const Index last_opened = pivots[chunks[c + 1].pivot].first_opened;
    for (Index i = pivots[chunks[c].pivot].first_opened; i < last_opened; ++i) {
      const Index p = layout.opened[i];
      if (pivots[p].kind == block_ldl::contribution) continue;
      const Index end = Index(pivots[p].natural) + Index(pivots[p].size);
      Index last = end - 6 * n;  // row of A up to which joints are needed; the pivot is a body if it is not positive
      if (last <= 0) body = std::max(body, end / 6);
      for (Index f = pivots[p].first_fill; f < Index(pivots[p + 1].first_fill); ++f)
        last = std::max(last, Index(layout.fills[f].a_row) + 1);
      for (; joint < range.end_joint && Index(table.first_row[joint]) < last; ++joint)
        body = std::max(body, last_body(table, joint, range) + 1);
    }
    chunks[c + 1].body = body, chunks[c + 1].joint = joint;
  }
}

// The beginnings of the joints and bodies whose residuals each chunk computes. Going back, a residual can be computed
// as soon as the solution is known at its row and at all that the row couples to; those before a chunk's beginning wait
// for pivots of earlier chunks.
void set_residual_ranges(const block_ldl::Layout& layout, const RowTable& table, Index n, const Range& range,
                         std::vector<Chunk>& chunks) {
  std::vector<Index> end_joint(range.end_body - range.body, range.joint);  // after the last joint of each body
  for (Index joint = range.joint; joint < range.end_joint; ++joint)
    for (const Index b : {Index(table.predecessor[joint]), Index(table.successor[joint])})
      if (range.has_body(b)) end_joint[b - range.body] = joint + 1;
  Index solved_body = range.body, joint = range.joint, body = range.body;
  for (std::size_t c = 0; c + 2 < chunks.size(); ++c) {
    for (Index j = chunks[c].pivot; j < chunks[c + 1].pivot; ++j) {
      const Index end = Index(layout.pivots[j].natural) + Index(layout.pivots[j].size);
      Index end_waiting = range.joint;
      for (; end <= 6 * n && solved_body < end / 6; ++solved_body)
        end_waiting = std::max(end_waiting, end_joint[solved_body - range.body]);
      body = std::max(body, solved_body);
      for (; joint < end_waiting || (joint < range.end_joint && 6 * n + Index(table.first_row[joint]) < end); ++joint)
        body = std::max(body, last_body(table, joint, range) + 1);
    }
    chunks[c + 1].residual_joint = joint, chunks[c + 1].residual_body = body;
  }
}

// The bodies and joints of each part, consecutive ones: a mechanism's are numbered in the order of their elimination.
std::vector<Range> make_ranges(const block_ldl::Layout& layout, const RowTable& table, Index n) {
  std::vector<Range> ranges;
  Index body = 0, joint = 0;
  for (const block_ldl::Part& part : layout.parts) {
    Range range{body, joint, body, joint};
    for (Index j = part.begin; j < part.contributions; ++j) {
      const Index end = Index(layout.pivots[j].natural) + Index(layout.pivots[j].size);
      if (end <= 6 * n) range.end_body = std::max(range.end_body, end / 6);
      else while (range.end_joint < table.n_joints() && 6 * n + Index(table.first_row[range.end_joint]) < end) ++range.end_joint;
    }
    if (&part == &layout.parts.back()) range.end_body = n, range.end_joint = table.n_joints();
    ranges.push_back(range);
    body = range.end_body, joint = range.end_joint;
  }
  return ranges;
}

}  // namespace

// Chunks of `chunk_length` pivots of each part of the factors of [1 A'; A 0], so that bodies and joints are still in
// the cache when their rows are eliminated. Going forwards, a chunk assembles them and eliminates its pivots; going
// backwards, it computes x at its pivots and the residual right - [1 A'; A 0] x wherever x is known, except at the
// border of parts.
Schedule make_schedule(const block_ldl::Layout* factors_layout, const RowTable& table, Index n, Index chunk_length) {
  Schedule schedule;
  if (factors_layout == nullptr) {
    schedule.parts = {{{}, {0, n, table.n_joints(), table.n_joints(), n}}};
    return schedule;
  }
  const block_ldl::Layout& layout = *factors_layout;
  const std::vector<Range> ranges = make_ranges(layout, table, n);
  for (std::size_t p = 0; p < ranges.size(); ++p) {
    const Range& range = ranges[p];
    const block_ldl::Part& part = layout.parts[p];
    const Index n_pivots = part.contributions - part.begin;
    std::vector<Chunk> chunks(std::max<Index>(1, (n_pivots + chunk_length - 1) / chunk_length) + 1);
    for (std::size_t c = 0; c < chunks.size(); ++c) chunks[c].pivot = part.begin + Index(c) * chunk_length;
    chunks.front() = {part.begin, range.body, range.joint, range.joint, range.body};
    chunks.back() = {part.end, range.end_body, range.end_joint, range.end_joint, range.end_body};
    set_assembly_ranges(layout, table, n, range, chunks);
    set_residual_ranges(layout, table, n, range, chunks);
    schedule.parts.push_back(std::move(chunks));
  }
  if (layout.n_parts() == 0) return schedule;

  const Range& ancestors = ranges.back();
  std::vector<bool> is_border(n + 1);
  for (Index joint = 0; joint < table.n_joints(); ++joint) {
    const Index bodies[] = {Index(table.predecessor[joint]), Index(table.successor[joint])};
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

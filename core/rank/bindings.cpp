#include "python/signature.hpp"
#include "rank/circulations.hpp"
#include "rank/multifrontal_qr.hpp"
#include "rank/pebble_game.hpp"
#include "rank/schur_pivots.hpp"
#include "rank/small_rank.hpp"

namespace sparsebody {

template <OneOf<PartOfRows, PartTree, CycleJoints, JointFrames> Struct>
inline constexpr bool is_named_tuple<Struct> = true;

void bind_rank(nb::module_& m) {
  // Parts of the rows
  def_kernel<"touched_blocks(ends, dual, label)">(m, &touched_blocks);
  def_kernel<"sorted_by_first_end(ends, dual, label, n_primal)">(m, &sorted_by_first_end);
  def_kernel<"unit_rows(rows, index, ends, first_row, sizes, threads)">(m, &unit_rows);
  def_kernel<"equilibrate(rows, ends, first_row, sizes, passes, own_pivot, largest_pivot, threads)">(m, &equilibrate);

  // Decisions
  def_kernel<"small_remainders(part, component_start, tolerance)">(m, &small_remainders);
  def_kernel<"schur_pivots(order, width, part, delta)">(m, &schur_pivots);
  def_kernel<"largest_gap(pivots, delta)">(m, &largest_gap);
  def_kernel<"independent_bars(nodes, bars, n_nodes, k)">(m, &independent_bars);
  def_kernel<"row_remainders(tree, part, tolerance, threads)">(m, &row_remainders);
  def_kernel<"remainder_flops(tree, part)">(m, &remainder_flops);

  // Circulations
  def_kernel<"joint_freedoms(first_row, subspace, sizes, tolerance, noise)">(m, &joint_freedoms);
  def_kernel<"cycle_wrenches(cycles, frames, free, n_free, tolerance, noise)">(m, &cycle_wrenches);
  def_kernel<"circulation_samples(cycles, sign, frames, dimension, wrench, center, length, weight)">(
      m, &circulation_samples);
}

}  // namespace sparsebody

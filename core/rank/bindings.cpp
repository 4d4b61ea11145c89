#include "python/named_tuple.hpp"
#include "rank/circulations.hpp"
#include "rank/decisions.hpp"
#include "rank/front_qr.hpp"
#include "rank/multifrontal_qr.hpp"
#include "rank/rows.hpp"
#include "rank/saddle.hpp"

namespace sparsebody {

template <> inline constexpr bool is_named_tuple<Saddle> = true;
template <> inline constexpr bool is_named_tuple<PartOfRows> = true;
template <> inline constexpr bool is_named_tuple<PartTree> = true;
template <> inline constexpr bool is_named_tuple<Sweep> = true;
template <> inline constexpr bool is_named_tuple<CycleJoints> = true;
template <> inline constexpr bool is_named_tuple<JointFrames> = true;

void bind_rank(nb::module_& m) {
  using namespace nb::literals;

  // Products with [D A'; A 0]
  def_kernel(m, "subtract_product", &subtract_product, "matrix"_a, "x"_a, "residual"_a);
  def_kernel(m, "residual_scales", &residual_scales, "matrix"_a, "inverse"_a, "x"_a, "rhs"_a);
  def_kernel(m, "relative_size", &relative_size, "residual"_a, "n_primal_rows"_a, "scales"_a);
  def_kernel(m, "exact_residual", &exact_residual, "indptr"_a, "indices"_a, "data"_a, "right"_a, "high"_a, "low"_a);

  // Parts of the rows
  def_kernel(m, "touched_blocks", &touched_blocks, "ends"_a, "dual"_a, "label"_a);
  def_kernel(m, "sorted_by_first_end", &sorted_by_first_end, "ends"_a, "dual"_a, "label"_a, "n_primal"_a);
  def_kernel(m, "unit_rows", &unit_rows, "rows"_a, "index"_a, "ends"_a, "first_row"_a, "sizes"_a, "threads"_a);
  def_kernel(m, "equilibrate", &equilibrate, "rows"_a, "ends"_a, "first_row"_a, "sizes"_a, "passes"_a, "own_pivot"_a,
             "largest_pivot"_a, "threads"_a);

  // Decisions
  def_kernel(m, "small_components", &small_components, "part"_a, "component_start"_a, "tolerance"_a, "noise"_a,
             "share"_a);
  def_kernel(m, "schur_pivots", &schur_pivots, "sweep"_a, "part"_a, "delta"_a);
  def_kernel(m, "largest_gap", &largest_gap, "pivots"_a, "delta"_a);
  def_kernel(m, "independent_bars", &independent_bars, "nodes"_a, "bars"_a, "n_nodes"_a, "k"_a);
  def_kernel(m, "halved_parts", &halved_parts, "n"_a);
  def_kernel(m, "row_remainders", &row_remainders, "tree"_a, "part"_a, "tolerance"_a, "threads"_a);
  def_kernel(m, "remainder_flops", &remainder_flops, "tree"_a, "ends"_a, "first_row"_a);
  def_kernel(m, "decided_front", &decided_front, "front"_a, "joint"_a, "ready"_a, "tolerance"_a);

  // Circulations
  def_kernel(m, "joint_freedoms", &joint_freedoms, "first_row"_a, "subspace"_a, "sizes"_a, "tolerance"_a, "noise"_a);
  def_kernel(m, "cycle_wrenches", &cycle_wrenches, "cycles"_a, "frames"_a, "free"_a, "n_free"_a, "tolerance"_a,
             "noise"_a);
  def_kernel(m, "circulation_samples", &circulation_samples, "cycles"_a, "sign"_a, "frames"_a, "dimension"_a,
             "wrench"_a, "center"_a, "length"_a, "weight"_a);
}

}  // namespace sparsebody

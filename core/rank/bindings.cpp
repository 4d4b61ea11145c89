#include "python/arrays.hpp"
#include "rank/circulations.hpp"
#include "rank/decisions.hpp"
#include "rank/front_qr.hpp"
#include "rank/multifrontal_qr.hpp"
#include "rank/rows.hpp"
#include "rank/saddle.hpp"

namespace sparsebody {

namespace {

using namespace nb::literals;
using Indices = View<const Index>;
using Indices2 = View<const Index, 2>;
using Doubles = View<const double>;
using Doubles2 = View<const double, 2>;
using Doubles3 = View<const double, 3>;

void bind_saddle(nb::module_& module) {
  def_kernel(module, "subtract_product",
             [](Indices offsets, Indices2 ends, Doubles3 diagonal, Doubles3 rows, Doubles2 x,
                View<double, 2> residual) { subtract_product({offsets, ends, diagonal, rows}, x, residual); },
             "offsets"_a, "ends"_a, "diagonal"_a, "rows"_a, "x"_a, "residual"_a);
  def_kernel(module, "residual_scales",
             [](Indices offsets, Indices2 ends, Doubles3 diagonal, Doubles3 rows, Doubles3 inverse, Doubles2 x,
                Doubles2 rhs) { return residual_scales({offsets, ends, diagonal, rows}, inverse, x, rhs); },
             "offsets"_a, "ends"_a, "diagonal"_a, "rows"_a, "inverse"_a, "x"_a, "rhs"_a);
  def_kernel(module, "relative_size", &relative_size, "residual"_a, "n_primal_rows"_a,
             "scales"_a);
  def_kernel(module, "exact_residual", &exact_residual, "indptr"_a, "indices"_a, "data"_a,
             "right"_a, "high"_a, "low"_a);
}

void bind_rows(nb::module_& module) {
  def_kernel(module, "touched_blocks", &touched_blocks, "ends"_a, "dual"_a, "label"_a);
  def_kernel(module, "sorted_by_first_end", &sorted_by_first_end, "ends"_a, "dual"_a, "label"_a,
             "n_primal"_a);
  def_kernel(module, "unit_rows", &unit_rows, "rows"_a, "index"_a, "ends"_a,
             "first_row"_a, "sizes"_a, "threads"_a);
  def_kernel(module, "equilibrate", &equilibrate, "rows"_a, "ends"_a, "first_row"_a,
             "sizes"_a, "passes"_a, "own_pivot"_a, "largest_pivot"_a, "threads"_a);
}

void bind_decisions(nb::module_& module) {
  def_kernel(module, "small_components", &small_components, "rows"_a, "ends"_a, "first_row"_a,
             "component_start"_a, "tolerance"_a, "noise"_a, "share"_a);
  def_kernel(module, "schur_pivots",
             [](Indices order, Indices entering, Indices start, Indices last, Index width, Indices2 ends,
                Indices first_row, Indices sizes, Doubles3 rows, double delta) {
               return schur_pivots({order, entering, start, last, width}, ends, first_row, sizes, rows, delta);
             },
             "order"_a, "entering"_a, "start"_a, "last"_a, "width"_a, "ends"_a, "first_row"_a, "sizes"_a, "rows"_a,
             "delta"_a);
  def_kernel(module, "largest_gap", &largest_gap, "pivots"_a, "delta"_a);
  def_kernel(module, "independent_bars", &independent_bars, "nodes"_a, "bars"_a, "n_nodes"_a,
             "k"_a);
}

void bind_qr(nb::module_& module) {
  def_kernel(module, "halved_parts", &halved_parts, "n"_a);
  def_kernel(module, "row_remainders",
             [](Indices parent, Indices first, Indices part_of_body, Indices2 ends, Indices first_row, Indices sizes,
                Doubles3 rows, double tolerance, int threads) {
               return row_remainders({parent, first, part_of_body}, ends, first_row, sizes, rows, tolerance, threads);
             },
             "parent"_a, "first"_a, "part_of_body"_a, "ends"_a, "first_row"_a, "sizes"_a, "rows"_a, "tolerance"_a,
             "threads"_a);
  def_kernel(module, "remainder_flops",
             [](Indices parent, Indices first, Indices part_of_body, Indices2 ends, Indices first_row) {
               return remainder_flops({parent, first, part_of_body}, ends, first_row);
             },
             "parent"_a, "first"_a, "part_of_body"_a, "ends"_a, "first_row"_a);
  def_kernel(module, "decided_front", &decided_front, "front"_a, "joint"_a, "ready"_a,
             "tolerance"_a);
}

void bind_circulations(nb::module_& module) {
  def_kernel(module, "joint_freedoms", &joint_freedoms, "first_row"_a, "subspace"_a, "sizes"_a,
             "tolerance"_a, "noise"_a);
  def_kernel(module, "cycle_wrenches",
             [](Indices start, Indices joint, Doubles3 axes, Doubles2 origin, Doubles sizes, Doubles3 free,
                Indices n_free, double tolerance, double noise) {
               return cycle_wrenches({start, joint}, {axes, origin, sizes}, free, n_free, tolerance, noise);
             },
             "start"_a, "joint"_a, "axes"_a, "origin"_a, "sizes"_a, "free"_a, "n_free"_a, "tolerance"_a, "noise"_a);
  def_kernel(module, "circulation_samples",
             [](Indices start, Indices joint, Indices sign, Doubles3 axes, Doubles2 origin, Doubles sizes,
                Indices dimension, Doubles3 wrench, Doubles2 center, Doubles length, Doubles3 weight) {
               return circulation_samples({start, joint}, sign, {axes, origin, sizes}, dimension, wrench, center,
                                          length, weight);
             },
             "start"_a, "joint"_a, "sign"_a, "axes"_a, "origin"_a, "sizes"_a, "dimension"_a, "wrench"_a, "center"_a,
             "length"_a, "weight"_a);
}

}  // namespace

void bind_rank(nb::module_& module) {
  bind_saddle(module);
  bind_rows(module);
  bind_decisions(module);
  bind_qr(module);
  bind_circulations(module);
}

}  // namespace sparsebody

#include "python/arrays.hpp"
#include "rank/circulations.hpp"
#include "rank/front_qr.hpp"
#include "rank/multifrontal_qr.hpp"
#include "rank/pebble_game.hpp"
#include "rank/rows.hpp"
#include "rank/saddle.hpp"
#include "rank/schur_pivots.hpp"
#include "rank/small_rank.hpp"

namespace sparsebody {

void bind_rank_band(nb::module_& module);

namespace {

using Indices = View<const Index>;
using Indices2 = View<const Index, 2>;
using Doubles = View<const double>;
using Doubles2 = View<const double, 2>;
using Doubles3 = View<const double, 3>;

void bind_saddle(nb::module_& module) {
  def_kernel(module, "subtract_product",
             [](Indices offsets, Indices2 ends, Doubles3 diagonal, Doubles3 rows, Doubles2 x,
                View<double, 2> residual) { subtract_product({offsets, ends, diagonal, rows}, x, residual); },
             nb::arg("offsets"), nb::arg("ends"), nb::arg("diagonal"), nb::arg("rows"), nb::arg("x"),
             nb::arg("residual"));
  def_kernel(module, "residual_scales",
             [](Indices offsets, Indices2 ends, Doubles3 diagonal, Doubles3 rows, Doubles3 inverse, Doubles2 x,
                Doubles2 rhs) { return residual_scales({offsets, ends, diagonal, rows}, inverse, x, rhs); },
             nb::arg("offsets"), nb::arg("ends"), nb::arg("diagonal"), nb::arg("rows"), nb::arg("inverse"),
             nb::arg("x"), nb::arg("rhs"));
  def_kernel(module, "relative_size", &relative_size, nb::arg("residual"), nb::arg("n_primal_rows"),
             nb::arg("scales"));
  def_kernel(module, "exact_residual", &exact_residual, nb::arg("indptr"), nb::arg("indices"), nb::arg("data"),
             nb::arg("right"), nb::arg("high"), nb::arg("low"));
}

void bind_rows(nb::module_& module) {
  def_kernel(module, "touched_blocks", &touched_blocks, nb::arg("ends"), nb::arg("dual"), nb::arg("label"));
  def_kernel(module, "sorted_by_first_end", &sorted_by_first_end, nb::arg("ends"), nb::arg("dual"), nb::arg("label"),
             nb::arg("n_primal"));
  def_kernel(module, "unit_rows", &unit_rows, nb::arg("rows"), nb::arg("index"), nb::arg("ends"),
             nb::arg("first_row"), nb::arg("sizes"), nb::arg("threads"));
  def_kernel(module, "equilibrate", &equilibrate, nb::arg("rows"), nb::arg("ends"), nb::arg("first_row"),
             nb::arg("sizes"), nb::arg("passes"), nb::arg("own_pivot"), nb::arg("largest_pivot"), nb::arg("threads"));
}

void bind_decisions(nb::module_& module) {
  def_kernel(module, "small_components", &small_components, nb::arg("rows"), nb::arg("ends"), nb::arg("first_row"),
             nb::arg("component_start"), nb::arg("tolerance"), nb::arg("noise"), nb::arg("share"));
  def_kernel(module, "schur_pivots",
             [](Indices order, Indices entering, Indices start, Indices last, Index width, Indices2 ends,
                Indices first_row, Indices sizes, Doubles3 rows, double delta) {
               return schur_pivots({order, entering, start, last, width}, ends, first_row, sizes, rows, delta);
             },
             nb::arg("order"), nb::arg("entering"), nb::arg("start"), nb::arg("last"), nb::arg("width"),
             nb::arg("ends"), nb::arg("first_row"), nb::arg("sizes"), nb::arg("rows"), nb::arg("delta"));
  def_kernel(module, "largest_gap", &largest_gap, nb::arg("pivots"), nb::arg("delta"));
  def_kernel(module, "independent_bars", &independent_bars, nb::arg("nodes"), nb::arg("bars"), nb::arg("n_nodes"),
             nb::arg("k"));
}

void bind_qr(nb::module_& module) {
  def_kernel(module, "halved_parts", &halved_parts, nb::arg("n"));
  def_kernel(module, "row_remainders",
             [](Indices parent, Indices first, Indices part_of_body, Indices2 ends, Indices first_row, Indices sizes,
                Doubles3 rows, double tolerance, int threads) {
               return row_remainders({parent, first, part_of_body}, ends, first_row, sizes, rows, tolerance, threads);
             },
             nb::arg("parent"), nb::arg("first"), nb::arg("part_of_body"), nb::arg("ends"), nb::arg("first_row"),
             nb::arg("sizes"), nb::arg("rows"), nb::arg("tolerance"), nb::arg("threads"));
  def_kernel(module, "remainder_flops",
             [](Indices parent, Indices first, Indices part_of_body, Indices2 ends, Indices first_row) {
               return remainder_flops({parent, first, part_of_body}, ends, first_row);
             },
             nb::arg("parent"), nb::arg("first"), nb::arg("part_of_body"), nb::arg("ends"), nb::arg("first_row"));
  def_kernel(module, "decided_front", &decided_front, nb::arg("front"), nb::arg("joint"), nb::arg("ready"),
             nb::arg("tolerance"));
}

void bind_circulations(nb::module_& module) {
  def_kernel(module, "joint_freedoms", &joint_freedoms, nb::arg("first_row"), nb::arg("subspace"), nb::arg("sizes"),
             nb::arg("tolerance"), nb::arg("noise"));
  def_kernel(module, "cycle_wrenches",
             [](Indices start, Indices joint, Doubles3 axes, Doubles2 origin, Doubles sizes, Doubles3 free,
                Indices n_free, double tolerance, double noise) {
               return cycle_wrenches({start, joint}, {axes, origin, sizes}, free, n_free, tolerance, noise);
             },
             nb::arg("start"), nb::arg("joint"), nb::arg("axes"), nb::arg("origin"), nb::arg("sizes"),
             nb::arg("free"), nb::arg("n_free"), nb::arg("tolerance"), nb::arg("noise"));
  def_kernel(module, "circulation_samples",
             [](Indices start, Indices joint, Indices sign, Doubles3 axes, Doubles2 origin, Doubles sizes,
                Indices dimension, Doubles3 wrench, Doubles2 center, Doubles length, Doubles3 weight) {
               return circulation_samples({start, joint}, sign, {axes, origin, sizes}, dimension, wrench, center,
                                          length, weight);
             },
             nb::arg("start"), nb::arg("joint"), nb::arg("sign"), nb::arg("axes"), nb::arg("origin"),
             nb::arg("sizes"), nb::arg("dimension"), nb::arg("wrench"), nb::arg("center"), nb::arg("length"),
             nb::arg("weight"));
}

}  // namespace

void bind_rank(nb::module_& module) {
  bind_rank_band(module);
  bind_saddle(module);
  bind_rows(module);
  bind_decisions(module);
  bind_qr(module);
  bind_circulations(module);
}

}  // namespace sparsebody

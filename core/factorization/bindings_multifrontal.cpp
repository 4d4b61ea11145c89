#include "factorization/multifrontal.hpp"
#include "python/signature.hpp"

namespace sparsebody {

void bind_factorization_multifrontal(nb::module_& m) {
  using multifrontal::Multifrontal;
  nb::class_<Multifrontal> type(m, "Multifrontal", "LDL' of [1 A'; A 0] by dense fronts of supernodes.");
  def_kernel<"__init__(offsets, ends, order)">(type, construct<Multifrontal, View<const Index>, View<const Index, 2>, View<const Index>>);
  def_kernel<"factorize(rows)">(type, &Multifrontal::factorize,
                                "Return regular, or the first row whose pivot may be nothing but rounding.");
  def_kernel<"factorize_shifted(rows, delta)">(type, &Multifrontal::factorize_shifted, "Factorize [1 A'; A -delta].");
  def_kernel<"solve(rows, rhs, x)">(type, &Multifrontal::solve, "Fill x for rhs (n_rows,).");
  def_kernel<"smallest_pivot(rows)">(
      type, &Multifrontal::smallest_pivot,
      "Return the smallest sine of an angle between a row and those eliminated before it, and that row.");
  def<"front_shapes()">(type, &Multifrontal::front_shapes, "Return (n_supernodes, 2): pivots and other rows.");
  type.def_rw("threads", &Multifrontal::threads);
  type.def_ro_static("regular", &Multifrontal::regular);
}

}  // namespace sparsebody

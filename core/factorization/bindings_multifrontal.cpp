#include "factorization/multifrontal.hpp"
#include "python/arrays.hpp"

namespace sparsebody {

void bind_factorization_multifrontal(nb::module_& module) {
  using namespace nb::literals;
  using multifrontal::Multifrontal;
  using Release = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<Multifrontal>(module, "Multifrontal", "LDL' of [1 A'; A 0] by dense fronts of supernodes.")
      .def(nb::init<View<const Index>, View<const Index, 2>, View<const Index>>(), "offsets"_a, "ends"_a, "order"_a,
           Release())
      .def_ro_static("regular", &Multifrontal::regular)
      .def("factorize", &Multifrontal::factorize, "rows"_a, Release(),
           "Return regular, or the first row whose pivot may be nothing but rounding.")
      .def("factorize_shifted", &Multifrontal::factorize_shifted, "rows"_a, "delta"_a, Release(),
           "Factorize [1 A'; A -delta].")
      .def("solve", &Multifrontal::solve, "rows"_a, "rhs"_a, "x"_a, Release(), "Fill x for rhs (n_rows,).")
      .def("smallest_pivot", &Multifrontal::smallest_pivot, "rows"_a, Release(),
           "Return the smallest sine of an angle between a row and those eliminated before it, and that row.")
      .def_rw("threads", &Multifrontal::threads)
      .def("front_shapes", &Multifrontal::front_shapes, "Return (n_supernodes, 2): pivots and other rows.");
}

}  // namespace sparsebody

#include "factorization/block_qr.hpp"
#include "python/arrays.hpp"

namespace sparsebody {

void bind_factorization_block_qr(nb::module_& module) {
  using namespace nb::literals;
  using Release = nb::call_guard<nb::gil_scoped_release>;

  nb::class_<ConstraintPattern>(module, "ConstraintPattern", "The pattern of the constraint rows A, for products.")
      .def(nb::init<View<const Index>, View<const Index, 2>>(), "block_sizes"_a, "ends"_a)
      .def("residual", &ConstraintPattern::residual, "rows"_a, "x"_a, "gamma"_a, "residual"_a, Release(),
           "Fill residual = A x - gamma.")
      .def("subtract_forces", &ConstraintPattern::subtract_forces, "rows"_a, "y"_a, "x"_a, Release(),
           "Replace x by x - A' y.");

  nb::class_<BlockQR>(module, "BlockQR", "The factor R of A' = Q R by small fronts.")
      .def(nb::init<View<const Index>, View<const Index, 2>, View<const Index>, View<const Index>>(),
           "block_sizes"_a, "ends"_a, "order"_a, "part_starts"_a, Release())
      .def_rw("threads", &BlockQR::threads, "Threads that a factorization may use; nothing else depends on them.")
      .def_ro_static("regular", &BlockQR::regular)
      .def("factorize", nb::overload_cast<ConstraintRows>(&BlockQR::factorize), "rows"_a, Release(),
           "Return regular, or the first dual row that depends on others but for rounding.")
      .def("factorize",
           nb::overload_cast<ConstraintRows, View<const double>, View<double>>(&BlockQR::factorize), "rows"_a,
           "rhs"_a, "y"_a, Release(), "The same; also fill y with Q' f - R'^-1 gamma.")
      .def("substitute_back", nb::overload_cast<View<double>>(&BlockQR::substitute_back, nb::const_), "x"_a, Release(), "Replace x by R^-1 x.")
      .def(
          "solve",
          [](BlockQR& qr, ConstraintRows rows, View<const double> rhs, View<double> x, bool accurate,
             int corrections) {
            const auto residuals = qr.solve(rows, rhs, accurate, x, corrections);
            return std::pair(residuals.last, residuals.first);
          },
          "rows"_a, "rhs"_a, "x"_a, "accurate"_a = true, "corrections"_a = 4, Release(),
          "Fill x, and return the relative residual of the rows and that before the first correction.")
      .def("smallest_pivot", &BlockQR::smallest_pivot, "rows"_a, Release(),
           "Return the smallest sine of an angle between a row and those eliminated before it, and that row.")
      .def("front_shapes", &BlockQR::front_shapes,
           "Return (n_dual, 4): pivots, rows, columns of storage, rows of the contribution block.");

  def_kernel(
      module, "dual_partition",
      [](View<const Index> sizes, View<const Index, 2> ends, View<const Index> order, Index fewest) {
        Partition parts = dual_partition(sizes, ends, order, fewest);
        return std::pair(std::move(parts.order), std::move(parts.part_starts));
      },
      nb::arg("block_sizes"), nb::arg("ends"), nb::arg("order"), nb::arg("fewest") = fewest_blocks,
      "Return an equivalent order of the dual blocks, in parts, and where each of these begins.");
}

}  // namespace sparsebody

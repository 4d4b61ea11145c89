#include "factorization/block_qr.hpp"
#include "python/signature.hpp"

namespace sparsebody {

void bind_factorization_block_qr(nb::module_& m) {
  using Indices = View<const Index>;
  using Ends = View<const Index, 2>;

  nb::class_<ConstraintPattern> pattern(m, "ConstraintPattern", "The pattern of the constraint rows A, for products.");
  def<"__init__(block_sizes, ends)">(pattern, construct<ConstraintPattern, Indices, Ends>);
  def_kernel<"residual(rows, x, gamma, residual)">(pattern, &ConstraintPattern::residual, "Fill residual = A x - gamma.");
  def_kernel<"subtract_forces(rows, y, x)">(pattern, &ConstraintPattern::subtract_forces, "Replace x by x - A' y.");

  nb::class_<BlockQR> type(m, "BlockQR", "The factor R of A' = Q R by small fronts.");
  def_kernel<"__init__(block_sizes, ends, order, part_starts)">(type, construct<BlockQR, Indices, Ends, Indices, Indices>);
  type.def_rw("threads", &BlockQR::threads, "Threads that a factorization may use; nothing else depends on them.");
  type.def_ro_static("regular", &BlockQR::regular);
  def_kernel<"factorize(rows)">(type, nb::overload_cast<ConstraintRows>(&BlockQR::factorize),
                                "Return regular, or the first dual row that depends on others but for rounding.");
  def_kernel<"factorize(rows, rhs, y)">(
      type, nb::overload_cast<ConstraintRows, View<const double>, View<double>>(&BlockQR::factorize),
      "The same; also fill y with Q' f - R'^-1 gamma.");
  def_kernel<"substitute_back(x)">(type, nb::overload_cast<View<double>>(&BlockQR::substitute_back, nb::const_),
                                   "Replace x by R^-1 x.");
  def_kernel<"solve(rows, rhs, x, accurate, corrections)">(
      type,
      [](BlockQR& qr, ConstraintRows rows, View<const double> rhs, View<double> x, bool accurate, int corrections) {
        const auto residuals = qr.solve(rows, rhs, accurate, x, corrections);
        return std::pair(residuals.last, residuals.first);
      },
      "Fill x, and return the relative residual of the rows and that before the first correction.");
  def_kernel<"smallest_pivot(rows)">(
      type, &BlockQR::smallest_pivot,
      "Return the smallest sine of an angle between a row and those eliminated before it, and that row.");
  def<"front_shapes()">(type, &BlockQR::front_shapes,
                        "Return (n_dual, 4): pivots, rows, columns of storage, rows of the contribution block.");
}

}  // namespace sparsebody

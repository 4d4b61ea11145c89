#include "factorization/block_ldl.hpp"
#include "factorization/block_qr.hpp"
#include "factorization/layout.hpp"
#include "factorization/multifrontal.hpp"
#include "factorization/partition.hpp"
#include "factorization/plain_ldl.hpp"
#include "factorization/saddle.hpp"
#include "python/signature.hpp"

namespace sparsebody {

template <OneOf<Partition, SaddlePattern, Saddle> Struct>
inline constexpr bool is_named_tuple<Struct> = true;

namespace {

nb::object values_of(nb::handle self) { return viewed_array(nb::cast<block_ldl::Factors&>(self).values().view(), self); }

void bind_block_ldl(nb::module_& m) {
  using namespace block_ldl;
  nb::class_<Layout> layout(m, "Layout", "Where the blocks of L lie, and what every pivot updates.");
  def_kernel<"__init__(columns, sizes, ends, order, part_starts)">(
      layout, construct<Layout, const Graph&, Indices, View<const Index, 2>, Indices, Indices>,
      "From the positions below each position, and the blocks of the pattern; see layout.hpp.");
  layout.def_prop_ro("n_parts", &Layout::n_parts, "Parts that can be eliminated at the same time.")
      .def_prop_ro(
          "is_leaves_first", [](const Layout& self) { return self.below.size() == self.n_pivots(); },
          "Whether every pivot changes at most one later one, as in trees from the leaves on.");
  def<"first_row(pivot)">(
      layout, [](const Layout& self, Index pivot) { return Index(self.pivots[pivot].natural); },
      "Return the first row of a pivot in natural order.");

  nb::class_<Factors> factors(m, "Factors", "The factors of the newest matrix, and work space.");
  def_keeping<"__init__(layout)">(factors, construct<Factors, const Layout&>);
  factors.def_rw("threads", &Factors::threads, "Threads that an elimination may use; nothing else depends on them.")
      .def_prop_ro("values", &values_of, nb::sig("def values(self) -> numpy.typing.NDArray[numpy.float64]"),
                   "All values, as a view.");
  def_kernel<"eliminate(rows, rhs, shift)">(factors, &Factors::eliminate, "Eliminate all pivots; return the status.");
  def_kernel<"factorize(rows, rhs)">(
      factors, &Factors::factorize,
      "Eliminate all pivots, and where one is doubtful once more with shifted ones; return the first status.");
  def_kernel<"solve(rows, rhs, share, adds, solution)">(
      factors, &Factors::solve,
      "Fill or add the solution for another right-hand side; return its largest primal entry.");
  def_kernel<"smallest_pivot(rows)">(
      factors, [](const Factors& f, Rows rows) { return f.smallest_pivot(rows); },
      "Return the root of the smallest dual pivot relative to its row, and the row.");
}

void bind_block_qr(nb::module_& m) {
  nb::class_<BlockQR> type(m, "BlockQR", "The factor R of A' = Q R by small fronts.");
  def_kernel<"__init__(block_sizes, ends, order, part_starts)">(type, construct<BlockQR, Indices, View<const Index, 2>, Indices, Indices>);
  type.def_rw("threads", &BlockQR::threads, "Threads that a factorization may use; nothing else depends on them.");
  def_kernel<"factorize(rows)">(type, nb::overload_cast<ConstraintRows>(&BlockQR::factorize),
                                "Return regular, or the first dual row that depends on others to rounding.");
  def_kernel<"factorize(rows, rhs, y)">(
      type, nb::overload_cast<ConstraintRows, View<const double>, View<double>>(&BlockQR::factorize),
      "Factorize along with a right-hand side; also fill y with Q' f - R'^-1 gamma.");
  def_kernel<"substitute_back(x)">(type, nb::overload_cast<View<double>>(&BlockQR::substitute_back<double>, nb::const_),
                                   "Replace x by R^-1 x.");
  def_kernel<"solve(rows, rhs, x, accurate, corrections)">(
      type,
      [](BlockQR& qr, ConstraintRows rows, View<const double> rhs, View<double> x, bool accurate, int corrections) {
        const auto residuals = qr.solve(rows, rhs, accurate, x, corrections);
        return std::pair(residuals.last, residuals.first);
      },
      "Fill x, and return the relative residual of the rows and that before the first correction.");
  def_kernel<"smallest_pivot(rows)">(
      type, [](const BlockQR& qr, ConstraintRows) { return qr.smallest_pivot(); },
      "Return the smallest sine of an angle between a row and those eliminated before it, and that row.");
  def<"front_shapes()">(type, &BlockQR::front_shapes,
                        "Return (n_dual, 4): pivots, rows, columns of storage, rows of the contribution block.");
}

void bind_multifrontal(nb::module_& m) {
  using multifrontal::Multifrontal;
  nb::class_<Multifrontal> type(m, "Multifrontal", "LDL' of [1 A'; A 0] by dense fronts of supernodes.");
  def_kernel<"__init__(offsets, ends, order)">(type, construct<Multifrontal, Indices, View<const Index, 2>, Indices>);
  def_kernel<"factorize(rows)">(type, &Multifrontal::factorize,
                                "Return regular, or the first row whose pivot may be nothing but rounding.");
  def_kernel<"factorize_shifted(rows, delta)">(type, &Multifrontal::factorize_shifted, "Factorize [1 A'; A -delta].");
  def_kernel<"solve(rhs, x)">(type, &Multifrontal::solve, "Fill x for rhs (n_rows,).");
  def_kernel<"smallest_pivot(rows)">(
      type, &Multifrontal::smallest_pivot,
      "Return the smallest sine of an angle between a row and those eliminated before it, and that row.");
  def<"front_shapes()">(type, &Multifrontal::front_shapes, "Return (n_supernodes, 2): pivots and other rows.");
  type.def_rw("threads", &Multifrontal::threads);
}

}  // namespace

void bind_factorization(nb::module_& m) {
  const char* const parts = "Return an equivalent order in parts, and the position at which each of them begins.";
  m.attr("FEWEST_BLOCKS") = fewest_blocks;
  def_kernel<"partition(graph, sizes, order, fewest)">(m, &partition, parts);
  def_kernel<"dual_partition(block_sizes, ends, order, fewest)">(m, &dual_partition, parts);

  nb::module_ block_ldl = m.def_submodule("block_ldl", "LDL' by small dense blocks.");
  bind_block_ldl(block_ldl);
  bind_block_qr(m);
  bind_multifrontal(m);
  nb::module_ plain_ldl = m.def_submodule("plain_ldl", "LDL' in any order, with every operation counted.");
  def_kernel<"factorize(sizes, base, start, below, values)">(plain_ldl, &plain_ldl::factorize);
  def_kernel<"solve(sizes, base, indices, values, x)">(plain_ldl, &plain_ldl::solve);

  def_kernel<"subtract_product(matrix, x, residual)">(m, &subtract_product);
  def_kernel<"constraint_product(pattern, rows, x)">(m, &constraint_product);
  def_kernel<"constraint_forces(pattern, rows, y)">(m, &constraint_forces);
  def_kernel<"residual_scales(matrix, inverse, x, rhs)">(m, &residual_scales);
  def_kernel<"exact_residual(indptr, indices, data, right, high, low)">(m, &exact_residual);
  def_kernel<"unit_rows(matrix, unit, root)">(m, &unit_rows);
  def_kernel<"to_unit(offsets, root, x)">(m, &to_unit);
  def_kernel<"from_unit(offsets, root, x)">(m, &from_unit);
  def_kernel<"row_indices(offsets, row, column, base, stride, n_values)">(m, &row_indices);
  def_kernel<"saddle_scales(matrix, inverse, scale)">(m, &saddle_scales);
  def_kernel<"fill_saddle(matrix, scale, shift, slot_D, slot_A, slot_At, data)">(m, &fill_saddle);
  def_kernel<"schur_products(indptr, incidence, position)">(m, &schur_products);
  def_kernel<"fill_schur(matrix, inverse, scale, contributions, data)">(m, &fill_schur);
  def_kernel<"dual_rhs(matrix, inverse, rhs)">(m, &dual_rhs);
  def_kernel<"primal_solution(matrix, inverse, rhs, y)">(m, &primal_solution);
  def_kernel<"vanishing_row(pattern, rows)">(m, &vanishing_row);
  def_kernel<"cancellation(pattern, rows, y)">(m, &cancellation);
}

}  // namespace sparsebody

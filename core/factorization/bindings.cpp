#include "factorization/block_ldl.hpp"
#include "factorization/layout.hpp"
#include "factorization/partition.hpp"
#include "factorization/plain_ldl.hpp"
#include "factorization/saddle.hpp"
#include "python/arrays.hpp"

namespace sparsebody {

void bind_factorization_block_qr(nb::module_& module);
void bind_factorization_multifrontal(nb::module_& module);

namespace {

template <class Line>
Array<std::uint32_t, 2> as_table(const LargeArray<Line>& lines) {
  constexpr Index n_columns = sizeof(Line) / sizeof(std::uint32_t);
  auto table = Array<std::uint32_t, 2>::uninitialized({lines.size(), n_columns});
  std::copy_n(reinterpret_cast<const std::uint32_t*>(lines.data()), lines.size() * n_columns, table.begin());
  return table;
}

// A view of the factors, which it keeps.
nb::object values_of(nb::handle self) {
  LargeArray<double>& values = nb::cast<block_ldl::Factors&>(self).values();
  npy_intp size = values.size();
  nb::object array = nb::steal(PyArray_SimpleNewFromData(1, &size, NPY_DOUBLE, values.data()));
  PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array.ptr()), nb::object(nb::borrow(self)).release().ptr());
  return array;
}

void bind_block_ldl(nb::module_& module) {
  using namespace block_ldl;
  def_kernel(
      module, "partition",
      [](Indices start, Indices neighbours, Indices sizes, Indices order, Index fewest) {
        Partition parts = partition({start, neighbours}, sizes, order, fewest);
        return std::pair(std::move(parts.order), std::move(parts.part_starts));
      },
      nb::arg("indptr"), nb::arg("indices"), nb::arg("sizes"), nb::arg("order"), nb::arg("fewest") = fewest_blocks, "Return an equivalent order in parts, and the position at which each of them begins.");

  module.attr("FEWEST_BLOCKS") = fewest_blocks;
  nb::class_<Layout>(module, "Layout", "Where the blocks of L lie, and what every pivot updates.")
      .def(
          "__init__",
          [](Layout* self, Indices indptr, Indices rows, Indices sizes, View<const Index, 2> ends, Indices order,
             Indices part_starts) { new (self) Layout({indptr, rows}, sizes, ends, order, part_starts); },
          nb::arg("indptr"), nb::arg("rows"), nb::arg("sizes"), nb::arg("ends"), nb::arg("order"),
          nb::arg("part_starts"), nb::call_guard<nb::gil_scoped_release>(),
          "From the positions below each position, and the blocks of the pattern; see layout.hpp.")
      .def_prop_ro("n_values", [](const Layout& self) { return self.n_values; }, "Numbers of the factors.")
      .def_prop_ro("n_parts", &Layout::n_parts, "Parts that can be eliminated at the same time.")
      .def_prop_ro(
          "is_leaves_first",
          [](const Layout& self) { return self.below.size() == self.n_pivots(); },
          "Whether every pivot changes at most one later one, as in trees from the leaves on.")
      .def("first_row", [](const Layout& self, Index pivot) { return Index(self.pivots[pivot].natural); },
           nb::arg("pivot"), "Return the first row of a pivot in natural order.")
      .def("pivots", [](const Layout& self) { return as_table(self.pivots); }, "Return a copy of the table of pivots.")
      .def("below", [](const Layout& self) { return as_table(self.below); }, "Return a copy of that of blocks below.")
      .def("updates", [](const Layout& self) { return as_table(self.updates); }, "Return a copy of what they update.");

  const nb::arg rows("rows"), rhs("rhs"), solution("solution");
  const nb::call_guard<nb::gil_scoped_release> unlocked;
  nb::class_<Factors>(module, "Factors", "The factors of the newest matrix, and work space.")
      .def(nb::init<const Layout&>(), nb::arg("layout"), nb::keep_alive<1, 2>())
      .def_rw("threads", &Factors::threads, "Threads that an elimination may use; nothing else depends on them.")
      .def_prop_ro("values", &values_of, nb::sig("def values(self) -> numpy.typing.NDArray[numpy.float64]"),
                   "All numbers, in place.")
      .def("eliminate", &Factors::eliminate, rows, rhs, nb::arg("shift"), unlocked,
           "Eliminate all pivots; return the status.")
      .def("factorize", &Factors::factorize, rows, rhs, unlocked,
           "Eliminate all pivots, and where one is doubtful once more with shifted ones; return the first status.")
      .def("substitute", &Factors::substitute, rows, rhs, solution, unlocked,
           "Fill the solution for the right-hand side that came with the factorization.")
      .def("solve", &Factors::solve, rows, rhs, nb::arg("share"), nb::arg("adds"), solution, unlocked,
           "Fill or add the solution for another right-hand side; return its largest primal entry.")
      .def("smallest_pivot", &Factors::smallest_pivot, rows, nb::arg("n_primal_rows"), unlocked,
           "Return the root of the smallest dual pivot relative to its row, and the row.");
}

void bind_plain_ldl(nb::module_& module) {
  const nb::arg sizes("sizes"), base("base"), values("values");
  def_kernel(module, "factorize", &plain_ldl::factorize, sizes, base, nb::arg("start"), nb::arg("below"), values);
  def_kernel(module, "solve", &plain_ldl::solve, sizes, base, nb::arg("indices"), values, nb::arg("x"));
}

void bind_saddle(nb::module_& module) {
  const nb::arg offsets("offsets"), ends("ends"), diagonal("diagonal"), inverse("inverse"), rows("rows"),
      scale("scale"), data("data"), rhs("rhs"), inverse_root("inverse_root"), x("x"), y("y");
  def_kernel(module, "unit_rows", &unit_rows, offsets, ends, diagonal, rows, nb::arg("unit"), inverse_root);
  def_kernel(module, "to_unit", &to_unit, offsets, inverse_root, x);
  def_kernel(module, "from_unit", &from_unit, offsets, inverse_root, x);
  def_kernel(module, "row_indices", &row_indices, offsets, nb::arg("row"), nb::arg("column"), nb::arg("base"),
             nb::arg("stride"), nb::arg("n_values"));
  def_kernel(module, "saddle_scales", &saddle_scales, offsets, ends, diagonal, inverse, rows, scale);
  def_kernel(module, "fill_saddle", &fill_saddle, offsets, ends, diagonal, rows, scale, nb::arg("shift"),
             nb::arg("diagonal_place"), nb::arg("below"), nb::arg("right"), data);
  def_kernel(module, "schur_products", &schur_products, nb::arg("indptr"), nb::arg("incidence"), nb::arg("place"));
  def_kernel(module, "fill_schur", &fill_schur, offsets, ends, inverse, rows, scale, nb::arg("contributions"), data);
  def_kernel(module, "dual_rhs", &dual_rhs, offsets, ends, inverse, rows, rhs);
  def_kernel(module, "primal_solution", &primal_solution, offsets, ends, inverse, rows, rhs, y);
  def_kernel(module, "vanishing_row", &vanishing_row, offsets, ends, rows);
  def_kernel(module, "cancellation", &cancellation, offsets, ends, rows, y);
}

}  // namespace

void bind_factorization(nb::module_& module) {
  nb::module_ block_ldl = module.def_submodule("block_ldl", "LDL' by small dense blocks.");
  bind_block_ldl(block_ldl);
  nb::module_ plain_ldl = module.def_submodule("plain_ldl", "LDL' in any order, with every operation counted.");
  bind_plain_ldl(plain_ldl);
  bind_saddle(module);
  bind_factorization_block_qr(module);
  bind_factorization_multifrontal(module);
}

}  // namespace sparsebody

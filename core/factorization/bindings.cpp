#include "factorization/block_ldl.hpp"
#include "factorization/layout.hpp"
#include "factorization/plain_ldl.hpp"
#include "factorization/saddle.hpp"
#include "python/arrays.hpp"

namespace sparsebody {

void bind_factorization_block_qr(nb::module_& module);

namespace {

using Table = View<std::uint32_t, 2>;
using Offsets = View<std::uint32_t>;

void bind_block_ldl(nb::module_& module) {
  using namespace block_ldl;
  nb::class_<Tables>(module, "Tables", "The tables of a block LDL'; see the Layout that they come from.")
      .def(nb::init<Table, Table, Offsets, Table, Offsets>(), nb::arg("pivots"), nb::arg("below"),
           nb::arg("updates"), nb::arg("fills"), nb::arg("opened"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
           nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(), nb::keep_alive<1, 6>());
  using Numbers = View<double>;
  nb::class_<Storage<double>>(module, "Storage", "The factors of a block LDL', and work space.")
      .def(
          "__init__",
          [](Storage<double>* self, Numbers values, Numbers x, Numbers window, Numbers reference, Numbers right) {
            new (self) Storage<double>{values, x, window, reference, right};
          },
          nb::arg("values"), nb::arg("x"), nb::arg("window"), nb::arg("reference"), nb::arg("right"),
          nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(),
          nb::keep_alive<1, 6>());
  const nb::arg tables("tables"), rows("rows"), rhs("rhs"), storage("storage"), begin("begin"), end("end"),
      solution("solution");
  def_kernel(module, "eliminate", &eliminate<double>, tables, rows, rhs, nb::arg("shift"), storage, begin, end);
  def_kernel(module, "factorize", &factorize<double>, tables, rows, rhs, storage);
  def_kernel(module, "substitute", &substitute<double>, tables, rows, storage, rhs, solution, begin, end);
  def_kernel(module, "solve", &solve<double>, tables, rows, storage, rhs, nb::arg("share"), nb::arg("adds"),
             solution);
  def_kernel(module, "smallest_pivot", &smallest_pivot, tables, nb::arg("values"), rows, nb::arg("n_primal_rows"));

  const nb::arg indptr("indptr"), pivots("pivots"), lanes("lanes");
  def_kernel(module, "openers", &openers, indptr, rows);
  def_kernel(module, "fill_below", &fill_below, indptr, rows, pivots, lanes, nb::arg("below"), nb::arg("updates"));
  def_kernel(module, "fill_table", &fill_table, indptr, rows, pivots, lanes, nb::arg("ends"), nb::arg("place"),
             nb::arg("offsets"));
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
}

}  // namespace sparsebody

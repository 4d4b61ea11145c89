#include "factorization/block_ldl.hpp"
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
}

}  // namespace

void bind_factorization(nb::module_& module) {
  nb::module_ block_ldl = module.def_submodule("block_ldl", "LDL' by small dense blocks.");
  bind_block_ldl(block_ldl);
  bind_factorization_block_qr(module);
}

}  // namespace sparsebody

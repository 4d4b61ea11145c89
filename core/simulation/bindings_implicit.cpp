#include "python/named_tuple.hpp"
#include "simulation/implicit_equations.hpp"

namespace sparsebody {

template <> inline constexpr bool is_named_tuple<implicit::Bodies> = true;
template <> inline constexpr bool is_named_tuple<implicit::Joints> = true;
template <> inline constexpr bool is_named_tuple<implicit::Coordinates> = true;
template <> inline constexpr bool is_named_tuple<implicit::CoordinateSprings> = true;
template <> inline constexpr bool is_named_tuple<implicit::PointSprings> = true;
template <> inline constexpr bool is_named_tuple<implicit::Loads> = true;
template <> inline constexpr bool is_named_tuple<implicit::Compliance> = true;
template <> inline constexpr bool is_named_tuple<implicit::Start> = true;
template <> inline constexpr bool is_named_tuple<implicit::End> = true;
template <> inline constexpr bool is_named_tuple<implicit::Given> = true;
template <> inline constexpr bool is_named_tuple<implicit::Residual> = true;

namespace {

template <class Class, std::size_t... i>
void def_constructor(nb::class_<Class>& type, std::index_sequence<i...>) {
  using namespace implicit;
  type.def(nb::init<const Bodies&, const Joints&, const Coordinates&, const CoordinateSprings&, const PointSprings&,
                    const Loads&, const Compliance&, const Start&, const End&, const Given&, const Residual&>(),
           nb::keep_alive<1, i + 2>()..., nb::arg("bodies"), nb::arg("joints"), nb::arg("coordinates"),
           nb::arg("springs"), nb::arg("point_springs"), nb::arg("loads"), nb::arg("compliance"), nb::arg("start"),
           nb::arg("end"), nb::arg("given"), nb::arg("residual"), "Of arrays that are seen, not copied.");
}

}  // namespace

void bind_simulation_implicit(nb::module_& module) {
  using namespace nb::literals;
  using implicit::Equations;
  using Release = nb::call_guard<nb::gil_scoped_release>;
  auto equations = nb::class_<Equations>(module, "ImplicitEquations", "Residuals of an implicit time step, linearized.");
  def_constructor(equations, std::make_index_sequence<11>());
  equations
      .def("evaluate", &Equations::evaluate, Release(),
           "Fill poses and residuals at the end; return -1, or the first spring between points that coincide.")
      .def("linearize", &Equations::linearize, "b"_a, "c"_a, "rows"_a, Release(),
           "Fill the rows of [1 A'; A -1], Newton's matrix in other units; return how many blocks were indefinite.")
      .def("right_side", &Equations::right_side, "rhs"_a, Release(), "Fill the right-hand side in these units.")
      .def("subtract_rest", &Equations::subtract_rest, "x"_a, "rhs"_a, "changed"_a, Release(),
           "Fill the right-hand side less what H leaves out of the product with x.")
      .def("to_correction", &Equations::to_correction, "x"_a, "twist"_a, "multiplier"_a, Release(),
           "Fill twists and multipliers from a solution in these units.")
      .def("correct", &Equations::correct, "b"_a, "c"_a, "twist"_a, "multiplier"_a, Release(),
           "Add a correction; return its largest angle and distance.")
      .def(
          "assemble",
          [](Equations& self, double b, double c) {
            implicit::Triplets out;
            self.assemble(b, c, out);
            return std::tuple(Array<Index>(out.row), Array<Index>(out.column), Array<double>(out.value));
          },
          "b"_a, "c"_a, Release(), "Return rows, columns and values of [J A'; A -C]; entries at one place add up.");
}

}  // namespace sparsebody

#include <cmath>
#include <optional>

#include "dynamics/reduced_evaluation.hpp"
#include "dynamics/spatial_evaluation.hpp"
#include "dynamics/spatial_tables.hpp"
#include "dynamics/varying_rows.hpp"
#include "python/arrays.hpp"

namespace sparsebody {

namespace {

using Numbers = View<std::uint32_t>;
using Vector = View<double>;
using Table = View<double, 2>;
using Loads = View<const double, 2>;
using Rows = View<const double, 3>;
using Values = View<const double>;

constexpr Index few_bodies = 50;  // evaluations of fewer take less time than releasing the GIL is worth

inline nb::arg named(const char* name) { return nb::arg(name); }
template <std::uint32_t flags, bool is_locked>
nb::arg_t<flags, is_locked> named(const nb::arg_t<flags, is_locked>& name) { return name; }

// Binds a constructor, and keeps its arguments as long as the object: it holds views of their memory.
template <class Class, std::size_t... i, class F, class... Names>
void def_keeping(nb::class_<Class>& type, std::index_sequence<i...>, F make, const Names&... names) {
  type.def("__init__", make, nb::keep_alive<1, i + 2>()..., named(names)...);
}

// Runs f, without the GIL where that pays.
template <class F>
auto unlocked(Index n_bodies, F&& f) {
  std::optional<nb::gil_scoped_release> released;
  if (n_bodies > few_bodies) released.emplace();
  return f();
}

// Binds what all evaluations do. The arrays of states are taken as they are; others raise TypeError.
template <class E>
void def_evaluation(nb::class_<E>& type) {
  const auto checked = [](const E& self, Table position, Table orientation, Table velocity, Vector coordinate, double time) {
    using Shape = Table::Shape;
    const Index n = self.n_bodies();
    if (position.shape() != Shape{n, 3} || orientation.shape() != Shape{n, 4} || velocity.shape() != Shape{n, 6} ||
        coordinate.size() != self.n_coordinates() || !std::isfinite(time))
      throw nb::type_error("the arrays are no state of the system");
  };
  const nb::arg position("position"), orientation("orientation"), velocity("velocity"),
      coordinate("coordinate"), time("time"), load("load"),
      general_rows("general_rows"), general_gamma("general_gamma"), stabilization("stabilization"),
      acceleration("acceleration"), multiplier("multiplier"), gamma("gamma");
  type.def(
          "assemble",
          [checked](E& self, Table position, Table orientation, Table velocity, Vector coordinate, double time,
                    Loads load, Rows general_rows, Values general_gamma, Values stabilization) {
            checked(self, position, orientation, velocity, coordinate, time);
            const EvaluationInput in{position, orientation, velocity, load, general_rows, general_gamma, stabilization};
            return unlocked(self.n_bodies(), [&] { return self.assemble(in); });
          },
          position, orientation, velocity, coordinate, time, load, general_rows, general_gamma, stabilization,
          "Fill rows and right-hand side at a state; return the status.")
      .def(
          "accelerate",
          [checked](E& self, Table position, Table orientation, Table velocity, Vector coordinate, double time,
                    Loads load, Rows general_rows, Values general_gamma, Values stabilization, Table acceleration,
                    Vector multiplier) {
            checked(self, position, orientation, velocity, coordinate, time);
            if (acceleration.shape() != Table::Shape{self.n_bodies(), 6})
              throw nb::type_error("accelerations are (n_bodies, 6)");
            const EvaluationInput in{position, orientation, velocity, load, general_rows, general_gamma, stabilization};
            const auto [status, refinement] =
                unlocked(self.n_bodies(), [&] { return self.accelerate(in, acceleration, multiplier); });
            return std::tuple(status, refinement.residual, refinement.correction);
          },
          position, orientation, velocity, coordinate, time, load, general_rows, general_gamma, stabilization, acceleration,
          multiplier,
          "Assemble, factorize and solve; return the status, the relative residual and that of the last correction.")
      .def("factorize", [](E& self) { return unlocked(self.n_bodies(), [&] { return self.factorize(); }); },
           "Factorize what was assembled last; return the status.")
      .def(
          "solve",
          [](E& self, Values right, double goal, bool is_shifted) {
            const Refinement refinement =
                unlocked(self.n_bodies(), [&] { return self.solve(right, goal, is_shifted); });
            return std::pair(refinement.residual, refinement.correction);
          },
          nb::arg("right"), nb::arg("goal"), nb::arg("is_shifted"),
          "Fill x for a right-hand side; return the relative residual and that of the last correction.")
      .def(
          "to_user_order",
          [](E& self, Table acceleration, Vector multiplier) { self.to_user_order(acceleration, multiplier); },
          acceleration, multiplier,
          "Fill accelerations, and multipliers if there are any, in the user's numbering and units.")
      .def(
          "violation",
          [](E& self, const RowTable& left_out, Rows general_rows, Values general_gamma, Values stabilization,
             Vector gamma) {
            const EvaluationInput in{{}, {}, {}, {}, general_rows, general_gamma, stabilization};
            return unlocked(self.n_bodies(), [&] { return self.violation(left_out, in, gamma); });
          },
          nb::arg("left_out"), general_rows, general_gamma, stabilization, gamma,
          "Fill gamma of rows left out at the newest state; return how far x violates them.");
}

}  // namespace

void bind_dynamics_spatial(nb::module_& module) {
  auto row_table = nb::class_<RowTable>(module, "RowTable", "Rows of A, those of a joint together.");
  def_keeping(
      row_table, std::make_index_sequence<8>(),
      [](RowTable* self, Numbers predecessor, Numbers successor, Table anchor, View<bool> is_general,
         Numbers first_row, Numbers user_row, Numbers general_row, View<double, 3> rows) {
        new (self) RowTable{predecessor, successor, anchor, is_general, first_row, user_row, general_row, rows};
      },
      "predecessor", "successor", "anchor", "is_general", "first_row", "user_row", "general_row", "rows");

  auto spatial = nb::class_<SpatialEvaluation>(module, "SpatialEvaluation",
                                               "Forward dynamics of bodies with six freedoms, in elimination order.");
  def_keeping(
      spatial, std::make_index_sequence<12>(),
      [](SpatialEvaluation* self, const RowTable& kept, block_ldl::Factors* factors, Numbers body, Vector gravity, Table unit, Table position,
         Table rotation, Table velocity, Vector right, Vector padded_x, Vector residual, Vector wrench,
         Index n_coordinates, Index max_corrections, double goal, Index chunk_length) {
        new (self) SpatialEvaluation{{kept, body, gravity, unit, position, rotation, velocity, right},
                                     {padded_x, residual, wrench, {}, {}, {}},
                                     factors,
                                     make_schedule(factors ? &factors->layout : nullptr, kept, body.size(), chunk_length),
                                     n_coordinates,
                                     max_corrections,
                                     goal};
      },
      "kept", nb::arg("factors").none(), "body", "gravity", "unit", "position", "rotation", "velocity", "right", "padded_x",
      "residual", "wrench", "n_coordinates", "max_corrections", "goal", "chunk_length");
  def_evaluation(spatial);
  spatial.def("compute_residual", &SpatialEvaluation::compute_residual, nb::arg("right"),
              "Return the relative residual of x.");
  spatial.def_prop_rw(
      "threads", [](const SpatialEvaluation& self) { return self.threads; },
      [](SpatialEvaluation& self, Index threads) {
        self.threads = threads;
        if (self.factors) self.factors->threads = threads;
      },
      "Threads that an evaluation may use; its result does not depend on them.");

  auto reduced = nb::class_<ReducedEvaluation>(module, "ReducedEvaluation",
                                               "The same of bodies within displacement subgroups about the world.");
  def_keeping(
      reduced, std::make_index_sequence<5>(),
      [](ReducedEvaluation* self, SpatialEvaluation& unreduced, SpatialEvaluation& reduced, Numbers freedoms,
         Table basis, Table fixed) { new (self) ReducedEvaluation{unreduced, reduced, freedoms, basis, fixed}; },
      "unreduced", "reduced", "freedoms", "basis", "fixed");
  def_evaluation(reduced);
  module.def("retract", &retract, nb::arg("fixed"), nb::arg("position"), nb::arg("orientation"), nb::arg("retracted"),
             "Fill positions with points where they have to be; return how far away they were, relative to reach.");

  using Ints = View<Index>;
  using Matrices = View<double, 3>;
  auto varying = nb::class_<VaryingRows>(module, "VaryingRows", "Rows of joints whose T varies in S coordinates.");
  def_keeping(
      varying, std::make_index_sequence<10>(),
      [](VaryingRows* self, Ints predecessor, Ints successor, Matrices predecessor_rotation, Table predecessor_point,
         Matrices successor_rotation, Table successor_point, Ints kind, Ints first_row, Matrices rows, Vector gamma) {
        new (self) VaryingRows{{predecessor, successor, predecessor_rotation, predecessor_point, successor_rotation,
                                successor_point},
                               kind, first_row, rows, gamma};
      },
      "predecessor", "successor", "predecessor_rotation", "predecessor_point", "successor_rotation", "successor_point",
      "kind", "first_row", "rows", "gamma");
  varying.def(
      "fill",
      [](const VaryingRows& self, Loads position, Loads orientation, Loads velocity) {
        unlocked(self.kind.size(), [&] { self.fill({position, orientation, velocity}); });
      },
      nb::arg("position"), nb::arg("orientation"), nb::arg("velocity"), "Fill rows and gamma at a state.");

  module.attr("BAD_STATE") = bad_state;
  module.attr("OUTSIDE_SUBGROUPS") = outside_subgroups;
  module.attr("ROUGH_CORRECTION") = rough_correction;
  module.attr("MARGIN") = margin;
  module.attr("UNIT_COLUMNS") = unit_columns;
  module.attr("FIXED_COLUMNS") = fixed_columns;

  module.def("fill_units", &fill_units, nb::arg("mass"), nb::arg("inertia"), nb::arg("bodies"), nb::arg("unit"));
  module.def("fill_rows_on_successors", &fill_rows_on_successors, nb::arg("table"), nb::arg("unit"),
             nb::arg("row_joint"), nb::arg("successor_rotation"), nb::arg("successor_point"), nb::arg("subspace"));
}

}  // namespace sparsebody

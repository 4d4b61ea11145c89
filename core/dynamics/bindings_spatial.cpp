#include <cmath>
#include <optional>

#include "dynamics/spatial_evaluation.hpp"
#include "dynamics/spatial_tables.hpp"
#include "python/arrays.hpp"

namespace sparsebody {

namespace {

constexpr Index few_bodies = 50;  // evaluations of fewer take less time than releasing the GIL is worth

// Binds a constructor, and keeps its arguments as long as the object: it holds views of their memory.
template <class Class, std::size_t... i, class F, class... Names>
void def_keeping(Class& type, std::index_sequence<i...>, F make, const Names&... names) {
  type.def("__init__", make, nb::keep_alive<1, i + 2>()..., nb::arg(names)...);
}

// The arrays that an evaluation is called with; those of the state are taken as they are, others raise TypeError.
struct Input {
  View<double, 2> position, orientation, velocity;
  View<double> coordinate;
  double time;
  View<const double, 2> load;
  View<const double, 3> general_rows;
  View<const double> general_gamma, stabilization;
};

class BoundEvaluation : public SpatialEvaluation {
 public:
  Index n_coordinates = 0, max_corrections = 0;
  double goal = 0.0;  // relative residual that is not corrected

  EvaluationInput checked(const Input& in) const {
    const Index n = n_bodies();
    if (in.position.shape() != std::array{n, Index(3)} || in.orientation.shape() != std::array{n, Index(4)} ||
        in.velocity.shape() != std::array{n, Index(6)} || in.coordinate.size() != n_coordinates ||
        !std::isfinite(in.time))
      throw nb::type_error("the arrays are no state of the system");
    return {in.position, in.orientation, in.velocity, in.load, in.general_rows, in.general_gamma, in.stabilization};
  }
  // Runs f, without the GIL where that pays.
  template <class F>
  auto run(F&& f) const {
    std::optional<nb::gil_scoped_release> released;
    if (n_bodies() > few_bodies) released.emplace();
    return f();
  }
};

}  // namespace

void bind_dynamics_spatial(nb::module_& module) {
  using Indices = View<std::uint32_t>;
  using Vector = View<double>;
  using Table = View<double, 2>;
  using Loads = View<const double, 2>;
  using Rows = View<const double, 3>;
  using Values = View<const double>;

  auto row_table = nb::class_<RowTable>(module, "RowTable", "Rows of A, those of a joint together.");
  def_keeping(
      row_table, std::make_index_sequence<8>(),
      [](RowTable* self, Indices predecessor, Indices successor, Table anchor, View<bool> is_general,
         Indices first_row, Indices user_row, Indices general_row, View<double, 3> rows) {
        new (self) RowTable{predecessor, successor, anchor, is_general, first_row, user_row, general_row, rows};
      },
      "predecessor", "successor", "anchor", "is_general", "first_row", "user_row", "general_row", "rows");

  nb::class_<SpatialEvaluation>(module, "UncheckedEvaluation");  // what a ReducedEvaluation takes
  auto evaluation = nb::class_<BoundEvaluation, SpatialEvaluation>(module, "SpatialEvaluation",
                                                "Forward dynamics of bodies with six freedoms, in elimination order.");
  def_keeping(
      evaluation, std::make_index_sequence<13>(),
      [](BoundEvaluation* self, const RowTable& kept, const block_ldl::Tables& tables,
         const block_ldl::Storage<double>& storage, Indices body, Vector gravity, Table unit, Table position,
         Table rotation, Table velocity, Vector right, Vector padded_x, Vector residual, Vector wrench,
         Index n_coordinates, Index max_corrections, double goal, Index chunk_length) {
        new (self) BoundEvaluation{
            {{kept, body, gravity, unit, position, rotation, velocity, right},
             {padded_x, residual, wrench, {}, {}, {}},
             tables,
             storage,
             make_chunks(tables, kept, body.size(), chunk_length)}};
        self->n_coordinates = n_coordinates, self->max_corrections = max_corrections, self->goal = goal;
      },
      "kept", "tables", "storage", "body", "gravity", "unit", "position", "rotation", "velocity", "right", "padded_x",
      "residual", "wrench", "n_coordinates", "max_corrections", "goal", "chunk_length");
  using E = BoundEvaluation;
  evaluation
      .def(
          "assemble",
          [](const E& self, Table position, Table orientation, Table velocity, Vector coordinate, double time,
             Loads load, Rows general_rows, Values general_gamma, Values stabilization) {
            const EvaluationInput in = self.checked({position, orientation, velocity, coordinate, time, load,
                                                     general_rows, general_gamma, stabilization});
            return self.run([&] { return assemble(self.system, in); });
          },
          nb::arg("position"), nb::arg("orientation"), nb::arg("velocity"), nb::arg("coordinate"), nb::arg("time"),
          nb::arg("load"), nb::arg("general_rows"), nb::arg("general_gamma"), nb::arg("stabilization"),
          "Fill rows and right-hand side; return whether the state is finite and its quaternions unit.")
      .def(
          "accelerate",
          [](E& self, Table position, Table orientation, Table velocity, Vector coordinate, double time, Loads load,
             Rows general_rows, Values general_gamma, Values stabilization, Table acceleration, Vector multiplier) {
            const EvaluationInput in = self.checked({position, orientation, velocity, coordinate, time, load,
                                                     general_rows, general_gamma, stabilization});
            if (acceleration.shape() != std::array{self.n_bodies(), Index(6)})
              throw nb::type_error("accelerations are (n_bodies, 6)");
            const auto [status, refinement] = self.run(
                [&] { return self.accelerate(in, self.max_corrections, self.goal, acceleration, multiplier); });
            return std::tuple(status, refinement.residual, refinement.correction);
          },
          nb::arg("position"), nb::arg("orientation"), nb::arg("velocity"), nb::arg("coordinate"), nb::arg("time"),
          nb::arg("load"), nb::arg("general_rows"), nb::arg("general_gamma"), nb::arg("stabilization"),
          nb::arg("acceleration"), nb::arg("multiplier"),
          "Assemble, factorize and solve; return the status, the relative residual and that of the last correction.")
      .def("factorize", [](E& self) { return self.run([&] { return self.factorize(); }); },
           "Factorize what was assembled last; return the status.")
      .def(
          "solve",
          [](E& self, Values right, double goal, bool is_shifted) {
            const Refinement refinement = self.run(
                [&] { return self.solve(right, self.max_corrections, std::max(goal, self.goal), is_shifted); });
            return std::pair(refinement.residual, refinement.correction);
          },
          nb::arg("right"), nb::arg("goal"), nb::arg("is_shifted"),
          "Fill x for a right-hand side; return the relative residual and that of the last correction.")
      .def("compute_residual", &SpatialEvaluation::compute_residual, nb::arg("right"),
           "Return the relative residual of x.")
      .def("to_user_order", &SpatialEvaluation::to_user_order, nb::arg("acceleration"), nb::arg("multiplier"),
           "Fill accelerations, and multipliers if there are any, in the user's numbering and units.")
      .def(
          "violation",
          [](const E& self, const RowTable& left_out, Rows general_rows, Values general_gamma, Values stabilization,
             Vector gamma) {
            return self.run([&] {
              const EvaluationInput in{{}, {}, {}, {}, general_rows, general_gamma, stabilization};
              fill_rows(self.system, left_out, in, gamma.data(), 0, left_out.n_joints());
              return violation(left_out, gamma.data(), self.system.kept, self.n_bodies(), self.solution.x(),
                               self.system.right);
            });
          },
          nb::arg("left_out"), nb::arg("general_rows"), nb::arg("general_gamma"), nb::arg("stabilization"),
          nb::arg("gamma"), "Fill gamma of rows left out at the newest state; return how far x violates them.");
  module.attr("BAD_STATE") = bad_state;
  module.attr("ROUGH_CORRECTION") = rough_correction;
  module.attr("MARGIN") = margin;
  module.attr("UNIT_COLUMNS") = unit_columns;

  module.def("fill_units", &fill_units, nb::arg("mass"), nb::arg("inertia"), nb::arg("bodies"), nb::arg("unit"));
  module.def("fill_rows_on_successors", &fill_rows_on_successors, nb::arg("table"), nb::arg("unit"),
             nb::arg("row_joint"), nb::arg("successor_rotation"), nb::arg("successor_point"), nb::arg("subspace"));
}

}  // namespace sparsebody

#include "dynamics/reduced.hpp"
#include "python/evaluation_input.hpp"

namespace sparsebody {
namespace {

struct BoundReducedEvaluation : ReducedEvaluation {
  Index n_coordinates, max_corrections;
  double goal;

  EvaluationInput checked(const StateArrays& state, const GeneralArrays& in) const {
    return checked_input(n_bodies(), n_coordinates, state, in);
  }
  template <class F>
  auto run(F&& f) const {
    return run_released(n_bodies(), f);
  }
};

}  // namespace

void bind_dynamics_reduced(nb::module_& module) {
  using namespace nb::literals;
  using Vector = View<double>;
  using Table = View<double, 2>;
  using Loads = View<const double, 2>;
  using Rows = View<const double, 3>;
  using Values = View<const double>;
  using E = BoundReducedEvaluation;

  nb::class_<E>(module, "ReducedEvaluation", "Forward dynamics of bodies within displacement subgroups.")
      .def(
          "__init__",
          [](E* self, SpatialEvaluation& unreduced, SpatialEvaluation& reduced, View<Index> freedoms, Table basis,
             Table fixed, Index n_coordinates, Index max_corrections, double goal) {
            new (self) E{{unreduced, reduced, freedoms, basis, fixed}, n_coordinates, max_corrections, goal};
            self->reduce_rows(true);
          },
          "unreduced"_a, "reduced"_a, "freedoms"_a, "basis"_a, "fixed"_a, "n_coordinates"_a, "max_corrections"_a,
          "goal"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(),
          nb::keep_alive<1, 6>())
      .def(
          "assemble",
          [](E& self, Table position, Table orientation, Table velocity, Vector coordinate, double time, Loads load,
             Rows general_rows, Values general_gamma, Values stabilization) {
            const EvaluationInput in = self.checked({position, orientation, velocity, coordinate, time},
                                                    {load, general_rows, general_gamma, stabilization});
            return self.run([&] { return self.assemble(in); });
          },
          "position"_a, "orientation"_a, "velocity"_a, "coordinate"_a, "time"_a, "load"_a, "general_rows"_a,
          "general_gamma"_a, "stabilization"_a, "Fill rows and right-hand side; return a status.")
      .def(
          "accelerate",
          [](E& self, Table position, Table orientation, Table velocity, Vector coordinate, double time, Loads load,
             Rows general_rows, Values general_gamma, Values stabilization, Table acceleration, Vector multiplier) {
            const EvaluationInput in = self.checked({position, orientation, velocity, coordinate, time},
                                                    {load, general_rows, general_gamma, stabilization});
            const auto [status, refinement] = self.run(
                [&] { return self.accelerate(in, self.max_corrections, self.goal, acceleration, multiplier); });
            return std::tuple(status, refinement.residual, refinement.correction);
          },
          "position"_a, "orientation"_a, "velocity"_a, "coordinate"_a, "time"_a, "load"_a, "general_rows"_a,
          "general_gamma"_a, "stabilization"_a, "acceleration"_a, "multiplier"_a,
          "Assemble, factorize and solve; return the status, the relative residual and that of the last correction.")
      .def("to_user_order", &ReducedEvaluation::to_user_order, "acceleration"_a, "multiplier"_a,
           "Fill accelerations, and multipliers if there are any, in the user's numbering and units.");
  module.attr("OUTSIDE_SUBGROUP") = outside_subgroup;

  def_kernel(module, "retract", &retract, "fixed"_a, "position"_a, "orientation"_a, "retracted"_a);
  def_kernel(module, "fill_complementary_reactions", &fill_complementary_reactions, "bodies"_a, "joints"_a,
             "joint_rows"_a, "predecessor"_a, "successor"_a, "row_joint"_a, "rows"_a, "required"_a, "multiplier"_a);
  def_kernel(module, "rows_on_freedoms", &rows_on_freedoms, "row_joint"_a, "ends"_a, "rows"_a, "to_freedoms"_a,
             "inverse"_a, "reduced"_a);
  def_kernel(module, "locally_independent_rows", &locally_independent_rows, "first_row"_a, "is_within"_a,
             "reduced"_a, "size"_a, "is_prescribed"_a);
  def_kernel(module, "reaction_tree", &reaction_tree, "begin"_a, "incident"_a, "ends"_a, "freedoms"_a,
             "n_dropped"_a);
}

}  // namespace sparsebody

#include <optional>

#include "python/arrays.hpp"
#include "simulation/closing.hpp"

namespace sparsebody {

namespace {

using simulation::JointErrors;
using Ints = View<const Index>;
using Values = View<const double>;
using Rows = View<const double, 2>;
using Matrices = View<const double, 3>;

constexpr Index few_bodies = 50;  // closing fewer takes less time than releasing the GIL is worth

template <class E>
void bind_closing(nb::module_& module, const char* name) {
  using Closing = simulation::Closing<E>;
  nb::class_<Closing>(module, name, "The nearest states with closed joints, by the rows of an evaluation.")
      .def(
          "__init__",
          [](Closing* self, E& evaluation, const JointErrors& joints, Values tolerance, Ints kept, Index n_unknowns) {
            new (self) Closing(evaluation, joints, tolerance, kept, n_unknowns);
          },
          nb::arg("evaluation"), nb::arg("joints"), nb::arg("tolerance"), nb::arg("kept"), nb::arg("n_unknowns"),
          nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>())
      .def(
          "close",
          [](Closing& self, Rows position, Rows orientation, Rows velocity, double creep) {
            std::optional<nb::gil_scoped_release> released;
            if (position.rows() > few_bodies) released.emplace();
            const bool is_closed = self.close(position, orientation, velocity, creep);
            released.reset();
            return std::tuple(is_closed, std::move(self.state.position), std::move(self.state.orientation),
                              std::move(self.state.velocity), std::move(self.acceleration), self.correction);
          },
          nb::arg("position"), nb::arg("orientation"), nb::arg("velocity"), nb::arg("creep"),
          "Whether joints close; position, orientation, velocity, acceleration; the velocity's relative correction.");
}

}  // namespace

void bind_simulation(nb::module_& module) {
  module.def(
      "pose_derivatives",
      [](Rows orientation, Rows velocity, Rows acceleration) {
        auto [rate, curvature] = simulation::pose_derivatives(orientation, velocity, acceleration);
        return std::tuple(std::move(rate), std::move(curvature));
      },
      nb::arg("orientation"), nb::arg("velocity"), nb::arg("acceleration"), "y' and y'' (n, 7) of y = (x, q).");
  module.def(
      "moved",
      [](Rows position, Rows orientation, Rows rate, Rows pose_curvature, Rows rate_curvature, double h) {
        auto [x, q, v] = simulation::moved(position, orientation, rate, pose_curvature, rate_curvature, h);
        return std::tuple(std::move(x), std::move(q), std::move(v));
      },
      nb::arg("position"), nb::arg("orientation"), nb::arg("rate"), nb::arg("pose_curvature"),
      nb::arg("rate_curvature"), nb::arg("h"), "Positions, orientations and velocities after a time h.");
  nb::class_<JointErrors>(module, "JointErrors", "Position and velocity errors of all constraint rows.")
      .def(
          "__init__",
          [](JointErrors* self, Ints predecessor, Ints successor, Matrices predecessor_rotation,
             Rows predecessor_point, Matrices successor_rotation, Rows successor_point, Ints kind, Ints first_row,
             Values parameter, Rows subspace) {
            new (self) JointErrors{{predecessor, successor, predecessor_rotation, predecessor_point,
                                    successor_rotation, successor_point},
                                   kind, first_row, parameter, subspace};
          },
          nb::arg("predecessor"), nb::arg("successor"), nb::arg("predecessor_rotation"), nb::arg("predecessor_point"),
          nb::arg("successor_rotation"), nb::arg("successor_point"), nb::arg("kind"), nb::arg("first_row"),
          nb::arg("parameter"), nb::arg("subspace"))
      .def(
          "__call__",
          [](const JointErrors& self, Rows position, Rows orientation, Rows velocity) {
            auto delta = Array<double>::uninitialized({self.n_rows()});
            auto rate = Array<double>::uninitialized({self.n_rows()});
            self.fill({position, orientation, velocity}, delta.data(), rate.data());
            return std::pair(std::move(delta), std::move(rate));
          },
          nb::arg("position"), nb::arg("orientation"), nb::arg("velocity"), "delta and T' v_J of all rows.");
  bind_closing<SpatialEvaluation>(module, "SpatialClosing");
  bind_closing<ReducedEvaluation>(module, "ReducedClosing");
  bind_closing<PlanarEvaluation>(module, "PlanarClosing");
}

}  // namespace sparsebody

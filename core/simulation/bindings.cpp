#include <optional>

#include "python/signature.hpp"
#include "simulation/closing.hpp"

namespace sparsebody {

using namespace simulation;

template <OneOf<model::JointFrames, model::BodyMotions, PoseDerivatives, BodyStates, RowErrors, ClosedState> Struct>
inline constexpr bool is_named_tuple<Struct> = true;

namespace {

constexpr Index few_bodies = 50;  // closing fewer takes less time than releasing the GIL is worth

template <class E>
void bind_closing(nb::module_& m, const char* name) {
  nb::class_<Closing<E>> type(m, name, "The nearest states with closed joints, by the rows of an evaluation.");
  def_keeping<"__init__(evaluation, joints, tolerance, kept, n_unknowns)">(
      type, construct<Closing<E>, E&, const JointErrors&, View<const double>, View<const Index>, Index>);
  def<"close(bodies)">(
      type,
      [](Closing<E>& self, model::BodyMotions bodies) {
        std::optional<nb::gil_scoped_release> released;
        if (bodies.position.rows() > few_bodies) released.emplace();
        return self.close(bodies);
      },
      "Whether joints close; position, orientation, velocity, acceleration; correction of the velocity, and the "
      "largest velocity; smallest pivot, and its row.");
}

}  // namespace

void bind_simulation_implicit(nb::module_& m);

void bind_simulation(nb::module_& m) {
  bind_simulation_implicit(m);
  def<"pose_derivatives(orientation, velocity, acceleration)">(m, &pose_derivatives, "y' and y'' (n, 7) of y = (x, q).");
  def<"moved(position, orientation, rate, pose_curvature, rate_curvature, h)">(
      m, &simulation::moved, "Positions, orientations and velocities after a time h.");
  nb::class_<JointErrors> errors(m, "JointErrors", "Position and velocity errors of all constraint rows.");
  def_keeping<"__init__(frames, kind, first_row, parameter, subspace)">(
      errors, construct<JointErrors, model::JointFrames, View<const Index>, View<const Index>, View<const double>,
                        View<const double, 2>>);
  def<"__call__(bodies)">(errors, &JointErrors::operator(), "delta and T' v_J of all rows.");
  bind_closing<SpatialEvaluation>(m, "SpatialClosing");
  bind_closing<ReducedEvaluation>(m, "ReducedClosing");
  bind_closing<PlanarEvaluation>(m, "PlanarClosing");
}

}  // namespace sparsebody

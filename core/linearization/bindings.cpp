#include "linearization/motion_residuals.hpp"
#include "linearization/pose_gradients.hpp"
#include "model/named_tuples.hpp"

namespace sparsebody {

using namespace linearization;

template <OneOf<Inertias, MotionAt, SpringMotion, Directions, Gradients, StateGradients, PoseCurve, CurveGradients> Struct>
inline constexpr bool is_named_tuple<Struct> = true;

void bind_linearization(nb::module_& m) {
  nb::class_<MotionResiduals> type(m, "MotionResiduals", "Residuals of a motion: their changes and gradients.");
  def_keeping<"__init__(inertias, tables, at, springs)">(
      type, construct<MotionResiduals, const Inertias&, const model::SystemTables&, const MotionAt&, const SpringMotion&>);
  def_kernel<"jvp(along, force, row)">(type, &MotionResiduals::jvp, "Fill the changes of F and r along directions.");
  def_kernel<"vjp(y, u, by)">(type, &MotionResiduals::vjp, "Fill the gradients of y . F + u . r.");
  def_kernel<"add_pose_derivative_gradients(orientation, velocity, acceleration, rate, curvature, gradients)">(
      m, &add_pose_derivative_gradients, "Add gradients by a state of those by y' and y'' there.");
  def_kernel<"moved_gradients(curve, h, twist, velocity, gradients)">(
      m, &moved_gradients, "Add gradients by the start of those by what `moved` returns; fill those by means of y''.");
}

}  // namespace sparsebody

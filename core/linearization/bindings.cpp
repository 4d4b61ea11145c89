#include "linearization/motion_residuals.hpp"
#include "linearization/pose_gradients.hpp"
#include "linearization/transposed_step.hpp"
#include "model/named_tuples.hpp"

namespace sparsebody {

using namespace linearization;

template <OneOf<Inertias, MotionAt, SpringMotion, ElementMotion, Directions, Gradients, StateGradients, Poses, PoseCurve,
                CurveGradients, Displacements, DiscreteRotations, EndOfStep, implicit::Residual> Struct>
inline constexpr bool is_named_tuple<Struct> = true;

void bind_linearization(nb::module_& m) {
  nb::class_<MotionResiduals> type(m, "MotionResiduals", "Residuals of a motion: their changes and gradients.");
  def_keeping<"__init__(inertias, tables, element_joint, at, springs, elements)">(
      type, construct<MotionResiduals, const Inertias&, const model::SystemTables&, View<const Index>, const MotionAt&,
                      const SpringMotion&, const ElementMotion&>);
  def_kernel<"jvp(along, force, row)">(type, &MotionResiduals::jvp, "Fill the changes of F and r along directions.");
  def_kernel<"vjp(y, u, gradients)">(type, &MotionResiduals::vjp, "Fill the gradients of y . F + u . r.");
  def_kernel<"row_products(motion, row)">(type, &MotionResiduals::row_products, "Fill A m of motions.");
  def_kernel<"add_row_forces(u, force)">(type, &MotionResiduals::add_row_forces, "Add A' u of multipliers.");
  def_kernel<"error_vjp(u, predecessor_frame, successor_frame)">(
      type, &MotionResiduals::error_vjp, "Fill the gradients of u . delta, of closed joints, in the frames.");
  nb::class_<TransposedStep> step(m, "TransposedStep", "The transpose of Newton's matrix of an implicit step.");
  def_keeping<"__init__(newton, equations, residual, inertias, compliance, length)">(
      step, construct<TransposedStep, implicit::Newton&, implicit::Equations&, const implicit::Residual&, const Inertias&,
                      View<const double>, double>);
  def_kernel<"solve(motion, end, force, effort, w, u)">(
      step, &TransposedStep::solve,
      "Fill w and u of a right-hand side, by Newton's factors; False if refinement with them stalls.");
  def<"transported_forces(start, end, force)">(m, &transported_forces,
                                               "Wrenches on bodies at the end of a step, as wrenches on bodies at its start.");
  def<"displacements(start, end)">(m, &displacements, "Twists (n, 6) from start to end, and B' (n, 6, 6): B dy "
                                                     "are the twists of the end, dy changes of these.");
  def<"discrete_rotation_slopes(inertia, twist)">(
      m, &discrete_rotation_slopes, "p (n, 3) of discrete rotations t; S'^-1 and C (n, 3, 3): dp = S dt, w . dp = (C w)' dI t.");
  def<"momenta(mass, inertia, velocity)">(m, &momenta, "M v (n, 6).");
  def_kernel<"add_inertial_gradients(p, m, mass, inertia)">(
      m, &add_inertial_gradients, "Add the gradients of -p' M m, m a twist, by masses and inertias.");
  def<"force_cross(velocity, force)">(m, &force_cross, "v x* f (n, 6).");
  def_kernel<"add_pose_derivative_gradients(orientation, velocity, acceleration, rate, curvature, gradients)">(
      m, &add_pose_derivative_gradients, "Add gradients in a state, from gradients in y' and y''.");
  def_kernel<"moved_gradients(curve, h, twist, velocity, gradients)">(
      m, &moved_gradients,
      "Add gradients in poses and y' at the start of a PoseCurve, fill those in its curvatures C and c.");
}

}  // namespace sparsebody

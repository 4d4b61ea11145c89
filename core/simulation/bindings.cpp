#include "model/named_tuples.hpp"
#include "simulation/python_control.hpp"
#include "simulation/variational_step.hpp"

namespace sparsebody {

using namespace simulation;

template <OneOf<model::PoseDerivatives, model::BodyStates, RowErrors, Tableau, Control,
                Retraction, Pivot, StepStart, StepEnd, StepLimits, RowExchange, StepSequence, Ends, BodyInertias> Struct>
inline constexpr bool is_named_tuple<Struct> = true;

namespace {

template <class E>
void bind_steps(nb::module_& m, const char* name) {
  using Steps = VariationalSteps<E>;
  nb::class_<Steps> type(
      m, name,
      "Time steps whose end is projected onto the position and velocity constraints (\"closed\"). negligible_speed: speed below which "
      "velocity corrections are not judged; independent_rows: the rows of the evaluation; loop_rows: indices into these of those that may "
      "become dependent; spare_rows: indices into left_out of those that may be exchanged for them.");
  def_keeping<
      "__init__(evaluation, left_out, terms?, joints, prescribed_rows, retraction, tolerance, length, negligible_speed, independent_rows, loop_rows, spare_rows, "
      "n_unknowns)">(
      type, construct<Steps, E&, const StoredRowTable&, const LoadsAndRows*, const JointErrors&, View<const Index>,
                      const Retraction&, View<const double>, double, double, View<const Index>, View<const Index>, View<const Index>, Index>);
  def<"set_control(control)">(type, &Steps::set_control, "Take a C function and memory for its arguments: see Control.",
                              nb::keep_alive<1, 2>());
  def_kernel<"variational_step(start, bodies, parts, h)">(
      type, &Steps::variational_step, "As `step`, but the error estimate of y'' is empty.");
  def_kernel<"semi_implicit_step(start, h)">(type, &Steps::semi_implicit_step,
                                             "As `step`, but the error estimate of y'' is empty.");
  def_kernel<"step(start, tableau, closes_stages, with_error, h)">(
      type, &Steps::step,
      "Status (OPEN: failed, or rows do not close the stages; CLOSED; STOPPED: the control failed; SENSITIVE: closed, and "
      "open stages would add to the error); position, orientation, velocity, coordinates, acceleration; largest correction "
      "of a velocity, relative; smallest pivot and its row, of all stages and of the end; errors of y''.");
  def_kernel<"take_steps(start, open_tableau, closed_tableau, starts_closed, time, times, ends, limits, pivot, largest_pivot)">(
      type, &Steps::take_steps,
      "Number of steps taken; whether the next one closes its stages; largest pivot so far; the smallest at the start of the "
      "last step; that at the end and its row; violation of rows left out there; whether "
      "the newest factors are of it; the exchange of rows that is due there: row, the one in its place, and gain. Fills `ends`: positions (k, n, 3), orientations, velocities, coordinates, accelerations; there "
      "are no multipliers.");
  def<"keep_stages(keeps)">(type, &Steps::keep_stages, "Whether `stages` are kept.");
  def<"stages()">(type, &Steps::stages, "Hand over, once: positions, orientations, velocities and accelerations (s, n, 19) of "
                                        "the newest step's stages, the end included, and multipliers (s, n_rows).");
  type.def_ro("n_evaluations", &Steps::n_evaluations).def_ro("n_factorizations", &Steps::n_factorizations);
  type.attr("OPEN") = int(StepEnd::open);
  type.attr("CLOSED") = int(StepEnd::closed);
  type.attr("STOPPED") = int(StepEnd::stopped);
  type.attr("SENSITIVE") = int(StepEnd::sensitive);
}

}  // namespace

void bind_simulation_implicit(nb::module_& m);
void bind_simulation_records(nb::module_& m);

void bind_simulation(nb::module_& m) {
  bind_simulation_implicit(m);
  def<"largest(values)">(m, +[](View<const double> values) { return largest(values); },
                         "The largest magnitude, zero of nothing; NaN if any is not finite.");
  def<"pose_derivatives(orientation, velocity, acceleration)">(m, &model::pose_derivatives,
                                                               "y' and y'' (n, 7) of y = (x, q).");
  def<"moved(position, orientation, rate, pose_curvature, rate_curvature, h)">(
      m, &model::moved,
      "Poses y + h y' + h^2/2 C and velocities of the rate y' + h c; rate y', means C (pose_curvature) and c "
      "(rate_curvature) of y''.");
  def<"discrete_rotations(inertia, momentum)">(
      m, &discrete_rotations,
      "Rotation vectors (n, 3) of discrete free rotations (RATTLE on SO(3)); momentum: h times the angular momentum, in body "
      "axes.");
  def<"python_control(items)">(
      m,
      [](nb::typed<nb::list, nb::any> items) {
        return std::pair{reinterpret_cast<std::uintptr_t>(&call_python), reinterpret_cast<std::uintptr_t>(items.ptr())};
      },
      "Addresses of a Control that calls a Python function. The list has to live as long: the function of time and state; a "
      "function that converts its results to wrenches (n, 6) or raises; one that stores its errors; State, the names of its "
      "fields, the number of its coordinates; None.");
  def_kernel<"row_errors(joints, bodies, threads)">(m, &row_errors,
                                                    "Position errors delta and velocity errors T' v_J of all rows.");
  nb::class_<JointErrors> errors(m, "JointErrors", "Joints laid out for many evaluations of the errors of their rows.");
  def_keeping<"__init__(joints)">(errors, construct<JointErrors, const model::JointTable&>);
  def<"at(bodies)">(errors, &JointErrors::at, "Position errors delta and velocity errors T' v_J of all rows.");
  bind_simulation_records(m);
  bind_steps<SpatialEvaluation>(m, "SpatialSteps");
  nb::class_<SpatialQR> spatial_qr(m, "SpatialQR", "A spatial evaluation with QR of the constraint columns.");
  def_keeping<"__init__(evaluation, qr, is_last_resort)">(spatial_qr, construct<SpatialQR, SpatialEvaluation&, BlockQR&, bool>);
  bind_steps<SpatialQR>(m, "SpatialQRSteps");
  bind_steps<ReducedEvaluation>(m, "ReducedSteps");
  bind_steps<PlanarEvaluation>(m, "PlanarSteps");
}

}  // namespace sparsebody

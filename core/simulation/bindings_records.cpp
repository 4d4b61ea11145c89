#include "model/named_tuples.hpp"
#include "simulation/motion_records.hpp"
#include "simulation/step_errors.hpp"

namespace sparsebody {

using namespace simulation;

template <OneOf<StepSample, PairErrors, Turning, simulation::Motion, Masses, Momenta, DampingPowers, Records> Struct>
inline constexpr bool is_named_tuple<Struct> = true;

void bind_simulation_records(nb::module_& m) {
  def_kernel<"momenta(bodies, motion)">(
      m, &momenta, "At k times: kinetic energy (k,), that of gravity, and momentum (k, 6) about the world's origin.");
  def_kernel<"elastic_energies(elements, motion)">(m, &elastic_energies, "Sums of z'z / 2 (k,) of elastic elements at k times.");
  def_kernel<"damping_powers(loads, motion, coordinate)">(
      m, &damping_powers, "What dampers take (k,) at k times [W]; -1, or the first spring between points that coincide.");
  def_kernel<"motion_records(bodies, joints, terms?, prescribed_rows, functions, motion, multiplier)">(
      m, &motion_records,
      "Momenta, the largest position and velocity errors of all rows, and energies of compliant joints, at k times (k,).");

  def<"defects(start, middle, end, weight, mean_before)">(m, &defects, "Errors (n,) of poses and of their rates in two steps.");
  def<"turning(start, middle, end, weight, mass, age, duration)">(m, &turning, "omega (n,), kappa and mean omega of the motion in two steps.");
  nb::class_<StepErrors> errors(m, "StepErrors", "Errors of poses and of their rates, by pairs of steps.");
  def_keeping<"__init__(weight, mass, first, time)">(
      errors, construct<StepErrors, View<const double, 2>, View<const double>, const model::BodyMotions&, double>);
  def<"add(step, time, bodies, acceleration, multiplier, compliance)">(errors, &StepErrors::add, "Add a state as a sample of a pair.");
  def_kernel<"add_ends(first_step, time, motion, acceleration, multiplier, compliance)">(
      errors, &StepErrors::add_ends, "Add the ends of several steps, up to a pair to be compared with rigid joints; return how many.");
  def<"is_due(step, multiplier, compliance)">(errors, &StepErrors::is_due, "Whether a sample completes a pair to be compared with rigid joints.");
  def<"compared(step, wait)">(errors, &StepErrors::compared, "Set how many steps later the next comparison follows.");
  def<"begin_pair(step, time)">(errors, &StepErrors::begin_pair, "Begin a pair at a state at once.");
  def<"restart()">(errors, &StepErrors::restart, "Discard the unfinished pair.");
  def<"largest(end)">(errors, &StepErrors::largest, "The largest error of a pose, and the largest displacement.");
  def<"memory()">(errors, &StepErrors::memory, "Errors, the difference, and scalars (23 n + 6,).");
  def<"resume(memory)">(errors, &StepErrors::resume, "Go on from a memory.");
  def<"n_samples()">(errors, &StepErrors::n_samples, "Of the pair under way.");
  def<"set_difference(difference)">(errors, &StepErrors::set_difference, "Set by what y'' (n, 7) differs in the pair under way.");
  errors.def_ro("next_step", &StepErrors::next_step, "The first step that is in a pair again.");
}

}  // namespace sparsebody

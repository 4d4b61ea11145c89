#include "factorization/block_ldl.hpp"
#include "factorization/multifrontal.hpp"
#include "model/named_tuples.hpp"
#include "simulation/generalized_alpha.hpp"
#include "simulation/newton.hpp"

namespace sparsebody {

using namespace implicit;

template <OneOf<Bodies, Compliance, Start, End, Inputs, Residual, Triplets, AlphaCoefficients, AlphaStart, AlphaJoints, AlphaSteps,
                Openings, OpeningLimits, StepSize, simulation::Ends, simulation::Control> Struct>
inline constexpr bool is_named_tuple<Struct> = true;

namespace {

// f(y, m) of twists (n, 6).
template <class F>
auto of_twists(F f) {
  return [f](View<const double, 2> y, View<const double, 2> m) {
    auto out = Array<double, 2>::uninitialized(y.shape());
    for (Index i = 0; i < y.rows(); ++i)
      f(Motion<double>::load(&y(i, 0)), Motion<double>::load(&m(i, 0))).store(&out(i, 0));
    return out;
  };
}

// Native factors, or a Symbolic with `eliminate` and `unit_solution`, which is called with the GIL.
Factorization factorization_of(nb::handle factors) {
  if (nb::isinstance<block_ldl::Factors>(factors)) {
    auto& own = nb::cast<block_ldl::Factors&>(factors);
    return {[&own, zeros = std::vector<double>(own.layout.n_padded)](ARows rows) { own.eliminate(rows, zeros, -1.0); },
            [&own](ARows rows, View<const double> rhs, View<double> x) { own.solve(rows, rhs, 1.0, false, x); }};
  }
  if (nb::isinstance<multifrontal::Multifrontal>(factors)) {
    auto& own = nb::cast<multifrontal::Multifrontal&>(factors);
    return {[&own](ARows rows) { own.factorize_shifted(rows, 1.0); },
            [&own](ARows, View<const double> rhs, View<double> x) { own.solve(rhs, x); }};
  }
  return {[factors](ARows rows) {
            const nb::gil_scoped_acquire gil;
            factors.attr("eliminate")(Array<double, 3>(rows), 1.0);
          },
          [factors](ARows rows, View<const double> rhs, View<double> x) {
            const nb::gil_scoped_acquire gil;
            const nb::object solution = factors.attr("unit_solution")(Array<double, 3>(rows), Array<double>(rhs));
            std::ranges::copy(nb::cast<View<const double>>(solution), x.begin());
          }};
}

// Python functions of such arguments, or None, called with the GIL.
GeneralizedAlpha::SetInputs set_inputs_by(nb::handle function) {
  if (function.is_none()) return {};
  return [function](double time) {
    const nb::gil_scoped_acquire gil;
    return nb::cast<bool>(function(time));
  };
}
SolveFull solve_full_by(nb::handle function) {
  if (function.is_none()) return {};
  return [function](double b, double c, Correction& correction) {
    const nb::gil_scoped_acquire gil;
    const nb::object solution = function(b, c);
    const auto [twist, multiplier] = nb::cast<std::pair<View<const double, 2>, View<const double>>>(solution);
    std::ranges::copy(twist, correction.twist.begin());
    std::ranges::copy(multiplier, correction.multiplier.begin());
  };
}

}  // namespace

void bind_simulation_implicit(nb::module_& m) {
  nb::class_<Equations> type(m, "ImplicitEquations", "Residuals of an implicit time step, linearized.");
  def_keeping<"__init__(bodies, tables, compliance, start, end, inputs, residual)">(
      type, construct<Equations, const Bodies&, const model::SystemTables&, const Compliance&, const Start&, const End&,
                      const Inputs&, const Residual&>);
  def_kernel<"evaluate()">(
      type, &Equations::evaluate,
      "Fill poses and residuals at the end; return -1, or the first spring between points that coincide.");
  def_kernel<"evaluate_with_control()">(
      type, &Equations::evaluate_with_control, "The same with new wrenches of the control; STOPPED where it fails.");
  def<"set_control(control)">(type, &Equations::set_control, "Take a C function and memory for its arguments: see Control.",
                              nb::keep_alive<1, 2>());
  type.def_rw("time", &Equations::time).def_ro("status", &Equations::status);
  type.attr("STOPPED") = Equations::stopped;
  def_kernel<"assemble(exact_rows)">(
      type,
      [](Equations& self, bool exact_rows) {
        Triplets entries;
        self.assemble(entries, exact_rows);
        return entries;
      },
      "Return rows, columns and values of [J A'; A -C] = K + c D + b M; entries of equal indices add up.");
  def_kernel<"set_joint_rows()">(
      type, &Equations::set_joint_rows, "Set the rows A of joints, and the derivatives E of their errors in twists.");
  def_kernel<"row_products(motion, row)">(type, &Equations::row_products, "Fill A m of motions.");
  def_kernel<"add_error_forces(u, force, predecessor_frame, successor_frame)">(
      type, &Equations::add_error_forces, "Add E' u, and gradients of u . delta in joint frames.");
  def_kernel<"assemble_acceleration_errors(error)">(
      type,
      [](Equations& self, View<double> error) {
        Triplets entries;
        self.assemble_acceleration_errors(entries, error);
        return entries;
      },
      "Fill d/dt (T' v_J) of the rows of joints; return its derivatives K, D, M as `assemble` does.");
  def_kernel<"velocity_errors(prescribed_rate, error)">(
      type, &Equations::velocity_errors, "Fill T' v_J of the rows of joints, less the prescribed rates.");

  nb::class_<Newton> newton(m, "Newton", "Newton's method on the equations of an implicit step.");
  def_keeping<"__init__(equations, factors, start, end, inputs, n_unknowns, length)">(
      newton, [](Newton* self, Equations& equations, nb::object factors, const Start& start, const End& end,
                 View<double> inputs, Index n_unknowns, double length) {
        new (self) Newton(equations, factorization_of(factors), start, end, inputs, n_unknowns, length);
      });
  def_kernel<"factorize(b, c)">(newton, &Newton::factorize, "Factorize at the present unknowns.");
  def_kernel<"fill_correction(twist, multiplier)">(
      newton,
      [](Newton& self, View<double, 2> twist, View<double> multiplier) {
        const Correction& correction = self.solve();
        std::copy_n(correction.twist.data(), twist.size(), twist.begin());
        std::copy_n(correction.multiplier.data(), multiplier.size(), multiplier.begin());
      },
      "Fill the correction for the present residuals by the newest factors.");
  def<"point()">(
      newton, [](const Newton& self) { return std::vector<double>(self.point().begin(), self.point().end()); },
      "Return the unknowns at which the matrix was factorized.");
  def_kernel<"factorize_at(point)">(
      newton, &Newton::factorize_at, "Factorize the matrix at the unknowns that `point` returned.");
  def<"drop_factors()">(newton, &Newton::drop_factors, "Forget the factors.");
  newton.def_ro("n_iterations", &Newton::n_iterations)
      .def_ro("n_factorizations", &Newton::n_factorizations)
      .def_ro("size", &Newton::size);
  nb::class_<GeneralizedAlpha> alpha(m, "GeneralizedAlpha", "Steps of the generalized-alpha method.");
  def_keeping<"__init__(coefficients, closes_velocities, equations, newton, start, end, residual, joints, openings, length, "
             "predictor_tolerance, newton_tolerance)">(
      alpha, construct<GeneralizedAlpha, const AlphaCoefficients&, bool, Equations&, Newton&, const Start&, const End&,
                       const Residual&, const AlphaJoints&, const Openings&, double, double, double>);
  def_kernel<"take_steps(start, time, size, times, ends, limits, set_inputs?, solve_full?)">(
      alpha,
      [](GeneralizedAlpha& self, const AlphaStart& from, double time, const StepSize& size, View<const double> times,
         const simulation::Ends& ends, const OpeningLimits& limits, nb::handle set_inputs, nb::handle solve_full) {
        return self.take_steps(from, time, size, times, ends, limits, set_inputs_by(set_inputs), solve_full_by(solve_full));
      },
      "Number of steps taken; status of the next one if it failed, else CONVERGED; algorithmic accelerations at the end of "
      "the last one; the time at which it began, and the multipliers there; the largest error of a joint. Fills `ends`: positions "
      "(k, n, 3), orientations, velocities, coordinates, accelerations and multipliers.");
  def<"opening()">(alpha, &GeneralizedAlpha::opening, "How far mean loads open joints, relative to the extent; or their work, if larger.");
  alpha.attr("CONVERGED") = int(Newton::converged);
  alpha.attr("UNDEFINED") = int(Newton::undefined);
  def<"tangent_products(y, m)">(m, of_twists([](const auto& y, const auto& m) { return tangent(y, m); }),
                                "T(y) m (n, 6), with exp(-y) d exp(y) = T(y) dy.");
  def<"inverse_tangent_products(y, m)">(m, of_twists([](const auto& y, const auto& m) { return inverse_tangent(y, m); }),
                                        "T(y)^-1 m (n, 6), of rotations by less than a turn.");
  def<"inverse_tangent_forces(y, f)">(
      m, of_twists([](const auto& y, const auto& f) { return inverse_tangent_transposed(y, {f.angular, f.linear}); }),
      "T(y)^-1' f (n, 6), of rotations by less than a turn.");
  def<"tangent_forces(y, f)">(
      m, of_twists([](const auto& y, const auto& f) { return tangent_transposed(y, {f.angular, f.linear}); }),
      "T(y)' f (n, 6).");
  def<"tangent_gradients(y, m, f)">(
      m,
      +[](View<const double, 2> y, View<const double, 2> m, View<const double, 2> f) {
        auto out = Array<double, 2>::uninitialized(y.shape());
        for (Index i = 0; i < y.rows(); ++i)
          tangent_gradient(Motion<double>::load(&y(i, 0)), Motion<double>::load(&m(i, 0)), Force<double>::load(&f(i, 0)))
              .store(&out(i, 0));
        return out;
      },
      "The gradients (n, 6) of f' T(y) m by y.");
  def<"cross_products(v, m)">(m, of_twists([](const auto& v, const auto& m) { return cross(v, m); }),
                              "v x m of motions (n, 6). Featherstone (2008), eq. (2.33).");
}

}  // namespace sparsebody

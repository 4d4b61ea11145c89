#include <cmath>
#include <optional>

#include "dynamics/planar_evaluation.hpp"
#include "dynamics/reduced.hpp"
#include "dynamics/spatial_evaluation.hpp"
#include "dynamics/loads_and_rows.hpp"
#include "model/named_tuples.hpp"

namespace sparsebody {

namespace {

using Vector = View<double>;
using Table = View<double, 2>;
using Values = View<const double>;
using Numbers = View<std::uint32_t>;

// Arrays of a State, without conversion: others raise TypeError.
struct StateArrays {
  Table position, orientation, velocity;
  Vector coordinate;
  double time;
};
// Loads, and general rows of A and gamma.
struct Terms {
  View<const double, 2> load;
  View<const double, 3> rows;
  Values gamma;
};

}  // namespace

template <OneOf<SuccessorFrames, JointRows, StateArrays, Terms> Struct>
inline constexpr bool is_named_tuple<Struct> = true;

namespace {

// Runs f, without the GIL where that pays.
template <class F>
auto unlocked(Index n_bodies, F&& f) {
  constexpr Index few_bodies = 50;  // evaluations of fewer take less time than releasing the GIL is worth
  std::optional<nb::gil_scoped_release> released;
  if (n_bodies > few_bodies) released.emplace();
  return f();
}

template <class E>
EvaluationInput input_of(const E& e, const StateArrays& state, const Terms& terms, Values stabilization) {
  using Shape = Table::Shape;
  const auto& [position, orientation, velocity, coordinate, time] = state;
  const Index n = e.n_bodies();
  if (position.shape() != Shape{n, 3} || orientation.shape() != Shape{n, 4} || velocity.shape() != Shape{n, 6} ||
      coordinate.size() != e.n_coordinates() || !std::isfinite(time))
    throw nb::type_error("the arrays are no state of the system");
  return {position, orientation, velocity, terms.load, terms.rows, terms.gamma, stabilization};
}

template <class E>
void def_evaluation(nb::class_<E>& type) {
  def<"assemble(state, terms, stabilization)">(
      type,
      [](E& self, const StateArrays& state, const Terms& terms, Values stabilization) {
        const EvaluationInput in = input_of(self, state, terms, stabilization);
        return unlocked(self.n_bodies(), [&] { return self.assemble(in); });
      },
      "Fill rows and right-hand side at a state; return the status.");
  def<"accelerate(state, terms, stabilization, acceleration, multiplier)">(
      type,
      [](E& self, const StateArrays& state, const Terms& terms, Values stabilization, Table acceleration,
         Vector multiplier) {
        const EvaluationInput in = input_of(self, state, terms, stabilization);
        if (acceleration.shape() != Table::Shape{self.n_bodies(), 6})
          throw nb::type_error("accelerations are (n_bodies, 6)");
        const auto [status, refinement] =
            unlocked(self.n_bodies(), [&] { return self.accelerate(in, acceleration, multiplier); });
        return std::tuple(status, refinement.residual, refinement.correction);
      },
      "Assemble, factorize and solve at once; return status, relative residual and relative size of the last correction.");
  def<"to_user_order(acceleration, multiplier)">(
      type, [](E& self, Table acceleration, Vector multiplier) { self.to_user_order(acceleration, multiplier); },
      "Fill accelerations, and multipliers if there are any, in the user's numbering and units.");
  def<"violation(left_out, terms, stabilization, gamma)">(
      type,
      [](E& self, const StoredRowTable& left_out, const Terms& terms, Values stabilization, Vector gamma) {
        const EvaluationInput in{{}, {}, {}, {}, terms.rows, terms.gamma, stabilization};
        return unlocked(self.n_bodies(), [&] { return violation(self, left_out, in, gamma); });
      },
      "Fill gamma of rows left out at the newest state; return how far the newest solution violates them.");
  def<"row_lengths()">(
      type, [](const E& self) { return row_lengths(assembling(self).system.constraints); },
      "Return the lengths of the rows in use (k,), in units of the bodies.");
  def<"sines(table)">(
      type, [](const E& self, const StoredRowTable& table) { return sines(self, table); },
      "Return |a x| / |a| of the rows of a table (k,), as filled last; x is the newest solution.");
}

// Methods of evaluations that assemble rows; factors: null where other factorizations solve.
template <class E, class Factors>
void def_assembling(nb::class_<E>& type, Factors* E::*factors) {
  def_evaluation(type);
  def<"fill_rows_on_successors(table, frames)">(
      type,
      [](const E& self, const StoredRowTable& table, const SuccessorFrames& frames) {
        fill_rows_on_successors(self.system, table, frames, self.threads);
      },
      "Fill the rows of a table that are constant on their successors.");
  type.def_prop_rw(
      "threads", [](const E& self) { return self.threads; },
      [factors](E& self, Index threads) {
        self.threads = threads;
        if (self.*factors != nullptr) (self.*factors)->threads = threads;
      },
      "Threads that an evaluation may use; its result does not depend on them.");
}

// Steps of spatial evaluations.
template <class E>
void def_steps(nb::class_<E>& type) {
  def<"factorize()">(
      type, [](E& self) { return unlocked(self.n_bodies(), [&] { return self.factorize(); }); },
      "Factorize what was assembled last; return the status.");
  def<"solve(right, goal, is_shifted)">(
      type,
      [](E& self, Values right, double goal, bool is_shifted) {
        const auto [residual, correction] =
            unlocked(self.n_bodies(), [&] { return self.solve(right, goal, is_shifted); });
        return std::pair(residual, correction);
      },
      "Fill x for a right-hand side; return the relative residual and the relative size of the last correction.");
}

void bind_spatial_evaluations(nb::module_& m) {
  nb::class_<SpatialEvaluation> spatial(m, "SpatialEvaluation",
                                        "Forward dynamics of bodies with six freedoms, in elimination order.");
  def_keeping<"__init__(constraints, factors?, body, gravity, unit, right, padded_x, residual, wrench, n_coordinates, "
              "max_corrections, goal, chunk_length)">(
      spatial,
      [](SpatialEvaluation* self, const StoredRowTable& constraints, block_ldl::Factors* factors, Numbers body, Vector gravity,
         Table unit, Vector right, Vector padded_x, Vector residual, Vector wrench, Index n_coordinates,
         Index max_corrections, double goal, Index chunk_length) {
        new (self) SpatialEvaluation{{constraints, body, gravity, unit, right},
                                     {padded_x, residual, wrench, {}, {}, {}},
                                     factors,
                                     make_schedule(factors ? &factors->layout : nullptr, constraints, body.size(), chunk_length),
                                     n_coordinates,
                                     max_corrections,
                                     goal};
      });
  def_assembling(spatial, &SpatialEvaluation::factors);
  def_steps(spatial);

  def<"from_user_order(force, row, right)">(
      spatial,
      [](const SpatialEvaluation& self, View<const double, 2> force, Values row, Vector right) {
        from_user_order(self.system, force, row, right);
      },
      "Fill a right-hand side from forces on the bodies and accelerations of all rows, in the user's numbering and units.");
  def<"compute_residual(right)">(spatial, &SpatialEvaluation::compute_residual, "Return the relative residual of x.");

  nb::class_<ReducedEvaluation> reduced(m, "ReducedEvaluation",
                                        "Forward dynamics of bodies within displacement subgroups about the world.");
  def_keeping<"__init__(unreduced, reduced, freedoms, basis, fixed)">(
      reduced, construct<ReducedEvaluation, SpatialEvaluation&, SpatialEvaluation&, Numbers, Table, Table>);
  def_evaluation(reduced);
  def_steps(reduced);
  def<"retract(fixed, position, orientation, retracted)">(
      m, &retract,
      "Fill positions that put fixed points of bodies where their subgroups have them; return the largest change by reach.");
  m.attr("BAD_STATE") = bad_state;
  m.attr("OUTSIDE_SUBGROUPS") = outside_subgroups;
  m.attr("ROUGH_CORRECTION") = rough_correction;
  m.attr("MARGIN") = margin;
  m.attr("UNIT_COLUMNS") = unit_columns;
  def<"fill_units(mass, inertia, bodies, unit)">(m, &fill_units);
}

void bind_planar_evaluation(nb::module_& m) {
  using E = PlanarEvaluation;
  nb::class_<E> evaluation(m, "PlanarEvaluation", "Forward dynamics of bodies with three freedoms.");
  def_keeping<"__init__(constraints, qr?, body, gravity, unit, basis, right, x, n_coordinates)">(
      evaluation, [](E* self, const StoredRowTable& constraints, BlockQR* qr, Numbers body, Vector gravity, Table unit,
                     View<double, 3> basis, Vector right, Vector x, Index n_coordinates) {
        new (self) E{{constraints, body, gravity, unit, basis, right}, qr, x, n_coordinates};
      });
  def_assembling(evaluation, &E::qr);
  m.attr("WORLD_ROOT") = world_root;

  nb::class_<ExtendedPlanarSystem> extended(m, "ExtendedPlanarSystem", "Residuals of 31 digits.");
  def<"__init__(evaluation, frames)">(extended, construct<ExtendedPlanarSystem, const E&, const SuccessorFrames&>);
  def<"solve(evaluation, state, terms, stabilization)">(
      extended,
      [](ExtendedPlanarSystem& self, E& e, const StateArrays& state, const Terms& terms, Values stabilization) {
        const EvaluationInput in = input_of(e, state, terms, stabilization);
        return unlocked(e.n_bodies(), [&] { return self.solve(e, in); });
      },
      "Correct the newest solution with residuals made from the state; return the last correction.");
}

}  // namespace

void bind_dynamics(nb::module_& m) {
  nb::class_<StoredRowTable> table(m, "RowTable", "Some rows of A, those of a joint consecutive.");
  def<"__init__(selected, all, width)">(table, construct<StoredRowTable, View<const Index>, const JointRows&, Index>);
  table.def_prop_ro(
      "rows", [](nb::handle self) { return viewed_array(nb::cast<StoredRowTable&>(self).rows, self); },
      nb::sig("def rows(self) -> numpy.typing.NDArray[numpy.float64]"),
      "(k, 2, width) on predecessor and successor, in units of the bodies, as a view.");
  table.attr("CARRIED") = int(RowTable::carried);
  table.attr("GENERAL") = int(RowTable::general);
  table.attr("LINE") = int(RowTable::line);
  bind_spatial_evaluations(m);
  bind_planar_evaluation(m);

  nb::class_<LoadsAndRows> terms(m, "LoadsAndRows", "Loads, and rows that vary in successor coordinates.");
  def_keeping<"__init__(tables, functions, rows, gamma)">(
      terms, construct<LoadsAndRows, const model::SystemTables&, Table, View<double, 3>, Vector>);
  def<"fill_rows(bodies)">(
      terms,
      [](const LoadsAndRows& self, const model::BodyMotions& bodies) {
        unlocked(self.n_joints(), [&] { self.fill_rows(bodies); });
      },
      "Fill rows and gamma at a state.");
  def<"fill_errors(bodies, rows, delta, velocity_error)">(terms, &LoadsAndRows::fill_errors,
                                                          "Fill errors of the rows of prescribed coordinates.");
  def<"add_loads(bodies, coordinate, load)">(
      terms,
      [](const LoadsAndRows& self, const model::BodyMotions& bodies, Values coordinate, Table load) {
        return unlocked(load.rows(), [&] { return self.add_loads(bodies, coordinate, load); });
      },
      "Add loads (n_bodies, 6); return -1, or the first spring between points that coincide.");

  def_kernel<"fill_complementary_reactions(bodies, joints, joint_rows, predecessor, successor, row_joint, rows, "
             "required, multiplier)">(m, &fill_complementary_reactions);
  def_kernel<"rows_on_freedoms(row_joint, ends, rows, to_freedoms, inverse, reduced)">(m, &rows_on_freedoms);
  def_kernel<"locally_independent_rows(first_row, is_within, reduced, size, is_prescribed)">(
      m, &locally_independent_rows);
  def_kernel<"reaction_tree(ends, freedoms, n_dropped)">(m, &reaction_tree);
}

}  // namespace sparsebody

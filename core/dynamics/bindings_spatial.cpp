#include "dynamics/bindings.hpp"
#include "dynamics/reduced_evaluation.hpp"
#include "dynamics/spatial_evaluation.hpp"
#include "dynamics/spatial_tables.hpp"
#include "dynamics/varying_rows.hpp"

namespace sparsebody {

template <> inline constexpr bool is_named_tuple<model::JointFrames> = true;
template <> inline constexpr bool is_named_tuple<model::Subspaces> = true;

static std::tuple<Index, double, double> result(const EvaluationResult& r) {
  return {r.status, r.refinement.residual, r.refinement.correction};
}

namespace {

using Numbers = View<std::uint32_t>;

// Binds what evaluations do in several steps.
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
      "Fill x for a right-hand side; return the relative residual and that of the last correction.");
  def<"violation(left_out, general_rows, general_gamma, stabilization, gamma)">(
      type,
      [](E& self, const RowTable& left_out, Rows general_rows, Values general_gamma, Values stabilization,
         Vector gamma) {
        const EvaluationInput in{{}, {}, {}, {}, general_rows, general_gamma, stabilization};
        return unlocked(self.n_bodies(), [&] { return self.violation(left_out, in, gamma); });
      },
      "Fill gamma of rows left out at the newest state; return how far x violates them.");
}

}  // namespace

void bind_dynamics_spatial(nb::module_& m) {
  nb::class_<RowTable> row_table(m, "RowTable", "Rows of A, those of a joint together.");
  def_members<"__init__(predecessor, successor, anchor, is_general, first_row, user_row, general_row, rows)">(row_table);

  nb::class_<SpatialEvaluation> spatial(m, "SpatialEvaluation",
                                        "Forward dynamics of bodies with six freedoms, in elimination order.");
  def_keeping<"__init__(kept, factors?, body, gravity, unit, position, rotation, velocity, right, padded_x, residual, "
              "wrench, n_coordinates, max_corrections, goal, chunk_length)">(
      spatial,
      [](SpatialEvaluation* self, const RowTable& kept, block_ldl::Factors* factors, Numbers body, Vector gravity,
         Table unit, Table position, Table rotation, Table velocity, Vector right, Vector padded_x, Vector residual,
         Vector wrench, Index n_coordinates, Index max_corrections, double goal, Index chunk_length) {
        new (self) SpatialEvaluation{{kept, body, gravity, unit, position, rotation, velocity, right},
                                     {padded_x, residual, wrench, {}, {}, {}},
                                     factors,
                                     make_schedule(factors ? &factors->layout : nullptr, kept, body.size(), chunk_length),
                                     n_coordinates,
                                     max_corrections,
                                     goal};
      });
  def_threads(spatial, &SpatialEvaluation::factors);
  def_evaluation(spatial);
  def_steps(spatial);
  def<"compute_residual(right)">(spatial, &SpatialEvaluation::compute_residual, "Return the relative residual of x.");

  nb::class_<ReducedEvaluation> reduced(m, "ReducedEvaluation",
                                        "The same of bodies within displacement subgroups about the world.");
  def_keeping<"__init__(unreduced, reduced, freedoms, basis, fixed)">(
      reduced, construct<ReducedEvaluation, SpatialEvaluation&, SpatialEvaluation&, Numbers, Table, Table>);
  def_evaluation(reduced);
  def_steps(reduced);
  def<"retract(fixed, position, orientation, retracted)">(
      m, &retract, "Fill positions with points where they have to be; return how far away they were, relative to reach.");

  nb::class_<VaryingRows> varying(m, "VaryingRows", "Rows of joints whose T varies in S coordinates.");
  def_members<"__init__(frames, kind, first_row, rows, gamma)">(varying);
  def<"fill(position, orientation, velocity)">(
      varying,
      [](const VaryingRows& self, Loads position, Loads orientation, Loads velocity) {
        unlocked(self.kind.size(), [&] { self.fill({position, orientation, velocity}); });
      },
      "Fill rows and gamma at a state.");

  m.attr("BAD_STATE") = bad_state;
  m.attr("OUTSIDE_SUBGROUPS") = outside_subgroups;
  m.attr("ROUGH_CORRECTION") = rough_correction;
  m.attr("MARGIN") = margin;
  m.attr("UNIT_COLUMNS") = unit_columns;
  def<"fill_units(mass, inertia, bodies, unit)">(m, &fill_units);
  def<"fill_rows_on_successors(table, unit, row_joint, successor_rotation, successor_point, subspaces, threads)">(
      m, &fill_rows_on_successors);
}

}  // namespace sparsebody

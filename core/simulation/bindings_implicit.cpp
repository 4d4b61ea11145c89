#include "python/signature.hpp"
#include "simulation/implicit_equations.hpp"

namespace sparsebody {

using namespace implicit;

template <OneOf<model::JointFrames, model::ElasticElements, Bodies, Joints, Coordinates, CoordinateSprings, PointSprings, Loads, Compliance, Start, End, Given,
                Residual, Triplets> Struct>
inline constexpr bool is_named_tuple<Struct> = true;

void bind_simulation_implicit(nb::module_& m) {
  nb::class_<Equations> type(m, "ImplicitEquations", "Residuals of an implicit time step, linearized.");
  def_keeping<"__init__(bodies, joints, coordinates, springs, point_springs, elements, loads, compliance, start, "
              "end, given, residual)">(
      type, construct<Equations, const Bodies&, const Joints&, const Coordinates&, const CoordinateSprings&,
                      const PointSprings&, const model::ElasticElements&, const Loads&, const Compliance&, const Start&, const End&, const Given&,
                      const Residual&>);
  def_kernel<"evaluate()">(
      type, &Equations::evaluate,
      "Fill poses and residuals at the end; return -1, or the first spring between points that coincide.");
  def_kernel<"linearize(b, c, rows)">(
      type, &Equations::linearize,
      "Fill the rows of [1 A'; A -1], Newton's matrix in other units; return how many blocks were indefinite.");
  def_kernel<"right_side(rhs)">(type, &Equations::right_side, "Fill the right-hand side in these units.");
  def_kernel<"subtract_rest(x, rhs, changed)">(
      type, &Equations::subtract_rest, "Fill the right-hand side less what H leaves out of the product with x.");
  def_kernel<"to_correction(x, twist, multiplier)">(
      type, &Equations::to_correction, "Fill twists and multipliers from a solution in these units.");
  def_kernel<"correct(b, c, twist, multiplier)">(
      type, &Equations::correct, "Add a correction; return its largest angle and distance.");
  def_kernel<"assemble(b, c)">(
      type,
      [](Equations& self, double b, double c) {
        Triplets entries;
        self.assemble(b, c, entries);
        return entries;
      },
      "Return rows, columns and values of [J A'; A -C]; entries at one place add up.");
  def_kernel<"whole_right_side(rhs)">(type, &Equations::whole_right_side, "Fill the right-hand side for that matrix.");
}

}  // namespace sparsebody

#include <cmath>
#include <optional>

#include "dynamics/planar_evaluation.hpp"
#include "python/arrays.hpp"

namespace sparsebody {
namespace {

// The arrays of a state are taken as they are; other ones raise TypeError.
struct StateArrays {
  View<double, 2> position, orientation, velocity;
  View<double> coordinate;
  double time;
};

struct GeneralArrays {
  View<const double, 2> load;
  View<const double, 3> general_rows;
  View<const double> general_gamma, stabilization;
};

EvaluationInput checked_input(Index n_bodies, Index n_coordinates, const StateArrays& state,
                                     const GeneralArrays& in = {}) {
  if (state.position.shape() != std::array{n_bodies, Index(3)} ||
      state.orientation.shape() != std::array{n_bodies, Index(4)} ||
      state.velocity.shape() != std::array{n_bodies, Index(6)} || state.coordinate.size() != n_coordinates ||
      !std::isfinite(state.time))
    throw nb::type_error("the arrays are no state of the system");
  return {state.position, state.orientation, state.velocity, in.load, in.general_rows, in.general_gamma,
          in.stabilization};
}

// Runs f, without the GIL where that pays.
template <class F>
auto run_released(Index n_bodies, F&& f) {
  constexpr Index few_bodies = 50;  // evaluations of fewer take less time than releasing the GIL is worth
  std::optional<nb::gil_scoped_release> released;
  if (n_bodies > few_bodies) released.emplace();
  return f();
}

struct BoundPlanarEvaluation : PlanarEvaluation {
  Index n_coordinates = 0;

  EvaluationInput checked(const StateArrays& state, const GeneralArrays& in = {}) const {
    return checked_input(n_bodies(), n_coordinates, state, in);
  }
  template <class F>
  auto run(F&& f) const {
    return run_released(n_bodies(), f);
  }
};

}  // namespace

void bind_dynamics_planar(nb::module_& module) {
  using namespace nb::literals;
  using Indices = View<const Index>;
  using Vector = View<double>;
  using Table = View<double, 2>;
  using Loads = View<const double, 2>;
  using Rows = View<const double, 3>;
  using Values = View<const double>;
  using E = BoundPlanarEvaluation;

  nb::class_<PlanarRows> rows(module, "PlanarRows", "Rows within the plane, those of a joint together.");
  rows.def(
          "__init__",
          [](PlanarRows* self, Indices predecessor, Indices successor, Indices kind, Loads constant,
             Indices first_row, Indices user_row, Indices general_row, View<double, 3> rows) {
            new (self) PlanarRows{{}, {}, rows};
            self->joints.reserve(predecessor.size() + 1), self->rows.reserve(user_row.size());
            for (Index j = 0; j < predecessor.size(); ++j)
              self->joints.push_back({std::uint32_t(predecessor[j]), std::uint32_t(successor[j]),
                                      std::uint32_t(kind[j]), std::uint32_t(first_row[j]),
                                      {constant(j, 0), constant(j, 1), constant(j, 2), constant(j, 3)}});
            self->joints.push_back({0, 0, 0, std::uint32_t(first_row[predecessor.size()]), {}});
            for (Index k = 0; k < user_row.size(); ++k)
              self->rows.push_back({std::uint32_t(user_row[k]), std::uint32_t(general_row[k])});
          },
          "predecessor"_a, "successor"_a, "kind"_a, "constant"_a, "first_row"_a, "user_row"_a, "general_row"_a,
          "rows"_a, nb::keep_alive<1, 9>());
  rows.attr("CARRIED") = int(PlanarRows::carried);
  rows.attr("GENERAL") = int(PlanarRows::general);
  rows.attr("LINE") = int(PlanarRows::line);

  nb::class_<SuccessorFrames>(module, "SuccessorFrames", "Where rows that are constant on successors come from.")
      .def(
          "__init__",
          [](SuccessorFrames* self, Indices joints, Indices rows, Rows rotation, Loads point, Loads subspace) {
            new (self) SuccessorFrames{joints, rows, rotation, point, subspace};
          },
          "joints"_a, "rows"_a, "rotation"_a, "point"_a, "subspace"_a, nb::keep_alive<1, 2>(),
          nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(), nb::keep_alive<1, 6>());

  nb::class_<PlanarEvaluation>(module, "PlanarSystem", "What a PlanarEvaluation is to other kernels.");
  nb::class_<E, PlanarEvaluation> evaluation(module, "PlanarEvaluation",
                                             "Forward dynamics of bodies with three freedoms.");
  evaluation
      .def_prop_rw(
          "threads", [](const E& self) { return self.threads; },
          [](E& self, Index threads) {
            self.threads = threads;
            if (self.qr != nullptr) self.qr->threads = threads;
          },
          "Threads that an evaluation may use; its result does not depend on them.")
      .def(
          "__init__",
          [](E* self, PlanarRows& kept, BlockQR* qr, Indices bodies, Rows basis, Loads axes, Values gravity,
             Values inertia, Values mass, Vector right, Vector x, Index n_coordinates) {
            new (self) E{{kept, qr, {}, {}, {}, Mat3<double>::load(axes.data()), {gravity[0], gravity[1]}, right, x}};
            self->n_coordinates = n_coordinates;
            constexpr double world_root = 0x1p200;  // what rows hold at its end must not count in their norms
            self->bodies.reserve(bodies.size()), self->units.reserve(bodies.size() + 1);
            for (const Index b : bodies) {
              self->bodies.push_back({std::uint32_t(b), Mat3<double>::load(basis[b].data())});
              const double turn = std::sqrt(inertia[b]), root = std::sqrt(mass[b]);
              self->units.push_back({turn, root, 1.0 / turn, 1.0 / root});
            }
            self->units.push_back({world_root, world_root, 1.0 / world_root, 1.0 / world_root});
            self->motion.resize(bodies.size() + 1);
            self->motion.back().R.cosine = 1.0;
          },
          "kept"_a, "qr"_a.none(), "bodies"_a, "basis"_a, "axes"_a, "gravity"_a, "inertia"_a, "mass"_a, "right"_a,
          "x"_a, "n_coordinates"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 10>(),
          nb::keep_alive<1, 11>())
      .def(
          "assemble",
          [](E& self, Table position, Table orientation, Table velocity, Vector coordinate, double time, Loads load,
             Rows general_rows, Values general_gamma, Values stabilization) {
            const EvaluationInput in = self.checked({position, orientation, velocity, coordinate, time},
                                                    {load, general_rows, general_gamma, stabilization});
            return int(self.run([&] { return self.assemble(in); }));
          },
          "position"_a, "orientation"_a, "velocity"_a, "coordinate"_a, "time"_a, "load"_a, "general_rows"_a,
          "general_gamma"_a, "stabilization"_a, "Fill rows and right-hand side; return a status.")
      .def(
          "accelerate",
          [](E& self, Table position, Table orientation, Table velocity, Vector coordinate, double time, Loads load,
             Rows general_rows, Values general_gamma, Values stabilization, Table acceleration, Vector multiplier) {
            const EvaluationInput in = self.checked({position, orientation, velocity, coordinate, time},
                                                    {load, general_rows, general_gamma, stabilization});
            return int(self.run([&] { return self.accelerate(in, acceleration, multiplier); }));
          },
          "position"_a, "orientation"_a, "velocity"_a, "coordinate"_a, "time"_a, "load"_a, "general_rows"_a,
          "general_gamma"_a, "stabilization"_a, "acceleration"_a, "multiplier"_a,
          "Assemble, factorize and solve at once; return a status.")
      .def(
          "accelerate",
          [](E& self, Table position, Table orientation, Table velocity, Vector coordinate, double time,
             Table acceleration) {
            const EvaluationInput in = self.checked({position, orientation, velocity, coordinate, time});
            return int(self.run([&] { return self.accelerate(in, acceleration, {}); }));
          },
          "position"_a, "orientation"_a, "velocity"_a, "coordinate"_a, "time"_a, "acceleration"_a,
          "The same without loads, general rows and multipliers.")
      .def(
          "solve",
          [](E& self, Values rhs, bool accurate) {
            return self.run([&] {
              self.solve(rhs, accurate);
              return self.residual;
            });
          },
          "rhs"_a, "accurate"_a, "Fill x from the newest factors; return the relative residual.")
      .def("to_user_order", &PlanarEvaluation::to_user_order, "acceleration"_a, "multiplier"_a,
           "Fill accelerations, and multipliers if there are any, in the user's numbering and units.")
      .def("fill_rows_on_successors", &PlanarEvaluation::fill_rows_on_successors, "table"_a, "frames"_a,
           "Fill the rows of a table that are constant on their successors.")
      .def(
          "violation",
          [](const E& self, PlanarRows& left_out, Rows general_rows, Values general_gamma, Values stabilization) {
            return self.run([&] {
              return self.violation(left_out, {{}, {}, {}, {}, general_rows, general_gamma, stabilization});
            });
          },
          "left_out"_a, "general_rows"_a, "general_gamma"_a, "stabilization"_a,
          "Return the largest violation of rows left out by the newest solution.")
      .def_ro("residual", &PlanarEvaluation::residual, "Relative residual of the newest solution.")
      .def_ro("row", &PlanarEvaluation::row, "The row that depends on others.");
  evaluation.attr("GOOD") = int(PlanarEvaluation::good);
  evaluation.attr("NOT_FINITE") = int(PlanarEvaluation::not_finite);
  evaluation.attr("OUT_OF_PLANE") = int(PlanarEvaluation::out_of_plane);
  evaluation.attr("DEPENDENT_ROW") = int(PlanarEvaluation::dependent_row);
  evaluation.attr("INACCURATE") = int(PlanarEvaluation::inaccurate);

  nb::class_<ExtendedPlanarSystem>(module, "ExtendedPlanarSystem", "Residuals of 31 digits.")
      .def(
          "__init__",
          [](ExtendedPlanarSystem* self, const E& e, const SuccessorFrames& frames) {
            new (self) ExtendedPlanarSystem(e, frames);
          },
          "evaluation"_a, "frames"_a)
      .def(
          "solve",
          [](ExtendedPlanarSystem& self, E& e, Table position, Table orientation, Table velocity,
             Values stabilization) {
            return e.run([&] { return self.solve(e, {position, orientation, velocity, {}, {}, {}, stabilization}); });
          },
          "evaluation"_a, "position"_a, "orientation"_a, "velocity"_a, "stabilization"_a,
          "Correct the newest solution with residuals made from the state; return the last correction.");
}

}  // namespace sparsebody

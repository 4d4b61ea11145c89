#include "base/threads.hpp"
#include "model/body_forces.hpp"
#include "model/constraint_rows.hpp"
#include "model/momentum.hpp"
#include "model/planar_motion.hpp"
#include "model/poses.hpp"
#include "model/subgroups.hpp"
#include "python/arrays.hpp"

namespace sparsebody {

using namespace model;

namespace {

using Ints = View<const Index>;
using Doubles = View<const double>;
using Rows = View<const double, 2>;
using Matrices = View<const double, 3>;

void bind_kinematics(nb::module_& module) {
  def_kernel(module, "rotations", &rotations, nb::arg("orientation"));
  def_kernel(
      module, "displaced",
      [](Rows position, Rows orientation, Rows twist) {
        auto [x, q] = displaced(position, orientation, twist);
        return std::tuple(std::move(x), std::move(q));
      },
      nb::arg("position"), nb::arg("orientation"), nb::arg("twist"));
  def_kernel(module, "is_regular", &is_regular, nb::arg("position"), nb::arg("orientation"), nb::arg("velocity"),
             nb::arg("coordinate"), "Whether every number is finite and every quaternion of unit length.");
  def_kernel(
      module, "joint_motions",
      [](Ints predecessor, Ints successor, Matrices predecessor_rotation, Rows predecessor_point,
         Matrices successor_rotation, Rows successor_point, Rows position, Rows orientation, Rows velocity,
         int threads) {
        const JointFrames frames{predecessor,        successor,      predecessor_rotation, predecessor_point,
                                 successor_rotation, successor_point};
        const BodyMotions bodies{position, orientation, velocity};
        const Index n = frames.size();
        const auto rows = [n](Index width) { return Array<double, 2>::uninitialized({n, width}); };
        const auto matrices = [n] { return Array<double, 3>::uninitialized({n, 3, 3}); };
        auto E = matrices(), to_successor = matrices();
        auto r = rows(3), arm = rows(3), v_J = rows(6), v_p = rows(6);
        for_each(n, threads, [&](Index j) {
          const JointMotion motion =
              joint_motion(frames.X_P(j), frames.X_S(j), bodies[predecessor[j]], bodies[successor[j]]);
          motion.X.E.store(&E(j, 0, 0));
          motion.X.r.store(&r(j, 0));
          motion.X_p.E.store(&to_successor(j, 0, 0));
          motion.X_p.r.store(&arm(j, 0));
          motion.v_J.store(&v_J(j, 0));
          motion.v_p.store(&v_p(j, 0));
        });
        return std::tuple(std::move(E), std::move(r), std::move(to_successor), std::move(arm), std::move(v_J),
                          std::move(v_p));
      },
      nb::arg("predecessor"), nb::arg("successor"), nb::arg("predecessor_rotation"), nb::arg("predecessor_point"),
      nb::arg("successor_rotation"), nb::arg("successor_point"), nb::arg("position"), nb::arg("orientation"),
      nb::arg("velocity"), nb::arg("threads"), "E, r, X_p (rotation and arm), v_J and v_p of every joint.");
}

void bind_assembly(nb::module_& module) {
  def_kernel(
      module, "constraint_rows",
      [](Ints joint, Ints predecessor, Ints successor, Matrices successor_rotation, Rows successor_point,
         Matrices to_successor, Rows arm, Rows velocity, Rows predecessor_velocity, Rows subspace, Doubles drift,
         int threads) {
        const JointFrames frames{predecessor, successor, {}, {}, successor_rotation, successor_point};
        auto out = constraint_rows(joint, frames, {to_successor, arm, velocity, predecessor_velocity}, subspace,
                                   drift, threads);
        return std::tuple(std::move(out.rows), std::move(out.velocity), std::move(out.acceleration));
      },
      nb::arg("joint"), nb::arg("predecessor"), nb::arg("successor"), nb::arg("successor_rotation"),
      nb::arg("successor_point"), nb::arg("to_successor"), nb::arg("arm"), nb::arg("velocity"),
      nb::arg("predecessor_velocity"), nb::arg("subspace"), nb::arg("drift"),
      nb::arg("threads"), "Rows (n, 2, 6) on the bodies, T' v_J, and the right-hand side.");
  def_kernel(module, "row_velocities", &row_velocities, nb::arg("joint"), nb::arg("subspace"), nb::arg("velocity"),
             "T' v_J, row by row.");
  def_kernel(module, "joint_wrenches", &joint_wrenches, nb::arg("n_joints"), nb::arg("joint"), nb::arg("subspace"),
             nb::arg("multiplier"), "T lambda of every joint.");
  def_kernel(
      module, "add_joint_wrenches",
      [](Ints joint, Ints predecessor, Ints successor, Matrices successor_rotation, Rows successor_point,
         Matrices to_successor, Rows arm, Rows wrench, View<double, 2> force) {
        const JointFrames frames{predecessor, successor, {}, {}, successor_rotation, successor_point};
        add_joint_wrenches(joint, frames, {to_successor, arm, {}, {}}, wrench, force);
      },
      nb::arg("joint"), nb::arg("predecessor"), nb::arg("successor"), nb::arg("successor_rotation"),
      nb::arg("successor_point"), nb::arg("to_successor"), nb::arg("arm"), nb::arg("wrench"), nb::arg("force"));
  module.def(
      "momentum",
      [](Doubles mass, Matrices inertia, Rows position, Rows orientation, Rows velocity) {
        const auto [kinetic_energy, total] = momentum(mass, inertia, position, orientation, velocity);
        Array<double> out = Array<double>::uninitialized({6});
        total.store(out.data());
        return std::pair(kinetic_energy, std::move(out));
      },
      nb::arg("mass"), nb::arg("inertia"), nb::arg("position"), nb::arg("orientation"), nb::arg("velocity"),
      "Kinetic energy, and the momentum (6,) about the world's origin.");
  def_kernel(module, "bias_forces", &bias_forces, nb::arg("inertia"), nb::arg("mass"), nb::arg("velocity"));
  def_kernel(
      module, "add_point_forces",
      [](Ints first, Ints second, Rows first_point, Rows second_point, Doubles stiffness, Doubles rest_length,
         Doubles damping, Doubles effort, Rows position, Rows orientation, Rows velocity, View<double, 2> force) {
        return add_point_forces({first, second, first_point, second_point, stiffness, rest_length, damping, effort},
                                {position, orientation, velocity}, force);
      },
      nb::arg("first"), nb::arg("second"), nb::arg("first_point"), nb::arg("second_point"), nb::arg("stiffness"),
      nb::arg("rest_length"), nb::arg("damping"), nb::arg("effort"), nb::arg("position"), nb::arg("orientation"),
      nb::arg("velocity"), nb::arg("force"), "-1, or the first force whose points coincide.");
}

void bind_structure(nb::module_& module) {
  def_kernel(
      module, "planar_motion",
      [](Ints predecessor, Ints successor, Matrices predecessor_rotation, Rows predecessor_point,
         Matrices successor_rotation, Rows successor_point, Index n_bodies, Ints kind, Ints first_row, Rows subspace,
         double tolerance) {
        auto plane = planar_motion(n_bodies,
                                   {predecessor, successor, predecessor_rotation, predecessor_point,
                                    successor_rotation, successor_point},
                                   kind, first_row, subspace, tolerance);
        return std::tuple(plane.n_reached, std::move(plane.basis), std::move(plane.bodies), std::move(plane.joint),
                          std::move(plane.is_outer));
      },
      nb::arg("predecessor"), nb::arg("successor"), nb::arg("predecessor_rotation"), nb::arg("predecessor_point"),
      nb::arg("successor_rotation"), nb::arg("successor_point"), nb::arg("n_bodies"), nb::arg("kind"),
      nb::arg("first_row"), nb::arg("subspace"), nb::arg("tolerance"),
      "Bodies reached; and if all are: basis, bodies from the world outwards, their joints, rows out of the plane.");
  def_kernel(
      module, "incidence",
      [](Index n_nodes, View<const Index, 2> ends) {
        const JointIncidence incidence(n_nodes, ends);
        return std::pair(Array<Index>(incidence.start), Array<Index>(incidence.edge));
      },
      nb::arg("n_nodes"), nb::arg("ends"), "indptr and edges at every node of a graph, in order.");
  def_kernel(
      module, "placement",
      [](Index n_nodes, View<const Index, 2> ends, View<const double, 4> rotation, Matrices point, Index first) {
        auto out = placement(n_nodes, ends, rotation, point, first);
        return std::tuple(std::move(out.label), std::move(out.place), std::move(out.rotation), std::move(out.offset));
      },
      nb::arg("n_nodes"), nb::arg("ends"), nb::arg("rotation"), nb::arg("point"), nb::arg("first"));
  def_kernel(module, "spanning_forest", &spanning_forest, nb::arg("n_nodes"), nb::arg("first"), nb::arg("second"));
  def_kernel(
      module, "crossings",
      [](View<const Index, 2> groups, View<const bool> is_spherical, Matrices point, Matrices axis, Doubles size,
         Index most, double tolerance) {
        return crossings({groups, is_spherical, point, axis, size}, most, tolerance);
      },
      nb::arg("groups"), nb::arg("is_spherical"), nb::arg("point"), nb::arg("axis"), nb::arg("size"), nb::arg("most"),
      nb::arg("tolerance"));
  def_kernel(module, "share_points", &share_points, nb::arg("n_bodies"), nb::arg("body"), nb::arg("point"),
             nb::arg("most"), nb::arg("tolerance"));
}

}  // namespace

void bind_model(nb::module_& module) {
  bind_kinematics(module);
  bind_assembly(module);
  bind_structure(module);
}

}  // namespace sparsebody

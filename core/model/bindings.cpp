#include "model/constraint_rows.hpp"
#include "model/poses.hpp"
#include "model/planar_motion.hpp"
#include "model/subgroups.hpp"
#include "model/time_functions.hpp"
#include "model/named_tuples.hpp"

namespace sparsebody {

using namespace model;

template <OneOf<Poses, JointMotions, JointMotionArrays, ConstraintRows, ElasticMotion, PlaneNormals,
                Placement, RotationJoints> Struct>
inline constexpr bool is_named_tuple<Struct> = true;

void bind_model(nb::module_& m) {
  // Kinematics
  def_kernel<"rotations(orientation)">(m, &rotations);
  def_kernel<"quaternions(rotation)">(m, &quaternions);
  def_kernel<"displaced(position, orientation, twist)">(m, &displaced);
  def_kernel<"is_regular(position, orientation, velocity, coordinate)">(
      m, &is_regular, "Whether every number is finite and every quaternion of unit length.");
  def_kernel<"joint_motions(frames, bodies, threads)">(m, &joint_motions,
                                                       "E, r, X_p (rotation and arm), v_J and v_p of every joint.");

  // Assembly
  def_kernel<"constraint_rows(joint, frames, motions, subspace, drift, threads)">(
      m, &constraint_rows, "Rows (n, 2, 6) on the bodies, T' v_J, and the right-hand side.");
  def_kernel<"unit_rows(index, joint, frames, bodies, subspaces, threads)">(
      m, &unit_rows, "Some rows (n, 2, 6) on the bodies, of unit norm.");
  def_kernel<"joint_wrenches(first_row, subspace, multiplier, threads)">(m, &joint_wrenches, "T lambda of every joint.");
  def_kernel<"add_joint_wrenches(joint, frames, motions, wrench, force)">(m, &add_joint_wrenches);
  def_kernel<"bias_forces(inertia, mass, velocity)">(m, &bias_forces);
  def_kernel<"elastic_motion(elements, bodies)">(
      m, &elastic_motion, "Deformations z (n, 6) of elastic elements, their rates, and rows (n, 6, 2, 6) on the bodies.");

  def_kernel<"fill_symmetric_inverses(matrices, inverse)">(m, &fill_symmetric_inverses);

  nb::class_<TimeFunctions> functions(m, "TimeFunctions", "Functions of time given by parameters.");
  def_members<"__init__(kind, first, parameter)">(functions);
  def<"fill(time, values)">(functions, &TimeFunctions::fill, "Fill values, first and second derivatives (n, 3).");
  functions.attr("OTHER") = int(TimeFunctions::other);

  // Structure
  def_kernel<"plane_normals(n_bodies, frames, subgroup, tolerance)">(
      m, &plane_normals, "Normals (n + 1, 3) of the plane of motion, that of the world last; and whether there is one.");
  def_kernel<"triads(direction)">(m, &triads, "Rows x, y, z of axes (n, 3, 3), z along each direction.");
  def_kernel<"placement(n_nodes, ends, rotation, point, first)">(m, &placement);
  def_kernel<"spanning_forest(n_nodes, first, second)">(m, &spanning_forest);
  def_kernel<"crossings(joints, most, tolerance)">(m, &crossings);
  def_kernel<"share_points(n_bodies, body, point, most, tolerance)">(m, &share_points);
}

}  // namespace sparsebody

// Joint types for Python: names and sizes, poses, subspaces, coordinates and errors.
#include <nanobind/stl/vector.h>

#include "joints/joint_types.hpp"
#include "python/signature.hpp"

namespace sparsebody {

template <OneOf<JointPoses, CoordinateMotions> Struct>
inline constexpr bool is_named_tuple<Struct> = true;

namespace {

using joints::JointInfo;
using Pose = Transform<double>;

Pose pose_of(View<const double, 2> E, View<const double> r) {
  return {Mat3<double>::load(E.data()), Vec3<double>::load(r.data())};
}

// Columns as a matrix of six rows.
template <class Columns>
Array<double, 2> matrix_of(const Columns& columns) {
  const Index n = Index(columns.size());
  Array<double, 2> matrix({6, n});
  for (Index k = 0; k < n; ++k) {
    double column[6];
    columns[k].store(column);
    for (Index a = 0; a < 6; ++a) matrix(a, k) = column[a];
  }
  return matrix;
}

std::pair<Array<double, 2>, Array<double>> pose(int kind, double parameter, View<const double> q) {
  Array<double, 2> E({3, 3});
  Array<double> r(3);
  visit_joint(kind, parameter, [&](const auto& joint) {
    const Pose X = joint.pose(q.data());
    X.E.store(E.data());
    X.r.store(r.data());
  });
  return {std::move(E), std::move(r)};
}

Array<double> drift_of(int kind, View<const double, 2> E, View<const double> r, View<const double> velocity) {
  Array<double> c(6);
  visit_joint(kind, 0.0, [&](const auto& joint) {
    joints::drift(joint, pose_of(E, r), Motion<double>::load(velocity.data())).store(c.data());
  });
  return c;
}

// A function of kind, parameter and pose that calls f(type, pose).
template <class Result, class F>
auto at_pose(F f) {
  return [f](int kind, double parameter, View<const double, 2> E, View<const double> r) {
    Result result;
    visit_joint(kind, parameter, [&](const auto& joint) { result = f(joint, pose_of(E, r)); });
    return result;
  };
}

constexpr const char* subgroup_names[] = {"",      "rigid",       "rotation", "translation",
                                          "screw", "cylindrical", "planar",   "spherical"};

}  // namespace

void bind_joints(nb::module_& m) {
  nb::class_<JointInfo>(m, "JointInfo", "The names and sizes of a joint type.")
      .def_ro("name", &JointInfo::name)
      .def_ro("n_positions", &JointInfo::n_positions)
      .def_ro("n_velocities", &JointInfo::n_velocities)
      .def_ro("n_scalars", &JointInfo::n_scalars, "Velocities, the last ones, that are rates of scalar positions.")
      .def_ro("counts_turns", &JointInfo::counts_turns, "A pose shows the whole turns of the angles.")
      .def_ro("has_varying_T", &JointInfo::has_varying_T, "T varies in S coordinates.")
      .def_ro("has_named_coordinates", &JointInfo::has_named_coordinates, "The basis of S is not arbitrary.")
      .def_prop_ro("subgroup", [](const JointInfo& info) { return subgroup_names[int(info.subgroup)]; },
                   "The smallest displacement subgroup that the motion stays in, or an empty string.")
      .def_prop_ro("units", [](const JointInfo& info) {
        return std::vector<std::string>(info.units.begin(), info.units.begin() + info.n_positions);
      });
  def<"types()">(
      m,
      [] {
        return []<class... J>(joints::TypeList<J...>) { return std::vector<JointInfo>{J::info...}; }(JointTypes{});
      },
      "All joint types; the index of one is its kind.");

  def<"pose(kind, parameter, q)">(m, &pose);
  def<"drift(kind, E, r, velocity)">(m, &drift_of);
  def<"coordinates(kind, parameter, E, r)">(m, at_pose<Array<double>>([](const auto& joint, const Pose& X) {
    Array<double> q(joint.info.n_positions);
    joint.coordinates(X, q.data());
    return q;
  }));
  def<"position_error(kind, parameter, E, r)">(m, at_pose<Array<double>>([](const auto& joint, const Pose& X) {
    Array<double> delta(6 - joint.info.n_velocities);
    joint.error(X, delta.data());
    return delta;
  }));
  using Matrix = Array<double, 2>;
  def<"motion_subspace(kind, parameter, E, r)">(
      m, at_pose<Matrix>([](const auto& joint, const Pose& X) { return matrix_of(joint.motion_subspace(X)); }));
  def<"active_force_subspace(kind, parameter, E, r)">(
      m, at_pose<Matrix>([](const auto& joint, const Pose& X) { return matrix_of(active_force_subspace(joint, X)); }));
  def<"constraint_force_subspace(kind, parameter, E, r)">(
      m, at_pose<Matrix>([](const auto& joint, const Pose& X) { return matrix_of(joint.constraint_force_subspace(X)); }));

  def_kernel<"fill_subspaces(joints, first_row, poses, velocity, subspace, drift)">(
      m, &fill_subspaces, "T' and (dT/dt)' v_J of some joints.");
  def_kernel<"coordinate_motions(joint, index, poses, velocity)">(
      m, &coordinate_motions, "Value, T_a and (dT_a/dt)' v_J of velocity coordinates.");
}

}  // namespace sparsebody

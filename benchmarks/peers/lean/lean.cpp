// Pinocchio's algorithms on a model read from standard input; see ../pinocchio.py. "Lean": compiled with Pinocchio's nv^3
// arrays empty (see Makefile). Prints median CPU and wall time [s] of a call, then the spatial acceleration of every
// joint, linear first, joint 0 the universe.

#include <algorithm>
#include <ctime>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/constrained-dynamics.hpp>
#include <pinocchio/algorithm/kinematics.hpp>
#include <pinocchio/algorithm/loop-constrained-aba.hpp>
#include <pinocchio/algorithm/proximal.hpp>
#include <pinocchio/multibody.hpp>

namespace pin = pinocchio;

// Only the joints that the mechanisms have, and the mimic, without which Pinocchio does not compile. The full collection
// doubles the compile time and makes the program no faster.
template <typename Number, int Choice>
struct FewJoints {
  using Scalar = Number;
  static constexpr int Options = Choice;
  using JointModelRX = pin::JointModelRevoluteTpl<Scalar, Options, 0>;
  using JointModelRY = pin::JointModelRevoluteTpl<Scalar, Options, 1>;
  using JointModelRZ = pin::JointModelRevoluteTpl<Scalar, Options, 2>;
  using JointModelPX = pin::JointModelPrismaticTpl<Scalar, Options, 0>;
  using JointModelPY = pin::JointModelPrismaticTpl<Scalar, Options, 1>;
  using JointModelSpherical = pin::JointModelSphericalTpl<Scalar, Options>;
  using JointModelMimic = pin::JointModelMimicTpl<Scalar, Options, ::FewJoints>;
  using JointModelVariant =
      boost::variant<JointModelRX, JointModelRY, JointModelRZ, JointModelSpherical, JointModelPX,
                     JointModelPY, boost::recursive_wrapper<JointModelMimic>>;
  using JointDataRX = pin::JointDataRevoluteTpl<Scalar, Options, 0>;
  using JointDataRY = pin::JointDataRevoluteTpl<Scalar, Options, 1>;
  using JointDataRZ = pin::JointDataRevoluteTpl<Scalar, Options, 2>;
  using JointDataPX = pin::JointDataPrismaticTpl<Scalar, Options, 0>;
  using JointDataPY = pin::JointDataPrismaticTpl<Scalar, Options, 1>;
  using JointDataSpherical = pin::JointDataSphericalTpl<Scalar, Options>;
  using JointDataMimic = pin::JointDataMimicTpl<Scalar, Options, ::FewJoints>;
  using JointDataVariant =
      boost::variant<JointDataRX, JointDataRY, JointDataRZ, JointDataSpherical, JointDataPX,
                     JointDataPY, boost::recursive_wrapper<JointDataMimic>>;
};

using Model = pin::ModelTpl<double, 0, FewJoints>;
using Data = pin::DataTpl<double, 0, FewJoints>;
using Joint = pin::JointModelTpl<double, 0, FewJoints>;

namespace {

double read_number() {
  double value = 0;
  std::cin >> value;
  return value;
}

Eigen::VectorXd read_vector(Eigen::Index size) {
  Eigen::VectorXd values(size);
  for (Eigen::Index i = 0; i < size; ++i) values[i] = read_number();
  return values;
}

Eigen::Matrix3d read_matrix() {
  const Eigen::VectorXd rows = read_vector(9);
  return Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(rows.data());
}

pin::SE3 read_pose() {
  const Eigen::Matrix3d rotation = read_matrix();
  return pin::SE3(rotation, read_vector(3));
}

Joint joint_of(const std::string& kind) {
  if (kind == "JointModelRX") return pin::JointModelRX();
  if (kind == "JointModelRY") return pin::JointModelRY();
  if (kind == "JointModelRZ") return pin::JointModelRZ();
  if (kind == "JointModelPX") return pin::JointModelPX();
  if (kind == "JointModelPY") return pin::JointModelPY();
  return pin::JointModelSpherical();
}

Model read_model() {
  Model model;
  model.gravity.linear(read_vector(3));
  const int count = static_cast<int>(read_number());
  for (int i = 0; i < count; ++i) {
    std::string kind;
    std::cin >> kind;
    const auto parent = static_cast<pin::JointIndex>(read_number());
    const pin::SE3 placement = read_pose();
    const auto index = model.addJoint(parent, joint_of(kind), placement, std::to_string(i));
    const double mass = read_number();
    const Eigen::Vector3d lever = read_vector(3);
    model.appendBodyToJoint(index, pin::Inertia(mass, lever, read_matrix()), pin::SE3::Identity());
  }
  return model;
}

using Contacts = PINOCCHIO_ALIGNED_STD_VECTOR(pin::RigidConstraintModel);
using ContactData = PINOCCHIO_ALIGNED_STD_VECTOR(pin::RigidConstraintData);

Contacts read_contacts(const Model& model) {
  Contacts contacts;
  const int count = static_cast<int>(read_number());
  for (int i = 0; i < count; ++i) {
    const auto first = static_cast<pin::JointIndex>(read_number());
    const pin::SE3 at_first = read_pose();
    const auto second = static_cast<pin::JointIndex>(read_number());
    const pin::SE3 at_second = read_pose();
    contacts.emplace_back(pin::CONTACT_3D, model, first, at_first, second, at_second, pin::LOCAL);
  }
  return contacts;
}

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <class Call>
void print_times(const Call& call) {
  constexpr int repeats = 5;
  constexpr double batch = 0.05;
  std::vector<double> cpu, wall;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const double cpu_start = seconds(CLOCK_PROCESS_CPUTIME_ID);
    const double start = seconds(CLOCK_MONOTONIC);
    int count = 0;
    do {
      call();
      ++count;
    } while (seconds(CLOCK_MONOTONIC) - start < batch);
    cpu.push_back((seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_start) / count);
    wall.push_back((seconds(CLOCK_MONOTONIC) - start) / count);
  }
  std::cout << median(cpu) << ' ' << median(wall) << '\n';
}

}  // namespace

int main() {
  std::string algorithm;
  std::cin >> algorithm;
  const double tolerance = read_number();
  const double mu = read_number();
  const int iterations = static_cast<int>(read_number());
  const Model model = read_model();
  const Eigen::VectorXd q = pin::neutral(model), v = read_vector(model.nv);
  const Eigen::VectorXd tau = Eigen::VectorXd::Zero(model.nv);
  const Contacts contacts = read_contacts(model);
  ContactData contact_data;
  for (const auto& contact : contacts) contact_data.push_back(contact.createData());
  Data data(model);
  pin::ProximalSettings settings(tolerance, mu, iterations);
  std::cout << std::setprecision(17);
  if (algorithm == "lcaba") {
    pin::computeJointMinimalOrdering(model, data, contacts);
    print_times([&] { pin::lcaba(model, data, q, v, tau, contacts, contact_data, settings); });
  } else if (algorithm == "aba") {
    print_times([&] { pin::aba(model, data, q, v, tau); });
  } else {  // "constraint-dynamics"
    pin::initConstraintDynamics(model, data, contacts, contact_data);
    print_times([&] {
      pin::constraintDynamics(model, data, q, v, tau, contacts, contact_data, settings);
    });
  }
  const Eigen::VectorXd acceleration = data.ddq;
  pin::forwardKinematics(model, data, q, v, acceleration);
  for (std::size_t i = 0; i < data.a.size(); ++i) {
    std::cout << data.a[i].toVector().transpose() << '\n';
  }
}

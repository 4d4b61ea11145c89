// Directional derivatives (jvp) of the residuals of a motion, and gradients (vjp); x_bar is the gradient in x:
//
//   F = M a + v x* M v - f(q, v, p) - A(q)' lambda,   r = d/dt (A v),   q <- q exp(d) in body coordinates.
//
// A joint is seen from its successor. With X_p from the predecessor, the relative twist x = d_s - X_p d_p changes what
// moves with the predecessor by d(X_p m) = -x x X_p m. With its wrench w on the successor, its relative velocity
// v_J = v_s - X_p v_p and acceleration a_J = a_s - X_p a_p + v_J x X_p v_p, the changes are
//
//   dF_s = -dw,   dF_p = X_p' (x x* w + dw),   y = d(X_p v_p) = X_p dv_p - x x X_p v_p,   dv_J = dv_s - y,
//   da_J = x x X_p a_p + dv_J x X_p v_p + v_J x y,   dr = T' da_J,   dw = 0,
//
// where T is constant. Where it varies, and in springs and elastic elements, w and r also depend on x and dv_J, with
// derivatives that dual numbers give once for a state. Gradients are the transposes of these steps, backwards: Griewank
// and Walther (2008), Evaluating Derivatives, sec. 3.2.
//
// Where the frames of a joint or an element move in their bodies by twists d_P and d_S, all that is seen from S changes
// by -d_S:
//
//   x = d_S - X_p d_P,  dv_J = -d_S x v_J,  da_J = -d_S x a_J,  dF_s = -(d_S x* w + dw),  dF_p = X_p' (d_S x* w + dw),
//
// and the error of a closed joint by T' x. Moving the point of a spring by e counts as moving its body by e, and adds
// e x f to the moment of the spring's force f.
#pragma once

#include <utility>
#include <vector>

#include "model/elastic_elements.hpp"

namespace sparsebody::linearization {

struct Inertias {
  View<const double> mass;
  View<const double, 3> inertia;
  View<const double> gravity;
};
// A motion: accelerations (n, 6), multipliers (n_rows,), coordinates, and the efforts of springs.
struct MotionAt {
  model::BodyMotions bodies;
  View<const double, 2> acceleration;
  View<const double> multiplier, coordinate, joint_effort, point_effort;
};
// Coordinates of springs on joints, (n_springs,), to be filled.
struct SpringMotion {
  View<double> value, rate;
};
// Deformations of elastic elements, (n_elements, 6), to be filled: e - e_0 and de/dt.
struct ElementMotion {
  View<double, 2> deformation, rate;
};
// Numbers of all variables: twists of poses (n, 6), velocities (n, 6), masses (n,), inertias (n, 6): xx yy zz xy xz yz,
// gravity (3,), efforts on joint coordinates (n_springs,), forces (n_elements, 6) that resist the deformations e of
// elastic elements, the points (n_lines, 3) of springs in body axes, and twists (n_joints + n_elements, 6) of the frames
// of joints, and then of elements, in their own axes. An element of a compliant joint moves with the joint's frames.
template <class T>
struct Variables {
  View<T, 2> position, velocity;
  View<T> mass;
  View<T, 2> inertia;
  View<T> gravity, effort;
  View<T, 2> resistance, first_point, second_point, predecessor_frame, successor_frame;
};
using Directions = Variables<const double>;  // without rows where there are none
using Gradients = Variables<double>;

// With derivatives in a twist of S, then in the relative velocity.
using OfJoint = Dual<12>;
// With derivatives in the twists of two bodies, then in their velocities.
using OfBodies = Dual<24>;

class MotionResiduals {
 public:
  // element_joint: the compliant joint that an element is of, or -1.
  MotionResiduals(const Inertias& inertias, const model::SystemTables& tables, View<const Index> element_joint,
                  const MotionAt& at, const SpringMotion& springs, const ElementMotion& elements);

  // Fills the changes of F (n, 6) and r (n_rows,) along directions.
  void jvp(const Directions& along, View<double, 2> force, View<double> row) const;
  // Fills the gradients of y . F + u . r, y (n, 6) and u (n_rows,).
  void vjp(View<const double, 2> y, View<const double> u, const Gradients& g) const;
  // Fills A m (n_rows,) of motions m (n, 6).
  void row_products(View<const double, 2> motion, View<double> row) const;
  // Adds A' u (n, 6) of multipliers u (n_rows,).
  void add_row_forces(View<const double> u, View<double, 2> force) const;
  // Fills the gradients, in the frames, of u . delta, delta the position errors of closed joints.
  void error_vjp(View<const double> u, View<double, 2> predecessor_frame, View<double, 2> successor_frame) const;

 private:
  struct Body {
    Mat3<double> R;
    Motion<double> v, a;
    Vec3<double> gravity;  // in body axes
  };
  // A joint or an elastic element in the coordinates of its successor, or of S where that is the world.
  struct Connection {
    Index body[2], first_row, end_row;
    Index first_spring, end_spring;
    Index joint = -1, element = -1;
    Index rates = -1;  // where w and r depend on x and dv_J
    Transform<double> X_p;
    Force<double> wrench;  // on the successor
    Motion<double> v_J, v_p, a_p;
  };
  struct Spring {
    Index index;
    Force<double> column;  // T_a
  };
  // Derivatives of w, and of the rows of r, with respect to x and dv_J.
  struct Rates {
    Matrix6 wrench[2], row[2];
  };
  // The rows de/dx (6, 6) of an element.
  struct Deformation {
    Force<double> rows[6];
  };
  // Derivatives of -f on both bodies of a spring between points, in their twists, their velocities and the points.
  struct PointRates {
    Index body[2];
    double of[12][30];
  };

  class Grouped;
  struct Rated;

  Connection connect(const model::JointFrames& frames, Index j) const;
  Motion<double> row_acceleration(const Connection& c) const;  // a_J
  void add_row(Rated& of, Index row, const Force<OfJoint>& t, const Motion<OfJoint>& drift);
  void add_coordinates(Rated& of, const model::SystemTables& tables, Index j, View<const Index> items,
                       const Grouped& springs_of, const MotionAt& at, const SpringMotion& springs);
  void add_rates(Connection& c, Rated& of);
  void add_joints(const model::SystemTables& tables, const MotionAt& at, const SpringMotion& springs);
  void add_elements(const model::ElasticElements& elements, View<const Index> element_joint, const ElementMotion& out);
  void add_point_springs(const model::PointSprings& springs, View<const double> effort);
  void bodies_jvp(const Directions& along, View<double, 2> force) const;
  void bodies_vjp(View<const double, 2> y, const Gradients& g) const;
  // From body coordinates to P and S, where the successor is not the world.
  std::pair<Transform<double>, Transform<double>> frames_of(const Connection& c) const;
  Index frame_row(const Connection& c) const { return c.joint >= 0 ? c.joint : frames_.size() + c.element; }
  // Twists of P and S in successor coordinates by which the frames of a connection move in their bodies.
  std::pair<Motion<double>, Motion<double>> frame_twists(const Connection& c, const Directions& along) const;
  void add_frame_gradients(const Connection& c, const Force<double>& P_bar, const Force<double>& S_bar,
                           View<double, 2> predecessor_frame, View<double, 2> successor_frame) const;
  void joint_jvp(const Connection& c, const Directions& along, View<double, 2> force, View<double> row) const;
  void joint_vjp(const Connection& c, View<const double, 2> y, View<const double> u, const Gradients& g) const;

  Inertias of_;
  model::ExternalForces loads_;
  model::JointFrames frames_, element_frames_;
  model::MotionList motions_;
  std::vector<Body> bodies_;
  std::vector<Connection> connections_;
  std::vector<Force<double>> rows_;  // (n_rows,) T
  std::vector<Spring> springs_;
  std::vector<Rates> rates_;
  std::vector<Deformation> deformations_;  // of elements
  std::vector<PointRates> points_;
  std::vector<double> zeros_;  // (6 n,)
};

}  // namespace sparsebody::linearization

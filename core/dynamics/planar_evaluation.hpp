// Forward dynamics of a mechanism that moves in a plane, from a state to accelerations and multipliers: the system
// (8.64) with three freedoms a body and the rows within the plane, solved by QR of the constraint columns.
//
// Twists are (w, u_x, u_y), wrenches (n, f_x, f_y), both about the center of mass and along two axes of the body in
// the plane, in units in which the body's inertia is one. Bodies and joints are numbered in elimination order.
#pragma once

#include <memory>

#include "dynamics/planar_rows.hpp"
#include "dynamics/spatial_workspace.hpp"
#include "factorization/block_qr.hpp"
#include "spatial/double_double.hpp"
#include "spatial/vector.hpp"

namespace sparsebody {

// Rows within the plane, those of a joint together: m joints, k rows.
struct PlanarRows {
  enum Kind : std::uint32_t {
    carried,  // constant in the axes of the successor
    general,  // computed by other functions
    line,     // a point of the successor on a line of the predecessor
  };
  struct Joint {
    std::uint32_t predecessor, successor;  // bodies; n for the world
    std::uint32_t kind, first_row;
    double constant[4];  // line: normal on the predecessor, point on the successor; carried, where the world is the
                         // successor: reference point of the rows [m]
  };
  struct Row {
    std::uint32_t user, general;  // the user's number; index among general rows
  };
  std::vector<Joint> joints;    // the last one only ends the rows
  std::vector<Row> rows;
  View<double, 3> A;            // (k, 2, 3) on predecessor and successor, in units; filled where rows are constant
  Index n_joints() const { return Index(joints.size()) - 1; }
};

class PlanarEvaluation;

// Where the constant rows of the joints of a table come from: T in S coordinates, and the frames S on the successors.
// Joints and rows of the table are found by the user's numbers.
struct SuccessorFrames {
  View<const Index> joints, rows;  // (m,), (k,) of the table
  View<const double, 3> rotation;  // (n_joints, 3, 3) from S to the successor
  View<const double, 2> point;     // (n_joints, 3) origin of S from the center of mass [m]
  View<const double, 2> distinct;  // rows of T'
  View<const std::int32_t> subspace;  // (n_rows,) which of these

  const double* rotation_of(Index j) const { return &rotation(joints[j], 0, 0); }
  const double* point_of(Index j) const { return &point(joints[j], 0); }
  const double* subspace_of(Index k) const { return &distinct(subspace[rows[k]], 0); }
};

// A planar mechanism with twice the digits, for residuals.
class ExtendedPlanarSystem {
 public:
  using Extended = DoubleDouble;

  ExtendedPlanarSystem(const PlanarEvaluation& evaluation, const SuccessorFrames& frames);

  // Corrects the solution of `evaluation` at the newest state with residuals made from the state, taken as exact;
  // returns the last correction, relative to the largest acceleration, both where inertias are one.
  double solve(PlanarEvaluation& evaluation, const EvaluationInput& in);

 private:
  struct Frame {
    Vec3<Extended> normal, first, second;
  };
  struct Row {
    PlanarForce<Extended> on[2];  // predecessor and successor, in units
    Extended gamma;
  };
  void gather(const PlanarEvaluation& evaluation, const EvaluationInput& in);
  void fill_rows(const PlanarEvaluation& evaluation, const EvaluationInput& in);
  double fill_residual(const PlanarRows& kept);
  double subtract_forces(const PlanarRows& kept);

  std::vector<Frame> frames_;                        // (n + 1,) of bodies, in their axes, and of the world
  std::vector<Vec2<Extended>> arms_;                 // (m,) the joint's point in the successor's frame [m]
  std::vector<PlanarForce<Extended>> on_successor_;  // (k,) rows of kind `carried`
  std::vector<PlanarBody<Extended>> motion_;         // (n + 1,)
  std::vector<Row> rows_;                            // (k,)
  std::vector<Extended> x_;                          // (3 n,)
  std::vector<double> gap_;                          // (k,)
};

class PlanarEvaluation {
 public:
  enum Status { good, not_finite, out_of_plane, dependent_row, inaccurate };

  struct Body {
    std::uint32_t user;  // the user's number
    Mat3<double> basis;  // rows: normal and two axes in the plane, in the axes of the body
  };
  PlanarRows& kept;
  BlockQR* qr;                   // none where other factorizations solve
  std::vector<Body> bodies;
  std::vector<PlanarUnit> units;            // (n + 1,) of bodies and the world
  std::vector<PlanarBody<double>> motion;   // (n + 1,)
  Mat3<double> axes;                        // of the world: the normal, and two axes in the plane
  Vec2<double> gravity;
  View<double> right, x;         // (3 n + k,) forces and gamma; accelerations and multipliers with opposite signs
  Index n_tracked = 0;           // joint coordinates of a state
  Index threads = 1;             // that an evaluation may use
  double residual = 0.0;         // relative, of the constraint rows, of the newest solution
  Index row = 0;                 // that depends on others

  Index n_bodies() const { return Index(bodies.size()); }
  Index n_coordinates() const { return n_tracked; }

  // Fills rows and right-hand side; returns good, not_finite or out_of_plane.
  Status assemble(const EvaluationInput& in);
  // Assembles, factorizes and solves at once. With multipliers (k_all,) the residual is that of the solution, without,
  // (0,), it may be an estimate.
  Status accelerate(const EvaluationInput& in, View<double, 2> acceleration, View<double> multiplier);
  // Fills x for a right-hand side from the newest factors; the residual is an estimate unless `accurate`.
  void solve(View<const double> rhs, bool accurate) { residual = qr->solve(kept.A, rhs, accurate, x).last; }
  // Fills accelerations (n, 6), and multipliers (k_all,), if any, in the user's numbering and units; multipliers get
  // the sign of forces on successors.
  void to_user_order(View<double, 2> acceleration, View<double> multiplier) const;
  // Fills those rows of a table that are constant on their successors: the parts within the plane of T'.
  void fill_rows_on_successors(PlanarRows& table, const SuccessorFrames& frames) const;
  // The largest violation of rows left out by the newest solution, relative to the largest acceleration that a row
  // could feel, with the solution or with the bodies free.
  double violation(PlanarRows& left_out, const EvaluationInput& in) const;

 private:
  // What the states of some bodies tell.
  struct StateCheck {
    bool is_unit = true, is_upright = true;
    double total = 0.0, turning = 0.0, moving = 0.0, tilting = 0.0, slipping = 0.0;

    void take(const StateCheck& other);
    Status status() const;
  };
  StateCheck assemble_bodies(const EvaluationInput& in, Index first, Index last);
  void fill_rows(PlanarRows& table, const EvaluationInput& in, double* gamma) const;
  void fill_rows(PlanarRows& table, const EvaluationInput& in, double* gamma, Index first, Index last) const;
  PlanarForce<double> part_in_plane(Index body, const Vec3<double>& moment, const Vec3<double>& force) const;
};

}  // namespace sparsebody

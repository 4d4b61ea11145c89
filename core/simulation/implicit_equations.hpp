// Residuals of an implicit time step on SE(3), and their linearization. Bruels, Cardona and Arnold (2012), Mech. Mach.
// Theory 48:121. At the end of a step, which starts at poses q_0 and displaces bodies by y,
//
//   M dv/dt + v x* M v - f(q, v, t) + A' lambda = 0,   delta(q, t) - C (lambda - lambda_0) = 0,   q = q_0 exp(y),
//
// and Newton's corrections, with twists d of the poses in body coordinates, dy = T(y)^-1 d, dv = c dy, d(dv/dt) = b dy,
//
//   [J  A'] [   d    ]     [force residual]
//   [A  -C] [d lambda] = - [ row residual ],   J = (b M + c D) T^-1 + K.
//
// A joint exerts -w on the successor, w = T lambda in S coordinates. With the relative twist x = X_s d_s - X_p d_p the
// force residuals change by X_s' (dw/dq x) on the successor and by -X_p' (x x* w + dw/dq x) on the predecessor. So J
// couples bodies; shears G and Y, chosen joint by joint, move what lies in the span of T into multipliers and rows:
//
//   [1 Y] [J  A'] [1  ]   [H  A']
//   [  1] [A  -C] [G 1] = [A  -C] + R.
//
// Between bodies R is (1 - P) J (1 - P)', P = T (T'T)^-1 T': wrenches outside the span of T by motions along S, none
// for lower pairs. On the diagonal it has the skew parts of the blocks, and H the symmetric ones. H is positive
// definite for short steps, and then the matrix is quasi-definite: Vanderbei (1995), SIAM J. Optim. 5:100. Stiff
// springs are rows as well, and so are elastic elements, stiff or soft, with the forces mu of their stretches z, z + D
// dz/dt - mu = 0, and C = (1 + c D)^-1.
#pragma once

#include <vector>

#include "model/body_forces.hpp"
#include "model/elastic_elements.hpp"
#include "simulation/control.hpp"
#include "spatial/exponential.hpp"

namespace sparsebody::implicit {

struct Bodies {
  View<const double> mass;        // (n,) [kg]
  View<const double, 3> inertia;  // (n, 3, 3) about the center of mass [kg m^2]
  View<const double> gravity;     // (3,) in world axes [m/s^2]
};
// C, a symmetric positive definite block of each joint, and lambda_0.
struct Compliance {
  View<const double> entries;
  View<const Index> first_entry;
  View<const double> reference;
};
// Poses q_0 (n, 3) and (n, 4), and tracked coordinates of joints [rad, m].
struct Start {
  View<double, 2> position, orientation;
  View<double> coordinate;
};
// The unknowns y, v, dv/dt (n, 6) in body coordinates and lambda (n_rows,), and the poses that follow.
struct End {
  View<double, 2> displacement, velocity, acceleration;
  View<double> multiplier;
  View<double, 2> position, orientation;
  View<double> coordinate;
};
// Inputs at the end of a step: prescribed coordinates [rad, m], efforts [N m, N] and wrenches of a control (n, 6).
struct Inputs {
  View<double> prescribed, joint_effort, point_effort;
  View<double, 2> body_force;
};
// Of forces on bodies (n, 6) [N m, N] and of rows (n_rows,) [rad, m].
struct Residual {
  View<double, 2> force;
  View<double> row;
};

// Entries of K + c D + b M; those of equal indices add up.
struct Triplets {
  std::vector<Index> row, column;
  std::vector<double> stiffness, damping, inertia;

  void add(Index i, Index j, double k, double d = 0.0, double m = 0.0) {
    row.push_back(i), column.push_back(j);
    stiffness.push_back(k), damping.push_back(d), inertia.push_back(m);
  }
};

// A spring's or damper's column T_a and its numbers.
struct Spring {
  Index index;
  double stiffness, damping, w[6];
};

// A joint or an elastic element: its bodies, where its rows are, and the block of their compliance.
struct Connection {
  Index body[2], first_row, n_rows, first_entry;
};

// Contributions of a connection at the end of a step, on any scalar.
template <class T>
struct ConnectionTerms {
  Transform<T> X_s, X_p;  // from the bodies to S
  Motion<T> v_J;
  Force<T> wrench;        // T lambda + T_a mu, mu the forces of springs and dampers on coordinates
  int n_rows = 0;
  T rows[6][6];           // the columns of T, or dz/dx
  T delta[7];             // position errors, or z + D dz/dt
  bool is_element = false;
  // Its point of linearization:
  bool has_rate = false;
  Matrix6 wrench_rate;    // dw/dq, of a twist x, where it is not zero
  std::vector<Spring> springs;
};

class Equations {
 public:
  Equations(const Bodies& bodies, const model::SystemTables& tables, const Compliance& compliance, const Start& start,
            const End& end, const Inputs& inputs, const Residual& residual);

  static constexpr Index defined = -1, stopped = -2;
  double time = 0.0;       // at the end
  Index status = defined;  // of the newest evaluation with the control

  void set_control(const simulation::Control& control) { control_ = control; }
  // Fills the poses at the end from the displacements, and the residuals. Returns `defined`, or the first spring between
  // points that coincide.
  Index evaluate();
  // The same with new wrenches of the control; returns `stopped` where it fails.
  Index evaluate_with_control();
  // Whether the newest wrenches of the control are not all zero.
  bool is_controlled() const { return std::ranges::any_of(inputs_.body_force, [](double x) { return x != 0.0; }); }
  // Fills the poses alone.
  void move();
  // Fills H, G, Y and the rows (k, 2, 6) of [1 A'; A -1], which is [H A'; A -C] in other units, for the coefficients b
  // and c: k rows of constraints, of springs on coordinates and of springs between points. `evaluate` comes first.
  // Returns the number of bodies whose block of H is not positive definite: b M + s (H - b M) with the largest s of
  // 3/4, 1/2, 1/4, 0 that makes it so takes its place, and refinement makes up for the difference.
  Index linearize(double b, double c, View<double, 3> rows);
  // The right-hand side (6 n + k,) of Newton's equations in these units.
  void right_side(View<double> rhs) const;
  // Fills `refined_rhs` with rhs - R x, R its diagonal blocks alone: [H A'; A -C] x_next = rhs - R x refines x.
  void subtract_remainder(View<const double> x, View<const double> rhs, View<double> refined_rhs) const;
  // Turns a solution in these units into twists (n, 6) and changes of the multipliers (n_rows,).
  void to_correction(View<const double> x, View<double, 2> twist, View<double> multiplier) const;
  // Adds a correction to displacements, velocities, accelerations and multipliers.
  void correct(double b, double c, View<const double, 2> twist, View<const double> multiplier);
  // Adds the whole [J A'; A -C] as K + c D + b M. Rows of elements are the derivatives of their residuals; so are those
  // of joints if `exact_rows`, in place of A, which is the derivative only where joints are closed.
  void assemble(Triplets& out, bool exact_rows);
  // Sets the rows A of joints and the derivatives E of their errors in twists, which are A where joints are closed.
  void set_joint_rows();
  // Fills A m (n_rows,) of motions m (n, 6) by the newest rows.
  void row_products(View<const double, 2> motion, View<double> row) const;
  // Adds E' u (n, 6), and the gradients of u . delta in twists of joint frames in their own axes if there are rows.
  void add_error_forces(View<const double> u, View<double, 2> force, View<double, 2> predecessor_frame = {},
                        View<double, 2> successor_frame = {}) const;
  // What `assemble` adds, of r = d/dt (T' v_J) of the rows of joints, A a - gamma as K q + D v + M a, at the present
  // accelerations.
  void assemble_acceleration_errors(Triplets& out, View<double> error);
  // Fills T' v_J of the rows of joints, less the prescribed rates, and zeros for those of elements.
  void velocity_errors(View<const double> prescribed_rate, View<double> error);

 private:
  struct Shear {         // G (rows, 12) and Y (12, rows) of a connection
    double* of[2][2];    // G and Y of either side, (rows, 6) each
    bool is_two_sided;   // else G of the predecessor and Y of the successor are zero
    double* G(int side) const { return of[0][side]; }
    double* Y(int side) const { return of[1][side]; }
  };
  struct JointRows {        // on the twist X_s m_s - X_p m_p
    Transform<double> X_s, X_p;
    Force<double> rows[6], error_rates[6];
  };
  struct BodyMatrices {  // of M dv/dt + v x* M v - f, by dv/dt, v and twists of the pose
    Matrix6 M, D, K;
  };

  Index n_bodies() const { return bodies_.mass.size(); }
  // The motion of a body on one side of a connection, with the derivatives that a scalar keeps.
  template <class T>
  decltype(auto) motion(Index body, int side) const;
  // Calls f(connection, terms) for all joints and elements.
  template <class T = double, class F>
  void for_connections(bool with_rate, F f);
  template <class T>
  void add_coordinates(Index joint, const Transform<T>& X, bool with_rate, ConnectionTerms<T>& terms);
  template <class T>
  void set_element(Index element, bool with_rate, ConnectionTerms<T>& terms) const;
  void factorize_compliance(double c);
  void copy_row_residual(const Connection& connection, double* row) const;
  static void shear(const ConnectionTerms<double>& terms, const Transform<double> (&X)[2], const Index (&body)[2],
                    Shear& out, Matrix6 (&block)[2]);
  void add_body_forces();
  BodyMatrices body_matrices(Index i) const;
  Matrix6 load_stiffness(Index load) const;

  Bodies bodies_;
  model::SystemTables tables_;
  Compliance compliance_;
  Start start_;
  End end_;
  Inputs inputs_;
  Residual residual_;
  simulation::Control control_;
  Index n_rows_;
  std::vector<Connection> connections_;  // joints, then elements
  std::vector<Index> first_item_, items_, first_spring_, springs_of_item_, prescribed_of_item_;
  model::MotionList motions_;
  std::vector<Matrix6> root_;           // L^-1, L the Cholesky factors of H
  std::vector<Matrix6> remainder_;      // R's blocks on the diagonal
  std::vector<double> row_root_;        // Cholesky factors of C, at the first entries of the connections
  std::vector<Shear> shear_;
  std::vector<double> shear_entries_;   // G and Y of one side of every connection, then of the other side
  std::vector<JointRows> joint_rows_;
};

}  // namespace sparsebody::implicit

// What records tell of a motion: energies and momenta, powers of dampers, errors of all rows.
#pragma once

#include "dynamics/loads_and_rows.hpp"
#include "simulation/constraint_errors.hpp"

namespace sparsebody::simulation {

// Positions (k, n, 3), orientations (k, n, 4) and velocities (k, n, 6) at k times.
struct Motion {
  View<const double, 3> position, orientation, velocity;

  Index size() const { return position.shape(0); }
  model::BodyMotions operator[](Index k) const { return {position[k], orientation[k], velocity[k]}; }
};

struct Masses {
  View<const double> mass;        // (n,) [kg]
  View<const double, 3> inertia;  // (n, 3, 3) about the center of mass [kg m^2]
  View<const double> gravity;     // (3,) in world axes [m/s^2]
};

// Energies and momenta of all bodies. Featherstone (2008), sec. 2.13.
struct Momenta {
  Array<double> kinetic_energy;  // (k,) sum of v' I v / 2
  Array<double> gravity_energy;  // (k,) -sum of m g' x
  Array<double, 2> total;        // (k, 6) sum of I v about the world's origin, in world axes
};
Momenta momenta(const Masses& bodies, const Motion& motion);

// Sums (k,) of z'z / 2 of elastic elements.
Array<double> elastic_energies(const model::ElasticElements& elements, const Motion& motion);

// What dampers take (k,) [W], and -1, or the first spring between points that coincide.
struct DampingPowers {
  Array<double> power;
  Index coinciding = -1;
};
// By the loads at the velocities, without those at rest; coordinate (k, n_coordinates).
DampingPowers damping_powers(const LoadsAndRows& loads, const Motion& motion, View<const double, 2> coordinate);

// Momenta, the largest errors of all rows at k times, and the energies lambda' delta / 2 of compliant joints.
struct Records {
  Momenta momenta;
  Array<double> position_error, velocity_error, elastic_energy;
};
// terms: of prescribed coordinates, in prescribed_rows, with functions (k, n_functions, 3); null where there are none.
// multiplier: lambda (k, n_rows), or empty where joints are rigid.
Records motion_records(const Masses& bodies, const JointErrors& joints, const LoadsAndRows* terms,
                       View<const Index> prescribed_rows, View<const double, 3> functions, const Motion& motion,
                       View<const double, 2> multiplier);

}  // namespace sparsebody::simulation

// Loads other than gravity, and the constraint rows that vary in successor coordinates: those of joints whose T depends
// on q, and of prescribed coordinates. Featherstone (2008), (8.10). An item is a tracked coordinate of a joint.
#pragma once

#include "joints/joint_types.hpp"
#include "model/elastic_elements.hpp"

namespace sparsebody {

class LoadsAndRows {
 public:
  // functions (n_functions, 3) at the time of the state: value, rate and acceleration of the prescribed coordinates,
  // then efforts on coordinates, then efforts between points. Rows (k, 2, 6) on the world are passed as zeros, and stay so.
  LoadsAndRows(const model::SystemTables& tables, View<double, 2> functions, View<double, 3> rows, View<double> gamma);

  Index n_joints() const { return of_.joints.size(); }
  bool has_loads() const {
    return of_.springs.item.size() + of_.points.size() + of_.elements.size() + of_.loads.body.size() > 0;
  }
  // Fills these rows of A and of gamma in A a = gamma.
  void fill_rows(const model::BodyMotions& bodies) const;
  // Adds the loads (n, 6) in body coordinates, moment first [N m, N]; angles are those nearest to `previous`, the
  // coordinates of a previous state. Returns -1, or the first spring between points that coincide.
  Index add_loads(const model::BodyMotions& bodies, View<const double> previous, View<double, 2> load) const;
  // Position errors [rad, m] and velocity errors of the prescribed coordinates, stored at rows `system_row`; an empty
  // view is skipped.
  void fill_errors(const model::BodyMotions& bodies, View<const Index> system_row, View<double> delta,
                   View<double> velocity) const;
  // Fills the coordinates [rad, m], angles nearest to `previous`.
  void fill_coordinates(const model::BodyMotions& bodies, View<const double> previous, View<double> value) const;

  View<double, 2> functions;
  View<double, 3> rows;
  View<double> gamma;

 private:
  struct Coordinate {
    Index joint;
    model::JointMotion<> motion;
    CoordinateMotion of;

    double rate() const { return dot(motion.v_J, of.active_force); }
  };
  Coordinate coordinate(const model::BodyMotions& bodies, Index item) const;

  model::SystemTables of_;
  std::vector<Index> prescribed_;  // items with a prescribed motion
};

}  // namespace sparsebody

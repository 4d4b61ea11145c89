// Loads of a model besides gravity, and constraint rows that are not just constant on the successor: those of joints
// whose T varies in S coordinates, and of prescribed coordinates. Featherstone (2008), (8.10).
#pragma once

#include "joints/joint_types.hpp"
#include "model/elastic_elements.hpp"

namespace sparsebody {

class GeneralTerms {
 public:
  // known (n_functions, 3): value, rate and acceleration at the time of the state, of prescribed coordinates, of efforts
  // on coordinates and of those between points. rows (k, 2, 6) and gamma (k,) are filled; rows on the world are zero.
  GeneralTerms(const model::SystemTables& tables, View<double, 2> known, View<double, 3> rows, View<double> gamma);

  Index n_joints() const { return of_.joints.size(); }
  bool has_loads() const {
    return of_.springs.item.size() + of_.points.size() + of_.elements.size() + of_.loads.body.size() > 0;
  }
  // A a = gamma of all rows.
  void fill_rows(const model::BodyMotions& bodies) const;
  // Adds the loads (n, 6) in body coordinates; angles of coordinates continue those of a state near by. Returns -1, or
  // the first spring between points that coincide.
  Index add_loads(const model::BodyMotions& bodies, View<const double> near, View<double, 2> load) const;
  // Overwrites position and velocity errors of the rows of prescribed coordinates, `system_row` of these; (0,) is not
  // filled.
  void fill_errors(const model::BodyMotions& bodies, View<const Index> system_row, View<double> delta,
                   View<double> velocity) const;
  // Fills the coordinates, whole turns included.
  void fill_coordinates(const model::BodyMotions& bodies, View<const double> near, View<double> value) const;

  View<double, 2> known;
  View<double, 3> rows;
  View<double> gamma;

 private:
  struct Coordinate {
    Index joint;
    model::JointMotion<> motion;
    CoordinateMotion of;

    double rate() const { return dot(motion.v_J, of.dual); }
  };
  Coordinate coordinate(const model::BodyMotions& bodies, Index item) const;

  model::SystemTables of_;
  std::vector<Index> prescribed_;  // items
};

}  // namespace sparsebody

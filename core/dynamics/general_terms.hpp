// Loads of a model besides gravity, and constraint rows that are not just constant on the successor: those of joints
// whose T varies in S coordinates, and of prescribed coordinates. Featherstone (2008), (8.10).
#pragma once

#include "model/body_forces.hpp"
#include "model/elastic_elements.hpp"

namespace sparsebody {

// m joints without constant rows, k rows; bodies have the user's numbers.
struct GeneralJoints {
  model::JointFrames frames;
  View<const Index> kind, first_row;   // (m,), (m + 1,)
  View<const double> parameter;
  View<const double, 2> subspace;      // (k, 6) T' where it is constant
};
// Joint coordinates with a spring, a damper or an effort, or with a prescribed motion.
struct TrackedCoordinates {
  View<const Index> joint, index, row;  // row of a prescribed coordinate, or -1
  View<const bool> is_angle;
  View<const Index> kind;               // of the types that state them, a joint each
  View<const double> parameter;
};
struct CoordinateSprings {
  View<const Index> item;
  View<const double> stiffness, rest, damping;
};
struct PointSprings {
  View<const Index> first, second;
  View<const double, 2> first_point, second_point;
  View<const double> stiffness, rest_length, damping;
};
// Constant wrenches on bodies, in world or in body axes, at points in body coordinates.
struct ExternalForces {
  View<const Index> body;
  View<const double, 2> wrench, point;
  View<const bool> in_world;
};

class GeneralTerms {
 public:
  // known (n_functions, 3): value, rate and acceleration at the time of the state, of prescribed coordinates, of efforts
  // on coordinates and of those between points. rows (k, 2, 6) and gamma (k,) are filled; rows on the world are zero.
  GeneralTerms(const GeneralJoints& joints, const TrackedCoordinates& coordinates, const CoordinateSprings& springs,
               const PointSprings& points, const model::ElasticElements& elements, const ExternalForces& forces,
               View<double, 2> known, View<double, 3> rows, View<double> gamma);

  Index n_joints() const { return joints_.kind.size(); }
  bool has_loads() const {
    return springs_.item.size() + points_.first.size() + elements_.size() + forces_.body.size() > 0;
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
  struct Coordinate;
  Coordinate coordinate(const model::BodyMotions& bodies, Index item) const;
  double continued(Index item, double value, View<const double> near) const;

  GeneralJoints joints_;
  TrackedCoordinates coordinates_;
  CoordinateSprings springs_;
  PointSprings points_;
  model::ElasticElements elements_;
  ExternalForces forces_;
  std::vector<Index> prescribed_;  // items
};

}  // namespace sparsebody

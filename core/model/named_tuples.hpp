// Python's joint frames, poses and tables of a system as arguments of kernels; for binding files.
#pragma once

#include "model/elastic_elements.hpp"
#include "python/signature.hpp"

namespace sparsebody {

template <OneOf<model::JointFrames, model::Subspaces, model::BodyMotions, model::JointTable, model::TrackedCoordinates,
                model::CoordinateSprings, model::PointSprings, model::ElasticElements, model::ExternalForces,
                model::SystemTables> Struct>
inline constexpr bool is_named_tuple<Struct> = true;

}  // namespace sparsebody

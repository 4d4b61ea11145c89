// Python's Links, TreeMotion and the like as arguments of kernels; for binding files.
#pragma once

#include "python/named_tuple.hpp"
#include "tree/aba.hpp"
#include "tree/branch_sparsity.hpp"
#include "tree/motion.hpp"

namespace nanobind::detail {

using sparsebody::Index;
using sparsebody::View;
namespace tree = sparsebody::tree;

template <>
struct type_caster<tree::Links>
    : sparsebody::NamedTupleCaster<tree::Links, View<const tree::LinkIndices>, View<const tree::LinkConstants>,
                                   View<const double>> {};

template <>
struct type_caster<tree::TreeMotion>
    : sparsebody::NamedTupleCaster<tree::TreeMotion, View<tree::LinkPose>, View<tree::Motion>, View<tree::Motion>,
                                   View<tree::Motion>, View<tree::LinkInertia>, View<double>> {};

template <>
struct type_caster<tree::BodyStates>
    : sparsebody::NamedTupleCaster<tree::BodyStates, View<const tree::Vec3>, View<const tree::Quaternion>,
                                   View<const tree::Motion>> {};

template <>
struct type_caster<tree::BranchPattern>
    : sparsebody::NamedTupleCaster<tree::BranchPattern, View<const Index>, View<const Index>, View<const Index>> {};

template <>
struct type_caster<tree::Articulated>
    : sparsebody::NamedTupleCaster<tree::Articulated, View<tree::ArticulatedLink>, View<tree::EliminatedCoordinate>,
                                   View<tree::Motion>> {};

}  // namespace nanobind::detail

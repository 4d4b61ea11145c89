// Python's Links, TreeMotion and the like as arguments of kernels; for binding files.
#pragma once

#include "python/signature.hpp"
#include "tree/aba.hpp"
#include "tree/branch_sparsity.hpp"
#include "tree/motion.hpp"

namespace sparsebody {

template <OneOf<tree::Links, tree::BodyStates, tree::TreeMotion, tree::BranchPattern, tree::Articulated> Struct>
inline constexpr bool is_named_tuple<Struct> = true;

}  // namespace sparsebody

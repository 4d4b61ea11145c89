// Python's Links, TreeMotion and the like as arguments of kernels; for binding files.
#pragma once

#include "python/signature.hpp"
#include "tree/aba.hpp"
#include "tree/branch_sparsity.hpp"
#include "tree/motion.hpp"

namespace sparsebody {

template <> inline constexpr bool is_named_tuple<tree::Links> = true;
template <> inline constexpr bool is_named_tuple<tree::BodyStates> = true;
template <> inline constexpr bool is_named_tuple<tree::TreeMotion> = true;
template <> inline constexpr bool is_named_tuple<tree::BranchPattern> = true;
template <> inline constexpr bool is_named_tuple<tree::Articulated> = true;

}  // namespace sparsebody

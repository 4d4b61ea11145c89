// Chunks of an evaluation by block LDL': which bodies and joints are assembled for which pivots, and which residuals
// follow which of them.
#pragma once

#include <vector>

#include "dynamics/assembly.hpp"
#include "factorization/layout.hpp"

namespace sparsebody {

// First pivot, body and joint of a chunk; it ends where the next one begins.
struct Chunk {
  Index pivot, body, joint;             // forwards: that it eliminates and assembles
  Index residual_joint, residual_body;  // backwards: whose residuals it computes
};
// The chunks of each part of a layout, the common ancestors last, and what belongs to several parts.
struct Schedule {
  std::vector<std::vector<Chunk>> parts;
  std::vector<Index> shared_bodies;                // of the parts, with joints among the ancestors
  std::vector<Index> border_joints, border_bodies;  // joints of ancestors or to them, and the bodies of these joints
};
// Without a layout, all bodies and joints in one chunk.
Schedule make_schedule(const block_ldl::Layout* layout, const RowTable& table, Index n, Index chunk_length);

}  // namespace sparsebody

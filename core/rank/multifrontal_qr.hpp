// Rank-revealing multifrontal QR factorization of A' on a tree of parts of the mechanism.
//
// The front of a part holds what its equations, six for each body, say of the rows of A that lead out of it. Where
// parts meet, the rows between them are decided, and orthogonal transformations reduce what remains to at most as many
// equations as rows lead out. A sweep from body to body is a path of parts; halves of halves are a binary tree, on
// which a lattice costs n^1.5 and a decision depends on log n earlier ones.
// George and Heath (1980), Lin. Alg. Appl. 34; Davis (2011), ACM TOMS 38, 8.
#pragma once

#include <algorithm>

#include "rank/rows.hpp"

namespace sparsebody {

// Parts in postorder: part p holds the parts first[p] .. p, is held by parent[p] (-1: none), and body i is added in
// part_of_body[i].
struct PartTree {
  View<const Index> parent, first, part_of_body;

  // The smallest part that holds both.
  Index meeting(Index a, Index b) const {
    Index part = std::max(a, b);
    while (first[part] > std::min(a, b)) part = parent[part];
    return part;
  }
};

// |R_jj| of every row of A: what is left of it beside the rows decided before. A row is decided in the smallest part
// that holds all its bodies; of several, joint by joint, the last one first, and the largest remainder of a joint
// first. So all rows that a loop makes dependent belong to one joint, and what is kept stays independent when the
// mechanism moves. Remainders up to `tolerance` count as zero: the row is dependent, and not used.
Array<double> row_remainders(const PartTree& tree, const PartOfRows& part, double tolerance, int threads);

// About how many operations that takes, from the rows that lead out of the parts.
double remainder_flops(const PartTree& tree, View<const Index, 2> ends, View<const Index> first_row);

}  // namespace sparsebody

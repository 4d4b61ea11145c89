// LDL' of [1 A'; A 0] by small dense blocks on the graph of bodies and joints: L D L' with scalar D, positive in
// primal pivots and negative in dual ones, without interchanges. Tables say where everything lies (layout.hpp
// describes them); nothing is searched or allocated. Davis (2006), ch. 4; Vanderbei (1995), SIAM J. Optim. 5:100.
//
// A pivot P = L D L' is stored as L with 1 / D in place of its unit diagonal; a block V below it becomes -V P^-1, the
// only thing that substitution needs.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/threads.hpp"
#include "factorization/layout.hpp"
#include "factorization/partition.hpp"

namespace sparsebody::block_ldl {

// The factors, and work space of one part of the layout.
struct Storage {
  View<double> values;     // the factors
  View<double> x;          // a solution in padded order; zero in spare rows
  View<double> reference;  // what pivots were before dual ones took from them, modulo its size - 8, a power of two
  View<double> right;      // V L'^-1 of the present panel
};

inline constexpr Index regular = -1, doubtful = -2;  // what a factorization returns; see `eliminate`
inline constexpr double dual_shift = 0x1p-52;        // of dual pivots, where one of them is lost in rounding

using Rows = View<const double, 3>;                  // A (n_dual_rows, 2, width): each row on its first and second end

// Initializes each panel whose first update comes from a pivot in [begin, end): with its blocks of the matrix and its
// part of the right-hand side (n_rows,).
void open_panels(const Layout& layout, Rows rows, View<const double> rhs, const Storage& storage, Index begin,
                 Index end);

// Eliminates the pivots in [begin, end) of one part, those before them being done: fills `values` with the factors and,
// in the spare lanes, D^-1 L^-1 rhs for the right-hand side (n_rows,). Dual pivots are moved away from zero by `shift`
// times what they were before other dual ones took from them, or by -shift itself if that is negative. Returns
// `regular`, or `doubtful` - index of the first pivot that may be nothing but rounding; without a shift the
// elimination ends there. Their panels are opened on the way unless they are open.
Index eliminate(const Layout& layout, Rows rows, View<const double> rhs, double shift, const Storage& storage,
                Index begin, Index end, bool are_open = false);

// The two steps of a substitution at a pivot: the first gives what other pivots read, the second what none does; two
// threads take one each.
enum Steps { both_steps, first_step, second_step };

// Fills the solution (n_rows,) for the right-hand side that came with the factorization, in the rows of the
// pivots in [begin, end) of one part, those after them being filled.
void substitute(const Layout& layout, Rows rows, const Storage& storage, View<const double> rhs, View<double> solution,
                Index begin, Index end, Steps steps = both_steps);

// A pivot of a constraint row.
struct DualPivot {
  std::uint32_t offset, row;  // in `values`, and of A
};

// The factors of the newest matrix. Parts are done on up to `threads` threads, whose number changes no bit.
class Factors {
 public:
  const Layout& layout;
  Index threads = 1;

  explicit Factors(const Layout& layout);
  Array<double>& values() { return values_; }

  // Calls task(part, storage) for all parts except the common ancestors.
  template <class Task>
  void for_each_part(const Task& task) {
    run_tasks(layout.n_parts(), threads, [&](Index p) { task(p, layout.parts[p], storage_[p]); });
  }
  // Threads that share the work of one part: two where the elimination tree is a path, without parts.
  Index threads_of_part() const {
    return layout.n_parts() == 0 && layout.n_pivots() >= fewest_blocks ? std::min<Index>(threads, 2) : 1;
  }
  const Storage& storage(Index part) const { return storage_[part]; }
  const Storage& ancestors() const { return storage_.back(); }
  // Adds to the panels of common ancestors what the parts contribute, before they are eliminated.
  void add_contributions(Rows rows, View<const double> rhs);

  // Calls eliminate_part(part, storage) for all parts and then the common ancestors. Returns `regular`, or what the
  // first part with a doubtful pivot returned; without a shift the elimination ends there.
  template <class EliminatePart>
  Index eliminate_parts(Rows rows, View<const double> rhs, double shift, const EliminatePart& eliminate_part) {
    std::vector<Index> status(layout.parts.size(), regular);
    for_each_part([&](Index p, const Part&, const Storage& storage) { status[p] = eliminate_part(p, storage); });
    const auto first = [&] {
      const auto bad = std::ranges::find_if(status, [](Index s) { return s != regular; });
      return bad == status.end() ? regular : *bad;
    };
    if (first() != regular && shift == 0.0) return first();
    add_contributions(rows, rhs);
    status.back() = eliminate_part(layout.n_parts(), ancestors());
    return first();
  }
  // Eliminates all pivots; see above.
  Index eliminate(Rows rows, View<const double> rhs, double shift);
  // Eliminates all pivots, and where one is doubtful once more with all dual ones shifted, so that which ones are
  // shifted depends on nothing but the matrix. Returns what the first elimination does.
  Index factorize(Rows rows, View<const double> rhs);
  // Fills `solution` with that for another right-hand side (n_rows,), or adds it. Of the right-hand side of
  // constant pivots only `share` is seen: 1.0, or 0.0 where it is zero. Returns the largest entry of the primal part.
  double solve(Rows rows, View<const double> rhs, double share, bool adds, View<double> solution);

  // The square root of the smallest dual pivot relative to the norm of its row of A, and that row: the sine of the
  // angle between the row and those eliminated before it. Fills the inverse squares of the sines of all rows, or none,
  // (0,).
  std::pair<double, Index> smallest_pivot(Rows rows, View<double> inverse_squares = {}) const;

 private:
  Array<double> values_, x_;
  std::vector<Array<double>> scratch_;
  std::vector<Storage> storage_;  // of each part
  std::vector<DualPivot> dual_pivots_;
};

}  // namespace sparsebody::block_ldl

#include "simulation/newton.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sparsebody::implicit {

namespace {

constexpr double usual_contraction = 0.03;      // by new factors
constexpr double factorization_cost = 2.0;      // in iterations; new factors serve the next steps as well
constexpr double slow_contraction = 0.5;        // by new factors, which then count as slow
constexpr Index most_slow_factors = 2;          // that follow one another, before the full matrix is asked for
constexpr Index most_iterations = 20;
constexpr Index most_precise_iterations = 6;    // after these, corrections may be as large as the accuracy asked for
constexpr double rounding = 1e-15;              // of corrections, relative to coordinates of bodies
constexpr double rounding_margin = 10.0;        // times `rounding`, where corrections become no smaller
constexpr double largest_correction = 0.3;      // lengths; a larger one may leave the branch of the motion
constexpr int most_refinements = 10;
constexpr double refinement_tolerance = 0.02;   // relative change at which they end: Newton's method does the rest

double largest(View<const double> x) {
  double most = 0.0;
  for (const double entry : x) most = std::max(most, std::abs(entry));
  return most;
}

// Iterations that make errors smaller by a factor: log(factor) / -log(contraction).
double iterations(double factor, double contraction) {
  return contraction < 1.0 ? std::log(factor) / -std::log(contraction) : std::numeric_limits<double>::infinity();
}

// The error after a correction, relative to it: theta / (1 - theta) for linear convergence, by a contraction theta. The
// first correction has none, and one below 0.01 may be luck.
double error_ratio(double contraction) {
  const double theta = contraction > 0.0 ? std::max(contraction, 0.01) : 1.0;
  return theta / (1.0 - std::min(theta, 0.9));
}

}  // namespace

Newton::Newton(Equations& equations, Factorization factorization, const Start& start, const End& end,
               View<double> inputs, Index n_unknowns, double length)
    : equations_(equations), factorization_(std::move(factorization)), start_(start), end_(end), inputs_(inputs),
      length_(length), rows_({n_unknowns - end.velocity.size(), 2, 6}), rhs_(n_unknowns), refined_rhs_(n_unknowns),
      x_(n_unknowns), before_(end.velocity.size()),
      correction_{Array<double, 2>(end.velocity.shape()), Array<double>(end.multiplier.size())} {
  Index size = 2;
  for_point([&](auto array) { size += array.size(); });
  point_ = Array<double>(size);
}

template <class F>
void Newton::for_point(F f) {
  f(start_.position), f(start_.orientation), f(start_.coordinate);
  f(end_.displacement), f(end_.velocity), f(end_.multiplier), f(inputs_);
}

void Newton::factorize_at(View<const double> point) {
  std::copy(point.begin(), point.end(), point_.begin());
  const double* next = point.begin() + 2;
  for_point([&](auto array) {
    std::copy_n(next, array.size(), array.begin());
    next += array.size();
  });
  if (point[0] == 0.0) return;
  equations_.evaluate();
  factorize(point[0], point[1]);
}

void Newton::factorize(double b, double c) {
  point_[0] = b, point_[1] = c;
  double* next = point_.begin() + 2;
  for_point([&](auto array) { next = std::copy(array.begin(), array.end(), next); });
  has_indefinite_block_ = equations_.linearize(b, c, rows_) > 0;
  factorization_.factorize(rows_.view());
}

// With iterative refinement while it converges, where a block J of a body is not positive definite.
const Correction& Newton::solve() {
  equations_.right_side(rhs_);
  factorization_.solve(rows_.view(), rhs_, x_);
  double last = std::numeric_limits<double>::infinity();
  for (int k = 0; has_indefinite_block_ && k < most_refinements; ++k) {
    std::copy_n(x_.begin(), before_.size(), before_.begin());
    const double before = largest(before_);
    equations_.subtract_remainder(x_, rhs_, refined_rhs_);
    factorization_.solve(rows_.view(), refined_rhs_, x_);
    for (Index i = 0; i < before_.size(); ++i) before_[i] -= x_[i];
    const double change = largest(before_);
    if (!(refinement_tolerance * before < change && change < 0.9 * last)) break;
    last = change;
  }
  equations_.to_correction(x_, correction_.twist, correction_.multiplier);
  return correction_;
}

void Newton::begin(double b, double c, double relative_tolerance, double accuracy) {
  b_ = b, c_ = c, relative_tolerance_ = relative_tolerance;
  const double farthest_body = largest({start_.position.data(), start_.position.size()});
  rounding_error_ = rounding * farthest_body;
  accuracy_ = accuracy + rounding_margin * rounding_error_;
  n_iterations = n_factorizations = n_slow_ = n_by_factors_ = 0;
  contraction = size = 0.0;
}

Newton::Status Newton::run(const SolveFull& solve_full) {
  const auto next = [&](Status status) {
    return status != going_on || equations_.evaluate_with_control() == Equations::defined ? status : undefined;
  };
  Status status = next(going_on);
  while (status == going_on) status = next(iterate());
  while (status == wants_full_matrix && solve_full) {
    solve_full(b_, c_, correction_);
    status = next(correct());
    if (status == going_on) status = wants_full_matrix;
  }
  return status;
}

Newton::Status Newton::iterate() {
  const double factor = size / goal_;
  const bool is_measured = n_by_factors_ > 1;  // of the present factors
  if (b_ != point_[0] || c_ != point_[1] ||
      (is_measured && iterations(factor, contraction) > iterations(factor, usual_contraction) + factorization_cost)) {
    n_slow_ = n_factorizations > 0 && contraction > slow_contraction ? n_slow_ + 1 : 0;
    if (n_slow_ > most_slow_factors) return wants_full_matrix;
    factorize(b_, c_);
    ++n_factorizations;
    n_by_factors_ = 0;
  }
  ++n_by_factors_;
  solve();
  return correct();
}

double Newton::size_of(View<const double, 2> twist) const {
  double angle = 0.0, distance = 0.0;  // squared; NaN if one of them is
  const auto larger = [](double a, double b) { return b > a || b != b ? b : a; };
  for (Index i = 0; i < twist.rows(); ++i) {
    const auto d = Motion<double>::load(&twist(i, 0));
    angle = larger(angle, dot(d.angular, d.angular)), distance = larger(distance, dot(d.linear, d.linear));
  }
  return length_ * std::sqrt(angle) + std::sqrt(distance);
}

Newton::Status Newton::correct() {
  equations_.correct(b_, c_, correction_.twist, correction_.multiplier);
  const double last = size;
  size = size_of(correction_.twist);
  if (!(size < largest_correction * length_)) return diverged;
  contraction = last > 0.0 ? size / last : 0.0;
  if (n_iterations == 0) goal_ = std::max(relative_tolerance_ * size, rounding_error_);
  const bool is_slow = contraction > slow_contraction || n_iterations >= most_precise_iterations;  // by rounding, say
  if (size * error_ratio(contraction) <= goal_ || (is_slow && size < accuracy_)) {
    equations_.move();
    return converged;
  }
  return ++n_iterations < most_iterations ? going_on : diverged;
}

}  // namespace sparsebody::implicit

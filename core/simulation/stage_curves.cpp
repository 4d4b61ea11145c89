#include "simulation/stage_curves.hpp"

#include <algorithm>

namespace sparsebody::simulation {

namespace {

template <int n>
SB_INLINE void load(const double (*block)[n_lanes], Lanes* numbers) {
  unrolled<0, n>([&](auto a) SB_UNROLL { numbers[a] = Vec<n_lanes>::load(block[a]); });
}
template <int n>
SB_INLINE void store(const Lanes* numbers, double (*block)[n_lanes]) {
  unrolled<0, n>([&](auto a) SB_UNROLL { numbers[a].v.store(block[a]); });
}

// y' and y'' of four bodies.
struct Derivatives {
  Lanes rate[7], curvature[7];

  SB_INLINE Derivatives(const model::BodyMotions& bodies, View<const double, 2> acceleration, Index block) {
    Lanes q[4], v[6], a[6];
    load_lanes<4>(bodies.orientation, block, q);
    load_lanes<6>(bodies.velocity, block, v);
    load_lanes<6>(acceleration, block, a);
    model::differentiate(q, Motion<Lanes>::load(v), Motion<Lanes>::load(a), rate, curvature);
  }
};

}  // namespace

void StageCurves::sum(View<const double> weight, Index block, Lanes* total) const {
  std::fill_n(total, 7, Lanes());
  for (Index k = 2; k < n_curves_; ++k) {
    const double w = weight[k - 2];
    if (w == 0.0) continue;
    Lanes y[7];
    load<7>(curve(k)[block].of, y);
    unrolled<0, 7>([&](auto a) SB_UNROLL { total[a] = total[a] + Lanes(w) * y[a]; });
  }
}

void StageCurves::begin(const model::BodyMotions& start, View<const double, 2> acceleration) {
  n_curves_ = 3;
  blocks_.resize(std::max(Index(blocks_.size()), n_curves_ * n_blocks_));
  for (Index b = 0; b < n_blocks_; ++b) {
    Lanes y[7];
    load_lanes<3>(start.position, b, y), load_lanes<4>(start.orientation, b, y + 3);
    const Derivatives of(start, acceleration, b);
    store<7>(y, curve(0)[b].of), store<7>(of.rate, curve(1)[b].of), store<7>(of.curvature, curve(2)[b].of);
  }
}

void StageCurves::add(const model::BodyMotions& stage, View<const double, 2> acceleration) {
  blocks_.resize(std::max(Index(blocks_.size()), ++n_curves_ * n_blocks_));
  for (Index b = 0; b < n_blocks_; ++b)
    store<7>(Derivatives(stage, acceleration, b).curvature, curve(n_curves_ - 1)[b].of);
}

void StageCurves::move(View<const double> pose, View<const double> rate, double h, View<double, 2> position,
                       View<double, 2> orientation, View<double, 2> velocity) const {
  for (Index b = 0; b < n_blocks_; ++b) {
    Lanes y[7], dy[7], C[7], c[7], end[7], v[6];
    load<7>(curve(0)[b].of, y), load<7>(curve(1)[b].of, dy);
    sum(pose, b, C), sum(rate, b, c);
    model::move(y, dy, C, c, h, end).store(v);
    store_lanes<3>(end, position, b), store_lanes<4>(end + 3, orientation, b), store_lanes<6>(v, velocity, b);
  }
}

Array<double, 2> StageCurves::weighted_sum(View<const double> weight) const {
  auto out = Array<double, 2>::uninitialized({n_bodies_, 7});
  for (Index b = 0; b < n_blocks_; ++b) {
    Lanes total[7];
    sum(weight, b, total);
    store_lanes<7>(total, out.view(), b);
  }
  return out;
}

Array<double, 2> StageCurves::fifth_difference(const model::BodyMotions& end, View<const double, 2> acceleration,
                                               double h) const {
  auto out = Array<double, 2>::uninitialized({n_bodies_, 7});
  const Lanes per_h(1.0 / h), per_h2(1.0 / (h * h)), half(0.5), twelfth(1.0 / 12.0);
  for (Index b = 0; b < n_blocks_; ++b) {
    Lanes y[7], dy[7], ddy[7], y_end[7];
    load<7>(curve(0)[b].of, y), load<7>(curve(1)[b].of, dy), load<7>(curve(2)[b].of, ddy);
    load_lanes<3>(end.position, b, y_end), load_lanes<4>(end.orientation, b, y_end + 3);
    const Derivatives of(end, acceleration, b);
    unrolled<0, 7>([&](auto a) SB_UNROLL {  // (y_1 - y_0) / h^2 - (y_0' + y_1') / (2 h) + (y_1'' - y_0'') / 12
      y[a] = (y_end[a] - y[a]) * per_h2 - (dy[a] + of.rate[a]) * (half * per_h) + (of.curvature[a] - ddy[a]) * twelfth;
    });
    store_lanes<7>(y, out.view(), b);
  }
  return out;
}

}  // namespace sparsebody::simulation

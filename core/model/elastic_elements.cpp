#include "model/elastic_elements.hpp"

namespace sparsebody::model {

namespace {

// The deformation e at a pose, on any scalar.
template <class T>
void deformation(const ElasticElements& elements, Index k, const Transform<T>& X, T (&e)[6]) {
  if (elements.kind[k] < 0)
    Logarithm::error(X, e);
  else
    visit_joint(int(elements.kind[k]), elements.parameter[k], [&](const auto& joint) { joint.error(X, e); });
}

}  // namespace

template <class T>
ElasticRows<T>::ElasticRows(const ElasticElements& elements, Index k, const Transform<T>& X)
    : n_rows(int(elements.n_rows[k])) {
  Dual<6, T> e[6];
  deformation(elements, k, with_rates(X), e);
  for (int i = 0; i < n_rows; ++i)
    for (int j = 0; j < 6; ++j) {
      const double b = elements.root(k, i, j);
      if (b == 0.0) continue;
      value[i] += b * (e[j].value - T(elements.rest(k, j)));
      for (int a = 0; a < 6; ++a) rows[i][a] += b * e[j].rate[a];
    }
}

template struct ElasticRows<double>;
template struct ElasticRows<Dual<6>>;
template struct ElasticRows<Dual<12>>;

double elastic_energy(const ElasticElements& elements, Index k, const Transform<double>& X) {
  double e[6], energy = 0.0;
  deformation(elements, k, X, e);
  for (int j = 0; j < 6; ++j) e[j] -= elements.rest(k, j);
  for (Index i = 0; i < elements.n_rows[k]; ++i) {
    double z = 0.0;
    for (int j = 0; j < 6; ++j)
      if (const double b = elements.root(k, i, j); b != 0.0) z += b * e[j];
    energy += 0.5 * z * z;
  }
  return energy;
}

void elastic_deformation(const ElasticElements& elements, Index k, const Transform<double>& X, double* e,
                         Force<double>* rows) {
  Dual<6> moving[6];
  deformation(elements, k, with_rates(X), moving);
  for (int i = 0; i < 6; ++i) {
    e[i] = moving[i].value - elements.rest(k, i);
    rows[i] = Force<double>::load(moving[i].rate.data());
  }
}

Matrix6 elastic_wrench_rate(const ElasticElements& elements, Index k, const Transform<double>& X, const double* mu) {
  Dual<6, Dual<6>> e[6];
  deformation(elements, k, with_rates(with_rates(X)), e);
  Matrix6 rate;
  for (int j = 0; j < 6; ++j) {
    double force = 0.0;
    for (Index i = 0; i < elements.n_rows[k]; ++i) force += elements.root(k, i, j) * mu[i];
    for (int i = 0; i < 6; ++i)
      for (int a = 0; a < 6; ++a) rate(i, a) += force * e[j].rate[i].rate[a];
  }
  return rate;
}

ElasticMotion elastic_motion(const ElasticElements& elements, const BodyMotions& bodies) {
  const Index n = elements.size();
  ElasticMotion out{Array<double, 2>({n, 6}), Array<double, 2>({n, 6}), Array<double, 4>({n, 6, 2, 6})};
  for (Index k = 0; k < n; ++k) {
    const JointFrames& frames = elements.frames;
    const JointMotion motion = joint_motion(frames, bodies, k);
    const ElasticRows z(elements, k, motion.X);
    for (int i = 0; i < z.n_rows; ++i) {
      out.value(k, i) = z.value[i];
      out.rate(k, i) = z.rate(i, motion.v_J);
      const Force<double> row = Force<double>::load(z.rows[i]);
      (-motion.X_p.transpose(row)).store(&out.rows(k, i, 0, 0));
      frames.X_S(k).transpose(row).store(&out.rows(k, i, 1, 0));
    }
  }
  return out;
}

}  // namespace sparsebody::model

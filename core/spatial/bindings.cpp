#include "python/signature.hpp"
#include "spatial/vector.hpp"

namespace sparsebody {

namespace {

// The inverses of symmetric matrices, by their cofactors, into the leading blocks of `inverse`.
void fill_symmetric_inverses(View<const double, 3> matrices, View<double, 3> inverse) {
  for (Index i = 0; i < matrices.shape(0); ++i) {
    const auto A = Mat3<double>::load(&matrices(i, 0, 0));
    const double a = A(0, 0), b = A(1, 1), c = A(2, 2), d = A(0, 1), e = A(0, 2), f = A(1, 2);
    const double C_00 = b * c - f * f, C_01 = e * f - c * d, C_02 = d * f - b * e;
    const double scale = 1.0 / (a * C_00 + d * C_01 + e * C_02);
    inverse(i, 0, 0) = scale * C_00;
    inverse(i, 1, 1) = scale * (a * c - e * e);
    inverse(i, 2, 2) = scale * (a * b - d * d);
    inverse(i, 0, 1) = inverse(i, 1, 0) = scale * C_01;
    inverse(i, 0, 2) = inverse(i, 2, 0) = scale * C_02;
    inverse(i, 1, 2) = inverse(i, 2, 1) = scale * (d * e - a * f);
  }
}

}  // namespace

void bind_spatial(nb::module_& m) {
  def_kernel<"fill_symmetric_inverses(matrices, inverse)">(m, &fill_symmetric_inverses);
}

}  // namespace sparsebody

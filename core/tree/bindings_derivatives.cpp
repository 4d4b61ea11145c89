#include "tree/joint_derivatives.hpp"
#include "tree/named_tuples.hpp"

namespace sparsebody {

template <>
inline constexpr bool is_named_tuple<tree::JointDerivatives> = true;

void bind_tree_derivatives(nb::module_& m) {
  using namespace tree;
  def_kernel<"inverse_dynamics_derivatives(links, motion, pattern, qdd, external, a, F, rates, tau, by_q, "
             "by_qd, H)">(m, &inverse_dynamics_derivatives);
  def_kernel<"forward_dynamics_derivatives(links, motion, pattern, tau, external, is_prescribed, work, qdd, "
             "derivatives, L)">(m, &forward_dynamics_derivatives);
}

}  // namespace sparsebody

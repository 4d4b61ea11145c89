#include "ordering/annealing.hpp"
#include "ordering/dissection.hpp"
#include "ordering/level_sweep.hpp"
#include "ordering/minimum_degree.hpp"
#include "ordering/minimum_fill.hpp"
#include "ordering/sweeps.hpp"
#include "python/signature.hpp"

namespace sparsebody {

void bind_ordering(nb::module_& m) {
  def_kernel<"minimum_degree(graph, size, n_primal, awaited, outer, phase)">(m, &minimum_degree);
  def_kernel<"minimum_fill(graph, size)">(m, &minimum_fill);
  def_kernel<"dissection(ends, joint_size, coordinates)">(m, &dissection);
  def_kernel<"level_sweep(n_primal, ends)">(m, &level_sweep);
  def_kernel<"pathwidth_sweep(ends, joint_size, sequence, start, n_starts)">(m, &pathwidth_sweep);
  def_kernel<"sloan(graph, sequence)">(m, &sloan);
  def_kernel<"search_from_world(quotient, to_world, is_depth_first)">(m, &search_from_world);

  nb::class_<Annealing> annealing(m, "Annealing");
  def_keeping<"__init__(graph, size, order, most_visits, bits)">(
      annealing, [](Annealing* self, const Graph& graph, Indices size, Indices order, Index visits, nb::capsule bits) {
        new (self) Annealing(graph, size, order, visits, static_cast<bitgen_t*>(bits.data("BitGenerator")));
      });
  def_kernel<"run(visits)">(annealing, &Annealing::run);
  def<"best()">(annealing, &Annealing::best);
}

}  // namespace sparsebody

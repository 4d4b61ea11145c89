#include "python/arrays.hpp"
#include "tree/tree_search.hpp"

namespace sparsebody {

using namespace tree;
using nb::arg;

namespace {

void bind_search(nb::module_& module) {
  nb::class_<JointGraph>(module, "JointGraph", "Bodies and joints; the world is node n_bodies.")
      .def(nb::init<View<const Index>, View<const Index>, Index>(), arg("predecessor"), arg("successor"),
           arg("n_bodies"))
      .def("connected", &JointGraph::connected, arg("root"),
           "Return the bodies that joints connect with one, not by way of the world.")
      .def(
          "grow",
          [](const JointGraph& graph, View<const Index> roots, Index search, View<const Index> freedoms,
             View<const bool> is_free, View<const bool> is_required, View<const bool> is_usable, View<Index> group,
             View<Index> tree_joint, View<Index> depth) {
            graph.grow(roots, Search(search), {freedoms, is_free, is_required, is_usable, group}, tree_joint, depth);
          },
          arg("roots"), arg("search"), arg("freedoms"), arg("is_free"), arg("is_required"), arg("is_usable"),
          arg("group"), arg("tree_joint"), arg("depth"),
          "Fill the tree joint (n,) and the depth (n + 1,) of all bodies reached from the roots; -2 is not reached.")
      .def("preorder", &JointGraph::preorder, arg("tree_joint"),
           "Return bodies and parents in a numbering in which every subtree is contiguous, parents first.")
      .def("middle", &JointGraph::middle, arg("bodies"),
           "Return the body half way along a longest path of two searches.")
      .def("median", &JointGraph::median, arg("bodies"), "Return the body with the least sum of distances.")
      .def("sweep", &JointGraph::sweep, arg("is_usable"),
           "Return the joint (n,) by which a depth-first sweep away from the world reaches each body, -1 for none.")
      .def("reduce_nonzeros", &JointGraph::reduce_nonzeros, arg("freedoms"), arg("movable"), arg("tree_joint"),
           "Hang bodies elsewhere as long as nnz(H) falls.");
  module.def("united", &united, arg("joints"), arg("predecessor"), arg("successor"), arg("group"),
             "Return which joints, one after the other, unite groups of bodies; `group` is a union-find forest.");
  module.def("subtree_ends", &subtree_ends, arg("parent"));
  module.def("expanded_parents", &expanded_parents, arg("parent"), arg("first_velocity"));
  module.def("depths", &depths, arg("parent"), arg("step"));
  module.def("inertia_nonzeros", &tree::inertia_nonzeros, arg("parent"), arg("freedoms"));
}

}  // namespace

void bind_tree_loops(nb::module_& module) { bind_search(module); }

}  // namespace sparsebody

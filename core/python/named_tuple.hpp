// Arrays of rows as views of structs, and NamedTuples of arrays as structs of views.
#pragma once

#include <type_traits>

#include "python/arrays.hpp"

namespace sparsebody {

// The numbers that a row consists of: Row::Element where the struct says so, else doubles.
template <class Row> struct RowElement { using type = double; };
template <class Row> requires requires { typename Row::Element; }
struct RowElement<Row> { using type = typename Row::Element; };

// Whether a struct of views is made from a tuple of arrays, which are its members in order.
template <class Struct> inline constexpr bool is_named_tuple = false;

struct Anything {
  template <class T> operator T() const;
};

// The members of such a struct.
template <class Struct, class... Members>
constexpr auto members(const Struct& s) {
  if constexpr (requires { Struct{Members{}..., Anything{}}; }) {
    return members<Struct, Members..., Anything>(s);
  } else {
    constexpr int n = sizeof...(Members);
    static_assert(2 <= n && n <= 9);
    if constexpr (n == 2) { auto& [a, b] = s; return std::tuple(a, b); }
    if constexpr (n == 3) { auto& [a, b, c] = s; return std::tuple(a, b, c); }
    if constexpr (n == 4) { auto& [a, b, c, d] = s; return std::tuple(a, b, c, d); }
    if constexpr (n == 5) { auto& [a, b, c, d, e] = s; return std::tuple(a, b, c, d, e); }
    if constexpr (n == 6) { auto& [a, b, c, d, e, f] = s; return std::tuple(a, b, c, d, e, f); }
    if constexpr (n == 7) { auto& [a, b, c, d, e, f, g] = s; return std::tuple(a, b, c, d, e, f, g); }
    if constexpr (n == 8) { auto& [a, b, c, d, e, f, g, h] = s; return std::tuple(a, b, c, d, e, f, g, h); }
    if constexpr (n == 9) { auto& [a, b, c, d, e, f, g, h, i] = s; return std::tuple(a, b, c, d, e, f, g, h, i); }
  }
}

}  // namespace sparsebody

namespace nanobind::detail {

template <class Struct> requires sparsebody::is_named_tuple<Struct>
struct type_caster<Struct> : type_caster<decltype(sparsebody::members(std::declval<const Struct&>()))> {
  using Members = decltype(sparsebody::members(std::declval<const Struct&>()));
  using Value = Struct;
  template <class> using Cast = Struct;
  explicit operator Struct() {
    return std::make_from_tuple<Struct>(type_caster<Members>::operator Members());
  }
};

// View<Row> of an array (n, ...) whose rows are the members of Row, in order: View<Motion<double>> of (n, 6).
template <class Row> requires std::is_class_v<Row>
struct type_caster<sparsebody::View<Row, 1>> {
  using View = sparsebody::View<Row, 1>;
  using Number = typename sparsebody::RowElement<std::remove_const_t<Row>>::type;
  using Type = sparsebody::NumpyType<Number>;
  static_assert(std::is_trivially_copyable_v<Row> && sizeof(Row) % sizeof(Number) == 0);
  NB_TYPE_CASTER(View, const_name("numpy.typing.NDArray[") + Type::name + const_name("]"))

  bool from_python(handle src, uint32_t, cleanup_list*) noexcept {
    if (!PyArray_Check(src.ptr())) return false;
    auto* array = reinterpret_cast<PyArrayObject*>(src.ptr());
    Py_ssize_t width = 1;
    for (int a = 1; a < PyArray_NDIM(array); ++a) width *= PyArray_DIM(array, a);
    if (PyArray_NDIM(array) < 2 || width * sizeof(Number) != sizeof(Row)) return false;
    const bool is_exact = PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISBEHAVED_RO(array) &&
                          PyArray_EquivTypenums(PyArray_TYPE(array), Type::code);
    if (!is_exact || (!std::is_const_v<Row> && !PyArray_ISWRITEABLE(array))) {
      if (!std::is_const_v<Row> || !PyArray_CanCastSafely(PyArray_TYPE(array), Type::code)) return false;
      owner_ = steal(PyArray_FROM_OTF(src.ptr(), Type::code, NPY_ARRAY_IN_ARRAY));
      if (!owner_.is_valid()) return PyErr_Clear(), false;
      array = reinterpret_cast<PyArrayObject*>(owner_.ptr());
    }
    value = View(static_cast<Row*>(PyArray_DATA(array)), PyArray_DIM(array, 0));
    return true;
  }
  static handle from_cpp(const View&, rv_policy, cleanup_list*) noexcept = delete;

 private:
  object owner_;
};

}  // namespace nanobind::detail

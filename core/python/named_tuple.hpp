// Python tuples of arrays as structs of views, and arrays (n, ...) as views of n structs.
#pragma once

#include <type_traits>

#include "graph/adjacency.hpp"
#include "python/arrays.hpp"

namespace sparsebody {

// The numbers that a row consists of: Row::Element where the struct says so, else doubles.
template <class Row> struct RowElement { using type = double; };
template <class Row> requires requires { typename Row::Element; }
struct RowElement<Row> { using type = typename Row::Element; };

// True for structs that convert, member by member, from or to a Python tuple of arrays and numbers.
template <class Struct> inline constexpr bool is_named_tuple = false;
template <class Struct, class... Structs> concept OneOf = (std::is_same_v<Struct, Structs> || ...);

// (indptr, indices)
template <OneOf<Graph, GraphArrays> Struct>
inline constexpr bool is_named_tuple<Struct> = true;

struct ConvertibleToAny {
  template <class T> operator T() const;
};

// Calls f(members of s...); counts the members by aggregate initialization.
template <class... Counted, class Struct, class F>
constexpr auto with_members(Struct& s, F&& f) {
  if constexpr (requires { Struct{Counted{}..., ConvertibleToAny{}}; }) {
    return with_members<Counted..., ConvertibleToAny>(s, f);
  } else {
    constexpr int n = sizeof...(Counted);
    static_assert(2 <= n && n <= 11);
    if constexpr (n == 2) { auto& [a, b] = s; return f(a, b); }
    if constexpr (n == 3) { auto& [a, b, c] = s; return f(a, b, c); }
    if constexpr (n == 4) { auto& [a, b, c, d] = s; return f(a, b, c, d); }
    if constexpr (n == 5) { auto& [a, b, c, d, e] = s; return f(a, b, c, d, e); }
    if constexpr (n == 6) { auto& [a, b, c, d, e, g] = s; return f(a, b, c, d, e, g); }
    if constexpr (n == 7) { auto& [a, b, c, d, e, g, h] = s; return f(a, b, c, d, e, g, h); }
    if constexpr (n == 8) { auto& [a, b, c, d, e, g, h, i] = s; return f(a, b, c, d, e, g, h, i); }
    if constexpr (n == 9) { auto& [a, b, c, d, e, g, h, i, j] = s; return f(a, b, c, d, e, g, h, i, j); }
    if constexpr (n == 10) { auto& [a, b, c, d, e, g, h, i, j, k] = s; return f(a, b, c, d, e, g, h, i, j, k); }
    if constexpr (n == 11) { auto& [a, b, c, d, e, g, h, i, j, k, l] = s; return f(a, b, c, d, e, g, h, i, j, k, l); }
  }
}

constexpr auto to_tuple = [](auto&... member) {
  return std::tuple<std::remove_reference_t<decltype(member)>...>(std::move(member)...);
};
template <class Struct>
using MembersOf = decltype(with_members(std::declval<Struct&>(), to_tuple));

}  // namespace sparsebody

namespace nanobind::detail {

template <class Struct> requires sparsebody::is_named_tuple<Struct>
struct type_caster<Struct> : type_caster<sparsebody::MembersOf<Struct>> {
  using Members = sparsebody::MembersOf<Struct>;
  using Value = Struct;
  template <class> using Cast = Struct;
  explicit operator Struct() { return std::make_from_tuple<Struct>(type_caster<Members>::operator Members()); }
  static handle from_cpp(Struct&& s, rv_policy policy, cleanup_list* cleanup) noexcept {
    return type_caster<Members>::from_cpp(sparsebody::with_members(s, sparsebody::to_tuple), policy, cleanup);
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

  bool from_python(handle src, uint32_t flags, cleanup_list*) noexcept {
    PyArrayObject* const array =
        sparsebody::array_of(src, Type::code, !std::is_const_v<Row>, flags & cast_flags::convert, owner_);
    if (array == nullptr || PyArray_NDIM(array) < 2) return false;
    const Py_ssize_t width = PyArray_MultiplyList(PyArray_DIMS(array) + 1, PyArray_NDIM(array) - 1);
    if (width * sizeof(Number) != sizeof(Row)) return false;
    value = View(static_cast<Row*>(PyArray_DATA(array)), PyArray_DIM(array, 0));
    return true;
  }
  static handle from_cpp(const View&, rv_policy, cleanup_list*) noexcept = delete;

 private:
  object owner_;
};

}  // namespace nanobind::detail

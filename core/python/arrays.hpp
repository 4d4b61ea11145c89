// NumPy arrays as arguments and results of kernels.
//
// View<const T, N> takes any array that NumPy casts safely, and copies it where it is not contiguous or of
// another type. View<T, N>, which a kernel fills, takes only a contiguous writeable array of that very type.
// NumPy's own interface costs 5 ns an array, the buffer protocol 100.
#pragma once

#include <algorithm>

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#define PY_ARRAY_UNIQUE_SYMBOL sparsebody_numpy
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#ifndef SPARSEBODY_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include "base/array.hpp"

namespace nb = nanobind;

namespace sparsebody {

template <class T> struct NumpyType;
#define SB_NUMPY_TYPE(type, number, text)                 \
  template <> struct NumpyType<type> {                    \
    static constexpr int code = number;                   \
    static constexpr auto name = nb::detail::const_name(text); \
  }
SB_NUMPY_TYPE(double, NPY_DOUBLE, "numpy.float64");
SB_NUMPY_TYPE(std::int32_t, NPY_INT32, "numpy.int32");
SB_NUMPY_TYPE(std::ptrdiff_t, NPY_INTP, "numpy.intp");
SB_NUMPY_TYPE(std::size_t, NPY_UINTP, "numpy.uintp");
SB_NUMPY_TYPE(std::uint32_t, NPY_UINT32, "numpy.uint32");
SB_NUMPY_TYPE(std::uint16_t, NPY_UINT16, "numpy.uint16");
SB_NUMPY_TYPE(std::uint8_t, NPY_UINT8, "numpy.uint8");
SB_NUMPY_TYPE(std::int8_t, NPY_INT8, "numpy.int8");
SB_NUMPY_TYPE(bool, NPY_BOOL, "numpy.bool_");
#undef SB_NUMPY_TYPE

// The array behind an argument, or a converted copy, which `owner` holds; null if it is neither.
inline PyArrayObject* array_of(nb::handle argument, int type, bool is_written, bool may_copy,
                               nb::object& owner) noexcept {
  if (!PyArray_Check(argument.ptr())) return nullptr;
  auto* const array = reinterpret_cast<PyArrayObject*>(argument.ptr());
  const bool is_exact = PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISBEHAVED_RO(array) &&
                        (PyArray_TYPE(array) == type || PyArray_EquivTypenums(PyArray_TYPE(array), type));
  if (is_exact && (!is_written || PyArray_ISWRITEABLE(array))) return array;
  if (is_written || !may_copy || !PyArray_CanCastSafely(PyArray_TYPE(array), type)) return nullptr;
  owner = nb::steal(PyArray_FROM_OTF(argument.ptr(), type, NPY_ARRAY_IN_ARRAY));
  if (!owner.is_valid()) PyErr_Clear();
  return reinterpret_cast<PyArrayObject*>(owner.ptr());
}

// An array of memory that belongs to a Python object, which it keeps.
template <class T, int N>
nb::object viewed_array(const View<T, N>& view, nb::handle owner) {
  npy_intp shape[N];
  std::copy_n(view.shape().begin(), N, shape);
  nb::object array = nb::steal(PyArray_SimpleNewFromData(N, shape, NumpyType<T>::code, view.data()));
  PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array.ptr()), owner.inc_ref().ptr());
  return array;
}

}  // namespace sparsebody

namespace nanobind::detail {

template <class T, int N>
struct type_caster<sparsebody::View<T, N>> {
  using View = sparsebody::View<T, N>;
  using Type = sparsebody::NumpyType<std::remove_const_t<T>>;
  NB_TYPE_CASTER(View, const_name("numpy.typing.NDArray[") + Type::name + const_name("]"))

  bool from_python(handle src, uint32_t flags, cleanup_list*) noexcept {
    PyArrayObject* const array =
        sparsebody::array_of(src, Type::code, !std::is_const_v<T>, flags & cast_flags::convert, owner_);
    if (array == nullptr || PyArray_NDIM(array) != N) return false;
    typename View::Shape shape;
    for (int a = 0; a < N; ++a) shape[a] = PyArray_DIM(array, a);
    value = View(static_cast<T*>(PyArray_DATA(array)), shape);
    return true;
  }

  static handle from_cpp(const View&, rv_policy, cleanup_list*) noexcept = delete;

 private:
  object owner_;
};

// Results of kernels: an owner of N axes of memory, which goes over to Python without a copy.
template <class Owner, class T, int N>
struct returned_array {
  using Type = sparsebody::NumpyType<T>;
  static constexpr auto Name = const_name("numpy.typing.NDArray[") + Type::name + const_name("]");
  template <class> using Cast = Owner;
  template <class> static constexpr bool can_cast() { return false; }

  static handle from_cpp(Owner&& array, rv_policy, cleanup_list*) noexcept {
    npy_intp shape[N];
    if constexpr (requires { array.shape(); }) std::copy_n(array.shape().begin(), N, shape);
    else shape[0] = npy_intp(array.size());
    auto* const owner = new Owner(std::move(array));
    PyObject* const result = PyArray_SimpleNewFromData(N, shape, Type::code, owner->data());
    PyObject* const capsule = PyCapsule_New(owner, nullptr, [](PyObject* object) {
      delete static_cast<Owner*>(PyCapsule_GetPointer(object, nullptr));
    });
    PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(result), capsule);
    return result;
  }
};
template <class T, int N>
struct type_caster<sparsebody::Array<T, N>> : returned_array<sparsebody::Array<T, N>, T, N> {};
template <class T> requires requires { sparsebody::NumpyType<T>::code; }
struct type_caster<std::vector<T>> : returned_array<std::vector<T>, T, 1> {};

}  // namespace nanobind::detail

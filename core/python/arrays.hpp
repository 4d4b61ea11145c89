// NumPy arrays as arguments and results of kernels.
//
// View<const T, N> takes any array that NumPy casts safely, and copies it where it is not contiguous or of
// another type. View<T, N>, which a kernel fills, takes only a contiguous writeable array of that very type.
// NumPy's own interface costs 5 ns an array, the buffer protocol 100.
#pragma once

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

// Binds a kernel that may take longer than a few microseconds: the GIL is released while it runs.
template <class F, class... Extra>
void def_kernel(nb::module_& module, const char* name, F&& kernel, const Extra&... extra) {
  module.def(name, std::forward<F>(kernel), nb::call_guard<nb::gil_scoped_release>(), extra...);
}

}  // namespace sparsebody

namespace nanobind::detail {

template <class T, int N>
struct type_caster<sparsebody::View<T, N>> {
  using View = sparsebody::View<T, N>;
  using Type = sparsebody::NumpyType<std::remove_const_t<T>>;
  NB_TYPE_CASTER(View, const_name("numpy.typing.NDArray[") + Type::name + const_name("]"))

  bool from_python(handle src, uint32_t, cleanup_list*) noexcept {
    if (!PyArray_Check(src.ptr())) return false;
    auto* array = reinterpret_cast<PyArrayObject*>(src.ptr());
    if (PyArray_NDIM(array) != N) return false;
    const bool is_exact = PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISBEHAVED_RO(array) &&
                          (PyArray_TYPE(array) == Type::code ||
                           PyArray_EquivTypenums(PyArray_TYPE(array), Type::code));
    if constexpr (std::is_const_v<T>) {
      if (!is_exact) {
        if (!PyArray_CanCastSafely(PyArray_TYPE(array), Type::code)) return false;
        PyObject* copy = PyArray_FROM_OTF(src.ptr(), Type::code, NPY_ARRAY_IN_ARRAY);
        if (copy == nullptr) {
          PyErr_Clear();
          return false;
        }
        owner_ = steal(copy);
        array = reinterpret_cast<PyArrayObject*>(copy);
      }
    } else {
      if (!is_exact || !PyArray_ISWRITEABLE(array)) return false;
    }
    typename View::Shape shape;
    for (int a = 0; a < N; ++a) shape[a] = PyArray_DIM(array, a);
    value = View(static_cast<T*>(PyArray_DATA(array)), shape);
    return true;
  }

  static handle from_cpp(const View&, rv_policy, cleanup_list*) noexcept = delete;

 private:
  object owner_;
};

template <class T, int N>
struct type_caster<sparsebody::Array<T, N>> {
  using Array = sparsebody::Array<T, N>;
  using Type = sparsebody::NumpyType<T>;
  static constexpr auto Name =
      const_name("numpy.typing.NDArray[") + Type::name + const_name("]");
  template <class U> using Cast = Array;
  template <class U> static constexpr bool can_cast() { return false; }

  static handle from_cpp(Array&& array, rv_policy, cleanup_list*) noexcept {
    npy_intp shape[N];
    for (int a = 0; a < N; ++a) shape[a] = array.shape(a);
    if (array.data() == nullptr)
      return handle(PyArray_ZEROS(N, shape, Type::code, 0));
    T* data = array.release();
    PyObject* result = PyArray_SimpleNewFromData(N, shape, Type::code, data);
    if (result == nullptr) {
      std::free(data);
      return handle();
    }
    PyObject* owner = PyCapsule_New(data, nullptr, [](PyObject* capsule) {
      std::free(PyCapsule_GetPointer(capsule, nullptr));
    });
    PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(result), owner);
    return handle(result);
  }
};

}  // namespace nanobind::detail

// A Python function as a ControlFunction.
#pragma once

#include "python/arrays.hpp"

namespace sparsebody::simulation {

inline nb::object copied_array(const double* data, std::initializer_list<npy_intp> shape) {
  nb::object array = nb::steal(PyArray_SimpleNew(int(shape.size()), shape.begin(), NPY_DOUBLE));
  if (!array.is_valid()) nb::raise_python_error();
  auto* const copy = reinterpret_cast<PyArrayObject*>(array.ptr());
  std::copy_n(data, PyArray_SIZE(copy), static_cast<double*>(PyArray_DATA(copy)));
  return array;
}

// Calls a Python function of time and state several times sooner than ctypes does. `data` is a tuple that the caller keeps:
// this function, the class of states, a function that makes wrenches of any other result or raises an error, one that is told
// errors, and the number of coordinates. States are in memory of their own, which the function may keep.
inline int call_python(double time, Index n_bodies, const double* position, const double* orientation, const double* velocity,
                       const double* coordinate, double* wrench, void* data) {
  const nb::gil_scoped_acquire gil;
  const auto part = [data](Py_ssize_t k) { return nb::handle(PyTuple_GET_ITEM(static_cast<PyObject*>(data), k)); };
  const nb::handle control = part(0), state_type = part(1), wrenches_of = part(2), keep_error = part(3);
  const npy_intp n = n_bodies, n_coordinates = nb::cast<npy_intp>(part(4));
  try {
    const nb::object state = state_type(copied_array(position, {n, 3}), copied_array(orientation, {n, 4}),
                                        copied_array(velocity, {n, 6}), copied_array(coordinate, {n_coordinates}), time);
    nb::object result = control(time, state), owner;
    PyArrayObject* array = array_of(result, NPY_DOUBLE, false, false, owner);
    if (array == nullptr || PyArray_NDIM(array) != 2 || PyArray_DIM(array, 0) != n || PyArray_DIM(array, 1) != 6) {
      result = wrenches_of(result);
      array = reinterpret_cast<PyArrayObject*>(result.ptr());
    }
    std::copy_n(static_cast<const double*>(PyArray_DATA(array)), 6 * n, wrench);
    return 0;
  } catch (nb::python_error& error) {
    if (error.traceback().is_valid()) PyException_SetTraceback(error.value().ptr(), error.traceback().ptr());
    keep_error(error.value());
    return 1;
  }
}

}  // namespace sparsebody::simulation

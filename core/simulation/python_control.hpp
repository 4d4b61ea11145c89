// A Python function as a ControlFunction.
#pragma once

#include <array>

#include "python/arrays.hpp"

namespace sparsebody::simulation {

// Items of the list, kept by the caller, that `call_python` uses.
enum ControlItem {
  control_function,  // of time and state
  wrenches_of,       // converts a result that is no array (n, 6) of doubles, or raises an error
  keep_error,        // stores the error of a call that fails
  state_type,        // State
  field_names,       // of State, a tuple
  n_tracked,         // coordinates
  state_buffer,      // one array that those of the newest state view, or None
};

// An instance of a frozen dataclass, in a third of the time that a call of `type` takes.
template <std::size_t N>
nb::object frozen_dataclass(nb::handle type, nb::handle names, const nb::object (&fields)[N]) {
  nb::object made = nb::steal(PyType_GenericNew(reinterpret_cast<PyTypeObject*>(type.ptr()), nullptr, nullptr));
  bool is_made = made.is_valid();
  for (std::size_t k = 0; k < N; ++k)
    is_made = is_made && PyObject_GenericSetAttr(made.ptr(), PyTuple_GET_ITEM(names.ptr(), k), fields[k].ptr()) == 0;
  if (!is_made) nb::raise_python_error();
  return made;
}

// The state buffer (n,); a new one where an array that views it is still in use.
inline nb::handle free_state_buffer(PyObject* list, npy_intp n) {
  PyObject* const newest = PyList_GET_ITEM(list, state_buffer);
  if (newest != Py_None && Py_REFCNT(newest) == 1) return newest;
  PyObject* const buffer = PyArray_SimpleNew(1, &n, NPY_DOUBLE);
  if (buffer == nullptr) nb::raise_python_error();
  PyList_SetItem(list, state_buffer, buffer);
  return buffer;
}

// Calls a Python function of time and state, several times faster than ctypes does; `data` is the list of ControlItem. States
// are in memory of their own, which the function may keep; the next state is in the same memory where it has not.
inline int call_python(double time, Index n_bodies, const double* position, const double* orientation, const double* velocity,
                       const double* coordinate, double* wrench, void* data) {
  const nb::gil_scoped_acquire gil;
  PyObject* const list = static_cast<PyObject*>(data);
  const auto item = [list](ControlItem of) { return nb::handle(PyList_GET_ITEM(list, of)); };
  try {
    const Index n = n_bodies, n_coordinates = nb::cast<Index>(item(n_tracked));
    const nb::handle buffer = free_state_buffer(list, 13 * n + n_coordinates);
    double* next = static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(buffer.ptr())));
    const auto copied = [&next, buffer]<int N>(const double* of, std::array<Index, N> shape) {
      const View<double, N> copy(next, shape);
      next = std::copy_n(of, copy.size(), next);
      return viewed_array(copy, buffer);
    };
    const nb::float_ now(time);
    nb::object result = item(control_function)(
        now, frozen_dataclass(
                 item(state_type), item(field_names),
                 {copied.operator()<2>(position, {n, 3}), copied.operator()<2>(orientation, {n, 4}),
                  copied.operator()<2>(velocity, {n, 6}), copied.operator()<1>(coordinate, {n_coordinates}), now}));
    nb::object owner;
    PyArrayObject* array = array_of(result, NPY_DOUBLE, false, false, owner);
    if (array == nullptr || PyArray_NDIM(array) != 2 || PyArray_DIM(array, 0) != n || PyArray_DIM(array, 1) != 6) {
      result = item(wrenches_of)(result);
      array = reinterpret_cast<PyArrayObject*>(result.ptr());
    }
    std::copy_n(static_cast<const double*>(PyArray_DATA(array)), 6 * n, wrench);
    return 0;
  } catch (nb::python_error& error) {
    if (error.traceback().is_valid()) PyException_SetTraceback(error.value().ptr(), error.traceback().ptr());
    item(keep_error)(error.value());
    return 1;
  }
}

}  // namespace sparsebody::simulation

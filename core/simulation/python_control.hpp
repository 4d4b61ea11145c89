// A Python function as a ControlFunction.
#pragma once

#include <array>

#include "python/arrays.hpp"

namespace sparsebody::simulation {

// Items of the list, kept by the caller, that `call_python` uses.
enum ControlItem {
  control_function,  // of time and state
  wrenches_of,       // makes wrenches of a result that is not one, or raises an error
  keep_error,        // is told the error of a call that fails
  state_type,        // State
  field_names,       // of State, a tuple
  n_tracked,         // coordinates
  newest_numbers,    // an array with all numbers of the newest state, or None
};

// A frozen dataclass of these fields, in half the time of a call of `type`.
template <std::size_t N>
nb::object frozen(nb::handle type, nb::handle names, const nb::object (&fields)[N]) {
  nb::object made = nb::steal(PyType_GenericNew(reinterpret_cast<PyTypeObject*>(type.ptr()), nullptr, nullptr));
  bool is_made = made.is_valid();
  for (std::size_t k = 0; k < N; ++k)
    is_made = is_made && PyObject_GenericSetAttr(made.ptr(), PyTuple_GET_ITEM(names.ptr(), k), fields[k].ptr()) == 0;
  if (!is_made) nb::raise_python_error();
  return made;
}

// An array of n numbers at an item of a list: the one that is there, unless somebody else holds it, or an array that views it.
inline nb::handle own_numbers(PyObject* list, ControlItem item, npy_intp n) {
  if (PyList_GET_ITEM(list, item) == Py_None || Py_REFCNT(PyList_GET_ITEM(list, item)) > 1) {
    PyObject* const array = PyArray_SimpleNew(1, &n, NPY_DOUBLE);
    if (array == nullptr) nb::raise_python_error();
    PyList_SetItem(list, item, array);
  }
  return PyList_GET_ITEM(list, item);
}

// Calls a Python function of time and state several times sooner than ctypes does; `data` is the list of ControlItem. States
// are in memory of their own, which the function may keep: if it has not, the next state is in the same memory.
inline int call_python(double time, Index n_bodies, const double* position, const double* orientation, const double* velocity,
                       const double* coordinate, double* wrench, void* data) {
  const nb::gil_scoped_acquire gil;
  PyObject* const list = static_cast<PyObject*>(data);
  const auto item = [list](ControlItem of) { return nb::handle(PyList_GET_ITEM(list, of)); };
  try {
    const Index n = n_bodies, n_coordinates = nb::cast<Index>(item(n_tracked));
    const nb::handle numbers = own_numbers(list, newest_numbers, 13 * n + n_coordinates);
    double* next = static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(numbers.ptr())));
    const auto copied = [&next, numbers]<int N>(const double* of, std::array<Index, N> shape) {
      const View<double, N> copy(next, shape);
      next = std::copy_n(of, copy.size(), next);
      return viewed_array(copy, numbers);
    };
    const nb::float_ now(time);
    nb::object result = item(control_function)(
        now, frozen(item(state_type), item(field_names),
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

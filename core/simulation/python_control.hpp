// A Python function as a ControlFunction.
#pragma once

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
  newest_position,   // arrays of the newest state, or None
  newest_orientation,
  newest_velocity,
  newest_coordinate,
};

// A copy of data at an item of a list: in the array that is there, if nobody else holds it and it is as it was made.
template <int N>
nb::handle copied(const double* data, const npy_intp (&shape)[N], PyObject* list, ControlItem item) {
  const auto is_free = [&shape](PyObject* object) {
    auto* const array = reinterpret_cast<PyArrayObject*>(object);
    return object != Py_None && Py_REFCNT(object) == 1 && PyArray_TYPE(array) == NPY_DOUBLE && PyArray_NDIM(array) == N &&
           std::equal(shape, shape + N, PyArray_DIMS(array));
  };
  if (!is_free(PyList_GET_ITEM(list, item))) {
    PyObject* const array = PyArray_SimpleNew(N, shape, NPY_DOUBLE);
    if (array == nullptr) nb::raise_python_error();
    PyList_SetItem(list, item, array);
  }
  const nb::handle array = PyList_GET_ITEM(list, item);
  auto* const copy = reinterpret_cast<PyArrayObject*>(array.ptr());
  std::copy_n(data, PyArray_SIZE(copy), static_cast<double*>(PyArray_DATA(copy)));
  return array;
}

// A frozen dataclass of these fields, in half the time of a call of `type`.
template <std::size_t N>
nb::object frozen(nb::handle type, nb::handle names, const nb::handle (&fields)[N]) {
  nb::object made = nb::steal(PyType_GenericNew(reinterpret_cast<PyTypeObject*>(type.ptr()), nullptr, nullptr));
  bool is_made = made.is_valid();
  for (std::size_t k = 0; k < N; ++k)
    is_made = is_made && PyObject_GenericSetAttr(made.ptr(), PyTuple_GET_ITEM(names.ptr(), k), fields[k].ptr()) == 0;
  if (!is_made) nb::raise_python_error();
  return made;
}

// Calls a Python function of time and state several times sooner than ctypes does; `data` is the list of ControlItem. States
// are in memory of their own, which the function may keep: of what it has not kept, the next call uses the memory again.
inline int call_python(double time, Index n_bodies, const double* position, const double* orientation, const double* velocity,
                       const double* coordinate, double* wrench, void* data) {
  const nb::gil_scoped_acquire gil;
  PyObject* const list = static_cast<PyObject*>(data);
  const auto item = [list](ControlItem of) { return nb::handle(PyList_GET_ITEM(list, of)); };
  try {
    const npy_intp n = n_bodies, n_coordinates = nb::cast<npy_intp>(item(n_tracked));
    const nb::float_ now(time);
    nb::object result, owner;
    {
      const nb::object state = frozen(
          item(state_type), item(field_names),
          {copied(position, {n, 3}, list, newest_position), copied(orientation, {n, 4}, list, newest_orientation),
           copied(velocity, {n, 6}, list, newest_velocity), copied(coordinate, {n_coordinates}, list, newest_coordinate), now});
      result = item(control_function)(now, state);
    }
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

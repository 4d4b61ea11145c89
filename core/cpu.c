// The instruction sets of this machine, for the choice among builds of the native kernels.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject *level(PyObject *self, PyObject *args) {
  (void)self;
  (void)args;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd"))
      return PyLong_FromLong(4);
    return PyLong_FromLong(3);
  }
  if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt")) return PyLong_FromLong(2);
  return PyLong_FromLong(1);
#else
  return PyLong_FromLong(0);
#endif
}

static PyMethodDef methods[] = {
    {"level", level, METH_NOARGS, "level() -> int: x86-64-v<level>; 0 on other processors."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_cpu", NULL, 0, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__cpu(void) { return PyModule_Create(&definition); }

/* An extension module that crashes in two places, each behind three comparisons of one byte. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define CONCAT(a, b) a##b
#define INIT(name) CONCAT(PyInit_, name)
#define TEXT(name) #name
#define QUOTED(name) TEXT(name)

static void write_nowhere(void) { *(volatile int *)16 = 1; }

static int depth(const char *d, Py_ssize_t n) {
  if (n > 0 && d[0] == 'F') {
    if (n > 1 && d[1] == 'U') {
      if (n > 2 && d[2] == 'Z') write_nowhere();
      return 2;
    }
    return 1;
  }
  if (n > 0 && d[0] == 'B') {
    if (n > 1 && d[1] == 'U') {
      if (n > 2 && d[2] == 'G') abort();
      return 4;
    }
    return 3;
  }
  return 0;
}

static PyObject *parse(PyObject *self, PyObject *data) {
  (void)self;
  char *text;
  Py_ssize_t n;
  long sum = 0;
  if (PyBytes_AsStringAndSize(data, &text, &n)) return NULL;
  for (Py_ssize_t i = 0; i < n; i++)
    if (text[i] == '+') sum++;
  return PyLong_FromLong(sum + depth(text, n));
}

static PyMethodDef methods[] = {{"parse", parse, METH_O, "parse(data)"}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, QUOTED(NAME), NULL, -1, methods,
                                    NULL, NULL, NULL, NULL};
PyMODINIT_FUNC INIT(NAME)(void) { return PyModule_Create(&module); }

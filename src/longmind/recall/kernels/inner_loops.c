/* The inner loops of recall: the work for every atom of a space, at every question.

   Each function does what the function of the same name in `numpy_kernels.py` does with numpy, where the calls alone
   take longer than the work in a space of a thousand atoms. The functions read and write arrays of the caller through
   the buffer protocol. Only `hold` keeps arrays, for as long as its capsule lives. Every length and every place is
   checked, so that a damaged index raises an error and never reads foreign memory. */

#include "best.h"
#include "ranking.h"
#include "totals.h"
#include "records.h"
#include "vectors.h"
#include "windows.h"
#include "words.h"

/* Raise the number whenever a function changes its name, arguments or answer, here and in `kernels/__init__.py`. Python
   ignores a compiled module with another number. */
#define VERSION 8

static PyMethodDef methods[] = {
    {"word_scores", (PyCFunction)(void (*)(void))word_scores, METH_FASTCALL, NULL},
    {"window_scores", (PyCFunction)(void (*)(void))window_scores, METH_FASTCALL, NULL},
    {"likeness", (PyCFunction)(void (*)(void))likeness, METH_FASTCALL, NULL},
    {"fine_likeness", (PyCFunction)(void (*)(void))fine_likeness, METH_FASTCALL, NULL},
    {"total", (PyCFunction)(void (*)(void))total, METH_FASTCALL, NULL},
    {"hold", (PyCFunction)(void (*)(void))hold, METH_FASTCALL, NULL},
    {"rank", (PyCFunction)(void (*)(void))rank, METH_FASTCALL, NULL},
    {"values", (PyCFunction)(void (*)(void))values, METH_FASTCALL, NULL},
    {"copy_values", (PyCFunction)(void (*)(void))copy_values, METH_FASTCALL, NULL},
    {"best", (PyCFunction)(void (*)(void))best, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static int fill(PyObject *module) {
    /* Whether `likeness` is as fast here as a library for it, which knows every processor. */
    if (PyModule_AddIntConstant(module, "KNOWS_PROCESSOR", fastest() != compare) < 0) return -1;
    return PyModule_AddIntConstant(module, "VERSION", VERSION);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)fill}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "longmind.recall.kernels.inner_loops",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit_inner_loops(void) { return PyModuleDef_Init(&definition); }

/* The inner loops of recall: what is done for every atom of a space, at every question.

   Each function does what the one of the same name in `plain_loops.py` does with numpy, where the calls alone take
   longer than the work in a space of a thousand atoms. They read and write arrays of the caller, through the buffer
   protocol, and keep none but those that `hold` was given, as long as its answer lives. Every length and every place is
   checked, so that a damaged index ends in an error and not in somebody else's memory. */

#include "best.h"
#include "ranking.h"
#include "totals.h"
#include "records.h"
#include "vectors.h"
#include "words.h"

/* Another number whenever a function takes other arguments or answers something else; `kernel.py` has the same. Python
   code that expects another one leaves what was compiled alone. */
#define VERSION 6

static PyMethodDef methods[] = {
    {"word_scores", (PyCFunction)(void (*)(void))word_scores, METH_FASTCALL, NULL},
    {"likeness", (PyCFunction)(void (*)(void))likeness, METH_FASTCALL, NULL},
    {"fine_likeness", (PyCFunction)(void (*)(void))fine_likeness, METH_FASTCALL, NULL},
    {"total", (PyCFunction)(void (*)(void))total, METH_FASTCALL, NULL},
    {"hold", (PyCFunction)(void (*)(void))hold, METH_FASTCALL, NULL},
    {"rank", (PyCFunction)(void (*)(void))rank, METH_FASTCALL, NULL},
    {"values", (PyCFunction)(void (*)(void))values, METH_FASTCALL, NULL},
    {"kept_values", (PyCFunction)(void (*)(void))kept_values, METH_FASTCALL, NULL},
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

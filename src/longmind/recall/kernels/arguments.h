/* Arguments of the Python caller: arrays, and numbers in tuples. */

#ifndef LONGMIND_GIVEN_H
#define LONGMIND_GIVEN_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>

/* The number of atoms from which the GIL is released; for fewer, releasing it costs more than the work. */
#define MANY 4096

typedef struct {
    Py_buffer *views;
    Py_ssize_t count, room;
} Views;

/* Room for the buffers of the arrays of one call. */
#define VIEWS(held, most)           \
    Py_buffer held##_room[most];    \
    Views held = {held##_room, 0, most}

static void let_go(Views *held) {
    while (held->count > 0) PyBuffer_Release(&held->views[--held->count]);
}

/* Return the memory of an array of `*items` items. A negative `*items` accepts any number and receives it. */
static void *memory_of(Views *held, PyObject *array, size_t size, Py_ssize_t *items, int flags) {
    if (array == NULL || held->count == held->room) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "more arrays were given than there is room for");
        return NULL;
    }
    Py_buffer *view = &held->views[held->count];
    if (PyObject_GetBuffer(array, view, flags) < 0) return NULL;
    held->count++;
    Py_ssize_t found = view->len / (Py_ssize_t)size;
    if (view->len % (Py_ssize_t)size != 0 || (*items >= 0 && found != *items)) {
        PyErr_Format(PyExc_ValueError, "an array has %zd bytes and should have %zd items of %zu", view->len, *items, size);
        return NULL;
    }
    *items = found;
    return view->buf;
}

#define READ(held, array, type, items) memory_of(held, array, sizeof(type), items, PyBUF_SIMPLE)
#define WRITE(held, array, type, items) memory_of(held, array, sizeof(type), items, PyBUF_WRITABLE)

/* Read an array that may be None: it is then 1 with `to` unset. */
#define READ_ANY(to, held, array, type, items) \
    ((array) == Py_None || ((to) = READ(held, array, type, items)) != NULL)

/* Return a number of a tuple. The caller checks PyErr_Occurred. */
static double number_in(PyObject *tuple, Py_ssize_t at) {
    PyObject *number = PyTuple_GetItem(tuple, at);
    return number == NULL ? -1.0 : PyFloat_AsDouble(number);
}

static int takes(Py_ssize_t given, Py_ssize_t wanted) {
    if (given == wanted) return 1;
    PyErr_Format(PyExc_TypeError, "%zd arguments were given and %zd are needed", given, wanted);
    return 0;
}

static int damaged(const char *what) {
    PyErr_SetString(PyExc_ValueError, what);
    return 0;
}

#endif

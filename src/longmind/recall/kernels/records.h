/* Values: instances of the models of a recall, made without validation. */

#ifndef LONGMIND_VALUES_H
#define LONGMIND_VALUES_H

#include "arguments.h"

/* A class of values: its type, and the attributes of an instance that are no fields, as pairs of a slot descriptor and
   its content. */
typedef struct {
    PyTypeObject *type;
    allocfunc allocate;
    PyObject *beside;
    Py_ssize_t beside_count;
} Kind;

static int read_kind(Kind *kind, PyObject *type, PyObject *beside) {
    if (!PyType_Check(type) || !PyTuple_Check(beside)) {
        PyErr_SetString(PyExc_TypeError, "a type and a tuple are needed");
        return 0;
    }
    kind->type = (PyTypeObject *)type;
    kind->allocate = (allocfunc)PyType_GetSlot(kind->type, Py_tp_alloc);
    kind->beside = beside;
    kind->beside_count = PyTuple_Size(beside);
    return kind->allocate != NULL;
}

/* Make an instance from its fields without running its Python code. It takes over the dictionary of fields. */
static PyObject *filled(const Kind *kind, PyObject *fields) {
    PyObject *value = fields == NULL ? NULL : kind->allocate(kind->type, 0);
    int fine = value != NULL && PyObject_GenericSetDict(value, fields, NULL) == 0;
    for (Py_ssize_t at = 0; fine && at < kind->beside_count; at++) {
        PyObject *pair = PyTuple_GetItem(kind->beside, at);
        PyObject *descriptor = PyTuple_GetItem(pair, 0), *content = descriptor ? PyTuple_GetItem(pair, 1) : NULL;
        descrsetfunc put = content ? (descrsetfunc)PyType_GetSlot(Py_TYPE(descriptor), Py_tp_descr_set) : NULL;
        if (content != NULL && put == NULL) PyErr_SetString(PyExc_TypeError, "what is beside fields has no place");
        fine = put != NULL && put(descriptor, value, content) == 0;
    }
    Py_XDECREF(fields);
    if (!fine) Py_CLEAR(value);
    return value;
}

/* values(type, beside, names, columns) */
static PyObject *values(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count) {
    if (!takes(count, 4)) return NULL;
    Kind kind;
    PyObject *names = given[2], *columns = given[3];
    if (!read_kind(&kind, given[0], given[1])) return NULL;
    Py_ssize_t width = PyTuple_Size(names);
    if (width < 0 || PyTuple_Size(columns) < 0) return NULL;
    if (width == 0 || PyTuple_Size(columns) != width) {
        PyErr_SetString(PyExc_ValueError, "there are not as many names as columns");
        return NULL;
    }
    Py_ssize_t size = PyList_Size(PyTuple_GetItem(columns, 0));
    PyObject *made = size < 0 ? NULL : PyList_New(size);
    for (Py_ssize_t at = 0; made != NULL && at < size; at++) {
        PyObject *fields = PyDict_New();
        for (Py_ssize_t column = 0; fields != NULL && column < width; column++) {
            PyObject *content = PyList_GetItem(PyTuple_GetItem(columns, column), at);
            if (content == NULL || PyDict_SetItem(fields, PyTuple_GetItem(names, column), content) < 0) Py_CLEAR(fields);
        }
        PyObject *value = filled(&kind, fields);
        if (value == NULL || PyList_SetItem(made, at, value) < 0) Py_CLEAR(made);
    }
    return made;
}

/* Return the fields of a cached value: the shared ones, its own ones, and its lists. */
static PyObject *fields_of(PyObject *kept, PyObject *own, Py_ssize_t own_count, PyObject *lists,
                           Py_ssize_t lists_count) {
    if (PyTuple_Size(kept) < own_count + 2) {
        if (!PyErr_Occurred()) damaged("a cached value lacks parts");
        return NULL;
    }
    PyObject *fields = PyDict_Copy(PyTuple_GetItem(kept, 0));
    for (Py_ssize_t at = 0; fields != NULL && at < own_count; at++)
        if (PyDict_SetItem(fields, PyTuple_GetItem(own, at), PyTuple_GetItem(kept, at + 1)) < 0) Py_CLEAR(fields);
    PyObject *members = PyTuple_GetItem(kept, own_count + 1);
    for (Py_ssize_t at = 0; fields != NULL && at < lists_count; at++) {
        PyObject *of_list = members == Py_None ? NULL : PyTuple_GetItem(members, at);
        PyObject *list = of_list != NULL ? PySequence_List(of_list) : PyErr_Occurred() ? NULL : PyList_New(0);
        if (list == NULL || PyDict_SetItem(fields, PyTuple_GetItem(lists, at), list) < 0) Py_CLEAR(fields);
        Py_XDECREF(list);
    }
    return fields;
}

/* copy_values(type, beside, own, lists, kept, places) */
static PyObject *copy_values(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count) {
    if (!takes(count, 6)) return NULL;
    Kind kind;
    PyObject *own = given[2], *lists = given[3], *kept = given[4], *places = given[5];
    if (!read_kind(&kind, given[0], given[1])) return NULL;
    Py_ssize_t own_count = PyTuple_Size(own), lists_count = own_count < 0 ? -1 : PyTuple_Size(lists);
    Py_ssize_t size = lists_count < 0 ? -1 : PyList_Size(places);
    if (size < 0) return NULL;
    if (!PyDict_Check(kept)) {
        PyErr_SetString(PyExc_TypeError, "a dict of what is kept is needed");
        return NULL;
    }
    PyObject *made = PyList_New(size);
    for (Py_ssize_t at = 0; made != NULL && at < size; at++) {
        PyObject *found = PyDict_GetItemWithError(kept, PyList_GetItem(places, at)), *value = NULL;
        if (found != NULL) {
            value = filled(&kind, fields_of(found, own, own_count, lists, lists_count));
        } else if (!PyErr_Occurred()) {
            value = Py_NewRef(Py_None);
        }
        if (value == NULL || PyList_SetItem(made, at, value) < 0) Py_CLEAR(made);
    }
    return made;
}

#endif

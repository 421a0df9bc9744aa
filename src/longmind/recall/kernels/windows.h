/* Words of windows: the BM25 score of every piece of a conversation by its own words and those of its neighbours. */

#ifndef LONGMIND_WINDOWS_H
#define LONGMIND_WINDOWS_H

#include "words.h"

#define NEIGHBOURS 2

/* The links between pieces, and the share that the words of neighbours count for each piece. */
typedef struct {
    const int32_t *previous, *next;
    const float *need;
    const double *amounts;
    double saturation, weights[NEIGHBOURS];
    /* The amount of the present term in each window, and the windows that hold any of it. */
    double *window;
    Py_ssize_t *touched, touched_count;
} Windows;

static void put_into(Windows *of, Py_ssize_t place, double amount) {
    /* Only an amount that leaves a window other than 0 marks it as touched, so none is listed twice. */
    if (!(amount > 0.0)) return;
    if (of->window[place] == 0.0) of->touched[of->touched_count++] = place;
    of->window[place] += amount;
}

/* Put the words of a piece into the windows of its neighbours on one side. */
static void spread_to(Windows *of, const int32_t *links, Py_ssize_t atoms, Py_ssize_t from, double amount) {
    Py_ssize_t at = from;
    for (int step = 0; step < NEIGHBOURS; step++) {
        int32_t other = links[at];
        if (other < 0 || other >= atoms) return;
        at = other;
        put_into(of, at, of->weights[step] * amount * (double)of->need[at]);
    }
}

static void spread_piece(Windows *of, const Piece *piece, const Scoring *scoring) {
    for (Py_ssize_t at = 0; at < piece->size; at++) {
        Py_ssize_t place = piece->places[at];
        if (scoring->among != NULL && !scoring->among[place]) continue;
        double amount = of->amounts[piece->codes[at]], shared = amount * (double)of->need[place];
        put_into(of, place, amount);
        spread_to(of, of->previous, scoring->atoms, place, shared);
        spread_to(of, of->next, scoring->atoms, place, shared);
    }
}

static void add_up_windows(const Asked *asked, double atoms, Windows *of, const Scoring *scoring) {
    double most = measure_rarity(asked, atoms);
    for (Py_ssize_t number = 0; number < asked->terms_count; number++) {
        const Term *term = &asked->terms[number];
        if (!term->met) continue;
        of->touched_count = 0;
        for (Py_ssize_t at = 0; at < asked->pieces_count; at++)
            if (asked->pieces[at].term == term) spread_piece(of, &asked->pieces[at], scoring);
        double rarity = term->rarity / most;
        for (Py_ssize_t at = 0; at < of->touched_count; at++) {
            Py_ssize_t place = of->touched[at];
            double amount = of->window[place];
            scoring->scores[place] += rarity * (amount / (of->saturation + amount));
            of->window[place] = 0.0;
        }
    }
}

static int read_windows(Windows *of, Views *held, PyObject *const *given, Py_ssize_t *atoms) {
    Py_ssize_t codes = 256;
    of->amounts = READ(held, given[0], double, &codes);
    of->previous = of->amounts ? READ(held, given[1], int32_t, atoms) : NULL;
    of->next = of->previous ? READ(held, given[2], int32_t, atoms) : NULL;
    of->need = of->next ? READ(held, given[3], float, atoms) : NULL;
    if (of->need == NULL) return 0;
    of->saturation = PyFloat_AsDouble(given[4]);
    if (PyErr_Occurred()) return 0;
    for (int step = 0; step < NEIGHBOURS; step++) {
        of->weights[step] = number_in(given[5], step);
        if (PyErr_Occurred()) return 0;
    }
    of->window = calloc((size_t)*atoms + 1, sizeof(double));
    of->touched = malloc(((size_t)*atoms + 1) * sizeof(Py_ssize_t));
    if (of->window != NULL && of->touched != NULL) return 1;
    PyErr_NoMemory();
    return 0;
}

/* window_scores(runs, terms, amounts, previous, next, need, saturation, weights, among, atoms, scores) */
static PyObject *window_scores(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count) {
    if (!takes(count, 11)) return NULL;
    Py_ssize_t runs_count = PyTuple_Size(given[0]);
    if (runs_count < 0) return NULL;
    PyObject *answer = NULL;
    VIEWS(held, 6);
    Scoring scoring = {.atoms = -1};
    Asked asked = {.pieces_count = 0};
    Windows windows = {.touched_count = 0};
    if (!read_terms(&asked, given[1], runs_count)) goto done;
    scoring.scores = WRITE(&held, given[10], double, &scoring.atoms);
    if (scoring.scores == NULL || !read_windows(&windows, &held, given + 2, &scoring.atoms)) goto done;
    if (!READ_ANY(scoring.among, &held, given[8], uint8_t, &scoring.atoms)) goto done;
    double atoms = (double)PyLong_AsLongLong(given[9]);
    if (PyErr_Occurred()) goto done;
    if (!find_in_all(given[0], runs_count, &asked, &scoring)) goto done;
    if (scoring.atoms < MANY) {
        add_up_windows(&asked, atoms, &windows, &scoring);
    } else {
        Py_BEGIN_ALLOW_THREADS
        add_up_windows(&asked, atoms, &windows, &scoring);
        Py_END_ALLOW_THREADS
    }
    answer = Py_NewRef(Py_None);
done:
    free(windows.window);
    free(windows.touched);
    let_go(&held);
    forget_terms(&asked);
    return answer;
}

#endif

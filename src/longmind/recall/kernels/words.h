/* Words: the BM25 score of every atom. */

#ifndef LONGMIND_WORDS_H
#define LONGMIND_WORDS_H

#include "arguments.h"

#include <math.h>

typedef struct {
    uint32_t wanted;
    int met;
    double held, rarity;
} Term;

/* The postings of a term in one run. */
typedef struct {
    const Term *term;
    const uint32_t *places;
    const uint8_t *codes;
    Py_ssize_t size;
} Piece;

/* The terms of a query, and their postings. */
typedef struct {
    Term *terms;
    Piece *pieces;
    Py_ssize_t terms_count, pieces_count;
} Asked;

typedef struct {
    double *scores;
    Py_ssize_t atoms;
    const uint8_t *among;
} Scoring;

static Py_ssize_t lower_bound(const uint32_t *values, Py_ssize_t count, uint32_t wanted) {
    Py_ssize_t first = 0;
    while (count > 0) {
        Py_ssize_t half = count / 2;
        if (values[first + half] < wanted) {
            first += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return first;
}

/* Count the atoms that hold a term; return 0 if a posting names an atom that does not exist. */
static int count_holders(Term *term, const Piece *piece, uint32_t own, const Scoring *scoring) {
    for (Py_ssize_t at = 0; at < piece->size; at++)
        if (piece->places[at] >= (size_t)scoring->atoms) return damaged("a word is held by an atom that is not there");
    if (scoring->among == NULL) {
        term->met = 1;
        term->held += own;
        return 1;
    }
    for (Py_ssize_t at = 0; at < piece->size; at++) {
        if (scoring->among[piece->places[at]]) {
            term->met = 1;
            /* The highest bit of a code marks a word of the atom's own text. */
            term->held += piece->codes[at] >> 7;
        }
    }
    return 1;
}

/* A run of postings: its terms, the start of each, the places, their codes, and by term the number of places that hold
   it in their own text. */
typedef struct {
    const uint32_t *terms, *starts, *places, *own;
    const uint8_t *codes;
    Py_ssize_t known, size;
} Run;

#define ARRAYS_OF_RUN 5

static int read_run(Run *run, Views *held, PyObject *arrays) {
    Py_ssize_t ends = -1;
    if (PyTuple_Size(arrays) != ARRAYS_OF_RUN)
        return PyErr_Occurred() ? 0 : damaged("a run of postings has other parts than it should");
    run->known = run->size = -1;
    run->terms = READ(held, PyTuple_GetItem(arrays, 0), uint32_t, &run->known);
    run->starts = run->terms ? READ(held, PyTuple_GetItem(arrays, 1), uint32_t, &ends) : NULL;
    run->places = run->starts ? READ(held, PyTuple_GetItem(arrays, 2), uint32_t, &run->size) : NULL;
    run->codes = run->places ? READ(held, PyTuple_GetItem(arrays, 3), uint8_t, &run->size) : NULL;
    run->own = run->codes ? READ(held, PyTuple_GetItem(arrays, 4), uint32_t, &run->known) : NULL;
    if (run->own == NULL) return 0;
    return ends == run->known + 1 || damaged("a run of postings does not tell where its terms end");
}

/* Look up the terms of a query in one run. */
static int find_in(const Run *run, Asked *asked, const Scoring *scoring) {
    for (Py_ssize_t number = 0; number < asked->terms_count; number++) {
        Term *term = &asked->terms[number];
        Py_ssize_t at = lower_bound(run->terms, run->known, term->wanted);
        if (at == run->known || run->terms[at] != term->wanted) continue;
        uint32_t start = run->starts[at], end = run->starts[at + 1];
        if (start > end || end > (size_t)run->size) return damaged("a term stands outside of its run of postings");
        Piece piece = {term, run->places + start, run->codes + start, (Py_ssize_t)(end - start)};
        if (!count_holders(term, &piece, run->own[at], scoring)) return 0;
        asked->pieces[asked->pieces_count++] = piece;
    }
    return 1;
}

/* Look up the terms of a query in all runs. */
static int find_in_all(PyObject *runs, Py_ssize_t runs_count, Asked *asked, const Scoring *scoring) {
    for (Py_ssize_t at = 0; at < runs_count; at++) {
        /* Its arrays are the caller's, who keeps them beyond the views that are let go of here. */
        VIEWS(of_run, ARRAYS_OF_RUN);
        Run run;
        int fine = read_run(&run, &of_run, PyTuple_GetItem(runs, at)) && find_in(&run, asked, scoring);
        let_go(&of_run);
        if (!fine) return 0;
    }
    return 1;
}

/* Set the rarity of each term, and return the length of the vector of all of them. A term that nothing holds is the
   rarest: what is found without it answers less of the question. */
static double measure_rarity(const Asked *asked, double atoms) {
    double most = 0.0;
    for (Py_ssize_t number = 0; number < asked->terms_count; number++) {
        Term *term = &asked->terms[number];
        if (!term->met) term->held = 0.0;
        term->rarity = log1p((atoms - term->held + 0.5) / (term->held + 0.5));
        most += term->rarity * term->rarity;
    }
    return sqrt(most);
}

static void add_up(const Asked *asked, double atoms, const double *worth, const Scoring *scoring) {
    double most = measure_rarity(asked, atoms);
    for (const Piece *piece = asked->pieces; piece < asked->pieces + asked->pieces_count; piece++) {
        double rarity = piece->term->rarity / most;
        for (Py_ssize_t at = 0; at < piece->size; at++) {
            uint32_t place = piece->places[at];
            if (scoring->among == NULL || scoring->among[place])
                scoring->scores[place] += worth[piece->codes[at]] * rarity;
        }
    }
}

static int read_terms(Asked *asked, PyObject *terms, Py_ssize_t runs_count) {
    asked->terms_count = PyTuple_Size(terms);
    if (asked->terms_count < 0) return 0;
    asked->terms = calloc((size_t)asked->terms_count + 1, sizeof(Term));
    asked->pieces = calloc((size_t)asked->terms_count * (size_t)runs_count + 1, sizeof(Piece));
    if (asked->terms == NULL || asked->pieces == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    for (Py_ssize_t number = 0; number < asked->terms_count; number++)
        asked->terms[number].wanted = (uint32_t)PyLong_AsUnsignedLong(PyTuple_GetItem(terms, number));
    return !PyErr_Occurred();
}

static void forget_terms(Asked *asked) {
    free(asked->terms);
    free(asked->pieces);
}

/* word_scores(runs, terms, worth, among, atoms, scores) */
static PyObject *word_scores(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count) {
    if (!takes(count, 6)) return NULL;
    Py_ssize_t runs_count = PyTuple_Size(given[0]), worths = 256;
    if (runs_count < 0) return NULL;
    PyObject *answer = NULL;
    VIEWS(held, 3);
    Scoring scoring = {.atoms = -1};
    Asked asked = {.pieces_count = 0};
    if (!read_terms(&asked, given[1], runs_count)) goto done;
    const double *worth = READ(&held, given[2], double, &worths);
    scoring.scores = worth ? WRITE(&held, given[5], double, &scoring.atoms) : NULL;
    if (scoring.scores == NULL) goto done;
    if (!READ_ANY(scoring.among, &held, given[3], uint8_t, &scoring.atoms)) goto done;
    double atoms = (double)PyLong_AsLongLong(given[4]);
    if (PyErr_Occurred()) goto done;
    if (!find_in_all(given[0], runs_count, &asked, &scoring)) goto done;
    if (scoring.atoms < MANY) {
        add_up(&asked, atoms, worth, &scoring);
    } else {
        Py_BEGIN_ALLOW_THREADS
        add_up(&asked, atoms, worth, &scoring);
        Py_END_ALLOW_THREADS
    }
    answer = Py_NewRef(Py_None);
done:
    let_go(&held);
    forget_terms(&asked);
    return answer;
}

#endif

/* One question to a space in one call: words, likeness, totals and the best. */

#ifndef LONGMIND_RANKING_H
#define LONGMIND_RANKING_H

#include "best.h"
#include "totals.h"
#include "vectors.h"
#include "words.h"

#define HELD "longmind.recall.held"
#define ARRAYS_BESIDE_RUNS 12

/* The arrays of a space, which stay the same from question to question: passing them takes longer than searching a
   small space. The caller drops the capsule before it replaces any of the arrays. */
typedef struct {
    Views views;
    Run *runs;
    Py_ssize_t runs_count, width;
    const double *worth, *rest;
    const int8_t *rows, *finer;
    const float *scales;
    float highest_scale;
    PyObject *usual_atoms;
    Best best;
} SpaceArrays;

static void drop_held(SpaceArrays *held) {
    if (held == NULL) return;
    if (held->views.views != NULL) let_go(&held->views);
    free(held->views.views);
    free(held->runs);
    Py_XDECREF(held->usual_atoms);
    free(held);
}

static void let_go_of_held(PyObject *capsule) { drop_held(PyCapsule_GetPointer(capsule, HELD)); }

static int read_held(SpaceArrays *held, PyObject *const *given) {
    Views *views = &held->views;
    Py_ssize_t worths = 256, *atoms = &held->best.atoms;
    for (Py_ssize_t at = 0; at < held->runs_count; at++)
        if (!read_run(&held->runs[at], views, PyTuple_GetItem(given[0], at))) return 0;
    held->worth = READ(views, given[1], double, &worths);
    held->scales = held->worth ? READ(views, given[4], float, atoms) : NULL;
    held->rest = held->scales ? READ(views, given[5], double, atoms) : NULL;
    if (held->rest == NULL) return 0;
    for (Py_ssize_t atom = 0; atom < *atoms; atom++)
        if (held->scales[atom] > held->highest_scale) held->highest_scale = held->scales[atom];
    if (given[2] != Py_None) {
        Py_ssize_t all = -1;
        held->rows = READ(views, given[2], int8_t, &all);
        held->finer = held->rows ? READ(views, given[3], int8_t, &all) : NULL;
        if (held->finer == NULL) return 0;
        held->width = *atoms > 0 ? all / *atoms : 0;
        if (all != held->width * *atoms) return damaged("not every atom has room for a vector");
    }
    held->usual_atoms = Py_NewRef(given[6]);
    return read_columns(&held->best, views, given[7]) && read_weights(&held->best, views, given[8]);
}

/* hold(runs, worth, rows, finer, scales, rest, usual_atoms, columns, weights) */
static PyObject *hold(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count) {
    if (!takes(count, 9)) return NULL;
    Py_ssize_t runs_count = PyTuple_Size(given[0]);
    if (runs_count < 0) return NULL;
    SpaceArrays *held = calloc(1, sizeof(SpaceArrays));
    if (held == NULL) return PyErr_NoMemory();
    held->best.atoms = -1;
    held->runs_count = runs_count;
    held->runs = calloc((size_t)runs_count + 1, sizeof(Run));
    held->views.room = ARRAYS_OF_RUN * runs_count + ARRAYS_BESIDE_RUNS;
    held->views.views = calloc((size_t)held->views.room, sizeof(Py_buffer));
    PyObject *capsule = NULL;
    if (held->runs == NULL || held->views.views == NULL) {
        PyErr_NoMemory();
    } else if (read_held(held, given)) {
        capsule = PyCapsule_New(held, HELD, let_go_of_held);
    }
    if (capsule == NULL) drop_held(held);
    return capsule;
}

/* One question to a space. */
typedef struct {
    const SpaceArrays *held;
    Asked asked;
    Scoring scoring;
    double atoms;
    Likeness likeness;
    Total total;
    Best best;
    double *sums, *finely;
    Py_ssize_t matching;
} Ranking;

/* Compare exactly: all atoms if the approximate likeness is too rough, and otherwise only candidates, in `best`. */
static void settle_likeness(Ranking *of) {
    of->total.unsure = doubt(&of->likeness);
    if (is_too_rough(of->total.unsure, of->total.by)) {
        compare_all_finely(&of->likeness, of->finely);
        of->total.dense = of->finely;
        sum_up(&of->total);
        return;
    }
    of->best.by = of->total.by;
    of->best.slack = of->total.by * of->total.unsure;
    of->best.roughly = of->total.roughly;
    of->best.likeness = &of->likeness;
    of->best.compare_one = fastest_of_one();
}

static int find_best(Ranking *of) {
    add_up(&of->asked, of->atoms, of->held->worth, &of->scoring);
    if (of->likeness.query != NULL) (of->likeness.found == NULL ? read_query : fastest())(&of->likeness);
    sum_up(&of->total);
    if (of->likeness.query != NULL) settle_likeness(of);
    for (Py_ssize_t place = 0; place < of->best.atoms; place++) of->matching += of->best.matching[place] != 0;
    return choose(&of->best);
}

/* Allocate the intermediate results. */
static int make_room(Ranking *of, const float *roughly) {
    size_t atoms = (size_t)of->best.atoms;
    of->scoring.scores = calloc(atoms + 1, sizeof(double));
    of->sums = malloc((atoms + 1) * (2 * sizeof(double) + sizeof(float)));
    if (of->scoring.scores == NULL || of->sums == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    of->finely = of->sums + atoms;
    if (roughly == NULL) of->likeness.found = (float *)(of->finely + atoms);
    of->total.sums = of->sums;
    of->total.lexical = of->scoring.scores;
    of->total.roughly = roughly == NULL && of->likeness.query != NULL ? of->likeness.found : roughly;
    of->best.standing = of->sums;
    return of->likeness.query == NULL || make_room_for_integers(&of->likeness);
}

/* rank(held, terms, vector, roughly, among, atoms, counted, usual, rest, matching, bonus, most, known_at, now, limit,
        scale) */
static PyObject *rank(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count) {
    if (!takes(count, 16)) return NULL;
    const SpaceArrays *held = PyCapsule_GetPointer(given[0], HELD);
    if (held == NULL) return NULL;
    VIEWS(views, 7);
    PyObject *answer = NULL;
    const float *roughly = NULL;
    int fine;
    Ranking of = {.held = held, .best = held->best};
    Py_ssize_t atoms = of.scoring.atoms = of.total.atoms = of.likeness.atoms = held->best.atoms;
    of.total.rest = held->rest;
    of.likeness.rows = held->rows;
    of.likeness.finer = held->finer;
    of.likeness.scales = held->scales;
    of.likeness.highest_scale = held->highest_scale;
    of.likeness.width = held->width;
    double *scale[] = {&of.total.words_weight, &of.best.middle, &of.best.spread};
    for (int at = 0; at < 3; at++) {
        *scale[at] = number_in(given[15], at);
        if (PyErr_Occurred()) goto done;
    }
    if (!read_terms(&of.asked, given[1], held->runs_count)) goto done;
    if (held->rows != NULL && atoms > 0) {
        if (!READ_ANY(of.likeness.query, &views, given[2], float, &of.likeness.width)) goto done;
        if (vectors_of(atoms, of.likeness.width) < 0) goto done;
    }
    if (!READ_ANY(roughly, &views, given[3], float, &atoms)) goto done;
    if (!READ_ANY(of.scoring.among, &views, given[4], uint8_t, &atoms)) goto done;
    of.atoms = (double)PyLong_AsLongLong(given[5]);
    if (PyErr_Occurred()) goto done;
    if (!READ_ANY(of.total.counted, &views, given[6], uint8_t, &atoms)) goto done;
    if (!read_usual(&of.total, given[7], held->usual_atoms)) goto done;
    if (!READ_ANY(of.total.rest, &views, given[8], double, &atoms)) goto done;
    of.best.matching = READ(&views, given[9], uint8_t, &atoms);
    if (of.best.matching == NULL) goto done;
    if (!READ_ANY(of.best.bonus, &views, given[10], double, &atoms)) goto done;
    if (!read_wish(&of.best, given + 11) || !make_room(&of, roughly)) goto done;
    for (Py_ssize_t at = 0; at < held->runs_count; at++)
        if (!find_in(&held->runs[at], &of.asked, &of.scoring)) goto done;
    if (atoms < MANY) {
        fine = find_best(&of);
    } else {
        Py_BEGIN_ALLOW_THREADS
        fine = find_best(&of);
        Py_END_ALLOW_THREADS
    }
    if (!fine) {
        damaged("an atom has a kind or an importance that there is not");
        goto done;
    }
    PyObject *found = told(&of.best), *matching = found ? PyLong_FromSsize_t(of.matching) : NULL;
    answer = matching ? PyTuple_Pack(2, found, matching) : NULL;
    Py_XDECREF(found);
    Py_XDECREF(matching);
done:
    free(of.scoring.scores);
    free(of.sums);
    free(of.likeness.steps);
    forget_wish(&of.best);
    forget_terms(&of.asked);
    let_go(&views);
    return answer;
}

#endif

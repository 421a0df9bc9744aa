/* The total of every atom: words, likeness and the rest. */

#ifndef LONGMIND_SUMS_H
#define LONGMIND_SUMS_H

#include "arguments.h"

#include <math.h>

#define LANES 8
/* The largest error of approximate likeness, in deviations; see `is_too_rough` in `numpy_totals.py`. */
#define TELLING 4.0
/* The largest share that a space has in what is usual; see `measure_usual` in `numpy_totals.py`. */
#define LARGEST_SHARE 0.5
#define LEAST_VARIANCE 1e-8

typedef struct {
    const double *lexical, *rest;
    const float *roughly;
    const double *dense;
    const uint8_t *counted;
    Py_ssize_t atoms;
    double unsure, mean, variance, usual_atoms, largest_share, words_weight;
    double *sums;
    /* The weight of one unit of likeness. */
    double by;
} Total;

typedef struct {
    double mean, by;
} Usual;

/* Mix in the usual mean and variance, the more the fewer atoms count. */
static Usual usual_of(const Total *total, double *sum, double *squares, double number) {
    double mean = total->mean, variance = total->variance;
    if (number > 0) {
        for (int lane = 1; lane < LANES; lane++) {
            sum[0] += sum[lane];
            squares[0] += squares[lane];
        }
        double own = sum[0] / number, share = number / (number / total->largest_share + total->usual_atoms);
        variance = share * fmax(squares[0] / number - own * own, 0.0) + (1 - share) * variance;
        mean = share * own + (1 - share) * mean;
    }
    return (Usual){mean, 1 / sqrt(fmax(variance, LEAST_VARIANCE))};
}

/* Measure the mean of the counted likeness, and the weight of one unit of it. */
static inline __attribute__((always_inline)) Usual learn(const Total *total, const float *roughly, const double *finely) {
    /* Several sums side by side, which the processor adds at the same time. */
    double sum[LANES] = {0}, squares[LANES] = {0}, number = 0;
    Py_ssize_t at = 0;
    if (total->counted == NULL) {
        number = (double)total->atoms;
        for (; at + LANES <= total->atoms; at += LANES)
            for (int lane = 0; lane < LANES; lane++) {
                double value = finely ? finely[at + lane] : (double)roughly[at + lane];
                sum[lane] += value;
                squares[lane] += value * value;
            }
    }
    for (; at < total->atoms; at++) {
        if (total->counted != NULL && !total->counted[at]) continue;
        double value = finely ? finely[at] : (double)roughly[at];
        sum[at % LANES] += value;
        squares[at % LANES] += value * value;
        number += total->counted != NULL;
    }
    return usual_of(total, sum, squares, number);
}

static int is_too_rough(double unsure, double by) { return unsure * by > TELLING; }

static void sum_up(Total *total) {
    if (total->roughly == NULL) {
        for (Py_ssize_t at = 0; at < total->atoms; at++)
            total->sums[at] = total->lexical[at] * total->words_weight + total->rest[at];
        return;
    }
    Usual usual = learn(total, total->roughly, NULL);
    const int finely = total->dense != NULL && is_too_rough(total->unsure, usual.by);
    if (finely) usual = learn(total, NULL, total->dense);
    total->by = usual.by;
    for (Py_ssize_t at = 0; at < total->atoms; at++) {
        double value = finely ? total->dense[at] : (double)total->roughly[at], away = (value - usual.mean) * usual.by;
        /* An atom without a vector is NaN here, and counts as the mean. */
        total->sums[at] = total->lexical[at] * total->words_weight + (away == away ? away : 0.0) + total->rest[at];
    }
    if (total->dense == NULL || finely) return;
    for (Py_ssize_t at = 0; at < total->atoms; at++) {
        double more = (total->dense[at] - (double)total->roughly[at]) * usual.by;
        total->sums[at] += more == more ? more : 0.0;
    }
}

static int read_usual(Total *total, PyObject *usual, PyObject *usual_atoms) {
    total->variance = total->largest_share = 1.0;
    if (usual == Py_None) return 1;
    total->largest_share = LARGEST_SHARE;
    total->mean = number_in(usual, 0);
    if (PyErr_Occurred()) return 0;
    total->variance = pow(number_in(usual, 1), 2);
    if (PyErr_Occurred()) return 0;
    total->usual_atoms = PyFloat_AsDouble(usual_atoms);
    return !PyErr_Occurred();
}

/* total(lexical, roughly, dense, unsure, counted, usual, usual_atoms, words_weight, rest, sums) */
static PyObject *total(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count) {
    if (!takes(count, 10)) return NULL;
    VIEWS(held, 6);
    PyObject *answer = NULL;
    Total of = {.atoms = -1};
    of.lexical = READ(&held, given[0], double, &of.atoms);
    if (of.lexical == NULL) goto done;
    if (!READ_ANY(of.roughly, &held, given[1], float, &of.atoms)) goto done;
    if (!READ_ANY(of.dense, &held, given[2], double, &of.atoms)) goto done;
    of.unsure = PyFloat_AsDouble(given[3]);
    if (PyErr_Occurred()) goto done;
    if (!READ_ANY(of.counted, &held, given[4], uint8_t, &of.atoms)) goto done;
    if (!read_usual(&of, given[5], given[6])) goto done;
    of.words_weight = PyFloat_AsDouble(given[7]);
    if (PyErr_Occurred()) goto done;
    of.rest = READ(&held, given[8], double, &of.atoms);
    of.sums = of.rest ? WRITE(&held, given[9], double, &of.atoms) : NULL;
    if (of.sums == NULL) goto done;
    if (of.atoms < MANY) {
        sum_up(&of);
    } else {
        Py_BEGIN_ALLOW_THREADS
        sum_up(&of);
        Py_END_ALLOW_THREADS
    }
    answer = PyFloat_FromDouble(of.by);
done:
    let_go(&held);
    return answer;
}

#endif

/* The best atoms: the highest scores after age, importance and entities. */

#ifndef LONGMIND_BEST_H
#define LONGMIND_BEST_H

#include "vectors.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* The end of the logistic curve, in spreads from the middle: anything farther has the same similarity. */
#define FARTHEST 700.0

typedef struct {
    Py_ssize_t place;
    double similarity, decay, importance, bonus, final;
    /* The logarithm of the final odds. It orders the atoms, since a probability near 1 no longer tells them apart. */
    double odds;
} Scored;

typedef struct {
    double standing;
    Py_ssize_t place;
} Standing;

typedef struct {
    const double *standing, *bonus;
    const uint8_t *matching, *kinds, *importance;
    const int64_t *fresh_at, *valid_from;
    const char *ids;
    Py_ssize_t atoms, id_size;
    const double *rates, *by_importance;
    Py_ssize_t rates_count, importances_count;
    double floor, middle, spread, most;
    int64_t known_at, now;
    Scored *heap;
    Standing *highest;
    Py_ssize_t limit, found;
    /* The largest error of a total that comes from approximate likeness, and what corrects it. */
    double slack, by;
    const float *roughly;
    const Likeness *likeness;
    CompareOne *compare_one;
} Best;

/* Return whether one comes after another: by lower odds, then an earlier start, then a higher id. */
static int comes_after(const Best *best, const Scored *one, const Scored *other) {
    if (one->odds != other->odds) return one->odds < other->odds;
    int64_t from = best->valid_from[one->place], of_other = best->valid_from[other->place];
    if (from != of_other) return from < of_other;
    const char *id = best->ids + one->place * best->id_size, *id_of_other = best->ids + other->place * best->id_size;
    return memcmp(id, id_of_other, (size_t)best->id_size) > 0;
}

/* The heap keeps the last of the best at its top. */
static void put_at_top(Best *best, Py_ssize_t size, const Scored *one) {
    Scored *heap = best->heap;
    Py_ssize_t at = 0;
    for (;;) {
        Py_ssize_t child = 2 * at + 1;
        if (child >= size) break;
        if (child + 1 < size && comes_after(best, &heap[child + 1], &heap[child])) child++;
        if (!comes_after(best, &heap[child], one)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = *one;
}

static void put_at_end(Best *best, const Scored *one) {
    Scored *heap = best->heap;
    Py_ssize_t at = best->found++;
    while (at > 0 && comes_after(best, one, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = *one;
}

#define GROUP 16

/* Skip groups whose totals are all below a bound or NaN, and return the next place. Most groups are skipped, and a
   processor compares several totals at a time. The caller visits the places in order. */
static inline Py_ssize_t passed_over(const Best *best, Py_ssize_t place, double bound) {
    for (; place % GROUP == 0 && place + GROUP <= best->atoms; place += GROUP) {
        int reaching = 0;
        for (int at = 0; at < GROUP; at++) reaching += best->standing[place + at] >= bound;
        if (reaching) break;
    }
    return place;
}

/* Find the highest totals, up to the limit, as a heap with the lowest at its top; return their number. */
static Py_ssize_t find_highest(const Best *best) {
    Standing *heap = best->highest;
    Py_ssize_t size = 0, limit = best->limit;
    for (Py_ssize_t place = 0; place < best->atoms; place++) {
        if (size == limit && (place = passed_over(best, place, heap[0].standing)) == best->atoms) break;
        double standing = best->standing[place];
        if (size == limit && !(standing > heap[0].standing)) continue;
        if (!best->matching[place] || standing != standing) continue;
        Py_ssize_t at = 0;
        if (size < limit) {
            for (at = size++; at > 0 && heap[(at - 1) / 2].standing > standing; at = (at - 1) / 2)
                heap[at] = heap[(at - 1) / 2];
        } else {
            for (;;) {
                Py_ssize_t child = 2 * at + 1;
                if (child >= size) break;
                if (child + 1 < size && heap[child + 1].standing < heap[child].standing) child++;
                if (heap[child].standing >= standing) break;
                heap[at] = heap[child];
                at = child;
            }
        }
        heap[at] = (Standing){standing, place};
    }
    return size;
}

static int is_known(const Best *best, Py_ssize_t place) {
    return best->kinds[place] < best->rates_count && best->importance[place] < best->importances_count;
}

/* Return the total of an atom by its exact likeness. */
static double settled(const Best *best, Py_ssize_t place) {
    double standing = best->standing[place];
    if (best->likeness == NULL) return standing;
    double more = (best->compare_one(best->likeness, place) - (double)best->roughly[place]) * best->by;
    return more == more ? standing + more : standing;
}

static Scored scored(const Best *best, Py_ssize_t place, double standing) {
    int64_t fresh = best->fresh_at[place] > best->known_at ? best->valid_from[place] : best->fresh_at[place];
    /* Unsigned, since the difference of extreme instants must not be undefined behaviour. */
    double aged = (double)(int64_t)((uint64_t)fresh - (uint64_t)best->now) * best->rates[best->kinds[place]];
    Scored one = {.place = place};
    double away = fmax(fmin((best->middle - standing) / best->spread, FARTHEST), -FARTHEST);
    one.similarity = 1 / (1 + exp(away));
    one.decay = fmax(exp(fmin(aged, 0.0)), best->floor);
    one.importance = best->by_importance[best->importance[place]];
    one.bonus = best->bonus ? best->bonus[place] : 1.0;
    one.odds = log(one.decay * one.importance * one.bonus) - away;
    one.final = 1 / (1 + exp(-one.odds));
    return one;
}

/* Return the total below which no atom can be among the best, even with full age, importance and entities: `limit`
   atoms have higher odds already. */
static double least_standing(const Best *best) {
    const double surely = 1e-6;
    double away = best->heap[0].odds - log(best->most);
    /* The end of the curve ties with all below it, up to the rounding of logarithms. */
    if (away <= -FARTHEST + surely) return -INFINITY;
    return best->middle + best->spread * away - surely - best->slack;
}

/* Sort the heap, best first. */
static void put_in_order(Best *best) {
    for (Py_ssize_t left = best->found - 1; left > 0; left--) {
        Scored last = best->heap[0], moved = best->heap[left];
        put_at_top(best, left, &moved);
        best->heap[left] = last;
    }
}

/* Return whether a place is among the highest, of which the first is the lowest. Those that tie with it are searched. */
static int is_among(const Standing *highest, Py_ssize_t count, const Standing *one) {
    if (one->standing != highest[0].standing) return one->standing > highest[0].standing;
    while (count > 0)
        if (highest[--count].place == one->place) return 1;
    return 0;
}

/* Select the best; return 0 if an atom has an unknown kind or importance. */
static int choose(Best *best) {
    if (best->limit == 0) return 1;
    /* Score the highest totals first: most of the best are among them, and they set the bound for the others. */
    Py_ssize_t count = find_highest(best);
    for (Py_ssize_t at = 0; at < count; at++) {
        Py_ssize_t place = best->highest[at].place;
        if (!is_known(best, place)) return 0;
        Scored one = scored(best, place, settled(best, place));
        put_at_end(best, &one);
    }
    /* Fewer than the limit: no other atoms are left. */
    Py_ssize_t first = best->found < best->limit ? best->atoms : 0;
    double least = best->found > 0 ? least_standing(best) : 0.0;
    for (Py_ssize_t place = first; place < best->atoms; place++) {
        if ((place = passed_over(best, place, least)) == best->atoms) break;
        if (!(best->standing[place] >= least) || !best->matching[place]) continue;
        Standing here = {best->standing[place], place};
        if (is_among(best->highest, count, &here)) continue;
        if (!is_known(best, place)) return 0;
        Scored one = scored(best, place, settled(best, place));
        if (!comes_after(best, &best->heap[0], &one)) continue;
        put_at_top(best, best->found, &one);
        least = least_standing(best);
    }
    put_in_order(best);
    return 1;
}

static int read_columns(Best *best, Views *held, PyObject *columns) {
    Py_ssize_t bytes = -1;
    best->kinds = READ(held, PyTuple_GetItem(columns, 0), uint8_t, &best->atoms);
    if (best->kinds == NULL) return 0;
    best->importance = READ(held, PyTuple_GetItem(columns, 1), uint8_t, &best->atoms);
    if (best->importance == NULL) return 0;
    best->fresh_at = READ(held, PyTuple_GetItem(columns, 2), int64_t, &best->atoms);
    if (best->fresh_at == NULL) return 0;
    best->valid_from = READ(held, PyTuple_GetItem(columns, 3), int64_t, &best->atoms);
    if (best->valid_from == NULL) return 0;
    best->ids = READ(held, PyTuple_GetItem(columns, 4), char, &bytes);
    if (best->ids == NULL) return 0;
    if (best->atoms > 0 && bytes % best->atoms != 0) return damaged("not every atom has an id");
    best->id_size = best->atoms > 0 ? bytes / best->atoms : 0;
    return 1;
}

static int read_weights(Best *best, Views *held, PyObject *weights) {
    best->rates_count = best->importances_count = -1;
    best->rates = READ(held, PyTuple_GetItem(weights, 0), double, &best->rates_count);
    if (best->rates == NULL) return 0;
    best->by_importance = READ(held, PyTuple_GetItem(weights, 1), double, &best->importances_count);
    if (best->by_importance == NULL) return 0;
    double *numbers[] = {&best->floor, &best->middle, &best->spread};
    for (int at = 0; at < 3; at++) {
        *numbers[at] = number_in(weights, 2 + at);
        if (PyErr_Occurred()) return 0;
    }
    return 1;
}

static PyObject *listed_places(const Best *best) {
    PyObject *list = PyList_New(best->found);
    for (Py_ssize_t at = 0; list != NULL && at < best->found; at++) {
        PyObject *place = PyLong_FromSsize_t(best->heap[at].place);
        if (place == NULL || PyList_SetItem(list, at, place) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *listed_factors(const Best *best, size_t offset) {
    PyObject *list = PyList_New(best->found);
    for (Py_ssize_t at = 0; list != NULL && at < best->found; at++) {
        PyObject *factor = PyFloat_FromDouble(*(const double *)((const char *)&best->heap[at] + offset));
        if (factor == NULL || PyList_SetItem(list, at, factor) < 0) Py_CLEAR(list);
    }
    return list;
}

/* Return the places of the best and each of their factors, as lists. */
static PyObject *told(const Best *best) {
    static const size_t factors[] = {offsetof(Scored, similarity), offsetof(Scored, decay),
                                     offsetof(Scored, importance), offsetof(Scored, bonus), offsetof(Scored, final)};
    PyObject *answer = PyTuple_New(6);
    for (Py_ssize_t at = 0; answer != NULL && at < 6; at++) {
        PyObject *list = at == 0 ? listed_places(best) : listed_factors(best, factors[at - 1]);
        if (list == NULL || PyTuple_SetItem(answer, at, list) < 0) Py_CLEAR(answer);
    }
    return answer;
}

/* Read the request: most, known_at, now, limit. */
static int read_wish(Best *best, PyObject *const *given) {
    best->most = PyFloat_AsDouble(given[0]);
    if (PyErr_Occurred()) return 0;
    best->known_at = PyLong_AsLongLong(given[1]);
    if (PyErr_Occurred()) return 0;
    best->now = PyLong_AsLongLong(given[2]);
    if (PyErr_Occurred()) return 0;
    best->limit = PyLong_AsSsize_t(given[3]);
    if (PyErr_Occurred()) return 0;
    if (best->limit < 0) return damaged("there is no such limit");
    if (best->limit > best->atoms) best->limit = best->atoms;
    best->heap = malloc(sizeof(Scored) * (size_t)(best->limit + 1));
    best->highest = malloc(sizeof(Standing) * (size_t)(best->limit + 1));
    if (best->heap != NULL && best->highest != NULL) return 1;
    PyErr_NoMemory();
    return 0;
}

static void forget_wish(Best *best) {
    free(best->heap);
    free(best->highest);
}

/* best(standing, matching, bonus, columns, weights, most, known_at, now, limit) */
static PyObject *best(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count) {
    if (!takes(count, 9)) return NULL;
    VIEWS(held, 10);
    PyObject *answer = NULL;
    Best of = {.atoms = -1};
    int fine;
    of.standing = READ(&held, given[0], double, &of.atoms);
    of.matching = of.standing ? READ(&held, given[1], uint8_t, &of.atoms) : NULL;
    if (of.matching == NULL) goto done;
    if (!READ_ANY(of.bonus, &held, given[2], double, &of.atoms)) goto done;
    if (!read_columns(&of, &held, given[3]) || !read_weights(&of, &held, given[4])) goto done;
    if (!read_wish(&of, given + 5)) goto done;
    if (of.atoms < MANY) {
        fine = choose(&of);
    } else {
        Py_BEGIN_ALLOW_THREADS
        fine = choose(&of);
        Py_END_ALLOW_THREADS
    }
    answer = fine ? told(&of) : NULL;
    if (!fine) damaged("an atom has a kind or an importance that there is not");
done:
    forget_wish(&of);
    let_go(&held);
    return answer;
}

#endif

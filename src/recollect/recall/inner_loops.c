/* The inner loops of recall: what is done for every atom of a space, at every question.

   Each function does what the one of the same name in `plain_loops.py` does with numpy, where the calls alone take
   longer than the work in a space of a thousand atoms. They read and write arrays of the caller, through the buffer
   protocol, and keep nothing. Every length and every place is checked, so that a damaged index ends in an error and
   not in somebody else's memory. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Another number whenever a function takes other arguments or answers something else; `kernel.py` has the same. Python
   code that expects another one leaves what was compiled alone. */
#define VERSION 3

/* From so many atoms on, other threads may run meanwhile; for fewer that would cost more than the work. */
#define MANY 4096

/* --- what the caller gives ------------------------------------------------------------------- */

#define MOST_VIEWS 12

typedef struct {
    Py_buffer views[MOST_VIEWS];
    int count;
} Views;

static void let_go(Views *held) {
    while (held->count > 0) PyBuffer_Release(&held->views[--held->count]);
}

/* The memory of an array of `*items`, or of any number of items where that is negative; it then is told there. */
static void *memory_of(Views *held, PyObject *array, size_t size, Py_ssize_t *items, int flags) {
    if (array == NULL || held->count == MOST_VIEWS) {
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

/* An array that may be None, which is answered by 1 with nothing in it. */
#define READ_ANY(to, held, array, type, items) \
    ((array) == Py_None || ((to) = READ(held, array, type, items)) != NULL)

/* A number of a tuple; whether there was one must be asked of PyErr_Occurred. */
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

/* --- words ----------------------------------------------------------------------------------- */

typedef struct {
    uint32_t wanted;
    int met;
    double held, rarity;
} Term;

/* Where a run holds a term. */
typedef struct {
    const Term *term;
    const uint32_t *places;
    const uint8_t *codes;
    Py_ssize_t size;
} Piece;

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

/* Count who holds a term in a piece; false when the piece tells of an atom that is not there. */
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
            /* The highest bit of a code tells that the word is the text's own. */
            term->held += piece->codes[at] >> 7;
        }
    }
    return 1;
}

/* Find the terms in one run. Its arrays are the caller's, who keeps them beyond the views that are let go of here. */
static int find_in(PyObject *run, Term *terms, Py_ssize_t terms_count, const Scoring *scoring, Piece *pieces,
                   Py_ssize_t *pieces_count) {
    if (PyTuple_Size(run) != 5) return PyErr_Occurred() ? 0 : damaged("a run of postings has other parts than it should");
    Views held = {.count = 0};
    Py_ssize_t known = -1, ends = -1, size = -1;
    int fine = 0;
    const uint32_t *of_terms = READ(&held, PyTuple_GetItem(run, 0), uint32_t, &known);
    const uint32_t *starts = of_terms ? READ(&held, PyTuple_GetItem(run, 1), uint32_t, &ends) : NULL;
    const uint32_t *places = starts ? READ(&held, PyTuple_GetItem(run, 2), uint32_t, &size) : NULL;
    const uint8_t *codes = places ? READ(&held, PyTuple_GetItem(run, 3), uint8_t, &size) : NULL;
    const uint32_t *own = codes ? READ(&held, PyTuple_GetItem(run, 4), uint32_t, &known) : NULL;
    if (own == NULL) goto done;
    if (ends != known + 1) {
        damaged("a run of postings does not tell where its terms end");
        goto done;
    }
    for (Py_ssize_t number = 0; number < terms_count; number++) {
        Term *term = &terms[number];
        Py_ssize_t at = lower_bound(of_terms, known, term->wanted);
        if (at == known || of_terms[at] != term->wanted) continue;
        uint32_t start = starts[at], end = starts[at + 1];
        if (start > end || end > (size_t)size) {
            damaged("a term stands outside of its run of postings");
            goto done;
        }
        Piece piece = {term, places + start, codes + start, (Py_ssize_t)(end - start)};
        if (!count_holders(term, &piece, own[at], scoring)) goto done;
        pieces[(*pieces_count)++] = piece;
    }
    fine = 1;
done:
    let_go(&held);
    return fine;
}

static void add_up(Term *terms, Py_ssize_t terms_count, const Piece *pieces, Py_ssize_t pieces_count, double atoms,
                   const double *worth, const Scoring *scoring) {
    double most = 0.0;
    for (Py_ssize_t number = 0; number < terms_count; number++) {
        Term *term = &terms[number];
        if (!term->met) continue;
        term->rarity = log1p((atoms - term->held + 0.5) / (term->held + 0.5));
        most += term->rarity * term->rarity;
    }
    most = sqrt(most);
    for (const Piece *piece = pieces; piece < pieces + pieces_count; piece++) {
        double rarity = piece->term->rarity / most;
        for (Py_ssize_t at = 0; at < piece->size; at++) {
            uint32_t place = piece->places[at];
            if (scoring->among == NULL || scoring->among[place])
                scoring->scores[place] += worth[piece->codes[at]] * rarity;
        }
    }
}

/* word_scores(runs, terms, worth, among, atoms, scores) */
static PyObject *word_scores(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count) {
    if (!takes(count, 6)) return NULL;
    PyObject *runs = given[0], *asked = given[1], *answer = NULL;
    Py_ssize_t runs_count = PyTuple_Size(runs), terms_count = PyTuple_Size(asked);
    if (runs_count < 0 || terms_count < 0) return NULL;
    Views held = {.count = 0};
    Scoring scoring = {.atoms = -1};
    Py_ssize_t worths = 256, pieces_count = 0;
    Term *terms = calloc((size_t)terms_count + 1, sizeof(Term));
    Piece *pieces = calloc((size_t)terms_count * (size_t)runs_count + 1, sizeof(Piece));
    if (terms == NULL || pieces == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    const double *worth = READ(&held, given[2], double, &worths);
    scoring.scores = worth ? WRITE(&held, given[5], double, &scoring.atoms) : NULL;
    if (scoring.scores == NULL) goto done;
    if (!READ_ANY(scoring.among, &held, given[3], uint8_t, &scoring.atoms)) goto done;
    double atoms = (double)PyLong_AsLongLong(given[4]);
    for (Py_ssize_t number = 0; number < terms_count; number++)
        terms[number].wanted = (uint32_t)PyLong_AsUnsignedLong(PyTuple_GetItem(asked, number));
    if (PyErr_Occurred()) goto done;
    for (Py_ssize_t at = 0; at < runs_count; at++)
        if (!find_in(PyTuple_GetItem(runs, at), terms, terms_count, &scoring, pieces, &pieces_count)) goto done;
    if (scoring.atoms < MANY) {
        add_up(terms, terms_count, pieces, pieces_count, atoms, worth, &scoring);
    } else {
        Py_BEGIN_ALLOW_THREADS
        add_up(terms, terms_count, pieces, pieces_count, atoms, worth, &scoring);
        Py_END_ALLOW_THREADS
    }
    answer = Py_NewRef(Py_None);
done:
    let_go(&held);
    free(terms);
    free(pieces);
    return answer;
}

/* --- vectors --------------------------------------------------------------------------------- */

/* The sum of the products of wider ones could be beyond 32 bits. */
#define WIDEST (1 << 17)

typedef struct {
    const float *query, *scales;
    const int8_t *rows;
    Py_ssize_t atoms, width;
    int16_t *wide;
    float *found;
} Likeness;

/* The vector that is asked about as small integers, as those of the atoms are; gives what one of them is worth. */
static inline __attribute__((always_inline)) float as_small_integers(const Likeness *of) {
    float most = 0.0f;
    for (Py_ssize_t at = 0; at < of->width; at++) {
        float size = fabsf(of->query[at]);
        most = size > most ? size : most;
    }
    float scale = most / 127.0f, by = scale > 1e-30f ? scale : 1e-30f;
    for (Py_ssize_t at = 0; at < of->width; at++) of->wide[at] = (int16_t)rintf(of->query[at] / by);
    return scale;
}

static inline __attribute__((always_inline)) void compare_all(const Likeness *of) {
    const int16_t *wide = of->wide;
    const Py_ssize_t width = of->width;
    const float of_query = as_small_integers(of);
    for (Py_ssize_t atom = 0; atom < of->atoms; atom++) {
        const int8_t *row = of->rows + atom * width;
        int32_t product = 0;
        for (Py_ssize_t at = 0; at < width; at++) product += (int16_t)row[at] * wide[at];
        of->found[atom] = (float)product * of->scales[atom] * of_query;
    }
    /* A scale of zero says that there is no vector. */
    for (Py_ssize_t atom = 0; atom < of->atoms; atom++)
        if (of->scales[atom] == 0.0f) of->found[atom] = NAN;
}

typedef void Compare(const Likeness *);

static void compare(const Likeness *of) { compare_all(of); }

/* The same for processors that do sixteen products at once, or thirty-two, which not all do that this may run on. */
#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) static void compare_in_16s(const Likeness *of) { compare_all(of); }
#ifndef __clang__
__attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni,prefer-vector-width=512"))) static void
compare_in_32s(const Likeness *of) {
    compare_all(of);
}
#define HAS_32S __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni")
#else
#define compare_in_32s compare_in_16s
#define HAS_32S 0
#endif
#define HAS_16S __builtin_cpu_supports("avx2")
#else
#define compare_in_32s compare
#define compare_in_16s compare
#define HAS_32S 0
#define HAS_16S 0
#endif

static Compare *fastest(void) { return HAS_32S ? compare_in_32s : HAS_16S ? compare_in_16s : compare; }

/* likeness(query, rows, scales, found) */
static PyObject *likeness(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count) {
    if (!takes(count, 4)) return NULL;
    Views held = {.count = 0};
    PyObject *answer = NULL;
    Likeness of = {.atoms = -1, .width = -1};
    of.query = READ(&held, given[0], float, &of.width);
    of.scales = of.query ? READ(&held, given[2], float, &of.atoms) : NULL;
    if (of.scales == NULL) goto done;
    if (of.width > WIDEST || (of.width > 0 && of.atoms > PY_SSIZE_T_MAX / of.width)) {
        damaged("a vector is too wide");
        goto done;
    }
    Py_ssize_t all = of.atoms * of.width;
    of.rows = READ(&held, given[1], int8_t, &all);
    of.found = of.rows ? WRITE(&held, given[3], float, &of.atoms) : NULL;
    if (of.found == NULL) goto done;
    of.wide = malloc(sizeof(int16_t) * (size_t)(of.width + 1));
    if (of.wide == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    Compare *suited = fastest();
    if (of.atoms < MANY) {
        suited(&of);
    } else {
        Py_BEGIN_ALLOW_THREADS
        suited(&of);
        Py_END_ALLOW_THREADS
    }
    answer = Py_NewRef(Py_None);
done:
    free(of.wide);
    let_go(&held);
    return answer;
}

/* --- all that speaks for an atom --------------------------------------------------------------- */

#define LANES 8

typedef struct {
    const double *lexical, *rest;
    const float *dense;
    const uint8_t *counted;
    Py_ssize_t atoms;
    double mean, variance, usual_atoms, words_weight;
    double *sums;
} Total;

/* The mean and the variance of what is counted, which those that are usual join. */
static void learn_what_is_usual(Total *total) {
    /* Several sums side by side, which a processor makes at the same time. */
    double sum[LANES] = {0}, squares[LANES] = {0}, number = (double)total->atoms;
    Py_ssize_t at = 0;
    if (total->counted == NULL) {
        for (; at + LANES <= total->atoms; at += LANES)
            for (int lane = 0; lane < LANES; lane++) {
                double value = total->dense[at + lane];
                sum[lane] += value;
                squares[lane] += value * value;
            }
        for (; at < total->atoms; at++) {
            double value = total->dense[at];
            sum[at % LANES] += value;
            squares[at % LANES] += value * value;
        }
    } else {
        number = 0;
        for (; at < total->atoms; at++) {
            if (!total->counted[at]) continue;
            double value = total->dense[at];
            sum[at % LANES] += value;
            squares[at % LANES] += value * value;
            number++;
        }
    }
    if (number == 0) return;
    for (int lane = 1; lane < LANES; lane++) {
        sum[0] += sum[lane];
        squares[0] += squares[lane];
    }
    double own = sum[0] / number, share = number / (number + total->usual_atoms);
    total->variance = share * fmax(squares[0] / number - own * own, 0.0) + (1 - share) * total->variance;
    total->mean = share * own + (1 - share) * total->mean;
}

static void sum_up(Total *total) {
    if (total->dense == NULL) {
        for (Py_ssize_t at = 0; at < total->atoms; at++)
            total->sums[at] = total->lexical[at] * total->words_weight + total->rest[at];
        return;
    }
    learn_what_is_usual(total);
    double by = 1 / sqrt(fmax(total->variance, 1e-12));
    for (Py_ssize_t at = 0; at < total->atoms; at++) {
        double away = ((double)total->dense[at] - total->mean) * by;
        /* What has no vector is not a number, and taken to be at the mean. */
        total->sums[at] = total->lexical[at] * total->words_weight + (away == away ? away : 0.0) + total->rest[at];
    }
}

/* total(lexical, dense, counted, usual, usual_atoms, words_weight, rest, sums) */
static PyObject *total(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count) {
    if (!takes(count, 8)) return NULL;
    Views held = {.count = 0};
    PyObject *answer = NULL;
    Total of = {.atoms = -1, .variance = 1.0};
    of.lexical = READ(&held, given[0], double, &of.atoms);
    if (of.lexical == NULL) goto done;
    if (!READ_ANY(of.dense, &held, given[1], float, &of.atoms)) goto done;
    if (!READ_ANY(of.counted, &held, given[2], uint8_t, &of.atoms)) goto done;
    if (given[3] != Py_None) {
        of.mean = number_in(given[3], 0);
        of.variance = pow(number_in(given[3], 1), 2);
        if (PyErr_Occurred()) goto done;
        of.usual_atoms = PyFloat_AsDouble(given[4]);
    }
    of.words_weight = PyFloat_AsDouble(given[5]);
    if (PyErr_Occurred()) goto done;
    of.rest = READ(&held, given[6], double, &of.atoms);
    of.sums = of.rest ? WRITE(&held, given[7], double, &of.atoms) : NULL;
    if (of.sums == NULL) goto done;
    if (of.atoms < MANY) {
        sum_up(&of);
    } else {
        Py_BEGIN_ALLOW_THREADS
        sum_up(&of);
        Py_END_ALLOW_THREADS
    }
    answer = Py_NewRef(Py_None);
done:
    let_go(&held);
    return answer;
}

/* --- the best ---------------------------------------------------------------------------------- */

/* So many spreads below the middle the curve ends: who stands lower than that is as similar as who stands there. */
#define FARTHEST 700.0

typedef struct {
    Py_ssize_t place;
    double similarity, decay, importance, bonus, final;
} Scored;

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
    Py_ssize_t limit, found;
} Best;

/* Whether one comes after another: its score is lower, or it is valid from earlier on, or its id is the higher one. */
static int comes_after(const Best *best, const Scored *one, const Scored *other) {
    if (one->final != other->final) return one->final < other->final;
    int64_t from = best->valid_from[one->place], of_other = best->valid_from[other->place];
    if (from != of_other) return from < of_other;
    const char *id = best->ids + one->place * best->id_size, *id_of_other = best->ids + other->place * best->id_size;
    return memcmp(id, id_of_other, (size_t)best->id_size) > 0;
}

/* The heap has the one that comes last at its top. */
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

typedef struct {
    double standing;
    Py_ssize_t place;
} Standing;

/* Find those that stand highest, up to the limit, the lowest of them first; how many they are. */
static Py_ssize_t find_highest(const Best *best, Standing *heap) {
    Py_ssize_t size = 0, limit = best->limit;
    for (Py_ssize_t place = 0; place < best->atoms; place++) {
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

static Scored scored(const Best *best, Py_ssize_t place) {
    double standing = best->standing[place];
    int64_t fresh = best->fresh_at[place] > best->known_at ? best->valid_from[place] : best->fresh_at[place];
    /* Without a sign, since a difference of instants that no calendar has must not be undefined. */
    double aged = (double)(int64_t)((uint64_t)fresh - (uint64_t)best->now) * best->rates[best->kinds[place]];
    Scored one = {.place = place};
    one.similarity = standing;
    if (best->spread != 0.0) one.similarity = 1 / (1 + exp(fmin((best->middle - standing) / best->spread, FARTHEST)));
    one.decay = fmax(exp(fmin(aged, 0.0)), best->floor);
    one.importance = best->by_importance[best->importance[place]];
    one.bonus = best->bonus ? best->bonus[place] : 1.0;
    one.final = one.similarity * one.decay * one.importance;
    if (best->bonus) one.final = fmin(one.final * one.bonus, 1.0);
    return one;
}

/* Who stands below this cannot be among the best: as many others have a score of which it falls short, even if age,
   importance and entities are all in its favour. */
static double least_standing(const Best *best, const Standing *highest, Py_ssize_t count) {
    const double surely = 1e-6, nearly = 1 - 1e-9;
    if (count < best->limit) return -INFINITY;
    double lowest = INFINITY;
    for (Py_ssize_t at = 0; at < count; at++) lowest = fmin(lowest, scored(best, highest[at].place).final);
    double likeness = lowest / best->most;
    if (best->spread == 0.0) return likeness - surely;
    /* Short of one, where it has no end: what stands higher than that is as good as equal. */
    likeness = fmin(likeness, 1.0) * nearly;
    double least = best->middle + best->spread * log(likeness / (1 - likeness)) - surely;
    return least > best->middle - best->spread * FARTHEST ? least : -INFINITY;
}

/* Empty the heap into the caller's arrays, from the last to the first. */
static void write_down(Best *best, int64_t *places, double *factors) {
    for (Py_ssize_t left = best->found - 1; left >= 0; left--) {
        Scored last = best->heap[0];
        Scored moved = best->heap[left];
        put_at_top(best, left, &moved);
        double of_it[] = {last.similarity, last.decay, last.importance, last.bonus, last.final};
        places[left] = last.place;
        for (int row = 0; row < 5; row++) factors[row * best->limit + left] = of_it[row];
    }
}

/* Choose the best and write them down; false when an atom has a kind or an importance that there is not. */
static int choose(Best *best, Standing *highest, int64_t *places, double *factors) {
    if (best->limit == 0) return 1;
    Py_ssize_t count = find_highest(best, highest);
    for (Py_ssize_t at = 0; at < count; at++)
        if (!is_known(best, highest[at].place)) return 0;
    double least = least_standing(best, highest, count);
    for (Py_ssize_t place = 0; place < best->atoms; place++) {
        if (!(best->standing[place] >= least) || !best->matching[place]) continue;
        if (!is_known(best, place)) return 0;
        Scored one = scored(best, place);
        if (best->found < best->limit) {
            put_at_end(best, &one);
        } else if (comes_after(best, &best->heap[0], &one)) {
            put_at_top(best, best->found, &one);
        }
    }
    write_down(best, places, factors);
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

/* best(standing, matching, bonus, columns, weights, most, known_at, now, places, factors) */
static PyObject *best(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count) {
    if (!takes(count, 10)) return NULL;
    Views held = {.count = 0};
    PyObject *answer = NULL;
    Standing *room = NULL;
    Best of = {.atoms = -1, .limit = -1};
    int fine;
    of.standing = READ(&held, given[0], double, &of.atoms);
    of.matching = of.standing ? READ(&held, given[1], uint8_t, &of.atoms) : NULL;
    if (of.matching == NULL) goto done;
    if (!READ_ANY(of.bonus, &held, given[2], double, &of.atoms)) goto done;
    if (!read_columns(&of, &held, given[3]) || !read_weights(&of, &held, given[4])) goto done;
    of.most = PyFloat_AsDouble(given[5]);
    of.known_at = PyLong_AsLongLong(given[6]);
    of.now = PyLong_AsLongLong(given[7]);
    if (PyErr_Occurred()) goto done;
    int64_t *places = WRITE(&held, given[8], int64_t, &of.limit);
    Py_ssize_t all = 5 * of.limit;
    double *factors = places ? WRITE(&held, given[9], double, &all) : NULL;
    if (factors == NULL) goto done;
    of.heap = malloc(sizeof(Scored) * (size_t)(of.limit + 1));
    room = malloc(sizeof(Standing) * (size_t)(of.limit + 1));
    if (of.heap == NULL || room == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    if (of.atoms < MANY) {
        fine = choose(&of, room, places, factors);
    } else {
        Py_BEGIN_ALLOW_THREADS
        fine = choose(&of, room, places, factors);
        Py_END_ALLOW_THREADS
    }
    if (!fine) {
        damaged("an atom has a kind or an importance that there is not");
        goto done;
    }
    answer = PyLong_FromSsize_t(of.found);
done:
    free(of.heap);
    free(room);
    let_go(&held);
    return answer;
}

/* --- values ------------------------------------------------------------------------------------ */

/* An instance whose fields are given, made without any of its code. */
static PyObject *filled(PyTypeObject *type, allocfunc allocate, PyObject *fields, PyObject *slots) {
    PyObject *value = allocate(type, 0), *name, *content;
    if (value == NULL) return NULL;
    Py_ssize_t at = 0;
    int fine = PyObject_GenericSetDict(value, fields, NULL) == 0;
    while (fine && PyDict_Next(slots, &at, &name, &content)) fine = PyObject_GenericSetAttr(value, name, content) == 0;
    if (fine) return value;
    Py_DECREF(value);
    return NULL;
}

/* values(type, slots, fields) */
static PyObject *values(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count) {
    if (!takes(count, 3)) return NULL;
    if (!PyType_Check(given[0]) || !PyDict_Check(given[1]) || !PyList_Check(given[2])) {
        PyErr_SetString(PyExc_TypeError, "a type, a dict and a list are needed");
        return NULL;
    }
    PyTypeObject *type = (PyTypeObject *)given[0];
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Py_ssize_t size = PyList_Size(given[2]);
    PyObject *made = allocate == NULL ? NULL : PyList_New(size);
    for (Py_ssize_t at = 0; made != NULL && at < size; at++) {
        PyObject *value = filled(type, allocate, PyList_GetItem(given[2], at), given[1]);
        if (value == NULL || PyList_SetItem(made, at, value) < 0) Py_CLEAR(made);
    }
    return made;
}

/* --- the module -------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {"word_scores", (PyCFunction)(void (*)(void))word_scores, METH_FASTCALL, NULL},
    {"likeness", (PyCFunction)(void (*)(void))likeness, METH_FASTCALL, NULL},
    {"total", (PyCFunction)(void (*)(void))total, METH_FASTCALL, NULL},
    {"values", (PyCFunction)(void (*)(void))values, METH_FASTCALL, NULL},
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
    .m_name = "recollect.recall.inner_loops",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit_inner_loops(void) { return PyModuleDef_Init(&definition); }

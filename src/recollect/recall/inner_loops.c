/* The inner loops of recall: what is done for every atom of a space, at every question.

   Each function does what the one of the same name in `plain_loops.py` does with numpy, where the calls alone take
   longer than the work in a space of a thousand atoms. They read and write arrays of the caller, through the buffer
   protocol, and keep nothing. Every length and every place is checked, so that a damaged index ends in an error and
   not in somebody else's memory. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

/* Another number whenever a function takes other arguments or answers something else; `kernel.py` has the same. Python
   code that expects another one leaves what was compiled alone. */
#define VERSION 4

/* From so many atoms on, other threads may run meanwhile; for fewer that would cost more than the work. */
#define MANY 4096

/* --- what the caller gives ------------------------------------------------------------------- */

typedef struct {
    Py_buffer *views;
    Py_ssize_t count, room;
} Views;

/* Room for the arrays of one call. */
#define VIEWS(held, most)           \
    Py_buffer held##_room[most];    \
    Views held = {held##_room, 0, most}

static void let_go(Views *held) {
    while (held->count > 0) PyBuffer_Release(&held->views[--held->count]);
}

/* The memory of an array of `*items`, or of any number of items where that is negative; it then is told there. */
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

/* Terms that are asked for, and where they were found. */
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

/* A run of postings: its terms, where each of them starts, the places, their codes, and how many of each term's places
   hold it in their own text. */
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

/* Find the terms in one run. */
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

static void add_up(const Asked *asked, double atoms, const double *worth, const Scoring *scoring) {
    double most = 0.0;
    for (Py_ssize_t number = 0; number < asked->terms_count; number++) {
        Term *term = &asked->terms[number];
        if (!term->met) continue;
        term->rarity = log1p((atoms - term->held + 0.5) / (term->held + 0.5));
        most += term->rarity * term->rarity;
    }
    most = sqrt(most);
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
    for (Py_ssize_t at = 0; at < runs_count; at++) {
        /* Its arrays are the caller's, who keeps them beyond the views that are let go of here. */
        VIEWS(of_run, ARRAYS_OF_RUN);
        Run run;
        int fine = read_run(&run, &of_run, PyTuple_GetItem(given[0], at)) &&
                   find_in(&run, &asked, &scoring);
        let_go(&of_run);
        if (!fine) goto done;
    }
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

/* --- vectors --------------------------------------------------------------------------------- */

/* The sum of the products of wider ones could be beyond 32 bits. */
#define WIDEST (1 << 17)

typedef struct {
    const float *query, *scales;
    const int8_t *rows;
    Py_ssize_t atoms, width;
    int16_t *wide;
    int8_t *narrow;
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

static inline __attribute__((always_inline)) void scale_all(const Likeness *of, const float of_query) {
    for (Py_ssize_t atom = 0; atom < of->atoms; atom++) of->found[atom] = of->found[atom] * of->scales[atom] * of_query;
    /* A scale of zero says that there is no vector. */
    for (Py_ssize_t atom = 0; atom < of->atoms; atom++)
        if (of->scales[atom] == 0.0f) of->found[atom] = NAN;
}

static inline __attribute__((always_inline)) void compare_all(const Likeness *of) {
    const int16_t *wide = of->wide;
    const Py_ssize_t width = of->width;
    const float of_query = as_small_integers(of);
    for (Py_ssize_t atom = 0; atom < of->atoms; atom++) {
        const int8_t *row = of->rows + atom * width;
        int32_t product = 0;
        for (Py_ssize_t at = 0; at < width; at++) product += (int16_t)row[at] * wide[at];
        of->found[atom] = (float)product;
    }
    scale_all(of, of_query);
}

typedef void Compare(const Likeness *);

static void compare(const Likeness *of) { compare_all(of); }

/* The same for processors that do sixteen products at once, or sixty-four, which not all do that this may run on. */
#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) static void compare_in_16s(const Likeness *of) { compare_all(of); }

#define FOR_64S "avx512f,avx512bw,avx512vl,avx512vnni"
#define HAS_64S                                                                       \
    (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&       \
     __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni"))
#define HAS_16S __builtin_cpu_supports("avx2")

#define TOGETHER 4

/* The sums of four times sixteen numbers. */
__attribute__((target(FOR_64S))) static inline __m128i four_sums(const __m512i *of) {
    __m512i first = _mm512_add_epi32(_mm512_unpacklo_epi32(of[0], of[1]), _mm512_unpackhi_epi32(of[0], of[1]));
    __m512i last = _mm512_add_epi32(_mm512_unpacklo_epi32(of[2], of[3]), _mm512_unpackhi_epi32(of[2], of[3]));
    __m512i all = _mm512_add_epi32(_mm512_unpacklo_epi64(first, last), _mm512_unpackhi_epi64(first, last));
    __m256i half = _mm256_add_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));
    return _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

/* Such a processor multiplies numbers without a sign by ones with a sign. So 128 is added to each number of a row, which
   is to turn its highest bit, and what all of them have too much is taken away at the end; what goes beyond 32 bits on
   the way comes back by that. Several rows go together, so that their sums are made together. */
__attribute__((target(FOR_64S))) static void compare_in_64s(const Likeness *of) {
    const Py_ssize_t width = of->width, last = of->atoms - 1;
    const __m512i highest = _mm512_set1_epi8(-128);
    const float of_query = as_small_integers(of);
    uint32_t too_much = 0;
    for (Py_ssize_t at = 0; at < width; at++) {
        of->narrow[at] = (int8_t)of->wide[at];
        too_much += 128 * (uint32_t)(int32_t)of->wide[at];
    }
    for (Py_ssize_t atom = 0; atom <= last; atom += TOGETHER) {
        const int8_t *rows[TOGETHER];
        __m512i sums[TOGETHER];
        for (int each = 0; each < TOGETHER; each++) {
            /* At the end the last row stands in for those that there are not. */
            rows[each] = of->rows + (atom + each < last ? atom + each : last) * width;
            sums[each] = _mm512_setzero_si512();
        }
        for (Py_ssize_t at = 0; at < width; at += 64) {
            const __mmask64 there = width - at < 64 ? ((__mmask64)1 << (width - at)) - 1 : ~(__mmask64)0;
            const __m512i asked = _mm512_maskz_loadu_epi8(there, of->narrow + at);
            for (int each = 0; each < TOGETHER; each++) {
                __m512i shifted = _mm512_xor_si512(_mm512_maskz_loadu_epi8(there, rows[each] + at), highest);
                sums[each] = _mm512_dpbusd_epi32(sums[each], shifted, asked);
            }
        }
        const __mmask8 wanted = last - atom < TOGETHER - 1 ? (__mmask8)((1 << (last - atom + 1)) - 1) : 15;
        const __m128i products = _mm_sub_epi32(four_sums(sums), _mm_set1_epi32((int32_t)too_much));
        _mm_mask_storeu_ps(of->found + atom, wanted, _mm_cvtepi32_ps(products));
    }
    scale_all(of, of_query);
}
#else
#define compare_in_64s compare
#define compare_in_16s compare
#define HAS_64S 0
#define HAS_16S 0
#endif

static Compare *fastest(void) { return HAS_64S ? compare_in_64s : HAS_16S ? compare_in_16s : compare; }

/* How many numbers so many vectors have; negative when they are too wide. */
static Py_ssize_t vectors_of(Py_ssize_t atoms, Py_ssize_t width) {
    if (width <= WIDEST && (width == 0 || atoms <= PY_SSIZE_T_MAX / width)) return atoms * width;
    damaged("a vector is too wide");
    return -1;
}

static int make_room_for_integers(Likeness *of) {
    of->wide = malloc((sizeof(int16_t) + sizeof(int8_t)) * (size_t)(of->width + 1));
    if (of->wide == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    of->narrow = (int8_t *)(of->wide + of->width + 1);
    return 1;
}

/* likeness(query, rows, scales, found) */
static PyObject *likeness(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count) {
    if (!takes(count, 4)) return NULL;
    VIEWS(held, 4);
    PyObject *answer = NULL;
    Likeness of = {.atoms = -1, .width = -1};
    of.query = READ(&held, given[0], float, &of.width);
    of.scales = of.query ? READ(&held, given[2], float, &of.atoms) : NULL;
    if (of.scales == NULL) goto done;
    Py_ssize_t all = vectors_of(of.atoms, of.width);
    of.rows = all < 0 ? NULL : READ(&held, given[1], int8_t, &all);
    of.found = of.rows ? WRITE(&held, given[3], float, &of.atoms) : NULL;
    if (of.found == NULL || !make_room_for_integers(&of)) goto done;
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

static int read_usual(Total *total, PyObject *usual, PyObject *usual_atoms) {
    total->variance = 1.0;
    if (usual == Py_None) return 1;
    total->mean = number_in(usual, 0);
    total->variance = pow(number_in(usual, 1), 2);
    if (PyErr_Occurred()) return 0;
    total->usual_atoms = PyFloat_AsDouble(usual_atoms);
    return !PyErr_Occurred();
}

/* total(lexical, dense, counted, usual, usual_atoms, words_weight, rest, sums) */
static PyObject *total(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count) {
    if (!takes(count, 8)) return NULL;
    VIEWS(held, 5);
    PyObject *answer = NULL;
    Total of = {.atoms = -1};
    of.lexical = READ(&held, given[0], double, &of.atoms);
    if (of.lexical == NULL) goto done;
    if (!READ_ANY(of.dense, &held, given[1], float, &of.atoms)) goto done;
    if (!READ_ANY(of.counted, &held, given[2], uint8_t, &of.atoms)) goto done;
    if (!read_usual(&of, given[3], given[4])) goto done;
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

#define GROUP 16

/* The next place that is not in a group which all stands below a bound, or cannot be compared with it: most groups do,
   and a processor tells that of several at a time. Who asks goes from the start of a group to its end. */
static inline Py_ssize_t passed_over(const Best *best, Py_ssize_t place, double bound) {
    for (; place % GROUP == 0 && place + GROUP <= best->atoms; place += GROUP) {
        int reaching = 0;
        for (int at = 0; at < GROUP; at++) reaching += best->standing[place + at] >= bound;
        if (reaching) break;
    }
    return place;
}

/* Find those that stand highest, up to the limit, the lowest of them first; how many they are. */
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
static double least_standing(const Best *best, Py_ssize_t count) {
    const double surely = 1e-6, nearly = 1 - 1e-9;
    if (count < best->limit) return -INFINITY;
    double lowest = INFINITY;
    for (Py_ssize_t at = 0; at < count; at++) lowest = fmin(lowest, scored(best, best->highest[at].place).final);
    double likeness = lowest / best->most;
    if (best->spread == 0.0) return likeness - surely;
    /* Short of one, where it has no end: what stands higher than that is as good as equal. */
    likeness = fmin(likeness, 1.0) * nearly;
    double least = best->middle + best->spread * log(likeness / (1 - likeness)) - surely;
    return least > best->middle - best->spread * FARTHEST ? least : -INFINITY;
}

/* Put the heap in order, the best first. */
static void put_in_order(Best *best) {
    for (Py_ssize_t left = best->found - 1; left > 0; left--) {
        Scored last = best->heap[0], moved = best->heap[left];
        put_at_top(best, left, &moved);
        best->heap[left] = last;
    }
}

/* Choose the best; false when an atom has a kind or an importance that there is not. */
static int choose(Best *best) {
    if (best->limit == 0) return 1;
    Py_ssize_t count = find_highest(best);
    for (Py_ssize_t at = 0; at < count; at++)
        if (!is_known(best, best->highest[at].place)) return 0;
    double least = least_standing(best, count);
    for (Py_ssize_t place = 0; place < best->atoms; place++) {
        if ((place = passed_over(best, place, least)) == best->atoms) break;
        if (!(best->standing[place] >= least) || !best->matching[place]) continue;
        if (!is_known(best, place)) return 0;
        Scored one = scored(best, place);
        if (best->found < best->limit) {
            put_at_end(best, &one);
        } else if (comes_after(best, &best->heap[0], &one)) {
            put_at_top(best, best->found, &one);
        }
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

/* The best and their factors, each a list. */
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

/* What is asked of the best: most, known_at, now, limit. */
static int read_wish(Best *best, PyObject *const *given) {
    best->most = PyFloat_AsDouble(given[0]);
    best->known_at = PyLong_AsLongLong(given[1]);
    best->now = PyLong_AsLongLong(given[2]);
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

/* --- all of it at once --------------------------------------------------------------------------- */

#define HELD "recollect.recall.held"
#define ARRAYS_BESIDE_RUNS 11

/* The arrays of a space, which are the same from question to question: to be given each takes longer than to search
   a small space. Who holds them must let go of them before an array is replaced by another. */
typedef struct {
    Views views;
    Run *runs;
    Py_ssize_t runs_count, width;
    const double *worth, *rest;
    const int8_t *rows;
    const float *scales;
    PyObject *usual_atoms;
    double words_weight;
    Best best;
} Held;

static void drop_held(Held *held) {
    if (held == NULL) return;
    if (held->views.views != NULL) let_go(&held->views);
    free(held->views.views);
    free(held->runs);
    Py_XDECREF(held->usual_atoms);
    free(held);
}

static void let_go_of_held(PyObject *capsule) { drop_held(PyCapsule_GetPointer(capsule, HELD)); }

static int read_held(Held *held, PyObject *const *given) {
    Views *views = &held->views;
    Py_ssize_t worths = 256, *atoms = &held->best.atoms;
    for (Py_ssize_t at = 0; at < held->runs_count; at++)
        if (!read_run(&held->runs[at], views, PyTuple_GetItem(given[0], at))) return 0;
    held->worth = READ(views, given[1], double, &worths);
    held->scales = held->worth ? READ(views, given[3], float, atoms) : NULL;
    held->rest = held->scales ? READ(views, given[4], double, atoms) : NULL;
    if (held->rest == NULL) return 0;
    if (given[2] != Py_None) {
        Py_ssize_t all = -1;
        held->rows = READ(views, given[2], int8_t, &all);
        if (held->rows == NULL) return 0;
        held->width = *atoms > 0 ? all / *atoms : 0;
        if (all != held->width * *atoms) return damaged("not every atom has room for a vector");
    }
    held->words_weight = PyFloat_AsDouble(given[5]);
    if (PyErr_Occurred()) return 0;
    held->usual_atoms = Py_NewRef(given[6]);
    return read_columns(&held->best, views, given[7]) && read_weights(&held->best, views, given[8]);
}

/* hold(runs, worth, rows, scales, rest, words_weight, usual_atoms, columns, weights) */
static PyObject *hold(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count) {
    if (!takes(count, 9)) return NULL;
    Py_ssize_t runs_count = PyTuple_Size(given[0]);
    if (runs_count < 0) return NULL;
    Held *held = calloc(1, sizeof(Held));
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
    const Held *held;
    Asked asked;
    Scoring scoring;
    double atoms;
    Likeness likeness;
    Total total;
    Best best;
    double *sums;
    Py_ssize_t matching;
} Ranking;

static int find_best(Ranking *of) {
    add_up(&of->asked, of->atoms, of->held->worth, &of->scoring);
    if (of->likeness.query != NULL) fastest()(&of->likeness);
    sum_up(&of->total);
    for (Py_ssize_t place = 0; place < of->best.atoms; place++) of->matching += of->best.matching[place] != 0;
    return choose(&of->best);
}

/* Where what is worked out on the way is written. */
static int make_room(Ranking *of, const float *dense) {
    size_t atoms = (size_t)of->best.atoms;
    of->scoring.scores = calloc(atoms + 1, sizeof(double));
    of->sums = malloc((atoms + 1) * (sizeof(double) + sizeof(float)));
    if (of->scoring.scores == NULL || of->sums == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    of->likeness.found = (float *)(of->sums + atoms);
    of->total.sums = of->sums;
    of->total.lexical = of->scoring.scores;
    of->total.dense = of->likeness.query != NULL ? of->likeness.found : dense;
    of->best.standing = of->sums;
    return of->likeness.query == NULL || make_room_for_integers(&of->likeness);
}

/* rank(held, terms, vector, dense, among, atoms, counted, usual, rest, matching, bonus, most, known_at, now, limit) */
static PyObject *rank(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count) {
    if (!takes(count, 15)) return NULL;
    const Held *held = PyCapsule_GetPointer(given[0], HELD);
    if (held == NULL) return NULL;
    VIEWS(views, 7);
    PyObject *answer = NULL;
    const float *dense = NULL;
    int fine;
    Ranking of = {.held = held, .best = held->best};
    Py_ssize_t atoms = of.scoring.atoms = of.total.atoms = of.likeness.atoms = held->best.atoms;
    of.total.rest = held->rest;
    of.total.words_weight = held->words_weight;
    of.likeness.rows = held->rows;
    of.likeness.scales = held->scales;
    of.likeness.width = held->width;
    if (!read_terms(&of.asked, given[1], held->runs_count)) goto done;
    if (held->rows != NULL && atoms > 0) {
        if (!READ_ANY(of.likeness.query, &views, given[2], float, &of.likeness.width)) goto done;
        if (vectors_of(atoms, of.likeness.width) < 0) goto done;
    }
    if (!READ_ANY(dense, &views, given[3], float, &atoms)) goto done;
    if (!READ_ANY(of.scoring.among, &views, given[4], uint8_t, &atoms)) goto done;
    of.atoms = (double)PyLong_AsLongLong(given[5]);
    if (PyErr_Occurred()) goto done;
    if (!READ_ANY(of.total.counted, &views, given[6], uint8_t, &atoms)) goto done;
    if (!read_usual(&of.total, given[7], held->usual_atoms)) goto done;
    if (!READ_ANY(of.total.rest, &views, given[8], double, &atoms)) goto done;
    of.best.matching = READ(&views, given[9], uint8_t, &atoms);
    if (of.best.matching == NULL) goto done;
    if (!READ_ANY(of.best.bonus, &views, given[10], double, &atoms)) goto done;
    if (!read_wish(&of.best, given + 11) || !make_room(&of, dense)) goto done;
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
    free(of.likeness.wide);
    forget_wish(&of.best);
    forget_terms(&of.asked);
    let_go(&views);
    return answer;
}

/* --- values ------------------------------------------------------------------------------------ */

/* A kind of value: its type, and what each of its instances holds besides its fields, as pairs of the descriptor that
   puts it there and what it is. */
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

/* An instance whose fields are given, made without any of its code. The fields become its own. */
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

/* The fields of something that is kept: what it has in common with others, what is its own, and its lists. */
static PyObject *fields_of(PyObject *kept, PyObject *own, Py_ssize_t own_count, PyObject *lists,
                           Py_ssize_t lists_count) {
    if (PyTuple_Size(kept) < own_count + 2) {
        if (!PyErr_Occurred()) damaged("something that is kept lacks parts");
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

/* kept_values(type, beside, own, lists, kept, places) */
static PyObject *kept_values(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count) {
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

/* --- the module -------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {"word_scores", (PyCFunction)(void (*)(void))word_scores, METH_FASTCALL, NULL},
    {"likeness", (PyCFunction)(void (*)(void))likeness, METH_FASTCALL, NULL},
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
    .m_name = "recollect.recall.inner_loops",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit_inner_loops(void) { return PyModuleDef_Init(&definition); }

/* Likeness: the cosine of a query with the vector of every atom. */

#ifndef LONGMIND_VECTORS_H
#define LONGMIND_VECTORS_H

#include "arguments.h"

#include <math.h>
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

/* The sums of wider vectors could exceed 32 bits. */
#define WIDEST (1 << 17)
/* The finer steps in a rough one. */
#define FINER 256
/* The number of products of a byte and a number in finer steps whose sum surely fits 32 bits. */
#define SURELY_SUMMED 256

typedef struct {
    const float *query, *scales;
    const int8_t *rows, *finer;
    Py_ssize_t atoms, width;
    float *found, highest_scale;
    /* The query in finer steps, in rough steps (16 and 8 bits wide), and the value of a rough step. */
    int16_t *steps, *wide;
    int8_t *narrow;
    float scale;
} Likeness;

/* Convert the query to small integers, the form of the vectors of atoms. */
static inline __attribute__((always_inline)) void as_small_integers(Likeness *of) {
    float most = 0.0f;
    for (Py_ssize_t at = 0; at < of->width; at++) {
        float size = fabsf(of->query[at]);
        most = size > most ? size : most;
    }
    of->scale = most / 127.0f;
    const float by = (of->scale > 1e-30f ? of->scale : 1e-30f) / FINER;
    for (Py_ssize_t at = 0; at < of->width; at++) of->steps[at] = (int16_t)rintf(of->query[at] / by);
    for (Py_ssize_t at = 0; at < of->width; at++) of->wide[at] = (int16_t)((of->steps[at] + FINER / 2) >> 8);
}

static void read_query(Likeness *of) { as_small_integers(of); }

static inline __attribute__((always_inline)) void scale_all(const Likeness *of) {
    for (Py_ssize_t atom = 0; atom < of->atoms; atom++) of->found[atom] = of->found[atom] * of->scales[atom] * of->scale;
    /* A scale of zero marks an atom without a vector. */
    for (Py_ssize_t atom = 0; atom < of->atoms; atom++)
        if (of->scales[atom] == 0.0f) of->found[atom] = NAN;
}

static inline __attribute__((always_inline)) void compare_all(Likeness *of) {
    const int16_t *wide = of->wide;
    const Py_ssize_t width = of->width;
    as_small_integers(of);
    for (Py_ssize_t atom = 0; atom < of->atoms; atom++) {
        const int8_t *row = of->rows + atom * width;
        int32_t product = 0;
        for (Py_ssize_t at = 0; at < width; at++) product += (int16_t)row[at] * wide[at];
        of->found[atom] = (float)product;
    }
    scale_all(of);
}

/* Return the exact cosine with one atom. */
static inline __attribute__((always_inline)) double compare_one(const Likeness *of, Py_ssize_t atom) {
    const int8_t *row = of->rows + atom * of->width, *finer = of->finer + atom * of->width;
    const int16_t *steps = of->steps;
    int64_t sum = 0;
    for (Py_ssize_t start = 0; start < of->width; start += SURELY_SUMMED) {
        const Py_ssize_t end = of->width - start < SURELY_SUMMED ? of->width : start + SURELY_SUMMED;
        int32_t rough = 0, fine = 0;
        for (Py_ssize_t at = start; at < end; at++) rough += (int16_t)row[at] * steps[at];
        for (Py_ssize_t at = start; at < end; at++) fine += (int16_t)finer[at] * steps[at];
        sum += (int64_t)rough * FINER + fine;
    }
    return (double)sum * ((double)of->scales[atom] * ((double)of->scale / (FINER * FINER)));
}

typedef void Compare(Likeness *);
typedef double CompareOne(const Likeness *, Py_ssize_t);

static void compare(Likeness *of) { compare_all(of); }
static double compare_finely(const Likeness *of, Py_ssize_t atom) { return compare_one(of, atom); }

/* The same functions for processors with wider instructions, chosen at run time. */
#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) static void compare_in_16s(Likeness *of) { compare_all(of); }
__attribute__((target("avx2"))) static double compare_finely_in_16s(const Likeness *of, Py_ssize_t atom) {
    return compare_one(of, atom);
}

#define FOR_64S "avx512f,avx512bw,avx512vl,avx512vnni"
#define HAS_64S                                                                       \
    (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&       \
     __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni"))
#define HAS_16S __builtin_cpu_supports("avx2")

#define TOGETHER 4

/* Return the four sums of sixteen numbers each. */
__attribute__((target(FOR_64S))) static inline __m128i four_sums(const __m512i *of) {
    __m512i first = _mm512_add_epi32(_mm512_unpacklo_epi32(of[0], of[1]), _mm512_unpackhi_epi32(of[0], of[1]));
    __m512i last = _mm512_add_epi32(_mm512_unpacklo_epi32(of[2], of[3]), _mm512_unpackhi_epi32(of[2], of[3]));
    __m512i all = _mm512_add_epi32(_mm512_unpacklo_epi64(first, last), _mm512_unpackhi_epi64(first, last));
    __m256i half = _mm256_add_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));
    return _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

/* The instruction multiplies unsigned by signed numbers. So 128 is added to each number of a row, by flipping its top
   bit, and the excess is subtracted at the end, which also undoes any wrap at 32 bits. Four rows go together, so that
   their sums are made together. */
__attribute__((target(FOR_64S))) static void compare_in_64s(Likeness *of) {
    const Py_ssize_t width = of->width, last = of->atoms - 1;
    const __m512i highest = _mm512_set1_epi8(-128);
    as_small_integers(of);
    uint32_t too_much = 0;
    for (Py_ssize_t at = 0; at < width; at++) {
        of->narrow[at] = (int8_t)of->wide[at];
        too_much += 128 * (uint32_t)(int32_t)of->wide[at];
    }
    for (Py_ssize_t atom = 0; atom <= last; atom += TOGETHER) {
        const int8_t *rows[TOGETHER];
        __m512i sums[TOGETHER];
        for (int each = 0; each < TOGETHER; each++) {
            /* Beyond the end, repeat the last row. */
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
    scale_all(of);
}
#else
#define compare_in_64s compare
#define compare_in_16s compare
#define compare_finely_in_16s compare_finely
#define HAS_64S 0
#define HAS_16S 0
#endif

static Compare *fastest(void) { return HAS_64S ? compare_in_64s : HAS_16S ? compare_in_16s : compare; }
static CompareOne *fastest_of_one(void) { return HAS_16S ? compare_finely_in_16s : compare_finely; }

/* Return the largest error of approximate likeness; see `measure_largest_error` in `numpy_vectors.py`. */
static double doubt(const Likeness *of) {
    int64_t left = 0;
    for (Py_ssize_t at = 0; at < of->width; at++) {
        int32_t more = of->steps[at] - FINER * of->wide[at];
        left += more * more;
    }
    double of_rows = (double)of->highest_scale * sqrt((double)of->width) / 2;
    double of_query = sqrt((double)left) * (double)of->scale / FINER;
    return (1.001 + sqrt((double)of->width) / 65000) * (of_rows + of_query + of_rows * of_query);
}

/* Return the count of numbers in some vectors, or a negative number if the vectors are too wide. */
static Py_ssize_t vectors_of(Py_ssize_t atoms, Py_ssize_t width) {
    if (width <= WIDEST && (width == 0 || atoms <= PY_SSIZE_T_MAX / width)) return atoms * width;
    damaged("a vector is too wide");
    return -1;
}

static int make_room_for_integers(Likeness *of) {
    of->steps = malloc((2 * sizeof(int16_t) + sizeof(int8_t)) * (size_t)(of->width + 1));
    if (of->steps == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    of->wide = of->steps + of->width + 1;
    of->narrow = (int8_t *)(of->wide + of->width + 1);
    return 1;
}

/* Read a query and the scales of the rows to compare it with. */
static int read_vectors(Likeness *of, Views *held, PyObject *query, PyObject *rows, PyObject *scales) {
    of->atoms = of->width = -1;
    of->query = READ(held, query, float, &of->width);
    of->scales = of->query ? READ(held, scales, float, &of->atoms) : NULL;
    if (of->scales == NULL) return 0;
    Py_ssize_t all = vectors_of(of->atoms, of->width);
    of->rows = all < 0 ? NULL : READ(held, rows, int8_t, &all);
    return of->rows != NULL;
}

/* likeness(query, rows, scales, found) */
static PyObject *likeness(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count) {
    if (!takes(count, 4)) return NULL;
    VIEWS(held, 4);
    PyObject *answer = NULL;
    Likeness of = {0};
    if (!read_vectors(&of, &held, given[0], given[1], given[2])) goto done;
    of.found = WRITE(&held, given[3], float, &of.atoms);
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
    free(of.steps);
    let_go(&held);
    return answer;
}

static void compare_all_finely(Likeness *of, double *found) {
    CompareOne *suited = fastest_of_one();
    read_query(of);
    for (Py_ssize_t atom = 0; atom < of->atoms; atom++)
        found[atom] = of->scales[atom] == 0.0f ? NAN : suited(of, atom);
}

/* fine_likeness(query, rows, finer, scales, found) */
static PyObject *fine_likeness(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count) {
    if (!takes(count, 5)) return NULL;
    VIEWS(held, 5);
    PyObject *answer = NULL;
    Likeness of = {0};
    if (!read_vectors(&of, &held, given[0], given[1], given[3])) goto done;
    Py_ssize_t all = of.atoms * of.width;
    of.finer = READ(&held, given[2], int8_t, &all);
    double *found = of.finer ? WRITE(&held, given[4], double, &of.atoms) : NULL;
    if (found == NULL || !make_room_for_integers(&of)) goto done;
    if (of.atoms < MANY) {
        compare_all_finely(&of, found);
    } else {
        Py_BEGIN_ALLOW_THREADS
        compare_all_finely(&of, found);
        Py_END_ALLOW_THREADS
    }
    answer = Py_NewRef(Py_None);
done:
    free(of.steps);
    let_go(&held);
    return answer;
}

#endif

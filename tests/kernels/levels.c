/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Every function in the table of kernels: all CPU levels write the bytes of base. A function
 * without a case in levels/ makes the test fail. The other programs of this folder compare with
 * what is written independently, on many sizes.
 *
 * `--bench` prints nanoseconds an element at each level, and how many times as fast as base that
 * is; `--bench FILE` also the difference to what it printed before, which FILE contains. */
#include "levels/levels.h"
#include "test.h"
#include "xorshift.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    LEVELS = 3,
    SLOTS = sizeof(hr_kernels) / sizeof(void *),
    ROUNDS = 20,
    ROUND_NS = 100000,
    LINE = 160
};
enum { FIRST = offsetof(hr_kernels, vfilter_u8) / sizeof(void *) };

static _Alignas(64) uint8_t bytes[LEVELS_BYTES + 2 * HR_FIX_ROW_PAD], out[LEVELS_BYTES];
uint8_t *const levels_bytes = bytes + HR_FIX_ROW_PAD, *const levels_out = out;
const hr_kernels *levels_table;
int levels_calls;

static struct {
    const char *member, *what;
    size_t n;
    int level; /* of levels_table */
    double ns[LEVELS];
} now;

static const hr_kernels *levels[LEVELS];
static int level_count;
static const char *names[SLOTS];
static bool bench;
static int wrong;
static char earlier[256][LINE];

/* ---- data ---- */

float *levels_floats(size_t n, float low, float high)
{
    static float memory[8][LEVELS_BYTES / sizeof(float)];
    static int next;
    float *x = memory[next++ % 8];
    for (size_t i = 0; i < n; i++)
        x[i] = low + (high - low) * (float)(rnd() & 0xffffff) * 0x1p-24f;
    return x;
}

/* ---- one case ---- */

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* no luck: a benchmark; the test has no bound */
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

void levels_begin(const char *member, size_t offset, const char *what, size_t n)
{
    names[offset / sizeof(void *)] = member;
    now.member = member;
    now.what = what;
    now.n = n;
    now.level = -1;
}

/* A line of the table: times, how many times as fast as base, and the change since `earlier`. */
static void print_case(void)
{
    char line[LINE];
    double then[LEVELS] = {0};
    size_t at =
        (size_t)snprintf(line, sizeof(line), "%-18s %-22s %6zu", now.member, now.what, now.n);
    for (size_t i = 0; i < HR_COUNT_OF(earlier); i++)
        if (strncmp(earlier[i], line, at) == 0)
            (void)sscanf(earlier[i] + at, "%lf %lf %lf", &then[0], &then[1], &then[2]);
    printf("%s", line);
    for (int l = 0; l < level_count; l++)
        printf(" %9.3f", now.ns[l] / (double)now.n);
    for (int l = 1; l < level_count; l++)
        printf(" %5.1fx", now.ns[0] / now.ns[l]);
    for (int l = 0; l < level_count && then[0] > 0; l++)
        printf(" %+4.0f %%", 100 * (now.ns[l] / (double)now.n / then[l] - 1));
    printf("\n");
}

bool levels_next(void)
{
    if (++now.level < level_count) {
        levels_table = levels[now.level];
        return true;
    }
    if (bench)
        print_case();
    return false;
}

void levels_fill(void *result, size_t size)
{
    memset(result, 0xA5, size);
}

void levels_compare(const void *result, size_t size)
{
    static uint8_t base[LEVELS_BYTES], fill[LEVELS_BYTES];
    levels_fill(fill, size);
    if (now.level == 0)
        memcpy(base, result, size);
    if (memcmp(base, result, size) == 0 && (size == 0 || memcmp(base, fill, size) != 0))
        return;
    printf("%s, %s: %s\n", now.member, now.what,
           now.level == 0 ? "base writes nothing" : levels_table->name);
    wrong++;
}

void levels_require(bool condition, const char *otherwise)
{
    if (!condition)
        printf("%s, %s: %s\n", now.member, now.what, otherwise);
    wrong += !condition;
}

/* Whether the calls are to be timed, once more: the first round finds out how many calls take long
 * enough, and the shortest of the others counts. */
bool levels_time(void)
{
    static int round;
    static double start;
    double end = cpu_ns(), took = round > 0 ? (end - start) / levels_calls : 0;
    if (!bench)
        return false;
    if (round == 0)
        levels_calls = 8;
    else if (round == 1)
        levels_calls = (int)fmin(fmax(ROUND_NS / took, 1), 1e6);
    now.ns[now.level] = round <= 2 ? took : fmin(took, now.ns[now.level]);
    round = round == ROUNDS ? 0 : round + 1;
    start = cpu_ns();
    return round > 0;
}

/* ---- all cases ---- */

static void find_levels(void)
{
    static const hr_cpu_level wanted[] = {HR_CPU_LEVEL_BASE, HR_CPU_LEVEL_V3, HR_CPU_LEVEL_V4};
    for (int i = 0; i < LEVELS; i++) {
        const hr_kernels *k = hr_kernels_get(wanted[i]);
        if (k->level == wanted[i])
            levels[level_count++] = k;
    }
}

static void run_all(void)
{
    find_levels();
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)rnd();
    levels_of_images();
    levels_of_numbers();
    levels_of_codecs();
}

TEST(levels_write_what_base_writes)
{
    run_all();
    CHECK(wrong == 0);
}

TEST(every_kernel_has_a_case)
{
    for (size_t i = FIRST; i < SLOTS; i++) {
        if (!names[i])
            printf("the function after %s in kernels.h\n", i > FIRST ? names[i - 1] : "the name");
        CHECK(names[i]);
    }
}

static void read_earlier(const char *path)
{
    FILE *f = fopen(path, "r");
    for (size_t i = 0; f && i < HR_COUNT_OF(earlier) && fgets(earlier[i], LINE, f); i++)
        ;
    if (f)
        fclose(f);
    else
        perror(path);
}

static int print_table(void)
{
    printf("%-18s %-22s %6s  ns an element: base, v3, v4; times as fast\n", "kernel", "case", "n");
    run_all();
    return 0;
}

int main(int argc, char **argv)
{
    bench = argc > 1 && strcmp(argv[1], "--bench") == 0;
    if (bench && argc > 2)
        read_earlier(argv[2]);
    return bench ? print_table() : test_main(argc > 1 ? argv[1] : NULL);
}

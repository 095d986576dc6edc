/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Gathered rows: every CPU level against base, on images between pages that cannot be read; base
 * itself against bilinear interpolation in double precision. */
#include "test.h"
#include "xorshift.h"

#include "core/dtype.h"
#include "kernels/gather.h"
#include "kernels/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROUNDS = 4000, WIDE = 600, GUARD = 32 };

/* ---- images ---- */

/* Memory of which the byte before the first one, or the one behind the last one, cannot be read. */
typedef struct fenced {
    char *pages, *data;
    size_t length;
} fenced;

static fenced fenced_make(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), middle = (size + page - 1) / page * page;
    fenced f = {.length = middle + 2 * page};
    f.pages = mmap(NULL, f.length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (f.pages == MAP_FAILED || mprotect(f.pages + page, middle, PROT_READ | PROT_WRITE) != 0)
        abort();
    f.data = f.pages + page + (rnd() & 1 ? 0 : middle - size);
    return f;
}

static const hr_dtype types[] = {HR_DTYPE_UINT8, HR_DTYPE_UINT8, HR_DTYPE_UINT8,
                                 HR_DTYPE_INT16, HR_DTYPE_INT32, HR_DTYPE_FLOAT};

static void set_element(void *data, hr_dtype type, size_t i, int32_t v)
{
    if (type == HR_DTYPE_UINT8)
        ((uint8_t *)data)[i] = (uint8_t)v;
    else if (type == HR_DTYPE_INT16)
        ((int16_t *)data)[i] = (int16_t)v;
    else if (type == HR_DTYPE_INT32)
        ((int32_t *)data)[i] = v;
    else
        ((float *)data)[i] = (float)v;
}

/* ---- rows ---- */

enum { LONGEST = 300, STRIDE = LONGEST + 2 * HR_GATHER_MORE };

typedef struct positions {
    float x[HR_GATHER_ROWS * STRIDE], y[HR_GATHER_ROWS * STRIDE];
} positions;

/* Makes the positions of the row, which is one of several that are made at once. */
static void find_positions(hr_gather_row *r, positions *p, hr_cpu_level level)
{
    const int32_t rows = rnd() & 1 ? 1 : HR_GATHER_ROWS;
    const int64_t before = HR_MIN(between(0, rows - 1), r->first[1]);
    const int64_t first[2] = {r->first[0], r->first[1] - before};

    hr_kernels_get(level)->gather_positions(p->x, p->y, STRIDE, rows, r->map, first, r->n);
    r->x = p->x + before * STRIDE;
    r->y = p->y + before * STRIDE;
}

typedef struct gather_case {
    hr_gather_spec gather;
    hr_map map;
    hr_gather_row row;
    fenced src;
} gather_case;

/* Maps near the identity, some with steps halfway between floats, some that are mostly outside, and
 * some at the limits of operators. */
static hr_map random_map(void)
{
    static const float odd[] = {0x1p40f, -0x1p40f, 1e9f, -1e9f, 5e6f, 0x1p22f, -0x1p22f, -0.0f};
    const bool ties = rnd() % 4 == 0;
    hr_map map = {0};
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 2; k++)
            map.m[i][k] = (float)(i == k) + (float)between(-500, 500) / (ties ? 0x1p21f : 1000.0f);
        map.m[i][3] = (float)between(-20, 20);
    }
    if (rnd() % 8 == 0) { /* y is the same along a row: -0.5 for some rows */
        map.m[1][0] = 0.0f;
        map.m[1][1] = 1.0f;
    }
    if (rnd() % 8 == 0)
        map.m[rnd() % 2][3] = odd[rnd() % HR_COUNT_OF(odd)];
    return map;
}

static void case_make(gather_case *t)
{
    static const float fills[] = {0.0f, 17.0f, 99.5f, 300.0f, -5.0f, 1e20f, INFINITY};
    const int32_t width = between(1, rnd() & 1 ? 4 : 60), height = between(1, rnd() & 1 ? 4 : 60);
    const int32_t channels = rnd() & 1 ? 3 : between(1, 5), more = rnd() & 1 ? 0 : between(0, 9);
    const hr_dtype from = types[rnd() % HR_COUNT_OF(types)];
    const size_t stride = (size_t)(width * channels + more);
    const size_t elements = (size_t)(height - 1) * stride + (size_t)(width * channels);

    t->gather = (hr_gather_spec){.axes = 2,
                                 .nearest = rnd() % 3 == 0,
                                 .has_fill = rnd() & 1,
                                 .fill = fills[rnd() % HR_COUNT_OF(fills)],
                                 .in = {width, height, 1},
                                 .out = {WIDE, WIDE, 1}};
    t->map = random_map();
    t->src = fenced_make(elements * hr_dtype_size(from));
    for (size_t i = 0; i < elements; i++)
        set_element(t->src.data, from, i, (int32_t)(rnd() & 255));
    t->row = (hr_gather_row){.gather = &t->gather,
                             .map = &t->map,
                             .src = t->src.data,
                             .step = {channels, (int64_t)stride, 0},
                             .from = from,
                             .to = rnd() & 1 ? from : types[rnd() % HR_COUNT_OF(types)],
                             .channels = channels,
                             .first = {between(0, 20), between(0, 60), 0},
                             .n = between(1, rnd() & 1 ? 20 : LONGEST)};
}

/* Positions are those of gather_position, bit for bit. */
TEST(positions_are_sums)
{
    for (int round = 0; round < ROUNDS; round++) {
        const hr_gather_spec g = {.axes = 2};
        const hr_map map = random_map();
        hr_gather_row row = {
            .map = &map, .first = {between(0, 600), between(0, 60), 0}, .n = between(1, LONGEST)};
        for (hr_cpu_level level = HR_CPU_LEVEL_BASE; level <= HR_CPU_LEVEL_V4; level++) {
            positions p;
            find_positions(&row, &p, level);
            for (int64_t i = 0; i < row.n; i++) {
                const int64_t to[3] = {row.first[0] + i, row.first[1], 0};
                float at[3];
                gather_position(&g, &map, to, at);
                CHECK(memcmp(&at[0], &row.x[i], sizeof(float)) == 0);
                CHECK(memcmp(&at[1], &row.y[i], sizeof(float)) == 0);
            }
        }
    }
}

TEST(levels_agree)
{
    for (int round = 0; round < ROUNDS; round++) {
        gather_case t;
        case_make(&t);
        const size_t elements = (size_t)(t.row.n * t.row.channels);
        const size_t size = elements * hr_dtype_size(t.row.to);
        float *line = malloc(elements * sizeof(float));
        char *base = malloc(size), *out = malloc(size + GUARD);
        positions p;
        find_positions(&t.row, &p, HR_CPU_LEVEL_BASE);
        hr_kernels_get(HR_CPU_LEVEL_BASE)->gather_row(&t.row, line, base);
        for (hr_cpu_level level = HR_CPU_LEVEL_V3; level <= HR_CPU_LEVEL_V4; level++) {
            memset(out, 0xA5, size + GUARD);
            find_positions(&t.row, &p, level);
            hr_kernels_get(level)->gather_row(&t.row, line, out);
            CHECK(memcmp(out, base, size) == 0);
            for (int i = 0; i < GUARD; i++)
                CHECK((unsigned char)out[size + (size_t)i] == 0xA5);
        }
        free(line);
        free(base);
        free(out);
        munmap(t.src.pages, t.src.length);
    }
}

/* ---- volumes: tiles of a row against one pixel after the other ---- */

enum { CUBE = 7, COLOURS = 2, ROW = 75 };

static void volume_map(hr_map *map)
{
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++)
            map->m[i][k] = (float)between(-300, 300) / 1000.0f;
        map->m[i][3] = (float)between(-4, 8) / 2.0f;
    }
    if (rnd() % 4 == 0) /* one axis is the same along a row, for some rows at -0.5 or -0 */
        memset(map->m[2], 0, 3 * sizeof(float));
    if (rnd() % 8 == 0)
        map->m[rnd() % 3][3] = rnd() & 1 ? 0x1p40f : -0x1p40f;
}

static void check_volume(const hr_gather_row *row, const float *src)
{
    float line[ROW * COLOURS], out[ROW * COLOURS], part[3];
    for (hr_cpu_level level = HR_CPU_LEVEL_BASE; level <= HR_CPU_LEVEL_V4; level++) {
        hr_kernels_get(level)->gather_row(row, line, out);
        for (int64_t i = 0; i < row->n; i++) {
            const int64_t to[3] = {row->first[0] + i, row->first[1], row->first[2]};
            int64_t tap[8];
            float p[3];
            gather_position(row->gather, row->map, to, p);
            const int32_t n = gather_taps(row->gather, row->step, p, tap, part);
            for (int c = 0; c < COLOURS; c++) {
                float v[8] = {0};
                for (int k = 0; k < n; k++)
                    v[k] = tap[k] >= 0 ? src[tap[k] + c] : row->gather->fill;
                CHECK(out[i * COLOURS + c] == gather_blend(v, part, n));
            }
        }
    }
}

TEST(volumes)
{
    static float src[CUBE * CUBE * CUBE * COLOURS];
    for (size_t i = 0; i < HR_COUNT_OF(src); i++)
        src[i] = (float)between(-1000, 1000) / 8.0f;
    for (int round = 0; round < ROUNDS / 4; round++) {
        hr_gather_spec g = {.axes = 3,
                            .nearest = rnd() & 1,
                            .has_fill = rnd() & 1,
                            .fill = 3.5f,
                            .in = {between(1, CUBE), between(1, CUBE), between(1, CUBE)},
                            .out = {ROW, ROW, ROW}};
        hr_map map;
        volume_map(&map);
        const hr_gather_row row = {
            .gather = &g,
            .map = &map,
            .src = src,
            .step = {COLOURS, COLOURS * g.in[0], COLOURS * g.in[0] * g.in[1]},
            .from = HR_DTYPE_FLOAT,
            .to = HR_DTYPE_FLOAT,
            .channels = COLOURS,
            .first = {between(0, 9), between(0, 30), between(0, 30)},
            .n = between(1, ROW)};
        check_volume(&row, src);
    }
}

/* ---- values ---- */

/* A plane through the pixels' centres, which interpolation reproduces inside of the image. */
static double plane_at(double x, double y, int32_t c)
{
    return 2.0 * (x - 0.5) + 1.5 * (y - 0.5) + 7.0 * c;
}

TEST(planes_are_reproduced)
{
    enum { SIDE = 48, CHANNELS = 3 };
    static uint8_t src[SIDE * SIDE * CHANNELS];
    for (int i = 0; i < SIDE * SIDE * CHANNELS; i++) {
        int x = i / CHANNELS % SIDE, y = i / CHANNELS / SIDE;
        src[i] = (uint8_t)floor(plane_at(x + 0.5, y + 0.5, i % CHANNELS) + 0.5);
    }
    for (int round = 0; round < ROUNDS; round++) {
        uint8_t out[SIDE * CHANNELS];
        float line[SIDE * CHANNELS];
        hr_gather_spec g = {
            .axes = 2, .nearest = rnd() & 1, .in = {SIDE, SIDE, 1}, .out = {SIDE, SIDE, 1}};
        hr_map map = {{{0.7f, (float)between(-3, 3) * 0.1f, 0.0f, (float)between(0, 99) * 0.1f},
                       {(float)between(-3, 3) * 0.1f, 0.7f, 0.0f, (float)between(0, 99) * 0.1f}}};
        hr_gather_row row = {&g,
                             &map,
                             src,
                             {CHANNELS, SIDE * CHANNELS, 0},
                             HR_DTYPE_UINT8,
                             HR_DTYPE_UINT8,
                             CHANNELS,
                             {0, between(0, SIDE - 1), 0},
                             SIDE,
                             NULL,
                             NULL};
        positions p;
        find_positions(&row, &p, HR_CPU_LEVEL_BASE);
        hr_kernels_get(HR_CPU_LEVEL_BASE)->gather_row(&row, line, out);
        for (int i = 0; i < SIDE * CHANNELS; i++) {
            double at[2], x = i / CHANNELS + 0.5, y = (double)row.first[1] + 0.5;
            for (int k = 0; k < 2; k++) {
                const float *m = map.m[k];
                at[k] = (double)m[0] * x + (double)m[1] * y + (double)m[3];
                at[k] = g.nearest ? floor(at[k] + 1e-4) + 0.5 : at[k];
                at[k] = fmin(fmax(at[k], 0.5), SIDE - 0.5);
            }
            double near = plane_at(at[0], at[1], i % CHANNELS);
            /* A nearest pixel may be the next one where a position is between two. */
            CHECK(fabs(out[i] - near) <= (g.nearest ? 4.01 : 1.01));
        }
    }
}

TEST_MAIN

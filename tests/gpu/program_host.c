/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Runs the GPU's code for image programs on the host and compares it with the CPU's: the bytes are
 * equal, and nothing beyond sources and outputs is written (with a sanitizer: or read). */
#include "gpu/program_cases.h"
#include "gpu/program_serial.h"

/* ---- staging: plain memory of exactly the size asked for ---- */

enum { STAGED_MAX = 16 };

typedef struct plain_staging {
    hr_staging base;
    void *memory[STAGED_MAX];
    int count;
} plain_staging;

static hr_status staging_alloc(hr_staging *s, size_t size, hr_staged *out, hr_error *error)
{
    plain_staging *plain = (plain_staging *)s;
    if (plain->count == STAGED_MAX)
        return hr_fail(error, HR_STATUS_ERROR, "more is staged than the test expects");
    void *memory = malloc(size);
    memset(memory, 0x77, size);
    plain->memory[plain->count++] = memory;
    *out = (hr_staged){memory, memory};
    return HR_STATUS_OK;
}

static void staging_free(plain_staging *plain)
{
    for (int i = 0; i < plain->count; i++)
        free(plain->memory[i]);
    plain->count = 0;
}

/* ---- one program on both ---- */

enum { GUARD = 64 };

static bool guards_hold(const uint8_t *memory, size_t bytes)
{
    for (int i = 0; i < GUARD; i++)
        if (memory[i] != 0xC3 || memory[GUARD + bytes + (size_t)i] != 0xC3)
            return false;
    return true;
}

/* The window as a decoder would store it: exactly its bytes, or rows with padding. */
static void *decode_window(const hr_image_program *p, hr_device_program *d, hr_error *error)
{
    hr_window window;
    if (hr_device_program_window(p, &window, error) != HR_STATUS_OK)
        return NULL;
    size_t row = (size_t)window.w * (size_t)p->channels * hr_dtype_size(p->src_dtype);
    bool roomy = one_in(2);
    size_t stride = roomy ? (row + 15) / 16 * 16 : row;
    size_t size = (size_t)window.h * stride + (roomy ? 16 : 0);
    void *memory = malloc(size > 0 ? size : 1);
    memset(memory, 0xEE, size);
    if (window.h > 0 && window.w > 0 &&
        p->coded.decode(p->coded.context, window, memory, stride, NULL, error) != HR_STATUS_OK) {
        free(memory);
        return NULL;
    }
    d->src = memory;
    if (roomy)
        hr_device_program_set_source(d, memory, (int64_t)stride, (int64_t)size);
    return memory;
}

typedef struct counts {
    int run, kind[HR_DEVICE_KIND_GATHER + 1], store[HR_DEVICE_STORE_COUNT], fill;
} counts;

static hr_status run_record(const hr_image_program *p, uint8_t *out, counts *n, hr_error *error)
{
    plain_staging staging = {{.alloc = staging_alloc, .constant = staging_constant}, {NULL}, 0};
    hr_device_program d;
    void *decoded = NULL;
    HR_TRY(hr_device_program_make(p, &staging.base, &d, error));
    if (p->coded.decode != NULL) {
        decoded = decode_window(p, &d, error);
        if (decoded == NULL)
            return HR_STATUS_ERROR;
    }
    d.dst = out;
    if (d.tiles.shared > HR_DEVICE_SHARED)
        return hr_fail(error, HR_STATUS_ERROR, "a tile of %d bytes", d.tiles.shared);
    hr_serial_program_run(&d, between(1, 7) * 32);
    n->run++;
    n->kind[d.kind]++;
    n->store[d.store]++;
    n->fill += d.fill_tiles > 0;
    free(decoded);
    staging_free(&staging);
    return HR_STATUS_OK;
}

static void describe(const hr_image_program *p)
{
    printf("  %s %lld x %lld x %d of type %d, resample %d (%d x %d, interp %d), out type %d %s, "
           "%d points, normalize %d\n",
           p->src_layout.name, (long long)p->height, (long long)p->width, p->channels,
           (int)p->src_dtype, p->resample, p->y.resample.out, p->x.resample.out,
           (int)p->y.resample.interp, (int)p->dtype, p->layout.name, p->point_count, p->normalize);
}

static bool same_both_ways(const hr_image_program *p, counts *n)
{
    hr_error error = {0};
    hr_tensor want;
    size_t bytes;
    hr_status status = run(p, HR_CPU_LEVEL_AUTO, &want, &error);
    if (status != HR_STATUS_OK) {
        printf("the CPU: %s\n", error.message);
        return false;
    }
    hr_tensor_bytes(&want, &bytes);
    uint8_t *got = malloc(bytes + 2 * GUARD);
    memset(got, 0xC3, bytes + 2 * GUARD);
    memset(got + GUARD, 0x99, bytes);
    status = run_record(p, got + GUARD, n, &error);
    if (status != HR_STATUS_OK)
        printf("the record: %s\n", error.message);
    bool good = status == HR_STATUS_OK && guards_hold(got, bytes) &&
                memcmp(got + GUARD, want.data, bytes) == 0;
    if (!good)
        describe(p);
    free(got);
    free(want.data);
    return good;
}

TEST(records_give_the_cpus_bytes)
{
    counts n = {0};
    hr_error error;
    for (int round = 0; round < 3000; round++) {
        bool coded = one_in(3);
        hr_tensor in = case_source(coded);
        fake_codec codec = {.image = &in, .give_up = -1};
        hr_image_program p;
        CHECK_OK(coded ? from_fake(&p, &codec, &error)
                       : hr_program_from_tensor(&p, &in, NULL, &error),
                 error);
        case_steps(&p);
        bool good = same_both_ways(&p, &n);
        if (!good)
            printf("  round %d\n", round);
        CHECK(good);
        free(in.data);
    }
    for (int kind = 0; kind <= HR_DEVICE_KIND_GATHER; kind++)
        CHECK(n.kind[kind] > (kind == HR_DEVICE_KIND_NONE ? 5 : 200));
    for (int store = 0; store < HR_DEVICE_STORE_COUNT; store++)
        CHECK(n.store[store] > (store == HR_DEVICE_STORE_COLOR ? 40 : 100));
    CHECK(n.fill > 200);
}

/* Filters so long that the columns or vertical weights of a tile do not fit at once. */
TEST(long_filters)
{
    static const hr_dtype types[] = {HR_DTYPE_UINT8, HR_DTYPE_FLOAT, HR_DTYPE_UINT16};
    counts n = {0};
    for (int i = 0; i < 12; i++) {
        hr_error error;
        hr_tensor in = image(types[i % 3], i & 1 ? 9000 : between(300, 900),
                             i & 1 ? 3 : between(2000, 4000), i % 4 == 3 ? 6 : 3);
        hr_resample_axis y = {0,
                              (double)in.shape.extent[0],
                              between(1, 5),
                              i & 2 ? HR_INTERP_LANCZOS3 : HR_INTERP_TRIANGULAR,
                              true,
                              false};
        hr_resample_axis x = y;
        x.hi = (double)in.shape.extent[1];
        x.out = between(1, 40);
        hr_image_program p;
        CHECK_OK(hr_program_from_tensor(&p, &in, NULL, &error), error);
        CHECK_OK(hr_program_resample(&p, &y, &x, in.dtype, &error), error);
        CHECK(same_both_ways(&p, &n));
        free(in.data);
    }
}

/* Outputs are so far apart in the source that the pixels of 16 columns do not fit into a tile. */
TEST(large_downscale_without_antialias)
{
    static const struct {
        int32_t height, width, out_h, out_w;
    } cases[] = {{1, 200000, 224, 224}, {200000, 1, 224, 224}, {6, 8000, 5, 14},
                 {3, 60000, 3, 2},      {2, 200000, 1, 1},     {1, 100000, 1, 99999},
                 {300, 9000, 224, 20}};
    counts n = {0};
    for (size_t i = 0; i < HR_INTERP_COUNT * HR_COUNT_OF(cases); i++) {
        size_t k = i % HR_COUNT_OF(cases);
        hr_error error;
        hr_interp interp = (hr_interp)(i / HR_COUNT_OF(cases) % HR_INTERP_COUNT);
        hr_tensor in = image(HR_DTYPE_UINT8, cases[k].height, cases[k].width, 1 + (int)i % 4);
        hr_resample_axis y = {0, cases[k].height, cases[k].out_h, interp, false, false};
        hr_resample_axis x = {0, cases[k].width, cases[k].out_w, interp, false, false};
        if (one_in(3))
            x = (hr_resample_axis){x.hi, x.lo, x.out, interp, false, false};
        hr_image_program p;
        CHECK_OK(hr_program_from_tensor(&p, &in, NULL, &error), error);
        CHECK_OK(hr_program_resample(&p, &y, &x, in.dtype, &error), error);
        CHECK(same_both_ways(&p, &n));
        free(in.data);
    }
    CHECK(n.kind[HR_DEVICE_KIND_FIXED] > 20);
}

TEST_MAIN

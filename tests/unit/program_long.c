/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Filters of hundreds and thousands of taps give the same bytes as for a float image, whose rows
 * are filtered without a copy, and need little memory. */
#include "program_help.h"

static size_t scratch; /* bytes of the arena after the last run */

static hr_status run_fresh(const hr_image_program *p, hr_tensor *out, hr_error *error)
{
    hr_arena *fresh;
    size_t bytes;
    HR_TRY(hr_arena_create(&fresh, error));
    hr_op_call c = {.arena = fresh, .kernels = hr_kernels_get(HR_CPU_LEVEL_AUTO)};
    hr_program_describe(p, out);
    hr_tensor_bytes(out, &bytes);
    out->data = malloc(bytes);
    hr_status status = hr_program_run(p, &c, out->data, error);
    scratch = hr_arena_size(fresh);
    hr_arena_destroy(fresh);
    return status;
}

/* The same image in float. */
static hr_tensor as_floats(const hr_tensor *in)
{
    hr_tensor out = tensor_alloc(HR_DTYPE_FLOAT, in->layout.name, in->shape.extent);
    size_t n;
    hr_shape_volume(&in->shape, &n);
    hr_convert(out.data, HR_DTYPE_FLOAT, in->data, in->dtype, n);
    return out;
}

static bool finish(hr_image_program *p, hr_resample_axis y, hr_resample_axis x, bool mirror)
{
    hr_error error;
    return hr_program_resample(p, &y, &x, HR_DTYPE_FLOAT, &error) == HR_STATUS_OK &&
           hr_program_flip(p, false, mirror, false, &error) == HR_STATUS_OK;
}

/* The axes of round i: whole, a region, mirrored, and a region so far outside the image that all
 * outputs read nearly the same rows. */
static void axes_of(int i, const hr_tensor *in, hr_resample_axis *y, hr_resample_axis *x)
{
    hr_interp interp = i % 3 == 0   ? HR_INTERP_TRIANGULAR
                       : i % 3 == 1 ? HR_INTERP_LANCZOS3
                                    : HR_INTERP_CUBIC;
    double h = (double)in->shape.extent[0], w = (double)in->shape.extent[1];
    *y = (hr_resample_axis){0, h, between(1, 6), interp, true, false};
    *x = (hr_resample_axis){0, w, between(1, 30), interp, true, false};
    if (i % 4 == 1)
        y->lo = h * 0.3;
    if (i % 4 == 2)
        *y = (hr_resample_axis){h, 0, 3, interp, true, false};
    if (i % 4 == 3)
        *y = (hr_resample_axis){-20 * h, 20 * h, 60, interp, true, false};
}

TEST(sums_are_those_of_the_filter)
{
    static const hr_dtype types[] = {HR_DTYPE_UINT8, HR_DTYPE_INT16, HR_DTYPE_UINT16};
    for (int i = 0; i < 48; i++) {
        hr_error error;
        hr_image_program p, q;
        hr_resample_axis y, x;
        hr_tensor got, want, in = image(types[i / 2 % 3], between(600, 900), between(300, 900), 3);
        hr_tensor floats = as_floats(&in);
        bool mirror = i % 5 == 4;
        fake_codec codec = {.image = &in, .by_rows = i % 2 == 0, .give_up = i % 7 == 6 ? 99 : -1};
        axes_of(i, &in, &y, &x);
        CHECK_OK(i % 3 < 2 ? from_fake(&p, &codec, &error)
                           : hr_program_from_tensor(&p, &in, "HWC", &error),
                 error);
        CHECK_OK(hr_program_from_tensor(&q, &floats, "HWC", &error), error);
        CHECK(finish(&p, y, x, mirror) && finish(&q, y, x, mirror));
        CHECK_OK(run_fresh(&p, &got, &error), error);
        CHECK_OK(run_fresh(&q, &want, &error), error);
        CHECK(same(&got, &want));
        free(got.data);
        free(want.data);
        free(in.data);
        free(floats.data);
    }
}

TEST(images_one_after_the_other)
{
    hr_error error;
    hr_image_program p, q;
    hr_tensor got, want;
    hr_tensor in = tensor_make(HR_DTYPE_UINT8, "FHWC", (int64_t[]){3, 700, 800, 3});
    hr_tensor floats = as_floats(&in);
    hr_resample_axis y = {0, 700, 3, HR_INTERP_TRIANGULAR, true, false}, x = {0, 800, 5, y.interp};
    CHECK_OK(hr_program_from_tensor(&p, &in, NULL, &error), error);
    CHECK_OK(hr_program_from_tensor(&q, &floats, NULL, &error), error);
    CHECK(finish(&p, y, x, false) && finish(&q, y, x, false));
    CHECK_OK(run_fresh(&p, &got, &error), error);
    CHECK_OK(run_fresh(&q, &want, &error), error);
    CHECK(same(&got, &want));
    free(got.data);
    free(want.data);
    free(in.data);
    free(floats.data);
}

/* 3,000 rows to 4: storing all rows that a filter spans would take 1,500 rows of floats, 45 MB. */
TEST(scratch_does_not_grow_with_the_filter)
{
    for (int i = 0; i < 4; i++) {
        hr_error error;
        hr_image_program p;
        hr_tensor out, in = image(HR_DTYPE_UINT8, 3000, 2500, 3);
        fake_codec codec = {.image = &in, .by_rows = true, .give_up = -1};
        hr_resample_axis y = {0, 3000, 4, i & 1 ? HR_INTERP_LANCZOS3 : HR_INTERP_TRIANGULAR, true};
        hr_resample_axis x = {0, 2500, 4, y.interp, true, false};
        CHECK_OK(i & 2 ? from_fake(&p, &codec, &error)
                       : hr_program_from_tensor(&p, &in, "HWC", &error),
                 error);
        CHECK_OK(hr_program_resample(&p, &y, &x, HR_DTYPE_UINT8, &error), error);
        CHECK_OK(run_fresh(&p, &out, &error), error);
        CHECK(scratch < 4u << 20);
        free(out.data);
        free(in.data);
    }
}

/* 60 outputs that all read nearly the same 3,000 rows of a coded image: the rows take 22 MB. */
TEST(scratch_does_not_grow_where_many_outputs_share_rows)
{
    hr_error error;
    hr_image_program p;
    hr_tensor out, in = image(HR_DTYPE_UINT8, 3000, 2500, 3);
    fake_codec codec = {.image = &in, .by_rows = true, .give_up = -1};
    hr_resample_axis y = {-60000, 60000, 60, HR_INTERP_TRIANGULAR, true, false};
    hr_resample_axis x = {0, 2500, 4, HR_INTERP_TRIANGULAR, true, false};
    CHECK_OK(from_fake(&p, &codec, &error), error);
    CHECK_OK(hr_program_resample(&p, &y, &x, HR_DTYPE_UINT8, &error), error);
    CHECK_OK(run_fresh(&p, &out, &error), error);
    CHECK(scratch < 16u << 20);
    free(out.data);
    free(in.data);
}

TEST_MAIN

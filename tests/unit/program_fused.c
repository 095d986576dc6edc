/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Image programs over coded sources, and random chains: fused programs against one step at a time,
 * on every CPU level. */
#include "unit/program_help.h"

TEST(only_what_the_window_needs_is_decoded)
{
    hr_error error;
    hr_tensor in = image(HR_DTYPE_UINT8, 512, 512, 3), out;
    fake_codec codec = {.image = &in};
    hr_resample_axis axis = {0, 512, 256, HR_INTERP_TRIANGULAR, true, false};
    hr_image_program p;
    CHECK_OK(from_fake(&p, &codec, &error), error);
    CHECK_OK(hr_program_resample(&p, &axis, &axis, HR_DTYPE_UINT8, &error), error);
    CHECK_OK(hr_program_crop(&p, (hr_window){16, 16, 224, 224}, NULL, 0, &error), error);
    CHECK_OK(run(&p, HR_CPU_LEVEL_AUTO, &out, &error), error);
    /* 448 pixels, and one more on either side for the filter */
    CHECK(codec.calls == 1 && codec.last.y == 31 && codec.last.h == 450);
    CHECK(codec.last.x == 31 && codec.last.w == 450);
    free(out.data);
    /* A program that only decodes writes directly into the output. */
    CHECK_OK(from_fake(&p, &codec, &error), error);
    CHECK_OK(hr_program_crop(&p, (hr_window){100, 7, 30, 40}, NULL, 0, &error), error);
    CHECK_OK(run(&p, HR_CPU_LEVEL_AUTO, &out, &error), error);
    CHECK(codec.calls == 2 && codec.last.y == 100 && codec.last.x == 7);
    CHECK(codec.last.h == 30 && codec.last.w == 40);
    CHECK(memcmp(out.data, (char *)in.data + (100 * 512 + 7) * 3, 40 * 3) == 0);
    free(in.data);
    free(out.data);
}

TEST(rows_come_once_and_in_order)
{
    hr_error error;
    hr_tensor in = image(HR_DTYPE_UINT8, 300, 200, 3), want, got;
    hr_resample_axis y = {0, 300, 120, HR_INTERP_CUBIC, true, false},
                     x = {0, 200, 90, HR_INTERP_CUBIC, true, false};
    for (int64_t give_up = -1; give_up < 300; give_up += 37) {
        fake_codec whole = {.image = &in}, rows = {&in, .by_rows = true, .give_up = give_up};
        hr_image_program p;
        CHECK_OK(from_fake(&p, &whole, &error), error);
        CHECK_OK(hr_program_resample(&p, &y, &x, HR_DTYPE_UINT8, &error), error);
        CHECK_OK(run(&p, HR_CPU_LEVEL_AUTO, &want, &error), error);
        CHECK_OK(from_fake(&p, &rows, &error), error);
        CHECK_OK(hr_program_resample(&p, &y, &x, HR_DTYPE_UINT8, &error), error);
        CHECK_OK(run(&p, HR_CPU_LEVEL_AUTO, &got, &error), error);
        CHECK(same(&want, &got));
        CHECK(rows.calls == (give_up < 0 ? 1 : 2)); /* opened, and decoded whole after giving up */
        CHECK(give_up >= 0 || rows.row == 300);
        free(want.data);
        free(got.data);
    }
    free(in.data);
}

/* ---- fused against one step at a time ---- */

typedef enum step_kind {
    CROP,
    CROP_FILL,
    CROP_OUTER,
    FLIP,
    RESAMPLE,
    GATHER,
    CAST,
    MATRIX,
    TABLE,
    AFFINE,
    NORMALIZE,
    OUTPUT,
    KINDS
} step_kind;

typedef struct step {
    step_kind kind;
    hr_window window;
    int64_t depth[2]; /* start and count */
    float fill[4];
    int32_t fill_count, pad;
    bool flip[3];
    hr_resample_axis y, x;
    hr_gather_spec gather;
    hr_map maps[MAPS_MAX];
    int32_t map_count;
    hr_point_step point;
    hr_matrix matrices[MAPS_MAX];
    float mean[4], mul[4];
    hr_dtype dtype;
    char layout[HR_MAX_NDIM + 1];
} step;

static void random_output(step *s, const hr_tensor *t)
{
    const char *choices[] = {"HWC", "CHW", "FHWC", "FCHW", "DHWC", "CDHW"};
    strcpy(s->layout, t->layout.name);
    for (int tries = 0; tries < 4; tries++) {
        const char *pick = choices[rnd() % 6];
        bool fits = strlen(pick) == strlen(t->layout.name);
        for (const char *at = pick; *at != '\0'; at++)
            fits = fits && strchr(t->layout.name, *at) != NULL;
        if (fits)
            strcpy(s->layout, pick);
    }
    s->pad = rnd() % 3 == 0 ? (int32_t)extent_of(t, 'C') + 1 : 0;
}

/* A random step that the image `t` allows. */
static step random_step(const hr_tensor *t)
{
    static const hr_dtype casts[] = {HR_DTYPE_UINT8, HR_DTYPE_FLOAT, HR_DTYPE_INT16,
                                     HR_DTYPE_INT32};
    static const hr_dtype norms[] = {HR_DTYPE_FLOAT, HR_DTYPE_FLOAT16, HR_DTYPE_UINT8,
                                     HR_DTYPE_INT8};
    step s = {.kind = (step_kind)(rnd() % KINDS)};
    int32_t h = (int32_t)extent_of(t, 'H'), w = (int32_t)extent_of(t, 'W');
    s.window.h = between(1, h);
    s.window.w = between(1, w);
    s.window.y = between(0, h - (int32_t)s.window.h);
    s.window.x = between(0, w - (int32_t)s.window.w);
    if (s.kind == CROP_FILL)
        s.window = (hr_window){between(-6, h), between(-6, w), between(1, 50), between(1, 50)};
    s.depth[0] = between(-2, (int32_t)extent_of(t, 'D'));
    s.depth[1] = between(1, 6);
    s.fill_count = rnd() & 1 ? 1 : (int32_t)extent_of(t, 'C');
    for (int c = 0; c < 4; c++) {
        s.fill[c] = (float)between(-100, 300) / 3;
        s.mean[c] = (float)(unit() * 200);
        s.mul[c] = (float)(unit() * 3);
    }
    for (int i = 0; i < 3; i++)
        s.flip[i] = rnd() & 1;
    hr_interp interp = (hr_interp)(rnd() % HR_INTERP_COUNT);
    s.y = random_axis(h, interp);
    s.x = random_axis(w, rnd() % 4 ? interp : HR_INTERP_NN);
    s.gather = random_gather(hr_layout_find(&t->layout, 'D') >= 0);
    s.map_count = rnd() & 1 ? 1 : (int32_t)extent_of(t, 'F');
    for (int i = 0; i < MAPS_MAX; i++)
        s.maps[i] = random_map();
    s.point.kind = s.kind == MATRIX   ? HR_POINT_KIND_MATRIX
                   : s.kind == TABLE  ? HR_POINT_KIND_TABLE
                   : s.kind == AFFINE ? HR_POINT_KIND_AFFINE
                   : rnd() & 1        ? HR_POINT_KIND_CAST
                                      : HR_POINT_KIND_CUT;
    s.point.dtype = casts[rnd() & 1 ? 0 : rnd() % 4];
    s.point.matrix = random_matrix((int32_t)HR_MIN(extent_of(t, 'C'), HR_MATRIX_MAX));
    s.point.table = random_table(s.point.dtype);
    for (int i = 0; i < MAPS_MAX; i++) {
        s.matrices[i] = random_matrix(s.point.matrix.in);
        s.matrices[i].out = s.point.matrix.out;
    }
    s.point.frames = hr_layout_find(&t->layout, 'F') >= 0 && s.kind != TABLE && rnd() & 1
                         ? (int32_t)extent_of(t, 'F')
                         : 0;
    s.dtype = s.kind == RESAMPLE || s.kind == GATHER ? (rnd() % 4 ? t->dtype : HR_DTYPE_FLOAT)
                                                     : norms[rnd() % 4];
    random_output(&s, t);
    return s;
}

static hr_status add_step(hr_image_program *p, const step *s, hr_error *error)
{
    hr_point_step point = s->point;
    point.matrices = s->matrices;
    switch (s->kind) {
    case CROP:
        return hr_program_crop(p, s->window, NULL, 0, error);
    case CROP_FILL:
        return hr_program_crop(p, s->window, s->fill, s->fill_count, error);
    case CROP_OUTER:
        return hr_program_crop_outer(p, 'D', s->depth[0], s->depth[1], s->fill, s->fill_count,
                                     error);
    case FLIP:
        return hr_program_flip(p, s->flip[0], s->flip[1], s->flip[2], error);
    case RESAMPLE:
        return hr_program_resample(p, &s->y, &s->x, s->dtype, error);
    case GATHER:
        return hr_program_gather(p, &s->gather, s->maps, s->map_count, s->dtype, error);
    case CAST:
    case MATRIX:
    case TABLE:
    case AFFINE:
        return hr_program_point(p, &point, error);
    case NORMALIZE:
        return hr_program_normalize(p, s->mean, s->mul, s->fill_count, s->dtype, error);
    default:
        return hr_program_output(p, s->layout, s->pad, s->fill, 1, error);
    }
}

/* Runs the chain so far and continues from its result, which replaces `*held`. */
static hr_status cut(hr_image_program *p, hr_tensor *held, hr_cpu_level level, hr_error *error)
{
    hr_tensor next;
    HR_TRY(run(p, level, &next, error));
    free(held->data);
    *held = next;
    return hr_program_from_tensor(p, held, NULL, error);
}

enum { STEPS_MAX = 6 };

/* Builds a chain step by step and runs each step; returns its length and the result. */
static int build_chain(step *chain, const hr_tensor *in, hr_tensor *out, hr_error *error)
{
    int count = 0, wanted = between(1, STEPS_MAX);
    hr_tensor now = *in, next;
    for (int tries = 0; tries < 30 && count < wanted; tries++) {
        hr_image_program p;
        step s = random_step(&now);
        if (extent_of(&now, 'C') > 4 ||
            hr_program_from_tensor(&p, &now, NULL, error) != HR_STATUS_OK ||
            add_step(&p, &s, error) != HR_STATUS_OK)
            continue;
        if (run(&p, HR_CPU_LEVEL_BASE, &next, error) != HR_STATUS_OK)
            return -1;
        if (now.data != in->data)
            free(now.data);
        now = next;
        chain[count++] = s;
    }
    *out = now;
    return count;
}

typedef enum coding { PLAIN, CODED, CODED_ROWS, CODED_ROWS_BROKEN, CODINGS } coding;

/* Runs the same chain, cut only where a step cannot be fused, and counts the cuts. A refused step
 * must leave the program unchanged. */
static hr_status run_fused(const step *chain, int count, hr_tensor *in, coding coded,
                           hr_cpu_level level, hr_tensor *out, int *cuts, hr_error *error)
{
    hr_image_program p, before;
    fake_codec codec = {.image = in,
                        .by_rows = coded >= CODED_ROWS,
                        .give_up = coded == CODED_ROWS_BROKEN ? (int64_t)(rnd() % 20) : -1};
    hr_tensor held = {.data = NULL};
    HR_TRY(coded != PLAIN ? from_fake(&p, &codec, error)
                          : hr_program_from_tensor(&p, in, NULL, error));
    for (int i = 0; i < count; i++) {
        memcpy(&before, &p, sizeof(p));
        hr_status status = add_step(&p, &chain[i], error);
        if (status == HR_STATUS_NOT_FUSABLE) {
            if (memcmp(&before, &p, sizeof(p)) != 0)
                return hr_fail(error, HR_STATUS_ERROR, "a refused step changed the program");
            *cuts += 1;
            HR_TRY(cut(&p, &held, level, error));
            status = add_step(&p, &chain[i], error);
        }
        HR_TRY(status);
    }
    HR_TRY(run(&p, level, out, error));
    free(held.data);
    return HR_STATUS_OK;
}

TEST(fused_is_unfused_on_every_level)
{
    static const hr_cpu_level levels[] = {HR_CPU_LEVEL_BASE, HR_CPU_LEVEL_V3, HR_CPU_LEVEL_V4};
    static const hr_dtype types[] = {HR_DTYPE_UINT8, HR_DTYPE_UINT8, HR_DTYPE_FLOAT,
                                     HR_DTYPE_INT16};
    int cuts = 0, steps = 0;
    hr_error error = {0};
    for (int round = 0; round < 1500; round++) {
        hr_dtype dtype = types[rnd() % 4];
        coding coded = (coding)(rnd() % CODINGS);
        hr_tensor in = coded != PLAIN ? image(dtype, between(1, 60), between(1, 60), between(1, 4))
                                      : random_tensor(dtype);
        hr_tensor want = in, got;
        step chain[STEPS_MAX];
        int count = build_chain(chain, &in, &want, &error);
        if (count < 0)
            printf("step by step: %s\n", error.message);
        CHECK(count >= 0);
        steps += count;
        for (int l = 0; l < 3 && count > 0; l++) {
            CHECK_OK(run_fused(chain, count, &in, coded, levels[l], &got, &cuts, &error), error);
            if (!same(&want, &got))
                for (int i = 0; i < count; i++)
                    printf("round %d level %d: step %d is of kind %d\n", round, l, i,
                           chain[i].kind);
            CHECK(same(&want, &got));
            free(got.data);
        }
        if (want.data != in.data)
            free(want.data);
        free(in.data);
    }
    CHECK(steps > 3000 && cuts > 500 &&
          cuts < 3 * steps / 2); /* both fusing and cuts were frequent */
}

TEST_MAIN

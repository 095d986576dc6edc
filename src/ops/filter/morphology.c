/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "ops/filter/morphology.h"
#include "ops/common/word.h"

#define PER_FRAME (HR_ARG_PER_SAMPLE | HR_ARG_PER_FRAME | HR_ARG_SCALAR_OK)

const hr_arg_def hr__morphology_arg_defs[] = {
    HR_ARG(hr_morphology_args, mask_size, INTS, PER_FRAME, "[3, 3]",
           "Width and height of the window; one number stands for both. -1 means 3."),
    HR_ARG(hr_morphology_args, anchor, INTS, PER_FRAME, "[-1, -1]",
           "Column and row of the pixel within its window; one number stands for both. -1: the "
           "middle, extent // 2."),
    HR_ARG(hr_morphology_args, iterations, INT, 0, "1",
           "How often the operation is applied. Each time after the first one makes the window "
           "(width - 1, height - 1) larger.",
           .min = 0, .max = INT32_MAX),
    HR_ARG(hr_morphology_args, border_mode, STRING, 0, "\"constant\"",
           "Pixels outside the image: \"constant\" (they do not count), \"replicate\" "
           "(aaa|abcd|ddd), \"reflect\" (cba|abcd|dcb), \"reflect_101\" (dcb|abcd|cba) or \"wrap\" "
           "(bcd|abcd|abc)."),
    HR_ARG_END};

/* In the order of hr_border. */
static const char *const border_names[HR_BORDER_COUNT] = {"constant", "replicate", "reflect",
                                                          "reflect_101", "wrap"};

hr_status hr__morphology_check(const void *args, const hr_given *given, hr_error *error)
{
    const hr_morphology_args *a = args;

    (void)given;
    if (hr__find_word(a->border_mode, border_names, HR_BORDER_COUNT) < 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "unknown `border_mode` \"%s\"; use constant, replicate, reflect, "
                       "reflect_101 or wrap",
                       a->border_mode);
    return HR_STATUS_OK;
}

/* How far the window reaches before and after its pixel along an axis of `extent` pixels. Further
 * than twice the extent, it meets no new pixel, whatever the border. */
static hr_status reach_along(int32_t size, int32_t anchor, int32_t iterations, int64_t extent,
                             int64_t *before, int64_t *after, hr_error *error)
{
    if (size == -1)
        size = 3;
    if (size < 1)
        return hr_fail(error, HR_STATUS_ERROR, "`mask_size` is %d; it must be positive", (int)size);
    if (anchor < -1 || anchor >= size)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`anchor` is %d, which is outside a window of %d pixels", (int)anchor,
                       (int)size);
    int64_t to_left = (int64_t)(anchor == -1 ? size / 2 : anchor) * iterations;
    int64_t whole = (int64_t)(size - 1) * iterations;
    *before = HR_MIN(to_left, 2 * extent);
    *after = HR_MIN(whole - to_left, 2 * extent);
    return HR_STATUS_OK;
}

hr_status hr__morphology_infer(hr_op_call *c, hr_window_kind kind, hr_error *error)
{
    const hr_morphology_args *a = c->args;
    int32_t count = HR_MAX(HR_MAX(a->mask_size.frames, a->anchor.frames), 1);
    int32_t border = hr__find_word(a->border_mode, border_names, HR_BORDER_COUNT);
    hr_windows *m;
    hr_reach *reach;
    hr_data_axes axes;

    HR_TRY(hr__windows_infer(c, kind, (hr_border)border, count, &m, &reach, &axes, error));
    int64_t frames = axes.frames ? c->in[0].shape.extent[0] : 1;
    HR_TRY(hr__frame_count_check("mask_size", a->mask_size.frames, &axes, frames, error));
    HR_TRY(hr__frame_count_check("anchor", a->anchor.frames, &axes, frames, error));
    for (int32_t i = 0; i < count; i++) {
        const hr_ints size = hr__frame_ints(a->mask_size, i);
        const hr_ints anchor = hr__frame_ints(a->anchor, i);
        HR_TRY(hr__axis_count_check("mask_size", size.n, 2, error));
        HR_TRY(hr__axis_count_check("anchor", anchor.n, 2, error));
        HR_TRY(reach_along(size.v[0], anchor.v[0], a->iterations, m->width, &reach[i].left,
                           &reach[i].right, error));
        HR_TRY(reach_along(size.v[size.n - 1], anchor.v[anchor.n - 1], a->iterations, m->height,
                           &reach[i].up, &reach[i].down, error));
    }
    return HR_STATUS_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What the colour operators share. */
#include "ops/color/color.h"
#include "ops/geometry/frames.h"

#include <string.h>

static bool is_supported(hr_dtype t, bool half)
{
    return t == HR_DTYPE_UINT8 || t == HR_DTYPE_INT16 || t == HR_DTYPE_INT32 ||
           t == HR_DTYPE_FLOAT || (half && t == HR_DTYPE_FLOAT16);
}

hr_status hr__color_types(const hr_image_program *p, int32_t dtype, bool half, hr_dtype *out,
                          hr_error *error)
{
    hr_dtype in = hr_program_dtype(p);
    hr_layout layout;

    HR_TRY(hr_layout_match("HWC|FHWC|DHWC", &p->layout, (int32_t)strlen(p->layout.name), &layout,
                           error));
    *out = dtype == HR_DTYPE_NONE ? in : (hr_dtype)dtype;
    if (is_supported(in, half) && is_supported(*out, half))
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "from %s to %s is not supported; input and output must be UINT8, INT16, INT32%s "
                   "or FLOAT",
                   hr_dtype_name(in), hr_dtype_name(*out), half ? ", FLOAT16" : "");
}

static hr_status count_frames(const hr_op_call *c, const hr_image_program *p,
                              const hr_color_arg *args, int32_t n, int32_t *count, hr_error *error)
{
    bool sequence = hr_program_has(p, 'F');
    hr_frames frames = {.count = sequence ? hr_program_extent(p, 'F') : 1};

    *count = 0;
    for (int32_t i = 0; i < n; i++) {
        const hr_floats list = args[i].list;
        if (list.n != 1 && list.v && list.frames != list.n)
            return hr_fail(error, HR_STATUS_ERROR,
                           "`%s` has %d elements; it must be a number, or have one per frame "
                           "(use fn.per_frame)",
                           args[i].name, (int)list.n);
        HR_TRY(hr__frames_join_argument(&frames, c, list, args[i].name, error));
        if (list.frames > 1)
            *count = list.frames;
    }
    return HR_STATUS_OK;
}

hr_status hr__color_matrices(hr_op_call *c, const hr_image_program *p, const hr_color_arg *args,
                             int32_t n, hr_point_step *step, hr_matrix **matrices, hr_error *error)
{
    HR_TRY(count_frames(c, p, args, n, &step->frames, error));
    *matrices =
        hr_arena_alloc(c->arena, (size_t)HR_MAX(step->frames, 1) * sizeof(**matrices), error);
    return *matrices ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

float hr__color_value(hr_floats list, int64_t frame, float absent)
{
    return list.v && list.n > 0 ? list.v[list.n == 1 ? 0 : frame] : absent;
}

hr_status hr__color_add(hr_image_program *p, hr_point_step *step, const hr_matrix *matrices,
                        hr_error *error)
{
    step->matrix = matrices[0];
    step->matrices = matrices;
    return hr_program_point(p, step, error);
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Output sizes: modes, limits, rounding, and the region that is resampled. */
#include "ops/image/resize_size.h"

#include <math.h>

#include "core/mathx.h"

#define LEAST_SIZE 0.1    /* pixels; DALI moves the ends of a region for at least this size */
#define LEAST_REGION 1e-3 /* pixels; smaller regions are widened to it around their centre */

/* One scale for all axes. Sizes are signed and not rounded yet; extent[i] > 0. */
static void choose_scaled(const hr_resize_request *q, const double *extent, double *size)
{
    double scale = 0.0;

    for (int32_t i = 0; i < q->axes; i++) {
        if (size[i] == 0.0)
            continue;
        double s = fabs(size[i]) / extent[i];
        bool better = q->mode == HR_RESIZE_MODE_NOT_SMALLER ? s > scale : s < scale;
        if (scale == 0.0 || better)
            scale = s;
    }
    for (int32_t i = 0; i < q->axes; i++) {
        if (q->max_size[i] > 0.0f)
            scale = HR_MIN(scale, (double)q->max_size[i] / extent[i]);
    }
    for (int32_t i = 0; i < q->axes; i++)
        size[i] = copysign(extent[i] * scale, size[i]);
}

/* A scale for each axis. */
static void choose_separate(const hr_resize_request *q, const double *extent, double *size,
                            int32_t given)
{
    double scale = 1.0;

    if (q->mode == HR_RESIZE_MODE_DEFAULT) {
        for (int32_t i = 0; i < q->axes; i++)
            scale *= size[i] != 0.0 ? fabs(size[i]) / extent[i] : 1.0;
        /* The other axes take the geometric mean. */
        if (given == 2)
            scale = sqrt(scale);
        else if (given > 2)
            scale = hr_pow(scale, 1.0 / given);
    }
    for (int32_t i = 0; i < q->axes; i++) {
        if (size[i] == 0.0)
            size[i] = extent[i] * scale;
        if (q->max_size[i] > 0.0f && fabs(size[i]) > (double)q->max_size[i])
            size[i] = copysign((double)q->max_size[i], size[i]);
    }
}

static hr_status finish_axis(const hr_resize_request *q, int32_t i, double lo, double hi,
                             double size, hr_resample_axis *axis, hr_error *error)
{
    double wanted = fabs((double)(float)size);
    double rounded = q->rounding == HR_RESIZE_ROUNDING_DOWN ? floor(wanted)
                     : q->rounding == HR_RESIZE_ROUNDING_UP ? -floor(-wanted)
                                                            : hr_round(wanted);

    if (!(wanted < 2147483000.0))
        return hr_fail(error, HR_STATUS_ERROR, "an output size of %g pixels is too large", wanted);
    rounded = rounded < 1.0 ? 1.0 : rounded;
    axis->out = (int32_t)rounded;
    if (q->subpixel && rounded != wanted && wanted > 0.0) {
        double grow = rounded / HR_MAX(wanted, LEAST_SIZE);
        /* A mirrored region starts at its higher end. */
        double off = (double)(size < 0.0 ? -q->off_centre[i] : q->off_centre[i]);
        double middle = (lo + hi) * 0.5 + off * (hi - lo);
        lo = middle + (lo - middle) * grow;
        hi = middle + (hi - middle) * grow;
    }
    axis->lo = size < 0.0 ? hi : lo;
    axis->hi = size < 0.0 ? lo : hi;
    return HR_STATUS_OK;
}

hr_status hr__resize_solve(const hr_resize_request *q, hr_resample_axis *axis, hr_error *error)
{
    double lo[HR_RESIZE_MAX_AXES], hi[HR_RESIZE_MAX_AXES];
    double extent[HR_RESIZE_MAX_AXES], size[HR_RESIZE_MAX_AXES];
    int32_t given = 0;

    for (int32_t i = 0; i < q->axes; i++) {
        bool mirrored = q->hi[i] < q->lo[i];
        if (!(isfinite(q->lo[i]) && isfinite(q->hi[i]) && isfinite(q->size[i])))
            return hr_fail(error, HR_STATUS_ERROR, "sizes and regions must be finite numbers");
        lo[i] = (double)(mirrored ? q->hi[i] : q->lo[i]);
        hi[i] = (double)(mirrored ? q->lo[i] : q->hi[i]);
        if (hi[i] - lo[i] < LEAST_REGION) {
            double middle = (lo[i] + hi[i]) * 0.5;
            lo[i] = middle - LEAST_REGION / 2;
            hi[i] = middle + LEAST_REGION / 2;
        }
        extent[i] = hi[i] - lo[i];
        size[i] = mirrored ? (double)-q->size[i] : (double)q->size[i];
        given += q->size[i] != 0.0f;
    }
    if (given > 0 &&
        (q->mode == HR_RESIZE_MODE_NOT_LARGER || q->mode == HR_RESIZE_MODE_NOT_SMALLER))
        choose_scaled(q, extent, size);
    else
        choose_separate(q, extent, size, given);
    for (int32_t i = 0; i < q->axes; i++)
        HR_TRY(finish_axis(q, i, lo[i], hi[i], size[i], &axis[i], error));
    return HR_STATUS_OK;
}

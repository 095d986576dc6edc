/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Random windows: area and aspect ratio within ranges, by rejection, with a deterministic fallback.
 */
#include "ops/image/random_window.h"

#include <math.h>

typedef struct ranges {
    double area_min, area_max, ratio_min, ratio_max;
} ranges;

static hr_status ranges_check(const hr_random_window_args *args, ranges *r, hr_error *error)
{
    const float *area = args->random_area.v, *ratio = args->random_aspect_ratio.v;

    *r = (ranges){(double)area[0], (double)area[1], (double)ratio[0], (double)ratio[1]};
    if (!(r->area_min > 0.0 && r->area_min <= r->area_max && r->area_max < INFINITY))
        return hr_fail(error, HR_STATUS_ERROR,
                       "`random_area` is [%g, %g]; it must be a range of positive numbers",
                       r->area_min, r->area_max);
    if (!(r->ratio_min > 0.0 && r->ratio_min <= r->ratio_max && r->ratio_max < INFINITY))
        return hr_fail(error, HR_STATUS_ERROR,
                       "`random_aspect_ratio` is [%g, %g]; it must be a range of positive numbers",
                       r->ratio_min, r->ratio_max);
    return HR_STATUS_OK;
}

/* One attempt. false if the window is larger than the image, or outside the ratios after
 * rounding. */
static bool draw(const ranges *r, const hr_rng *rng, int64_t attempt, hr_window *window,
                 double height, double width)
{
    uint64_t k = (uint64_t)attempt * 4;
    double area = r->area_min + hr_rng_unit(rng, k) * (r->area_max - r->area_min);
    double low = hr_log(r->ratio_min), high = hr_log(r->ratio_max);
    double ratio = hr_exp(low + hr_rng_unit(rng, k + 1) * (high - low));

    area *= height * width;
    double w = hr_round(sqrt(area * ratio)), h = hr_round(sqrt(area / ratio));
    w = w < 1.0 ? 1.0 : w;
    h = h < 1.0 ? 1.0 : h;
    if (w > width || h > height || w / h < r->ratio_min || w / h > r->ratio_max)
        return false;
    window->w = (int64_t)w;
    window->h = (int64_t)h;
    return true;
}

/* The largest window with an allowed ratio, reduced to the largest allowed area. */
static void fall_back(const ranges *r, hr_window *window, double height, double width)
{
    double w = width, h = height;

    if (w > h * r->ratio_max)
        w = h * r->ratio_max;
    else if (w < h * r->ratio_min)
        h = w / r->ratio_min;
    double area = w * h; /* 0: the image has no pixels */
    double scale = area > 0.0 ? sqrt(HR_MIN(1.0, r->area_max * width * height / area)) : 0.0;
    window->w = (int64_t)HR_MIN(w * scale, width);
    window->h = (int64_t)HR_MIN(h * scale, height);
}

hr_status hr__random_window(const hr_random_window_args *args, const hr_rng *rng, int64_t height,
                            int64_t width, hr_window *window, hr_error *error)
{
    const uint64_t counter = (uint64_t)1 << 32;
    ranges r;

    HR_TRY(ranges_check(args, &r, error));
    double h = (double)height, w = (double)width, least = r.area_min * h * w;
    double widest = floor(h * r.ratio_max), tallest = floor(w / r.ratio_min);
    if (h * widest < least && widest <= w) {
        *window = (hr_window){.h = height, .w = (int64_t)widest};
    } else if (w * tallest < least && tallest <= h) {
        *window = (hr_window){.h = (int64_t)tallest, .w = width};
    } else {
        int64_t attempts = height > 0 && width > 0 ? args->num_attempts : 0; /* else none can fit */
        bool found = false;
        for (int64_t i = 0; i < attempts && !found; i++)
            found = draw(&r, rng, i, window, h, w);
        if (!found)
            fall_back(&r, window, h, w);
    }
    window->w = HR_MIN(HR_MAX(window->w, 1), width);
    window->h = HR_MIN(HR_MAX(window->h, 1), height);
    window->y = hr_rng_below(rng, counter, height - window->h + 1);
    window->x = hr_rng_below(rng, counter + 2, width - window->w + 1);
    return HR_STATUS_OK;
}

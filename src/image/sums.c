/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "image/sums.h"

#include "core/core.h"

int32_t hr__sums_overlap(const int32_t *start, int32_t taps, int32_t count)
{
    int32_t most = 1;
    for (int32_t o = 0, end = 0; o < count; o++) {
        while (end < count && (int64_t)start[end] < (int64_t)start[o] + taps + HR_SUMS_ROWS)
            end++;
        most = HR_MAX(most, end - o);
    }
    return most;
}

hr_status hr__sums_init(hr_sums *s, hr_arena *arena, hr_error *error)
{
    size_t rows = HR_SUMS_ROWS + 2 * (size_t)s->slots, bytes;
    if (!hr_size_mul(s->n, rows * sizeof(float), &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "a row buffer does not fit in memory");
    s->rows = hr_arena_alloc(arena, bytes, error);
    s->sum = hr_arena_alloc(arena, 2 * (size_t)s->slots * sizeof(*s->sum), error);
    if (s->rows == NULL || s->sum == NULL)
        return HR_STATUS_NO_MEMORY;
    s->other = s->sum + s->slots;
    float *at = s->rows + HR_SUMS_ROWS * s->n;
    for (int32_t i = 0; i < s->slots; i++, at += 2 * s->n) {
        s->sum[i] = at;
        s->other[i] = at + s->n;
    }
    return HR_STATUS_OK;
}

void hr__sums_restart(hr_sums *s, int32_t output)
{
    s->first = output;
    s->next = s->start[output];
}

/* Adds rows to output o. The sum so far is passed as a tap of weight 1, which changes nothing. */
static void add_to(hr_sums *s, int32_t o, const float *const *rows, int32_t count)
{
    const float *list[HR_SUMS_ROWS + 1];
    float weight[HR_SUMS_ROWS + 1];
    int32_t slot = o % s->slots, n = 0;
    int64_t k = s->next - s->start[o]; /* the tap of the first row */
    int32_t from = (int32_t)HR_MAX(-k, 0), to = (int32_t)HR_MIN(s->taps - k, count);
    if (from >= to)
        return;
    if (k > 0) {
        list[n] = s->sum[slot];
        weight[n++] = 1.0f;
    }
    for (int32_t i = from; i < to; i++) {
        list[n] = rows[i];
        weight[n++] = s->coef[(size_t)o * (size_t)s->taps + (size_t)(k + i)];
    }
    s->kernels->vfilter_f32(s->other[slot], list, weight, n, s->n);
    float *swap = s->sum[slot];
    s->sum[slot] = s->other[slot];
    s->other[slot] = swap;
}

void hr__sums_add(hr_sums *s, const float *const *rows, int32_t count)
{
    int32_t end = (int32_t)HR_MIN((int64_t)s->first + s->slots, s->count);
    for (int32_t o = s->first; o < end; o++)
        add_to(s, o, rows, count);
    s->next += count;
}

const float *hr__sums_take(hr_sums *s)
{
    return s->sum[s->first++ % s->slots];
}

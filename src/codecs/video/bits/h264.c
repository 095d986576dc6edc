/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* NAL units of H.264 (ITU-T H.264, 7.3 and 8.2.1). */
#include <string.h>

#include "codecs/video/bits/rbsp.h"
#include "codecs/video/bits/units.h"

enum {
    SLICE = 1,
    SLICE_PART = 2,
    SLICE_IDR = 5,
    SEI = 6,
    SPS = 7,
    PPS = 8,
    DELIMITER = 9,
    SEI_RECOVERY = 6,
    I_SLICE = 2, /* types of slices, modulo 5 */
    SI_SLICE = 4,
    MOST_SAMPLES = 1 << 20 /* macroblocks in a row or column, so that products do not overflow */
};

static void skip_scaling_list(hr_rbsp *r, int32_t size)
{
    int32_t last = 8, next = 8;
    for (int32_t i = 0; i < size && !r->over; i++) {
        if (next != 0)
            next = (last + hr__rbsp_se(r) % 256 + 256) & 255;
        last = next == 0 ? last : next;
    }
}

static bool has_chroma_format(uint32_t profile)
{
    static const uint8_t profiles[] = {100, 110, 122, 244, 44,  83, 86,
                                       118, 128, 138, 139, 134, 135};
    return memchr(profiles, (int)profile, sizeof(profiles)) != NULL;
}

/* Returns chroma_format_idc. */
static uint32_t read_format(hr_rbsp *r, hr_unit_sps *s)
{
    uint32_t format = hr__rbsp_ue(r);
    if (format == 3)
        s->separate_planes = hr__rbsp_bit(r);
    hr__rbsp_ue(r);
    hr__rbsp_ue(r);
    hr__rbsp_skip(r, 1);
    if (hr__rbsp_bit(r))
        for (int32_t i = 0; i < (format == 3 ? 12 : 8); i++)
            if (hr__rbsp_bit(r))
                skip_scaling_list(r, i < 6 ? 16 : 64);
    return format;
}

static bool read_order(hr_rbsp *r, hr_unit_sps *s)
{
    uint32_t number_bits = hr__rbsp_ue(r), type = hr__rbsp_ue(r);
    if (number_bits > 12 || type > 2)
        return false;
    s->number_bits = (int32_t)number_bits + 4;
    s->order_type = (int32_t)type;
    if (type == 0) {
        uint32_t bits = hr__rbsp_ue(r);
        s->order_bits = (int32_t)HR_MIN(bits, 12) + 4;
        return bits <= 12;
    }
    if (type == 1) {
        s->no_deltas = hr__rbsp_bit(r);
        s->not_reference = hr__rbsp_se(r);
        s->top_to_bottom = hr__rbsp_se(r);
        uint32_t cycle = hr__rbsp_ue(r);
        if (cycle > HR_COUNT_OF(s->cycle_offsets))
            return false;
        s->cycle = (int32_t)cycle;
        for (int32_t i = 0; i < s->cycle; i++)
            s->cycle_offsets[i] = hr__rbsp_se(r);
    }
    return true;
}

static void read_rate(hr_units *u, hr_rbsp *r)
{
    hr__rbsp_skip_colors(r);
    if (!hr__rbsp_bit(r))
        return;
    uint32_t unit = hr__rbsp_bits(r, 32), scale = hr__rbsp_bits(r, 32); /* for fields */
    if (r->over || unit == 0 || scale == 0 || (scale % 2 != 0 && unit > UINT32_MAX / 2))
        return;
    u->rate_num = scale % 2 ? scale : scale / 2;
    u->rate_den = scale % 2 ? 2 * unit : unit;
}

static void read_size(hr_units *u, hr_rbsp *r, const hr_unit_sps *s, uint32_t format)
{
    static const uint8_t unit_x[] = {1, 2, 2, 1}, unit_y[] = {1, 2, 1, 1};
    uint32_t crop[4] = {0}; /* left, right, top, bottom */
    uint32_t width = hr__rbsp_ue(r), height = hr__rbsp_ue(r);
    bool frames_only = hr__rbsp_bit(r);
    hr__rbsp_skip(r, frames_only ? 1 : 2);
    if (hr__rbsp_bit(r))
        for (int32_t i = 0; i < 4; i++)
            crop[i] = hr__rbsp_ue(r);
    if (r->over || width >= MOST_SAMPLES || height >= MOST_SAMPLES || format > 3)
        return;
    int32_t chroma = s->separate_planes ? 0 : (int32_t)format;
    int32_t lines = frames_only ? 1 : 2;
    int64_t w = 16 * ((int64_t)width + 1) - unit_x[chroma] * ((int64_t)crop[0] + crop[1]);
    int64_t h = 16 * ((int64_t)height + 1) * lines -
                (int64_t)unit_y[chroma] * lines * ((int64_t)crop[2] + crop[3]);
    if (w < 1 || h < 1)
        return;
    u->width = (int32_t)w;
    u->height = (int32_t)h;
}

static void read_sps(hr_units *u, hr_rbsp r)
{
    hr_unit_sps s = {.known = true};
    uint32_t profile = hr__rbsp_bits(&r, 8);
    hr__rbsp_skip(&r, 16);
    uint32_t id = hr__rbsp_ue(&r), format = has_chroma_format(profile) ? read_format(&r, &s) : 1;
    bool valid = read_order(&r, &s);
    hr__rbsp_ue(&r);
    hr__rbsp_skip(&r, 1);
    hr_rbsp size = r;
    hr__rbsp_ue(&r);
    hr__rbsp_ue(&r);
    s.frames_only = hr__rbsp_bit(&r);
    if (r.over || !valid || id >= HR_UNIT_SETS)
        return;
    u->sps[id] = s;
    if (u->width > 0)
        return;
    read_size(u, &size, &s, format);
    if (hr__rbsp_bit(&size))
        read_rate(u, &size);
}

static void read_pps(hr_units *u, hr_rbsp r)
{
    uint32_t id = hr__rbsp_ue(&r), sps = hr__rbsp_ue(&r);
    hr__rbsp_skip(&r, 1);
    bool both = hr__rbsp_bit(&r);
    if (!r.over && id < HR_COUNT_OF(u->pps) && sps < HR_UNIT_SETS)
        u->pps[id] = (hr_unit_pps){.known = true, .flag = both, .sps = (uint8_t)sps};
}

/* Reads the message about a point of recovery, if a unit has one. */
static void read_recovery(hr_rbsp r, hr_unit_recovery *out)
{
    while (!r.over && r.at < r.end) {
        uint32_t type = 0, size = 0, byte;
        do
            type += byte = hr__rbsp_bits(&r, 8);
        while (byte == 255);
        do
            size += byte = hr__rbsp_bits(&r, 8);
        while (byte == 255);
        if (type == SEI_RECOVERY) {
            hr_unit_recovery found = {.known = true};
            found.count = hr__rbsp_ue(&r);
            found.exact = hr__rbsp_bit(&r);
            *out = r.over ? *out : found;
            return;
        }
        for (uint32_t i = 0; i < size && !r.over; i++)
            hr__rbsp_skip(&r, 8);
    }
}

/* Whether all pictures are exact that are shown from this one on. */
static bool is_key(bool idr, const hr_unit_recovery *recovery)
{
    return idr || (recovery->known && recovery->exact && recovery->count == 0);
}

static bool read_slice(const hr_units *u, hr_rbsp r, hr_unit_slice *h)
{
    hr__rbsp_ue(&r);
    const uint32_t type = hr__rbsp_ue(&r);
    h->intra = type % 5 == I_SLICE || type % 5 == SI_SLICE;
    h->pps = hr__rbsp_ue(&r);
    if (h->pps >= HR_COUNT_OF(u->pps) || !u->pps[h->pps].known || !u->sps[u->pps[h->pps].sps].known)
        return false;
    const hr_unit_pps *pps = &u->pps[h->pps];
    const hr_unit_sps *sps = &u->sps[pps->sps];
    hr__rbsp_skip(&r, sps->separate_planes ? 2 : 0);
    h->number = hr__rbsp_bits(&r, sps->number_bits);
    h->field = !sps->frames_only && hr__rbsp_bit(&r);
    h->bottom = h->field && hr__rbsp_bit(&r);
    if (h->idr)
        h->idr_id = hr__rbsp_ue(&r);
    bool both = pps->flag && !h->field;
    if (sps->order_type == 0) {
        h->order_low = hr__rbsp_bits(&r, sps->order_bits);
        h->delta_bottom = both ? hr__rbsp_se(&r) : 0;
    } else if (sps->order_type == 1 && !sps->no_deltas) {
        h->delta[0] = hr__rbsp_se(&r);
        h->delta[1] = both ? hr__rbsp_se(&r) : 0;
    }
    return !r.over;
}

static bool is_same_picture(const hr_unit_slice *a, const hr_unit_slice *b)
{
    return a->pps == b->pps && a->number == b->number && a->idr == b->idr &&
           a->idr_id == b->idr_id && a->reference == b->reference && a->field == b->field &&
           a->bottom == b->bottom && a->order_low == b->order_low &&
           a->delta_bottom == b->delta_bottom && a->delta[0] == b->delta[0] &&
           a->delta[1] == b->delta[1];
}

/* Orders with the low bits in the slices. */
static int64_t order_of_low_bits(hr_units *u, const hr_unit_sps *s, const hr_unit_slice *h)
{
    int64_t range = (int64_t)1 << s->order_bits, low = h->order_low, high = u->high;
    if (h->idr)
        u->high = u->low = high = 0;
    if (low < u->low && u->low - low >= range / 2)
        high += range;
    else if (low > u->low && low - u->low > range / 2)
        high -= range;
    if (h->reference) {
        u->high = high;
        u->low = low;
    }
    return high + low + HR_MIN(h->delta_bottom, 0);
}

/* Orders that follow from the number of the picture. */
static int64_t order_of_number(hr_units *u, const hr_unit_sps *s, const hr_unit_slice *h)
{
    if (h->idr)
        u->offsets = 0;
    else if (u->number > h->number)
        u->offsets += (int64_t)1 << s->number_bits;
    u->number = h->number;
    int64_t number = HR_MIN(u->offsets + h->number, INT32_MAX);
    if (s->order_type == 2)
        return 2 * number - !h->reference;
    int64_t sum = 0, order = 0;
    for (int32_t i = 0; i < s->cycle; i++)
        sum += s->cycle_offsets[i];
    number = s->cycle > 0 ? number - (!h->reference && number > 0) : 0;
    if (number > 0) {
        order = (number - 1) / s->cycle * (sum % ((int64_t)1 << 31));
        for (int32_t i = 0; i <= (number - 1) % s->cycle; i++)
            order += s->cycle_offsets[i];
    }
    order += h->reference ? 0 : s->not_reference;
    if (h->bottom)
        return order + s->top_to_bottom + h->delta[0];
    int64_t top = order + h->delta[0];
    return h->field ? top : top + HR_MIN((int64_t)s->top_to_bottom + h->delta[1], 0);
}

/* How decoding can begin at a picture, and whether it ends a refresh that began before. */
static int32_t flags_of(hr_units *u, const hr_unit_sps *s, const hr_unit_slice *h,
                        const hr_unit_recovery *recovery)
{
    const uint32_t range = (uint32_t)1 << s->number_bits;
    int32_t flags = h->intra ? HR_VIDEO_PACKET_INTRA : 0;
    if (is_key(h->idr, recovery)) {
        u->refreshing = false;
        return flags | HR_VIDEO_PACKET_KEY;
    }
    if (recovery->known && recovery->count < range) {
        flags |= HR_VIDEO_PACKET_REFRESH;
        if (!u->refreshing || (u->refreshed - h->number) % range > recovery->count)
            u->refreshed = (h->number + recovery->count) % range;
        u->refreshing = true;
    }
    if (u->refreshing && h->reference && h->number == u->refreshed) {
        u->refreshing = false;
        flags |= HR_VIDEO_PACKET_REFRESHED;
    }
    return flags;
}

static hr_unit_kind slice_unit(hr_units *u, const uint8_t *unit, size_t size)
{
    hr_unit_slice h = {.idr = (unit[0] & 31) == SLICE_IDR, .reference = (unit[0] & 0x60) != 0};
    const hr_unit_slice *last = &u->slice;
    const hr_unit_recovery recovery = u->recovery;
    u->recovery = (hr_unit_recovery){0};
    if (!read_slice(u, hr__rbsp_of(unit + 1, size - 1), &h))
        return HR_UNIT_SLICE;
    if (u->begun && is_same_picture(&h, last))
        return HR_UNIT_SLICE;
    bool second = u->begun && !u->paired && h.field && last->field && h.bottom != last->bottom &&
                  h.number == last->number && !h.idr && (last->reference || !h.reference);
    const hr_unit_sps *sps = &u->sps[u->pps[h.pps].sps];
    int64_t order =
        sps->order_type == 0 ? order_of_low_bits(u, sps, &h) : order_of_number(u, sps, &h);
    u->slice = h;
    u->paired = second;
    if (second)
        return HR_UNIT_SLICE;
    u->picture =
        (hr_unit_picture){.order = order, .reset = h.idr, .flags = flags_of(u, sps, &h, &recovery)};
    return HR_UNIT_PICTURE;
}

bool hr__h264_is_odd(const uint8_t *unit)
{
    return (unit[0] & 0x80) || (unit[0] & 31) == 0;
}

int32_t hr__h264_flags(const uint8_t *unit, size_t size, hr_unit_recovery *recovery)
{
    const int32_t type = unit[0] & 31;
    if (type == SEI && !recovery->known)
        read_recovery(hr__rbsp_of(unit + 1, size - 1), recovery);
    if (type != SLICE && type != SLICE_PART && type != SLICE_IDR)
        return -1;
    return is_key(type == SLICE_IDR, recovery) ? HR_VIDEO_PACKET_KEY : 0;
}

hr_unit_kind hr__h264_unit(hr_units *u, const uint8_t *unit, size_t size, bool *parameters)
{
    int32_t type = unit[0] & 31;
    hr_rbsp r = hr__rbsp_of(unit + 1, size - 1);
    switch (type) {
    case SLICE:
    case SLICE_PART:
    case SLICE_IDR:
        return slice_unit(u, unit, size);
    case SPS:
        read_sps(u, r);
        *parameters = true;
        return HR_UNIT_PREFIX;
    case PPS:
        read_pps(u, r);
        *parameters = true;
        return HR_UNIT_PREFIX;
    case SEI:
        if (!u->recovery.known)
            read_recovery(r, &u->recovery);
        return HR_UNIT_PREFIX;
    case DELIMITER:
        return HR_UNIT_PREFIX;
    default:
        return type >= 13 && type <= 18 ? HR_UNIT_PREFIX : HR_UNIT_OTHER;
    }
}

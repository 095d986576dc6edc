/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* NAL units of HEVC (ITU-T H.265, 7.3 and 8.3.1). */
#include "codecs/video/bits/rbsp.h"
#include "codecs/video/bits/units.h"

enum {
    RADL = 6, /* and 7: leading pictures that can be decoded */
    RASL = 8, /* and 9: leading pictures that need the group before */
    BLA = 16, /* the first of the keys, to 18 */
    IDR = 19, /* and 20 */
    CRA = 21,
    LAST_KEY = 23,
    VPS = 32,
    SPS = 33,
    PPS = 34,
    DELIMITER = 35,
    END_OF_SEQUENCE = 36,
    END_OF_STREAM = 37,
    SEI = 39,
    MOST_LAYERS = 7,
    MOST_REFERENCES = 64, /* sets of them */
    MOST_SIZE = 1 << 24
};

static void skip_levels(hr_rbsp *r, uint32_t layers)
{
    bool profile[MOST_LAYERS + 1] = {0}, level[MOST_LAYERS + 1] = {0};
    hr__rbsp_skip(r, 96);
    for (uint32_t i = 0; i < layers; i++) {
        profile[i] = hr__rbsp_bit(r);
        level[i] = hr__rbsp_bit(r);
    }
    hr__rbsp_skip(r, layers > 0 ? 2 * (int32_t)(8 - layers) : 0);
    for (uint32_t i = 0; i < layers; i++)
        hr__rbsp_skip(r, (profile[i] ? 88 : 0) + (level[i] ? 8 : 0));
}

static void skip_scaling_lists(hr_rbsp *r)
{
    for (int32_t size = 0; size < 4; size++)
        for (int32_t matrix = 0; matrix < 6 && !r->over; matrix += size == 3 ? 3 : 1) {
            if (!hr__rbsp_bit(r)) {
                hr__rbsp_ue(r);
                continue;
            }
            int32_t count = HR_MIN(64, 1 << (4 + 2 * size)) + (size > 1 ? 1 : 0);
            for (int32_t i = 0; i < count && !r->over; i++)
                hr__rbsp_se(r);
        }
}

/* A set of references that is described by the one before it, of `previous` pictures. */
static uint32_t skip_predicted_set(hr_rbsp *r, uint32_t previous)
{
    uint32_t count = 0;
    hr__rbsp_skip(r, 1);
    hr__rbsp_ue(r);
    for (uint32_t i = 0; i <= previous && !r->over; i++)
        if (hr__rbsp_bit(r) || hr__rbsp_bit(r))
            count++;
    return count;
}

static void skip_reference_sets(hr_rbsp *r)
{
    uint32_t sets = hr__rbsp_ue(r), count = 0;
    if (sets > MOST_REFERENCES)
        r->over = true;
    for (uint32_t i = 0; i < sets && !r->over; i++) {
        if (i > 0 && hr__rbsp_bit(r)) {
            count = skip_predicted_set(r, count);
            continue;
        }
        uint32_t before = hr__rbsp_ue(r), after = hr__rbsp_ue(r);
        if (before > 16 || after > 16)
            r->over = true;
        count = r->over ? 0 : before + after;
        for (uint32_t k = 0; k < count; k++) {
            hr__rbsp_ue(r);
            hr__rbsp_skip(r, 1);
        }
    }
}

static void read_size(hr_units *u, hr_rbsp *r, const hr_unit_sps *s, uint32_t format)
{
    uint32_t crop[4] = {0}; /* left, right, top, bottom */
    uint32_t width = hr__rbsp_ue(r), height = hr__rbsp_ue(r);
    if (hr__rbsp_bit(r))
        for (int32_t i = 0; i < 4; i++)
            crop[i] = hr__rbsp_ue(r);
    if (r->over || width > MOST_SIZE || height > MOST_SIZE || u->width > 0)
        return;
    bool halved = !s->separate_planes && (format == 1 || format == 2);
    int64_t w = (int64_t)width - (halved ? 2 : 1) * ((int64_t)crop[0] + crop[1]);
    int64_t h = (int64_t)height - (halved && format == 1 ? 2 : 1) * ((int64_t)crop[2] + crop[3]);
    if (w < 1 || h < 1)
        return;
    u->width = (int32_t)w;
    u->height = (int32_t)h;
}

/* What follows the parts that slices depend on, up to the frames per second. */
static void read_rate(hr_units *u, hr_rbsp *r, uint32_t layers, int32_t order_bits)
{
    for (uint32_t i = hr__rbsp_bit(r) ? 0 : layers; i <= layers; i++)
        for (int32_t k = 0; k < 3; k++)
            hr__rbsp_ue(r);
    for (int32_t i = 0; i < 6; i++) /* sizes of blocks */
        hr__rbsp_ue(r);
    if (hr__rbsp_bit(r) && hr__rbsp_bit(r))
        skip_scaling_lists(r);
    hr__rbsp_skip(r, 2);
    if (hr__rbsp_bit(r)) { /* PCM */
        hr__rbsp_skip(r, 8);
        hr__rbsp_ue(r);
        hr__rbsp_ue(r);
        hr__rbsp_skip(r, 1);
    }
    skip_reference_sets(r);
    if (hr__rbsp_bit(r))
        for (uint32_t i = 0, n = hr__rbsp_ue(r); i < n && !r->over; i++)
            hr__rbsp_skip(r, order_bits + 1);
    hr__rbsp_skip(r, 2);
    if (!hr__rbsp_bit(r))
        return;
    hr__rbsp_skip_colors(r);
    hr__rbsp_skip(r, 3);
    if (hr__rbsp_bit(r)) /* the window that is shown */
        for (int32_t i = 0; i < 4; i++)
            hr__rbsp_ue(r);
    if (!hr__rbsp_bit(r))
        return;
    uint32_t unit = hr__rbsp_bits(r, 32), scale = hr__rbsp_bits(r, 32);
    if (r->over || u->rate_num > 0)
        return;
    u->rate_num = scale;
    u->rate_den = unit;
}

static void read_sps(hr_units *u, hr_rbsp r)
{
    hr_unit_sps s = {.known = true};
    hr__rbsp_skip(&r, 4);
    uint32_t layers = hr__rbsp_bits(&r, 3);
    hr__rbsp_skip(&r, 1);
    skip_levels(&r, HR_MIN(layers, MOST_LAYERS));
    uint32_t id = hr__rbsp_ue(&r), format = hr__rbsp_ue(&r);
    if (format == 3)
        s.separate_planes = hr__rbsp_bit(&r);
    read_size(u, &r, &s, format);
    hr__rbsp_ue(&r);
    hr__rbsp_ue(&r);
    uint32_t bits = hr__rbsp_ue(&r);
    if (r.over || id >= HR_UNIT_SETS || bits > 12)
        return;
    s.order_bits = (int32_t)bits + 4;
    u->sps[id] = s;
    read_rate(u, &r, layers, s.order_bits);
}

static void read_pps(hr_units *u, hr_rbsp r)
{
    uint32_t id = hr__rbsp_ue(&r), sps = hr__rbsp_ue(&r);
    hr__rbsp_skip(&r, 1);
    bool output = hr__rbsp_bit(&r);
    uint32_t extra = hr__rbsp_bits(&r, 3);
    if (!r.over && id < HR_UNIT_SETS && sps < HR_UNIT_SETS)
        u->pps[id] = (hr_unit_pps){true, output, (uint8_t)sps, (uint8_t)extra};
}

static int64_t order_of(hr_units *u, int32_t type, int32_t layer, int64_t low, int32_t bits,
                        bool reset)
{
    int64_t range = (int64_t)1 << bits, high = reset ? 0 : u->high;
    if (!reset && low < u->low && u->low - low >= range / 2)
        high += range;
    else if (!reset && low > u->low && low - u->low > range / 2)
        high -= range;
    bool leading = type >= RADL && type <= RASL + 1, unneeded = type < BLA && type % 2 == 0;
    if (layer == 0 && !leading && !unneeded) {
        u->high = high;
        u->low = low;
    }
    return high + low;
}

static hr_unit_kind slice_unit(hr_units *u, int32_t type, int32_t layer, hr_rbsp r)
{
    const bool key = type >= BLA && type <= LAST_KEY, idr = type == IDR || type == IDR + 1;
    if (!hr__rbsp_bit(&r))
        return HR_UNIT_SLICE;
    hr__rbsp_skip(&r, key ? 1 : 0);
    uint32_t id = hr__rbsp_ue(&r);
    if (id >= HR_UNIT_SETS || !u->pps[id].known || !u->sps[u->pps[id].sps].known)
        return HR_UNIT_SLICE;
    const hr_unit_pps *pps = &u->pps[id];
    const hr_unit_sps *sps = &u->sps[pps->sps];
    hr__rbsp_skip(&r, pps->extra_bits);
    hr__rbsp_ue(&r);
    bool shown = !pps->flag || hr__rbsp_bit(&r);
    hr__rbsp_skip(&r, sps->separate_planes ? 2 : 0);
    int64_t low = idr ? 0 : hr__rbsp_bits(&r, sps->order_bits);
    bool reset = key && (type < CRA || u->ended);
    if (key) {
        u->dropped = reset;
        u->ended = false;
    }
    u->picture = (hr_unit_picture){.order = order_of(u, type, layer, low, sps->order_bits, reset),
                                   .reset = reset};
    if (key)
        u->picture.flags |= HR_VIDEO_PACKET_KEY;
    if (!shown || ((type == RASL || type == RASL + 1) && u->dropped))
        u->picture.flags |= HR_VIDEO_PACKET_HIDDEN;
    if (type == RADL || type == RADL + 1)
        u->picture.flags |= HR_VIDEO_PACKET_DECODABLE;
    return HR_UNIT_PICTURE;
}

bool hr__hevc_is_odd(const uint8_t *unit, size_t size)
{
    return size < 2 || (unit[0] & 0x80) || (unit[1] & 7) == 0;
}

int32_t hr__hevc_flags(const uint8_t *unit, size_t size)
{
    const int32_t type = unit[0] >> 1 & 63;
    if (size < 3 || (unit[0] & 1) || unit[1] >> 3 != 0)
        return -1;
    if (type >= BLA && type <= CRA)
        return HR_VIDEO_PACKET_KEY;
    if (type == RADL || type == RADL + 1)
        return HR_VIDEO_PACKET_DECODABLE;
    return type < VPS ? 0 : -1;
}

hr_unit_kind hr__hevc_unit(hr_units *u, const uint8_t *unit, size_t size, bool *parameters)
{
    if (size < 3)
        return HR_UNIT_OTHER;
    int32_t type = unit[0] >> 1 & 63, layer = (unit[1] & 7) - 1;
    bool enhancement = (unit[0] & 1) || unit[1] >> 3 != 0;
    hr_rbsp r = hr__rbsp_of(unit + 2, size - 2);
    if (enhancement)
        return HR_UNIT_OTHER;
    if (type < VPS)
        u->layers = HR_MAX(u->layers, layer + 1);
    if (type < VPS)
        return type <= RASL + 1 || (type >= BLA && type <= CRA) ? slice_unit(u, type, layer, r)
                                                                : HR_UNIT_OTHER;
    if (type == SPS)
        read_sps(u, r);
    if (type == PPS)
        read_pps(u, r);
    if (type == END_OF_SEQUENCE || type == END_OF_STREAM)
        u->ended = true;
    *parameters = type >= VPS && type <= PPS;
    bool prefix = type <= DELIMITER || type == SEI || (type >= 41 && type <= 44) ||
                  (type >= 48 && type <= 55);
    return prefix ? HR_UNIT_PREFIX : HR_UNIT_OTHER;
}

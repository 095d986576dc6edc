/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/video/bits/av1.h"

#include "codecs/video/bits/rbsp.h"

enum {
    CONFIG = 4, /* bytes of an av1C in front of its units */
    KEY = 0,    /* types of frames */
    INTRA = 2,
    SWITCH = 3,
    SELECT = 2 /* frames say it themselves */
};

/* The parts of a sequence header that frame headers depend on. */
typedef struct sequence {
    bool frame_ids;
    int32_t id_bits, order_bits;
    int32_t screen_content, integer_vectors; /* 0, 1 or SELECT */
} sequence;

bool hr__av1_next(const uint8_t **at, size_t *left, hr_av1_unit *unit)
{
    if (*left == 0)
        return false;
    const uint8_t *p = *at, *end = *at + *left;
    const bool extended = *p & 4, sized = *p & 2;
    uint64_t length = 0;
    unit->type = *p >> 3 & 15;
    p += HR_MIN(extended ? 2 : 1, end - p);
    for (int32_t i = 0; sized && i < 8 && p < end; i++) {
        length |= (uint64_t)(*p & 127) << (7 * i);
        if (!(*p++ & 128))
            break;
    }
    size_t rest = (size_t)(end - p);
    unit->bytes = p;
    unit->size = sized ? (size_t)HR_MIN(length, (uint64_t)rest) : rest;
    *at = p + unit->size;
    *left = rest - unit->size;
    return true;
}

/* ---- the sequence header ---- */

static void skip_operating_points(hr_rbsp *r)
{
    const bool delays = hr__rbsp_bit(r);
    const uint32_t count = hr__rbsp_bits(r, 5) + 1;
    for (uint32_t i = 0; i < count; i++) {
        hr__rbsp_skip(r, 12);
        if (hr__rbsp_bits(r, 5) > 7)
            hr__rbsp_skip(r, 1);
        if (delays && hr__rbsp_bit(r))
            hr__rbsp_skip(r, 4);
    }
}

static void skip_size(hr_rbsp *r)
{
    const uint32_t width = hr__rbsp_bits(r, 4) + 1, height = hr__rbsp_bits(r, 4) + 1;
    hr__rbsp_skip(r, (int32_t)(width + height));
}

/* Tools of coding up to the numbers of order. */
static void read_tools(hr_rbsp *r, sequence *s)
{
    hr__rbsp_skip(r, 7);
    const bool order = hr__rbsp_bit(r);
    if (order)
        hr__rbsp_skip(r, 2);
    s->screen_content = hr__rbsp_bit(r) ? SELECT : (int32_t)hr__rbsp_bit(r);
    s->integer_vectors = SELECT;
    if (s->screen_content > 0 && !hr__rbsp_bit(r))
        s->integer_vectors = (int32_t)hr__rbsp_bit(r);
    if (order)
        s->order_bits = (int32_t)hr__rbsp_bits(r, 3) + 1;
}

/* False for what is rare: still pictures, and models of the decoder's timing. */
static bool read_sequence(const hr_av1_unit *unit, sequence *s)
{
    hr_rbsp r = hr__rbsp_of(unit->bytes, unit->size);
    r.plain = true;
    *s = (sequence){0};
    hr__rbsp_skip(&r, 3);
    if (hr__rbsp_bits(&r, 2) != 0)
        return false;
    if (hr__rbsp_bit(&r)) { /* times */
        hr__rbsp_skip(&r, 64);
        if (hr__rbsp_bit(&r))
            hr__rbsp_ue(&r);
        if (hr__rbsp_bit(&r))
            return false;
    }
    skip_operating_points(&r);
    skip_size(&r);
    s->frame_ids = hr__rbsp_bit(&r);
    if (s->frame_ids) {
        s->id_bits = (int32_t)hr__rbsp_bits(&r, 4) + 2;
        s->id_bits += (int32_t)hr__rbsp_bits(&r, 3) + 1;
    }
    read_tools(&r, s);
    return !r.over;
}

static bool find_sequence(const uint8_t *config, size_t size, sequence *s)
{
    if (size < CONFIG)
        return false;
    const uint8_t *at = config + CONFIG;
    size_t left = size - CONFIG;
    for (hr_av1_unit unit; hr__av1_next(&at, &left, &unit);)
        if (unit.type == HR_AV1_UNIT_SEQUENCE)
            return read_sequence(&unit, s);
    return false;
}

/* Pictures that are on their own, whose headers say nothing more. */
static bool is_still(const hr_av1_unit *unit)
{
    return unit->size > 0 && (unit->bytes[0] & 0x08) != 0;
}

/* ---- frames ---- */

/* A key frame that is shown later is not a place to begin: frames before that need others. */
static bool is_shown_key(const hr_av1_unit *unit)
{
    return (unit->bytes[0] & 0xf0) == 0x10; /* shown again: no; type: 0; shown: yes */
}

int32_t hr__av1_flags(const uint8_t *config, size_t config_size, const uint8_t *bytes, size_t size)
{
    const bool configured = config_size >= CONFIG;
    const uint8_t *at = configured ? config + CONFIG : config;
    size_t left = configured ? config_size - CONFIG : 0;
    bool known = false, still = false;
    for (hr_av1_unit unit; hr__av1_next(&at, &left, &unit);)
        if (unit.type == HR_AV1_UNIT_SEQUENCE) {
            known = true;
            still = is_still(&unit);
        }
    for (hr_av1_unit unit; hr__av1_next(&bytes, &size, &unit);) {
        if (unit.type == HR_AV1_UNIT_SEQUENCE) {
            known = true;
            still = is_still(&unit);
        }
        if (unit.type != HR_AV1_UNIT_FRAME_HEADER && unit.type != HR_AV1_UNIT_FRAME)
            continue;
        if (unit.size == 0)
            return -1;
        return known && (still || is_shown_key(&unit)) ? HR_VIDEO_PACKET_KEY : 0;
    }
    return -1;
}

/* Whether a frame is shown and kept for no other. */
static bool is_disposable(const sequence *s, const hr_av1_unit *unit)
{
    hr_rbsp r = hr__rbsp_of(unit->bytes, unit->size);
    r.plain = true;
    if (hr__rbsp_bit(&r)) /* one that was decoded before is shown, and may be kept */
        return false;
    const uint32_t type = hr__rbsp_bits(&r, 2);
    if (!hr__rbsp_bit(&r) || type == KEY || type == SWITCH)
        return false;
    const bool resilient = hr__rbsp_bit(&r);
    hr__rbsp_skip(&r, 1);
    bool screen_content =
        s->screen_content == SELECT ? hr__rbsp_bit(&r) : (uint32_t)s->screen_content;
    if (screen_content && s->integer_vectors == SELECT)
        hr__rbsp_skip(&r, 1);
    if (s->frame_ids)
        hr__rbsp_skip(&r, s->id_bits);
    hr__rbsp_skip(&r, 1 + s->order_bits);
    if (type != INTRA && !resilient)
        hr__rbsp_skip(&r, 3);
    return hr__rbsp_bits(&r, 8) == 0 && !r.over;
}

bool hr__av1_disposable(const uint8_t *config, size_t config_size, const uint8_t *bytes,
                        size_t size)
{
    sequence s;
    bool found = false;
    if (!find_sequence(config, config_size, &s))
        return false;
    for (hr_av1_unit unit; hr__av1_next(&bytes, &size, &unit);)
        switch (unit.type) {
        case HR_AV1_UNIT_FRAME:
        case HR_AV1_UNIT_FRAME_HEADER:
            if (!is_disposable(&s, &unit))
                return false;
            found = true;
            break;
        case HR_AV1_UNIT_DELIMITER:
        case HR_AV1_UNIT_TILES:
        case HR_AV1_UNIT_METADATA:
        case HR_AV1_UNIT_REPEATED_HEADER:
        case HR_AV1_UNIT_PADDING:
            break;
        default:
            return false;
        }
    return found;
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Elementary streams that encoders rarely write: orders that follow from numbers, fields, start
 * codes across pieces, times that are missing. The expected orders are those of ITU-T H.264, 8.2.1.
 */
#include <stdlib.h>

#include "codecs/video/bits/av1.h"
#include "codecs/video/bits/bitstream.h"
#include "codecs/video/bits/split.h"
#include "codecs/video/demux/times.h"
#include "core/core.h"
#include "test.h"

typedef struct bits {
    uint8_t bytes[4096];
    size_t count;
} bits;

static void put(bits *b, uint32_t value, int32_t count)
{
    for (int32_t i = count - 1; i >= 0; i--, b->count++)
        b->bytes[b->count / 8] |= (uint8_t)((value >> i & 1) << (7 - b->count % 8));
}

static void put_ue(bits *b, uint32_t value)
{
    int32_t size = 0;
    while ((value + 1) >> (size + 1))
        size++;
    put(b, 0, size);
    put(b, value + 1, size + 1);
}

static void put_se(bits *b, int32_t value)
{
    put_ue(b, value > 0 ? (uint32_t)(2 * value - 1) : (uint32_t)(-2 * value));
}

static void begin(bits *b, uint32_t header)
{
    b->count = (b->count + 7) / 8 * 8;
    put(b, 1, 32);
    put(b, header, 8);
}

/* Parameters: numbers and orders have 4 bits; 64 x 64 pixels; offsets 2 and 4 of type 1. */
static void put_parameters(bits *b, uint32_t order_type, bool frames_only)
{
    begin(b, 0x67);
    put(b, 66, 8);
    put(b, 30, 16);
    put_ue(b, 0);
    put_ue(b, 0);
    put_ue(b, order_type);
    if (order_type == 0)
        put_ue(b, 0);
    if (order_type == 1) {
        put(b, 1, 1);
        put_se(b, -1);
        put_se(b, 0);
        put_ue(b, 2);
        put_se(b, 2);
        put_se(b, 4);
    }
    put_ue(b, 1);
    put(b, 0, 1);
    put_ue(b, 3);
    put_ue(b, frames_only ? 3 : 1);
    put(b, frames_only, 1);
    put(b, 4, frames_only ? 4 : 5); /* no cropping, no rate */
    put(b, 1, 1);
    begin(b, 0x68);
    put_ue(b, 0);
    put_ue(b, 0);
    put(b, 4, 4);
}

enum { FRAME = -1, TOP = 0, BOTTOM = 1 };

/* A slice and some bytes of data. `low`: < 0: not in the slice. */
static void put_slice(bits *b, uint32_t header, uint32_t number, int32_t low, bool frames_only,
                      int32_t field)
{
    begin(b, header);
    put_ue(b, 0);
    put_ue(b, 7);
    put_ue(b, 0);
    put(b, number, 4);
    if (!frames_only)
        put(b, field != FRAME, 1);
    if (field != FRAME)
        put(b, (uint32_t)field, 1);
    if ((header & 31) == 5)
        put_ue(b, 0);
    if (low >= 0)
        put(b, (uint32_t)low, 4);
    put(b, 0xff, 8);
    put(b, 0xabcdef, 24);
}

typedef struct found {
    int32_t count;
    int64_t order[64], first[64], last[64];
    int32_t flags[64];
} found;

static hr_status add_found(void *user, const hr_split_packet *p, hr_error *error)
{
    found *f = user;
    if (f->count == 64)
        return hr_fail(error, HR_STATUS_LIMIT, "too many");
    f->order[f->count] = p->picture.order;
    f->flags[f->count] = p->picture.flags;
    f->first[f->count] = p->first.place + (int64_t)p->first.before;
    f->last[f->count++] = p->last.place + (int64_t)p->last.before;
    return HR_STATUS_OK;
}

/* Splits a stream that comes in pieces of up to `most` bytes. */
static found split(const bits *b, size_t most)
{
    hr_split *s;
    found f = {0};
    const size_t size = (b->count + 7) / 8;
    if (hr__split_create(&s, HR_VIDEO_CODEC_H264, NULL) != HR_STATUS_OK)
        return f;
    s->found = add_found;
    s->user = &f;
    for (size_t at = 0, n; at < size; at += n) {
        n = 1 + (size_t)rand() % most;
        n = HR_MIN(n, size - at);
        uint8_t *copy = malloc(n); /* so that reading outside of it is noticed */
        memcpy(copy, b->bytes + at, n);
        const hr_split_piece piece = {.bytes = copy, .size = n, .place = (int64_t)at};
        if (hr__split_add(s, &piece, NULL) != HR_STATUS_OK)
            f.count = -1;
        free(copy);
    }
    if (hr__split_end(s, NULL) != HR_STATUS_OK)
        f.count = -1;
    hr__split_destroy(s);
    return f;
}

static bool is_orders(const found *f, const int64_t *expected, int32_t count)
{
    for (int32_t i = 0; i < count && f->count == count; i++)
        if (f->order[i] != expected[i])
            return false;
    return f->count == count;
}

TEST(orders_of_low_bits_begin_again)
{
    static const int64_t expected[] = {0, 8, 4, 16, 12, 24, 20, 32, 28};
    bits b = {0};
    put_parameters(&b, 0, true);
    for (int32_t i = 0; i < 9; i++)
        put_slice(&b,
                  i == 0  ? 0x65
                  : i % 2 ? 0x61
                          : 0x01,
                  (uint32_t)(i + 1) / 2, (int32_t)expected[i] % 16, true, FRAME);
    found f = split(&b, 4096);
    CHECK(is_orders(&f, expected, 9));
    CHECK((f.flags[0] & HR_VIDEO_PACKET_KEY) != 0 && (f.flags[1] & HR_VIDEO_PACKET_KEY) == 0);
}

TEST(orders_of_numbers)
{
    static const int64_t first[] = {0, 2, 6, 8, 7, 12}, second[] = {0, 1, 2, 4, 5, 6};
    static const uint32_t headers[] = {0x65, 0x61, 0x61, 0x61, 0x01, 0x61};
    static const uint32_t headers2[] = {0x65, 0x01, 0x61, 0x61, 0x01, 0x61};
    static const uint32_t numbers[] = {0, 1, 2, 3, 4, 4}, numbers2[] = {0, 1, 1, 2, 3, 3};
    bits a = {0}, b = {0};
    put_parameters(&a, 1, true);
    put_parameters(&b, 2, true);
    for (int32_t i = 0; i < 6; i++) {
        put_slice(&a, headers[i], numbers[i], -1, true, FRAME);
        put_slice(&b, headers2[i], numbers2[i], -1, true, FRAME);
    }
    found f = split(&a, 4096);
    CHECK(is_orders(&f, first, 6));
    f = split(&b, 4096);
    CHECK(is_orders(&f, second, 6));
}

TEST(two_fields_are_one_packet)
{
    static const int64_t expected[] = {0, 8, 4};
    bits b = {0};
    put_parameters(&b, 0, false);
    put_slice(&b, 0x65, 0, 0, false, TOP);
    put_slice(&b, 0x61, 0, 1, false, BOTTOM);
    begin(&b, 0x09); /* a delimiter, which also precedes second fields */
    put(&b, 0xf0, 8);
    put_slice(&b, 0x61, 1, 8, false, TOP);
    begin(&b, 0x09);
    put(&b, 0xf0, 8);
    put_slice(&b, 0x61, 1, 9, false, BOTTOM);
    put_slice(&b, 0x01, 2, 5, false, BOTTOM);
    put_slice(&b, 0x01, 2, 4, false, TOP);
    found f = split(&b, 4096);
    CHECK(f.count == 3);
    CHECK(f.order[0] == expected[0] && f.order[1] == expected[1]);
    CHECK(f.last[2] + 1 == (int64_t)(b.count + 7) / 8);
}

/* A message about a point of recovery. */
static void put_recovery(bits *b, uint32_t count, bool exact)
{
    begin(b, 0x06);
    put(b, 6, 8);
    put(b, 1, 8);
    put_ue(b, count);
    put(b, exact, 1);
    put(b, 0, 3);
    put(b, 1, 1);
}

TEST(only_exact_points_of_recovery_without_a_delay_are_keys)
{
    enum { KEY = HR_VIDEO_PACKET_KEY, BEGIN = HR_VIDEO_PACKET_REFRESH };
    enum { END = HR_VIDEO_PACKET_REFRESHED };
    static const int32_t expected[] = {BEGIN, 0, END, KEY, BEGIN | END, BEGIN, KEY, 0};
    bits b = {0};
    put_slice(&b, 0x61, 9, 14, true, FRAME); /* cannot be read */
    put_parameters(&b, 0, true);
    for (uint32_t i = 0; i < 8; i++) {
        if (i == 0)
            put_recovery(&b, 2, true);
        if (i == 3 || i == 4)
            put_recovery(&b, 0, i == 3);
        if (i == 5)
            put_recovery(&b, 2, false);
        put_slice(&b, i == 6 ? 0x65 : 0x61, i == 6 ? 0 : i, 2 * (int32_t)i, true, FRAME);
    }
    found f = split(&b, 4096);
    CHECK(f.count == 8);
    for (int32_t i = 0; i < 8; i++)
        CHECK((f.flags[i] & (KEY | BEGIN | END)) == expected[i]);
    CHECK(f.first[0] > 8); /* what is in front of the parameters is not part of it */
}

/* A packet of AV1: a delimiter, perhaps a sequence, and the first byte of a frame. */
static int32_t av1_flags(bool configured, bool sequence, uint8_t still, uint8_t frame)
{
    const uint8_t config[] = {0x81, 0, 0, 0, 0x0a, 1, still};
    uint8_t packet[] = {0x12, 0, 0x0a, 1, still, 0x32, 2, frame, 0};
    hr_video v = {.codec = HR_VIDEO_CODEC_AV1};
    v.extra = (uint8_t *)(uintptr_t)config;
    v.extra_size = configured ? sizeof(config) : 0;
    if (!sequence) /* padding in its place */
        packet[2] = 0x7a;
    return hr__bitstream_flags(&v, packet, sizeof(packet));
}

TEST(key_frames_of_av1_are_shown_at_once)
{
    enum { KEY = HR_VIDEO_PACKET_KEY };
    CHECK(av1_flags(true, false, 0, 0x10) == KEY);
    CHECK(av1_flags(false, true, 0, 0x10) == KEY);
    CHECK(av1_flags(false, false, 0, 0x10) == 0);    /* nothing says what it is */
    CHECK(av1_flags(true, true, 0, 0x00) == 0);      /* shown later */
    CHECK(av1_flags(true, true, 0, 0x80) == 0);      /* shown again */
    CHECK(av1_flags(true, true, 0, 0x30) == 0);      /* refers to others */
    CHECK(av1_flags(true, true, 0, 0x50) == 0);      /* intra, but others stay */
    CHECK(av1_flags(true, true, 0x18, 0x65) == KEY); /* a picture on its own, without such bits */
}

TEST(first_bytes_may_not_say_what_a_packet_is)
{
    const uint8_t vp9[] = {0x82, 0x49}, vp8[] = {0x10}, sei[] = {0, 0, 0, 1, 6, 5, 1, 0};
    const uint8_t p_vop[] = {0, 0, 1, 0xb6, 0x50}, i_vop[] = {0, 0, 1, 0xb6, 0x10};
    hr_video v = {.codec = HR_VIDEO_CODEC_VP9};
    CHECK(hr__bitstream_flags(&v, vp9, 2) == HR_VIDEO_PACKET_KEY);
    CHECK(hr__bitstream_flags(&v, vp9, 1) < 0);
    v.codec = HR_VIDEO_CODEC_VP8;
    CHECK(hr__bitstream_flags(&v, vp8, 1) == HR_VIDEO_PACKET_KEY);
    CHECK(hr__bitstream_flags(&v, vp8, 0) < 0);
    v.codec = HR_VIDEO_CODEC_H264;
    CHECK(hr__bitstream_flags(&v, sei, sizeof(sei)) < 0);
    v.codec = HR_VIDEO_CODEC_MPEG4;
    CHECK(hr__bitstream_flags(&v, p_vop, sizeof(p_vop)) == 0);
    CHECK(hr__bitstream_flags(&v, i_vop, sizeof(i_vop)) == HR_VIDEO_PACKET_KEY);
    CHECK(hr__bitstream_flags(&v, i_vop, 4) < 0);
}

TEST(pieces_of_any_size_give_the_same_packets)
{
    bits b = {0};
    put_parameters(&b, 0, true);
    for (int32_t i = 0; i < 40; i++) {
        if (i % 3 == 0) {
            begin(&b, 0x09);
            put(&b, 0xf0, 8);
        }
        put_slice(&b, i == 0 ? 0x65 : 0x61, (uint32_t)i % 16, 2 * i % 16, true, FRAME);
    }
    found whole = split(&b, 4096);
    CHECK(whole.count == 40 && whole.first[0] == 0);
    for (int32_t i = 1; i < 40; i++)
        CHECK(whole.first[i] == whole.last[i - 1] + 1);
    for (size_t most = 1; most < 60; most++) {
        found f = split(&b, most);
        CHECK(f.count == whole.count);
        CHECK(memcmp(f.order, whole.order, sizeof(f.order)) == 0);
        CHECK(memcmp(f.first, whole.first, sizeof(f.first)) == 0);
        CHECK(memcmp(f.last, whole.last, sizeof(f.last)) == 0);
    }
}

static hr_status read_none(void *user, int64_t offset, size_t size, void *dst, hr_error *error)
{
    (void)user;
    (void)offset;
    memset(dst, 0, size);
    (void)error;
    return HR_STATUS_OK;
}

TEST(missing_times_lie_between_those_that_are_known)
{
    /* in decoding order; the fourth picture begins a sequence of its own */
    static const int64_t orders[] = {0, 6, 2, 4, 0, 4, 2}, none = HR_VIDEO_NO_PTS;
    const int64_t given[] = {1000, 1300, none, none, none, 5200, none};
    const int64_t expected[] = {1000, 1300, 1100, 1200, 5000, 5200, 5100};
    hr_video v = {.codec = HR_VIDEO_CODEC_H264};
    hr_video_file file = {read_none, NULL, 1000};
    hr_demux d = {.file = &file, .video = &v};
    hr_slots s = {0};
    for (int32_t i = 0; i < 7; i++) {
        hr_unit_picture picture = {.order = orders[i], .reset = orders[i] == 0};
        hr_video_packet packet = {i, 1, 0, given[i]};
        CHECK(hr__slots_add(&s, &d, packet, &picture, NULL) == HR_STATUS_OK);
    }
    hr__slots_fill(&s, &v, 100);
    for (int32_t i = 0; i < 7; i++)
        CHECK(v.packets[i].pts == expected[i]);
    hr__slots_fini(&s);
    hr_video_fini(&v);
}

TEST_MAIN

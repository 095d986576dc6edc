/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Takes a segment's stuffed zeros out before it is decoded, which is cheaper than looking for them
 * at every refill: there is one in three hundred bytes. */
#include "codecs/jpeg/input.h"

#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum {
    MARKER_RST0 = 0xD0,
    /* libjpeg reads ahead, and warns when it meets the file's end in doing so */
    READ_AHEAD = 64
};

/* Copies bytes up to the next FF, which it returns, or the end. May write 15 bytes beyond. */
static const uint8_t *copy_plain(uint8_t **out, const uint8_t *p, const uint8_t *end)
{
    uint8_t *dst = *out;
#if defined(__SSE2__)
    const __m128i ones = _mm_set1_epi8(-1);
    while (end - p >= 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        int found = _mm_movemask_epi8(_mm_cmpeq_epi8(v, ones));
        _mm_storeu_si128((__m128i *)(void *)dst, v);
        if (found) {
            int n = __builtin_ctz((unsigned)found);
            *out = dst + n;
            return p + n;
        }
        dst += 16;
        p += 16;
    }
#endif
    while (p < end && *p != 0xFF)
        *dst++ = *p++;
    *out = dst;
    return p;
}

/* Copies up to the next marker; its second byte, 0 at the end of the file, -1 where FF FF 00
 * disguises data as padding. */
static int unstuff(hr_jpeg_input *in, uint8_t **out)
{
    const uint8_t *p = in->next, *end = in->end;
    int marker = 0;
    for (;;) {
        p = copy_plain(out, p, end);
        const uint8_t *next = p;
        while (next < end && *next == 0xFF)
            next++;
        if (next == end) {
            p = end;
            break;
        }
        if (*next != 0) {
            marker = *next;
            p = next + 1;
            break;
        }
        if (next > p + 1) {
            marker = -1;
            break;
        }
        *(*out)++ = 0xFF;
        p += 2;
    }
    in->next = p;
    return marker;
}

static void open_segment(hr_jpeg_input *in, hr_jpeg_scan *scan)
{
    uint8_t *end = in->segment;
    in->marker = unstuff(in, &end);
    memset(end, 0, HR_JPEG_INPUT_PAD);
    in->left = in->restart;
    scan->next = in->segment;
    scan->end = end;
    scan->window = scan->count = 0;
    memset(scan->predicted, 0, sizeof scan->predicted);
}

hr_status hr_jpeg_input_open(hr_jpeg_input *in, hr_jpeg_scan *scan, const uint8_t *bytes,
                             size_t size, int32_t restart, hr_arena *arena, hr_error *error)
{
    size_t room;
    *in = (hr_jpeg_input){.next = bytes, .end = bytes + size, .restart = restart};
    if (!hr_size_add(size, HR_JPEG_INPUT_PAD, &room))
        return hr_fail_memory(error, SIZE_MAX);
    in->segment = hr_arena_alloc(arena, room, error);
    if (!in->segment)
        return HR_STATUS_NO_MEMORY;
    open_segment(in, scan);
    return HR_STATUS_OK;
}

/* Bits of the open segment that were not used; negative: more were used than there are. */
static int64_t bits_left(const hr_jpeg_scan *scan)
{
    return 8 * (int64_t)(scan->end - scan->next) + (int64_t)scan->count;
}

int32_t hr_jpeg_input_run(hr_jpeg_input *in, hr_jpeg_scan *scan, int32_t mcus)
{
    if (in->restart == 0)
        return mcus;
    if (in->left == 0) {
        int64_t rest = bits_left(scan);
        if (rest < 0 || rest >= 8 || in->marker != MARKER_RST0 + in->restarts % 8)
            return 0;
        in->restarts++;
        open_segment(in, scan);
    }
    mcus = HR_MIN(mcus, in->left);
    in->left -= mcus;
    return mcus;
}

bool hr_jpeg_input_whole(const hr_jpeg_input *in, const hr_jpeg_scan *scan)
{
    int64_t least = in->marker == 0 ? 8 * READ_AHEAD : 0;
    return in->marker >= 0 && bits_left(scan) >= least;
}

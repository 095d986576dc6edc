/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Stuffed zeros are removed before decoding. That is cheaper than looking for them in every refill:
 * there is about one per 300 bytes. With an index, only the needed data is unstuffed. */
#include "codecs/jpeg/codes.h"
#include "codecs/jpeg/input.h"
#include "kernels/sse2.h"

#include <string.h>

enum { READ_AHEAD = HR_JPEG_READ_AHEAD, DISGUISED = HR_JPEG_DISGUISED, CUT = HR_JPEG_CUT };

/* Copies bytes up to the next FF, which it returns, or the end. May write 15 bytes beyond. */
static const uint8_t *copy_plain(uint8_t **out, const uint8_t *p, const uint8_t *end)
{
    uint8_t *dst = *out;
#if defined(HR_SSE2)
    const __m128i ones = _mm_set1_epi8(-1);
    while (end - p >= 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        int n = hr_bytes_first(_mm_cmpeq_epi8(v, ones));
        _mm_storeu_si128((__m128i *)(void *)dst, v);
        if (n < 16) {
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

static void note_removal(hr_jpeg_input *in, const uint8_t *before)
{
    if (in->removals < in->room)
        in->removed[in->removals++] = (uint32_t)(before - in->piece);
}

/* Copies and unstuffs up to the next marker, whose second byte it returns (0: the file ends), or to
 * about `stop`. May write 15 bytes beyond. Notes removals. */
static int unstuff(const uint8_t **from, uint8_t **out, const uint8_t *stop, const uint8_t *end,
                   hr_jpeg_input *in)
{
    const uint8_t *p = *from;
    int marker = 0;
    for (;;) {
        p = copy_plain(out, p, stop);
        if (p >= stop && stop < end) {
            marker = CUT;
            break;
        }
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
            marker = DISGUISED;
            break;
        }
        *(*out)++ = 0xFF;
        p += 2;
        note_removal(in, *out);
    }
    *from = p;
    return marker;
}

/* The next mark is due HR_JPEG_MARK_BYTES after the last entry of the index. */
static void aim_mark(const hr_jpeg_input *in, hr_jpeg_scan *scan)
{
    const hr_jpeg_index *index = in->index;
    scan->due = NULL;
    if (index->count >= index->capacity || in->removals >= in->room)
        return;
    const uint8_t *last = in->bytes + index->entry[index->count - 1].bit / 8;
    ptrdiff_t due = last - in->first - (ptrdiff_t)in->passed + HR_JPEG_MARK_BYTES;
    if (due <= scan->end - in->piece)
        scan->due = in->piece + HR_MAX(due, 0);
}

/* Appends more of the segment to the piece. */
static void append(hr_jpeg_input *in, hr_jpeg_scan *scan, const uint8_t *stop)
{
    uint8_t *end = in->piece + (scan->end - in->piece);
    in->marker = unstuff(&in->next, &end, stop, in->end, in);
    memset(end, 0, HR_JPEG_INPUT_PAD);
    scan->end = end;
    aim_mark(in, scan);
}

static size_t bit_of(const hr_jpeg_input *in, const uint8_t *next, uint64_t count)
{
    return 8 * (size_t)(next - in->piece) - (size_t)count;
}

/* Moves the scan to a bit of the piece. */
static void move_to(const hr_jpeg_input *in, hr_jpeg_scan *scan, size_t bit)
{
    const uint8_t *byte = in->piece + bit / 8;
    scan->next = byte + 1;
    scan->count = 8 - bit % 8;
    scan->window = (uint64_t)*byte << (56 + bit % 8);
}

/* Opens a piece at a byte of the file, and the scan at a bit of that byte. */
static void open_piece(hr_jpeg_input *in, hr_jpeg_scan *scan, const uint8_t *first, size_t bit,
                       const uint8_t *stop)
{
    in->next = in->first = first;
    in->removals = in->passed = 0;
    scan->end = in->piece;
    append(in, scan, stop);
    move_to(in, scan, bit);
}

static void open_segment(hr_jpeg_input *in, hr_jpeg_scan *scan)
{
    open_piece(in, scan, in->next ? in->next : in->bytes, 0, in->end);
    in->left = in->restart;
    memset(scan->predicted, 0, sizeof scan->predicted);
}

hr_status hr_jpeg_input_open(hr_jpeg_input *in, hr_jpeg_scan *scan, const uint8_t *bytes,
                             size_t size, int32_t restart, hr_jpeg_index *index, hr_arena *arena,
                             hr_error *error)
{
    size_t room;
    *in = (hr_jpeg_input){.bytes = bytes, .end = bytes + size, .restart = restart};
    in->none = (hr_jpeg_index){.entry = &in->start, .count = 1, .capacity = 1};
    in->index = index ? index : &in->none;
    scan->mcu = scan->marks = 0;
    scan->mark = NULL;
    if (!hr_size_add(size, HR_JPEG_INPUT_PAD, &room))
        return hr_fail_memory(error, SIZE_MAX);
    in->piece = hr_arena_alloc(arena, room, error);
    HR_TRY_ALLOC(in->piece);
    if (in->index->count >= in->index->capacity)
        return HR_STATUS_OK;
    size_t marks = size / HR_JPEG_MARK_BYTES + 4; /* and those in the padding */
    size_t removals = size / 32 + 64;             /* ten times the usual; beyond that, no entries */
    scan->mark = hr_arena_alloc(arena, marks * sizeof *scan->mark, error);
    in->removed = hr_arena_alloc(arena, removals * sizeof *in->removed, error);
    in->room = in->removed ? removals : 0;
    return scan->mark && in->removed ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

static void jump(hr_jpeg_input *in, hr_jpeg_scan *scan, const hr_jpeg_entry *e, const uint8_t *stop)
{
    open_piece(in, scan, in->bytes + e->bit / 8, e->bit % 8, stop);
    scan->mcu = (int32_t)e->mcu;
    for (int i = 0; i < 3; i++)
        scan->predicted[i] = e->dc[i];
    if (in->restart > 0)
        in->left = in->restart - scan->mcu % in->restart;
}

int32_t hr_jpeg_input_seek(hr_jpeg_input *in, hr_jpeg_scan *scan, int32_t mcu, int32_t end)
{
    const hr_jpeg_index *index = in->index;
    const hr_jpeg_entry *e = index->entry;
    const uint8_t *stop = in->end;
    /* the last entry at or before the first MCU, and the first one after the last */
    int32_t from = (int64_t)e[in->entry].mcu <= mcu ? in->entry : 0;
    while (from + 1 < index->count && (int64_t)e[from + 1].mcu <= mcu)
        from++;
    int32_t behind = from + 1;
    while (behind < index->count && (int64_t)e[behind].mcu < end)
        behind++;
    in->entry = from;
    /* one more byte, whose first bits may be needed; near the end of the file everything, to
     * include its marker */
    if (behind < index->count && in->end - in->bytes - e[behind].bit / 8 > 4 * READ_AHEAD)
        stop = in->bytes + e[behind].bit / 8 + 1;
    if (!in->next || scan->mcu > mcu || (int64_t)e[from].mcu > scan->mcu) {
        jump(in, scan, &e[from], stop);
    } else if (in->marker == CUT && in->next < stop) {
        size_t bit = bit_of(in, scan->next, scan->count);
        append(in, scan, stop);
        move_to(in, scan, bit);
    }
    return mcu - scan->mcu;
}

/* Unused bits of the piece; negative: more were used than exist. */
static int64_t bits_left(const hr_jpeg_scan *scan)
{
    return 8 * (int64_t)(scan->end - scan->next) + (int64_t)scan->count;
}

int32_t hr_jpeg_input_run(hr_jpeg_input *in, hr_jpeg_scan *scan, int32_t mcus)
{
    if (!in->next)
        open_segment(in, scan);
    if (in->restart == 0)
        return mcus;
    if (in->left == 0) {
        int64_t rest = bits_left(scan);
        int passed = scan->mcu / in->restart - 1;
        if (rest < 0 || rest >= 8 || in->marker != MARKER_RST0 + passed % 8)
            return 0;
        open_segment(in, scan);
    }
    mcus = HR_MIN(mcus, in->left);
    in->left -= mcus;
    return mcus;
}

void hr_jpeg_input_note(hr_jpeg_input *in, hr_jpeg_scan *scan)
{
    for (int32_t i = 0; i < scan->marks; i++) {
        const hr_jpeg_mark *m = &scan->mark[i];
        size_t bit = bit_of(in, m->next, m->count);
        while (in->passed < in->removals && in->removed[in->passed] <= bit / 8)
            in->passed++;
        uint64_t at = 8 * ((uint64_t)(in->first - in->bytes) + in->passed) + bit;
        hr_jpeg_entry e = {.bit = (uint32_t)at, .mcu = (uint32_t)m->mcu};
        bool fits = at <= UINT32_MAX && in->removals < in->room;
        for (int k = 0; k < 3; k++) {
            e.dc[k] = (int16_t)m->predicted[k];
            fits = fits && e.dc[k] == m->predicted[k];
        }
        if (fits)
            hr_jpeg_index_add(in->index, &e);
    }
    scan->marks = 0;
}

const uint8_t *hr_jpeg_input_end(const hr_jpeg_input *in, const hr_jpeg_scan *scan)
{
    int64_t rest = bits_left(scan);
    bool ends = in->next && in->marker > 0 && rest >= 0 && rest < 8;
    return ends ? in->next - 2 : NULL;
}

bool hr_jpeg_input_whole(const hr_jpeg_input *in, const hr_jpeg_scan *scan)
{
    int64_t least = in->marker == 0 ? 8 * READ_AHEAD : 0;
    return in->marker != DISGUISED && bits_left(scan) >= least;
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A Huffman code has at least one bit. So a block takes at least two bits in a sequential scan (DC
 * and EOB) and one in the first DC scan of a progressive file; AC scans may cover any number of
 * blocks with an EOB run, and arithmetic coding takes no whole number of bits. Those two are
 * bounded by the number of blocks that all scans of a file visit. */
#include "codecs/jpeg/check.h"

#include "codecs/bytes.h"
#include "codecs/codec.h"
#include "codecs/jpeg/codes.h"
#include "codecs/jpeg/segment.h"

#include <string.h>

enum {
    COMPONENTS = 4,
    ARITHMETIC_BLOCKS = 64, /* per bit */
    PEEK = 4,               /* bytes that show whether a scan has data */
    SCANS_MAX = 256,        /* of libjpeg's progress monitor, too (jpeg.c) */
    /* Blocks that the scans of a file may visit in all, and for each of its bytes. A visit takes up
     * to 60 ns. A progressive file of 20 scans needs at most 54 per byte, and so many only where
     * its image has one colour. */
    VISITS_FREE = 1 << 24,
    VISITS_PER_BYTE = 64
};

typedef struct component {
    uint8_t id;
    int32_t h, v;
    int64_t blocks, coded; /* of the image; of it, those that have data at most */
} component;

typedef struct image {
    size_t size;                        /* of the file */
    int32_t height, width, count, h, v; /* h, v: the largest factors */
    bool progressive, arithmetic;
    component component[COMPONENTS];
    int64_t pixels, blocks, visits;
} image;

typedef struct scan {
    int32_t count;
    component *component[COMPONENTS];
    bool first_dc; /* the first bits of DC coefficients */
} scan;

static hr_status check_process(int marker, const uint8_t *frame, hr_error *error)
{
    static const uint8_t decoded[] = {MARKER_SOF0, MARKER_SOF1, MARKER_SOF2, MARKER_SOF9,
                                      MARKER_SOF10};
    if (marker == MARKER_SOF3 && frame[0] >= 2 && frame[0] <= 16)
        return HR_STATUS_OK;
    if (!memchr(decoded, marker, sizeof decoded))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "JPEG: hierarchical files, and lossless ones with arithmetic coding (SOF%d) "
                       "are not supported",
                       marker - MARKER_SOF0);
    if (frame[0] != 8)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "JPEG: %d bits per sample are not supported, only 8", frame[0]);
    return HR_STATUS_OK;
}

/* False for a frame that libjpeg refuses. */
static bool read_frame(image *p, const hr_jpeg_segment *s)
{
    const uint8_t *frame = s->data;
    p->progressive = s->marker == MARKER_SOF2 || s->marker == MARKER_SOF10;
    p->arithmetic = s->marker >= MARKER_SOF9;
    p->height = (int32_t)hr_get_be16(frame + 1);
    p->width = (int32_t)hr_get_be16(frame + 3);
    p->count = frame[5];
    if (p->count > COMPONENTS || s->size < 6 + 3 * (size_t)p->count)
        return false;
    for (int32_t i = 0; i < p->count; i++) {
        const uint8_t *from = frame + 6 + 3 * i;
        p->component[i] = (component){.id = from[0], .h = from[1] >> 4, .v = from[1] & 15};
        if (p->component[i].h < 1 || p->component[i].h > 4 || p->component[i].v < 1 ||
            p->component[i].v > 4)
            return false;
        p->h = HR_MAX(p->h, p->component[i].h);
        p->v = HR_MAX(p->v, p->component[i].v);
    }
    p->pixels = (int64_t)p->height * p->width;
    int64_t mcus = (int64_t)HR_DIVIDE_UP(p->width, 8 * p->h) * HR_DIVIDE_UP(p->height, 8 * p->v);
    for (int32_t i = 0; i < p->count; i++) {
        component *c = &p->component[i];
        c->blocks = mcus * c->h * c->v;
        p->blocks += c->blocks;
    }
    return true;
}

/* False for a scan that libjpeg refuses. */
static bool read_scan(image *p, const hr_jpeg_segment *s, scan *out)
{
    *out = (scan){0};
    if (s->size < 1 || s->data[0] < 1 || s->data[0] > COMPONENTS ||
        s->size < 4 + 2 * (size_t)s->data[0])
        return false;
    out->count = s->data[0];
    for (int32_t i = 0; i < out->count; i++)
        for (int32_t k = 0; k < p->count && !out->component[i]; k++)
            if (p->component[k].id == s->data[1 + 2 * i])
                out->component[i] = &p->component[k];
    for (int32_t i = 0; i < out->count; i++)
        if (!out->component[i])
            return false;
    const uint8_t *band = s->data + 1 + 2 * out->count;
    out->first_dc = !p->progressive || (band[0] == 0 && band[2] >> 4 == 0);
    return true;
}

/* Adds what the scan's data can hold. */
static void add_scan(image *p, const scan *s, size_t data)
{
    int64_t blocks = 0, coded, bits = 8 * (int64_t)data;
    for (int32_t i = 0; i < s->count; i++)
        blocks += s->component[i]->blocks;
    p->visits += blocks;
    coded = p->arithmetic ? bits * ARITHMETIC_BLOCKS : bits / (p->progressive ? 1 : 2);
    if (data == 0 || !s->first_dc)
        return;
    for (int32_t i = 0; i < s->count; i++) {
        component *c = s->component[i];
        double share = HR_MIN((double)coded / (double)blocks, 1.0);
        c->coded = HR_MAX(c->coded, (int64_t)(share * (double)c->blocks));
    }
}

/* Whether bounds cannot be exceeded, whatever the scans are. */
static bool is_small(const image *p)
{
    return p->pixels <= HR_IMAGE_SLACK && SCANS_MAX * p->blocks <= VISITS_FREE;
}

static hr_status settle(const image *p, int32_t scans, int64_t *pixels, hr_error *error)
{
    int64_t coded = 0;
    for (int32_t i = 0; i < p->count; i++)
        coded += p->component[i].coded;
    if (p->count > 0 && coded == 0)
        return hr_fail(error, HR_STATUS_CORRUPT, "JPEG: the file has no entropy-coded data");
    if (p->count > 0 && p->visits > VISITS_FREE &&
        (uint64_t)(p->visits - VISITS_FREE) / VISITS_PER_BYTE > p->size)
        return hr_fail(error, HR_STATUS_LIMIT,
                       "JPEG: %d scans of %dx%d pixels (width x height) are too much work for a "
                       "file of %zu bytes",
                       scans, p->width, p->height, p->size);
    if (p->count > 0)
        *pixels = (int64_t)((double)coded / (double)p->blocks * (double)p->pixels);
    return HR_STATUS_OK;
}

hr_status hr_jpeg_check(const uint8_t *bytes, size_t size, int64_t *pixels, hr_error *error)
{
    image p = {.size = size};
    size_t at = 2;
    int32_t scans = 0;
    *pixels = INT64_MAX;
    for (;;) {
        hr_jpeg_segment s = hr_jpeg_segment_next(bytes, size, &at);
        if (s.marker < 0 || s.marker == MARKER_EOI)
            break;
        if (hr_jpeg_segment_is_frame(s.marker) && p.count == 0 && s.size >= 6) {
            HR_TRY(check_process(s.marker, s.data, error));
            if (s.marker == MARKER_SOF3) { /* a sample takes a bit */
                *pixels = 8 * (int64_t)HR_MIN(size, UINT32_MAX) / HR_MAX(s.data[5], 1);
                return HR_STATUS_OK;
            }
            if (!read_frame(&p, &s))
                return HR_STATUS_OK; /* libjpeg will say what is wrong */
        }
        if (s.marker != MARKER_SOS)
            continue;
        scan one;
        if (p.count == 0 || !read_scan(&p, &s, &one))
            return HR_STATUS_OK;
        bool small = is_small(&p), alone = !p.progressive && one.count == p.count;
        size_t stop =
            small || (alone && p.pixels <= HR_IMAGE_SLACK) ? HR_MIN(size, at + PEEK) : size;
        size_t end = hr_jpeg_segment_scan_end(bytes, stop, at);
        add_scan(&p, &one, end - at);
        scans++;
        if (alone || (small && one.first_dc && end > at))
            break; /* libjpeg reads no second scan; or nothing that follows exceeds a bound */
    }
    return settle(&p, scans, pixels, error);
}

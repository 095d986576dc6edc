/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Strict on purpose: unusual and invalid files are left to libjpeg-turbo. */
#include "codecs/jpeg/codes.h"
#include "codecs/jpeg/markers.h"

#include "codecs/bytes.h"

#include <string.h>

enum {
    SIDE_MAX = 65500 /* of libjpeg */
};

typedef struct walk {
    hr_jpeg_markers *m;
    bool frame, jfif, adobe;
    uint8_t transform;
    bool later, end; /* after the first scan; EOI was met */
} walk;

static bool read_quant(hr_jpeg_markers *m, const uint8_t *p, size_t n)
{
    while (n > 0) {
        bool wide = p[0] >> 4 != 0;
        size_t number = p[0] & 15, size = 1 + (wide ? 128 : 64);
        if (number >= HR_JPEG_TABLES || p[0] >> 4 > 1 || n < size)
            return false;
        m->quant[number] = p + 1;
        m->wide[number] = wide;
        p += size;
        n -= size;
    }
    return true;
}

static bool read_huffman(hr_jpeg_markers *m, const uint8_t *p, size_t n)
{
    while (n > 0) {
        if (n < 17 || p[0] >> 4 > 1 || (p[0] & 15) >= HR_JPEG_TABLES)
            return false;
        size_t count = 0;
        for (int i = 1; i <= 16; i++)
            count += p[i];
        if (count > 256 || n < 17 + count)
            return false;
        m->huffman[p[0] >> 4][p[0] & 15] = p + 1;
        p += 17 + count;
        n -= 17 + count;
    }
    return true;
}

/* One component, or three with a sampling that we can upsample. */
static bool sampling_taken(const hr_jpeg_markers *m)
{
    const hr_jpeg_component *c = m->component;
    if (m->components == 1)
        return true;
    if (c[1].h != 1 || c[1].v != 1 || c[2].h != 1 || c[2].v != 1)
        return false;
    int32_t kind = 10 * c[0].h + c[0].v;
    if (kind != 11 && kind != 21 && kind != 22 && kind != 12 && kind != 41)
        return false;
    /* libjpeg-turbo upsamples fewer than three chroma columns in another way */
    return c[0].h != 2 || m->width > 4;
}

static bool read_frame(walk *w, const uint8_t *p, size_t n)
{
    hr_jpeg_markers *m = w->m;
    if (w->frame || n < 6 || p[0] != 8)
        return false;
    m->height = (int32_t)hr_get_be16(p + 1);
    m->width = (int32_t)hr_get_be16(p + 3);
    m->components = p[5];
    if (m->height < 1 || m->width < 1 || m->height > SIDE_MAX || m->width > SIDE_MAX ||
        (m->components != 1 && m->components != 3) || n != 6 + 3 * (size_t)m->components)
        return false;
    for (int32_t i = 0; i < m->components; i++) {
        hr_jpeg_component *c = &m->component[i];
        *c = (hr_jpeg_component){.id = p[6 + 3 * i],
                                 .h = p[7 + 3 * i] >> 4,
                                 .v = p[7 + 3 * i] & 15,
                                 .quant = p[8 + 3 * i]};
        if (c->h < 1 || c->h > 4 || c->v < 1 || c->v > 4 || c->quant >= HR_JPEG_TABLES)
            return false;
        for (int32_t k = 0; k < i; k++)
            if (m->component[k].id == c->id)
                return false;
    }
    if (m->components == 1) /* sampling factors of a single component have no meaning */
        m->component[0].h = m->component[0].v = 1;
    w->frame = true;
    return sampling_taken(m);
}

/* One scan of all components, in the order of the frame. */
static bool read_scan(walk *w, const uint8_t *p, size_t n)
{
    hr_jpeg_markers *m = w->m;
    if (!w->frame || n != 4 + 2 * (size_t)m->components || p[0] != m->components)
        return false;
    for (int32_t i = 0; i < m->components; i++) {
        hr_jpeg_component *c = &m->component[i];
        c->dc = p[2 + 2 * i] >> 4;
        c->ac = p[2 + 2 * i] & 15;
        if (p[1 + 2 * i] != c->id || c->dc >= HR_JPEG_TABLES || c->ac >= HR_JPEG_TABLES ||
            !m->huffman[0][c->dc] || !m->huffman[1][c->ac] || !m->quant[c->quant])
            return false;
    }
    const uint8_t *end = p + 1 + 2 * m->components;
    return end[0] == 0 && end[1] == 63 && end[2] == 0;
}

/* All components in the order of the frame, or one of them. */
static bool read_pass(walk *w, const uint8_t *p, size_t n)
{
    hr_jpeg_markers *m = w->m;
    hr_jpeg_pass_header *s = &m->pass;
    if (!w->frame || n < 6 || n != 4 + 2 * (size_t)p[0] || (p[0] != 1 && p[0] != m->components))
        return false;
    *s = (hr_jpeg_pass_header){.components = p[0]};
    while (s->components == 1 && p[1] != m->component[s->component].id)
        if (++s->component == m->components)
            return false;
    for (int32_t i = 0; i < s->components; i++) {
        hr_jpeg_component *c = &m->component[s->component + i];
        c->dc = p[2 + 2 * i] >> 4;
        c->ac = p[2 + 2 * i] & 15;
        if (p[1 + 2 * i] != c->id || c->dc >= HR_JPEG_TABLES || c->ac >= HR_JPEG_TABLES)
            return false;
    }
    const uint8_t *end = p + 1 + 2 * s->components;
    s->first = end[0];
    s->last = end[1];
    s->high = end[2] >> 4;
    s->low = end[2] & 15;
    bool band = s->first == 0 ? s->last == 0 : s->components == 1 && s->first <= s->last;
    return band && s->last < 64 && s->low <= 13 && (s->high == 0 || s->high == s->low + 1);
}

static void read_application(walk *w, int marker, const uint8_t *p, size_t n)
{
    if (marker == MARKER_APP0 && n >= 14 && memcmp(p, "JFIF", 5) == 0)
        w->jfif = true;
    if (marker == MARKER_APP14 && n >= 12 && memcmp(p, "Adobe", 5) == 0) {
        w->adobe = true;
        w->transform = p[11];
    }
}

/* By the rules of libjpeg. */
static hr_jpeg_color color_of(const walk *w)
{
    const hr_jpeg_component *c = w->m->component;
    if (w->m->components == 1)
        return HR_JPEG_COLOR_GREY;
    if (w->jfif)
        return HR_JPEG_COLOR_YCC;
    if (w->adobe)
        return w->transform == 0 ? HR_JPEG_COLOR_RGB : HR_JPEG_COLOR_YCC;
    return c[0].id == 'R' && c[1].id == 'G' && c[2].id == 'B' ? HR_JPEG_COLOR_RGB
                                                              : HR_JPEG_COLOR_YCC;
}

static bool read_segment(walk *w, int marker, const uint8_t *p, size_t n)
{
    switch (marker) {
    case MARKER_SOF0:
    case MARKER_SOF1:
    case MARKER_SOF2:
        w->m->progressive = marker == MARKER_SOF2;
        return read_frame(w, p, n);
    case MARKER_DHT:
        return read_huffman(w->m, p, n);
    case MARKER_DQT:
        return !w->later && read_quant(w->m, p, n);
    case MARKER_SOS:
        return w->m->progressive ? read_pass(w, p, n) : read_scan(w, p, n);
    case MARKER_DRI:
        if (n != 2)
            return false;
        w->m->restart = (int32_t)hr_get_be16(p);
        return true;
    default:
        if (marker < MARKER_APP0 || (marker > MARKER_APP15 && marker != MARKER_COM))
            return false;
        read_application(w, marker, p, n);
        return true;
    }
}

/* From `at` up to a scan's data, or behind EOI. */
static bool read_segments(walk *w, const uint8_t *bytes, size_t size, size_t at)
{
    for (int marker = 0; marker != MARKER_SOS;) {
        if (at >= size || bytes[at] != 0xFF)
            return false;
        while (at < size && bytes[at] == 0xFF)
            at++;
        w->end = w->later && at < size && bytes[at] == MARKER_EOI;
        if (w->end)
            return true;
        if (size - at < 3)
            return false;
        marker = bytes[at++];
        size_t length = hr_get_be16(bytes + at);
        if (length < 2 || length > size - at ||
            !read_segment(w, marker, bytes + at + 2, length - 2))
            return false;
        at += length;
    }
    w->m->scan = at;
    return true;
}

/* From behind SOI, which the codec has checked. */
static bool read_first(hr_jpeg_markers *m, const uint8_t *bytes, size_t size)
{
    memset(m, 0, sizeof *m);
    walk w = {.m = m};
    if (!read_segments(&w, bytes, size, 2))
        return false;
    m->color = color_of(&w);
    return true;
}

bool hr_jpeg_markers_read(hr_jpeg_markers *m, const uint8_t *bytes, size_t size)
{
    return read_first(m, bytes, size) && !m->progressive;
}

bool hr_jpeg_passes_open(hr_jpeg_markers *m, const uint8_t *bytes, size_t size)
{
    if (!read_first(m, bytes, size) || !m->progressive)
        return false;
    for (int32_t i = 0; i < m->components; i++)
        if (!m->quant[m->component[i].quant])
            return false;
    return true;
}

bool hr_jpeg_passes_next(hr_jpeg_markers *m, const uint8_t *bytes, size_t size, size_t at,
                         bool *end)
{
    walk w = {.m = m, .frame = true, .later = true};
    bool good = read_segments(&w, bytes, size, at);
    *end = w.end;
    return good;
}

/* Fancy upsampling needs one more chroma sample on each side. */
hr_jpeg_area hr_jpeg_area_of(const hr_jpeg_markers *m, int32_t planes, int32_t y0, int32_t x0,
                             int32_t y1, int32_t x1)
{
    int32_t h = m->component[0].h, v = m->component[0].v;
    int32_t beside = h == 2 && planes > 1, above = v == 2 && planes > 1;
    int32_t wide = HR_DIVIDE_UP(m->width, h), high = HR_DIVIDE_UP(m->height, v);
    return (hr_jpeg_area){.across = HR_DIVIDE_UP(m->width, 8 * h),
                          .down = HR_DIVIDE_UP(m->height, 8 * v),
                          .left = HR_MAX(x0 / h - beside, 0) / 8,
                          .right = HR_MIN((x1 - 1) / h + beside, wide - 1) / 8 + 1,
                          .top = HR_MAX(y0 / v - above, 0) / 8,
                          .bottom = HR_MIN((y1 - 1) / v + above, high - 1) / 8 + 1};
}

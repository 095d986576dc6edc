/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* libjpeg-turbo reads the coefficients of all scans and writes them in one, as its program jpegtran
 * does. Only what decoding needs is written: no EXIF data, profiles or restart markers. */
#include "codecs/jpeg/transcode.h"

#include "codecs/codec.h"
#include "codecs/jpeg/markers.h"
#include "codecs/jpeg/progressive.h"
#include "codecs/jpeg/index_folder.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

enum {
    /* The new file may have GROWTH times the size of the file, and ROOM. One scan takes at least 2
     * bits per block, several take at least 1, so no usual file needs as much. */
    GROWTH = 4,
    ROOM = 1 << 16,
    LIBJPEG_MEMORY = 64 << 20 /* bytes, not counting coefficients */
};

typedef struct transcoder {
    struct jpeg_decompress_struct in;
    struct jpeg_compress_struct out;
    struct jpeg_destination_mgr to;
    struct jpeg_error_mgr errors;
    jmp_buf escape;
    uint8_t *bytes; /* the new file */
    size_t capacity;
    size_t coefficients; /* bytes that libjpeg takes for them */
} transcoder;

static size_t most_bytes(hr_jpeg_file file)
{
    return HR_MIN(GROWTH * file.size + ROOM, (size_t)HR_CACHE_VALUE_MAX);
}

static void leave(j_common_ptr cinfo)
{
    transcoder *t = cinfo->client_data;
    longjmp(t->escape, 1);
}

static void on_message(j_common_ptr cinfo, int level)
{
    if (level < 0) /* a warning */
        leave(cinfo);
}

static void begin_output(j_compress_ptr cinfo)
{
    transcoder *t = cinfo->client_data;
    t->to.next_output_byte = t->bytes;
    t->to.free_in_buffer = t->capacity;
}

static boolean on_full(j_compress_ptr cinfo)
{
    leave((j_common_ptr)cinfo);
    return FALSE;
}

static void end_output(j_compress_ptr cinfo)
{
    (void)cinfo;
}

static void rewrite(transcoder *t, hr_jpeg_file file)
{
    jpeg_create_decompress(&t->in);
    jpeg_create_compress(&t->out);
    t->in.mem->max_memory_to_use = (long)(t->coefficients + LIBJPEG_MEMORY);
    t->out.dest = &t->to;
    jpeg_mem_src(&t->in, file.bytes, file.size);
    jpeg_read_header(&t->in, TRUE);
    jvirt_barray_ptr *coefficients = jpeg_read_coefficients(&t->in);
    jpeg_copy_critical_parameters(&t->in, &t->out);
    t->out.optimize_coding = TRUE;
    jpeg_write_coefficients(&t->out, coefficients);
    jpeg_finish_compress(&t->out);
    jpeg_finish_decompress(&t->in);
}

/* The only frame that longjmp comes back to; everything that lives across it is in the caller's
 * `t`. */
static bool guard(transcoder *t, hr_jpeg_file file)
{
    if (setjmp(t->escape) != 0)
        return false;
    rewrite(t, file);
    return true;
}

/* Whether our own decoder takes the whole file. What libjpeg-turbo decodes in another way, such as
 * files with missing bits, whose blocks it smooths, has other pixels when it is transcoded. */
static bool whole(hr_jpeg_markers *m, hr_jpeg_file file, const hr_op_call *c)
{
    const hr_kernels *kernels = c->kernels ? c->kernels : hr_kernels_get(HR_CPU_LEVEL_AUTO);
    hr_arena_mark mark = hr_arena_save(c->arena);
    hr_jpeg_progressive *p;
    int32_t last = HR_DIVIDE_UP(m->height, 8 * m->component[0].v) - 1;
    bool good = hr_jpeg_progressive_open(&p, m, file.bytes, file.size, kernels, c->arena, NULL) ==
                    HR_STATUS_OK &&
                hr_jpeg_progressive_read(p, last);
    hr_arena_restore(c->arena, mark);
    return good;
}

static size_t coefficients_of(const hr_jpeg_markers *m)
{
    size_t h = m->component[0].h, v = m->component[0].v;
    size_t mcus = HR_DIVIDE_UP((size_t)m->width, 8 * h) * HR_DIVIDE_UP((size_t)m->height, 8 * v);
    return mcus * (h * v + (size_t)m->components - 1) * sizeof(JBLOCK);
}

bool hr_jpeg_transcode(hr_jpeg_file file, hr_op_call *c, hr_jpeg_file *out)
{
    hr_jpeg_markers m;
    transcoder t = {.coefficients = 0};
    if (file.size > HR_CACHE_VALUE_MAX || !hr_jpeg_passes_open(&m, file.bytes, file.size) ||
        !whole(&m, file, c))
        return false;
    t.coefficients = coefficients_of(&m);
    t.capacity = most_bytes(file);
    t.bytes = hr_arena_alloc(c->arena, t.capacity, NULL);
    if (!t.bytes || hr_image_count(c->arena, t.coefficients, file.size, NULL) != HR_STATUS_OK)
        return false;
    t.in.err = t.out.err = jpeg_std_error(&t.errors);
    t.in.client_data = t.out.client_data = &t;
    t.errors.error_exit = leave;
    t.errors.emit_message = on_message;
    t.to = (struct jpeg_destination_mgr){.init_destination = begin_output,
                                         .empty_output_buffer = on_full,
                                         .term_destination = end_output};
    bool good = guard(&t, file);
    jpeg_destroy_compress(&t.out);
    jpeg_destroy_decompress(&t.in);
    hr_arena_uncount(c->arena, t.coefficients);
    *out = (hr_jpeg_file){t.bytes, t.capacity - t.to.free_in_buffer};
    return good && hr_jpeg_stands_for(*out, file);
}

static bool same_component(const hr_jpeg_markers *a, const hr_jpeg_markers *b, int32_t i)
{
    const hr_jpeg_component *p = &a->component[i], *q = &b->component[i];
    int16_t quant[2][64];
    hr_jpeg_quant_build(quant[0], a->quant[p->quant], a->wide[p->quant]);
    hr_jpeg_quant_build(quant[1], b->quant[q->quant], b->wide[q->quant]);
    return p->h == q->h && p->v == q->v && memcmp(quant[0], quant[1], sizeof quant[0]) == 0;
}

bool hr_jpeg_stands_for(hr_jpeg_file other, hr_jpeg_file file)
{
    hr_jpeg_markers a, b;
    if (other.size > most_bytes(file) || !hr_jpeg_markers_read(&a, other.bytes, other.size) ||
        !hr_jpeg_passes_open(&b, file.bytes, file.size) || a.width != b.width ||
        a.height != b.height || a.components != b.components || a.color != b.color)
        return false;
    for (int32_t i = 0; i < a.components; i++)
        if (!same_component(&a, &b, i))
            return false;
    return true;
}

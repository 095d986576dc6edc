/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* JPEG through our own decoders and libjpeg-turbo: accurate integer IDCT, fancy upsampling, and of
 * a window only what its pixels depend on, so that they equal the same pixels of the whole image.
 */
#include "codecs/codec.h"

#include "codecs/bytes.h"
#include "codecs/exif.h"
#include "codecs/jpeg/codes.h"
#include "codecs/jpeg/decoder.h"
#include "codecs/jpeg/lossless.h"
#include "codecs/jpeg/transcode.h"
#include "core/note.h"
#include "codecs/jpeg/index_cache.h"
#include "core/task.h"
#include "codecs/jpeg/check.h"
#include "codecs/jpeg/device.h"
#include "image/coded.h"
#include "codecs/jpeg/segment.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

enum {
    MAX_SCANS = 256, /* a progressive image has about ten; a hostile one as many as fit */
    ROWS = 4,        /* rows asked for in a call; libjpeg gives one row group, at most four rows */
    LIBJPEG_MEMORY = 64 << 20, /* bytes, not counting coefficients */
    MIN_COLUMNS = 32 /* narrower than three chroma samples libjpeg upsamples in another way */
};

/* ---- header: a walk over the markers, without the tables ---- */

static bool match(const uint8_t *bytes, size_t size)
{
    return size >= 3 && bytes[0] == 0xFF && bytes[1] == MARKER_SOI && bytes[2] == 0xFF;
}

static hr_status read_frame(const hr_jpeg_segment *s, hr_image_info *info, hr_error *error)
{
    if (s->size < 6)
        return hr_fail(error, HR_STATUS_CORRUPT, "JPEG: the frame header is too short");
    info->height = (int32_t)hr_get_be16(s->data + 1);
    info->width = (int32_t)hr_get_be16(s->data + 3);
    int components = s->data[5];
    if (info->height == 0 || info->width == 0)
        return hr_fail(error, HR_STATUS_CORRUPT, "JPEG: the image is %dx%d pixels", info->width,
                       info->height);
    if (components != 1 && components != 3 && components != 4)
        return hr_fail(error, HR_STATUS_CORRUPT, "JPEG: %d components; 1, 3 and 4 are supported",
                       components);
    info->channels = components == 1 ? 1 : 3;
    info->components = components;
    info->lossless = s->marker == MARKER_SOF3;
    info->bits = info->lossless && s->data[0] > 8 ? 16 : 8;
    return HR_STATUS_OK;
}

static hr_status header(const uint8_t *bytes, size_t size, hr_image_info *info, hr_error *error)
{
    bool frame = false, exif = false;
    size_t at = 2;
    info->orientation = 1;
    for (;;) {
        hr_jpeg_segment s = hr_jpeg_segment_next(bytes, size, &at);
        if (s.marker == HR_JPEG_SEGMENT_BAD)
            return hr_fail(error, HR_STATUS_CORRUPT, "JPEG: a segment has a bad length");
        if (s.marker < 0 || s.marker == MARKER_SOS || s.marker == MARKER_EOI)
            break;
        if (hr_jpeg_segment_is_frame(s.marker) && !frame) {
            HR_TRY(read_frame(&s, info, error));
            info->progressive = s.marker == MARKER_SOF2;
            frame = true;
        } else if (s.marker == MARKER_APP1 && !exif && s.size >= 6 &&
                   memcmp(s.data, "Exif\0\0", 6) == 0) {
            info->orientation = hr_exif_orientation(s.data, s.size);
            exif = true;
        }
    }
    return frame ? HR_STATUS_OK
                 : hr_fail(error, HR_STATUS_CORRUPT, "JPEG: the file ends before the image's size");
}

/* ---- libjpeg with errors that come back ---- */

typedef struct jpeg_reader {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf escape;
    hr_status status;
    char failure[JMSG_LENGTH_MAX], warning[JMSG_LENGTH_MAX];
    /* what was decoded: columns from `left`, `width` of them */
    JDIMENSION left, width;
    JSAMPLE *rows[ROWS]; /* scratch where rows do not go straight to the destination */
    const hr_codec_request *request;
    hr_arena *arena;
    size_t counted; /* bytes of coefficients, in the arena */
    hr_error *error;
} jpeg_reader;

static void fail(jpeg_reader *r, hr_status status, const char *message)
{
    r->status = status;
    snprintf(r->failure, sizeof r->failure, "%s", message);
    longjmp(r->escape, 1);
}

static void on_error(j_common_ptr cinfo)
{
    jpeg_reader *r = cinfo->client_data;
    cinfo->err->format_message(cinfo, r->failure);
    r->status =
        cinfo->err->msg_code == JERR_OUT_OF_MEMORY ? HR_STATUS_NO_MEMORY : HR_STATUS_CORRUPT;
    longjmp(r->escape, 1);
}

/* Keeps the first warning about damage; later ones follow from it. Warnings about versions and
 * colour hints are not about damage. */
static void on_message(j_common_ptr cinfo, int level)
{
    jpeg_reader *r = cinfo->client_data;
    int code = cinfo->err->msg_code;
    if (level >= 0 || code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM)
        return;
    if (cinfo->err->num_warnings++ == 0)
        cinfo->err->format_message(cinfo, r->warning);
}

static void on_progress(j_common_ptr cinfo)
{
    jpeg_reader *r = cinfo->client_data;
    if (r->cinfo.input_scan_number > MAX_SCANS) {
        char text[64];
        snprintf(text, sizeof text, "more than %d scans", MAX_SCANS);
        fail(r, HR_STATUS_LIMIT, text);
    }
}

/* ---- windows ---- */

/* Chooses the columns to decode: the window, and the columns around it for fancy upsampling. */
static void choose_columns(jpeg_reader *r)
{
    struct jpeg_decompress_struct *cinfo = &r->cinfo;
    const hr_window *w = &r->request->window;
    JDIMENSION all = cinfo->output_width, align = DCTSIZE;
    r->left = 0;
    r->width = all;
    /* Progressive files may be smoothed across blocks, up to two on each side: take whole rows. */
    if (cinfo->progressive_mode)
        return;
    if (cinfo->num_components > 1)
        align *= (JDIMENSION)cinfo->max_h_samp_factor;
    JDIMENSION left = w->x > 0 ? (JDIMENSION)w->x - 1 : 0;
    JDIMENSION right = HR_MIN(all, (JDIMENSION)(w->x + w->w) + 1);
    if (right - left < MIN_COLUMNS)
        right = HR_MIN(all, left + MIN_COLUMNS);
    if (right - left < MIN_COLUMNS)
        left = right > MIN_COLUMNS ? right - MIN_COLUMNS : 0;
    left -= left % align;
    if (left == 0 && right == all)
        return;
    r->left = left;
    r->width = right - left;
    jpeg_crop_scanline(cinfo, &r->left, &r->width);
}

/* In place. Adobe's files store inverted inks. */
static void cmyk_to_rgb(uint8_t *row, size_t n, bool adobe)
{
    uint32_t flip = adobe ? 0 : 255;
    for (size_t i = 0; i < n; i++) {
        uint32_t c = row[4 * i] ^ flip, m = row[4 * i + 1] ^ flip, y = row[4 * i + 2] ^ flip;
        uint32_t k = row[4 * i + 3] ^ flip;
        row[3 * i] = (uint8_t)(c * k / 255);
        row[3 * i + 1] = (uint8_t)(m * k / 255);
        row[3 * i + 2] = (uint8_t)(y * k / 255);
    }
}

/* Grey of such pixels, rounded down: there is no luma plane to take. */
static void rgb_to_grey(uint8_t *dst, const uint8_t *rgb, size_t n)
{
    for (size_t i = 0; i < n; i++, rgb += 3)
        dst[i] = (uint8_t)((299u * rgb[0] + 587u * rgb[1] + 114u * rgb[2]) / 1000);
}

static void store_row(const jpeg_reader *r, uint8_t *row, uint8_t *dst)
{
    const hr_codec_request *q = r->request;
    size_t n = (size_t)q->window.w, skip = (size_t)q->window.x - r->left;
    row += skip * (size_t)r->cinfo.output_components;
    if (r->cinfo.out_color_space == JCS_CMYK) {
        cmyk_to_rgb(row, n, r->cinfo.saw_Adobe_marker);
        if (q->channels == 1) {
            rgb_to_grey(dst, row, n);
            return;
        }
    }
    memcpy(dst, row, n * (size_t)q->channels);
}

static void read_rows(jpeg_reader *r)
{
    struct jpeg_decompress_struct *cinfo = &r->cinfo;
    const hr_codec_request *q = r->request;
    bool direct = r->left == (JDIMENSION)q->window.x && r->width == (JDIMENSION)q->window.w &&
                  cinfo->out_color_space != JCS_CMYK;
    if (!direct) {
        size_t stride = ((size_t)r->width * (size_t)cinfo->output_components + 63) & ~(size_t)63;
        uint8_t *rows = hr_arena_alloc(r->arena, ROWS * stride, r->error);
        if (!rows)
            fail(r, HR_STATUS_NO_MEMORY, "no memory for rows");
        for (int i = 0; i < ROWS; i++)
            r->rows[i] = rows + (size_t)i * stride;
    }
    int64_t done = 0;
    while (done < q->window.h) {
        uint8_t *dst = (uint8_t *)q->dst + (size_t)done * q->stride;
        JDIMENSION want = (JDIMENSION)HR_MIN(q->window.h - done, ROWS);
        if (direct)
            for (JDIMENSION i = 0; i < want; i++)
                r->rows[i] = dst + i * q->stride;
        JDIMENSION got = jpeg_read_scanlines(cinfo, r->rows, want);
        if (got == 0)
            fail(r, HR_STATUS_CORRUPT, "the decoder gave no rows");
        if (!direct)
            for (JDIMENSION i = 0; i < got; i++)
                store_row(r, r->rows[i], dst + i * q->stride);
        done += got;
    }
}

/* libjpeg keeps the coefficients of files with several scans. */
static void count_coefficients(jpeg_reader *r, size_t size)
{
    struct jpeg_decompress_struct *cinfo = &r->cinfo;
    size_t blocks = 0;
    for (int i = 0; i < cinfo->num_components && jpeg_has_multiple_scans(cinfo); i++) {
        const jpeg_component_info *c = &cinfo->comp_info[i];
        size_t across = HR_DIVIDE_UP(c->width_in_blocks, (size_t)c->h_samp_factor);
        size_t down = HR_DIVIDE_UP(c->height_in_blocks, (size_t)c->v_samp_factor);
        blocks += across * down * (size_t)(c->h_samp_factor * c->v_samp_factor);
    }
    hr_status status = hr_image_count(r->arena, blocks * sizeof(JBLOCK), size, r->error);
    if (status != HR_STATUS_OK)
        fail(r, status, r->error ? r->error->message : "no memory for coefficients");
    r->counted = blocks * sizeof(JBLOCK);
    cinfo->mem->max_memory_to_use = (long)(r->counted + LIBJPEG_MEMORY);
}

static void read_image(jpeg_reader *r, const uint8_t *bytes, size_t size, const hr_image_info *info)
{
    struct jpeg_decompress_struct *cinfo = &r->cinfo;
    jpeg_create_decompress(cinfo);
    cinfo->progress = &r->progress;
    jpeg_mem_src(cinfo, bytes, size);
    jpeg_read_header(cinfo, TRUE);
    if (cinfo->image_width != (JDIMENSION)info->width ||
        cinfo->image_height != (JDIMENSION)info->height)
        fail(r, HR_STATUS_CORRUPT, "the file gives two sizes");
    if (cinfo->num_components == 4)
        cinfo->out_color_space = JCS_CMYK;
    else
        cinfo->out_color_space = r->request->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    cinfo->dct_method = JDCT_ISLOW;
    cinfo->do_fancy_upsampling = TRUE;
    count_coefficients(r, size);
    jpeg_start_decompress(cinfo);
    choose_columns(r);
    if (r->request->window.y > 0)
        jpeg_skip_scanlines(cinfo, (JDIMENSION)r->request->window.y);
    read_rows(r);
}

/* The only frame that longjmp comes back to; everything that lives across it is in the caller's
 * `r`. */
static void guard(jpeg_reader *r, const uint8_t *bytes, size_t size, const hr_image_info *info)
{
    if (setjmp(r->escape) == 0)
        read_image(r, bytes, size, info);
}

static hr_status decode_by_libjpeg(const uint8_t *bytes, size_t size, const hr_image_info *info,
                                   const hr_codec_request *request, hr_op_call *c, hr_error *error)
{
    jpeg_reader r;
    memset(&r.cinfo, 0, sizeof r.cinfo);
    r.status = HR_STATUS_OK;
    r.failure[0] = r.warning[0] = 0;
    r.request = request;
    r.arena = c->arena;
    r.counted = 0;
    r.error = error;
    r.cinfo.err = jpeg_std_error(&r.errors);
    r.cinfo.client_data = &r;
    r.errors.error_exit = on_error;
    r.errors.emit_message = on_message;
    r.progress.progress_monitor = on_progress;
    guard(&r, bytes, size, info);
    jpeg_destroy_decompress(&r.cinfo);
    hr_arena_uncount(r.arena, r.counted);
    if (r.status != HR_STATUS_OK)
        return hr_fail(error, r.status, "JPEG: %s", r.failure);
    if (r.errors.num_warnings > 0)
        return hr_task_warn(c->task, error, "JPEG: %s", r.warning);
    return HR_STATUS_OK;
}

/* ---- our own decoder, with what the cache has of the file ---- */

/* What our own decoders read. */
typedef struct source {
    hr_jpeg_file file; /* or the baseline file that the cache has of it */
    hr_buffer *buffer; /* that contains its bytes, or NULL */
    hr_cache *cache;   /* of its index; NULL: it has none */
    bool progressive;  /* only a device uses its index */
} source;

typedef struct indexed_reader {
    hr_jpeg_reader *inner;
    int64_t left; /* rows */
    hr_cache *cache;
    hr_hash key;
    hr_jpeg_index index;
    hr_arena *arena;
} indexed_reader;

/* The key of the file, which is kept with its bytes if these stay the same. */
static hr_hash key_of(const source *s)
{
    const hr_jpeg_file *f = &s->file;
    hr_note note;
    if (s->buffer && hr_buffer_get_note(s->buffer, f->bytes, f->size, &note))
        return (hr_hash){{note.word[0], note.word[1]}};
    hr_hash key = hr_cache_key(s->cache, f->bytes, f->size);
    if (s->buffer)
        hr_buffer_put_note(s->buffer, f->bytes, f->size, (hr_note){{key.word[0], key.word[1]}});
    return key;
}

/* The baseline file of a progressive one, from the cache or made for it, in the arena. */
static bool find_baseline(const source *s, hr_op_call *c, hr_jpeg_file *out)
{
    hr_hash key = key_of(s);
    if (hr_cache_get_file(s->cache, &key, c->arena, &out->bytes, &out->size))
        return hr_jpeg_stands_for(*out, s->file);
    if (!hr_task_transcodes(c->task) || !hr_jpeg_transcode(s->file, c, out))
        return false;
    hr_cache_put_file(s->cache, &key, out->bytes, out->size);
    return true;
}

static source source_of(const uint8_t *bytes, size_t size, const hr_image_info *info, hr_op_call *c)
{
    source s = {.file = {bytes, size},
                .buffer = c->n_in > 0 ? c->in[0].buffer : NULL,
                .cache = hr_task_cache(c->task)};
    if (!s.cache || !info->progressive)
        return s;
    hr_jpeg_file baseline;
    if (hr_cache_has_folder(s.cache) && find_baseline(&s, c, &baseline))
        return (source){.file = baseline, .cache = s.cache};
    s.progressive = true;
    return s;
}

/* The known entries of the file's index, with capacity for all of them. */
static hr_status index_find(hr_jpeg_index *index, hr_hash *key, const source *s, hr_arena *arena,
                            hr_error *error)
{
    const uint8_t *packed;
    size_t packed_size;
    HR_TRY(hr_jpeg_index_make(index, s->file.size, arena, error));
    *key = key_of(s);
    if (hr_cache_get(s->cache, key, arena, &packed, &packed_size))
        hr_jpeg_index_unpack(index, packed, packed_size);
    return HR_STATUS_OK;
}

static hr_status open_rows(const uint8_t *bytes, size_t size, const hr_image_info *info,
                           const hr_codec_request *request, hr_op_call *c, void **reader,
                           hr_error *error)
{
    if (info->lossless)
        return HR_STATUS_NOT_FUSABLE;
    indexed_reader *r = hr_arena_alloc(c->arena, sizeof *r, error);
    HR_TRY_ALLOC(r);
    source s = source_of(bytes, size, info, c);
    *r = (indexed_reader){
        .left = request->window.h, .cache = s.progressive ? NULL : s.cache, .arena = c->arena};
    if (r->cache)
        HR_TRY(index_find(&r->index, &r->key, &s, c->arena, error));
    *reader = r;
    return hr_jpeg_open(s.file.bytes, s.file.size, info, request, r->cache ? &r->index : NULL, c,
                        &r->inner, error);
}

/* After the last row, when no damage was found. */
static void keep_index(indexed_reader *r)
{
    if (!r->cache || r->index.count == r->index.known)
        return;
    uint8_t *packed = hr_arena_alloc(r->arena, (size_t)r->index.count * HR_JPEG_PACKED, NULL);
    if (packed)
        hr_cache_put(r->cache, &r->key, packed, hr_jpeg_index_pack(&r->index, packed));
}

static hr_status read_rows_of(void *reader, void *dst, size_t stride, int32_t rows, hr_error *error)
{
    indexed_reader *r = reader;
    HR_TRY(hr_jpeg_read(r->inner, dst, stride, rows, error));
    r->left -= rows;
    if (r->left == 0)
        keep_index(r);
    return HR_STATUS_OK;
}

static hr_status decode_by_ours(const uint8_t *bytes, size_t size, const hr_image_info *info,
                                const hr_codec_request *request, hr_op_call *c, hr_error *error)
{
    hr_arena_mark mark = hr_arena_save(c->arena);
    void *reader;
    hr_status status = open_rows(bytes, size, info, request, c, &reader, error);
    if (status == HR_STATUS_OK)
        status =
            read_rows_of(reader, request->dst, request->stride, (int32_t)request->window.h, error);
    hr_arena_restore(c->arena, mark);
    return status;
}

/* Our decoder first. libjpeg-turbo decodes unusual and damaged files from the start, so that damage
 * always gives its pixels, warnings and errors. */
static hr_status decode(const uint8_t *bytes, size_t size, const hr_image_info *info,
                        const hr_codec_request *request, hr_op_call *c, hr_error *error)
{
    hr_status status = HR_STATUS_NOT_FUSABLE;
    if (info->lossless)
        return hr_jpeg_lossless_decode(bytes, size, info, request, c->arena, error);
    if (!info->refused)
        status = decode_by_ours(bytes, size, info, request, c, error);
    if (status != HR_STATUS_NOT_FUSABLE)
        return status;
    hr_arena_trim(c->arena);
    return decode_by_libjpeg(bytes, size, info, request, c, error);
}

static hr_status check(const uint8_t *bytes, size_t size, const hr_image_info *info,
                       int64_t *pixels, hr_error *error)
{
    (void)info;
    return hr_jpeg_check(bytes, size, pixels, error);
}

static hr_status stage(const uint8_t *bytes, size_t size, const hr_image_info *info,
                       const hr_codec_request *request, hr_op_call *c, hr_staging *staging,
                       hr_arena *lasting, struct hr_coded *out, hr_error *error)
{
    if (info->lossless)
        return HR_STATUS_NOT_FUSABLE;
    hr_jpeg_device_record *record = hr_arena_alloc(lasting, sizeof(*record), error);
    HR_TRY_ALLOC(record);
    source s = source_of(bytes, size, info, c);
    hr_jpeg_index index = {0};
    record->size = s.file.size;
    record->keyed = s.cache != NULL;
    if (s.cache)
        HR_TRY(index_find(&index, &record->key, &s, c->arena, error));
    HR_TRY(hr_jpeg_device_prepare(s.file.bytes, s.file.size, info, request, s.cache ? &index : NULL,
                                  s.buffer && hr_buffer_pinned(s.buffer), staging, &record->image,
                                  error));
    hr_jpeg_device_coded(record, out);
    return HR_STATUS_OK;
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

static const char *version(void)
{
#ifdef LIBJPEG_TURBO_VERSION
    return TEXT(LIBJPEG_TURBO_VERSION);
#else
    return "libjpeg API " TEXT(JPEG_LIB_VERSION);
#endif
}

const hr_codec hr_codec_jpeg = {
    .name = "jpeg",
    .library = "libjpeg-turbo",
    .version = version,
    .match = match,
    .header = header,
    .check = check,
    .decode = decode,
    .open = open_rows,
    .read = read_rows_of,
    .stage = stage,
    .grey = true,
};

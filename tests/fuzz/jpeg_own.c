/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fuzz target: our own JPEG decoder against libjpeg-turbo. Files that it accepts must give the same
 * pixels there, without a warning, and the same pixels when they are transcoded. The first eight
 * bytes choose level, channels and window. */
#include "codec_fuzz.h"
#include "replay.h"

#include "codecs/jpeg/decoder.h"
#include "codecs/jpeg/transcode.h"

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>
#include <jerror.h>

typedef struct reference {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    jmp_buf escape;
    uint8_t *pixels;
} reference;

static void on_error(j_common_ptr cinfo)
{
    longjmp(((reference *)cinfo->client_data)->escape, 1);
}

static void on_message(j_common_ptr cinfo, int severity)
{
    int code = cinfo->err->msg_code;
    if (severity < 0 && code != JWRN_JFIF_MAJOR && code != JWRN_ADOBE_XFORM)
        cinfo->err->num_warnings++;
}

static void read_reference(reference *r, const uint8_t *file, size_t size, int channels,
                           int64_t rows)
{
    jpeg_create_decompress(&r->cinfo);
    jpeg_mem_src(&r->cinfo, file, size);
    jpeg_read_header(&r->cinfo, TRUE);
    r->cinfo.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_start_decompress(&r->cinfo);
    size_t stride = (size_t)r->cinfo.output_width * (size_t)channels;
    r->pixels = malloc(stride * r->cinfo.output_height);
    while (r->cinfo.output_scanline < (JDIMENSION)rows) {
        JSAMPROW row = r->pixels + r->cinfo.output_scanline * stride;
        jpeg_read_scanlines(&r->cinfo, &row, 1);
    }
}

/* Decodes rows up to the window's end; false if libjpeg-turbo fails or warns. It reads all `rows`,
 * so that a warning concerns what was requested. */
static bool reference_ok(reference *r, const uint8_t *file, size_t size, int channels, int64_t rows)
{
    bool good = false;
    r->pixels = NULL;
    r->cinfo.client_data = r;
    r->cinfo.err = jpeg_std_error(&r->errors);
    r->errors.error_exit = on_error;
    r->errors.emit_message = on_message;
    if (setjmp(r->escape) == 0) {
        read_reference(r, file, size, channels, rows);
        good = true;
    }
    good = good && r->errors.num_warnings == 0;
    jpeg_destroy_decompress(&r->cinfo);
    return good;
}

static void compare(const uint8_t *file, size_t size, const hr_image_info *info,
                    const hr_codec_request *q)
{
    static reference r;
    size_t n = (size_t)(q->window.w * q->channels);
    bool whole = q->window.h == info->height && q->window.w == info->width;
    bool good = reference_ok(&r, file, size, q->channels, q->window.y + q->window.h);
    if (whole && !good)
        abort(); /* damage that our decoder did not detect */
    for (int64_t y = 0; good && y < q->window.h; y++) {
        size_t at = (size_t)((q->window.y + y) * info->width + q->window.x);
        if (memcmp((uint8_t *)q->dst + (size_t)y * q->stride, r.pixels + at * (size_t)q->channels,
                   n) != 0)
            abort();
    }
    free(r.pixels);
}

static void compare_transcoded(const uint8_t *file, size_t size, const hr_image_info *info,
                               const hr_codec_request *q, hr_op_call *c)
{
    hr_codec_request again = *q;
    hr_jpeg_file out;
    hr_error error;
    if (!hr_jpeg_transcode((hr_jpeg_file){file, size}, c, &out))
        return;
    size_t bytes = q->stride * (size_t)q->window.h;
    again.dst = malloc(bytes);
    if (again.dst &&
        (hr_jpeg_decode(out.bytes, out.size, info, &again, NULL, c, &error) != HR_STATUS_OK ||
         memcmp(again.dst, q->dst, bytes) != 0))
        abort();
    free(again.dst);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const hr_cpu_level levels[] = {HR_CPU_LEVEL_BASE, HR_CPU_LEVEL_V3, HR_CPU_LEVEL_V4};
    hr_image_info info;
    hr_error error;
    hr_arena *arena;
    if (size < FUZZ_PREFIX)
        return 0;
    const uint8_t *file = data + FUZZ_PREFIX;
    size -= FUZZ_PREFIX;
    if (hr_image_probe(file, size, FUZZ_MAX_PIXELS, &info, &error) != HR_STATUS_OK ||
        strcmp(info.codec->name, "jpeg") != 0)
        return 0;
    hr_codec_request q = {.channels = info.channels == 1 || data[1] & 1 ? 1 : 3};
    q.window = (hr_window){0, 0, info.height, info.width};
    if (data[2] & 1) {
        fuzz_axis(info.height, data[4], data[5], &q.window.y, &q.window.h);
        fuzz_axis(info.width, data[6], data[7], &q.window.x, &q.window.w);
    }
    q.stride = (size_t)q.window.w * (size_t)q.channels;
    q.dst = malloc(q.stride * (size_t)q.window.h);
    if (q.dst && hr_arena_create(&arena, &error) == HR_STATUS_OK) {
        hr_op_call c = {.arena = arena, .kernels = hr_kernels_get(levels[data[0] % 3])};
        if (hr_jpeg_decode(file, size, &info, &q, NULL, &c, &error) == HR_STATUS_OK) {
            compare(file, size, &info, &q);
            compare_transcoded(file, size, &info, &q, &c);
        }
        hr_arena_destroy(arena);
    }
    free(q.dst);
    return 0;
}

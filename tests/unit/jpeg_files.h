/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* JPEG files for the tests of our own decoders: every kind that they decode, and coefficients that
 * no image has. */
#pragma once

#include "codec_help.h"

static const int files_samplings[][2] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}};

/* Flat, smooth, noise, or sharp black and white. */
static inline void files_paint(uint8_t *pixels, int n, int kind)
{
    static const int steps[] = {0, 3, 256, 2};
    int v = (int)(help_random() % 256);
    for (int i = 0; i < n; i++) {
        if (kind == 3)
            v = help_random() % 9 == 0 ? 255 - v : v > 127 ? 255 : 0;
        else if (steps[kind] > 0)
            v += help_between(-steps[kind], steps[kind]);
        pixels[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
    }
}

/* Makes all codes `bits` bits long. */
static inline void files_lengthen(JHUFF_TBL *table, int bits)
{
    int count = 0;
    for (int i = 1; table && i <= 16; i++) {
        count += table->bits[i];
        table->bits[i] = 0;
    }
    if (table)
        table->bits[bits] = (UINT8)count;
}

/* Rewrites a file's coefficients after `change` has set what is different. */
static inline uint8_t *files_rewrite(const uint8_t *file, size_t *size,
                                     void (*change)(struct jpeg_compress_struct *out,
                                                    const void *context),
                                     const void *context)
{
    struct jpeg_decompress_struct in;
    struct jpeg_compress_struct out;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long n = 0;
    in.err = out.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&in);
    jpeg_create_compress(&out);
    jpeg_mem_src(&in, file, *size);
    jpeg_mem_dest(&out, &bytes, &n);
    jpeg_read_header(&in, TRUE);
    jvirt_barray_ptr *coefficients = jpeg_read_coefficients(&in);
    jpeg_copy_critical_parameters(&in, &out);
    out.restart_interval = in.restart_interval;
    change(&out, context);
    jpeg_write_coefficients(&out, coefficients);
    jpeg_finish_compress(&out);
    jpeg_finish_decompress(&in);
    jpeg_destroy_compress(&out);
    jpeg_destroy_decompress(&in);
    *size = n;
    return bytes;
}

/* Own tables: optimal ones, or ones with long codes. */
static inline void files_tables(struct jpeg_compress_struct *out, const void *best)
{
    out->optimize_coding = *(const bool *)best ? TRUE : FALSE;
    for (int i = 0; i < NUM_HUFF_TBLS && !out->optimize_coding; i++) {
        files_lengthen(out->dc_huff_tbl_ptrs[i], help_between(8, 16));
        files_lengthen(out->ac_huff_tbl_ptrs[i], help_between(8, 16));
    }
}

static inline uint8_t *files_recode(const uint8_t *file, size_t *size, bool best)
{
    return files_rewrite(file, size, files_tables, &best);
}

/* A file of a kind that we decode ourselves. */
typedef help_jpeg files_kind;

static inline uint8_t *files_generate(int round, int side, files_kind *kind, size_t *size)
{
    const int *sampling = files_samplings[round % 5];
    help_jpeg j = {.w = help_between(1, side),
                   .h = help_between(1, side),
                   .channels = round % 11 == 0 ? 1 : 3,
                   .quality = 1 + round % 100,
                   .sampling = {sampling[0], sampling[1]},
                   .rgb = round % 13 == 0,
                   .restart = help_random() % 4 == 0 ? help_between(1, 9) : 0};
    j.rgb = j.rgb && j.channels == 3;
    if (j.sampling[0] == 2 && j.w < 5) /* libjpeg-turbo decodes these */
        j.w = 5;
    uint8_t *pixels = malloc((size_t)(j.w * j.h * 3));
    files_paint(pixels, j.w * j.h * 3, (int)(help_random() % 4));
    uint8_t *file = help_encode_jpeg(&j, pixels, size);
    if (help_random() % 2) {
        uint8_t *again = files_recode(file, size, help_random() % 4 != 0);
        free(file);
        file = again;
    }
    free(pixels);
    *kind = j;
    return file;
}

static inline void files_coefficients(j_compress_ptr out, jvirt_barray_ptr *arrays, int most)
{
    for (int c = 0; c < out->num_components; c++)
        for (JDIMENSION y = 0; y < out->comp_info[c].height_in_blocks; y++) {
            JBLOCKARRAY rows =
                out->mem->access_virt_barray((j_common_ptr)out, arrays[c], y, 1, TRUE);
            for (JDIMENSION x = 0; x < out->comp_info[c].width_in_blocks; x++) {
                int count = help_between(0, 64);
                memset(rows[0][x], 0, sizeof(JBLOCK));
                for (int i = 0; i < count; i++)
                    rows[0][x][help_random() % 64] = (JCOEF)help_between(-most, most);
                rows[0][x][0] = (JCOEF)help_between(-1000, 1000);
            }
        }
}

/* First rows whose products are close to the 16-bit limit, so that their sums are close to 32 bits;
 * then extreme values at random positions. */
static inline void files_extremes(j_compress_ptr out, jvirt_barray_ptr *arrays, int most)
{
    for (int c = 0; c < out->num_components; c++)
        for (JDIMENSION y = 0; y < out->comp_info[c].height_in_blocks; y++) {
            JBLOCKARRAY rows =
                out->mem->access_virt_barray((j_common_ptr)out, arrays[c], y, 1, TRUE);
            for (JDIMENSION x = 0; x < out->comp_info[c].width_in_blocks; x++) {
                int count = help_random() % 2 ? 8 : 64;
                memset(rows[0][x], 0, sizeof(JBLOCK));
                for (int i = 0; i < count; i++)
                    rows[0][x][i] = (JCOEF)(help_random() % 2 ? most : -most);
            }
        }
}

static inline void files_say_nothing(j_common_ptr cinfo, int level)
{
    (void)cinfo;
    (void)level;
}

/* An image with these quantisers (of luma; those of chroma are limited to 8 bits) and
 * coefficients. */
static inline uint8_t *files_of_coefficients(const unsigned *quant, bool wide, int most,
                                             void (*fill)(j_compress_ptr, jvirt_barray_ptr *, int),
                                             int *width, int *height, size_t *size)
{
    struct jpeg_compress_struct out;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long n = 0;
    out.err = jpeg_std_error(&errors);
    errors.emit_message = files_say_nothing;
    jpeg_create_compress(&out);
    jpeg_mem_dest(&out, &bytes, &n);
    out.image_width = (JDIMENSION)(*width = help_between(5, 60));
    out.image_height = (JDIMENSION)(*height = help_between(1, 60));
    out.input_components = 3;
    out.in_color_space = JCS_RGB;
    jpeg_set_defaults(&out);
#if JPEG_LIB_VERSION >= 70 /* Ubuntu's: nothing else sets these when coefficients are written */
    out.jpeg_width = out.image_width;
    out.jpeg_height = out.image_height;
    out.min_DCT_h_scaled_size = out.min_DCT_v_scaled_size = DCTSIZE;
#endif
    jpeg_add_quant_table(&out, 0, quant, 100, !wide);
    jpeg_add_quant_table(&out, 1, quant, 50, TRUE);
    out.optimize_coding = TRUE;
    jvirt_barray_ptr arrays[3];
    for (int c = 0; c < 3; c++) {
        int side = c == 0 ? 2 : 1;
        out.comp_info[c].h_samp_factor = out.comp_info[c].v_samp_factor = side;
        arrays[c] = out.mem->request_virt_barray((j_common_ptr)&out, JPOOL_IMAGE, TRUE, 16, 16, 2);
    }
    jpeg_write_coefficients(&out, arrays);
    fill(&out, arrays, most);
    jpeg_finish_compress(&out);
    jpeg_destroy_compress(&out);
    *size = n;
    return bytes;
}

/* Includes products beyond 16 bits, where libjpeg-turbo's vector code wraps and saturates. */
static inline uint8_t *files_wild(int *width, int *height, size_t *size)
{
    static const int most[] = {1, 20, 1023};
    unsigned quant[64];
    bool wide = help_random() % 4 == 0;
    for (int i = 0; i < 64; i++)
        quant[i] = 1 + help_random() % (wide ? 65535u : 255u);
    return files_of_coefficients(quant, wide, most[help_random() % 3], files_coefficients, width,
                                 height, size);
}

/* Overflows wherever an inverse DCT may overflow. */
static inline uint8_t *files_hostile(int *width, int *height, size_t *size)
{
    /* the first row wraps at 16 bits after two more bits: its sums are as large as possible */
    static const unsigned row[8] = {8191, 2, 8191, 8191, 1, 8191, 8191, 1};
    static const unsigned extreme[] = {1, 255, 4096, 8191, 8192, 16383, 16384, 32767, 32768, 65535};
    unsigned quant[64];
    bool directed = help_random() % 2;
    for (int i = 0; i < 64; i++)
        quant[i] = directed && i < 8 ? row[i] : extreme[help_random() % 10];
    return files_of_coefficients(quant, true, directed || help_random() % 2 ? 1 : 1023,
                                 files_extremes, width, height, size);
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* JPEG decoding against libjpeg-turbo over a folder: `bench_jpeg FOLDER [rounds [files]]`. Rounds
 * are interleaved file by file; CPU time; each file's best round counts. One JSON line a case.
 * Pixels are compared on the way. */
#include "codecs/codec.h"
#include "codecs/jpeg/decoder.h"
#include "codecs/jpeg/input.h"
#include "codecs/jpeg/markers.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jpeglib.h>

enum { FILES_MAX = 100000 };

typedef struct file {
    uint8_t *bytes;
    size_t size;
    hr_image_info info;
    hr_window window; /* a random crop as training takes it */
} file;

static file *files;
static size_t file_count, file_limit = FILES_MAX;
static hr_arena *arena;
static hr_error error;
static uint32_t random_state = 2463534242u;

static double uniform(double low, double high)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return low + (high - low) * random_state / 4294967296.0;
}

/* Area 0.08 to 1 of the picture, aspect 3/4 to 4/3. */
static hr_window random_window(const hr_image_info *info)
{
    for (int i = 0; i < 10; i++) {
        double area = uniform(0.08, 1) * info->width * info->height, aspect = uniform(0.75, 1.33);
        int64_t w = 1, h = 1;
        while ((double)(w * w) < area * aspect)
            w++;
        while ((double)(h * h) < area / aspect)
            h++;
        if (w <= info->width && h <= info->height)
            return (hr_window){.y = (int64_t)uniform(0, (double)(info->height - h + 1)),
                               .x = (int64_t)uniform(0, (double)(info->width - w + 1)),
                               .h = h,
                               .w = w};
    }
    return (hr_window){0, 0, info->height, info->width};
}

static void load(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f || file_count == file_limit)
        return;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    file it = {.bytes = malloc((size_t)size + 1), .size = (size_t)size};
    if (fread(it.bytes, 1, it.size, f) == it.size && it.size > 2 && it.bytes[0] == 0xFF &&
        hr_image_probe(it.bytes, it.size, 1 << 28, &it.info, &error) == HR_STATUS_OK) {
        it.window = random_window(&it.info);
        files[file_count++] = it;
    } else {
        free(it.bytes);
    }
    fclose(f);
}

static void walk(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) {
        load(path);
        return;
    }
    struct dirent **names;
    closedir(folder);
    int n = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char inside[4096];
        snprintf(inside, sizeof inside, "%s/%s", path, names[i]->d_name);
        if (names[i]->d_name[0] != '.')
            walk(inside);
        free(names[i]);
    }
    free(names);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- libjpeg-turbo, as headrace calls it for what its own decoder leaves ---- */

static void libjpeg_decode(const file *f, hr_window w, uint8_t *dst, bool entropy_only)
{
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    static uint8_t row[3 * 65536];
    JSAMPROW rows[1] = {row};
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&cinfo);
    jpeg_mem_src(&cinfo, f->bytes, f->size);
    jpeg_read_header(&cinfo, TRUE);
    cinfo.out_color_space = JCS_RGB;
    jpeg_start_decompress(&cinfo);
    if (entropy_only) {
        /* all but one: it does not read what only the last rows would need */
        jpeg_skip_scanlines(&cinfo, cinfo.output_height - 1);
        jpeg_read_scanlines(&cinfo, rows, 1);
        jpeg_destroy_decompress(&cinfo);
        return;
    }
    JDIMENSION align = (JDIMENSION)(8 * cinfo.max_h_samp_factor), left = 0;
    JDIMENSION right = HR_MIN(cinfo.output_width, (JDIMENSION)(w.x + w.w + 1));
    bool whole = w.w == (int64_t)cinfo.output_width;
    if (!whole) {
        left = w.x > 0 ? (JDIMENSION)w.x - 1 : 0;
        if (right - left < 32)
            left = right > 32 ? right - 32 : 0;
        left -= left % align;
        JDIMENSION width = right - left;
        jpeg_crop_scanline(&cinfo, &left, &width);
    }
    if (w.y > 0)
        jpeg_skip_scanlines(&cinfo, (JDIMENSION)w.y);
    for (int64_t y = 0; y < w.h; y++) {
        uint8_t *out = dst + (size_t)(y * w.w * 3);
        if (whole)
            rows[0] = out;
        jpeg_read_scanlines(&cinfo, rows, 1);
        if (!whole)
            memcpy(out, row + ((size_t)w.x - left) * 3, (size_t)w.w * 3);
    }
    jpeg_destroy_decompress(&cinfo);
}

/* ---- ours ---- */

static bool our_decode(const file *f, hr_window w, uint8_t *dst, const hr_kernels *kernels)
{
    hr_op_call c = {.arena = arena, .kernels = kernels};
    hr_codec_request q = {.window = w, .channels = 3, .dst = dst, .stride = (size_t)w.w * 3};
    hr_arena_reset(arena);
    return hr_jpeg_decode(f->bytes, f->size, &f->info, &q, &c, &error) == HR_STATUS_OK;
}

/* Seconds of the stages: markers, tables, taking stuffing out, symbols alone, symbols with the
 * inverse DCT into the same few samples again and again. */
typedef struct stages {
    double parse, tables, unstuff, entropy, blocks;
} stages;

typedef bool (*mcu_kernel)(hr_jpeg_scan *scan, int32_t mcus);

/* The whole scan through one kernel; the time without opening it. 0 when it fails. */
static double run_scan(const file *f, const hr_jpeg_markers *m, hr_jpeg_scan *scan,
                       mcu_kernel kernel, double *open)
{
    hr_jpeg_input in;
    int32_t w = 8 * m->component[0].h, h = 8 * m->component[0].v;
    int32_t mcus = ((m->width + w - 1) / w) * ((m->height + h - 1) / h);
    hr_arena_reset(arena);
    double start = now();
    if (hr_jpeg_input_open(&in, scan, f->bytes + m->scan, f->size - m->scan, m->restart, arena,
                           &error) != HR_STATUS_OK)
        return 0;
    double opened = now();
    *open = opened - start;
    while (mcus > 0) {
        int32_t n = hr_jpeg_input_run(&in, scan, mcus);
        if (n == 0 || !kernel(scan, n))
            return 0;
        mcus -= n;
    }
    return now() - opened;
}

static void our_stages(const file *f, const hr_kernels *kernels, stages *s)
{
    static hr_jpeg_huffman dc[HR_JPEG_COMPONENTS], ac[HR_JPEG_COMPONENTS];
    static _Alignas(64) int16_t quant[HR_JPEG_COMPONENTS][64];
    hr_jpeg_markers m;
    hr_jpeg_scan scan = {0};
    static uint8_t samples[HR_JPEG_BLOCKS_MAX][64];
    double start = now(), again;
    if (!hr_jpeg_markers_read(&m, f->bytes, f->size))
        return;
    s->parse = now() - start;
    start += s->parse;
    for (int32_t i = 0; i < HR_MIN(m.components, 2); i++) {
        hr_jpeg_huffman_build(&dc[i], m.huffman[0][m.component[i].dc], false);
        hr_jpeg_huffman_build(&ac[i], m.huffman[1][m.component[i].ac], true);
        hr_jpeg_quant_build(quant[i], m.quant[m.component[i].quant], false);
    }
    s->tables = now() - start;
    for (int32_t i = 0; i < m.components; i++)
        for (int32_t k = 0; k < m.component[i].h * m.component[i].v; k++, scan.blocks++)
            scan.block[scan.blocks] = (hr_jpeg_block){.dc = &dc[i > 0],
                                                      .ac = &ac[i > 0],
                                                      .quant = quant[i > 0],
                                                      .component = i,
                                                      .dst = samples[scan.blocks],
                                                      .stride = 8};
    s->entropy = run_scan(f, &m, &scan, kernels->jpeg_skip, &s->unstuff);
    s->blocks = run_scan(f, &m, &scan, kernels->jpeg_mcus, &again);
}

/* ---- rounds ---- */

typedef struct best {
    double libjpeg_full, libjpeg_crop, libjpeg_entropy, full, crop;
    stages stages;
} best;

static void keep(double *least, double seconds)
{
    if (*least == 0 || seconds < *least)
        *least = seconds;
}

static bool round_of(const file *f, best *b, uint8_t *want, uint8_t *got, const hr_kernels *kernels,
                     bool check)
{
    hr_window all = {0, 0, f->info.height, f->info.width};
    bool good = true;
    double t = now(), u;
#define TIMED(field, call)                                                                         \
    t = now();                                                                                     \
    call;                                                                                          \
    u = now();                                                                                     \
    keep(&b->field, u - t)
    TIMED(libjpeg_full, libjpeg_decode(f, all, want, false));
    TIMED(full, good = our_decode(f, all, got, kernels) && good);
    size_t bytes = (size_t)f->info.height * (size_t)f->info.width * 3;
    good = good && (!check || memcmp(want, got, bytes) == 0);
    TIMED(libjpeg_crop, libjpeg_decode(f, f->window, want, false));
    TIMED(crop, good = our_decode(f, f->window, got, kernels) && good);
    bytes = (size_t)f->window.h * (size_t)f->window.w * 3;
    good = good && (!check || memcmp(want, got, bytes) == 0);
    TIMED(libjpeg_entropy, libjpeg_decode(f, all, want, true));
    stages s = {0};
    our_stages(f, kernels, &s);
    keep(&b->stages.parse, s.parse);
    keep(&b->stages.tables, s.tables);
    keep(&b->stages.unstuff, s.unstuff);
    keep(&b->stages.entropy, s.entropy);
    keep(&b->stages.blocks, s.blocks);
    return good;
}

static void report(const char *what, double libjpeg, double ours, double n)
{
    printf("{\"case\": \"%s\", ", what);
    if (libjpeg > 0)
        printf("\"libjpeg_us\": %.1f, ", 1e6 * libjpeg / n);
    printf("\"ours_us\": %.1f", 1e6 * ours / n);
    if (libjpeg > 0)
        printf(", \"ratio\": %.3f", libjpeg / ours);
    printf("}\n");
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[2]) : 3;
    if (argc < 2 || hr_arena_create(&arena, &error) != HR_STATUS_OK)
        return 2;
    files = calloc(FILES_MAX, sizeof *files);
    if (argc > 3)
        file_limit = (size_t)atoi(argv[3]);
    walk(argv[1]);
    const hr_kernels *kernels = hr_kernels_get(HR_CPU_LEVEL_AUTO);
    size_t largest = 0, equal = 0;
    for (size_t i = 0; i < file_count; i++)
        largest = HR_MAX(largest, (size_t)files[i].info.width * (size_t)files[i].info.height);
    uint8_t *want = malloc(3 * largest + 1), *got = malloc(3 * largest + 1);
    best *times = calloc(file_count + 1, sizeof *times), sum = {0};
    for (int r = 0; r < rounds; r++)
        for (size_t i = 0; i < file_count; i++)
            equal += round_of(&files[i], &times[i], want, got, kernels, r == 0) && r == 0;
    for (size_t i = 0; i < file_count; i++) {
        const double *from = (const double *)&times[i];
        for (size_t k = 0; k < sizeof sum / sizeof(double); k++)
            ((double *)&sum)[k] += from[k];
    }
    double n = (double)file_count;
    printf("{\"case\": \"setting\", \"level\": \"%s\", \"files\": %zu, \"equal\": %zu, "
           "\"rounds\": %d}\n",
           kernels->name, file_count, equal, rounds);
    report("full", sum.libjpeg_full, sum.full, n);
    report("crop", sum.libjpeg_crop, sum.crop, n);
    report("entropy", sum.libjpeg_entropy, sum.stages.entropy, n);
    report("parse", 0, sum.stages.parse, n);
    report("tables", 0, sum.stages.tables, n);
    report("unstuff", 0, sum.stages.unstuff, n);
    report("values_idct", 0, sum.stages.blocks - sum.stages.entropy, n);
    report("upsample_color", 0,
           sum.full - sum.stages.parse - sum.stages.tables - sum.stages.unstuff - sum.stages.blocks,
           n);
    return equal != file_count;
}

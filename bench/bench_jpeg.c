/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* JPEG decoding compared with libjpeg-turbo over a folder: `bench_jpeg FOLDER [rounds [files]]`.
 * Rounds are interleaved file by file. Times are CPU time; the best round of each file counts.
 * Prints one JSON line per case. A field that is a difference of two measurements says so in its
 * name. Pixels are compared. */
#include "codecs/codec.h"
#include "codecs/jpeg/decoder.h"
#include "codecs/jpeg/input.h"
#include "codecs/jpeg/markers.h"
#include "image/program.h"
#include "codecs/jpeg/index_cache.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jpeglib.h>

enum { FILES_MAX = 100000, SIDE = 224, BATCH = SIDE * SIDE * 3 * 4, ROW_MAX = 65536 };

typedef struct file {
    uint8_t *bytes;
    size_t size;
    hr_image_info info;
    hr_window window; /* a random crop, as in training */
} file;

static file *files;
static size_t file_count, file_limit = FILES_MAX;
static hr_arena *arena;
static hr_cache *cache;
static hr_error error;
static uint32_t random_state = 2463534242u;

static double uniform(double low, double high)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return low + (high - low) * random_state / 4294967296.0;
}

/* Area 0.08 to 1 of the image, aspect 3/4 to 4/3. */
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

/* ---- libjpeg-turbo, called as Headrace calls it ---- */

typedef struct libjpeg {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    uint8_t row[3 * ROW_MAX];
    uint8_t planes[3][4 * DCTSIZE][ROW_MAX]; /* one row of MCUs */
} libjpeg;

static libjpeg lib;

/* Seconds of the stages that the API of libjpeg separates. `start` builds the Huffman tables and
 * allocates the rows of the image. `symbols` is a whole decode that skips all rows but one.
 * `planar` ends before upsampling. */
typedef struct libjpeg_times {
    double full, crop, header, start, symbols, planar;
} libjpeg_times;

static void libjpeg_open(const file *f)
{
    lib.cinfo.err = jpeg_std_error(&lib.errors);
    jpeg_create_decompress(&lib.cinfo);
    jpeg_mem_src(&lib.cinfo, f->bytes, f->size);
    jpeg_read_header(&lib.cinfo, TRUE);
    lib.cinfo.out_color_space = JCS_RGB;
}

static void libjpeg_window(const file *f, hr_window w, uint8_t *dst)
{
    struct jpeg_decompress_struct *cinfo = &lib.cinfo;
    JSAMPROW rows[1] = {lib.row};
    libjpeg_open(f);
    jpeg_start_decompress(cinfo);
    JDIMENSION align = (JDIMENSION)(8 * cinfo->max_h_samp_factor), left = 0;
    JDIMENSION right = HR_MIN(cinfo->output_width, (JDIMENSION)(w.x + w.w + 1));
    bool whole = w.w == (int64_t)cinfo->output_width;
    if (!whole) {
        left = w.x > 0 ? (JDIMENSION)w.x - 1 : 0;
        if (right - left < 32)
            left = right > 32 ? right - 32 : 0;
        left -= left % align;
        JDIMENSION width = right - left;
        jpeg_crop_scanline(cinfo, &left, &width);
    }
    if (w.y > 0)
        jpeg_skip_scanlines(cinfo, (JDIMENSION)w.y);
    for (int64_t y = 0; y < w.h; y++) {
        uint8_t *out = dst + (size_t)(y * w.w * 3);
        if (whole)
            rows[0] = out;
        jpeg_read_scanlines(cinfo, rows, 1);
        if (!whole)
            memcpy(out, lib.row + ((size_t)w.x - left) * 3, (size_t)w.w * 3);
    }
    jpeg_destroy_decompress(cinfo);
}

/* Skips all rows but the last, so that nearly all of the time is entropy decoding. */
static void libjpeg_symbols(const file *f, libjpeg_times *t)
{
    JSAMPROW rows[1] = {lib.row};
    double begin = now();
    libjpeg_open(f);
    double opened = now();
    jpeg_start_decompress(&lib.cinfo);
    t->header = opened - begin;
    t->start = now() - opened;
    jpeg_skip_scanlines(&lib.cinfo, lib.cinfo.output_height - 1);
    jpeg_read_scanlines(&lib.cinfo, rows, 1);
    jpeg_destroy_decompress(&lib.cinfo);
    t->symbols = now() - begin;
}

static void libjpeg_planar(const file *f)
{
    JSAMPROW rows[3][4 * DCTSIZE];
    JSAMPARRAY planes[3] = {rows[0], rows[1], rows[2]};
    for (int i = 0; i < 3; i++)
        for (int y = 0; y < 4 * DCTSIZE; y++)
            rows[i][y] = lib.planes[i][y];
    libjpeg_open(f);
    lib.cinfo.out_color_space = lib.cinfo.jpeg_color_space;
    lib.cinfo.raw_data_out = TRUE;
    jpeg_start_decompress(&lib.cinfo);
    JDIMENSION step = (JDIMENSION)(DCTSIZE * lib.cinfo.max_v_samp_factor);
    while (lib.cinfo.output_scanline < lib.cinfo.output_height)
        jpeg_read_raw_data(&lib.cinfo, planes, step);
    jpeg_destroy_decompress(&lib.cinfo);
}

/* ---- ours ---- */

static bool our_decode(const file *f, hr_window w, uint8_t *dst, const hr_kernels *kernels)
{
    hr_op_call c = {.arena = arena, .kernels = kernels};
    hr_codec_request q = {.window = w, .channels = 3, .dst = dst, .stride = (size_t)w.w * 3};
    hr_arena_reset(arena);
    return hr_jpeg_decode(f->bytes, f->size, &f->info, &q, NULL, &c, &error) == HR_STATUS_OK;
}

/* The same with an index from the cache, or one that is made and stored, as the codec does it. Keys
 * with another `salt` find nothing. */
static bool our_indexed(const file *f, hr_window w, uint8_t *dst, uint64_t salt,
                        const hr_kernels *kernels)
{
    hr_op_call c = {.arena = arena, .kernels = kernels};
    hr_codec_request q = {.window = w, .channels = 3, .dst = dst, .stride = (size_t)w.w * 3};
    hr_jpeg_index index;
    const uint8_t *packed;
    size_t size;
    hr_arena_reset(arena);
    hr_hash key = hr_cache_key(cache, f->bytes, f->size);
    key.word[0] ^= salt;
    if (hr_jpeg_index_make(&index, f->size, arena, &error) != HR_STATUS_OK)
        return false;
    if (hr_cache_get(cache, &key, arena, &packed, &size))
        hr_jpeg_index_unpack(&index, packed, size);
    bool good = hr_jpeg_decode(f->bytes, f->size, &f->info, &q, &index, &c, &error) == HR_STATUS_OK;
    uint8_t *into = hr_arena_alloc(arena, (size_t)index.count * HR_JPEG_PACKED, &error);
    if (good && into && index.count > index.known)
        hr_cache_put(cache, &key, into, hr_jpeg_index_pack(&index, into));
    return good;
}

/* Seconds of the stages: markers, tables, removing stuffed bytes, symbols alone, and symbols with
 * the inverse DCT into the same few samples again and again. */
typedef struct stages {
    double parse, tables, unstuff, entropy, blocks;
} stages;

typedef bool (*mcu_kernel)(hr_jpeg_scan *scan, int32_t mcus);

/* The seconds of one kernel for the whole scan, or 0 on failure. `*open`: seconds to open it. */
static double run_scan(const file *f, const hr_jpeg_markers *m, hr_jpeg_scan *scan,
                       mcu_kernel kernel, double *open)
{
    hr_jpeg_input in;
    int32_t w = 8 * m->component[0].h, h = 8 * m->component[0].v;
    int32_t mcus = ((m->width + w - 1) / w) * ((m->height + h - 1) / h);
    hr_arena_reset(arena);
    double start = now();
    if (hr_jpeg_input_open(&in, scan, f->bytes + m->scan, f->size - m->scan, m->restart, NULL,
                           arena, &error) != HR_STATUS_OK)
        return 0;
    hr_jpeg_input_seek(&in, scan, 0, mcus);
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
        hr_jpeg_quant_build(quant[i], m.quant[m.component[i].quant], m.wide[m.component[i].quant]);
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

/* ---- from the window to the batch ---- */

typedef struct coded {
    const file *f;
    hr_jpeg_reader *reader;
} coded;

static hr_status coded_open(void *context, hr_window w, hr_op_call *c, hr_error *e)
{
    coded *it = context;
    hr_codec_request q = {.window = w, .channels = 3};
    return hr_jpeg_open(it->f->bytes, it->f->size, &it->f->info, &q, NULL, c, &it->reader, e);
}

static hr_status coded_read(void *context, void *dst, size_t stride, int32_t rows, hr_error *e)
{
    return hr_jpeg_read(((coded *)context)->reader, dst, stride, rows, e);
}

static hr_status coded_decode(void *context, hr_window w, void *dst, size_t stride, hr_op_call *c,
                              hr_error *e)
{
    const file *f = ((coded *)context)->f;
    hr_codec_request q = {.window = w, .channels = 3, .dst = dst, .stride = stride};
    return hr_jpeg_decode(f->bytes, f->size, &f->info, &q, NULL, c, e);
}

/* Resizes the window to 224 x 224, triangular; `normal`: also mirrors, normalises, FLOAT, CHW. */
static bool finish_program(hr_image_program *p, hr_window w, bool normal)
{
    static const float mean[] = {123.675f, 116.28f, 103.53f};
    static const float mul[] = {1 / 58.395f, 1 / 57.12f, 1 / 57.375f};
    const hr_resample_axis y = {0, (double)w.h, SIDE, HR_INTERP_TRIANGULAR, true, false};
    const hr_resample_axis x = {0, (double)w.w, SIDE, HR_INTERP_TRIANGULAR, true, false};
    if (hr_program_resample(p, &y, &x, HR_DTYPE_UINT8, &error) != HR_STATUS_OK)
        return false;
    return !normal ||
           (hr_program_flip(p, true, false, false, &error) == HR_STATUS_OK &&
            hr_program_normalize(p, mean, mul, 3, HR_DTYPE_FLOAT, &error) == HR_STATUS_OK &&
            hr_program_output(p, "CHW", 0, NULL, 0, &error) == HR_STATUS_OK);
}

/* Runs the program on a decoded window. */
static bool run_decoded(const file *f, uint8_t *pixels, bool normal, void *batch,
                        const hr_kernels *kernels)
{
    hr_op_call c = {.arena = arena, .kernels = kernels};
    hr_tensor t;
    hr_image_program p;
    const int64_t extent[] = {f->window.h, f->window.w, 3};
    hr_tensor_describe(&t, HR_DTYPE_UINT8, hr_shape_make(3, extent), "HWC");
    t.data = pixels;
    hr_arena_reset(arena);
    return hr_program_from_tensor(&p, &t, "HWC", &error) == HR_STATUS_OK &&
           finish_program(&p, f->window, normal) &&
           hr_program_run(&p, &c, batch, &error) == HR_STATUS_OK;
}

/* Runs the program on the file, with rows streamed from our decoder. */
static bool run_coded(const file *f, void *batch, const hr_kernels *kernels)
{
    hr_op_call c = {.arena = arena, .kernels = kernels};
    coded context = {.f = f};
    hr_image_source source = {&context, coded_decode, coded_open, coded_read};
    hr_image_program p;
    hr_arena_reset(arena);
    return hr_program_from_coded(&p, source, HR_DTYPE_UINT8, f->info.height, f->info.width, 3,
                                 &error) == HR_STATUS_OK &&
           hr_program_crop(&p, f->window, NULL, 0, &error) == HR_STATUS_OK &&
           finish_program(&p, f->window, true) &&
           hr_program_run(&p, &c, batch, &error) == HR_STATUS_OK;
}

/* ---- rounds ---- */

/* Seconds, the minimum over all rounds. */
typedef struct times {
    libjpeg_times lib;
    double full, crop, indexing, indexed;
    stages stages;
    double resample, normalize, batch; /* each includes all stages before it; for the window */
} times;

static double since(double *start)
{
    double end = now(), seconds = end - *start;
    *start = end;
    return seconds;
}

/* Measures one file once. False when pixels differ. */
static bool measure(const file *f, uint64_t round, times *t, uint8_t *const pixels[2],
                    void *const batch[2], const hr_kernels *kernels)
{
    hr_window all = {0, 0, f->info.height, f->info.width};
    size_t bytes = (size_t)f->info.height * (size_t)f->info.width * 3;
    double start = now();
    libjpeg_window(f, all, pixels[0]);
    t->lib.full = since(&start);
    bool good = our_decode(f, all, pixels[1], kernels);
    t->full = since(&start);
    good = good && memcmp(pixels[0], pixels[1], bytes) == 0;
    libjpeg_symbols(f, &t->lib);
    our_stages(f, kernels, &t->stages);
    start = now();
    libjpeg_planar(f);
    t->lib.planar = since(&start);
    libjpeg_window(f, f->window, pixels[0]);
    t->lib.crop = since(&start);
    bytes = (size_t)f->window.h * (size_t)f->window.w * 3;
    /* the first of the two finds less in the CPU cache, so they take turns */
    for (int i = 0; i < 2; i++) {
        start = now();
        if ((round + (uint64_t)i) % 2 == 0) {
            good = our_decode(f, f->window, pixels[1], kernels) && good;
            t->crop = since(&start);
        } else {
            good = our_indexed(f, f->window, pixels[1], round + 1, kernels) && good;
            t->indexing = since(&start);
        }
        good = good && memcmp(pixels[0], pixels[1], bytes) == 0;
    }
    start = now();
    good = our_indexed(f, f->window, pixels[1], 0, kernels) && good;
    t->indexed = since(&start);
    good = good && memcmp(pixels[0], pixels[1], bytes) == 0;
    start = now();
    good = run_decoded(f, pixels[0], false, batch[0], kernels) && good;
    t->resample = since(&start);
    good = run_decoded(f, pixels[0], true, batch[0], kernels) && good;
    t->normalize = since(&start);
    good = run_coded(f, batch[1], kernels) && good;
    t->batch = since(&start);
    return good && memcmp(batch[0], batch[1], BATCH) == 0;
}

/* Names of fields that a case does not have are NULL. Progressive files have no stages: 0. */
static void report(const char *what, const char *their_name, double theirs, const char *our_name,
                   double ours)
{
    printf("{\"case\": \"%s\"", what);
    if (their_name)
        printf(", \"libjpeg_%s_us\": %.1f", their_name, 1e6 * theirs);
    if (our_name)
        printf(", \"ours_%s_us\": %.1f", our_name, 1e6 * ours);
    if (their_name && our_name && ours > 0)
        printf(", \"ratio\": %.3f", theirs / ours);
    printf("}\n");
}

/* `t`: means over the files. */
static void report_all(const times *t)
{
    const libjpeg_times *l = &t->lib;
    const stages *s = &t->stages;
    double before = s->parse + s->tables + s->unstuff;
    double symbols = l->symbols - l->header - l->start;
    report("full", "decode", l->full, "decode", t->full);
    report("crop", "decode", l->crop, "decode", t->crop);
    report("crop_making_index", "decode", l->crop, "decode", t->indexing);
    report("crop_with_index", "decode", l->crop, "decode", t->indexed);
    report("crop_to_batch", "crop_plus_normalize", l->crop + t->normalize, "streamed", t->batch);
    report("parse", "read_header", l->header, "markers", s->parse);
    report("tables", "start_decompress", l->start, "tables", s->tables);
    report("unstuff", NULL, 0, "unstuff", s->unstuff);
    report("entropy", "skip_minus_start", symbols, "symbols", s->entropy);
    report("idct", "planar_minus_skip", l->planar - l->symbols, "blocks_minus_symbols",
           s->blocks - s->entropy);
    report("upsample_color", "full_minus_planar", l->full - l->planar, "full_minus_blocks",
           t->full - before - s->blocks);
    report("resample", NULL, 0, "program", t->resample);
    report("normalize", NULL, 0, "program_minus_resample", t->normalize - t->resample);
}

static void keep_least(times *least, const times *t, bool first)
{
    double *to = (double *)least;
    for (size_t k = 0; k < sizeof *t / sizeof(double); k++) {
        double seconds = ((const double *)t)[k];
        to[k] = first ? seconds : HR_MIN(to[k], seconds);
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[2]) : 3;
    if (argc < 2 || hr_arena_create(&arena, &error) != HR_STATUS_OK ||
        hr_cache_create(&cache, (size_t)1 << 31, NULL, &error) != HR_STATUS_OK)
        return 2;
    files = calloc(FILES_MAX, sizeof *files);
    if (argc > 3)
        file_limit = (size_t)atoi(argv[3]);
    walk(argv[1]);
    const hr_kernels *kernels = hr_kernels_get(HR_CPU_LEVEL_AUTO);
    size_t largest = 0, different = 0;
    for (size_t i = 0; i < file_count; i++)
        largest = HR_MAX(largest, (size_t)files[i].info.width * (size_t)files[i].info.height);
    uint8_t *pixels[2] = {malloc(3 * largest + 1), malloc(3 * largest + 1)};
    void *batch[2] = {malloc(BATCH), malloc(BATCH)};
    for (size_t i = 0; i < file_count; i++) /* these indices cover the whole scan */
        our_indexed(&files[i], (hr_window){0, 0, files[i].info.height, files[i].info.width},
                    pixels[0], 0, kernels);
    times *least = calloc(file_count + 1, sizeof *least), mean = {0};
    for (int r = 0; r < rounds; r++) {
        for (size_t i = 0; i < file_count; i++) {
            times t = {0};
            different += !measure(&files[i], (uint64_t)r, &t, pixels, batch, kernels) && r == 0;
            keep_least(&least[i], &t, r == 0);
        }
    }
    for (size_t i = 0; i < file_count; i++)
        for (size_t k = 0; k < sizeof mean / sizeof(double); k++)
            ((double *)&mean)[k] += ((const double *)&least[i])[k] / (double)file_count;
    printf("{\"case\": \"setting\", \"level\": \"%s\", \"files\": %zu, \"equal\": %zu, "
           "\"rounds\": %d}\n",
           kernels->name, file_count, file_count - different, rounds);
    report_all(&mean);
    return different != 0;
}

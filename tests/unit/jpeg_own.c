/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Our own JPEG decoder against bare libjpeg-turbo: generated files of every kind that it takes, on
 * every CPU level, whole and in windows, and the files of a folder of photographs. It must take
 * them: what it leaves to libjpeg-turbo would prove nothing. */
#include "codec_help.h"

#include "codecs/jpeg/decoder.h"

#include <dirent.h>

static const int samplings[][2] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}};

typedef struct own {
    uint8_t *data;
    bool done;
} own;

/* The window through our decoder alone, some rows at a time, in memory of exactly its size. */
static own decode_own(const uint8_t *bytes, size_t size, hr_window w, int channels,
                      const hr_kernels *kernels)
{
    own r = {.data = malloc((size_t)(w.h * w.w * channels))};
    hr_arena *arena;
    hr_error error;
    hr_image_info info;
    if (hr_arena_create(&arena, &error) != HR_STATUS_OK)
        return r;
    hr_op_call c = {.arena = arena, .kernels = kernels};
    hr_codec_request q = {
        .window = w, .channels = channels, .dst = r.data, .stride = (size_t)(w.w * channels)};
    hr_jpeg_reader *reader;
    r.done = hr_image_probe(bytes, size, MAX_PIXELS, &info, &error) == HR_STATUS_OK &&
             hr_jpeg_open(bytes, size, &info, &q, NULL, &c, &reader, &error) == HR_STATUS_OK;
    for (int64_t y = 0, rows; y < w.h && r.done; y += rows) {
        rows = 1 + (int64_t)(help_random() % 20);
        rows = HR_MIN(rows, w.h - y);
        r.done = hr_jpeg_read(reader, r.data + (size_t)y * q.stride, q.stride, (int32_t)rows,
                              &error) == HR_STATUS_OK;
    }
    hr_arena_destroy(arena);
    return r;
}

static const hr_kernels *some_level(void)
{
    static const hr_cpu_level levels[] = {HR_CPU_LEVEL_BASE, HR_CPU_LEVEL_V3, HR_CPU_LEVEL_V4};
    return hr_kernels_get(levels[help_random() % 3]);
}

static bool same(const own *r, const uint8_t *want, int full_w, hr_window w, int channels)
{
    help_result v = {.data = r->data, .h = w.h, .w = w.w, .stride = (size_t)(w.w * channels)};
    return r->done && help_equal(&v, want, full_w, w, (size_t)channels);
}

/* The whole picture and `windows` windows of it. */
static bool matches(const uint8_t *file, size_t size, int height, int width, int channels,
                    int windows)
{
    uint8_t *want = help_bare_jpeg(file, size, channels == 1 ? JCS_GRAYSCALE : JCS_RGB);
    bool good = true;
    for (int i = 0; i <= windows && good; i++) {
        hr_window w = i == 0 ? (hr_window){0, 0, height, width} : help_window(height, width);
        own r = decode_own(file, size, w, channels, some_level());
        good = same(&r, want, width, w, channels);
        if (!good)
            printf("window %d,%d %dx%d, taken: %d\n", (int)w.x, (int)w.y, (int)w.w, (int)w.h,
                   r.done);
        free(r.data);
    }
    free(want);
    return good;
}

/* ---- generated files ---- */

/* Flat, smooth, noise, and sharp black and white. */
static void paint(uint8_t *pixels, int n, int kind)
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

/* Rewrites a file with tables of its own. */
static uint8_t *optimise(const uint8_t *file, size_t *size)
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
    out.optimize_coding = TRUE;
    jpeg_write_coefficients(&out, coefficients);
    jpeg_finish_compress(&out);
    jpeg_finish_decompress(&in);
    jpeg_destroy_compress(&out);
    jpeg_destroy_decompress(&in);
    *size = n;
    return bytes;
}

static bool generated_matches(int round, int side)
{
    int kind = round % 5;
    help_jpeg j = {.w = help_between(1, side),
                   .h = help_between(1, side),
                   .channels = round % 11 == 0 ? 1 : 3,
                   .quality = 1 + round % 100,
                   .sampling = {samplings[kind][0], samplings[kind][1]},
                   .rgb = round % 13 == 0,
                   .restart = help_random() % 4 == 0 ? help_between(1, 9) : 0};
    j.rgb = j.rgb && j.channels == 3;
    if (j.sampling[0] == 2 && j.w < 5) /* these are libjpeg-turbo's */
        j.w = 5;
    uint8_t *pixels = malloc((size_t)(j.w * j.h * 3));
    paint(pixels, j.w * j.h * 3, (int)(help_random() % 4));
    size_t size;
    uint8_t *file = help_encode_jpeg(&j, pixels, &size);
    if (help_random() % 2) {
        uint8_t *again = optimise(file, &size);
        free(file);
        file = again;
    }
    bool good =
        matches(file, size, j.h, j.w, j.channels == 1 || (!j.rgb && round % 7 == 0) ? 1 : 3, 2);
    if (!good)
        printf("%dx%d channels %d quality %d sampling %dx%d rgb %d restart %d\n", j.w, j.h,
               j.channels, j.quality, j.sampling[0], j.sampling[1], j.rgb, j.restart);
    free(pixels);
    free(file);
    return good;
}

TEST(small_files)
{
    for (int i = 0; i < 5000; i++)
        CHECK(generated_matches(i, 70));
}

TEST(large_files)
{
    for (int i = 0; i < 40; i++)
        CHECK(generated_matches(i, 500));
}

/* ---- coefficients that no picture has ---- */

static void random_coefficients(j_compress_ptr out, jvirt_barray_ptr *arrays, int most)
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

static void say_nothing(j_common_ptr cinfo, int level)
{
    (void)cinfo;
    (void)level;
}

/* Products beyond 16 bits included: there libjpeg-turbo's vectors wrap and saturate. */
static uint8_t *wild_file(int *width, int *height, size_t *size)
{
    struct jpeg_compress_struct out;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long n = 0;
    unsigned quant[64];
    out.err = jpeg_std_error(&errors);
    errors.emit_message = say_nothing;
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
    bool wide = help_random() % 4 == 0;
    for (int i = 0; i < 64; i++)
        quant[i] = 1 + help_random() % (wide ? 65535u : 255u);
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
    static const int most[] = {1, 20, 1023};
    random_coefficients(&out, arrays, most[help_random() % 3]);
    jpeg_finish_compress(&out);
    jpeg_destroy_compress(&out);
    *size = n;
    return bytes;
}

TEST(coefficients_that_no_picture_has)
{
    for (int i = 0; i < 400; i++) {
        size_t size;
        int width, height;
        uint8_t *file = wild_file(&width, &height, &size);
        CHECK(matches(file, size, height, width, 3, 1));
        free(file);
    }
}

/* ---- what is left to libjpeg-turbo ---- */

TEST(others_are_left)
{
    static const help_jpeg kinds[] = {
        {.w = 40, .h = 30, .channels = 3, .quality = 80, .sampling = {1, 1}, .progressive = true},
        {.w = 40, .h = 30, .channels = 3, .quality = 80, .sampling = {1, 1}, .arithmetic = true},
        {.w = 40,
         .h = 30,
         .channels = 3,
         .quality = 80,
         .sampling = {1, 1},
         .interleave_off = true},
        {.w = 40, .h = 30, .channels = 4, .quality = 80, .sampling = {1, 1}},
        {.w = 40, .h = 30, .channels = 3, .quality = 80, .sampling = {2, 4}}};
    uint8_t pixels[40 * 30 * 4];
    help_paint(pixels, 40, 30, 4);
    for (size_t i = 0; i < HR_COUNT_OF(kinds); i++) {
        size_t size;
        uint8_t *file = help_encode_jpeg(&kinds[i], pixels, &size);
        own r = decode_own(file, size, (hr_window){0, 0, 30, 40}, 3, NULL);
        CHECK(!r.done);
        free(r.data);
        free(file);
    }
}

TEST(damage_is_left)
{
    help_jpeg j = {
        .w = 60, .h = 50, .channels = 3, .quality = 80, .sampling = {2, 1}, .restart = 4};
    uint8_t pixels[60 * 50 * 3];
    size_t size;
    help_paint(pixels, 60, 50, 3);
    uint8_t *file = help_encode_jpeg(&j, pixels, &size);
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *part = malloc(cut + 1);
        memcpy(part, file, cut);
        own r = decode_own(part, cut, (hr_window){0, 0, 50, 60}, 3, NULL);
        CHECK(r.done == (cut == size)); /* also when only the end marker is cut off */
        free(r.data);
        free(part);
    }
    for (size_t i = 0; i + 1 < size; i++)
        if (file[i] == 0xFF && file[i + 1] == 0xD3)
            file[i + 1] = 0xD4;
    own r = decode_own(file, size, (hr_window){0, 0, 50, 60}, 3, NULL);
    CHECK(!r.done);
    free(r.data);
    free(file);
}

/* ---- photographs ---- */

static int compared;

static bool compare_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return true;
    fseek(f, 0, SEEK_END);
    size_t size = (size_t)ftell(f);
    rewind(f);
    uint8_t *bytes = malloc(size + 1);
    hr_image_info info;
    hr_error error;
    bool good = fread(bytes, 1, size, f) == size;
    fclose(f);
    if (good && size > 3 && bytes[0] == 0xFF && bytes[1] == 0xD8 &&
        hr_image_probe(bytes, size, MAX_PIXELS, &info, &error) == HR_STATUS_OK) {
        good = matches(bytes, size, info.height, info.width, info.channels, 2);
        compared++;
    }
    free(bytes);
    if (!good)
        printf("%s differs\n", path);
    return good;
}

static bool compare_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder)
        return compare_file(path);
    bool good = true;
    char inside[4096];
    for (struct dirent *e = readdir(folder); e && good; e = readdir(folder))
        if (e->d_name[0] != '.') {
            snprintf(inside, sizeof inside, "%s/%s", path, e->d_name);
            good = compare_folder(inside);
        }
    closedir(folder);
    return good;
}

TEST(photographs)
{
    const char *folder = getenv("HEADRACE_TEST_DATA");
    if (!folder)
        folder = "../shared/data/imagenet-250";
    DIR *there = opendir(folder);
    if (!there) {
        printf("SKIPPED photographs: set HEADRACE_TEST_DATA to a folder of JPEG files\n");
        return;
    }
    closedir(there);
    CHECK(compare_folder(folder));
    CHECK(compared > 0);
}

TEST_MAIN

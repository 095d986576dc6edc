/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* JPEG encoding compared with libjpeg-turbo, on the pixels of the JPEG files in a folder:
 * `bench_jpeg_encode FOLDER [rounds [files]]`. Rounds are interleaved image by image. Times are CPU
 * time; the best round of each image counts. Prints one JSON line per case. Files are compared. */
#include "codecs/jpeg/encode.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jpeglib.h>

typedef struct picture {
    uint8_t *pixels;
    int32_t height, width;
} picture;

typedef struct setting {
    const char *name;
    hr_jpeg_encoding how;
} setting;

static const setting settings[] = {
    {"4:2:0, quality 75", {75, 2, 2, 1, false}},
    {"4:2:0, quality 90", {90, 2, 2, 1, false}},
    {"4:2:2, quality 90", {90, 2, 1, 1, false}},
    {"4:4:4, quality 90", {90, 1, 1, 1, false}},
    {"4:2:0, quality 75, best codes", {75, 2, 2, 1, true}},
};

static hr_arena *arena;
static hr_error error;

static void require(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "bench_jpeg_encode: %s\n", what);
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static picture picture_read(const char *path)
{
    struct jpeg_decompress_struct in;
    struct jpeg_error_mgr errors;
    FILE *file = fopen(path, "rb");
    require(file, path);
    in.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&in);
    jpeg_stdio_src(&in, file);
    jpeg_read_header(&in, TRUE);
    in.out_color_space = JCS_RGB;
    jpeg_start_decompress(&in);
    picture p = {NULL, (int32_t)in.output_height, (int32_t)in.output_width};
    size_t row = 3 * (size_t)p.width;
    p.pixels = malloc(row * (size_t)p.height);
    require(p.pixels, "no memory");
    while (in.output_scanline < in.output_height) {
        JSAMPROW at = p.pixels + in.output_scanline * row;
        jpeg_read_scanlines(&in, &at, 1);
    }
    jpeg_finish_decompress(&in);
    jpeg_destroy_decompress(&in);
    fclose(file);
    return p;
}

/* libjpeg-turbo's file, in `to`; returns its size. */
static size_t turbo_encode(const picture *p, const hr_jpeg_encoding *how, uint8_t *to, size_t room)
{
    struct jpeg_compress_struct out;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = to;
    unsigned long size = room;
    out.err = jpeg_std_error(&errors);
    jpeg_create_compress(&out);
    jpeg_mem_dest(&out, &bytes, &size);
    out.image_width = (JDIMENSION)p->width;
    out.image_height = (JDIMENSION)p->height;
    out.input_components = 3;
    out.in_color_space = JCS_RGB;
    jpeg_set_defaults(&out);
    jpeg_set_quality(&out, how->quality, TRUE);
    out.optimize_coding = how->optimize;
    out.restart_in_rows = how->restart_rows;
    out.comp_info[0].h_samp_factor = how->h;
    out.comp_info[0].v_samp_factor = how->v;
    jpeg_start_compress(&out, TRUE);
    while (out.next_scanline < out.image_height) {
        JSAMPROW rows[16];
        JDIMENSION n = HR_MIN(16, out.image_height - out.next_scanline);
        for (JDIMENSION i = 0; i < n; i++)
            rows[i] = p->pixels + 3 * (size_t)p->width * (out.next_scanline + i);
        jpeg_write_scanlines(&out, rows, n);
    }
    jpeg_finish_compress(&out);
    jpeg_destroy_compress(&out);
    require(bytes == to, "the file is too large");
    return size;
}

static size_t own_encode(const picture *p, const hr_jpeg_encoding *how, uint8_t *to, size_t room)
{
    const hr_jpeg_pixels image = {p->pixels, p->height, p->width, 3};
    hr_jpeg_encoded *encoded = NULL;
    hr_status status =
        hr_jpeg_encode(&image, how, hr_kernels_get(HR_CPU_LEVEL_AUTO), arena, &encoded, &error);
    require(status == HR_STATUS_OK && encoded->size <= room, "an image cannot be encoded");
    size_t size = encoded->size;
    hr_jpeg_encoded_write(to, encoded);
    hr_arena_reset(arena);
    return size;
}

/* Adds the best times of both encoders to `times`. */
static void measure(const picture *p, const hr_jpeg_encoding *how, int rounds, double times[2])
{
    const size_t room = 12 * (size_t)p->width * (size_t)p->height + (1 << 16);
    uint8_t *file[2] = {malloc(room), malloc(room)};
    double best[2] = {1e9, 1e9};
    size_t size[2];
    require(file[0] && file[1], "no memory");
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < 2; i++) {
            double begin = now();
            size[i] = (i == 0 ? turbo_encode : own_encode)(p, how, file[i], room);
            best[i] = HR_MIN(best[i], now() - begin);
        }
    require(size[0] == size[1] && memcmp(file[0], file[1], size[0]) == 0, "the files differ");
    for (int i = 0; i < 2; i++) {
        times[i] += best[i];
        free(file[i]);
    }
}

int main(int argc, char **argv)
{
    double times[HR_COUNT_OF(settings)][2] = {{0}}, pixels = 0;
    int rounds = argc > 2 ? atoi(argv[2]) : 5, limit = argc > 3 ? atoi(argv[3]) : 100, count = 0;
    require(argc > 1, "usage: bench_jpeg_encode FOLDER [rounds [files]]");
    DIR *folder = opendir(argv[1]);
    require(folder, argv[1]);
    require(hr_arena_create(&arena, &error) == HR_STATUS_OK, "no memory");
    for (struct dirent *entry; count < limit && (entry = readdir(folder));) {
        char path[4096];
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || (strcmp(dot, ".jpg") != 0 && strcmp(dot, ".JPEG") != 0))
            continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        picture p = picture_read(path);
        for (size_t i = 0; i < HR_COUNT_OF(settings); i++)
            measure(&p, &settings[i].how, rounds, times[i]);
        pixels += (double)p.width * p.height;
        free(p.pixels);
        count++;
    }
    closedir(folder);
    for (size_t i = 0; i < HR_COUNT_OF(settings); i++)
        printf(
            "{\"case\": \"%s\", \"level\": \"%s\", \"images\": %d, \"turbo_ns_per_pixel\": %.3f, "
            "\"own_ns_per_pixel\": %.3f, \"ratio\": %.2f}\n",
            settings[i].name, hr_kernels_get(HR_CPU_LEVEL_AUTO)->name, count,
            1e9 * times[i][0] / pixels, 1e9 * times[i][1] / pixels, times[i][0] / times[i][1]);
    hr_arena_destroy(arena);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Our own decoder of progressive JPEG files against libjpeg-turbo: the usual scans, random ones,
 * coefficients that no picture has, photographs, and truncated files. */
#include "jpeg_match.h"

#include <dirent.h>

enum { PASSES_MAX = 64 };

typedef struct script {
    jpeg_scan_info pass[PASSES_MAX];
    int count;
} script;

static void add_pass(script *s, int components, int component, int first, int last, int high,
                     int low)
{
    jpeg_scan_info *p = &s->pass[s->count++];
    *p = (jpeg_scan_info){.comps_in_scan = components, .Ss = first, .Se = last};
    for (int i = 0; i < components; i++)
        p->component_index[i] = component + i;
    p->Ah = high;
    p->Al = low;
}

/* A band of coefficients that is sent in some scans. */
typedef struct band {
    int components, component, first, last, high, low;
} band;

/* Bands of random width and depth. A component's DC comes before its AC, everything else in random
 * order. */
static script random_script(int components)
{
    script s = {.count = 0};
    band bands[20];
    int count = 0, open;
    bool together = components > 1 && help_random() % 2;
    for (int c = 0; c < (together ? 1 : components); c++) {
        int low = help_between(0, 2);
        bands[count++] = (band){together ? components : 1, c, 0, 0, 0, low};
    }
    for (int i = 0; i < count; i++) /* all first DC scans */
        add_pass(&s, bands[i].components, bands[i].component, 0, 0, 0, bands[i].low);
    for (int i = 0; i < count; i++)
        bands[i].high = bands[i].low;
    for (int c = 0; c < components; c++)
        for (int first = 1, last; first < 64; first = last + 1) {
            last = count > 15 || help_random() % 3 == 0 ? 63 : help_between(first, 63);
            bands[count++] = (band){1, c, first, last, -1, help_between(0, 3)};
        }
    do {
        open = 0;
        for (int i = 0; i < count; i++)
            open += bands[i].high != 0;
        int n = open > 0 ? help_between(1, open) : 0;
        for (int i = 0; i < count && n > 0; i++) {
            band *b = &bands[i];
            n -= b->high != 0;
            if (n > 0 || b->high == 0)
                continue;
            int low = b->high < 0 ? b->low : b->high - 1;
            add_pass(&s, b->components, b->component, b->first, b->last, HR_MAX(b->high, 0), low);
            b->high = low;
        }
    } while (open > 0);
    return s;
}

/* Rewrites a file's coefficients; NULL: with the usual scans. `restart` < 0: unchanged. */
static uint8_t *progressive(const uint8_t *file, size_t *size, const script *s, int restart)
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
    out.restart_interval = restart < 0 ? in.restart_interval : (unsigned)restart;
    if (s) {
        out.scan_info = s->pass;
        out.num_scans = s->count;
    } else {
        jpeg_simple_progression(&out);
    }
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
    files_kind j;
    size_t size;
    uint8_t *file = files_generate(round, side, &j, &size);
    script s = random_script(j.channels);
    bool usual = round % 3 == 0;
    uint8_t *again = progressive(file, &size, usual ? NULL : &s, -1);
    bool grey = j.channels == 1 || (!j.rgb && round % 7 == 0);
    bool good = matches(again, size, j.h, j.w, grey ? 1 : 3, 1);
    if (!good)
        printf("%dx%d channels %d quality %d sampling %dx%d rgb %d restart %d, %d passes\n", j.w,
               j.h, j.channels, j.quality, j.sampling[0], j.sampling[1], j.rgb, j.restart,
               usual ? 0 : s.count);
    free(again);
    free(file);
    return good;
}

TEST(small_files)
{
    for (int i = 0; i < 3000; i++)
        CHECK(generated_matches(i, 70));
}

TEST(large_files)
{
    for (int i = 0; i < 30; i++)
        CHECK(generated_matches(i, 400));
}

TEST(coefficients_that_no_picture_has)
{
    for (int i = 0; i < 300; i++) {
        size_t size;
        int width, height;
        uint8_t *file = files_wild(&width, &height, &size);
        script s = random_script(3);
        uint8_t *again = progressive(file, &size, &s, help_between(0, 5));
        CHECK(matches(again, size, height, width, 3, 1));
        free(again);
        free(file);
    }
}

/* ---- files left to libjpeg-turbo ---- */

static uint8_t *some_file(int *w, int *h, size_t *size)
{
    files_kind j;
    uint8_t *file;
    do { /* of three components, none of them empty */
        file = files_generate(40, 60, &j, size);
        if (j.channels == 3 && *size > 1500)
            break;
        free(file);
    } while (true);
    *w = j.w;
    *h = j.h;
    return file;
}

static bool is_taken(const uint8_t *file, size_t size, int w, int h)
{
    own r = decode_own(file, size, (hr_window){0, 0, h, w}, 3, NULL);
    free(r.data);
    return r.done;
}

TEST(incomplete_files_are_left)
{
    int w, h;
    size_t before;
    uint8_t *file = some_file(&w, &h, &before);
    for (int round = 0; round < 60; round++) {
        script s = random_script(3);
        size_t size = before, least = before;
        uint8_t *all = progressive(file, &size, &s, 0);
        CHECK(is_taken(all, size, w, h));
        s.count = help_between(3, s.count - 1); /* libjpeg-turbo requires all DC scans */
        uint8_t *some = progressive(file, &least, &s, 0);
        CHECK(least < size && !is_taken(some, least, w, h));
        free(some);
        free(all);
    }
    free(file);
}

TEST(cut_files_are_left)
{
    int w, h;
    size_t size;
    uint8_t *file = some_file(&w, &h, &size), *all = progressive(file, &size, NULL, 3);
    for (size_t cut = 0; cut <= size; cut++) {
        uint8_t *part = malloc(cut + 1);
        memcpy(part, all, cut);
        CHECK(is_taken(part, cut, w, h) == (cut == size));
        free(part);
    }
    free(all);
    free(file);
}

/* ---- photographs ---- */

static int compared;

static bool photograph_matches(const char *path)
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
        hr_image_probe(bytes, size, MAX_PIXELS, &info, &error) == HR_STATUS_OK &&
        info.channels != 4) {
        uint8_t *again = progressive(bytes, &size, NULL, -1);
        good = matches(again, size, info.height, info.width, info.channels, 1);
        free(again);
        compared++;
    }
    free(bytes);
    if (!good)
        printf("%s differs\n", path);
    return good;
}

/* One photograph of each folder. */
TEST(photographs)
{
    const char *data = getenv("HEADRACE_TEST_DATA");
    struct dirent **folders, **names;
    if (!data)
        data = "../shared/data/imagenet-250";
    int count = scandir(data, &folders, NULL, alphasort);
    if (count < 0)
        printf("SKIPPED photographs: set HEADRACE_TEST_DATA to a folder of JPEG files\n");
    for (int i = 0; i < count; i++) {
        char path[4096], inside[8192];
        snprintf(path, sizeof path, "%s/%s", data, folders[i]->d_name);
        int n = folders[i]->d_name[0] == '.' ? -1 : scandir(path, &names, NULL, alphasort);
        for (int k = 0; k < n; k++) {
            snprintf(inside, sizeof inside, "%s/%s", path, names[k]->d_name);
            if (k == n - 1 && i % 5 == 0)
                CHECK(photograph_matches(inside));
            free(names[k]);
        }
        if (n >= 0)
            free(names);
        free(folders[i]);
    }
    if (count >= 0)
        free(folders);
    CHECK(count < 0 || compared > 0);
}

TEST_MAIN

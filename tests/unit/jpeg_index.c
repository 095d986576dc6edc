/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The index of a JPEG scan: its entries are those that a plain walk over the scan finds, and
 * decoding with it gives libjpeg-turbo's bytes, whatever part of the image it covers. */
#include "codec_help.h"

#include "codecs/jpeg/decoder.h"
#include "codecs/jpeg/input.h"
#include "codecs/jpeg/markers.h"

enum { PACKED_MAX = 1 << 16 };

typedef struct image {
    uint8_t *file, *want; /* the file, and its pixels by libjpeg alone */
    size_t size;
    int h, w, channels;
} image;

static image make_image(const help_jpeg *j)
{
    image p = {.h = j->h, .w = j->w, .channels = j->channels};
    uint8_t *pixels = malloc((size_t)(j->w * j->h * 3));
    help_paint(pixels, j->w, j->h, j->channels);
    p.file = help_encode_jpeg(j, pixels, &p.size);
    p.want = help_bare_jpeg(p.file, p.size, j->channels == 1 ? JCS_GRAYSCALE : JCS_RGB);
    free(pixels);
    return p;
}

static void free_image(image *p)
{
    free(p->file);
    free(p->want);
}

/* An index as it is stored between decodes. */
typedef struct kept {
    uint8_t bytes[PACKED_MAX];
    size_t size;
} kept;

/* Decodes a window with the stored index, and stores the new one. */
static bool decode(const image *p, hr_window w, kept *k, uint8_t *data)
{
    static const hr_cpu_level levels[] = {HR_CPU_LEVEL_BASE, HR_CPU_LEVEL_V3, HR_CPU_LEVEL_V4};
    hr_arena *arena;
    hr_error error;
    hr_image_info info;
    hr_jpeg_index index;
    if (hr_arena_create(&arena, &error) != HR_STATUS_OK)
        return false;
    hr_op_call c = {.arena = arena, .kernels = hr_kernels_get(levels[help_random() % 3])};
    hr_codec_request q = {
        .window = w, .channels = p->channels, .dst = data, .stride = (size_t)(w.w * p->channels)};
    bool good = hr_jpeg_index_make(&index, p->size, arena, &error) == HR_STATUS_OK;
    hr_jpeg_index_unpack(&index, k->bytes, k->size);
    good = good && hr_image_probe(p->file, p->size, MAX_PIXELS, &info, &error) == HR_STATUS_OK &&
           hr_jpeg_decode(p->file, p->size, &info, &q, &index, &c, &error) == HR_STATUS_OK;
    if (good && index.count > index.known)
        k->size = hr_jpeg_index_pack(&index, k->bytes);
    hr_arena_destroy(arena);
    return good;
}

static bool decode_matches(const image *p, hr_window w, kept *k)
{
    help_result r = {.h = w.h, .w = w.w, .stride = (size_t)(w.w * p->channels)};
    r.data = malloc(r.stride * (size_t)w.h);
    bool good = decode(p, w, k, r.data) && help_equal(&r, p->want, p->w, w, (size_t)p->channels);
    free(r.data);
    return good;
}

static hr_window whole(const image *p)
{
    return (hr_window){0, 0, p->h, p->w};
}

static help_jpeg some_kind(int i)
{
    static const int samplings[][2] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}};
    const int *s = samplings[i % 5];
    help_jpeg j = {.w = help_between(30, 300),
                   .h = help_between(30, 300),
                   .channels = i % 7 == 6 ? 1 : 3,
                   .quality = help_between(30, 100),
                   .sampling = {s[0], s[1]},
                   .restart = i % 3 == 2 ? help_between(1, 60) : 0};
    return j;
}

/* Windows in any order: each may find an index that ends before, within or after it. */
TEST(windows_through_a_growing_index)
{
    static kept k;
    for (int i = 0; i < 105; i++) {
        help_jpeg j = some_kind(i);
        image p = make_image(&j);
        k.size = 0;
        for (int n = 0; n < 12; n++)
            CHECK(decode_matches(&p, help_window(p.h, p.w), &k));
        CHECK(decode_matches(&p, whole(&p), &k));
        size_t size = k.size;
        CHECK(size >= p.size / 2000 * HR_JPEG_PACKED);
        for (int n = 0; n < 6; n++)
            CHECK(decode_matches(&p, help_window(p.h, p.w), &k));
        CHECK(k.size == size); /* it was complete */
        free_image(&p);
    }
}

/* Every truncated index is a good index. */
TEST(every_part_of_an_index)
{
    static kept k, part;
    for (int i = 0; i < 10; i++) {
        help_jpeg j = some_kind(i);
        image p = make_image(&j);
        k.size = 0;
        CHECK(decode_matches(&p, whole(&p), &k));
        for (size_t n = 0; n <= k.size; n += HR_JPEG_PACKED) {
            memcpy(part.bytes, k.bytes, n);
            part.size = n;
            CHECK(decode_matches(&p, help_window(p.h, p.w), &part));
        }
        free_image(&p);
    }
}

/* ---- entries compared with a walk that counts every MCU ---- */

typedef struct walk {
    hr_jpeg_markers m;
    hr_jpeg_input input;
    hr_jpeg_scan scan;
    int32_t mcus;
} walk;

static bool walk_open(walk *w, const image *p, hr_arena *arena)
{
    static hr_jpeg_huffman dc[3], ac[3];
    hr_error error;
    memset(w, 0, sizeof *w);
    if (!hr_jpeg_markers_read(&w->m, p->file, p->size))
        return false;
    for (int32_t i = 0; i < w->m.components; i++) {
        const hr_jpeg_component *c = &w->m.component[i];
        if (!hr_jpeg_huffman_build(&dc[i], w->m.huffman[0][c->dc], false) ||
            !hr_jpeg_huffman_build(&ac[i], w->m.huffman[1][c->ac], true))
            return false;
        for (int k = 0; k < c->h * c->v; k++)
            w->scan.block[w->scan.blocks++] =
                (hr_jpeg_block){.dc = &dc[i], .ac = &ac[i], .component = i};
    }
    int32_t wide = 8 * w->m.component[0].h, high = 8 * w->m.component[0].v;
    w->mcus = ((p->w + wide - 1) / wide) * ((p->h + high - 1) / high);
    return hr_jpeg_input_open(&w->input, &w->scan, p->file + w->m.scan, p->size - w->m.scan,
                              w->m.restart, NULL, arena, &error) == HR_STATUS_OK;
}

/* The file's byte that contains the next bit. Stuffed zeros are counted one by one from the
 * segment's beginning, which follows as many restart markers as restarts were passed. */
static uint32_t bit_in_file(const walk *w, const image *p)
{
    const uint8_t *begin = p->file + w->m.scan, *at = begin;
    int32_t passed = w->m.restart > 0 ? w->scan.mcu / w->m.restart : 0;
    while (passed > 0) {
        passed -= at[0] == 0xFF && at[1] >= 0xD0 && at[1] <= 0xD7;
        at++;
    }
    at += at > begin;
    int64_t bits = 8 * (w->scan.next - w->input.piece) - (int64_t)w->scan.count;
    for (int64_t n = bits / 8; n > 0; n--)
        at += at[0] == 0xFF ? 2 : 1;
    return (uint32_t)(8 * (at - begin) + bits % 8);
}

static bool entries_are_true(const image *p, const hr_jpeg_index *index, hr_arena *arena)
{
    static walk w;
    if (!walk_open(&w, p, arena))
        return false;
    int32_t i = 1;
    const hr_kernels *kernels = hr_kernels_get(HR_CPU_LEVEL_BASE);
    while (w.scan.mcu < w.mcus && i < index->count) {
        const hr_jpeg_entry *e = &index->entry[i];
        if (hr_jpeg_input_run(&w.input, &w.scan, 1) != 1)
            return false;
        if (w.scan.mcu == (int32_t)e->mcu) {
            bool same = e->bit == bit_in_file(&w, p);
            for (int k = 0; k < w.m.components; k++)
                same = same && e->dc[k] == w.scan.predicted[k];
            if (!same)
                return false;
            i++;
        }
        if (!kernels->jpeg_skip(&w.scan, 1))
            return false;
    }
    return i == index->count;
}

static bool steps_are_even(const hr_jpeg_index *index)
{
    for (int32_t i = 1; i < index->count; i++) {
        uint32_t step = index->entry[i].bit - index->entry[i - 1].bit;
        if (step < 8 * (HR_JPEG_MARK_BYTES - 8) || step > 2 * 8 * HR_JPEG_MARK_BYTES)
            return false;
    }
    return true;
}

TEST(entries_are_what_a_walk_finds)
{
    static kept k;
    for (int i = 0; i < 40; i++) {
        help_jpeg j = some_kind(i);
        image p = make_image(&j);
        hr_arena *arena;
        hr_error error;
        hr_jpeg_index index;
        k.size = 0;
        CHECK(decode_matches(&p, help_window(p.h, p.w), &k));
        CHECK(decode_matches(&p, whole(&p), &k));
        CHECK_OK(hr_arena_create(&arena, &error), error);
        CHECK_OK(hr_jpeg_index_make(&index, p.size, arena, &error), error);
        hr_jpeg_index_unpack(&index, k.bytes, k.size);
        CHECK((size_t)index.count == 1 + k.size / HR_JPEG_PACKED);
        CHECK(entries_are_true(&p, &index, arena));
        CHECK(steps_are_even(&index));
        hr_arena_destroy(arena);
        free_image(&p);
    }
}

/* ---- only what is needed is read ---- */

TEST(jumps_over_what_is_not_needed)
{
    static kept k;
    help_jpeg j = {.w = 400, .h = 300, .channels = 3, .quality = 95, .sampling = {1, 1}};
    image p = make_image(&j);
    hr_window w = {.y = 200, .x = 160, .h = 40, .w = 40};
    static uint8_t data[40 * 40 * 3];
    CHECK(decode_matches(&p, whole(&p), &k));
    size_t scan = p.size / 4;        /* well inside; the window's rows begin at two thirds */
    memset(p.file + scan, 0xFF, 64); /* not valid JPEG data */
    kept none = {.size = 0};
    CHECK(!decode(&p, w, &none, data));
    CHECK(decode_matches(&p, w, &k));
    free_image(&p);
}

/* ---- seeking ---- */

/* Seeking from any MCU to any other, forwards and backwards, gives the same data from there on. */
TEST(seek_anywhere)
{
    static kept k;
    static walk w;
    const hr_kernels *kernels = hr_kernels_get(HR_CPU_LEVEL_AUTO);
    for (int i = 0; i < 15; i++) {
        help_jpeg j = some_kind(i);
        image p = make_image(&j);
        hr_arena *arena;
        hr_error error;
        hr_jpeg_index index;
        k.size = 0;
        CHECK(decode_matches(&p, whole(&p), &k));
        CHECK_OK(hr_arena_create(&arena, &error), error);
        CHECK_OK(hr_jpeg_index_make(&index, p.size, arena, &error), error);
        hr_jpeg_index_unpack(&index, k.bytes, k.size);
        index.capacity = index.count;
        CHECK(walk_open(&w, &p, arena));
        int32_t(*want)[3] = calloc((size_t)w.mcus + 1, sizeof *want);
        for (int32_t m = 0; m < w.mcus; m++) {
            CHECK(hr_jpeg_input_run(&w.input, &w.scan, 1) == 1);
            memcpy(want[m], w.scan.predicted, sizeof want[m]);
            CHECK(kernels->jpeg_skip(&w.scan, 1));
        }
        CHECK(walk_open(&w, &p, arena));
        w.input.index = &index;
        for (int n = 0; n < 300; n++) {
            int32_t mcu = help_between(0, w.mcus - 1), end = help_between(mcu + 1, w.mcus);
            int32_t left = hr_jpeg_input_seek(&w.input, &w.scan, mcu, end);
            CHECK(left >= 0 && w.scan.mcu + left == mcu);
            while (w.scan.mcu < end) {
                CHECK(hr_jpeg_input_run(&w.input, &w.scan, 1) == 1);
                CHECK(memcmp(want[w.scan.mcu], w.scan.predicted, sizeof want[0]) == 0);
                CHECK(kernels->jpeg_skip(&w.scan, 1));
            }
            CHECK(hr_jpeg_input_whole(&w.input, &w.scan));
        }
        free(want);
        hr_arena_destroy(arena);
        free_image(&p);
    }
}

/* ---- false entries ---- */

/* Whatever the entries contain, the result is pixels or an error, and nothing beyond the file is
 * read. */
TEST(false_entries_do_no_harm)
{
    static kept k;
    for (int i = 0; i < 300; i++) {
        help_jpeg j = some_kind(i);
        j.w = HR_MIN(j.w, 120);
        image p = make_image(&j);
        uint8_t *data = malloc((size_t)(p.h * p.w * p.channels));
        k.size = 0;
        CHECK(decode_matches(&p, whole(&p), &k));
        for (int n = help_between(1, 20); n > 0 && k.size > 0; n--)
            k.bytes[help_random() % k.size] ^= (uint8_t)(1u << help_random() % 8);
        if (i % 3 == 0)
            k.size = help_random() % (k.size + 1);
        for (int n = 0; n < 4; n++)
            decode(&p, help_window(p.h, p.w), &k, data);
        free(data);
        free_image(&p);
    }
}

TEST(an_index_of_another_file_is_not_used)
{
    static kept k;
    help_jpeg j = {.w = 300, .h = 300, .channels = 3, .quality = 95, .sampling = {1, 1}};
    image large = make_image(&j);
    CHECK(decode_matches(&large, whole(&large), &k));
    j.w = j.h = 100;
    image small = make_image(&j);
    CHECK(decode_matches(&small, whole(&small), &k));
    free_image(&large);
    free_image(&small);
}

TEST_MAIN

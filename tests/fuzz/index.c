/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fuzz target: the files of a cache of indices, and decoding with them. The input makes a file of
 * raw bytes and of records with correct hashes around any value, as an attacker with the key could
 * write them. The result must be pixels or an error. */
#include "codec_fuzz.h"
#include "replay.h"

#include "codecs/jpeg/decoder.h"
#include "codecs/jpeg/index_cache.h"
#include "codecs/jpeg/index_folder.h"
#include "kernels/kernels.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jpeglib.h>

enum { WIDTH = 150, HEIGHT = 110, FILE_MAX = 1 << 16, MADE_MAX = 1 << 17, PREFIX = 6 };

/* An image without and one with restart markers, and their correct indices. */
static uint8_t *image[2], truth[2][4096];
static size_t image_size[2], truth_size[2];
static char folder[64];
static hr_hash_key hash_key;
static const uint32_t seed[4] = {1, 2, 3, 4};

static uint64_t hash_of(const void *data, size_t size)
{
    return hr_kernels_get(HR_CPU_LEVEL_AUTO)->hash(&hash_key, data, size).word[0];
}

static void make_image(int i)
{
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    unsigned char *out = NULL;
    unsigned long size = 0;
    uint8_t row[WIDTH * 3];
    uint32_t state = 1;
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_compress(&cinfo);
    jpeg_mem_dest(&cinfo, &out, &size);
    cinfo.image_width = WIDTH;
    cinfo.image_height = HEIGHT;
    cinfo.input_components = 3;
    cinfo.in_color_space = JCS_RGB;
    jpeg_set_defaults(&cinfo);
    jpeg_set_quality(&cinfo, 90, TRUE);
    cinfo.restart_interval = i ? 13 : 0;
    jpeg_start_compress(&cinfo, TRUE);
    while (cinfo.next_scanline < HEIGHT) {
        JSAMPROW rows[1] = {row};
        for (size_t k = 0; k < sizeof row; k++)
            row[k] = (uint8_t)((state = state * 1664525u + 1013904223u) >> 25);
        jpeg_write_scanlines(&cinfo, rows, 1);
    }
    jpeg_finish_compress(&cinfo);
    jpeg_destroy_compress(&cinfo);
    image[i] = out;
    image_size[i] = size;
}

/* Decodes a window with the packed index and checks the result. */
static hr_status decode(int i, const uint8_t *where, const uint8_t *packed, size_t size,
                        hr_jpeg_index *index, hr_arena *arena)
{
    static const hr_cpu_level levels[] = {HR_CPU_LEVEL_BASE, HR_CPU_LEVEL_V3, HR_CPU_LEVEL_V4};
    hr_image_info info;
    hr_error error;
    hr_op_call c = {.arena = arena, .kernels = hr_kernels_get(levels[where[0] % 3])};
    hr_codec_request q = {.channels = 3};
    fuzz_axis(HEIGHT, where[1], where[2], &q.window.y, &q.window.h);
    fuzz_axis(WIDTH, where[3], where[4], &q.window.x, &q.window.w);
    q.stride = (size_t)q.window.w * 3;
    q.dst = malloc(q.stride * (size_t)q.window.h);
    if (!q.dst || hr_jpeg_index_make(index, image_size[i], arena, &error) != HR_STATUS_OK ||
        hr_image_probe(image[i], image_size[i], FUZZ_MAX_PIXELS, &info, &error) != HR_STATUS_OK)
        abort();
    hr_jpeg_index_unpack(index, packed, size);
    hr_status status = hr_jpeg_decode(image[i], image_size[i], &info, &q, index, &c, &error);
    free(q.dst);
    return status;
}

static void write_whole(const char *name, const void *bytes, size_t size)
{
    char path[128];
    snprintf(path, sizeof path, "%s/headrace-index-2%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        abort();
    close(fd);
}

static void set_up(void)
{
    static const uint8_t whole[5] = {0, 0, 255, 0, 255};
    struct {
        char magic[8];
        uint32_t seed[4];
        uint64_t check;
    } key = {"", {1, 2, 3, 4}, 0};
    hr_arena *arena;
    hr_jpeg_index index;
    memcpy(key.magic, "HRINDEX2", 8);
    hr_cache_expand_key(&hash_key, seed);
    key.check = hash_of(key.seed, sizeof key.seed);
    snprintf(folder, sizeof folder, "/dev/shm/headrace-fuzz-%ld", (long)getpid());
    if (mkdir(folder, 0700) != 0 || hr_arena_create(&arena, NULL) != HR_STATUS_OK)
        abort();
    write_whole(".key", &key, sizeof key);
    for (int i = 0; i < 2; i++) {
        make_image(i);
        if (decode(i, whole, NULL, 0, &index, arena) != HR_STATUS_OK || index.count < 10)
            abort();
        truth_size[i] = hr_jpeg_index_pack(&index, truth[i]);
    }
    hr_arena_destroy(arena);
}

static void tear_down(void)
{
    char command[96];
    snprintf(command, sizeof command, "%s/headrace-index-2.key", folder);
    unlink(command);
    snprintf(command, sizeof command, "%s/headrace-index-2.000", folder);
    unlink(command);
    snprintf(command, sizeof command, "%s/headrace-index-2.000.keys", folder);
    unlink(command);
    rmdir(folder);
}

/* ---- the file ---- */

typedef struct made_file {
    uint8_t bytes[MADE_MAX];
    size_t size;
} made_file;

static made_file records, keys;

static void add_to(made_file *file, const void *bytes, size_t size)
{
    size = HR_MIN(size, MADE_MAX - file->size);
    memcpy(file->bytes + file->size, bytes, size);
    file->size += size;
}

static void add(const void *bytes, size_t size)
{
    add_to(&records, bytes, size);
}

/* Adds a record for the image's key; `claimed` is the size that it states. */
static void add_record(int i, const uint8_t *value, size_t size, uint32_t claimed)
{
    struct {
        hr_hash key;
        uint32_t size, zero;
        uint64_t check, head;
    } r = {.size = claimed};
    struct {
        hr_hash key;
        int64_t offset;
        uint32_t size, zero;
        uint64_t check;
    } e = {.offset = (int64_t)records.size, .size = claimed};
    r.key = hr_kernels_get(HR_CPU_LEVEL_AUTO)->hash(&hash_key, image[i], image_size[i]);
    r.check = hash_of(value, size);
    r.head = hash_of(&r, offsetof(__typeof__(r), head));
    e.key = r.key;
    e.check = hash_of(&e, offsetof(__typeof__(e), check));
    add_to(&keys, &e, sizeof e);
    add(&r, sizeof r);
    add(value, size);
    add("\0\0\0\0\0\0\0", (8 - size % 8) % 8);
}

/* The input is a list of pieces: a kind, a length, bytes. */
static void make_file(const uint8_t *data, size_t size)
{
    struct {
        char magic[8];
        uint64_t tag;
    } header = {.tag = hash_of("HRINDEX2", 8)};
    memcpy(header.magic, "HRINDEX2", 8);
    records.size = keys.size = 0;
    add_to(&records, &header, sizeof header);
    add_to(&keys, &header, sizeof header);
    while (size >= 3) {
        uint8_t value[4096];
        size_t kind = data[0], n = data[1] | (size_t)data[2] << 8;
        data += 3;
        size -= 3;
        n = HR_MIN(n % 2048, size);
        int i = kind >> 4 & 1;
        if (kind % 4 == 0) {
            add_to(kind >> 5 & 1 ? &keys : &records, data, n);
        } else if (kind % 4 == 1) {
            add_record(i, data, n, (uint32_t)n);
        } else if (kind % 4 == 2) { /* the correct index with some bytes changed */
            memcpy(value, truth[i], truth_size[i]);
            for (size_t k = 0; k + 2 < n; k += 3)
                value[(data[k] | (size_t)data[k + 1] << 8) % truth_size[i]] ^= data[k + 2];
            add_record(i, value, truth_size[i], (uint32_t)truth_size[i]);
        } else if (n >= 4) {
            uint32_t claimed;
            memcpy(&claimed, data, 4);
            add_record(i, data, n, claimed);
        }
        data += n;
        size -= n;
    }
    made_file *cut = size > 1 && data[1] & 1 ? &keys : &records;
    if (cut->size > sizeof header && size > 0)
        cut->size -= data[0] % 16;
    write_whole(".000", records.bytes, records.size);
    write_whole(".000.keys", keys.bytes, keys.size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hr_cache *cache;
    hr_arena *arena;
    hr_error error;
    const uint8_t *packed;
    size_t packed_size;
    hr_jpeg_index index;
    if (size < PREFIX)
        return 0;
    if (!folder[0]) {
        set_up();
        atexit(tear_down);
    }
    make_file(data + PREFIX, size - PREFIX);
    if (hr_cache_create(&cache, 1 << 20, folder, &error) != HR_STATUS_OK ||
        hr_arena_create(&arena, &error) != HR_STATUS_OK)
        abort();
    for (int i = 0; i < 2; i++) {
        hr_hash key = hr_cache_key(cache, image[i], image_size[i]);
        if (hr_cache_get(cache, &key, arena, &packed, &packed_size)) {
            hr_status status = decode(i, data, packed, packed_size, &index, arena);
            if (status != HR_STATUS_OK && status != HR_STATUS_NOT_FUSABLE)
                abort();
        }
        hr_cache_put(cache, &key, truth[i], truth_size[i]);
        if (!hr_cache_get(cache, &key, arena, &packed, &packed_size))
            abort(); /* a bad record replaced the good one */
    }
    hr_arena_destroy(arena);
    hr_cache_destroy(cache);
    return 0;
}

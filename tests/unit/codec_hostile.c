/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Files that claim more than they contain. Each is decoded in a child process, so that the kernel
 * reports its time and memory: one second and 300 MB in addition to the image are allowed. */
#include "codec_help.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <webp/encode.h>
#include <zlib.h>

enum { SIDE = 16384, MEMORY_KB = 300 * 1024, ROOM = 8 << 20 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

typedef struct file {
    uint8_t *bytes;
    size_t size;
} file;

static file file_begin(void)
{
    return (file){calloc(1, ROOM), 0};
}

static void add(file *f, const void *bytes, size_t n)
{
    memcpy(f->bytes + f->size, bytes, n);
    f->size += n;
}

static void add_fill(file *f, uint8_t value, size_t n)
{
    memset(f->bytes + f->size, value, n);
    f->size += n;
}

static void add_be(file *f, uint32_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--)
        f->bytes[f->size++] = (uint8_t)(value >> 8 * i);
}

/* ---- JPEG ---- */

/* A Huffman table for two symbols, whose codes have one bit (or `bits`). */
static void add_table(file *f, uint8_t number, uint8_t bits, uint8_t first, uint8_t second)
{
    add_be(f, 0xFFC4, 2);
    add_be(f, 2 + 17 + 2, 2);
    add_be(f, number, 1);
    for (int i = 1; i <= 16; i++)
        add_be(f, i == bits ? 1 : i == bits + 1 ? 1 : 0, 1);
    add_be(f, first, 1);
    add_be(f, second, 1);
}

/* AC codes: 0: EOB, or an EOB run of 32767 blocks with 14 bits after it; 10: ZRL. */
static file jpeg_begin(int sof, int height, int width, int components)
{
    file f = file_begin();
    add_be(&f, 0xFFD8, 2);
    add_be(&f, 0xFFDB0043, 4);
    add_be(&f, 0, 1);
    add_fill(&f, 1, 64);
    add_be(&f, 0xFF00 | (uint32_t)sof, 2);
    add_be(&f, (uint32_t)(8 + 3 * components), 2);
    add_be(&f, 8, 1);
    add_be(&f, (uint32_t)height, 2);
    add_be(&f, (uint32_t)width, 2);
    add_be(&f, (uint32_t)components, 1);
    for (int i = 0; i < components; i++)
        add_be(&f, (uint32_t)(i + 1) << 16 | 0x1100, 3);
    bool progressive = sof == 0xC2 || sof == 0xCA;
    add_table(&f, 0x00, 1, 0, 1);
    add_table(&f, 0x10, 1, progressive ? 0xE0 : 0, 0xF0);
    return f;
}

/* A scan of components `first` .. `first` + count - 1: the band, its bits, and `data` zero bytes.
 */
static void add_scan(file *f, int first, int count, uint32_t band, size_t data)
{
    add_be(f, 0xFFDA, 2);
    add_be(f, (uint32_t)(6 + 2 * count), 2);
    add_be(f, (uint32_t)count, 1);
    for (int i = first; i < first + count; i++)
        add_be(f, (uint32_t)(i + 1) << 8, 2);
    add_be(f, band, 3);
    add_fill(f, 0, data);
}

/* ---- the result of a child ---- */

typedef struct outcome {
    hr_status status;
    char message[HR_ERROR_SIZE];
    int64_t image_kb; /* size of the decoded image */
} outcome;

static void decode_in_child(const file *f, int out)
{
    outcome o = {0};
    hr_image_info info;
    hr_error error = {0};
    hr_arena *arena;
    hr_arena_create(&arena, &error);
    o.status = hr_image_probe(f->bytes, f->size, (int64_t)1 << 28, &info, &error);
    if (o.status == HR_STATUS_OK) {
        size_t stride = (size_t)info.width * 3;
        hr_decode_request q = {.window = {0, 0, info.height, info.width},
                               .type = HR_IMAGE_TYPE_RGB,
                               .dtype = HR_DTYPE_UINT8,
                               .stride = stride,
                               .dst = malloc(stride * (size_t)info.height)};
        hr_op_call call = {.arena = arena};
        o.status = hr_image_decode(f->bytes, f->size, &info, &q, &call, &error);
        o.image_kb = (int64_t)(stride * (size_t)info.height / 1024);
    }
    snprintf(o.message, sizeof o.message, "%s", error.message);
    if (write(out, &o, sizeof o) != (ssize_t)sizeof o)
        _exit(1);
    _exit(0);
}

/* Whether decoding stayed within the bounds, and its result; prints `what` if not. */
static bool within_bounds(const char *what, file f, outcome *o)
{
    int ends[2], code;
    struct rusage used;
    if (pipe(ends) != 0)
        return false;
    pid_t child = fork();
    if (child == 0)
        decode_in_child(&f, ends[1]);
    close(ends[1]);
    bool told = read(ends[0], o, sizeof *o) == (ssize_t)sizeof *o;
    close(ends[0]);
    wait4(child, &code, 0, &used);
    double seconds = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                     1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    int64_t image = o->status == HR_STATUS_OK ? o->image_kb : 0;
    int64_t memory = used.ru_maxrss - image - (int64_t)(f.size / 1024);
    /* 4 ns per byte of the decoded image are added; three times as much if cores are shared */
    double allowed = 3 * (1.0 + (double)image * 1024 * 4e-9);
    bool good = told && code == 0 && (SANITIZED || (seconds <= allowed && memory <= MEMORY_KB));
    if (!good || getenv("HR_VERBOSE"))
        printf("%s: status %d (%s), %.2f s of %.2f, %lld KB besides the image\n", what,
               (int)o->status, o->message, seconds, allowed, (long long)memory);
    free(f.bytes);
    return good;
}

static bool refused(const char *what, file f, hr_status status, const char *words)
{
    outcome o = {0};
    bool good = within_bounds(what, f, &o);
    if (o.status != status || !strstr(o.message, words)) {
        printf("%s: status %d (%s), not %d (%s)\n", what, (int)o.status, o.message, (int)status,
               words);
        good = false;
    }
    return good;
}

/* An image that a file of any size may contain: it costs as much as the image. */
static bool decoded(const char *what, file f)
{
    outcome o = {0};
    bool good = within_bounds(what, f, &o);
    if (o.status != HR_STATUS_OK)
        printf("%s: status %d (%s)\n", what, (int)o.status, o.message);
    return good && o.status == HR_STATUS_OK;
}

static const char HOLD[] = "cannot hold", WORK[] = "too much work";

TEST(jpeg_without_enough_bits)
{
    static const int sofs[] = {0xC0, 0xC1, 0xC2};
    for (int i = 0; i < 3; i++)
        for (int components = 1; components <= 4; components++) {
            if (components == 2)
                continue;
            uint32_t band = sofs[i] == 0xC2 ? 0 : 0x003F00;
            file f = jpeg_begin(sofs[i], SIDE, SIDE, components);
            add_scan(&f, 0, components, band, 20);
            CHECK(refused("20 bytes", f, HR_STATUS_CORRUPT, HOLD));
            f = jpeg_begin(sofs[i], SIDE, SIDE, components);
            add_scan(&f, 0, components, band, 20);
            add_be(&f, 0xFFD9, 2);
            add_fill(&f, 0, 4 << 20);
            CHECK(refused("20 bytes, and much behind EOI", f, HR_STATUS_CORRUPT, HOLD));
        }
}

/* Files that lack the bits of at most HR_IMAGE_SLACK pixels are decoded. */
TEST(jpeg_with_nearly_enough_bits)
{
    static const int sofs[] = {0xC0, 0xC2};
    for (int i = 0; i < 2; i++) {
        file f = jpeg_begin(sofs[i], 4000, 4000, 3);
        add_scan(&f, 0, 3, sofs[i] == 0xC2 ? 0 : 0x003F00, 20);
        CHECK(decoded("16 megapixels", f));
        size_t needed = (size_t)512 * 512 * 3 * (sofs[i] == 0xC2 ? 1 : 2) / 8;
        f = jpeg_begin(sofs[i], 2 * 4096, 4096, 3);
        add_scan(&f, 0, 3, sofs[i] == 0xC2 ? 0 : 0x003F00, needed + 1);
        CHECK(decoded("half of 32 megapixels", f));
        f = jpeg_begin(sofs[i], 2 * 4096, 4096, 3);
        add_scan(&f, 0, 3, sofs[i] == 0xC2 ? 0 : 0x003F00, needed - 100);
        CHECK(refused("less", f, HR_STATUS_CORRUPT, HOLD));
    }
}

/* A complete progressive file: one bit per block for DC, and EOB runs of 16384 blocks. With
 * `damaged`, the last component has no AC scan. */
static file jpeg_of_one_bit(bool damaged)
{
    const size_t blocks = (size_t)SIDE / 8 * (SIDE / 8);
    file f = jpeg_begin(0xC2, SIDE, SIDE, 3);
    add_scan(&f, 0, 3, 0, 3 * blocks / 8);
    for (int i = 0; i < (damaged ? 2 : 3); i++)
        add_scan(&f, i, 1, 0x013F00, blocks / 16384 * 15 / 8);
    add_be(&f, 0xFFD9, 2);
    return f;
}

TEST(jpeg_with_enough_bits)
{
    CHECK(decoded("one bit per block", jpeg_of_one_bit(false)));
    CHECK(refused("no AC of a component", jpeg_of_one_bit(true), HR_STATUS_LIMIT,
                  "in addition to the"));
}

TEST(jpeg_of_many_scans)
{
    for (int kind = 0; kind < 4; kind++) {
        bool arithmetic = kind == 1;
        file f = jpeg_begin(kind == 3    ? 0xC0
                            : arithmetic ? 0xCA
                                         : 0xC2,
                            SIDE, SIDE / 2, 1 + 2 * (kind == 3));
        add_scan(&f, 0, 1, kind == 3 ? 0x003F00 : 0, SIDE / 8 * (SIDE / 2 / 8) / 4 + 1);
        for (int i = 0; i < 250; i++) /* a first scan, or one that refines by a bit */
            add_scan(&f, kind == 3 ? i % 3 : 0, 1,
                     kind == 2 && i > 0 ? 0x013F10
                     : kind == 3        ? 0x003F00
                                        : 0x013F01,
                     300);
        add_be(&f, 0xFFD9, 2);
        CHECK(refused("250 scans", f, HR_STATUS_LIMIT, WORK));
    }
}

/* The largest number of scans, in the largest image that is allowed for it. */
TEST(jpeg_of_as_many_scans_as_may_be)
{
    for (int kind = 0; kind < 3; kind++) {
        file f = jpeg_begin(kind == 1 ? 0xCA : 0xC2, 2048, 2048, 1);
        add_scan(&f, 0, 1, 0, 2048 * 2048 / 64 / 8 + 1);
        for (int i = 0; i < 250; i++)
            add_scan(&f, 0, 1, kind == 2 || i == 0 ? 0x013F01 : 0x013F10, 60);
        add_be(&f, 0xFFD9, 2);
        CHECK(decoded("250 scans", f));
    }
}

/* Arithmetic coding has no minimum number of bits: uniform areas cost nearly nothing. */
TEST(jpeg_arithmetic)
{
    for (int components = 1; components <= 3; components += 2)
        for (int sof = 0xC9; sof <= 0xCA; sof++) {
            uint32_t band = sof == 0xCA ? 0 : 0x003F00;
            file f = jpeg_begin(sof, SIDE, SIDE, components);
            add_scan(&f, 0, components, band, 20);
            CHECK(refused("arithmetic", f, HR_STATUS_CORRUPT, HOLD));
            f = jpeg_begin(sof, 4096, 4096, components);
            add_scan(&f, 0, components, band, 20);
            CHECK(decoded("arithmetic", f));
            f = jpeg_begin(sof, 2 * 4096, 4096, components);
            add_scan(&f, 0, components, band, 1 << 12);
            CHECK(decoded("arithmetic", f));
        }
}

TEST(jpeg_restarting_at_every_mcu)
{
    file f = jpeg_begin(0xC0, SIDE / 4, SIDE / 4, 3);
    add_be(&f, 0xFFDD0004, 4);
    add_be(&f, 1, 2);
    add_scan(&f, 0, 3, 0x003F00, 20);
    CHECK(decoded("restarts", f));
}

/* ---- PNG ---- */

static void add_chunk(file *f, const char *name, const void *body, size_t size)
{
    uint8_t *start = f->bytes + f->size + 4;
    add_be(f, (uint32_t)size, 4);
    add(f, name, 4);
    add(f, body, size);
    add_be(f, (uint32_t)crc32(0, start, (uInt)(size + 4)), 4);
}

static file png(int side, int depth, int type, int interlaced, size_t rows)
{
    file f = file_begin();
    add(&f, "\x89PNG\r\n\x1a\n", 8);
    file head = {(uint8_t[13]){0}, 0};
    add_be(&head, (uint32_t)side, 4);
    add_be(&head, (uint32_t)side, 4);
    add_be(&head, (uint32_t)(depth << 8 | type), 2);
    add_be(&head, (uint32_t)interlaced, 3);
    add_chunk(&f, "IHDR", head.bytes, 13);
    size_t size = rows * (size_t)(1 + side * depth / 8 * (type == 6 ? 4 : 1));
    uLongf room = compressBound(size);
    void *data = calloc(1, size + 1), *packed = malloc(room);
    compress2(packed, &room, data, size, 9);
    add_chunk(&f, "IDAT", packed, room);
    add_chunk(&f, "IEND", "", 0);
    free(data);
    free(packed);
    return f;
}

TEST(png_of_few_bytes)
{
    for (int interlaced = 0; interlaced < 2; interlaced++) {
        CHECK(refused("grey", png(SIDE, 8, 0, interlaced, 1), HR_STATUS_CORRUPT, HOLD));
        CHECK(refused("RGBA", png(SIDE, 16, 6, interlaced, 1), HR_STATUS_CORRUPT, HOLD));
        CHECK(refused("small", png(4096, 16, 6, interlaced, 1), HR_STATUS_CORRUPT, "PNG: "));
    }
    CHECK(decoded("one colour", png(8192, 8, 0, 0, 8192)));
    CHECK(decoded("one colour, two bits", png(SIDE, 2, 0, 0, SIDE)));
}

/* ---- others ---- */

static file bmp(int side, int bits, int compression)
{
    file f = file_begin();
    add(&f, "BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0", 18);
    for (int i = 0; i < 2; i++) {
        uint8_t le[4] = {side & 255, side >> 8 & 255, side >> 16, 0};
        add(&f, le, 4);
    }
    uint8_t rest[28] = {1, 0, (uint8_t)bits, 0, (uint8_t)compression};
    add(&f, rest, 28);
    return f;
}

TEST(bmp_of_few_bytes)
{
    for (int bits = 1; bits <= 32; bits *= 2)
        CHECK(refused("BMP", bmp(SIDE, bits, 0), HR_STATUS_CORRUPT, HOLD));
    for (int kind = 1; kind < 3; kind++) {
        file f = bmp(SIDE / 2, kind == 1 ? 8 : 4, kind);
        add_be(&f, 1, 2); /* end of bitmap: all pixels have index 0 */
        CHECK(decoded("run lengths", f));
        f = bmp(SIDE, kind == 1 ? 8 : 4, kind);
        for (int i = 0; i < 1 << 21; i++)
            add_be(&f, 0xFF00, 2); /* runs that exceed the row */
        CHECK(refused("one long row", f, HR_STATUS_CORRUPT, "ends before"));
    }
}

TEST(pnm_of_few_bytes)
{
    for (int kind = 1; kind <= 6; kind++) {
        char text[64];
        file f = file_begin();
        int n =
            snprintf(text, sizeof text, "P%d 16384 16384%s ", kind, kind % 3 == 1 ? "" : " 255");
        add(&f, text, (size_t)n);
        add_fill(&f, '1', 100);
        CHECK(refused("PNM", f, HR_STATUS_CORRUPT, HOLD));
    }
}

/* A single colour, as an encoder writes it: about 40 bytes. */
static file webp(int side)
{
    file f = file_begin();
    uint8_t *pixels = calloc((size_t)side * (size_t)side, 3), *out = NULL;
    size_t size = WebPEncodeLosslessRGB(pixels, side, side, side * 3, &out);
    add(&f, out, size);
    WebPFree(out);
    free(pixels);
    return f;
}

TEST(webp_of_few_bytes)
{
    file f = webp(4000);
    CHECK(f.size > 30 && f.size < 1000);
    CHECK(decoded("one colour", f));
    f = webp(256);
    /* the size after the byte 0x2F: 14 bits for the width minus one, 14 for the height */
    uint32_t bits = 16382u | 16382u << 14;
    for (int i = 0; i < 4; i++)
        f.bytes[21 + i] = (uint8_t)(bits >> 8 * i);
    CHECK(refused("one colour", f, HR_STATUS_CORRUPT, HOLD));
    f = webp(256);
    for (int i = 0; i < 4; i++)
        f.bytes[21 + i] = (uint8_t)(bits >> 8 * i);
    add_fill(&f, 0, 64 << 10); /* the file's sizes say that there is more */
    CHECK(refused("one colour, and much behind it", f, HR_STATUS_LIMIT, "in addition to the"));
}

TEST_MAIN

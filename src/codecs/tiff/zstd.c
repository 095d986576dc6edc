/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/tiff/zstd.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* From the stable interface of libzstd 1.x. */
typedef struct zstd_in {
    const void *src;
    size_t size, at;
} zstd_in;
typedef struct zstd_out {
    void *dst;
    size_t size, at;
} zstd_out;
typedef struct zstd_stream zstd_stream;
enum { WINDOW_LOG_MAX = 100, WINDOW_LOG = 27 }; /* a parameter; 128 MiB, the library's default */

typedef struct library {
    zstd_stream *(*create)(void);
    size_t (*destroy)(zstd_stream *s);
    size_t (*set)(zstd_stream *s, int parameter, int value);
    size_t (*decompress)(zstd_stream *s, zstd_out *out, zstd_in *in);
    unsigned (*is_error)(size_t code);
    const char *(*error_name)(size_t code);
    bool usable;
} library;

static library zstd; /* written once */

static bool find(void *lib, const char *name, void *function)
{
    void *symbol = dlsym(lib, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static void open_library(void)
{
    library l = {0};
    void *lib = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    l.usable =
        lib && find(lib, "ZSTD_createDStream", &l.create) &&
        find(lib, "ZSTD_freeDStream", &l.destroy) && find(lib, "ZSTD_DCtx_setParameter", &l.set) &&
        find(lib, "ZSTD_decompressStream", &l.decompress) &&
        find(lib, "ZSTD_isError", &l.is_error) && find(lib, "ZSTD_getErrorName", &l.error_name);
    zstd = l;
}

hr_status hr_tiff_unpack_zstd(const uint8_t *in, size_t size, uint8_t *out, size_t out_size,
                              hr_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_library);
    if (!zstd.usable)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "TIFF: Zstandard needs libzstd.so.1, which cannot be opened: install "
                       "libzstd1");
    zstd_stream *s = zstd.create();
    if (!s)
        return hr_fail_memory(error, 0);
    zstd_in from = {in, size, 0};
    zstd_out to = {out, out_size, 0};
    size_t code = zstd.set(s, WINDOW_LOG_MAX, WINDOW_LOG);
    while (!zstd.is_error(code) && to.at < to.size) {
        size_t before = from.at + to.at;
        code = zstd.decompress(s, &to, &from);
        if (from.at + to.at == before)
            break;
    }
    zstd.destroy(s);
    if (zstd.is_error(code))
        return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: damaged Zstandard data (%s)",
                       zstd.error_name(code));
    if (to.at < to.size)
        return hr_fail(error, HR_STATUS_CORRUPT, "TIFF: compressed data ends before its pixels do");
    return HR_STATUS_OK;
}

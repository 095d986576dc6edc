/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* MP3 through libmpg123 (LGPL), which is opened on first need and is part of no wheel. Its portable
 * decoder is used, so that all CPUs give the same samples. */
#include "modules/audio/decoders.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* From the interface of libmpg123 1.x, which is binary compatible since 1.0. */
enum {
    OK = 0,
    DONE = -12,
    NEW_FORMAT = -11,
    NEED_MORE = -10,
    ENCODING_FLOAT_32 = 0x200,
    PARAM_ADD_FLAGS = 2,
    FLAG_QUIET = 0x20,
    FLAG_FORCE_FLOAT = 0x400,
    PART = 1152 * 8
};
typedef struct handle handle;

typedef struct library {
    int (*init)(void);
    handle *(*create)(const char *decoder, int *error);
    int (*param)(handle *h, int type, long value, double real);
    int (*open_feed)(handle *h);
    int (*feed)(handle *h, const unsigned char *bytes, size_t size);
    int (*read)(handle *h, void *dst, size_t size, size_t *done);
    int (*getformat)(handle *h, long *rate, int *channels, int *encoding);
    void (*destroy)(handle *h);
    const char *(*error)(handle *h);
    bool usable;
} library;

static library mpg123;

static bool find(void *lib, const char *name, void *function)
{
    void *symbol = dlsym(lib, name);
    memcpy(function, &symbol, sizeof(symbol));
    return symbol != NULL;
}

static void open_library(void)
{
    library l = {0};
    void *lib = dlopen("libmpg123.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    l.usable = lib && find(lib, "mpg123_init", &l.init) && find(lib, "mpg123_new", &l.create) &&
               find(lib, "mpg123_param", &l.param) && find(lib, "mpg123_open_feed", &l.open_feed) &&
               find(lib, "mpg123_feed", &l.feed) && find(lib, "mpg123_read", &l.read) &&
               find(lib, "mpg123_getformat", &l.getformat) &&
               find(lib, "mpg123_delete", &l.destroy) && find(lib, "mpg123_strerror", &l.error) &&
               l.init() == OK;
    mpg123 = l;
}

static const library *opened(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_library);
    return mpg123.usable ? &mpg123 : NULL;
}

static bool check_format(hr_audio_job *job, const library *l, handle *h)
{
    long rate = 0;
    int channels = 0, encoding = 0;
    if (l->getformat(h, &rate, &channels, &encoding) != OK || encoding != ENCODING_FLOAT_32)
        return hr__audio_fail(job, "the header is damaged");
    if (job->channels == 0)
        return hr__audio_begin(job, channels, rate, true);
    return (channels == job->channels && rate == job->rate) ||
           hr__audio_fail(job, "the channels or the rate change after %lld frames",
                          (long long)job->frames);
}

static bool run(hr_audio_job *job, const library *l, handle *h)
{
    float first[PART]; /* frames that are read before the format is known */
    if (l->open_feed(h) != OK || l->feed(h, job->bytes, job->size) != OK)
        return hr__audio_fail(job, "libmpg123: %s", l->error(h));
    while (job->channels == 0 || hr__audio_wants(job)) {
        size_t size = sizeof(first), done = 0;
        void *room = job->channels > 0 ? hr__audio_room(job, PART / job->channels) : first;
        if (!room)
            return false;
        if (job->channels > 0)
            size = sizeof(float) * (size_t)(PART / job->channels * job->channels);
        int code = l->read(h, room, job->channels > 0 ? size : 0, &done);
        if (code == NEW_FORMAT && !check_format(job, l, h))
            return false;
        if (code != OK && code != NEW_FORMAT && code != NEED_MORE && code != DONE)
            return hr__audio_fail(job, "libmpg123: %s", l->error(h));
        if (done > 0)
            hr__audio_keep(job, (int64_t)(done / sizeof(float)) / job->channels);
        if (code == DONE || code == NEED_MORE || (code == OK && done == 0))
            break;
    }
    return job->channels > 0 || hr__audio_fail(job, "the file contains no frame");
}

bool hr__mp3_decode(hr_audio_job *job)
{
    const library *l = opened();
    int error = 0;
    if (!l)
        return hr__audio_fail(job, "libmpg123.so.0 cannot be opened: install libmpg123-0");
    handle *h = l->create("generic", &error);
    if (!h)
        return hr__audio_fail(job, "libmpg123 has no portable decoder (error %d)", error);
    l->param(h, PARAM_ADD_FLAGS, FLAG_QUIET | FLAG_FORCE_FLOAT, 0);
    bool done = run(job, l, h);
    l->destroy(h);
    return done;
}

const char *hr__mp3_version(void)
{
    return opened() ? "libmpg123" : "no libmpg123 (MP3)";
}

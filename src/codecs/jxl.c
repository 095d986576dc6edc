/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* JPEG XL, by libjxl, which is opened when the first file asks for it. Lossy files become sRGB,
 * others are delivered as they are stored; profiles are ignored, as in other formats. */
#include "codecs/codec.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* From the interface of libjxl, which has been the same since 0.7. */
enum { SUCCESS = 0, NEED_BUFFER = 5, BASIC_INFO = 0x40, COLOURS = 0x100, FULL_IMAGE = 0x1000 };
enum { TYPE_FLOAT = 0, TYPE_UINT8 = 2, TYPE_UINT16 = 3, BLACK = 4 };

typedef struct jxl_info {
    int32_t have_container;
    uint32_t width, height, bits, exponent_bits;
    float intensity[2];
    int32_t relative;
    float linear_below;
    int32_t uses_original_profile, have_preview, have_animation, orientation;
    uint32_t colours, extra, alpha_bits, alpha_exponent_bits;
    int32_t alpha_premultiplied;
    uint32_t preview[2], animation[4], intrinsic[2];
    uint8_t padding[100];
} jxl_info;

typedef struct jxl_format {
    uint32_t channels;
    int32_t type, endianness;
    size_t align;
} jxl_format;

typedef struct jxl_decoder jxl_decoder;

typedef struct library {
    uint32_t (*version)(void);
    jxl_decoder *(*create)(const void *memory);
    void (*destroy)(jxl_decoder *d);
    int (*subscribe)(jxl_decoder *d, int events);
    int (*keep_orientation)(jxl_decoder *d, int keep);
    int (*set_input)(jxl_decoder *d, const uint8_t *bytes, size_t size);
    void (*close_input)(jxl_decoder *d);
    int (*process)(jxl_decoder *d);
    int (*get_info)(const jxl_decoder *d, jxl_info *info);
    int (*get_extra)(const jxl_decoder *d, size_t i, void *info);
    int (*buffer_size)(const jxl_decoder *d, const jxl_format *format, size_t *size);
    int (*set_buffer)(jxl_decoder *d, const jxl_format *format, void *buffer, size_t size);
    void (*srgb)(void *encoding, int is_grey);
    int (*set_profile)(jxl_decoder *d, const void *encoding);
    bool usable;
} library;

static library jxl; /* written once */

static bool find(void *lib, const char *name, void *function)
{
    void *symbol = dlsym(lib, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static void *open_newest(void)
{
    char name[24];
    for (int minor = 30; minor >= 7; minor--) {
        snprintf(name, sizeof name, "libjxl.so.0.%d", minor);
        void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (lib)
            return lib;
    }
    return NULL;
}

static void open_library(void)
{
    library l = {0};
    void *lib = open_newest();
    const struct {
        const char *name;
        void *function;
    } all[] = {{"JxlDecoderVersion", &l.version},
               {"JxlDecoderCreate", &l.create},
               {"JxlDecoderDestroy", &l.destroy},
               {"JxlDecoderSubscribeEvents", &l.subscribe},
               {"JxlDecoderSetKeepOrientation", &l.keep_orientation},
               {"JxlDecoderSetInput", &l.set_input},
               {"JxlDecoderCloseInput", &l.close_input},
               {"JxlDecoderProcessInput", &l.process},
               {"JxlDecoderGetBasicInfo", &l.get_info},
               {"JxlDecoderGetExtraChannelInfo", &l.get_extra},
               {"JxlDecoderImageOutBufferSize", &l.buffer_size},
               {"JxlDecoderSetImageOutBuffer", &l.set_buffer},
               {"JxlColorEncodingSetToSRGB", &l.srgb},
               {"JxlDecoderSetPreferredColorProfile", &l.set_profile}};
    l.usable = lib != NULL;
    for (size_t i = 0; i < HR_COUNT_OF(all) && l.usable; i++)
        l.usable = find(lib, all[i].name, all[i].function);
    jxl = l;
}

static hr_status use_library(hr_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_library);
    if (jxl.usable)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_CORRUPT,
                   "JPEG XL needs libjxl (0.7 or newer), which cannot be opened: install libjxl");
}

static bool match(const uint8_t *bytes, size_t size)
{
    return (size >= 2 && bytes[0] == 0xFF && bytes[1] == 0x0A) ||
           (size >= 12 && memcmp(bytes, "\0\0\0\x0CJXL \r\n\x87\n", 12) == 0);
}

static hr_status damaged(hr_error *error)
{
    return hr_fail(error, HR_STATUS_CORRUPT, "JPEG XL: the file is damaged or ends early");
}

/* A decoder that has read the header. It is destroyed by the caller, also after a failure. */
static hr_status start(const uint8_t *bytes, size_t size, int events, jxl_decoder **out,
                       jxl_info *info, hr_error *error)
{
    jxl_decoder *d = *out = jxl.create(NULL);
    if (!d)
        return hr_fail_memory(error, 0);
    if (jxl.subscribe(d, BASIC_INFO | events) != SUCCESS || jxl.keep_orientation(d, 1) != SUCCESS ||
        jxl.set_input(d, bytes, size) != SUCCESS)
        return hr_fail(error, HR_STATUS_ERROR, "JPEG XL: libjxl cannot be used");
    jxl.close_input(d);
    if (jxl.process(d) != BASIC_INFO || jxl.get_info(d, info) != SUCCESS)
        return damaged(error);
    return HR_STATUS_OK;
}

static hr_status check_kind(const jxl_decoder *d, const jxl_info *i, hr_error *error)
{
    uint32_t extra[64]; /* more than libjxl's description of a channel has; its type comes first */
    if (i->width == 0 || i->height == 0 || i->width > INT32_MAX || i->height > INT32_MAX)
        return damaged(error);
    if (i->have_animation)
        return hr_fail(error, HR_STATUS_CORRUPT, "JPEG XL: animations are not supported");
    for (uint32_t k = 0; k < i->extra; k++)
        if (jxl.get_extra(d, k, extra) != SUCCESS || extra[0] == BLACK)
            return hr_fail(error, HR_STATUS_CORRUPT, "JPEG XL: CMYK is not supported");
    return HR_STATUS_OK;
}

static hr_status header(const uint8_t *bytes, size_t size, hr_image_info *info, hr_error *error)
{
    jxl_decoder *d = NULL;
    jxl_info i;
    HR_TRY(use_library(error));
    hr_status status = start(bytes, size, 0, &d, &i, error);
    if (status == HR_STATUS_OK)
        status = check_kind(d, &i, error);
    jxl.destroy(d);
    if (status != HR_STATUS_OK)
        return status;
    info->height = (int32_t)i.height;
    info->width = (int32_t)i.width;
    info->channels = (i.colours == 1 ? 1 : 3) + (i.alpha_bits > 0);
    info->bits = i.exponent_bits > 0 ? 32 : i.bits > 8 ? 16 : 8;
    info->orientation = i.orientation;
    return HR_STATUS_OK;
}

/* Up to the pixels, which are dense. */
static hr_status run(jxl_decoder *d, const jxl_info *i, const jxl_format *format, void *pixels,
                     size_t size, hr_error *error)
{
    double encoding[64]; /* more than it needs */
    for (;;) {
        size_t needed;
        int event = jxl.process(d);
        if (event == FULL_IMAGE)
            return HR_STATUS_OK;
        if (event == COLOURS) {
            jxl.srgb(encoding, i->colours == 1);
            if (!i->uses_original_profile && jxl.set_profile(d, encoding) != SUCCESS)
                return hr_fail(error, HR_STATUS_CORRUPT, "JPEG XL: colours that cannot be sRGB");
        } else if (event == NEED_BUFFER) {
            if (jxl.buffer_size(d, format, &needed) != SUCCESS || needed != size ||
                jxl.set_buffer(d, format, pixels, size) != SUCCESS)
                return damaged(error);
        } else {
            return damaged(error);
        }
    }
}

static void copy_window(const hr_codec_request *q, const uint8_t *from, size_t row, size_t pixel)
{
    const hr_window *w = &q->window;
    for (int64_t y = 0; y < w->h; y++)
        memcpy((uint8_t *)q->dst + (size_t)y * q->stride,
               from + (size_t)(w->y + y) * row + (size_t)w->x * pixel, (size_t)w->w * pixel);
}

static hr_status decode(const uint8_t *bytes, size_t size, const hr_image_info *info,
                        const hr_codec_request *request, hr_op_call *c, hr_error *error)
{
    size_t pixel = (size_t)request->channels * (size_t)info->bits / 8;
    size_t row = pixel * (size_t)info->width, all = row * (size_t)info->height;
    /* libjxl works with floats */
    size_t memory = 4 * sizeof(float) * (size_t)info->width * (size_t)info->height;
    const jxl_format format = {.channels = (uint32_t)request->channels,
                               .type = info->bits == 32   ? TYPE_FLOAT
                                       : info->bits == 16 ? TYPE_UINT16
                                                          : TYPE_UINT8};
    jxl_decoder *d = NULL;
    jxl_info i;
    HR_TRY(use_library(error));
    HR_TRY(hr_image_count(c->arena, memory, size, error));
    uint8_t *pixels = hr_arena_alloc(c->arena, all, error);
    hr_status status =
        pixels ? start(bytes, size, COLOURS | FULL_IMAGE, &d, &i, error) : HR_STATUS_NO_MEMORY;
    if (status == HR_STATUS_OK)
        status = run(d, &i, &format, pixels, all, error);
    if (status == HR_STATUS_OK)
        copy_window(request, pixels, row, pixel);
    if (d)
        jxl.destroy(d);
    hr_arena_uncount(c->arena, memory);
    return status;
}

static const char *version(void)
{
    hr_error error;
    return use_library(&error) == HR_STATUS_OK ? "0.7 or newer" : "is not installed";
}

const hr_codec hr_codec_jxl = {
    .name = "jxl",
    .library = "libjxl",
    .version = version,
    .match = match,
    .header = header,
    .decode = decode,
    .luma_bits = 16,
};

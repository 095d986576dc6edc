// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// NVDEC of the fake module: the decoders of the module for the CPU that HEADRACE_FAKE_VIDEO names.
// Their planes become those of NVDEC, and the kernels' code writes the pixels on the stream.
#include "cuda/runtime.cuh"
#include "cuda/video/picture.cuh"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codecs/video/video.h"

extern "C" {
#include "gpu/fake_module.h"
extern const hr_video_module_def fake_video;
}

namespace
{

struct Decoder {
    const hr_video_module_def *module;
    void *inner, *stream;
    int32_t device;
    hr_video_picture picture; // whose planes are those of `inner`
};

bool fail(char message[HR_VIDEO_MESSAGE], const char *text)
{
    snprintf(message, HR_VIDEO_MESSAGE, "%s", text);
    return false;
}

const hr_video_module_def *module()
{
    const char *path = getenv("HEADRACE_FAKE_VIDEO");
    void *lib = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    hr_video_module_fn entry = lib ? (hr_video_module_fn)dlsym(lib, "hr_video_module") : NULL;
    return entry ? entry() : NULL;
}

void close_decoder(void *memory)
{
    Decoder *d = (Decoder *)memory;
    if (d->inner)
        d->module->close(d->inner);
    if (d->stream)
        fake_stream_destroy(d->device, d->stream);
    free(d);
}

void *open_decoder(const hr_video_stream *stream, char message[HR_VIDEO_MESSAGE])
{
    const hr_video_module_def *inner = module();
    if (!inner || stream->codec == HR_VIDEO_CODEC_MPEG4 || stream->codec == HR_VIDEO_CODEC_MJPEG) {
        fail(message, "this is not decoded here");
        return NULL;
    }
    Decoder *d = (Decoder *)calloc(1, sizeof(Decoder));
    d->module = inner;
    d->device = stream->device;
    d->inner = inner->open(stream, message);
    if (d->inner && fake_call("video_open", NULL) == HR_STATUS_OK &&
        fake_stream_create(d->device, &d->stream, NULL) == HR_STATUS_OK)
        return d;
    close_decoder(d);
    return NULL;
}

hr_video_result send(void *memory, const uint8_t *bytes, size_t size, int64_t id, bool wanted,
                     char message[HR_VIDEO_MESSAGE])
{
    Decoder *d = (Decoder *)memory;
    return d->module->send(d->inner, bytes, size, id, wanted, message);
}

int64_t pixels(const void *memory)
{
    const Decoder *d = (const Decoder *)memory;
    return d->module->pixels(d->inner);
}

hr_video_result receive(void *memory, hr_video_picture *picture, char message[HR_VIDEO_MESSAGE])
{
    Decoder *d = (Decoder *)memory;
    hr_video_result result = d->module->receive(d->inner, picture, message);
    if (result != HR_VIDEO_RESULT_PICTURE)
        return result;
    d->picture = *picture;
    for (int i = 0; i < 3; i++)
        picture->plane[i] = NULL;
    if (fake_call("video_receive", NULL) == HR_STATUS_OK && !picture->damaged &&
        picture->colors == HR_VIDEO_COLORS_YUV && picture->shift_x == 1 && picture->shift_y == 1 &&
        picture->bits <= 12)
        return result;
    fail(message, "this is not decoded here");
    return HR_VIDEO_RESULT_FAILED;
}

void flush(void *memory, int64_t max_pixels)
{
    Decoder *d = (Decoder *)memory;
    d->module->flush(d->inner, max_pixels);
}

void *stream_of(void *memory)
{
    return ((Decoder *)memory)->stream;
}

// A sample of a plane as NVDEC stores it.
void put_sample(uint8_t *to, const uint8_t *row, int32_t i, int32_t bits)
{
    if (bits == 8) {
        *to = row[i];
    } else {
        uint16_t value = (uint16_t)(((const uint16_t *)row)[i] << (16 - bits));
        memcpy(to, &value, sizeof value);
    }
}

// Copies the planes: luma, then chroma with both samples next to each other.
video::Picture copy_planes(const hr_video_picture *p)
{
    const size_t unit = p->bits > 8 ? 2 : 1, stride = ((size_t)p->width + 1) / 2 * 2 * unit;
    const int32_t columns = (p->width + 1) / 2, rows = (p->height + 1) / 2;
    uint8_t *planes = (uint8_t *)malloc(stride * (size_t)(p->height + rows));
    uint8_t *chroma = planes + stride * (size_t)p->height;
    for (int32_t y = 0; y < p->height; y++)
        for (int32_t x = 0; x < p->width; x++)
            put_sample(planes + (size_t)y * stride + (size_t)x * unit,
                       p->plane[0] + y * p->stride[0], x, p->bits);
    for (int32_t y = 0; y < rows; y++)
        for (int32_t x = 0; x < 2 * columns; x++)
            put_sample(chroma + (size_t)y * stride + (size_t)x * unit,
                       p->plane[1 + x % 2] + y * p->stride[1 + x % 2], x / 2, p->bits);
    return {planes,    chroma,  (int64_t)stride, p->width,
            p->height, p->bits, {}, NULL};
}

void run_picture(fake_work *w)
{
    video::Picture *p = (video::Picture *)w->to;
    for (int32_t y = 0; y < p->height; y++)
        for (int32_t x = 0; x < p->width; x++)
            video::put_pixel(*p, y, x);
    free((void *)p->luma);
    delete p;
}

bool queue(Decoder *d, const fake_work *work, char message[HR_VIDEO_MESSAGE])
{
    return (fake_call("video_store", NULL) == HR_STATUS_OK &&
            fake_queue(d->stream, work, NULL) == HR_STATUS_OK) ||
           fail(message, "an injected failure");
}

bool store(void *memory, const hr_video_form *form, uint8_t *dst, char message[HR_VIDEO_MESSAGE])
{
    Decoder *d = (Decoder *)memory;
    video::Picture *p = new video::Picture(copy_planes(&d->picture));
    p->form = *form;
    p->dst = dst;
    fake_work work = {};
    work.run = run_picture;
    work.to = p;
    if (queue(d, &work, message))
        return true;
    free((void *)p->luma);
    delete p;
    return false;
}

void run_fill(fake_work *w)
{
    uint8_t *dst = (uint8_t *)w->to;
    for (size_t i = 0; i < w->size; i++)
        for (int32_t k = 0; k < 3; k++)
            dst[3 * i + (size_t)k] = (uint8_t)(w->count >> 8 * k);
}

bool fill(void *memory, const uint8_t color[3], size_t count, uint8_t *dst,
          char message[HR_VIDEO_MESSAGE])
{
    fake_work work = {};
    work.run = run_fill;
    work.to = dst;
    work.size = count;
    work.count = color[0] | color[1] << 8 | color[2] << 16;
    return queue((Decoder *)memory, &work, message);
}

bool finish(void *memory, char message[HR_VIDEO_MESSAGE])
{
    const Decoder *d = (const Decoder *)memory;
    return fake_stream_wait(d->device, d->stream, NULL) == HR_STATUS_OK ||
           fail(message, "an injected failure");
}

const char *version()
{
    return "a fake";
}

} // namespace

const hr_video_module_def fake_video = {
    HR_VIDEO_ABI_VERSION,
    sizeof(hr_video_module_def),
    version,
    open_decoder,
    send,
    pixels,
    receive,
    flush,
    close_decoder,
    stream_of,
    store,
    fill,
    finish,
};

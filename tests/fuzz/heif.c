/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fuzz target: AVIF and HEIC files. A decoder of our own takes the place of libavcodec: its
 * pictures have the size that it is told, and planes of exactly the bytes that they need; what they
 * are is taken from the packet. */
#include "codecs/heif/colours.h"
#include "codecs/heif/image.h"
#include "codec_fuzz.h"
#include "replay.h"

enum { PIXELS = 1 << 14 };

typedef struct fake {
    int32_t width, height;
    uint8_t *plane[3];
    uint8_t kind;
} fake;

static void drop_planes(fake *f)
{
    for (int i = 0; i < 3; i++) {
        free(f->plane[i]);
        f->plane[i] = NULL;
    }
}

static void *fake_open(const hr_video_stream *s, char message[HR_VIDEO_MESSAGE])
{
    fake *f = calloc(1, sizeof(*f));
    memcpy(message, "no", 3);
    if (f)
        *f = (fake){.width = s->width, .height = s->height};
    return f;
}

static hr_video_result fake_send(void *decoder, const uint8_t *bytes, size_t size, int64_t id,
                                 bool wanted, char message[HR_VIDEO_MESSAGE])
{
    fake *f = decoder;
    (void)id;
    (void)wanted;
    (void)message;
    if (bytes)
        f->kind = bytes[size - 1];
    return HR_VIDEO_RESULT_MORE;
}

static hr_video_result fake_receive(void *decoder, hr_video_picture *p,
                                    char message[HR_VIDEO_MESSAGE])
{
    static const uint8_t depths[] = {8, 8, 10, 12};
    fake *f = decoder;
    (void)message;
    if ((int64_t)f->width * f->height > PIXELS || f->kind & 0x80)
        return HR_VIDEO_RESULT_FAILED;
    *p = (hr_video_picture){.width = f->width,
                            .height = f->height,
                            .bits = depths[f->kind & 3],
                            .shift_x = f->kind >> 2 & 1,
                            .shift_y = f->kind >> 3 & 1,
                            .signal = {.matrix = f->kind >> 2 & 3, .full_range = f->kind >> 4 & 1},
                            .colors = (hr_video_colors)((f->kind >> 5 & 3) % 3)};
    drop_planes(f);
    for (int i = 0; i < (p->colors == HR_VIDEO_COLORS_GRAY ? 1 : 3); i++) {
        int64_t w = i ? (p->width + p->shift_x) >> p->shift_x : p->width;
        int64_t h = i ? (p->height + p->shift_y) >> p->shift_y : p->height;
        p->stride[i] = w * (p->bits > 8 ? 2 : 1);
        f->plane[i] = calloc((size_t)(p->stride[i] * h), 1);
        p->plane[i] = f->plane[i];
    }
    return HR_VIDEO_RESULT_PICTURE;
}

static void fake_flush(void *decoder, int64_t max_pixels)
{
    (void)decoder;
    (void)max_pixels;
}

static void fake_close(void *decoder)
{
    drop_planes(decoder);
    free(decoder);
}

static const hr_video_module_def fake_module = {.open = fake_open,
                                                .send = fake_send,
                                                .receive = fake_receive,
                                                .flush = fake_flush,
                                                .close = fake_close};

static void decode(const hr_heif *h, const hr_heif_image *m, const hr_heif_picture *p,
                   const uint8_t *prefix, hr_op_call *c)
{
    hr_heif_planes planes = {.module = &fake_module};
    hr_heif_pixels pixels;
    hr_error error;
    hr_window w;
    uint32_t channels = 1 + prefix[0] % 4, bits = prefix[1] & 1 ? 16 : 8;
    fuzz_axis(m->height, prefix[4], prefix[5], &w.y, &w.h);
    fuzz_axis(m->width, prefix[6], prefix[7], &w.x, &w.w);
    w.x += m->x;
    w.y += m->y;
    size_t stride = (size_t)w.w * channels * bits / 8;
    uint8_t *row = malloc(stride);
    hr_status status = hr_heif_decode(h, p, &w, c, &planes, &error);
    if (status != HR_STATUS_OK && error.message[0] == 0)
        abort();
    if (row && status == HR_STATUS_OK &&
        hr_heif_pixels_init(&pixels, &planes.picture, &m->colours, bits, channels, (size_t)w.w,
                            c->arena, &error) == HR_STATUS_OK)
        for (int64_t y = 0; y < w.h; y++) {
            if (pixels.picture->colors == HR_VIDEO_COLORS_GRAY || channels > 2)
                hr_heif_pixels_put(&pixels, (int32_t)w.x, (int32_t)(w.y + y), (size_t)w.w, row);
            hr_heif_alpha_put(&pixels, (int32_t)w.x, (int32_t)(w.y + y), (size_t)w.w, row);
        }
    hr_heif_planes_fini(&planes, c->arena);
    free(row);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hr_heif h;
    hr_heif_image m;
    hr_error error;
    hr_arena *arena;
    if (size < FUZZ_PREFIX || !hr_heif_match(data + FUZZ_PREFIX, size - FUZZ_PREFIX) ||
        hr_heif_open(data + FUZZ_PREFIX, size - FUZZ_PREFIX, &h, &error) != HR_STATUS_OK)
        return 0;
    if (hr_heif_describe(&h, &m, &error) == HR_STATUS_OK &&
        (int64_t)m.main.width * m.main.height <= PIXELS &&
        hr_arena_create(&arena, &error) == HR_STATUS_OK) {
        hr_op_call c = {.arena = arena};
        decode(&h, &m, &m.main, data, &c);
        if (m.alpha.item)
            decode(&h, &m, &m.alpha, data, &c);
        hr_arena_destroy(arena);
    }
    hr_heif_fini(&h);
    return 0;
}

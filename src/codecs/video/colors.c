/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/video/colors.h"

#include <string.h>

#include "codecs/video/bits/rbsp.h"

/* MatrixCoefficients of H.273 */
enum {
    RGB = 0,
    BT709 = 1,
    UNSPECIFIED = 2,
    FCC = 4,
    BT470BG = 5,
    SMPTE170M = 6,
    SMPTE240M = 7,
    BT2020 = 9
};

hr_video_space hr_video_space_of(const char *name)
{
    return strcmp(name, "auto") == 0     ? HR_VIDEO_SPACE_AUTO
           : strcmp(name, "bt709") == 0  ? HR_VIDEO_SPACE_BT709
           : strcmp(name, "bt2020") == 0 ? HR_VIDEO_SPACE_BT2020
                                         : HR_VIDEO_SPACE_BT601;
}

void hr_video_vp9_signal(const uint8_t *bytes, size_t size, hr_video_signal *signal)
{
    static const uint8_t matrices[8] = {UNSPECIFIED, BT470BG, BT709,       SMPTE170M,
                                        SMPTE240M,   BT2020,  UNSPECIFIED, RGB};
    hr_rbsp r = hr__rbsp_of(bytes, size);
    r.plain = true;
    const bool is_frame = hr__rbsp_bits(&r, 2) == 2;
    const uint32_t low = hr__rbsp_bit(&r), profile = low | hr__rbsp_bit(&r) << 1;
    if (profile == 3)
        hr__rbsp_skip(&r, 1);
    const bool is_shown_again = hr__rbsp_bit(&r), is_inter = hr__rbsp_bit(&r);
    hr__rbsp_skip(&r, 2);
    if (!is_frame || is_shown_again || is_inter || hr__rbsp_bits(&r, 24) != 0x498342)
        return;
    if (profile >= 2)
        hr__rbsp_skip(&r, 1);
    const uint32_t space = hr__rbsp_bits(&r, 3);
    const bool full = space == 7 || hr__rbsp_bit(&r);
    if (!r.over)
        *signal = (hr_video_signal){.matrix = matrices[space], .full_range = full};
}

static bool is_stated(int32_t matrix)
{
    return matrix != RGB && matrix != UNSPECIFIED; /* RGB is not stored as luma and chroma */
}

static hr_status matrix_of(int32_t stated, hr_yuv_matrix *out, hr_error *error)
{
    switch (stated) {
    case BT709:
        *out = HR_YUV_MATRIX_BT709;
        return HR_STATUS_OK;
    case FCC:
        *out = HR_YUV_MATRIX_FCC;
        return HR_STATUS_OK;
    case BT470BG:
    case SMPTE170M:
        *out = HR_YUV_MATRIX_BT601;
        return HR_STATUS_OK;
    case SMPTE240M:
        *out = HR_YUV_MATRIX_SMPTE240M;
        return HR_STATUS_OK;
    case BT2020:
        *out = HR_YUV_MATRIX_BT2020;
        return HR_STATUS_OK;
    default:
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                       "the colours have matrix %d of H.273, which is not supported; color_space "
                       "can name another one",
                       stated);
    }
}

hr_status hr_video_colors_of(hr_video_space space, const hr_video *video,
                             const hr_video_signal *stream, int32_t bits, hr_yuv_colors *out,
                             hr_error *error)
{
    hr_yuv_matrix matrix = space == HR_VIDEO_SPACE_BT709    ? HR_YUV_MATRIX_BT709
                           : space == HR_VIDEO_SPACE_BT2020 ? HR_YUV_MATRIX_BT2020
                                                            : HR_YUV_MATRIX_BT601;
    bool full = stream->full_range;
    if (space == HR_VIDEO_SPACE_AUTO) {
        const int32_t stated = video->codec == HR_VIDEO_CODEC_VP8 ? BT470BG
                               : is_stated(stream->matrix)        ? stream->matrix
                                                                  : video->signal.matrix;
        full = full || video->signal.full_range;
        if (is_stated(stated))
            HR_TRY(matrix_of(stated, &matrix, error));
    }
    *out = hr_yuv_colors_of(bits, full, matrix);
    return HR_STATUS_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "ops/encoders/encode.h"

#include <string.h>

hr_status hr_encode_take(const hr_tensor *in, int64_t most, hr_encode_image *image, hr_error *error)
{
    const int64_t *extent = in->shape.extent;
    hr_layout layout;

    HR_TRY(hr_layout_match("HWC|HW", &in->layout, in->shape.ndim, &layout, error));
    if (extent[0] < 1 || extent[1] < 1 || extent[0] > most || extent[1] > most)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the image has %lld x %lld pixels (height x width); a file has 1 to %lld of "
                       "each",
                       (long long)extent[0], (long long)extent[1], (long long)most);
    *image = (hr_encode_image){.height = (int32_t)extent[0],
                               .width = (int32_t)extent[1],
                               .channels = in->shape.ndim == 3 ? extent[2] : 1};
    return HR_STATUS_OK;
}

hr_status hr_encode_keep(hr_op_call *c, const hr_encoded *encoded, hr_error *error)
{
    int64_t size = (int64_t)encoded->size;
    hr_encoded *kept = hr_arena_alloc(c->arena, sizeof(*kept), error);
    HR_TRY_ALLOC(kept);
    *kept = *encoded;
    hr_tensor_describe(&c->out[0], HR_DTYPE_UINT8, hr_shape_make(1, &size), NULL);
    c->memo = kept;
    return HR_STATUS_OK;
}

hr_status hr_encode_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    const hr_encoded *encoded = c->memo;
    memcpy(c->out[0].data, encoded->bytes, encoded->size);
    return HR_STATUS_OK;
}

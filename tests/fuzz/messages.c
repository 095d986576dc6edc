/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fuzz target: the messages that containers hold, tf.train.Example, Datum of Caffe and TensorProtos
 * of Caffe2. The first byte chooses the message and what is read of it. */
#include "core/core.h"
#include "readers/records/caffe_messages.h"
#include "readers/records/tf_example.h"
#include "replay.h"

#include <stdlib.h>
#include <string.h>

static const hr_tf_feature features[] = {
    {.name = "s", .name_size = 1, .kind = HR_TF_KIND_STRING, .volume = 1, .text_default = "x"},
    {.name = "n",
     .name_size = 1,
     .kind = HR_TF_KIND_INT64,
     .shape = {1, {3}},
     .volume = 3,
     .text_default = ""},
    {.name = "f",
     .name_size = 1,
     .kind = HR_TF_KIND_FLOAT,
     .var = true,
     .shape = {1, {2}},
     .volume = 2,
     .text_default = ""},
};

/* Reads every byte of an output. */
static void use(const hr_tensor *out)
{
    unsigned sum = 0;
    size_t size;
    if (!hr_tensor_bytes(out, &size))
        abort();
    for (size_t i = 0; i < size; i++)
        sum += ((const uint8_t *)out->data)[i];
    __asm__ volatile("" : : "r"(sum)); /* so that the loop is not left out */
}

static hr_status parse(uint8_t kind, const hr_tensor *value, hr_arena *arena, hr_tensor *out,
                       int32_t *count, hr_error *error)
{
    if (kind % 3 == 0) {
        const hr_tf_reading reading = {features, HR_COUNT_OF(features), kind & 4};
        *count = reading.count;
        return hr_tf_example(&reading, value, arena, out, error);
    }
    if (kind % 3 == 1) {
        *count = 2;
        return hr_caffe_datum(value, true, true, arena, out, error);
    }
    const hr_caffe2_wanted wanted = {.image = !(kind & 4),
                                     .label_type = (kind >> 3) % 5,
                                     .num_labels = 7,
                                     .additional = (kind >> 6) & 1,
                                     .box = kind >> 7};
    *count = hr_caffe2_outputs(&wanted);
    return hr_caffe2_tensors(&wanted, value, arena, out, error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hr_tensor value = {0}, out[HR_OP_MAX_OUTPUTS] = {{0}};
    hr_error error;
    hr_arena *arena;
    int32_t count = 0;
    if (size == 0 || hr_arena_create(&arena, &error) != HR_STATUS_OK)
        return 0;
    uint8_t *copy = malloc(size > 1 ? size - 1 : 1); /* not a byte more than the message */
    if (copy) {
        memcpy(copy, data + 1, size - 1);
        hr_tensor_describe(&value, HR_DTYPE_UINT8, (hr_shape){1, {(int64_t)size - 1}}, NULL);
        value.data = copy;
        hr_status status = parse(data[0], &value, arena, out, &count, &error);
        for (int32_t i = 0; status == HR_STATUS_OK && i < count; i++)
            use(&out[i]);
        if (status != HR_STATUS_OK && error.message[0] == 0)
            abort();
    }
    free(copy);
    hr_arena_destroy(arena);
    return 0;
}

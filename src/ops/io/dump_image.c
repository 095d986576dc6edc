/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* dump_image: writes images to files, for debugging, and returns them unchanged. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/core.h"
#include "headrace/operator.h"

typedef struct dump_image_args {
    const char *input_layout, *suffix;
} dump_image_args;

static hr_status dump_image_check(const void *args, const hr_given *given, hr_error *error)
{
    const dump_image_args *a = args;

    (void)given;
    if (strcmp(a->input_layout, "HWC") != 0)
        return hr_fail(error, HR_STATUS_ERROR, "`input_layout` is \"%s\"; it must be \"HWC\"",
                       a->input_layout);
    return HR_STATUS_OK;
}

static hr_status dump_image_infer(hr_op_call *c, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    const int64_t *extent = in->shape.extent;
    char text[128];

    if (in->dtype != HR_DTYPE_UINT8 || in->shape.ndim != 3 || extent[0] < 1 || extent[1] < 1 ||
        (extent[2] != 1 && extent[2] != 3))
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input is %s of shape %s: it must be an image of UINT8 with 1 or 3 "
                       "channels",
                       hr_dtype_name(in->dtype), hr_shape_text(&in->shape, text, sizeof(text)));
    hr_tensor_describe(&c->out[0], in->dtype, in->shape, in->layout.name);
    return HR_STATUS_OK;
}

/* Netpbm as text: P2 is grey, P3 in colours. */
static void write_image(FILE *file, const hr_tensor *t)
{
    const int64_t *extent = t->shape.extent;
    const uint8_t *v = t->data;

    fprintf(file, "P%d\n%lld %lld\n255\n", extent[2] == 1 ? 2 : 3, (long long)extent[1],
            (long long)extent[0]);
    for (int64_t y = 0; y < extent[0]; y++) {
        for (int64_t i = 0; i < extent[1] * extent[2]; i++)
            fprintf(file, "%d ", *v++);
        fputc('\n', file);
    }
}

static hr_status dump_image_run(hr_op_call *c, hr_error *error)
{
    const dump_image_args *a = c->args;
    char path[1024];
    size_t bytes = 0;
    snprintf(path, sizeof(path), "%d-%.900s-0.ppm", (int)hr_task_index(c->task), a->suffix);
    FILE *file = fopen(path, "we");
    if (!file)
        return hr_fail_errno(error, errno, "the file \"%s\" cannot be written", path);
    write_image(file, &c->in[0]);
    bool bad = ferror(file);
    if (fclose(file) != 0 || bad) {
        hr_status status = hr_fail_errno(error, errno, "the file \"%s\" cannot be written", path);
        unlink(path); /* an incomplete image */
        return status;
    }
    (void)hr_tensor_bytes(&c->in[0], &bytes); /* the output has room for as many */
    memcpy(c->out[0].data, c->in[0].data, bytes);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_dump_image = {
    HR_OP("dump_image"),
    .doc = "Writes images to files in the current folder, as PPM or PGM text, and returns them "
           "unchanged. Every batch writes the same files: those of the last one remain.",
    .devices = "cpu|gpu",
    .flags = HR_OP_ORDERED | HR_OP_OBSERVES, /* a later iteration writes the same files */
    HR_ARGS(dump_image_args,
            HR_ARG(dump_image_args, input_layout, LAYOUT, 0, "\"HWC\"",
                   "Layout of the images; only \"HWC\" is supported."),
            HR_ARG(dump_image_args, suffix, STRING, 0, "\"\"",
                   "Part of the files' names: sample i of a batch goes to `i-SUFFIX-0.ppm` in the "
                   "current folder.")),
    .in = HR_INPUTS({.name = "data"}),
    .check = dump_image_check,
    .infer = dump_image_infer,
    .run = dump_image_run,
};

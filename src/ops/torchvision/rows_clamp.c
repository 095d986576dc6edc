/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* _torchvision.clamp_boxes: cuts boxes at the edges of their image. */
#include "ops/torchvision/rows.h"

static hr_status clamp_boxes(const hr_op_call *c, hr_box_rows *rows, hr_error *error)
{
    (void)c;
    (void)error;
    hr__rows_clamp(rows);
    return HR_STATUS_OK;
}

static hr_status clamp_boxes_run(hr_op_call *c, hr_error *error)
{
    return hr__rows_run(c, clamp_boxes, error);
}

const hr_op_def hr_op_torchvision_clamp_boxes = {
    HR_OP("_torchvision.clamp_boxes"),
    .doc = "Cuts boxes at the edges of their image, as torchvision's ClampBoundingBoxes does.",
    .devices = "cpu",
    .flags = HR_OP_HIDDEN | HR_OP_CHEAP,
    .in = HR_INPUTS({.name = "boxes", .host = true}),
    .infer = hr__rows_infer,
    .run = clamp_boxes_run,
};

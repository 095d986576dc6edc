/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/jpeg2000/module.h"

#include "core/core.h"
#include "core/library.h"

#include <string.h>

hr_status hr_jpeg2000_open_module(const hr_jpeg2000_module_def **out, hr_error *error)
{
    static const hr_library library = {
        .name = "JPEG 2000 module",
        .file = "libheadrace_jpeg2000.so",
        .variable = "HEADRACE_JPEG2000_MODULE",
        .entry = "hr_jpeg2000_module",
        .advice = "it needs OpenJPEG: install libopenjp2-7, or build Headrace where "
                  "libopenjp2-7-dev is installed",
        .abi = HR_JPEG2000_ABI_VERSION,
        .size = sizeof(hr_jpeg2000_module_def)};
    void *symbol = NULL;
    hr_jpeg2000_module_fn entry = NULL;
    HR_TRY(hr_library_open(&library, &symbol, error));
    memcpy(&entry, &symbol, sizeof(entry));
    *out = entry();
    return hr_library_check(&library, *out, error);
}

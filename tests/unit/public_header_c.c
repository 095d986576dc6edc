/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Public headers: a C translation unit that includes nothing before headrace.h. */
#include "headrace/headrace.h"

#include "test.h"

TEST(header_is_usable)
{
    hr_pipeline_options options = {.struct_size = sizeof(hr_pipeline_options)};
    hr_value value = {.kind = HR_VALUE_INT, .u = {.i = 3}};
    CHECK(options.struct_size > 0 && value.u.i == 3);
    CHECK(hr_dtype_size(HR_DTYPE_FLOAT16) == 2 && strcmp(hr_version(), HR_VERSION) == 0);
}

TEST_MAIN

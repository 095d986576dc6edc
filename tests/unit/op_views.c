/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Views of bytes that begin at any address. */
#include <string.h>

#include "op_help.h"

static hr_tensor out;

TEST(reinterpreted_elements_are_aligned)
{
    static _Alignas(8) uint8_t bytes[8 * 5 + 8];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 7);
    const hr_dtype dtypes[] = {HR_DTYPE_INT16, HR_DTYPE_FLOAT, HR_DTYPE_FLOAT64};
    const int64_t extent = 8 * 5;
    for (int32_t offset = 0; offset < 8; offset++) {
        for (int32_t k = 0; k < COUNT(dtypes); k++) {
            hr_tensor in = tensor(bytes + offset, HR_DTYPE_UINT8, "", 1, &extent);
            hr_arg_value dtype = ARG_INT("dtype", dtypes[k]);
            CHECK_OK(invoke("reinterpret", &dtype, 1, &in, 1, 0, &out), error);
            CHECK((uintptr_t)out.data % hr_dtype_size(dtypes[k]) == 0);
            CHECK(memcmp(out.data, bytes + offset, (size_t)extent) == 0);
            bool was_aligned = offset % (int32_t)hr_dtype_size(dtypes[k]) == 0;
            CHECK((out.data == in.data) == was_aligned); /* copied only if necessary */
        }
    }
}

TEST_MAIN

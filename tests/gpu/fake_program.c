/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Image programs of the fake module: none yet. */
#include "fake_module.h"

hr_status fake_program_run(hr_cuda_launch *l, hr_staged programs, int32_t count, hr_error *error)
{
    (void)programs, (void)count;
    HR_TRY(fake_current(l, "program_run", error));
    HR_TRY(fake_call("program_run", error));
    return fake_error(error, HR_STATUS_NOT_IMPLEMENTED, "program_run",
                      "the fake device runs no image programs");
}

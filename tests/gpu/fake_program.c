/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Image programs of the fake module: runs the kernels' code on one record after the other. */
#include "fake_module.h"
#include "program_serial.h"

enum { THREADS = 32 }; /* per block: few, because they run one after the other */

static void run_programs(fake_work *w)
{
    const hr_device_program *programs = w->from;
    for (int32_t i = 0; i < w->count; i++)
        hr_serial_program_run(&programs[i], THREADS);
}

hr_status fake_program_run(hr_cuda_launch *l, hr_staged programs, int32_t count, hr_error *error)
{
    HR_TRY(fake_current(l, "program_run", error));
    HR_TRY(fake_call("program_run", error));
    return fake_queue(l->stream,
                      &(fake_work){.run = run_programs, .from = programs.device, .count = count},
                      error);
}

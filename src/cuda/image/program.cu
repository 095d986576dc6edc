// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Runs a batch of image programs, with one launch per kind of program.
#include "cuda/error.cuh"
#include "cuda/image/launch.cuh"
#include "cuda/image/taps.cuh"
#include "cuda/runtime.cuh"

namespace
{

using image::Kernel;
using image::Share;
using image::Work;

const Work *const families[] = {
    image::fixed_1,     image::fixed_2,     image::fixed_3,  image::fixed_4, image::pick_u8,
    image::pick_scaled, image::pick_points, image::pick_any, image::gathers, image::floats};

bool is_for(const Work *work, const hr_device_program *p)
{
    if (work->kind == HR_DEVICE_KIND_NONE)
        return p->fill_tiles > 0;
    return p->kind == work->kind && (work->store < 0 || p->store == work->store) &&
           (work->channels < 0 || p->channels == work->channels);
}

bool has_taps(const Work *work)
{
    return work->kind == HR_DEVICE_KIND_FIXED || work->kind == HR_DEVICE_KIND_FLOAT;
}

struct Launch {
    Share share;
    unsigned threads;
    size_t shared, taps; // bytes; units
};

// Extends the launch to the threads, shared memory and taps of this program.
void widen(Launch *launch, const Work *work, const hr_device_program *p, int i)
{
    unsigned wide = HR_DEVICE_THREADS;
    if (work->kind == HR_DEVICE_KIND_FIXED)
        wide = HR_MAX((unsigned)(p->tiles.width + 31) / 32 * 32, 128u);
    launch->threads = HR_MAX(launch->threads, wide);
    if (!has_taps(work))
        return;
    launch->shared = HR_MAX(launch->shared, (size_t)p->tiles.shared);
    launch->share.taps_at[i] = (uint32_t)launch->taps;
    launch->taps += (size_t)HR_DIVIDE_UP(taps_size(p), image::TAPS_UNIT);
}

// Adds as many of the programs as fit into one launch; returns their number.
int fill_launch(Launch *launch, const Work *work, const hr_device_program *programs, int count)
{
    *launch = {};
    return tiles::fill(&launch->share.tiles, count, [&](int i) {
        const hr_device_program *p = programs + i;
        if (!is_for(work, p))
            return 0;
        widen(launch, work, p, i);
        return work->kind == HR_DEVICE_KIND_NONE ? p->fill_tiles : p->tiles.count;
    });
}

hr_status start(hr_cuda_launch *l, Kernel kernel, const Share *share, unsigned threads,
                size_t shared_bytes, hr_error *error)
{
    void *arguments[] = {(void *)share};
    HR_CUDA_TRY(cudaLaunchKernel((const void *)kernel, tiles::grid(share->tiles), dim3(threads),
                                 arguments, shared_bytes, (cudaStream_t)l->stream));
    return HR_STATUS_OK;
}

// Makes the taps of a launch's programs in scratch memory.
hr_status start_taps(hr_cuda_launch *l, Launch *launch, const Work *work,
                     const hr_device_program *programs, hr_error *error)
{
    void *memory;
    HR_TRY(l->scratch(l, launch->taps * image::TAPS_UNIT * sizeof(uint32_t), &memory, error));
    launch->share.taps = (uint32_t *)memory;
    Share share = launch->share;
    tiles::fill(&share.tiles, share.tiles.count, [&](int i) {
        int64_t outputs = (int64_t)programs[i].view_w + programs[i].view_h;
        return is_for(work, programs + i) ? HR_DIVIDE_UP(outputs, HR_DEVICE_THREADS) : 0;
    });
    return start(l, image::make_all_taps, &share, HR_DEVICE_THREADS, 0, error);
}

hr_status run_work(hr_cuda_launch *l, const Work *work, const hr_device_program *host,
                   const hr_device_program *device, int count, hr_error *error)
{
    for (int from = 0, n; from < count; from += n) {
        Launch launch;
        n = fill_launch(&launch, work, host + from, count - from);
        launch.share.programs = device + from;
        if (launch.share.tiles.first[n] == 0)
            continue;
        if (has_taps(work))
            HR_TRY(start_taps(l, &launch, work, host + from, error));
        HR_TRY(start(l, work->kernel, &launch.share, launch.threads, launch.shared, error));
    }
    return HR_STATUS_OK;
}

} // namespace

hr_status hr_cuda_program_run(hr_cuda_launch *l, hr_staged programs, int32_t count, hr_error *error)
{
    const hr_device_program *host = (const hr_device_program *)programs.host;
    const hr_device_program *device = (const hr_device_program *)programs.device;
    for (const Work *family : families)
        for (const Work *work = family; work->kernel; work++) {
            bool wanted = false;
            for (int32_t i = 0; i < count && !wanted; i++)
                wanted = is_for(work, host + i);
            if (wanted)
                HR_TRY(run_work(l, work, host, device, count, error));
        }
    return HR_STATUS_OK;
}

// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// The scheduler of all kernels that process a batch: which record, and which tile of it, a block
// works on. The host cuts each record into tiles of about the same work; a table in the kernel's
// arguments maps blocks to records.
#pragma once

#include <cuda_runtime.h>

#include <stdint.h>

#include "core/core.h"
#include "cuda/search.cuh"

namespace tiles
{

// Blocks first[i] .. first[i + 1] - 1 work on record i. Kernel arguments are limited to 32 KB; the
// more there are, the longer a launch takes.
template <int MOST> struct ShareOf {
    int count;
    uint32_t first[MOST + 1];
};

constexpr int RECORDS_MAX = 480; // per launch: of most kernels
typedef ShareOf<RECORDS_MAX> Share;

// The record that a block works on, or -1, and the tile.
template <int MOST>
static __device__ __forceinline__ int find(const ShareOf<MOST> &share, int *tile)
{
    if (gridDim.y > 1) { // one row of blocks per record, as long as the largest record needs
        *tile = (int)blockIdx.x;
        uint32_t tiles = share.first[blockIdx.y + 1] - share.first[blockIdx.y];
        return blockIdx.x < tiles ? (int)blockIdx.y : -1;
    }
    int i = hr_last_at_most(0, share.count, blockIdx.x, [&](int k) { return share.first[k]; });
    *tile = (int)(blockIdx.x - share.first[i]);
    return i;
}

// Adds as many of `count` records as fit into one launch, and returns their number. `tiles_of(i)`:
// the tiles of record i.
template <int MOST, typename TilesOf>
int fill(ShareOf<MOST> *share, int count, TilesOf tiles_of)
{
    int n = 0;
    share->first[0] = 0;
    for (; n < count && n < MOST; n++) {
        uint64_t end = share->first[n] + (uint64_t)tiles_of(n);
        if (end > INT32_MAX)
            break;
        share->first[n + 1] = (uint32_t)end;
    }
    share->count = n;
    return n;
}

// With one row of blocks per record, a block finds its record without a search. If the records'
// sizes differ so much that most blocks would be idle, all blocks are in one row.
template <int MOST> dim3 grid(const ShareOf<MOST> &share)
{
    uint32_t total = share.first[share.count], most = 0;
    for (int i = 0; i < share.count; i++)
        most = HR_MAX(most, share.first[i + 1] - share.first[i]);
    bool rows = share.count > 1 && (uint64_t)most * share.count <= (uint64_t)total * 3;
    return rows ? dim3(most, (unsigned)share.count) : dim3(total);
}

} // namespace tiles

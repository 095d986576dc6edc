/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "readers/file_order.h"

#include <pthread.h>

#define KEY_FILES 0x4669

/* The files of an epoch, in its order. */
typedef struct epoch_ends {
    int64_t epoch; /* -1: none yet */
    int64_t *end;  /* of file i: the items of the files up to it */
} epoch_ends;

struct hr_file_order {
    const int64_t *first;
    int32_t files;
    uint64_t key;
    pthread_mutex_t lock; /* guards `epochs` */
    epoch_ends epochs[2]; /* around the end of an epoch, two of them are asked for in turn */
};

hr_status hr_file_order_create(hr_file_order **out, const int64_t *first, int32_t files,
                               uint64_t seed, hr_error *error)
{
    hr_file_order *o = hr_calloc(1, sizeof(*o), error);
    int64_t *ends = o ? hr_calloc(2 * (size_t)files, sizeof(*ends), error) : NULL;
    if (!ends) {
        hr_free(o);
        return HR_STATUS_NO_MEMORY;
    }
    *o = (hr_file_order){.first = first,
                         .files = files,
                         .key = hr_mix(seed, KEY_FILES),
                         .epochs = {{-1, ends}, {-1, ends + files}}};
    pthread_mutex_init(&o->lock, NULL);
    *out = o;
    return HR_STATUS_OK;
}

void hr_file_order_destroy(hr_file_order *order)
{
    if (!order)
        return;
    pthread_mutex_destroy(&order->lock);
    hr_free(order->epochs[0].end);
    hr_free(order);
}

static int32_t file_at(const hr_file_order *o, int64_t epoch, int32_t i)
{
    return (int32_t)hr_permute(hr_mix(o->key, (uint64_t)epoch), o->files, i);
}

/* Lock held. */
static const int64_t *ends_of(hr_file_order *o, int64_t epoch)
{
    epoch_ends *e = &o->epochs[epoch & 1];
    if (e->epoch == epoch)
        return e->end;
    int64_t end = 0;
    for (int32_t i = 0; i < o->files; i++) {
        int32_t file = file_at(o, epoch, i);
        e->end[i] = end += o->first[file + 1] - o->first[file];
    }
    e->epoch = epoch;
    return e->end;
}

int64_t hr_file_order_item(hr_file_order *o, int64_t epoch, int64_t i)
{
    int32_t low = 0, high = o->files - 1;
    pthread_mutex_lock(&o->lock);
    const int64_t *end = ends_of(o, epoch);
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (end[middle] > i)
            high = middle;
        else
            low = middle + 1;
    }
    int64_t start = low > 0 ? end[low - 1] : 0;
    pthread_mutex_unlock(&o->lock);
    return o->first[file_at(o, epoch, low)] + i - start;
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "readers/file_order.h"

#include <pthread.h>

#define KEY_FILES 0x4669

/* The files of a range of items, in the order of a key. */
typedef struct range_ends {
    uint64_t key;
    int64_t start, size; /* of the range; size 0: none yet */
    int32_t low, files;  /* the files that it touches */
    int64_t *end;        /* of file i: the items of the files up to it */
} range_ends;

struct hr_file_order {
    const int64_t *first;
    int32_t files;
    int32_t next;         /* of `ranges`, to be replaced */
    pthread_mutex_t lock; /* guards what follows */
    range_ends ranges[2]; /* around the end of an epoch, two of them are asked for in turn */
};

hr_status hr_file_order_create(hr_file_order **out, const int64_t *first, int32_t files,
                               hr_error *error)
{
    hr_file_order *o = hr_calloc(1, sizeof(*o), error);
    int64_t *ends = o ? hr_calloc(2 * (size_t)files, sizeof(*ends), error) : NULL;
    if (!ends) {
        hr_free(o);
        return HR_STATUS_NO_MEMORY;
    }
    *o = (hr_file_order){
        .first = first, .files = files, .ranges = {{.end = ends}, {.end = ends + files}}};
    pthread_mutex_init(&o->lock, NULL);
    *out = o;
    return HR_STATUS_OK;
}

void hr_file_order_destroy(hr_file_order *order)
{
    if (!order)
        return;
    pthread_mutex_destroy(&order->lock);
    hr_free(order->ranges[0].end);
    hr_free(order);
}

uint64_t hr_file_order_key(uint64_t seed, int64_t epoch)
{
    return hr_mix(hr_mix(seed, KEY_FILES), (uint64_t)epoch);
}

/* The file of an item. */
static int32_t file_of(const hr_file_order *o, int64_t item)
{
    int32_t low = 0, high = o->files - 1;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (o->first[middle + 1] > item)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int32_t file_at(const range_ends *r, int32_t i)
{
    return r->low + (int32_t)hr_permute(r->key, r->files, i);
}

/* Lock held. */
static const range_ends *ends_of(hr_file_order *o, uint64_t key, int64_t start, int64_t size)
{
    for (int32_t k = 0; k < 2; k++) {
        const range_ends *r = &o->ranges[k];
        if (r->size == size && r->key == key && r->start == start)
            return r;
    }
    range_ends *r = &o->ranges[o->next];
    int32_t low = file_of(o, start), high = file_of(o, start + size - 1);
    o->next = 1 - o->next;
    *r = (range_ends){key, start, size, low, high - low + 1, r->end};
    int64_t end = 0;
    for (int32_t i = 0; i < r->files; i++) {
        int32_t file = file_at(r, i);
        r->end[i] = end += HR_MIN(o->first[file + 1], start + size) - HR_MAX(o->first[file], start);
    }
    return r;
}

int64_t hr_file_order_item(hr_file_order *o, uint64_t key, int64_t start, int64_t size, int64_t i)
{
    pthread_mutex_lock(&o->lock);
    const range_ends *r = ends_of(o, key, start, size);
    int32_t low = 0, high = r->files - 1;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (r->end[middle] > i)
            high = middle;
        else
            low = middle + 1;
    }
    int64_t begin = low > 0 ? r->end[low - 1] : 0;
    int64_t item = HR_MAX(o->first[file_at(r, low)], start) + i - begin;
    pthread_mutex_unlock(&o->lock);
    return item;
}

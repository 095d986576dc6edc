/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A hash table in many parts, each with its own lock. A reader copies the value while it holds the
 * lock, so that values need no reference counts. The copy of some kilobytes takes a few hundred
 * nanoseconds, against the hundreds of microseconds of a decode. */
#include "codecs/jpeg/index_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>

#include "codecs/jpeg/index_folder.h"
#include "kernels/kernels.h"

enum {
    PARTS = 64,
    SLOTS_MIN = 16,
    IN_MEMORY = -1,
    LOST = -2,       /* was in a file, but cannot be read */
    BLOCK_EXTRA = 16 /* overhead of malloc in bytes */
};

typedef struct slot {
    hr_hash key;
    union {
        uint8_t *value;
        int64_t offset;
    } at;
    uint32_t size; /* 0: the slot is free */
    int32_t file;  /* or IN_MEMORY, LOST */
} slot;

typedef struct part {
    pthread_mutex_t lock;
    slot *slots;
    size_t capacity, count; /* slots, a power of two; slots in use */
    char apart[64];         /* keeps the next part off this cache line */
} part;

struct hr_cache {
    part part[PARTS];
    hr_hash_key hash_key;
    const hr_kernels *kernels;
    size_t limit;
    atomic_size_t used;
    atomic_int_least64_t hits, misses, made, refused, unwritten;
    atomic_int_least64_t file_hits, file_misses, files_made, files_unwritten;
    hr_cache_folder *folder;
    pthread_mutex_t writing; /* held from the look whether a value is there until it is */
};

static part *part_of(hr_cache *cache, const hr_hash *key)
{
    return &cache->part[key->word[1] % PARTS];
}

static bool reserve(hr_cache *cache, size_t bytes)
{
    size_t before = atomic_fetch_add(&cache->used, bytes);
    if (before <= cache->limit && bytes <= cache->limit - before)
        return true;
    atomic_fetch_sub(&cache->used, bytes);
    return false;
}

/* The key's slot, or the free slot for it. There is always a free slot. */
static slot *find(slot *slots, size_t capacity, const hr_hash *key)
{
    size_t i = (size_t)key->word[0];
    for (;; i++) {
        slot *s = &slots[i & (capacity - 1)];
        if (s->size == 0 || (s->key.word[0] == key->word[0] && s->key.word[1] == key->word[1]))
            return s;
    }
}

/* Makes room for one more value; lock held. */
static bool grow(hr_cache *cache, part *p)
{
    if (4 * (p->count + 1) <= 3 * p->capacity)
        return true;
    size_t capacity = HR_MAX(2 * p->capacity, SLOTS_MIN), bytes = capacity * sizeof(slot);
    if (!reserve(cache, bytes))
        return false;
    slot *slots = hr_calloc(capacity, sizeof(slot), NULL);
    if (!slots) {
        atomic_fetch_sub(&cache->used, bytes);
        return false;
    }
    for (size_t i = 0; i < p->capacity; i++)
        if (p->slots[i].size > 0)
            *find(slots, capacity, &p->slots[i].key) = p->slots[i];
    atomic_fetch_sub(&cache->used, p->capacity * sizeof(slot));
    hr_free(p->slots);
    p->slots = slots;
    p->capacity = capacity;
    return true;
}

static void drop_value(hr_cache *cache, slot *s)
{
    if (s->size == 0 || s->file != IN_MEMORY)
        return;
    atomic_fetch_sub(&cache->used, s->size + BLOCK_EXTRA);
    hr_free(s->at.value);
}

static void refuse(hr_cache *cache, slot *s)
{
    drop_value(cache, s);
    atomic_fetch_add(&cache->refused, 1);
}

/* Takes over the value, unless the cache has a longer one. Returns true if the key is new. */
static bool insert(hr_cache *cache, slot *fresh)
{
    part *p = part_of(cache, &fresh->key);
    pthread_mutex_lock(&p->lock);
    slot *s = p->capacity > 0 ? find(p->slots, p->capacity, &fresh->key) : NULL;
    size_t before = p->count;
    if (s && s->size > fresh->size) {
        drop_value(cache, fresh);
    } else if (s && s->size > 0) {
        drop_value(cache, s);
        *s = *fresh;
    } else if (grow(cache, p)) {
        *find(p->slots, p->capacity, &fresh->key) = *fresh;
        p->count++;
    } else {
        refuse(cache, fresh);
    }
    bool first = p->count > before;
    pthread_mutex_unlock(&p->lock);
    return first;
}

static slot slot_at(const hr_hash *key, const hr_cache_location *location)
{
    slot s = {.key = *key, .size = location->size, .file = location->file};
    s.at.offset = location->offset;
    return s;
}

static void on_found(void *context, const hr_hash *key, const hr_cache_location *location)
{
    slot s = slot_at(key, location);
    insert(context, &s);
}

hr_status hr_cache_create(hr_cache **out, size_t limit, const char *folder, hr_error *error)
{
    uint32_t seed[4] = {0};
    hr_cache *cache = hr_calloc(1, sizeof(*cache), error);
    HR_TRY_ALLOC(cache);
    cache->limit = limit;
    cache->kernels = hr_kernels_get(HR_CPU_LEVEL_AUTO);
    for (int i = 0; i < PARTS; i++)
        pthread_mutex_init(&cache->part[i].lock, NULL);
    pthread_mutex_init(&cache->writing, NULL);
    if (folder) {
        hr_status status = hr_cache_folder_open(&cache->folder, folder, on_found, cache, error);
        if (status != HR_STATUS_OK) {
            hr_cache_destroy(cache);
            return status;
        }
        cache->hash_key = *hr_cache_folder_key(cache->folder);
    } else {
        /* if this fails, the keys are predictable, but the cache works */
        (void)!getrandom(seed, sizeof(seed), GRND_NONBLOCK);
        hr_cache_expand_key(&cache->hash_key, seed);
    }
    *out = cache;
    return HR_STATUS_OK;
}

void hr_cache_destroy(hr_cache *cache)
{
    if (!cache)
        return;
    hr_cache_folder_close(cache->folder);
    for (int i = 0; i < PARTS; i++) {
        part *p = &cache->part[i];
        for (size_t k = 0; k < p->capacity; k++)
            drop_value(cache, &p->slots[k]);
        hr_free(p->slots);
        pthread_mutex_destroy(&p->lock);
    }
    pthread_mutex_destroy(&cache->writing);
    hr_free(cache);
}

hr_hash hr_cache_key(const hr_cache *cache, const void *data, size_t size)
{
    return cache->kernels->hash(&cache->hash_key, data, size);
}

const hr_hash_key *hr_cache_keys(const hr_cache *cache)
{
    return cache ? &cache->hash_key : NULL;
}

/* Copies the slot of a key. If there is an arena, a value in memory is copied to it. */
static bool look_up(hr_cache *cache, const hr_hash *key, hr_arena *arena, slot *out)
{
    part *p = part_of(cache, key);
    pthread_mutex_lock(&p->lock);
    bool found = false;
    if (p->capacity > 0) {
        *out = *find(p->slots, p->capacity, key);
        found = out->size > 0 && out->file != LOST;
    }
    if (found && arena && out->file == IN_MEMORY) {
        uint8_t *copy = hr_arena_alloc(arena, out->size, NULL);
        if (copy)
            memcpy(copy, out->at.value, out->size);
        out->at.value = copy;
        found = copy != NULL;
    }
    pthread_mutex_unlock(&p->lock);
    return found;
}

/* Marks a value that cannot be read, so that any new value replaces it. */
static void lose(hr_cache *cache, const hr_hash *key, const hr_cache_location *location)
{
    part *p = part_of(cache, key);
    pthread_mutex_lock(&p->lock);
    slot *s = find(p->slots, p->capacity, key);
    if (s->size > 0 && s->file == location->file && s->at.offset == location->offset) {
        s->file = LOST;
        s->size = 1; /* shorter than any other */
    }
    pthread_mutex_unlock(&p->lock);
}

static bool read_file(hr_cache *cache, const hr_hash *key, hr_arena *arena, slot *s)
{
    hr_cache_location location = {.offset = s->at.offset, .size = s->size, .file = s->file};
    s->at.value = hr_arena_alloc(arena, s->size, NULL);
    if (!s->at.value)
        return false;
    if (hr_cache_folder_read(cache->folder, key, &location, s->at.value))
        return true;
    lose(cache, key, &location);
    return false;
}

static bool get(hr_cache *cache, const hr_hash *key, hr_arena *arena, const uint8_t **value,
                size_t *size)
{
    slot s = {.size = 0};
    bool found = look_up(cache, key, arena, &s);
    if (!found && cache->folder && hr_cache_folder_refresh(cache->folder))
        found = look_up(cache, key, arena, &s);
    if (found && s.file != IN_MEMORY)
        found = read_file(cache, key, arena, &s);
    if (!found)
        return false;
    *value = s.at.value;
    *size = s.size;
    return true;
}

bool hr_cache_get(hr_cache *cache, const hr_hash *key, hr_arena *arena, const uint8_t **value,
                  size_t *size)
{
    bool found = get(cache, key, arena, value, size);
    atomic_fetch_add_explicit(found ? &cache->hits : &cache->misses, 1, memory_order_relaxed);
    return found;
}

bool hr_cache_get_file(hr_cache *cache, const hr_hash *key, hr_arena *arena, const uint8_t **value,
                       size_t *size)
{
    bool found = cache->folder && get(cache, key, arena, value, size);
    atomic_fetch_add_explicit(found ? &cache->file_hits : &cache->file_misses, 1,
                              memory_order_relaxed);
    return found;
}

bool hr_cache_has_folder(const hr_cache *cache)
{
    return cache->folder != NULL;
}

/* Whether the value is to be kept: it is not too long, and longer than the one that is there. */
static bool worth_keeping(hr_cache *cache, const hr_hash *key, size_t size)
{
    slot s = {.size = 0};
    return size > 0 && size <= HR_CACHE_VALUE_MAX &&
           (!look_up(cache, key, NULL, &s) || s.size < size);
}

/* Appends the value to the folder, unless another thread has just done so; `made` counts new keys.
 * False if it cannot be written. */
static bool put_in_folder(hr_cache *cache, const hr_hash *key, const void *value, size_t size,
                          atomic_int_least64_t *made)
{
    hr_cache_location location;
    bool there = true;
    if (!cache->folder)
        return false;
    pthread_mutex_lock(&cache->writing);
    if (worth_keeping(cache, key, size)) {
        there = hr_cache_folder_append(cache->folder, key, value, size, &location);
        slot s = there ? slot_at(key, &location) : (slot){.size = 0};
        atomic_fetch_add(made, there && insert(cache, &s));
    }
    pthread_mutex_unlock(&cache->writing);
    return there;
}

void hr_cache_put_file(hr_cache *cache, const hr_hash *key, const void *value, size_t size)
{
    if (worth_keeping(cache, key, size) &&
        !put_in_folder(cache, key, value, size, &cache->files_made))
        atomic_fetch_add(&cache->files_unwritten, 1);
}

void hr_cache_put(hr_cache *cache, const hr_hash *key, const void *value, size_t size)
{
    slot fresh = {.key = *key, .size = (uint32_t)size, .file = IN_MEMORY};
    if (!worth_keeping(cache, key, size) || put_in_folder(cache, key, value, size, &cache->made))
        return;
    atomic_fetch_add(&cache->unwritten, cache->folder != NULL);
    if (!reserve(cache, size + BLOCK_EXTRA)) {
        atomic_fetch_add(&cache->refused, 1);
        return;
    }
    fresh.at.value = hr_calloc(1, size, NULL);
    if (!fresh.at.value) {
        atomic_fetch_sub(&cache->used, size + BLOCK_EXTRA);
        return;
    }
    memcpy(fresh.at.value, value, size);
    atomic_fetch_add(&cache->made, insert(cache, &fresh));
}

void hr_cache_stats_get(hr_cache *cache, hr_cache_stats *out)
{
    *out = (hr_cache_stats){.bytes = (int64_t)atomic_load(&cache->used),
                            .hits = atomic_load(&cache->hits),
                            .misses = atomic_load(&cache->misses),
                            .made = atomic_load(&cache->made),
                            .refused = atomic_load(&cache->refused),
                            .unwritten = atomic_load(&cache->unwritten),
                            .file_hits = atomic_load(&cache->file_hits),
                            .file_misses = atomic_load(&cache->file_misses),
                            .files_made = atomic_load(&cache->files_made),
                            .files_unwritten = atomic_load(&cache->files_unwritten)};
    if (cache->folder)
        out->ignored = hr_cache_folder_ignored(cache->folder);
    for (int i = 0; i < PARTS; i++) {
        part *p = &cache->part[i];
        pthread_mutex_lock(&p->lock);
        out->values += (int64_t)p->count;
        pthread_mutex_unlock(&p->lock);
    }
}

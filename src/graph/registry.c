/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The operators by name. */
#include "graph/value.h"

#include <stdatomic.h>
#include <string.h>

#define SLOTS 4096 /* a power of two, several times the number of names */

/* A hash table with open addressing. A slot holds 1 + (operator << 8 | alias); alias 0 is the name
 * itself. It is filled on first use without a lock: all threads store the same numbers in the same
 * order, so concurrent fills only repeat each other. */
static _Atomic uint32_t slots[SLOTS];
static atomic_bool slots_ready;

static uint32_t hash(const char *text)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (; *text; text++)
        h = (h ^ (uint8_t)*text) * 16777619u;
    return h;
}

static const char *slot_name(uint32_t slot)
{
    const hr_op_def *def = hr_builtin_ops[(slot - 1) >> 8];
    uint32_t alias = (slot - 1) & 255;
    return alias ? def->aliases[alias - 1] : def->name;
}

/* The slot of the name, or the empty slot for it. */
static _Atomic uint32_t *slot_find(const char *name)
{
    for (uint32_t i = hash(name), n = 0;; i++, n++) {
        _Atomic uint32_t *slot = &slots[i % SLOTS];
        uint32_t v = atomic_load(slot);
        if (!v || n == SLOTS || strcmp(slot_name(v), name) == 0)
            return slot;
    }
}

static void slot_fill(const char *name, uint32_t value)
{
    _Atomic uint32_t *slot = slot_find(name);
    if (!atomic_load(slot)) /* the first of two equal names wins */
        atomic_store(slot, value);
}

static void slots_make(void)
{
    /* Names first: an alias never hides an operator. */
    for (uint32_t i = 0; hr_builtin_ops[i]; i++)
        slot_fill(hr_builtin_ops[i]->name, 1 + (i << 8));
    for (uint32_t i = 0; hr_builtin_ops[i]; i++) {
        const char *const *aliases = hr_builtin_ops[i]->aliases;
        for (uint32_t k = 0; aliases && aliases[k] && k < 255; k++)
            slot_fill(aliases[k], 1 + (i << 8 | (k + 1)));
    }
    atomic_store(&slots_ready, true);
}

const hr_op_def *hr_registry_find(const char *name, bool *deprecated)
{
    if (!atomic_load(&slots_ready))
        slots_make();
    uint32_t slot = name ? atomic_load(slot_find(name)) : 0;
    if (slot && strcmp(slot_name(slot), name) != 0) /* the table is full */
        slot = 0;
    if (deprecated)
        *deprecated = slot && ((slot - 1) & 255) != 0;
    return slot ? hr_builtin_ops[(slot - 1) >> 8] : NULL;
}

bool hr_op_is_reader(const hr_op_def *def)
{
    return def->source && def->source->kind == HR_SOURCE_KIND_INDEXED;
}

int32_t hr_registry_count(void)
{
    int32_t n = 0;
    while (hr_builtin_ops[n])
        n++;
    return n;
}

const hr_op_def *hr_registry_get(int32_t i)
{
    return i >= 0 && i < hr_registry_count() ? hr_builtin_ops[i] : NULL;
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The operators by name: a list of sets, the first of which is built in. Sets are added at its end
 * and never change, so that any thread reads the list without a lock. */
#include "graph/graph.h"

#include <stdatomic.h>
#include <string.h>

typedef struct op_set op_set;
struct op_set {
    const hr_op_def *const *ops; /* NULL-terminated */
    const char *owner;           /* the plug-in's name; "Headrace" for the first set */
    op_set *_Atomic next;
};

static op_set built_in = {.ops = hr_builtin_ops, .owner = "Headrace"};

static op_set *next_of(op_set *set)
{
    return atomic_load_explicit(&set->next, memory_order_acquire);
}

static bool has_alias(const hr_op_def *def, const char *name)
{
    for (const char *const *alias = def->aliases; alias && *alias; alias++)
        if (strcmp(*alias, name) == 0)
            return true;
    return false;
}

static const hr_op_def *find(const char *name, bool alias, const op_set **owner)
{
    for (op_set *set = &built_in; set; set = next_of(set)) {
        for (const hr_op_def *const *op = set->ops; *op; op++) {
            if (alias ? has_alias(*op, name) : strcmp((*op)->name, name) == 0) {
                *owner = set;
                return *op;
            }
        }
    }
    return NULL;
}

const hr_op_def *hr_registry_find(const char *name, bool *deprecated)
{
    const op_set *owner;
    const hr_op_def *def = name ? find(name, false, &owner) : NULL;
    bool old = !def && name; /* an alias never hides an operator */
    if (old)
        def = find(name, true, &owner);
    if (deprecated)
        *deprecated = old && def;
    return def;
}

int32_t hr_registry_count(void)
{
    int32_t n = 0;
    for (op_set *set = &built_in; set; set = next_of(set))
        for (const hr_op_def *const *op = set->ops; *op; op++)
            n++;
    return n;
}

const hr_op_def *hr_registry_get(int32_t i)
{
    for (op_set *set = i < 0 ? NULL : &built_in; set; set = next_of(set)) {
        for (const hr_op_def *const *op = set->ops; *op; op++)
            if (i-- == 0)
                return *op;
    }
    return NULL;
}

const char *hr_registry_owner(const hr_op_def *def)
{
    const op_set *owner = NULL;
    (void)find(def->name, false, &owner);
    return owner && owner != &built_in ? owner->owner : NULL;
}

/* ---- adding ---- */

static hr_status name_check(const char *name, hr_error *error)
{
    const op_set *owner;
    if (find(name, false, &owner) || find(name, true, &owner))
        return hr_fail(error, HR_STATUS_VALUE, "operator \"%s\" exists already, in %s", name,
                       owner->owner);
    return HR_STATUS_OK;
}

/* No name or alias of the table exists, nor is one among the first `count` operators of its set. */
static hr_status names_check(const op_set *set, int32_t count, const hr_op_def *def,
                             hr_error *error)
{
    HR_TRY(name_check(def->name, error));
    for (const char *const *alias = def->aliases; alias && *alias; alias++)
        HR_TRY(name_check(*alias, error));
    for (int32_t i = 0; i < count; i++) {
        const hr_op_def *other = set->ops[i];
        bool same = strcmp(other->name, def->name) == 0 || has_alias(other, def->name);
        for (const char *const *alias = def->aliases; alias && *alias; alias++)
            same = same || strcmp(other->name, *alias) == 0 || has_alias(other, *alias);
        if (same)
            return hr_fail(error, HR_STATUS_VALUE, "two operators are called \"%s\"", def->name);
    }
    return HR_STATUS_OK;
}

static hr_status set_check(const op_set *set, hr_error *error)
{
    for (int32_t i = 0; set->ops[i]; i++) {
        HR_TRY(hr_op_def_check(set->ops[i], error));
        HR_TRY(names_check(set, i, set->ops[i], error));
    }
    return HR_STATUS_OK;
}

/* Fields that an older table lacks are zero. */
static hr_status table_widen(hr_op_def *to, const hr_op_def *from, hr_error *error)
{
    if (from->abi != HR_OP_ABI_VERSION || from->struct_size < offsetof(hr_op_def, run_batch))
        return hr_fail(error, HR_STATUS_VALUE, "a table has ABI %u, %d is needed", from->abi,
                       HR_OP_ABI_VERSION);
    if (from->struct_size > sizeof(*to))
        return hr_fail(error, HR_STATUS_VALUE, "a table is of a newer version of Headrace");
    memcpy(to, from, from->struct_size);
    to->struct_size = sizeof(*to);
    return HR_STATUS_OK;
}

/* The set with its tables, in one block of memory. */
static hr_status set_create(op_set **out, const hr_op_def *const *ops, const char *owner,
                            hr_error *error)
{
    size_t count = 0;
    while (ops[count])
        count++;
    size_t each = sizeof(hr_op_def) + sizeof(hr_op_def *);
    op_set *set = hr_calloc(1, sizeof(*set) + sizeof(hr_op_def *) + count * each, error);
    HR_TRY_ALLOC(set);
    hr_op_def *tables = (hr_op_def *)(set + 1);
    const hr_op_def **list = (const hr_op_def **)(tables + count);
    hr_status status = HR_STATUS_OK;
    for (size_t i = 0; i < count && status == HR_STATUS_OK; i++) {
        status = table_widen(&tables[i], ops[i], error);
        list[i] = &tables[i];
    }
    set->ops = list;
    set->owner = owner;
    *out = set;
    if (status != HR_STATUS_OK)
        hr_free(set);
    return status;
}

hr_status hr_registry_add(const hr_op_def *const *ops, const char *owner, hr_error *error)
{
    op_set *set, *last = &built_in, *none = NULL;
    HR_TRY(set_create(&set, ops, owner, error));
    hr_status status = set_check(set, error);
    while (status == HR_STATUS_OK && !atomic_compare_exchange_strong(&last->next, &none, set)) {
        last = none; /* somebody was faster, or the list is longer */
        none = NULL;
        status = set_check(set, error);
    }
    if (status != HR_STATUS_OK)
        hr_free(set);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Libraries of operators that are loaded at run time. */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "core/core.h"
#include "graph/graph.h"
#include "image/program.h"
#include "io/storage.h"

#define HR_HOST_FUNCTION(type, name, parameters, attributes) name,
static const hr_host host = {
    HR_OP_ABI_VERSION,
    sizeof(hr_host),
#include "headrace/host.inc"
};
#undef HR_HOST_FUNCTION

static hr_status plugin_check(const hr_plugin_def *plugin, hr_error *error)
{
    if (!plugin)
        return hr_fail(error, HR_STATUS_ERROR,
                       "it is not a plug-in of Headrace: it does not export hr_plugin");
    if (plugin->abi != HR_OP_ABI_VERSION)
        return hr_fail(error, HR_STATUS_ERROR,
                       "it was compiled for operators with ABI %u; this version of Headrace (%s) "
                       "has ABI %d: compile it again",
                       plugin->abi, HR_VERSION, HR_OP_ABI_VERSION);
    if (plugin->host_size > sizeof(hr_host) || plugin->struct_size > sizeof(hr_plugin_def))
        return hr_fail(error, HR_STATUS_ERROR,
                       "it was compiled for a newer version of Headrace than this one (%s)",
                       HR_VERSION);
    if (!plugin->name || !plugin->ops || !plugin->ops[0] || !plugin->connect)
        return hr_fail(error, HR_STATUS_ERROR, "it contains no operators");
    return HR_STATUS_OK;
}

/* Loading is one at a time: connecting writes the plug-in's function pointers, and must not happen
 * again once its operators can be called. */
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

/* Whether the operators of this very library are there. */
static bool loaded(const hr_plugin_def *plugin)
{
    const hr_op_def *def = hr_registry_find(plugin->ops[0]->name, NULL);
    return def && hr_registry_owner(def) == plugin->name;
}

static hr_status load(void *library, hr_error *error)
{
    hr_plugin_fn entry = NULL;
    void *symbol = dlsym(library, "hr_plugin");
    memcpy(&entry, &symbol, sizeof(entry));
    const hr_plugin_def *plugin = entry ? entry() : NULL;
    hr_status status = plugin_check(plugin, error);
    if (status != HR_STATUS_OK)
        return status;
    pthread_mutex_lock(&loading);
    bool first = !loaded(plugin);
    if (first) {
        plugin->connect(&host);
        status = hr_registry_add(plugin->ops, plugin->name, error);
    }
    pthread_mutex_unlock(&loading);
    if (status == HR_STATUS_OK && !first)
        dlclose(library); /* opened twice; the first stays */
    return status;
}

hr_status hr_plugin_load(const char *path, bool global_symbols, hr_error *error)
{
    if (!path || !path[0])
        return hr_fail(error, HR_STATUS_VALUE, "the plug-in has no path");
    /* All symbols now: a missing one is an error here and not in the middle of a batch. */
    void *library = dlopen(path, RTLD_NOW | (global_symbols ? RTLD_GLOBAL : RTLD_LOCAL));
    if (!library)
        return hr_fail(error, HR_STATUS_ERROR, "Failed to load library: %s", dlerror());
    hr_status status = load(library, error);
    if (status == HR_STATUS_OK)
        return status;
    dlclose(library);
    (void)hr_error_prefix(error, "Failed to load library: %s", path);
    if (error && status == HR_STATUS_VALUE) /* of a table */
        error->status = HR_STATUS_ERROR;
    return status == HR_STATUS_VALUE ? HR_STATUS_ERROR : status;
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A library of operators that is loaded at run time (hr_plugin_load, plugin_manager.load_library).
 * One of its source files includes this header and lists the tables:
 *
 *     extern const hr_op_def hr_op_above, hr_op_below;
 *     HR_PLUGIN("thresholds", &hr_op_above, &hr_op_below)
 *
 * The others include operator.h. The library is not linked against anything of Headrace. */
#ifndef HEADRACE_PLUGIN_H
#define HEADRACE_PLUGIN_H

#include "headrace/operator.h"

#if defined(HR_IN_TREE)
#error "operators in the tree need no HR_PLUGIN"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define HR_HOST_FUNCTION(type, name, parameters, attributes) type(*name) parameters;
#include "headrace/host.inc"
#undef HR_HOST_FUNCTION

/* Called before anything else of the plug-in. */
static inline void hr__plugin_connect(const hr_host *host)
{
#define HR_HOST_FUNCTION(type, name, parameters, attributes) name = host->name;
#include "headrace/host.inc"
#undef HR_HOST_FUNCTION
}

HR_API const hr_plugin_def *hr_plugin(void);

/* HR_PLUGIN(name, &table, ...) */
#define HR_PLUGIN(plugin_name, ...)                                                                \
    const hr_plugin_def *hr_plugin(void)                                                           \
    {                                                                                              \
        static const hr_op_def *const ops[] = {__VA_ARGS__, NULL};                                 \
        static const hr_plugin_def plugin = {                                                      \
            HR_OP_ABI_VERSION, sizeof(hr_plugin_def), sizeof(hr_host), plugin_name, ops,           \
            hr__plugin_connect};                                                                   \
        return &plugin;                                                                            \
    }

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Which CPU a worker runs on. A mask ("3,5,6,10": worker i on the i-th CPU) rules; workers beyond
 * it, and all workers without one, are spread over the cores that the process may use, by hwloc
 * where that is installed. */
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#ifdef HR_HAVE_HWLOC
#include <hwloc.h>
#endif

#include "exec/exec.h"

/* Puts the mask's numbers in front of `cpu`. */
static hr_status apply_mask(const char *mask, int *cpu, int32_t count, hr_error *error)
{
    const char *at = mask;
    for (int32_t i = 0; *at; i++) {
        char *end;
        long number = strtol(at, &end, 10);
        if (end == at || number < 0 || number >= CPU_SETSIZE || (*end && *end != ','))
            return hr_fail(error, HR_STATUS_VALUE,
                           "the affinity mask is '%.200s': allowed are numbers of CPUs, 0 .. %d, "
                           "with commas between them",
                           mask, CPU_SETSIZE - 1);
        if (i < count)
            cpu[i] = (int)number;
        at = *end ? end + 1 : end;
    }
    return HR_STATUS_OK;
}

#ifdef HR_HAVE_HWLOC
typedef struct hwloc_api {
    int (*init)(hwloc_topology_t *);
    int (*load)(hwloc_topology_t);
    void (*destroy)(hwloc_topology_t);
    int (*by_type)(hwloc_topology_t, hwloc_obj_type_t);
    hwloc_obj_t (*object)(hwloc_topology_t, int, unsigned);
    unsigned (*count)(hwloc_topology_t, int);
    int (*first)(hwloc_const_bitmap_t);
} hwloc_api;

static bool load_hwloc(hwloc_api *api)
{
    void *lib = dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        return false;
    /* POSIX lets object pointers from dlsym be functions; C wants it said this way. */
    *(void **)&api->init = dlsym(lib, "hwloc_topology_init");
    *(void **)&api->load = dlsym(lib, "hwloc_topology_load");
    *(void **)&api->destroy = dlsym(lib, "hwloc_topology_destroy");
    *(void **)&api->by_type = dlsym(lib, "hwloc_get_type_depth");
    *(void **)&api->object = dlsym(lib, "hwloc_get_obj_by_depth");
    *(void **)&api->count = dlsym(lib, "hwloc_get_nbobjs_by_depth");
    *(void **)&api->first = dlsym(lib, "hwloc_bitmap_first");
    return api->init && api->load && api->destroy && api->by_type && api->object && api->count &&
           api->first;
}

/* First logical CPU of the i-th core: two workers share a core only when all have one. */
static void core_cpus(int *cpu, int32_t count)
{
    hwloc_api api;
    hwloc_topology_t topology;
    if (!load_hwloc(&api) || api.init(&topology) != 0)
        return;
    if (api.load(topology) == 0) {
        int depth = api.by_type(topology, HWLOC_OBJ_CORE);
        unsigned cores = depth >= 0 ? api.count(topology, depth) : 0;
        for (int32_t i = 0; i < count && cores > 0; i++)
            cpu[i] = api.first(api.object(topology, depth, (unsigned)i % cores)->cpuset);
    }
    api.destroy(topology);
}
#else
static void core_cpus(int *cpu, int32_t count)
{
    (void)cpu;
    (void)count;
}
#endif

/* The i-th CPU that the process may use, going round. */
static int allowed_cpu(int32_t i)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) == 0)
        return -1;
    int32_t left = i % CPU_COUNT(&set);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set) && left-- == 0)
            return cpu;
    return -1;
}

hr_status hr__affinity_choose(int *cpu, int32_t count, hr_error *error)
{
    const char *mask = getenv("HEADRACE_AFFINITY_MASK");
    mask = mask && mask[0] ? mask : getenv("DALI_AFFINITY_MASK");
    for (int32_t i = 0; i < count; i++)
        cpu[i] = allowed_cpu(i);
    core_cpus(cpu, count);
    return mask ? apply_mask(mask, cpu, count, error) : HR_STATUS_OK;
}

void hr__affinity_pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (cpu < 0)
        return;
    CPU_SET(cpu, &set);
    /* A CPU outside of what the process may use is refused; the worker then floats as before. */
    (void)pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

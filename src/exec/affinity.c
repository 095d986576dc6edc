/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Which CPU a worker runs on. With a mask ("3,5,6,10"), worker i runs on the i-th CPU of the mask.
 * Workers beyond the mask, or all workers without one, are spread over the cores that the process
 * may use; if the pipeline uses a GPU, over the cores near it. hwloc finds the cores and NVML those
 * near the GPU; both libraries are optional and opened at run time. */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#ifdef HR_HAVE_HWLOC
#include <hwloc.h>
#endif

#include "exec/affinity.h"

/* Overwrites the first elements of `cpu` with the mask's numbers. */
static hr_status apply_mask(const char *mask, int *cpu, int32_t count, hr_error *error)
{
    const char *at = mask;
    for (int32_t i = 0; *at; i++) {
        char *end;
        long number = strtol(at, &end, 10);
        if (end == at || number < 0 || number >= CPU_SETSIZE || (*end && *end != ','))
            return hr_fail(error, HR_STATUS_VALUE,
                           "the affinity mask is '%.200s': allowed are numbers of CPUs, 0 .. %d, "
                           "separated by commas",
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
    /* POSIX allows function pointers from dlsym; ISO C has no direct cast. */
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

/* Reduces `set` to one CPU per core. */
static void one_a_core(cpu_set_t *set)
{
    hwloc_api api;
    hwloc_topology_t topology;
    cpu_set_t first;
    CPU_ZERO(&first);
    if (!load_hwloc(&api) || api.init(&topology) != 0)
        return;
    if (api.load(topology) == 0) {
        int depth = api.by_type(topology, HWLOC_OBJ_CORE);
        unsigned cores = depth >= 0 ? api.count(topology, depth) : 0;
        for (unsigned i = 0; i < cores; i++) {
            int cpu = api.first(api.object(topology, depth, i)->cpuset);
            if (cpu >= 0 && cpu < CPU_SETSIZE)
                CPU_SET(cpu, &first);
        }
    }
    api.destroy(topology);
    CPU_AND(&first, &first, set);
    if (CPU_COUNT(&first) > 0)
        *set = first;
}
#else
static void one_a_core(cpu_set_t *set)
{
    (void)set;
}
#endif

/* The functions of NVML used here. A device is an opaque pointer; 0 means success. */
typedef struct nvml_api {
    int (*init)(void);
    int (*by_pci)(const char *, void **);
    int (*affinity)(void *, unsigned, unsigned long *);
    int (*shutdown)(void);
} nvml_api;

static bool load_nvml(nvml_api *api)
{
    void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        return false;
    *(void **)&api->init = dlsym(lib, "nvmlInit_v2");
    *(void **)&api->by_pci = dlsym(lib, "nvmlDeviceGetHandleByPciBusId_v2");
    *(void **)&api->affinity = dlsym(lib, "nvmlDeviceGetCpuAffinity");
    *(void **)&api->shutdown = dlsym(lib, "nvmlShutdown");
    return api->init && api->by_pci && api->affinity && api->shutdown;
}

/* Reduces `set` to the CPUs near the GPU, if it contains any of them. */
static void near_gpu(const char *pci, cpu_set_t *set)
{
    enum { BITS = 8 * sizeof(unsigned long), WORDS = CPU_SETSIZE / BITS };
    nvml_api api;
    void *device;
    unsigned long words[WORDS] = {0};
    cpu_set_t near;
    CPU_ZERO(&near);
    if (!load_nvml(&api) || api.init() != 0)
        return;
    if (api.by_pci(pci, &device) == 0 && api.affinity(device, WORDS, words) == 0)
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
            if (words[cpu / BITS] >> cpu % BITS & 1)
                CPU_SET(cpu, &near);
    api.shutdown();
    CPU_AND(&near, &near, set);
    if (CPU_COUNT(&near) > 0)
        *set = near;
}

int32_t hr__cpu_count(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

hr_status hr__affinity_choose(const char *pci, int *cpu, int32_t count, hr_error *error)
{
    const char *mask = getenv("HEADRACE_AFFINITY_MASK");
    mask = mask && mask[0] ? mask : getenv("DALI_AFFINITY_MASK");
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        CPU_ZERO(&set);
    if (pci)
        near_gpu(pci, &set);
    one_a_core(&set);
    for (int32_t i = 0, at = -1; i < count; i++) {
        cpu[i] = -1;
        for (int tries = 0; tries < CPU_SETSIZE && cpu[i] < 0; tries++) {
            at = (at + 1) % CPU_SETSIZE;
            cpu[i] = CPU_ISSET(at, &set) ? at : -1;
        }
    }
    return mask ? apply_mask(mask, cpu, count, error) : HR_STATUS_OK;
}

void hr__affinity_pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (cpu < 0)
        return;
    CPU_SET(cpu, &set);
    /* The kernel refuses a CPU that the process may not use; the worker then stays unpinned. */
    (void)pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Describes this machine and this build as JSON, from which Python makes advice. */
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "codecs/audio/coded.h"
#include "codecs/codec.h"
#include "codecs/video/frames.h"
#include "device/device.h"
#include "graph/graph.h"
#include "remote/net.h"
#include "io/storage.h"
#include "kernels/kernels.h"

/* First line of a small system file; "" if the file does not exist. */
static const char *first_line(const char *path, char *line, int size)
{
    FILE *f = fopen(path, "re");
    line[0] = 0;
    if (f && !fgets(line, size, f))
        line[0] = 0;
    if (f)
        fclose(f);
    line[strcspn(line, "\n")] = 0;
    return line;
}

static void append_quoted(hr_text *t, const char *key, const char *value)
{
    hr_text_append(t, ", \"%s\": ", key);
    hr_text_append_quoted(t, value);
}

static void append_cpu(hr_text *t)
{
    cpu_set_t set;
    char line[256];
    int allowed = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
    hr_text_append(t, "\"cpus_online\": %ld, \"cpus_allowed\": %d", sysconf(_SC_NPROCESSORS_ONLN),
                   allowed);
    append_quoted(t, "cpu_level", hr_kernels_get(HR_CPU_LEVEL_AUTO)->name);
    append_quoted(t, "cgroup_cpu_max", first_line("/sys/fs/cgroup/cpu.max", line, sizeof(line)));
}

static void append_memory(hr_text *t)
{
    char line[256];
    struct rlimit files;
    hr_text_append(t, ", \"memory_bytes\": %lld",
                   (long long)sysconf(_SC_PHYS_PAGES) * (long long)sysconf(_SC_PAGESIZE));
    append_quoted(t, "cgroup_memory_max",
                  first_line("/sys/fs/cgroup/memory.max", line, sizeof(line)));
    append_quoted(t, "transparent_hugepages",
                  first_line("/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof(line)));
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        hr_text_append(t, ", \"open_files_limit\": %llu", (unsigned long long)files.rlim_cur);
}

static void append_codec(hr_text *t, const char *name, const char *library, const char *version)
{
    hr_text_append(t, "{\"name\": \"%s\"", name);
    append_quoted(t, "library", library ? library : "");
    append_quoted(t, "version", version ? version : "");
    hr_text_append(t, "}");
}

static void append_codecs(hr_text *t)
{
    hr_text_append(t, ", \"codecs\": [");
    for (int i = 0; hr_codecs[i]; i++) {
        append_codec(t, hr_codecs[i]->name, hr_codecs[i]->library,
                     hr_codecs[i]->version ? hr_codecs[i]->version() : "");
        hr_text_append(t, ", ");
    }
    append_codec(t, "audio", "", hr_audio_coded_version());
    hr_text_append(t, ", ");
    append_codec(t, "video", "", hr_video_module_version());
    hr_text_append(t, "]");
}

/* Whether a library that is opened on demand can be opened. */
static bool has_library(const char *name)
{
    void *lib = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (lib)
        dlclose(lib);
    return lib != NULL;
}

hr_status hr_doctor_json(char **json, hr_error *error)
{
    hr_text t = {0};
    const hr_cuda_module_def *module;
    hr_text_append(&t, "{");
    append_cpu(&t);
    append_memory(&t);
    append_codecs(&t);
    append_quoted(&t, "version", HR_VERSION);
    append_quoted(&t, "compiler", __VERSION__);
    const char *curl = hr_net_version(NULL);
    append_quoted(&t, "libcurl", curl ? curl : "");
    const bool gpu_support = hr_module_open(&module, NULL) == HR_STATUS_OK;
    int32_t devices = 0;
    if (gpu_support && module->device_count(&devices, NULL) != HR_STATUS_OK)
        devices = 0;
    hr_text_append(&t,
                   ", \"operators\": %d, \"hwloc\": %s, \"cuda_driver\": %s, \"gpu_support\": %s, "
                   "\"cuda_devices\": %d}",
                   hr_registry_count(), has_library("libhwloc.so.15") ? "true" : "false",
                   has_library("libcuda.so.1") ? "true" : "false", gpu_support ? "true" : "false",
                   (int)devices);
    return hr_text_take(&t, json, NULL, error);
}

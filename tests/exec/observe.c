/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What can be observed of a run: statistics, trace, affinity, and memory over a long time. */
#include <sched.h>

#include "exec/fixture.h"
#include "test.h"

#define FILES 23

static hr_json *parse(char *text)
{
    hr_json *json = NULL;
    hr_error error = {0};
    if (hr_json_parse(&json, text, strlen(text), &error) != HR_STATUS_OK)
        printf("%s: %s\n", text, error.message);
    return json;
}

static hr_status run_some(hr_pipeline *p, int iterations, hr_error *error)
{
    for (int i = 0; i < iterations; i++) {
        hr_outputs *out;
        HR_TRY(hr_pipeline_run(p, -1, &out, error));
        hr_outputs_unref(out);
    }
    return HR_STATUS_OK;
}

TEST(statistics_count_what_happened)
{
    fixture f;
    hr_error error = {0};
    hr_pipeline *p;
    char *text;
    fixture_graph o = {.images = true};
    hr_pipeline_options options = fixture_options(4, 2);
    fixture_make(&f, FILES);
    CHECK_OK(fixture_pipeline(&f, &o, &options, &p, &error), error);
    CHECK_OK(run_some(p, 10, &error), error);
    CHECK_OK(hr_pipeline_stats(p, &text, &error), error);
    hr_json *json = parse(text);
    CHECK(json && hr_json_get(json, "iterations")->i == 10 &&
          hr_json_get(json, "samples")->i == 40);
    CHECK(hr_json_get(json, "threads")->i == 2 && hr_json_get(json, "files_read")->i >= 40);
    CHECK(hr_json_get(json, "bytes_read")->i > 40 * 960 &&
          hr_json_get(json, "workers_busy_s")->f > 0);
    const hr_json *operators = hr_json_get(json, "operators");
    bool decoded = false;
    for (int i = 0; i < operators->count; i++)
        if (strcmp(hr_json_get(&operators->items[i], "operator")->s,
                   "decoders.image_random_crop") == 0)
            decoded = hr_json_get(&operators->items[i], "samples")->i >= 40 &&
                      hr_json_get(&operators->items[i], "seconds")->f > 0;
    CHECK(decoded);
    hr_json_destroy(json);
    hr_string_free(text);
    CHECK_OK(hr_pipeline_describe(p, &text, &error), error);
    CHECK(strstr(text, "crop_mirror_normalize") != NULL);
    hr_string_free(text);
    hr_pipeline_destroy(p);
    fixture_remove(&f);
}

/* With a sanitizer: results of earlier allocations must not leak. */
TEST(statistics_survive_failed_allocations)
{
    hr_error error = {0};
    hr_pipeline *p;
    hr_graph *graph;
    int32_t source;
    char *text;
    int failures = 0;
    hr_pipeline_options options = fixture_options(4, 1);
    hr_node_desc desc = {.op = "external_source"};
    CHECK_OK(hr_graph_create(&graph, &error), error);
    CHECK_OK(hr_graph_add_node(graph, &desc, &source, &error), error);
    hr_edge output = {source, 0};
    CHECK_OK(hr_graph_set_outputs(graph, &output, 1, &error), error);
    CHECK_OK(hr_pipeline_create(&p, graph, &options, &error), error); /* never fed: it is idle */
    hr_status (*const ask[])(hr_pipeline *, char **, hr_error *) = {hr_pipeline_stats,
                                                                    hr_pipeline_explain};
    for (int k = 0; k < 2; k++) {
        hr_status status = HR_STATUS_NO_MEMORY;
        for (int64_t n = 0; n < 100 && status != HR_STATUS_OK; n++) {
            hr_alloc_fail_after(n);
            status = ask[k](p, &text, &error);
            hr_alloc_fail_after(-1);
            failures += status == HR_STATUS_NO_MEMORY;
        }
        CHECK_OK(status, error);
        hr_string_free(text);
    }
    CHECK(failures >= 6);
    hr_pipeline_destroy(p);
    hr_graph_destroy(graph);
}

TEST(the_trace_is_json_with_spans)
{
    fixture f;
    hr_error error = {0};
    hr_pipeline *p;
    char path[96];
    static char text[1 << 20];
    fixture_graph o = {.images = true};
    hr_pipeline_options options = fixture_options(4, 2);
    fixture_make(&f, FILES);
    sprintf(path, "%s/trace.json", f.dir);
    options.trace = path;
    CHECK_OK(fixture_pipeline(&f, &o, &options, &p, &error), error);
    CHECK_OK(run_some(p, 5, &error), error);
    hr_pipeline_destroy(p);
    FILE *in = fopen(path, "rb");
    CHECK(in);
    text[fread(text, 1, sizeof(text) - 1, in)] = 0;
    fclose(in);
    hr_json *json = parse(text);
    const hr_json *events = json ? hr_json_get(json, "traceEvents") : NULL;
    CHECK(events && events->count >= 40); /* a coin flip and a chain for each of 20 samples */
    CHECK(!strcmp(hr_json_get(&events->items[0], "name")->s, "thread_name") &&
          hr_json_get(&events->items[1], "dur")->f >= 0 &&
          hr_json_get(&events->items[1], "name")->s[0]);
    hr_json_destroy(json);
    options.trace = "/nonexistent/folder/trace.json";
    CHECK(fixture_pipeline(&f, &o, &options, &p, &error) == HR_STATUS_IO);
    fixture_remove(&f);
}

TEST(the_doctor_speaks_json)
{
    hr_error error = {0};
    char *text;
    CHECK_OK(hr_doctor_json(&text, &error), error);
    hr_json *json = parse(text);
    CHECK(json && hr_json_get(json, "codecs")->count >= 5 &&
          hr_json_get(json, "cpus_online")->i > 0);
    hr_json_destroy(json);
    hr_string_free(text);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif

static long resident_pages(void)
{
    long total = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%ld %ld", &total, &resident) != 2)
        resident = -1;
    if (f)
        fclose(f);
    return resident;
}

TEST(ten_thousand_iterations_grow_nothing)
{
#ifdef SANITIZED
    const int rounds = 200; /* a sanitizer's memory grows by itself, so it only checks that the run
                               works */
#else
    const int rounds = 10000;
#endif
    fixture f;
    hr_error error = {0};
    hr_pipeline *p;
    fixture_graph o = {.images = true, .random_shuffle = true};
    hr_pipeline_options options = fixture_options(4, 2);
    fixture_make(&f, FILES);
    CHECK_OK(fixture_pipeline(&f, &o, &options, &p, &error), error);
    CHECK_OK(run_some(p, rounds / 10, &error), error);
    long before = resident_pages();
    CHECK_OK(run_some(p, rounds - rounds / 10, &error), error);
    long after = resident_pages();
    printf("resident pages after %d and %d iterations: %ld, %ld\n", rounds / 10, rounds, before,
           after);
    CHECK(rounds < 10000 ||
          after < before + 256); /* a leak of 120 bytes per iteration would show */
    hr_pipeline_destroy(p);
    fixture_remove(&f);
}

static int pinned_with(const fixture *f, const char *mask, bool set_affinity, int cpu)
{
    hr_error error = {0};
    hr_pipeline *p;
    fixture_graph o = {.images = true};
    hr_pipeline_options options = fixture_options(4, 2);
    options.set_affinity = set_affinity;
    setenv("HEADRACE_AFFINITY_MASK", mask, 1);
    hr_status status = fixture_pipeline(f, &o, &options, &p, &error);
    if (status == HR_STATUS_OK)
        status = run_some(p, 3, &error);
    unsetenv("HEADRACE_AFFINITY_MASK");
    if (status != HR_STATUS_OK)
        return -1;
    int pauses = 0, count = pinned_threads(cpu); /* workers pin themselves before they work */
    while (set_affinity && count < 2 && waiting_pause(&pauses))
        count = pinned_threads(cpu);
    hr_pipeline_destroy(p);
    return count;
}

/* If this thread may run on only one CPU, all of its children look pinned. */
static bool use_several_cpus(cpu_set_t *set)
{
    cpu_set_t all;
    memset(&all, 0xff, sizeof(all));
    if (sched_getaffinity(0, sizeof(*set), set) != 0)
        return false;
    if (CPU_COUNT(set) == 1 && sched_setaffinity(0, sizeof(all), &all) == 0)
        sched_getaffinity(0, sizeof(*set), set);
    return CPU_COUNT(set) > 1;
}

TEST(affinity_masks_are_obeyed)
{
    fixture f;
    char mask[32];
    cpu_set_t set;
    int cpu = 0;
    fixture_make(&f, FILES);
    bool several = use_several_cpus(&set);
    while (!CPU_ISSET(cpu, &set))
        cpu++;
    sprintf(mask, "%d,%d", cpu, cpu);
    int pinned = pinned_with(&f, mask, true, cpu), free_to_move = pinned_with(&f, mask, false, cpu);
    if (several)
        CHECK(pinned == 2 && free_to_move == 0);
    else
        printf("one CPU: cannot tell pinned threads from others\n");
    CHECK(pinned_with(&f, "99999,x", true, cpu) == -1);
    fixture_remove(&f);
}

TEST_MAIN

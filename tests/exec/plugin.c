/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Operators of plug-ins: loaded whole or not at all, and run like built-in ones on both devices. */
#include <pthread.h>

#include "exec/fixture.h"
#include "graph/graph.h"
#include "test.h"

#define SAMPLE(variant) HR_SAMPLES "libsample_" variant ".so"
#define BATCH 3
#define SIZE 5

static hr_error error;

static bool refused(const char *path, const char *message)
{
    int32_t before = hr_registry_count();
    error = (hr_error){0};
    hr_status status = hr_plugin_load(path, false, &error);
    if (status == HR_STATUS_ERROR && strstr(error.message, message) &&
        strstr(error.message, "Failed to load library: ") && strstr(error.message, path) &&
        hr_registry_count() == before && !hr_registry_find("sample.twice", NULL))
        return true;
    printf("%s: %s: %s\n", path, hr_status_name(status), error.message);
    return false;
}

TEST(what_cannot_be_loaded_changes_nothing)
{
    CHECK(refused(SAMPLE("ABI"), "it was compiled for operators with ABI 99"));
    CHECK(refused(SAMPLE("NEWER"), "it was compiled for a newer version of Headrace"));
    CHECK(refused(SAMPLE("TAKEN"), "operator \"flip\" exists already, in Headrace"));
    CHECK(refused(SAMPLE("SAME"), "two operators are called \"flip_old\""));
    CHECK(refused(SAMPLE("MISSING"), "undefined symbol: hr_no_such_function"));
    CHECK(refused(SAMPLE("BAD_TABLE"), "operator sample.other: it has no function that runs it"));
    CHECK(refused(HR_FAKE_NVML, "it does not export hr_plugin"));
    CHECK(refused(SAMPLE("NO_FILE"), "No such file"));
    CHECK(hr_plugin_load(NULL, false, &error) == HR_STATUS_VALUE);
    CHECK(hr_plugin_load("", false, NULL) == HR_STATUS_VALUE);
}

static hr_status add(hr_graph *g, const char *op, const char *device, hr_edge in, hr_edge *out)
{
    hr_arg_value times = {"times", {.kind = HR_VALUE_INT, .u.i = 3}};
    hr_node_desc desc = {.op = op,
                         .device = device,
                         .inputs = &in,
                         .input_count = 1,
                         .args = &times,
                         .arg_count = strstr(op, "sample") ? 1 : 0};
    *out = (hr_edge){0, 0};
    return hr_graph_add_node(g, &desc, &out->node, &error);
}

/* Bytes times 3, by `op` on the CPU and on the device, and fed with what `op` gave before. */
static hr_status open_pipeline(const char *op, hr_pipeline **out)
{
    hr_graph *g;
    hr_edge fed = {0, 0}, there = {0, 0}, back = {0, 0}, here = {0, 0};
    HR_TRY(hr_graph_create(&g, &error));
    hr_node_desc source = {.op = "external_source"};
    hr_status status = hr_graph_add_node(g, &source, &fed.node, &error);
    if (status == HR_STATUS_OK)
        status = add(g, op, "cpu", fed, &here);
    if (status == HR_STATUS_OK)
        status = add(g, "_to_gpu", "gpu", fed, &there);
    if (status == HR_STATUS_OK)
        status = add(g, op, "gpu", there, &there);
    if (status == HR_STATUS_OK)
        status = add(g, "_to_cpu", "cpu", there, &back);
    hr_edge outputs[] = {here, back};
    if (status == HR_STATUS_OK)
        status = hr_graph_set_outputs(g, outputs, 2, &error);
    hr_pipeline_options options = fixture_options(BATCH, 2);
    options.device_id = 0;
    if (status == HR_STATUS_OK)
        status = hr_pipeline_create(out, g, &options, &error);
    hr_graph_destroy(g);
    return status;
}

static bool outputs_right(const hr_outputs *o, const uint8_t (*data)[SIZE])
{
    bool right = true;
    for (int32_t k = 0; k < 2; k++) {
        for (int32_t i = 0; i < BATCH; i++) {
            const hr_tensor *t = hr_batch_tensor(hr_outputs_batch(o, k), i);
            for (int32_t b = 0; t && b < SIZE; b++)
                right = right && ((const uint8_t *)t->data)[b] == (uint8_t)(3 * data[i][b]);
            right = right && t && t->shape.extent[0] == SIZE;
        }
    }
    return right;
}

TEST(loaded_operators_run_on_both_devices)
{
    static const uint8_t data[BATCH][SIZE] = {
        {1, 2, 3, 4, 5}, {6, 7, 8, 9, 100}, {200, 0, 1, 2, 3}};
    hr_pipeline *p = NULL;
    hr_outputs *o = NULL;
    hr_batch *batch = NULL;
    bool deprecated = false;
    setenv("HEADRACE_CUDA_MODULE", HR_FAKE_CUDA, 1);
    int32_t before = hr_registry_count();
    CHECK_OK(hr_plugin_load(SAMPLE("GOOD"), false, &error), error);
    CHECK(hr_registry_count() == before + 2);
    CHECK_OK(hr_plugin_load(SAMPLE("GOOD"), true, &error), error); /* no effect */
    CHECK(hr_registry_count() == before + 2);
    CHECK(hr_registry_find("sample.other", NULL) == hr_registry_get(before + 1));
    CHECK(hr_registry_find("flip_old", &deprecated) && deprecated);
    CHECK(strcmp(hr_registry_owner(hr_registry_find("sample_twice", NULL)), "sample") == 0);
    CHECK(!hr_registry_owner(hr_registry_find("flip", NULL)));
    CHECK_OK(open_pipeline("sample.twice", &p), error);
    hr_tensor tensors[BATCH];
    for (int32_t i = 0; i < BATCH; i++) {
        hr_tensor_describe(&tensors[i], HR_DTYPE_UINT8, (hr_shape){1, {SIZE}}, NULL);
        tensors[i].data = (void *)data[i];
    }
    CHECK_OK(hr_batch_create(&batch, tensors, BATCH, false, &error), error);
    CHECK_OK(hr_pipeline_feed(p, 0, &batch, 1, &error), error);
    CHECK_OK(hr_pipeline_run(p, -1, &o, &error), error);
    CHECK(outputs_right(o, data));
    hr_outputs_unref(o);
    hr_batch_unref(batch);
    hr_pipeline_destroy(p);
    /* without a function for the device */
    CHECK(open_pipeline("sample.other", &p) == HR_STATUS_NOT_IMPLEMENTED);
    CHECK(strstr(error.message, "it has no GPU version"));
}

static void *load_old(void *result)
{
    *(hr_status *)result = hr_plugin_load(SAMPLE("OLD"), false, NULL);
    return NULL;
}

TEST(fields_that_an_older_table_lacks_are_zero)
{
    pthread_t threads[8];
    hr_status results[8];
    int32_t before = hr_registry_count();
    for (int i = 0; i < 8; i++)
        CHECK(pthread_create(&threads[i], NULL, load_old, &results[i]) == 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 8; i++)
        CHECK(results[i] == HR_STATUS_OK);
    CHECK(hr_registry_count() == before + 2);
    const hr_op_def *old = hr_registry_find("sample.old", NULL);
    CHECK(old && old->struct_size == sizeof(hr_op_def) && old->run_cpu && old->infer);
    CHECK(!old->run_batch && !old->source && !old->run_cuda);
    hr_op_ports all = hr_op_ports_of(old),
                few = hr_op_ports_of(hr_registry_find("sample.young", NULL));
    CHECK(all.in_min == 1 && all.in_max == 1 && all.out_count == 1);
    CHECK(few.in_min == 1 && few.in_max == 1 && few.out_count == 1);
    CHECK(strcmp(all.out[0].name, "output") == 0 && strcmp(few.out[0].name, "output") == 0);
}

TEST_MAIN

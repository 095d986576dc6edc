/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Batches in device memory that are fed while their stream still writes them. */
#include <dlfcn.h>

#include "../gpu/fake_module.h"
#include "exec/fixture.h"
#include "test.h"

enum { BATCH = 3, SIDE = 8, BYTES = SIDE * SIDE * 3, WRITES = 30, ROUNDS = 12 };

static fake_counts_fn counts_of;

static const hr_cuda_module_def *fake_open(void)
{
    setenv("HEADRACE_CUDA_MODULE", HR_FAKE_CUDA, 1);
    void *lib = dlopen(HR_FAKE_CUDA, RTLD_NOW | RTLD_NODELETE);
    void *symbols[2] = {lib ? dlsym(lib, "hr_fake_counts") : NULL,
                        lib ? dlsym(lib, "hr_cuda_module") : NULL};
    hr_cuda_module_fn entry;
    memcpy(&counts_of, &symbols[0], sizeof(counts_of));
    memcpy(&entry, &symbols[1], sizeof(entry));
    return entry();
}

static long long alive(void)
{
    fake_counts c;
    counts_of(&c);
    return c.allocs + c.pinned + c.streams + c.events + c.bytes + 1000000 * (c.broken + c.misused);
}

typedef struct user { /* fills an image on a stream, slowly: only the last write is right */
    const hr_cuda_module_def *module;
    void *stream, *device;
    unsigned char *pinned; /* WRITES images */
} user;

static hr_status user_open(user *u, hr_error *error)
{
    u->module = fake_open();
    HR_TRY(u->module->stream_create(0, &u->stream, error));
    HR_TRY(u->module->host_alloc(0, WRITES * BYTES, (void **)&u->pinned, error));
    for (int i = 0; i < WRITES * BYTES; i++)
        u->pinned[i] = (unsigned char)(i / BYTES * 7 + i % BYTES);
    return u->module->alloc(0, u->stream, BATCH * BYTES, &u->device, error);
}

static void user_close(user *u)
{
    u->module->free(0, u->stream, u->device);
    u->module->stream_destroy(0, u->stream);
    u->module->host_free(u->pinned);
}

/* The final image of sample `s`. */
static int last_write(int round, int s)
{
    return (round + s) % (WRITES - 10) + 10;
}

static hr_status user_feed(const user *u, hr_pipeline *p, int32_t node, int round, hr_error *error)
{
    hr_tensor views[BATCH];
    hr_batch *batch;
    for (int s = 0; s < BATCH; s++) {
        char *to = (char *)u->device + s * BYTES;
        for (int i = last_write(round, s) - 10; i <= last_write(round, s); i++)
            HR_TRY(u->module->copy(0, u->stream, to, u->pinned + i * BYTES, BYTES, error));
        views[s] = (hr_tensor){to, HR_DTYPE_UINT8, {3, {SIDE, SIDE, 3}}, {"HWC"}, NULL, NULL};
    }
    HR_TRY(hr_batch_copy_cuda(&batch, views, BATCH, 0, u->stream, false, error));
    hr_status status = hr_pipeline_feed(p, node, &batch, 1, error);
    hr_batch_unref(batch);
    return status;
}

/* Outputs: the fed data; its copy on the host; the data flipped on the device. */
static hr_status open_pipeline(hr_pipeline **out, int32_t *source, hr_error *error)
{
    hr_graph *g;
    hr_edge outputs[3] = {{0}};
    HR_TRY(hr_graph_create(&g, error));
    hr_node_desc fed = {.op = "external_source", .device = "gpu"};
    hr_status status = hr_graph_add_node(g, &fed, source, error);
    outputs[0] = (hr_edge){*source, 0};
    hr_node_desc back = {.op = "_to_cpu", .inputs = &outputs[0], .input_count = 1};
    hr_node_desc flip = {.op = "flip", .device = "gpu", .inputs = &outputs[0], .input_count = 1};
    if (status == HR_STATUS_OK)
        status = hr_graph_add_node(g, &back, &outputs[1].node, error);
    if (status == HR_STATUS_OK)
        status = hr_graph_add_node(g, &flip, &outputs[2].node, error);
    if (status == HR_STATUS_OK)
        status = hr_graph_set_outputs(g, outputs, 3, error);
    hr_pipeline_options options;
    hr_pipeline_options_init(&options);
    options.batch_size = BATCH;
    options.num_threads = 2;
    options.device_id = 0;
    if (status == HR_STATUS_OK)
        status = hr_pipeline_create(out, g, &options, error);
    hr_graph_destroy(g);
    return status;
}

static bool image_right(const hr_tensor *t, const unsigned char *image, bool mirrored)
{
    const unsigned char *data = t->data;
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            for (int c = 0; c < 3; c++) {
                int from = mirrored ? SIDE - 1 - x : x;
                if (data[(y * SIDE + x) * 3 + c] != image[(y * SIDE + from) * 3 + c])
                    return false;
            }
    return true;
}

static bool outputs_right(const user *u, const hr_outputs *o, int round)
{
    hr_batch *host[3] = {NULL};
    bool right = hr_batch_device(hr_outputs_batch(o, 0)) == 0 &&
                 hr_batch_device(hr_outputs_batch(o, 1)) == HR_DEVICE_HOST &&
                 hr_batch_device(hr_outputs_batch(o, 2)) == 0;
    for (int k = 0; k < 3 && right; k++)
        right = hr_batch_to_host(&host[k], hr_outputs_batch(o, k), NULL) == HR_STATUS_OK;
    for (int s = 0; s < BATCH && right; s++)
        for (int k = 0; k < 3 && right; k++)
            right = image_right(hr_batch_tensor(host[k], s),
                                u->pinned + last_write(round, s) * BYTES, k == 2);
    for (int k = 0; k < 3; k++)
        hr_batch_unref(host[k]);
    return right;
}

TEST(fed_while_written)
{
    user u = {0};
    hr_error error = {0};
    hr_pipeline *p;
    int32_t source;
    CHECK_OK(user_open(&u, &error), error);
    CHECK_OK(open_pipeline(&p, &source, &error), error);
    for (int round = 0; round < ROUNDS; round++) {
        hr_outputs *o = NULL;
        CHECK_OK(user_feed(&u, p, source, round, &error), error);
        CHECK_OK(hr_pipeline_run(p, -1, &o, &error), error);
        CHECK(outputs_right(&u, o, round));
        hr_outputs_unref(o);
    }
    hr_pipeline_destroy(p);
    user_close(&u);
    CHECK(alive() == 0);
}

TEST(wrong_device)
{
    user u = {0};
    hr_error error = {0};
    hr_pipeline *p;
    hr_batch *batch;
    int32_t source;
    unsigned char image[BYTES] = {0};
    hr_tensor view = {image, HR_DTYPE_UINT8, {3, {SIDE, SIDE, 3}}, {"HWC"}, NULL, NULL};
    CHECK_OK(user_open(&u, &error), error);
    CHECK_OK(open_pipeline(&p, &source, &error), error);
    CHECK_OK(hr_batch_create(&batch, &view, 1, false, &error), error);
    CHECK(hr_pipeline_feed(p, source, &batch, 1, &error) == HR_STATUS_ERROR);
    CHECK(strstr(error.message, "on device -1, expected 0"));
    hr_batch_unref(batch);
    hr_pipeline_destroy(p);
    user_close(&u);
    CHECK(alive() == 0);
}

TEST_MAIN

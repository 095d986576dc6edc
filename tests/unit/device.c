/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Device memory, launches and batches, over the fake module. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../gpu/fake_find.h"
#include "core/batch.h"
#include "device/launch.h"
#include "device/memory.h"
#include "test.h"

/* Before any other test: the fake module reads its settings once. */
TEST(no_device)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        hr_device *d = NULL;
        hr_error error = {0};
        setenv("HEADRACE_FAKE_DEVICES", "0", 1);
        fake_find();
        bool refused = hr_device_create(&d, 0, 0, &error) == HR_STATUS_ERROR;
        bool words =
            strcmp(error.message, "this machine has no CUDA device; use device=\"cpu\"") == 0;
        _exit(refused && words ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(module_missing)
{
    const hr_cuda_module_def *module;
    hr_device *d = NULL;
    hr_error error = {0};
    setenv("HEADRACE_CUDA_MODULE", "/nowhere/libheadrace_cuda.so", 1);
    CHECK(hr_module_open(&module, &error) == HR_STATUS_ERROR);
    CHECK(strstr(error.message, "/nowhere/libheadrace_cuda.so"));
    setenv("HEADRACE_CUDA_MODULE", HR_FAKE_NVML, 1);
    CHECK(hr_module_open(&module, &error) == HR_STATUS_ERROR);
    CHECK(strstr(error.message, "is not a CUDA module"));
    char *doctor = NULL;
    CHECK_OK(hr_doctor_json(&doctor, &error), error);
    CHECK(doctor && strstr(doctor, "\"gpu_support\": false, \"cuda_devices\": 0}"));
    hr_string_free(doctor);
    fake_find();
    CHECK_OK(hr_doctor_json(&doctor, &error), error);
    CHECK(doctor && strstr(doctor, "\"gpu_support\": true, \"cuda_devices\": 1}"));
    hr_string_free(doctor);
    CHECK_OK(hr_module_open(&module, &error), error);
    CHECK(counts_of && fail_at);
    CHECK(hr_device_create(&d, 1, 0, &error) == HR_STATUS_ERROR);
    CHECK(strstr(error.message, "device_id is 1; this machine has 1"));
    CHECK(alive() == 0);
}

TEST(buffer_limit)
{
    hr_device *d;
    hr_buffer *a, *b = NULL;
    hr_error error = {0};
    fake_find();
    CHECK_OK(hr_device_create(&d, 0, 1000, &error), error);
    CHECK_OK(hr_device_buffer(d, NULL, 800, &a, &error), error);
    CHECK(hr_buffer_device(a) == 0 && hr_buffer_size(a) == 800);
    CHECK(hr_device_buffer(d, NULL, 201, &b, &error) == HR_STATUS_NO_MEMORY);
    CHECK(strstr(error.message, "device_memory_limit"));
    CHECK_OK(hr_device_buffer(d, NULL, 200, &b, &error), error);
    hr_buffer_unref(a);
    hr_device_unref(d); /* the buffer holds a reference */
    hr_buffer_unref(b);
    CHECK(alive() == 0);
}

/* Allocates too much, repeatedly. Returns NULL if that was always refused. */
static void *ask_for_more(void *context)
{
    hr_buffer *b = NULL;
    hr_status status = HR_STATUS_NO_MEMORY;
    for (int i = 0; i < 20000 && status == HR_STATUS_NO_MEMORY; i++)
        status = hr_device_buffer(context, NULL, 5000, &b, NULL);
    return status == HR_STATUS_NO_MEMORY ? NULL : context;
}

TEST(what_is_refused_takes_nothing_from_others)
{
    hr_device *d;
    pthread_t other;
    void *given = NULL;
    hr_error error = {0};
    fake_find();
    CHECK_OK(hr_device_create(&d, 0, 1000, &error), error);
    CHECK(pthread_create(&other, NULL, ask_for_more, d) == 0);
    for (int i = 0; i < 500; i++) {
        hr_buffer *b;
        CHECK_OK(hr_device_buffer(d, NULL, 1000, &b, &error), error);
        hr_buffer_unref(b);
    }
    CHECK(pthread_join(other, &given) == 0 && !given);
    hr_device_unref(d);
    CHECK(alive() == 0);
}

/* Staging little data needs little memory. */
TEST(chunks_fit_the_limit)
{
    hr_device *d;
    hr_launch *launches[8];
    hr_staged staged;
    hr_error error = {0};
    fake_find();
    CHECK_OK(hr_device_create(&d, 0, (size_t)1 << 20, &error), error);
    for (int i = 0; i < 8; i++) {
        CHECK_OK(hr_launch_create(&launches[i], d, &error), error);
        CHECK_OK(launches[i]->staging.alloc(&launches[i]->staging, 1000, &staged, &error), error);
    }
    CHECK(launches[0]->staging.alloc(&launches[0]->staging, (size_t)2 << 20, &staged, &error) ==
          HR_STATUS_NO_MEMORY);
    for (int i = 0; i < 8; i++)
        hr_launch_destroy(launches[i]);
    hr_device_unref(d);
    CHECK(alive() == 0);
}

/* Allocating pinned memory is slow: large pieces are reused, too, but only a few are kept. */
TEST(large_chunks_wait)
{
    static const size_t sizes[] = {20000000, 19000000, 90000000, 80000000, 20000000};
    static const bool again[] = {false, true, false, true, false};
    hr_device *d;
    hr_launch *l;
    hr_staged staged;
    void *before = NULL;
    hr_error error = {0};
    fake_counts counts;
    fake_find();
    CHECK_OK(hr_device_create(&d, 0, 0, &error), error);
    for (size_t i = 0; i < HR_COUNT_OF(sizes); i++) {
        CHECK_OK(hr_launch_create(&l, d, &error), error);
        CHECK_OK(l->staging.alloc(&l->staging, sizes[i], &staged, &error), error);
        memset(staged.host, 1, sizes[i]);
        CHECK((staged.host == before) == again[i] || !again[i]);
        before = staged.host;
        hr_launch_destroy(l);
        counts_of(&counts);
        CHECK(counts.pinned == 1);
    }
    hr_device_unref(d);
    CHECK(alive() == 0);
}

/* ---- a launch ---- */

enum { PIECES = 200, PIECE = 3000, STAGERS = 3 };

typedef struct stager {
    pthread_t thread;
    hr_launch *launch;
    hr_staged pieces[PIECES];
    int32_t first;
    hr_status status;
    hr_error error;
} stager;

static unsigned char byte_of(int32_t piece, int32_t i)
{
    return (unsigned char)(piece * 31 + i);
}

static void *stage_pieces(void *context)
{
    stager *s = context;
    for (int32_t k = s->first; k < PIECES && s->status == HR_STATUS_OK; k += STAGERS) {
        s->status = s->launch->staging.alloc(&s->launch->staging, PIECE, &s->pieces[k], &s->error);
        for (int32_t i = 0; i < PIECE && s->status == HR_STATUS_OK; i++)
            ((unsigned char *)s->pieces[k].host)[i] = byte_of(k, i);
    }
    return NULL;
}

static hr_status stage_all(hr_launch *l, hr_staged *pieces, hr_error *error)
{
    stager stagers[STAGERS];
    hr_status status = HR_STATUS_OK;
    for (int32_t t = 0; t < STAGERS; t++) {
        stagers[t] = (stager){.launch = l, .first = t};
        pthread_create(&stagers[t].thread, NULL, stage_pieces, &stagers[t]);
    }
    for (int32_t t = 0; t < STAGERS; t++) {
        pthread_join(stagers[t].thread, NULL);
        for (int32_t k = t; k < PIECES; k += STAGERS)
            pieces[k] = stagers[t].pieces[k];
        if (stagers[t].status != HR_STATUS_OK) {
            status = stagers[t].status;
            *error = stagers[t].error;
        }
    }
    return status;
}

/* Several threads stage pieces; the device gathers them into one buffer in reverse order, and
 * copies that back into pinned memory. */
static hr_status gather(hr_launch *l, hr_buffer *dense, hr_buffer *pinned, hr_error *error)
{
    const hr_cuda_module_def *module = hr_device_module(l->device);
    hr_staged pieces[PIECES], records;
    void *scratch;
    HR_TRY(stage_all(l, pieces, error));
    HR_TRY(l->staging.alloc(&l->staging, PIECES * sizeof(hr_cuda_copy), &records, error));
    hr_cuda_copy *copies = records.host;
    for (int32_t k = 0; k < PIECES; k++)
        copies[k] = (hr_cuda_copy){(char *)hr_buffer_data(dense) + (size_t)(PIECES - 1 - k) * PIECE,
                                   pieces[k].device, PIECE};
    HR_TRY(module->use(0, error));
    HR_TRY(l->staging.flush(&l->staging, error));
    HR_TRY(l->cuda.scratch(&l->cuda, 10000, &scratch, error));
    HR_TRY(module->zero(0, l->cuda.stream, scratch, 10000, error));
    HR_TRY(module->copy_all(&l->cuda, records, PIECES, error));
    HR_TRY(module->copy(0, l->cuda.stream, hr_buffer_data(pinned), hr_buffer_data(dense),
                        (size_t)PIECES * PIECE, error));
    HR_TRY(module->event_record(0, l->done, l->cuda.stream, error));
    return module->event_wait(0, l->done, error);
}

static hr_status round_trip(hr_device *d, bool *same, hr_error *error)
{
    hr_launch *l = NULL;
    hr_buffer *dense = NULL, *pinned = NULL;
    hr_status status = hr_launch_create(&l, d, error);
    if (status == HR_STATUS_OK)
        status = hr_device_buffer(d, l->cuda.stream, (size_t)PIECES * PIECE, &dense, error);
    if (status == HR_STATUS_OK)
        status = hr_device_pinned(d, (size_t)PIECES * PIECE, &pinned, error);
    if (status == HR_STATUS_OK)
        status = gather(l, dense, pinned, error);
    *same = status == HR_STATUS_OK;
    for (int32_t k = 0; k < PIECES && *same; k++)
        for (int32_t i = 0; i < PIECE; i++)
            *same =
                *same && ((unsigned char *)hr_buffer_data(pinned))[(PIECES - 1 - k) * PIECE + i] ==
                             byte_of(k, i);
    if (status != HR_STATUS_OK && l) { /* a failed launch may have queued work */
        const hr_cuda_module_def *module = hr_device_module(d);
        if (module->event_record(0, l->done, l->cuda.stream, NULL) == HR_STATUS_OK)
            (void)module->event_wait(0, l->done, NULL);
    }
    hr_launch_destroy(l);
    hr_buffer_unref(dense);
    hr_buffer_unref(pinned);
    return status;
}

/* Copies a constant back from where the device has it. */
static hr_status read_constant(hr_device *d, const void *data, size_t size, const void **at,
                               void *to, hr_error *error)
{
    hr_launch *l = NULL;
    hr_buffer *pinned = NULL;
    const hr_cuda_module_def *module = hr_device_module(d);
    HR_TRY(module->use(0, error));
    HR_TRY(hr_launch_create(&l, d, error));
    hr_status status = hr_device_pinned(d, size, &pinned, error);
    if (status == HR_STATUS_OK)
        status = l->staging.constant(&l->staging, data, size, at, error);
    if (status == HR_STATUS_OK)
        status = l->staging.flush(&l->staging, error);
    if (status == HR_STATUS_OK)
        status = module->copy(0, l->cuda.stream, hr_buffer_data(pinned), *at, size, error);
    if (status == HR_STATUS_OK)
        status = module->event_record(0, l->done, l->cuda.stream, error);
    if (status == HR_STATUS_OK)
        status = module->event_wait(0, l->done, error);
    if (status == HR_STATUS_OK)
        memcpy(to, hr_buffer_data(pinned), size);
    hr_launch_destroy(l);
    hr_buffer_unref(pinned);
    return status;
}

/* The device keeps bytes that are staged again, wherever they are and whichever launch asks. */
TEST(constants)
{
    hr_device *d;
    hr_error error = {0};
    static const char one[] = "one thing", two[] = "another", same[] = "one thing";
    const void *at[4] = {NULL, NULL, NULL, NULL};
    char back[sizeof(one)] = {0};
    fake_find();
    CHECK_OK(hr_device_create(&d, 0, 0, &error), error);
    CHECK_OK(read_constant(d, one, sizeof(one), &at[0], back, &error), error);
    CHECK(strcmp(back, one) == 0);
    CHECK_OK(read_constant(d, two, sizeof(two), &at[1], back, &error), error);
    CHECK(strcmp(back, two) == 0);
    CHECK_OK(read_constant(d, one, sizeof(one), &at[2], back, &error), error);
    CHECK(strcmp(back, one) == 0);
    memset(back, 0, sizeof(back));
    CHECK_OK(read_constant(d, same, sizeof(same), &at[3], back, &error), error);
    CHECK(strcmp(back, one) == 0);
    CHECK(at[3] == at[2] && at[2] != at[1] && at[2] != at[0]);
    hr_device_unref(d);
    CHECK(alive() == 0);
}

TEST(launch)
{
    hr_device *d;
    hr_error error = {0};
    bool same = false;
    fake_find();
    CHECK_OK(hr_device_create(&d, 0, (size_t)64 << 20, &error), error);
    for (int i = 0; i < 3; i++) { /* launches and chunks are reused */
        CHECK_OK(round_trip(d, &same, &error), error);
        CHECK(same);
    }
    hr_device_unref(d);
    CHECK(alive() == 0);
}

/* Any call may fail: the result is an error, and nothing leaks. */
TEST(failures)
{
    static const char *const kinds[] = {"device_count", "device_query", "stream_create",
                                        "event_create", "alloc",        "host_alloc",
                                        "use",          "zero",         "copy_all",
                                        "copy",         "event_record"};
    fake_find();
    for (size_t k = 0; k < HR_COUNT_OF(kinds); k++) {
        hr_status status = HR_STATUS_ERROR;
        int n = 0;
        while (status != HR_STATUS_OK && n < 20) {
            char spec[64];
            hr_device *d = NULL;
            hr_error error = {0};
            bool same;
            snprintf(spec, sizeof(spec), "%s:%d", kinds[k], ++n);
            fail_at(spec);
            status = hr_device_create(&d, 0, 0, &error);
            if (status == HR_STATUS_OK)
                status = round_trip(d, &same, &error);
            CHECK(status == HR_STATUS_OK || error.message[0]);
            hr_device_unref(d);
            fail_at(NULL);
            CHECK(alive() == 0);
        }
        CHECK(n > 1 && n < 20);
    }
}

/* ---- batches ---- */

TEST(batch_to_host)
{
    hr_device *d;
    hr_launch *l;
    hr_batch *batch, *host;
    hr_buffer *buffer, *pinned;
    hr_error error = {0};
    hr_tensor dense;
    fake_find();
    CHECK_OK(hr_device_create(&d, 0, 0, &error), error);
    CHECK_OK(hr_launch_create(&l, d, &error), error);
    const hr_cuda_module_def *module = hr_device_module(d);
    CHECK_OK(hr_device_buffer(d, l->cuda.stream, 24, &buffer, &error), error);
    CHECK_OK(hr_device_pinned(d, 24, &pinned, &error), error);
    for (int i = 0; i < 24; i++)
        ((char *)hr_buffer_data(pinned))[i] = (char)i;
    CHECK_OK(
        module->copy(0, l->cuda.stream, hr_buffer_data(buffer), hr_buffer_data(pinned), 24, &error),
        error);
    CHECK_OK(module->event_record(0, l->done, l->cuda.stream, &error), error);
    CHECK_OK(module->event_wait(0, l->done, &error), error);
    hr_tensor views[2] = {
        {hr_buffer_data(buffer), HR_DTYPE_UINT8, {2, {3, 4}}, {"HW"}, buffer, NULL},
        {(char *)hr_buffer_data(buffer) + 12, HR_DTYPE_UINT8, {2, {3, 4}}, {"HW"}, buffer, NULL}};
    CHECK_OK(hr_batch_create(&batch, views, 2, true, &error), error);
    hr_buffer_unref(buffer);
    hr_launch_destroy(l);
    CHECK(hr_batch_device(batch) == 0);
    CHECK_OK(hr_batch_to_host(&host, batch, &error), error);
    CHECK(hr_batch_device(host) == HR_DEVICE_HOST && hr_batch_dense(host, &dense));
    CHECK(memcmp(dense.data, hr_buffer_data(pinned), 24) == 0);
    CHECK(strcmp(hr_batch_tensor(host, 1)->layout.name, "HW") == 0);
    char bytes[12] = {0};
    CHECK_OK(hr_tensor_copy(hr_batch_tensor(batch, 1), bytes, NULL, true, &error), error);
    CHECK(memcmp(bytes, (char *)dense.data + 12, 12) == 0);
    hr_batch_unref(host);
    hr_batch_unref(batch);
    hr_buffer_unref(pinned);
    hr_device_unref(d);
    CHECK(alive() == 0);
}

/* Memory is released after the work that its user has queued; the user's stream is slow here. */
TEST(batch_used)
{
    hr_device *d;
    hr_buffer *buffer, *pinned;
    hr_error error = {0};
    void *stream, *event;
    fake_find();
    CHECK_OK(hr_device_create(&d, 0, 0, &error), error);
    const hr_cuda_module_def *module = hr_device_module(d);
    CHECK_OK(module->stream_create(0, &stream, &error), error);
    CHECK_OK(module->event_create(0, false, &event, &error), error);
    CHECK_OK(hr_device_buffer(d, stream, 64, &buffer, &error), error);
    CHECK_OK(hr_device_pinned(d, 64 * 200, &pinned, &error), error);
    CHECK_OK(module->zero(0, stream, hr_buffer_data(buffer), 64, &error), error);
    for (uintptr_t i = 0; i < 3; i++) /* the default stream has three names */
        hr_device_buffer_used(buffer, (void *)i);
    void *others[9];
    for (int i = 0; i < 9; i++) {
        CHECK_OK(module->stream_create(0, &others[i], &error), error);
        hr_device_buffer_used(buffer, others[i]);
    }
    hr_device_buffer_used(buffer, stream);
    for (int i = 0; i < 200; i++)
        CHECK_OK(module->copy(0, stream, (char *)hr_buffer_data(pinned) + 64 * i,
                              hr_buffer_data(buffer), 64, &error),
                 error);
    hr_buffer_unref(buffer);
    CHECK_OK(module->event_record(0, event, stream, &error), error);
    CHECK_OK(module->event_wait(0, event, &error), error);
    for (int i = 0; i < 64 * 200; i++)
        CHECK(((char *)hr_buffer_data(pinned))[i] == 0);
    module->event_destroy(0, event);
    module->stream_destroy(0, stream);
    for (int i = 0; i < 9; i++)
        module->stream_destroy(0, others[i]);
    hr_buffer_unref(pinned);
    hr_device_unref(d);
    CHECK(alive() == 0);
}

/* ---- memory of others ---- */

typedef struct foreign { /* data of a slow stream, and a flag that tells when it is released */
    const hr_cuda_module_def *module;
    void *stream, *data;
    int32_t *pinned;
    int released;
} foreign;

static void foreign_release(void *context)
{
    ((foreign *)context)->released++;
}

/* The last of many copies to `data` is still pending. */
static hr_status foreign_make(foreign *f, hr_error *error)
{
    HR_TRY(hr_module_open(&f->module, error));
    HR_TRY(f->module->stream_create(0, &f->stream, error));
    HR_TRY(f->module->host_alloc(0, 100 * sizeof(int32_t), (void **)&f->pinned, error));
    HR_TRY(f->module->alloc(0, f->stream, 4 * sizeof(int32_t), &f->data, error));
    for (int32_t i = 0; i < 100; i++)
        f->pinned[i] = i;
    for (int32_t i = 0; i < 100; i += 4)
        HR_TRY(f->module->copy(0, f->stream, f->data, f->pinned + i, 4 * sizeof(int32_t), error));
    return HR_STATUS_OK;
}

static void foreign_free(foreign *f)
{
    f->module->free(0, f->stream, f->data);
    f->module->stream_destroy(0, f->stream);
    f->module->host_free(f->pinned);
}

TEST(adopt)
{
    foreign f = {0};
    hr_error error = {0};
    hr_buffer *buffer;
    hr_batch *batch, *host;
    void *user;
    fake_find();
    CHECK_OK(foreign_make(&f, &error), error);
    CHECK_OK(hr_buffer_adopt_cuda(&buffer, f.data, 16, 0, f.stream, foreign_release, &f, &error),
             error);
    hr_tensor view = {f.data, HR_DTYPE_INT32, {1, {4}}, {""}, buffer, NULL};
    CHECK(hr_batch_create(&batch, &view, 1, false, &error) == HR_STATUS_ERROR);
    CHECK_OK(hr_batch_create(&batch, &view, 1, true, &error), error);
    hr_buffer_unref(buffer);
    CHECK_OK(hr_batch_to_host(&host, batch, &error), error);
    const int32_t *values = hr_batch_tensor(host, 0)->data;
    for (int32_t i = 0; i < 4; i++)
        CHECK(values[i] == 96 + i);
    CHECK_OK(f.module->stream_create(0, &user, &error), error);
    int32_t *late = f.pinned; /* a user whose copy is still pending when the batch is released */
    CHECK_OK(hr_tensor_copy(hr_batch_tensor(batch, 0), late, user, false, &error), error);
    CHECK(f.released == 0);
    hr_batch_unref(batch);
    CHECK(f.released == 1 && late[3] == 99);
    hr_batch_unref(host);
    f.module->stream_destroy(0, user);
    foreign_free(&f);
    CHECK(alive() == 0);
}

TEST(copy_to_device)
{
    foreign f = {0};
    hr_error error = {0};
    hr_batch *batch, *host;
    int32_t own[3] = {7, 8, 9};
    fake_find();
    CHECK_OK(foreign_make(&f, &error), error);
    hr_tensor views[2] = {{f.data, HR_DTYPE_INT32, {1, {4}}, {"X"}, NULL, NULL},
                          {f.data, HR_DTYPE_INT32, {1, {2}}, {"X"}, NULL, NULL}};
    CHECK_OK(hr_batch_copy_cuda(&batch, views, 2, 0, f.stream, false, &error), error);
    CHECK_OK(f.module->zero(0, f.stream, f.data, 16, &error), error); /* after the copies */
    CHECK(hr_batch_device(batch) == 0 && hr_batch_size(batch) == 2);
    CHECK_OK(hr_batch_to_host(&host, batch, &error), error);
    CHECK(((int32_t *)hr_batch_tensor(host, 0)->data)[3] == 99);
    CHECK(((int32_t *)hr_batch_tensor(host, 1)->data)[1] == 97);
    hr_batch_unref(host);
    hr_batch_unref(batch);
    hr_tensor mine = {own, HR_DTYPE_INT32, {1, {3}}, {""}, NULL, NULL};
    CHECK_OK(hr_batch_copy_cuda(&batch, &mine, 1, 0, NULL, true, &error), error);
    own[2] = 0;
    CHECK_OK(hr_batch_to_host(&host, batch, &error), error);
    CHECK(((int32_t *)hr_batch_tensor(host, 0)->data)[2] == 9);
    hr_batch_unref(host);
    hr_batch_unref(batch);
    /* released at once: the memory is returned after the copies, and so after this one */
    CHECK_OK(f.module->copy(0, f.stream, f.pinned, f.pinned + 50, sizeof(int32_t), &error), error);
    CHECK_OK(hr_batch_copy_cuda(&batch, views, 2, 0, f.stream, false, &error), error);
    hr_batch_unref(batch);
    (void)alive(); /* waits for the default stream, on which it is returned */
    CHECK(f.pinned[0] == 50);
    fail_at("copy:1");
    CHECK(hr_batch_copy_cuda(&batch, views, 2, 0, f.stream, false, &error) == HR_STATUS_ERROR);
    fail_at(NULL);
    foreign_free(&f);
    CHECK(alive() == 0);
}

/* A child can neither read nor release the parent's memory. */
TEST(forked)
{
    foreign f = {0};
    hr_error error = {0};
    hr_batch *batch, *host = NULL;
    int status = -1;
    fake_find();
    CHECK_OK(foreign_make(&f, &error), error);
    hr_tensor view = {f.data, HR_DTYPE_INT32, {1, {4}}, {"X"}, NULL, NULL};
    CHECK_OK(hr_batch_copy_cuda(&batch, &view, 1, 0, f.stream, true, &error), error);
    pid_t child = fork();
    if (child == 0) {
        int32_t to[4];
        bool refused =
            hr_batch_to_host(&host, batch, &error) == HR_STATUS_STATE &&
            strstr(error.message, "belongs to process") &&
            hr_tensor_copy(hr_batch_tensor(batch, 0), to, NULL, true, NULL) == HR_STATUS_STATE;
        hr_batch_unref(batch);
        _exit(refused ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK_OK(hr_batch_to_host(&host, batch, &error), error);
    CHECK(((int32_t *)hr_batch_tensor(host, 0)->data)[3] == 99);
    hr_batch_unref(host);
    hr_batch_unref(batch);
    foreign_free(&f);
    CHECK(alive() == 0);
}

TEST_MAIN

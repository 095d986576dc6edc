/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Batches. */
#include "core/batch.h"
#include "core/alloc.h"
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>

static void count_release(void *context)
{
    atomic_fetch_add((atomic_int *)context, 1);
}

static hr_tensor make_tensor(void *data, int64_t rows, hr_buffer *buffer, const char *source)
{
    hr_tensor t;
    hr_tensor_describe(&t, HR_DTYPE_UINT16, hr_shape_make(2, (int64_t[]){rows, 2}), "HW");
    t.data = data;
    t.buffer = buffer;
    t.source_info = source;
    return t;
}

TEST(create_copies)
{
    hr_error error;
    hr_batch *batch;
    uint16_t a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {7, 8, 9, 10, 11, 12};
    char source[] = "a.jpg";
    hr_tensor in[2] = {make_tensor(a, 3, NULL, source), make_tensor(b, 3, NULL, NULL)}, dense;
    CHECK_OK(hr_batch_create(&batch, in, 2, false, &error), error);
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    memset(source, 0, sizeof source);
    CHECK(hr_batch_size(batch) == 2);
    const hr_tensor *t = hr_batch_tensor(batch, 0);
    CHECK(t->dtype == HR_DTYPE_UINT16 && t->shape.ndim == 2 && t->shape.extent[0] == 3);
    CHECK(strcmp(t->layout.name, "HW") == 0 && strcmp(t->source_info, "a.jpg") == 0 && t->buffer);
    CHECK(!hr_batch_tensor(batch, 1)->source_info);
    CHECK(!hr_batch_tensor(batch, 2) && !hr_batch_tensor(batch, -1));
    CHECK(hr_batch_dense(batch, &dense));
    CHECK(dense.shape.ndim == 3 && dense.shape.extent[0] == 2 && dense.shape.extent[1] == 3 &&
          dense.shape.extent[2] == 2);
    CHECK(dense.dtype == HR_DTYPE_UINT16 && strcmp(dense.layout.name, "NHW") == 0 && dense.buffer);
    for (int i = 0; i < 12; i++)
        CHECK(((const uint16_t *)dense.data)[i] == i + 1);
    CHECK((uintptr_t)dense.data % HR_ALIGN == 0);
    hr_batch_unref(batch);
    hr_batch_unref(NULL);
}

TEST(create_with_unequal_shapes)
{
    hr_error error;
    hr_batch *batch;
    uint16_t a[6] = {1, 2, 3, 4, 5, 6}, b[4] = {7, 8, 9, 10};
    hr_tensor in[3] = {make_tensor(a, 3, NULL, "x"), make_tensor(b, 2, NULL, "yy"),
                       make_tensor(NULL, 0, NULL, "")},
              dense;
    CHECK_OK(hr_batch_create(&batch, in, 3, false, &error), error);
    CHECK(!hr_batch_dense(batch, &dense));
    CHECK(memcmp(hr_batch_tensor(batch, 0)->data, a, sizeof a) == 0);
    CHECK(memcmp(hr_batch_tensor(batch, 1)->data, b, sizeof b) == 0);
    CHECK((uintptr_t)hr_batch_tensor(batch, 1)->data % HR_ALIGN == 0);
    CHECK(strcmp(hr_batch_tensor(batch, 1)->source_info, "yy") == 0);
    CHECK(strcmp(hr_batch_tensor(batch, 2)->source_info, "") == 0);
    hr_batch_unref(batch);
}

TEST(create_without_copy)
{
    hr_error error;
    hr_batch *batch;
    hr_buffer *buffer;
    atomic_int released = 0;
    uint16_t data[8] = {0};
    hr_tensor dense;
    CHECK_OK(hr_buffer_adopt(&buffer, data, sizeof data, count_release, &released, &error), error);
    hr_tensor in[2] = {make_tensor(data, 2, buffer, "p"), make_tensor(data + 4, 2, buffer, "q")};
    CHECK_OK(hr_batch_create(&batch, in, 2, true, &error), error);
    hr_buffer_unref(buffer);
    CHECK(hr_batch_tensor(batch, 1)->data == data + 4 && released == 0);
    CHECK(hr_batch_dense(batch, &dense) && dense.data == data && dense.buffer == buffer);
    CHECK(hr_batch_ref(batch) == batch);
    hr_batch_unref(batch);
    CHECK(released == 0);
    hr_batch_unref(batch);
    CHECK(released == 1);
    in[1].buffer = NULL;
    CHECK(hr_batch_create(&batch, in + 1, 1, true, &error) == HR_STATUS_VALUE && !batch);
}

TEST(create_checks)
{
    hr_error error;
    hr_batch *batch;
    uint16_t data[8] = {0};
    hr_tensor good = make_tensor(data, 2, NULL, NULL), in[2] = {good, good};
    in[1].dtype = HR_DTYPE_INT16;
    CHECK(hr_batch_create(&batch, in, 2, false, &error) == HR_STATUS_TYPE && !batch);
    CHECK(strstr(error.message, "INT16") && strstr(error.message, "UINT16"));
    in[0].dtype = in[1].dtype = HR_DTYPE_NONE;
    CHECK(hr_batch_create(&batch, in, 2, false, &error) == HR_STATUS_TYPE);
    in[0] = in[1] = good;
    in[1].shape.ndim = 1;
    CHECK(hr_batch_create(&batch, in, 2, false, &error) == HR_STATUS_ERROR);
    in[1] = good;
    in[1].shape.extent[0] = INT64_MAX;
    CHECK(hr_batch_create(&batch, in, 2, false, &error) == HR_STATUS_VALUE);
    in[1].shape.extent[0] = -1;
    CHECK(hr_batch_create(&batch, in, 2, false, &error) == HR_STATUS_VALUE);
    in[1] = good;
    in[1].data = NULL;
    CHECK(hr_batch_create(&batch, in, 2, false, &error) == HR_STATUS_VALUE);
    CHECK(hr_batch_create(&batch, in, -1, false, &error) == HR_STATUS_VALUE);
}

TEST(dense_rules)
{
    hr_error error;
    hr_batch *batch;
    hr_tensor dense;
    uint16_t data[64] = {0};
    CHECK_OK(hr_batch_create(&batch, NULL, 0, false, &error), error);
    CHECK(hr_batch_size(batch) == 0 && !hr_batch_dense(batch, &dense));
    hr_batch_unref(batch);
    CHECK_OK(hr_batch_alloc(&batch, 2, &error), error);
    hr_tensor *t = hr_batch_tensors(batch);
    CHECK(!t[0].data && !t[1].buffer && t[1].shape.ndim == 0);
    t[0] = make_tensor(data, 2, NULL, NULL);
    t[1] = make_tensor(data + 4, 2, NULL, NULL);
    CHECK(hr_batch_dense(batch, &dense) && dense.data == data);
    t[1].data = data + 5;
    CHECK(!hr_batch_dense(batch, &dense));
    t[1] = make_tensor(data + 4, 3, NULL, NULL);
    CHECK(!hr_batch_dense(batch, &dense));
    t[1] = make_tensor(data + 4, 2, NULL, NULL);
    t[1].dtype = HR_DTYPE_INT16;
    CHECK(!hr_batch_dense(batch, &dense));
    hr_batch_truncate(batch, 1);
    CHECK(hr_batch_dense(batch, &dense) && dense.shape.extent[0] == 1);
    t[0].shape = hr_shape_make(8, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 1});
    CHECK(!hr_batch_dense(batch, &dense)); /* there is no dimension left for the batch */
    t[0].shape = hr_shape_make(7, (int64_t[]){1, 1, 1, 1, 1, 1, 1});
    memcpy(t[0].layout.name, "ABCDEFG", 8);
    CHECK(hr_batch_dense(batch, &dense) && strcmp(dense.layout.name, "NABCDEFG") == 0);
    hr_batch_unref(batch);
}

TEST(truncating_releases)
{
    hr_error error;
    hr_batch *batch;
    atomic_int released = 0;
    uint16_t data[4];
    CHECK_OK(hr_batch_alloc(&batch, 3, &error), error);
    for (int i = 0; i < 3; i++) {
        hr_buffer *buffer;
        CHECK_OK(hr_buffer_adopt(&buffer, data, 8, count_release, &released, &error), error);
        hr_batch_tensors(batch)[i] = make_tensor(data, 2, buffer, NULL);
    }
    hr_batch_truncate(batch, 5);
    CHECK(hr_batch_size(batch) == 3 && released == 0);
    hr_batch_truncate(batch, 1);
    CHECK(hr_batch_size(batch) == 1 && released == 2);
    hr_batch_unref(batch);
    CHECK(released == 3);
}

TEST(texts_live_as_long_as_the_batch)
{
    hr_error error;
    hr_batch *batch;
    uint16_t data[8] = {0};
    char name[] = "a.jpg";
    CHECK_OK(hr_batch_alloc(&batch, 3, &error), error);
    for (int i = 0; i < 3; i++)
        hr_batch_tensors(batch)[i] = make_tensor(data, 2, NULL, i == 1 ? NULL : name);
    CHECK_OK(hr_batch_own_texts(batch, &error), error);
    name[0] = 'b';
    CHECK(strcmp(hr_batch_tensor(batch, 0)->source_info, "a.jpg") == 0);
    CHECK(!hr_batch_tensor(batch, 1)->source_info);
    CHECK(strcmp(hr_batch_tensor(batch, 2)->source_info, "a.jpg") == 0);
    hr_batch_unref(batch);
}

/* A sealed batch of one buffer holds one reference to it, and otherwise behaves as before. */
TEST(sealing_changes_nothing_that_shows)
{
    uint16_t data[64] = {0};
    for (int own = 0; own < 2; own++) {
        hr_error error;
        hr_batch *batch;
        hr_buffer *buffer, *other;
        hr_tensor dense;
        atomic_int released = 0;
        CHECK_OK(hr_buffer_adopt(&buffer, data, 128, count_release, &released, &error), error);
        CHECK_OK(hr_buffer_adopt(&other, data, 128, count_release, &released, &error), error);
        CHECK_OK(hr_batch_alloc(&batch, 3, &error), error);
        for (int i = 0; i < 3; i++) {
            hr_buffer *in = own && i == 2 ? other : buffer;
            hr_batch_tensors(batch)[i] = make_tensor(data + 4 * i, 2, hr_buffer_ref(in), NULL);
        }
        hr_batch_seal(batch);
        CHECK(hr_batch_dense(batch, &dense) && dense.data == data && dense.shape.extent[0] == 3);
        CHECK(dense.buffer == (own ? NULL : buffer));
        CHECK(hr_buffer_refs(buffer) == (own ? 3 : 2));
        CHECK_OK(hr_batch_set_layout(batch, "XY", &error), error);
        CHECK(hr_batch_dense(batch, &dense) && strcmp(dense.layout.name, "NXY") == 0);
        hr_buffer_unref(buffer);
        hr_buffer_unref(other);
        CHECK(hr_batch_tensor(batch, 2)->data == data + 8 && released == !own);
        hr_batch_unref(batch);
        CHECK(released == 2);
    }
}

TEST(set_layout)
{
    hr_error error;
    hr_batch *batch;
    uint16_t data[8] = {0};
    hr_tensor in[2] = {make_tensor(data, 2, NULL, NULL), make_tensor(data, 2, NULL, NULL)};
    CHECK_OK(hr_batch_create(&batch, in, 2, false, &error), error);
    CHECK_OK(hr_batch_set_layout(batch, "XY", &error), error);
    CHECK(strcmp(hr_batch_tensor(batch, 1)->layout.name, "XY") == 0);
    CHECK(hr_batch_set_layout(batch, "XYZ", &error) == HR_STATUS_VALUE);
    CHECK(hr_batch_set_layout(batch, "X|", &error) == HR_STATUS_VALUE);
    CHECK(strcmp(hr_batch_tensor(batch, 0)->layout.name, "XY") == 0);
    CHECK_OK(hr_batch_set_layout(batch, "", &error), error);
    CHECK(hr_batch_tensor(batch, 0)->layout.name[0] == '\0');
    hr_batch_unref(batch);

    hr_batch *host;
    CHECK_OK(hr_batch_create(&batch, NULL, 0, false, &error), error);
    CHECK(hr_batch_layout(batch)[0] == '\0');
    CHECK_OK(hr_batch_set_layout(batch, "HWC", &error), error);
    CHECK_OK(hr_batch_to_host(&host, batch, &error), error);
    CHECK(strcmp(hr_batch_layout(host), "HWC") == 0);
    hr_batch_unref(host);
    hr_batch_unref(batch);
}

TEST(creating_without_memory)
{
    hr_error error;
    uint16_t data[8] = {0};
    hr_tensor in[2] = {make_tensor(data, 2, NULL, "a"), make_tensor(data, 2, NULL, "b")};
    for (int n = 0; n < 3; n++) {
        hr_batch *batch;
        hr_alloc_fail_after(n);
        CHECK(hr_batch_create(&batch, in, 2, false, &error) == HR_STATUS_NO_MEMORY && !batch);
    }
    hr_alloc_fail_after(-1);
}

static void *ref_and_unref(void *context)
{
    hr_batch *batch = context;
    for (int i = 0; i < 20000; i++) {
        hr_batch_ref(batch);
        hr_buffer *buffer = hr_buffer_ref(hr_batch_tensor(batch, i % 2)->buffer);
        hr_batch_unref(batch);
        hr_buffer_unref(buffer);
    }
    hr_batch_unref(batch);
    return NULL;
}

TEST(counting_from_threads)
{
    hr_error error;
    hr_batch *batch;
    hr_buffer *buffer;
    atomic_int released = 0;
    static uint16_t data[8];
    pthread_t threads[4];
    CHECK_OK(hr_buffer_adopt(&buffer, data, sizeof data, count_release, &released, &error), error);
    hr_tensor in[2] = {make_tensor(data, 2, buffer, NULL), make_tensor(data + 4, 2, buffer, NULL)};
    CHECK_OK(hr_batch_create(&batch, in, 2, true, &error), error);
    hr_buffer_unref(buffer);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, ref_and_unref, hr_batch_ref(batch)) == 0);
    hr_batch_unref(batch);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    CHECK(atomic_load(&released) == 1);
}

TEST_MAIN

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Bad files are raised, replaced or skipped; no sample is lost or delivered twice. */
#include <fcntl.h>
#include <semaphore.h>
#include <sys/syscall.h>

#include "exec/fixture.h"
#include "test.h"

#define FILES 24

static const int bad_files[] = {3, 9, 10, 20};

static void make_bad(fixture *f)
{
    char path[128];
    fixture_make(f, FILES);
    fixture_break(f, 3, "");
    fixture_break(f, 9, "P6\n20 20\n255\nabc"); /* truncated */
    fixture_break(f, 10, "no image at all");
    unlink(fixture_path(f, 20, path));
    if (mkfifo(path, 0644) != 0)
        exit(2);
}

static bool is_bad(int number)
{
    for (size_t i = 0; i < HR_COUNT_OF(bad_files); i++)
        if (bad_files[i] == number)
            return true;
    return false;
}

TEST(raise_goes_on_with_the_next_batch)
{
    fixture f;
    hr_error error = {0};
    hr_pipeline *p;
    fixture_graph o = {.images = true};
    hr_pipeline_options options = fixture_options(4, 3);
    int seen[FILES] = {0}, failures = 0;
    make_bad(&f);
    CHECK_OK(fixture_pipeline(&f, &o, &options, &p, &error), error);
    for (int it = 0; it < FILES / 4; it++) {
        hr_outputs *out;
        hr_status status = hr_pipeline_run(p, -1, &out, &error);
        if (status != HR_STATUS_OK) {
            failures++;
            CHECK(strstr(error.message, ".ppm") != NULL);
            CHECK(strstr(error.message, it == 5 ? "readers.file" : "decoders.image_random_crop") !=
                  NULL);
            continue;
        }
        for (int i = 0; i < 4; i++)
            seen[fixture_number(out, i)]++;
        hr_outputs_unref(out);
    }
    CHECK(failures == 3); /* files 3, then 9 and 10, then 20 */
    for (int i = 0; i < FILES; i++)
        CHECK(seen[i] == !(i / 4 == 0 || i / 4 == 2 || i / 4 == 5));
    hr_pipeline_destroy(p);
    fixture_remove(&f);
}

TEST(skip_makes_batches_shorter)
{
    fixture f;
    hr_error error = {0};
    hr_pipeline *p;
    fixture_graph o = {.images = true};
    hr_pipeline_options options = fixture_options(4, 3);
    char *json;
    int seen[FILES] = {0}, positions = 0;
    make_bad(&f);
    options.on_error = HR_ON_ERROR_SKIP;
    CHECK_OK(fixture_pipeline(&f, &o, &options, &p, &error), error);
    while (positions < FILES) {
        hr_outputs *out;
        hr_tensor dense;
        CHECK_OK(hr_pipeline_run(p, -1, &out, &error), error);
        int n = hr_batch_size(hr_outputs_batch(out, 0));
        CHECK(n > 0 && n == hr_batch_size(hr_outputs_batch(out, 1)));
        CHECK(hr_batch_dense(hr_outputs_batch(out, 0), &dense) && dense.shape.extent[0] == n);
        positions += hr_outputs_positions(out);
        for (int i = 0; i < n; i++) {
            seen[fixture_number(out, i)]++;
            const int32_t *label = hr_batch_tensor(hr_outputs_batch(out, 1), i)->data;
            CHECK(*label == fixture_number(out, i) * 4 / FILES);
            CHECK(fixture_number(out, i) ==
                  positions - options.batch_size + hr_outputs_slot(out, i));
        }
        CHECK(hr_outputs_slot(out, n) == -1 && hr_outputs_slot(out, -1) == -1);
        hr_outputs_unref(out);
    }
    CHECK(positions == FILES);
    for (int i = 0; i < FILES; i++)
        CHECK(seen[i] == !is_bad(i));
    CHECK_OK(hr_pipeline_errors(p, &json, &error), error);
    CHECK(strstr(json, "f0010.ppm") && strstr(json, "\"skipped\""));
    hr_string_free(json);
    hr_pipeline_destroy(p);
    fixture_remove(&f);
}

/* The file that replaces a bad one depends only on the epoch and the position. */
static int replacements(const fixture *f, int batch_size, int threads, int *numbers)
{
    hr_error error = {0};
    hr_pipeline *p;
    fixture_graph o = {.images = true, .random_shuffle = true};
    hr_pipeline_options options = fixture_options(batch_size, threads);
    options.on_error = HR_ON_ERROR_REPLACE;
    if (fixture_pipeline(f, &o, &options, &p, &error) != HR_STATUS_OK)
        return -1;
    for (int k = 0; k < 2 * FILES; k += batch_size) {
        hr_outputs *out;
        if (hr_pipeline_run(p, -1, &out, &error) != HR_STATUS_OK)
            return -1;
        for (int i = 0; i < batch_size; i++)
            numbers[k + i] = fixture_number(out, i);
        hr_outputs_unref(out);
    }
    hr_pipeline_destroy(p);
    return 0;
}

TEST(replace_keeps_batches_full)
{
    fixture f;
    int a[2 * FILES], b[2 * FILES], good = 0;
    make_bad(&f);
    CHECK(replacements(&f, 4, 1, a) == 0);
    CHECK(replacements(&f, 6, 8, b) == 0);
    CHECK(memcmp(a, b, sizeof(a)) == 0);
    CHECK(replacements(&f, FILES, 2, b) == 0); /* several samples per turn of a worker */
    CHECK(memcmp(a, b, sizeof(a)) == 0);
    for (int i = 0; i < 2 * FILES; i++)
        good += a[i] >= 0 && !is_bad(a[i]);
    CHECK(good == 2 * FILES);
    fixture_remove(&f);
}

TEST(all_bad_ends_with_an_error)
{
    fixture f;
    hr_error error = {0};
    hr_pipeline *p;
    hr_outputs *out;
    fixture_graph o = {.images = true};
    fixture_make(&f, 8);
    for (int i = 0; i < 8; i++)
        fixture_break(&f, i, "junk");
    for (int policy = HR_ON_ERROR_RAISE; policy <= HR_ON_ERROR_SKIP; policy++) {
        hr_pipeline_options options = fixture_options(4, 2);
        options.on_error = (hr_on_error)policy;
        CHECK_OK(fixture_pipeline(&f, &o, &options, &p, &error), error);
        CHECK(hr_pipeline_run(p, HANG_MS, &out, &error) != HR_STATUS_OK &&
              error.status != HR_STATUS_TIMEOUT);
        hr_pipeline_destroy(p);
    }
    fixture_remove(&f);
}

TEST(held_outputs_meet_the_memory_limit)
{
    fixture f;
    hr_error error = {0};
    hr_pipeline *p;
    hr_outputs *held[64] = {0};
    fixture_graph o = {.images = true};
    hr_pipeline_options options = fixture_options(8, 2);
    int count = 0;
    hr_status status = HR_STATUS_OK;
    fixture_make(&f, FILES);
    options.host_memory_limit = 300000; /* a batch is 8 x 3 x 16 x 16 x 4 = 24,576 bytes */
    CHECK_OK(fixture_pipeline(&f, &o, &options, &p, &error), error);
    while (count < 64 &&
           (status = hr_pipeline_run(p, HANG_MS, &held[count], &error)) == HR_STATUS_OK)
        count++;
    CHECK(status == HR_STATUS_NO_MEMORY && strstr(error.message, "host_memory_limit") &&
          count > 4 && count < 14);
    for (int i = 0; i < count; i++)
        hr_outputs_unref(held[i]);
    /* Iterations in flight may have failed too; afterwards the pipeline runs again. */
    for (int i = 0; i < 4 && status != HR_STATUS_OK; i++)
        status = hr_pipeline_run(p, HANG_MS, &held[0], &error);
    CHECK_OK(status, error);
    hr_outputs_unref(held[0]);
    hr_pipeline_destroy(p);
    fixture_remove(&f);
}

/* zeros of side x side bytes, then the largest of them; the node between makes the zeros a value
 * that stays in the stage, or one that crosses to the next. */
static hr_status run_zeros(int64_t side, bool crosses, hr_error *error)
{
    const double shape[] = {(double)side, (double)side};
    hr_arg_value zeros_args[] = {
        {"shape", {.kind = HR_VALUE_FLOATS, .count = 2, .u.floats = shape}},
        fixture_int("dtype", HR_DTYPE_UINT8)};
    hr_arg_value wanted[] = {fixture_int("batch", 1), fixture_int("dtype", HR_DTYPE_UINT8)};
    hr_pipeline_options options = fixture_options(1, 1);
    hr_edge at = {0, 0};
    hr_node_desc zeros = {.op = "zeros", .args = zeros_args, .arg_count = 2};
    hr_node_desc middle = {.op = "copy", .inputs = &at, .input_count = 1};
    hr_node_desc last = {.op = "reductions.max", .inputs = &at, .input_count = 1};
    hr_graph *g;
    hr_pipeline *p = NULL;
    hr_outputs *out;
    if (crosses) {
        middle.op = "normalize";
        middle.args = wanted;
        middle.arg_count = 2;
    }
    HR_TRY(hr_graph_create(&g, error));
    hr_status status = hr_graph_add_node(g, &zeros, &at.node, error);
    if (status == HR_STATUS_OK)
        status = hr_graph_add_node(g, &middle, &at.node, error);
    if (status == HR_STATUS_OK)
        status = hr_graph_add_node(g, &last, &at.node, error);
    if (status == HR_STATUS_OK)
        status = hr_graph_set_outputs(g, &at, 1, error);
    options.host_memory_limit = (size_t)64 << 20;
    if (status == HR_STATUS_OK)
        status = hr_pipeline_create(&p, g, &options, error);
    hr_graph_destroy(g);
    if (status == HR_STATUS_OK)
        status = hr_pipeline_run(p, HANG_MS, &out, error);
    if (status == HR_STATUS_OK)
        hr_outputs_unref(out);
    hr_pipeline_destroy(p);
    return status;
}

TEST(intermediate_values_meet_the_memory_limit)
{
    hr_error error = {0};
    for (int crosses = 0; crosses < 2; crosses++) {
        CHECK_OK(run_zeros(2000, crosses, &error), error);
        CHECK(run_zeros(12000, crosses, &error) != HR_STATUS_OK);
        CHECK(strstr(error.message, "host_memory_limit"));
        CHECK(run_zeros(200000, crosses, &error) != HR_STATUS_OK); /* 40 GB */
        CHECK(strstr(error.message, "host_memory_limit"));
    }
}

/* Lines of a text file that are whole: a file's name, a tab, a message. -1: some line is not. */
static int whole_lines(const char *path)
{
    char line[4096];
    int count = 0;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof(line), file)) {
        size_t size = strlen(line);
        const char *tab = strchr(line, '\t');
        if (strncmp(line, "class", 5) != 0 || !tab || strchr(tab + 1, '\t') ||
            line[size - 1] != '\n')
            count = -FILES * 1000;
        count++;
    }
    if (file)
        fclose(file);
    return count < 0 ? -1 : count;
}

/* Makes images of which every other one is bad, and options that skip those and list them in the
 * file `path`. */
static void break_half(fixture *f, char path[96], hr_pipeline_options *options)
{
    fixture_make(f, FILES);
    for (int i = 0; i < FILES; i += 2)
        fixture_break(f, i, "P6 nothing");
    sprintf(path, "%s/bad.txt", f->dir);
    options->quarantine = path;
    options->on_error = HR_ON_ERROR_SKIP;
}

/* Two pipelines of four threads append to one file. */
TEST(quarantine_has_whole_lines_of_all_writers)
{
    enum { PIPELINES = 2, RUNS = 40 };
    fixture f;
    hr_error error = {0};
    hr_pipeline *p[PIPELINES];
    hr_outputs *out;
    char path[96];
    fixture_graph o = {.images = true};
    hr_pipeline_options options = fixture_options(4, 4);
    break_half(&f, path, &options);
    for (int k = 0; k < PIPELINES; k++)
        CHECK_OK(fixture_pipeline(&f, &o, &options, &p[k], &error), error);
    int skipped = 0;
    for (int i = 0; i < PIPELINES * RUNS; i++) {
        CHECK_OK(hr_pipeline_run(p[i % PIPELINES], HANG_MS, &out, &error), error);
        skipped += hr_outputs_positions(out) - hr_batch_size(hr_outputs_batch(out, 0));
        hr_outputs_unref(out);
    }
    for (int k = 0; k < PIPELINES; k++)
        hr_pipeline_destroy(p[k]);
    CHECK(skipped > PIPELINES * RUNS && whole_lines(path) >= skipped);
    fixture_remove(&f);
}

/* A slow disk: the write of a line waits until the test lets it go on. The library's calls of
 * `write` come here. */
static atomic_bool disk_is_slow;
static sem_t disk_begins, disk_goes_on;

ssize_t write(int fd, const void *data, size_t size)
{
    if (size > 5 && memcmp(data, "class", 5) == 0 && atomic_exchange(&disk_is_slow, false)) {
        sem_post(&disk_begins);
        sem_wait(&disk_goes_on);
    }
    return syscall(SYS_write, fd, data, size);
}

/* While a worker waits to write a line, others can take the pipeline's lock. */
TEST(the_pipeline_is_not_locked_while_a_line_is_written)
{
    fixture f;
    hr_error error = {0};
    hr_pipeline *p;
    hr_outputs *out;
    char path[96];
    fixture_graph o = {.images = true};
    hr_pipeline_options options = fixture_options(2, 2);
    break_half(&f, path, &options);
    sem_init(&disk_begins, 0, 0);
    sem_init(&disk_goes_on, 0, 0);
    disk_is_slow = true;
    CHECK_OK(fixture_pipeline(&f, &o, &options, &p, &error), error);
    WAIT_FOR(sem_trywait(&disk_begins) == 0); /* the first image is bad */
    WAIT_FOR(pthread_mutex_trylock(&p->lock) == 0);
    pthread_mutex_unlock(&p->lock);
    CHECK(whole_lines(path) == 0);
    sem_post(&disk_goes_on);
    for (int i = 0; i < 10; i++) {
        CHECK_OK(hr_pipeline_run(p, HANG_MS, &out, &error), error);
        hr_outputs_unref(out);
    }
    hr_pipeline_destroy(p);
    CHECK(whole_lines(path) > 0);
    fixture_remove(&f);
}

TEST_MAIN

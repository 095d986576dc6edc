/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* readers.parquet with a back end of this test: orders, groups that fail or are not as they should
 * be, and how many groups are in memory. */
#include <stdatomic.h>
#include <stdlib.h>

#include "exec/fixture.h"
#include "readers/table/groups.h"
#include "readers/table/provider.h"
#include "test.h"
#include "waiting.h"

enum { GROUPS = 6, ROWS = 20 };
static const int64_t first[] = {0, 5, 8, 8, 15, 16, ROWS}, file_groups[] = {0, 3, GROUPS};
static const int64_t odd[] = {0, 5, 4, 8, 15, 16, ROWS};
static const char *const names[] = {"one", "two"};

/* What the back end does with a group. */
typedef enum fault { FAULT_NONE = 0, FAULT_FAILS, FAULT_SHORT, FAULT_TYPE, FAULT_COLUMNS } fault;
static fault faulty;
static int64_t faulty_group;
static atomic_int in_memory, reads;
static hr_error error;

static void release_schema(struct ArrowSchema *schema)
{
    free(schema->children[0]);
    free(schema->children);
    schema->release = NULL;
}

static void release_array(struct ArrowArray *array)
{
    free((void *)(uintptr_t)array->children[0]->buffers[1]);
    free(array->children[0]->buffers);
    free(array->children[0]);
    free(array->children);
    free(array->buffers);
    array->release = NULL;
    in_memory--;
}

/* A group of a column with the numbers of its rows. */
static hr_status read_numbers(void *table, int64_t group, struct ArrowSchema *schema,
                              struct ArrowArray *array, hr_error *e)
{
    fault f = group == faulty_group ? faulty : FAULT_NONE;
    int64_t rows = first[group + 1] - first[group];
    (void)table;
    reads++;
    if (f == FAULT_FAILS)
        return hr_fail(e, HR_STATUS_IO, "the disk is gone");
    struct ArrowSchema *column = calloc(1, sizeof(*column));
    *column = (struct ArrowSchema){.format = f == FAULT_TYPE ? "tdD" : "i", .name = "x"};
    *schema = (struct ArrowSchema){.format = "+s",
                                   .n_children = f == FAULT_COLUMNS ? 0 : 1,
                                   .children = calloc(1, sizeof(column)),
                                   .release = release_schema};
    schema->children[0] = column;
    struct ArrowArray *values = calloc(1, sizeof(*values));
    int32_t *numbers = calloc((size_t)rows + 1, sizeof(*numbers));
    for (int64_t i = 0; i < rows; i++)
        numbers[i] = (int32_t)(first[group] + i);
    rows -= f == FAULT_SHORT;
    *values = (struct ArrowArray){
        .length = rows, .n_buffers = 2, .buffers = calloc(2, sizeof(values->buffers[0]))};
    values->buffers[1] = numbers;
    *array = (struct ArrowArray){.length = rows,
                                 .n_buffers = 1,
                                 .n_children = 1,
                                 .buffers = calloc(1, sizeof(array->buffers[0])),
                                 .children = calloc(1, sizeof(values)),
                                 .release = release_array};
    array->children[0] = values;
    in_memory++;
    return HR_STATUS_OK;
}

static int closed;

static void close_numbers(void *table)
{
    (void)table;
    closed++;
}

static hr_status open_numbers(void *context, const char *const *paths, int32_t path_count,
                              const char *const *columns, int32_t column_count, hr_table_info *out,
                              hr_error *e)
{
    if (path_count != 1 || column_count != 1 || strcmp(columns[0], "x") != 0)
        return hr_fail(e, HR_STATUS_VALUE, "there is no %s", columns[0]);
    *out = (hr_table_info){context, 2, names, file_groups, first, 4 * ROWS};
    if (strcmp(paths[0], "odd") == 0)
        out->first = odd;
    return HR_STATUS_OK;
}

static int context;
static const hr_tables tables = {&context, open_numbers, read_numbers, close_numbers};

static hr_status open_reader(const char *path, const char *column, bool shuffled, hr_pipeline **p)
{
    hr_graph *g;
    int32_t node;
    HR_TRY(hr_graph_create(&g, &error));
    const hr_pipeline_options options = fixture_options(4, 2);
    hr_arg_value args[] = {{"paths", {.kind = HR_VALUE_STRING, .u.s = path}},
                           {"columns", {.kind = HR_VALUE_STRING, .u.s = column}},
                           fixture_int("random_shuffle", shuffled),
                           fixture_int("initial_fill", 3)};
    hr_node_desc desc = {.op = "readers.parquet", .name = "R", .args = args, .arg_count = 4};
    hr_status status = hr_graph_add_node(g, &desc, &node, &error);
    hr_edge output = {node, 0};
    if (status == HR_STATUS_OK)
        status = hr_graph_set_outputs(g, &output, 1, &error);
    if (status == HR_STATUS_OK)
        status = hr_pipeline_create(p, g, &options, &error);
    hr_graph_destroy(g);
    return status;
}

/* The rows of an epoch; -1: a run failed. */
static int run_epoch(hr_pipeline *p, int32_t *rows)
{
    for (int at = 0; at < ROWS;) {
        hr_outputs *o = NULL;
        if (hr_pipeline_run(p, HANG_MS, &o, &error) != HR_STATUS_OK)
            return -1;
        for (int32_t i = 0; i < hr_batch_size(hr_outputs_batch(o, 0)); i++)
            rows[at++] = *(const int32_t *)hr_batch_tensor(hr_outputs_batch(o, 0), i)->data;
        hr_outputs_unref(o);
    }
    return ROWS;
}

TEST(each_row_once_per_epoch)
{
    hr_tables_set(&tables);
    closed = 0;
    for (int shuffled = 0; shuffled < 2; shuffled++) {
        hr_pipeline *p = NULL;
        int32_t rows[ROWS], moved = 0;
        CHECK_OK(open_reader("x", "x", shuffled, &p), error);
        for (int epoch = 0; epoch < 5; epoch++) {
            bool seen[ROWS] = {false};
            CHECK(run_epoch(p, rows) == ROWS);
            for (int i = 0; i < ROWS; i++) {
                CHECK(rows[i] >= 0 && rows[i] < ROWS && !seen[rows[i]]);
                seen[rows[i]] = true;
                moved += rows[i] != i;
            }
        }
        CHECK((moved > 0) == shuffled);
        hr_pipeline_destroy(p);
        CHECK(closed == shuffled + 1 && in_memory == 0);
    }
}

TEST(a_group_that_is_not_as_it_should_be)
{
    static const char *const texts[] = {
        [FAULT_FAILS] = "two: row 0 of row group 0: the disk is gone",
        [FAULT_SHORT] = "two: row 0 of row group 0: it has 6 rows now, and had 7",
        [FAULT_TYPE] = "the Arrow type 'tdD' cannot be read",
        [FAULT_COLUMNS] = "it was read without its 1 columns"};
    hr_tables_set(&tables);
    faulty_group = 3;
    for (faulty = FAULT_FAILS; faulty <= FAULT_COLUMNS; faulty++) {
        hr_pipeline *p = NULL;
        int32_t rows[ROWS];
        CHECK_OK(open_reader("x", "x", false, &p), error);
        CHECK(run_epoch(p, rows) == -1);
        CHECK(strstr(error.message, texts[faulty]));
        hr_pipeline_destroy(p);
        CHECK(in_memory == 0);
    }
    faulty = FAULT_NONE;
}

TEST(tables_that_cannot_be_opened)
{
    hr_pipeline *p = NULL;
    hr_tables_set(&tables);
    CHECK(open_reader("x", "y", false, &p) == HR_STATUS_VALUE);
    CHECK(strstr(error.message, "there is no y"));
    CHECK(open_reader("odd", "x", false, &p) == HR_STATUS_CORRUPT);
    CHECK(strstr(error.message, "make no sense"));
    hr_tables_set(NULL);
    CHECK(open_reader("x", "x", false, &p) == HR_STATUS_ERROR);
    CHECK(strstr(error.message, "hr_tables_set"));
}

static bool take(hr_groups *g, int64_t group)
{
    const hr_group_rows *rows;
    hr_buffer *buffer;
    if (hr_groups_take(g, group, &rows, &buffer, &error) != HR_STATUS_OK)
        return false;
    bool right = rows->rows == first[group + 1] - first[group];
    hr_buffer_unref(buffer);
    return right;
}

/* Groups are read in the order in which they were asked for, up to the limit; one that is taken
 * before is read all the same, and rows that were taken make room. */
TEST(few_groups_are_in_memory)
{
    const hr_table_info info = {&context, 2, names, file_groups, first, 4 * ROWS};
    hr_groups *g = NULL;
    reads = 0;
    CHECK_OK(hr_groups_create(&g, &tables, &info, 1, 2, &error), error);
    for (int64_t group = 0; group < GROUPS; group++)
        CHECK_OK(hr_groups_want(g, group, &error), error);
    WAIT_FOR(reads == 2);
    CHECK(take(g, 5) && reads >= 3);
    CHECK(take(g, 0) && take(g, 1) && take(g, 2) && take(g, 3) && take(g, 4));
    CHECK(reads == GROUPS);
    hr_groups_destroy(g);
    CHECK(in_memory == 0);
}

/* A group that failed is read again when it is asked for anew. */
TEST(a_group_that_failed_is_read_again)
{
    const hr_table_info info = {&context, 2, names, file_groups, first, 4 * ROWS};
    hr_groups *g = NULL;
    CHECK_OK(hr_groups_create(&g, &tables, &info, 1, 2, &error), error);
    faulty = FAULT_FAILS;
    faulty_group = 1;
    for (int row = 0; row < 3; row++)
        CHECK_OK(hr_groups_want(g, 1, &error), error);
    CHECK(!take(g, 1) && !take(g, 1));
    faulty = FAULT_NONE;
    CHECK(!take(g, 1)); /* the last row of the failure */
    CHECK_OK(hr_groups_want(g, 1, &error), error);
    CHECK(take(g, 1));
    hr_groups_destroy(g);
    CHECK(in_memory == 0);
}

/* Rows outlive the groups they came from. */
TEST(rows_that_are_kept)
{
    const hr_table_info info = {&context, 2, names, file_groups, first, 4 * ROWS};
    const hr_group_rows *rows;
    hr_groups *g = NULL;
    hr_buffer *buffer;
    CHECK_OK(hr_groups_create(&g, &tables, &info, 1, 2, &error), error);
    CHECK_OK(hr_groups_take(g, 4, &rows, &buffer, &error), error);
    hr_groups_destroy(g);
    CHECK(((const int32_t *)rows->array.children[0]->buffers[1])[0] == 15 && in_memory == 1);
    hr_buffer_unref(buffer);
    CHECK(in_memory == 0);
}

TEST_MAIN

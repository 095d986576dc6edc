/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Graphs of real operators: building, copying, serialising and reading them back, and errors. */
#include "graph/value.h"
#include "test.h"

#include <math.h>

#define COUNT(list) (int32_t) HR_COUNT_OF(list)
#define NAMED(n, k, ...)                                                                           \
    {                                                                                              \
        n,                                                                                         \
        {                                                                                          \
            .kind = HR_VALUE_##k, __VA_ARGS__                                                      \
        }                                                                                          \
    }

static hr_error error;

static int32_t add(hr_graph *graph, const char *op, const char *name, const hr_edge *inputs,
                   int32_t input_count, const hr_arg_value *args, int32_t arg_count)
{
    int32_t node = -1;
    hr_node_desc desc = {.op = op,
                         .name = name,
                         .origin = "train.py:7",
                         .inputs = inputs,
                         .input_count = input_count,
                         .args = args,
                         .arg_count = arg_count};
    error = (hr_error){0};
    if (hr_graph_add_node(graph, &desc, &node, &error) != HR_STATUS_OK)
        return -(int32_t)error.status;
    return node;
}

/* reader -> decoder -> resize -> crop_mirror_normalize(mirror = coin) */
static hr_graph *training(void)
{
    static const int64_t size[] = {224, 192};
    static const double mean[] = {123.675, 116.28, 103.53};
    hr_graph *g = NULL;
    const hr_arg_value reader[] = {NAMED("file_root", STRING, .u.s = "images/\xff"),
                                   NAMED("random_shuffle", BOOL, .u.i = 1),
                                   NAMED("seed", INT, .u.i = 5)};
    const hr_arg_value resize[] = {NAMED("size", INTS, .count = 2, .u.ints = size),
                                   NAMED("interp_type", INT, .u.i = HR_INTERP_TRIANGULAR)};
    const hr_arg_value cmn[] = {NAMED("mirror", EDGE, .u.edge = {3, 0}),
                                NAMED("mean", FLOATS, .count = 3, .u.floats = mean),
                                NAMED("scale", FLOAT, .u.f = 0.1),
                                NAMED("output_layout", STRING, .u.s = "CHW")};
    const hr_edge bytes = {0, 0}, image = {1, 0}, small = {2, 0};
    const hr_edge outputs[] = {{4, 0}, {0, 1}};
    if (hr_graph_create(&g, &error) != HR_STATUS_OK ||
        add(g, "readers.file", "Reader", NULL, 0, reader, COUNT(reader)) != 0 ||
        add(g, "decoders.image", NULL, &bytes, 1, NULL, 0) != 1 ||
        add(g, "resize", NULL, &image, 1, resize, COUNT(resize)) != 2 ||
        add(g, "random.coin_flip", NULL, NULL, 0, NULL, 0) != 3 ||
        add(g, "crop_mirror_normalize", NULL, &small, 1, cmn, COUNT(cmn)) != 4 ||
        hr_graph_set_outputs(g, outputs, 2, &error) != HR_STATUS_OK) {
        printf("%s\n", error.message);
        hr_graph_destroy(g);
        return NULL;
    }
    return g;
}

static bool nodes_equal(const hr_node *a, const hr_node *b)
{
    bool equal =
        a->def == b->def && strcmp(a->name, b->name) == 0 && strcmp(a->origin, b->origin) == 0 &&
        a->index == b->index && a->draws == b->draws && a->input_count == b->input_count &&
        a->arg_input_count == b->arg_input_count &&
        memcmp(a->given.v, b->given.v, (size_t)hr__args_count(a->def)) == 0 && a->seed == b->seed &&
        a->preserve == b->preserve && a->output_count == b->output_count;
    for (int32_t i = 0; equal && i < a->input_count; i++)
        equal = memcmp(&a->inputs[i], &b->inputs[i], sizeof(hr_edge)) == 0;
    for (int32_t i = 0; equal && i < a->arg_input_count; i++)
        equal = memcmp(&a->arg_inputs[i], &b->arg_inputs[i], sizeof(hr_arg_input)) == 0;
    for (int32_t i = 0; equal && i < hr__args_count(a->def); i++) {
        const hr_arg_def *arg = &a->def->args[i];
        if (!(arg->flags & HR_ARG_IGNORED) && !arg->use)
            equal = hr__field_equal(arg, (const char *)a->args + arg->offset,
                                    (const char *)b->args + arg->offset);
    }
    return equal;
}

static bool graphs_equal(const hr_graph *a, const hr_graph *b)
{
    bool equal = a->count == b->count && a->output_count == b->output_count;
    for (int32_t i = 0; equal && i < a->count; i++)
        equal = nodes_equal(a->nodes[i], b->nodes[i]);
    return equal && (!a->output_count || memcmp(a->outputs, b->outputs,
                                                sizeof(hr_edge) * (size_t)a->output_count) == 0);
}

TEST(build_and_find)
{
    hr_graph *g = training();
    CHECK(g && g->count == 5 && g->output_count == 2);
    CHECK(hr_graph_node_outputs(g, 0) == 2 && hr_graph_node_outputs(g, 1) == 1);
    CHECK(hr_graph_node_outputs(g, 5) == -1 && hr_graph_node_outputs(g, -1) == -1);
    CHECK(hr_graph_find_node(g, "Reader") == 0 && hr_graph_find_node(g, "reader") == -1);
    CHECK(strcmp(g->nodes[2]->name, "__resize_2") == 0);
    CHECK(g->nodes[0]->seed == 5 && g->nodes[3]->seed == -1);
    CHECK(g->nodes[4]->arg_input_count == 1);
    hr_graph_destroy(g);
}

TEST(copy_is_equal_and_independent)
{
    hr_graph *g = training(), *copy = NULL;
    CHECK(g != NULL);
    CHECK_OK(hr_graph_copy(&copy, g, &error), error);
    CHECK(graphs_equal(g, copy));
    CHECK(g->nodes[0] == copy->nodes[0]); /* arguments are stored once */
    CHECK_OK(hr_graph_add_node(g, &(hr_node_desc){.op = "random.coin_flip"}, NULL, &error), error);
    CHECK(g->count == copy->count + 1);
    hr_graph *again = training();
    hr_graph_destroy(g);
    CHECK(again && graphs_equal(again, copy));
    hr_graph_destroy(again);
    hr_graph_destroy(copy);
}

TEST(text_and_back)
{
    hr_graph *g = training(), *parsed = NULL;
    char *text = NULL, *second = NULL;
    size_t size = 0, second_size = 0;
    CHECK(g != NULL);
    CHECK_OK(hr_graph_serialize(g, &text, &size, &error), error);
    CHECK(strlen(text) == size && strstr(text, "\"headrace_graph\": 1"));
    CHECK_OK(hr_graph_parse(&parsed, text, size, &error), error);
    CHECK(graphs_equal(g, parsed));
    CHECK_OK(hr_graph_serialize(parsed, &second, &second_size, &error), error);
    CHECK(strcmp(text, second) == 0);
    hr_graph_destroy(g);
    hr_graph_destroy(parsed);
    /* Every truncated text is refused, without a crash. */
    for (size_t n = 0; n + 2 < size; n++) {
        CHECK(hr_graph_parse(&parsed, text, n, &error) != HR_STATUS_OK);
        CHECK(error.message[0]);
    }
    hr_string_free(text);
    hr_string_free(second);
}

TEST(nodes_that_draw_as_another)
{
    hr_graph *g = NULL, *parsed = NULL, *copy = NULL;
    char *text = NULL;
    size_t size = 0;
    CHECK_OK(hr_graph_create(&g, &error), error);
    for (int32_t i = 0; i < 4; i++) {
        const int32_t before = i - 1;
        hr_node_desc desc = {.op = "random.uniform", .draws_as = i == 0 || i == 3 ? NULL : &before};
        CHECK_OK(hr_graph_add_node(g, &desc, NULL, &error), error);
    }
    CHECK(g->nodes[0]->draws == 0 && g->nodes[1]->draws == 0 && g->nodes[2]->draws == 0);
    CHECK(g->nodes[3]->draws == 3);
    for (int32_t bad = -1; bad <= 4; bad += 5) {
        hr_node_desc desc = {.op = "random.uniform", .draws_as = &bad};
        CHECK(hr_graph_add_node(g, &desc, NULL, &error) == HR_STATUS_VALUE);
        CHECK(strstr(error.message, "which does not exist"));
    }
    CHECK_OK(hr_graph_set_outputs(g, &(hr_edge){1, 0}, 1, &error), error);
    CHECK_OK(hr_graph_copy(&copy, g, &error), error);
    CHECK_OK(hr_graph_serialize(g, &text, &size, &error), error);
    CHECK(strstr(text, "\"headrace_graph\": 2")); /* earlier versions must not read it */
    CHECK_OK(hr_graph_parse(&parsed, text, size, &error), error);
    CHECK(graphs_equal(g, copy) && graphs_equal(g, parsed));
    hr_string_free(text);
    hr_graph_destroy(g);
    hr_graph_destroy(copy);
    hr_graph_destroy(parsed);
}

static bool unparsable(const char *text, hr_status status, const char *part)
{
    hr_graph *g = NULL;
    error = (hr_error){0};
    hr_status got = hr_graph_parse(&g, text, strlen(text), &error);
    if (got == status && strstr(error.message, part))
        return true;
    printf("%s: %s: %s\n", text, hr_status_name(got), error.message);
    if (got == HR_STATUS_OK)
        hr_graph_destroy(g);
    return false;
}

#define GRAPH(nodes, outputs)                                                                      \
    "{\"headrace_graph\": 1, \"nodes\": " nodes ", \"outputs\": " outputs "}"

TEST(hostile_texts)
{
    CHECK(unparsable("{}", HR_STATUS_VALUE, "not a serialized graph"));
    CHECK(unparsable("{\"headrace_graph\": 3}", HR_STATUS_VALUE, "format 3"));
    CHECK(unparsable("{\"headrace_graph\": 0}", HR_STATUS_VALUE, "format 0"));
    CHECK(unparsable("{\"headrace_graph\": 1}", HR_STATUS_VALUE, "\"nodes\" must be a list"));
    CHECK(unparsable(GRAPH("[3]", "[]"), HR_STATUS_VALUE, "node 0: a node must be an object"));
    CHECK(unparsable(GRAPH("[{}]", "[]"), HR_STATUS_VALUE, "the node has no operator"));
    CHECK(unparsable(GRAPH("[{\"op\": 1}]", "[]"), HR_STATUS_VALUE, "\"op\" must be a string"));
    CHECK(unparsable(GRAPH("[{\"op\": \"no\"}]", "[]"), HR_STATUS_KEY,
                     "operator 'no' is not part of this version of Headrace"));
    CHECK(unparsable(GRAPH("[{\"op\": \"resize\", \"inputs\": [[0, 0]]}]", "[]"), HR_STATUS_VALUE,
                     "input 0: node 0 does not exist"));
    CHECK(unparsable(GRAPH("[{\"op\": \"resize\", \"inputs\": [[0]]}]", "[]"), HR_STATUS_VALUE,
                     "an edge must be"));
    CHECK(unparsable(GRAPH("[{\"op\": \"resize\"}]", "[]"), HR_STATUS_VALUE,
                     "takes 1 input (data), got 0"));
    CHECK(unparsable(
        GRAPH("[{\"op\": \"random.coin_flip\", \"args\": {\"probability\": null}}]", "[]"),
        HR_STATUS_VALUE, "argument \"probability\": not a value"));
    CHECK(unparsable(GRAPH("[{\"op\": \"random.coin_flip\", \"args\": {\"probability\": "
                           "[1, \"a\"]}}]",
                           "[]"),
                     HR_STATUS_VALUE, "a list must hold numbers or strings"));
    CHECK(unparsable(GRAPH("[{\"op\": \"random.coin_flip\", \"args\": {\"probability\": "
                           "{\"edge\": [0, 0]}}}]",
                           "[]"),
                     HR_STATUS_VALUE, "node 0 does not exist"));
    CHECK(unparsable(GRAPH("[{\"op\": \"random.coin_flip\"}]", "[[0, 1]]"), HR_STATUS_VALUE,
                     "so output 1 does not exist"));
    CHECK(unparsable(GRAPH("[]", "[[-1, 0]]"), HR_STATUS_VALUE, "an edge must be"));
    CHECK(unparsable(GRAPH("[{\"op\": \"random.coin_flip\", \"draws_as\": 0}]", "[]"),
                     HR_STATUS_VALUE, "it draws as node 0, which does not exist"));
    CHECK(unparsable(GRAPH("[{\"op\": \"random.coin_flip\", \"draws_as\": -1}]", "[]"),
                     HR_STATUS_VALUE, "\"draws_as\" must be the number of a node"));
    CHECK(unparsable(GRAPH("[{\"op\": \"random.coin_flip\", \"draws\": 0}]", "[]"), HR_STATUS_VALUE,
                     "node 0: \"draws\" is not known"));
}

TEST(special_floats_are_floats)
{
    CHECK(unparsable(GRAPH("[{\"op\": \"random.coin_flip\", \"args\": {\"probability\": "
                           "{\"float\": \"nan\"}}}]",
                           "[]"),
                     HR_STATUS_VALUE, "not NaN; got nan"));
    CHECK(unparsable(GRAPH("[{\"op\": \"random.coin_flip\", \"args\": {\"probability\": "
                           "{\"float\": \"-inf\"}}}]",
                           "[]"),
                     HR_STATUS_VALUE, "got -inf"));
    CHECK(unparsable(GRAPH("[{\"op\": \"random.coin_flip\", \"args\": {\"probability\": "
                           "{\"float\": \"one\"}}}]",
                           "[]"),
                     HR_STATUS_VALUE, "not a value"));
}

TEST(refusals)
{
    hr_graph *g = training();
    const hr_edge image = {1, 0}, nowhere = {17, 0}, beyond = {1, 1};
    const hr_edge two[] = {{1, 0}, {1, 0}};
    CHECK(g != NULL);
    CHECK(add(g, "resise", NULL, &image, 1, NULL, 0) == -HR_STATUS_KEY);
    CHECK(strcmp(error.message, "(train.py:7): operator 'resise' is not part of this version of "
                                "Headrace or of a loaded plug-in; did you mean \"resize\"?") == 0);
    CHECK(add(g, "resize", NULL, &nowhere, 1, NULL, 0) == -HR_STATUS_VALUE);
    CHECK(strcmp(error.message, "resize (train.py:7): input 0: node 17 does not exist") == 0);
    CHECK(add(g, "resize", NULL, &beyond, 1, NULL, 0) == -HR_STATUS_VALUE);
    CHECK(strcmp(error.message, "resize (train.py:7): input 0: node 1 (decoders.image) has 1 "
                                "output, so output 1 does not exist") == 0);
    CHECK(add(g, "resize", NULL, two, 2, NULL, 0) == -HR_STATUS_VALUE);
    CHECK(strcmp(error.message, "resize (train.py:7) takes 1 input (data), got 2") == 0);
    CHECK(add(g, "flip", "Reader", &image, 1, NULL, 0) == -HR_STATUS_ERROR);
    CHECK(strcmp(error.message, "flip 'Reader' (train.py:7): another node already has this name") ==
          0);
    CHECK(hr_graph_set_outputs(g, &nowhere, 1, &error) == HR_STATUS_VALUE);
    CHECK(hr_graph_set_outputs(g, NULL, 0, &error) == HR_STATUS_NOT_IMPLEMENTED);
    CHECK(g->count == 5 && g->output_count == 2); /* unchanged */
    hr_graph_destroy(g);
    hr_graph_destroy(NULL);
}

TEST(made_names_never_collide)
{
    hr_graph *g = NULL;
    CHECK_OK(hr_graph_create(&g, &error), error);
    CHECK(add(g, "random.coin_flip", "__random_coin_flip_1", NULL, 0, NULL, 0) == 0);
    CHECK(add(g, "random.coin_flip", NULL, NULL, 0, NULL, 0) == 1);
    CHECK(strcmp(g->nodes[1]->name, "__random_coin_flip_1_1") == 0);
    hr_graph_destroy(g);
}

TEST(every_failed_allocation_is_survived)
{
    hr_graph *g = training(), *other = NULL;
    char *text = NULL;
    size_t size = 0;
    CHECK(g != NULL);
    CHECK_OK(hr_graph_serialize(g, &text, &size, &error), error);
    hr_status status = HR_STATUS_NO_MEMORY;
    int32_t n = 0;
    for (; n < 2000 && status != HR_STATUS_OK; n++) {
        hr_alloc_fail_after(n);
        status = hr_graph_parse(&other, text, size, &error);
        hr_alloc_fail_after(-1);
        CHECK(status == HR_STATUS_OK || status == HR_STATUS_NO_MEMORY);
    }
    CHECK(n > 50 && status == HR_STATUS_OK);
    hr_graph_destroy(other);
    for (status = HR_STATUS_NO_MEMORY, n = 0; n < 2000 && status != HR_STATUS_OK; n++) {
        hr_alloc_fail_after(n);
        status = hr_graph_copy(&other, g, &error);
        hr_alloc_fail_after(-1);
        CHECK(status == HR_STATUS_OK || status == HR_STATUS_NO_MEMORY);
    }
    CHECK(n > 3 && status == HR_STATUS_OK);
    hr_graph_destroy(other);
    hr_graph_destroy(g);
    hr_string_free(text);
}

TEST_MAIN

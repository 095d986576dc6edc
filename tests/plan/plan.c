/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Plans of real graphs (golden/NAME.json) and of small tables made here, compared with
 * golden/NAME.txt word by word. HEADRACE_UPDATE_GOLDEN=1 writes the texts instead; read the
 * difference before committing it. */
#include "graph/value.h"
#include "plan/edge.h"
#include "test.h"

#include <dirent.h>
#include <stdlib.h>

static hr_error error;

/* ---- golden files ---- */

static const char *golden_path(const char *name, const char *suffix)
{
    static char path[1024];
    snprintf(path, sizeof(path), HR_TESTS "/plan/golden/%s%s", name, suffix);
    return path;
}

/* The whole file, zero-terminated, or NULL; freed by the caller. */
static char *file_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = file ? calloc(1, 1 << 16) : NULL;
    if (text && fread(text, 1, (1 << 16) - 1, file) == 0)
        text[0] = '\0';
    if (file)
        fclose(file);
    return text;
}

static bool golden_equal(const char *name, const char *text)
{
    const char *path = golden_path(name, ".txt");
    if (getenv("HEADRACE_UPDATE_GOLDEN")) {
        FILE *file = fopen(path, "wb");
        bool written = file && fputs(text, file) >= 0;
        return file && fclose(file) == 0 && written;
    }
    char *expected = file_read(path);
    bool equal = expected && strcmp(expected, text) == 0;
    if (!equal)
        printf("%s differs; expected\n%s\ngot\n%s\n", path, expected ? expected : "(no file)",
               text);
    free(expected);
    return equal;
}

/* ---- what holds for every plan ---- */

static int32_t position(const hr_plan *plan, int32_t node)
{
    for (int32_t i = 0; i < plan->order_count; i++) {
        if (plan->order[i] == node)
            return i;
    }
    return -1;
}

/* Every edge into planned node `index` comes from an earlier position. */
static bool node_after_inputs(const hr_plan *plan, int32_t index)
{
    const hr_node *node = plan->graph->nodes[index];
    for (int32_t i = 0; i < hr__plan_edge_count(node); i++) {
        hr_edge edge = hr__plan_edge(plan, node, i);
        int32_t before = position(plan, plan->replaced[edge.node]);
        if (before < 0 || before >= position(plan, index))
            return false;
    }
    return true;
}

static bool chain_sound(const hr_plan *plan, int32_t step)
{
    const hr_plan_step *s = &plan->steps[step];
    for (int32_t i = 0; i < s->count; i++) {
        int32_t node = plan->order[s->first + i];
        const hr_plan_value *value = &plan->values[plan->value_of[node]];
        bool last = i + 1 == s->count;
        if (value->internal == last || (!last && (value->uses > 2 || value->output >= 0)))
            return false;
        bool joined = false; /* the input is of the chain */
        for (int32_t k = 0; k < i; k++)
            joined = joined || hr__plan_edge(plan, plan->graph->nodes[node], 0).node ==
                                   plan->order[s->first + k];
        if (i && !joined)
            return false;
    }
    return true;
}

static bool plan_sound(const hr_plan *plan)
{
    int32_t steps = 0, nodes = 0;
    for (int32_t i = 0; i < plan->stage_count; i++) {
        bool infers = plan->stages[i].kind == HR_STAGE_KIND_INFER;
        if (plan->stages[i].first != steps || infers != (plan->stages[i].count == 0))
            return false;
        steps += plan->stages[i].count;
    }
    for (int32_t i = 0; i < plan->step_count; i++) {
        if (plan->steps[i].first != nodes || !chain_sound(plan, i))
            return false;
        nodes += plan->steps[i].count;
    }
    for (int32_t i = 0; i < plan->order_count; i++) {
        int32_t node = plan->order[i];
        if (plan->replaced[node] != node || !node_after_inputs(plan, node))
            return false;
    }
    for (int32_t i = 0; i < plan->output_count; i++) {
        int32_t v = hr_plan_value_find(plan, plan->graph->outputs[i]);
        if (v < 0 || plan->outputs[i] != v || plan->values[v].output > i ||
            plan->values[v].output < 0)
            return false;
    }
    return steps == plan->step_count && nodes == plan->order_count;
}

/* Plans `graph` both ways, checks both, compares the fused one with the golden text. */
static bool plan_golden(const hr_graph *graph, const char *name)
{
    hr_plan *fused = NULL, *plain = NULL;
    hr_text text = {0};
    char *described = NULL;
    bool good = hr_plan_make(&fused, graph, true, &error) == HR_STATUS_OK &&
                hr_plan_make(&plain, graph, false, &error) == HR_STATUS_OK;
    if (!good)
        printf("%s: %s\n", name, error.message);
    for (int32_t i = 0; good && i < plain->step_count; i++)
        good = plain->steps[i].count == 1;
    good =
        good && plan_sound(fused) && plan_sound(plain) && fused->order_count == plain->order_count;
    if (good)
        hr_plan_describe(fused, &text);
    good = good && hr_text_take(&text, &described, NULL, &error) == HR_STATUS_OK &&
           golden_equal(name, described);
    hr_string_free(described);
    hr_plan_destroy(fused);
    hr_plan_destroy(plain);
    return good;
}

static bool graph_file_golden(const char *name)
{
    hr_graph *graph = NULL;
    char *text = file_read(golden_path(name, ".json"));
    bool good = text && hr_graph_parse(&graph, text, strlen(text), &error) == HR_STATUS_OK;
    if (!good)
        printf("%s.json: %s\n", name, error.message);
    good = good && plan_golden(graph, name);
    hr_graph_destroy(graph);
    free(text);
    return good;
}

TEST(real_graphs)
{
    DIR *folder = opendir(golden_path("", ""));
    int32_t count = 0;
    bool good = folder != NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char name[256];
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".json") != 0)
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)(dot - entry->d_name), entry->d_name);
        good = graph_file_golden(name) && good;
        count++;
    }
    if (folder)
        closedir(folder);
    CHECK(good);
    CHECK(count >= 5);
}

/* ---- small tables ---- */

typedef struct small_args {
    float x;
} small_args;

static const hr_arg_def small_defs[] = {HR_ARG(small_args, x, FLOAT, HR_ARG_PER_SAMPLE, "0", "X."),
                                        HR_ARG_END};

static hr_status work(hr_op_call *calls, int32_t n, hr_error *e)
{
    (void)calls, (void)n, (void)e;
    return HR_STATUS_OK;
}

static hr_status infer(hr_op_call *c, hr_error *e)
{
    (void)c, (void)e;
    return HR_STATUS_OK;
}

static hr_status lower(hr_op_call *c, hr_image_program *program, hr_error *e)
{
    (void)c, (void)program, (void)e;
    return HR_STATUS_OK;
}

static const hr_input_def input_of_small[] = {{"data", NULL}, {.name = NULL}};
#define SMALL(id, inputs, ...)                                                                     \
    static const hr_op_def id = {HR_OP_ABI,                                                        \
                                 .name = #id,                                                      \
                                 .doc = "Small.",                                                  \
                                 .args = small_defs,                                               \
                                 .args_size = sizeof(small_args),                                  \
                                 .in = &input_of_small[!(inputs)],                                 \
                                 .in_min = inputs,                                                 \
                                 .in_max = inputs ? 2 : 0,                                         \
                                 __VA_ARGS__}

static const hr_source_def fed = {.kind = HR_SOURCE_KIND_FED};

SMALL(source, 0, .source = &fed);
SMALL(slow, 1, .infer = infer, .run_cpu = work);
SMALL(cheap, 1, .infer = infer, .run_cpu = work, .flags = HR_OP_CHEAP);
SMALL(noise, 0, .infer = infer, .run_cpu = work, .flags = HR_OP_CHEAP | HR_OP_RANDOM);
SMALL(whole, 1, .run_batch = work);
static bool never(const void *args, const hr_given *given)
{
    (void)args, (void)given;
    return false;
}
SMALL(widest, 1, .infer = infer, .run_cpu = work, .infer_batch = work);
SMALL(single, 1, .infer = infer, .run_cpu = work, .run_batch = work, .whole_batch = never);
SMALL(ordered, 1, .infer = infer, .run_cpu = work, .flags = HR_OP_ORDERED);
SMALL(decode, 1, .lower = lower, .lower_rank = HR_LOWER_RANK_SOURCE);
SMALL(window, 1, .lower = lower, .lower_rank = HR_LOWER_RANK_WINDOW);
SMALL(scale, 1, .lower = lower, .lower_rank = HR_LOWER_RANK_RESAMPLE);
SMALL(point, 1, .lower = lower, .lower_rank = HR_LOWER_RANK_POINT);
SMALL(normal, 1, .lower = lower, .lower_rank = HR_LOWER_RANK_NORMALIZE);

/* Node of `def` on output 0 of `a` (and `b`), -1 for none; `x` is a node for the argument, or -1.
 */
static const hr_guard *guard; /* of nodes that are added */

static int32_t add(hr_graph *g, const hr_op_def *def, int32_t a, int32_t b, int32_t x)
{
    hr_edge inputs[] = {{a, 0}, {b, 0}};
    hr_arg_value arg = {"x", {.kind = HR_VALUE_EDGE, .u.edge = {x, 0}}};
    hr_node_desc desc = {.inputs = inputs,
                         .input_count = (a >= 0) + (b >= 0),
                         .args = &arg,
                         .arg_count = x >= 0,
                         .guard = guard};
    int32_t node = -1;
    if (hr__graph_add(g, def, &desc, &node, &error) != HR_STATUS_OK)
        printf("%s\n", error.message);
    return node;
}

static bool finish(hr_graph *g, const char *name, int32_t output)
{
    hr_edge edge = {output, 0};
    bool good = hr_graph_set_outputs(g, &edge, 1, &error) == HR_STATUS_OK && plan_golden(g, name);
    hr_graph_destroy(g);
    return good;
}

static hr_graph *start(void)
{
    hr_graph *g = NULL;
    return hr_graph_create(&g, &error) == HR_STATUS_OK ? g : NULL;
}

TEST(ranks_only_go_forward)
{
    static const hr_op_def *const ops[] = {&decode, &window, &scale,  &window, &point,
                                           &point,  &window, &normal, &window, &normal,
                                           &scale,  &scale,  &point,  &decode};
    hr_graph *g = start();
    int32_t node = add(g, &source, -1, -1, -1);
    for (size_t i = 0; i < HR_COUNT_OF(ops); i++)
        node = add(g, ops[i], node, -1, -1);
    CHECK(finish(g, "ranks", node));
}

/* The chain's arguments are defined in the middle of it and must be made before it. */
TEST(arguments_come_before_the_chain)
{
    hr_graph *g = start();
    int32_t bytes = add(g, &source, -1, -1, -1);
    int32_t image = add(g, &decode, bytes, -1, -1);
    int32_t coin = add(g, &noise, -1, -1, -1);
    int32_t size = add(g, &cheap, coin, -1, -1);
    int32_t small = add(g, &scale, image, -1, size);
    int32_t box = add(g, &slow, bytes, -1, -1);
    int32_t cut = add(g, &window, small, box, -1);
    CHECK(finish(g, "arguments", add(g, &normal, cut, -1, coin)));
}

/* A node looks at the decoded picture and gives the chain its argument: the picture is used twice.
 */
TEST(second_consumer_cuts)
{
    hr_graph *g = start();
    int32_t image = add(g, &decode, add(g, &source, -1, -1, -1), -1, -1);
    int32_t look = add(g, &slow, image, -1, -1);
    CHECK(finish(g, "second_consumer", add(g, &normal, add(g, &scale, image, -1, look), -1, -1)));
}

/* Both inputs of one node: used twice by one consumer. */
TEST(same_input_twice)
{
    hr_graph *g = start();
    int32_t image = add(g, &decode, add(g, &source, -1, -1, -1), -1, -1);
    CHECK(finish(g, "same_input_twice", add(g, &window, image, image, -1)));
}

TEST(batch_nodes_cut_stages)
{
    hr_graph *g = start();
    int32_t bytes = add(g, &source, -1, -1, -1);
    int32_t image = add(g, &decode, bytes, -1, -1);
    int32_t mean = add(g, &whole, add(g, &slow, bytes, -1, -1), -1, -1);
    int32_t other = add(g, &whole, mean, -1, -1);
    int32_t late = add(g, &slow, image, -1, mean);
    CHECK(finish(g, "batch", add(g, &slow, late, other, -1)));
}

/* Shapes over the batch are a stage; the work is sample by sample, with what comes behind it. */
TEST(shapes_over_the_batch_are_a_stage)
{
    hr_graph *g = start();
    int32_t image = add(g, &decode, add(g, &source, -1, -1, -1), -1, -1);
    int32_t size = add(g, &slow, image, -1, -1);
    int32_t wide = add(g, &widest, add(g, &single, image, -1, -1), -1, size);
    CHECK(finish(g, "infer", add(g, &slow, add(g, &widest, wide, -1, -1), image, -1)));
}

TEST(ordered_nodes_cut_stages)
{
    hr_graph *g = start();
    int32_t bytes = add(g, &source, -1, -1, -1);
    int32_t first = add(g, &ordered, bytes, -1, -1);
    add(g, &slow, bytes, -1, -1); /* unused */
    CHECK(finish(g, "ordered", add(g, &cheap, first, bytes, -1)));
}

TEST(cheap_stages_take_the_batch)
{
    hr_graph *g = start();
    int32_t in = add(g, &source, -1, -1, -1);
    int32_t a = add(g, &cheap, in, -1, -1), b = add(g, &cheap, in, -1, -1); /* equal */
    int32_t n1 = add(g, &noise, -1, -1, -1), n2 = add(g, &noise, -1, -1, -1);
    int32_t c = add(g, &cheap, a, n1, -1), d = add(g, &cheap, b, n1, -1);
    int32_t e = add(g, &cheap, b, n2, -1);
    CHECK(finish(g, "cheap", add(g, &cheap, add(g, &cheap, c, d, -1), e, -1)));
}

static const hr_arg_def join_defs[] = {{.name = "predicate",
                                        .type = HR_ARG_TYPE_FLOAT,
                                        .flags = HR_ARG_PER_SAMPLE,
                                        .size = sizeof(float),
                                        .def = "0",
                                        .doc = "Which."},
                                       HR_ARG_END};
static const hr_op_def join = {HR_OP_ABI,
                               .name = "join",
                               .doc = "Joins branches.",
                               .args = join_defs,
                               .args_size = sizeof(small_args),
                               .flags = HR_OP_CHEAP | HR_OP_VIEW | HR_OP_MERGE,
                               .in_min = 2,
                               .in_max = 2,
                               .infer = infer,
                               .run_cpu = work};

static int32_t add_join(hr_graph *g, int32_t a, int32_t b, int32_t predicate)
{
    hr_edge inputs[] = {{a, 0}, {b, 0}};
    hr_arg_value arg = {"predicate", {.kind = HR_VALUE_EDGE, .u.edge = {predicate, 0}}};
    hr_node_desc desc = {
        .inputs = inputs, .input_count = 2, .args = &arg, .arg_count = 1, .guard = guard};
    int32_t node = -1;
    if (hr__graph_add(g, &join, &desc, &node, &error) != HR_STATUS_OK)
        printf("%s\n", error.message);
    return node;
}

/* Chains end where a branch begins or ends; equal nodes are joined within a branch, not across
 * branches; unused branches go with their conditions; outputs are made in place. */
TEST(branches)
{
    hr_graph *g = start();
    int32_t bytes = add(g, &source, -1, -1, -1);
    int32_t image = add(g, &scale, add(g, &decode, bytes, -1, -1), -1, -1);
    int32_t p = add(g, &cheap, bytes, -1, -1), q = add(g, &noise, -1, -1, -1);
    const hr_guard yes = {{p, 0}, true}, no = {{p, 0}, false}, lost = {{q, 0}, true};
    guard = &yes;
    int32_t a = add(g, &normal, add(g, &point, image, -1, -1), -1, -1);
    int32_t twin = add(g, &slow, bytes, -1, -1), same = add(g, &slow, bytes, -1, -1);
    int32_t b = add(g, &slow, twin, same, -1);
    guard = &no;
    int32_t c = add(g, &slow, bytes, -1, -1); /* as `twin`, in the other branch */
    guard = &lost;
    add(g, &slow, bytes, -1, -1);
    guard = NULL;
    int32_t both = add_join(g, a, c, p), other = add_join(g, b, c, p);
    hr_edge outputs[] = {{both, 0}, {other, 0}};
    hr_plan *plan;
    CHECK_OK(hr_graph_set_outputs(g, outputs, 2, &error), error);
    CHECK(plan_golden(g, "branches"));
    CHECK_OK(hr_plan_make(&plan, g, true, &error), error);
    CHECK(plan->values[hr_plan_value_find(plan, (hr_edge){a, 0})].made_in == 0);
    CHECK(plan->values[hr_plan_value_find(plan, (hr_edge){b, 0})].made_in == 1);
    CHECK(plan->values[hr_plan_value_find(plan, (hr_edge){c, 0})].made_in == -1); /* used twice */
    CHECK(plan->replaced[same] == twin && plan->replaced[c] == c && plan->replaced[q] == -1);
    hr_plan_destroy(plan);
    hr_graph_destroy(g);
}

/* What branches begin with, the branches and their merge are a chain, which goes on; the second one
 * is none, because a branch looks at the picture twice. */
TEST(branches_in_a_chain)
{
    hr_graph *g = start();
    int32_t bytes = add(g, &source, -1, -1, -1);
    int32_t p = add(g, &noise, -1, -1, -1), q = add(g, &noise, -1, -1, -1);
    const hr_guard yes = {{p, 0}, true}, no = {{p, 0}, false}, other = {{q, 0}, true};
    int32_t image = add(g, &decode, bytes, -1, -1);
    guard = &yes;
    int32_t angle = add(g, &noise, -1, -1, -1);
    int32_t a = add(g, &window, add(g, &slow, image, -1, angle), -1, -1);
    guard = &no;
    int32_t b = add(g, &point, image, -1, -1);
    guard = NULL;
    int32_t small = add(g, &scale, add_join(g, a, b, p), -1, -1);
    guard = &other;
    int32_t c = add(g, &slow, small, small, -1);
    guard = NULL;
    CHECK(finish(g, "branches_in_a_chain", add(g, &normal, add_join(g, c, small, q), -1, -1)));
}

TEST(values)
{
    hr_plan *plan = NULL;
    hr_graph *g = start();
    int32_t in = add(g, &source, -1, -1, -1);
    int32_t a = add(g, &slow, in, -1, -1), same = add(g, &slow, in, -1, -1);
    int32_t w = add(g, &whole, a, -1, -1), z = add(g, &slow, w, same, -1);
    int32_t gone = add(g, &slow, w, -1, -1);
    hr_edge outputs[] = {{z, 0}, {same, 0}, {same, 0}};
    CHECK_OK(hr_graph_set_outputs(g, outputs, 3, &error), error);
    CHECK_OK(hr_plan_make(&plan, g, true, &error), error);
    CHECK(plan_sound(plan) && plan->stage_count == 3 && plan->order_count == 4);
    CHECK(plan->replaced[same] == a && plan->replaced[gone] == -1 && plan->value_of[same] == -1);
    int32_t v = hr_plan_value_find(plan, (hr_edge){same, 0});
    CHECK(v == hr_plan_value_find(plan, (hr_edge){a, 0}) && v >= 0);
    CHECK(plan->values[v].uses == 4 && plan->values[v].crosses && plan->values[v].output == 1);
    CHECK(plan->values[v].stage == 0 && plan->outputs[1] == v && plan->outputs[2] == v);
    v = hr_plan_value_find(plan, (hr_edge){in, 0});
    CHECK(plan->values[v].uses == 1 && !plan->values[v].crosses && plan->values[v].output == -1);
    CHECK(hr_plan_value_find(plan, (hr_edge){gone, 0}) == -1);
    CHECK(hr_plan_value_find(plan, (hr_edge){in, 1}) == -1);
    CHECK(hr_plan_value_find(plan, (hr_edge){99, 0}) == -1);
    hr_plan_destroy(plan);
    hr_graph_destroy(g);
}

SMALL(part, 1, .infer = infer, .run_cpu = work, .flags = HR_OP_BORROWS);
SMALL(view, 1, .infer = infer, .run_cpu = work, .flags = HR_OP_VIEW);

TEST(what_borrows_memory_is_known)
{
    hr_plan *plan = NULL;
    hr_graph *g = start();
    int32_t in = add(g, &source, -1, -1, -1), p = add(g, &part, in, -1, -1);
    int32_t views[] = {add(g, &view, in, -1, -1), add(g, &view, p, -1, -1)};
    int32_t own = add(g, &slow, views[1], -1, -1);
    hr_edge outputs[] = {{in, 0}, {views[0], 0}, {p, 0}, {views[1], 0}, {own, 0}};
    bool borrows[] = {false, false, true, true, false};
    CHECK_OK(hr_graph_set_outputs(g, outputs, 5, &error), error);
    CHECK_OK(hr_plan_make(&plan, g, true, &error), error);
    for (int32_t i = 0; i < 5; i++)
        CHECK(plan->values[plan->outputs[i]].borrows == borrows[i]);
    hr_plan_destroy(plan);
    hr_graph_destroy(g);
}

TEST(named_nodes_and_outputs_are_not_merged)
{
    hr_plan *plan = NULL;
    hr_graph *g = start();
    int32_t in = add(g, &source, -1, -1, -1), named = -1;
    hr_node_desc desc = {.name = "named", .inputs = &(hr_edge){in, 0}, .input_count = 1};
    int32_t first = add(g, &slow, in, -1, -1);
    CHECK_OK(hr__graph_add(g, &slow, &desc, &named, &error), error);
    int32_t second = add(g, &slow, in, -1, -1), hidden = add(g, &slow, in, -1, -1);
    int32_t user = add(g, &point, hidden, -1, -1);
    hr_edge outputs[] = {{first, 0}, {named, 0}, {second, 0}, {user, 0}};
    CHECK_OK(hr_graph_set_outputs(g, outputs, 4, &error), error);
    CHECK_OK(hr_plan_make(&plan, g, true, &error), error);
    CHECK(plan->replaced[first] == first && plan->replaced[named] == named);
    CHECK(plan->replaced[second] == second && plan->replaced[hidden] == second);
    hr_plan_destroy(plan);
    hr_graph_destroy(g);
}

TEST(nodes_with_the_same_draws_are_merged)
{
    hr_plan *plan = NULL;
    hr_graph *g = start();
    int32_t first = add(g, &noise, -1, -1, -1), same = -1;
    hr_node_desc desc = {.draws_as = &first};
    CHECK_OK(hr__graph_add(g, &noise, &desc, &same, &error), error);
    int32_t other = add(g, &noise, -1, -1, -1);
    hr_edge outputs[] = {
        {add(g, &slow, first, -1, -1), 0}, {add(g, &slow, same, -1, -1), 0}, {other, 0}};
    CHECK_OK(hr_graph_set_outputs(g, outputs, 3, &error), error);
    CHECK_OK(hr_plan_make(&plan, g, true, &error), error);
    CHECK(plan->replaced[same] == first && plan->replaced[other] == other);
    hr_plan_destroy(plan);
    hr_graph_destroy(g);
}

TEST(every_failed_allocation_is_survived)
{
    hr_plan *plan = NULL;
    hr_graph *g = start();
    hr_edge out = {add(g, &decode, add(g, &source, -1, -1, -1), -1, -1), 0};
    CHECK_OK(hr_graph_set_outputs(g, &out, 1, &error), error);
    hr_status status = HR_STATUS_NO_MEMORY;
    int32_t n = 0;
    for (; n < 100 && status != HR_STATUS_OK; n++) {
        hr_alloc_fail_after(n);
        status = hr_plan_make(&plan, g, true, &error);
        hr_alloc_fail_after(-1);
        CHECK(status == HR_STATUS_OK || status == HR_STATUS_NO_MEMORY);
    }
    CHECK(n > 10 && status == HR_STATUS_OK);
    hr_plan_destroy(plan);
    hr_graph_destroy(g);
}

TEST(no_outputs_is_no_plan)
{
    hr_plan *plan = NULL;
    hr_graph *g = start();
    add(g, &source, -1, -1, -1);
    CHECK(hr_plan_make(&plan, g, true, &error) == HR_STATUS_NOT_IMPLEMENTED);
    hr_graph_destroy(g);
}

TEST_MAIN

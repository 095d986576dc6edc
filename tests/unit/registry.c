/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Every built-in table is valid, every name finds its operator, and invalid tables are refused. */
#include "graph/value.h"
#include "test.h"

#include <pthread.h>

TEST(builtin_tables_are_sound)
{
    hr_error error = {0};
    CHECK(hr_registry_count() > 0);
    for (int32_t i = 0; i < hr_registry_count(); i++)
        CHECK_OK(hr_op_def_check(hr_registry_get(i), &error), error);
    CHECK(hr_registry_get(-1) == NULL);
    CHECK(hr_registry_get(hr_registry_count()) == NULL);
}

static void *find_all(void *unused)
{
    (void)unused;
    for (int32_t i = 0; i < hr_registry_count(); i++) {
        const hr_op_def *def = hr_registry_get(i);
        bool deprecated = true;
        if (hr_registry_find(def->name, &deprecated) != def || deprecated)
            return "name";
        for (int32_t k = 0; def->aliases && def->aliases[k]; k++) {
            deprecated = false;
            if (hr_registry_find(def->aliases[k], &deprecated) != def || !deprecated)
                return "alias";
        }
    }
    return NULL;
}

TEST(names_and_aliases_find_their_operator)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, find_all, NULL) == 0);
    for (int i = 0; i < 4; i++) {
        void *wrong = NULL;
        pthread_join(threads[i], &wrong);
        if (wrong)
            printf("a %s does not find its operator\n", (char *)wrong);
        CHECK(wrong == NULL);
    }
    bool deprecated = true;
    CHECK(hr_registry_find("no.such.operator", &deprecated) == NULL && !deprecated);
    CHECK(hr_registry_find("", NULL) == NULL);
    CHECK(hr_registry_find(NULL, NULL) == NULL);
}

typedef struct sample_args {
    int32_t a;
    float b;
    hr_floats list;
} sample_args;

static hr_status run_nothing(hr_op_call *calls, int32_t n, hr_error *error)
{
    (void)calls, (void)n, (void)error;
    return HR_STATUS_OK;
}

static hr_status infer_nothing(hr_op_call *c, hr_error *error)
{
    (void)c, (void)error;
    return HR_STATUS_OK;
}

/* Wraps `args` in a valid table. */
static const hr_input_def one_input[] = {{"data", NULL}, {NULL}};

static hr_op_def table(const hr_arg_def *args)
{
    return (hr_op_def){HR_OP_ABI,
                       .name = "sample",
                       .doc = "A table.",
                       .args = args,
                       .args_size = sizeof(sample_args),
                       .in = one_input,
                       .in_min = 1,
                       .in_max = 1,
                       .out_count = 1,
                       .infer = infer_nothing,
                       .run_cpu = run_nothing};
}

static bool refused(const hr_arg_def *args, const char *part)
{
    hr_error error = {0};
    hr_op_def def = table(args);
    hr_status status = hr_op_def_check(&def, &error);
    if (status == HR_STATUS_OK || !strstr(error.message, part))
        printf("status %s: %s\n", hr_status_name(status), error.message);
    return status != HR_STATUS_OK && strstr(error.message, part);
}

TEST(sound_table_passes)
{
    const hr_arg_def args[] = {
        HR_ARG(sample_args, a, INT, 0, "-3", "A."),
        HR_ARG(sample_args, b, FLOAT, HR_ARG_OPTIONAL, NULL, "B."),
        HR_ARG(sample_args, list, FLOATS, 0, "[0.08, 1]", "L.", .count_min = 2, .count_max = 2),
        HR_ARG_ACCEPT(hint, INTS, "[0]", "Nothing."), HR_ARG_END};
    hr_error error = {0};
    hr_op_def def = table(args);
    CHECK_OK(hr_op_def_check(&def, &error), error);
}

static hr_status next_nothing(hr_op_call *c, hr_stream_event *event, hr_error *error)
{
    (void)c, (void)event, (void)error;
    return HR_STATUS_OK;
}

static size_t save_nothing(const void *state, void *room, size_t size)
{
    (void)state, (void)room, (void)size;
    return 0;
}

TEST(incomplete_sources_are_refused)
{
    const hr_arg_def args[] = {HR_ARG_END};
    const hr_stream_def empty = {0}, streams[] = {{.next = next_nothing},
                                                  {.next = next_nothing, .save = save_nothing}};
    const struct {
        hr_source_def source;
        const char *part; /* of the message; NULL: it is accepted */
    } cases[] = {
        {{.kind = HR_SOURCE_KIND_INDEXED}, "its source is not complete"},
        {{.kind = HR_SOURCE_KIND_STREAM}, "its stream is not complete"},
        {{.kind = HR_SOURCE_KIND_STREAM, .stream = &empty}, "its stream is not complete"},
        {{.kind = HR_SOURCE_KIND_STREAM, .stream = &streams[1]}, "its stream is not complete"},
        {{.kind = HR_SOURCE_KIND_STREAM, .stream = &streams[0]}, NULL},
        {{.kind = HR_SOURCE_KIND_STREAM + 1, .stream = &streams[0]}, "kind of source is unknown"},
    };
    for (size_t i = 0; i < HR_COUNT_OF(cases); i++) {
        hr_error error = {0};
        hr_op_def def = {HR_OP_ABI,    .name = "sample", .doc = "A table.",
                         .args = args, .out_count = 1,   .source = &cases[i].source};
        hr_status status = hr_op_def_check(&def, &error);
        CHECK((status == HR_STATUS_OK) == !cases[i].part);
        CHECK(!cases[i].part || strstr(error.message, cases[i].part));
    }
}

TEST(bad_arguments_are_refused)
{
    const hr_arg_def wrong_size[] = {HR_ARG(sample_args, a, INT64, 0, "1", "A."), HR_ARG_END};
    CHECK(refused(wrong_size, "the field has 4 bytes, INT64 needs 8"));
    const hr_arg_def outside[] = {{.name = "a",
                                   .type = HR_ARG_TYPE_INT,
                                   .offset = sizeof(sample_args),
                                   .size = 4,
                                   .def = "1",
                                   .doc = "A."},
                                  HR_ARG_END};
    CHECK(refused(outside, "outside the args struct"));
    const hr_arg_def no_default[] = {HR_ARG(sample_args, a, INT, 0, NULL, "A."), HR_ARG_END};
    CHECK(refused(no_default, "no default"));
    const hr_arg_def bad_default[] = {HR_ARG(sample_args, a, INT, 0, "[1", "A."), HR_ARG_END};
    CHECK(refused(bad_default, "default of \"a\""));
    const hr_arg_def other_default[] = {HR_ARG(sample_args, a, INT, 0, "0.5", "A."), HR_ARG_END};
    CHECK(refused(other_default, "must be an integer"));
    const hr_arg_def no_enum[] = {HR_ARG(sample_args, a, INTERP, 0, "INTERP_FOO", "A."),
                                  HR_ARG_END};
    CHECK(refused(no_enum, "INTERP_LINEAR"));
    const hr_arg_def twice[] = {HR_ARG(sample_args, a, INT, 0, "1", "A."),
                                HR_ARG(sample_args, a, INT, 0, "1", "A."), HR_ARG_END};
    CHECK(refused(twice, "twice"));
    const hr_arg_def shared[] = {
        HR_ARG(sample_args, a, INT, 0, "1", "A."),
        {.name = "c", .type = HR_ARG_TYPE_INT, .size = 4, .def = "1", .doc = "C."},
        HR_ARG_END};
    CHECK(refused(shared, "shares its field with \"a\""));
    const hr_arg_def nowhere[] = {
        HR_ARG(sample_args, a, INT, HR_ARG_DEPRECATED, "1", "A.", .use = "z"), HR_ARG_END};
    CHECK(refused(nowhere, "\"z\", which replaces it, does not exist"));
    const hr_arg_def no_doc[] = {HR_ARG(sample_args, a, INT, 0, "1", NULL), HR_ARG_END};
    CHECK(refused(no_doc, "no documentation"));
    const hr_arg_def range[] = {HR_ARG(sample_args, a, INT, 0, "1", "A.", .min = 1), HR_ARG_END};
    CHECK(refused(range, "allows nothing"));
    const hr_arg_def nobody[] = {HR_ARG(sample_args, a, INT, 0, "1", "A.", .excludes = "b|c"),
                                 HR_ARG(sample_args, b, FLOAT, 0, "1", "B."), HR_ARG_END};
    CHECK(refused(nobody, "\"c\", which it excludes, does not exist"));
}

TEST(bad_tables_are_refused)
{
    const hr_arg_def none[] = {HR_ARG_END};
    hr_op_def def = table(none);
    hr_error error = {0};
    def.abi = 99;
    CHECK(hr_op_def_check(&def, &error) == HR_STATUS_VALUE);
    def = table(none);
    def.run_cpu = NULL;
    CHECK(hr_op_def_check(&def, &error) == HR_STATUS_VALUE && strstr(error.message, "runs it"));
    def = table(none);
    def.in_max = HR_OP_MAX_INPUTS + 1;
    CHECK(hr_op_def_check(&def, &error) == HR_STATUS_VALUE && strstr(error.message, "inputs"));
    def = table(none);
    def.in = NULL;
    CHECK(hr_op_def_check(&def, &error) == HR_STATUS_VALUE && strstr(error.message, "no names"));
    def = table(none);
    def.flags = HR_OP_MERGE;
    CHECK(hr_op_def_check(&def, &error) == HR_STATUS_VALUE && strstr(error.message, "predicate"));
    def = table(none);
    def.out_count = -1;
    CHECK(hr_op_def_check(&def, &error) == HR_STATUS_VALUE && strstr(error.message, "outputs"));
    def = table(none);
    def.infer_batch = run_nothing;
    CHECK_OK(hr_op_def_check(&def, &error), error);
    def.run_batch = run_nothing;
    CHECK_OK(hr_op_def_check(&def, &error), error);
    def.run_cpu = NULL;
    CHECK(hr_op_def_check(&def, &error) == HR_STATUS_VALUE && strstr(error.message, "per sample"));
    def = table(none);
    def.lower_rank = HR_LOWER_RANK_POINT;
    CHECK(hr_op_def_check(&def, &error) == HR_STATUS_VALUE && strstr(error.message, "lower_rank"));
}

static int32_t outputs_of_nothing(const void *args, int32_t n_in)
{
    (void)args, (void)n_in;
    return 0;
}

/* What a table leaves out follows from the rest of it, and what it says is what counts. */
TEST(inputs_and_outputs_follow)
{
    static const hr_input_def three[] = {{"a"}, {"b"}, {"c"}, {NULL}};
    static const hr_output_def two[] = {{.name = "x"}, {.name = "y"}, {.name = NULL}};
    const struct {
        hr_op_def def;
        int32_t in_min, in_max, out_count;
        const char *first; /* output */
    } cases[] = {
        {{.name = "nothing"}, 0, 0, 1, "output"},
        {{.in = three}, 3, 3, 1, "output"},
        {{.in = three, .in_min = 1}, 1, 3, 1, "output"},
        {{.in = three, .in_max = 1}, 0, 1, 1, "output"},
        {{.in = three, .in_min = 2, .in_max = 9}, 2, 9, 1, "output"},
        {{.out = two}, 0, 0, 2, "x"},
        {{.out = two, .out_count = 1}, 0, 0, 1, "x"},
        {{.out = two, .outputs = outputs_of_nothing}, 0, 0, -1, "x"},
        {{.outputs = outputs_of_nothing}, 0, 0, -1, "output"},
        {{.outputs = outputs_of_nothing, .out_count = 3}, 0, 0, 3, "output"},
        {{.out_keys = "fields"}, 0, 0, -1, NULL},
        {{.out_keys = "fields", .out_count = -1}, 0, 0, -1, NULL},
    };
    for (size_t i = 0; i < HR_COUNT_OF(cases); i++) {
        hr_op_ports p = hr_op_ports_of(&cases[i].def);
        CHECK(p.in_min == cases[i].in_min && p.in_max == cases[i].in_max);
        CHECK(p.out_count == cases[i].out_count);
        CHECK(cases[i].first ? p.out && strcmp(p.out[0].name, cases[i].first) == 0 : !p.out);
    }
}

/* What takes the place of an operator on a GPU: see hr_op_def.on_gpu. */
TEST(parts_fit_their_operator)
{
    int found = 0;
    for (int32_t i = 0; i < hr_registry_count(); i++) {
        const hr_op_def *def = hr_registry_get(i);
        if (!def->on_gpu)
            continue;
        const hr_op_def *first = hr_registry_find(def->on_gpu[0], NULL);
        const hr_op_def *last = hr_registry_find(def->on_gpu[1], NULL);
        found++;
        CHECK(first && last && hr_op_has_kernels(first) && hr_op_has_kernels(last));
        CHECK(!hr_op_runs_on_cpu(first) && !hr_op_runs_on_cpu(last));
        CHECK(first->args == def->args && first->args_size == def->args_size);
        CHECK(hr_op_ports_of(first).in_max == hr_op_ports_of(def).in_max);
        CHECK(hr_op_ports_of(first).out_count == 2 && hr__args_count(last) == 0);
        CHECK(hr_op_ports_of(last).in_min == 2 && hr_op_ports_of(last).in_max == 2);
        CHECK(!last->in[0].host && last->in[1].host);
        CHECK(hr_op_ports_of(last).out_count == hr_op_ports_of(def).out_count);
        CHECK(strcmp(first->shown, def->name) == 0 && strcmp(last->shown, def->name) == 0);
        CHECK(first->flags & last->flags & HR_OP_HIDDEN);
    }
    CHECK(found > 0);
}

TEST(schema_is_json_and_complete)
{
    hr_error error = {0};
    char *text = NULL;
    hr_json *schema = NULL;
    CHECK_OK(hr_schema_json(&text, &error), error);
    CHECK_OK(hr_json_parse(&schema, text, strlen(text), &error), error);
    const hr_json *ops = hr_json_get(schema, "operators");
    CHECK(ops && ops->count == hr_registry_count());
    for (int32_t i = 0; i < ops->count; i++) {
        const hr_op_def *def = hr_registry_get(i);
        const hr_json *name = hr_json_get(&ops->items[i], "name");
        const hr_json *args = hr_json_get(&ops->items[i], "args");
        CHECK(name && strcmp(name->s, def->name) == 0);
        bool function = def->flags & HR_OP_FUNCTION; /* which is passed like an argument */
        CHECK(args && args->count == hr__args_count(def) + function);
        for (int32_t k = function; k < args->count; k++) {
            const hr_json *type = hr_json_get(&args->items[k], "type");
            const hr_json *deflt = hr_json_get(&args->items[k], "default");
            const hr_arg_def *arg = &def->args[k - function];
            CHECK(strcmp(type->s, hr__arg_type_name(arg->type)) == 0);
            CHECK(arg->def ? strcmp(deflt->s, arg->def) == 0 : deflt->kind == HR_JSON_KIND_NULL);
        }
    }
    hr_json_destroy(schema);
    hr_string_free(text);
}

TEST_MAIN

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Values into args structs: what is converted, what is refused, and the messages. */
#include "graph/value.h"
#include "test.h"

#include <math.h>

typedef struct all_args {
    int32_t flag, number, dtype, image_type, interp, opt_int, required;
    int64_t wide;
    float real, ratio, opt_real;
    const char *text, *layout, *choice;
    hr_ints ints;
    hr_int64s wides;
    hr_floats floats;
    hr_floats opt_floats;
    hr_strings strings;
    const hr_json *fields, *json;
} all_args;

static const hr_arg_def all_defs[] = {
    HR_ARG(all_args, flag, BOOL, HR_ARG_PER_SAMPLE, "True", "Flag."),
    HR_ARG(all_args, number, INT, HR_ARG_PER_SAMPLE, "7", "Number."),
    HR_ARG(all_args, dtype, DTYPE, 0, "FLOAT", "Type."),
    HR_ARG(all_args, image_type, IMAGE_TYPE, 0, "BGR", "Colours."),
    HR_ARG(all_args, interp, INTERP, HR_ARG_PER_SAMPLE, "INTERP_CUBIC", "Filter."),
    HR_ARG(all_args, opt_int, INT, HR_ARG_OPTIONAL, NULL, "Optional number.",
           .excludes = "interp|wide"),
    HR_ARG(all_args, required, INT, HR_ARG_REQUIRED, NULL, "Needed."),
    HR_ARG(all_args, wide, INT64, HR_ARG_PER_SAMPLE, "-5000000000", "Wide number."),
    HR_ARG(all_args, real, FLOAT, HR_ARG_PER_SAMPLE | HR_ARG_NONFINITE, "-1.5e2", "Any number."),
    HR_ARG(all_args, ratio, FLOAT, HR_ARG_PER_SAMPLE, "0.5", "Ratio.", .min = 0.1, .max = 0.9),
    HR_ARG(all_args, opt_real, FLOAT, HR_ARG_OPTIONAL, NULL, "Optional."),
    HR_ARG(all_args, text, STRING, HR_ARG_PER_SAMPLE, "\"hello, you\"", "Text."),
    HR_ARG(all_args, layout, LAYOUT, HR_ARG_OPTIONAL, NULL, "Layout."),
    HR_ARG(all_args, choice, STRING, 0, "'round'", "Mode.", .choices = "round|truncate"),
    HR_ARG(all_args, ints, INTS, HR_ARG_PER_SAMPLE, "(1, 2)", "Ints.", .min = 0, .max = 9),
    HR_ARG(all_args, wides, INT64S, HR_ARG_PER_SAMPLE | HR_ARG_PER_FRAME, "[]", "Wides."),
    HR_ARG(all_args, floats, FLOATS, HR_ARG_PER_SAMPLE, "[0.08, 1]", "Range.", .count_min = 2,
           .count_max = 3),
    HR_ARG(all_args, opt_floats, FLOATS, HR_ARG_OPTIONAL, NULL, "Optional list."),
    HR_ARG(all_args, strings, STRINGS, 0, "[\"a\", \"b\"]", "Texts."),
    HR_ARG(all_args, fields, JSON, 0, "{\"x\": [1]}", "Fields.",
           .form = "{str: [int] | ('pair' | 'none', dtype, float | str | None) | bool}"),
    HR_ARG(all_args, json, JSON, HR_ARG_OPTIONAL, NULL, "Anything."),
    {.name = "old_number",
     .type = HR_ARG_TYPE_INT,
     .flags = HR_ARG_DEPRECATED,
     .doc = "Old.",
     .use = "number"},
    HR_ARG_ACCEPT(hint, INT, "0", "Nothing."),
    HR_ARG_END};

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

static hr_status all_check(const void *args, const hr_given *given, hr_error *error)
{
    (void)given;
    if (((const all_args *)args)->number == 13)
        return hr_fail(error, HR_STATUS_ERROR, "13 brings bad luck");
    return HR_STATUS_OK;
}

static const hr_op_def all_op = {HR_OP_ABI,
                                 .name = "test.all",
                                 .doc = "All types.",
                                 .args = all_defs,
                                 .args_size = sizeof(all_args),
                                 .out_count = 1,
                                 .check = all_check,
                                 .infer = infer_nothing,
                                 .run_cpu = run_nothing};

#define INT(x) ((hr_value){.kind = HR_VALUE_INT, .u.i = (x)})
#define BOOLEAN(x) ((hr_value){.kind = HR_VALUE_BOOL, .u.i = (x)})
#define FLOAT(x) ((hr_value){.kind = HR_VALUE_FLOAT, .u.f = (x)})
#define STRING(x) ((hr_value){.kind = HR_VALUE_STRING, .u.s = (x)})
#define INTS(n, ...)                                                                               \
    ((hr_value){.kind = HR_VALUE_INTS, .count = (n), .u.ints = (const int64_t[]){__VA_ARGS__}})
#define FLOATS(n, ...)                                                                             \
    ((hr_value){.kind = HR_VALUE_FLOATS, .count = (n), .u.floats = (const double[]){__VA_ARGS__}})
#define STRINGS(n, ...)                                                                            \
    ((hr_value){                                                                                   \
        .kind = HR_VALUE_STRINGS, .count = (n), .u.strings = (const char *const[]){__VA_ARGS__}})

/* A graph of one node, which has the argument `required` and one more. */
static hr_graph *graph;
static hr_error error;

static hr_status build(const char *name, hr_value value)
{
    hr_arg_value args[] = {{"required", INT(1)}, {name, value}};
    hr_node_desc desc = {.name = "n", .origin = "train.py:31", .args = args, .arg_count = 2};
    hr_graph_destroy(graph);
    graph = NULL;
    error = (hr_error){0};
    if (hr_graph_create(&graph, &error) != HR_STATUS_OK)
        return HR_STATUS_NO_MEMORY;
    return hr__graph_add(graph, &all_op, &desc, NULL, &error);
}

static const all_args *built(const char *name, hr_value value)
{
    if (build(name, value) == HR_STATUS_OK)
        return graph->nodes[0]->args;
    printf("%s: %s\n", name, error.message);
    return NULL;
}

static bool refused(const char *name, hr_value value, hr_status status, const char *message)
{
    hr_status got = build(name, value);
    if (got == status && strcmp(error.message, message) == 0)
        return true;
    printf("%s: %s: %s\n", name, hr_status_name(got), error.message);
    return false;
}

TEST(table_is_sound)
{
    CHECK_OK(hr_op_def_check(&all_op, &error), error);
}

static bool fields_refused(const char *value, const char *message)
{
    char text[512];
    snprintf(text, sizeof(text), "test.all 'n' (train.py:31): argument \"fields\"%s", message);
    return refused("fields", STRING(value), HR_STATUS_TYPE, text);
}

TEST(json)
{
    const all_args *a = built("fields", STRING("{\"b\": [1, 2], \"a\": [\"pair\", 9, 0.5]}"));
    CHECK(a && a->json == NULL && a->fields->kind == HR_JSON_KIND_OBJECT && a->fields->count == 2);
    CHECK(strcmp(a->fields->keys[0], "b") == 0 && a->fields->items[0].items[1].i == 2);
    CHECK(hr_json_get(a->fields, "a")->items[2].f == 0.5);
    CHECK((a = built("fields", STRING("{}"))) && a->fields->count == 0);
    CHECK((a = built("fields", STRING("{\"a\": true, \"b\": [], \"c\": [\"none\", 1, null]}"))));
    CHECK((a = built("json", STRING("[[1, 2], [\"x\", [null]]]"))) && a->json->count == 2);
    CHECK(a->fields->items[0].items[0].i == 1); /* the default */

    CHECK(fields_refused("[1]", ": must be {str: [int] | ('pair' | 'none', dtype, float | str | "
                                "None) | bool}; got [1]"));
    CHECK(fields_refused("{\"a\": [1, 2.5]}", ", at [\"a\"][1]: must be int; got 2.5"));
    CHECK(fields_refused("{\"a\": 3}",
                         ", at [\"a\"]: must be [int] | ('pair' | 'none', dtype, float "
                         "| str | None) | bool; got 3"));
    CHECK(fields_refused("{\"a\": [\"pair\", 77777, 0]}",
                         ", at [\"a\"][0]: must be int; got \"pair\""));
    CHECK(
        refused("fields", STRING("{\"a\": "), HR_STATUS_VALUE,
                "test.all 'n' (train.py:31): argument \"fields\": JSON, byte 6: unexpected end of "
                "the text"));
    CHECK(refused("json", INT(3), HR_STATUS_TYPE,
                  "test.all 'n' (train.py:31): argument \"json\": must be JSON text; got 3"));
    CHECK(build("json", (hr_value){.kind = HR_VALUE_EDGE}) == HR_STATUS_TYPE);
}

TEST(json_text_round_trip)
{
    char *text = NULL;
    size_t size = 0;
    hr_graph *copy = NULL;
    CHECK(built("json", STRING("{\"n\\n\": [1, {\"caf\\udce9\": -0.5}]}")));
    CHECK_OK(hr_graph_serialize(graph, &text, &size, &error), error);
    CHECK(strstr(text, "\"json\": \"{\\\"n\\\\n\\\": [1, "));
    hr_string_free(text);
    CHECK_OK(hr_graph_create(&copy, &error), error);
    const hr_node_desc desc = hr__node_describe(graph->nodes[0]);
    CHECK_OK(hr__graph_add(copy, graph->nodes[0]->def, &desc, NULL, &error), error);
    const all_args *a = graph->nodes[0]->args, *b = copy->nodes[0]->args;
    CHECK(a->json != b->json && hr_json_equal(a->json, b->json));
    CHECK(strcmp(b->json->items[0].items[1].keys[0], "caf\xe9") == 0);
    hr_graph_destroy(copy);
}

TEST(equal_json)
{
    static const char *const texts[] = {
        "[1, {\"a\": null}]",   " [1,{\"a\":null}] ",    "[1, {\"b\": null}]",    "[1, {\"a\": 0}]",
        "[1.5, {\"a\": null}]", "[1, {\"a\": null}, 2]", "[true, {\"a\": null}]", "[[]]"};
    hr_arg_def def = {.type = HR_ARG_TYPE_JSON};
    hr_json *json[8], *absent = NULL;
    for (int i = 0; i < 8; i++)
        CHECK_OK(hr_json_parse(&json[i], texts[i], strlen(texts[i]), &error), error);
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < 8; k++)
            CHECK(hr__field_equal(&def, &json[i], &json[k]) == (i == k || i + k == 1));
        CHECK(!hr__field_equal(&def, &json[i], &absent));
    }
    CHECK(hr__field_equal(&def, &absent, &absent));
    for (int i = 0; i < 8; i++)
        hr_json_destroy(json[i]);
}

TEST(forms)
{
    static const char *const good[] = {"any", " int | str ", "[ [int] ]", "(int, (str) , 'a b')",
                                       "{ str : {str: any} } | None"};
    static const char *const bad[] = {"",       "integer",    "[int",  "int]",   "(int,)",
                                      "()",     "{int: str}", "{str}", "int |",  "'open",
                                      "[int]x", "[]",         "{}",    "int int"};
    for (size_t i = 0; i < HR_COUNT_OF(good); i++)
        CHECK_OK(hr__form_check(good[i], &error), error);
    for (size_t i = 0; i < HR_COUNT_OF(bad); i++)
        CHECK(hr__form_check(bad[i], &error) == HR_STATUS_VALUE);
    char deep[80] = "";
    for (int i = 0; i < 30; i++)
        strcat(deep, "[");
    CHECK(hr__form_check(deep, &error) == HR_STATUS_VALUE);
}

TEST(defaults)
{
    const all_args *a = built("hint", INT(3));
    CHECK(a != NULL);
    CHECK(a->flag == 1 && a->number == 7 && a->required == 1);
    CHECK(a->dtype == HR_DTYPE_FLOAT && a->image_type == HR_IMAGE_TYPE_BGR);
    CHECK(a->interp == HR_INTERP_CUBIC && a->opt_int == -1);
    CHECK(a->wide == -5000000000 && a->real == -150.0f && a->ratio == 0.5f);
    CHECK(isnan(a->opt_real) && a->layout == NULL && a->opt_floats.v == NULL);
    CHECK(strcmp(a->text, "hello, you") == 0 && strcmp(a->choice, "round") == 0);
    CHECK(a->ints.n == 2 && a->ints.v[0] == 1 && a->ints.v[1] == 2);
    CHECK(a->wides.n == 0 && a->wides.v != NULL);
    CHECK(a->floats.n == 2 && a->floats.v[0] == 0.08f && a->floats.v[1] == 1.0f);
    CHECK(a->strings.n == 2 && strcmp(a->strings.v[1], "b") == 0);
}

TEST(conversions)
{
    const all_args *a;
    CHECK((a = built("flag", INT(0))) && a->flag == 0);
    CHECK((a = built("flag", INT(5))) && a->flag == 1);
    CHECK((a = built("number", BOOLEAN(1))) && a->number == 1);
    CHECK((a = built("number", FLOAT(2.0))) && a->number == 2);
    CHECK((a = built("real", INT(3))) && a->real == 3.0f);
    CHECK((a = built("real", FLOAT(INFINITY))) && isinf(a->real));
    CHECK((a = built("ratio", FLOAT(0.1))) && a->ratio == 0.1f);
    CHECK((a = built("wide", INT(INT64_MIN))) && a->wide == INT64_MIN);
    CHECK((a = built("wide", FLOAT(-9223372036854775808.0))) && a->wide == INT64_MIN);
    CHECK((a = built("dtype", INT(HR_DTYPE_UINT8))) && a->dtype == HR_DTYPE_UINT8);
    CHECK((a = built("dtype", STRING("INT64"))) && a->dtype == HR_DTYPE_INT64);
    CHECK(!built("dtype", INT(HR_DTYPE_INTERP_TYPE)) && !built("dtype", STRING("DATA_TYPE")));
    CHECK((a = built("opt_int", INT(4))) && a->opt_int == 4);
    CHECK((a = built("layout", STRING("CHW"))) && strcmp(a->layout, "CHW") == 0);
    CHECK((a = built("choice", STRING("truncate"))) && strcmp(a->choice, "truncate") == 0);
    CHECK((a = built("ints", INT(4))) && a->ints.n == 1 && a->ints.v[0] == 4);
    CHECK((a = built("ints", FLOATS(2, 3.0, 5.0))) && a->ints.n == 2 && a->ints.v[1] == 5);
    CHECK((a = built("floats", INTS(3, 1, 2, 3))) && a->floats.n == 3 && a->floats.v[2] == 3.0f);
    CHECK((a = built("wides", INTS(1, INT64_MAX))) && a->wides.v[0] == INT64_MAX);
    CHECK((a = built("wides", FLOATS(0, 0.0))) && a->wides.n == 0);
    CHECK((a = built("opt_floats", INTS(0, 0))) && a->opt_floats.n == 0 && a->opt_floats.v);
    CHECK((a = built("strings", STRING("x"))) && a->strings.n == 1 && a->strings.v[0][0] == 'x');
    CHECK((a = built("strings", STRINGS(2, "x", "yz"))) && strcmp(a->strings.v[1], "yz") == 0);
    CHECK((a = built("old_number", INT(8))) && a->number == 8);
    const hr_given *given = &graph->nodes[0]->given;
    CHECK(hr_arg_given(given, "number") && hr_arg_given(given, "required"));
    CHECK(!hr_arg_given(given, "flag") && !hr_arg_given(given, "old_number"));
}

TEST(refusals_of_types)
{
    CHECK(refused("number", FLOAT(2.5), HR_STATUS_TYPE,
                  "test.all 'n' (train.py:31): argument \"number\": must be an integer; got 2.5"));
    CHECK(refused("number", FLOAT(NAN), HR_STATUS_TYPE,
                  "test.all 'n' (train.py:31): argument \"number\": must be an integer; got nan"));
    CHECK(refused("wide", FLOAT(9223372036854775808.0), HR_STATUS_TYPE,
                  "test.all 'n' (train.py:31): argument \"wide\": must be an integer; got "
                  "9.22337204e+18"));
    CHECK(
        refused("number", STRING("2"), HR_STATUS_VALUE,
                "test.all 'n' (train.py:31): argument \"number\": must be an integer; got \"2\""));
    CHECK(refused("real", STRING("2"), HR_STATUS_VALUE,
                  "test.all 'n' (train.py:31): argument \"real\": must be a number; got \"2\""));
    CHECK(refused("text", INT(2), HR_STATUS_TYPE,
                  "test.all 'n' (train.py:31): argument \"text\": must be a string; got 2"));
    CHECK(refused("number", INTS(2, 1, 2), HR_STATUS_TYPE,
                  "test.all 'n' (train.py:31): argument \"number\": must be one value, not a list; "
                  "got [1, 2]"));
    CHECK(refused("number", INTS(1, 1), HR_STATUS_TYPE,
                  "test.all 'n' (train.py:31): argument \"number\": must be one value, not a list; "
                  "got [1]"));
    CHECK(refused("ints", STRINGS(1, "a"), HR_STATUS_VALUE,
                  "test.all 'n' (train.py:31): argument \"ints\": must be an integer; got "
                  "[\"a\"]"));
    CHECK(refused("strings", INTS(1, 1), HR_STATUS_TYPE,
                  "test.all 'n' (train.py:31): argument \"strings\": must be a string; got [1]"));
    hr_value edge = {.kind = HR_VALUE_EDGE, .u.edge = {0, 0}};
    CHECK(
        refused("dtype", edge, HR_STATUS_TYPE,
                "test.all 'n' (train.py:31): argument \"dtype\": should not be a 'DataNode' but a "
                "constant: it has one value for all samples"));
}

TEST(refusals_of_values)
{
    CHECK(
        refused("number", INT(INT64_C(1) << 31), HR_STATUS_VALUE,
                "test.all 'n' (train.py:31): argument \"number\": must be between -2147483648 and "
                "2147483647; got 2147483648"));
    CHECK(
        refused("ratio", FLOAT(0.95), HR_STATUS_ERROR,
                "test.all 'n' (train.py:31): argument \"ratio\": must be between 0.1 and 0.9; got "
                "0.95"));
    CHECK(refused("ratio", FLOAT(NAN), HR_STATUS_VALUE,
                  "test.all 'n' (train.py:31): argument \"ratio\": must be a number, not NaN; got "
                  "nan"));
    CHECK(refused("opt_real", FLOAT(1e300), HR_STATUS_VALUE,
                  "test.all 'n' (train.py:31): argument \"opt_real\": must be a finite number that "
                  "a float can hold; got 1e+300"));
    CHECK(refused("ints", INTS(2, 1, 10), HR_STATUS_ERROR,
                  "test.all 'n' (train.py:31): argument \"ints\": must be between 0 and 9; got [1, "
                  "10]"));
    CHECK(refused("floats", FLOATS(1, 0.5), HR_STATUS_ERROR,
                  "test.all 'n' (train.py:31): argument \"floats\": must have between 2 and 3 "
                  "elements; got [0.5]"));
    CHECK(refused("choice", STRING("rou"), HR_STATUS_ERROR,
                  "test.all 'n' (train.py:31): argument \"choice\": must be one of round|truncate; "
                  "got \"rou\""));
    CHECK(refused("interp", INT(17), HR_STATUS_VALUE,
                  "test.all 'n' (train.py:31): argument \"interp\": must be one of INTERP_NN, "
                  "INTERP_LINEAR, INTERP_CUBIC, INTERP_LANCZOS3, INTERP_TRIANGULAR, "
                  "INTERP_GAUSSIAN; got 17"));
    CHECK(build("dtype", INT(-1)) == HR_STATUS_VALUE);
    CHECK(build("layout", STRING("HWCHWCHWC")) == HR_STATUS_VALUE);
    CHECK(refused("number", INT(13), HR_STATUS_ERROR,
                  "test.all 'n' (train.py:31): 13 brings bad luck"));
}

TEST(refusals_of_names)
{
    CHECK(refused("numbr", INT(1), HR_STATUS_KEY,
                  "test.all 'n' (train.py:31): argument \"numbr\" is not defined for this "
                  "operator; did you mean \"number\"?"));
    CHECK(build("zzzzzz", INT(1)) == HR_STATUS_KEY);
    CHECK(strstr(error.message, "; it has flag, number, dtype"));
    CHECK(!strstr(error.message, "old_number"));
    CHECK(refused("required", INT(1), HR_STATUS_VALUE,
                  "test.all 'n' (train.py:31): argument \"required\" is given twice"));
    hr_arg_value args[] = {{"number", INT(1)}, {"old_number", INT(2)}};
    hr_node_desc desc = {.args = args, .arg_count = 2};
    CHECK(hr__graph_add(graph, &all_op, &desc, NULL, &error) == HR_STATUS_VALUE);
    CHECK(strcmp(error.message, "test.all: argument \"number\" is given twice (\"old_number\" is "
                                "its old name)") == 0);
    desc.arg_count = 1;
    CHECK(hr__graph_add(graph, &all_op, &desc, NULL, &error) == HR_STATUS_ERROR);
    CHECK(strcmp(error.message,
                 "test.all: Not all required arguments were specified. Please specify values for "
                 "arguments: \"required\"") == 0);
}

TEST(arguments_that_exclude_each_other)
{
    hr_arg_value args[] = {{"required", INT(1)}, {"wide", INT(1)}, {"opt_int", INT(1)}};
    hr_node_desc desc = {.args = args, .arg_count = 3};
    CHECK(build("opt_int", INT(1)) == HR_STATUS_OK);
    CHECK_OK(hr_args_check_excludes(graph->nodes[graph->count - 1], &error), error);
    CHECK_OK(hr__graph_add(graph, &all_op, &desc, NULL, &error), error);
    CHECK(hr_args_check_excludes(graph->nodes[graph->count - 1], &error) == HR_STATUS_ERROR);
    CHECK(strcmp(error.message,
                 "test.all: Arguments `opt_int` and `wide` are mutually exclusive") == 0);
}

enum { MANY = 200 };

/* The sum of those arguments a0 .. a199 that are given. */
static hr_status many_check(const void *args, const hr_given *given, hr_error *e)
{
    int32_t sum = 0;
    char name[16];
    for (int32_t i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "a%d", i);
        sum += hr_arg_given(given, name) ? ((const int32_t *)args)[i] : 0;
    }
    return sum == 65 + 199 ? HR_STATUS_OK : hr_fail(e, HR_STATUS_ERROR, "the sum is %d", sum);
}

TEST(many_arguments_inputs_and_outputs)
{
    static char names[MANY][16];
    static hr_arg_def defs[MANY + 1];
    static const hr_input_def in[] = {{"a"}, {"b"}, {"c"}, {"d"}, {"e", NULL, true}, {NULL}};
    for (int32_t i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof(names[i]), "a%d", i);
        defs[i] = (hr_arg_def){.name = names[i],
                               .type = HR_ARG_TYPE_INT,
                               .size = 4,
                               .def = "1",
                               .offset = (size_t)i * 4,
                               .doc = "A number."};
    }
    hr_op_def def = all_op;
    def.args = defs;
    def.args_size = MANY * 4;
    def.check = many_check;
    def.in = in;
    def.in_max = 7;
    CHECK_OK(hr_op_def_check(&def, &error), error);
    CHECK(hr_input_of(&def, 3) == &in[3] && hr_input_of(&def, 4) == &in[4]);
    CHECK(hr_input_of(&def, 6)->host);
    hr_arg_value args[] = {{"a65", INT(65)}, {"a199", INT(199)}};
    hr_node_desc desc = {.args = args, .arg_count = 2};
    CHECK(build("hint", INT(1)) == HR_STATUS_OK);
    CHECK_OK(hr__graph_add(graph, &def, &desc, NULL, &error), error);
    desc.arg_count = 1;
    CHECK(hr__graph_add(graph, &def, &desc, NULL, &error) == HR_STATUS_ERROR);
    hr_graph_destroy(graph);
    graph = NULL;
}

TEST(common_arguments)
{
    CHECK(built("bytes_per_sample_hint", INTS(1, 0)));
    CHECK(built("seed", INT(77)) && graph->nodes[0]->seed == -1); /* it is not a random operator */
    CHECK(built("preserve", BOOLEAN(1)) && graph->nodes[0]->preserve);
    CHECK(built("device", STRING("cpu")));
    CHECK(built("name", STRING("other")) && hr_graph_find_node(graph, "other") == 0);
    CHECK(build("seed", STRING("x")) == HR_STATUS_VALUE);
    CHECK(refused("device", STRING("gpu"), HR_STATUS_ERROR,
                  "test.all 'n' (train.py:31): does not support device=\"gpu\"; it supports cpu"));
    CHECK(refused("device", STRING("tpu"), HR_STATUS_VALUE,
                  "test.all 'n' (train.py:31): argument \"device\": must be \"cpu\", \"gpu\" or "
                  "\"mixed\"; got \"tpu\""));
}

TEST(every_failed_allocation_is_survived)
{
    hr_status status = HR_STATUS_NO_MEMORY;
    int32_t failed = 0;
    for (; failed < 200 && status != HR_STATUS_OK; failed++) {
        hr_graph_destroy(graph);
        graph = NULL;
        hr_alloc_fail_after(failed);
        status = build("strings", STRINGS(2, "x", "yz"));
        hr_alloc_fail_after(-1);
        CHECK(status == HR_STATUS_OK || status == HR_STATUS_NO_MEMORY);
    }
    CHECK(failed > 10 && failed < 200);
}

/* ---- values per sample ---- */

static hr_tensor tensor(void *data, hr_dtype dtype, int32_t ndim, int64_t extent)
{
    hr_tensor t;
    hr_tensor_describe(&t, dtype, (hr_shape){ndim, {extent}}, NULL);
    t.data = data;
    return t;
}

static hr_status set(all_args *args, const char *name, hr_tensor t, hr_arena *arena)
{
    const hr_node *node = graph->nodes[0];
    memcpy(args, node->args, sizeof(*args));
    return hr_args_set_sample(node, args, hr_args_find(&all_op, name), &t, arena, &error);
}

TEST(samples)
{
    hr_arena *arena = NULL;
    all_args a;
    CHECK(built("hint", INT(1)));
    CHECK_OK(hr_arena_create(&arena, &error), error);
    int32_t i32[3] = {4, 5, 6}, big = 12;
    float f32[3] = {0.25f, 3.0f, NAN};
    uint8_t u8[4] = {'p', 'a', 't', 'h'};
    int64_t i64 = INT64_C(1) << 40;
    CHECK_OK(set(&a, "number", tensor(i32, HR_DTYPE_INT32, 0, 0), arena), error);
    CHECK(a.number == 4 && a.required == 1 && a.flag == 1);
    CHECK_OK(set(&a, "number", tensor(&f32[1], HR_DTYPE_FLOAT, 1, 1), arena), error);
    CHECK(a.number == 3);
    CHECK_OK(set(&a, "interp", tensor(i32, HR_DTYPE_INTERP_TYPE, 1, 1), arena), error);
    CHECK(a.interp == HR_INTERP_TRIANGULAR);
    CHECK_OK(set(&a, "real", tensor(u8, HR_DTYPE_UINT8, 0, 0), arena), error);
    CHECK(a.real == 112.0f);
    CHECK_OK(set(&a, "ints", tensor(i32, HR_DTYPE_INT32, 1, 3), arena), error);
    CHECK(a.ints.n == 3 && a.ints.v[2] == 6);
    CHECK_OK(set(&a, "floats", tensor(f32, HR_DTYPE_FLOAT, 1, 2), arena), error);
    CHECK(a.floats.n == 2 && a.floats.v[0] == 0.25f);
    CHECK_OK(set(&a, "text", tensor(u8, HR_DTYPE_UINT8, 1, 4), arena), error);
    CHECK(strcmp(a.text, "path") == 0);
    CHECK_OK(set(&a, "wides", tensor(&i64, HR_DTYPE_INT64, 0, 0), arena), error);
    CHECK(a.wides.n == 1 && a.wides.v[0] == i64);
    /* The data pointer of an empty list is NULL. */
    CHECK_OK(set(&a, "wides", tensor(NULL, HR_DTYPE_INT64, 1, 0), arena), error);
    CHECK(a.wides.n == 0 && a.wides.v);

    CHECK(set(&a, "number", tensor(f32, HR_DTYPE_FLOAT, 0, 0), arena) == HR_STATUS_ERROR);
    CHECK(strcmp(error.message, "test.all 'n' (train.py:31): argument \"number\": must be an "
                                "integer; got 0.25 (FLOAT)") == 0);
    CHECK(set(&a, "number", tensor(&i64, HR_DTYPE_INT64, 0, 0), arena) == HR_STATUS_ERROR);
    CHECK(set(&a, "number", tensor(i32, HR_DTYPE_INT32, 1, 3), arena) == HR_STATUS_ERROR);
    CHECK(strcmp(error.message,
                 "test.all 'n' (train.py:31): argument \"number\": must be one value "
                 "per sample; got a tensor of INT32 of shape 3") == 0);
    CHECK(set(&a, "number", tensor(NULL, HR_DTYPE_INT32, 1, 0), arena) == HR_STATUS_ERROR);
    CHECK(set(&a, "ratio", tensor(&f32[2], HR_DTYPE_FLOAT, 0, 0), arena) == HR_STATUS_ERROR);
    CHECK(strcmp(error.message, "test.all 'n' (train.py:31): argument \"ratio\": must be a number, "
                                "not NaN; got nan (FLOAT)") == 0);
    CHECK(set(&a, "ratio", tensor(&f32[1], HR_DTYPE_FLOAT, 0, 0), arena) == HR_STATUS_ERROR);
    CHECK(set(&a, "interp", tensor(&big, HR_DTYPE_INTERP_TYPE, 0, 0), arena) == HR_STATUS_ERROR);
    CHECK(set(&a, "interp", tensor(i32, HR_DTYPE_INT32, 0, 0), arena) == HR_STATUS_ERROR);
    CHECK(strcmp(error.message, "test.all 'n' (train.py:31): argument \"interp\": must be of type "
                                "INTERP_TYPE (use fn.cast); got 4 (INT32)") == 0);
    CHECK(set(&a, "interp", tensor(i32, HR_DTYPE_DATA_TYPE, 0, 0), arena) == HR_STATUS_ERROR);
    CHECK(set(&a, "number", tensor(i32, HR_DTYPE_INTERP_TYPE, 0, 0), arena) == HR_STATUS_ERROR);
    CHECK(set(&a, "real", tensor(i32, HR_DTYPE_IMAGE_TYPE, 0, 0), arena) == HR_STATUS_ERROR);
    CHECK(set(&a, "floats", tensor(f32, HR_DTYPE_FLOAT, 1, 1), arena) == HR_STATUS_ERROR);
    CHECK(set(&a, "ints", tensor(&big, HR_DTYPE_INT32, 1, 1), arena) == HR_STATUS_ERROR);
    hr_tensor frames = tensor(f32, HR_DTYPE_FLOAT, 1, 2);
    frames.layout = (hr_layout){"F"};
    CHECK(set(&a, "floats", frames, arena) == HR_STATUS_ERROR);
    CHECK(strstr(error.message, "values per frame are not supported by this version of Headrace"));
    frames = tensor(i32, HR_DTYPE_INT32, 1, 3);
    frames.layout = (hr_layout){"F"};
    CHECK_OK(set(&a, "wides", frames, arena), error);
    CHECK(a.wides.n == 3 && a.wides.v[1] == 5);
    hr_arena_destroy(arena);
}

TEST(values_as_text)
{
    char text[64];
    hr_value many = INTS(9, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    CHECK(strcmp(hr__value_text(&many, text, sizeof(text)), "[1, 2, 3, 4, 5, 6, 7, 8, ...]") == 0);
    hr_value whole = FLOAT(2.0);
    CHECK(strcmp(hr__value_text(&whole, text, sizeof(text)), "2.0") == 0);
    CHECK(strcmp(hr__value_text(&many, text, 8), "[1, 2, ") == 0);
}

TEST(zz_clean_up)
{
    hr_graph_destroy(graph);
    graph = NULL;
    CHECK(graph == NULL);
}

TEST_MAIN

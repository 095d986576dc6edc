/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Guards in graphs: serialising and reading them back, and which nodes may use which outputs. */
#include "graph/value.h"
#include "test.h"

static hr_error error;

#define HEAD                                                                                       \
    "{\"headrace_graph\": 1, \"nodes\": ["                                                         \
    "{\"op\": \"external_source\"},"                                                               \
    "{\"op\": \"_conditional.validate_logical\", \"inputs\": [[0, 0]],"                            \
    " \"args\": {\"expression_name\": \"if\"}},"                                                   \
    "{\"op\": \"_conditional.validate_logical\", \"inputs\": [[0, 0]],"                            \
    " \"args\": {\"expression_name\": \"if\"}, \"guard\": [1, 0, true]},"
#define LAST(from, guard) "{\"op\": \"copy\", \"inputs\": [[" from ", 0]]" guard "}"
#define COPY(from, guard) LAST(from, guard) ","
#define IF(node) ", \"guard\": [" node ", 0, true]"
#define UNLESS(node) ", \"guard\": [" node ", 0, false]"
#define MERGE(a, b, p, guard)                                                                      \
    "{\"op\": \"_conditional.merge\", \"inputs\": [[" a ", 0], [" b                                \
    ", 0]], \"args\": {\"predicate\": " p "}" guard "}"
#define P(node) "{\"edge\": [" node ", 0]}"
#define TAIL(out) "], \"outputs\": [[" out ", 0]]}"

static bool refused(const char *text, const char *part)
{
    hr_graph *g = NULL;
    error = (hr_error){0};
    if (hr_graph_parse(&g, text, strlen(text), &error) == HR_STATUS_VALUE &&
        strstr(error.message, part))
        return true;
    printf("%s\n%s: %s\n", text, hr_status_name(error.status), error.message);
    hr_graph_destroy(g);
    return false;
}

TEST(text_and_back)
{
    static const char text[] = HEAD COPY("0", IF("2")) COPY("0", UNLESS("2"))
        MERGE("3", "4", P("2"), IF("1")) "," COPY("5", IF("1")) COPY("0", UNLESS("1"))
            MERGE("6", "7", P("1"), "") TAIL("8");
    hr_graph *g, *copy;
    char *first, *second;
    CHECK_OK(hr_graph_parse(&g, text, strlen(text), &error), error);
    CHECK(g->nodes[3]->guarded && g->nodes[3]->guard.predicate.node == 2 &&
          g->nodes[3]->guard.when);
    CHECK(g->nodes[4]->guarded && !g->nodes[4]->guard.when && !g->nodes[8]->guarded);
    CHECK_OK(hr_graph_copy(&copy, g, &error), error);
    CHECK_OK(hr_graph_serialize(g, &first, NULL, &error), error);
    CHECK_OK(hr_graph_serialize(copy, &second, NULL, &error), error);
    CHECK(strcmp(first, second) == 0 && strstr(first, "\"guard\": [2, 0, false]"));
    hr_string_free(first);
    hr_string_free(second);
    hr_graph_destroy(copy);
    hr_graph_destroy(g);
}

TEST(what_a_branch_makes_stays_in_it)
{
    CHECK(refused(HEAD COPY("0", IF("1")) "{\"op\": \"copy\", \"inputs\": [[3, 0]]}" TAIL("4"),
                  "node 4: copy: the output of copy exists only in a branch"));
    CHECK(refused(HEAD COPY("0", IF("1")) COPY("3", UNLESS("1")) "{\"op\": \"copy\"}" TAIL("0"),
                  "node 4: copy: the output of copy exists only in a branch"));
    CHECK(refused(HEAD COPY("0", IF("2")) COPY("3", IF("1")) "{\"op\": \"copy\"}" TAIL("0"),
                  "node 4: copy: the output of copy exists only in a branch"));
    CHECK(refused(HEAD COPY("0", IF("1")) COPY("3", IF("2")) "{\"op\": \"copy\"}" TAIL("0"),
                  "node 5: copy takes 1 input (data), got 0")); /* a branch within a branch may use
                                                             the outer one's outputs */
    CHECK(refused(
        HEAD "{\"op\": \"random.coin_flip\", \"args\": {\"probability\": " P("2") "}}" TAIL("3"),
        "node 3: random.coin_flip: the output of _conditional.validate_logical"));
}

TEST(merges_take_one_input_of_each_branch)
{
    CHECK(refused(HEAD COPY("0", UNLESS("1")) COPY("0", IF("1")) MERGE("3", "4", P("1"), "")
                      TAIL("5"),
                  "node 5: _conditional.merge: the output of copy exists only in a branch"));
    CHECK(refused(HEAD COPY("0", IF("2")) COPY("0", UNLESS("2")) MERGE("3", "4", P("2"), "")
                      TAIL("5"),
                  "node 5: _conditional.merge: the output of _conditional.validate_logical"));
    CHECK(refused(HEAD COPY("0", IF("1")) COPY("0", UNLESS("1")) MERGE("3", "4", "true", "")
                      TAIL("5"),
                  "node 5: _conditional.merge: it needs two inputs, and a tensor as predicate"));
}

TEST(guards_are_checked)
{
    CHECK(refused(HEAD LAST("0", ", \"guard\": [7, 0, true]") TAIL("0"),
                  "guard: node 7 does not exist"));
    CHECK(
        refused(HEAD LAST("0", ", \"guard\": [1, 1, true]") TAIL("0"), "output 1 does not exist"));
    CHECK(refused(HEAD LAST("0", ", \"guard\": [1, 0, 1]") TAIL("0"), "\"guard\" must be"));
    CHECK(refused(HEAD LAST("0", ", \"guard\": [1, 0]") TAIL("0"), "\"guard\" must be"));
    CHECK(refused(HEAD LAST("0", ", \"guard\": 1") TAIL("0"), "\"guard\" must be"));
    CHECK(refused(HEAD "{\"op\": \"external_source\", \"guard\": [1, 0, true]}" TAIL("0"),
                  "external_source: a source"));
    CHECK(refused(HEAD
                  "{\"op\": \"_to_gpu\", \"device\": \"gpu\", \"inputs\": [[1, 0]]},"
                  "{\"op\": \"copy\", \"inputs\": [[0, 0]], \"guard\": [3, 0, true]}" TAIL("0"),
                  "the condition of its branch must be on the CPU"));
}

TEST_MAIN

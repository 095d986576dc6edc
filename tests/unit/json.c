/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Growing text and the JSON reader. */
#include "core/json.h"
#include "core/alloc.h"
#include "json_text.h"
#include "test.h"
#include "xorshift.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>

static hr_status parse(hr_json **out, const char *text, hr_error *error)
{
    return hr_json_parse(out, text, strlen(text), error);
}

/* ---- writing ---- */

TEST(text_grows)
{
    hr_error error;
    hr_text text = {0};
    for (int i = 0; i < 5000; i++)
        hr_text_append(&text, "%d,", i);
    char *out;
    size_t size;
    CHECK_OK(hr_text_take(&text, &out, &size, &error), error);
    CHECK(size == strlen(out) && size == 10 * 2 + 90 * 3 + 900 * 4 + 4000 * 5);
    CHECK(strncmp(out, "0,1,2,", 6) == 0 && strcmp(out + size - 5, "4999,") == 0);
    hr_string_free(out);
    CHECK(!text.data && text.size == 0);
    CHECK_OK(hr_text_take(&text, &out, NULL, &error), error);
    CHECK(strcmp(out, "") == 0);
    hr_string_free(out);
}

TEST(text_without_memory)
{
    hr_error error;
    char *out;
    for (int n = 0; n < 3; n++) {
        hr_text text = {0};
        hr_alloc_fail_after(n);
        for (int i = 0; i < 400; i++)
            hr_text_append_quoted(&text, "abc\x80");
        hr_alloc_fail_after(-1);
        CHECK(text.failed);
        CHECK(hr_text_take(&text, &out, NULL, &error) == HR_STATUS_NO_MEMORY && !out);
    }
    hr_text text = {0};
    hr_text_append(&text, "left");
    hr_text_fini(&text);
    CHECK(!text.data);
}

static bool writes(const char *string, const char *want)
{
    hr_text text = {0};
    hr_text_append_quoted(&text, string);
    bool same = text.data && strcmp(text.data, want) == 0;
    hr_text_fini(&text);
    return same;
}

TEST(quoting)
{
    CHECK(writes("", "\"\""));
    CHECK(writes("a\"b\\c\n\x01/\x7f", "\"a\\\"b\\\\c\\u000a\\u0001/\x7f\""));
    CHECK(writes("\xc3\xa9\xf0\x9f\x98\x80", "\"\xc3\xa9\xf0\x9f\x98\x80\""));
    CHECK(writes("x\xe9.jpg", "\"x\\udce9.jpg\""));
    CHECK(writes("\xed\xa0\x80", "\"\\udced\\udca0\\udc80\"")); /* a surrogate is not valid UTF-8 */
}

TEST(doubles_round_trip)
{
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = random_bits();
        double v;
        memcpy(&v, &bits, sizeof v);
        if (i % 2)
            v = (double)(int64_t)(bits % 2000000 - 1000000) / 1000;
        if (!isfinite(v))
            continue;
        hr_text text = {0};
        hr_text_append_double(&text, v);
        CHECK(strtod(text.data, NULL) == v && text.size <= 24);
        hr_text_fini(&text);
    }
    hr_text text = {0};
    hr_text_append_double(&text, 0.1);
    hr_text_append_bytes(&text, " ", 1);
    hr_text_append_double(&text, NAN);
    hr_text_append_bytes(&text, " ", 1);
    hr_text_append_double(&text, -INFINITY);
    CHECK(strcmp(text.data, "0.1 null null") == 0);
    hr_text_fini(&text);
}

/* Machines rarely have such a locale installed; without it the test covers the C locale only. */
TEST(numbers_do_not_depend_on_the_locale)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8", "C"};
    const char *set = NULL;
    for (int i = 0; i < 4 && !set; i++)
        set = setlocale(LC_NUMERIC, names[i]);
    hr_text text = {0};
    hr_text_append_double(&text, 2.5);
    hr_text_append(&text, " %.2f", 1.25);
    double v = hr_text_number("3.75");
    setlocale(LC_NUMERIC, "C");
    CHECK(strcmp(text.data, "2.5 1.25") == 0 && v == 3.75);
    hr_text_fini(&text);
}

/* ---- reading ---- */

TEST(values)
{
    hr_error error;
    hr_json *json;
    CHECK_OK(
        parse(&json,
              " {\"a\": [1, -2.5e3, true, false, null, \"s\"], \"b\" : {\"c\":[]}, \"\":{}}\r\n",
              &error),
        error);
    CHECK(json->kind == HR_JSON_KIND_OBJECT && json->count == 3);
    const hr_json *a = hr_json_get(json, "a");
    CHECK(a && a->kind == HR_JSON_KIND_LIST && a->count == 6);
    CHECK(a->items[0].kind == HR_JSON_KIND_NUMBER && a->items[0].is_integer && a->items[0].i == 1);
    CHECK(a->items[0].f == 1.0);
    CHECK(a->items[1].f == -2500 && !a->items[1].is_integer);
    CHECK(a->items[2].kind == HR_JSON_KIND_BOOL && a->items[2].i == 1);
    CHECK(a->items[3].kind == HR_JSON_KIND_BOOL && a->items[3].i == 0);
    CHECK(a->items[4].kind == HR_JSON_KIND_NULL);
    CHECK(a->items[5].kind == HR_JSON_KIND_STRING && strcmp(a->items[5].s, "s") == 0);
    const hr_json *c = hr_json_get(hr_json_get(json, "b"), "c");
    CHECK(c && c->kind == HR_JSON_KIND_LIST && c->count == 0);
    CHECK(hr_json_get(json, "") && strcmp(json->keys[2], "") == 0);
    CHECK(!hr_json_get(json, "z") && !hr_json_get(a, "a") && !hr_json_get(NULL, "a"));
    hr_json_destroy(json);
    hr_json_destroy(NULL);
}

TEST(integers)
{
    static const struct {
        const char *text;
        bool is_integer;
        int64_t i;
    } cases[] = {{"0", true, 0},
                 {"-0", true, 0},
                 {"9223372036854775807", true, INT64_MAX},
                 {"-9223372036854775808", true, INT64_MIN},
                 {"9223372036854775808", false, 0},
                 {"1e2", false, 0},
                 {"1.0", false, 0}};
    hr_error error;
    for (size_t i = 0; i < HR_COUNT_OF(cases); i++) {
        hr_json *json;
        CHECK_OK(parse(&json, cases[i].text, &error), error);
        CHECK(json->kind == HR_JSON_KIND_NUMBER && json->is_integer == cases[i].is_integer);
        CHECK(json->i == cases[i].i && json->f == strtod(cases[i].text, NULL));
        hr_json_destroy(json);
    }
}

static bool reads(const char *text, const char *want)
{
    hr_json *json;
    if (parse(&json, text, NULL) != HR_STATUS_OK)
        return false;
    bool same = json->kind == HR_JSON_KIND_STRING && strcmp(json->s, want) == 0;
    hr_json_destroy(json);
    return same;
}

TEST(strings)
{
    CHECK(reads("\"\"", ""));
    CHECK(reads("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"));
    CHECK(
        reads("\"\\u0041\\u00e9\\u20AC\\ud83d\\uDE00\"", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"));
    CHECK(reads("\"x\\udce9\\udcff\\udc80\"", "x\xe9\xff\x80"));
    CHECK(reads("\"\xc3\xa9\"", "\xc3\xa9"));
}

TEST(any_bytes_round_trip)
{
    for (int i = 0; i < 3000; i++) {
        char bytes[40];
        size_t size = random_bits() % sizeof bytes;
        for (size_t k = 0; k < size; k++) {
            bytes[k] = (char)random_bits();
            bytes[k] = bytes[k] ? bytes[k] : 'z';
        }
        bytes[size ? size - 1 : 0] = '\0';
        hr_text text = {0};
        hr_text_append_quoted(&text, bytes);
        CHECK(reads(text.data, bytes));
        hr_text_fini(&text);
    }
}

static const char *const bad[] = {
    "",
    " ",
    "[",
    "]",
    "{",
    "}",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[1 2]",
    "{1:2}",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1,}",
    "{\"a\" 1}",
    "nul",
    "nulll",
    "True",
    "tru",
    "1 2",
    "01",
    "-",
    "+1",
    ".5",
    "1.",
    "1e",
    "1e+",
    "0x1",
    "NaN",
    "Infinity",
    "1e999",
    "-1e999",
    "\"",
    "\"a",
    "\"\\",
    "\"\\x\"",
    "\"\\u12\"",
    "\"\\u12g4\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"\\ud800x\"",
    "\"\\ud800\\u0041\"",
    "\"\\udc00\"",
    "\"\\udc7f\"",
    "\"\\udd00\"",
    "\"\n\"",
    "\"\x80\"",
    "\"\xc0\x80\"",
    "'a'",
    "[1]]",
    "{}{}",
    "/**/1",
    "\357\273\2771",
    "[\"a\":1]",
    "11111111111111111111111111111111111111111111111111111111111111111"};

TEST(errors_name_the_byte)
{
    hr_error error;
    for (size_t i = 0; i < HR_COUNT_OF(bad); i++) {
        hr_json *json = (hr_json *)&error;
        error.message[0] = '\0';
        hr_status status = parse(&json, bad[i], &error);
        if (status != HR_STATUS_CORRUPT)
            printf("accepted: %s\n", bad[i]);
        CHECK(status == HR_STATUS_CORRUPT && !json);
        CHECK(strncmp(error.message, "JSON, byte ", 11) == 0);
    }
    hr_json *json;
    CHECK(parse(&json, "[true, flase]", &error) == HR_STATUS_CORRUPT);
    CHECK(strncmp(error.message, "JSON, byte 7:", 13) == 0);
    CHECK(hr_json_parse(&json, "1\0", 2, &error) == HR_STATUS_CORRUPT);
    CHECK(hr_json_parse(&json, "[1]xxx", 3, &error) == HR_STATUS_OK); /* `size` is the end */
    hr_json_destroy(json);
}

TEST(depth_is_limited)
{
    hr_error error;
    hr_json *json;
    char text[256];
    memset(text, '[', 128);
    memset(text + 128, ']', 128);
    CHECK_OK(hr_json_parse(&json, text + 96, 64, &error), error);
    for (const hr_json *at = json; at; at = at->count ? at->items : NULL)
        CHECK(at->kind == HR_JSON_KIND_LIST);
    hr_json_destroy(json);
    CHECK(hr_json_parse(&json, text + 95, 66, &error) == HR_STATUS_CORRUPT);
    CHECK(hr_json_parse(&json, text, 256, &error) == HR_STATUS_CORRUPT);
}

static void random_value(hr_text *text, int depth)
{
    static const char *const leaves[] = {"null", "true", "false",   "-12", "0.25",
                                         "\"\"", "[]",   "\"a,[\"", "{}",  "\"\\udc80\""};
    unsigned kind = random_bits() % 4;
    if (depth == 0 || kind < 2) {
        hr_text_append(text, "%s", leaves[random_bits() % HR_COUNT_OF(leaves)]);
        return;
    }
    hr_text_append(text, kind == 2 ? "[" : "{");
    for (unsigned i = 0, n = random_bits() % 5; i < n; i++) {
        hr_text_append(text, i ? "," : "");
        if (kind == 3)
            hr_text_append(text, "\"k%u\":", i);
        random_value(text, depth - 1);
    }
    hr_text_append(text, kind == 2 ? "]" : "}");
}

TEST(random_trees_round_trip)
{
    hr_error error;
    for (int i = 0; i < 2000; i++) {
        hr_text text = {0}, again = {0};
        hr_json *json;
        random_value(&text, 6);
        CHECK_OK(hr_json_parse(&json, text.data, text.size, &error), error);
        write_value(&again, json);
        CHECK(strcmp(text.data, again.data) == 0);
        hr_json_destroy(json);
        /* Damaged text gives a value or an error; AddressSanitizer checks memory. */
        for (int k = 0; k < 8; k++) {
            text.data[random_bits() % text.size] = "[]{},:\"\\u0e-\x80"[random_bits() % 14];
            if (hr_json_parse(&json, text.data, random_bits() % (text.size + 1), NULL) ==
                HR_STATUS_OK)
                hr_json_destroy(json);
        }
        hr_text_fini(&text);
        hr_text_fini(&again);
    }
}

TEST(parsing_without_memory)
{
    hr_error error;
    hr_json *json;
    hr_alloc_fail_after(0);
    CHECK(parse(&json, "[1,{\"a\":2}]", &error) == HR_STATUS_NO_MEMORY && !json);
    CHECK(error.status == HR_STATUS_NO_MEMORY);
    hr_alloc_fail_after(1);
    CHECK_OK(parse(&json, "[1,{\"a\":2}]", &error), error);
    hr_alloc_fail_after(-1);
    hr_json_destroy(json);
}

TEST_MAIN

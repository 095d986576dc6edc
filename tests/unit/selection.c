/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Which items an epoch consists of: drawn and ordered items against counts. */
#include "readers/selection.h"

#include <string.h>

#include "core/json.h"
#include "test.h"

static int64_t six(const void *state)
{
    (void)state;
    return 6;
}

static int64_t label(const void *state, int64_t index)
{
    (void)state;
    return index < 1 ? 7 : index < 3 ? -2 : 100; /* 1, 2 and 3 items */
}

static const hr_source_def source = {.count = six, .label = label};

static hr_status make(hr_selection *s, const char *text, hr_error *error)
{
    hr_json *json = NULL;
    HR_TRY(hr_json_parse(&json, text, strlen(text), error));
    hr_status status = hr_selection_init(s, json, &source, NULL, 5, error);
    hr_json_destroy(json);
    return status;
}

static bool fails(const char *text, const char *message)
{
    hr_selection s = {0};
    hr_error error = {0};
    return make(&s, text, &error) == HR_STATUS_ERROR && strstr(error.message, message) && !s.sums &&
           !s.order;
}

TEST(without_a_sampler_all_items_come_once)
{
    hr_selection s;
    CHECK(hr_selection_init(&s, NULL, &source, NULL, 5, NULL) == HR_STATUS_OK);
    CHECK(s.count == 6 && !hr_selection_repeats(&s));
    for (int i = 0; i < 6; i++)
        CHECK(hr_selection_item(&s, 3, i) == i);
    hr_selection_fini(&s);
}

TEST(an_order_is_followed)
{
    hr_selection s;
    CHECK(make(&s, "{\"order\": [5, 0, 5]}", NULL) == HR_STATUS_OK);
    CHECK(s.count == 3 && hr_selection_repeats(&s));
    CHECK(hr_selection_item(&s, 0, 0) == 5 && hr_selection_item(&s, 9, 1) == 0 &&
          hr_selection_item(&s, 9, 2) == 5);
    hr_selection_fini(&s);
}

/* Draws 60,000 entries and compares with the expected counts, within 5 standard deviations. */
static bool draws(const char *text, const double expect[6])
{
    enum { DRAWS = 60000 };
    hr_selection s;
    int64_t counts[6] = {0};
    bool ok = make(&s, text, NULL) == HR_STATUS_OK;
    for (int64_t i = 0; ok && i < DRAWS; i++) {
        int64_t item = hr_selection_item(&s, i / 1000, i % 1000);
        ok = item >= 0 && item < 6;
        counts[ok ? item : 0]++;
    }
    for (int i = 0; ok && i < 6; i++) {
        double mean = DRAWS * expect[i], off = (double)counts[i] - mean;
        ok = off * off <= 25 * mean * (1 - expect[i]);
    }
    hr_selection_fini(&s);
    return ok;
}

TEST(weights_are_frequencies)
{
    CHECK(draws("{\"weights\": [0, 1, 2, 0, 5, 0]}", (double[]){0, 1 / 8., 2 / 8., 0, 5 / 8., 0}));
    CHECK(draws("{\"weights\": [0, 0, 0, 1e-300, 0, 0]}", (double[]){0, 0, 0, 1, 0, 0}));
    CHECK(!draws("{\"weights\": [1, 1, 1, 1, 1, 1]}", (double[]){.3, .14, .14, .14, .14, .14}));
}

TEST(classes_are_equally_frequent)
{
    const double third = 1 / 3.;
    CHECK(draws("\"class_balanced\"",
                (double[]){third, third / 2, third / 2, third / 3, third / 3, third / 3}));
}

TEST(what_does_not_fit_is_refused)
{
    CHECK(fails("{\"weights\": [1, 2]}", "2 weights for 6 items"));
    CHECK(fails("{\"weights\": [0, 0, 0, 0, 0, 0]}", "all weights are 0"));
    CHECK(fails("{\"weights\": [1, 1, 1, -1, 0, 0]}", "weight 3 is negative"));
    CHECK(fails("{\"weights\": [1e308, 1e308, 1, 1, 1, 1]}", "too large"));
    CHECK(fails("{\"weights\": [1, 1, 1, 1, 1, 1], \"epoch_size\": 0}", "at least 1"));
    CHECK(fails("{\"order\": [6]}", "element 0 of the order is 6"));
    CHECK(fails("{\"order\": []}", "must be"));
    CHECK(fails("{}", "must be"));
}

TEST_MAIN

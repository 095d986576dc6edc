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
    const hr_sampler_args args = {.sampler = json};
    hr_status status = hr_selection_init(s, &args, &source, NULL, 5, error);
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
    CHECK(hr_selection_init(&s, &(hr_sampler_args){0}, &source, NULL, 5, NULL) == HR_STATUS_OK);
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

/* Nine items in five files, of which one is empty. */
static const int64_t first_items[] = {0, 3, 3, 4, 7, 9};

static const int64_t *five_files(const void *state, int32_t *count)
{
    (void)state;
    *count = 5;
    return first_items;
}

static int64_t nine(const void *state)
{
    (void)state;
    return 9;
}

/* Whether the items of an epoch are whole files; `*moved`: in another order. */
static bool whole_files(const hr_selection *s, int64_t epoch, bool *moved)
{
    bool seen[5] = {false};
    *moved = false;
    for (int64_t i = 0; i < 9;) {
        int64_t item = hr_selection_item(s, epoch, i);
        int file = 0;
        while (file < 5 && (first_items[file] != item || first_items[file + 1] == item))
            file++;
        if (file == 5 || seen[file])
            return false;
        seen[file] = true;
        *moved = *moved || item != i;
        for (; item < first_items[file + 1]; item++, i++)
            if (hr_selection_item(s, epoch, i) != item)
                return false;
    }
    return true;
}

TEST(files_are_shuffled_whole)
{
    const hr_source_def container = {.count = nine, .files = five_files};
    hr_sampler_args args = {.shuffle_after_epoch = 1, .random_shuffle = 1};
    hr_selection a, b;
    int differ = 0;
    bool moved;
    CHECK(hr_selection_init(&a, &args, &container, NULL, 1, NULL) == HR_STATUS_OK);
    CHECK(hr_selection_init(&b, &args, &container, NULL, 2, NULL) == HR_STATUS_OK);
    for (int64_t epoch = 40; epoch >= 0; epoch--) { /* in any order of the epochs */
        CHECK(whole_files(&a, epoch, &moved));
        differ += moved;
        for (int64_t i = 0; i < 9; i++) /* whatever the seed of the pipeline */
            CHECK(hr_selection_item(&a, epoch, i) == hr_selection_item(&b, epoch, i));
    }
    CHECK(differ > 30 && !hr_selection_repeats(&a));
    hr_selection_fini(&a);
    hr_selection_fini(&b);
    hr_error error = {0};
    CHECK(hr_selection_init(&a, &args, &source, NULL, 1, &error) == HR_STATUS_ERROR &&
          strstr(error.message, "exclude each other"));
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

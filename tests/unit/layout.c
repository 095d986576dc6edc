/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Layout strings. */
#include "core/error.h"
#include "test.h"

TEST(set_and_find)
{
    hr_error error;
    hr_layout layout;
    CHECK_OK(hr_layout_set(&layout, "FHWC", &error), error);
    CHECK(hr_layout_find(&layout, 'F') == 0 && hr_layout_find(&layout, 'C') == 3);
    CHECK(hr_layout_find(&layout, 'D') == -1 && hr_layout_find(&layout, '\0') == -1);
    CHECK(hr_layout_is(&layout, "FHWC") && !hr_layout_is(&layout, "HWC"));
    CHECK_OK(hr_layout_set(&layout, NULL, &error), error);
    CHECK(hr_layout_is(&layout, ""));
    CHECK_OK(hr_layout_set(&layout, "ABCDEFGH", &error), error);
    CHECK_OK(hr_layout_set(&layout, "", &error), error);
    for (size_t i = 0; i < sizeof layout.name; i++)
        CHECK(layout.name[i] == '\0');
}

TEST(bad_layouts)
{
    static const char *const bad[] = {"ABCDEFGHI", "H C", "H|C", "H\xc3\xa9", "\n"};
    hr_error error;
    hr_layout layout = {"HW"};
    for (size_t i = 0; i < HR_COUNT_OF(bad); i++) {
        CHECK(hr_layout_set(&layout, bad[i], &error) == HR_STATUS_VALUE);
        CHECK(hr_layout_is(&layout, "HW"));
    }
}

TEST(match)
{
    hr_error error;
    hr_layout out, none = {""}, chw = {"CHW"}, hwc = {"HWC"};
    CHECK_OK(hr_layout_match("HWC|FHWC|CHW", &chw, 3, &out, &error), error);
    CHECK(hr_layout_is(&out, "CHW"));
    CHECK_OK(hr_layout_match("HWC|FHWC|CHW", &none, 3, &out, &error), error);
    CHECK(hr_layout_is(&out, "HWC"));
    CHECK_OK(hr_layout_match("HWC|FHWC|CHW", &none, 4, &out, &error), error);
    CHECK(hr_layout_is(&out, "FHWC"));
    CHECK(hr_layout_match("FHWC|HW", &hwc, 3, &out, &error) == HR_STATUS_VALUE);
    CHECK(strstr(error.message, "\"HWC\"") && strstr(error.message, "FHWC|HW"));
    CHECK(hr_layout_match("HWC", &none, 2, &out, &error) == HR_STATUS_VALUE);
    CHECK(strstr(error.message, "number of dimensions 2") && strstr(error.message, "HWC"));
    CHECK_OK(hr_layout_match(NULL, &chw, 3, &out, &error), error);
    CHECK(hr_layout_is(&out, "CHW"));
    CHECK_OK(hr_layout_match("HWC", &hwc, 3, &hwc, &error),
             error); /* output and input are the same */
    CHECK(hr_layout_is(&hwc, "HWC"));
}

TEST_MAIN

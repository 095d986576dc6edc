/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* _arithmetic: types, wrapping, division, broadcasting, comparisons by value. */
#include "op_help.h"

static hr_tensor out;

static hr_status binary(const char *op, hr_tensor a, hr_tensor b)
{
    const hr_arg_value args[] = {ARG_TEXT("op", op)};
    const hr_tensor in[] = {a, b};
    return invoke("_arithmetic", args, COUNT(args), in, 2, 0, &out);
}

static hr_status unary(const char *op, hr_tensor a)
{
    const hr_arg_value args[] = {ARG_TEXT("op", op)};
    return invoke("_arithmetic", args, COUNT(args), &a, 1, 0, &out);
}

static hr_tensor one(const void *data, hr_dtype dtype)
{
    return tensor(data, dtype, NULL, 0, NULL);
}

TEST(types_promote_as_in_dali)
{
    static const struct {
        hr_dtype a, b, result;
    } rules[] = {
        {HR_DTYPE_UINT8, HR_DTYPE_UINT8, HR_DTYPE_UINT8},
        {HR_DTYPE_UINT8, HR_DTYPE_INT8, HR_DTYPE_INT16},
        {HR_DTYPE_INT32, HR_DTYPE_UINT32, HR_DTYPE_INT64},
        {HR_DTYPE_INT64, HR_DTYPE_UINT64, HR_DTYPE_INT64},
        {HR_DTYPE_INT8, HR_DTYPE_UINT64, HR_DTYPE_INT64},
        {HR_DTYPE_INT64, HR_DTYPE_UINT8, HR_DTYPE_INT64},
        {HR_DTYPE_UINT16, HR_DTYPE_UINT32, HR_DTYPE_UINT32},
        {HR_DTYPE_BOOL, HR_DTYPE_INT16, HR_DTYPE_INT16},
        {HR_DTYPE_INT64, HR_DTYPE_FLOAT, HR_DTYPE_FLOAT},
        {HR_DTYPE_FLOAT64, HR_DTYPE_FLOAT, HR_DTYPE_FLOAT64},
        {HR_DTYPE_BOOL, HR_DTYPE_FLOAT64, HR_DTYPE_FLOAT64},
    };
    const uint64_t zero = 0;
    for (int32_t i = 0; i < COUNT(rules); i++) {
        CHECK_OK(binary("add", one(&zero, rules[i].a), one(&zero, rules[i].b)), error);
        CHECK(out.dtype == rules[i].result);
        CHECK_OK(binary("add", one(&zero, rules[i].b), one(&zero, rules[i].a)), error);
        CHECK(out.dtype == rules[i].result);
    }
}

TEST(integers_wrap)
{
    const uint8_t a[] = {250, 3}, b[] = {10, 5};
    const int64_t two = 2;
    hr_tensor x = tensor(a, HR_DTYPE_UINT8, NULL, 1, &two);
    hr_tensor y = tensor(b, HR_DTYPE_UINT8, NULL, 1, &two);
    CHECK_OK(binary("add", x, y), error);
    CHECK(((uint8_t *)out.data)[0] == 4 && ((uint8_t *)out.data)[1] == 8);
    CHECK_OK(binary("sub", x, y), error);
    CHECK(((uint8_t *)out.data)[0] == 240 && ((uint8_t *)out.data)[1] == 254);
    CHECK_OK(unary("neg", y), error);
    CHECK(((uint8_t *)out.data)[0] == 246 && ((uint8_t *)out.data)[1] == 251);
    const int64_t least = INT64_MIN, minus = -1;
    CHECK_OK(binary("floordiv", one(&least, HR_DTYPE_INT64), one(&minus, HR_DTYPE_INT64)), error);
    CHECK(*(int64_t *)out.data == INT64_MIN);
    CHECK_OK(binary("mod", one(&least, HR_DTYPE_INT64), one(&minus, HR_DTYPE_INT64)), error);
    CHECK(*(int64_t *)out.data == 0);
    CHECK_OK(unary("abs", one(&least, HR_DTYPE_INT64)), error);
    CHECK(*(int64_t *)out.data == INT64_MIN);
    const uint16_t big = 65535;
    CHECK_OK(binary("mul", one(&big, HR_DTYPE_UINT16), one(&big, HR_DTYPE_UINT16)), error);
    CHECK(*(uint16_t *)out.data == 1);
}

TEST(division)
{
    const int32_t seven = -7, two = 2, zero = 0;
    const float f7 = -7.0f, f2 = 2.0f;
    CHECK_OK(binary("floordiv", one(&seven, HR_DTYPE_INT32), one(&two, HR_DTYPE_INT32)), error);
    CHECK(*(int32_t *)out.data == -3);
    CHECK_OK(binary("mod", one(&seven, HR_DTYPE_INT32), one(&two, HR_DTYPE_INT32)), error);
    CHECK(*(int32_t *)out.data == -1);
    CHECK_OK(binary("div", one(&seven, HR_DTYPE_INT32), one(&two, HR_DTYPE_INT32)), error);
    CHECK(out.dtype == HR_DTYPE_FLOAT && *(float *)out.data == -3.5f);
    CHECK_OK(binary("floordiv", one(&f7, HR_DTYPE_FLOAT), one(&f2, HR_DTYPE_FLOAT)), error);
    CHECK(*(float *)out.data == -3.5f);
    CHECK(binary("floordiv", one(&seven, HR_DTYPE_INT32), one(&zero, HR_DTYPE_INT32)) ==
          HR_STATUS_VALUE);
    CHECK(binary("mod", one(&seven, HR_DTYPE_INT32), one(&zero, HR_DTYPE_INT32)) ==
          HR_STATUS_VALUE);
    const int32_t exponent = -1, base = 1;
    CHECK_OK(binary("pow", one(&base, HR_DTYPE_INT32), one(&exponent, HR_DTYPE_INT32)), error);
    CHECK(*(int32_t *)out.data == 0);
    CHECK_OK(binary("pow", one(&seven, HR_DTYPE_INT32), one(&two, HR_DTYPE_INT32)), error);
    CHECK(*(int32_t *)out.data == 49);
}

TEST(comparisons_are_by_value)
{
    const int8_t minus = -1;
    const uint8_t top = 255;
    const int64_t low = -1, five = 5;
    const uint64_t high = UINT64_MAX, same = 5;
    CHECK_OK(binary("lt", one(&minus, HR_DTYPE_INT8), one(&top, HR_DTYPE_UINT8)), error);
    CHECK(out.dtype == HR_DTYPE_BOOL && *(uint8_t *)out.data == 1);
    CHECK_OK(binary("lt", one(&low, HR_DTYPE_INT64), one(&high, HR_DTYPE_UINT64)), error);
    CHECK(*(uint8_t *)out.data == 1);
    CHECK_OK(binary("lt", one(&high, HR_DTYPE_UINT64), one(&low, HR_DTYPE_INT64)), error);
    CHECK(*(uint8_t *)out.data == 0);
    CHECK_OK(binary("eq", one(&low, HR_DTYPE_INT64), one(&high, HR_DTYPE_UINT64)), error);
    CHECK(*(uint8_t *)out.data == 0);
    CHECK_OK(binary("ge", one(&same, HR_DTYPE_UINT64), one(&five, HR_DTYPE_INT64)), error);
    CHECK(*(uint8_t *)out.data == 1);
}

/* Long enough for several runs of the loop, and not a multiple of one. */
TEST(broadcasting)
{
    enum { ROWS = 7, COLUMNS = 1201 };
    static int32_t left[ROWS * COLUMNS], right[COLUMNS], column[ROWS];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        left[i] = i * 3 - 5;
    for (int i = 0; i < COLUMNS; i++)
        right[i] = i * i;
    for (int i = 0; i < ROWS; i++)
        column[i] = 1000 * i;
    const int64_t full[] = {ROWS, COLUMNS}, tall[] = {ROWS, 1}, wide = COLUMNS;
    hr_tensor a = tensor(left, HR_DTYPE_INT32, "HW", 2, full);
    CHECK_OK(binary("sub", tensor(right, HR_DTYPE_INT32, "W", 1, &wide), a), error);
    CHECK(strcmp(out.layout.name, "HW") == 0);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        CHECK(((int32_t *)out.data)[i] == right[i % COLUMNS] - left[i]);
    CHECK_OK(binary("add", a, tensor(column, HR_DTYPE_INT32, NULL, 2, tall)), error);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        CHECK(((int32_t *)out.data)[i] == left[i] + column[i / COLUMNS]);
    CHECK_OK(binary("mul", a, one(column + 3, HR_DTYPE_INT32)), error);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        CHECK(((int32_t *)out.data)[i] == left[i] * 3000);
    const int64_t other = COLUMNS - 1;
    CHECK(binary("add", a, tensor(right, HR_DTYPE_INT32, NULL, 1, &other)) == HR_STATUS_ERROR);
    CHECK(strstr(error.message, "7 x 1201 (d=1") && strstr(error.message, "1200"));
    CHECK(binary("add", a, tensor(right, HR_DTYPE_INT32, "H", 1, &wide)) == HR_STATUS_ERROR);
}

TEST(refused)
{
    const uint64_t zero = 0;
    hr_tensor bools = one(&zero, HR_DTYPE_BOOL), floats = one(&zero, HR_DTYPE_FLOAT);
    CHECK(binary("add", bools, bools) == HR_STATUS_ERROR);
    CHECK(unary("neg", bools) == HR_STATUS_ERROR);
    CHECK(binary("and", floats, floats) == HR_STATUS_ERROR);
    CHECK(unary("invert", floats) == HR_STATUS_ERROR);
    CHECK(unary("neg", one(&zero, HR_DTYPE_FLOAT16)) == HR_STATUS_ERROR);
    CHECK(unary("frobnicate", floats) == HR_STATUS_ERROR);
    CHECK_OK(binary("mul", bools, bools), error);
    CHECK_OK(unary("invert", bools), error);
    CHECK(*(uint8_t *)out.data == 1);
}

TEST_MAIN

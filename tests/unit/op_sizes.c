/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Output shapes of resize, crop and rotate: the size rules, windows and canvases. */
#include "op_help.h"

static hr_tensor out;

#define H 480
#define W 640

static hr_tensor image(void)
{
    static uint8_t pixels[H * W];
    const int64_t extent[] = {H, W, 1};
    return tensor(pixels, HR_DTYPE_UINT8, "HWC", 3, extent);
}

static bool gives(const char *op, const hr_arg_value *args, int32_t count, int64_t h, int64_t w)
{
    hr_tensor in = image();
    if (invoke(op, args, count, &in, 1, 0, &out) != HR_STATUS_OK) {
        printf("%s\n", error.message);
        return false;
    }
    return out.shape.ndim == 3 && out.shape.extent[0] == h && out.shape.extent[1] == w;
}

static bool refuses(const char *op, const hr_arg_value *args, int32_t count)
{
    hr_tensor in = image();
    return invoke(op, args, count, &in, 1, 0, &out) == HR_STATUS_ERROR;
}

#define GIVES(op, h, w, ...)                                                                       \
    CHECK(gives(op, (const hr_arg_value[]){__VA_ARGS__},                                           \
                COUNT(((const hr_arg_value[]){__VA_ARGS__})), h, w))
#define REFUSES(op, ...)                                                                           \
    CHECK(refuses(op, (const hr_arg_value[]){__VA_ARGS__},                                         \
                  COUNT(((const hr_arg_value[]){__VA_ARGS__}))))

TEST(resize_sizes)
{
    GIVES("resize", 100, 200, ARG_FLOATS("size", 2, 100, 200));
    GIVES("resize", 100, 100, ARG_FLOAT("size", 100));
    GIVES("resize", 240, 320, ARG_FLOAT("resize_x", 320));
    GIVES("resize", 240, 320, ARG_FLOATS("size", 2, 0, 320));
    GIVES("resize", 480, 320, ARG_FLOAT("resize_x", 320), ARG_TEXT("mode", "stretch"));
    GIVES("resize", 224, 299, ARG_FLOAT("resize_shorter", 224));
    GIVES("resize", 168, 224, ARG_FLOAT("resize_longer", 224));
    GIVES("resize", 100, 133, ARG_FLOATS("size", 2, 100, 200), ARG_TEXT("mode", "not_larger"));
    GIVES("resize", 150, 200, ARG_FLOATS("size", 2, 100, 200), ARG_TEXT("mode", "not_smaller"));
    GIVES("resize", 188, 250, ARG_FLOAT("resize_shorter", 224), ARG_FLOAT("max_size", 250));
    GIVES("resize", 3, 4, ARG_FLOATS("size", 2, -3, 4));
    GIVES("resize", 1, 1, ARG_FLOAT("resize_x", 0.2));
    GIVES("resize", 1, 2, ARG_FLOATS("size", 2, 0.5, 1.5));
    GIVES("resize", 3, 101, ARG_FLOATS("size", 2, 2.5, 100.5));
}

TEST(resize_refusals)
{
    REFUSES("resize", ARG_FLOATS("size", 2, 1, 2), ARG_FLOAT("resize_x", 3));
    REFUSES("resize", ARG_FLOAT("max_size", 3));
    REFUSES("resize", ARG_FLOAT("resize_shorter", 3), ARG_TEXT("mode", "stretch"));
    REFUSES("resize", ARG_FLOATS("size", 3, 1, 2, 3));
    REFUSES("resize", ARG_FLOATS("size", 2, 1e30, 2));
    REFUSES("resize", ARG_FLOATS("size", 2, 9, 9), ARG_FLOATS("roi_start", 2, 0, 0));
}

TEST(crop_windows)
{
    GIVES("crop", 100, 200, ARG_FLOATS("crop", 2, 100.9, 200.2));
    GIVES("crop", 480, 200, ARG_FLOATS("crop", 2, 0, 200));
    GIVES("crop", 500, 200, ARG_FLOATS("crop", 2, 500, 200),
          ARG_TEXT("out_of_bounds_policy", "pad"));
    GIVES("crop", 480, 200, ARG_FLOATS("crop", 2, 500, 200),
          ARG_TEXT("out_of_bounds_policy", "trim_to_shape"));
    REFUSES("crop", ARG_FLOATS("crop", 2, 500, 200));
    REFUSES("crop", ARG_FLOATS("crop", 2, 5, 5), ARG_FLOAT("crop_pos_x", 1.01));
    REFUSES("crop", ARG_FLOATS("crop", 2, 1e30, 200), ARG_TEXT("out_of_bounds_policy", "pad"));
}

/* Outputs that do not fit in memory are refused before they are allocated. */
TEST(outputs_are_limited)
{
    const hr_arg_value resize[] = {ARG_FLOATS("size", 2, 30000, 30000)};
    const hr_arg_value crop[] = {ARG_FLOATS("crop", 2, 30000, 30000),
                                 ARG_TEXT("out_of_bounds_policy", "pad")};
    const hr_arg_value rotate[] = {ARG_FLOAT("angle", 1), ARG_FLOATS("size", 2, 30000, 30000)};
    const hr_arg_value random[] = {ARG_INTS("size", 2, 30000, 30000)};
    hr_tensor in = image();
    CHECK(invoke("resize", resize, COUNT(resize), &in, 1, 0, &out) == HR_STATUS_LIMIT);
    CHECK(invoke("crop", crop, COUNT(crop), &in, 1, 0, &out) == HR_STATUS_LIMIT);
    CHECK(invoke("rotate", rotate, COUNT(rotate), &in, 1, 0, &out) == HR_STATUS_LIMIT);
    CHECK(invoke("random_resized_crop", random, COUNT(random), &in, 1, 0, &out) == HR_STATUS_LIMIT);
    CHECK(strstr(error.message, "max_image_pixels") != NULL);
}

/* A ramp shows where a window begins. */
TEST(crop_positions)
{
    static float ramp[100];
    const int64_t extent[] = {1, 100, 1};
    static const struct {
        double size, position;
        const char *rounding;
        float first;
    } cases[] = {
        {49, 0.5, "round", 26},   {49, 0.5, "truncate", 25}, {99, 0.5, "round", 1},
        {99, 0.5, "truncate", 0}, {50, 0.0, "round", 0},     {50, 1.0, "round", 50},
    };
    for (int i = 0; i < 100; i++)
        ramp[i] = (float)i;
    for (int32_t i = 0; i < COUNT(cases); i++) {
        const hr_arg_value args[] = {ARG_FLOATS("crop", 2, 1, cases[i].size),
                                     ARG_FLOAT("crop_pos_x", cases[i].position),
                                     ARG_TEXT("rounding", cases[i].rounding)};
        hr_tensor in = tensor(ramp, HR_DTYPE_FLOAT, "HWC", 3, extent);
        CHECK_OK(invoke("crop", args, COUNT(args), &in, 1, 0, &out), error);
        CHECK(*(float *)out.data == cases[i].first);
    }
}

/* A quarter turn of [[0, 1, 2], [3, 4, 5]] moves pixels without changing them. */
TEST(rotate_quarter)
{
    const uint8_t in_pixels[] = {0, 1, 2, 3, 4, 5}, turned[] = {2, 5, 1, 4, 0, 3};
    const int64_t extent[] = {2, 3, 1};
    const hr_arg_value args[] = {ARG_FLOAT("angle", 90)};
    hr_tensor in = tensor(in_pixels, HR_DTYPE_UINT8, "HWC", 3, extent);
    CHECK_OK(invoke("rotate", args, COUNT(args), &in, 1, 0, &out), error);
    CHECK(out.shape.extent[0] == 3 && out.shape.extent[1] == 2);
    CHECK(memcmp(out.data, turned, 6) == 0);
    GIVES("rotate", H, W, ARG_FLOAT("angle", 180));
    GIVES("rotate", W, H, ARG_FLOAT("angle", -90));
    GIVES("rotate", H, W, ARG_FLOAT("angle", 33), ARG_INT("keep_size", 1));
    GIVES("rotate", 20, 31, ARG_FLOAT("angle", 33), ARG_FLOATS("size", 2, 20.4, 30.5));
    REFUSES("rotate", ARG_FLOAT("angle", 33), ARG_FLOATS("size", 2, 0, 3));
    REFUSES("rotate", ARG_FLOATS("angle", 2, 33, 34));
}

TEST_MAIN

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* segmentation.random_object_bbox: the box around a random object of a mask. Draw 0 decides whether
 * it is an object, draw 1 its class, draws 2 and 3 the object. */
#include "ops/segmentation/objects.h"

#include <stdlib.h>
#include <string.h>

typedef struct object_bbox_args {
    hr_ints background, classes, threshold;
    hr_floats class_weights;
    float foreground_prob;
    int32_t ignore_class, k_largest, output_class;
    const char *format;
} object_bbox_args;

static hr_status object_bbox_check(const void *args, const hr_given *given, hr_error *error)
{
    const object_bbox_args *a = args;

    if (a->ignore_class &&
        (a->output_class || hr_arg_given(given, "classes") || hr_arg_given(given, "class_weights")))
        return hr_fail(error, HR_STATUS_ERROR,
                       "Class-related arguments (`classes`, `class_weights`, `output_class`) "
                       "cannot be used when ``ignore_class`` is True");
    if (hr_arg_given(given, "k_largest") && a->k_largest < 1)
        return hr_fail(error, HR_STATUS_ERROR, "``k_largest`` must be at least 1; got %d",
                       (int)a->k_largest);
    return HR_STATUS_OK;
}

static bool contains(const hr_ints *list, int32_t value)
{
    for (int32_t k = 0; k < list->n; k++)
        if (list->v[k] == value)
            return true;
    return false;
}

/* The next integer below `value` that is not in the list; the greatest is below the least. */
static int32_t below(const hr_ints *list, int32_t value)
{
    do
        value = value == INT32_MIN ? INT32_MAX : value - 1;
    while (contains(list, value));
    return value;
}

/* The class of the background, and checks of the lists. */
static hr_status background_of(const object_bbox_args *a, int32_t *background, hr_error *error)
{
    int32_t least = 0;
    bool has_zero = false;

    if (a->classes.v && a->class_weights.v && a->classes.n != a->class_weights.n)
        return hr_fail(error, HR_STATUS_ERROR,
                       "If both ``classes`` and ``class_weights`` are provided, their shapes must "
                       "match. Got:\n  classes.shape = {%d}\n  weights.shape = {%d}",
                       (int)a->classes.n, (int)a->class_weights.n);
    for (int32_t k = 0; k < a->classes.n; k++) {
        least = HR_MIN(least, a->classes.v[k]);
        has_zero |= a->classes.v[k] == 0;
        if (a->background.v && a->classes.v[k] == a->background.v[0])
            return hr_fail(error, HR_STATUS_ERROR, "Class label %d coincides with background label",
                           (int)a->classes.v[k]);
    }
    *background = a->background.v ? a->background.v[0] : has_zero ? below(&a->classes, least) : 0;
    return HR_STATUS_OK;
}

static hr_status object_bbox_infer(hr_op_call *c, hr_error *error)
{
    const object_bbox_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    const int64_t ndim = in->shape.ndim, box = 2 * ndim;
    int32_t at = 1, background;

    if (in->dtype == HR_DTYPE_INT64 || in->dtype == HR_DTYPE_UINT64 ||
        !(in->dtype == HR_DTYPE_BOOL || hr_dtype_is_integer(in->dtype)))
        return hr_fail(error, HR_STATUS_ERROR,
                       "the mask is %s; it must be BOOL or an integer type of at most 32 bits",
                       hr_dtype_name(in->dtype));
    if (ndim < 1 || ndim > HR_OBJECT_DIMS)
        return hr_fail(error, HR_STATUS_ERROR, "the mask has %d dimensions; it must have 1 to %d",
                       (int)ndim, HR_OBJECT_DIMS);
    if (a->threshold.v && a->threshold.n != 1 && a->threshold.n != ndim)
        return hr_fail(error, HR_STATUS_ERROR,
                       "Argument \"threshold\" expected shape %d but got %d values, which can't be "
                       "interpreted as the expected shape. Give one, or one per dimension.",
                       (int)ndim, (int)a->threshold.n);
    HR_TRY(background_of(a, &background, error));
    if (strcmp(a->format, "box") == 0) {
        hr_tensor_describe(&c->out[0], HR_DTYPE_INT32, hr_shape_make(1, &box), NULL);
    } else {
        hr_tensor_describe(&c->out[0], HR_DTYPE_INT32, hr_shape_make(1, &ndim), NULL);
        hr_tensor_describe(&c->out[at++], HR_DTYPE_INT32, hr_shape_make(1, &ndim), NULL);
    }
    if (a->output_class)
        hr_tensor_describe(&c->out[at], HR_DTYPE_INT32, hr_shape_make(0, NULL), NULL);
    return HR_STATUS_OK;
}

static int64_t volume_of(const hr_component *o)
{
    int64_t v = 1;

    for (int32_t d = 0; d < HR_OBJECT_DIMS && o->high[d] > 0; d++)
        v *= o->high[d] - o->low[d];
    return v;
}

/* Larger boxes first; of equal ones, those whose first element is first. */
static int larger(const void *a, const void *b)
{
    const hr_component *x = a, *y = b;
    int64_t v = volume_of(x), w = volume_of(y);

    if (v != w)
        return v > w ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static double weight_of(const object_bbox_args *a, int32_t label)
{
    if (!a->classes.v && !a->class_weights.v)
        return 1.0;
    if (!a->classes.v)
        return label >= 1 && label <= a->class_weights.n ? (double)a->class_weights.v[label - 1]
                                                         : 0.0;
    for (int32_t k = 0; k < a->classes.n; k++)
        if (a->classes.v[k] == label)
            return a->class_weights.v ? (double)a->class_weights.v[k] : 1.0;
    return 0.0;
}

/* Keeps objects that are large enough and whose class can be chosen. */
static int32_t keep_possible(const object_bbox_args *a, int32_t ndim, hr_component *o,
                             int32_t count)
{
    int32_t kept = 0;

    for (int32_t i = 0; i < count; i++) {
        bool fits = weight_of(a, o[i].label) > 0.0;
        for (int32_t d = 0; d < ndim && a->threshold.v; d++)
            fits &= o[i].high[d] - o[i].low[d] >= a->threshold.v[a->threshold.n == 1 ? 0 : d];
        if (fits)
            o[kept++] = o[i];
    }
    return kept;
}

static int by_label(const void *a, const void *b)
{
    const int32_t x = ((const hr_component *)a)->label, y = ((const hr_component *)b)->label;

    if (x != y)
        return x < y ? -1 : 1;
    return larger(a, b);
}

/* Draws a class of those that the sorted objects have, and makes its objects the whole list. */
static void choose_class(const hr_op_call *c, hr_component **o, int32_t *count)
{
    const object_bbox_args *a = c->args;
    double total = 0.0, sum = 0.0;
    int32_t start = 0, end = 0;

    for (int32_t i = 0; i < *count; i++)
        if (i == 0 || (*o)[i].label != (*o)[i - 1].label)
            total += weight_of(a, (*o)[i].label);
    const double at = hr_rng_unit(&c->rng, 1) * total;
    while (end < *count && (sum <= at || end == 0)) {
        start = end;
        sum += weight_of(a, (*o)[start].label);
        while (end < *count && (*o)[end].label == (*o)[start].label)
            end++;
    }
    *o += start;
    *count = end - start;
}

/* Draws an object. NULL: none. */
static hr_status choose(const hr_op_call *c, int32_t background, const hr_component **chosen,
                        hr_error *error)
{
    const object_bbox_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    const hr_dtype labels = in->dtype == HR_DTYPE_UINT32 ? HR_DTYPE_INT32 : in->dtype;
    size_t volume = 0;
    hr_component *objects;
    int32_t count;

    *chosen = NULL;
    if (!(hr_rng_unit(&c->rng, 0) < (double)a->foreground_prob))
        return HR_STATUS_OK;
    hr_shape_volume(&in->shape, &volume);
    int32_t *label = hr_arena_alloc(c->arena, volume * sizeof(*label), error);
    HR_TRY_ALLOC(label);
    hr_convert(label, HR_DTYPE_INT32, in->data, labels, volume);
    HR_TRY(hr__objects_find(label, &in->shape, background, c->arena, &objects, &count, error));
    count = keep_possible(a, in->shape.ndim, objects, count);
    if (count == 0)
        return HR_STATUS_OK;
    qsort(objects, (size_t)count, sizeof(*objects), a->ignore_class ? larger : by_label);
    if (!a->ignore_class)
        choose_class(c, &objects, &count);
    if (a->k_largest > 0)
        count = HR_MIN(count, a->k_largest);
    *chosen = &objects[hr_rng_below(&c->rng, 2, count)];
    return HR_STATUS_OK;
}

static hr_status object_bbox_run(hr_op_call *c, hr_error *error)
{
    const object_bbox_args *a = c->args;
    const int32_t ndim = c->in[0].shape.ndim;
    const hr_component *o;
    int32_t background = 0, *first = c->out[0].data;
    bool box = strcmp(a->format, "box") == 0, ends = strcmp(a->format, "anchor_shape") != 0;
    int32_t *second = box ? first + ndim : c->out[1].data;
    HR_TRY(background_of(a, &background, error));
    HR_TRY(choose(c, background, &o, error));
    for (int32_t d = 0; d < ndim; d++) {
        int32_t low = o ? o->low[d] : 0;
        int32_t high = o ? o->high[d] : (int32_t)c->in[0].shape.extent[d];
        first[d] = low;
        second[d] = ends ? high : high - low;
    }
    if (a->output_class)
        *(int32_t *)c->out[c->n_out - 1].data = o ? o->label : background;
    return HR_STATUS_OK;
}

static int32_t object_bbox_outputs(const void *args, int32_t n_in)
{
    const object_bbox_args *a = args;

    (void)n_in;
    return (a->format && strcmp(a->format, "box") == 0 ? 1 : 2) + (a->output_class != 0);
}

const hr_op_def hr_op_segmentation_random_object_bbox = {
    HR_OP("segmentation.random_object_bbox"),
    .doc = "Draws an object of a mask and returns the box around it. An object is a set of "
           "elements of one class that are connected through faces. If there is no object, the box "
           "is the whole mask.",
    .devices = "cpu",
    .flags = HR_OP_RANDOM,
    HR_ARGS(
        object_bbox_args,
        HR_ARG(object_bbox_args, background, INTS,
               HR_ARG_OPTIONAL | HR_ARG_PER_SAMPLE | HR_ARG_SCALAR_OK, "0",
               "Class of the background. Default: 0, or if `classes` contains 0, a number less "
               "than all of them.",
               .count_min = 1, .count_max = 1),
        HR_ARG_ACCEPT(cache_objects, BOOL, "False",
                      "Has no effect: objects are found in each mask again."),
        HR_ARG(object_bbox_args, class_weights, FLOATS, HR_ARG_OPTIONAL | HR_ARG_PER_SAMPLE, NULL,
               "Relative probabilities of `classes`; without `classes`, of the classes 1, 2, ..."),
        HR_ARG(object_bbox_args, classes, INTS, HR_ARG_OPTIONAL | HR_ARG_PER_SAMPLE, NULL,
               "Classes to choose from. Default: all except the background."),
        HR_ARG(object_bbox_args, foreground_prob, FLOAT, HR_ARG_PER_SAMPLE, "1.0",
               "Probability of choosing an object; otherwise the box is the whole mask."),
        HR_ARG(object_bbox_args, format, STRING, 0, "\"anchor_shape\"",
               "\"anchor_shape\": the outputs are start and size. \"start_end\": the outputs are "
               "start and end. \"box\": one output contains start and end.",
               .choices = "anchor_shape|start_end|box"),
        HR_ARG(object_bbox_args, ignore_class, BOOL, 0, "False",
               "True: all objects have the same probability. False: first a class is chosen. True "
               "cannot be combined with `classes`, `class_weights` and `output_class`."),
        HR_ARG(object_bbox_args, k_largest, INT, HR_ARG_OPTIONAL, NULL,
               "Choose among this many objects with the largest boxes, of the class or of all "
               "classes."),
        HR_ARG(object_bbox_args, output_class, BOOL, 0, "False",
               "Also return the class of the object, or that of the background."),
        HR_ARG(object_bbox_args, threshold, INTS,
               HR_ARG_OPTIONAL | HR_ARG_PER_SAMPLE | HR_ARG_SCALAR_OK, NULL,
               "Least extents of the box, one per dimension or one for all. Smaller objects are "
               "not chosen.")),
    .in = HR_INPUTS({.name = "mask"}),
    .out = HR_OUTPUTS({"start"}, {"end"}, {"class"}),
    .outputs = object_bbox_outputs,
    .check = object_bbox_check,
    .infer = object_bbox_infer,
    .run = object_bbox_run,
};

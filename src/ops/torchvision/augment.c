/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* _torchvision.augment: the transforms of torchvision that change colours or turn images, and the
 * choices between them, as one program. A step of the program is a list:
 *
 *     ["all", chance, [step, ...]]           one after the other
 *     ["order", chance, [step, ...]]         in random order
 *     ["one", chance, [step, ...], [weight, ...]]
 *     [operation, chance, parameter, ...]    a row of the tables in augment_*.c
 *
 * A parameter is a number, [low, high] for a uniform distribution, {"pick": [number, ...]}, or
 * {"level": [mean, deviation, most], "to": [base, factor, signed, whole, low, high]}: a normally
 * distributed level between 0 and `most`, or with a negative deviation a uniform one between 0 and
 * the mean, becomes base + level / 10 * factor. The sign of the second term is drawn if `signed`;
 * it is cut to an integer if `whole`. */
#include "ops/torchvision/augment.h"
#include "ops/image/pixels.h"
#include "ops/random/gauss.h"

#include <math.h>

#include <string.h>

enum { DEPTH_MAX = 8, STEPS_MAX = 4096 };

typedef struct augment_args {
    const hr_json *program;
} augment_args;

static const hr_arg_def augment_arg_defs[] = {
    HR_ARG(augment_args, program, JSON, HR_ARG_REQUIRED, NULL, "The steps: see augment.c."),
    HR_ARG_END};

typedef enum step_kind { STEP_KIND_ALL, STEP_KIND_ORDER, STEP_KIND_ONE, STEP_KIND_OP } step_kind;

typedef struct step {
    step_kind kind;
    double chance;
    const hr_augment_op *op;
    const hr_json *json; /* of the parameters or weights: belongs to the arguments of the node */
    struct step *steps;
    int32_t count;
} step;

/* ---- reading the program, which may be hostile ---- */

static hr_status bad(hr_error *error, const char *what)
{
    return hr_fail(error, HR_STATUS_VALUE, "argument \"program\": %s", what);
}

static bool is_finite(const hr_json *v)
{
    return v->kind == HR_JSON_KIND_NUMBER && v->f - v->f == 0.0;
}

static bool numbers(const hr_json *list, int32_t least, int32_t most)
{
    if (list->kind != HR_JSON_KIND_LIST || list->count < least || list->count > most)
        return false;
    for (int32_t i = 0; i < list->count; i++)
        if (!is_finite(&list->items[i]))
            return false;
    return true;
}

static bool is_param(const hr_json *v)
{
    if (v->kind != HR_JSON_KIND_OBJECT)
        return is_finite(v) || numbers(v, 2, 2);
    const hr_json *list = hr_json_get(v, "pick"), *level = hr_json_get(v, "level");
    if (level) {
        const hr_json *to = hr_json_get(v, "to");
        return numbers(level, 3, 3) && to && numbers(to, 6, 6);
    }
    return list && numbers(list, 1, STEPS_MAX);
}

static const hr_augment_op *find_op(const char *name)
{
    const hr_augment_op *const tables[] = {hr__augment_colours, hr__augment_warps};

    for (size_t i = 0; i < HR_COUNT_OF(tables); i++)
        for (const hr_augment_op *op = tables[i]; op->name; op++)
            if (strcmp(op->name, name) == 0)
                return op;
    return NULL;
}

static void step_free(step *s)
{
    for (int32_t i = 0; i < s->count; i++)
        step_free(&s->steps[i]);
    hr_free(s->steps);
}

static hr_status read_op(step *s, const hr_json *list, hr_error *error)
{
    s->kind = STEP_KIND_OP;
    s->op = find_op(list->items[0].s);
    if (!s->op)
        return bad(error, "there is no such operation");
    if (list->count != 2 + s->op->params)
        return bad(error, "an operation has another number of parameters");
    for (int32_t i = 2; i < list->count; i++)
        if (!is_param(&list->items[i]))
            return bad(error, "a parameter is not a number or a distribution");
    return HR_STATUS_OK;
}

static hr_status read_weights(const step *s, hr_error *error)
{
    double sum = 0.0;

    if (s->json->count != 4 || !numbers(&s->json->items[3], s->count, s->count))
        return bad(error, "there must be a weight per step");
    for (int32_t i = 0; i < s->count; i++) {
        double weight = s->json->items[3].items[i].f;
        if (weight < 0.0 || weight > 1e9)
            return bad(error, "a weight must be between 0 and 1e9");
        sum += weight;
    }
    return sum > 0.0 ? HR_STATUS_OK : bad(error, "all weights are 0");
}

/* `left`: of the steps that a program may have. */
static hr_status read_step(step *s, const hr_json *list, int32_t depth, int32_t *left,
                           hr_error *error)
{
    static const char *const kinds[] = {"all", "order", "one"};

    if (depth == DEPTH_MAX || --*left < 0)
        return bad(error, "it is too long or too deep");
    if (list->kind != HR_JSON_KIND_LIST || list->count < 2 ||
        list->items[0].kind != HR_JSON_KIND_STRING || !is_finite(&list->items[1]))
        return bad(error, "a step is not a list of a name, a chance and more");
    s->chance = list->items[1].f;
    s->json = list;
    for (int32_t k = 0; k < (int32_t)HR_COUNT_OF(kinds); k++) {
        if (strcmp(kinds[k], list->items[0].s) != 0)
            continue;
        s->kind = (step_kind)k;
        if (list->count < 3 || list->items[2].kind != HR_JSON_KIND_LIST)
            return bad(error, "there is no list of steps");
        const hr_json *of = &list->items[2];
        s->steps = hr_calloc((size_t)of->count + 1, sizeof(step), error);
        HR_TRY_ALLOC(s->steps);
        for (; s->count < of->count; s->count++)
            HR_TRY(read_step(&s->steps[s->count], &of->items[s->count], depth + 1, left, error));
        return s->kind == STEP_KIND_ONE ? read_weights(s, error) : HR_STATUS_OK;
    }
    return read_op(s, list, error);
}

static void augment_destroy(void *state)
{
    if (state)
        step_free(state);
    hr_free(state);
}

static hr_status augment_create(const void *args, void **state, hr_error *error)
{
    const augment_args *a = args;
    int32_t left = STEPS_MAX;
    step *s = hr_calloc(1, sizeof(step), error);

    HR_TRY_ALLOC(s);
    hr_status status = read_step(s, a->program, 0, &left, error);
    if (status != HR_STATUS_OK) {
        augment_destroy(s);
        return status;
    }
    *state = s;
    return HR_STATUS_OK;
}

/* ---- running it ---- */

typedef struct walk {
    const hr_rng *rng;
    uint64_t draw; /* the next one */
    bool moves;    /* only what moves pixels is done; the rest is drawn */
    hr_image image;
} walk;

static double unit(walk *w)
{
    return hr_rng_unit(w->rng, w->draw++);
}

static int32_t below(walk *w, int32_t n)
{
    w->draw += 2;
    return (int32_t)hr_rng_below(w->rng, w->draw - 2, n);
}

static double level_draw(walk *w, const hr_json *of, const hr_json *to)
{
    double mean = of->items[0].f, deviation = of->items[1].f, level = mean;

    if (deviation > 0.0)
        level = mean + deviation * gauss_of(unit(w) + 0x1p-33);
    else if (deviation < 0.0)
        level = unit(w) * mean;
    level = hr__between(level, 0.0, of->items[2].f) / 10.0 * to->items[1].f;
    if (to->items[2].f != 0.0 && unit(w) < 0.5)
        level = -level;
    if (to->items[3].f != 0.0)
        level = level < 0.0 ? -floor(-level) : floor(level);
    return hr__between(to->items[0].f + level, to->items[4].f, to->items[5].f);
}

static double param_draw(walk *w, const hr_json *v)
{
    if (v->kind == HR_JSON_KIND_NUMBER)
        return v->f;
    if (v->kind == HR_JSON_KIND_LIST) /* as torch: in single precision */
        return (double)(float)(v->items[0].f + unit(w) * (v->items[1].f - v->items[0].f));
    const hr_json *list = hr_json_get(v, "pick"), *level = hr_json_get(v, "level");
    if (level)
        return level_draw(w, level, hr_json_get(v, "to"));
    return list->items[below(w, list->count)].f;
}

static hr_status run_op(walk *w, const step *s, hr_error *error)
{
    double param[HR_AUGMENT_PARAMS];

    for (int32_t i = 0; i < s->op->params; i++)
        param[i] = param_draw(w, &s->json->items[2 + i]);
    if (w->moves && !s->op->moves)
        return HR_STATUS_OK;
    if (!w->image.data && !w->image.rows && !s->op->resizes)
        return HR_STATUS_OK;
    return s->op->run(&w->image, param, error);
}

static int32_t pick_weighted(walk *w, const step *s)
{
    const hr_json *weight = s->json->items[3].items;
    double sum = 0.0;
    int32_t last = 0;

    for (int32_t i = 0; i < s->count; i++)
        sum += weight[i].f;
    double at = unit(w) * sum;
    for (int32_t i = 0; i < s->count; i++) {
        if (weight[i].f > 0.0)
            last = i;
        at -= weight[i].f;
        if (at < 0.0)
            break;
    }
    return last;
}

static hr_status run_step(walk *w, const step *s, hr_error *error);

static hr_status run_order(walk *w, const step *s, hr_error *error)
{
    int32_t *order =
        hr_arena_alloc(w->image.call->arena, sizeof(int32_t) * (size_t)s->count, error);

    HR_TRY_ALLOC(order);
    for (int32_t i = 0; i < s->count; i++)
        order[i] = i;
    for (int32_t i = 0; i < s->count; i++) {
        int32_t other = i + below(w, s->count - i), next = order[other];
        order[other] = order[i];
        HR_TRY(run_step(w, &s->steps[next], error));
    }
    return HR_STATUS_OK;
}

static hr_status run_step(walk *w, const step *s, hr_error *error)
{
    if (s->chance < 1.0 && !(unit(w) < s->chance))
        return HR_STATUS_OK;
    if (s->kind == STEP_KIND_OP)
        return run_op(w, s, error);
    if (s->kind == STEP_KIND_ORDER)
        return run_order(w, s, error);
    if (s->kind == STEP_KIND_ONE)
        return run_step(w, &s->steps[pick_weighted(w, s)], error);
    for (int32_t i = 0; i < s->count; i++)
        HR_TRY(run_step(w, &s->steps[i], error));
    return HR_STATUS_OK;
}

static walk walk_make(const hr_op_call *c, bool moves)
{
    const int64_t *extent = c->in[0].shape.extent;
    hr_image image = {.h = extent[0], .w = extent[1], .c = (int32_t)extent[2], .call = c};

    return (walk){.rng = &c->rng, .image = image, .moves = moves};
}

hr_status hr__image_resize(hr_image *p, int64_t h, int64_t w, int32_t c, hr_error *error)
{
    bool run = p->data != NULL;
    size_t size = (size_t)h * (size_t)w * (size_t)c;

    HR_TRY(hr__pixels_check(p->call, 1, h, w, error));
    if ((size_t)p->h * (size_t)p->w * (size_t)p->c < size && run) {
        p->data = hr_arena_alloc(p->call->arena, size, error);
        p->spare = p->data ? hr_arena_alloc(p->call->arena, size, error) : NULL;
        HR_TRY_ALLOC(p->spare);
    }
    p->h = h;
    p->w = w;
    p->c = c;
    return HR_STATUS_OK;
}

static hr_status infer(hr_op_call *c, bool moves, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    int64_t channels = in->shape.extent[2];

    if (in->dtype != HR_DTYPE_UINT8 || (channels != 1 && channels != 3))
        return hr_fail(error, HR_STATUS_ERROR,
                       "the image must be UINT8 with 1 or 3 channels; it is %s with %lld",
                       hr_dtype_name(in->dtype), (long long)channels);
    walk w = walk_make(c, moves);
    HR_TRY(run_step(&w, c->state, error));
    int64_t extent[] = {w.image.h, w.image.w, w.image.c};
    hr_tensor_describe(&c->out[0], HR_DTYPE_UINT8, hr_shape_make(3, extent), "HWC");
    return HR_STATUS_OK;
}

static hr_status augment_one(hr_op_call *c, bool moves, hr_error *error)
{
    walk w = walk_make(c, moves);
    hr_image *p = &w.image;
    size_t size = (size_t)p->h * (size_t)p->w * (size_t)p->c;

    if (size == 0)
        return HR_STATUS_OK;
    p->data = hr_arena_alloc(c->arena, size, error);
    p->spare = p->data ? hr_arena_alloc(c->arena, size, error) : NULL;
    HR_TRY_ALLOC(p->spare);
    memcpy(p->data, c->in[0].data, size);
    HR_TRY(run_step(&w, c->state, error));
    memcpy(c->out[0].data, p->data, (size_t)p->h * (size_t)p->w * (size_t)p->c);
    return HR_STATUS_OK;
}

static hr_status augment_infer(hr_op_call *c, hr_error *error)
{
    return infer(c, false, error);
}

static hr_status augment_run(hr_op_call *c, hr_error *error)
{
    return augment_one(c, false, error);
}

/* ---- what belongs to an image, with the same seed ---- */

static hr_status augment_mask_infer(hr_op_call *c, hr_error *error)
{
    return infer(c, true, error);
}

static hr_status augment_mask_run(hr_op_call *c, hr_error *error)
{
    return augment_one(c, true, error);
}

const hr_op_def hr_op_torchvision_augment_mask = {
    HR_OP("_torchvision.augment_mask"),
    .doc = "Moves the pixels of masks as augment with the same seed does those of images.",
    .devices = "cpu",
    .flags = HR_OP_HIDDEN | HR_OP_RANDOM,
    .args = augment_arg_defs,
    .args_size = sizeof(augment_args),
    .in = HR_INPUTS({.name = "data", .layouts = "HWC"}),
    .create = augment_create,
    .destroy = augment_destroy,
    .infer = augment_mask_infer,
    .run = augment_mask_run,
};

static hr_status augment_boxes(const hr_op_call *c, hr_box_rows *rows, hr_error *error)
{
    hr_image image = {.h = hr__rows_height(rows), .w = hr__rows_width(rows), .c = 1, .call = c};
    walk w = {.rng = &c->rng, .image = image, .moves = true};

    w.image.rows = rows;
    return run_step(&w, c->state, error);
}

static hr_status augment_boxes_run(hr_op_call *c, hr_error *error)
{
    return hr__rows_run(c, augment_boxes, error);
}

const hr_op_def hr_op_torchvision_augment_boxes = {
    HR_OP("_torchvision.augment_boxes"),
    .doc = "Moves boxes as augment with the same seed moves the pixels of images.",
    .devices = "cpu",
    .flags = HR_OP_HIDDEN | HR_OP_RANDOM,
    .args = augment_arg_defs,
    .args_size = sizeof(augment_args),
    .in = HR_INPUTS({.name = "boxes", .host = true}),
    .create = augment_create,
    .destroy = augment_destroy,
    .infer = hr__rows_infer,
    .run = augment_boxes_run,
};

const hr_op_def hr_op_torchvision_augment = {
    HR_OP("_torchvision.augment"),
    .doc = "Changes images as torchvision's random transforms do with Pillow.",
    .devices = "cpu",
    .flags = HR_OP_HIDDEN | HR_OP_RANDOM,
    .args = augment_arg_defs,
    .args_size = sizeof(augment_args),
    .in = HR_INPUTS({.name = "data", .layouts = "HWC"}),
    .create = augment_create,
    .destroy = augment_destroy,
    .infer = augment_infer,
    .run = augment_run,
};

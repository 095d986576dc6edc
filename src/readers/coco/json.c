/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Annotations files of COCO, read value by value. */
#include <stdlib.h>
#include <string.h>

#include "readers/coco/data.h"
#include "readers/coco/json_stream.h"

#define ID_MAX INT32_MAX
#define SIDE_MAX 1000000
#define COORDINATE_MAX 1e37 /* so that sums of two are finite in single precision */

typedef struct entry {
    int64_t id, width, height, name; /* name: offset in `text` */
    int64_t order;
} entry;

typedef struct category {
    int64_t id, label;
} category;

typedef struct annotation {
    int64_t image, category, crowd, order;
    float box[4];
    hr_coco_range polygons, rles;
} annotation;

typedef struct loader {
    hr_json_stream in;
    const hr_coco_options *options;
    hr_coco_data *out;
    /* In the order of the file. The ranges of polygons are pairs of int64: first vertex, count. */
    hr_scan entries, names, annotations, categories, polygons, vertices, rles;
    hr_error *error;
} loader;

static bool key_is(const loader *l, const char *key)
{
    return strcmp(l->in.text.data, key) == 0;
}

/* ---- parts of an annotation ---- */

static hr_status read_box(loader *l, float *box)
{
    bool first = true, more = true;
    int32_t n = 0;
    for (;; n++) {
        double value;
        HR_TRY(hr_json_stream_item(&l->in, &first, &more));
        if (!more)
            break;
        HR_TRY(hr_json_stream_number(&l->in, &value));
        if (!(value >= -COORDINATE_MAX && value <= COORDINATE_MAX))
            return hr_json_stream_fail(&l->in, "a number of a bbox is too large");
        if (n < 4)
            box[n] = (float)value;
    }
    return n == 4 ? HR_STATUS_OK : hr_json_stream_fail(&l->in, "a bbox must have four numbers");
}

static hr_status read_polygon(loader *l)
{
    bool first = true, more = true;
    int64_t range[2] = {HR_COCO_COUNT(l->vertices, float) / 2, 0};
    for (int64_t n = 0;; n++) {
        double value;
        HR_TRY(hr_json_stream_item(&l->in, &first, &more));
        if (!more && n % 2 != 0)
            return hr_json_stream_fail(&l->in, "a polygon has an odd number of coordinates");
        range[1] = n / 2;
        if (!more)
            return hr_scan_add(&l->polygons, range, sizeof(range), l->error);
        HR_TRY(hr_json_stream_number(&l->in, &value));
        if (!(value >= -COORDINATE_MAX && value <= COORDINATE_MAX))
            return hr_json_stream_fail(&l->in, "a coordinate of a polygon is too large");
        const float coordinate = (float)value;
        HR_TRY(hr_scan_add(&l->vertices, &coordinate, sizeof(coordinate), l->error));
    }
}

static hr_status read_counts(loader *l, hr_coco_rle *rle)
{
    hr_scan *counts = &l->out->counts;
    bool first = true, more = true;
    rle->counts.first = HR_COCO_COUNT(*counts, uint32_t);
    if (hr_json_stream_peek(&l->in) == '"') {
        HR_TRY(hr_json_stream_string(&l->in));
        if (!hr_coco_decode_counts(counts, l->in.text.data, l->in.text.size - 1, l->error))
            return hr_json_stream_fail(&l->in, "the run lengths are damaged");
        more = false;
    }
    while (more) {
        int64_t value;
        HR_TRY(hr_json_stream_item(&l->in, &first, &more));
        if (!more)
            break;
        HR_TRY(hr_json_stream_int(&l->in, 0, UINT32_MAX, &value));
        const uint32_t count = (uint32_t)value;
        HR_TRY(hr_scan_add(counts, &count, sizeof(count), l->error));
    }
    rle->counts.count = HR_COCO_COUNT(*counts, uint32_t) - rle->counts.first;
    return HR_STATUS_OK;
}

static hr_status read_rle(loader *l)
{
    hr_coco_rle rle = {0};
    bool first = true, more = true;
    for (;;) {
        HR_TRY(hr_json_stream_key(&l->in, &first, &more));
        if (!more)
            return hr_scan_add(&l->rles, &rle, sizeof(rle), l->error);
        if (key_is(l, "counts")) {
            HR_TRY(read_counts(l, &rle));
        } else if (key_is(l, "size")) {
            float size[4] = {-1, -1, 0, 0};
            bool head = true, in = true;
            for (int32_t n = 0; in; n++) {
                int64_t side = 0;
                HR_TRY(hr_json_stream_item(&l->in, &head, &in));
                if (in)
                    HR_TRY(hr_json_stream_int(&l->in, 0, SIDE_MAX, &side));
                if (in && n < 2)
                    size[n] = (float)side;
            }
            rle.height = (int64_t)size[0];
            rle.width = (int64_t)size[1];
        } else {
            HR_TRY(hr_json_stream_skip(&l->in));
        }
    }
}

static hr_status read_segmentation(loader *l)
{
    bool first = true, more = true;
    char kind = hr_json_stream_peek(&l->in);
    if (kind == '{')
        return read_rle(l);
    if (kind != '[')
        return hr_json_stream_skip(&l->in);
    for (;;) {
        HR_TRY(hr_json_stream_item(&l->in, &first, &more));
        if (!more)
            return HR_STATUS_OK;
        HR_TRY(read_polygon(l));
    }
}

/* ---- members of the lists ---- */

static hr_status read_annotation(loader *l)
{
    const hr_coco_options *o = l->options;
    annotation a = {.image = INT64_MIN, .order = HR_COCO_COUNT(l->annotations, annotation)};
    hr_scan *const tables[] = {&l->polygons, &l->vertices, &l->rles, &l->out->counts};
    size_t sizes[HR_COUNT_OF(tables)];
    bool first = true, more = true;
    for (size_t i = 0; i < HR_COUNT_OF(tables); i++)
        sizes[i] = tables[i]->size;
    a.polygons.first = HR_COCO_COUNT(l->polygons, int64_t[2]);
    a.rles.first = HR_COCO_COUNT(l->rles, hr_coco_rle);
    for (;;) {
        HR_TRY(hr_json_stream_key(&l->in, &first, &more));
        if (!more)
            break;
        if (key_is(l, "image_id"))
            HR_TRY(hr_json_stream_int(&l->in, -ID_MAX, ID_MAX, &a.image));
        else if (key_is(l, "category_id"))
            HR_TRY(hr_json_stream_int(&l->in, -ID_MAX, ID_MAX, &a.category));
        else if (key_is(l, "iscrowd"))
            HR_TRY(hr_json_stream_int(&l->in, 0, ID_MAX, &a.crowd));
        else if (key_is(l, "bbox"))
            HR_TRY(read_box(l, a.box));
        else if (key_is(l, "segmentation") && o->masks)
            HR_TRY(read_segmentation(l));
        else
            HR_TRY(hr_json_stream_skip(&l->in));
    }
    a.polygons.count = HR_COCO_COUNT(l->polygons, int64_t[2]) - a.polygons.first;
    a.rles.count = HR_COCO_COUNT(l->rles, hr_coco_rle) - a.rles.first;
    if (a.image == INT64_MIN)
        return hr_json_stream_fail(&l->in, "an annotation has no image_id");
    bool large = a.box[2] >= o->size_threshold && a.box[3] >= o->size_threshold;
    if (large && (!a.crowd || o->crowds))
        return hr_scan_add(&l->annotations, &a, sizeof(a), l->error);
    for (size_t i = 0; i < HR_COUNT_OF(tables); i++)
        tables[i]->size = sizes[i];
    return HR_STATUS_OK;
}

static hr_status read_entry(loader *l)
{
    entry p = {.id = INT64_MIN, .name = -1, .order = HR_COCO_COUNT(l->entries, entry)};
    bool first = true, more = true;
    for (;;) {
        HR_TRY(hr_json_stream_key(&l->in, &first, &more));
        if (!more)
            break;
        if (key_is(l, "id")) {
            HR_TRY(hr_json_stream_int(&l->in, -ID_MAX, ID_MAX, &p.id));
        } else if (key_is(l, "width")) {
            HR_TRY(hr_json_stream_int(&l->in, 0, SIDE_MAX, &p.width));
        } else if (key_is(l, "height")) {
            HR_TRY(hr_json_stream_int(&l->in, 0, SIDE_MAX, &p.height));
        } else if (key_is(l, "file_name")) {
            HR_TRY(hr_json_stream_string(&l->in));
            p.name = (int64_t)l->names.size;
            HR_TRY(hr_scan_add(&l->names, l->in.text.data, l->in.text.size, l->error));
        } else {
            HR_TRY(hr_json_stream_skip(&l->in));
        }
    }
    if (p.id == INT64_MIN || p.name < 0)
        return hr_json_stream_fail(&l->in, "an image has no id or no file_name");
    return hr_scan_add(&l->entries, &p, sizeof(p), l->error);
}

static hr_status read_category(loader *l)
{
    category c = {INT64_MIN, HR_COCO_COUNT(l->categories, category) + 1};
    bool first = true, more = true;
    for (;;) {
        HR_TRY(hr_json_stream_key(&l->in, &first, &more));
        if (!more)
            return hr_scan_add(&l->categories, &c, sizeof(c), l->error);
        if (key_is(l, "id"))
            HR_TRY(hr_json_stream_int(&l->in, -ID_MAX, ID_MAX, &c.id));
        else
            HR_TRY(hr_json_stream_skip(&l->in));
    }
}

static hr_status read_file(loader *l)
{
    static const struct {
        const char *key;
        hr_status (*read)(loader *l);
    } lists[] = {
        {"images", read_entry}, {"annotations", read_annotation}, {"categories", read_category}};
    bool first = true, more = true;
    for (;;) {
        size_t i = 0;
        HR_TRY(hr_json_stream_key(&l->in, &first, &more));
        if (!more)
            return hr_json_stream_end(&l->in);
        while (i < HR_COUNT_OF(lists) && !key_is(l, lists[i].key))
            i++;
        if (i == HR_COUNT_OF(lists)) {
            HR_TRY(hr_json_stream_skip(&l->in));
            continue;
        }
        for (bool head = true, in = true;;) {
            HR_TRY(hr_json_stream_item(&l->in, &head, &in));
            if (!in)
                break;
            HR_TRY(lists[i].read(l));
        }
    }
}

/* ---- choosing images ---- */

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_image(const void *x, const void *y)
{
    const annotation *a = x, *b = y;
    return a->image != b->image ? compare(a->image, b->image) : compare(a->order, b->order);
}

static int by_id(const void *x, const void *y)
{
    const entry *a = x, *b = y;
    return a->id != b->id ? compare(a->id, b->id) : compare(a->order, b->order);
}

static int by_category(const void *x, const void *y)
{
    const category *a = x, *b = y;
    return a->id != b->id ? compare(a->id, b->id) : compare(a->label, b->label);
}

/* The number of the category in the file, from 1; 0: it is not there. */
static int32_t label_of(const loader *l, int64_t id)
{
    const category *all = HR_COCO_AT(l->categories, category);
    int64_t low = 0, count = HR_COCO_COUNT(l->categories, category), high = count;
    if (l->options->keep_ids)
        return (int32_t)id;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (all[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && all[low].id == id ? (int32_t)all[low].label : 0;
}

static hr_status add_box(loader *l, const annotation *a, const entry *p)
{
    const hr_coco_options *o = l->options;
    const float sides[2] = {(float)p->width, (float)p->height};
    const int32_t label = label_of(l, a->category);
    float box[4];
    memcpy(box, a->box, sizeof(box));
    for (int32_t k = 2; o->ltrb && k < 4; k++)
        box[k] += box[k - 2];
    for (int32_t k = 0; o->ratio && k < 4; k++)
        box[k] /= sides[k % 2];
    HR_TRY(hr_scan_add(&l->out->boxes, box, sizeof(box), l->error));
    return hr_scan_add(&l->out->labels, &label, sizeof(label), l->error);
}

static hr_status add_masks(loader *l, const annotation *a, const entry *p, hr_coco_image *image)
{
    hr_coco_data *d = l->out;
    const int32_t mask = (int32_t)image->boxes.count;
    for (int64_t i = a->polygons.first; i < a->polygons.first + a->polygons.count; i++) {
        const int64_t *range = HR_COCO_AT(l->polygons, int64_t) + 2 * i;
        int64_t end = image->vertices.count + range[1];
        if (end > INT32_MAX)
            return hr_fail(l->error, HR_STATUS_LIMIT, "an image has more than 2^31 vertices");
        const hr_coco_polygon polygon = {mask, (int32_t)image->vertices.count, (int32_t)end};
        for (int64_t k = 2 * range[0]; k < 2 * (range[0] + range[1]); k++) {
            float v = HR_COCO_AT(l->vertices, float)[k];
            if (l->options->ratio && !l->options->drawn)
                v /= (float)(k % 2 ? p->height : p->width);
            HR_TRY(hr_scan_add(&d->vertices, &v, sizeof(v), l->error));
        }
        HR_TRY(hr_scan_add(&d->polygons, &polygon, sizeof(polygon), l->error));
        image->vertices.count = end;
        image->polygons.count++;
    }
    for (int64_t i = 0; i < a->rles.count; i++, image->rles.count++) {
        hr_coco_rle rle = HR_COCO_AT(l->rles, hr_coco_rle)[a->rles.first + i];
        rle.mask = mask;
        HR_TRY(hr_scan_add(&d->rles, &rle, sizeof(rle), l->error));
    }
    return HR_STATUS_OK;
}

/* Fractions and masks need the size of the image. */
static hr_status check_size(const loader *l, const entry *p, bool empty)
{
    const hr_coco_options *o = l->options;
    const char *needs = o->drawn ? "pixelwise_masks" : o->ratio && !empty ? "ratio" : NULL;
    if (!needs || (p->width > 0 && p->height > 0))
        return HR_STATUS_OK;
    return hr_fail(l->error, HR_STATUS_CORRUPT,
                   "the image '%s' (id %lld) has a width of %lld and a height of %lld; %s needs "
                   "the size of every image in the annotations",
                   l->names.data + p->name, (long long)p->id, (long long)p->width,
                   (long long)p->height, needs);
}

static hr_status add_image(loader *l, const entry *p)
{
    const annotation *all = HR_COCO_AT(l->annotations, annotation);
    int64_t low = 0, count = HR_COCO_COUNT(l->annotations, annotation), high = count;
    hr_coco_data *d = l->out;
    hr_coco_image image = {.id = (int32_t)p->id,
                           .width = (int32_t)p->width,
                           .height = (int32_t)p->height,
                           .boxes.first = HR_COCO_COUNT(d->labels, int32_t),
                           .polygons.first = HR_COCO_COUNT(d->polygons, hr_coco_polygon),
                           .vertices.first = HR_COCO_COUNT(d->vertices, float) / 2,
                           .rles.first = HR_COCO_COUNT(d->rles, hr_coco_rle)};
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (all[middle].image < p->id)
            low = middle + 1;
        else
            high = middle;
    }
    HR_TRY(check_size(l, p, low == count || all[low].image != p->id));
    for (; low < count && all[low].image == p->id; low++) {
        HR_TRY(add_box(l, &all[low], p));
        HR_TRY(add_masks(l, &all[low], p, &image));
        image.boxes.count++;
    }
    if (l->options->skip_empty && image.boxes.count == 0)
        return HR_STATUS_OK;
    HR_TRY(hr_scan_add(&d->images, &image, sizeof(image), l->error));
    return hr_file_list_add(&d->names, NULL, l->names.data + p->name, 0, l->error);
}

typedef struct named {
    const char *name;
    const entry *entry;
} named;

static int by_name(const void *x, const void *y)
{
    const named *a = x, *b = y;
    int order = strcmp(a->name, b->name);
    return order || !a->entry || !b->entry ? order : by_id(a->entry, b->entry);
}

/* The first image of this name. */
static const entry *find(const named *table, int64_t count, const char *name)
{
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (strcmp(table[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && strcmp(table[low].name, name) == 0 ? table[low].entry : NULL;
}

static hr_status add_named(loader *l, const entry *entries, int64_t count)
{
    named *table = hr_calloc((size_t)count + 1, sizeof(*table), l->error);
    hr_status status = HR_STATUS_OK;
    HR_TRY_ALLOC(table);
    for (int64_t i = 0; i < count; i++)
        table[i] = (named){l->names.data + entries[i].name, &entries[i]};
    if (count > 0)
        qsort(table, (size_t)count, sizeof(*table), by_name);
    for (int32_t i = 0; i < l->options->images.n && status == HR_STATUS_OK; i++) {
        const entry *p = find(table, count, l->options->images.v[i]);
        if (p)
            status = add_image(l, p);
    }
    hr_free(table);
    return status;
}

static bool same_image(const loader *l, const entry *a, const entry *b)
{
    return a->width == b->width && a->height == b->height &&
           strcmp(l->names.data + a->name, l->names.data + b->name) == 0;
}

/* Adds the image that was added last once more, if it was. It has the same annotations. */
static hr_status repeat_image(loader *l, const entry *p)
{
    hr_coco_data *d = l->out;
    const int64_t count = HR_COCO_COUNT(d->images, hr_coco_image);
    if (count == 0 || HR_COCO_AT(d->images, hr_coco_image)[count - 1].id != p->id)
        return HR_STATUS_OK;
    const hr_coco_image image = HR_COCO_AT(d->images, hr_coco_image)[count - 1];
    HR_TRY(hr_scan_add(&d->images, &image, sizeof(image), l->error));
    return hr_file_list_add(&d->names, NULL, l->names.data + p->name, 0, l->error);
}

static hr_status choose(loader *l)
{
    entry *entries = HR_COCO_AT(l->entries, entry);
    int64_t count = HR_COCO_COUNT(l->entries, entry);
    size_t annotations = (size_t)HR_COCO_COUNT(l->annotations, annotation);
    size_t categories = (size_t)HR_COCO_COUNT(l->categories, category);
    if (annotations > 0)
        qsort(l->annotations.data, annotations, sizeof(annotation), by_image);
    if (categories > 0)
        qsort(l->categories.data, categories, sizeof(category), by_category);
    if (count > 0)
        qsort(entries, (size_t)count, sizeof(*entries), by_id);
    for (int64_t i = 1; i < count; i++)
        if (entries[i].id == entries[i - 1].id && !same_image(l, &entries[i], &entries[i - 1]))
            return hr_fail(l->error, HR_STATUS_CORRUPT,
                           "the images '%s' and '%s' have the same id, %lld",
                           l->names.data + entries[i - 1].name, l->names.data + entries[i].name,
                           (long long)entries[i].id);
    if (l->options->images.n > 0)
        return add_named(l, entries, count);
    for (int64_t i = 0; i < count; i++)
        HR_TRY(i > 0 && entries[i].id == entries[i - 1].id ? repeat_image(l, &entries[i])
                                                           : add_image(l, &entries[i]));
    return HR_STATUS_OK;
}

hr_status hr_coco_load(hr_coco_data *d, const char *path, const hr_coco_options *options,
                       hr_error *error)
{
    loader l = {.options = options, .out = d, .error = error};
    hr_object *object;
    HR_TRY(hr_object_open(&object, NULL, path, NULL, error));
    hr_status status = hr_json_stream_init(&l.in, object, error);
    if (status == HR_STATUS_OK)
        status = read_file(&l);
    hr_json_stream_fini(&l.in);
    hr_object_close(object);
    if (status == HR_STATUS_OK)
        status = choose(&l);
    hr_scan *const tables[] = {&l.entries,  &l.names,    &l.annotations, &l.categories,
                               &l.polygons, &l.vertices, &l.rles};
    for (size_t i = 0; i < HR_COUNT_OF(tables); i++)
        hr_free(tables[i]->data);
    return status;
}

void hr_coco_fini(hr_coco_data *d)
{
    hr_scan *const tables[] = {&d->images,   &d->boxes, &d->labels, &d->polygons,
                               &d->vertices, &d->rles,  &d->counts};
    for (size_t i = 0; i < HR_COUNT_OF(tables); i++)
        hr_free(tables[i]->data);
    hr_file_list_fini(&d->names);
    *d = (hr_coco_data){0};
}

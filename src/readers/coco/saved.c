/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Annotations that were saved as tables: a file of each, with the number of its elements (uint32)
 * and the elements. DALI reads and writes the same files. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "readers/coco/data.h"

#define PATH_SIZE 4096

/* A table with one number per image: that of all ranges of one kind, or a size. */
typedef struct column {
    const char *name;
    size_t offset; /* in hr_coco_image */
    size_t size;   /* in the file: 4 or 8 */
    bool wide;     /* the field is int64_t, else int32_t */
} column;

#define RANGE(names, counts, field, bytes)                                                         \
    {names, offsetof(hr_coco_image, field.first), bytes, true},                                    \
    {                                                                                              \
        counts, offsetof(hr_coco_image, field.count), bytes, true                                  \
    }
static const column box_columns[] = {RANGE("offsets.dat", "counts.dat", boxes, 4)};
static const column id_columns[] = {{"original_ids.dat", offsetof(hr_coco_image, id), 4, false}};
static const column polygon_columns[] = {
    RANGE("polygon_offset.dat", "polygons_count.dat", polygons, 8),
    RANGE("vertices_offset.dat", "vertices_count.dat", vertices, 8)};
static const column size_columns[] = {{"heights.dat", offsetof(hr_coco_image, height), 4, false},
                                      {"widths.dat", offsetof(hr_coco_image, width), 4, false}};
static const column rle_columns[] = {RANGE("masks_offset.dat", "mask_count.dat", rles, 8)};

static hr_status path_make(char *path, const char *folder, const char *name, hr_error *error)
{
    int n = snprintf(path, PATH_SIZE, "%s/%s", folder, name);
    if (n < 0 || n >= PATH_SIZE)
        return hr_fail(error, HR_STATUS_IO, "the path of the folder is too long");
    return HR_STATUS_OK;
}

/* ---- writing ---- */

/* `count` < 0: a text without a number in front. */
static hr_status write_table(const char *folder, const char *name, int64_t count, const void *data,
                             size_t size, hr_error *error)
{
    char path[PATH_SIZE];
    const uint32_t number = (uint32_t)count;
    HR_TRY(path_make(path, folder, name, error));
    if (count > UINT32_MAX)
        return hr_fail(error, HR_STATUS_LIMIT, "%s would have more than 2^32 elements", name);
    FILE *file = fopen(path, "wb");
    if (!file)
        return hr_fail_errno(error, errno, "'%s' cannot be created", path);
    bool good = count < 0 || fwrite(&number, sizeof(number), 1, file) == 1;
    good = good && (size == 0 || fwrite(data, size, 1, file) == 1);
    int code = errno;
    if (fclose(file) != 0) {
        good = false;
        code = errno;
    }
    return good ? HR_STATUS_OK : hr_fail_errno(error, code, "'%s' cannot be written", path);
}

static hr_status write_columns(const hr_coco_data *d, const char *folder, const column *columns,
                               size_t n, hr_error *error)
{
    const hr_coco_image *images = HR_COCO_AT(d->images, hr_coco_image);
    int64_t count = HR_COCO_COUNT(d->images, hr_coco_image);
    hr_status status = HR_STATUS_OK;
    for (size_t i = 0; i < n && status == HR_STATUS_OK; i++) {
        hr_scan table = {0};
        for (int64_t k = 0; k < count && status == HR_STATUS_OK; k++) {
            int32_t narrow;
            int64_t value;
            const char *field = (const char *)&images[k] + columns[i].offset;
            memcpy(columns[i].wide ? (void *)&value : (void *)&narrow, field,
                   columns[i].wide ? sizeof(value) : sizeof(narrow));
            value = columns[i].wide ? value : narrow;
            if (columns[i].size == 4 && value > INT32_MAX)
                status = hr_fail(error, HR_STATUS_LIMIT, "there are more than 2^31 boxes");
            else /* little endian, as on every host so far */
                status = hr_scan_add(&table, &value, columns[i].size, error);
        }
        if (status == HR_STATUS_OK)
            status = write_table(folder, columns[i].name, count, table.data, table.size, error);
        hr_free(table.data);
    }
    return status;
}

static hr_status write_rles(const hr_coco_data *d, const char *folder, hr_error *error)
{
    const hr_coco_rle *rles = HR_COCO_AT(d->rles, hr_coco_rle);
    int64_t count = HR_COCO_COUNT(d->rles, hr_coco_rle);
    hr_scan table = {0}, boxes = {0};
    hr_status status = HR_STATUS_OK;
    for (int64_t i = 0; i < count && status == HR_STATUS_OK; i++) {
        const int64_t head[3] = {rles[i].height, rles[i].width, rles[i].counts.count};
        status = hr_scan_add(&boxes, &rles[i].mask, sizeof(rles[i].mask), error);
        if (status == HR_STATUS_OK)
            status = hr_scan_add(&table, head, sizeof(head), error);
        if (status == HR_STATUS_OK && head[2] > 0)
            status = hr_scan_add(&table,
                                 d->counts.data + (size_t)rles[i].counts.first * sizeof(uint32_t),
                                 (size_t)head[2] * sizeof(uint32_t), error);
    }
    if (status == HR_STATUS_OK)
        status = write_table(folder, "masks_rles.dat", count, table.data, table.size, error);
    if (status == HR_STATUS_OK)
        status = write_table(folder, "masks_rles_idx.dat", count, boxes.data, boxes.size, error);
    hr_free(table.data);
    hr_free(boxes.data);
    return status;
}

static hr_status write_names(const hr_coco_data *d, const char *folder, hr_error *error)
{
    hr_scan text = {0};
    hr_status status = HR_STATUS_OK;
    for (int64_t i = 0; i < d->names.count && status == HR_STATUS_OK; i++) {
        const char *name = hr_file_list_name(&d->names, i);
        status = strchr(name, '\n')
                     ? hr_fail(error, HR_STATUS_ERROR, "the name of an image contains a line break")
                     : hr_scan_add(&text, name, strlen(name), error);
        if (status == HR_STATUS_OK)
            status = hr_scan_add(&text, "\n", 1, error);
    }
    if (status == HR_STATUS_OK)
        status = write_table(folder, "filenames.dat", -1, text.data, text.size, error);
    hr_free(text.data);
    return status;
}

#define COLUMNS(list) list, HR_COUNT_OF(list)

hr_status hr_coco_save(const hr_coco_data *d, const char *folder, hr_coco_parts parts,
                       hr_error *error)
{
    HR_TRY(write_names(d, folder, error));
    HR_TRY(write_columns(d, folder, COLUMNS(box_columns), error));
    HR_TRY(write_table(folder, "boxes.dat", HR_COCO_COUNT(d->boxes, float), d->boxes.data,
                       d->boxes.size, error));
    HR_TRY(write_table(folder, "labels.dat", HR_COCO_COUNT(d->labels, int32_t), d->labels.data,
                       d->labels.size, error));
    if (parts.ids)
        HR_TRY(write_columns(d, folder, COLUMNS(id_columns), error));
    if (parts.polygons || parts.pixels) {
        HR_TRY(write_columns(d, folder, COLUMNS(polygon_columns), error));
        HR_TRY(write_table(folder, "polygon_data.dat", HR_COCO_COUNT(d->polygons, hr_coco_polygon),
                           d->polygons.data, d->polygons.size, error));
        HR_TRY(write_table(folder, "vertices.dat", HR_COCO_COUNT(d->vertices, float) / 2,
                           d->vertices.data, d->vertices.size, error));
    }
    if (!parts.pixels)
        return HR_STATUS_OK;
    HR_TRY(write_columns(d, folder, COLUMNS(size_columns), error));
    HR_TRY(write_columns(d, folder, COLUMNS(rle_columns), error));
    return write_rles(d, folder, error);
}

/* ---- reading ---- */

static hr_status read_whole(const char *folder, const char *name, hr_scan *out, hr_error *error)
{
    hr_object *object;
    *out = (hr_scan){0};
    hr_status status = hr_object_open(&object, folder, name, NULL, error);
    if (status == HR_STATUS_OK) {
        out->size = out->capacity = (size_t)hr_object_size(object);
        out->data = hr_calloc(out->size + 1, 1, error);
        status = !out->data ? HR_STATUS_NO_MEMORY
                            : hr_object_read(object, 0, out->size, out->data, NULL, NULL, error);
        hr_object_close(object);
    }
    return status == HR_STATUS_OK ? status : hr_error_prefix(error, "'%s'", name);
}

/* The elements of a table; `element` 0: they have several sizes. */
static hr_status read_table(const char *folder, const char *name, size_t element, hr_scan *out,
                            uint32_t *count, hr_error *error)
{
    HR_TRY(read_whole(folder, name, out, error));
    if (out->size >= sizeof(*count)) {
        memcpy(count, out->data, sizeof(*count));
        out->size -= sizeof(*count);
        memmove(out->data, out->data + sizeof(*count), out->size);
        if (element == 0 || out->size == element * *count)
            return HR_STATUS_OK;
    }
    return hr_fail(error, HR_STATUS_CORRUPT, "'%s' does not have the size that its number says",
                   name);
}

static hr_status read_columns(hr_coco_data *d, const char *folder, const column *columns, size_t n,
                              hr_error *error)
{
    hr_coco_image *images = HR_COCO_AT(d->images, hr_coco_image);
    for (size_t i = 0; i < n; i++) {
        hr_scan table;
        uint32_t count;
        const column *c = &columns[i];
        hr_status status = read_table(folder, c->name, c->size, &table, &count, error);
        if (status == HR_STATUS_OK && count != HR_COCO_COUNT(d->images, hr_coco_image))
            status =
                hr_fail(error, HR_STATUS_CORRUPT, "'%s' is for %u images, filenames.dat for %lld",
                        c->name, count, (long long)HR_COCO_COUNT(d->images, hr_coco_image));
        for (uint32_t k = 0; k < count && status == HR_STATUS_OK; k++) {
            int32_t narrow;
            int64_t value;
            memcpy(c->size == 8 ? (void *)&value : (void *)&narrow, table.data + k * c->size,
                   c->size);
            if (c->size == 8)
                narrow = (int32_t)HR_MIN(value, INT32_MAX);
            else
                value = narrow;
            memcpy((char *)&images[k] + c->offset, c->wide ? (void *)&value : (void *)&narrow,
                   c->wide ? sizeof(value) : sizeof(narrow));
        }
        hr_free(table.data);
        HR_TRY(status);
    }
    return HR_STATUS_OK;
}

static hr_status read_rles(hr_coco_data *d, const char *folder, hr_error *error)
{
    hr_scan table = {0}, boxes = {0};
    uint32_t count = 0, also = 0;
    hr_status status = read_table(folder, "masks_rles.dat", 0, &table, &count, error);
    if (status == HR_STATUS_OK)
        status = read_table(folder, "masks_rles_idx.dat", 4, &boxes, &also, error);
    if (status == HR_STATUS_OK && count != also)
        status =
            hr_fail(error, HR_STATUS_CORRUPT, "'masks_rles_idx.dat' and 'masks_rles.dat' differ");
    size_t at = 0;
    for (uint32_t i = 0; i < count && status == HR_STATUS_OK; i++) {
        int64_t head[3] = {0, 0, -1};
        if (table.size - at >= sizeof(head))
            memcpy(head, table.data + at, sizeof(head));
        at += HR_MIN(sizeof(head), table.size - at);
        if (head[2] < 0 || (uint64_t)head[2] > (table.size - at) / sizeof(uint32_t)) {
            status = hr_fail(error, HR_STATUS_CORRUPT, "'masks_rles.dat' is damaged");
            break;
        }
        hr_coco_rle rle = {head[0], head[1], {HR_COCO_COUNT(d->counts, uint32_t), head[2]}, 0};
        memcpy(&rle.mask, boxes.data + i * sizeof(rle.mask), sizeof(rle.mask));
        status = hr_scan_add(&d->rles, &rle, sizeof(rle), error);
        if (status == HR_STATUS_OK)
            status = hr_scan_add(&d->counts, table.data + at, (size_t)head[2] * 4, error);
        at += (size_t)head[2] * sizeof(uint32_t);
    }
    hr_free(table.data);
    hr_free(boxes.data);
    return status;
}

/* DALI does not write the tables of a kind of mask that no image has. */
static bool is_there(const char *folder, const char *name)
{
    hr_object *object;
    if (hr_object_open(&object, folder, name, NULL, NULL) != HR_STATUS_OK)
        return false;
    hr_object_close(object);
    return true;
}

static hr_status read_names(hr_coco_data *d, const char *folder, hr_error *error)
{
    hr_scan text;
    hr_status status = read_whole(folder, "filenames.dat", &text, error);
    for (char *line = text.data, *next; line && *line && status == HR_STATUS_OK; line = next) {
        const hr_coco_image image = {.id = 0};
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        status = hr_file_list_add(&d->names, NULL, line, 0, error);
        if (status == HR_STATUS_OK)
            status = hr_scan_add(&d->images, &image, sizeof(image), error);
    }
    hr_free(text.data);
    return status;
}

static bool within(hr_coco_range r, int64_t count)
{
    return r.first >= 0 && r.count >= 0 && r.count <= INT32_MAX && r.first <= count - r.count;
}

/* Whether all that an image refers to is in the tables. */
static bool image_valid(const hr_coco_data *d, const hr_coco_image *m)
{
    if (!within(m->boxes, HR_COCO_COUNT(d->labels, int32_t)) ||
        !within(m->polygons, HR_COCO_COUNT(d->polygons, hr_coco_polygon)) ||
        !within(m->vertices, HR_COCO_COUNT(d->vertices, float) / 2) ||
        !within(m->rles, HR_COCO_COUNT(d->rles, hr_coco_rle)) || m->width < 0 || m->height < 0)
        return false;
    for (int64_t i = m->polygons.first; i < m->polygons.first + m->polygons.count; i++) {
        const hr_coco_polygon *p = &HR_COCO_AT(d->polygons, hr_coco_polygon)[i];
        if (p->start < 0 || p->end < p->start || p->end > m->vertices.count)
            return false;
    }
    return true;
}

hr_status hr_coco_restore(hr_coco_data *d, const char *folder, hr_coco_parts parts, hr_error *error)
{
    uint32_t boxes, labels, count;
    HR_TRY(read_names(d, folder, error));
    HR_TRY(read_columns(d, folder, COLUMNS(box_columns), error));
    HR_TRY(read_table(folder, "boxes.dat", sizeof(float), &d->boxes, &boxes, error));
    HR_TRY(read_table(folder, "labels.dat", 4, &d->labels, &labels, error));
    if (boxes / 4.0 != labels)
        return hr_fail(error, HR_STATUS_CORRUPT, "there are %g boxes and %u labels", boxes / 4.0,
                       labels);
    if (parts.ids)
        HR_TRY(read_columns(d, folder, COLUMNS(id_columns), error));
    if (parts.polygons || (parts.pixels && is_there(folder, "polygon_data.dat"))) {
        HR_TRY(read_columns(d, folder, COLUMNS(polygon_columns), error));
        HR_TRY(read_table(folder, "polygon_data.dat", sizeof(hr_coco_polygon), &d->polygons, &count,
                          error));
        HR_TRY(read_table(folder, "vertices.dat", 8, &d->vertices, &count, error));
    }
    if (parts.pixels)
        HR_TRY(read_columns(d, folder, COLUMNS(size_columns), error));
    if (parts.pixels && is_there(folder, "masks_rles.dat")) {
        HR_TRY(read_columns(d, folder, COLUMNS(rle_columns), error));
        HR_TRY(read_rles(d, folder, error));
    }
    const hr_coco_image *images = HR_COCO_AT(d->images, hr_coco_image);
    for (int64_t i = 0; i < d->names.count; i++)
        if (!image_valid(d, &images[i]))
            return hr_fail(
                error, HR_STATUS_CORRUPT,
                "the tables are damaged: image %lld refers to elements that are not there",
                (long long)i);
    return HR_STATUS_OK;
}

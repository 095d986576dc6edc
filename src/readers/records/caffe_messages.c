/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "readers/records/caffe_messages.h"

#include <string.h>

#include "readers/records/wire.h"

/* ---- Caffe ---- */

typedef struct datum {
    int32_t extent[3]; /* channels, height, width */
    hr_wire data;
    int32_t label, labels; /* labels: 0 or 1 */
    bool encoded;
} datum;

/* The last value of a field counts. */
static bool parse_datum(const hr_tensor *bytes, datum *out)
{
    hr_wire w = hr_wire_make(bytes->data, (size_t)bytes->shape.extent[0]);
    hr_wire_field f;
    *out = (datum){.data = hr_wire_make(w.at, 0), .encoded = true};
    while (hr_wire_next(&w, &f)) {
        if (f.type == HR_WIRE_BYTES && f.number == 4)
            out->data = f.bytes;
        if (f.type != HR_WIRE_VARINT)
            continue;
        int32_t value = (int32_t)f.value;
        if (f.number >= 1 && f.number <= 3)
            out->extent[f.number - 1] = value;
        if (f.number == 5) {
            out->label = value;
            out->labels = 1;
        }
        if (f.number == 7)
            out->encoded = f.value != 0;
    }
    return !w.bad;
}

static hr_status put_data(const datum *d, const hr_tensor *bytes, hr_tensor *out, hr_error *error)
{
    int64_t size = (int64_t)hr_wire_left(&d->data);
    hr_shape shape = {1, {size}};
    if (!d->encoded) {
        size_t volume;
        shape = (hr_shape){3, {d->extent[1], d->extent[2], d->extent[0]}};
        if (!hr_shape_volume(&shape, &volume) || volume != (size_t)size)
            return hr_fail(error, HR_STATUS_CORRUPT,
                           "the image is not coded and has %lld bytes, but %d rows of %d pixels "
                           "with %d channels",
                           (long long)size, d->extent[1], d->extent[2], d->extent[0]);
    }
    hr_tensor_describe(out, HR_DTYPE_UINT8, shape, NULL);
    out->data = (void *)d->data.at;
    out->buffer = bytes->buffer;
    return HR_STATUS_OK;
}

static hr_status put_label(const datum *d, hr_arena *arena, hr_tensor *out, hr_error *error)
{
    int32_t *label = hr_arena_alloc(arena, sizeof(*label), error);
    HR_TRY_ALLOC(label);
    *label = d->label;
    hr_tensor_describe(out, HR_DTYPE_INT32, (hr_shape){1, {d->labels}}, NULL);
    out->data = label;
    return HR_STATUS_OK;
}

hr_status hr_caffe_datum(const hr_tensor *value, bool image, bool label, hr_arena *arena,
                         hr_tensor *out, hr_error *error)
{
    datum d;
    if (!parse_datum(value, &d))
        return hr_fail(error, HR_STATUS_CORRUPT, "the value, %lld bytes, is not a Datum of Caffe",
                       (long long)value->shape.extent[0]);
    if (image)
        HR_TRY(put_data(&d, value, out++, error));
    return label ? put_label(&d, arena, out, error) : HR_STATUS_OK;
}

/* ---- Caffe2 ---- */

typedef enum label_kind {
    LABEL_KIND_SINGLE,
    LABEL_KIND_SPARSE,
    LABEL_KIND_DENSE,
    LABEL_KIND_WEIGHTED,
    LABEL_KIND_NONE = HR_CAFFE2_NO_LABEL
} label_kind;

typedef enum proto_type { /* a data_type, and of numbers the field in which they are */
                          PROTO_TYPE_FLOAT = 1,
                          PROTO_TYPE_INT32 = 2,
                          PROTO_TYPE_BYTE = 3,
                          PROTO_TYPE_STRING = 4,
                          PROTO_TYPE_INT64 = 10
} proto_type;

enum { FLOATS = 3, INT32S = 4, BYTES = 5, STRINGS = 6, INT64S = 10 }; /* fields */
enum { PROTOS_MOST = HR_OP_MAX_OUTPUTS + 1 };

/* A value and how far it was taken apart. */
typedef struct reading {
    const hr_tensor *value;
    hr_arena *arena;
    hr_wire proto[PROTOS_MOST];
    int32_t protos, taken;
    hr_tensor *out; /* the next output */
} reading;

static bool is_sparse(const hr_caffe2_wanted *a)
{
    return a->label_type == LABEL_KIND_SPARSE || a->label_type == LABEL_KIND_WEIGHTED;
}

int32_t hr_caffe2_outputs(const hr_caffe2_wanted *wanted)
{
    int32_t labels = wanted->label_type == LABEL_KIND_NONE ? 0 : is_sparse(wanted) ? 2 : 1;
    return wanted->image + labels + wanted->additional + wanted->box;
}

static hr_status fail_damaged(const reading *r, hr_error *error)
{
    return hr_fail(error, HR_STATUS_CORRUPT, "the value, %lld bytes, is not TensorProtos of Caffe2",
                   (long long)r->value->shape.extent[0]);
}

/* The rest of a value with more tensors than any reader has outputs is not looked at. */
static hr_status find_protos(reading *r, hr_error *error)
{
    hr_wire w = hr_wire_make(r->value->data, (size_t)r->value->shape.extent[0]);
    hr_wire_field field;
    while (r->protos < PROTOS_MOST && hr_wire_next(&w, &field))
        if (field.type == HR_WIRE_BYTES && field.number == 1)
            r->proto[r->protos++] = field.bytes;
    return w.bad ? fail_damaged(r, error) : HR_STATUS_OK;
}

static hr_status next_proto(reading *r, const char *what, hr_wire *out, hr_error *error)
{
    if (r->taken == r->protos)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the sample has %d tensor%s, and none is left for %s", r->protos,
                       r->protos == 1 ? "" : "s", what);
    *out = r->proto[r->taken++];
    return HR_STATUS_OK;
}

/* data_type and the first three of dims; `*count`: how many there are. */
static hr_status proto_head(const reading *r, hr_wire proto, int32_t *type, int64_t *dims,
                            int64_t *count, hr_error *error)
{
    hr_wire_field f;
    *type = PROTO_TYPE_FLOAT;
    *count = 0;
    while (hr_wire_next(&proto, &f)) {
        if (f.number == 2 && f.type == HR_WIRE_VARINT)
            *type = (int32_t)f.value;
        if (f.number != 1)
            continue;
        hr_wire all = f.bytes;
        bool packed = f.type == HR_WIRE_BYTES;
        uint64_t v = f.value;
        while (packed ? hr_wire_varint(&all, &v) : f.type == HR_WIRE_VARINT) {
            if (*count < 3)
                dims[*count] = (int64_t)v;
            ++*count;
            if (!packed)
                break;
        }
        if (packed && all.bad)
            return fail_damaged(r, error);
    }
    return proto.bad ? fail_damaged(r, error) : HR_STATUS_OK;
}

/* Counts or stores the numbers of a proto. */
static bool take_numbers(hr_wire proto, int32_t type, void *to, int64_t *count)
{
    const uint32_t number = type == PROTO_TYPE_FLOAT   ? FLOATS
                            : type == PROTO_TYPE_INT32 ? INT32S
                                                       : INT64S;
    hr_wire_field f;
    *count = 0;
    while (hr_wire_next(&proto, &f))
        if (f.number == number && !(type == PROTO_TYPE_FLOAT ? hr_wire_floats(&f, to, count)
                                                             : hr_wire_ints(&f, to, count)))
            return false;
    return !proto.bad;
}

/* The numbers of a proto as a tensor of one dimension: FLOAT, INT32 or INT64. */
static hr_status get_numbers(const reading *r, hr_wire proto, const char *what, hr_tensor *out,
                             hr_error *error)
{
    int32_t type;
    int64_t dims[3], count;
    HR_TRY(proto_head(r, proto, &type, dims, &count, error));
    if (type != PROTO_TYPE_FLOAT && type != PROTO_TYPE_INT32 && type != PROTO_TYPE_INT64)
        return hr_fail(error, HR_STATUS_ERROR,
                       "%s: the tensor's type is %d; it must be 1 (FLOAT), 2 (INT32) or 10 (INT64)",
                       what, type);
    if (!take_numbers(proto, type, NULL, &count))
        return fail_damaged(r, error);
    hr_dtype dtype = type == PROTO_TYPE_FLOAT   ? HR_DTYPE_FLOAT
                     : type == PROTO_TYPE_INT32 ? HR_DTYPE_INT32
                                                : HR_DTYPE_INT64;
    hr_tensor_describe(out, dtype, (hr_shape){1, {count}}, NULL);
    out->data = hr_arena_alloc(r->arena, (size_t)count * sizeof(int64_t), error);
    HR_TRY_ALLOC(out->data);
    take_numbers(proto, type, out->data, &count);
    for (int64_t i = 0; dtype == HR_DTYPE_INT32 && i < count; i++) {
        int32_t value = (int32_t)((const int64_t *)out->data)[i];
        memcpy((char *)out->data + (size_t)i * sizeof(value), &value, sizeof(value));
    }
    return HR_STATUS_OK;
}

/* ---- outputs ---- */

static void put_bytes(const reading *r, hr_wire bytes, hr_shape shape)
{
    hr_tensor_describe(r->out, HR_DTYPE_UINT8, shape, NULL);
    r->out->data = (void *)bytes.at;
    r->out->buffer = r->value->buffer;
}

/* The first string, or the last field of bytes. */
static bool find_bytes(hr_wire proto, uint32_t number, hr_wire *out)
{
    hr_wire_field f;
    *out = (hr_wire){0};
    while (hr_wire_next(&proto, &f))
        if (f.number == number && f.type == HR_WIRE_BYTES && !(number == STRINGS && out->at))
            *out = f.bytes;
    return out->at != NULL;
}

static hr_status put_image(reading *r, hr_error *error)
{
    hr_wire proto, bytes;
    int32_t type;
    int64_t dims[3], count;
    size_t volume;
    HR_TRY(next_proto(r, "the image", &proto, error));
    HR_TRY(proto_head(r, proto, &type, dims, &count, error));
    if (type != PROTO_TYPE_STRING && type != PROTO_TYPE_BYTE)
        return hr_fail(error, HR_STATUS_ERROR,
                       "image: the tensor's type is %d; it must be 4 (STRING) if it is coded, "
                       "otherwise 3 (BYTE)",
                       type);
    bool coded = type == PROTO_TYPE_STRING;
    if (!find_bytes(proto, coded ? STRINGS : BYTES, &bytes))
        return hr_fail(error, HR_STATUS_ERROR, "image: the tensor is empty");
    int64_t size = (int64_t)hr_wire_left(&bytes);
    hr_shape shape = {1, {size}};
    if (!coded) {
        if (count < 2)
            return hr_fail(error, HR_STATUS_ERROR,
                           "image: it has %lld dimensions; it must have 2 or 3", (long long)count);
        shape = (hr_shape){3, {dims[0], dims[1], count == 3 ? dims[2] : 1}};
        if (!hr_shape_volume(&shape, &volume) || volume != (size_t)size)
            return hr_fail(error, HR_STATUS_CORRUPT,
                           "Image data size mismatch: %lld rows of %lld pixels with %lld channels "
                           "cannot have %lld bytes",
                           (long long)shape.extent[0], (long long)shape.extent[1],
                           (long long)shape.extent[2], (long long)size);
    }
    put_bytes(r, bytes, shape);
    r->out++;
    return HR_STATUS_OK;
}

/* A list that has 1 or a weight at the given places. */
static hr_status spread_labels(const reading *r, const hr_tensor *labels, const hr_tensor *weights,
                               int32_t room, hr_tensor *out, hr_error *error)
{
    int64_t count = labels->shape.extent[0];
    hr_dtype dtype = weights ? HR_DTYPE_FLOAT : labels->dtype;
    for (int64_t i = 0; i < count; i++) {
        double at = hr_element_double(labels->data, labels->dtype, (size_t)i);
        if (!(at >= 0 && at < room))
            return hr_fail(error, HR_STATUS_ERROR,
                           "Label index out of bounds: %g; it must be below num_labels, %d", at,
                           room);
    }
    if (weights && (weights->dtype != HR_DTYPE_FLOAT || weights->shape.extent[0] != count))
        return hr_fail(error, HR_STATUS_ERROR, "there are %lld weights of type %s for %lld labels",
                       (long long)weights->shape.extent[0], hr_dtype_name(weights->dtype),
                       (long long)count);
    hr_tensor_describe(out, dtype, (hr_shape){1, {room}}, NULL);
    out->data = hr_arena_alloc(r->arena, (size_t)room * sizeof(float), error);
    HR_TRY_ALLOC(out->data);
    memset(out->data, 0, (size_t)room * sizeof(float)); /* of INT32 as well */
    for (int64_t i = 0; i < count; i++) {
        double at = hr_element_double(labels->data, labels->dtype, (size_t)i);
        if (dtype == HR_DTYPE_INT32)
            ((int32_t *)out->data)[(int64_t)at] = 1;
        else
            ((float *)out->data)[(int64_t)at] = weights ? ((const float *)weights->data)[i] : 1;
    }
    return HR_STATUS_OK;
}

/* Weights need not be there if no one asks for them. */
static hr_status put_labels(reading *r, const hr_caffe2_wanted *a, hr_error *error)
{
    hr_wire proto;
    hr_tensor labels, weights;
    int32_t behind = a->additional + a->box;
    HR_TRY(next_proto(r, "the label", &proto, error));
    HR_TRY(get_numbers(r, proto, "label", &labels, error));
    if (labels.dtype == HR_DTYPE_INT64)
        return hr_fail(error, HR_STATUS_ERROR,
                       "label: the tensor's type is 10 (INT64); it must be 1 (FLOAT) or 2 (INT32)");
    if (a->label_type == LABEL_KIND_SINGLE && labels.shape.extent[0] != 1)
        return hr_fail(error, HR_STATUS_ERROR,
                       "there are %lld labels, but label_type is 0: it must be one",
                       (long long)labels.shape.extent[0]);
    if (!is_sparse(a)) {
        *r->out++ = labels;
        return HR_STATUS_OK;
    }
    bool weighted = a->label_type == LABEL_KIND_WEIGHTED;
    if (weighted || r->protos - r->taken > behind)
        HR_TRY(next_proto(r, "the weights", &proto, error));
    if (weighted)
        HR_TRY(get_numbers(r, proto, "weights", &weights, error));
    HR_TRY(spread_labels(r, &labels, weighted ? &weights : NULL, a->num_labels, &r->out[0], error));
    r->out[1] = labels;
    r->out += 2;
    return HR_STATUS_OK;
}

static hr_status put_rest(reading *r, const hr_caffe2_wanted *a, hr_error *error)
{
    hr_wire proto;
    for (int32_t i = 0; i < a->additional; i++) {
        HR_TRY(next_proto(r, "an additional input", &proto, error));
        HR_TRY(get_numbers(r, proto, "additional input", r->out++, error));
    }
    if (!a->box)
        return HR_STATUS_OK;
    HR_TRY(next_proto(r, "the box", &proto, error));
    HR_TRY(get_numbers(r, proto, "box", r->out, error));
    if (r->out->dtype != HR_DTYPE_INT32 || r->out->shape.extent[0] != 4)
        return hr_fail(error, HR_STATUS_ERROR,
                       "box: %lld numbers of type %s; it must be 4 of INT32",
                       (long long)r->out->shape.extent[0], hr_dtype_name(r->out->dtype));
    return HR_STATUS_OK;
}

hr_status hr_caffe2_tensors(const hr_caffe2_wanted *wanted, const hr_tensor *value, hr_arena *arena,
                            hr_tensor *out, hr_error *error)
{
    reading *r = hr_arena_alloc(arena, sizeof(*r), error);
    HR_TRY_ALLOC(r);
    r->value = value;
    r->arena = arena;
    r->protos = r->taken = 0;
    r->out = out;
    HR_TRY(find_protos(r, error));
    if (wanted->image)
        HR_TRY(put_image(r, error));
    if (wanted->label_type != LABEL_KIND_NONE)
        HR_TRY(put_labels(r, wanted, error));
    return put_rest(r, wanted, error);
}

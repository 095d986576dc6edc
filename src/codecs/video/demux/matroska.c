/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Matroska and WebM files (RFC 9559). The elements of the segment and of its clusters are walked
 * one after the other, which also reads clusters of unknown size; cues are not needed. */
#include <string.h>

#include <zlib.h>

#include "codecs/bytes.h"
#include "codecs/video/demux/demuxer.h"
#include "codecs/video/demux/fourcc.h"
#include "codecs/video/demux/keys.h"
#include "codecs/video/demux/pictures.h"

enum {
    ID_EBML = 0x1a45dfa3,
    ID_SEGMENT = 0x18538067,
    ID_INFO = 0x1549a966,
    ID_SCALE = 0x2ad7b1,
    ID_TRACKS = 0x1654ae6b,
    ID_ENTRY = 0xae,
    ID_NUMBER = 0xd7,
    ID_TYPE = 0x83,
    ID_CODEC = 0x86,
    ID_PRIVATE = 0x63a2,
    ID_DURATION = 0x23e383,
    ID_VIDEO = 0xe0,
    ID_WIDTH = 0xb0,
    ID_HEIGHT = 0xba,
    ID_COLOUR = 0x55b0,
    ID_MATRIX = 0x55b1,
    ID_RANGE = 0x55b9,
    ID_PROJECTION = 0x7670,
    ID_YAW = 0x7673,
    ID_PITCH = 0x7674,
    ID_ROLL = 0x7675,
    ID_ENCODINGS = 0x6d80,
    ID_ENCODING = 0x6240,
    ID_COMPRESSION = 0x5034,
    ID_ENCRYPTION = 0x5035,
    ID_ALGORITHM = 0x4254,
    ID_SETTINGS = 0x4255,
    ID_SCOPE = 0x5032,
    ID_CLUSTER = 0x1f43b675,
    ID_TIME = 0xe7,
    ID_SIMPLE = 0xa3,
    ID_GROUP = 0xa0,
    ID_BLOCK = 0xa1,
    ID_REFERENCE = 0xfb,
    TYPE_VIDEO = 1,
    ZLIB = 0, /* kinds of compression */
    STRIPPED_HEADERS = 3,
    PACKETS = 1,       /* what is compressed: a set of */
    DEFLATED = 1,      /* packing of packets that zlib compressed */
    MOST_HEAD = 12,    /* bytes of an element's id and size */
    MOST_LACES = 256,  /* frames of a block */
    MOST_BLOCK = 1024, /* bytes of a block in front of its frames, and of other small elements */
    MOST_INFLATED = 64 /* bytes of a packet per byte that is stored, and: */
};
#define LEAST_INFLATED ((size_t)64 << 10)
#define MOST_ADDED ((size_t)64 << 20)
#define UNKNOWN UINT64_MAX
#define MOST_HEADERS ((uint64_t)64 << 20) /* bytes of Tracks or Info */
#define MOST_TIME ((uint64_t)1 << 56)
#define MOST_DURATION (MOST_TIME / MOST_LACES)

typedef struct span {
    const uint8_t *p;
    size_t size;
} span;

typedef struct track {
    uint64_t number, scale; /* scale: nanoseconds per unit of time */
    uint64_t duration;      /* of a frame, in ns; 0: unknown */
    bool found;
    bool decoded;     /* times are those of decoding: it was moved from AVI */
    char unknown[32]; /* a coding that is not supported */
} track;

/* ---- elements ---- */

/* A number of variable length: its marker is kept in ids and removed from sizes. 0: cut. */
static size_t read_number(span in, bool keep, uint64_t *value)
{
    size_t n = 1;
    if (in.size == 0 || in.p[0] == 0)
        return 0;
    while (!(in.p[0] & (0x80 >> (n - 1))))
        n++;
    if (n > in.size)
        return 0;
    uint64_t v = keep ? in.p[0] : in.p[0] & (0xffu >> n);
    bool ones = !keep && v == (0xffu >> n);
    for (size_t i = 1; i < n; i++) {
        v = v << 8 | in.p[i];
        ones = ones && in.p[i] == 0xff;
    }
    *value = ones ? UNKNOWN : v;
    return n;
}

/* The id and size of an element; returns the bytes that they take, 0: there is none. */
static size_t read_head(span in, uint64_t *id, uint64_t *size)
{
    size_t a = read_number(in, true, id);
    if (a == 0 || a > 4)
        return 0;
    size_t b = read_number((span){in.p + a, in.size - a}, false, size);
    return b == 0 ? 0 : a + b;
}

/* The next child of an element in memory. */
static bool next_child(span *in, uint64_t *id, span *child)
{
    uint64_t size;
    size_t head = read_head(*in, id, &size);
    if (head == 0)
        return false;
    size_t left = in->size - head, take = (size_t)HR_MIN(size, (uint64_t)left);
    *child = (span){in->p + head, take};
    in->p += head + take;
    in->size -= head + take;
    return true;
}

static uint64_t number_of(span s)
{
    uint64_t v = 0;
    for (size_t i = 0; i < s.size && i < 8; i++)
        v = v << 8 | s.p[i];
    return v;
}

static double float_of(span s)
{
    const uint64_t bits = number_of(s);
    const uint32_t low = (uint32_t)bits;
    double wide;
    float narrow;
    memcpy(&wide, &bits, sizeof(wide));
    memcpy(&narrow, &low, sizeof(narrow));
    return s.size == 4 ? (double)narrow : s.size == 8 ? wide : 0;
}

static bool find_child(span in, uint64_t wanted, span *child)
{
    uint64_t id;
    while (next_child(&in, &id, child))
        if (id == wanted)
            return true;
    return false;
}

/* ---- headers ---- */

static const struct {
    const char *id;
    hr_video_codec codec;
} codings[] = {
    {"V_MPEG4/ISO/AVC", HR_VIDEO_CODEC_H264},
    {"V_MPEGH/ISO/HEVC", HR_VIDEO_CODEC_HEVC},
    {"V_VP8", HR_VIDEO_CODEC_VP8},
    {"V_VP9", HR_VIDEO_CODEC_VP9},
    {"V_AV1", HR_VIDEO_CODEC_AV1},
    {"V_MPEG4/ISO/SP", HR_VIDEO_CODEC_MPEG4},
    {"V_MPEG4/ISO/ASP", HR_VIDEO_CODEC_MPEG4},
    {"V_MPEG4/ISO/AP", HR_VIDEO_CODEC_MPEG4},
    {"V_MJPEG", HR_VIDEO_CODEC_MJPEG},
};

static hr_video_codec codec_of(span id, span *config, bool *decoded)
{
    enum { BITMAP = 40 }; /* bytes of a BITMAPINFOHEADER */
    size_t size = strnlen((const char *)id.p, id.size);
    *decoded = false;
    for (size_t i = 0; i < HR_COUNT_OF(codings); i++)
        if (size == strlen(codings[i].id) && memcmp(id.p, codings[i].id, size) == 0)
            return codings[i].codec;
    if (size == 15 && memcmp(id.p, "V_MS/VFW/FOURCC", size) == 0 && config->size >= BITMAP) {
        hr_video_codec codec = hr__fourcc_codec(config->p + 16);
        *config = (span){config->p + BITMAP, config->size - BITMAP};
        *decoded = true;
        return codec;
    }
    return HR_VIDEO_CODEC_NONE;
}

static uint64_t number_in(span in, uint64_t id, uint64_t fallback)
{
    span value;
    return find_child(in, id, &value) ? number_of(value) : fallback;
}

/* Adds to the bytes that are missing in front of all packets. */
static hr_status add_prefix(hr_video *v, span compression, hr_error *error)
{
    span value;
    const size_t left = sizeof(v->prefix) - (size_t)v->prefix_size;
    if (!find_child(compression, ID_SETTINGS, &value))
        return HR_STATUS_OK;
    if (value.size > left)
        return hr_fail(error, HR_STATUS_LIMIT,
                       "the header that is stripped off all packets has %zu bytes; at most %zu "
                       "are supported",
                       value.size, left);
    memcpy(v->prefix + v->prefix_size, value.p, value.size);
    v->prefix_size += (int32_t)value.size;
    return HR_STATUS_OK;
}

/* Packets whose headers were stripped off, or which zlib compressed, but not both. */
static hr_status read_encodings(hr_video *v, span in, hr_error *error)
{
    span encoding, compression, value;
    uint64_t id;
    int32_t count = 0;
    v->prefix_size = v->packing = 0;
    while (next_child(&in, &id, &encoding)) {
        if (id != ID_ENCODING)
            continue;
        if (find_child(encoding, ID_ENCRYPTION, &value) ||
            !find_child(encoding, ID_COMPRESSION, &compression))
            return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                           "its packets are encrypted, which is not supported");
        const uint64_t kind = number_in(compression, ID_ALGORITHM, ZLIB);
        const uint64_t scope = number_in(encoding, ID_SCOPE, PACKETS);
        if ((kind != ZLIB && kind != STRIPPED_HEADERS) || scope != PACKETS ||
            (count++ > 0 && (kind == ZLIB || v->packing == DEFLATED)))
            return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                           "its packets are compressed in a way that is not supported (kind %llu, "
                           "scope %llu)",
                           (unsigned long long)kind, (unsigned long long)scope);
        if (kind == ZLIB)
            v->packing = DEFLATED;
        else
            HR_TRY(add_prefix(v, compression, error));
    }
    return HR_STATUS_OK;
}

static size_t matroska_room(const hr_video *video, const hr_video_packet *packet)
{
    const size_t size = (size_t)packet->size;
    if (video->packing != DEFLATED)
        return size + (size_t)video->prefix_size + HR_VIDEO_PAD;
    return HR_MIN(size * MOST_INFLATED, size + MOST_ADDED) + LEAST_INFLATED + HR_VIDEO_PAD;
}

static hr_status matroska_unpack(const hr_video *video, const hr_video_packet *packet,
                                 const uint8_t *stored, uint8_t *out, size_t *size, hr_error *error)
{
    uLongf room = matroska_room(video, packet) - HR_VIDEO_PAD;
    if (video->packing != DEFLATED)
        return hr__demux_copy(video, packet, stored, out, size);
    const int code = uncompress(out, &room, stored, (uLong)packet->size);
    if (code == Z_BUF_ERROR)
        return hr_fail(error, HR_STATUS_LIMIT,
                       "a packet of %d bytes is damaged, or has more than %zu when it is "
                       "decompressed",
                       packet->size, matroska_room(video, packet) - HR_VIDEO_PAD);
    if (code != Z_OK)
        return hr_fail(error, code == Z_MEM_ERROR ? HR_STATUS_NO_MEMORY : HR_STATUS_CORRUPT,
                       "a packet cannot be decompressed");
    *size = room;
    memset(out + room, 0, HR_VIDEO_PAD);
    return HR_STATUS_OK;
}

static void read_colours(hr_video *v, span in)
{
    span value;
    if (find_child(in, ID_MATRIX, &value))
        v->signal.matrix = (int32_t)HR_MIN(number_of(value), INT32_MAX);
    if (find_child(in, ID_RANGE, &value))
        v->signal.full_range = number_of(value) == 2;
}

/* Degrees that are a whole number; -1: others. */
static int32_t degrees_of(span in, uint64_t id)
{
    span value;
    if (!find_child(in, id, &value))
        return 0;
    const double v = float_of(value);
    return v >= -360 && v <= 360 && v == (double)(int32_t)v ? ((int32_t)v + 360) % 360 : -1;
}

/* A roll turns the picture against the clock, and half a turn of yaw reverses its columns. */
static void read_projection(hr_video *v, span in)
{
    const int32_t roll = degrees_of(in, ID_ROLL), yaw = degrees_of(in, ID_YAW);
    const bool known =
        roll >= 0 && roll % 90 == 0 && (yaw == 0 || yaw == 180) && degrees_of(in, ID_PITCH) == 0;
    v->rotation = known ? (360 - roll) % 360 : -1;
    v->mirrored = known && yaw == 180;
}

static void read_picture(hr_video *v, span in)
{
    span child;
    uint64_t id;
    while (next_child(&in, &id, &child)) {
        uint64_t value = number_of(child);
        if (id == ID_WIDTH)
            v->width = (int32_t)HR_MIN(value, INT32_MAX);
        else if (id == ID_HEIGHT)
            v->height = (int32_t)HR_MIN(value, INT32_MAX);
        else if (id == ID_COLOUR)
            read_colours(v, child);
        else if (id == ID_PROJECTION)
            read_projection(v, child);
    }
}

static hr_status read_entry(hr_demux *d, track *t, span entry, hr_error *error)
{
    span value, codec, config = {0};
    if (!find_child(entry, ID_TYPE, &value) || number_of(value) != TYPE_VIDEO ||
        !find_child(entry, ID_CODEC, &codec) || !find_child(entry, ID_NUMBER, &value))
        return HR_STATUS_OK;
    t->number = number_of(value);
    find_child(entry, ID_PRIVATE, &config);
    d->video->codec = codec_of(codec, &config, &t->decoded);
    if (d->video->codec == HR_VIDEO_CODEC_NONE) {
        size_t n = HR_MIN(strnlen((const char *)codec.p, codec.size), sizeof(t->unknown) - 1);
        memcpy(t->unknown, codec.p, n);
        t->unknown[n] = 0; /* of an earlier track */
        return HR_STATUS_OK;
    }
    if (find_child(entry, ID_ENCODINGS, &value))
        HR_TRY(read_encodings(d->video, value, error));
    if (find_child(entry, ID_VIDEO, &value))
        read_picture(d->video, value);
    t->duration = find_child(entry, ID_DURATION, &value) ? number_of(value) : 0;
    t->duration = HR_MIN(t->duration, MOST_DURATION);
    t->found = true;
    return hr__demux_extra(d, config.p, config.size, error);
}

static hr_status read_tracks(hr_demux *d, track *t, span in, hr_error *error)
{
    uint64_t id;
    span entry;
    while (!t->found && next_child(&in, &id, &entry))
        if (id == ID_ENTRY)
            HR_TRY(read_entry(d, t, entry, error));
    return HR_STATUS_OK;
}

/* An element of headers, loaded as a whole. */
static hr_status read_headers(hr_demux *d, track *t, uint64_t id, int64_t at, uint64_t size,
                              hr_error *error)
{
    uint8_t *bytes;
    span value;
    if (size > MOST_HEADERS)
        return hr_fail(error, HR_STATUS_LIMIT, "a header has more than %llu bytes",
                       (unsigned long long)MOST_HEADERS);
    HR_TRY(hr__demux_load(d, at, (int64_t)size, &bytes, error));
    hr_status status = HR_STATUS_OK;
    if (id == ID_TRACKS)
        status = read_tracks(d, t, (span){bytes, (size_t)size}, error);
    else if (find_child((span){bytes, (size_t)size}, ID_SCALE, &value))
        t->scale = HR_MAX(number_of(value), 1);
    hr_free(bytes);
    return status;
}

/* ---- blocks ---- */

/* The sizes of the frames of a block, whose header is `in`; *head: bytes of the header that were
 * read. 0: damaged. */
static int32_t read_laces(span in, int lacing, uint64_t block, size_t *head, uint64_t *sizes)
{
    uint64_t sum = 0;
    size_t at = *head, n;
    if (lacing == 0) {
        sizes[0] = block - at;
        return 1;
    }
    if (at >= in.size)
        return 0;
    int32_t count = in.p[at++] + 1;
    for (int32_t i = 0; i + 1 < count && lacing != 2; i++) {
        if (lacing == 1) {
            sizes[i] = 0;
            do {
                if (at >= in.size)
                    return 0;
                sizes[i] += in.p[at];
            } while (in.p[at++] == 255);
        } else {
            if ((n = read_number((span){in.p + at, in.size - at}, false, &sizes[i])) == 0)
                return 0;
            if (i > 0) /* a difference, from the middle of its range */
                sizes[i] = sizes[i - 1] + sizes[i] - (((uint64_t)1 << (7 * n - 1)) - 1);
            at += n;
        }
        if (sizes[i] > block || (sum += sizes[i]) > block)
            return 0;
    }
    if (at > block || sum > block - at)
        return 0;
    for (int32_t i = 0; i < count && lacing == 2; i++)
        sizes[i] = (block - at) / (uint64_t)count;
    if (lacing != 2)
        sizes[count - 1] = block - at - sum;
    *head = at;
    return count;
}

static hr_status add_block(hr_demux *d, const track *t, int64_t at, uint64_t size, int64_t cluster,
                           bool simple, bool key, hr_error *error)
{
    size_t have;
    uint64_t number, sizes[MOST_LACES];
    const uint8_t *p = hr__demux_some(d, at, (size_t)HR_MIN(size, MOST_BLOCK), &have, error);
    if (!p)
        return error->status;
    size_t head = read_number((span){p, have}, false, &number);
    if (head == 0 || have < head + 3 || number != t->number)
        return HR_STATUS_OK;
    int64_t time = cluster + (int16_t)hr_get_be16(p + head);
    uint8_t flags = p[head + 2];
    head += 3;
    int32_t count = read_laces((span){p, have}, flags >> 1 & 3, size, &head, sizes);
    key = simple ? (flags & 0x80) != 0 : key;
    bool hidden = flags & 8;
    at += (int64_t)head;
    for (int32_t i = 0; i < count; at += (int64_t)sizes[i], i++) {
        if (sizes[i] > INT32_MAX)
            return hr_fail(error, HR_STATUS_LIMIT, "a packet has %llu bytes, which is too large",
                           (unsigned long long)sizes[i]);
        int64_t pts = time + (int64_t)((uint64_t)i * t->duration / t->scale);
        hr_video_packet packet = {
            at, (int32_t)sizes[i],
            (key && i == 0 ? HR_VIDEO_PACKET_KEY : 0) | (hidden ? HR_VIDEO_PACKET_HIDDEN : 0), pts};
        HR_TRY(hr__demux_add(d, packet, error));
    }
    return HR_STATUS_OK;
}

/* A block with further facts; without a reference to other blocks it is a key. */
static hr_status add_group(hr_demux *d, const track *t, int64_t at, uint64_t size, int64_t cluster,
                           hr_error *error)
{
    int64_t end = at + (int64_t)size, block = 0;
    uint64_t id, part, block_size = 0;
    bool key = true;
    while (at < end) {
        size_t have;
        const uint8_t *p = hr__demux_some(d, at, MOST_HEAD, &have, error);
        size_t head = p ? read_head((span){p, have}, &id, &part) : 0;
        if (!p)
            return error->status;
        if (head == 0 || (int64_t)head > end - at || part > (uint64_t)(end - at) - head)
            break;
        if (id == ID_BLOCK && block_size == 0) {
            block = at + (int64_t)head;
            block_size = part;
        }
        key = key && id != ID_REFERENCE;
        at += (int64_t)(head + part);
    }
    return block_size > 0 ? add_block(d, t, block, block_size, cluster, false, key, error)
                          : HR_STATUS_OK;
}

/* ---- the file ---- */

static hr_status read_time(hr_demux *d, int64_t at, uint64_t size, int64_t *cluster,
                           hr_error *error)
{
    const uint8_t *p = hr__demux_bytes(d, at, (size_t)HR_MIN(size, 8), error);
    if (!p)
        return error->status;
    *cluster = (int64_t)HR_MIN(number_of((span){p, (size_t)HR_MIN(size, 8)}), MOST_TIME);
    return HR_STATUS_OK;
}

/* Walks over the elements; a damaged one ends the walk. */
static hr_status walk(hr_demux *d, track *t, hr_error *error)
{
    int64_t cluster = 0, end = d->file->size;
    for (int64_t at = 0; at < end && !d->full;) {
        size_t have;
        uint64_t id, size;
        const uint8_t *p = hr__demux_some(d, at, MOST_HEAD, &have, error);
        if (!p)
            return error->status;
        size_t head = read_head((span){p, have}, &id, &size);
        if (head == 0)
            break;
        at += (int64_t)head;
        if (id == ID_SEGMENT || id == ID_CLUSTER) {
            cluster = 0;
            continue;
        }
        if (size > (uint64_t)(end - at))
            break; /* cut */
        if (id == ID_TRACKS || id == ID_INFO)
            HR_TRY(read_headers(d, t, id, at, size, error));
        else if (id == ID_TIME)
            HR_TRY(read_time(d, at, size, &cluster, error));
        else if (id == ID_SIMPLE && t->found && size > 0)
            HR_TRY(add_block(d, t, at, size, cluster, true, false, error));
        else if (id == ID_GROUP && t->found)
            HR_TRY(add_group(d, t, at, size, cluster, error));
        at += (int64_t)size;
    }
    return HR_STATUS_OK;
}

static hr_status matroska_scan(hr_demux *d, hr_error *error)
{
    track t = {.scale = 1000000};
    HR_TRY(walk(d, &t, error));
    if (!t.found && t.unknown[0])
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED, "the codec '%s' is not supported",
                       t.unknown);
    if (!t.found)
        return hr_fail(error, HR_STATUS_CORRUPT, "there is no video track");
    d->video->time_num = (int64_t)HR_MIN(t.scale, (uint64_t)INT64_MAX);
    d->video->time_den = 1000000000;
    hr__demux_rate(d->video, t.duration);
    return t.decoded ? hr__pictures_order(d, error) : hr__keys_check(d, error);
}

static bool matroska_match(const uint8_t *bytes, size_t size)
{
    return size >= 4 && hr_get_be32(bytes) == ID_EBML;
}

const hr_demuxer hr_demuxer_matroska = {
    .name = "Matroska",
    .match = matroska_match,
    .scan = matroska_scan,
    .unpack = matroska_unpack,
    .room = matroska_room,
};

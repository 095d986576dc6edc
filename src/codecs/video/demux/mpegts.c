/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* MPEG transport streams (ISO/IEC 13818-1) in cells of 188 bytes, of 192 with a time in front
 * (M2TS), or of 204 with a check sum behind, which is ignored (DVB). The whole file is read:
 * the cells of the video's stream are put together, and split into pictures like any elementary
 * stream. A packet is stored as the range of the file from the cell where it begins to the cell
 * where it ends, with the cells of other streams between them; `unpack` takes out what belongs to
 * it. The bytes of its first and last cell that belong to its neighbours are counted in its flags.
 */
#include <string.h>

#include "codecs/bytes.h"
#include "codecs/video/demux/demuxer.h"
#include "codecs/video/bits/split.h"
#include "codecs/video/demux/times.h"

enum {
    CELL = 188,
    SYNC = 0x47,
    TIMED = 4,      /* bytes of the time in front of a cell of M2TS */
    CHECKED = 16,   /* bytes of the check sum behind a cell */
    READ = 64,      /* cells that are asked for at once: so few are read far ahead */
    CELLS_SEEN = 5, /* that recognise a file */
    NO_PID = 0x1fff,
    MOST_SECTION = 1024, /* bytes of a table, with its name and size */
    MOST_MAPS = 16,      /* programs whose tables are looked for */
    PES_HEAD = 9,
    PES_TIMES = 14, /* bytes of a PES header up to the time of presentation */
    KEEP_SHIFT =
        8, /* in the flags of a packet: bytes at the end of its first cell, which are its */
    DROP_SHIFT = 16, /* and bytes at the end of its last cell, which are not */
    CLOCK = 90000
};
#define WRAP ((int64_t)1 << 33)
#define NO_STREAM (-1)

/* A table that comes in pieces. */
typedef struct section {
    int32_t pid;
    size_t size;
    uint8_t bytes[MOST_SECTION];
} section;

/* The PES packet in hand. */
typedef struct pes {
    uint8_t head[PES_TIMES];
    size_t head_size, skip; /* skip: bytes of its header that follow `head` */
    bool in_head, begun;
    int64_t pts;
} pes;

/* What is looked for; each pass begins with the first cell. */
typedef enum pass {
    PASS_TABLES,     /* which stream is the video */
    PASS_PARAMETERS, /* those of the first picture that has any */
    PASS_PICTURES
} pass;

typedef struct scan {
    hr_demux *d;
    hr_split *split;
    hr_slots slots;
    int32_t cell_size, lead; /* lead: bytes in front of a cell's sync byte */
    section programs, maps[MOST_MAPS];
    int32_t map_count;
    int32_t pid;     /* of the video; NO_PID: not found yet */
    int32_t unknown; /* type of a video stream that is not supported; 0: none */
    pass pass;
    bool scrambled;
    pes pes;
    int64_t group, last_pts; /* of PES packets */
    int64_t taken;           /* the last group whose time a packet got */
    int64_t moved, latest;   /* what is added to times; the latest time so far */
} scan;

/* ---- cells ---- */

/* Where the payload of a cell begins; CELL if it has none. */
static int32_t payload_of(const uint8_t *cell)
{
    int32_t control = cell[3] >> 4 & 3, at = 4;
    if (!(control & 1))
        return CELL;
    if (control & 2)
        at += 1 + cell[4];
    return HR_MIN(at, CELL);
}

static int32_t pid_of(const uint8_t *cell)
{
    return (int32_t)hr_get_be16(cell + 1) & NO_PID;
}

static bool starts_unit(const uint8_t *cell)
{
    return cell[1] & 0x40;
}

/* ---- tables ---- */

/* The coding of a type of stream; *video: it is a video that is not supported. */
static hr_video_codec codec_of(int32_t type, bool *video)
{
    *video = false;
    switch (type) {
    case 0x10:
        return HR_VIDEO_CODEC_MPEG4;
    case 0x1b:
        return HR_VIDEO_CODEC_H264;
    case 0x24:
        return HR_VIDEO_CODEC_HEVC;
    default: /* MPEG-1, MPEG-2, parts of H.264 and HEVC, JPEG 2000, AVS, VVC, Dirac, VC-1 */
        *video = type == 1 || type == 2 || (type >= 0x1f && type <= 0x21) || type == 0x33 ||
                 type == 0x42 || type == 0xd1 || type == 0xea;
        return HR_VIDEO_CODEC_NONE;
    }
}

static void read_programs(scan *s, const uint8_t *p, size_t size)
{
    for (size_t at = 8; at + 8 <= size && s->map_count < MOST_MAPS; at += 4) {
        int32_t pid = (int32_t)hr_get_be16(p + at + 2) & NO_PID;
        if (hr_get_be16(p + at) != 0) /* 0: the network */
            s->maps[s->map_count++] = (section){.pid = pid};
    }
}

static hr_status read_map(scan *s, const uint8_t *p, size_t size, hr_error *error)
{
    size_t at = 12 + (size >= 12 ? hr_get_be16(p + 10) & 0xfff : 0);
    while (at + 5 + 4 <= size && s->pid == NO_PID) {
        bool video;
        hr_video_codec codec = codec_of(p[at], &video);
        if (codec != HR_VIDEO_CODEC_NONE) {
            s->pid = (int32_t)hr_get_be16(p + at + 1) & NO_PID;
            s->d->video->codec = codec;
            return hr__split_create(&s->split, codec, error);
        }
        if (video && s->unknown == 0)
            s->unknown = p[at];
        at += 5 + (hr_get_be16(p + at + 3) & 0xfff);
    }
    return HR_STATUS_OK;
}

/* Adds a cell to a section; *done: it is complete. */
static void add_section(section *t, const uint8_t *cell, bool *done)
{
    int32_t at = payload_of(cell);
    *done = false;
    if (starts_unit(cell)) {
        at += at < CELL ? 1 + cell[at] : 0;
        t->size = 0;
    } else if (t->size == 0) {
        return;
    }
    size_t more = at < CELL ? HR_MIN((size_t)(CELL - at), MOST_SECTION - t->size) : 0;
    memcpy(t->bytes + t->size, cell + HR_MIN(at, CELL), more);
    t->size += more;
    if (t->size < 3)
        return;
    size_t whole = 3 + (hr_get_be16(t->bytes + 1) & 0xfff);
    *done = whole <= t->size;
    if (*done)
        t->size = whole;
}

static hr_status read_tables(scan *s, const uint8_t *cell, hr_error *error)
{
    bool done;
    int32_t pid = pid_of(cell);
    if (pid == 0 && s->map_count == 0) {
        add_section(&s->programs, cell, &done);
        if (done && s->programs.bytes[0] == 0)
            read_programs(s, s->programs.bytes, s->programs.size);
    }
    for (int32_t i = 0; i < s->map_count && s->pid == NO_PID; i++) {
        if (s->maps[i].pid != pid)
            continue;
        add_section(&s->maps[i], cell, &done);
        if (done && s->maps[i].bytes[0] == 2)
            HR_TRY(read_map(s, s->maps[i].bytes, s->maps[i].size, error));
    }
    return HR_STATUS_OK;
}

/* ---- PES packets ---- */

static void read_head(pes *s)
{
    const uint8_t *p = s->head;
    s->skip = (size_t)PES_HEAD + p[8] - s->head_size;
    s->pts = HR_VIDEO_NO_PTS;
    s->in_head = false;
    if (p[7] & 0x80 && s->head_size == PES_TIMES)
        s->pts = (int64_t)(p[9] >> 1 & 7) << 30 | (int64_t)p[10] << 22 |
                 (int64_t)(p[11] >> 1) << 15 | (int64_t)p[12] << 7 | p[13] >> 1;
}

/* Takes the header off, which may be in several cells. */
static void take_header(pes *s, const uint8_t **p, size_t *size)
{
    while (s->in_head && *size > 0) {
        s->head[s->head_size++] = *(*p)++;
        (*size)--;
        if (s->head_size == 3 && (s->head[0] != 0 || s->head[1] != 0 || s->head[2] != 1)) {
            s->in_head = s->begun = false; /* not a PES packet */
            return;
        }
        size_t whole = s->head_size < PES_HEAD ? PES_TIMES : PES_HEAD + (size_t)s->head[8];
        if (s->head_size >= HR_MIN(whole, PES_TIMES))
            read_head(s);
    }
    size_t skipped = HR_MIN(s->skip, *size);
    *p += skipped;
    *size -= skipped;
    s->skip -= skipped;
}

/* The bytes of the elementary stream in a cell, which are always its last ones. */
static size_t payload_bytes(pes *s, const uint8_t *cell, const uint8_t **bytes)
{
    int32_t at = payload_of(cell);
    size_t size = (size_t)(CELL - at);
    *bytes = cell + at;
    if ((cell[3] & 0xc0) != 0) /* encrypted */
        return 0;
    if (starts_unit(cell) && size > 0)
        *s = (pes){.in_head = true, .begun = true, .pts = HR_VIDEO_NO_PTS};
    take_header(s, bytes, &size);
    return s->begun ? size : 0;
}

/* The time nearest to the last one: clocks begin again after 26 hours. */
static int64_t unwrap(scan *s, int64_t pts)
{
    if (pts == HR_VIDEO_NO_PTS)
        return pts;
    if (s->last_pts == HR_VIDEO_NO_PTS) {
        s->last_pts = pts;
        return pts;
    }
    int64_t off = (pts - s->last_pts) % WRAP;
    off += off < -WRAP / 2 ? WRAP : off >= WRAP / 2 ? -WRAP : 0;
    s->last_pts += off;
    return s->last_pts;
}

/* ---- packets ---- */

/* From a picture to the next, as the stream says. */
static int64_t step_of(const hr_units *u)
{
    uint32_t num = u->rate_num, den = u->rate_den;
    if (num == 0 || den == 0)
        return CLOCK / 25;
    return HR_MIN(HR_MAX((int64_t)CLOCK * den / num, 1), (int64_t)CLOCK * 3600);
}

/* All pictures before a key picture are shown before it. If its time is not after theirs, another
 * recording begins, as in files that were joined: it follows the one before. */
static int64_t time_of(scan *s, const hr_split_packet *p)
{
    int64_t pts = p->group != s->taken ? unwrap(s, p->pts) : HR_VIDEO_NO_PTS;
    s->taken = p->group;
    if (pts == HR_VIDEO_NO_PTS)
        return pts;
    if (p->picture.flags & HR_VIDEO_PACKET_KEY && pts + s->moved <= s->latest)
        s->moved = s->latest + step_of(s->split->units) - pts;
    s->latest = HR_MAX(s->latest, pts + s->moved);
    return pts + s->moved;
}

static hr_status add_packet(void *user, const hr_split_packet *p, hr_error *error)
{
    scan *s = user;
    int64_t size = p->last.place + s->cell_size - p->first.place;
    if (size > INT32_MAX)
        return hr_fail(error, HR_STATUS_LIMIT, "packet %d takes %lld bytes, which is too many",
                       s->d->video->count, (long long)size);
    hr_video_packet packet = {p->first.place, (int32_t)size,
                              (int32_t)(p->first.after + 1) << KEEP_SHIFT | (int32_t)p->last.after
                                                                                << DROP_SHIFT,
                              time_of(s, p)};
    return hr__slots_add(&s->slots, s->d, packet, &p->picture, error);
}

static hr_status skip_packet(void *user, const hr_split_packet *p, hr_error *error)
{
    (void)user;
    (void)p;
    (void)error;
    return HR_STATUS_OK;
}

static hr_status add_cell(scan *s, const uint8_t *cell, int64_t place, hr_error *error)
{
    if (cell[1] & 0x80) /* damaged */
        return HR_STATUS_OK;
    if (s->pass == PASS_TABLES)
        return s->split ? HR_STATUS_OK : read_tables(s, cell, error);
    if (pid_of(cell) != s->pid)
        return HR_STATUS_OK;
    s->split->found = s->pass == PASS_PICTURES ? add_packet : skip_packet;
    s->split->user = s;
    s->scrambled = s->scrambled || (cell[3] & 0xc0) != 0;
    s->group += starts_unit(cell);
    hr_split_piece piece = {.place = place, .group = s->group};
    piece.size = payload_bytes(&s->pes, cell, &piece.bytes);
    piece.pts = s->pes.pts;
    return piece.size > 0 ? hr__split_add(s->split, &piece, error) : HR_STATUS_OK;
}

/* ---- the file ---- */

/* Bytes in front of a cell's sync byte. */
static int32_t lead_of(int32_t cell_size)
{
    return cell_size == CELL + TIMED ? TIMED : 0;
}

/* Whether cells of this size follow one another; the file may begin within one. */
static bool has_cells(const uint8_t *bytes, size_t size, size_t step, size_t lead)
{
    for (size_t first = 0; first < step; first++) {
        size_t cells = 0, at = first + lead;
        for (; cells < CELLS_SEEN && at < size && bytes[at] == SYNC; at += step)
            cells++;
        if (cells == CELLS_SEEN || (first == 0 && cells >= 3 && at >= size))
            return true;
    }
    return false;
}

/* The size of cells; 0: not a transport stream. */
static int32_t find_cells(const uint8_t *bytes, size_t size)
{
    static const int32_t sizes[] = {CELL, CELL + TIMED, CELL + CHECKED};
    for (size_t i = 0; i < HR_COUNT_OF(sizes); i++)
        if (has_cells(bytes, size, (size_t)sizes[i], (size_t)lead_of(sizes[i])))
            return sizes[i];
    return 0;
}

/* Whether a cell begins here; `left` bytes follow. */
static bool is_cell(const uint8_t *p, size_t left, size_t size, size_t lead)
{
    return left >= size && p[lead] == SYNC && (left <= size + lead || p[size + lead] == SYNC);
}

/* Moves `at` to the next place where two cells follow each other, if there is none at it. */
static hr_status find_sync(scan *s, int64_t *at, hr_error *error)
{
    for (const int64_t end = s->d->file->size; *at + s->cell_size <= end; (*at)++) {
        size_t have;
        const uint8_t *p = hr__demux_some(s->d, *at, (size_t)(2 * s->cell_size), &have, error);
        if (!p)
            return error->status;
        if (is_cell(p, have, (size_t)s->cell_size, (size_t)s->lead))
            break;
    }
    return HR_STATUS_OK;
}

static bool is_done(const scan *s)
{
    return s->pass == PASS_TABLES       ? s->split != NULL
           : s->pass == PASS_PARAMETERS ? s->split->units->begun
                                        : s->d->full;
}

static hr_status read_cells(scan *s, pass what, hr_error *error)
{
    hr_demux *d = s->d;
    size_t have, step = (size_t)s->cell_size;
    s->pass = what;
    s->pes = (pes){.pts = HR_VIDEO_NO_PTS};
    for (int64_t at = 0; at + s->cell_size <= d->file->size && !is_done(s);) {
        const uint8_t *p = hr__demux_some(d, at, READ * step, &have, error);
        size_t i = 0;
        if (!p)
            return error->status;
        for (; is_cell(p + i, have - i, step, (size_t)s->lead); i += step)
            HR_TRY(add_cell(s, p + i + s->lead, at + (int64_t)i, error));
        at += (int64_t)i;
        if (i + step <= have)
            HR_TRY(find_sync(s, &at, error));
    }
    return HR_STATUS_OK;
}

static hr_status read_pictures(scan *s, hr_error *error)
{
    hr_split *first = s->split;
    hr_status status = read_cells(s, PASS_PARAMETERS, error);
    s->split = NULL;
    s->group = 0;
    if (status == HR_STATUS_OK)
        status = hr__split_create(&s->split, s->d->video->codec, error);
    if (status == HR_STATUS_OK)
        status = hr__units_preset(s->split->units, first->units, error);
    hr__split_destroy(first);
    return status == HR_STATUS_OK ? read_cells(s, PASS_PICTURES, error) : status;
}

/* Times before the first one, of a clock that begins again, are not negative. */
static void lift_times(hr_video *v)
{
    int64_t least = 0;
    for (int32_t i = 0; i < v->count; i++)
        least = HR_MIN(least, v->packets[i].pts);
    for (int32_t i = 0; i < v->count && least < 0; i++)
        v->packets[i].pts += (-least / WRAP + 1) * WRAP;
}

static hr_status finish(scan *s, hr_error *error)
{
    hr_video *v = s->d->video;
    if (s->pid == NO_PID && s->unknown)
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                       "the codec of its video (type 0x%02x) is not supported",
                       (unsigned)s->unknown);
    if (s->pid == NO_PID)
        return hr_fail(error, HR_STATUS_CORRUPT, "there is no video track");
    HR_TRY(hr__split_end(s->split, error));
    if (v->count == 0 && s->scrambled)
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED, "it is encrypted, which is not supported");
    hr__units_describe(s->split->units, v);
    v->packing = s->cell_size;
    v->time_num = 1;
    v->time_den = CLOCK;
    v->rate_num = v->rate_den = 0; /* streams often say something else than their times */
    hr__slots_fill(&s->slots, v, step_of(s->split->units));
    lift_times(v);
    return hr__demux_extra(s->d, s->split->units->extra, s->split->units->extra_size, error);
}

static hr_status mpegts_scan(hr_demux *d, hr_error *error)
{
    size_t have;
    scan *s = hr_calloc(1, sizeof(*s), error);
    if (!s)
        return HR_STATUS_NO_MEMORY;
    const uint8_t *head = hr__demux_some(d, 0, HR_VIDEO_HEAD, &have, error);
    s->d = d;
    s->pid = NO_PID;
    s->last_pts = s->latest = s->pes.pts = HR_VIDEO_NO_PTS;
    hr_status status = head ? HR_STATUS_OK : error->status;
    if (head) {
        s->cell_size = find_cells(head, have);
        s->lead = lead_of(s->cell_size);
    }
    if (status == HR_STATUS_OK)
        status = read_cells(s, PASS_TABLES, error);
    if (status == HR_STATUS_OK && s->split) /* pictures may precede both */
        status = read_pictures(s, error);
    if (status == HR_STATUS_OK)
        status = finish(s, error);
    hr__split_destroy(s->split);
    hr__slots_fini(&s->slots);
    hr_free(s);
    return status;
}

static hr_status mpegts_unpack(const hr_video *video, const hr_video_packet *packet,
                               const uint8_t *stored, uint8_t *out, size_t *size, hr_error *error)
{
    const size_t cell_size = (size_t)HR_MIN(HR_MAX(video->packing, CELL), CELL + CHECKED);
    const size_t lead = (size_t)lead_of(video->packing), stored_size = (size_t)packet->size;
    const size_t keep = (size_t)(packet->flags >> KEEP_SHIFT & 255);
    const size_t drop = (size_t)(packet->flags >> DROP_SHIFT & 255);
    pes state = {.begun = true};
    int32_t pid = NO_PID;
    *size = 0;
    for (size_t at = 0; at + cell_size <= stored_size;) {
        const uint8_t *cell = stored + at + lead, *bytes;
        bool last = at + cell_size == stored_size;
        if (!is_cell(stored + at, stored_size - at, cell_size, lead)) {
            at++;
            continue;
        }
        if (at == 0)
            pid = pid_of(cell);
        at += cell_size;
        if ((cell[1] & 0x80) || pid_of(cell) != pid)
            continue;
        size_t have = payload_bytes(&state, cell, &bytes);
        if (at == cell_size) { /* the first */
            have = HR_MIN(keep, (size_t)(CELL - payload_of(cell)));
            bytes = cell + CELL - have;
        }
        have -= last ? HR_MIN(drop, have) : 0;
        memcpy(out + *size, bytes, have);
        *size += have;
    }
    memset(out + *size, 0, HR_VIDEO_PAD);
    return *size > 0 ? HR_STATUS_OK
                     : hr_fail(error, HR_STATUS_CORRUPT, "a packet has no bytes of the video");
}

static bool mpegts_match(const uint8_t *bytes, size_t size)
{
    return find_cells(bytes, size) != 0;
}

const hr_demuxer hr_demuxer_mpegts = {
    .name = "MPEG-TS",
    .match = mpegts_match,
    .scan = mpegts_scan,
    .unpack = mpegts_unpack,
};

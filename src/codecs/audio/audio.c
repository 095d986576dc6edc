/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The containers. All consist of chunks with an identifier and a size; they differ in the width of
 * both, and in what describes the samples. Chunks may come in any order. */
#include "codecs/audio/audio.h"

#include "codecs/bytes.h"

#include <string.h>

enum { TAG_PCM = 1, TAG_FLOAT = 3, TAG_ALAW = 6, TAG_ULAW = 7, TAG_EXTENSIBLE = 0xFFFE };

typedef struct container {
    const char *name;
    const char *magic;
    size_t at; /* of `form`, which follows the magic */
    const char *form;
    size_t first;         /* the first chunk */
    size_t id, size;      /* bytes of a chunk's identifier and size */
    size_t align;         /* chunks begin at multiples of it */
    bool whole;           /* the size is that of the whole chunk */
    bool big, big_values; /* byte order of headers, and of samples */
} container;

typedef struct parser {
    const container *box;
    const uint8_t *bytes;
    size_t size;
    uint64_t file_size;
    uint64_t long_size; /* of the samples, from a chunk ds64 */
    uint64_t offset, length;
    bool has_format, has_data;
    hr_audio *out;
} parser;

/* ---- numbers ---- */

static uint64_t get(const uint8_t *p, size_t size, bool big)
{
    uint64_t v = 0;
    for (size_t i = 0; i < size; i++)
        v = v << 8 | p[big ? i : size - 1 - i];
    return v;
}

static double get_double(const uint8_t *p)
{
    uint64_t bits = get(p, 8, true);
    double v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

/* An extended float of AIFF, whole. 0: it is not a rate. */
static int64_t get_extended(const uint8_t *p)
{
    uint32_t exponent = hr_get_be16(p);
    uint64_t mantissa = get(p + 2, 8, true);
    return exponent < 16383 || exponent > 16383 + 31
               ? 0
               : (int64_t)(mantissa >> (63 - exponent + 16383));
}

/* ---- formats ---- */

static const size_t code_bytes[] = {0, 1, 1, 2, 3, 4, 4, 8, 1, 1};

static hr_audio_code integer_code(uint64_t bits, bool is_signed)
{
    static const hr_audio_code wide[] = {HR_AUDIO_CODE_NONE, HR_AUDIO_CODE_S8, HR_AUDIO_CODE_S16,
                                         HR_AUDIO_CODE_S24, HR_AUDIO_CODE_S32};
    if (bits > 32)
        return HR_AUDIO_CODE_NONE;
    return bits > 0 && bits <= 8 && !is_signed ? HR_AUDIO_CODE_U8 : wide[(bits + 7) / 8];
}

static hr_audio_code float_code(uint64_t bits)
{
    return bits == 32 ? HR_AUDIO_CODE_F32 : bits == 64 ? HR_AUDIO_CODE_F64 : HR_AUDIO_CODE_NONE;
}

static hr_status set_format(parser *p, hr_audio_code code, uint64_t channels, int64_t rate,
                            hr_error *error)
{
    hr_audio *a = p->out;
    const char *name = p->box->name;
    if (p->has_format)
        return hr_fail(error, HR_STATUS_CORRUPT, "%s: the file describes its format more than once",
                       name);
    if (code == HR_AUDIO_CODE_NONE)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "%s: the encoding of the samples is not supported; integers of up to 32 "
                       "bits, floats, mu-law and A-law are",
                       name);
    if (channels == 0 || channels > HR_AUDIO_MOST_CHANNELS)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "%s: the file has %llu channels; 1 to %d are possible", name,
                       (unsigned long long)channels, HR_AUDIO_MOST_CHANNELS);
    if (rate <= 0 || rate > INT32_MAX)
        return hr_fail(error, HR_STATUS_CORRUPT, "%s: %lld is not a sampling rate", name,
                       (long long)rate);
    a->code = code;
    a->channels = (int32_t)channels;
    a->rate = (int32_t)rate;
    a->frame_bytes = code_bytes[code] * (size_t)channels;
    p->has_format = true;
    return HR_STATUS_OK;
}

static hr_status short_chunk(const parser *p, const char *id, hr_error *error)
{
    return hr_fail(error, HR_STATUS_CORRUPT, "%s: the chunk '%s' is too short", p->box->name, id);
}

static hr_status take_fmt(parser *p, const uint8_t *b, uint64_t size, hr_error *error)
{
    bool big = p->box->big;
    hr_audio_code code = HR_AUDIO_CODE_NONE;
    if (size < 16)
        return short_chunk(p, "fmt ", error);
    uint64_t tag = get(b, 2, big), channels = get(b + 2, 2, big);
    uint64_t bits = get(b + 14, 2, big);
    if (tag == TAG_EXTENSIBLE && size >= 26)
        tag = get(b + 24, 2, big);
    if (tag == TAG_PCM)
        code = integer_code(bits, false);
    else if (tag == TAG_FLOAT)
        code = float_code(bits);
    else if (tag == TAG_ULAW || tag == TAG_ALAW)
        code = tag == TAG_ULAW ? HR_AUDIO_CODE_ULAW : HR_AUDIO_CODE_ALAW;
    return set_format(p, code, channels, (int64_t)get(b + 4, 4, big), error);
}

typedef struct named_code {
    char name[5];
    hr_audio_code code; /* NONE: integers of as many bits as the header says */
    bool little;
} named_code;

static hr_status take_comm(parser *p, const uint8_t *b, uint64_t size, hr_error *error)
{
    static const named_code names[] = {
        {"NONE", HR_AUDIO_CODE_NONE, false}, {"twos", HR_AUDIO_CODE_NONE, false},
        {"sowt", HR_AUDIO_CODE_NONE, true},  {"raw ", HR_AUDIO_CODE_U8, false},
        {"in24", HR_AUDIO_CODE_S24, false},  {"in32", HR_AUDIO_CODE_S32, false},
        {"42ni", HR_AUDIO_CODE_S24, true},   {"42n1", HR_AUDIO_CODE_S24, true},
        {"23ni", HR_AUDIO_CODE_S32, true},   {"fl32", HR_AUDIO_CODE_F32, false},
        {"FL32", HR_AUDIO_CODE_F32, false},  {"fl64", HR_AUDIO_CODE_F64, false},
        {"FL64", HR_AUDIO_CODE_F64, false},  {"ulaw", HR_AUDIO_CODE_ULAW, false},
        {"ULAW", HR_AUDIO_CODE_ULAW, false}, {"alaw", HR_AUDIO_CODE_ALAW, false},
        {"ALAW", HR_AUDIO_CODE_ALAW, false}};
    bool coded = p->bytes[11] == 'C';
    hr_audio_code code = HR_AUDIO_CODE_NONE;
    if (size < (coded ? 22 : 18))
        return short_chunk(p, "COMM", error);
    p->out->big_endian = true;
    for (size_t i = 0; i < (coded ? HR_COUNT_OF(names) : 1); i++)
        if (!coded || memcmp(names[i].name, b + 18, 4) == 0) {
            code = names[i].code ? names[i].code : integer_code(hr_get_be16(b + 6), true);
            p->out->big_endian = !names[i].little;
        }
    return set_format(p, code, hr_get_be16(b), get_extended(b + 8), error);
}

static hr_status take_desc(parser *p, const uint8_t *b, uint64_t size, hr_error *error)
{
    hr_audio_code code = HR_AUDIO_CODE_NONE;
    if (size < 32)
        return short_chunk(p, "desc", error);
    double rate = get_double(b);
    uint32_t flags = hr_get_be32(b + 12), bits = hr_get_be32(b + 28);
    p->out->big_endian = (flags & 2) == 0;
    if (memcmp(b + 8, "lpcm", 4) == 0)
        code = (flags & 1) ? float_code(bits) : integer_code(bits, true);
    else if (memcmp(b + 8, "ulaw", 4) == 0)
        code = HR_AUDIO_CODE_ULAW;
    else if (memcmp(b + 8, "alaw", 4) == 0)
        code = HR_AUDIO_CODE_ALAW;
    return set_format(p, code, hr_get_be32(b + 24),
                      rate > 0 && rate < INT32_MAX ? (int64_t)rate : 0, error);
}

/* ---- chunks ---- */

static hr_status set_data(parser *p, uint64_t offset, uint64_t length, hr_error *error)
{
    if (p->has_data)
        return hr_fail(error, HR_STATUS_CORRUPT, "%s: the file has two chunks of samples",
                       p->box->name);
    p->offset = offset;
    p->length = length;
    p->has_data = true;
    return HR_STATUS_OK;
}

/* The size of the samples of a WAV file. Programs that write to a pipe do not know it. */
static uint64_t data_size(const parser *p, uint64_t size)
{
    if (p->box->size == 4 && !p->box->big && size == UINT32_MAX)
        return p->long_size ? p->long_size : UINT64_MAX;
    return size == 0 && p->box->size == 4 && get(p->bytes + 4, 4, p->box->big) == 8 ? UINT64_MAX
                                                                                    : size;
}

/* `b`: the chunk's content, of which `there` bytes are at hand. */
static hr_status take_chunk(parser *p, const uint8_t *id, uint64_t at, uint64_t size,
                            hr_error *error)
{
    const uint8_t *b = p->bytes + at;
    uint64_t there = HR_MIN(size, p->size - at);
    if (memcmp(id, "fmt ", 4) == 0)
        return take_fmt(p, b, there, error);
    if (memcmp(id, "COMM", 4) == 0)
        return take_comm(p, b, there, error);
    if (memcmp(id, "desc", 4) == 0)
        return take_desc(p, b, there, error);
    if (memcmp(id, "ds64", 4) == 0 && there >= 16)
        p->long_size = get(b + 8, 8, p->box->big);
    if (memcmp(id, "SSND", 4) == 0) {
        uint64_t skip = there < 8 ? 0 : hr_get_be32(b);
        if (there < 8 || skip > size - 8)
            return short_chunk(p, "SSND", error);
        return set_data(p, at + 8 + skip, size - 8 - skip, error);
    }
    if (memcmp(id, "data", 4) == 0 && p->box->size == 8 && p->box->big) /* CAF: a counter first */
        return size < 4 ? short_chunk(p, "data", error)
                        : set_data(p, at + 4, size == UINT64_MAX ? size : size - 4, error);
    return memcmp(id, "data", 4) == 0 ? set_data(p, at, data_size(p, size), error) : HR_STATUS_OK;
}

static hr_status walk(parser *p, hr_error *error)
{
    const container *k = p->box;
    uint64_t head = k->id + k->size, at = k->first;
    while (at <= p->size && p->size - at >= head && !(p->has_format && p->has_data)) {
        const uint8_t *id = p->bytes + at;
        uint64_t size = get(id + k->id, k->size, k->big);
        if (k->whole && size < head)
            return hr_fail(error, HR_STATUS_CORRUPT,
                           "%s: the size of a chunk, %llu bytes, is less than its header", k->name,
                           (unsigned long long)size);
        size -= k->whole ? head : 0;
        HR_TRY(take_chunk(p, id, at + head, size, error));
        if (memcmp(id, "data", 4) == 0)
            size = HR_MAX(size, data_size(p, size));
        if (size > p->file_size || at + head + size > p->file_size)
            break;
        at += head + size;
        at += (k->align - at % k->align) % k->align;
    }
    return HR_STATUS_OK;
}

/* AU has a header instead of chunks. */
static hr_status read_au(parser *p, hr_error *error)
{
    static const hr_audio_code codes[] = {HR_AUDIO_CODE_NONE, HR_AUDIO_CODE_ULAW, HR_AUDIO_CODE_S8,
                                          HR_AUDIO_CODE_S16,  HR_AUDIO_CODE_S24,  HR_AUDIO_CODE_S32,
                                          HR_AUDIO_CODE_F32,  HR_AUDIO_CODE_F64};
    const uint8_t *b = p->bytes;
    bool big = p->box->big;
    if (p->size < 24)
        return hr_fail(error, HR_STATUS_CORRUPT, "AU: the file ends within its header");
    uint64_t code = get(b + 12, 4, big), length = get(b + 8, 4, big);
    hr_audio_code known = code < HR_COUNT_OF(codes) ? codes[code] : HR_AUDIO_CODE_NONE;
    HR_TRY(set_format(p, code == 27 ? HR_AUDIO_CODE_ALAW : known, get(b + 20, 4, big),
                      (int64_t)get(b + 16, 4, big), error));
    return set_data(p, get(b + 4, 4, big), length == UINT32_MAX ? UINT64_MAX : length, error);
}

static const container containers[] = {
    {"WAV", "RIFF", 8, "WAVE", 12, 4, 4, 2, false, false, false},
    {"WAV", "RIFX", 8, "WAVE", 12, 4, 4, 2, false, true, true},
    {"RF64", "RF64", 8, "WAVE", 12, 4, 4, 2, false, false, false},
    {"RF64", "BW64", 8, "WAVE", 12, 4, 4, 2, false, false, false},
    {"W64", "riff\x2E\x91\xCF\x11", 24, "wave", 40, 16, 8, 8, true, false, false},
    {"AIFF", "FORM", 8, "AIFF", 12, 4, 4, 2, false, true, true},
    {"AIFC", "FORM", 8, "AIFC", 12, 4, 4, 2, false, true, true},
    {"CAF", "caff", 4, "", 8, 4, 8, 1, false, true, true},
    {"AU", ".snd", 4, "", 24, 0, 0, 1, false, true, true},
    {"AU", "dns.", 4, "", 24, 0, 0, 1, false, false, false},
};

static const container *find_container(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < HR_COUNT_OF(containers); i++) {
        const container *k = &containers[i];
        size_t magic = strlen(k->magic), form = strlen(k->form);
        if (size >= HR_MAX(magic, k->at + form) && memcmp(bytes, k->magic, magic) == 0 &&
            memcmp(bytes + k->at, k->form, form) == 0)
            return k;
    }
    return NULL;
}

hr_status hr_audio_open(const uint8_t *bytes, size_t size, uint64_t file_size, hr_audio *audio,
                        hr_error *error)
{
    const container *k = find_container(bytes, size);
    parser p = {.box = k, .bytes = bytes, .size = size, .file_size = file_size, .out = audio};
    if (!k)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "the bytes are not a sound file of a supported format: WAV, RF64, W64, "
                       "AIFF, AU, CAF, FLAC, Vorbis, Opus or MP3");
    *audio = (hr_audio){.format = k->name, .big_endian = k->big_values};
    HR_TRY(k->id == 0 ? read_au(&p, error) : walk(&p, error));
    if (!p.has_format || !p.has_data)
        return hr_fail(error, HR_STATUS_CORRUPT, "%s: the file has no chunk with %s", k->name,
                       p.has_format ? "samples" : "the format of the samples");
    audio->offset = HR_MIN(p.offset, file_size);
    audio->frames = (int64_t)(HR_MIN(p.length, file_size - audio->offset) / audio->frame_bytes);
    return HR_STATUS_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Containers of chunks with an identifier and a size: WAV, AIFF and others. They differ in the
 * width of both, and in what describes the samples. Chunks may come in any order. */
#include "codecs/audio/adpcm.h"
#include "codecs/audio/parse.h"
#include "codecs/bytes.h"

#include <stdio.h>
#include <string.h>

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
    bool is_svx;          /* with the chunks of 8SVX */
} container;

typedef struct parser {
    hr_audio_parser in;
    const container *box;
    uint64_t long_size; /* of the samples, from a chunk ds64 */
} parser;

/* ---- numbers ---- */

static double get_double(const uint8_t *p)
{
    uint64_t bits = hr__audio_get(p, 8, true);
    double v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

/* An extended float of AIFF, whole. 0: it is not a rate. */
static int64_t get_extended(const uint8_t *p)
{
    uint32_t exponent = hr_get_be16(p);
    uint64_t mantissa = hr__audio_get(p + 2, 8, true);
    return exponent < 16383 || exponent > 16383 + 31
               ? 0
               : (int64_t)(mantissa >> (63 - exponent + 16383));
}

/* ---- formats ---- */

static hr_audio_code float_code(uint64_t bits)
{
    return bits == 32 ? HR_AUDIO_CODE_F32 : bits == 64 ? HR_AUDIO_CODE_F64 : HR_AUDIO_CODE_NONE;
}

hr_status hr__audio_format(hr_audio_parser *p, hr_audio_code code, uint64_t channels, int64_t rate,
                           hr_error *error)
{
    static const size_t code_bytes[] = {0, 1, 1, 2, 3, 4, 4, 8, 1, 1, 2, 2, 2};
    hr_audio *a = p->out;
    if (p->has_format)
        return hr_fail(error, HR_STATUS_CORRUPT, "%s: the file describes its format more than once",
                       p->name);
    for (char *c = p->encoding; *c; c++)
        *c = *c >= ' ' && *c <= '~' ? *c : '?';
    if (code == HR_AUDIO_CODE_NONE)
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                       "%s: the encoding of the samples is not supported: %s. Integers of up to 32 "
                       "bits, floats, mu-law, A-law, and in WAV and AIFF files IMA and Microsoft's "
                       "ADPCM are",
                       p->name, p->encoding[0] ? p->encoding : "unknown");
    if (channels == 0 || channels > HR_AUDIO_MOST_CHANNELS)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "%s: the file has %llu channels; 1 to %d are possible", p->name,
                       (unsigned long long)channels, HR_AUDIO_MOST_CHANNELS);
    if (rate <= 0 || rate > INT32_MAX)
        return hr_fail(error, HR_STATUS_CORRUPT, "%s: %lld is not a sampling rate", p->name,
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

/* Blocks of ADPCM. `stated`: frames of a block by the header, 0: it does not say. */
static hr_status set_blocks(parser *p, uint64_t bytes, uint64_t stated, hr_error *error)
{
    hr_audio *a = p->in.out;
    const int64_t frames = hr_adpcm_block_frames(a->code, a->channels, (size_t)bytes);
    if (frames <= 0 || (stated > 0 && (uint64_t)frames != stated))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "%s: a block of %llu bytes of ADPCM has %lld frames of %d channels, but the "
                       "header says %llu",
                       p->box->name, (unsigned long long)bytes, (long long)frames, a->channels,
                       (unsigned long long)stated);
    a->block_bytes = (int32_t)bytes;
    a->block_frames = (int32_t)frames;
    return HR_STATUS_OK;
}

enum {
    TAG_PCM = 1,
    TAG_MS_ADPCM = 2,
    TAG_FLOAT = 3,
    TAG_ALAW = 6,
    TAG_ULAW = 7,
    TAG_IMA_ADPCM = 0x11,
    TAG_EXTENSIBLE = 0xFFFE
};

static hr_audio_code wav_code(parser *p, uint64_t tag, uint64_t bits)
{
    static const struct {
        uint32_t tag;
        const char *name;
    } others[] = {{0x02, "Microsoft's ADPCM"},
                  {0x11, "IMA ADPCM"},
                  {0x20, "Yamaha ADPCM"},
                  {0x31, "GSM 6.10"},
                  {0x38, "NMS ADPCM"},
                  {0x40, "G.721 ADPCM"},
                  {0x45, "G.726 ADPCM"},
                  {0x50, "MPEG"},
                  {0x55, "MP3"},
                  {0x64, "G.726 ADPCM"},
                  {0xFF, "AAC"},
                  {0x160, "WMA"},
                  {0x161, "WMA"},
                  {0x2000, "AC-3"},
                  {0xF1AC, "FLAC"}};
    const char *name = "";
    for (size_t i = 0; i < HR_COUNT_OF(others); i++)
        name = others[i].tag == tag ? others[i].name : name;
    snprintf(p->in.encoding, sizeof(p->in.encoding), "%s%s0x%llX with %llu bits", name,
             *name ? ", " : "", (unsigned long long)tag, (unsigned long long)bits);
    switch (tag) {
    case TAG_PCM:
        return hr__audio_integers(bits, false);
    case TAG_FLOAT:
        return float_code(bits);
    case TAG_ULAW:
        return HR_AUDIO_CODE_ULAW;
    case TAG_ALAW:
        return HR_AUDIO_CODE_ALAW;
    case TAG_MS_ADPCM:
        return bits == 4 ? HR_AUDIO_CODE_MS : HR_AUDIO_CODE_NONE;
    case TAG_IMA_ADPCM:
        return bits == 4 ? HR_AUDIO_CODE_IMA : HR_AUDIO_CODE_NONE;
    default:
        return HR_AUDIO_CODE_NONE;
    }
}

/* The header repeats Microsoft's weights, and could state others. */
static hr_status check_weights(const parser *p, const uint8_t *b, uint64_t size, hr_error *error)
{
    const int16_t *known = hr_adpcm_ms_weights[0];
    const uint64_t count = hr__audio_get(b + 20, 2, p->box->big);
    bool same = count == HR_ADPCM_MS_PREDICTORS && size >= 22 + 4 * count;
    for (uint64_t i = 0; same && i < 2 * count; i++)
        same = (int16_t)hr__audio_get(b + 22 + 2 * i, 2, p->box->big) == known[i];
    return same ? HR_STATUS_OK
                : hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                          "WAV: Microsoft's ADPCM with a table of %llu predictors of its own",
                          (unsigned long long)count);
}

static hr_status take_fmt(parser *p, const uint8_t *b, uint64_t size, hr_error *error)
{
    bool big = p->box->big;
    if (size < 16)
        return short_chunk(p, "fmt ", error);
    uint64_t tag = hr__audio_get(b, 2, big), bits = hr__audio_get(b + 14, 2, big);
    if (tag == TAG_EXTENSIBLE && size >= 26)
        tag = hr__audio_get(b + 24, 2, big);
    const hr_audio_code code = wav_code(p, tag, bits);
    HR_TRY(hr__audio_format(&p->in, code, hr__audio_get(b + 2, 2, big),
                            (int64_t)hr__audio_get(b + 4, 4, big), error));
    if (code != HR_AUDIO_CODE_IMA && code != HR_AUDIO_CODE_MS)
        return HR_STATUS_OK;
    if (code == HR_AUDIO_CODE_MS && size >= 22)
        HR_TRY(check_weights(p, b, size, error));
    return set_blocks(p, hr__audio_get(b + 12, 2, big),
                      size >= 20 ? hr__audio_get(b + 18, 2, big) : 0, error);
}

typedef struct named_code {
    char name[5];
    hr_audio_code code; /* NONE: integers of as many bits as the header says */
    bool little;
} named_code;

static hr_status take_comm(parser *p, const uint8_t *b, uint64_t size, hr_error *error)
{
    static const named_code names[] = {
        {"NONE", HR_AUDIO_CODE_NONE, false},   {"twos", HR_AUDIO_CODE_NONE, false},
        {"sowt", HR_AUDIO_CODE_NONE, true},    {"raw ", HR_AUDIO_CODE_U8, false},
        {"in24", HR_AUDIO_CODE_S24, false},    {"in32", HR_AUDIO_CODE_S32, false},
        {"ima4", HR_AUDIO_CODE_IMA_QT, false}, {"42ni", HR_AUDIO_CODE_S24, true},
        {"42n1", HR_AUDIO_CODE_S24, true},     {"23ni", HR_AUDIO_CODE_S32, true},
        {"fl32", HR_AUDIO_CODE_F32, false},    {"FL32", HR_AUDIO_CODE_F32, false},
        {"fl64", HR_AUDIO_CODE_F64, false},    {"FL64", HR_AUDIO_CODE_F64, false},
        {"ulaw", HR_AUDIO_CODE_ULAW, false},   {"ULAW", HR_AUDIO_CODE_ULAW, false},
        {"alaw", HR_AUDIO_CODE_ALAW, false},   {"ALAW", HR_AUDIO_CODE_ALAW, false}};
    bool coded = p->in.bytes[11] == 'C';
    hr_audio_code code = HR_AUDIO_CODE_NONE;
    if (size < (coded ? 22 : 18))
        return short_chunk(p, "COMM", error);
    p->in.out->big_endian = true;
    snprintf(p->in.encoding, sizeof(p->in.encoding), "'%.4s' with %u bits",
             coded ? (const char *)b + 18 : "NONE", hr_get_be16(b + 6));
    for (size_t i = 0; i < (coded ? HR_COUNT_OF(names) : 1); i++)
        if (!coded || memcmp(names[i].name, b + 18, 4) == 0) {
            code = names[i].code ? names[i].code : hr__audio_integers(hr_get_be16(b + 6), true);
            p->in.out->big_endian = !names[i].little;
        }
    HR_TRY(hr__audio_format(&p->in, code, hr_get_be16(b), get_extended(b + 8), error));
    return code == HR_AUDIO_CODE_IMA_QT ? set_blocks(p, 34 * (uint64_t)hr_get_be16(b), 0, error)
                                        : HR_STATUS_OK;
}

static hr_status take_desc(parser *p, const uint8_t *b, uint64_t size, hr_error *error)
{
    hr_audio_code code = HR_AUDIO_CODE_NONE;
    if (size < 32)
        return short_chunk(p, "desc", error);
    double rate = get_double(b);
    uint32_t flags = hr_get_be32(b + 12), bits = hr_get_be32(b + 28);
    p->in.out->big_endian = (flags & 2) == 0;
    snprintf(p->in.encoding, sizeof(p->in.encoding), "'%.4s' with %u bits%s", (const char *)b + 8,
             bits, memcmp(b + 8, "alac", 4) == 0 ? " (Apple Lossless)" : "");
    if (memcmp(b + 8, "lpcm", 4) == 0)
        code = (flags & 1) ? float_code(bits) : hr__audio_integers(bits, true);
    else if (memcmp(b + 8, "ulaw", 4) == 0)
        code = HR_AUDIO_CODE_ULAW;
    else if (memcmp(b + 8, "alaw", 4) == 0)
        code = HR_AUDIO_CODE_ALAW;
    return hr__audio_format(&p->in, code, hr_get_be32(b + 24),
                            rate > 0 && rate < INT32_MAX ? (int64_t)rate : 0, error);
}

/* The header of 8SVX and 16SV. */
static hr_status take_vhdr(parser *p, const uint8_t *b, uint64_t size, hr_error *error)
{
    if (size < 20)
        return short_chunk(p, "VHDR", error);
    snprintf(p->in.encoding, sizeof(p->in.encoding), "compression %d", b[15]);
    return hr__audio_format(&p->in,
                            b[15]                   ? HR_AUDIO_CODE_NONE
                            : p->in.bytes[8] == '8' ? HR_AUDIO_CODE_S8
                                                    : HR_AUDIO_CODE_S16,
                            1, hr_get_be16(b + 12), error);
}

/* ---- chunks ---- */

hr_status hr__audio_data(hr_audio_parser *p, uint64_t offset, uint64_t length, hr_error *error)
{
    if (p->has_data)
        return hr_fail(error, HR_STATUS_CORRUPT, "%s: the file has two chunks of samples", p->name);
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
    return size == 0 && p->box->size == 4 && hr__audio_get(p->in.bytes + 4, 4, p->box->big) == 8
               ? UINT64_MAX
               : size;
}

/* `b`: the chunk's content, of which `there` bytes are at hand. */
static hr_status take_chunk(parser *p, const uint8_t *id, uint64_t at, uint64_t size,
                            hr_error *error)
{
    const uint8_t *b = p->in.bytes + at;
    uint64_t there = HR_MIN(size, p->in.size - at);
    if (memcmp(id, "fmt ", 4) == 0)
        return take_fmt(p, b, there, error);
    if (memcmp(id, "COMM", 4) == 0)
        return take_comm(p, b, there, error);
    if (memcmp(id, "desc", 4) == 0)
        return take_desc(p, b, there, error);
    if (memcmp(id, "VHDR", 4) == 0 && p->box->is_svx)
        return take_vhdr(p, b, there, error);
    if (memcmp(id, "BODY", 4) == 0 && p->box->is_svx)
        return hr__audio_data(&p->in, at, size, error);
    if (memcmp(id, "CHAN", 4) == 0 && p->box->is_svx && (there < 4 || hr_get_be32(b) == 6))
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED, "%s: two channels are not supported",
                       p->box->name);
    if (memcmp(id, "ds64", 4) == 0 && there >= 16)
        p->long_size = hr__audio_get(b + 8, 8, p->box->big);
    if (memcmp(id, "SSND", 4) == 0) {
        uint64_t skip = there < 8 ? 0 : hr_get_be32(b);
        if (there < 8 || skip > size - 8)
            return short_chunk(p, "SSND", error);
        return hr__audio_data(&p->in, at + 8 + skip, size - 8 - skip, error);
    }
    if (memcmp(id, "data", 4) == 0 && p->box->size == 8 && p->box->big) /* CAF: a counter first */
        return size < 4
                   ? short_chunk(p, "data", error)
                   : hr__audio_data(&p->in, at + 4, size == UINT64_MAX ? size : size - 4, error);
    return memcmp(id, "data", 4) == 0 ? hr__audio_data(&p->in, at, data_size(p, size), error)
                                      : HR_STATUS_OK;
}

static hr_status walk(parser *p, hr_error *error)
{
    const container *k = p->box;
    const hr_audio_parser *in = &p->in;
    uint64_t head = k->id + k->size, at = k->first;
    while (at <= in->size && in->size - at >= head && !(in->has_format && in->has_data)) {
        const uint8_t *id = in->bytes + at;
        uint64_t size = hr__audio_get(id + k->id, k->size, k->big);
        if (k->whole && size < head)
            return hr_fail(error, HR_STATUS_CORRUPT,
                           "%s: the size of a chunk, %llu bytes, is less than its header", k->name,
                           (unsigned long long)size);
        size -= k->whole ? head : 0;
        HR_TRY(take_chunk(p, id, at + head, size, error));
        if (memcmp(id, "data", 4) == 0)
            size = HR_MAX(size, data_size(p, size));
        if (size > in->file_size || at + head + size > in->file_size)
            break;
        at += head + size;
        at += (k->align - at % k->align) % k->align;
    }
    return HR_STATUS_OK;
}

static const container containers[] = {
    {"WAV", "RIFF", 8, "WAVE", 12, 4, 4, 2, false, false, false, false},
    {"WAV", "RIFX", 8, "WAVE", 12, 4, 4, 2, false, true, true, false},
    {"RF64", "RF64", 8, "WAVE", 12, 4, 4, 2, false, false, false, false},
    {"RF64", "BW64", 8, "WAVE", 12, 4, 4, 2, false, false, false, false},
    {"W64", "riff\x2E\x91\xCF\x11", 24, "wave", 40, 16, 8, 8, true, false, false, false},
    {"AIFF", "FORM", 8, "AIFF", 12, 4, 4, 2, false, true, true, false},
    {"AIFC", "FORM", 8, "AIFC", 12, 4, 4, 2, false, true, true, false},
    {"8SVX", "FORM", 8, "8SVX", 12, 4, 4, 2, false, true, true, true},
    {"16SV", "FORM", 8, "16SV", 12, 4, 4, 2, false, true, true, true},
    {"CAF", "caff", 4, "", 8, 4, 8, 1, false, true, true, false},
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

/* ---- any file ---- */

uint64_t hr_audio_tags(const uint8_t *bytes, size_t size)
{
    uint64_t at = 0;
    while (at < size && size - at >= 10 && memcmp(bytes + at, "ID3", 3) == 0) {
        const uint8_t *b = bytes + at;
        if (b[3] == 0xFF || b[4] == 0xFF || ((b[6] | b[7] | b[8] | b[9]) & 0x80))
            break;
        at += 10 + ((uint64_t)b[6] << 21 | (uint64_t)b[7] << 14 | (uint64_t)b[8] << 7 | b[9]);
        at += b[5] & 0x10 ? 10 : 0; /* a footer */
    }
    return at;
}

static hr_status unknown(const hr_audio_parser *p, hr_error *error)
{
    const char *other = hr__audio_refused(p->bytes, p->size);
    if (other)
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                       "the sound is %s, which is not supported; WAV, AIFF, AU, CAF, FLAC, Vorbis, "
                       "Opus, MP3, and AAC, for example, are",
                       other);
    return hr_fail(
        error, HR_STATUS_CORRUPT,
        "the bytes are not a sound file of a supported format: WAV, RF64, W64, AIFF, AU, "
        "CAF, NIST SPHERE, VOC, AVR, IRCAM, PAF, PVF, 8SVX, MPC 2000, WVE, HTK, FLAC, "
        "Vorbis, Opus, MP3, AAC, or the sound of MP4, WebM, FLV, AVI and MPEG files");
}

static const hr_audio_opener *find_header(const uint8_t *bytes, size_t size, uint64_t file_size)
{
    const hr_audio_opener *o = hr__audio_headers;
    while (o->name && !o->match(bytes, size, file_size))
        o++;
    return o->name ? o : NULL;
}

bool hr_audio_is_named(const uint8_t *bytes, size_t size)
{
    return find_container(bytes, size) || find_header(bytes, size, size) ||
           hr__audio_refused(bytes, size);
}

static hr_status parse(parser *p, hr_error *error)
{
    hr_audio_parser *in = &p->in;
    p->box = find_container(in->bytes, in->size);
    const hr_audio_opener *o = p->box ? NULL : find_header(in->bytes, in->size, in->file_size);
    if (!p->box && !o)
        return unknown(in, error);
    in->name = p->box ? p->box->name : o->name;
    *in->out = (hr_audio){.format = in->name, .big_endian = p->box && p->box->big_values};
    return p->box ? walk(p, error) : o->read(in, error);
}

static int64_t frames_of(const hr_audio *a)
{
    if (a->block_bytes == 0)
        return (int64_t)(a->length / a->frame_bytes);
    const uint64_t block = (uint64_t)a->block_bytes;
    return (int64_t)(a->length / block) * a->block_frames +
           hr_adpcm_block_frames(a->code, a->channels, (size_t)(a->length % block));
}

hr_status hr_audio_open(const uint8_t *bytes, size_t size, uint64_t file_size, hr_audio *audio,
                        hr_error *error)
{
    const uint64_t tags = hr_audio_tags(bytes, size), skip = HR_MIN(tags, size);
    parser p = {.in = {.bytes = bytes + skip,
                       .size = size - (size_t)skip,
                       .file_size = file_size - skip,
                       .out = audio}};
    HR_TRY(parse(&p, error));
    if (!p.in.has_format || !p.in.has_data)
        return hr_fail(error, HR_STATUS_CORRUPT, "%s: the file has no chunk with %s", p.in.name,
                       p.in.has_format ? "samples" : "the format of the samples");
    const uint64_t offset = HR_MIN(p.in.offset, p.in.file_size);
    audio->offset = skip + offset;
    audio->length = HR_MIN(p.in.length, p.in.file_size - offset);
    audio->frames = frames_of(audio);
    return HR_STATUS_OK;
}

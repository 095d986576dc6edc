/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Formats whose samples follow one header: AU, NIST SPHERE, VOC, AVR, IRCAM, PAF, PVF, MPC 2000,
 * WVE and HTK. As in libsndfile, samples go up to the end of the file, also where a header counts
 * them. */
#include "codecs/audio/parse.h"
#include "codecs/bytes.h"

#include <stdio.h>
#include <string.h>

static bool begins(const uint8_t *bytes, size_t size, const char *magic, size_t n)
{
    return size >= n && memcmp(bytes, magic, n) == 0;
}
#define BEGINS(text) begins(bytes, size, text, sizeof(text) - 1)
#define MATCH(name, condition)                                                                     \
    static bool name##_match(const uint8_t *bytes, size_t size, uint64_t file_size)                \
    {                                                                                              \
        (void)file_size;                                                                           \
        return condition;                                                                          \
    }

static hr_status need(const hr_audio_parser *p, size_t bytes, hr_error *error)
{
    return p->size >= bytes
               ? HR_STATUS_OK
               : hr_fail(error, HR_STATUS_CORRUPT, "%s: the file ends within its header", p->name);
}

/* ---- AU ---- */

MATCH(au, BEGINS(".snd") || BEGINS("dns."))

static hr_status au_read(hr_audio_parser *p, hr_error *error)
{
    static const hr_audio_code codes[] = {HR_AUDIO_CODE_NONE, HR_AUDIO_CODE_ULAW, HR_AUDIO_CODE_S8,
                                          HR_AUDIO_CODE_S16,  HR_AUDIO_CODE_S24,  HR_AUDIO_CODE_S32,
                                          HR_AUDIO_CODE_F32,  HR_AUDIO_CODE_F64};
    const uint8_t *b = p->bytes;
    const bool big = p->out->big_endian = b[0] == '.';
    HR_TRY(need(p, 24, error));
    uint64_t code = hr__audio_get(b + 12, 4, big), length = hr__audio_get(b + 8, 4, big);
    hr_audio_code known = code < HR_COUNT_OF(codes) ? codes[code] : HR_AUDIO_CODE_NONE;
    snprintf(p->encoding, sizeof(p->encoding), "%llu%s", (unsigned long long)code,
             code >= 23 && code <= 26 ? " (G.72x ADPCM)" : "");
    HR_TRY(hr__audio_format(p, code == 27 ? HR_AUDIO_CODE_ALAW : known,
                            hr__audio_get(b + 20, 4, big), (int64_t)hr__audio_get(b + 16, 4, big),
                            error));
    return hr__audio_data(p, hr__audio_get(b + 4, 4, big),
                          length == UINT32_MAX ? UINT64_MAX : length, error);
}

/* ---- NIST SPHERE: a text of lines "name -type value" ---- */

MATCH(nist, BEGINS("NIST_1A\n"))

/* The value of a line, zero-terminated in `room`; empty if there is none. */
static const char *nist_value(const hr_audio_parser *p, size_t end, const char *name, char *room,
                              size_t room_size)
{
    const char *at = (const char *)p->bytes, *stop = at + end;
    const size_t n = strlen(name);
    room[0] = 0;
    while (at < stop) {
        const char *line = memchr(at, '\n', (size_t)(stop - at));
        const char *line_end = line ? line : stop;
        if ((size_t)(line_end - at) > n + 1 && memcmp(at, name, n) == 0 && at[n] == ' ') {
            const char *value = at + n + 1;
            value = value < line_end && *value == '-'
                        ? memchr(value, ' ', (size_t)(line_end - value))
                        : value;
            while (value && value < line_end && *value == ' ')
                value++;
            for (size_t i = 0; value && value < line_end && *value != '\r' && i + 1 < room_size;
                 i++)
                room[i] = *value++, room[i + 1] = 0;
            return room;
        }
        at = line_end + 1;
    }
    return room;
}

/* A decimal number of up to 18 digits; -1: it is not one. */
static int64_t decimal(const char *text)
{
    int64_t v = 0;
    size_t n = 0;
    for (; text[n] >= '0' && text[n] <= '9' && n < 18; n++)
        v = 10 * v + (text[n] - '0');
    return n > 0 && (text[n] == 0 || text[n] == ' ') ? v : -1;
}

static hr_audio_code nist_code(hr_audio_parser *p, const char *coding, int64_t bytes)
{
    if (strcmp(coding, "ulaw") == 0 || strcmp(coding, "mu-law") == 0)
        return bytes == 1 ? HR_AUDIO_CODE_ULAW : HR_AUDIO_CODE_NONE;
    if (strcmp(coding, "alaw") == 0)
        return bytes == 1 ? HR_AUDIO_CODE_ALAW : HR_AUDIO_CODE_NONE;
    if (coding[0] && strcmp(coding, "pcm") != 0)
        return HR_AUDIO_CODE_NONE;
    snprintf(p->encoding, sizeof(p->encoding), "pcm with %lld bytes", (long long)bytes);
    return bytes >= 1 && bytes <= 4 ? hr__audio_integers((uint64_t)bytes * 8, true)
                                    : HR_AUDIO_CODE_NONE;
}

static hr_status nist_read(hr_audio_parser *p, hr_error *error)
{
    char text[sizeof(p->encoding)], order[8];
    HR_TRY(need(p, 16, error));
    memcpy(text, p->bytes + 8, 8);
    text[7] = 0;
    const int64_t header = decimal(text + strspn(text, " "));
    if (header < 16 || (uint64_t)header > p->size)
        return hr_fail(error, HR_STATUS_CORRUPT, "%s: the header of %lld bytes is not in the file",
                       p->name, (long long)header);
    const size_t end = (size_t)header;
    int64_t channels = decimal(nist_value(p, end, "channel_count", text, sizeof(text)));
    int64_t rate = decimal(nist_value(p, end, "sample_rate", text, sizeof(text)));
    int64_t bytes = decimal(nist_value(p, end, "sample_n_bytes", text, sizeof(text)));
    nist_value(p, end, "sample_byte_format", order, sizeof(order));
    nist_value(p, end, "sample_coding", p->encoding, sizeof(p->encoding));
    memcpy(text, p->encoding, sizeof(text));
    const hr_audio_code code = nist_code(p, text, bytes);
    p->out->big_endian = strncmp(order, "10", 2) == 0;
    if (bytes > 1 && !p->out->big_endian && strncmp(order, "01", 2) != 0)
        return hr_fail(
            error, HR_STATUS_CORRUPT,
            "%s: the byte order '%s' (sample_byte_format) is not supported; 01 and 10 are", p->name,
            order);
    HR_TRY(hr__audio_format(p, code, (uint64_t)HR_MAX(channels, 0), rate, error));
    return hr__audio_data(p, end, UINT64_MAX, error);
}

/* ---- VOC: blocks with a type and a size of three bytes ---- */

enum { VOC_END, VOC_SOUND, VOC_MORE, VOC_SILENCE, VOC_MARKER, VOC_TEXT, VOC_EXTRA = 8, VOC_NEW };

MATCH(voc, BEGINS("Creative Voice File\x1A"))

static hr_audio_code voc_code(hr_audio_parser *p, uint64_t codec)
{
    snprintf(p->encoding, sizeof(p->encoding), "%llu%s", (unsigned long long)codec,
             codec <= 3 || codec == 0x200 ? " (Creative ADPCM)" : "");
    switch (codec) {
    case 0:
        return HR_AUDIO_CODE_U8;
    case 4:
        return HR_AUDIO_CODE_S16;
    case 6:
        return HR_AUDIO_CODE_ALAW;
    case 7:
        return HR_AUDIO_CODE_ULAW;
    default:
        return HR_AUDIO_CODE_NONE;
    }
}

/* The block of samples at `at`; b: its content. `extra`: the block of type 8 before it, or NULL. */
static hr_status voc_sound(hr_audio_parser *p, uint8_t type, const uint8_t *b, uint64_t at,
                           uint64_t size, const uint8_t *extra, hr_error *error)
{
    const uint64_t head = type == VOC_NEW ? 12 : 2;
    if (size < head || p->size - at < head)
        return hr_fail(error, HR_STATUS_CORRUPT, "%s: a block of samples is too short", p->name);
    if (p->has_data)
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                       "%s: the file has several blocks of samples, which is not supported",
                       p->name);
    if (type == VOC_NEW) {
        HR_TRY(hr__audio_format(p, voc_code(p, hr_get_le16(b + 6)), b[5], hr_get_le32(b), error));
    } else if (extra) {
        const int64_t channels = extra[3] ? 2 : 1;
        HR_TRY(hr__audio_format(p, voc_code(p, extra[2]), (uint64_t)channels,
                                256000000 / (65536 - (int64_t)hr_get_le16(extra)) / channels,
                                error));
    } else {
        HR_TRY(hr__audio_format(p, voc_code(p, b[1]), 1, 1000000 / (256 - b[0]), error));
    }
    return hr__audio_data(p, at + head, size - head, error);
}

static hr_status voc_read(hr_audio_parser *p, hr_error *error)
{
    HR_TRY(need(p, 26, error));
    const uint8_t *extra = NULL;
    uint64_t at = hr_get_le16(p->bytes + 20);
    while (at < p->size && p->bytes[at] != VOC_END) {
        const uint8_t type = p->bytes[at];
        if (p->size - at < 4)
            break;
        const uint64_t size = hr__audio_get(p->bytes + at + 1, 3, false);
        const uint8_t *b = p->bytes + at + 4;
        at += 4;
        if (type == VOC_SOUND || type == VOC_NEW)
            HR_TRY(voc_sound(p, type, b, at, size, extra, error));
        else if (type == VOC_EXTRA && size >= 4 && p->size - at >= 4)
            extra = b;
        else if (type == VOC_MORE || type == VOC_SILENCE || type > VOC_TEXT)
            return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                           "%s: blocks of type %d are not supported", p->name, type);
        at += size;
    }
    if (at >= p->size && at < p->file_size) /* what follows is not at hand */
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED, "%s: only the start was read", p->name);
    return HR_STATUS_OK;
}

/* ---- fixed headers ---- */

MATCH(avr, BEGINS("2BIT"))

static hr_status avr_read(hr_audio_parser *p, hr_error *error)
{
    HR_TRY(need(p, 128, error));
    const uint8_t *b = p->bytes;
    const uint32_t bits = hr_get_be16(b + 14);
    snprintf(p->encoding, sizeof(p->encoding), "%u bits", bits);
    p->out->big_endian = true;
    HR_TRY(hr__audio_format(p,
                            bits == 8 || (bits == 16 && hr_get_be16(b + 16))
                                ? hr__audio_integers(bits, hr_get_be16(b + 16) != 0)
                                : HR_AUDIO_CODE_NONE,
                            hr_get_be16(b + 12) ? 2 : 1, (int64_t)hr__audio_get(b + 23, 3, true),
                            error));
    return hr__audio_data(p, 128, UINT64_MAX, error);
}

/* The byte between says what kind of machine wrote the file, which does not always fit the order.
 */
MATCH(ircam,
      (size >= 4 && bytes[0] == 0x64 && bytes[1] == 0xA3 && bytes[2] <= 4 && bytes[3] == 0) ||
          (size >= 4 && bytes[0] == 0 && bytes[1] <= 4 && bytes[2] == 0xA3 && bytes[3] == 0x64))

static hr_status ircam_read(hr_audio_parser *p, hr_error *error)
{
    static const struct {
        uint32_t number;
        hr_audio_code code;
    } codes[] = {{1, HR_AUDIO_CODE_S8},        {2, HR_AUDIO_CODE_S16},
                 {4, HR_AUDIO_CODE_F32},       {8, HR_AUDIO_CODE_F64},
                 {0x40004, HR_AUDIO_CODE_S32}, {0x10001, HR_AUDIO_CODE_ALAW},
                 {0x20001, HR_AUDIO_CODE_ULAW}};
    const uint8_t *b = p->bytes;
    float rate;
    hr_audio_code code = HR_AUDIO_CODE_NONE;
    HR_TRY(need(p, 16, error));
    const uint32_t little = hr_get_le32(b + 8);
    const bool big = p->out->big_endian = little == 0 || little > HR_AUDIO_MOST_CHANNELS;
    const uint32_t bits = big ? hr_get_be32(b + 4) : hr_get_le32(b + 4);
    const uint32_t number = big ? hr_get_be32(b + 12) : hr_get_le32(b + 12);
    memcpy(&rate, &bits, sizeof(rate));
    snprintf(p->encoding, sizeof(p->encoding), "0x%x", number);
    for (size_t i = 0; i < HR_COUNT_OF(codes); i++)
        if (codes[i].number == number)
            code = codes[i].code;
    HR_TRY(hr__audio_format(p, code, big ? hr_get_be32(b + 8) : little,
                            rate >= 1 && rate < (float)INT32_MAX ? (int64_t)rate : 0, error));
    return hr__audio_data(p, 1024, UINT64_MAX, error);
}

MATCH(paf, BEGINS(" paf") || BEGINS("fap "))

static hr_status paf_read(hr_audio_parser *p, hr_error *error)
{
    HR_TRY(need(p, 28, error));
    const uint8_t *b = p->bytes;
    const bool big = b[0] == ' ';
    const uint64_t kind = hr__audio_get(b + 16, 4, big);
    p->out->big_endian = hr__audio_get(b + 8, 4, big) == 0;
    snprintf(p->encoding, sizeof(p->encoding), "%llu%s", (unsigned long long)kind,
             kind == 1 ? " (blocks of 24 bits)" : "");
    HR_TRY(hr__audio_format(p,
                            kind == 0   ? HR_AUDIO_CODE_S16
                            : kind == 2 ? HR_AUDIO_CODE_S8
                                        : HR_AUDIO_CODE_NONE,
                            hr__audio_get(b + 20, 4, big), (int64_t)hr__audio_get(b + 12, 4, big),
                            error));
    return hr__audio_data(p, 2048, UINT64_MAX, error);
}

MATCH(pvf, BEGINS("PVF1\n"))

/* A line of text: channels, rate, bits. */
static hr_status pvf_read(hr_audio_parser *p, hr_error *error)
{
    char line[64] = {0};
    int64_t numbers[3];
    size_t at = 0, n = 0;
    const size_t most = HR_MIN(p->size - 5, sizeof(line) - 1);
    memcpy(line, p->bytes + 5, most);
    while (n < most && line[n] != '\n')
        n++;
    line[n] = 0;
    for (int32_t i = 0; i < 3; i++) {
        at += strspn(line + at, " ");
        numbers[i] = decimal(line + at);
        at += strcspn(line + at, " ");
    }
    snprintf(p->encoding, sizeof(p->encoding), "%lld bits", (long long)numbers[2]);
    p->out->big_endian = true;
    HR_TRY(hr__audio_format(p,
                            numbers[2] == 8 || numbers[2] == 16 || numbers[2] == 32
                                ? hr__audio_integers((uint64_t)numbers[2], true)
                                : HR_AUDIO_CODE_NONE,
                            (uint64_t)HR_MAX(numbers[0], 0), numbers[1], error));
    return hr__audio_data(p, 5 + n + 1, UINT64_MAX, error);
}

/* Its magic of two bytes is not much, so the number of frames has to fit the file. */
MATCH(mpc, BEGINS("\1\4") && size >= 42 && bytes[21] <= 1 &&
               file_size - 42 == (2 + 2 * (uint64_t)bytes[21]) * hr_get_le32(bytes + 30))

static hr_status mpc_read(hr_audio_parser *p, hr_error *error)
{
    HR_TRY(hr__audio_format(p, HR_AUDIO_CODE_S16, 1 + (uint64_t)p->bytes[21],
                            hr_get_le16(p->bytes + 40), error));
    return hr__audio_data(p, 42, UINT64_MAX, error);
}

MATCH(wve, BEGINS("ALawSoundFile**"))

static hr_status wve_read(hr_audio_parser *p, hr_error *error)
{
    HR_TRY(need(p, 32, error));
    HR_TRY(hr__audio_format(p, HR_AUDIO_CODE_ALAW, 1, 8000, error));
    return hr__audio_data(p, 32, UINT64_MAX, error);
}

/* Without any magic: the number of samples has to fit the file, and it must be a waveform. */
MATCH(htk, size >= 12 && hr_get_be32(bytes + 8) == 0x20000 && hr_get_be32(bytes + 4) > 0 &&
               file_size == 12 + 2 * (uint64_t)hr_get_be32(bytes))

static hr_status htk_read(hr_audio_parser *p, hr_error *error)
{
    p->out->big_endian = true;
    HR_TRY(hr__audio_format(p, HR_AUDIO_CODE_S16, 1, 10000000 / (int64_t)hr_get_be32(p->bytes + 4),
                            error));
    return hr__audio_data(p, 12, UINT64_MAX, error);
}

const hr_audio_opener hr__audio_headers[] = {{"AU", au_match, au_read},
                                             {"NIST SPHERE", nist_match, nist_read},
                                             {"VOC", voc_match, voc_read},
                                             {"AVR", avr_match, avr_read},
                                             {"IRCAM", ircam_match, ircam_read},
                                             {"PAF", paf_match, paf_read},
                                             {"PVF", pvf_match, pvf_read},
                                             {"MPC 2000", mpc_match, mpc_read},
                                             {"WVE", wve_match, wve_read},
                                             {"HTK", htk_match, htk_read},
                                             {NULL, NULL, NULL}};

/* ---- others ---- */

const char *hr__audio_refused(const uint8_t *bytes, size_t size)
{
    static const struct {
        const char *name;
        size_t at, n;
        const char *magic;
    } formats[] = {
        {"MPEG audio, layer II", 0, 2, "\xFF\xFC"},
        {"MPEG audio, layer II", 0, 2, "\xFF\xFD"},
        {"MPEG audio, layer II", 0, 2, "\xFF\xF4"},
        {"MPEG audio, layer II", 0, 2, "\xFF\xF5"},
        {"MPEG audio, layer I", 0, 2, "\xFF\xFE"},
        {"MPEG audio, layer I", 0, 2, "\xFF\xFF"},
        {"a MAT-file of MATLAB 4", 20, 10, "samplerate"},
        {"a MAT-file of MATLAB 5", 0, 10, "MATLAB 5.0"},
        {"an instrument of FastTracker (XI)", 0, 20, "Extended Instrument:"},
        {"a MIDI sample dump (SDS)", 0, 2, "\xF0\x7E"},
        {"an Ogg file without FLAC, Vorbis or Opus", 0, 4, "OggS"},
        {"WMA", 0, 4, "\x30\x26\xB2\x75"},
        {"WavPack", 0, 4, "wvpk"},
        {"Monkey's Audio", 0, 4, "MAC "},
        {"True Audio", 0, 4, "TTA1"},
        {"Shorten", 0, 4, "ajkg"},
        {"AMR", 0, 5, "#!AMR"},
        {"DSF", 0, 4, "DSD "},
        {"DSDIFF", 0, 4, "FRM8"},
        {"MIDI", 0, 4, "MThd"},
    };
    for (size_t i = 0; i < HR_COUNT_OF(formats); i++)
        if (size >= formats[i].at + formats[i].n &&
            memcmp(bytes + formats[i].at, formats[i].magic, formats[i].n) == 0)
            return formats[i].name;
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Opus in Ogg through libogg and libopus, at the rate of the original sound: 8, 12, 16, 24 or 48
 * kHz. Positions in the file are counted at 48 kHz. */
#include "modules/audio/decoders.h"

#include <string.h>

#include <ogg/ogg.h>
#include <opus_multistream.h>

enum { CLOCK = 48000, HEADER = 19, MOST_FRAMES = 5760, CHUNK = 1 << 16 };

typedef struct opus {
    hr_audio_job *job;
    ogg_sync_state sync;
    ogg_stream_state stream;
    OpusMSDecoder *decoder;
    int32_t rate;
    int64_t packets;  /* so far, with the two headers */
    int64_t first;    /* wanted frame after the pre-skip */
    int64_t pre_skip; /* at 48 kHz */
    int64_t clock;    /* decoded, at 48 kHz */
    bool has_stream, ended;
} opus;

static int32_t output_rate(uint32_t original)
{
    static const int32_t rates[] = {8000, 12000, 16000, 24000};
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
        if (original > 0 && original <= (uint32_t)rates[i])
            return rates[i];
    return CLOCK;
}

static bool take_head(opus *o, const ogg_packet *p)
{
    hr_audio_job *job = o->job;
    const unsigned char *b = p->packet;
    unsigned char plain[2] = {0, 1};
    int error = 0;
    if (p->bytes < HEADER || memcmp(b, "OpusHead", 8) != 0 || b[8] > 15)
        return hr__audio_fail(job, "the header is damaged");
    int channels = b[9], family = b[18], streams = 1, coupled = channels - 1;
    const unsigned char *map = plain;
    if (family != 0) {
        if (p->bytes < HEADER + 2 + channels)
            return hr__audio_fail(job, "the header is damaged");
        streams = b[19];
        coupled = b[20];
        map = b + 21;
    }
    if (channels < 1 || (family == 0 && channels > 2))
        return hr__audio_fail(job, "%d channels of family %d are not possible", channels, family);
    o->rate = output_rate((uint32_t)b[12] | (uint32_t)b[13] << 8 | (uint32_t)b[14] << 16 |
                          (uint32_t)b[15] << 24);
    o->decoder = opus_multistream_decoder_create(o->rate, channels, streams, coupled, map, &error);
    if (!o->decoder)
        return hr__audio_fail(job, "the header is damaged: %s", opus_strerror(error));
    opus_multistream_decoder_ctl(o->decoder, OPUS_SET_GAIN((int16_t)(b[16] | b[17] << 8)));
    if (!hr__audio_begin(job, channels, o->rate, true))
        return false;
    o->pre_skip = b[10] | b[11] << 8;
    o->first = job->skip;
    int64_t extra = o->pre_skip * o->rate / CLOCK;
    job->skip = job->skip > INT64_MAX - extra ? INT64_MAX : job->skip + extra;
    hr__audio_expect(job, hr__audio_ogg_end(job) / (CLOCK / o->rate) + MOST_FRAMES);
    return true;
}

static bool take_sound(opus *o, const ogg_packet *p)
{
    hr_audio_job *job = o->job;
    float *room = hr__audio_room(job, MOST_FRAMES);
    if (!room)
        return false;
    int n = opus_multistream_decode_float(o->decoder, p->packet, (opus_int32)p->bytes, room,
                                          MOST_FRAMES, 0);
    if (n < 0)
        return hr__audio_fail(job, "packet %lld is damaged: %s", (long long)o->packets,
                              opus_strerror(n));
    hr__audio_keep(job, n);
    o->clock += (int64_t)n * (CLOCK / o->rate);
    return true;
}

/* The position of the last page says how much of its last packet counts. */
static void trim(opus *o, int64_t position)
{
    hr_audio_job *job = o->job;
    if (position < 0 || position >= o->clock)
        return;
    int64_t end = position > o->pre_skip ? (position - o->pre_skip) * o->rate / CLOCK : 0;
    int64_t frames = end > o->first ? end - o->first : 0;
    job->frames = frames < job->frames ? frames : job->frames;
}

static bool take_page(opus *o, ogg_page *page)
{
    ogg_packet p;
    int got;
    if (!o->has_stream) {
        if (ogg_stream_init(&o->stream, ogg_page_serialno(page)) != 0)
            return hr__audio_fail(o->job, "out of memory for a decoder");
        o->has_stream = true;
    }
    if (ogg_page_serialno(page) != o->stream.serialno || ogg_stream_pagein(&o->stream, page) != 0)
        return true; /* of another stream, or another version */
    while ((got = ogg_stream_packetout(&o->stream, &p)) != 0) {
        if (got < 0)
            continue; /* a packet is missing */
        bool taken = o->packets == 0 ? take_head(o, &p) : o->packets == 1 || take_sound(o, &p);
        if (!taken)
            return false;
        o->packets++;
    }
    if (ogg_page_eos(page)) {
        trim(o, ogg_page_granulepos(page));
        o->ended = true;
    }
    return true;
}

static bool run(opus *o)
{
    hr_audio_job *job = o->job;
    size_t at = 0;
    ogg_page page;
    while (!o->ended && (o->packets < 2 || hr__audio_wants(job))) {
        int got = ogg_sync_pageout(&o->sync, &page);
        if (got > 0 && !take_page(o, &page))
            return false;
        if (got != 0)
            continue;
        size_t n = job->size - at < CHUNK ? job->size - at : CHUNK;
        char *room = n > 0 ? ogg_sync_buffer(&o->sync, (long)n) : NULL;
        if (!room)
            break;
        memcpy(room, job->bytes + at, n);
        ogg_sync_wrote(&o->sync, (long)n);
        at += n;
    }
    return o->packets >= 2 || hr__audio_fail(job, "the headers are cut");
}

bool hr__opus_decode(hr_audio_job *job)
{
    opus o = {.job = job};
    ogg_sync_init(&o.sync);
    bool done = run(&o);
    if (o.has_stream)
        ogg_stream_clear(&o.stream);
    ogg_sync_clear(&o.sync);
    if (o.decoder)
        opus_multistream_decoder_destroy(o.decoder);
    return done;
}

const char *hr__opus_version(void)
{
    return opus_get_version_string();
}

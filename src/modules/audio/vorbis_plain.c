/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Plain Vorbis files through libvorbis. Of a short file, much of the work is to build
 * the code books from the headers. Files of one data set mostly have the same headers, so the
 * decoder is kept for the next file. */
#include "modules/audio/vorbis_kept.h"

#include <stdlib.h>
#include <string.h>

#include <vorbis/codec.h>

/* ID: bytes of the first header. A decoder whose second one is longer, or whose code books have
 * more numbers, is not kept: those of encoders are much smaller. */
enum { ID = 30, MOST_SETUP = 1 << 15, MOST_NUMBERS = 1 << 17, PAGE = 27, MOST_HEAD = PAGE + 255 };

struct hr_vorbis_kept {
    uint8_t id[ID], *setup; /* the headers that the decoder was made from */
    size_t setup_size;
    bool has_info, ready; /* the first header was read; the decoder can be used */
    vorbis_info info;
    vorbis_dsp_state dsp;
    vorbis_block block;
    ogg_stream_state stream;
};

typedef struct plain {
    hr_audio_job *job;
    struct hr_vorbis_kept *d;
    vorbis_comment comment;
    size_t at; /* the next page */
    ogg_page page;
    uint8_t head[MOST_HEAD];
    bool same; /* the first header is that of the decoder */
} plain;

/* ---- the decoder ---- */

static void forget(struct hr_vorbis_kept *d)
{
    if (d->ready) {
        vorbis_block_clear(&d->block);
        vorbis_dsp_clear(&d->dsp);
    }
    if (d->has_info)
        vorbis_info_clear(&d->info);
    free(d->setup);
    d->setup = NULL;
    d->has_info = d->ready = false;
}

struct hr_vorbis_kept *hr__vorbis_kept_create(void)
{
    struct hr_vorbis_kept *d = calloc(1, sizeof(*d));
    if (d && ogg_stream_init(&d->stream, 0) != 0) {
        free(d);
        return NULL;
    }
    return d;
}

void hr__vorbis_kept_destroy(struct hr_vorbis_kept *d)
{
    if (!d)
        return;
    forget(d);
    ogg_stream_clear(&d->stream);
    free(d);
}

/* At least the numbers in all code books. A book begins, at any bit, with a mark of 24 bits, the
 * length of its vectors and their number; other bits that look like it only add to the sum. */
static uint64_t numbers_in(const uint8_t *bytes, size_t size)
{
    const uint64_t mark = 0x564342;
    uint64_t window = 0, sum = 0;
    for (size_t i = 0; i < 8 * size; i++) {
        window = window >> 1 | (uint64_t)(bytes[i / 8] >> i % 8 & 1) << 63;
        if ((window & 0xFFFFFF) == mark)
            sum += (window >> 24 & 0xFFFF) * (window >> 40);
    }
    return sum;
}

static bool worth_keeping(const ogg_packet *setup)
{
    return setup->bytes <= MOST_SETUP &&
           numbers_in(setup->packet, (size_t)setup->bytes) <= MOST_NUMBERS;
}

static bool make(struct hr_vorbis_kept *d, const ogg_packet *setup)
{
    if (vorbis_synthesis_init(&d->dsp, &d->info) != 0)
        return false;
    d->ready = true;
    vorbis_block_init(&d->dsp, &d->block);
    if (worth_keeping(setup))
        d->setup = malloc((size_t)setup->bytes);
    if (d->setup)
        memcpy(d->setup, setup->packet, (size_t)setup->bytes);
    d->setup_size = (size_t)setup->bytes;
    return true;
}

/* ---- pages ---- */

/* The next page, which must begin where the last one ended. */
static bool next_page(plain *p)
{
    const hr_audio_job *job = p->job;
    const uint8_t *b = job->bytes + p->at;
    size_t left = job->size - p->at, head, body = 0;
    if (left < PAGE || memcmp(b, "OggS", 4) != 0)
        return false;
    head = PAGE + (size_t)b[PAGE - 1];
    if (left < head)
        return false;
    for (size_t i = PAGE; i < head; i++)
        body += b[i];
    if (left - head < body)
        return false;
    memcpy(p->head, b, head);
    p->page = (ogg_page){p->head, (long)head, (unsigned char *)b + head, (long)body};
    ogg_page_checksum_set(&p->page); /* only in the copy of the head */
    p->at += head + body;
    return memcmp(p->head + 22, b + 22, 4) == 0;
}

/* Adds the next page to the stream, which it must belong to. */
static bool add_page(plain *p, bool first)
{
    if (!next_page(p) || (ogg_page_bos(&p->page) != 0) != first)
        return false;
    if (first)
        ogg_stream_reset_serialno(&p->d->stream, ogg_page_serialno(&p->page));
    return ogg_stream_pagein(&p->d->stream, &p->page) == 0;
}

/* ---- headers ---- */

static bool take_id(plain *p, ogg_packet *packet)
{
    struct hr_vorbis_kept *d = p->d;
    if (packet->bytes != ID || !packet->b_o_s)
        return false;
    p->same = d->ready && d->setup && memcmp(d->id, packet->packet, ID) == 0;
    if (p->same)
        return true;
    forget(d);
    memcpy(d->id, packet->packet, ID);
    vorbis_info_init(&d->info);
    d->has_info = true;
    return vorbis_synthesis_headerin(&d->info, &p->comment, packet) == 0;
}

/* The same first header does not mean the same code books. */
static bool take_setup(plain *p, ogg_packet *packet)
{
    struct hr_vorbis_kept *d = p->d;
    if (p->same && d->setup_size == (size_t)packet->bytes &&
        memcmp(d->setup, packet->packet, d->setup_size) == 0)
        return vorbis_synthesis_restart(&d->dsp) == 0;
    if (p->same) {
        ogg_packet id = {.packet = d->id, .bytes = ID, .b_o_s = 1};
        forget(d);
        vorbis_info_init(&d->info);
        d->has_info = true;
        if (vorbis_synthesis_headerin(&d->info, &p->comment, &id) != 0)
            return false;
    }
    return vorbis_synthesis_headerin(&d->info, &p->comment, packet) == 0 && make(d, packet);
}

/* The three headers, of which the last one ends with a page. */
static bool take_headers(plain *p)
{
    ogg_packet packet;
    if (!add_page(p, true))
        return false;
    for (int32_t k = 0; k < 3; k++) {
        int got = ogg_stream_packetout(&p->d->stream, &packet);
        for (; got == 0; got = ogg_stream_packetout(&p->d->stream, &packet))
            if (!add_page(p, false))
                return false;
        if (got < 0 || (k == 0 && !take_id(p, &packet)) || (k == 2 && !take_setup(p, &packet)) ||
            (k == 1 && vorbis_synthesis_headerin(&p->d->info, &p->comment, &packet) != 0))
            return false;
    }
    return p->head[p->page.header_len - 1] < 255 &&
           ogg_stream_packetout(&p->d->stream, &packet) == 0;
}

/* ---- sound ---- */

static bool take_samples(hr_audio_job *job, vorbis_dsp_state *dsp)
{
    float **planes = NULL;
    int n = vorbis_synthesis_pcmout(dsp, &planes);
    if (n <= 0)
        return true;
    if (!hr__audio_planes(job, planes, n))
        return false;
    vorbis_synthesis_read(dsp, n);
    return true;
}

static hr_vorbis_result take_sound(plain *p)
{
    struct hr_vorbis_kept *d = p->d;
    ogg_packet packet;
    while (hr__audio_wants(p->job)) {
        int got = ogg_stream_packetout(&d->stream, &packet);
        if (got < 0)
            return HR_VORBIS_RESULT_OTHER;
        if (got == 0 && p->at == p->job->size)
            break;
        if (got == 0 && !add_page(p, false))
            return HR_VORBIS_RESULT_OTHER;
        if (got == 0 || vorbis_synthesis(&d->block, &packet) != 0)
            continue; /* a packet that is no sound is passed over */
        vorbis_synthesis_blockin(&d->dsp, &d->block);
        if (!take_samples(p->job, &d->dsp))
            return HR_VORBIS_RESULT_FAILED;
    }
    return HR_VORBIS_RESULT_DONE;
}

static hr_vorbis_result run(plain *p)
{
    hr_audio_job *job = p->job;
    if (!take_headers(p) || p->at == job->size)
        return HR_VORBIS_RESULT_OTHER;
    if (!hr__audio_begin(job, p->d->info.channels, p->d->info.rate, true))
        return HR_VORBIS_RESULT_FAILED;
    hr__audio_expect(job, hr__audio_ogg_end(job) - job->skip);
    return take_sound(p);
}

hr_vorbis_result hr__vorbis_plain(hr_audio_job *job)
{
    hr_audio_kept *kept = *job->kept;
    if (!kept->vorbis && !(kept->vorbis = hr__vorbis_kept_create()))
        return HR_VORBIS_RESULT_OTHER;
    plain p = {.job = job, .d = kept->vorbis};
    vorbis_comment_init(&p.comment);
    hr_vorbis_result result = run(&p);
    vorbis_comment_clear(&p.comment);
    if (result != HR_VORBIS_RESULT_DONE || !p.d->setup)
        forget(p.d);
    return result;
}

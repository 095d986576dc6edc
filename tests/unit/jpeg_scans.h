/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Progressive JPEG files with the usual scans and with random ones. */
#pragma once

#include "jpeg_files.h"

enum { PASSES_MAX = 64 };

typedef struct script {
    jpeg_scan_info pass[PASSES_MAX];
    int count;
} script;

static inline void add_pass(script *s, int components, int component, int first, int last, int high,
                            int low)
{
    jpeg_scan_info *p = &s->pass[s->count++];
    *p = (jpeg_scan_info){.comps_in_scan = components, .Ss = first, .Se = last};
    for (int i = 0; i < components; i++)
        p->component_index[i] = component + i;
    p->Ah = high;
    p->Al = low;
}

/* A band of coefficients that is sent in some scans. */
typedef struct band {
    int components, component, first, last, high, low;
} band;

/* Bands of random width and depth. A component's DC comes before its AC, everything else in random
 * order. */
static inline script random_script(int components)
{
    script s = {.count = 0};
    band bands[20];
    int count = 0, open;
    bool together = components > 1 && help_random() % 2;
    for (int c = 0; c < (together ? 1 : components); c++) {
        int low = help_between(0, 2);
        bands[count++] = (band){together ? components : 1, c, 0, 0, 0, low};
    }
    for (int i = 0; i < count; i++) /* all first DC scans */
        add_pass(&s, bands[i].components, bands[i].component, 0, 0, 0, bands[i].low);
    for (int i = 0; i < count; i++)
        bands[i].high = bands[i].low;
    for (int c = 0; c < components; c++)
        for (int first = 1, last; first < 64; first = last + 1) {
            last = count > 15 || help_random() % 3 == 0 ? 63 : help_between(first, 63);
            bands[count++] = (band){1, c, first, last, -1, help_between(0, 3)};
        }
    do {
        open = 0;
        for (int i = 0; i < count; i++)
            open += bands[i].high != 0;
        int n = open > 0 ? help_between(1, open) : 0;
        for (int i = 0; i < count && n > 0; i++) {
            band *b = &bands[i];
            n -= b->high != 0;
            if (n > 0 || b->high == 0)
                continue;
            int low = b->high < 0 ? b->low : b->high - 1;
            add_pass(&s, b->components, b->component, b->first, b->last, HR_MAX(b->high, 0), low);
            b->high = low;
        }
    } while (open > 0);
    return s;
}

typedef struct scans {
    const script *script; /* NULL: the usual scans */
    int restart;          /* < 0: unchanged */
} scans;

static inline void scans_set(struct jpeg_compress_struct *out, const void *context)
{
    const scans *want = context;
    if (want->restart >= 0)
        out->restart_interval = (unsigned)want->restart;
    if (want->script) {
        out->scan_info = want->script->pass;
        out->num_scans = want->script->count;
    } else {
        jpeg_simple_progression(out);
    }
}

/* Rewrites a file's coefficients; NULL: with the usual scans. `restart` < 0: unchanged. */
static inline uint8_t *progressive(const uint8_t *file, size_t *size, const script *s, int restart)
{
    return files_rewrite(file, size, scans_set, &(scans){s, restart});
}

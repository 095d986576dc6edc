/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/jpeg2000/coding.h"

#include "codecs/bytes.h"
#include "core/core.h"

#include <string.h>

enum {
    SIZ = 0xFF51,
    COD = 0xFF52,
    TLM = 0xFF55,
    PLM = 0xFF57,
    PLT = 0xFF58,
    QCD = 0xFF5C,
    CRG = 0xFF63,
    COM = 0xFF64,
    SOT = 0xFF90,
    SOD = 0xFF93,
    PRECINCTS = 1, /* of Scod */
    SOP = 2,
    EPH = 4,
    COD_FIXED = 10,
    LARGEST_PRECINCT = 15,
    NOT_QUANTISED = 0, /* of Sqcd */
    DERIVED = 1,
    EXPOUNDED = 2,
    LAYERS_MOST = 512 /* OpenJPEG's tag trees end at 999 */
};

static bool read_precincts(const uint8_t *p, bool given, hr_jpeg2000_coding *c)
{
    for (uint32_t i = 0; i <= c->levels; i++) {
        uint32_t v = given ? p[i] : LARGEST_PRECINCT << 4 | LARGEST_PRECINCT;
        if (i > 0 && ((v & 15) == 0 || v >> 4 == 0))
            return false;
        c->precincts[i] = (uint8_t)v;
    }
    return true;
}

static bool read_cod(const uint8_t *p, size_t size, hr_jpeg2000_coding *c)
{
    if (size < COD_FIXED || (p[0] & ~(PRECINCTS | SOP | EPH)) || p[1] > HR_JPEG2000_ORDER_CPRL ||
        p[4] > 1 || p[5] > HR_JPEG2000_LEVELS || p[6] > 8 || p[7] > 8 || p[6] + p[7] > 8 ||
        p[8] != 0 || p[9] > 1)
        return false;
    c->sop = p[0] & SOP;
    c->eph = p[0] & EPH;
    c->order = (hr_jpeg2000_order)p[1];
    c->layers = hr_get_be16(p + 2);
    c->mixed = p[4];
    c->levels = p[5];
    c->block_w = p[6] + 2u;
    c->block_h = p[7] + 2u;
    c->reversible = p[9];
    bool given = p[0] & PRECINCTS;
    if (c->layers == 0 || c->layers > LAYERS_MOST ||
        size != COD_FIXED + (given ? c->levels + (size_t)1 : 0))
        return false;
    return read_precincts(p + COD_FIXED, given, c);
}

/* Bands without a step have the exponent 0; read_main checks that there are enough. */
static bool read_qcd(const uint8_t *p, size_t size, hr_jpeg2000_coding *c, uint32_t *bands)
{
    if (size < 2)
        return false;
    uint32_t style = p[0] & 31, wide = style == NOT_QUANTISED ? 1 : 2;
    size_t count = (size - 1) / wide;
    c->guard = p[0] >> 5;
    if (style > EXPOUNDED || (size - 1) % wide != 0 || (style == DERIVED && count != 1))
        return false;
    *bands = style == DERIVED ? HR_JPEG2000_BANDS : (uint32_t)HR_MIN(count, HR_JPEG2000_BANDS);
    for (uint32_t i = 0; i < *bands; i++) {
        const uint8_t *v = p + 1 + (style == DERIVED ? 0 : i * wide);
        uint32_t step = wide == 1 ? (uint32_t)v[0] << 8 : hr_get_be16(v);
        uint32_t level = style == DERIVED && i > 0 ? (i - 1) / 3 : 0, exponent = step >> 11;
        c->steps[i] =
            (hr_jpeg2000_step){(uint8_t)(exponent > level ? exponent - level : 0), step & 0x7FF};
    }
    return true;
}

/* The marker at `at` and the size of its segment, which is in the file; 0: it is not. */
static uint32_t next_marker(const uint8_t *bytes, size_t size, size_t at, size_t *length)
{
    *length = 0;
    if (size - at < 4)
        return 0;
    *length = hr_get_be16(bytes + at + 2);
    uint32_t marker = hr_get_be16(bytes + at);
    if (marker == SOT || marker == SOD)
        return marker;
    return *length >= 2 && *length <= size - at - 2 ? marker : 0;
}

bool hr_jpeg2000_read_coding(const uint8_t *bytes, size_t size, hr_jpeg2000_coding *c, size_t *at)
{
    bool cod = false, qcd = false, good = true;
    uint32_t bands = 0, marker;
    size_t length;
    memset(c, 0, sizeof *c);
    *at = 2;
    while (good && (marker = next_marker(bytes, size, *at, &length)) != SOT) {
        const uint8_t *p = bytes + *at + 4;
        if (marker == COD && !cod)
            good = cod = read_cod(p, length - 2, c);
        else if (marker == QCD && !qcd)
            good = qcd = read_qcd(p, length - 2, c, &bands);
        else
            good =
                marker == SIZ || marker == COM || marker == TLM || marker == PLM || marker == CRG;
        *at += 2 + length;
    }
    return good && cod && qcd && bands >= 3 * c->levels + 1;
}

size_t hr_jpeg2000_skip_header(const uint8_t *bytes, size_t size, size_t at)
{
    size_t length;
    for (uint32_t marker; (marker = next_marker(bytes, size, at, &length)) != SOD; at += 2 + length)
        if (marker != PLT && marker != COM)
            return 0;
    return at;
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The arithmetic of Fourier transforms. HR_FFT_VALUE is the type of a number: the CPU defines it as
 * a vector of lanes. */
#pragma once

#include "core/shared.h"

#if !defined(HR_FFT_VALUE)
#define HR_FFT_VALUE float
#endif

typedef struct fft_point {
    HR_FFT_VALUE re, im;
} fft_point;

/* Times wr + i wi. */
HR_SHARED fft_point fft_turned(fft_point a, float wr, float wi)
{
    fft_point turned = {a.re * wr - a.im * wi, a.re * wi + a.im * wr};
    return turned;
}

HR_SHARED HR_FFT_VALUE fft_power(fft_point a)
{
    return a.re * a.re + a.im * a.im;
}

/* The transforms of `radix` points, in their place. */
HR_SHARED void fft_butterfly_2(fft_point *v)
{
    fft_point a = v[0], b = v[1];
    v[0].re = a.re + b.re;
    v[0].im = a.im + b.im;
    v[1].re = a.re - b.re;
    v[1].im = a.im - b.im;
}

HR_SHARED void fft_butterfly_3(fft_point *v)
{
    const float half_root = 0x1.bb67aep-1f; /* sqrt(3) / 2 */
    fft_point a = v[0], s = {v[1].re + v[2].re, v[1].im + v[2].im};
    fft_point d = {half_root * (v[1].re - v[2].re), half_root * (v[1].im - v[2].im)};
    fft_point m = {a.re - 0.5f * s.re, a.im - 0.5f * s.im};
    v[0].re = a.re + s.re;
    v[0].im = a.im + s.im;
    v[1].re = m.re + d.im;
    v[1].im = m.im - d.re;
    v[2].re = m.re - d.im;
    v[2].im = m.im + d.re;
}

HR_SHARED void fft_butterfly_4(fft_point *v)
{
    fft_point ac = {v[0].re + v[2].re, v[0].im + v[2].im};
    fft_point am = {v[0].re - v[2].re, v[0].im - v[2].im};
    fft_point bd = {v[1].re + v[3].re, v[1].im + v[3].im};
    fft_point bm = {v[1].re - v[3].re, v[1].im - v[3].im};
    v[0].re = ac.re + bd.re;
    v[0].im = ac.im + bd.im;
    v[1].re = am.re + bm.im;
    v[1].im = am.im - bm.re;
    v[2].re = ac.re - bd.re;
    v[2].im = ac.im - bd.im;
    v[3].re = am.re - bm.im;
    v[3].im = am.im + bm.re;
}

HR_SHARED void fft_butterfly_5(fft_point *v)
{
    const float c1 = 0x1.3c6ef4p-2f, c2 = -0x1.9e377ap-1f; /* cos(2 pi / 5), cos(4 pi / 5) */
    const float s1 = 0x1.e6f0e2p-1f, s2 = 0x1.2cf23p-1f;   /* sin of the same */
    fft_point a = v[0];
    fft_point be = {v[1].re + v[4].re, v[1].im + v[4].im};
    fft_point bm = {v[1].re - v[4].re, v[1].im - v[4].im};
    fft_point cd = {v[2].re + v[3].re, v[2].im + v[3].im};
    fft_point cm = {v[2].re - v[3].re, v[2].im - v[3].im};
    fft_point p = {a.re + c1 * be.re + c2 * cd.re, a.im + c1 * be.im + c2 * cd.im};
    fft_point q = {a.re + c2 * be.re + c1 * cd.re, a.im + c2 * be.im + c1 * cd.im};
    fft_point s = {s1 * bm.re + s2 * cm.re, s1 * bm.im + s2 * cm.im};
    fft_point t = {s2 * bm.re - s1 * cm.re, s2 * bm.im - s1 * cm.im};
    v[0].re = a.re + be.re + cd.re;
    v[0].im = a.im + be.im + cd.im;
    v[1].re = p.re + s.im;
    v[1].im = p.im - s.re;
    v[2].re = q.re + t.im;
    v[2].im = q.im - t.re;
    v[3].re = q.re - t.im;
    v[3].im = q.im + t.re;
    v[4].re = p.re - s.im;
    v[4].im = p.im + s.re;
}

/* Bin k of a real signal of n samples. a, b: bins k and n / 2 - k of the transform of n / 2 points,
 * whose real parts are the samples with even numbers; (wr, wi): exp(-2 pi i k / n). */
HR_SHARED fft_point fft_real_bin(fft_point a, fft_point b, float wr, float wi)
{
    fft_point even = {0.5f * (a.re + b.re), 0.5f * (a.im - b.im)};
    fft_point odd = {0.5f * (a.im + b.im), 0.5f * (b.re - a.re)};
    fft_point turned = fft_turned(odd, wr, wi);
    fft_point bin = {even.re + turned.re, even.im + turned.im};
    return bin;
}

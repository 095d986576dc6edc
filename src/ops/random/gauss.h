/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Makes one normally distributed number of each uniform one, so that the numbering of draws is
 * simple: rational approximations of the inverse distribution, for the centre and for the tails. */
#pragma once

#include "core/mathx_inline.h"

typedef struct gauss_ratio {
    double top, bottom;
} gauss_ratio;

HR_SHARED gauss_ratio gauss_ratio_of(const double *p, const double *q, double r)
{
    gauss_ratio v = {p[7], q[7]};

    for (int i = 6; i >= 0; i--) {
        v.top = v.top * r + p[i];
        v.bottom = v.bottom * r + q[i];
    }
    return v;
}

HR_SHARED double gauss_tail(double u, double side)
{
    static const double near_p[] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                    5.76949722146069140550e0,  3.64784832476320460504e0,
                                    1.27045825245236838258e0,  2.41780725177450611770e-1,
                                    2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static const double near_q[] = {1.0,
                                    2.05319162663775882187e0,
                                    1.67638483018380384940e0,
                                    6.89767334985100004550e-1,
                                    1.48103976427480074590e-1,
                                    1.51986665636164571966e-2,
                                    5.47593808499534494600e-4,
                                    1.05075007164441684324e-9};
    static const double far_p[] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                   1.78482653991729133580e0,  2.96560571828504891230e-1,
                                   2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                   2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static const double far_q[] = {1.0,
                                   5.99832206555887937690e-1,
                                   1.36929880922735805310e-1,
                                   1.48753612908506148525e-2,
                                   7.86869131145613259100e-4,
                                   1.84631831751005468180e-5,
                                   1.42151175831644588870e-7,
                                   2.04426310338993978564e-15};
    double r = sqrt(-mathx_log(side < 0.0 ? u : 1.0 - u));
    gauss_ratio z =
        r <= 5.0 ? gauss_ratio_of(near_p, near_q, r - 1.6) : gauss_ratio_of(far_p, far_q, r - 5.0);

    return side < 0.0 ? -(z.top / z.bottom) : z.top / z.bottom;
}

/* |side| <= 0.425; what it is to be multiplied by. */
HR_SHARED gauss_ratio gauss_centre(double side)
{
    static const double p[] = {3.3871328727963666080e0, 1.3314166789178437745e2,
                               1.9715909503065514427e3, 1.3731693765509461125e4,
                               4.5921953931549871457e4, 6.7265770927008700853e4,
                               3.3430575583588128105e4, 2.5090809287301226727e3};
    static const double q[] = {1.0,
                               4.2313330701600911252e1,
                               6.8718700749205790830e2,
                               5.3941960214247511077e3,
                               2.1213794301586595867e4,
                               3.9307895800092710610e4,
                               2.8729085735721942674e4,
                               5.2264952788528545610e3};

    return gauss_ratio_of(p, q, 0.180625 - side * side);
}

HR_SHARED bool gauss_is_central(double side)
{
    return fabs(side) <= 0.425;
}

/* The inverse of the normal distribution function, 0 < u < 1: algorithm AS 241 (Wichura 1988),
 * relative error 1e-15. */
HR_SHARED double gauss_of(double u)
{
    double side = u - 0.5;

    if (!gauss_is_central(side))
        return gauss_tail(u, side);
    gauss_ratio z = gauss_centre(side);
    return side * (z.top / z.bottom);
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Elementary functions that give the same bits everywhere: those of headrace/host.inc, and what
 * only the library needs. */
#pragma once

#include "headrace/operator.h"

double hr_sinc(double x); /* sin(pi x) / (pi x) */

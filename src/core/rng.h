/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Counter-based random numbers: Philox 4x32-10 (Salmon et al., SC 2011). Draw k of a node for a
 * sample is a pure function of (seed, node, sample, k); there is no state to save. */
#pragma once

#include "headrace/operator.h"

/* The generator for a node and a sample. `node_seed` comes from hr_rng_node_seed. */
hr_rng hr_rng_make(uint64_t node_seed, int64_t index, uint32_t epoch, uint32_t repeat);
/* The seed of a node: from the pipeline's seed and the definition order, or only from the explicit
 * seed if that is >= 0. */
uint64_t hr_rng_node_seed(int64_t pipeline_seed, int32_t node, int64_t explicit_seed);

void hr_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);
int64_t hr_rng_scale(uint64_t bits, int64_t n); /* maps 64 random bits to [0, n) */

/* A keyed permutation of 0 .. n-1 (a Feistel network with cycle walking): O(1) per position. */
int64_t hr_permute(uint64_t key, int64_t n, int64_t i);
uint64_t hr_mix(uint64_t a, uint64_t b); /* hashes two words into one */

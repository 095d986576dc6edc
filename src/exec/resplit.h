/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Readers that go on with another number of shards. */
#pragma once

#include "exec/source.h"

/* Appends the earlier splits of a source as a JSON list, or an empty one unless they are `wanted`.
 */
void hr__past_append(const hr_source *s, bool wanted, hr_text *t);
/* Continues at a position of a checkpoint. `past`: what hr__past_append wrote; `last`: the split of
 * the checkpoint and the position. If the pipeline's split is another one, the rest of the epoch is
 * split again. */
hr_status hr__reader_restore(hr_source *s, const hr_json *past, const hr_stint *last,
                             hr_error *error);

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Storage that is reached over the network. */
#ifndef HR_IO_REMOTE_H
#define HR_IO_REMOTE_H

#include "io/storage.h"

extern const hr_storage hr_storage_http, hr_storage_https, hr_storage_s3, hr_storage_gs;

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Credentials that the program gives (hr_credentials_provide), for one of the services. */
#pragma once

#include "headrace/credentials.h"
#include "remote/credentials.h"

/* Grows whenever the program gives something else for the service; 0: it has never given any. */
uint64_t hr_given_version(hr_service service);
/* Whether the program gives the credentials of the service now. */
bool hr_is_given(hr_service service);
/* Asks the program if it gives them (`*asked`). `*version`: what was current when it was asked.
 * Called without locks, because it may wait for another thread of the program. */
hr_status hr_given_ask(hr_service service, hr_credentials *out, bool *asked, uint64_t *version,
                       hr_error *error);
/* After a fork, in the child: another thread may have held the lock. */
void hr_given_in_child(void);

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Waiting for what another thread does: tests wait for a condition, however long it takes. The
 * limit only makes a failure of what would hang. */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <time.h>

#define HANG_MS 300000

/* A pause between two looks at a condition. false: there have been so many that it hangs. */
static inline bool waiting_pause(int *pauses)
{
    /* no luck: the condition is looked at again */
    nanosleep(&(struct timespec){0, 1000000}, NULL);
    return ++*pauses < HANG_MS;
}

/* Number of this process's threads. The system may still count some that were joined. */
static inline int waiting_threads(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/task");
    for (struct dirent *e; dir && (e = readdir(dir));)
        count += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return count;
}

/* Ends the test, as CHECK does, if the condition never becomes true. */
#define WAIT_FOR(condition)                                                                        \
    do {                                                                                           \
        int wait_pauses = 0;                                                                       \
        bool wait_goes_on = true;                                                                  \
        while (wait_goes_on && !(condition))                                                       \
            wait_goes_on = waiting_pause(&wait_pauses);                                            \
        CHECK(wait_goes_on && "waited for " #condition);                                           \
    } while (0)

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "remote/credentials_given.h"

#include <pthread.h>
#include <string.h>

#include "remote/credentials_parse.h"

typedef struct given {
    hr_secrets_fn ask;
    void *context;
    void (*release)(void *context);
    int32_t users; /* who ask now, and the table */
} given;

/* `lock` guards them. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static given *table[HR_SERVICES];
static uint64_t versions[HR_SERVICES];

void hr_given_in_child(void)
{
    pthread_mutex_init(&lock, NULL);
}

static given *hold(hr_service service, uint64_t *version)
{
    pthread_mutex_lock(&lock);
    given *g = table[service];
    *version = versions[service];
    if (g)
        g->users++;
    pthread_mutex_unlock(&lock);
    return g;
}

static void drop(given *g)
{
    if (!g)
        return;
    pthread_mutex_lock(&lock);
    bool last = --g->users == 0;
    pthread_mutex_unlock(&lock);
    if (!last)
        return;
    if (g->release)
        g->release(g->context);
    hr_free(g);
}

uint64_t hr_given_version(hr_service service)
{
    pthread_mutex_lock(&lock);
    uint64_t version = versions[service];
    pthread_mutex_unlock(&lock);
    return version;
}

bool hr_is_given(hr_service service)
{
    pthread_mutex_lock(&lock);
    bool any = table[service] != NULL;
    pthread_mutex_unlock(&lock);
    return any;
}

static hr_status take(hr_credentials *out, const hr_secrets *s, hr_error *error)
{
    if (hr_credentials_copy(out->access_key, sizeof(out->access_key), s->access_key) &&
        hr_credentials_copy(out->secret_key, sizeof(out->secret_key), s->secret_key) &&
        hr_credentials_copy(out->token, sizeof(out->token), s->token)) {
        out->expires = s->expires;
        return HR_STATUS_OK;
    }
    return hr_fail(error, HR_STATUS_VALUE,
                   "they contain a line break or another control character");
}

hr_status hr_given_ask(hr_service service, hr_credentials *out, bool *asked, uint64_t *version,
                       hr_error *error)
{
    given *g = hold(service, version);
    *asked = g != NULL;
    if (!g)
        return HR_STATUS_OK;
    hr_secrets *secrets = hr_calloc(1, sizeof(*secrets), error);
    hr_status status = secrets ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
    if (secrets)
        status = g->ask(g->context, secrets, error);
    if (secrets && status == HR_STATUS_OK)
        status = take(out, secrets, error);
    hr_free(secrets);
    drop(g);
    if (status != HR_STATUS_OK && error)
        hr_error_prefix(error, "the credentials that the program gives for %s://",
                        hr_service_scheme(service));
    return status;
}

const char *hr_service_scheme(hr_service service)
{
    static const char *const schemes[HR_SERVICES] = {"s3", "gs", "az"};
    return schemes[service];
}

hr_status hr_credentials_provide(const char *scheme, hr_secrets_fn ask, void *context,
                                 void (*release)(void *context), hr_error *error)
{
    int32_t service = 0;
    while (service < HR_SERVICES && strcmp(hr_service_scheme((hr_service)service), scheme) != 0)
        service++;
    if (service == HR_SERVICES)
        return hr_fail(error, HR_STATUS_VALUE,
                       "credentials can be given for s3, gs and az, not for '%.32s'", scheme);
    given *g = ask ? hr_calloc(1, sizeof(*g), error) : NULL;
    if (ask && !g)
        return HR_STATUS_NO_MEMORY;
    if (g)
        *g = (given){ask, context, release, 1};
    pthread_mutex_lock(&lock);
    given *before = table[service];
    table[service] = g;
    versions[service]++;
    pthread_mutex_unlock(&lock);
    drop(before);
    return HR_STATUS_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "remote/sigv4.h"

#include <stdio.h>
#include <string.h>

#include "core/sha256.h"

static void add(hr_sha256 *s, const char *text)
{
    hr_sha256_add(s, text, strlen(text));
}

static void add_header(hr_sha256 *s, const char *name, const char *value)
{
    add(s, name);
    add(s, ":");
    add(s, value);
    add(s, "\n");
}

/* The hash of the request in its canonical form. */
static void hash_request(const hr_sigv4 *s, const char *date, const char *names, char *hex)
{
    uint8_t hash[HR_SHA256_SIZE];
    hr_sha256 all;
    hr_sha256_init(&all);
    add(&all, "GET\n");
    add(&all, s->path);
    add(&all, "\n");
    add(&all, s->query);
    add(&all, "\n");
    add_header(&all, "host", s->host);
    if (s->range)
        add_header(&all, "range", s->range);
    add_header(&all, "x-amz-content-sha256", HR_SHA256_NOTHING);
    add_header(&all, "x-amz-date", date);
    if (s->token)
        add_header(&all, "x-amz-security-token", s->token);
    add(&all, "\n");
    add(&all, names);
    add(&all, "\n" HR_SHA256_NOTHING);
    hr_sha256_end(&all, hash);
    hr_sha256_hex(hash, hex);
}

void hr_sigv4_sign(const hr_sigv4 *s, char date[17], char authorization[HR_SIGV4_SIZE])
{
    char names[96], scope[96], secret[256], text[256], hex[HR_SHA256_TEXT];
    uint8_t key[HR_SHA256_SIZE];
    struct tm tm;
    gmtime_r(&s->now, &tm);
    strftime(date, 17, "%Y%m%dT%H%M%SZ", &tm);
    snprintf(names, sizeof(names), "host;%sx-amz-content-sha256;x-amz-date%s",
             s->range ? "range;" : "", s->token ? ";x-amz-security-token" : "");
    hash_request(s, date, names, hex);
    snprintf(scope, sizeof(scope), "%.8s/%.60s/%.8s/aws4_request", date, s->region, s->service);
    snprintf(text, sizeof(text), "AWS4-HMAC-SHA256\n%s\n%s\n%s", date, scope, hex);

    snprintf(secret, sizeof(secret), "AWS4%.200s", s->secret_key);
    hr_hmac_sha256(secret, strlen(secret), date, 8, key);
    hr_hmac_sha256(key, sizeof(key), s->region, strnlen(s->region, 60), key);
    hr_hmac_sha256(key, sizeof(key), s->service, strnlen(s->service, 8), key);
    hr_hmac_sha256(key, sizeof(key), "aws4_request", 12, key);
    hr_hmac_sha256(key, sizeof(key), text, strlen(text), key);
    hr_sha256_hex(key, hex);
    snprintf(authorization, HR_SIGV4_SIZE,
             "AWS4-HMAC-SHA256 Credential=%.160s/%s,SignedHeaders=%s,Signature=%s", s->access_key,
             scope, names, hex);
}

hr_status hr_sigv4_add(hr_net_call *call, const hr_credentials *c, hr_sigv4 *s, hr_error *error)
{
    char date[17], authorization[HR_SIGV4_SIZE];
    s->access_key = c->access_key;
    s->secret_key = c->secret_key;
    s->token = c->token[0] ? c->token : NULL;
    s->now = time(NULL);
    hr_sigv4_sign(s, date, authorization);
    HR_TRY(hr_net_call_header(call, error, "x-amz-content-sha256: " HR_SHA256_NOTHING));
    HR_TRY(hr_net_call_header(call, error, "x-amz-date: %s", date));
    if (s->token)
        HR_TRY(hr_net_call_header(call, error, "x-amz-security-token: %s", s->token));
    return hr_net_call_header(call, error, "Authorization: %s", authorization);
}

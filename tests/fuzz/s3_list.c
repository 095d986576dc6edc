/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fuzz target: what servers, programs and their files say. The first byte chooses the parser:
 * listings of S3 and Azure, profiles of AWS, logins, commands, times, or answers with credentials.
 */
#include "remote/credentials_parse.h"
#include "remote/s3.h"
#include "replay.h"

#include <stdlib.h>
#include <string.h>

static hr_status found(void *context, const char *name, bool is_folder, hr_error *error)
{
    size_t *total = context;
    (void)is_folder;
    (void)error;
    if (!*name || strchr(name, '/'))
        abort();
    *total += strlen(name);
    return HR_STATUS_OK;
}

static void key(void *context, const char *name, const char *value)
{
    *(size_t *)context += strlen(name) + strlen(value);
}

/* Whether a text can be part of a header. */
static bool is_plain(const char *text, size_t size)
{
    size_t n = strnlen(text, size);
    for (size_t i = 0; i < n; i++)
        if ((uint8_t)text[i] < ' ' || text[i] == 127)
            return false;
    return n < size;
}

static void answer(hr_answer kind, const char *text)
{
    hr_credentials *c = calloc(1, sizeof(*c));
    hr_error error;
    if (c && hr_credentials_parse(c, kind, text, &error) == HR_STATUS_OK &&
        (!is_plain(c->access_key, sizeof(c->access_key)) ||
         !is_plain(c->secret_key, sizeof(c->secret_key)) || !is_plain(c->token, sizeof(c->token)) ||
         c->expires < 0 || (!c->access_key[0] && kind != HR_ANSWER_GOOGLE)))
        abort();
    free(c);
}

static void login(const char *text)
{
    hr_google_login *l = calloc(1, sizeof(*l));
    hr_error error;
    if (l && hr_google_login_parse(l, text, &error) == HR_STATUS_OK &&
        (!is_plain(l->type, sizeof(l->type)) || !is_plain(l->id, sizeof(l->id)) ||
         !is_plain(l->secret, sizeof(l->secret)) || !is_plain(l->token, sizeof(l->token)) ||
         !is_plain(l->server, sizeof(l->server)) || !l->type[0]))
        abort();
    free(l);
}

static void words(char *text)
{
    char *found[HR_WORDS_MAX + 1];
    size_t size = strlen(text), total = 0;
    if (!hr_words_split(text, found))
        return;
    for (char **at = found; *at; at++)
        total += strlen(*at);
    if (!found[0] || total > size)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char next[1024];
    size_t total = 0;
    hr_error error;
    if (size == 0)
        return 0;
    char *text = malloc(size);
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    hr_sso_token token;
    switch (data[0]) {
    case 1:
        hr_ini_read(text, "default", key, &total);
        break;
    case 2:
        if (hr_sso_token_parse(&token, text, &error) == HR_STATUS_OK &&
            !is_plain(token.token, sizeof(token.token)))
            abort();
        break;
    case 3:
        words(text);
        break;
    case 4:
        if (hr_credentials_time(text) < 0)
            abort();
        break;
    case 5:
    case 6:
    case 7:
    case 8:
    case 9:
        answer((hr_answer)(data[0] - 5), text);
        break;
    case 10:
        login(text);
        break;
    default: /* 11: of Azure */
        (void)hr_s3_parse_list(data[0] == 11 ? HR_AZURE : HR_AMAZON, text, "a/", found, &total,
                               next, &error);
    }
    free(text);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "remote/credentials_parse.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- texts ---- */

bool hr_credentials_copy(char *to, size_t size, const char *text)
{
    size_t n = strlen(text);
    if (n >= size)
        return false;
    for (size_t i = 0; i < n; i++)
        if ((uint8_t)text[i] < ' ' || text[i] == 127)
            return false;
    memcpy(to, text, n + 1);
    return true;
}

/* The number that `count` digits at `*text` make, which are skipped; -1 if they are not there. */
static int digits(const char **text, int count)
{
    int v = 0;
    for (int i = 0; i < count; i++, (*text)++) {
        if (**text < '0' || **text > '9')
            return -1;
        v = 10 * v + (**text - '0');
    }
    return v;
}

/* Whether the text goes on with a character, which is skipped. */
static bool follows(const char **text, const char *any_of)
{
    if (!**text || !strchr(any_of, **text))
        return false;
    (*text)++;
    return true;
}

/* Minutes east of Greenwich; false: `text` is not the end of a time. */
static bool zone_of(const char *text, int *minutes)
{
    *minutes = 0;
    if (strcmp(text, "Z") == 0 || strcmp(text, "UTC") == 0)
        return true;
    int sign = *text == '-' ? -1 : 1;
    if (!follows(&text, "+-"))
        return false;
    int hour = digits(&text, 2);
    (void)follows(&text, ":");
    int minute = digits(&text, 2);
    *minutes = sign * (60 * hour + minute);
    return hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && *text == 0;
}

int64_t hr_credentials_time(const char *text)
{
    static const char separators[] = "--T::";
    int v[6], minutes;
    for (int i = 0; i < 6; i++) {
        v[i] = digits(&text, i == 0 ? 4 : 2);
        if (v[i] < 0 || (i < 5 && !follows(&text, (char[]){separators[i], 0})))
            return 0;
    }
    if (follows(&text, "."))
        text += strspn(text, "0123456789");
    if (v[0] < 1970 || v[1] < 1 || v[1] > 12 || v[2] < 1 || v[2] > 31 || v[3] > 23 || v[4] > 59 ||
        v[5] > 60 || !zone_of(text, &minutes))
        return 0;
    struct tm tm = {.tm_year = v[0] - 1900,
                    .tm_mon = v[1] - 1,
                    .tm_mday = v[2],
                    .tm_hour = v[3],
                    .tm_min = v[4],
                    .tm_sec = v[5]};
    int64_t seconds = (int64_t)timegm(&tm) - (int64_t)minutes * 60;
    return HR_MAX(seconds, 0);
}

/* ---- profiles ---- */

/* Removes blanks on both sides. */
static char *trim(char *text)
{
    text += strspn(text, " \t\r");
    size_t size = strlen(text);
    while (size > 0 && strchr(" \t\r", text[size - 1]))
        text[--size] = 0;
    return text;
}

void hr_ini_read(char *text, const char *section, hr_ini_found found, void *context)
{
    bool inside = false;
    for (char *line = text, *next; line; line = next) {
        if ((next = strchr(line, '\n')))
            *next++ = 0;
        bool indented = *line == ' ' || *line == '\t'; /* belongs to the key above */
        char *at = trim(line), *equals = strchr(at, '=');
        size_t size = strlen(at);
        if (*at == '#' || *at == ';' || size == 0)
            continue;
        if (*at == '[') {
            char *end = strchr(at, ']');
            if (end)
                *end = 0;
            inside = end && strcmp(trim(at + 1), section) == 0;
        } else if (inside && equals && !indented) {
            *equals = 0;
            found(context, trim(at), trim(equals + 1));
        }
    }
}

bool hr_words_split(char *text, char *words[HR_WORDS_MAX + 1])
{
    int32_t count = 0;
    char *to = text;
    for (;;) {
        text += strspn(text, " \t");
        if (!*text)
            break;
        if (count == HR_WORDS_MAX)
            return false;
        words[count++] = to;
        char quote = 0;
        for (; *text && (quote || !strchr(" \t", *text)); text++) {
            if (*text == quote)
                quote = 0;
            else if (!quote && strchr("'\"", *text))
                quote = *text;
            else if (*text == '\\' && quote != '\'' && text[1])
                *to++ = *++text;
            else
                *to++ = *text;
        }
        if (quote)
            return false;
        bool end = !*text;
        text += !end; /* `to` may be at the blank that ends the word */
        *to++ = 0;
        if (end)
            break;
    }
    words[count] = NULL;
    return count > 0;
}

/* ---- JSON ---- */

static const char *string_of(const hr_json *object, const char *key)
{
    const hr_json *v = hr_json_get(object, key);
    return v && v->kind == HR_JSON_KIND_STRING ? v->s : "";
}

/* A number of an object that is within 1 .. `most`, or 0. */
static int64_t number_of(const hr_json *object, const char *key, int64_t most)
{
    const hr_json *v = hr_json_get(object, key);
    return v && v->kind == HR_JSON_KIND_NUMBER && v->is_integer && v->i > 0 && v->i <= most ? v->i
                                                                                            : 0;
}

static bool take_keys(hr_credentials *out, const char *access, const char *secret,
                      const char *token)
{
    return hr_credentials_copy(out->access_key, sizeof(out->access_key), access) &&
           hr_credentials_copy(out->secret_key, sizeof(out->secret_key), secret) &&
           hr_credentials_copy(out->token, sizeof(out->token), token) && access[0] && secret[0];
}

static bool take_json(hr_credentials *out, hr_answer kind, const hr_json *json)
{
    const int64_t second = 1000, ages = INT64_C(100000000000); /* the year 5138 */
    if (kind == HR_ANSWER_GOOGLE) {
        int64_t lasts = number_of(json, "expires_in", 1000000);
        const char *token = string_of(json, "access_token");
        out->expires = lasts ? (int64_t)time(NULL) + lasts : 0;
        return hr_credentials_copy(out->token, sizeof(out->token), token) && token[0];
    }
    if (kind == HR_ANSWER_SSO) {
        json = hr_json_get(json, "roleCredentials");
        out->expires = number_of(json, "expiration", ages * second) / second;
        return take_keys(out, string_of(json, "accessKeyId"), string_of(json, "secretAccessKey"),
                         string_of(json, "sessionToken"));
    }
    bool process = kind == HR_ANSWER_PROCESS;
    out->expires = hr_credentials_time(string_of(json, "Expiration"));
    return (!process || number_of(json, "Version", 1) == 1) &&
           take_keys(out, string_of(json, "AccessKeyId"), string_of(json, "SecretAccessKey"),
                     string_of(json, process ? "SessionToken" : "Token"));
}

hr_status hr_sso_token_parse(hr_sso_token *out, const char *text, hr_error *error)
{
    hr_json *json;
    HR_TRY(hr_json_parse(&json, text, strlen(text), error));
    const char *token = string_of(json, "accessToken");
    out->expires = hr_credentials_time(string_of(json, "expiresAt"));
    bool good = hr_credentials_copy(out->token, sizeof(out->token), token) && token[0];
    hr_json_destroy(json);
    return good && out->expires > 0
               ? HR_STATUS_OK
               : hr_fail(error, HR_STATUS_CORRUPT, "the file contains no token with its expiry");
}

hr_status hr_google_login_parse(hr_google_login *out, const char *text, hr_error *error)
{
    hr_json *json;
    HR_TRY(hr_json_parse(&json, text, strlen(text), error));
    bool good =
        hr_credentials_copy(out->type, sizeof(out->type), string_of(json, "type")) && out->type[0];
    if (good && strcmp(out->type, "authorized_user") == 0)
        good =
            hr_credentials_copy(out->id, sizeof(out->id), string_of(json, "client_id")) &&
            hr_credentials_copy(out->secret, sizeof(out->secret),
                                string_of(json, "client_secret")) &&
            hr_credentials_copy(out->token, sizeof(out->token), string_of(json, "refresh_token")) &&
            hr_credentials_copy(out->server, sizeof(out->server), string_of(json, "token_uri")) &&
            out->id[0] && out->token[0];
    hr_json_destroy(json);
    return good ? HR_STATUS_OK
                : hr_fail(error, HR_STATUS_CORRUPT, "the file contains no credentials of Google's");
}

/* ---- XML ---- */

/* The text of the only element of that name in `text`; false: it is not there, or it is not plain.
 */
static bool element(const char *text, const char *name, char *room, size_t size)
{
    char tag[32];
    int n = snprintf(tag, sizeof(tag), "<%s>", name);
    const char *at = strstr(text, tag);
    if (!at)
        return false;
    at += n;
    size_t length = strcspn(at, "<&");
    snprintf(tag, sizeof(tag), "</%s>", name);
    if (length >= size || strncmp(at + length, tag, strlen(tag)) != 0)
        return false;
    memcpy(room, at, length);
    room[length] = 0;
    return true;
}

static bool take_xml(hr_credentials *out, const char *text)
{
    char access[sizeof(out->access_key)], secret[sizeof(out->secret_key)], expires[64];
    char token[sizeof(out->token)];
    text = strstr(text, "<Credentials>");
    if (!text || !element(text, "AccessKeyId", access, sizeof(access)) ||
        !element(text, "SecretAccessKey", secret, sizeof(secret)) ||
        !element(text, "SessionToken", token, sizeof(token)) ||
        !element(text, "Expiration", expires, sizeof(expires)))
        return false;
    out->expires = hr_credentials_time(expires);
    return take_keys(out, access, secret, token);
}

hr_status hr_credentials_parse(hr_credentials *out, hr_answer kind, const char *text,
                               hr_error *error)
{
    hr_json *json = NULL;
    if (kind != HR_ANSWER_STS)
        HR_TRY(hr_json_parse(&json, text, strlen(text), error));
    bool good = json ? take_json(out, kind, json) : take_xml(out, text);
    hr_json_destroy(json);
    return good ? HR_STATUS_OK
                : hr_fail(error, HR_STATUS_CORRUPT, "the answer contains no credentials");
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "remote/azure.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/sha256.h"
#include "remote/credentials_parse.h"
#include "remote/credentials_profile.h"
#include "remote/url.h"

#define VERSION "2020-04-08" /* of the interface */
#define KEY_MOST 128         /* bytes of a key; they have 64 */
/* Of the emulator (Azurite). Its key is no secret: all of them have it. */
#define EMULATOR "http://127.0.0.1:10000/devstoreaccount1"
#define EMULATOR_ACCOUNT "devstoreaccount1"
#define EMULATOR_KEY                                                                               \
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

/* ---- the environment ---- */

/* The value of a field of a connection string, "Name=value;Name=value". */
static bool field_of(const char *text, const char *name, char *room, size_t size)
{
    size_t length = strlen(name);
    room[0] = 0;
    for (; *text; text += *text == ';') {
        size_t n = strcspn(text, ";");
        if (n > length && strncmp(text, name, length) == 0 && text[length] == '=') {
            int k = snprintf(room, size, "%.*s", (int)(n - length - 1), text + length + 1);
            return k >= 0 && (size_t)k < size;
        }
        text += n;
    }
    return true;
}

static const char *either(const char *name, const char *other)
{
    return hr_env(name)[0] ? hr_env(name) : hr_env(other);
}

static bool is_emulator(const char *connection)
{
    char value[8];
    return field_of(connection, "UseDevelopmentStorage", value, sizeof(value)) &&
           strcmp(value, "true") == 0;
}

static hr_status fail_connection(hr_error *error)
{
    return hr_fail(error, HR_STATUS_VALUE,
                   "AZURE_STORAGE_CONNECTION_STRING has a value that is too long");
}

/* The server of an account, from the fields of a connection string, which may be "". */
static hr_status make_endpoint(const char *connection, const char *account, char *endpoint,
                               size_t size, hr_error *error)
{
    char chosen[512], protocol[8], suffix[128];
    if (!field_of(connection, "BlobEndpoint", chosen, sizeof(chosen)) ||
        !field_of(connection, "DefaultEndpointsProtocol", protocol, sizeof(protocol)) ||
        !field_of(connection, "EndpointSuffix", suffix, sizeof(suffix)))
        return fail_connection(error);
    if (!connection[0])
        snprintf(chosen, sizeof(chosen), "%.500s",
                 either("AZURE_STORAGE_SERVICE_ENDPOINT", "AZURE_STORAGE_ENDPOINT"));
    if (is_emulator(connection))
        snprintf(chosen, sizeof(chosen), "%s", EMULATOR);
    if (!chosen[0])
        snprintf(chosen, sizeof(chosen), "%s://%s.blob.%s", protocol[0] ? protocol : "https",
                 account, suffix[0] ? suffix : "core.windows.net");
    return hr_url_base(endpoint, size, chosen, error);
}

hr_status hr_azure_server(char account[HR_AZURE_ACCOUNT_SIZE], char *endpoint, size_t size,
                          hr_error *error)
{
    const char *connection = hr_env("AZURE_STORAGE_CONNECTION_STRING");
    if (!field_of(connection, "AccountName", account, HR_AZURE_ACCOUNT_SIZE))
        return fail_connection(error);
    if (is_emulator(connection))
        snprintf(account, HR_AZURE_ACCOUNT_SIZE, "%s", EMULATOR_ACCOUNT);
    if (!connection[0])
        snprintf(account, HR_AZURE_ACCOUNT_SIZE, "%.63s",
                 either("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"));
    HR_TRY(make_endpoint(connection, account, endpoint, size, error));
    for (const char *at = account; *at; at++)
        if (!isalnum((unsigned char)*at) && *at != '-')
            return hr_fail(error, HR_STATUS_VALUE,
                           "the account of AZURE_STORAGE_ACCOUNT or of the connection string may "
                           "have letters, digits and hyphens only");
    if (!account[0] && strstr(endpoint, "://.blob."))
        return hr_fail(error, HR_STATUS_VALUE,
                       "no account is named: set AZURE_STORAGE_ACCOUNT or "
                       "AZURE_STORAGE_CONNECTION_STRING");
    return HR_STATUS_OK;
}

hr_status hr_azure_credentials(hr_credentials *out, hr_error *error)
{
    const char *connection = hr_env("AZURE_STORAGE_CONNECTION_STRING");
    char key[sizeof(out->secret_key)], sas[sizeof(out->token)];
    if (!field_of(connection, "AccountKey", key, sizeof(key)) ||
        !field_of(connection, "SharedAccessSignature", sas, sizeof(sas)))
        return fail_connection(error);
    const char *secret = key, *token = sas;
    if (is_emulator(connection))
        secret = EMULATOR_KEY;
    if (!connection[0]) {
        secret = either("AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY");
        token = hr_env("AZURE_STORAGE_SAS_TOKEN");
    }
    if (hr_credentials_copy(out->secret_key, sizeof(out->secret_key), secret) &&
        hr_credentials_copy(out->token, sizeof(out->token), token))
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_LIMIT,
                   "the credentials in the environment are too long or contain a line break");
}

bool hr_azure_is_sas(const char *token)
{
    return strstr(token, "sig=") != NULL; /* bearers have no "=" but at their end */
}

/* ---- base64 ---- */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The bytes of a text; 0: it is not base64, or has too many. */
static size_t decode(const char *text, uint8_t *to, size_t room)
{
    size_t n = strlen(text), size = 0;
    uint32_t bits = 0;
    while (n > 0 && text[n - 1] == '=')
        n--;
    for (size_t i = 0; i < n; i++) {
        const char *digit = strchr(digits, text[i]);
        if (!digit || size >= room)
            return 0;
        bits = bits << 6 | (uint32_t)(digit - digits);
        if (i % 4 > 0)
            to[size++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
    }
    return n % 4 == 1 ? 0 : size;
}

static void encode(const uint8_t *from, size_t size, char *to)
{
    for (size_t i = 0; i < size; i += 3, to += 4) {
        uint32_t bits = (uint32_t)from[i] << 16;
        bits |= i + 1 < size ? (uint32_t)from[i + 1] << 8 : 0;
        bits |= i + 2 < size ? (uint32_t)from[i + 2] : 0;
        to[0] = digits[bits >> 18];
        to[1] = digits[bits >> 12 & 63];
        to[2] = i + 1 < size ? digits[bits >> 6 & 63] : '=';
        to[3] = i + 2 < size ? digits[bits & 63] : '=';
    }
    *to = 0;
}

/* ---- signatures ---- */

/* Adds "\nname:value" for each parameter, with its value no longer escaped. */
static bool add_query(const char *query, char *text, size_t size)
{
    size_t at = strlen(text);
    for (bool begins = true; *query; query++) {
        unsigned c = (unsigned char)*query;
        if (at + 3 > size)
            return false;
        if (begins)
            text[at++] = '\n';
        begins = *query == '&';
        if (begins)
            continue;
        if (*query == '%' && sscanf(query, "%%%2x", &c) == 1)
            query += 2;
        text[at++] = *query == '=' ? ':' : (char)c;
    }
    text[at] = 0;
    return true;
}

hr_status hr_azure_sign(const hr_azure_request *r, const char *key, time_t now, char date[30],
                        char authorization[HR_AZURE_SIGNATURE_SIZE], hr_error *error)
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    char text[2 * HR_URL_SIZE], signature[HR_SHA256_SIZE / 3 * 4 + 8];
    uint8_t secret[KEY_MOST], hash[HR_SHA256_SIZE];
    struct tm tm;
    size_t size = decode(key, secret, sizeof(secret));
    if (size == 0)
        return hr_fail(error, HR_STATUS_VALUE, "the key of the account is not base64");
    gmtime_r(&now, &tm);
    snprintf(date, 30, "%s, %02u %s %04u %02u:%02u:%02u GMT", days[tm.tm_wday % 7],
             (unsigned)tm.tm_mday % 100, months[tm.tm_mon % 12],
             (unsigned)(tm.tm_year + 1900) % 10000, (unsigned)tm.tm_hour % 100,
             (unsigned)tm.tm_min % 100, (unsigned)tm.tm_sec % 100);
    /* the lines between GET and the range are headers that are not sent */
    int n = snprintf(text, sizeof(text),
                     "GET\n\n\n\n\n\n\n\n\n\n\n%s\nx-ms-date:%s\nx-ms-version:" VERSION "\n/%s%s",
                     r->range ? r->range : "", date, r->account, r->path);
    if (n < 0 || (size_t)n >= sizeof(text) || !add_query(r->query, text, sizeof(text)))
        return hr_fail(error, HR_STATUS_LIMIT, "the name is too long");
    hr_hmac_sha256(secret, size, text, strlen(text), hash);
    encode(hash, sizeof(hash), signature);
    snprintf(authorization, HR_AZURE_SIGNATURE_SIZE, "SharedKey %s:%s", r->account, signature);
    return HR_STATUS_OK;
}

hr_status hr_azure_add(hr_net_call *call, const hr_azure_request *r, const hr_credentials *c,
                       hr_error *error)
{
    char date[30], authorization[HR_AZURE_SIGNATURE_SIZE];
    if (r->range)
        HR_TRY(hr_net_call_header(call, error, "Range: %s", r->range));
    HR_TRY(hr_net_call_header(call, error, "x-ms-version: " VERSION));
    if (c->secret_key[0] && !c->token[0]) {
        HR_TRY(hr_azure_sign(r, c->secret_key, time(NULL), date, authorization, error));
        HR_TRY(hr_net_call_header(call, error, "x-ms-date: %s", date));
        return hr_net_call_header(call, error, "Authorization: %s", authorization);
    }
    if (c->token[0] && !hr_azure_is_sas(c->token))
        return hr_net_call_header(call, error, "Authorization: Bearer %s", c->token);
    return HR_STATUS_OK;
}

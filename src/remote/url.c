/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "remote/url.h"

#include <stdio.h>
#include <string.h>

bool hr_url_escape(const char *text, bool keep_slash, char *to, size_t size)
{
    size_t at = 0;
    for (; *text; text++) {
        uint8_t c = (uint8_t)*text;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     strchr("-_.~", c) || (c == '/' && keep_slash);
        if (at + 4 > size)
            return false;
        at += (size_t)(plain ? sprintf(to + at, "%c", c) : sprintf(to + at, "%%%02X", c));
    }
    if (at >= size)
        return false;
    to[at] = 0;
    return true;
}

bool hr_region_good(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return n > 0 && n < HR_REGION_SIZE && text[n] == 0;
}

/* Ports that a URL need not name are not part of the header. */
static void drop_default_port(const char *url, char *host)
{
    char *colon = strrchr(host, ':');
    const char *port = strncmp(url, "https:", 6) == 0 ? ":443" : ":80";
    if (colon && strcmp(colon, port) == 0)
        *colon = 0;
}

hr_status hr_url_host(const char *url, char host[512], const char **path, hr_error *error)
{
    bool good = strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
    const char *name = good ? strstr(url, "://") + 3 : url;
    size_t size = strcspn(name, "/?");
    if (!good || size == 0 || size >= 512)
        return hr_fail(error, HR_STATUS_VALUE,
                       "the endpoint '%.600s' must be http://HOST or https://HOST", url);
    memcpy(host, name, size);
    host[size] = 0;
    drop_default_port(url, host);
    *path = name + size;
    return HR_STATUS_OK;
}

hr_status hr_url_base(char *base, size_t size, const char *endpoint, hr_error *error)
{
    size_t used = strlen(endpoint);
    while (used > 0 && endpoint[used - 1] == '/')
        used--;
    int n = snprintf(base, size, "%s%.*s", used > 0 && !strstr(endpoint, "://") ? "http://" : "",
                     (int)HR_MIN(used, 4096), endpoint);
    if (n < 0 || (size_t)n >= size)
        return hr_fail(error, HR_STATUS_LIMIT, "the name of the endpoint is too long");
    return HR_STATUS_OK;
}

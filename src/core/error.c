/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Statuses and messages. Messages quote paths and files, so bytes that are not UTF-8 are written as
 * \xNN, and so are control characters, which would break a line. Secrets in URLs are masked. */
#include "core/error.h"
#include "core/shown.h"
#include "core/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *hr_version(void)
{
    return HR_VERSION;
}

const char *hr_status_name(hr_status status)
{
    static const char *const names[HR_STATUS_COUNT] = {
        [HR_STATUS_OK] = "OK",
        [HR_STATUS_ERROR] = "ERROR",
        [HR_STATUS_VALUE] = "VALUE",
        [HR_STATUS_TYPE] = "TYPE",
        [HR_STATUS_KEY] = "KEY",
        [HR_STATUS_INDEX] = "INDEX",
        [HR_STATUS_NOT_IMPLEMENTED] = "NOT_IMPLEMENTED",
        [HR_STATUS_IO] = "IO",
        [HR_STATUS_CORRUPT] = "CORRUPT",
        [HR_STATUS_LIMIT] = "LIMIT",
        [HR_STATUS_NO_MEMORY] = "NO_MEMORY",
        [HR_STATUS_END] = "END",
        [HR_STATUS_TIMEOUT] = "TIMEOUT",
        [HR_STATUS_STATE] = "STATE",
        [HR_STATUS_NOT_FUSABLE] = "NOT_FUSABLE",
    };
    return (unsigned)status < HR_STATUS_COUNT ? names[status] : "?";
}

static bool is_control(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7f;
}

/* Appends `text` to the message as UTF-8; text that does not fit is cut between characters. */
static void message_append(char *message, const char *text, bool keep_lines)
{
    size_t used = strlen(message);
    while (*text) {
        size_t n = hr_utf8_length(text, strlen(text));
        char escape[8];
        const char *from = text;
        size_t size = n;
        if (n == 0 || (is_control(*text) && !keep_lines)) {
            const char *letter = strchr("\nn\tt\rr", *text);
            size = letter
                       ? (size_t)snprintf(escape, sizeof escape, "\\%c", letter[1])
                       : (size_t)snprintf(escape, sizeof escape, "\\x%02x", (unsigned char)*text);
            from = escape;
            n = 1;
        }
        if (used + size >= HR_ERROR_SIZE)
            break;
        memcpy(message + used, from, size);
        used += size;
        text += n;
    }
    while (used > 0 && message[used - 1] == '\n')
        used--;
    message[used] = '\0';
}

static hr_status fail(hr_error *error, hr_status status, const char *suffix, const char *fmt,
                      va_list args) HR_PRINTF(4, 0);

/* Line breaks stay where the format has them, and in a message that is passed on. */
static hr_status fail(hr_error *error, hr_status status, const char *suffix, const char *fmt,
                      va_list args)
{
    if (!error)
        return status;
    bool passed_on = !suffix && strcmp(fmt, "%s") == 0;
    char text[HR_ERROR_SIZE]; /* the arguments may point into error->message */
    char shown[HR_ERROR_SIZE];
    int n = vsnprintf(text, sizeof text, fmt, args);
    if (n < 0)
        text[0] = '\0';
    hr_shown_text(text, n >= (int)sizeof text, shown, sizeof shown);
    error->status = status;
    error->message[0] = '\0';
    message_append(error->message, shown, passed_on || strchr(fmt, '\n'));
    if (suffix) {
        message_append(error->message, ": ", false);
        message_append(error->message, suffix, true);
    }
    return status;
}

hr_status hr_fail(hr_error *error, hr_status status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fail(error, status, NULL, fmt, args);
    va_end(args);
    return status;
}

hr_status hr_fail_errno(hr_error *error, int code, const char *fmt, ...)
{
    char text[128];
    const char *reason = strerror_r(code, text, sizeof text); /* the GNU version returns the text */
    va_list args;
    va_start(args, fmt);
    fail(error, HR_STATUS_IO, reason, fmt, args);
    va_end(args);
    return HR_STATUS_IO;
}

hr_status hr_fail_memory(hr_error *error, size_t size)
{
    return hr_fail(error, HR_STATUS_NO_MEMORY, "out of memory (%zu bytes requested)", size);
}

hr_status hr_error_prefix(hr_error *error, const char *fmt, ...)
{
    if (!error)
        return HR_STATUS_ERROR;
    hr_error before = *error;
    va_list args;
    va_start(args, fmt);
    hr_status status = before.status ? before.status : HR_STATUS_ERROR; /* never OK */
    fail(error, status, before.message, fmt, args);
    va_end(args);
    return status;
}

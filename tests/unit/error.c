/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Statuses and messages. */
#include "core/error.h"
#include "core/utf8.h"
#include "test.h"

#include <errno.h>

TEST(version_and_names)
{
    CHECK(strcmp(hr_version(), HR_VERSION) == 0);
    CHECK(strcmp(hr_status_name(HR_STATUS_OK), "OK") == 0);
    CHECK(strcmp(hr_status_name(HR_STATUS_NO_MEMORY), "NO_MEMORY") == 0);
    for (int a = 0; a < HR_STATUS_COUNT; a++) {
        CHECK(hr_status_name((hr_status)a) != NULL);
        for (int b = 0; b < a; b++)
            CHECK(strcmp(hr_status_name((hr_status)a), hr_status_name((hr_status)b)) != 0);
    }
    CHECK(strcmp(hr_status_name((hr_status)1000), "?") == 0);
    CHECK(strcmp(hr_status_name((hr_status)-1), "?") == 0);
}

TEST(fail_formats_and_returns)
{
    hr_error error;
    CHECK(hr_fail(&error, HR_STATUS_KEY, "no %s %d", "node", 7) == HR_STATUS_KEY);
    CHECK(error.status == HR_STATUS_KEY && strcmp(error.message, "no node 7") == 0);
    CHECK(hr_fail(NULL, HR_STATUS_TYPE, "unseen %d", 1) == HR_STATUS_TYPE);
    CHECK(hr_fail(&error, HR_STATUS_IO, "line\n\n") == HR_STATUS_IO);
    CHECK(strcmp(error.message, "line") == 0);
}

TEST(arguments_may_be_the_message)
{
    hr_error error;
    hr_fail(&error, HR_STATUS_IO, "inner");
    hr_fail(&error, HR_STATUS_ERROR, "outer: %s", error.message);
    CHECK(strcmp(error.message, "outer: inner") == 0);
}

TEST(errno_is_named)
{
    hr_error error;
    CHECK(hr_fail_errno(&error, ENOENT, "open %s", "x.jpg") == HR_STATUS_IO);
    CHECK(strcmp(error.message, "open x.jpg: No such file or directory") == 0);
    CHECK(hr_fail_memory(&error, 4096) == HR_STATUS_NO_MEMORY);
    CHECK(strstr(error.message, "4096") != NULL);
}

TEST(prefix)
{
    hr_error error;
    hr_fail(&error, HR_STATUS_CORRUPT, "bad table");
    CHECK(hr_error_prefix(&error, "%s (%s:%d)", "decoders.image", "t.py", 3) == HR_STATUS_CORRUPT);
    CHECK(error.status == HR_STATUS_CORRUPT);
    CHECK(strcmp(error.message, "decoders.image (t.py:3): bad table") == 0);
    CHECK(hr_error_prefix(NULL, "x") == HR_STATUS_ERROR);
}

TEST(bytes_that_are_no_utf8_are_escaped)
{
    hr_error error;
    hr_fail(&error, HR_STATUS_IO, "caf\xe9.jpg \xc3\xa9 \xf0\x9f\x98\x80 \xed\xa0\x80");
    CHECK(strcmp(error.message, "caf\\xe9.jpg \xc3\xa9 \xf0\x9f\x98\x80 \\xed\\xa0\\x80") == 0);
}

TEST(names_do_not_break_lines)
{
    hr_error error, copy;
    hr_fail(&error, HR_STATUS_IO, "'%s' is not a folder", "two\nlines\t\x1b[31m");
    CHECK(strcmp(error.message, "'two\\nlines\\t\\x1b[31m' is not a folder") == 0);
    hr_error_prefix(&error, "%s", "a\nb");
    CHECK(strncmp(error.message, "a\\nb: 'two\\nlines", 15) == 0);
    hr_fail_errno(&error, ENOENT, "%s", "a\nb");
    CHECK(strcmp(error.message, "a\\nb: No such file or directory") == 0);
    /* line breaks of the format, also when the message is passed on or gets a prefix */
    hr_fail(&error, HR_STATUS_ERROR, "table:\n%s", "x\ny");
    CHECK(strcmp(error.message, "table:\nx\ny") == 0);
    hr_fail(&copy, HR_STATUS_ERROR, "%s", error.message);
    hr_error_prefix(&copy, "a\nb");
    CHECK(strcmp(copy.message, "a\nb: table:\nx\ny") == 0);
}

TEST(long_messages_are_cut_between_characters)
{
    hr_error error;
    char text[3 * HR_ERROR_SIZE];
    for (int shift = 0; shift < 4; shift++) {
        memset(text, 'a', sizeof text);
        for (size_t i = (size_t)shift; i + 4 < sizeof text; i += 4)
            memcpy(text + i, "\xf0\x9f\x98\x80", 4);
        text[sizeof text - 1] = '\0';
        hr_fail(&error, HR_STATUS_ERROR, "%s", text);
        size_t size = strlen(error.message);
        CHECK(size < HR_ERROR_SIZE && size > HR_ERROR_SIZE - 24);
        for (int i = 0; i < 20; i++)
            hr_error_prefix(&error, "a long prefix that makes it longer");
        CHECK(strlen(error.message) < HR_ERROR_SIZE);
    }
}

/* The decoder below is written from RFC 3629 in another way: it decodes, then checks the code
 * point. */
static size_t reference_length(const unsigned char *s, size_t size)
{
    static const unsigned least[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
    if (n == 0 || n > size)
        return 0;
    unsigned code = n == 1 ? s[0] : s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        code = code << 6 | (s[i] & 0x3f);
    }
    return code < least[n] || code > 0x10ffff || code >> 11 == 0x1b ? 0 : n;
}

TEST(utf8_against_a_reference)
{
    static const unsigned char tails[] = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90,
                                          0x9f, 0xa0, 0xbf, 0xc0, 0xff};
    const size_t n = sizeof tails;
    for (unsigned first = 0; first < 256; first++) {
        for (size_t t = 0; t < n * n * n; t++) {
            unsigned char s[4] = {(unsigned char)first, tails[t % n], tails[t / n % n],
                                  tails[t / n / n]};
            for (size_t size = 1; size <= 4; size++)
                CHECK(hr_utf8_length((char *)s, size) == reference_length(s, size));
        }
    }
    CHECK(hr_utf8_length("a", 0) == 0);
}

TEST_MAIN

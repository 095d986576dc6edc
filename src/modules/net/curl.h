/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The part of libcurl's interface that is used. libcurl is opened at run time and its numbers never
 * change, so that building needs no package for it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef enum curl_option {
    CURL_OPTION_FOLLOW = 52,
    CURL_OPTION_MAX_REDIRECTS = 68,
    CURL_OPTION_HTTP_VERSION = 84,
    CURL_OPTION_BUFFER_SIZE = 98,
    CURL_OPTION_NO_SIGNAL = 99,
    CURL_OPTION_CONNECT_TIMEOUT_MS = 156,
    CURL_OPTION_PROTOCOLS = 181,
    CURL_OPTION_REDIRECT_PROTOCOLS = 182,
    CURL_OPTION_KEEP_ALIVE = 213,
    CURL_OPTION_PATH_AS_IS = 234,
    CURL_OPTION_WRITE_DATA = 10001,
    CURL_OPTION_URL = 10002,
    CURL_OPTION_CONTENT = 10015, /* CURLOPT_POSTFIELDS */
    CURL_OPTION_ERROR_BUFFER = 10010,
    CURL_OPTION_USER_AGENT = 10018,
    CURL_OPTION_HEADERS = 10023,
    CURL_OPTION_HEADER_DATA = 10029,
    CURL_OPTION_METHOD = 10036,
    CURL_OPTION_PRIVATE = 10103,
    CURL_OPTION_NO_PROXY = 10177,
    CURL_OPTION_WRITE_FUNCTION = 20011,
    CURL_OPTION_HEADER_FUNCTION = 20079
} curl_option;

typedef enum curl_multi_option {
    CURL_MULTI_OPTION_PIPELINING = 3,
    CURL_MULTI_OPTION_KEPT_CONNECTIONS = 6
} curl_multi_option;

enum {
    CURL_HTTP_1_1 = 2, /* a value of HTTP_VERSION */
    CURL_PROTOCOL_HTTP = 1,
    CURL_PROTOCOL_HTTPS = 2,
    CURL_ERROR_SIZE = 256,
    CURL_GLOBAL = 3, /* flags of curl_global_init */
    CURL_MESSAGE_DONE = 1,
    CURL_INFO_PRIVATE = 0x100015,
    CURL_INFO_CODE = 0x200002,
    CURL_INFO_LENGTH = 0x60000f /* of the body: an int64_t, -1 if it is unknown */
};

/* Results of transfers. */
typedef enum curl_code {
    CURL_CODE_OK = 0,
    CURL_CODE_RESOLVE_PROXY = 5,
    CURL_CODE_RESOLVE_HOST = 6,
    CURL_CODE_CONNECT = 7,
    CURL_CODE_WEIRD_REPLY = 8,
    CURL_CODE_HTTP2 = 16,
    CURL_CODE_PARTIAL = 18,
    CURL_CODE_WRITE = 23,
    CURL_CODE_TIMEOUT = 28,
    CURL_CODE_TLS_CONNECT = 35,
    CURL_CODE_NOTHING = 52,
    CURL_CODE_SEND = 55,
    CURL_CODE_RECEIVE = 56
} curl_code;

typedef struct curl_list curl_list;

typedef struct curl_message {
    int kind;
    void *easy;
    union {
        void *any;
        int result;
    } data;
} curl_message;

typedef struct curl {
    int (*global_init)(long flags);
    char *(*version)(void);
    void *(*easy_init)(void);
    void (*easy_cleanup)(void *easy);
    void (*easy_reset)(void *easy);
    int (*easy_setopt)(void *easy, int option, ...);
    int (*easy_getinfo)(void *easy, int info, ...);
    const char *(*easy_strerror)(int code);
    curl_list *(*slist_append)(curl_list *list, const char *line);
    void (*slist_free_all)(curl_list *list);
    void *(*multi_init)(void);
    int (*multi_cleanup)(void *multi);
    int (*multi_setopt)(void *multi, int option, ...);
    int (*multi_add_handle)(void *multi, void *easy);
    int (*multi_remove_handle)(void *multi, void *easy);
    int (*multi_perform)(void *multi, int *running);
    int (*multi_poll)(void *multi, void *extra, unsigned count, int ms, int *ready);
    int (*multi_wakeup)(void *multi);
    curl_message *(*multi_info_read)(void *multi, int *left);
} curl;

/* Opens libcurl. False: `message` says what to install. */
bool hr__curl_open(curl *out, char *message, size_t size);

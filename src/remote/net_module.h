/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The interface of libheadrace_net.so, which sends HTTP requests with libcurl: one exported
 * function, hr_net_module. Schemes, signatures, attempts and limits are the core's part. The module
 * links none of our libraries, and opens libcurl itself. One thread per process serves all
 * requests; the functions may be called from any thread. */
#pragma once

#include "headrace/headrace.h"

enum {
    HR_NET_ABI_VERSION = 2,
    HR_NET_HEAD_SIZE = 8192, /* of the header lines that are kept */
    HR_NET_TEXT_SIZE = 2048, /* of the text of an answer that is a failure */
    HR_NET_LEAST_SPEED = 16  /* bytes per ms; a slower answer is too slow */
};

/* What became of a request. */
typedef enum hr_net_end {
    HR_NET_END_ANSWERED = 0, /* the whole answer has arrived: `code` */
    HR_NET_END_FAILED,       /* `message` says why; another attempt fails, too */
    HR_NET_END_BROKEN,       /* the connection failed: another attempt may succeed */
    HR_NET_END_SLOW          /* the server was too slow: another attempt may succeed */
} hr_net_end;

/* A request and its answer. The caller keeps it and all it refers to until it has ended. */
typedef struct hr_net_request {
    const char *method;  /* NULL: GET, or POST if there is `content` */
    const char *content; /* the fields of a form, or NULL */
    const char *url;
    const char *const *headers; /* "Name: value" */
    int32_t header_count;
    int32_t stall_ms; /* without a byte, from the connection on; then it ends as SLOW */
    int32_t total_ms; /* for the whole answer, not counting 1 ms per HR_NET_LEAST_SPEED bytes */
    bool follow;      /* redirections, except from https to http */
    bool direct;      /* not through a proxy */
    void *body;       /* receives the body of an answer 2xx, at most `room` bytes */
    size_t room;
    /* Instead of `body`: returns memory for `size` bytes, at most `room`, when such a body begins,
     * so that short ones take little memory. NULL: there is none. Called on the module's thread. */
    void *(*place)(void *context, size_t size);
    void *context; /* of `place` */

    /* the answer */
    hr_net_end end;
    int32_t code;     /* of HTTP; 0: none came */
    bool longer;      /* the body has more than `room` bytes; the transfer was ended there */
    size_t size;      /* bytes in `body` */
    int32_t taken_ms; /* from the connection on */
    size_t head_size, text_size;
    char message[256];
    char head[HR_NET_HEAD_SIZE]; /* header lines of the last answer */
    char text[HR_NET_TEXT_SIZE]; /* the start of the body of other answers */
    void *transfer;              /* the module's */
} hr_net_request;

typedef struct hr_net_module_def {
    uint32_t abi;         /* HR_NET_ABI_VERSION */
    uint32_t struct_size; /* sizeof(hr_net_module_def) when the module was compiled */
    /* Of libcurl; NULL if it cannot be opened, and then `message` says what to do. */
    const char *(*version)(char *message, size_t size);
    /* Begins a request. At most `most` are in flight in the process, others wait for their turn.
     * False: it cannot begin, and `message` says why. */
    bool (*submit)(hr_net_request *request, int32_t most);
    /* Waits at most `ms`. True: the request has ended. */
    bool (*wait)(hr_net_request *request, int32_t ms);
    /* Ends a request that has not ended. */
    void (*abandon)(hr_net_request *request);
} hr_net_module_def;

typedef const hr_net_module_def *(*hr_net_module_fn)(void);
HR_API const hr_net_module_def *hr_net_module(void);

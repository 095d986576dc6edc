/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* HTTP requests that are repeated if another attempt may succeed. */
#pragma once

#include "core/core.h"
#include "remote/net_module.h"

/* The settings of this process, from its environment. */
typedef struct hr_net_settings {
    int32_t timeout_ms; /* for a request with its attempts, without the time that its bytes need */
    int32_t attempts;
    int32_t requests; /* in flight at once */
} hr_net_settings;

void hr_net_settings_get(hr_net_settings *out);

typedef struct hr_net_call hr_net_call;

/* Adds headers to a request before each attempt ("Name: value", with hr_net_call_header). */
typedef hr_status (*hr_net_sign_fn)(void *context, hr_net_call *call, hr_cancel *cancel,
                                    hr_error *error);
/* Looks at a complete answer. `*again`: another attempt may give a better one; the error that is
 * returned is that of the last attempt. Also called if no answer came: request.end. */
typedef hr_status (*hr_net_judge_fn)(void *context, hr_net_call *call, bool *again,
                                     hr_error *error);

enum { HR_NET_HEADERS = 12 };

/* A request with its attempts. Large: not on a stack. */
struct hr_net_call {
    hr_net_request request; /* method, url, follow, direct, body, room, place are the caller's */
    hr_net_sign_fn sign;    /* may be NULL */
    hr_net_judge_fn judge;  /* NULL: only answers 2xx are good */
    void *context;
    int32_t attempt, spent_ms;
    int32_t timeout_ms, attempts; /* 0: those of the settings */
    const char *header[HR_NET_HEADERS];
    char text[6144]; /* of the headers */
    size_t text_size;
};

/* Begins the first attempt, and `end` waits for it and for further ones. `begin` must be followed
 * by `end`, unless it fails. */
hr_status hr_net_call_begin(hr_net_call *call, hr_cancel *cancel, hr_error *error);
hr_status hr_net_call_end(hr_net_call *call, hr_cancel *cancel, hr_error *error);
hr_status hr_net_call_run(hr_net_call *call, hr_cancel *cancel, hr_error *error);
/* Ends a call whose answer nobody needs any more: the request is cancelled if it is under way. */
void hr_net_call_drop(hr_net_call *call);

/* For the functions above. */
hr_status hr_net_call_header(hr_net_call *call, hr_error *error, const char *fmt, ...)
    HR_PRINTF(3, 4);
/* The value of a header of the answer in `room`, or NULL if it is not there or does not fit. */
const char *hr_net_header(const hr_net_request *request, const char *name, char *room, size_t size);
/* Describes the end of an attempt that was not a good answer: "HTTP 404: NoSuchKey, ...". */
hr_status hr_net_fail(const hr_net_call *call, hr_error *error);
bool hr_net_again(const hr_net_call *call); /* whether that end may be better next time */

/* The version of libcurl; NULL and the error if requests cannot be sent. */
const char *hr_net_version(hr_error *error);

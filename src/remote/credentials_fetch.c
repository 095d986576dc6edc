/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Questions, and the metadata of containers and instances. */
#include "remote/credentials_fetch.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "remote/credentials_parse.h"
#include "remote/net.h"
#include "remote/sigv4.h"
#include "remote/url.h"

#define ANSWER_SIZE ((size_t)64 << 10)
#define TOKEN_FILE_MOST ((size_t)64 << 10)
#define METADATA_MS 2000 /* for a question with its attempts */

/* ---- questions ---- */

typedef struct asking {
    hr_net_call call;
    const hr_question *question;
    char url[HR_URL_SIZE];
} asking;

/* Signs a GET. */
static hr_status add_signature(asking *a, hr_error *error)
{
    const hr_question *q = a->question;
    char host[512];
    hr_sigv4 s = {.host = host, .query = q->query, .region = q->region, .service = "sts"};
    HR_TRY(hr_url_host(q->url, host, &s.path, error));
    HR_TRY(hr_sigv4_add(&a->call, q->signer, &s, error));
    int n = snprintf(a->url, sizeof(a->url), "%s?%s", q->url, q->query);
    a->call.request.url = a->url;
    return n > 0 && (size_t)n < sizeof(a->url)
               ? HR_STATUS_OK
               : hr_fail(error, HR_STATUS_LIMIT, "the request is too long");
}

static hr_status add_headers(void *context, hr_net_call *call, hr_cancel *cancel, hr_error *error)
{
    asking *a = context;
    const hr_question *q = a->question;
    (void)cancel;
    if (q->header)
        HR_TRY(hr_net_call_header(call, error, "%s", q->header));
    if (q->content) /* old versions of libcurl would wait for permission to send it */
        HR_TRY(hr_net_call_header(call, error, "Expect:"));
    return q->signer ? add_signature(a, error) : HR_STATUS_OK;
}

hr_status hr_question_ask(const hr_question *question, char **answer, hr_cancel *cancel,
                          hr_error *error)
{
    asking *a = hr_calloc(1, sizeof(*a), error);
    char *text = hr_calloc(ANSWER_SIZE, 1, error);
    hr_status status = a && text ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
    if (status == HR_STATUS_OK) {
        a->question = question;
        a->call = (hr_net_call){.request = {.method = question->method,
                                            .url = question->url,
                                            .content = question->content,
                                            .direct = question->metadata,
                                            .body = text,
                                            .room = ANSWER_SIZE - 1},
                                .sign = add_headers,
                                .context = a,
                                .timeout_ms = question->metadata ? METADATA_MS : 0,
                                .attempts = question->metadata ? 3 : 0};
        status = hr_net_call_run(&a->call, cancel, error);
        if (status == HR_STATUS_OK && a->call.request.longer)
            status = hr_fail(error, HR_STATUS_LIMIT, "the answer is longer than %zu bytes",
                             ANSWER_SIZE - 1);
        text[status == HR_STATUS_OK ? a->call.request.size : 0] = 0;
    }
    hr_free(a);
    if (status == HR_STATUS_OK)
        *answer = text;
    else
        hr_free(text);
    return status;
}

/* Asks, and takes the credentials from the answer. */
static hr_status fetch(hr_credentials *out, const hr_question *q, hr_answer kind, hr_cancel *cancel,
                       hr_error *error)
{
    char *answer;
    HR_TRY(hr_question_ask(q, &answer, cancel, error));
    hr_status status = hr_credentials_parse(out, kind, answer, error);
    hr_free(answer);
    return status;
}

/* ---- containers ---- */

/* Whether credentials may be sent to and taken from that address. */
static bool is_trusted(const char *url)
{
    static const char *const hosts[] = {"http://127.0.0.1",     "http://localhost",
                                        "http://169.254.170.2", "http://169.254.170.23",
                                        "http://[::1]",         "http://[fd00:ec2::23]"};
    if (strncmp(url, "https://", 8) == 0)
        return true;
    for (size_t i = 0; i < HR_COUNT_OF(hosts); i++) {
        size_t n = strlen(hosts[i]);
        if (strncmp(url, hosts[i], n) == 0 && (url[n] == ':' || url[n] == '/'))
            return true;
    }
    return false;
}

bool hr_in_container(void)
{
    return hr_env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")[0] ||
           hr_env("AWS_CONTAINER_CREDENTIALS_FULL_URI")[0];
}

hr_status hr_fetch_container(hr_credentials *out, hr_cancel *cancel, hr_error *error)
{
    char url[1024], header[5120];
    const char *relative = hr_env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *file = hr_env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    const char *token = hr_env("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    snprintf(url, sizeof(url), "%s%s", relative[0] ? "http://169.254.170.2" : "",
             relative[0] ? relative : hr_env("AWS_CONTAINER_CREDENTIALS_FULL_URI"));
    if (!is_trusted(url))
        return hr_fail(error, HR_STATUS_VALUE,
                       "AWS_CONTAINER_CREDENTIALS_FULL_URI must be https, or an address of this "
                       "machine or of the container's host");
    char *text = NULL;
    if (file[0]) {
        hr_status status = hr_small_file(file, TOKEN_FILE_MOST, &text, error);
        if (status != HR_STATUS_OK)
            return error ? hr_error_prefix(error, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
                         : status;
        text[strcspn(text, "\r\n")] = 0;
        token = text;
    }
    snprintf(header, sizeof(header), "Authorization: %s", token);
    const hr_question q = {.url = url, .header = token[0] ? header : NULL, .metadata = true};
    hr_free(text);
    return fetch(out, &q, HR_ANSWER_METADATA, cancel, error);
}

/* ---- instances ---- */

/* Version 2 of the instance metadata service: a token, the name of the role, its credentials. */
hr_status hr_fetch_instance(hr_credentials *out, hr_cancel *cancel, hr_error *error)
{
    static const char folder[] = "/latest/meta-data/iam/security-credentials/";
    char base[256], url[1024], header[512], *answer;
    const char *chosen = hr_env("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    snprintf(base, sizeof(base), "%s", chosen[0] ? chosen : "http://169.254.169.254");
    size_t n = strlen(base);
    if (n > 0 && base[n - 1] == '/')
        base[n - 1] = 0;
    snprintf(url, sizeof(url), "%s/latest/api/token", base);
    HR_TRY(hr_question_ask(&(hr_question){.method = "PUT",
                                          .url = url,
                                          .header = "X-aws-ec2-metadata-token-ttl-seconds: 21600",
                                          .metadata = true},
                           &answer, cancel, error));
    snprintf(header, sizeof(header), "X-aws-ec2-metadata-token: %.400s", answer);
    hr_free(answer);
    snprintf(url, sizeof(url), "%s%s", base, folder);
    const hr_question q = {.url = url, .header = header, .metadata = true};
    HR_TRY(hr_question_ask(&q, &answer, cancel, error));
    answer[strcspn(answer, "\r\n")] = 0;
    snprintf(url, sizeof(url), "%s%s%.200s", base, folder, answer);
    hr_free(answer);
    return fetch(out, &q, HR_ANSWER_METADATA, cancel, error);
}

hr_status hr_fetch_google(hr_credentials *out, hr_cancel *cancel, hr_error *error)
{
    char url[512];
    const char *host = hr_env("GCE_METADATA_HOST");
    snprintf(url, sizeof(url),
             "http://%.200s/computeMetadata/v1/instance/service-accounts/default/token",
             host[0] ? host : "metadata.google.internal");
    const hr_question q = {.url = url, .header = "Metadata-Flavor: Google", .metadata = true};
    return fetch(out, &q, HR_ANSWER_GOOGLE, cancel, error);
}

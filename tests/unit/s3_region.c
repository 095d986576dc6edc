/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A server that names the region of a bucket is asked again if the request was for another one,
 * whatever other threads have learnt meanwhile. */
#include "remote/s3.h"
#include "test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, ROUNDS = 2000 };

/* Whether to ask again after an attempt that was signed for a region; NULL: not signed. */
static bool again(const char *bucket, const char *asked, int32_t attempt, const char *answered)
{
    static const char start[] = "Authorization: AWS4-HMAC-SHA256 Credential=k/20260101/";
    char uri[64], signature[256];
    hr_net_call *call = calloc(1, sizeof(*call));
    hr_error error;
    hr_s3 s3;
    bool result = false;
    snprintf(uri, sizeof(uri), "s3://%s/key", bucket);
    snprintf(signature, sizeof(signature), "%s%s/s3/aws4_request", start, asked ? asked : "");
    call->attempt = attempt;
    call->header[0] = signature;
    call->request.header_count = asked ? 1 : 0;
    call->request.end = HR_NET_END_ANSWERED;
    call->request.code = 400;
    snprintf(call->request.head, sizeof(call->request.head),
             "Server: x\r\nx-amz-bucket-region: %s\r\n", answered);
    if (hr_s3_init(&s3, uri, &error) == HR_STATUS_OK) {
        hr_s3_fail(&s3, call, &result, &error);
        hr_s3_fini(&s3);
    }
    free(call);
    return result;
}

TEST(asked_again_for_another_region)
{
    CHECK(again("a", "us-east-1", 1, "eu-west-3"));
    CHECK(again("a", "us-east-1", 2, "eu-west-3")); /* known by now, but it was not asked for */
    CHECK(!again("a", "eu-west-3", 1, "eu-west-3"));
    CHECK(!again("a", "eu-west-3", 2, "eu-west-3"));
    CHECK(!again("a", "eu-west-3", 1, "no region!"));
    CHECK(again("b", NULL, 1, "eu-west-3"));
    CHECK(again("b", NULL, 1, "eu-west-3")); /* sent before another thread learnt it */
    CHECK(!again("b", NULL, 2, "eu-west-3"));
}

static void *ask(void *wrong)
{
    for (int i = 0; i < ROUNDS; i++)
        *(int *)wrong += !again("c", "us-east-1", 1, "eu-west-3");
    return NULL;
}

TEST(threads_that_are_told_at_once)
{
    pthread_t thread[THREADS];
    int wrong[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, ask, &wrong[i]) == 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        CHECK(wrong[i] == 0);
    }
}

/* As users write them: without a scheme, with slashes at the end. */
TEST(endpoints)
{
    static const char *const cases[][2] = {{"", ""},
                                           {"/", ""},
                                           {"https://a.b/", "https://a.b"},
                                           {"http://a:90/c//", "http://a:90/c"},
                                           {"a:9000", "http://a:9000"}};
    hr_error error = {0};
    char base[64], large[256];
    for (size_t i = 0; i < HR_COUNT_OF(cases); i++) {
        CHECK_OK(hr_url_base(base, sizeof(base), cases[i][0], &error), error);
        CHECK(strcmp(base, cases[i][1]) == 0);
    }
    memset(large, 'a', sizeof(large) - 1);
    large[sizeof(large) - 1] = 0;
    CHECK(hr_url_base(base, sizeof(base), large, &error) == HR_STATUS_LIMIT);
}

TEST_MAIN

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Hashes and signatures against published examples: FIPS 180-2, RFC 4231, and Amazon's page on
 * signing requests to S3. */
#include "core/sha256.h"
#include "remote/sha1.h"
#include "remote/sigv4.h"
#include "test.h"

#include <string.h>

static const char *hex_of(const uint8_t hash[HR_SHA256_SIZE])
{
    static char hex[65];
    for (int i = 0; i < HR_SHA256_SIZE; i++)
        sprintf(hex + (size_t)(2 * i), "%02x", hash[i]);
    return hex;
}

TEST(sha256)
{
    static const char longer[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    uint8_t hash[HR_SHA256_SIZE];
    hr_sha256_of("", 0, hash);
    CHECK(strcmp(hex_of(hash), HR_SHA256_NOTHING) == 0);
    hr_sha256_of("abc", 3, hash);
    CHECK(strcmp(hex_of(hash),
                 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") == 0);
    hr_sha256_of(longer, strlen(longer), hash);
    CHECK(strcmp(hex_of(hash),
                 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1") == 0);
}

TEST(sha1)
{
    static const char longer[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    char hex[2 * HR_SHA1_SIZE + 1], a[1000];
    hr_sha1_hex("", 0, hex);
    CHECK(strcmp(hex, "da39a3ee5e6b4b0d3255bfef95601890afd80709") == 0);
    hr_sha1_hex("abc", 3, hex);
    CHECK(strcmp(hex, "a9993e364706816aba3e25717850c26c9cd0d89d") == 0);
    hr_sha1_hex(longer, strlen(longer), hex);
    CHECK(strcmp(hex, "84983e441c3bd26ebaae4aa1f95129e5e54670f1") == 0);
    memset(a, 'a', sizeof(a));
    hr_sha1_hex(a, sizeof(a), hex);
    CHECK(strcmp(hex, "291e9a6c66994949b57ba5e650361e98fc36b1ba") == 0);
}

TEST(hmac)
{
    uint8_t hash[HR_SHA256_SIZE], key[131];
    hr_hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, hash);
    CHECK(strcmp(hex_of(hash),
                 "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843") == 0);
    memset(key, 0xaa, sizeof(key)); /* longer than a block */
    hr_hmac_sha256(key, sizeof(key), "Test Using Larger Than Block-Size Key - Hash Key First", 54,
                   hash);
    CHECK(strcmp(hex_of(hash),
                 "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54") == 0);
}

TEST(signatures)
{
    char date[17], authorization[HR_SIGV4_SIZE];
    hr_sigv4 s = {.host = "examplebucket.s3.amazonaws.com",
                  .path = "/test.txt",
                  .query = "",
                  .range = "bytes=0-9",
                  .region = "us-east-1",
                  .service = "s3",
                  .access_key = "AKIAIOSFODNN7EXAMPLE",
                  .secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                  .now = 1369353600};
    hr_sigv4_sign(&s, date, authorization);
    CHECK(strcmp(date, "20130524T000000Z") == 0);
    CHECK(strcmp(authorization,
                 "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/"
                 "aws4_request,SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature="
                 "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41") == 0);
    s.path = "/";
    s.query = "max-keys=2&prefix=J";
    s.range = NULL;
    hr_sigv4_sign(&s, date, authorization);
    CHECK(
        strstr(authorization, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
}

TEST_MAIN

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Listings: answers to ListObjectsV2 and List Blobs, which are XML with a few elements that matter.
 * They are hostile: nothing is allocated for them, and names that do not belong to the folder are
 * left out.
 */
#include <stdio.h>
#include <string.h>

#include "remote/s3.h"

#define PAGE_SIZE ((size_t)8 << 20) /* of an answer: 1000 names of 1024 bytes, escaped */
#define TOKEN_SIZE 1024
#define PAGES_MAX 1000000
#define EMPTY_MAX 1000 /* pages in a row without a name */

/* ---- text ---- */

static int hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "%20" and "+", in place. */
static void unescape_url(char *text)
{
    char *to = text;
    for (; *text; text++) {
        int high = *text == '%' ? hex_of(text[1]) : -1, low = high >= 0 ? hex_of(text[2]) : -1;
        if (low >= 0) {
            *to++ = (char)(high << 4 | low);
            text += 2;
        } else {
            *to++ = (char)(*text == '+' ? ' ' : *text);
        }
    }
    *to = 0;
}

/* "&amp;" and its like, in place. Others stay as they are. */
static void unescape_xml(char *text)
{
    static const struct {
        const char *name;
        char c;
    } entities[] = {{"&amp;", '&'},   {"&lt;", '<'},   {"&gt;", '>'}, {"&quot;", '"'},
                    {"&apos;", '\''}, {"&#39;", '\''}, {"&#34;", '"'}};
    char *to = text;
    for (; *text; to++) {
        size_t n = 1;
        *to = *text;
        for (size_t i = 0; *text == '&' && i < HR_COUNT_OF(entities); i++) {
            if (strncmp(text, entities[i].name, strlen(entities[i].name)) == 0) {
                n = strlen(entities[i].name);
                *to = entities[i].c;
                break;
            }
        }
        text += n;
    }
    *to = 0;
}

/* ---- elements ---- */

/* The names of the elements that matter. */
typedef struct dialect {
    const char *root, *object, *folder; /* of the listing, an object, a folder */
    const char *name, *folder_name, *next;
    bool says_more; /* whether there are more pages, in an element of its own */
} dialect;

static const dialect s3_dialect = {
    "ListBucketResult",      "Contents", "CommonPrefixes", "Key", "Prefix",
    "NextContinuationToken", true};
static const dialect azure_dialect = {"EnumerationResults", "Blob", "BlobPrefix", "Name", "Name",
                                      "NextMarker",         false};

typedef struct parser {
    const dialect *words;
    const char *prefix;
    hr_listed_fn found;
    void *context;
    bool escaped;        /* names are escaped as in URLs */
    bool object, folder; /* inside those elements */
    bool more;
    char *next;
} parser;

static hr_status take_name(const parser *p, char *name, bool is_folder, hr_error *error)
{
    size_t prefix = strlen(p->prefix);
    unescape_xml(name);
    if (p->escaped)
        unescape_url(name);
    size_t size = strlen(name);
    if (is_folder && size > 0 && name[size - 1] == '/')
        name[--size] = 0;
    if (size <= prefix || strncmp(name, p->prefix, prefix) != 0 || strchr(name + prefix, '/'))
        return HR_STATUS_OK; /* also the folder itself, as an object */
    return p->found(p->context, name + prefix, is_folder, error);
}

/* An element with its text. */
static hr_status take(parser *p, const char *tag, char *text, hr_error *error)
{
    const dialect *w = p->words;
    if (strcmp(tag, w->name) == 0 && p->object)
        return take_name(p, text, false, error);
    if (strcmp(tag, w->folder_name) == 0 && p->folder)
        return take_name(p, text, true, error);
    if (strncmp(tag, "Name ", 5) == 0 && (p->object || p->folder))
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                       "the listing has a name that XML cannot express: '%.200s'", text);
    if (strcmp(tag, "IsTruncated") == 0 && w->says_more)
        p->more = strcmp(text, "true") == 0;
    if (strcmp(tag, w->next) == 0) {
        unescape_xml(text);
        if (strlen(text) >= TOKEN_SIZE)
            return hr_fail(error, HR_STATUS_LIMIT,
                           "the server sent a continuation token that is too long");
        strcpy(p->next, text);
    }
    return HR_STATUS_OK;
}

hr_status hr_s3_parse_list(hr_service service, char *text, const char *prefix, hr_listed_fn found,
                           void *context, char *next, hr_error *error)
{
    const dialect *w = service == HR_AZURE ? &azure_dialect : &s3_dialect;
    parser p = {.words = w, .prefix = prefix, .found = found, .context = context, .next = next};
    char root[32];
    snprintf(root, sizeof(root), "<%s", w->root);
    p.escaped = strstr(text, "<EncodingType>url</EncodingType>") != NULL;
    *next = 0;
    if (!strstr(text, root))
        return hr_fail(error, HR_STATUS_CORRUPT, "the server did not answer with a listing");
    for (char *tag = strchr(text, '<'); tag;) {
        char *end = strchr(++tag, '>');
        if (!end)
            return hr_fail(error, HR_STATUS_CORRUPT, "the listing ends within an element");
        *end = 0;
        bool closing = *tag == '/';
        const char *name = tag + closing;
        if (strcmp(name, w->object) == 0)
            p.object = !closing;
        else if (strcmp(name, w->folder) == 0)
            p.folder = !closing;
        char *content = end + 1;
        tag = strchr(content, '<');
        if (tag)
            *tag = 0;
        if (!closing && tag)
            HR_TRY(take(&p, name, content, error));
    }
    if (p.more && !*next)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "the listing is incomplete, but the server sent no continuation token");
    if (!p.more && w->says_more)
        *next = 0;
    return HR_STATUS_OK;
}

/* ---- pages ---- */

typedef struct listing {
    hr_net_call call;
    hr_s3 s3;
    char prefix[1280], token[TOKEN_SIZE];
    char earlier[TOKEN_SIZE]; /* the token of page `mark`, the last power of two */
    int32_t page, mark, empty;
    hr_listed_fn found; /* the caller's */
    void *context;
    char query[3 * 1280 + 3 * TOKEN_SIZE + 256], url[HR_URL_SIZE];
} listing;

static hr_status sign(void *context, hr_net_call *call, hr_cancel *cancel, hr_error *error)
{
    listing *l = context;
    return hr_s3_sign(&l->s3, call, l->url, "", l->query, NULL, cancel, error);
}

static hr_status judge(void *context, hr_net_call *call, bool *again, hr_error *error)
{
    listing *l = context;
    const hr_net_request *r = &call->request;
    if (r->end != HR_NET_END_ANSWERED || r->code != 200)
        return hr_s3_fail(&l->s3, call, again, error);
    return r->longer ? hr_fail(error, HR_STATUS_LIMIT, "a page of the listing is too long")
                     : HR_STATUS_OK;
}

static hr_status make_query(listing *l, hr_error *error)
{
    char token[3 * TOKEN_SIZE], prefix[3 * 1280];
    if (!hr_url_escape(l->token, false, token, sizeof(token)) ||
        !hr_url_escape(l->prefix, false, prefix, sizeof(prefix)))
        return hr_fail(error, HR_STATUS_LIMIT, "the name is too long");
    if (l->s3.service == HR_AZURE)
        snprintf(l->query, sizeof(l->query),
                 "comp=list&delimiter=%%2F%s%s&prefix=%s&restype=container",
                 token[0] ? "&marker=" : "", token, prefix);
    else
        snprintf(l->query, sizeof(l->query),
                 "%s%s%sdelimiter=%%2F&encoding-type=url&list-type=2&prefix=%s",
                 token[0] ? "continuation-token=" : "", token, token[0] ? "&" : "", prefix);
    return HR_STATUS_OK;
}

static hr_status count_name(void *context, const char *name, bool is_folder, hr_error *error)
{
    listing *l = context;
    l->empty = 0;
    return l->found(l->context, name, is_folder, error);
}

/* Fails if the pages lead nowhere. Tokens that repeat form a cycle, which passes through the token
 * of a page again as soon as its length is at most the number of that page (Brent). */
static hr_status check_progress(listing *l, hr_error *error)
{
    if (l->page > 0 && strcmp(l->token, l->earlier) == 0)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "the server sent the same continuation token for pages %d and %d of the "
                       "listing, so that it would never end",
                       (int)l->mark + 1, (int)l->page + 1);
    if (l->page == 2 * l->mark || l->page == 0) {
        l->mark = HR_MAX(l->page, 1);
        memcpy(l->earlier, l->token, sizeof(l->earlier));
    }
    if (++l->empty > EMPTY_MAX)
        return hr_fail(error, HR_STATUS_LIMIT,
                       "the server sent %d pages of the listing without a name", EMPTY_MAX);
    return HR_STATUS_OK;
}

static hr_status list_pages(listing *l, char *page, hr_cancel *cancel, hr_error *error)
{
    for (l->page = 0; l->page < PAGES_MAX; l->page++) {
        HR_TRY(make_query(l, error));
        l->call = (hr_net_call){.request = {.body = page, .room = PAGE_SIZE - 1},
                                .sign = sign,
                                .judge = judge,
                                .context = l};
        HR_TRY(hr_net_call_run(&l->call, cancel, error));
        page[l->call.request.size] = 0;
        HR_TRY(hr_s3_parse_list(l->s3.service, page, l->prefix, count_name, l, l->token, error));
        if (!l->token[0])
            return HR_STATUS_OK;
        HR_TRY(check_progress(l, error));
    }
    return hr_fail(error, HR_STATUS_LIMIT, "the listing has more than %d pages", PAGES_MAX);
}

hr_status hr_s3_list(const char *uri, hr_listed_fn found, void *context, hr_cancel *cancel,
                     hr_error *error)
{
    listing *l = hr_calloc(1, sizeof(*l), error);
    char *page = hr_calloc(PAGE_SIZE, 1, error);
    hr_status status = l && page ? hr_s3_init(&l->s3, uri, error) : HR_STATUS_NO_MEMORY;
    if (l) {
        l->found = found;
        l->context = context;
    }
    if (status == HR_STATUS_OK) {
        size_t size = strlen(l->s3.key);
        while (size > 0 && l->s3.key[size - 1] == '/')
            size--;
        int n = snprintf(l->prefix, sizeof(l->prefix), "%.*s%s", (int)size, l->s3.key,
                         size > 0 ? "/" : "");
        status = n < 0 || (size_t)n >= sizeof(l->prefix)
                     ? hr_fail(error, HR_STATUS_LIMIT, "the name is too long")
                     : list_pages(l, page, cancel, error);
    }
    if (l)
        hr_s3_fini(&l->s3);
    hr_free(page);
    hr_free(l);
    return status;
}

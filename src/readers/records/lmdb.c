/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A file is a sequence of pages. The first two describe the database, and the one with the larger
 * transaction counts. The tree's pages begin with a header of 16 bytes and the offsets of their
 * nodes; nodes of branches refer to pages, those of leaves have a key and a value, or the first of
 * the pages in which a large value is. */
#include "readers/records/lmdb.h"

#include <stdio.h>
#include <string.h>

enum {
    PAGE_HEADER = 16,
    META_SIZE = 136, /* of the part behind the page header that is read */
    NODE_HEADER = 8,
    PAGE_LEAST = 256,
    PAGE_MOST = 1 << 16,
    DUPSORT = 4 /* flag of a tree: a key has several values */
};
enum { PAGE_BRANCH = 1, PAGE_LEAF = 2, PAGE_PACKED = 0x20 }; /* flags of a page */
enum { NODE_BIG = 1, NODE_TREE = 2, NODE_DUPLICATES = 4 };   /* flags of a leaf's node */

#define META_MAGIC 0xbeefc0deu
#define NO_PAGE UINT64_MAX

typedef struct meta {
    uint32_t page_size;
    uint16_t flags; /* of the tree */
    uint64_t entries, root, transaction;
} meta;

typedef struct walk {
    hr_scan_window window;
    int64_t size; /* of the file */
    meta meta;
    uint64_t pages;  /* of the file */
    uint64_t pushed; /* pages of the tree that were found: no more than the file has */
    hr_scan left;    /* numbers of the pages to visit, the next one last */
    hr_scan records, key_ends, keys;
} walk;

static uint16_t get16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static uint32_t get32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static uint64_t get64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

/* ---- the head of the file ---- */

static hr_status read_meta(walk *w, int64_t offset, meta *out, hr_error *error)
{
    const uint8_t *p = hr_scan_bytes(&w->window, offset, PAGE_HEADER + META_SIZE, error);
    if (!p)
        return hr_error_prefix(error, "it is not an LMDB database");
    p += PAGE_HEADER;
    if (get32(p) != META_MAGIC)
        return hr_fail(error, HR_STATUS_CORRUPT, "it is not an LMDB database");
    if (get32(p + 4) != 1)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "it is an LMDB database of format %u; only format 1 is supported",
                       get32(p + 4));
    const uint8_t *tree = p + 72; /* of the data; the one before it lists free pages */
    *out = (meta){.page_size = get32(p + 24),
                  .flags = get16(tree + 4),
                  .entries = get64(tree + 32),
                  .root = get64(tree + 40),
                  .transaction = get64(p + 128)};
    if (out->page_size < PAGE_LEAST || out->page_size > PAGE_MOST ||
        (out->page_size & (out->page_size - 1)) != 0)
        return hr_fail(error, HR_STATUS_CORRUPT, "pages of %u bytes are not possible",
                       out->page_size);
    if (out->flags & DUPSORT)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "its keys have several values each, which is not supported");
    return HR_STATUS_OK;
}

static hr_status read_head(walk *w, hr_error *error)
{
    meta second;
    HR_TRY(read_meta(w, 0, &w->meta, error));
    HR_TRY(read_meta(w, w->meta.page_size, &second, error));
    if (second.page_size != w->meta.page_size)
        return hr_fail(error, HR_STATUS_CORRUPT, "its two heads differ in the size of pages");
    if (second.transaction > w->meta.transaction)
        w->meta = second;
    w->pages = (uint64_t)w->size / w->meta.page_size;
    return HR_STATUS_OK;
}

/* ---- the tree ---- */

/* A page of a tree is visited once. */
static hr_status push_page(walk *w, uint64_t page, hr_error *error)
{
    if (page >= w->pages)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "page %llu does not exist: the file has %llu and may have been cut off",
                       (unsigned long long)page, (unsigned long long)w->pages);
    if (++w->pushed > w->pages)
        return hr_fail(error, HR_STATUS_CORRUPT, "a page is in the tree more than once");
    return hr_scan_add(&w->left, &page, sizeof(page), error);
}

static bool pop_page(walk *w, uint64_t *page)
{
    if (w->left.size == 0)
        return false;
    w->left.size -= sizeof(*page);
    memcpy(page, w->left.data + w->left.size, sizeof(*page));
    return true;
}

static hr_status fail_node(uint64_t page, hr_error *error)
{
    return hr_fail(error, HR_STATUS_CORRUPT, "page %llu is damaged", (unsigned long long)page);
}

static hr_status add_value(walk *w, uint64_t page, const uint8_t *data, size_t at, hr_error *error)
{
    const uint8_t *node = data + at;
    size_t room = w->meta.page_size - at - NODE_HEADER, key_size = get16(node + 6);
    uint16_t flags = get16(node + 4);
    hr_record record = {.size = (int64_t)get32(node)};
    if (flags & (NODE_TREE | NODE_DUPLICATES))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "it contains named databases or several values per key, which is not "
                       "supported");
    size_t stored = flags & NODE_BIG ? sizeof(uint64_t) : (size_t)record.size;
    if (key_size > room || stored > room - key_size)
        return fail_node(page, error);
    record.offset = (int64_t)(page * w->meta.page_size + at + NODE_HEADER + key_size);
    if (flags & NODE_BIG) {
        uint64_t first = get64(node + NODE_HEADER + key_size);
        if (first >= w->pages)
            return fail_node(page, error);
        record.offset = (int64_t)(first * w->meta.page_size + PAGE_HEADER);
    }
    if (record.size > w->size - record.offset)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "the value at offset %lld has %lld bytes, but the file has only %lld: it "
                       "was cut off",
                       (long long)record.offset, (long long)record.size, (long long)w->size);
    HR_TRY(hr_scan_add(&w->records, &record, sizeof(record), error));
    HR_TRY(hr_scan_add(&w->keys, node + NODE_HEADER, key_size, error));
    int64_t end = (int64_t)w->keys.size;
    return hr_scan_add(&w->key_ends, &end, sizeof(end), error);
}

/* The nodes of a leaf in their order; those of a branch from the last one, so that the first is
 * visited next. */
static hr_status visit_page(walk *w, uint64_t page, hr_error *error)
{
    const size_t size = w->meta.page_size;
    const uint8_t *data =
        hr_scan_bytes(&w->window, (int64_t)(page * w->meta.page_size), size, error);
    if (!data)
        return HR_STATUS_IO;
    uint16_t flags = get16(data + 10);
    size_t lower = get16(data + 12);
    bool leaf = flags & PAGE_LEAF;
    if (get64(data) != page || leaf == !!(flags & PAGE_BRANCH) || (flags & PAGE_PACKED) ||
        lower < PAGE_HEADER || lower > size)
        return fail_node(page, error);
    size_t count = (lower - PAGE_HEADER) / 2;
    for (size_t i = 0; i < count; i++) {
        size_t at = get16(data + PAGE_HEADER + 2 * (leaf ? i : count - 1 - i));
        if (at < lower || at + NODE_HEADER > size)
            return fail_node(page, error);
        if (leaf)
            HR_TRY(add_value(w, page, data, at, error));
        else
            HR_TRY(push_page(w, get32(data + at) | (uint64_t)get16(data + at + 4) << 32, error));
    }
    return HR_STATUS_OK;
}

static hr_status walk_tree(walk *w, hr_error *error)
{
    uint64_t page;
    HR_TRY(read_head(w, error));
    if (w->meta.root != NO_PAGE)
        HR_TRY(push_page(w, w->meta.root, error));
    while (pop_page(w, &page))
        HR_TRY(visit_page(w, page, error));
    uint64_t found = w->records.size / sizeof(hr_record);
    if (found != w->meta.entries)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "it has %llu values, but %llu were found: it is damaged, or was written to "
                       "while it was read",
                       (unsigned long long)w->meta.entries, (unsigned long long)found);
    return HR_STATUS_OK;
}

static hr_status put_result(const walk *w, hr_scan *out, hr_error *error)
{
    int64_t count = (int64_t)(w->records.size / sizeof(hr_record));
    HR_TRY(hr_scan_add(out, &count, sizeof(count), error));
    HR_TRY(hr_scan_add(out, w->records.data, w->records.size, error));
    HR_TRY(hr_scan_add(out, w->key_ends.data, w->key_ends.size, error));
    return hr_scan_add(out, w->keys.data, w->keys.size, error);
}

static hr_status scan_database(hr_object *object, hr_scan *out, hr_error *error)
{
    walk w = {.window = {.object = object}, .size = hr_object_size(object)};
    hr_status status = walk_tree(&w, error);
    if (status == HR_STATUS_OK)
        status = put_result(&w, out, error);
    hr_scan_window_fini(&w.window);
    hr_free(w.left.data);
    hr_free(w.records.data);
    hr_free(w.key_ends.data);
    hr_free(w.keys.data);
    return status;
}

/* ---- results ---- */

/* The parts of a result. */
typedef struct result {
    int64_t count, key_size;
    const hr_record *records;
    const int64_t *key_end;
    const char *keys;
} result;

static bool split(const hr_scan *scan, result *out)
{
    const size_t each = sizeof(hr_record) + sizeof(int64_t);
    *out = (result){0};
    if (scan->size < sizeof(out->count))
        return false;
    memcpy(&out->count, scan->data, sizeof(out->count));
    size_t left = scan->size - sizeof(out->count);
    if (out->count < 0 || (uint64_t)out->count > left / each)
        return false;
    out->records = (const hr_record *)(const void *)(scan->data + sizeof(out->count));
    out->key_end = (const int64_t *)(const void *)(out->records + out->count);
    out->keys = (const char *)(out->key_end + out->count);
    out->key_size = (int64_t)(left - (size_t)out->count * each);
    return true;
}

static bool scan_valid(const hr_scan *scan, int64_t size)
{
    result r;
    int64_t at = 0;
    if (!split(scan, &r))
        return false;
    for (int64_t i = 0; i < r.count; at = r.key_end[i++])
        if (r.records[i].offset < 0 || r.records[i].offset > size || r.records[i].size < 0 ||
            r.records[i].size > size - r.records[i].offset || r.key_end[i] < at)
            return false;
    return at == r.key_size;
}

const hr_scanner hr_lmdb_scanner = {"lmdb 1", scan_database, scan_valid};

static hr_status add_keys(hr_lmdb *db, const result *r, hr_error *error)
{
    int64_t first = db->values.count - r->count;
    int64_t start = first > 0 ? db->key_end[first - 1] : 0;
    int64_t *ends =
        hr_realloc(db->key_end, (size_t)db->values.count + 1, sizeof(*db->key_end), error);
    HR_TRY_ALLOC(ends);
    db->key_end = ends;
    char *keys = hr_realloc(db->keys, (size_t)(start + r->key_size) + 1, 1, error);
    HR_TRY_ALLOC(keys);
    db->keys = keys;
    if (r->key_size > 0)
        memcpy(keys + start, r->keys, (size_t)r->key_size);
    for (int64_t i = 0; i < r->count; i++)
        ends[first + i] = start + r->key_end[i];
    return HR_STATUS_OK;
}

static hr_status scan_databases(hr_lmdb *db, hr_error *error)
{
    const hr_strings paths = {(const char *const *)db->paths, db->folders->n};
    hr_scan *scans;
    HR_TRY(hr_records_init(&db->values, paths.v, paths.n, error));
    HR_TRY(hr_scan_files(&paths, &hr_lmdb_scanner, &scans, error));
    hr_status status = HR_STATUS_OK;
    for (int32_t i = 0; status == HR_STATUS_OK && i < paths.n; i++) {
        result r;
        split(&scans[i], &r);
        status = hr_records_add(&db->values, r.records, r.count, error);
        if (status == HR_STATUS_OK)
            status = add_keys(db, &r, error);
        hr_records_end_file(&db->values, i);
    }
    hr_scan_free(scans, paths.n);
    if (status == HR_STATUS_OK && db->values.count == 0)
        return hr_fail(error, HR_STATUS_ERROR, "the databases of path '%s'%s contain no values",
                       db->folders->v[0], db->folders->n > 1 ? " and the others" : "");
    return status;
}

static hr_status make_paths(hr_lmdb *db, hr_error *error)
{
    db->paths = hr_calloc((size_t)db->folders->n + 1, sizeof(*db->paths), error);
    HR_TRY_ALLOC(db->paths);
    for (int32_t i = 0; i < db->folders->n; i++) {
        size_t size = strlen(db->folders->v[i]) + sizeof("/data.mdb");
        db->paths[i] = hr_calloc(size, 1, error);
        HR_TRY_ALLOC(db->paths[i]);
        snprintf(db->paths[i], size, "%s/data.mdb", db->folders->v[i]);
    }
    return HR_STATUS_OK;
}

hr_status hr_lmdb_open(hr_lmdb *db, const hr_strings *folders, hr_error *error)
{
    *db = (hr_lmdb){.folders = folders};
    if (folders->n == 0)
        return hr_fail(error, HR_STATUS_ERROR, "path is empty: name at least one database");
    hr_status status = make_paths(db, error);
    if (status == HR_STATUS_OK)
        status = scan_databases(db, error);
    if (status != HR_STATUS_OK)
        hr_lmdb_close(db);
    return status;
}

void hr_lmdb_close(hr_lmdb *db)
{
    for (int32_t i = 0; db->paths && i < db->folders->n; i++)
        hr_free(db->paths[i]);
    hr_free(db->paths);
    hr_free(db->keys);
    hr_free(db->key_end);
    hr_records_fini(&db->values);
    *db = (hr_lmdb){0};
}

/* ---- the source ---- */

const char *hr_lmdb_name(const void *state, int64_t index, char *room, size_t size)
{
    const hr_lmdb *db = state;
    int64_t start = index > 0 ? db->key_end[index - 1] : 0, end = db->key_end[index];
    char shown[HR_SHOWN_SIZE];
    const char *folder = db->folders->v[hr_records_file(&db->values, index)];
    snprintf(room, size, "%s at key %.*s", hr_shown_name(folder, shown, sizeof(shown)),
             (int)HR_MIN(end - start, INT32_MAX), db->keys + start);
    return room;
}

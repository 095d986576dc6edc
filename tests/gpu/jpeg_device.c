/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The GPU JPEG decoder against the one on the CPU, byte by byte: generated files of every kind,
 * photographs, and damaged files, whose damage both must detect. HEADRACE_CUDA_MODULE names the
 * module. FILES limits the number of photographs of a folder, ROUNDS multiplies the generated
 * files. */
#include "unit/jpeg_scans.h"

#include "image/coded.h"
#include "codecs/jpeg/index_cache.h"
#include "jpeg_batch.h"
#include "photographs.h"

enum { GUARD = 16, JOBS = 48, WINDOWS = 2, OWNED = 3 * JOBS };

static const hr_cuda_module_def *module;
static int seen, left_, doubted, failures;
static uint32_t order; /* seed of the emulator's thread order, new for every batch */

/* ---- one batch ---- */

static hr_status decode_here(const batch_job *j, uint8_t *data, hr_jpeg_index *index,
                             hr_arena *arena)
{
    hr_error error;
    hr_op_call c = {.arena = arena, .kernels = hr_kernels_get(HR_CPU_LEVEL_AUTO)};
    hr_codec_request q = {.window = j->window,
                          .channels = j->channels,
                          .dst = data,
                          .stride = (size_t)j->window.w * (size_t)j->channels};
    return hr_jpeg_decode(j->bytes, j->size, &j->info, &q, index, &c, &error);
}

static hr_cache *cache;
static int noted, keys; /* total of index entries; of indices */

/* Windows of progressive files, to be decoded with an index that the device made. */
static batch_job later[JOBS];
static int later_count;

static hr_jpeg_index *index_part(const hr_jpeg_index *index);
static bool
    unjudged; /* pixels may be wrong, but no memory may be touched that is not the image's */

/* A false index that can come from a cache: its entries ascend. */
static void falsify(hr_jpeg_index *index)
{
    uint8_t *packed = malloc((size_t)index->count * HR_JPEG_PACKED);
    size_t size = hr_jpeg_index_pack(index, packed);
    for (int i = help_between(1, 8); i > 0; i--)
        packed[help_random() % size] ^= (uint8_t)(1u << help_random() % 8);
    hr_jpeg_index_unpack(index, packed, size);
    free(packed);
}

static void try_again(const batch_job *j, const hr_jpeg_index *index)
{
    if (index->count < 2 || later_count == JOBS)
        return;
    batch_job *to = &later[later_count++];
    *to = (batch_job){.bytes = j->bytes,
                      .size = j->size,
                      .pinned = later_count % 2 == 1,
                      .info = j->info,
                      .window = j->window,
                      .channels = j->channels,
                      .index = index_part(index),
                      .stride = (size_t)j->window.w * (size_t)j->channels};
    if (unjudged)
        falsify((hr_jpeg_index *)(uintptr_t)to->index);
    if (help_random() % 2) {
        to->window = help_window(j->info.height, j->info.width);
        to->stride = (size_t)to->window.w * (size_t)j->channels;
    }
}

/* Makes an index of the entries that the device noted, stores it and finds it again as a pipeline
 * does. The CPU decoder must make the same pixels with it; a wrong position or prediction would
 * change them. */
static bool good_entries(const batch_job *j, const uint8_t *want, hr_arena *arena)
{
    hr_jpeg_device_record image = {.image = j->image, .size = j->size, .keyed = 1};
    size_t size = (size_t)(j->window.h * j->window.w * j->channels), packed_size;
    const uint8_t *packed;
    hr_jpeg_index index;
    /* a new key: entries from other windows of the file must not help */
    keys++;
    image.key = hr_cache_key(cache, &keys, sizeof keys);
    if (j->index) {
        uint8_t *known = malloc((size_t)j->index->count * HR_JPEG_PACKED);
        hr_cache_put(cache, &image.key, known, hr_jpeg_index_pack(j->index, known));
        free(known);
    }
    hr_jpeg_device_keep(&image, j->entries.host, cache, arena);
    BATCH_TRY(hr_jpeg_index_make(&index, j->size, arena, error));
    if (hr_cache_get(cache, &image.key, arena, &packed, &packed_size))
        hr_jpeg_index_unpack(&index, packed, packed_size);
    if (unjudged && j->index)
        return true;
    int32_t known = j->index ? j->index->count : 1, count = index.count;
    noted += count - known;
    if (j->info.progressive) {
        try_again(j, &index);
        return count >= known;
    }
    uint8_t *data = malloc(size);
    bool good = count >= known && decode_here(j, data, &index, arena) == HR_STATUS_OK &&
                memcmp(data, want, size) == 0;
    free(data);
    if (!good)
        printf("of %d entries %d were known\n", (int)count, (int)known);
    return good;
}

/* The size of the turned window. */
static int rows_of(const batch_job *j)
{
    return (int)(j->orientation > 4 ? j->window.w : j->window.h);
}

static int columns_of(const batch_job *j)
{
    return (int)(j->orientation > 4 ? j->window.h : j->window.w);
}

/* `want`: the window as stored, rows without gaps. */
static bool same_rows(const batch_job *j, const uint8_t *want)
{
    size_t pixel = (size_t)j->channels, row = (size_t)columns_of(j) * pixel;
    for (int y = 0; y < rows_of(j); y++) {
        const uint8_t *got = j->data + (size_t)y * j->stride;
        for (int x = 0; x < columns_of(j); x++) {
            int at = help_turned((int)j->window.h, (int)j->window.w, j->orientation, y, x);
            if (memcmp(got + (size_t)x * pixel, want + (size_t)at * pixel, pixel) != 0) {
                printf("row %d, pixel %d: %d, not %d\n", y, x, got[(size_t)x * pixel],
                       want[(size_t)at * pixel]);
                return false;
            }
        }
        for (size_t i = row; i < j->stride; i++)
            if (got[i] != 0x5A) {
                printf("row %d: written beyond its end\n", y);
                return false;
            }
    }
    return true;
}

static void judge(const batch_job *j, bool damaged, hr_arena *arena)
{
    uint8_t *want = malloc((size_t)(j->window.h * j->window.w * j->channels));
    hr_status status = decode_here(j, want, NULL, arena);
    bool good = true;
    seen++;
    left_ += !j->taken;
    if (status == HR_STATUS_OK && j->taken && j->status == 0) {
        good = same_rows(j, want) && (!j->entries.host || good_entries(j, want, arena));
    } else if (status == HR_STATUS_OK) {
        good = damaged; /* files that are not damaged must be accepted */
        doubted += j->taken;
    } else {
        good = !j->taken || j->status != 0;
    }
    good = good || (unjudged && j->index);
    if (!good && failures++ < 20)
        printf("FAILED: %dx%d of %dx%d at %d,%d, %d channels, %zu bytes, here %d, taken %d, "
               "status %u, index %d, orientation %d, order %u\n",
               (int)j->window.w, (int)j->window.h, j->info.width, j->info.height, (int)j->window.x,
               (int)j->window.y, j->channels, j->size, (int)status, j->taken, j->status,
               j->index != NULL, j->orientation, order);
    free(want);
}

static void stage_jobs(batch *b, batch_job *jobs, int n, hr_staged *records, hr_staged *pixels,
                       hr_staged *status, int *taken)
{
    size_t at = 0;
    BATCH_TRY(batch_stage(&b->staging, (size_t)n * sizeof jobs->image, records, error));
    BATCH_TRY(batch_stage(&b->staging, (size_t)n * sizeof(uint32_t), status, error));
    memset(status->host, 0, (size_t)n * sizeof(uint32_t));
    for (int i = 0; i < n; i++)
        at += jobs[i].stride * (size_t)rows_of(&jobs[i]);
    BATCH_TRY(batch_stage(&b->staging, at, pixels, error));
    memset(pixels->host, 0x5A, at);
    at = 0;
    *taken = 0;
    for (int i = 0; i < n; i++) {
        jobs[i].data = (uint8_t *)pixels->host + at;
        hr_jpeg_device_image *image = &jobs[i].image;
        jobs[i].taken = batch_prepare(b, &jobs[i], image);
        image->dst = (uint8_t *)pixels->device + at;
        image->status = (uint32_t *)status->device + i;
        at += jobs[i].stride * (size_t)rows_of(&jobs[i]);
        if (!jobs[i].taken)
            continue;
        size_t count = hr_jpeg_device_entry_count(image);
        if (count > 0 && help_random() % 4 > 0) {
            BATCH_TRY(batch_stage(&b->staging, count * sizeof(hr_jpeg_device_entry),
                                  &jobs[i].entries, error));
            image->entries = jobs[i].entries.device;
        }
        ((hr_jpeg_device_image *)records->host)[(*taken)++] = *image;
    }
}

/* `damaged`: the device may refuse files that the CPU accepts. */
static void run_jobs(batch_job *jobs, int n, bool damaged)
{
    static const size_t limits[] = {0, 1 << 20, 1};
    batch *b = malloc(sizeof *b);
    hr_staged records = {0}, pixels = {0}, status = {0};
    hr_arena *arena;
    int taken;
    if (batch_seed)
        batch_seed(++order);
    batch_open(b, module, 0, 0, limits[help_random() % 3]);
    stage_jobs(b, jobs, n, &records, &pixels, &status, &taken);
    batch_copy(b);
    BATCH_TRY(module->decoders[0]->decode(&b->launch, records, taken, error));
    for (int i = 0; i < b->count; i++)
        BATCH_TRY(module->copy(0, b->launch.stream, b->pieces[i].host, b->pieces[i].device,
                               b->pieces[i].size, error));
    batch_wait(b);
    BATCH_TRY(hr_arena_create(&arena, error));
    for (int i = 0; i < n; i++) {
        jobs[i].status = ((uint32_t *)status.host)[i];
        judge(&jobs[i], damaged, arena);
        hr_arena_reset(arena);
    }
    hr_arena_destroy(arena);
    batch_reset(b);
    module->stream_destroy(0, b->launch.stream);
    free(b);
}

/* ---- batches of queued jobs ---- */

typedef struct queue {
    batch_job jobs[JOBS];
    int n;
    bool damaged;
    void *owned[OWNED]; /* files and indices that the jobs refer to */
    int owned_count;
} queue;

static void flush(queue *q)
{
    if (q->n > 0)
        run_jobs(q->jobs, q->n, q->damaged);
    while (later_count > 0) { /* jobs may add others */
        batch_job jobs[JOBS];
        int n = later_count;
        memcpy(jobs, later, (size_t)n * sizeof *jobs);
        later_count = 0;
        run_jobs(jobs, n, q->damaged);
        for (int i = 0; i < n; i++)
            free((void *)(uintptr_t)jobs[i].index);
    }
    for (int i = 0; i < q->owned_count; i++)
        free(q->owned[i]);
    q->n = q->owned_count = 0;
}

static bool add_job(queue *q, const uint8_t *bytes, size_t size, hr_window w, int channels,
                    const hr_jpeg_index *index)
{
    hr_error error;
    batch_job *j = &q->jobs[q->n];
    *j = (batch_job){.bytes = bytes,
                     .size = size,
                     .pinned = q->n % 2 == 1,
                     .channels = channels,
                     .index = index};
    if (hr_image_probe(bytes, size, MAX_PIXELS, &j->info, &error) != HR_STATUS_OK)
        return false;
    j->window = w.h > 0 ? w : (hr_window){0, 0, j->info.height, j->info.width};
    if (w.h < 0)
        j->window = help_window(j->info.height, j->info.width);
    j->orientation = (int)(help_random() % 9);
    j->stride = (size_t)columns_of(j) * (size_t)channels + help_random() % (GUARD + 1);
    q->n++;
    return true;
}

/* An index of the whole file in its own allocation, or NULL if the file is damaged. */
static hr_jpeg_index *make_index(const uint8_t *bytes, size_t size, const hr_image_info *info)
{
    hr_jpeg_index index, *kept = NULL;
    hr_arena *arena;
    BATCH_TRY(hr_arena_create(&arena, error));
    hr_op_call c = {.arena = arena, .kernels = hr_kernels_get(HR_CPU_LEVEL_AUTO)};
    uint8_t *data = malloc((size_t)info->height * (size_t)info->width);
    hr_codec_request q = {.window = {0, 0, info->height, info->width},
                          .channels = 1,
                          .dst = data,
                          .stride = (size_t)info->width};
    BATCH_TRY(hr_jpeg_index_make(&index, size, arena, error));
    if (hr_jpeg_decode(bytes, size, info, &q, &index, &c, NULL) == HR_STATUS_OK) {
        size_t n = (size_t)index.count * sizeof *index.entry;
        kept = malloc(sizeof *kept + n);
        *kept = index;
        kept->entry = (hr_jpeg_entry *)(void *)(kept + 1);
        memcpy(kept->entry, index.entry, n);
    }
    free(data);
    hr_arena_destroy(arena);
    return kept;
}

/* A copy of the whole index or of its beginning, in one allocation. */
static hr_jpeg_index *index_part(const hr_jpeg_index *index)
{
    size_t n = (size_t)index->count * sizeof *index->entry;
    hr_jpeg_index *part = malloc(sizeof *part + n);
    *part = *index;
    part->entry = (hr_jpeg_entry *)(void *)(part + 1);
    memcpy(part->entry, index->entry, n);
    if (help_random() % 2)
        part->count = part->known = help_between(1, index->count);
    return part;
}

/* Queues the whole image and windows of it, with and without the index. Takes ownership of the
 * file. */
static void add_file(queue *q, uint8_t *file, size_t size, int grey)
{
    if (q->n > JOBS - 2 * (WINDOWS + 1) || q->owned_count > OWNED - 2 - (WINDOWS + 1))
        flush(q);
    q->owned[q->owned_count++] = file;
    hr_jpeg_index *index = NULL;
    for (int i = 0; i <= WINDOWS; i++) {
        hr_window w = {.h = i == 0 ? 0 : -1};
        int channels = grey > 0 && help_random() % 3 == 0 ? 1 : 3;
        if (!add_job(q, file, size, w, channels, NULL))
            return;
        const batch_job *j = &q->jobs[q->n - 1];
        if (i == 0 && (index = make_index(file, size, &j->info)) != NULL)
            q->owned[q->owned_count++] = index;
        hr_jpeg_index *part = index ? index_part(index) : NULL;
        if (part) {
            q->owned[q->owned_count++] = part;
            add_job(q, file, size, j->window, channels, part);
        }
    }
}

/* ---- sources ---- */

static int rounds(int n)
{
    const char *times = getenv("ROUNDS");
    return times ? (int)(n * atof(times)) : n;
}

/* `notes`: files are large enough for entries. */
static void say_of(const char *what, bool notes)
{
    printf("%-24s %6d windows, %d left to the CPU, %d refused by the device, %d entries noted, %d "
           "failed\n",
           what, seen, left_, doubted, noted, failures);
    fflush(stdout);
    CHECK(seen == 0 || !notes || noted > 0);
    seen = left_ = doubted = noted = 0;
}

static void say(const char *what)
{
    say_of(what, true);
}

static void try_generated(queue *q)
{
    for (int i = 0; i < rounds(600); i++) {
        files_kind kind;
        size_t size;
        uint8_t *file = files_generate(i, i % 20 == 0 ? 500 : 70, &kind, &size);
        add_file(q, file, size, !kind.rgb);
    }
    flush(q);
    say("generated");
    for (int i = 0; i < rounds(100); i++) {
        int width, height;
        size_t size;
        uint8_t *file = files_wild(&width, &height, &size);
        add_file(q, file, size, 1);
    }
    flush(q);
    say("wild coefficients");
    for (int i = 0; i < rounds(600); i++) {
        int width, height;
        size_t size;
        uint8_t *file = files_hostile(&width, &height, &size);
        add_file(q, file, size, 1);
    }
    flush(q);
    say("extreme coefficients");
}

/* A progressive file with the usual scans or random ones, and restart markers in some. */
static uint8_t *progressive_file(int round, int side, files_kind *kind, size_t *size)
{
    uint8_t *file = files_generate(round, side, kind, size);
    script s = random_script(kind->channels);
    int restart = help_random() % 4 ? 0 : help_between(1, 20);
    uint8_t *again = progressive(file, size, round % 3 == 0 ? NULL : &s, restart);
    free(file);
    return again;
}

static void try_progressive(queue *q)
{
    for (int i = 0; i < rounds(600); i++) {
        files_kind kind;
        size_t size;
        uint8_t *file = progressive_file(i, i % 4 == 0 ? 300 : 90, &kind, &size);
        add_file(q, file, size, !kind.rgb);
    }
    flush(q);
    say("progressive");
    unjudged = true;
    for (int i = 0; i < rounds(200); i++) {
        files_kind kind;
        size_t size;
        uint8_t *file = progressive_file(i, 250, &kind, &size);
        add_file(q, file, size, !kind.rgb);
    }
    flush(q);
    say("... false indices");
    unjudged = false;
    for (int i = 0; i < rounds(200); i++) {
        int width, height;
        size_t size;
        uint8_t *file =
            i % 2 ? files_wild(&width, &height, &size) : files_hostile(&width, &height, &size);
        script s = random_script(3);
        uint8_t *again = progressive(file, &size, &s, help_between(0, 5));
        free(file);
        add_file(q, again, size, 1);
    }
    flush(q);
    say_of("... wild coefficients", false);
}

/* Truncates the file, flips bits, or writes random bytes after the header. */
static void damage(uint8_t *file, size_t *size, size_t scan)
{
    int kind = (int)(help_random() % 4);
    if (kind == 0) {
        *size = scan + help_random() % (*size - scan);
        return;
    }
    int count = kind == 1 ? 1 : help_between(1, 20);
    for (int i = 0; i < count; i++) {
        size_t at = scan + help_random() % (*size - scan);
        if (kind == 3)
            file[at] = (uint8_t)(help_random() % 3 ? help_random() : 0xFF);
        else
            file[at] ^= (uint8_t)(1u << help_random() % 8);
    }
}

static size_t find_scan(const uint8_t *file, size_t size)
{
    for (size_t i = 0; i + 3 < size; i++)
        if (file[i] == 0xFF && file[i + 1] == 0xDA)
            return i + 2 + ((size_t)file[i + 2] << 8 | file[i + 3]);
    return size - 1;
}

static void try_damage(queue *q, const uint8_t *sample, size_t sample_size)
{
    q->damaged = true;
    for (int i = 0; i < rounds(600); i++) {
        files_kind kind;
        size_t size = sample_size;
        uint8_t *file;
        if (sample && i % 5 == 0) {
            file = malloc(size);
            memcpy(file, sample, size);
        } else {
            file = files_generate(i, i % 10 == 0 ? 300 : 70, &kind, &size);
        }
        size_t scan = help_random() % 8 == 0 ? 0 : find_scan(file, size);
        damage(file, &size, scan);
        add_file(q, file, size, 0);
    }
    flush(q);
    say("damaged");
    q->damaged = false;
}

/* Changes bits of one of the scans, which are found by their markers. */
static void damage_scan(uint8_t *file, size_t size)
{
    size_t scan = find_scan(file, size), end;
    for (int skip = (int)(help_random() % 12);; skip--) {
        end = scan;
        while (end + 1 < size && (file[end] != 0xFF || file[end + 1] == 0))
            end++;
        size_t next = end + find_scan(file + end, size - end);
        if (skip == 0 || next + 1 >= size)
            break;
        scan = next;
    }
    for (int i = help_between(1, 3); i > 0 && end > scan; i--)
        file[scan + help_random() % (end - scan)] ^= (uint8_t)(1u << help_random() % 8);
}

static void damage_progressive(queue *q)
{
    q->damaged = true;
    for (int i = 0; i < rounds(600); i++) {
        files_kind kind;
        size_t size;
        uint8_t *file = progressive_file(i % 2 ? 3 * i : i, i % 4 ? 90 : 250, &kind, &size);
        size_t scan = help_random() % 8 == 0 ? 0 : find_scan(file, size);
        if (i % 3 == 0)
            damage(file, &size, scan);
        else
            damage_scan(file, size);
        add_file(q, file, size, 0);
    }
    flush(q);
    say("damaged progressive");
    q->damaged = false;
}

/* Every possible truncation of a file with restart markers and of one without. */
static void try_cuts(queue *q)
{
    uint8_t pixels[60 * 50 * 3];
    help_paint(pixels, 60, 50, 3);
    q->damaged = true;
    for (int restart = 0; restart < 8; restart += 4) {
        help_jpeg j = {
            .w = 60, .h = 50, .channels = 3, .quality = 80, .sampling = {2, 1}, .restart = restart};
        size_t size;
        uint8_t *file = help_encode_jpeg(&j, pixels, &size);
        for (size_t cut = 0; cut <= size; cut += rounds(10) >= 10 ? 3 : 61) {
            uint8_t *part = malloc(cut + 1);
            memcpy(part, file, cut);
            add_file(q, part, cut, 0);
        }
        free(file);
    }
    flush(q);
    say("cut");
    q->damaged = false;
}

/* A repeated 8 x 8 pattern, the same in all three components, without a colour transform: all
 * blocks are equal. A decoder that begins with the wrong component never notices. */
static uint8_t *equal_blocks(int side, size_t *size)
{
    uint8_t block[64], *pixels = malloc((size_t)side * (size_t)side * 3);
    for (int i = 0; i < 64; i++)
        block[i] = (uint8_t)help_random();
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++)
            memset(pixels + 3 * (y * side + x), block[y % 8 * 8 + x % 8], 3);
    help_jpeg j = {
        .w = side, .h = side, .channels = 3, .quality = 95, .sampling = {1, 1}, .rgb = 1};
    uint8_t *file = help_encode_jpeg(&j, pixels, size);
    free(pixels);
    return file;
}

/* Synchronising takes one round per 1,024 bits after the first 65,536 bytes. */
static void try_equal_blocks(queue *q)
{
    enum { ROUNDS = 1024 };
    static const int sides[] = {200, 240, 320};
    for (size_t i = 0; i < HR_COUNT_OF(sides); i++) {
        size_t size;
        uint8_t *file = equal_blocks(sides[i], &size);
        bool many = (size - 65536) / 128 > ROUNDS && size > 65536;
        q->damaged = many;
        q->owned[q->owned_count++] = file;
        add_job(q, file, size, (hr_window){.h = 0}, 3, NULL);
        if (batch_rounds)
            batch_rounds();
        flush(q);
        uint32_t most = batch_rounds ? batch_rounds() : 0;
        if (batch_rounds)
            printf("equal blocks             %6zu bytes: %u rounds\n", size, most);
        CHECK(doubted == many && most <= ROUNDS);
        doubted = 0;
    }
    q->damaged = false;
}

/* Fill bytes before the last marker: a limited number is accepted, and one thread skips them alone.
 */
static void try_fill_bytes(queue *q)
{
    static const size_t counts[] = {1, 200, 300, 100000};
    for (size_t i = 0; i < HR_COUNT_OF(counts); i++) {
        uint8_t pixels[60 * 50 * 3];
        size_t size;
        help_jpeg j = {.w = 60, .h = 50, .channels = 3, .quality = 80, .sampling = {2, 1}};
        help_paint(pixels, 60, 50, 3);
        uint8_t *file = help_encode_jpeg(&j, pixels, &size);
        file = realloc(file, size + counts[i]);
        memset(file + size - 2, 0xFF, counts[i]);
        memcpy(file + size - 2 + counts[i], "\xFF\xD9", 2);
        q->damaged = counts[i] > 256;
        q->owned[q->owned_count++] = file;
        add_job(q, file, size + counts[i], (hr_window){.h = 0}, 3, NULL);
        flush(q);
        CHECK(doubted == (counts[i] > 256));
        doubted = 0;
    }
    q->damaged = false;
}

static queue all;
static uint8_t *sample;
static size_t sample_size;

static bool add_photograph(const photograph *p)
{
    const char *files = getenv("FILES");
    hr_image_info info;
    hr_error error;
    if (files && p->index >= atoi(files))
        return true;
    if (hr_image_probe(p->bytes, p->size, MAX_PIXELS, &info, &error) != HR_STATUS_OK)
        return false;
    if (info.progressive) /* the device leaves these to the CPU */
        return true;
    /* the smallest one from which the device notes several entries */
    if (p->size >= 16384 && (!sample || p->size < sample_size)) {
        free(sample);
        sample = malloc(sample_size = p->size);
        memcpy(sample, p->bytes, p->size);
    }
    uint8_t *file = malloc(p->size);
    memcpy(file, p->bytes, p->size);
    add_file(&all, file, p->size, 1);
    return true;
}

/* Returns false and prints why if there is no module or device. */
static bool open_module(void)
{
    const char *path = getenv("HEADRACE_CUDA_MODULE");
    int32_t devices = 0;
    if (path && !module)
        module = batch_module(path);
    if (module)
        BATCH_TRY(module->device_count(&devices, error));
    if (!cache)
        BATCH_TRY(hr_cache_create(&cache, (size_t)1 << 30, NULL, error));
    if (devices == 0)
        printf("SKIPPED: HEADRACE_CUDA_MODULE names no module, or there is no GPU\n");
    return devices > 0;
}

TEST(photographs)
{
    if (!open_module())
        return;
    CHECK(photographs_all(add_photograph));
    flush(&all);
    CHECK(seen > 0);
    say("photographs");
    CHECK(failures == 0);
}

TEST(generated_files)
{
    if (!open_module())
        return;
    try_generated(&all);
    CHECK(failures == 0);
}

/* Prepares a window of the turned image as a pipeline does, decodes it, and compares it with the
 * CPU's. */
static bool same_turned(batch *b, const uint8_t *file, size_t size, hr_image_info *info,
                        hr_image_type type, hr_arena *arena)
{
    hr_op_call c = {.arena = arena, .kernels = hr_kernels_get(HR_CPU_LEVEL_AUTO)};
    hr_decode_request q = {.type = type, .dtype = HR_DTYPE_UINT8, .adjust_orientation = true};
    hr_coded coded;
    hr_staged record = {0}, pixels = {0}, scan = {0}, status = {0};
    int64_t h, w;
    hr_image_extent(info, true, &h, &w);
    q.window = help_random() % 3 ? help_window((int)h, (int)w) : (hr_window){0, 0, h, w};
    q.stride = (size_t)q.window.w * (type == HR_IMAGE_TYPE_GRAY ? 1 : 3);
    size_t bytes = q.stride * (size_t)q.window.h;
    BATCH_TRY(hr_image_stage(file, size, info, &q, &c, &b->staging, arena, &coded, error));
    BATCH_TRY(batch_stage(&b->staging, coded.decoder->record_size, &record, error));
    BATCH_TRY(batch_stage(&b->staging, (size_t)(coded.stride * coded.rows), &pixels, error));
    BATCH_TRY(batch_stage(&b->staging, coded.scratch, &scan, error));
    BATCH_TRY(batch_stage(&b->staging, sizeof(uint32_t), &status, error));
    *(uint32_t *)status.host = 0;
    hr_coded_memory memory = {
        .pixels = pixels.device, .scratch = scan.device, .status = status.device};
    coded.decoder->bind(&coded, &memory, record.host);
    batch_copy(b);
    BATCH_TRY(module->decoders[0]->decode(&b->launch, record, 1, error));
    BATCH_TRY(module->copy(0, b->launch.stream, pixels.host, pixels.device, bytes, error));
    BATCH_TRY(
        module->copy(0, b->launch.stream, status.host, status.device, sizeof(uint32_t), error));
    batch_wait(b);
    q.dst = malloc(bytes);
    BATCH_TRY(hr_image_decode(file, size, info, &q, &c, error));
    bool good = (size_t)(coded.stride * coded.rows) == bytes && *(uint32_t *)status.host == 0 &&
                memcmp(pixels.host, q.dst, bytes) == 0;
    free(q.dst);
    batch_reset(b);
    return good;
}

TEST(turned_files)
{
    static const int samplings[][2] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}};
    enum { W = 57, H = 38 };
    uint8_t pixels[W * H * 3];
    hr_arena *arena;
    if (!open_module())
        return;
    batch *b = malloc(sizeof *b);
    batch_open(b, module, 0, 0, 0);
    BATCH_TRY(hr_arena_create(&arena, error));
    help_paint(pixels, W, H, 3);
    for (int k = 0; k < 5 * 8 * 2; k++) {
        const int *s = samplings[k % 5];
        help_jpeg j = {.w = W, .h = H, .channels = 3, .quality = 85, .sampling = {s[0], s[1]}};
        size_t size;
        uint8_t *file = help_encode_jpeg(&j, pixels, &size);
        hr_image_info info;
        BATCH_TRY(hr_image_probe(file, size, MAX_PIXELS, &info, error));
        info.orientation = 1 + k / 5 % 8;
        hr_image_type type = k % 3 == 2 ? HR_IMAGE_TYPE_GRAY : HR_IMAGE_TYPE_RGB;
        CHECK(same_turned(b, file, size, &info, type, arena));
        hr_arena_reset(arena);
        free(file);
    }
    hr_arena_destroy(arena);
    module->stream_destroy(0, b->launch.stream);
    free(b);
}

TEST(progressive_files)
{
    if (!open_module())
        return;
    try_progressive(&all);
    CHECK(failures == 0);
    damage_progressive(&all);
    CHECK(failures == 0);
}

TEST(serial_work_is_bounded)
{
    if (!open_module())
        return;
    try_equal_blocks(&all);
    try_fill_bytes(&all);
    CHECK(failures == 0);
}

TEST(damaged_files)
{
    if (!open_module())
        return;
    try_cuts(&all);
    try_damage(&all, sample, sample_size);
    CHECK(failures == 0);
}

TEST_MAIN

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Batches of random image programs on a GPU against the CPU: the bytes are equal, and nothing
 * around the outputs is written. Arguments: MODULE [BATCHES [PROGRAMS per batch]], or MODULE
 * --bench. The exit status is 77 if there is no device. */
#include "gpu/program_cases.h"

#include "device/module.h"

#include <dlfcn.h>

static const hr_cuda_module_def *module;
static void *stream;
static hr_error error;

static void must(hr_status status, const char *what)
{
    if (status == HR_STATUS_OK)
        return;
    printf("%s: %s\n", what, error.message);
    exit(1);
}

static void *device_alloc(size_t size)
{
    void *memory;
    must(module->alloc(0, stream, size, &memory, &error), "alloc");
    return memory;
}

static void device_free(void *memory)
{
    module->free(0, stream, memory);
}

static void copy(void *dst, const void *src, size_t size)
{
    must(module->copy(0, stream, dst, src, size, &error), "copy");
}

static void wait_for_all(void)
{
    void *event;
    must(module->event_create(0, false, &event, &error), "event");
    must(module->event_record(0, event, stream, &error), "event");
    must(module->event_wait(0, event, &error), "kernels");
    module->event_destroy(0, event);
}

/* ---- staging: one pinned block and its copy on the device ---- */

typedef struct pair_staging {
    hr_staging base;
    char *host, *device;
    size_t size, used;
} pair_staging;

static hr_status staging_alloc(hr_staging *s, size_t size, hr_staged *out, hr_error *e)
{
    pair_staging *pair = (pair_staging *)s;
    if (size > pair->size - pair->used)
        return hr_fail(e, HR_STATUS_NO_MEMORY, "the test's staging is full");
    *out = (hr_staged){pair->host + pair->used, pair->device + pair->used};
    pair->used += (size + 255) / 256 * 256;
    return HR_STATUS_OK;
}

static pair_staging staging_make(size_t size)
{
    pair_staging s = {
        {.alloc = staging_alloc, .constant = staging_constant}, NULL, device_alloc(size), size, 0};
    void *host;
    must(module->host_alloc(0, size, &host, &error), "pinned memory");
    s.host = host;
    return s;
}

static void staging_free(pair_staging *s)
{
    module->host_free(s->host);
    device_free(s->device);
}

/* ---- scratch memory, until the next wait ---- */

enum { SCRATCH_MAX = 256 };
static void *scratch_memory[SCRATCH_MAX];
static int scratch_count;

static hr_status scratch_alloc(hr_cuda_launch *l, size_t size, void **out, hr_error *e)
{
    (void)l;
    if (scratch_count == SCRATCH_MAX)
        return hr_fail(e, HR_STATUS_NO_MEMORY, "more scratch memory than the test expects");
    *out = scratch_memory[scratch_count++] = device_alloc(size);
    return HR_STATUS_OK;
}

static hr_cuda_launch launch_make(void)
{
    return (hr_cuda_launch){.stream = stream, .scratch = scratch_alloc, .multiprocessors = 1};
}

static void scratch_free(void)
{
    while (scratch_count > 0)
        device_free(scratch_memory[--scratch_count]);
}

/* ---- a batch ---- */

enum { GUARD = 64 };

typedef struct item {
    hr_tensor in, want;
    fake_codec codec;
    hr_image_program program;
    hr_device_program record;
    void *src;
    uint8_t *dst; /* surrounded by guard bytes */
    size_t bytes;
} item;

static void make_program(item *it)
{
    bool coded = one_in(3);
    it->in = case_source(coded);
    it->codec = (fake_codec){.image = &it->in, .give_up = -1};
    must(coded ? from_fake(&it->program, &it->codec, &error)
               : hr_program_from_tensor(&it->program, &it->in, NULL, &error),
         "program");
    case_steps(&it->program);
    must(run(&it->program, HR_CPU_LEVEL_AUTO, &it->want, &error), "the CPU");
}

/* Uploads to memory of exactly this size, at an odd address if the type allows it. */
static void upload_tensor(item *it)
{
    size_t bytes, element = hr_dtype_size(it->in.dtype), odd = rnd() % 5 * element;
    hr_tensor_bytes(&it->in, &bytes);
    it->src = device_alloc(bytes + odd);
    copy((char *)it->src + odd, it->in.data, bytes);
    it->record.src = (char *)it->src + odd;
}

static void upload_window(item *it)
{
    hr_window window;
    const hr_image_program *p = &it->program;
    must(hr_device_program_window(p, &window, &error), "window");
    size_t row = (size_t)window.w * (size_t)p->channels * hr_dtype_size(p->src_dtype);
    bool roomy = one_in(2);
    size_t stride = roomy ? (row + 15) / 16 * 16 : row;
    size_t size = (size_t)window.h * stride + (roomy ? 16 : 0);
    char *host = calloc(size + 1, 1);
    if (window.h > 0 && window.w > 0)
        must(fake_decode(&it->codec, window, host, stride, NULL, &error), "decode");
    it->src = device_alloc(size);
    copy(it->src, host, size);
    wait_for_all();
    free(host);
    it->record.src = it->src;
    if (roomy)
        hr_device_program_set_source(&it->record, it->src, (int64_t)stride, (int64_t)size);
}

static void prepare(item *it, pair_staging *staging)
{
    must(hr_device_program_make(&it->program, &staging->base, &it->record, &error), "record");
    if (it->program.coded.decode != NULL)
        upload_window(it);
    else
        upload_tensor(it);
    hr_tensor_bytes(&it->want, &it->bytes);
    uint8_t *filled = malloc(it->bytes + 2 * GUARD);
    memset(filled, 0xC3, it->bytes + 2 * GUARD);
    it->dst = device_alloc(it->bytes + 2 * GUARD);
    copy(it->dst, filled, it->bytes + 2 * GUARD);
    wait_for_all();
    free(filled);
    it->record.dst = it->dst + GUARD;
}

static bool result_is_right(const item *it)
{
    uint8_t *got = malloc(it->bytes + 2 * GUARD);
    copy(got, it->dst, it->bytes + 2 * GUARD);
    wait_for_all();
    bool good = memcmp(got + GUARD, it->want.data, it->bytes) == 0;
    for (size_t i = 0; i < GUARD; i++)
        good = good && got[i] == 0xC3 && got[GUARD + it->bytes + i] == 0xC3;
    free(got);
    return good;
}

static void describe(const item *it)
{
    const hr_image_program *p = &it->program;
    printf("  kind %d, store %d: %s %lld x %lld x %d of type %d, resample %d to %d x %d with %d, "
           "out type %d %s, %d points, normalize %d, coded %d\n",
           it->record.kind, it->record.store, p->src_layout.name, (long long)p->height,
           (long long)p->width, p->channels, (int)p->src_dtype, p->resample, p->y.resample.out,
           p->x.resample.out, (int)p->y.resample.interp, (int)p->dtype, p->layout.name,
           p->point_count, p->normalize, p->coded.decode != NULL);
}

static void release(item *it)
{
    device_free(it->src);
    device_free(it->dst);
    free(it->in.data);
    free(it->want.data);
}

static void run_records(pair_staging *staging, item *items, int count)
{
    hr_cuda_launch launch = launch_make();
    hr_staged records;
    must(staging_alloc(&staging->base, (size_t)count * sizeof(hr_device_program), &records, &error),
         "records");
    for (int i = 0; i < count; i++)
        ((hr_device_program *)records.host)[i] = items[i].record;
    copy(staging->device, staging->host, staging->used);
    must(module->program_run(&launch, records, count, &error), "program_run");
    wait_for_all();
    scratch_free();
}

static int run_batch(int count)
{
    item *items = calloc((size_t)count, sizeof(*items));
    pair_staging staging = staging_make((size_t)count * 16384 + (1 << 20));
    int wrong = 0;
    for (int i = 0; i < count; i++) {
        make_program(&items[i]);
        prepare(&items[i], &staging);
    }
    run_records(&staging, items, count);
    for (int i = 0; i < count; i++) {
        if (!result_is_right(&items[i])) {
            if (wrong++ < 10)
                describe(&items[i]);
        }
        release(&items[i]);
    }
    staging_free(&staging);
    free(items);
    return wrong;
}

static int check(int batches, int count)
{
    int wrong = 0;
    for (int i = 0; i < batches; i++)
        wrong += run_batch(count);
    printf("%d batches of %d programs: %d differ\n", batches, count, wrong);
    return wrong != 0;
}

/* ---- bench ---- */

enum { BATCH = 256, SETS = 3, ROUNDS = 12 };

typedef struct shape {
    const char *name;
    int32_t height, width; /* of the source; 0: random windows of a 500 x 400 image */
    int32_t out;           /* 0: no resample */
    int32_t crop;          /* after the resample; 0: none */
    hr_dtype dtype;        /* NONE: not normalised */
    const char *layout;
    int32_t pad;
    hr_dtype resampled;
    bool chain; /* a matrix, a table and a matrix */
} shape;

/* The window of a random resized crop: an area of 8 to 100 %, 3:4 to 4:3. */
static hr_window random_window(void)
{
    for (;;) {
        double area = 500.0 * 400.0 * (0.08 + 0.92 * unit());
        double ratio = hr_exp(hr_log(0.75) + unit() * (hr_log(4.0 / 3) - hr_log(0.75)));
        int32_t w = (int32_t)sqrt(area * ratio), h = (int32_t)sqrt(area / ratio);
        if (w >= 1 && h >= 1 && w <= 500 && h <= 400)
            return (hr_window){between(0, 400 - h), between(0, 500 - w), h, w};
    }
}

static void bench_chain(hr_image_program *p)
{
    static const hr_matrix turn = {
        {{.8f, .3f, -.1f}, {.1f, .7f, .2f}, {-.2f, .1f, 1.1f}}, {3.5f, -2.0f, 1.25f}, 3, 3};
    static uint8_t table[256];
    for (int i = 0; i < 256; i++)
        table[i] = (uint8_t)(255 - i * i / 255);
    const hr_point_step steps[] = {
        {.kind = HR_POINT_KIND_MATRIX, .dtype = HR_DTYPE_UINT8, .matrix = turn},
        {.kind = HR_POINT_KIND_TABLE, .dtype = HR_DTYPE_UINT8, .table = table},
        {.kind = HR_POINT_KIND_MATRIX, .dtype = HR_DTYPE_UINT8, .matrix = turn}};
    for (size_t i = 0; i < HR_COUNT_OF(steps); i++)
        must(hr_program_point(p, &steps[i], &error), "point");
}

static void bench_program(hr_image_program *p, const shape *s, fake_codec *codec)
{
    static const float mean[3] = {123.675f, 116.28f, 103.53f}, mul[3] = {.0171f, .0175f, .0174f};
    float zero = 0.0f;
    must(from_fake(p, codec, &error), "program");
    if (s->height == 0)
        must(hr_program_crop(p, random_window(), NULL, 0, &error), "crop");
    int32_t h = (int32_t)hr_program_extent(p, 'H'), w = (int32_t)hr_program_extent(p, 'W');
    if (s->out > 0) {
        bool square = s->crop == 0;
        int32_t oh = square || h <= w ? s->out : (int32_t)((int64_t)s->out * h / w);
        int32_t ow = square || w <= h ? s->out : (int32_t)((int64_t)s->out * w / h);
        hr_resample_axis y = {0, h, oh, HR_INTERP_TRIANGULAR, true, false};
        hr_resample_axis x = {0, w, ow, HR_INTERP_TRIANGULAR, true, false};
        must(hr_program_resample(p, &y, &x, s->resampled, &error), "resample");
        h = oh;
        w = ow;
    }
    if (s->crop > 0)
        must(hr_program_crop(p, (hr_window){(h - s->crop) / 2, (w - s->crop) / 2, s->crop, s->crop},
                             NULL, 0, &error),
             "crop");
    hr_program_flip(p, one_in(2), false, false, &error);
    if (s->chain)
        bench_chain(p);
    if (s->dtype != HR_DTYPE_NONE)
        must(hr_program_normalize(p, mean, mul, 3, s->dtype, &error), "normalize");
    must(hr_program_output(p, s->layout, s->pad, &zero, 1, &error), "output");
}

typedef struct bench_set {
    hr_staged records;
    size_t read, written;
} bench_set;

static bench_set bench_make(const shape *s, fake_codec *codec, pair_staging *staging, void **memory)
{
    bench_set set = {{NULL, NULL}, 0, 0};
    hr_image_program p;
    hr_tensor out;
    size_t bytes;
    must(staging_alloc(&staging->base, BATCH * sizeof(hr_device_program), &set.records, &error),
         "records");
    hr_device_program *record = set.records.host;
    size_t src[BATCH], dst[BATCH], total = 0;
    for (int i = 0; i < BATCH; i++) {
        bench_program(&p, s, codec);
        must(hr_device_program_make(&p, &staging->base, &record[i], &error), "record");
        hr_program_describe(&p, &out);
        hr_tensor_bytes(&out, &bytes);
        src[i] = total;
        total += ((size_t)record[i].tail + 16 + 255) / 256 * 256;
        dst[i] = total;
        total += bytes;
        total = (total + 255) / 256 * 256;
        set.read += (size_t)record[i].tail;
        set.written += bytes;
    }
    *memory = device_alloc(total);
    void *random;
    must(module->host_alloc(0, total, &random, &error), "pinned");
    for (size_t i = 0; i < total / 4; i++)
        ((uint32_t *)random)[i] = rnd();
    copy(*memory, random, total);
    wait_for_all();
    module->host_free(random);
    for (int i = 0; i < BATCH; i++) {
        hr_device_program_set_source(&record[i], (char *)*memory + src[i], record[i].src_stride,
                                     record[i].tail + 16);
        record[i].dst = (char *)*memory + dst[i];
    }
    return set;
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void bench_shape(const shape *s)
{
    hr_tensor in = image(HR_DTYPE_UINT8, s->height ? s->height : 400, s->width ? s->width : 500, 3);
    fake_codec codec = {.image = &in, .give_up = -1};
    pair_staging staging = staging_make(16 << 20);
    hr_cuda_launch launch = launch_make();
    void *memory[SETS], *from, *to;
    bench_set set[SETS];
    float ms[ROUNDS];
    for (int i = 0; i < SETS; i++)
        set[i] = bench_make(s, &codec, &staging, &memory[i]);
    copy(staging.device, staging.host, staging.used);
    must(module->event_create(0, true, &from, &error), "event");
    must(module->event_create(0, true, &to, &error), "event");
    for (int r = -2; r < ROUNDS; r++) {
        must(module->event_record(0, from, stream, &error), "event");
        for (int i = 0; i < SETS; i++)
            must(module->program_run(&launch, set[i].records, BATCH, &error), "program_run");
        must(module->event_record(0, to, stream, &error), "event");
        must(module->event_wait(0, to, &error), "kernels");
        scratch_free();
        if (r >= 0)
            must(module->event_elapsed(from, to, &ms[r], &error), "elapsed");
    }
    qsort(ms, ROUNDS, sizeof(*ms), by_value);
    double us = (double)ms[ROUNDS / 2] * 1000 / (SETS * BATCH);
    double bytes = (double)(set[0].read + set[0].written) / BATCH;
    printf("{\"case\": \"%s\", \"us_per_image\": %.4f, \"best\": %.4f, \"worst\": %.4f, "
           "\"kb_read\": %.1f, \"kb_written\": %.1f, \"GB_per_s\": %.0f}\n",
           s->name, us, (double)ms[0] * 1000 / (SETS * BATCH),
           (double)ms[ROUNDS - 1] * 1000 / (SETS * BATCH), (double)set[0].read / BATCH / 1e3,
           (double)set[0].written / BATCH / 1e3, bytes / us / 1e3);
    for (int i = 0; i < SETS; i++)
        device_free(memory[i]);
    module->event_destroy(0, from);
    module->event_destroy(0, to);
    staging_free(&staging);
    free(in.data);
}

static int bench(const char *only)
{
    const hr_dtype f16 = HR_DTYPE_FLOAT16, f32 = HR_DTYPE_FLOAT, u8 = HR_DTYPE_UINT8,
                   none = HR_DTYPE_NONE;
    const shape shapes[] = {
        {"training, fp16 CHW", 0, 0, 224, 0, f16, "CHW", 0, u8, false},
        {"training, fp32 CHW", 0, 0, 224, 0, f32, "CHW", 0, u8, false},
        {"training, fp16 HWC padded to 4", 0, 0, 224, 0, f16, "HWC", 4, u8, false},
        {"training, u8 HWC", 0, 0, 224, 0, none, "HWC", 0, u8, false},
        {"evaluation, fp16 CHW", 375, 500, 256, 224, f16, "CHW", 0, u8, false},
        {"large source, fp16 CHW", 1500, 2000, 224, 0, f16, "CHW", 0, u8, false},
        {"crop and normalise, fp16 CHW", 256, 256, 0, 224, f16, "CHW", 0, u8, false},
        {"training, resampled to float, fp16 CHW", 0, 0, 224, 0, f16, "CHW", 0, f32, false},
        {"training with steps, fp16 CHW", 0, 0, 224, 0, f16, "CHW", 0, u8, true},
        {"training with steps, u8 HWC", 0, 0, 224, 0, none, "HWC", 0, u8, true},
        {"steps alone, u8 HWC", 224, 224, 0, 224, none, "HWC", 0, u8, true},
        {"crop alone, u8 HWC", 224, 224, 0, 224, none, "HWC", 0, u8, false},
    };
    for (size_t i = 0; i < HR_COUNT_OF(shapes); i++)
        if (only == NULL || strstr(shapes[i].name, only) != NULL)
            bench_shape(&shapes[i]);
    return 0;
}

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int32_t count = 0;
    if (library == NULL) {
        printf("usage: program_device MODULE [BATCHES [PROGRAMS] | --bench [CASE]]\n");
        return 1;
    }
    hr_cuda_module_fn entry;
    *(void **)&entry = dlsym(library, "hr_cuda_module");
    module = entry();
    if (module->device_count(&count, &error) != HR_STATUS_OK || count == 0) {
        printf("skipped: no device\n");
        return 77;
    }
    must(module->use(0, &error), "use");
    must(module->stream_create(0, &stream, &error), "stream");
    if (argc > 2 && strcmp(argv[2], "--bench") == 0)
        return bench(argc > 3 ? argv[3] : NULL);
    return check(argc > 2 ? atoi(argv[2]) : 10, argc > 3 ? atoi(argv[3]) : 100);
}

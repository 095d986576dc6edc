// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
#include "cuda/video/session.cuh"

#include <dlfcn.h>
#include <pthread.h>

namespace
{

using video::Format;
using video::Session;

constexpr int32_t KEPT_MAX = 32;  // sessions that nobody uses
constexpr int32_t MAPPED_MAX = 2; // pictures of a session at a time
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
Session kept[KEPT_MAX]; // the first one was used longest ago
int32_t kept_count;

template <typename Function> bool find(void *lib, const char *name, Function **out)
{
    *out = (Function *)dlsym(lib, name);
    return *out != NULL;
}

bool load(video::Library *l)
{
    void *lib = dlopen("libnvcuvid.so.1", RTLD_NOW | RTLD_LOCAL);
    return lib && find(lib, "cuvidGetDecoderCaps", &l->caps) &&
           find(lib, "cuvidCreateDecoder", &l->create_decoder) &&
           find(lib, "cuvidDestroyDecoder", &l->destroy_decoder) &&
           find(lib, "cuvidDecodePicture", &l->decode) &&
           find(lib, "cuvidGetDecodeStatus", &l->status) &&
           find(lib, "cuvidMapVideoFrame64", &l->map) &&
           find(lib, "cuvidUnmapVideoFrame64", &l->unmap) &&
           find(lib, "cuvidCreateVideoParser", &l->create_parser) &&
           find(lib, "cuvidParseVideoData", &l->parse) &&
           find(lib, "cuvidDestroyVideoParser", &l->destroy_parser);
}

bool same(const Format &a, const Format &b)
{
    return a.device == b.device && a.codec == b.codec && a.width == b.width &&
           a.height == b.height && a.bits == b.bits && a.surfaces == b.surfaces;
}

bool take_kept(const Format &format, Session *out)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (int32_t i = kept_count - 1; i >= 0 && !found; i--) {
        if (!same(kept[i].format, format))
            continue;
        found = true;
        *out = kept[i];
        for (kept_count--; i < kept_count; i++)
            kept[i] = kept[i + 1];
    }
    pthread_mutex_unlock(&lock);
    return found;
}

bool is_supported(const Format &f)
{
    CUVIDDECODECAPS caps = {};
    caps.eCodecType = f.codec;
    caps.eChromaFormat = cudaVideoChromaFormat_420;
    caps.nBitDepthMinus8 = (unsigned)(f.bits - 8);
    const unsigned width = (unsigned)f.width, height = (unsigned)f.height;
    const unsigned output = f.bits > 8 ? cudaVideoSurfaceFormat_P016 : cudaVideoSurfaceFormat_NV12;
    return video::library()->caps(&caps) == CUDA_SUCCESS && caps.bIsSupported &&
           (caps.nOutputFormatMask >> output & 1) && width >= caps.nMinWidth &&
           height >= caps.nMinHeight && width <= caps.nMaxWidth && height <= caps.nMaxHeight &&
           (uint64_t)width * height / 256 <= caps.nMaxMBCount;
}

// Destroys the kept sessions of a device, which have memory that another one needs.
void drop_kept(int32_t device)
{
    Session dropped[KEPT_MAX];
    int32_t count = 0, left = 0;
    pthread_mutex_lock(&lock);
    for (int32_t i = 0; i < kept_count; i++)
        if (kept[i].format.device == device)
            dropped[count++] = kept[i];
        else
            kept[left++] = kept[i];
    kept_count = left;
    pthread_mutex_unlock(&lock);
    for (int32_t i = 0; i < count; i++)
        (void)video::library()->destroy_decoder(dropped[i].decoder);
}

} // namespace

const video::Library *video::library()
{
    static Library found;
    static const bool there = load(&found);
    return there ? &found : NULL;
}

// The whole coded picture is the output, so that nothing is scaled.
bool video::take_session(const Format &f, Session *out)
{
    if (take_kept(f, out))
        return true;
    if (!is_supported(f))
        return false;
    CUVIDDECODECREATEINFO info = {};
    info.CodecType = f.codec;
    info.ChromaFormat = cudaVideoChromaFormat_420;
    info.OutputFormat = f.bits > 8 ? cudaVideoSurfaceFormat_P016 : cudaVideoSurfaceFormat_NV12;
    info.DeinterlaceMode = cudaVideoDeinterlaceMode_Weave;
    info.ulCreationFlags = cudaVideoCreate_PreferCUVID;
    info.bitDepthMinus8 = (tcu_ulong)(f.bits - 8);
    info.ulWidth = info.ulMaxWidth = info.ulTargetWidth = (tcu_ulong)f.width;
    info.ulHeight = info.ulMaxHeight = info.ulTargetHeight = (tcu_ulong)f.height;
    info.ulNumDecodeSurfaces = (tcu_ulong)f.surfaces;
    info.ulNumOutputSurfaces = MAPPED_MAX;
    *out = {f, NULL};
    if (library()->create_decoder(&out->decoder, &info) == CUDA_SUCCESS)
        return true;
    drop_kept(f.device);
    return library()->create_decoder(&out->decoder, &info) == CUDA_SUCCESS;
}

void video::give_session(const Session &session)
{
    Session oldest = {};
    pthread_mutex_lock(&lock);
    if (kept_count == KEPT_MAX) {
        oldest = kept[0];
        for (int32_t i = 1; i < KEPT_MAX; i++)
            kept[i - 1] = kept[i];
        kept_count--;
    }
    kept[kept_count++] = session;
    pthread_mutex_unlock(&lock);
    if (oldest.decoder)
        (void)library()->destroy_decoder(oldest.decoder);
}

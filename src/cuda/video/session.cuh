// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// NVDEC's library, and its sessions, which are kept for the next stream of the same size: making
// one takes many milliseconds.
#pragma once

#include <cuda.h>
#include <ffnvcodec/dynlink_nvcuvid.h> // needs cuda.h

#include <stdint.h>

namespace video
{

// The functions of libnvcuvid.so.1, which comes with the driver.
struct Library {
    tcuvidGetDecoderCaps *caps;
    tcuvidCreateDecoder *create_decoder;
    tcuvidDestroyDecoder *destroy_decoder;
    tcuvidDecodePicture *decode;
    tcuvidGetDecodeStatus *status;
    tcuvidMapVideoFrame64 *map;
    tcuvidUnmapVideoFrame64 *unmap;
    tcuvidCreateVideoParser *create_parser;
    tcuvidParseVideoData *parse;
    tcuvidDestroyVideoParser *destroy_parser;
};

const Library *library(); // NULL: it is not installed

// What a session decodes: 4:2:0.
struct Format {
    int32_t device;
    cudaVideoCodec codec;
    int32_t width, height, bits; // coded size
    int32_t surfaces;
};

struct Session {
    Format format;
    CUvideodecoder decoder;
};

// The device must be current. false: NVDEC does not decode this, or has no memory.
bool take_session(const Format &format, Session *out);
void give_session(const Session &session); // all pictures must be unmapped

} // namespace video

// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// What static libraries of the compiler take from versions of glibc after the one that wheels need
// (2.28). Without these definitions, the module could not be opened there.

// libstdc++, from 2.32: nonzero if the process certainly has one thread only.
extern "C" {
char __libc_single_threaded = 0;
}

// libgcc, from 2.35: finds how to unwind the stack when an exception is thrown. Nothing catches
// exceptions of this module, so the process ends with or without it.
extern "C" int _dl_find_object(void *, void *)
{
    return -1;
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "curl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define ADVICE "install libcurl 7.68 or newer (Debian and Ubuntu: libcurl4, Fedora: libcurl)"

static void *open_library(void)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so"};
    void *lib = NULL;
    for (size_t i = 0; !lib && i < sizeof names / sizeof names[0]; i++)
        lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    return lib;
}

bool hr__curl_open(curl *out, char *message, size_t size)
{
    const struct {
        const char *name;
        void *to;
    } functions[] = {{"curl_global_init", &out->global_init},
                     {"curl_version", &out->version},
                     {"curl_easy_init", &out->easy_init},
                     {"curl_easy_cleanup", &out->easy_cleanup},
                     {"curl_easy_reset", &out->easy_reset},
                     {"curl_easy_setopt", &out->easy_setopt},
                     {"curl_easy_getinfo", &out->easy_getinfo},
                     {"curl_easy_strerror", &out->easy_strerror},
                     {"curl_slist_append", &out->slist_append},
                     {"curl_slist_free_all", &out->slist_free_all},
                     {"curl_multi_init", &out->multi_init},
                     {"curl_multi_cleanup", &out->multi_cleanup},
                     {"curl_multi_setopt", &out->multi_setopt},
                     {"curl_multi_add_handle", &out->multi_add_handle},
                     {"curl_multi_remove_handle", &out->multi_remove_handle},
                     {"curl_multi_perform", &out->multi_perform},
                     {"curl_multi_poll", &out->multi_poll},
                     {"curl_multi_wakeup", &out->multi_wakeup},
                     {"curl_multi_info_read", &out->multi_info_read}};
    void *lib = open_library();
    if (!lib) {
        const char *why = dlerror();
        snprintf(message, size, "libcurl cannot be opened (%s); " ADVICE, why ? why : "not found");
        return false;
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *symbol = dlsym(lib, functions[i].name);
        if (!symbol) {
            snprintf(message, size, "libcurl is too old: it has no %s; " ADVICE, functions[i].name);
            return false;
        }
        memcpy(functions[i].to, &symbol, sizeof symbol);
    }
    return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "core/library.h"

#include "core/error.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct library_path {
    char text[4096];
} library_path;

/* The file that the environment variable names, or the one beside this library, or the one in
 * library->folder if only that exists. */
static void find(const hr_library *library, library_path *path)
{
    Dl_info self = {0};
    const char *chosen = getenv(library->variable);
    int length = 0;
    if (chosen && chosen[0]) {
        snprintf(path->text, sizeof path->text, "%s", chosen);
        return;
    }
    if (dladdr((void *)(uintptr_t)&hr_library_open, &self) && self.dli_fname) {
        const char *slash = strrchr(self.dli_fname, '/');
        length = slash ? (int)(slash - self.dli_fname) + 1 : 0;
    }
    const char *own = length ? self.dli_fname : "";
    snprintf(path->text, sizeof path->text, "%.*s%s", length, own, library->file);
    if (!library->folder || access(path->text, F_OK) == 0)
        return;
    snprintf(path->text, sizeof path->text, "%.*s%s/%s", length, own, library->folder,
             library->file);
    if (access(path->text, F_OK) != 0) /* messages name the first place */
        snprintf(path->text, sizeof path->text, "%.*s%s", length, own, library->file);
}

hr_status hr_library_open(const hr_library *library, void **entry, hr_error *error)
{
    library_path path;
    find(library, &path);
    /* Never closed, because the libraries inside, such as the CUDA runtime, do not survive that. */
    void *lib = dlopen(path.text, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!lib)
        return hr_fail(error, HR_STATUS_ERROR, "the %s cannot be opened: %s%s%s", library->name,
                       dlerror(), library->advice ? "; " : "",
                       library->advice ? library->advice : "");
    *entry = dlsym(lib, library->entry);
    return *entry ? HR_STATUS_OK : hr_library_check(library, NULL, error);
}

hr_status hr_library_check(const hr_library *library, const void *table, hr_error *error)
{
    const uint32_t *found = table;
    library_path path;
    if (found && found[0] == library->abi && found[1] == library->size)
        return HR_STATUS_OK;
    find(library, &path);
    if (!found)
        return hr_fail(error, HR_STATUS_ERROR, "%s is not a %s of Headrace", path.text,
                       library->name);
    return hr_fail(error, HR_STATUS_ERROR,
                   "%s does not fit this version of Headrace: its ABI is %u with a table of %u "
                   "bytes, expected %u with %u",
                   path.text, found[0], found[1], library->abi, library->size);
}

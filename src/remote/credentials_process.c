/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A program that prints credentials (credential_process of a profile). */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "remote/credentials_fetch.h"
#include "remote/credentials_parse.h"
#include "io/storage.h"

#define ANSWER_SIZE ((size_t)64 << 10)
#define TIMEOUT_MS 60000
#define END_MS 1000 /* after the end of its output */
#define WAIT_MS 50  /* how long a set `cancel` may go unnoticed */

extern char **environ;

/* Starts the program with its output in a pipe; `*from` is the end to read. 0, or an errno. */
static int start(char *const *words, pid_t *pid, int *from)
{
    int ends[2];
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    sigemptyset(&none); /* the calling thread may block signals */
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawn_file_actions_init(&actions);
    int failed = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    failed = failed ? failed : posix_spawnp(pid, words[0], &actions, &attributes, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(ends[1]);
    if (failed)
        close(ends[0]);
    *from = ends[0];
    return failed;
}

/* Reads to the end of the output, which is less than ANSWER_SIZE bytes. */
static hr_status read_output(int fd, char *text, hr_cancel *cancel, hr_error *error)
{
    size_t size = 0;
    int64_t until = hr_clock_ms() + TIMEOUT_MS;
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int ready = poll(&p, 1, WAIT_MS);
        if (hr_cancelled(cancel))
            return hr_fail(error, HR_STATUS_STATE, "it was cancelled");
        if (ready == 0 && hr_clock_ms() > until)
            return hr_fail(error, HR_STATUS_IO, "it did not end within %d s", TIMEOUT_MS / 1000);
        if (ready <= 0)
            continue;
        ssize_t n = read(fd, text + size, ANSWER_SIZE - size);
        if (n < 0 && errno != EINTR)
            return hr_fail_errno(error, errno, "its output cannot be read");
        size += n > 0 ? (size_t)n : 0;
        if (size == ANSWER_SIZE)
            return hr_fail(error, HR_STATUS_LIMIT, "it printed more than %zu bytes",
                           ANSWER_SIZE - 1);
        text[size] = 0;
        if (n == 0)
            return HR_STATUS_OK;
    }
}

/* A program that has closed its output ends soon, or is ended. Somebody else may have waited for
 * the child: then its status is unknown. */
static hr_status end_of(pid_t pid, hr_error *error)
{
    int state = 0;
    pid_t got;
    int64_t until = hr_clock_ms() + END_MS;
    while ((got = waitpid(pid, &state, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
        if (hr_clock_ms() > until)
            kill(pid, SIGKILL);
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    if (got != pid || (WIFEXITED(state) && WEXITSTATUS(state) == 0))
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_IO, "it ended with the %s %d",
                   WIFEXITED(state) ? "status" : "signal",
                   WIFEXITED(state) ? WEXITSTATUS(state) : WTERMSIG(state));
}

static hr_status run(char *const *words, char *text, hr_cancel *cancel, hr_error *error)
{
    pid_t pid;
    int fd = -1, failed = start(words, &pid, &fd);
    if (failed)
        return hr_fail_errno(error, failed, "it cannot be started");
    hr_status status = read_output(fd, text, cancel, error);
    if (status != HR_STATUS_OK)
        kill(pid, SIGKILL);
    close(fd);
    hr_status end = end_of(pid, status == HR_STATUS_OK ? error : NULL);
    return status == HR_STATUS_OK ? end : status;
}

hr_status hr_fetch_process(hr_credentials *out, const char *command, hr_cancel *cancel,
                           hr_error *error)
{
    char *words[HR_WORDS_MAX + 1];
    char *copy = hr_strdup(command, error), *text = hr_calloc(ANSWER_SIZE, 1, error);
    hr_status status = copy && text ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
    if (status == HR_STATUS_OK && !hr_words_split(copy, words))
        status = hr_fail(error, HR_STATUS_VALUE, "it is not a command of at most %d words",
                         HR_WORDS_MAX);
    if (status == HR_STATUS_OK)
        status = run(words, text, cancel, error);
    if (status == HR_STATUS_OK)
        status = hr_credentials_parse(out, HR_ANSWER_PROCESS, text, error);
    hr_free(copy);
    hr_free(text);
    if (status != HR_STATUS_OK && error)
        hr_error_prefix(error, "credential_process '%.200s'", command);
    return status;
}

// SPDX-License-Identifier: Apache-2.0
#include "os/filelock.h"
#include "os/clock.h"
#include "os/fd.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/* The kernel lets go of a lock when the last thread of its holder has ended. kill -9 returns before
 * that, by milliseconds, and by more where much memory has to be given back. Who comes in between
 * waits: the holder is no instance any more, and nobody could do anything but try again. */

#define DYING_MS 2000
#define LOOK_MS 10
#define STAT_BYTES_MAX 4096
/* Fields of /proc/PID/stat, numbered as in proc(5). */
#define FIELD_STATE 3
#define FIELD_FLAGS 9
#define FIELD_PENDING 31   /* signals of the main thread */
#define FLAG_EXITING 0x4ul /* PF_EXITING of linux/sched.h */
#define SIGNAL_BIT(signo) (1ul << ((signo)-1))

/* Counted from behind the name, which may have spaces in it. */
static const char *field(const char *stat, int number)
{
    const char *at = strrchr(stat, ')');
    for (int i = FIELD_STATE; at != NULL && i <= number; i++)
        at = strchr(at + 1, ' ');
    return at != NULL ? at + 1 : "";
}

/* Gone, or on its way: its main thread has ended, or ends, or has been told to. */
static bool is_dying(long pid)
{
    char path[40];
    scoped_str stat = {0};
    (void)snprintf(path, sizeof(path), "/proc/%ld/stat", pid); /* always fits */
    if (file_read(path, STAT_BYTES_MAX, &stat, NULL) < 0)
        return kill((pid_t)pid, 0) < 0 && errno == ESRCH;
    const char *text = str_text(&stat);
    const char *state = field(text, FIELD_STATE);
    return *state == 'Z' || *state == 'X' ||
           (strtoul(field(text, FIELD_FLAGS), NULL, 10) & FLAG_EXITING) != 0 ||
           (strtoul(field(text, FIELD_PENDING), NULL, 10) & SIGNAL_BIT(SIGKILL)) != 0;
}

static long holder_of(int fd)
{
    char text[32] = "";
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    long pid = n > 0 ? strtol(text, NULL, 10) : 0;
    return pid > 0 ? pid : 0;
}

int filelock_take(int fd, int how, long *ret_holder)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    time_ms limit = clock_monotonic() + DYING_MS;
    while (flock(fd, how | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK)
            return -errno;
        long holder = holder_of(fd); /* each time: another one may have got it meanwhile */
        bool has_life = holder == 0 || !is_dying(holder);
        if (has_life || clock_monotonic() >= limit) {
            *ret_holder = has_life ? holder : 0;
            return 0;
        }
        (void)nanosleep(&pause, NULL); /* woken early only means asking early */
    }
    return 1;
}

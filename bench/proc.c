// SPDX-License-Identifier: Apache-2.0
/* schedstat counts nanoseconds where stat counts hundredths of a second, and one event sent to
 * five thousand watchers is over in a few of those. */
#include "bench/proc.h"
#include "base/mem.h"
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define REST_STEP_US 4000
#define REST_STEPS_MAX 25

static uint64_t read_number(const char *path, int skip)
{
    uint64_t number = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    for (int i = 0; i <= skip; i++) {
        if (fscanf(file, "%" SCNu64, &number) != 1)
            number = 0;
    }
    (void)fclose(file); /* only read */
    return number;
}

static uint64_t thread_ns(pid_t pid, const char *thread)
{
    scoped_free char *path = mem_printf("/proc/%d/task/%s/schedstat", (int)pid, thread);
    return read_number(path, 0);
}

struct proc_use proc_use(pid_t pid)
{
    struct proc_use use = {0};
    scoped_free char *tasks = mem_printf("/proc/%d/task", (int)pid);
    scoped_free char *statm = mem_printf("/proc/%d/statm", (int)pid);
    DIR *dir = opendir(tasks);
    if (dir == NULL)
        return use;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        uint64_t ns = thread_ns(pid, entry->d_name);
        use.cpu_ns += ns;
        if (strtol(entry->d_name, NULL, 10) == pid)
            use.main_ns = ns;
    }
    (void)closedir(dir);
    use.rss_bytes = read_number(statm, 1) * (uint64_t)sysconf(_SC_PAGESIZE);
    return use;
}

struct proc_use proc_use_at_rest(pid_t pid)
{
    struct proc_use now = proc_use(pid);
    for (int i = 0; i < REST_STEPS_MAX; i++) {
        struct proc_use before = now;
        (void)usleep(REST_STEP_US);
        now = proc_use(pid);
        if (now.cpu_ns == before.cpu_ns)
            break;
    }
    return now;
}

uint64_t proc_clock_ns(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at); /* cannot fail for this clock */
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

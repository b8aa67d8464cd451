// SPDX-License-Identifier: Apache-2.0
#include "node/procfs.h"
#include "base/mem.h"
#include <string.h>

static struct sv next_word(struct sv *rest)
{
    while (rest->len > 0 && (*rest->ptr == ' ' || *rest->ptr == '\t')) {
        rest->ptr++;
        rest->len--;
    }
    return sv_cut(rest, ' ');
}

static bool number_of(struct sv word, double *ret)
{
    double value = 0, scale = 1;
    bool has_point = false;
    for (size_t i = 0; i < word.len; i++) {
        char c = word.ptr[i];
        if (c == '.' && !has_point) {
            has_point = true;
            continue;
        }
        if (c < '0' || c > '9')
            return false;
        value = value * 10 + (c - '0');
        scale *= has_point ? 10 : 1;
    }
    *ret = value / scale;
    return word.len > (size_t)has_point && word.len < 30;
}

static bool next_number(struct sv *rest, double *ret)
{
    return number_of(next_word(rest), ret);
}

bool procfs_cpu(struct sv stat, double *ret_busy, double *ret_total)
{
    enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, COUNT };
    struct sv line = sv_cut(&stat, '\n');
    if (!sv_is(next_word(&line), "cpu"))
        return false;
    double busy = 0, idle = 0;
    for (int i = 0; i < COUNT; i++) {
        double ticks = 0;
        if (!next_number(&line, &ticks))
            return false;
        if (i == IDLE || i == IOWAIT)
            idle += ticks;
        else
            busy += ticks;
    }
    *ret_busy = busy;
    *ret_total = busy + idle;
    return true;
}

bool procfs_stall_ms(struct sv pressure, double *ret_ms)
{
    struct sv line = sv_cut(&pressure, '\n');
    if (!sv_is(next_word(&line), "some"))
        return false;
    while (line.len > 0) {
        struct sv value = next_word(&line);
        struct sv name = sv_cut(&value, '=');
        double us = 0;
        if (!sv_is(name, "total"))
            continue;
        if (!number_of(value, &us))
            return false;
        *ret_ms = us / 1000;
        return true;
    }
    return false;
}

/* ---- disks ---- */

static bool is_stacked(struct sv name)
{
    static const char *const PREFIXES[] = {"loop", "ram", "zram", "dm-", "md", "sr", "fd"};
    for (size_t i = 0; i < ARRAY_LEN(PREFIXES); i++)
        if (sv_starts(name, PREFIXES[i]))
            return true;
    return false;
}

/* "vda1" of "vda", "nvme0n1p2" of "nvme0n1". A disk stands right before its partitions. */
static bool is_part_of(struct sv name, struct sv disk)
{
    if (disk.len == 0 || name.len <= disk.len || memcmp(name.ptr, disk.ptr, disk.len) != 0)
        return false;
    struct sv rest = {name.ptr + disk.len, name.len - disk.len};
    char last = disk.ptr[disk.len - 1];
    bool needs_p = last >= '0' && last <= '9';
    if (needs_p && *rest.ptr != 'p')
        return false;
    rest.ptr += needs_p;
    rest.len -= needs_p;
    double number;
    return number_of(rest, &number);
}

bool procfs_disk_ms(struct sv diskstats, double *ret_ms)
{
    enum { IO_TICKS = 9 }; /* of the numbers behind the name */
    double sum = 0;
    bool has_disk = false;
    struct sv disk = {0};
    while (diskstats.len > 0) {
        struct sv line = sv_cut(&diskstats, '\n');
        double ms = 0;
        (void)next_word(&line); /* major */
        (void)next_word(&line); /* minor */
        struct sv name = next_word(&line);
        if (is_stacked(name) || is_part_of(name, disk))
            continue;
        disk = name;
        for (int i = 0; i < IO_TICKS; i++)
            (void)next_word(&line);
        if (!next_number(&line, &ms))
            continue;
        sum += ms;
        has_disk = true;
    }
    if (has_disk)
        *ret_ms = sum;
    return has_disk;
}

bool procfs_load1(struct sv loadavg, double *ret_load)
{
    double load = 0;
    if (!next_number(&loadavg, &load))
        return false;
    *ret_load = load;
    return true;
}

/* ---- control groups ---- */

static bool has_cpu(struct sv controllers)
{
    while (controllers.len > 0)
        if (sv_is(sv_cut(&controllers, ','), "cpu"))
            return true;
    return false;
}

bool procfs_cpu_group(struct sv cgroup, bool is_v2, struct procfs_group *ret_group)
{
    while (cgroup.len > 0) {
        struct sv path = sv_cut(&cgroup, '\n');
        struct sv number = sv_cut(&path, ':');
        struct sv controllers = sv_cut(&path, ':');
        bool is_it = is_v2 ? sv_is(number, "0") && controllers.len == 0 : has_cpu(controllers);
        if (!is_it || path.len == 0 || *path.ptr != '/')
            continue;
        *ret_group = (struct procfs_group){controllers, path};
        return true;
    }
    return false;
}

bool procfs_quota(struct sv cpu_max, double *ret_cores)
{
    struct sv line = sv_cut(&cpu_max, '\n');
    double quota = 0, period = 0;
    if (!next_number(&line, &quota) || !next_number(&line, &period) || quota <= 0 || period <= 0)
        return false;
    *ret_cores = quota / period;
    return true;
}

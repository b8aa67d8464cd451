// SPDX-License-Identifier: Apache-2.0
#include "node/procfs.h"
#include "node/sampler.h"
#include "os/fd.h"
#include <ftw.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct folder {
    char path[64];
};

static void folder_open(struct folder *folder)
{
    (void)snprintf(folder->path, sizeof(folder->path), "/tmp/muster-sampler-XXXXXX");
    assert_non_null(mkdtemp(folder->path));
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void folder_close(struct folder *folder)
{
    assert_int_equal(nftw(folder->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void write_file(const struct folder *folder, const char *name, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", folder->path, name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(dir_make(path, 0755, NULL), 0);
    *slash = '/';
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fputs(text, file) >= 0 && fclose(file) == 0, 1);
}

static void assert_near(double have, double want)
{
    if (have < want - 1e-6 || have > want + 1e-6)
        fail_msg("%f instead of %f", have, want);
}

/* ---- samples ---- */

static void test_a_sample(void **state)
{
    (void)state;
    struct folder folder;
    folder_open(&folder);
    write_file(&folder, "stat",
               "cpu  100 20 30 4000 500 6 7 80 9000 9000\ncpu0 1 2 3 4 5 6 7 8 0 0\n");
    write_file(&folder, "pressure/cpu",
               "some avg10=48.96 avg60=62.97 avg300=59.31 total=6185833984\n"
               "full avg10=0.00 avg60=0.00 avg300=0.00 total=17\n");
    write_file(&folder, "pressure/io",
               "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500\n"
               "full avg10=0.00 avg60=0.00 avg300=0.00 total=1\n");
    write_file(&folder, "loadavg", "1.52 0.58 0.59 3/602 12345\n");
    struct gate_sample sample;
    sampler_take(folder.path, 1234, &sample);
    assert_int_equal(sample.at, 1234);
    assert_near(sample.cpu_busy, 100 + 20 + 30 + 6 + 7 + 80); /* steal is, iowait is not */
    assert_near(sample.cpu_total, 4743);                      /* guests are in their users' time */
    assert_near(sample.pressure_stall_ms, 6185833.984);
    assert_near(sample.io_stall_ms, 2.5);
    assert_near(sample.load1, 1.52);
    folder_close(&folder);
}

static void test_disks_when_there_is_no_pressure(void **state)
{
    (void)state;
    struct folder folder;
    folder_open(&folder);
    struct gate_sample sample;
    sampler_take(folder.path, 1, &sample); /* nothing is there at all */
    assert_true(sample.cpu_busy < 0 && sample.io_stall_ms < 0 && sample.pressure_stall_ms < 0 &&
                sample.load1 < 0);
    write_file(&folder, "diskstats",
               "   7       0 loop0 9 9 9 9 9 9 9 9 9 5000 9 0 0 0 0 0 0\n"
               " 254       0 vda 377224 47620 13665354 296677 3290781 249807 137318616 3254539 0 "
               "274900 3651375 207229 92 52796616 45068 502356 55089\n"
               " 254       1 vda1 9 9 9 9 9 9 9 9 9 270000 9\n"
               " 259       0 nvme0n1 9 9 9 9 9 9 9 9 9 1000 9\n"
               " 259       1 nvme0n1p1 9 9 9 9 9 9 9 9 9 900 9\n"
               " 259       2 nvme0n11 9 9 9 9 9 9 9 9 9 30 9\n" /* a disk of its own */
               " 253       0 dm-0 9 9 9 9 9 9 9 9 9 5000 9\n"
               " 253       0 zram0 9 9 9 9 9 9 9 9 9 5000 9\n");
    sampler_take(folder.path, 1, &sample);
    assert_near(sample.io_stall_ms, 274900 + 1000 + 30);
    write_file(&folder, "pressure/io", "");
    sampler_take(folder.path, 1, &sample);
    assert_near(sample.io_stall_ms, 274900 + 1000 + 30);
    folder_close(&folder);
}

static void test_broken_files(void **state)
{
    (void)state;
    static const char *const stats[] = {"",
                                        "cpu",
                                        "cpu  1 2 3 4 5 6 7",
                                        "cpu0 1 2 3 4 5 6 7 8",
                                        "cpu 1 2 3 x 5 6 7 8",
                                        "cpu 1 2 3 -4 5 6 7 8"};
    double a = -1, b = -1;
    for (size_t i = 0; i < sizeof(stats) / sizeof(stats[0]); i++)
        if (procfs_cpu(sv_of(stats[i]), &a, &b))
            fail_msg("'%s' was read", stats[i]);
    static const char *const pressures[] = {
        "", "some", "full total=5", "some avg10=1.0", "some total=", "some total=x"};
    for (size_t i = 0; i < sizeof(pressures) / sizeof(pressures[0]); i++)
        if (procfs_stall_ms(sv_of(pressures[i]), &a))
            fail_msg("'%s' was read", pressures[i]);
    assert_false(procfs_load1(SV("a 1 2"), &a));
    assert_false(procfs_disk_ms(SV("1 2\n\n 254 0 vda 1 2\n"), &a));
    assert_true(a == -1 && b == -1);
}

/* The real ones: counters grow while we work, and gates can judge them. */
static void test_this_machine(void **state)
{
    (void)state;
    struct gate_sample first, second;
    sampler_take("/proc", 1000, &first);
    assert_true(first.cpu_busy > 0 && first.cpu_total > first.cpu_busy);
    assert_true(first.load1 >= 0);
    if (file_exists("/proc/pressure/io"))
        assert_true(first.io_stall_ms >= 0 && first.pressure_stall_ms >= 0);
    volatile uint64_t work = 0;
    do { /* busy until a tick was counted */
        for (int i = 0; i < 1000000; i++)
            work = work + 1;
        sampler_take("/proc", 2000, &second);
    } while (second.cpu_busy < first.cpu_busy + 5);
    assert_true(second.cpu_total > first.cpu_total);
    assert_true(second.cpu_total - first.cpu_total >= second.cpu_busy - first.cpu_busy);
    struct gate_settings settings;
    gate_settings_default(&settings, 2);
    settings.max_cpu = 0.000001; /* anything is more */
    struct gate *gate = gate_new(&settings);
    gate_sample(gate, &first);
    gate_sample(gate, &second);
    assert_int_equal(gate_ask(gate, true, 2000).gate, GATE_CPU);
    gate_free(gate);
}

/* ---- cores ---- */

static double affinity(void)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
    return CPU_COUNT(&set);
}

static void test_affinity(void **state)
{
    (void)state;
    double all = affinity();
    double here = sampler_cores("/proc", "/sys/fs/cgroup");
    assert_true(here > 0 && here <= all);
    assert_near(sampler_cores("/nonexistent", "/nonexistent"), all);
    cpu_set_t old, one;
    assert_int_equal(sched_getaffinity(0, sizeof(old), &old), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &old))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_near(sampler_cores("/nonexistent", "/nonexistent"), 1);
    assert_int_equal(sched_setaffinity(0, sizeof(old), &old), 0);
}

static void test_quota(void **state)
{
    (void)state;
    double all = affinity();
    static const struct {
        const char *cgroup;   /* of ourselves */
        const char *files[8]; /* name, text, ... */
        double cores;         /* 0: as many as there are */
    } rows[] = {
        {"0::/a/b\n", {"cg/a/b/cpu.max", "max 100000\n"}, 0},
        {"0::/a/b\n", {"cg/a/b/cpu.max", "50000 100000\n"}, 0.5},
        {"0::/a/b\n", {"cg/a/b/cpu.max", "90000 100000", "cg/a/cpu.max", "25000 100000"}, 0.25},
        {"0::/a/b\n", {"cg/a/b/cpu.max", "25000 100000", "cg/a/cpu.max", "90000 100000"}, 0.25},
        {"0::/a/b\n", {"cg/a/b/cpu.max", "100000000 100000\n"}, 0},
        {"0::/\n", {"cg/cpu.max", "75000 100000\n"}, 0.75},
        {"0::/../../x\n", {"cg/cpu.max", "75000 100000\n", "x/cpu.max", "1000 100000"}, 0.75},
        /* Inside a container: its host's path, its own root. */
        {"0::/host/only\n", {"cg/cpu.max", "75000 100000\n"}, 0.75},
        {"0::/a\n", {"cg/a/cpu.max", "1 100000000\n"}, 0.01},
        {"0::/a\n", {"cg/a/cpu.max", "nonsense\n"}, 0},
        {"4:cpu,cpuacct:/a\n0::/\n",
         {"cg/cpu,cpuacct/a/cpu.cfs_quota_us", "50000\n", "cg/cpu,cpuacct/a/cpu.cfs_period_us",
          "100000\n"},
         0.5},
        {"4:cpu,cpuacct:/a\n",
         {"cg/cpu/a/cpu.cfs_quota_us", "20000\n", "cg/cpu/a/cpu.cfs_period_us", "100000\n"},
         0.2},
        {"1:cpu:/\n3:cpuset:/\n0::/\n",
         {"cg/cpu/cpu.cfs_quota_us", "-1\n", "cg/cpu/cpu.cfs_period_us", "100000\n"},
         0},
        {"1:cpu:/\n0::/u\n",
         {"cg/cpu/cpu.cfs_quota_us", "-1\n", "cg/cpu/cpu.cfs_period_us", "100000\n",
          "cg/unified/u/cpu.max", "30000 100000\n"},
         0.3},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct folder folder;
        folder_open(&folder);
        write_file(&folder, "self/cgroup", rows[i].cgroup);
        for (size_t f = 0; f + 1 < 8 && rows[i].files[f]; f += 2)
            write_file(&folder, rows[i].files[f], rows[i].files[f + 1]);
        scoped_str root = {0};
        str_addf(&root, "%s/cg", folder.path);
        double cores = sampler_cores(folder.path, str_text(&root));
        double want = rows[i].cores > 0 ? rows[i].cores : all;
        if (cores < want - 1e-9 || cores > want + 1e-9)
            fail_msg("row %zu: %g cores instead of %g", i, cores, want);
        folder_close(&folder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sample),     cmocka_unit_test(test_disks_when_there_is_no_pressure),
        cmocka_unit_test(test_broken_files), cmocka_unit_test(test_this_machine),
        cmocka_unit_test(test_affinity),     cmocka_unit_test(test_quota),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
/* Where hierarchies are, and which values go into which files of v2: against texts and an IMITATION
 * of cgroupfs made of plain files, for layouts that the machine at hand may not have. The kernel's
 * part is in test_cgroup.c. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/mem.h"
#include "node/cgroup_internal.h"
#include "os/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct place_row {
    const char *name, *mountinfo, *self, *expected;
};

// clang-format off
static const struct place_row PLACES[] = {
    {"mixed", "1 2 0:1 / /r/cpu rw - cgroup cgroup rw,cpu\n"
              "1 2 0:1 / /r/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
              "1 2 0:1 / /r/systemd rw - cgroup cgroup rw,name=systemd\n"
              "1 2 0:1 / /r/unified rw - cgroup2 cgroup2 rw\n",
              "3:name=systemd:/\n2:memory:/box/7\n1:cpu:/\n0::/\n",
              "v2 /r/unified + |cpu /r/cpu + |memory /r/memory + /box/7|"},
    {"pure v2", "1 2 0:1 / /r rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
              "0::/user.slice/user-1000.slice/session-2.scope\n",
              "v2 /r + /user.slice/user-1000.slice/session-2.scope|"},
    {"mounted together", "1 2 0:1 / /r/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n",
              "4:cpu,cpuacct:/a:b\n", "cpu cpuacct /r/cpu,cpuacct + /a:b|"},
    {"container that sees the whole path", "1 2 0:1 /docker/abc /r/pids ro - cgroup cgroup rw,pids\n",
              "4:pids:/docker/abc\n", "pids /r/pids + |"},
    {"deeper in it", "1 2 0:1 /docker/abc /r/pids rw - cgroup cgroup rw,pids\n",
              "4:pids:/docker/abc/x y\n", "pids /r/pids + /x y|"},
    {"foreign paths", "1 2 0:1 /docker/abc /r/pids rw - cgroup cgroup rw,pids\n",
              "4:pids:/docker/abcd\n", "pids /r/pids + |"},
    {"outside of the name space", "1 2 0:1 / /r rw - cgroup2 cgroup2 rw\n", "0::/../../other\n", "v2 /r + |"},
    {"not in the list", "1 2 0:1 / /r/cpu rw - cgroup cgroup rw,cpu\n", "", "cpu /r/cpu + |"},
    {"elsewhere", "1 2 0:1 / /rx rw - cgroup2 cgroup2 rw\n1 2 0:1 / / rw - ext4 x rw\n", "0::/\n", ""},
    {"twice", "1 2 0:1 / /r/a rw - cgroup2 cgroup2 rw\n1 2 0:1 / /r/b rw - cgroup2 cgroup2 rw\n", "0::/\n",
              "v2 /r/a + |"},
    {"blanks", "1 2 0:1 / /r/a\\040b\\134 rw - cgroup2 cgroup2 rw\n", "0::/\n", "v2 /r/a b\\ + |"},
    {"own group of a former self", "1 2 0:1 / /r rw - cgroup2 cgroup2 rw\n",
              "0::/x/muster.slice/n%2f1/supervisor.scope\n", "v2 /r + /x aside|"},
    {"pod of somebody with the same name", "1 2 0:1 / /r rw - cgroup2 cgroup2 rw\n",
              "0::/muster.slice/n%2f1/pod-1.slice/c.g1.scope\n",
              "v2 /r + /muster.slice/n%2f1/pod-1.slice/c.g1.scope|"},
    {"another node's own group", "1 2 0:1 / /r rw - cgroup2 cgroup2 rw\n",
              "0::/muster.slice/other/supervisor.scope\n", "v2 /r +  aside|"},
    {"a scope of somebody else", "1 2 0:1 / /r rw - cgroup2 cgroup2 rw\n",
              "0::/a/b.scope\n", "v2 /r + /a/b.scope|"},
    {"garbage", "\n - \n1 2 3 4\n1 2 0:1 / /r rw - cgroup2", "0:\n:::\n0::x\n", "v2 /r + |"},
};
// clang-format on

static void describe(const struct cgroup_places *places, struct str *out)
{
    for (size_t i = 0; i < places->len; i++) {
        const struct cgroup_place *place = &places->items[i];
        str_add(out, place->is_v2 ? "v2 " : "");
        for (unsigned c = 0; c < CTL_COUNT; c++)
            if (place->controllers & 1U << c)
                str_addf(out, "%s ", CTL_NAMES[c]);
        str_addf(out, "%s + %s%s|", place->mount, place->own, place->is_aside ? " aside" : "");
    }
}

static void test_places(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(PLACES); i++) {
        struct cgroup_places places = {0};
        scoped_str got = {0};
        cgroup_places_parse(PLACES[i].mountinfo, PLACES[i].self, "/r", &places);
        describe(&places, &got);
        cgroup_places_done(&places);
        if (!str_eq(str_text(&got), PLACES[i].expected))
            fail_msg("%s: '%s' instead of '%s'", PLACES[i].name, str_text(&got),
                     PLACES[i].expected);
    }
}

/* An imitation: a folder with the files that v2 has, where plain files take whatever is written. */
static char root[64];

static void put(const char *path, const char *text)
{
    struct err err = {0};
    scoped_free char *full = mem_printf("%s%s", root, path);
    scoped_free char *folder = mem_strndup(full, (size_t)(strrchr(full, '/') - full));
    if (dir_make(folder, 0755, &err) < 0 || file_replace(full, text, strlen(text), 0644, &err) < 0)
        fail_msg("%s", err.text);
}

static void expect(const char *path, const char *text)
{
    scoped_free char *folder = mem_printf("%s%s", root, path);
    char *slash = strrchr(folder, '/');
    scoped_str got = {0};
    *slash = '\0';
    cgroup_file_read(folder, slash + 1, &got);
    if (!str_eq(str_text(&got), text))
        fail_msg("%s is '%s' instead of '%s'", path, str_text(&got), text);
}

static void put_group(const char *dir)
{
    static const char *const files[] = {
        "cgroup.controllers",
        "cgroup.subtree_control",
        "cgroup.procs",
        "cgroup.kill",
        "cgroup.events",
        "cpu.weight",
        "cpu.max",
        "memory.max",
        "memory.swap.max",
        "memory.oom.group",
        "pids.max",
    };
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        scoped_free char *path = mem_printf("%s/%s", dir, files[i]);
        put(path, "");
    }
}

static int setup(void **state)
{
    (void)state;
    (void)snprintf(root, sizeof(root), "/tmp/test_places.XXXXXX");
    assert_non_null(mkdtemp(root));
    scoped_free char *mounts = mem_printf("1 2 0:1 / %s/fs rw - cgroup2 cgroup2 rw\n", root);
    put("/proc/self/mountinfo", mounts);
    put("/proc/self/cgroup", "0::/own\n");
    put_group("/fs/own");
    put("/fs/own/cgroup.controllers", "cpuset cpu io memory pids\n");
    put_group("/fs/own/muster.slice");
    put_group("/fs/own/muster.slice/n");
    put_group("/fs/own/muster.slice/n/pod-u.slice");
    put_group("/fs/own/muster.slice/n/pod-u.slice/c.g1.scope");
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static int teardown(void **state)
{
    (void)state;
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static struct cgroup_tree *imitation_open(struct str *why)
{
    scoped_free char *proc = mem_printf("%s/proc", root);
    scoped_free char *fs = mem_printf("%s/fs", root);
    return cgroup_tree_open_in(proc, fs, "n", why);
}

#define POD "/fs/own/muster.slice/n/pod-u.slice"
#define LEAF POD "/c.g1.scope"

static void test_imitated_v2_limits(void **state)
{
    scoped_str why = {0};
    struct err err = {0};
    struct cgroup_door door = {0};
    (void)state;
    struct cgroup_tree *tree = imitation_open(&why);
    assert_string_equal(str_text(&why), "");
    struct cgroup_can can = cgroup_can(tree);
    assert_true(can.is_there && can.cpu && can.cpu_max && can.memory && can.pids);
    assert_true(can.kill && can.events);
    expect("/fs/own/cgroup.subtree_control", "+cpu +memory +pids");
    expect("/fs/own/muster.slice/cgroup.subtree_control", "+cpu +memory +pids");
    expect("/fs/own/muster.slice/n/cgroup.subtree_control", "+cpu +memory +pids");
    struct cgroup_limits pod = {.cpu_weight = 25, .memory_bytes = 4096 << 10};
    assert_int_equal(cgroup_pod_make(tree, "u", &pod, &err), 0);
    expect(POD "/cgroup.subtree_control", "+cpu +memory +pids");
    expect(POD "/cpu.weight", "25");
    expect(POD "/cpu.max", "");
    expect(POD "/memory.max", "4194304");
    expect(POD "/memory.swap.max", "0");
    expect(POD "/memory.oom.group", "");
    struct cgroup_limits leaf = {100, 1500, 1 << 20, 12};
    assert_int_equal(cgroup_leaf_make(tree, "u", "c.g1", &leaf, &err), 0);
    expect(LEAF "/cpu.max", "150000 100000");
    expect(LEAF "/memory.max", "1048576");
    expect(LEAF "/memory.oom.group", "1");
    expect(LEAF "/pids.max", "12");
    expect(LEAF "/cgroup.subtree_control", "");
    leaf.cpu_max_milli = 1;
    assert_int_equal(cgroup_leaf_make(tree, "u", "c.g1", &leaf, &err), 0);
    expect(LEAF "/cpu.max", "1000 100000");
    assert_int_equal(cgroup_pod_weigh(tree, "u", 100, &err), 0);
    expect(POD "/cpu.weight", "100");
    cgroup_leaf_door(tree, "u", "c.g1", &door);
    assert_true(str_ends(door.v2, LEAF));
    assert_null(door.join[0]);
    cgroup_door_done(&door);
    assert_int_equal(cgroup_leaf_kill(tree, "u", "c.g1"), 0);
    expect(LEAF "/cgroup.kill", "1");
    cgroup_tree_close(tree);
}

static void test_imitated_v2_readings(void **state)
{
    struct cgroup_usage usage = {0};
    (void)state;
    put(LEAF "/memory.current", "9000\n");
    put(LEAF "/memory.stat", "anon 5000\nfile 4000\ninactive_file 3000\nactive_file 1000\n");
    put(LEAF "/memory.events", "low 0\nhigh 0\nmax 4\noom 2\noom_kill 3\noom_group_kill 1\n");
    put(LEAF "/cpu.stat", "usage_usec 1234\nuser_usec 1000\n");
    put(LEAF "/cgroup.events", "populated 1\nfrozen 0\n");
    struct cgroup_tree *tree = imitation_open(NULL);
    assert_int_equal(cgroup_leaf_oom_kills(tree, "u", "c.g1"), 3);
    assert_true(cgroup_leaf_is_populated(tree, "u", "c.g1"));
    assert_int_equal(cgroup_leaf_usage(tree, "u", "c.g1", &usage), 0);
    assert_int_equal(usage.cpu_ns, 1234000);
    assert_int_equal(usage.memory_bytes, 6000);
    assert_int_equal(usage.processes, 0);
    put(LEAF "/memory.stat", "inactive_file 99999\n");
    put(LEAF "/memory.events", "garbage\n");
    put(LEAF "/cpu.stat", "usage_usec x\n");
    put(LEAF "/cgroup.events", "");
    assert_int_equal(cgroup_leaf_oom_kills(tree, "u", "c.g1"), 0);
    assert_false(cgroup_leaf_is_populated(tree, "u", "c.g1"));
    assert_int_equal(cgroup_leaf_usage(tree, "u", "c.g1", &usage), 0);
    assert_int_equal(usage.cpu_ns, -1);
    assert_int_equal(usage.memory_bytes, 9000);
    cgroup_tree_close(tree);
}

/* Controllers that stay away do not keep the tree from being used. */
static void test_imitated_v2_without_controllers(void **state)
{
    scoped_str why = {0};
    struct err err = {0};
    (void)state;
    put("/fs/own/cgroup.controllers", "io\n");
    struct cgroup_tree *tree = imitation_open(&why);
    assert_string_equal(str_text(&why), "no controller for cpu memory pids");
    assert_true(cgroup_can(tree).is_there);
    assert_false(cgroup_can(tree).memory);
    struct cgroup_limits leaf = {100, 1500, 1 << 20, 12};
    assert_int_equal(cgroup_leaf_make(tree, "u", "c.g1", &leaf, &err), 0);
    expect(LEAF "/memory.max", "");
    expect("/fs/own/cgroup.subtree_control", "");
    cgroup_tree_close(tree);
}

int main(void)
{
#define IMITATED(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        IMITATED(test_imitated_v2_limits),
        IMITATED(test_imitated_v2_readings),
        IMITATED(test_imitated_v2_without_controllers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

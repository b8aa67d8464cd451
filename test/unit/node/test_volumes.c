// SPDX-License-Identifier: Apache-2.0
/* Volumes on a real disk, filled with what a hostile container might leave. */
#include "base/mem.h"
#include "base/str.h"
#include "node/tree.h"
#include "node/volumes.h"
#include "os/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define DEPTH 5000
#define PLENTY SIZE_MAX

struct stage {
    char dir[40];
    char *pods, *outside;
    struct volumes *volumes;
    struct arena arena;
    const struct spawn_mount *mounts;
    struct err err;
};

static char *path_of(const struct stage *s, const char *below)
{
    return mem_printf("%s/%s", s->dir, below);
}

static void write_text(const char *path, const char *text)
{
    if (file_replace(path, text, strlen(text), 0644, NULL) < 0)
        fail_msg("cannot write %s", path);
}

static void stage_begin(struct stage *s)
{
    *s = (struct stage){.dir = "/tmp/muster-volumes-XXXXXX"};
    assert_non_null(mkdtemp(s->dir));
    s->pods = path_of(s, "pods");
    s->outside = path_of(s, "outside");
    assert_int_equal(mkdir(s->outside, 0755), 0);
    scoped_free char *precious = mem_printf("%s/precious", s->outside);
    write_text(precious, "keep");
    assert_int_equal(volumes_new(s->pods, &s->volumes, NULL), 0);
}

static bool precious_is_there(const struct stage *s)
{
    scoped_free char *precious = mem_printf("%s/precious", s->outside);
    scoped_str text = {0};
    return file_read(precious, 100, &text, NULL) >= 0 && str_eq(str_text(&text), "keep");
}

/* The volumes must have gone by now; nothing outside may have been touched. */
static void stage_end(struct stage *s)
{
    assert_true(precious_is_there(s));
    scoped_free char *precious = mem_printf("%s/precious", s->outside);
    assert_int_equal(unlink(precious), 0);
    assert_int_equal(rmdir(s->outside), 0);
    assert_int_equal(rmdir(s->pods), 0);
    assert_int_equal(rmdir(s->dir), 0);
    volumes_free(s->volumes);
    arena_done(&s->arena);
    mem_free(s->pods);
    mem_free(s->outside);
}

static int make(struct stage *s, const struct launch_mount *mounts, size_t n)
{
    struct launch launch = {.mounts = mounts, .n_mounts = n, .fs_group = -1};
    s->err = (struct err){0};
    return volumes_make(s->volumes, "u1", &launch, &s->arena, &s->mounts, &s->err);
}

static void make_well(struct stage *s, const struct launch_mount *mount)
{
    if (make(s, mount, 1) < 0)
        fail_msg("%s", s->err.text);
}

static void remove_well(struct stage *s)
{
    struct err err = {0};
    if (volumes_remove(s->volumes, "u1", PLENTY, &err) != 0)
        fail_msg("%s", err.text);
}

static void expect_file(const struct stage *s, const char *below, const char *want)
{
    const char *source = s->mounts[0].source;
    scoped_free char *path = mem_printf("%s%s%s", source, *below != '\0' ? "/" : "", below);
    scoped_str text = {0};
    struct err err = {0};
    if (file_read(path, 10000, &text, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(str_text(&text), want);
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static const struct launch_mount EMPTY = {
    .type = MOUNT_EMPTY_DIR, .volume = "scratch", .path = "/data"};

/* ---- emptyDir ---- */

static void test_empty_dir(void **state)
{
    (void)state;
    struct stage s;
    stage_begin(&s);
    make_well(&s, &EMPTY);
    scoped_free char *want = mem_printf("%s/u1/volumes/scratch", s.pods);
    assert_string_equal(s.mounts[0].source, want);
    assert_string_equal(s.mounts[0].target, "/data");
    assert_false(s.mounts[0].is_read_only);
    assert_int_equal(mode_of(want), 0777);
    scoped_free char *file = mem_printf("%s/note", want);
    write_text(file, "mine");
    make_well(&s, &EMPTY); /* the container again: what it wrote stays */
    expect_file(&s, "note", "mine");
    remove_well(&s);
    assert_false(file_exists(want));
    remove_well(&s); /* nothing there is fine */
    stage_end(&s);
}

static bool may_mount(const struct stage *s)
{
    bool may = mount("tmpfs", s->outside, "tmpfs", 0, "size=4096") == 0;
    if (may)
        assert_int_equal(umount2(s->outside, MNT_DETACH), 0);
    return may;
}

static void test_memory(void **state)
{
    (void)state;
    struct stage s;
    stage_begin(&s);
    struct launch_mount memory = EMPTY;
    memory.is_memory = true;
    memory.size_bytes = 65536;
    bool may = may_mount(&s);
    for (int i = 0; i < 2; i++) { /* a second container does not mount it again */
        make_well(&s, &memory);
        struct stat inner, outer;
        assert_int_equal(stat(s.mounts[0].source, &inner), 0);
        assert_int_equal(stat(s.pods, &outer), 0);
        assert_int_equal(inner.st_dev != outer.st_dev, may);
        assert_int_equal(inner.st_mode & 0777, 0777);
    }
    scoped_free char *file = mem_printf("%s/note", s.mounts[0].source);
    write_text(file, "mine");
    remove_well(&s);
    stage_end(&s);
}

static void test_fs_group(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    struct stage s;
    stage_begin(&s);
    static const struct launch_file FILES[] = {{"key", "v", 1, 0600}};
    const struct launch_mount mounts[] = {
        EMPTY,
        {.type = MOUNT_CONFIG_MAP, .volume = "c", .path = "/c", .n_files = 1, .files = FILES}};
    struct launch launch = {.mounts = mounts, .n_mounts = 2, .fs_group = 4242};
    assert_int_equal(volumes_make(s.volumes, "u1", &launch, &s.arena, &s.mounts, NULL), 0);
    struct stat st;
    assert_int_equal(stat(s.mounts[0].source, &st), 0);
    assert_int_equal(st.st_gid, 4242);
    assert_int_equal(st.st_mode & 07777, 02777);
    scoped_free char *file = mem_printf("%s/key", s.mounts[1].source);
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_gid, 4242);
    assert_int_equal(st.st_mode & 0777, 0640);
    remove_well(&s);
    stage_end(&s);
}

/* ---- files ---- */

static struct launch_mount files_mount(const struct launch_file *files, size_t n)
{
    return (struct launch_mount){.type = MOUNT_CONFIG_MAP,
                                 .volume = "conf",
                                 .path = "/etc/app",
                                 .is_read_only = true,
                                 .n_files = n,
                                 .files = files};
}

static void test_files(void **state)
{
    static const struct launch_file FIRST[] = {
        {"color", "red", 3, 0644}, {"deep/er/size", "9", 1, 0400}, {"deep/x", "", 0, 0600}};
    static const struct launch_file SECOND[] = {{"color", "blue", 4, 0644}, {"new", "n", 1, 0640}};
    (void)state;
    mode_t mask = umask(077); /* modes are those of the pod */
    struct stage s;
    stage_begin(&s);
    struct launch_mount mount = files_mount(FIRST, 3);
    make_well(&s, &mount);
    assert_true(s.mounts[0].is_read_only);
    expect_file(&s, "color", "red");
    expect_file(&s, "deep/er/size", "9");
    scoped_free char *size = mem_printf("%s/deep/er/size", s.mounts[0].source);
    assert_int_equal(mode_of(size), 0400);

    struct launch launch = {.mounts = &mount, .n_mounts = 1, .fs_group = -1};
    assert_int_equal(volumes_refresh(s.volumes, "u1", &launch, NULL), 0); /* nothing new */
    mount = files_mount(SECOND, 2);
    assert_int_equal(volumes_refresh(s.volumes, "u1", &launch, NULL), 1);
    expect_file(&s, "color", "blue");
    expect_file(&s, "new", "n");
    assert_false(file_exists(size));
    scoped_free char *deep = mem_printf("%s/deep", s.mounts[0].source);
    struct stat st;
    assert_int_equal(lstat(deep, &st), -1); /* not even the link */
    mount = files_mount(NULL, 0);
    assert_int_equal(volumes_refresh(s.volumes, "u1", &launch, NULL), 1);
    scoped_free char *color = mem_printf("%s/color", s.mounts[0].source);
    assert_int_equal(lstat(color, &st), -1);
    assert_int_equal(volumes_refresh(s.volumes, "u2", &launch, NULL), 0); /* not started */
    remove_well(&s);
    stage_end(&s);
    (void)umask(mask);
}

/* A reader that opens the folder once sees one version, whole. */
static void test_one_step(void **state)
{
    static const struct launch_file FIRST[] = {{"a", "1", 1, 0644}, {"b", "1", 1, 0644}};
    static const struct launch_file SECOND[] = {{"a", "2", 1, 0644}, {"b", "2", 1, 0644}};
    (void)state;
    struct stage s;
    stage_begin(&s);
    struct launch_mount mount = files_mount(FIRST, 2);
    make_well(&s, &mount);
    scoped_free char *data = mem_printf("%s/..data", s.mounts[0].source);
    char before[64] = "", after[64] = "";
    assert_true(readlink(data, before, sizeof(before) - 1) > 0);
    mount = files_mount(SECOND, 2);
    make_well(&s, &mount);
    assert_true(readlink(data, after, sizeof(after) - 1) > 0);
    assert_string_not_equal(before, after);
    scoped_free char *old = mem_printf("%s/%s", s.mounts[0].source, before);
    assert_false(file_exists(old));
    expect_file(&s, "a", "2");
    expect_file(&s, "b", "2");
    remove_well(&s);
    stage_end(&s);
}

/* What a container put in the way is replaced, what it links to is left alone; a version that was
 * begun by one who died is written anew. */
static void test_files_in_the_way(void **state)
{
    static const struct launch_file FILES[] = {{"a", "1", 1, 0644}, {"d/b", "2", 1, 0644}};
    static const struct launch_file OTHER[] = {{"a", "x", 1, 0644}};
    (void)state;
    struct stage s;
    stage_begin(&s);
    struct launch_mount other = files_mount(OTHER, 1), mount = files_mount(FILES, 2);
    make_well(&s, &mount);
    char version[64] = "";
    scoped_free char *data = mem_printf("%s/..data", s.mounts[0].source);
    assert_true(readlink(data, version, sizeof(version) - 1) > 0);
    make_well(&s, &other);

    scoped_free char *a = mem_printf("%s/a", s.mounts[0].source);
    scoped_free char *d = mem_printf("%s/d", s.mounts[0].source);
    scoped_free char *half = mem_printf("%s/%s", s.mounts[0].source, version);
    scoped_free char *half_a = mem_printf("%s/a", half);
    scoped_free char *precious = mem_printf("%s/precious", s.outside);
    assert_int_equal(unlink(a), 0);
    assert_int_equal(mkdir(a, 0700), 0);
    assert_int_equal(symlink(s.outside, d), 0);
    assert_int_equal(mkdir(half, 0700), 0);
    assert_int_equal(symlink(precious, half_a), 0);
    make_well(&s, &mount);
    expect_file(&s, "a", "1");
    expect_file(&s, "d/b", "2");
    assert_true(precious_is_there(&s));
    remove_well(&s);
    stage_end(&s);
}

static void test_file_below_a_file(void **state)
{
    static const struct launch_file FILES[] = {{"a", "1", 1, 0644}, {"a/b", "2", 1, 0644}};
    (void)state;
    struct stage s;
    stage_begin(&s);
    struct launch_mount mount = files_mount(FILES, 2);
    assert_true(make(&s, &mount, 1) < 0);
    assert_non_null(strstr(s.err.text, "a/b"));
    assert_non_null(strstr(s.err.text, "conf"));
    remove_well(&s);
    stage_end(&s);
}

/* ---- hostPath ---- */

static void test_host_path(void **state)
{
    static const struct {
        const char *path, *type;
        int code;
        const char *text;
    } ROWS[] = {
        {"outside", "", 0, NULL},
        {"outside", "Directory", 0, NULL},
        {"outside", "DirectoryOrCreate", 0, NULL},
        {"outside/precious", "File", 0, NULL},
        {"outside/precious", "FileOrCreate", 0, NULL},
        {"outside/precious", "", 0, NULL},
        {"made/of/parts", "DirectoryOrCreate", 0, NULL},
        {"file", "FileOrCreate", 0, NULL},
        {"none", "", -ENOENT, "must be there"},
        {"none", "Directory", -ENOENT, "a folder must be there"},
        {"none", "File", -ENOENT, "a file must be there"},
        {"none", "Socket", -ENOENT, "a socket must be there"},
        {"none/at/all", "FileOrCreate", -ENOENT, "none/at/all"},
        {"outside", "File", -ENOTDIR, "is not a file"},
        {"outside", "FileOrCreate", -ENOTDIR, "is not a file"},
        {"outside/precious", "Directory", -ENOTDIR, "is not a folder"},
        {"outside/precious", "DirectoryOrCreate", -ENOTDIR, "is not a folder"},
        {"outside", "Socket", -ENOTDIR, "is not a socket"},
        {"outside", "CharDevice", -ENOTDIR, "is not a character device"},
        {"outside", "BlockDevice", -ENOTDIR, "is not a block device"},
        {"outside", "Pipe", -EINVAL, "Pipe"},
    };
    (void)state;
    struct stage s;
    stage_begin(&s);
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_free char *path = path_of(&s, ROWS[i].path);
        struct launch_mount mount = {.type = MOUNT_HOST_PATH,
                                     .volume = "host",
                                     .path = "/h",
                                     .host_path = path,
                                     .host_path_type = ROWS[i].type};
        int r = make(&s, &mount, 1);
        if (r != ROWS[i].code || (r < 0 && strstr(s.err.text, ROWS[i].text) == NULL))
            fail_msg("row %zu: %d %s", i, r, s.err.text);
        if (r == 0)
            assert_string_equal(s.mounts[0].source, path);
    }
    struct launch_mount device = {.type = MOUNT_HOST_PATH,
                                  .volume = "host",
                                  .path = "/h",
                                  .host_path = "/dev/null",
                                  .host_path_type = "CharDevice"};
    make_well(&s, &device);
    remove_well(&s);
    assert_int_equal(tree_remove(s.dir, "made", PLENTY, NULL), 0);
    assert_int_equal(tree_remove(s.dir, "file", PLENTY, NULL), 0);
    stage_end(&s);
}

/* ---- subPath ---- */

static void test_sub_path(void **state)
{
    (void)state;
    struct stage s;
    stage_begin(&s);
    struct launch_mount mount = EMPTY;
    mount.sub_path = "a/b/c";
    make_well(&s, &mount);
    scoped_free char *want = mem_printf("%s/u1/volumes/scratch/a/b/c", s.pods);
    assert_string_equal(s.mounts[0].source, want);
    assert_true(file_exists(want));

    scoped_free char *out = mem_printf("%s/u1/volumes/scratch/out", s.pods);
    scoped_free char *in = mem_printf("%s/u1/volumes/scratch/in", s.pods);
    assert_int_equal(symlink(s.outside, out), 0);
    assert_int_equal(symlink("a/b", in), 0);
    static const char *const WAYS_OUT[] = {"out", "out/x", "out/precious"};
    for (size_t i = 0; i < ARRAY_LEN(WAYS_OUT); i++) {
        mount.sub_path = WAYS_OUT[i];
        assert_int_equal(make(&s, &mount, 1), -EXDEV);
        assert_non_null(strstr(s.err.text, "leads out of the volume"));
    }
    mount.sub_path = "in/c"; /* a link that stays inside is followed */
    make_well(&s, &mount);
    assert_string_equal(s.mounts[0].source, want);

    static const struct launch_file FILES[] = {{"color", "red", 3, 0644}};
    struct launch_mount files = files_mount(FILES, 1);
    files.sub_path = "color";
    make_well(&s, &files);
    expect_file(&s, "", "red");
    files.sub_path = "none";
    assert_int_equal(make(&s, &files, 1), -ENOENT); /* nothing is made in a ConfigMap */
    remove_well(&s);
    stage_end(&s);
}

/* ---- removal of what hostile containers leave ---- */

static void test_remove_links(void **state)
{
    (void)state;
    struct stage s;
    stage_begin(&s);
    make_well(&s, &EMPTY);
    scoped_free char *one = mem_printf("%s/one", s.mounts[0].source);
    scoped_free char *two = mem_printf("%s/two", s.mounts[0].source);
    scoped_free char *loop = mem_printf("%s/loop", s.mounts[0].source);
    scoped_free char *fifo = mem_printf("%s/fifo", s.mounts[0].source);
    scoped_free char *precious = mem_printf("%s/precious", s.outside);
    assert_int_equal(symlink(s.outside, one), 0);
    assert_int_equal(symlink(precious, two), 0);
    assert_int_equal(symlink(".", loop), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    remove_well(&s);
    stage_end(&s);
}

/* The volume itself replaced by a link to elsewhere. */
static void test_remove_link_in_place(void **state)
{
    (void)state;
    struct stage s;
    stage_begin(&s);
    make_well(&s, &EMPTY);
    assert_int_equal(rmdir(s.mounts[0].source), 0);
    assert_int_equal(symlink(s.outside, s.mounts[0].source), 0);
    remove_well(&s);
    assert_true(precious_is_there(&s));
    make_well(&s, &EMPTY);
    scoped_free char *folder = mem_printf("%s/u1/volumes", s.pods);
    assert_int_equal(tree_remove(folder, "scratch", PLENTY, NULL), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(symlink(s.outside, folder), 0);
    remove_well(&s);
    stage_end(&s);
}

static void dig(const char *from, int depth)
{
    scoped_fd at = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(at >= 0);
    for (int i = 0; i < depth; i++) {
        assert_int_equal(mkdirat(at, "a-folder-with-a-name", 0700), 0);
        int next = openat(at, "a-folder-with-a-name", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        fd_close_scoped(&at);
        at = next;
    }
}

static void test_remove_deep(void **state)
{
    (void)state;
    struct stage s;
    stage_begin(&s);
    make_well(&s, &EMPTY);
    dig(s.mounts[0].source, DEPTH); /* a path of 100 kB: nobody can name the end of it */
    int calls = 1;
    while (volumes_remove(s.volumes, "u1", 1000, &s.err) == 1)
        calls++;
    assert_int_equal(s.err.code, 0);
    assert_true(calls > DEPTH / 1000); /* bit by bit */
    stage_end(&s);
}

static void test_remove_wide(void **state)
{
    (void)state;
    struct stage s;
    stage_begin(&s);
    make_well(&s, &EMPTY);
    for (int i = 0; i < 3000; i++) {
        scoped_free char *path = mem_printf("%s/%d", s.mounts[0].source, i);
        int fd = i % 3 == 0 ? mkdir(path, 0700) : open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0);
        assert_true(fd >= 0);
        if (i % 3 != 0)
            (void)close(fd);
    }
    remove_well(&s);
    stage_end(&s);
}

/* As a user who is bound by rights. Root is not, and drops to one. */
static int remove_as_user(struct stage *s)
{
    if (geteuid() == 0 &&
        (setresgid(54321, 54321, 54321) < 0 || setresuid(54321, 54321, 54321) < 0))
        return 2;
    struct launch launch = {.mounts = &EMPTY, .n_mounts = 1, .fs_group = -1};
    if (volumes_make(s->volumes, "u1", &launch, &s->arena, &s->mounts, &s->err) < 0)
        return 3;
    static const char *const NAMES[] = {"closed", "closed/inner", "closed/inner/most"};
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
        scoped_free char *path = mem_printf("%s/%s", s->mounts[0].source, NAMES[i]);
        if (mkdir(path, 0700) < 0)
            return 4;
    }
    for (size_t i = ARRAY_LEN(NAMES); i-- > 0;) {
        scoped_free char *path = mem_printf("%s/%s", s->mounts[0].source, NAMES[i]);
        if (chmod(path, 0) < 0)
            return 5;
    }
    if (chmod(s->mounts[0].source, 0) < 0)
        return 6;
    int r = volumes_remove(s->volumes, "u1", PLENTY, &s->err);
    if (r != 0)
        print_message("%s\n", s->err.text);
    return r == 0 ? 0 : 7;
}

static void test_remove_unreadable(void **state)
{
    (void)state;
    struct stage s;
    stage_begin(&s);
    assert_int_equal(chmod(s.dir, 0755), 0);
    assert_int_equal(chmod(s.pods, 0777), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(remove_as_user(&s));
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    stage_end(&s);
}

/* Folders of the node that a container mounted into its volume are not emptied. */
static void test_remove_foreign_mounts(void **state)
{
    (void)state;
    struct stage s;
    stage_begin(&s);
    if (!may_mount(&s)) {
        stage_end(&s);
        skip();
    }
    make_well(&s, &EMPTY);
    scoped_free char *point = mem_printf("%s/point", s.mounts[0].source);
    scoped_free char *file = mem_printf("%s/file", s.mounts[0].source);
    scoped_free char *precious = mem_printf("%s/precious", s.outside);
    assert_int_equal(mkdir(point, 0700), 0);
    write_text(file, "");
    assert_int_equal(mount(s.outside, point, NULL, MS_BIND, NULL), 0);
    assert_int_equal(mount(s.outside, point, NULL, MS_BIND, NULL), 0); /* twice */
    assert_int_equal(mount(precious, file, NULL, MS_BIND, NULL), 0);
    remove_well(&s);
    stage_end(&s);
}

/* A supervisor died in the middle: NAME.gone is there, and the pod has made volumes again. */
static void test_remove_goes_on(void **state)
{
    (void)state;
    struct stage s;
    stage_begin(&s);
    make_well(&s, &EMPTY);
    dig(s.mounts[0].source, 50);
    assert_int_equal(volumes_remove(s.volumes, "u1", 5, NULL), 1);
    make_well(&s, &EMPTY);
    dig(s.mounts[0].source, 3);
    remove_well(&s);
    stage_end(&s);
}

static void test_bad_names(void **state)
{
    static const char *const UIDS[] = {"..", "a/b", "", ".", "../outside"};
    (void)state;
    struct stage s;
    stage_begin(&s);
    struct launch launch = {.mounts = &EMPTY, .n_mounts = 1, .fs_group = -1};
    for (size_t i = 0; i < ARRAY_LEN(UIDS); i++) {
        assert_int_equal(volumes_make(s.volumes, UIDS[i], &launch, &s.arena, &s.mounts, NULL),
                         -EINVAL);
        assert_int_equal(volumes_remove(s.volumes, UIDS[i], PLENTY, NULL), -EINVAL);
        assert_int_equal(volumes_refresh(s.volumes, UIDS[i], &launch, NULL), -EINVAL);
    }
    struct launch_mount mount = EMPTY;
    mount.volume = "../x";
    assert_int_equal(make(&s, &mount, 1), -EINVAL);
    remove_well(&s);
    stage_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_dir),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_fs_group),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_one_step),
        cmocka_unit_test(test_files_in_the_way),
        cmocka_unit_test(test_file_below_a_file),
        cmocka_unit_test(test_host_path),
        cmocka_unit_test(test_sub_path),
        cmocka_unit_test(test_remove_links),
        cmocka_unit_test(test_remove_link_in_place),
        cmocka_unit_test(test_remove_deep),
        cmocka_unit_test(test_remove_wide),
        cmocka_unit_test(test_remove_unreadable),
        cmocka_unit_test(test_remove_foreign_mounts),
        cmocka_unit_test(test_remove_goes_on),
        cmocka_unit_test(test_bad_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

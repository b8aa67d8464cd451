// SPDX-License-Identifier: Apache-2.0
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/mem.h"
#include "os/fd.h"
#include "os/log.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct folder {
    char path[64];
};

static void folder_open(struct folder *folder)
{
    (void)snprintf(folder->path, sizeof(folder->path), "/tmp/test_fd.XXXXXX");
    assert_non_null(mkdtemp(folder->path));
}

static void test_scope_closes_unless_taken(void **state)
{
    int kept, closed;
    (void)state;
    {
        scoped_fd a = open("/dev/null", O_RDONLY | O_CLOEXEC);
        scoped_fd b = open("/dev/null", O_RDONLY | O_CLOEXEC);
        closed = a;
        kept = fd_take(&b);
        assert_int_equal(b, -1);
    }
    assert_int_equal(fcntl(closed, F_GETFD), -1);
    assert_int_not_equal(fcntl(kept, F_GETFD), -1);
    close(kept);
}

static void test_replace_then_read(void **state)
{
    struct folder folder;
    struct err err = {0};
    struct stat st;
    scoped_str text = {0};
    (void)state;
    folder_open(&folder);
    scoped_free char *path = mem_printf("%s/file", folder.path);
    assert_false(file_exists(path));
    assert_int_equal(file_replace(path, "first", 5, 0644, &err), 0);
    assert_int_equal(file_replace(path, "second", 6, 0600, &err), 0);
    assert_true(file_exists(path));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    str_add(&text, "the ");
    assert_int_equal(file_read(path, 6, &text, &err), 0);
    assert_string_equal(text.data, "the second");
    assert_int_equal(file_read(path, 5, &text, &err), -EFBIG);
    assert_string_equal(text.data, "the second");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder.path), 0); /* nothing else was left in it */
}

static void test_failures_name_the_file(void **state)
{
    struct folder folder;
    struct err err = {0};
    scoped_str text = {0};
    (void)state;
    folder_open(&folder);
    scoped_free char *path = mem_printf("%s/none/file", folder.path);
    assert_int_equal(file_read(path, 10, &text, &err), -ENOENT);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(file_replace(path, "x", 1, 0600, &err), -ENOENT);
    assert_non_null(strstr(err.text, path));
    /* The new file is removed when it cannot take the place of the old one. */
    assert_int_equal(file_replace(folder.path, "x", 1, 0600, &err), -EISDIR);
    scoped_free char *beside = mem_printf("%s.new.%d", folder.path, (int)getpid());
    assert_false(file_exists(beside));
    assert_int_equal(rmdir(folder.path), 0);
}

static void test_folders_are_made_with_parents(void **state)
{
    struct folder folder;
    struct err err = {0};
    (void)state;
    folder_open(&folder);
    scoped_free char *a = mem_printf("%s/a", folder.path);
    scoped_free char *b = mem_printf("%s/a/b", folder.path);
    scoped_free char *file = mem_printf("%s/a/b/file", folder.path);
    scoped_free char *below = mem_printf("%s/a/b/file/c", folder.path);
    assert_int_equal(dir_make(b, 0700, &err), 0);
    assert_int_equal(dir_make(b, 0700, &err), 0);
    assert_int_equal(file_replace(file, "", 0, 0600, &err), 0);
    assert_int_equal(dir_make(file, 0700, &err), -ENOTDIR);
    assert_int_equal(dir_make(below, 0700, &err), -ENOTDIR);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(b), 0);
    assert_int_equal(rmdir(a), 0);
    assert_int_equal(rmdir(folder.path), 0);
}

/* What log_line() writes, without the time. */
static void capture(struct str *out, const char *value)
{
    int ends[2];
    char text[512];
    assert_int_equal(pipe(ends), 0);
    int saved = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    log_debug("test.unseen value=%s", value);
    log_warn("test.seen value=%s", value);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(ends[1]);
    ssize_t n = read(ends[0], text, sizeof(text));
    close(ends[0]);
    assert_true(n > 25);
    str_addn(out, text + 24, (size_t)n - 24);
}

static void test_a_log_line_is_one_line(void **state)
{
    scoped_str line = {0}, quoted = {0};
    (void)state;
    capture(&line, "a\nb\x1b");
    assert_string_equal(line.data, " warn test.seen value=a?b?\n");
    log_quote("say \"hi\"\n\\", &quoted);
    assert_string_equal(quoted.data, "\"say \\\"hi\\\"\\x0a\\\\\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scope_closes_unless_taken),
        cmocka_unit_test(test_replace_then_read),
        cmocka_unit_test(test_failures_name_the_file),
        cmocka_unit_test(test_folders_are_made_with_parents),
        cmocka_unit_test(test_a_log_line_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

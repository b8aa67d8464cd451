// SPDX-License-Identifier: Apache-2.0
#include "os/fd.h"
#include "base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_STEP_BYTES (size_t)16384

void fd_close_scoped(int *fd)
{
    int saved_errno = errno; /* the scope may end in `return -errno` */
    if (*fd >= 0)
        (void)close(*fd); /* never retried: Linux has released it even on EINTR */
    *fd = -1;
    errno = saved_errno;
}

int fd_take(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

static int read_all(int fd, size_t bytes_max, struct str *text)
{
    for (;;) {
        char *to = str_reserve(text, READ_STEP_BYTES);
        ssize_t n = read(fd, to, READ_STEP_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return 0;
        text->len += (size_t)n;
        text->data[text->len] = '\0';
        if (text->len > bytes_max)
            return -EFBIG;
    }
}

int64_t fd_limit_raise(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return -1;
    int64_t before = (int64_t)limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* with fewer it still serves fewer clients */
    return before;
}

int file_read(const char *path, size_t bytes_max, struct str *out, struct err *err)
{
    scoped_fd fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, -errno, "open '%s': %s", path, strerror(errno));
    scoped_str text = {0};
    int r = read_all(fd, bytes_max, &text);
    if (r == -EFBIG)
        return err_set(err, r, "read '%s': larger than %zu bytes", path, bytes_max);
    if (r < 0)
        return err_set(err, r, "read '%s': %s", path, strerror(-r));
    str_addn(out, str_text(&text), text.len);
    return 0;
}

static int write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

static int write_synced(const char *path, const char *data, size_t len, unsigned mode)
{
    scoped_fd fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (fd < 0)
        return -errno;
    /* The file may be left from a run that died; its mode and the umask must not decide. */
    if (fchmod(fd, mode) < 0)
        return -errno;
    int r = write_all(fd, data, len);
    if (r < 0)
        return r;
    return fsync(fd) < 0 ? -errno : 0;
}

static int sync_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    scoped_free char *folder = slash == NULL   ? mem_strdup(".")
                               : slash == path ? mem_strdup("/")
                                               : mem_strndup(path, (size_t)(slash - path));
    scoped_fd fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    return fsync(fd) < 0 ? -errno : 0;
}

int file_replace(const char *path, const char *data, size_t len, unsigned mode, struct err *err)
{
    scoped_free char *beside = mem_printf("%s.new.%d", path, (int)getpid());
    int r = write_synced(beside, data, len, mode);
    if (r < 0) {
        (void)unlink(beside); /* it may not even exist */
        return err_set(err, r, "write '%s': %s", beside, strerror(-r));
    }
    if (rename(beside, path) < 0) {
        r = -errno;
        (void)unlink(beside);
        return err_set(err, r, "rename '%s' to '%s': %s", beside, path, strerror(-r));
    }
    r = sync_parent(path);
    return r < 0 ? err_set(err, r, "sync folder of '%s': %s", path, strerror(-r)) : 0;
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static int make_one(const char *path, unsigned mode)
{
    struct stat st;
    if (mkdir(path, mode) == 0)
        return 0;
    if (errno != EEXIST)
        return -errno;
    if (stat(path, &st) < 0)
        return -errno;
    return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int dir_make(const char *path, unsigned mode, struct err *err)
{
    if (make_one(path, mode) == 0) /* most often the parents are there */
        return 0;
    scoped_free char *part = mem_strdup(path);
    for (char *at = part + (part[0] == '/'); *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        /* EACCES, EROFS: a parent that exists and that we may not write to is no hindrance. */
        int r = make_one(part, 0755);
        if (r < 0 && !file_exists(part))
            return err_set(err, r, "make folder '%s': %s", part, strerror(-r));
        *at = '/';
    }
    int r = make_one(path, mode);
    return r < 0 ? err_set(err, r, "make folder '%s': %s", path, strerror(-r)) : 0;
}

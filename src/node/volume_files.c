// SPDX-License-Identifier: Apache-2.0
/* The files of a ConfigMap, replaced all at once. As in kubelet's volumes:
 *
 *     ..3f2a9c.../color        one version of all files, complete before anything points to it
 *     ..data -> ..3f2a9c...    a rename over this link is the step
 *     color -> ..data/color    what the container opens
 *
 * A version is named by what is in it, so a look at ..data tells whether there is anything to do,
 * and a version that was begun and not finished is never taken for one that was. */
#include "base/hash.h"
#include "base/mem.h"
#include "node/tree.h"
#include "node/volumes.h"
#include "os/fd.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DATA "..data"
#define DATA_NEW "..data_new"
#define VERSION_BYTES 24
#define GROUP_MAY_READ 0440

struct writing {
    const char *dir;
    const struct launch_mount *mount;
    int64_t fs_group;
    int fd; /* of dir */
    char version[VERSION_BYTES];
    struct err *err;
};

static int problem(const struct writing *w, const char *what, const char *name)
{
    int error = errno;
    return err_set(w->err, -error, "volume %s: %s '%s' in %s: %s", w->mount->volume, what, name,
                   w->dir, strerror(error));
}

static void name_version(struct writing *w)
{
    uint64_t hash = HASH_START;
    hash = hash_bytes(hash, &w->fs_group, sizeof(w->fs_group));
    for (size_t i = 0; i < w->mount->n_files; i++) {
        const struct launch_file *file = &w->mount->files[i];
        hash = hash_text(hash, file->path);
        hash = hash_bytes(hash, &file->mode, sizeof(file->mode));
        hash = hash_bytes(hash, &file->len, sizeof(file->len));
        hash = hash_bytes(hash, file->data, file->len);
    }
    (void)snprintf(w->version, sizeof(w->version), "..%016" PRIx64, hash); /* always fits */
}

static bool is_current(const struct writing *w)
{
    char target[VERSION_BYTES] = "";
    ssize_t n = readlinkat(w->fd, DATA, target, sizeof(target) - 1);
    return n > 0 && str_eq(target, w->version);
}

/* ---- one version ---- */

static int give_to_group(const struct writing *w, int fd, mode_t mode)
{
    if (w->fs_group >= 0 && fchown(fd, (uid_t)-1, (gid_t)w->fs_group) < 0)
        return -1;
    return fchmod(fd, w->fs_group >= 0 ? mode | GROUP_MAY_READ : mode);
}

/* The folder in which `path` stands, made when it is missing. */
static int open_folder(const struct writing *w, int top, const char *path)
{
    int at = fcntl(top, F_DUPFD_CLOEXEC, 0);
    struct sv rest = sv_of(path);
    struct sv part = sv_cut(&rest, '/');
    for (; at >= 0 && rest.len > 0; part = sv_cut(&rest, '/')) {
        scoped_free char *name = mem_strndup(part.ptr, part.len);
        scoped_fd above = at;
        if (mkdirat(above, name, 0755) < 0 && errno != EEXIST)
            return problem(w, "make folder", path);
        at = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (at >= 0 && fchmod(at, 0755) < 0) { /* whatever the umask */
            fd_close_scoped(&at);
        }
    }
    return at < 0 ? problem(w, "open folder of", path) : at;
}

static int write_bytes(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno != EINTR)
            return -1;
        data += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int write_file(const struct writing *w, int top, const struct launch_file *file)
{
    scoped_fd folder = open_folder(w, top, file->path);
    if (folder < 0)
        return folder;
    const char *slash = strrchr(file->path, '/');
    const char *name = slash != NULL ? slash + 1 : file->path;
    scoped_fd fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || write_bytes(fd, file->data, file->len) < 0 ||
        give_to_group(w, fd, (mode_t)file->mode) < 0)
        return problem(w, "write", file->path);
    return 0;
}

static int write_version(const struct writing *w)
{
    int r = tree_remove(w->dir, w->version, SIZE_MAX, w->err); /* begun and never finished */
    if (r < 0)
        return r;
    if (mkdirat(w->fd, w->version, 0755) < 0)
        return problem(w, "make", w->version);
    scoped_fd top = openat(w->fd, w->version, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (top < 0 || fchmod(top, 0755) < 0)
        return problem(w, "open", w->version);
    for (size_t i = 0; i < w->mount->n_files; i++) {
        r = write_file(w, top, &w->mount->files[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- the step, and what follows from it ---- */

static int switch_over(const struct writing *w)
{
    (void)unlinkat(w->fd, DATA_NEW, 0); /* left by one who died here; else not there */
    if (symlinkat(w->version, w->fd, DATA_NEW) < 0)
        return problem(w, "link", DATA_NEW);
    if (renameat(w->fd, DATA_NEW, w->fd, DATA) < 0)
        return problem(w, "rename", DATA_NEW);
    return 0;
}

static bool links_to(const struct writing *w, const char *name, const char *target)
{
    char text[300] = "";
    ssize_t n = readlinkat(w->fd, name, text, sizeof(text) - 1);
    return n > 0 && str_eq(text, target);
}

static int show_file(const struct writing *w, const char *path)
{
    struct sv rest = sv_of(path);
    struct sv first = sv_cut(&rest, '/');
    scoped_free char *name = mem_strndup(first.ptr, first.len);
    scoped_free char *target = mem_printf(DATA "/%s", name);
    if (links_to(w, name, target))
        return 0;
    int r = tree_remove(w->dir, name, SIZE_MAX, w->err);
    if (r < 0)
        return r;
    return symlinkat(target, w->fd, name) < 0 ? problem(w, "link", name) : 0;
}

static bool is_shown(const struct writing *w, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < w->mount->n_files; i++) {
        const char *path = w->mount->files[i].path;
        if (strncmp(path, name, len) == 0 && (path[len] == '/' || path[len] == '\0'))
            return true;
    }
    return false;
}

static bool is_needed(const struct writing *w, const char *name)
{
    if (str_eq(name, ".") || str_eq(name, "..") || str_eq(name, DATA))
        return true;
    return str_eq(name, w->version) || is_shown(w, name);
}

/* Older versions, links to files that are no more, and whatever else got here. */
static int sweep(const struct writing *w)
{
    scoped_fd copy = openat(w->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
    if (list == NULL)
        return problem(w, "read", ".");
    (void)fd_take(&copy);
    int r = 0;
    struct dirent *entry;
    while (r >= 0 && (entry = readdir(list)) != NULL) {
        if (!is_needed(w, entry->d_name))
            r = tree_remove(w->dir, entry->d_name, SIZE_MAX, w->err);
    }
    (void)closedir(list); /* nothing was written */
    return r;
}

static int write_all(struct writing *w)
{
    int r = write_version(w);
    if (r >= 0)
        r = switch_over(w);
    for (size_t i = 0; r >= 0 && i < w->mount->n_files; i++)
        r = show_file(w, w->mount->files[i].path);
    if (r >= 0)
        r = sweep(w);
    return r < 0 ? r : 1;
}

int volume_files_write(const char *dir, const struct launch_mount *mount, int64_t fs_group,
                       struct err *err)
{
    struct writing w = {.dir = dir, .mount = mount, .fs_group = fs_group, .err = err};
    scoped_fd fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    w.fd = fd;
    if (fd < 0)
        return problem(&w, "open", dir);
    name_version(&w);
    return is_current(&w) ? 0 : write_all(&w);
}

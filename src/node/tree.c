// SPDX-License-Identifier: Apache-2.0
/* The tree is first renamed to NAME.gone/0, then NAME.gone is emptied. A folder met on the way is
 * not descended into but moved up beside the others, under a number:
 *
 * 1. However deep the tree, two descriptors are open and nothing recurses.
 * 2. A folder that can be renamed is no mount point. What is mounted is therefore never entered,
 *    not even a bind mount of the same file system; moving it fails with EBUSY, and then it is
 *    unmounted and moved without what had covered it.
 * 3. What was done stays done: a call that ran out of budget, or a supervisor that was killed,
 *    is gone on with by the next. */
#include "node/tree.h"
#include "base/mem.h"
#include "base/str.h"
#include "os/fd.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_BYTES 24
#define FD_PATH_BYTES 40

struct removal {
    int parent, trash;
    const char *where;
    size_t budget;
    unsigned long next; /* number for the next folder that is moved up */
    bool has_moved;     /* something went in this pass */
    int problem;
    struct err *err;
};

static const char *fd_path(int fd, char out[FD_PATH_BYTES])
{
    (void)snprintf(out, FD_PATH_BYTES, "/proc/self/fd/%d", fd); /* always fits */
    return out;
}

static void note_problem(struct removal *rm, const char *what, const char *name, int error)
{
    if (rm->problem == 0)
        rm->problem =
            err_set(rm->err, error, "%s '%s' in %s: %s", what, name, rm->where, strerror(-error));
}

static int unmount(int dir, const char *name)
{
    char path[FD_PATH_BYTES];
    scoped_fd fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    return umount2(fd_path(fd, path), MNT_DETACH) < 0 ? -errno : 0;
}

/* Another user's folder, or one without rights, can be neither read nor moved by its owner. The
 * descriptor makes sure that it is this one that changes and not what a link leads to. */
static void open_up(int dir, const char *name)
{
    char path[FD_PATH_BYTES];
    struct stat st;
    scoped_fd fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        (void)chmod(fd_path(fd, path), 0700); /* if not, the next step tells */
}

static int move_up_once(struct removal *rm, int dir, const char *name)
{
    for (;;) {
        char number[NAME_BYTES];
        (void)snprintf(number, sizeof(number), "%lu", rm->next++); /* always fits */
        if (renameat(dir, name, rm->trash, number) == 0)
            return 0;
        if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR && errno != EISDIR)
            return -errno;
    }
}

static int move_up(struct removal *rm, int dir, const char *name)
{
    int r = move_up_once(rm, dir, name);
    if (r == -EACCES || r == -EPERM) {
        open_up(dir, name);
        r = move_up_once(rm, dir, name);
    }
    while (r == -EBUSY && unmount(dir, name) >= 0) /* mounts can lie on one another */
        r = move_up_once(rm, dir, name);
    return r;
}

static int unlink_any(int dir, const char *name)
{
    int r = unlinkat(dir, name, 0) < 0 ? -errno : 0;
    while (r == -EBUSY && unmount(dir, name) >= 0)
        r = unlinkat(dir, name, 0) < 0 ? -errno : 0;
    return r;
}

static bool is_folder(int dir, const char *name)
{
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* One entry of a folder in the trash. */
static void remove_entry(struct removal *rm, int dir, const char *name)
{
    bool folder = is_folder(dir, name);
    int r = folder ? move_up(rm, dir, name) : unlink_any(dir, name);
    if (r < 0 && r != -ENOENT)
        note_problem(rm, folder ? "move" : "remove", name, r);
    else
        rm->has_moved = true;
}

typedef void entry_fn(struct removal *rm, int dir, const char *name);

/* Until the budget is used up. */
static int each_entry(struct removal *rm, int dir, entry_fn *fn)
{
    scoped_fd copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
    if (list == NULL)
        return -errno;
    (void)fd_take(&copy); /* closed with the list */
    struct dirent *entry;
    while (rm->budget > 0 && (entry = readdir(list)) != NULL) {
        if (str_eq(entry->d_name, ".") || str_eq(entry->d_name, ".."))
            continue;
        rm->budget--;
        fn(rm, dir, entry->d_name);
    }
    (void)closedir(list); /* nothing was written */
    return 0;
}

static void empty_folder(struct removal *rm, int dir, const char *name)
{
    if (!is_folder(dir, name)) {
        remove_entry(rm, dir, name);
        return;
    }
    open_up(dir, name);
    scoped_fd fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r = fd < 0 ? -errno : each_entry(rm, fd, remove_entry);
    if (r < 0)
        note_problem(rm, "open", name, r);
    if (unlinkat(dir, name, AT_REMOVEDIR) == 0)
        rm->has_moved = true;
    else if (errno != ENOTEMPTY)
        note_problem(rm, "remove", name, -errno);
}

/* Passes over the trash until it is empty, nothing moves any more, or the budget is used up. */
static int empty_trash(struct removal *rm, const char *gone)
{
    do {
        rm->has_moved = false;
        int r = each_entry(rm, rm->trash, empty_folder);
        if (r < 0)
            return err_set(rm->err, r, "read '%s' in %s: %s", gone, rm->where, strerror(-r));
        if (unlinkat(rm->parent, gone, AT_REMOVEDIR) == 0)
            return 0;
        if (rm->budget == 0)
            return 1;
    } while (rm->has_moved);
    return rm->problem != 0
               ? rm->problem
               : err_set(rm->err, -ENOTEMPTY, "'%s' in %s fills up again", gone, rm->where);
}

static int open_trash(struct removal *rm, const char *gone)
{
    if (mkdirat(rm->parent, gone, 0700) < 0 && errno != EEXIST)
        return -errno;
    rm->trash = openat(rm->parent, gone, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return rm->trash < 0 ? -errno : 0;
}

static int remove_in(struct removal *rm, const char *name)
{
    scoped_free char *gone = mem_printf("%s.gone", name);
    struct stat st;
    bool is_there = fstatat(rm->parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    bool was_begun = fstatat(rm->parent, gone, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (!is_there && !was_begun)
        return 0;
    int r = open_trash(rm, gone);
    if (r < 0)
        return err_set(rm->err, r, "make '%s' in %s: %s", gone, rm->where, strerror(-r));
    r = is_there ? move_up(rm, rm->parent, name) : 0;
    if (r < 0 && r != -ENOENT)
        return err_set(rm->err, r, "move '%s' in %s: %s", name, rm->where, strerror(-r));
    return empty_trash(rm, gone);
}

int tree_remove(const char *parent, const char *name, size_t budget, struct err *err)
{
    struct removal rm = {.trash = -1, .where = parent, .budget = budget, .err = err};
    rm.parent = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (rm.parent < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (rm.parent < 0)
        return err_set(err, -errno, "open '%s': %s", parent, strerror(errno));
    int r = remove_in(&rm, name);
    fd_close_scoped(&rm.parent);
    fd_close_scoped(&rm.trash);
    return r;
}

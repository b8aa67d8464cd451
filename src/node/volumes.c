// SPDX-License-Identifier: Apache-2.0
/* Folders and files behind the mounts of containers. Containers can write to most of what is here
 * and may leave anything behind, links to elsewhere included: a subPath is resolved by the kernel
 * below its volume, and removal never follows a link (tree.c). */
#include "node/volumes.h"
#include "base/mem.h"
#include "node/tree.h"
#include "os/fd.h"
#include "os/log.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EMPTY_DIR_MODE 0777
#define SUB_PATH_MODE 0755

struct volumes {
    char *pods; /* absolute */
    bool has_warned;
};

int volumes_new(const char *pods, struct volumes **ret_volumes, struct err *err)
{
    int r = dir_make(pods, 0711, err);
    if (r < 0)
        return r;
    char path[PATH_MAX];
    if (realpath(pods, path) == NULL)
        return err_set(err, -errno, "find '%s': %s", pods, strerror(errno));
    struct volumes *volumes = mem_zalloc(sizeof(*volumes));
    volumes->pods = mem_strdup(path);
    *ret_volumes = volumes;
    return 0;
}

void volumes_free(struct volumes *volumes)
{
    if (volumes == NULL)
        return;
    mem_free(volumes->pods);
    mem_free(volumes);
}

/* Names come from the API, which checks them; they are part of paths here. */
static int check_name(const char *what, const char *name, struct err *err)
{
    if (*name != '\0' && *name != '.' && strchr(name, '/') == NULL)
        return 0;
    return err_set(err, -EINVAL, "%s '%s' cannot be the name of a folder", what, name);
}

static int open_volumes(const struct volumes *volumes, const char *uid, char **ret_dir,
                        struct err *err)
{
    int r = check_name("uid", uid, err);
    if (r < 0)
        return r;
    scoped_free char *pod = mem_printf("%s/%s", volumes->pods, uid);
    scoped_free char *dir = mem_printf("%s/volumes", pod);
    r = dir_make(pod, 0711, err);
    if (r >= 0)
        r = dir_make(dir, 0700, err);
    if (r >= 0)
        *ret_dir = take_ptr(dir);
    return r;
}

/* ---- emptyDir ---- */

static int chown_mode(const char *path, int64_t group, mode_t mode)
{
    if (group >= 0 && lchown(path, (uid_t)-1, (gid_t)group) < 0)
        return -errno;
    return chmod(path, group >= 0 ? mode | S_ISGID : mode) < 0 ? -errno : 0;
}

static bool is_mounted(const char *path, const char *above)
{
    struct stat inner, outer;
    return lstat(path, &inner) == 0 && lstat(above, &outer) == 0 && inner.st_dev != outer.st_dev;
}

static void mount_memory(struct volumes *volumes, const char *path, const struct launch_mount *what)
{
    char options[64];
    (void)snprintf(options, sizeof(options), "mode=0777,size=%" PRId64, what->size_bytes);
    if (what->size_bytes <= 0)
        (void)snprintf(options, sizeof(options), "mode=0777");
    if (mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0)
        return;
    if (!volumes->has_warned)
        log_warn("volume.not-in-memory path=%s error=\"%s\"", path, strerror(errno));
    volumes->has_warned = true;
}

static int make_empty(struct volumes *volumes, const char *dir, const char *path,
                      const struct launch *launch, const struct launch_mount *mount)
{
    bool is_new = mkdir(path, EMPTY_DIR_MODE) == 0;
    if (!is_new && errno != EEXIST)
        return -errno;
    if (mount->is_memory && !is_mounted(path, dir)) {
        mount_memory(volumes, path, mount);
        is_new = true;
    }
    /* Once only: afterwards its rights are the containers' affair. */
    return is_new ? chown_mode(path, launch->fs_group, EMPTY_DIR_MODE) : 0;
}

/* ---- hostPath ---- */

static int make_file(const char *path)
{
    scoped_fd fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    return fd < 0 ? -errno : 0;
}

static const struct host_type {
    const char *name;
    mode_t type; /* 0: any */
    bool is_made;
    const char *what;
} HOST_TYPES[] = {
    {"", 0, false, "a file or folder"},
    {"DirectoryOrCreate", S_IFDIR, true, "a folder"},
    {"Directory", S_IFDIR, false, "a folder"},
    {"FileOrCreate", S_IFREG, true, "a file"},
    {"File", S_IFREG, false, "a file"},
    {"Socket", S_IFSOCK, false, "a socket"},
    {"CharDevice", S_IFCHR, false, "a character device"},
    {"BlockDevice", S_IFBLK, false, "a block device"},
};

static const struct host_type *host_type_of(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(HOST_TYPES); i++) {
        if (str_eq(HOST_TYPES[i].name, name))
            return &HOST_TYPES[i];
    }
    return NULL;
}

static int host_missing(const struct launch_mount *mount, const struct host_type *type,
                        struct err *err)
{
    int r = err_set(err, -ENOENT, "volume %s: hostPath %s: %s must be there and is not",
                    mount->volume, mount->host_path, type->what);
    if (type->type == 0 || type->type == S_IFDIR)
        (void)err_hint(err, "make it, or set its type to DirectoryOrCreate");
    else if (type->type == S_IFREG)
        (void)err_hint(err, "make it, or set its type to FileOrCreate");
    return r;
}

static int make_host(const struct launch_mount *mount, struct err *err)
{
    const struct host_type *type = host_type_of(mount->host_path_type);
    if (type == NULL)
        return err_set(err, -EINVAL, "volume %s: hostPath type '%s' is not known", mount->volume,
                       mount->host_path_type);
    struct stat st;
    int r = stat(mount->host_path, &st) < 0 ? -errno : 0;
    if (r == -ENOENT && type->is_made) {
        r = type->type == S_IFDIR ? dir_make(mount->host_path, 0755, err)
                                  : make_file(mount->host_path);
        if (r >= 0)
            r = stat(mount->host_path, &st) < 0 ? -errno : 0;
    }
    if (r == -ENOENT && !type->is_made)
        return host_missing(mount, type, err);
    if (r < 0)
        return err_set(err, r, "volume %s: hostPath %s: %s", mount->volume, mount->host_path,
                       strerror(-r));
    if (type->type != 0 && (st.st_mode & S_IFMT) != type->type)
        return err_set(err, -ENOTDIR, "volume %s: hostPath %s is not %s", mount->volume,
                       mount->host_path, type->what);
    return 0;
}

/* ---- subPath ---- */

/* Below `dir`, whatever links the containers have made there: the kernel refuses those that lead
 * out, with EXDEV. */
static int open_below(int dir, const char *path)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    long fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
    return fd < 0 ? -errno : (int)fd;
}

/* Makes the folders that are missing, one after the other, each below the volume. */
static int make_below(int dir, const char *path)
{
    for (size_t len = strcspn(path, "/");; len += 1 + strcspn(path + len + 1, "/")) {
        scoped_free char *part = mem_strndup(path, len);
        char *slash = strrchr(part, '/');
        if (slash != NULL)
            *slash = '\0';
        scoped_fd above = slash != NULL ? open_below(dir, part) : open_below(dir, ".");
        if (above < 0)
            return above;
        if (mkdirat(above, slash != NULL ? slash + 1 : part, SUB_PATH_MODE) < 0 && errno != EEXIST)
            return -errno;
        if (path[len] == '\0')
            return 0;
    }
}

static int resolve_below(const char *root, const char *path, bool may_make, char out[PATH_MAX])
{
    scoped_fd dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -errno;
    scoped_fd fd = open_below(dir, path);
    if (fd == -ENOENT && may_make) {
        int r = make_below(dir, path);
        if (r < 0)
            return r;
        fd = open_below(dir, path);
    }
    if (fd < 0)
        return fd;
    char link[40];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd); /* always fits */
    ssize_t n = readlink(link, out, PATH_MAX - 1);
    if (n < 0)
        return -errno;
    out[n] = '\0';
    return 0;
}

static int find_source(const char *root, const struct launch_mount *mount, struct arena *arena,
                       const char **ret_source, struct err *err)
{
    char path[PATH_MAX];
    if (mount->sub_path == NULL) {
        *ret_source = arena_strdup(arena, root);
        return 0;
    }
    int r = resolve_below(root, mount->sub_path, mount->type != MOUNT_CONFIG_MAP, path);
    if (r == -EXDEV)
        return err_set(err, r, "volume %s: subPath %s leads out of the volume by a link",
                       mount->volume, mount->sub_path);
    if (r < 0)
        return err_set(err, r, "volume %s: subPath %s: %s", mount->volume, mount->sub_path,
                       strerror(-r));
    *ret_source = arena_strdup(arena, path);
    return 0;
}

/* ---- one container ---- */

static int make_files(const char *path, const struct launch *launch,
                      const struct launch_mount *mount, struct err *err)
{
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return err_set(err, -errno, "volume %s: make '%s': %s", mount->volume, path,
                       strerror(errno));
    (void)chmod(path, 0755); /* whatever the umask; ours, so it does not fail */
    return volume_files_write(path, mount, launch->fs_group, err);
}

static int make_volume(struct volumes *volumes, const char *dir, const struct launch *launch,
                       const struct launch_mount *mount, struct err *err)
{
    int r = check_name("volume", mount->volume, err);
    if (r < 0)
        return r;
    if (mount->type == MOUNT_HOST_PATH)
        return make_host(mount, err);
    scoped_free char *path = mem_printf("%s/%s", dir, mount->volume);
    if (mount->type == MOUNT_CONFIG_MAP)
        return make_files(path, launch, mount, err);
    r = make_empty(volumes, dir, path, launch, mount);
    return r < 0 ? err_set(err, r, "volume %s: make '%s': %s", mount->volume, path, strerror(-r))
                 : 0;
}

/* One in, one out, and both lifetimes. NOLINTNEXTLINE(readability-function-size) */
int volumes_make(struct volumes *volumes, const char *uid, const struct launch *launch,
                 struct arena *arena, const struct spawn_mount **ret_mounts, struct err *err)
{
    struct spawn_mount *mounts = arena_alloc(arena, (launch->n_mounts + 1) * sizeof(*mounts));
    scoped_free char *dir = NULL;
    int r = launch->n_mounts > 0 ? open_volumes(volumes, uid, &dir, err) : 0;
    for (size_t i = 0; r >= 0 && i < launch->n_mounts; i++) {
        const struct launch_mount *mount = &launch->mounts[i];
        mounts[i] =
            (struct spawn_mount){.target = mount->path, .is_read_only = mount->is_read_only};
        r = make_volume(volumes, dir, launch, mount, err);
        if (r < 0)
            break;
        scoped_free char *own = mem_printf("%s/%s", dir, mount->volume);
        const char *root = mount->type == MOUNT_HOST_PATH ? mount->host_path : own;
        r = find_source(root, mount, arena, &mounts[i].source, err);
    }
    if (r < 0)
        return r;
    *ret_mounts = mounts;
    return 0;
}

int volumes_refresh(struct volumes *volumes, const char *uid, const struct launch *launch,
                    struct err *err)
{
    int changed = 0;
    int r = check_name("uid", uid, err);
    for (size_t i = 0; r >= 0 && i < launch->n_mounts; i++) {
        const struct launch_mount *mount = &launch->mounts[i];
        if (mount->type != MOUNT_CONFIG_MAP)
            continue;
        r = check_name("volume", mount->volume, err);
        if (r < 0)
            return r;
        scoped_free char *path = mem_printf("%s/%s/volumes/%s", volumes->pods, uid, mount->volume);
        if (!file_exists(path))
            continue; /* its container has not started yet */
        r = volume_files_write(path, mount, launch->fs_group, err);
        changed += r > 0;
    }
    return r < 0 ? r : changed;
}

int volumes_remove(struct volumes *volumes, const char *uid, size_t budget, struct err *err)
{
    int r = check_name("uid", uid, err);
    if (r < 0)
        return r;
    scoped_free char *pod = mem_printf("%s/%s", volumes->pods, uid);
    r = tree_remove(pod, "volumes", budget, err);
    if (r == 0)
        (void)rmdir(pod); /* others may still have files there */
    return r;
}

// SPDX-License-Identifier: Apache-2.0
/* Files and directories of control groups, and the names of the latter. */
#include "base/mem.h"
#include "node/cgroup_internal.h"
#include "os/fd.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX ((size_t)4 << 20)
#define DEPTH_MAX 32

static bool path_join(char *to, const char *dir, const char *file)
{
    int n = snprintf(to, PATH_MAX, "%s/%s", dir, file);
    return n > 0 && n < PATH_MAX;
}

int cgroup_file_write(const char *dir, const char *file, const char *fmt, ...)
{
    char path[PATH_MAX], text[256];
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (len < 0 || len >= (int)sizeof(text) || !path_join(path, dir, file))
        return -ENAMETOOLONG;
    scoped_fd fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    for (;;) {
        ssize_t n = write(fd, text, (size_t)len);
        if (n >= 0)
            return 0;
        if (errno != EINTR)
            return -errno;
    }
}

void cgroup_file_read(const char *dir, const char *file, struct str *ret_text)
{
    char path[PATH_MAX];
    str_clear(ret_text);
    if (path_join(path, dir, file))
        (void)file_read(path, FILE_BYTES_MAX, ret_text, NULL); /* what cannot be read is empty */
}

bool cgroup_file_is_there(const char *dir, const char *file)
{
    char path[PATH_MAX];
    return path_join(path, dir, file) && access(path, F_OK) == 0;
}

/* Digits at the front, or -1. */
static int64_t number_of(const char *text)
{
    char *end = NULL;
    if (*text < '0' || *text > '9')
        return -1;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    return errno ? -1 : value;
}

int64_t cgroup_file_number(const char *dir, const char *file)
{
    scoped_str text = {0};
    cgroup_file_read(dir, file, &text);
    return number_of(str_text(&text));
}

int64_t cgroup_file_field(const char *dir, const char *file, const char *name)
{
    scoped_str text = {0};
    size_t len = strlen(name);
    cgroup_file_read(dir, file, &text);
    for (const char *line = str_text(&text); line && *line;) {
        if (strncmp(line, name, len) == 0 && line[len] == ' ')
            return number_of(line + len + 1);
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return -1;
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("-_.:@", c));
}

void cgroup_name_escape(const char *name, struct str *ret_text)
{
    for (; *name; name++) {
        if (is_plain(*name))
            str_addc(ret_text, *name);
        else
            str_addf(ret_text, "%%%02x", (unsigned char)*name);
    }
}

static int hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void cgroup_name_plain(struct sv text, struct str *ret_name)
{
    for (size_t i = 0; i < text.len; i++) {
        const char *p = text.ptr + i;
        bool is_code = *p == '%' && text.len - i >= 3 && hex_of(p[1]) >= 0 && hex_of(p[2]) >= 0;
        str_addc(ret_name, is_code ? (char)(hex_of(p[1]) * 16 + hex_of(p[2])) : *p);
        i += is_code ? 2 : 0;
    }
}

const char *cgroup_home(const struct cgroup_hierarchy *h, size_t index)
{
    if (index == 0)
        return h->dir;
    return index <= h->former.len ? h->former.items[index - 1] : NULL;
}

void cgroup_path(const struct cgroup_hierarchy *h, const char *pod, const char *leaf,
                 struct str *ret_path)
{
    cgroup_path_in(h->dir, pod, leaf, ret_path);
}

bool cgroup_seek(const struct cgroup_hierarchy *h, const char *pod, const char *leaf,
                 struct str *ret_path)
{
    const char *home;
    for (size_t i = 0; (home = cgroup_home(h, i)); i++) {
        cgroup_path_in(home, pod, leaf, ret_path);
        if (access(str_text(ret_path), F_OK) == 0)
            return true;
    }
    cgroup_path(h, pod, leaf, ret_path);
    return false;
}

bool cgroup_guess(const struct cgroup_hierarchy *h, const char *pod, const char *leaf,
                  struct str *ret_path)
{
    if (h->former.len > 0)
        return cgroup_seek(h, pod, leaf, ret_path);
    cgroup_path(h, pod, leaf, ret_path);
    return true;
}

void cgroup_path_in(const char *home, const char *pod, const char *leaf, struct str *ret_path)
{
    str_clear(ret_path);
    str_add(ret_path, home);
    if (pod) {
        str_add(ret_path, "/pod-");
        cgroup_name_escape(pod, ret_path);
        str_add(ret_path, ".slice");
    }
    if (leaf) {
        str_addc(ret_path, '/');
        cgroup_name_escape(leaf, ret_path);
        str_add(ret_path, ".scope");
    }
}

int cgroup_dir_make(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash && strlen(slash + 1) > NAME_MAX)
        return -ENAMETOOLONG; /* v1 takes it, and nobody can list it */
    if (mkdir(path, 0755) == 0 || errno == EEXIST)
        return 0;
    if (errno != ENOENT || !slash || slash == path)
        return -errno;
    scoped_free char *parent = mem_strndup(path, (size_t)(slash - path));
    /* Never above our slice: what is there belongs to others and is not made anew. */
    if (!strstr(parent, "/muster.slice"))
        return -ENOENT;
    int r = cgroup_dir_make(parent);
    if (r < 0)
        return r;
    return mkdir(path, 0755) == 0 || errno == EEXIST ? 0 : -errno;
}

void cgroup_dir_each(const char *path, void (*each)(void *arg, const char *name), void *arg)
{
    struct stat st;
    /* Each directory inside has a link to it; most groups have none, and a long list of files. */
    if (stat(path, &st) < 0 || st.st_nlink == 2)
        return;
    DIR *dir = opendir(path);
    if (!dir)
        return;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        bool is_group =
            entry->d_type == DT_DIR && !str_eq(entry->d_name, ".") && !str_eq(entry->d_name, "..");
        if (is_group)
            each(arg, entry->d_name);
    }
    (void)closedir(dir); /* only read */
}

struct removal {
    const char *path;
    int depth;
};

static bool remove_below(const char *path, int depth);

static void remove_child(void *arg, const char *name)
{
    const struct removal *removal = arg;
    scoped_free char *path = mem_printf("%s/%s", removal->path, name);
    if (removal->depth < DEPTH_MAX)
        (void)remove_below(path, removal->depth + 1); /* the parent's own rmdir tells */
}

static bool remove_below(const char *path, int depth)
{
    if (rmdir(path) == 0 || errno == ENOENT)
        return true;
    struct removal removal = {path, depth};
    cgroup_dir_each(path, remove_child, &removal);
    return rmdir(path) == 0 || errno == ENOENT;
}

bool cgroup_dir_remove(const char *path)
{
    return remove_below(path, 0);
}

struct gathering {
    struct cgroup_pids *pids;
    const char *path;
};

static void gather_child(void *arg, const char *name)
{
    const struct gathering *gathering = arg;
    scoped_free char *path = mem_printf("%s/%s", gathering->path, name);
    if (strlen(path) < PATH_MAX)
        cgroup_pids_of(path, gathering->pids);
}

void cgroup_pids_of(const char *dir, struct cgroup_pids *pids)
{
    scoped_str text = {0};
    cgroup_file_read(dir, "cgroup.procs", &text);
    for (const char *line = str_text(&text); *line;) {
        int64_t pid = number_of(line);
        if (pid > 0 && pid <= INT_MAX)
            vec_push(&pids->list, (cgroup_pid)pid);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    struct gathering gathering = {pids, dir};
    cgroup_dir_each(dir, gather_child, &gathering);
}

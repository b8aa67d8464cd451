// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "node/logs_internal.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_plain(const char *word)
{
    return word != NULL && *word != '\0' && *word != '.' && strchr(word, '/') == NULL;
}

/* NS_POD_UID. The name of a pod may be as long as a file's name alone: what does not fit is left
 * out, the uid tells pods apart. */
int log_key_dir(const struct log_name *name, struct str *out, struct err *err)
{
    if (!is_plain(name->ns) || !is_plain(name->pod) || !is_plain(name->uid))
        return err_set(err, -EINVAL, "a log needs a namespace, a pod and its uid");
    size_t fixed = strlen(name->ns) + strlen(name->uid) + 2;
    size_t room = fixed < NAME_MAX ? NAME_MAX - fixed : 0;
    size_t len = strnlen(name->pod, room);
    if (len == 0)
        return err_set(err, -ENAMETOOLONG, "the names of pod '%s' are too long", name->pod);
    str_addf(out, "%s_%.*s_%s", name->ns, (int)len, name->pod, name->uid);
    return 0;
}

int log_key(const struct log_name *name, struct str *out, struct err *err)
{
    int r = log_key_dir(name, out, err);
    if (r < 0)
        return r;
    if (!is_plain(name->container) || strlen(name->container) > NAME_MAX)
        return err_set(err, -EINVAL, "a log needs the name of a container");
    str_addf(out, "/%s", name->container);
    return 0;
}

char *log_marks_path(const struct log_file *file)
{
    return mem_printf("%s.marks", file->path);
}

char *log_numbered(const struct log_file *file, int number)
{
    return mem_printf("%s.%d", file->path, number);
}

/* "12.log", "12.log.3", "12.log.marks": 12; 0 for anything else. */
static uint32_t generation_of(const char *name, bool live_only)
{
    char *end = NULL;
    if (*name < '1' || *name > '9')
        return 0;
    unsigned long number = strtoul(name, &end, 10);
    if (number > UINT32_MAX || !str_starts(end, ".log"))
        return 0;
    const char *rest = end + strlen(".log");
    return *rest == '\0' || (!live_only && *rest == '.') ? (uint32_t)number : 0;
}

uint32_t log_generation(const char *folder, uint32_t most)
{
    uint32_t best = 0;
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return 0;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        uint32_t number = generation_of(entry->d_name, true);
        if (number <= most && number > best)
            best = number;
    }
    (void)closedir(dir);
    return best;
}

void log_remove_generations(const char *folder, uint32_t below)
{
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        uint32_t number = generation_of(entry->d_name, false);
        if (number != 0 && number < below)
            (void)unlinkat(dirfd(dir), entry->d_name, 0); /* what stays is tried the next time */
    }
    (void)closedir(dir);
}

static void remove_once(const char *folder, void (*each)(void *arg, uint32_t generation), void *arg)
{
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        uint32_t number = generation_of(entry->d_name, false);
        if (number == 0)
            continue;
        each(arg, number);
        (void)unlinkat(dirfd(dir), entry->d_name, 0);
    }
    (void)closedir(dir);
}

void log_remove_folder(const char *folder, void (*each)(void *arg, uint32_t generation), void *arg)
{
    remove_once(folder, each, arg);
    if (rmdir(folder) == 0)
        return;
    remove_once(folder, each, arg); /* a log that was live has written its last marks meanwhile */
    (void)rmdir(folder);            /* not empty: something that is not ours */
}

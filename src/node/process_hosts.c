// SPDX-License-Identifier: Apache-2.0
/* Names of the members of a JobSet, in a file that all of them may read: data/hosts/UID. */
#include "base/mem.h"
#include "node/process_internal.h"
#include "os/fd.h"
#include "os/log.h"
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void process_hosts(struct runtime *runtime, const char *set, const char *text_or_null)
{
    const struct process_runtime *rt = (const struct process_runtime *)runtime;
    struct err err = {0};
    scoped_free char *dir = mem_printf("%s/hosts", rt->data);
    scoped_free char *path = mem_printf("%s/%s", dir, set);
    if (text_or_null == NULL) {
        (void)unlink(path); /* not there is as good */
        return;
    }
    int r = dir_make(dir, 0711, &err);
    if (r == 0)
        r = file_replace(path, text_or_null, strlen(text_or_null), 0644, &err);
    if (r < 0)
        log_warn("node.hosts jobset=%s error=\"%s\"", set, err.text);
}

/* Of an earlier life: those that are still there are written again. */
void process_hosts_sweep(const struct process_runtime *rt)
{
    scoped_free char *path = mem_printf("%s/hosts", rt->data);
    DIR *dir = opendir(path);
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] != '.')
            (void)unlinkat(dirfd(dir), entry->d_name, 0); /* what stays is tried the next time */
    }
    if (dir != NULL)
        (void)closedir(dir);
}

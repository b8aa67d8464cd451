// SPDX-License-Identifier: Apache-2.0
#include "disk_kit.h"
#include "base/mem.h"
#include "store/sqlite.h"
#include <assert.h>
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct kind KIT_POD = {.group = "", .version = "v1", .name = "Pod", .namespaced = true};
const struct kind KIT_JOB = {.group = "batch", .version = "v1", .name = "Job", .namespaced = true};
/* In place of the model's: a disk must not care which kinds there are. */
const struct kind *const KINDS[] = {&KIT_POD, &KIT_JOB, NULL};

char *kit_folder_new(void)
{
    char *folder = mem_strdup("/tmp/muster-disk-XXXXXX");
    char *made = mkdtemp(folder);
    assert(made);
    return made;
}

void kit_folder_remove(char *folder)
{
    DIR *dir = opendir(folder);
    assert(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        scoped_free char *path = kit_path(folder, entry->d_name);
        (void)unlink(path); /* "." and ".." stay */
    }
    closedir(dir);
    (void)rmdir(folder);
    mem_free(folder);
}

char *kit_path(const char *folder, const char *name)
{
    return mem_printf("%s/%s", folder, name);
}

void kit_on_done(void *arg, int result, const char *text)
{
    struct kit_answer *answer = arg;
    assert(!answer->done);
    answer->done = true;
    answer->result = result;
    (void)snprintf(answer->text, sizeof(answer->text), "%s", text ? text : "");
}

void kit_wait(struct disk *disk, const struct kit_answer *answer)
{
    while (!answer->done) {
        struct pollfd poll_fd = {.fd = sqlite_disk_fd(disk), .events = POLLIN};
        int n = poll(&poll_fd, 1, 60000);
        assert(n == 1);
        sqlite_disk_dispatch(disk);
    }
}

int kit_commit(struct disk *disk, const struct disk_row *rows, size_t len, uint64_t revision,
               struct kit_answer *answer)
{
    struct kit_answer unread;
    answer = answer ? answer : &unread;
    *answer = (struct kit_answer){0};
    struct disk_batch batch = {
        .rows = rows, .len = len, .revision = revision, .done = kit_on_done, .arg = answer};
    disk->ops->commit(disk, &batch);
    kit_wait(disk, answer);
    return answer->result;
}

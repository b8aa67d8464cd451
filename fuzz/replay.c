// SPDX-License-Identifier: Apache-2.0
/* Feeds every file of the folders on the command line to the fuzz property this is linked with, so
 * that what a fuzzer once found is tested on each run, with any compiler. A failed property aborts;
 * the file's name then stands last on stderr. Without a single file it fails too: a mistyped folder
 * must not pass. */
#include "fuzz.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define INPUT_MAX (1 << 20)

static int replay_file(const char *path)
{
    static uint8_t input[INPUT_MAX];
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return -1;
    }
    size_t size = fread(input, 1, sizeof(input), file);
    (void)fclose(file); /* only read from */
    fprintf(stderr, "%s\n", path);
    /* A copy of the exact size lets AddressSanitizer see a read beyond the end. */
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        abort();
    for (size_t i = 0; i < size; i++)
        copy[i] = input[i];
    (void)LLVMFuzzerTestOneInput(copy, size); /* always 0, or it aborts */
    free(copy);
    return 0;
}

static int replay_folder(const char *folder)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, NULL, alphasort);
    if (n < 0) {
        perror(folder);
        return -1;
    }
    int done = 0;
    for (int i = 0; i < n; i++) {
        char path[4096];
        struct stat info;
        snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
        if (stat(path, &info) == 0 && S_ISREG(info.st_mode) && replay_file(path) == 0)
            done++;
        free(entries[i]);
    }
    free(entries);
    return done;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        int done = replay_folder(argv[i]);
        if (done <= 0) {
            fprintf(stderr, "%s: nothing to replay\n", argv[i]);
            return 1;
        }
        printf("%s: %d inputs\n", argv[i], done);
    }
    return argc > 1 ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0
#include "cli/inputs.h"
#include "base/mem.h"
#include "os/fd.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#define INPUT_BYTES_MAX (64u << 20)

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_manifest(const char *name)
{
    return name[0] != '.' &&
           (str_ends(name, ".yaml") || str_ends(name, ".yml") || str_ends(name, ".json"));
}

static int find_in_dir(const char *path, struct inputs *inputs, struct err *err)
{
    DIR *dir = opendir(path);
    if (dir == NULL)
        return err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
    size_t before = inputs->files.len;
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        if (is_manifest(entry->d_name))
            vec_push(&inputs->files, mem_printf("%s/%s", path, entry->d_name));
    }
    (void)closedir(dir); /* was only read */
    size_t n = inputs->files.len - before;
    if (n == 0)
        return err_set(err, -ENOENT, "'%s' has no .yaml, .yml or .json file", path);
    qsort(inputs->files.items + before, n, sizeof(char *), by_name);
    return 0;
}

int inputs_find(const char *path, struct inputs *inputs, struct err *err)
{
    struct stat info;
    if (!str_eq(path, "-") && stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return find_in_dir(path, inputs, err);
    vec_push(&inputs->files, mem_strdup(path));
    return 0;
}

void inputs_done(struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->files.len; i++)
        mem_free(inputs->files.items[i]);
    vec_done(&inputs->files);
}

static int read_stream(FILE *in, struct str *out, struct err *err)
{
    size_t n = 0;
    do {
        n = fread(str_reserve(out, 65536), 1, 65536, in);
        out->len += n;
    } while (n > 0 && out->len <= INPUT_BYTES_MAX);
    if (ferror(in))
        return err_set(err, -EIO, "cannot read standard input");
    if (out->len > INPUT_BYTES_MAX)
        return err_set(err, -EFBIG, "standard input is longer than %u bytes", INPUT_BYTES_MAX);
    return 0;
}

int inputs_text(struct cli *cli, const char *file, struct str *out, struct err *err)
{
    return str_eq(file, "-") ? read_stream(cli->in, out, err)
                             : file_read(file, INPUT_BYTES_MAX, out, err);
}

int inputs_read(struct cli *cli, const char *file, struct manifest *ret_manifest, struct err *err)
{
    scoped_str text = {0};
    int r = inputs_text(cli, file, &text, err);
    if (r < 0)
        return r;
    return manifest_parse(file, (struct sv){str_text(&text), text.len}, ret_manifest, err);
}

static int second_configuration(const struct manifest *manifest, size_t index,
                                const struct manifests *manifests, struct err *err)
{
    (void)err_set(err, -EINVAL, "%s:%d: there is a second Configuration; the first is in %s:%d",
                  manifest->file, manifest->docs.items[index].line, manifests->configured,
                  manifests->configured_line);
    return err_hint(err, "a server has one");
}

static int take_configuration(struct cli *cli, struct manifest *manifest, size_t index,
                              struct manifests *manifests, struct err *err)
{
    scoped_str warnings = {0};
    if (manifests->configured != NULL)
        return second_configuration(manifest, index, manifests, err);
    int r = configuration_take(manifest, index, &manifests->configuration, &warnings, err);
    if (r < 0)
        return r;
    fputs(str_text(&warnings), cli->err);
    manifests->configured = mem_strdup(manifest->file);
    manifests->configured_line = manifest->docs.items[index].line;
    manifest_drop(manifest, index);
    return 0;
}

static int load_file(struct cli *cli, const char *file, struct manifests *manifests)
{
    struct err err = {0};
    struct manifest manifest = {0};
    int r = inputs_read(cli, file, &manifest, &err);
    if (r < 0)
        return cli_error(cli, CLI_FAILED, &err);
    for (size_t i = 0; r == 0 && i < manifest.docs.len;) {
        if (configuration_is(yyjson_mut_doc_get_root(manifest.docs.items[i].doc)))
            r = take_configuration(cli, &manifest, i, manifests, &err);
        else
            i++;
    }
    vec_push(&manifests->list, manifest);
    return r < 0 ? cli_error(cli, CLI_FAILED, &err) : CLI_OK;
}

int manifests_read(struct cli *cli, const char *const *paths, size_t n, struct manifests *manifests)
{
    struct err err = {0};
    struct inputs inputs = {0};
    int exit_code = CLI_OK;
    for (size_t i = 0; i < n && exit_code == CLI_OK; i++) {
        if (inputs_find(paths[i], &inputs, &err) < 0)
            exit_code = cli_error(cli, CLI_FAILED, &err);
    }
    for (size_t i = 0; i < inputs.files.len && exit_code == CLI_OK; i++)
        exit_code = load_file(cli, inputs.files.items[i], manifests);
    inputs_done(&inputs);
    return exit_code;
}

int manifests_load(struct cli *cli, struct manifests *manifests)
{
    VEC(const char *) paths = {0};
    size_t n = opt_count(&cli->opts, "filename");
    for (size_t i = 0; i < n; i++)
        vec_push(&paths, opt_nth(&cli->opts, "filename", i));
    int exit_code = manifests_read(cli, paths.items, n, manifests);
    vec_done(&paths);
    return exit_code;
}

void manifests_done(struct manifests *manifests)
{
    for (size_t i = 0; i < manifests->list.len; i++)
        manifest_done(&manifests->list.items[i]);
    vec_done(&manifests->list);
    configuration_done(&manifests->configuration);
    mem_free(manifests->configured);
}

void manifests_pass_over(struct cli *cli, const struct manifests *manifests)
{
    if (manifests->configured != NULL)
        fprintf(cli->err,
                "%s:%d: a Configuration is for a server that starts: the one that runs keeps its "
                "own\n",
                manifests->configured, manifests->configured_line);
}

int manifests_each(const struct manifests *manifests, document_fn *each, void *arg)
{
    int worst = CLI_OK;
    for (size_t m = 0; m < manifests->list.len; m++) {
        const struct manifest *manifest = &manifests->list.items[m];
        for (size_t i = 0; i < manifest->docs.len && worst < CLI_UNREACHABLE; i++) {
            int exit_code = each(arg, manifest, i);
            worst = exit_code > worst ? exit_code : worst;
        }
    }
    return worst;
}

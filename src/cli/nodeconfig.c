// SPDX-License-Identifier: Apache-2.0
#include "cli/nodeconfig.h"
#include "base/mem.h"
#include "control/pods/minion.h"
#include "os/fd.h"
#include <errno.h>
#include <string.h>

#define FILE_BYTES_MAX (1 << 20)

static bool is_minion(const struct manifest *manifest)
{
    if (manifest->docs.len != 1)
        return false;
    yyjson_mut_val *root = yyjson_mut_doc_get_root(manifest->docs.items[0].doc);
    return str_eq(json_mut_str_at(root, "kind"), "MinionConfig");
}

static int translate(struct cli *cli, const char *file, struct manifest *manifest, struct err *err)
{
    scoped_str text = {0}, warnings = {0}, json = {0};
    scoped_json_mut *doc = NULL;
    int r = file_read(file, FILE_BYTES_MAX, &text, err);
    if (r == 0)
        r = minion_read((struct sv){str_text(&text), text.len}, file, &doc, &warnings, err);
    if (r < 0)
        return r;
    fputs(str_text(&warnings), cli->err);
    json_write(yyjson_mut_doc_get_root(doc), &json);
    manifest_done(manifest);
    *manifest = (struct manifest){0};
    return manifest_parse(file, (struct sv){str_text(&json), json.len}, manifest, err);
}

static int check_kinds(const struct manifest *manifest, struct err *err)
{
    for (size_t i = 0; i < manifest->docs.len; i++) {
        yyjson_mut_val *root = yyjson_mut_doc_get_root(manifest->docs.items[i].doc);
        const char *kind = json_mut_str_at(root, "kind");
        if (str_eq(kind, "NodeConfig"))
            continue;
        (void)err_set(err, -EINVAL, "%s:%d: '%s' does not configure a node", manifest->file,
                      manifest->docs.items[i].line, kind != NULL ? kind : "an object without kind");
        return err_hint(err, "--node-config takes a NodeConfig or a MinionConfig; other objects "
                             "go with -f");
    }
    return 0;
}

int nodeconfig_load(struct cli *cli, const char *file, struct manifests *manifests)
{
    struct err err = {0};
    struct manifest manifest = {0};
    int r = inputs_read(cli, file, &manifest, &err);
    if (r == 0 && is_minion(&manifest))
        r = translate(cli, file, &manifest, &err);
    if (r == 0)
        r = check_kinds(&manifest, &err);
    if (r < 0) {
        manifest_done(&manifest);
        return cli_error(cli, CLI_FAILED, &err);
    }
    vec_push(&manifests->list, manifest);
    struct manifest *items = manifests->list.items;
    size_t last = manifests->list.len - 1;
    memmove(items + 1, items, last * sizeof(*items));
    items[0] = manifest;
    return CLI_OK;
}

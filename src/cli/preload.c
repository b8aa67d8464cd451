// SPDX-License-Identifier: Apache-2.0
#include "cli/preload.h"
#include "base/mem.h"
#include "cli/lastapplied.h"
#include "model/patch.h"
#include <string.h>

struct preload {
    struct cli *cli;
    struct store *store;
    size_t left;
    size_t refused;
    void (*finished)(void *arg, size_t refused);
    void *arg;
};

struct item { /* one object on its way */
    struct preload *preload;
    char *where; /* file:line, for the error */
};

static void count_down(struct preload *preload)
{
    if (--preload->left > 0)
        return;
    preload->finished(preload->arg, preload->refused);
    mem_free(preload);
}

static void complain(struct preload *preload, const char *where, const char *text)
{
    preload->refused++;
    fprintf(preload->cli->err, "muster: %s: %s\n", where, text);
}

static void on_written(void *arg, struct write_result *result)
{
    struct item *item = arg;
    if (!status_ok(&result->status))
        complain(item->preload, item->where, str_text(&result->status.message));
    count_down(item->preload);
    mem_free(item->where);
    mem_free(item);
}

static void submit(struct preload *preload, struct write *write, const char *where)
{
    struct item *item = mem_zalloc(sizeof(*item));
    *item = (struct item){.preload = preload, .where = mem_strdup(where)};
    write->validation = VALIDATE_STRICT;
    write->done = on_written;
    write->arg = item;
    preload->left++;
    store_submit(preload->store, write);
}

/* What is there already, changed as the file says. NULL: it cannot be, and was complained of. */
static yyjson_mut_doc *merged(struct preload *preload, const struct kind *kind,
                              const struct obj *old, yyjson_mut_val *wanted, const char *where)
{
    struct err err = {0};
    yyjson_mut_doc *doc = obj_edit(old);
    scoped_json *last = lastapplied_get(yyjson_mut_doc_get_root(doc));
    scoped_json *desired = yyjson_mut_val_imut_copy(wanted, NULL);
    if (patch_apply(kind->type, doc, yyjson_doc_get_root(last), yyjson_doc_get_root(desired),
                    &err) < 0) {
        complain(preload, where, err.text);
        yyjson_mut_doc_free(doc);
        return NULL;
    }
    return doc;
}

static void load_one(struct preload *preload, const struct manifest *manifest,
                     struct manifest_doc *in)
{
    yyjson_mut_val *root = yyjson_mut_doc_get_root(in->doc);
    const struct kind *kind =
        kind_of_api(json_mut_str_at(root, "apiVersion"), json_mut_str_at(root, "kind"));
    const char *name = json_mut_str_at(root, "metadata.name");
    const char *ns = json_mut_str_at(root, "metadata.namespace");
    scoped_free char *where = mem_printf("%s:%d", manifest->file, in->line);
    if (kind->namespaced && ns == NULL) {
        ns = "default";
        json_mut_set(in->doc, root, "metadata.namespace", yyjson_mut_str(in->doc, ns));
    }
    ns = kind->namespaced ? ns : "";
    lastapplied_set(in->doc, root);
    kind = kind_to_stored(kind, in->doc);
    const struct obj *old = name ? cache_get(preload->store->cache, kind, ns, name) : NULL;
    struct write *write = write_new(old ? WRITE_UPDATE : WRITE_CREATE, kind, ns, name);
    write->doc = old ? merged(preload, kind, old, root, where) : take_ptr(in->doc);
    if (write->doc != NULL)
        submit(preload, write, where);
    else
        write_free(write);
}

void preload_start(struct cli *cli, struct store *store, struct manifests *manifests,
                   void (*finished)(void *arg, size_t refused), void *arg)
{
    struct preload *preload = mem_zalloc(sizeof(*preload));
    *preload =
        (struct preload){.cli = cli, .store = store, .left = 1, .finished = finished, .arg = arg};
    for (size_t i = 0; i < manifests->list.len; i++) {
        struct manifest *manifest = &manifests->list.items[i];
        for (size_t d = 0; d < manifest->docs.len; d++)
            load_one(preload, manifest, &manifest->docs.items[d]);
    }
    count_down(preload);
}

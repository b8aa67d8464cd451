// SPDX-License-Identifier: Apache-2.0
#include "cli/nodesfile.h"
#include "base/mem.h"
#include "base/quantity.h"
#include "cli/inputs.h"
#include "model/podspec.h"
#include "model/rules.h"
#include <errno.h>
#include <inttypes.h>

#define NODES_MAX 256

// clang-format off
static const struct field CAPACITY_FIELDS[] = {
    {"cpu", F_QUANTITY, ONE, .doc = "Cores; all of the machine's unless set."},
    {"memory", F_QUANTITY, ONE, .doc = "Bytes; all of the machine's unless set."},
    {"pods", F_QUANTITY, ONE, .doc = "How many pods it takes."},
    {0}};
static const struct type TYPE_CAPACITY = {
    "dev.muster.v1alpha1.LocalCapacity", "What a node has to give.", CAPACITY_FIELDS};

static void check_node_labels(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    rules_label_values(c, val, "labels");
}

static const struct field NODE_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED | NON_EMPTY, .format = FMT_DNS_SUBDOMAIN,
     .doc = "Its name; with count, what the names begin with."},
    {"count", F_INT32, ONE, RANGE, .min = 1, .max = NODES_MAX,
     .doc = "So many alike, called NAME-0, NAME-1 and so on."},
    {"labels", F_STRING, MAP, KEY_FORMAT, .format = FMT_QUALIFIED,
     .doc = "Its labels, for instance topology.kubernetes.io/zone."},
    {"capacity", F_OBJECT, ONE, .of = &TYPE_CAPACITY, .doc = "What it has to give."},
    {0}};
static const struct type TYPE_NODE = {
    "dev.muster.v1alpha1.LocalNode", "One node, or several alike.", NODE_FIELDS,
    .check = check_node_labels};

static const struct field FILE_FIELDS[] = {
    {"nodes", F_OBJECT, LIST, REQUIRED | NON_EMPTY, .of = &TYPE_NODE, .doc = "The nodes."},
    {0}};
static const struct type TYPE_FILE = {
    "dev.muster.v1alpha1.LocalNodes", "Nodes that this machine is to have.", FILE_FIELDS};
// clang-format on

static bool is_node(yyjson_mut_val *root)
{
    return str_eq(json_mut_str_at(root, "kind"), "Node");
}

bool nodes_file_has(const struct manifest *manifest)
{
    for (size_t i = 0; i < manifest->docs.len; i++) {
        if (is_node(yyjson_mut_doc_get_root(manifest->docs.items[i].doc)))
            return true;
    }
    return false;
}

/* ---- errors ---- */

static int fail_at(const struct manifest *manifest, size_t doc, const yyjson_mut_val *at,
                   const char *what, struct err *err)
{
    int line = manifest->docs.items[doc].line, column = 1;
    (void)manifest_position(&manifest->docs.items[doc], at, &line, &column);
    return err_set(err, -EINVAL, "%s:%d:%d: %s", manifest->file, line, column, what);
}

static int check(const struct manifest *manifest, size_t doc, struct err *err)
{
    struct findings findings = {0};
    yyjson_mut_val *root = yyjson_mut_doc_get_root(manifest->docs.items[doc].doc);
    schema_unknown(&TYPE_FILE, root, &findings);
    schema_check(&TYPE_FILE, root, NULL, &findings);
    int r = 0;
    if (findings.list.len > 0) {
        const struct finding *first = &findings.list.items[0];
        scoped_free char *what = mem_printf("%s: %s", first->path, first->text);
        r = fail_at(manifest, doc, first->at, what, err);
        if (first->hint != NULL)
            (void)err_hint(err, "%s", first->hint);
    }
    findings_done(&findings);
    return r;
}

/* ---- reading ---- */

static int64_t amount(yyjson_mut_val *capacity, const char *field, bool milli)
{
    quantity value;
    yyjson_mut_val *val = yyjson_mut_obj_get(capacity, field);
    if (val == NULL || !resources_amount(val, &value))
        return 0;
    return milli ? quantity_milli(value) : quantity_value(value);
}

static struct nodes_item item_of(const char *name, yyjson_mut_val *labels, yyjson_mut_val *capacity)
{
    struct nodes_item item = {.name = mem_strdup(name),
                              .cpu_milli = amount(capacity, "cpu", true),
                              .memory_bytes = amount(capacity, "memory", false),
                              .pods_max = amount(capacity, "pods", false)};
    size_t i, n;
    yyjson_mut_val *key, *value;
    yyjson_mut_obj_foreach(labels, i, n, key, value)
    {
        vec_push(&item.labels,
                 mem_printf("%s=%s", yyjson_mut_get_str(key), yyjson_mut_get_str(value)));
    }
    vec_push(&item.labels, NULL);
    return item;
}

/* Whether the node that was added last, at this place, may be there. */
static int check_last(const struct manifest *manifest, size_t doc, yyjson_mut_val *at,
                      const struct nodes_file *nodes, struct err *err)
{
    scoped_free char *twice = NULL;
    const char *name = nodes->list.items[nodes->list.len - 1].name;
    for (size_t i = 0; twice == NULL && i + 1 < nodes->list.len; i++) {
        if (str_eq(nodes->list.items[i].name, name))
            twice = mem_printf("there are two nodes called %s", name);
    }
    if (twice == NULL && nodes->list.len > NODES_MAX)
        twice = mem_printf("more than %d nodes on one machine", NODES_MAX);
    return twice != NULL ? fail_at(manifest, doc, at, twice, err) : 0;
}

static int add_list(const struct manifest *manifest, size_t doc, struct nodes_file *nodes,
                    struct err *err)
{
    int r = check(manifest, doc, err);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(manifest->docs.items[doc].doc);
    size_t i, n;
    yyjson_mut_val *node;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(root, "nodes"), i, n, node)
    {
        int64_t count = json_mut_int_at(node, "count", -1);
        for (int64_t k = 0; r == 0 && k < (count < 0 ? 1 : count); k++) {
            scoped_free char *name =
                count < 0 ? mem_strdup(json_mut_str_at(node, "name"))
                          : mem_printf("%s-%" PRId64, json_mut_str_at(node, "name"), k);
            vec_push(&nodes->list, item_of(name, yyjson_mut_obj_get(node, "labels"),
                                           yyjson_mut_obj_get(node, "capacity")));
            r = check_last(manifest, doc, node, nodes, err);
        }
    }
    return r;
}

static int add_object(const struct manifest *manifest, size_t doc, struct nodes_file *nodes,
                      struct err *err)
{
    scoped_str found = {0};
    const struct kind *kind = NULL;
    if (manifest_check(manifest, doc, &found, &kind) > 0) {
        size_t len = strcspn(str_text(&found), "\n");
        return err_set(err, -EINVAL, "%.*s", (int)len, str_text(&found));
    }
    yyjson_mut_val *root = yyjson_mut_doc_get_root(manifest->docs.items[doc].doc);
    const char *name = json_mut_str_at(root, "metadata.name");
    if (name == NULL)
        return fail_at(manifest, doc, root, "metadata.name: Required value", err);
    vec_push(&nodes->list, item_of(name, json_mut_at(root, "metadata.labels"),
                                   json_mut_at(root, "status.capacity")));
    return check_last(manifest, doc, root, nodes, err);
}

static int read_all(const struct manifest *manifest, struct nodes_file *nodes, struct err *err)
{
    bool has_objects = nodes_file_has(manifest);
    int r = 0;
    for (size_t i = 0; r == 0 && i < manifest->docs.len; i++) {
        yyjson_mut_val *root = yyjson_mut_doc_get_root(manifest->docs.items[i].doc);
        if (is_node(root))
            r = add_object(manifest, i, nodes, err);
        else if (!has_objects)
            r = add_list(manifest, i, nodes, err);
    }
    if (r == 0 && nodes->list.len == 0) {
        (void)err_set(err, -EINVAL, "%s: there is no node in it", manifest->file);
        return err_hint(err, "write nodes: [{name: a}, {name: b}]");
    }
    return r;
}

int nodes_file_read(struct cli *cli, const char *file, struct nodes_file *ret, struct err *err)
{
    struct manifest manifest = {0};
    struct nodes_file nodes = {0};
    int r = inputs_read(cli, file, &manifest, err);
    if (r == 0)
        r = read_all(&manifest, &nodes, err);
    manifest_done(&manifest);
    if (r < 0)
        nodes_file_done(&nodes);
    else
        *ret = nodes;
    return r;
}

void nodes_file_done(struct nodes_file *nodes)
{
    for (size_t i = 0; i < nodes->list.len; i++) {
        struct nodes_item *item = &nodes->list.items[i];
        for (size_t k = 0; k < item->labels.len; k++)
            mem_free(item->labels.items[k]);
        vec_done(&item->labels);
        mem_free(item->name);
    }
    vec_done(&nodes->list);
}

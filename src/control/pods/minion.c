// SPDX-License-Identifier: Apache-2.0
#include "control/pods/minion.h"
#include "base/quantity.h"
#include "model/manifest.h"
#include "model/rules.h"
#include <errno.h>

#define MISSPELLED "maxLoadAverageMulitplier"
#define RIGHT "maxLoadAverageMultiplier"

static const struct field FIELDS[] = {
    {"kind", F_STRING, ONE, REQUIRED, .values = VALUES("MinionConfig"), .doc = "Its kind."},
    {"apiVersion", F_STRING, ONE, REQUIRED, .values = VALUES("v1beta1"), .doc = "Its version."},
    {"id", F_STRING, ONE, .format = FMT_DNS_SUBDOMAIN, .doc = "The node that it is for."},
    {"throttling", F_OBJECT, ONE, .of = &TYPE_THROTTLING, .doc = "As in a NodeConfig."},
    {0},
};
static const struct type TYPE_MINION = {"MinionConfig", "Settings of a machine.", FIELDS};

/* "file:line:column: " in front of what is said about a value. */
static int fail_at(const struct manifest *manifest, const yyjson_mut_val *val, const char *what,
                   struct err *err)
{
    int line = 1, column = 1;
    (void)manifest_position(&manifest->docs.items[0], val, &line, &column);
    return err_set(err, -EINVAL, "%s:%d:%d: %s", manifest->file, line, column, what);
}

/* "1.5" and 1.50 are the same number. */
static bool same_number(yyjson_mut_val *a, yyjson_mut_val *b)
{
    quantity q[2];
    yyjson_mut_val *const vals[] = {a, b};
    for (size_t i = 0; i < 2; i++) {
        scoped_str number = {0};
        struct sv text = {yyjson_mut_get_str(vals[i]), yyjson_mut_get_len(vals[i])};
        if (yyjson_mut_is_num(vals[i])) {
            json_write(vals[i], &number);
            text = (struct sv){number.data, number.len};
        }
        if (text.ptr == NULL || quantity_parse(text, &q[i], NULL) < 0)
            return json_mut_equal(a, b);
    }
    return quantity_cmp(q[0], q[1]) == 0;
}

static int correct_spelling(const struct manifest *manifest, struct str *warnings, struct err *err)
{
    yyjson_mut_doc *doc = manifest->docs.items[0].doc;
    yyjson_mut_val *obj = yyjson_mut_obj_get(yyjson_mut_doc_get_root(doc), "throttling");
    yyjson_mut_val *wrong = yyjson_mut_obj_get(obj, MISSPELLED);
    if (wrong == NULL)
        return 0;
    yyjson_mut_val *right = yyjson_mut_obj_get(obj, RIGHT);
    if (right != NULL && !same_number(wrong, right)) {
        (void)fail_at(manifest, wrong,
                      "throttling." MISSPELLED ": differs from throttling." RIGHT
                      ", which is the same setting",
                      err);
        return err_hint(err, "leave out " MISSPELLED);
    }
    int line = 1, column = 1;
    (void)manifest_position(&manifest->docs.items[0], wrong, &line, &column);
    str_addf(warnings,
             "%s:%d:%d: throttling." MISSPELLED " is misspelled and was read as " RIGHT "\n",
             manifest->file, line, column);
    json_mut_put(doc, obj, MISSPELLED, NULL);
    if (right == NULL)
        json_mut_put(doc, obj, RIGHT, wrong);
    return 0;
}

static int report(const struct manifest *manifest, const struct findings *findings, struct err *err)
{
    const struct finding *first = &findings->list.items[0];
    scoped_str what = {0};
    str_addf(&what, "%s: %s", first->path, first->text);
    if (findings->list.len > 1)
        str_addf(&what, " (and %zu more)", findings->list.len - 1);
    int r = fail_at(manifest, first->at, str_text(&what), err);
    return first->hint != NULL ? err_hint(err, "%s", first->hint) : r;
}

static int check(const struct manifest *manifest, struct err *err)
{
    yyjson_mut_doc *doc = manifest->docs.items[0].doc;
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    struct findings findings = {0};
    schema_unknown(&TYPE_MINION, root, &findings);
    schema_fill(&TYPE_MINION, doc, root);
    schema_check(&TYPE_MINION, root, NULL, &findings);
    int r = findings.list.len > 0 ? report(manifest, &findings, err) : 0;
    findings_done(&findings);
    return r;
}

static yyjson_mut_doc *convert(yyjson_mut_val *minion)
{
    yyjson_mut_doc *doc = NULL;
    /* Cannot fail: it is a constant. */
    (void)json_parse_mut(SV("{\"apiVersion\":\"muster.dev/v1alpha1\",\"kind\":\"NodeConfig\","
                            "\"metadata\":{\"name\":\"default\"},\"spec\":{}}"),
                         &doc, NULL);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    yyjson_mut_val *id = yyjson_mut_obj_get(minion, "id");
    yyjson_mut_val *throttling = yyjson_mut_obj_get(minion, "throttling");
    if (yyjson_mut_get_len(id) > 0)
        json_mut_set(doc, root, "metadata.name", yyjson_mut_val_mut_copy(doc, id));
    if (throttling != NULL)
        json_mut_set(doc, root, "spec.throttling", yyjson_mut_val_mut_copy(doc, throttling));
    return doc;
}

static int read_parsed(const struct manifest *manifest, yyjson_mut_doc **ret, struct str *warnings,
                       struct err *err)
{
    if (manifest->docs.len != 1) {
        (void)err_set(err, -EINVAL, "%s: holds %zu documents instead of one", manifest->file,
                      manifest->docs.len);
        return err_hint(err, "a MinionConfig is one JSON object");
    }
    scoped_str said = {0};
    int r = correct_spelling(manifest, &said, err);
    if (r < 0)
        return r;
    r = check(manifest, err);
    if (r < 0)
        return r;
    *ret = convert(yyjson_mut_doc_get_root(manifest->docs.items[0].doc));
    str_add(warnings, str_text(&said));
    return 0;
}

int minion_read(struct sv json, const char *file, yyjson_mut_doc **ret_node_config,
                struct str *warnings, struct err *err)
{
    struct manifest manifest = {0};
    int r = manifest_parse(file, json, &manifest, err);
    if (r < 0)
        return r;
    r = read_parsed(&manifest, ret_node_config, warnings, err);
    manifest_done(&manifest);
    return r;
}

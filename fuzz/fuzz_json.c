// SPDX-License-Identifier: Apache-2.0
/* The first line of the input is an object, the rest a patch for it (without one, the object is its
 * own). Properties: what is accepted is written and read back the same; results of patches are
 * within the limits; merge patches and applies may be repeated without effect; directives of
 * strategic patches never stay in a result. */
#include "fuzz.h"
#include "model/patch.h"
#include <assert.h>
#include <string.h>

static const struct field ITEM_FIELDS[];
static const struct type ITEM = {"Item", .fields = ITEM_FIELDS};
static const struct field ITEM_FIELDS[] = {
    {"name", F_STRING},
    {"a", F_OBJECT, LIST, MERGE, .of = &ITEM, .merge_key = "name"},
    {"b", F_STRING, LIST, MERGE},
    {"c", F_OBJECT, ONE, RETAIN_KEYS, .of = &ITEM},
    {"d", F_OBJECT, MAP, .of = &ITEM},
    {"e", F_OBJECT, LIST, MERGE | RETAIN_KEYS, .of = &ITEM, .merge_key = "name"},
    {"f", F_ANY, LIST},
    {0}};

static void check_reads_back(yyjson_mut_val *root)
{
    scoped_str text = {0};
    json_write(root, &text);
    scoped_json_mut *again = NULL;
    int r = json_parse_mut((struct sv){text.data, text.len}, &again, NULL);
    assert(r == 0);
    assert(json_mut_equal(root, yyjson_mut_doc_get_root(again)));
}

static yyjson_mut_doc *copy_of(yyjson_doc *doc)
{
    yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
    assert(copy);
    return copy;
}

static void check_merge(yyjson_doc *target, yyjson_val *patch)
{
    scoped_json_mut *once = copy_of(target), *twice = copy_of(target);
    int r = patch_merge(once, patch, NULL);
    assert(r == 0);
    check_reads_back(yyjson_mut_doc_get_root(once));
    (void)patch_merge(twice, patch, NULL);
    r = patch_merge(twice, patch, NULL);
    assert(r == 0);
    assert(json_mut_equal(yyjson_mut_doc_get_root(once), yyjson_mut_doc_get_root(twice)));
}

static void check_json(yyjson_doc *target, yyjson_val *patch)
{
    scoped_json_mut *doc = copy_of(target);
    struct err err = {0};
    int r = patch_json(doc, patch, &err);
    assert(r == 0 || (r == err.code && err.text[0]));
    if (r == 0)
        check_reads_back(yyjson_mut_doc_get_root(doc));
}

static void check_strategic(yyjson_doc *target, yyjson_val *patch, bool has_dollar)
{
    scoped_json_mut *doc = copy_of(target);
    struct err err = {0};
    int r = patch_strategic(&ITEM, doc, patch, &err);
    assert(r == 0 || (r == err.code && err.text[0]));
    if (r < 0)
        return;
    check_reads_back(yyjson_mut_doc_get_root(doc));
    scoped_str text = {0};
    json_write(yyjson_mut_doc_get_root(doc), &text);
    if (!has_dollar) {
        assert(!strstr(text.data, "\"$patch\":"));
        assert(!strstr(text.data, "\"$retainKeys\":"));
    }
}

static void check_apply(yyjson_doc *target, yyjson_val *desired)
{
    scoped_json_mut *doc = copy_of(target);
    struct err err = {0};
    int r = patch_apply(&ITEM, doc, yyjson_doc_get_root(target), desired, &err);
    assert(r == 0 || (r == err.code && err.text[0]));
    if (r < 0)
        return;
    check_reads_back(yyjson_mut_doc_get_root(doc));
    scoped_json_mut *again = yyjson_mut_doc_mut_copy(doc, NULL);
    r = patch_apply(&ITEM, again, desired, desired, NULL);
    assert(r == 0);
    assert(json_mut_equal(yyjson_mut_doc_get_root(doc), yyjson_mut_doc_get_root(again)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sv rest = {(const char *)data, size};
    struct sv line = sv_cut(&rest, '\n');
    scoped_json *target = NULL, *patch = NULL;
    if (json_parse(line, &target, NULL) < 0)
        return 0;
    if (json_parse(rest.len ? rest : line, &patch, NULL) < 0)
        return 0;
    yyjson_val *change = yyjson_doc_get_root(patch);
    check_merge(target, change);
    check_json(target, change);
    check_strategic(target, change, line.len && memchr(line.ptr, '$', line.len));
    check_apply(target, change);
    return 0;
}

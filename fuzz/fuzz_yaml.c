// SPDX-License-Identifier: Apache-2.0
/* What manifest_parse() accepts has a position for every value, and is the same after it was
 * written as YAML and read again. */
#include "fuzz.h"
#include "model/manifest.h"
#include <assert.h>

static void check_positions(const struct manifest_doc *doc, yyjson_mut_val *val)
{
    int line = 0, column = 0;
    bool known = manifest_position(doc, val, &line, &column);
    assert(known && line >= 1 && column >= 1);
    yyjson_mut_val *item, *key;
    yyjson_mut_arr_iter items = yyjson_mut_arr_iter_with(val);
    while ((item = yyjson_mut_arr_iter_next(&items)))
        check_positions(doc, item);
    yyjson_mut_obj_iter members = yyjson_mut_obj_iter_with(val);
    while ((key = yyjson_mut_obj_iter_next(&members)))
        check_positions(doc, yyjson_mut_obj_iter_get_val(key));
}

static void check_reads_back(yyjson_mut_val *root)
{
    scoped_json *view = yyjson_mut_val_imut_copy(root, NULL);
    assert(view);
    scoped_str text = {0};
    yaml_write(yyjson_doc_get_root(view), &text);
    struct manifest again;
    int r = manifest_parse("again", (struct sv){text.data, text.len}, &again, NULL);
    assert(r == 0);
    assert(again.docs.len == 1);
    assert(json_mut_equal(root, yyjson_mut_doc_get_root(again.docs.items[0].doc)));
    manifest_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct manifest manifest;
    struct err err = {0};
    int r = manifest_parse("input", (struct sv){(const char *)data, size}, &manifest, &err);
    assert(r == 0 || (r == err.code && err.text[0]));
    if (r < 0)
        return 0;
    for (size_t i = 0; i < manifest.docs.len; i++) {
        yyjson_mut_val *root = yyjson_mut_doc_get_root(manifest.docs.items[i].doc);
        check_positions(&manifest.docs.items[i], root);
        check_reads_back(root);
    }
    manifest_done(&manifest);
    return 0;
}

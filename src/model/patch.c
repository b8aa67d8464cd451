// SPDX-License-Identifier: Apache-2.0
#include "model/patch.h"
#include "model/patch_internal.h"

/* RFC 7386. The target may be of any type; what is no object becomes one. */
static void merge(yyjson_mut_doc *doc, yyjson_mut_val *target, yyjson_mut_val *patch)
{
    scoped_finder finder;
    finder_init(&finder, target, yyjson_mut_obj_size(patch));
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(patch);
    yyjson_mut_val *key;
    while ((key = yyjson_mut_obj_iter_next(&iter))) {
        yyjson_mut_val *val = yyjson_mut_obj_iter_get_val(key);
        yyjson_mut_val *old = finder_get(&finder, keyindex_text(key));
        if (old && yyjson_mut_is_null(val)) {
            patch_mark(old);
        } else if (yyjson_mut_is_obj(old) && yyjson_mut_is_obj(val)) {
            merge(doc, old, val);
        } else if (!yyjson_mut_is_null(val)) {
            patch_drop_nulls(val);
            if (old)
                patch_overwrite(old, val);
            else
                patch_append(doc, target, keyindex_text(key), val);
        }
    }
    patch_sweep(target);
}

int patch_merge(yyjson_mut_doc *doc, yyjson_val *patch, struct err *err)
{
    yyjson_mut_val *copy;
    int r = patch_borrow(doc, patch, &copy, err);
    if (r < 0)
        return r;
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    if (yyjson_mut_is_obj(copy) && yyjson_mut_is_obj(root)) {
        merge(doc, root, copy);
    } else {
        patch_drop_nulls(copy);
        yyjson_mut_doc_set_root(doc, copy);
    }
    return 0;
}

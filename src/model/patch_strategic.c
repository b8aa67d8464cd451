// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "model/patch_internal.h"
#include <errno.h>

/* Strategic merge: RFC 7386, but lists of objects are merged by key where a type's table says so,
 * and a patch may hold directives. New objects are made by merging into an empty one, so that
 * directives in them are obeyed and disappear in the same way. */

#define PATCH "$patch"
#define RETAIN "$retainKeys"
#define SET_ORDER "$setElementOrder/"
#define DELETE_FROM "$deleteFromPrimitiveList/"

struct strategic {
    yyjson_mut_doc *doc;
    struct err *err;
};

enum directive {
    DIRECTIVE_MERGE,
    DIRECTIVE_REPLACE,
    DIRECTIVE_DELETE,
};

/* Nearly no key is one, and each key of a patch is asked several times. */
static bool may_be_directive(struct sv key)
{
    return key.len > 0 && key.ptr[0] == '$';
}

static bool is_directive(struct sv key)
{
    return may_be_directive(key) && (sv_is(key, PATCH) || sv_is(key, RETAIN) ||
                                     sv_starts(key, SET_ORDER) || sv_starts(key, DELETE_FROM));
}

static struct sv after(struct sv key, const char *prefix)
{
    size_t len = strlen(prefix);
    return (struct sv){key.ptr + len, key.len - len};
}

static int directive_of(struct strategic *s, yyjson_mut_val *patch, enum directive *ret)
{
    static const char *const NAMES[] = {"merge", "replace", "delete"};
    yyjson_mut_val *val = yyjson_mut_obj_get(patch, PATCH);
    if (!val) {
        *ret = DIRECTIVE_MERGE;
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
        if (yyjson_mut_equals_str(val, NAMES[i])) {
            *ret = (enum directive)i;
            return 0;
        }
    (void)err_set(s->err, -EINVAL, "unknown value of $patch%s%.60s",
                  yyjson_mut_is_str(val) ? ": " : "",
                  yyjson_mut_is_str(val) ? yyjson_mut_get_str(val) : "");
    (void)err_hint(s->err, "one of replace, delete, merge");
    return -EINVAL;
}

/* In lists that are replaced as a whole: no directive stays, all else does, nulls included. */
static void drop_directives(yyjson_mut_val *val)
{
    if (yyjson_mut_is_obj(val)) {
        yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(val);
        yyjson_mut_val *key;
        while ((key = yyjson_mut_obj_iter_next(&iter))) {
            yyjson_mut_val *member = yyjson_mut_obj_iter_get_val(key);
            if (is_directive(keyindex_text(key)))
                patch_mark(member);
            else
                drop_directives(member);
        }
        patch_sweep(val);
    } else if (yyjson_mut_is_arr(val)) {
        yyjson_mut_arr_iter iter = yyjson_mut_arr_iter_with(val);
        yyjson_mut_val *item;
        while ((item = yyjson_mut_arr_iter_next(&iter))) {
            yyjson_mut_val *directive = yyjson_mut_obj_get(item, PATCH);
            bool only = directive && yyjson_mut_obj_size(item) == 1;
            if (only || yyjson_mut_equals_str(directive, "delete"))
                patch_mark(item);
            else
                drop_directives(item);
        }
        patch_sweep(val);
    }
}

static int merge_object(struct strategic *s, struct spot spot, yyjson_mut_val *target,
                        yyjson_mut_val *patch);

/* ---- lists ---- */

static bool says_all_of(yyjson_mut_val *there, yyjson_mut_val *patch);

/* Keys are looked for in the order of the patch, which is that of the target when it came from the
 * same client: in linear time. */
static bool has_members(yyjson_mut_val *there, yyjson_mut_val *patch)
{
    yyjson_mut_obj_iter theirs = yyjson_mut_obj_iter_with(there);
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(patch);
    for (yyjson_mut_val *key; (key = yyjson_mut_obj_iter_next(&iter));) {
        yyjson_mut_val *same = yyjson_mut_obj_iter_next(&theirs);
        while (same && !json_mut_equal(same, key))
            same = yyjson_mut_obj_iter_next(&theirs);
        if (!same || may_be_directive(keyindex_text(key)) ||
            !says_all_of(yyjson_mut_obj_iter_get_val(same), yyjson_mut_obj_iter_get_val(key)))
            return false;
    }
    return true;
}

/* Lists of objects are not looked into: they may have keys. */
static bool has_items(yyjson_mut_val *there, yyjson_mut_val *patch)
{
    yyjson_mut_arr_iter theirs = yyjson_mut_arr_iter_with(there);
    yyjson_mut_arr_iter iter = yyjson_mut_arr_iter_with(patch);
    if (yyjson_mut_arr_size(there) != yyjson_mut_arr_size(patch))
        return false;
    for (yyjson_mut_val *item; (item = yyjson_mut_arr_iter_next(&iter));)
        if (yyjson_mut_is_obj(item) || !says_all_of(yyjson_mut_arr_iter_next(&theirs), item))
            return false;
    return true;
}

/* Is all that the patch says there, and nothing in it that merging would obey or take away, a
 * directive or a null? */
static bool says_all_of(yyjson_mut_val *there, yyjson_mut_val *patch)
{
    if (yyjson_mut_is_null(patch))
        return false;
    if (yyjson_mut_is_obj(patch))
        return yyjson_mut_is_obj(there) && has_members(there, patch);
    if (yyjson_mut_is_arr(patch))
        return yyjson_mut_is_arr(there) && has_items(there, patch);
    return json_mut_equal(there, patch);
}

/* Merging such a list would leave all as it is. A client that reports a status mostly sends the
 * same conditions once more. */
static bool repeats_items(const struct field *field, yyjson_mut_val *target, yyjson_mut_val *patch)
{
    if (yyjson_mut_arr_size(target) != yyjson_mut_arr_size(patch))
        return false;
    yyjson_mut_arr_iter there = yyjson_mut_arr_iter_with(target);
    yyjson_mut_arr_iter iter = yyjson_mut_arr_iter_with(patch);
    for (yyjson_mut_val *item; (item = yyjson_mut_arr_iter_next(&iter));)
        if (!yyjson_mut_is_str(yyjson_mut_obj_get(item, field->merge_key)) ||
            !says_all_of(yyjson_mut_arr_iter_next(&there), item))
            return false;
    return true;
}

/* The keys that `$patch: delete` items name leave the list. */
static int delete_items(struct strategic *s, const struct field *field, yyjson_mut_val *target,
                        yyjson_mut_val *patch)
{
    scoped_keyindex gone = {0};
    yyjson_mut_arr_iter iter = yyjson_mut_arr_iter_with(patch);
    yyjson_mut_val *item;
    while ((item = yyjson_mut_arr_iter_next(&iter))) {
        if (!yyjson_mut_equals_str(yyjson_mut_obj_get(item, PATCH), "delete"))
            continue;
        struct sv key = patch_item_key(s->doc, item, field->merge_key);
        if (!key.ptr)
            return err_set(s->err, -EINVAL, "an item of %s to be deleted has no '%s'", field->name,
                           field->merge_key);
        keyindex_add(&gone, key, NULL, NULL);
    }
    keyindex_sort(&gone);
    if (!gone.refs.len)
        return 0;
    iter = yyjson_mut_arr_iter_with(target);
    while ((item = yyjson_mut_arr_iter_next(&iter))) {
        struct sv key = patch_item_key(s->doc, item, field->merge_key);
        if (key.ptr && keyindex_find(&gone, key))
            patch_mark(item);
    }
    patch_sweep(target);
    return 0;
}

/* Finds out whether some item says `$patch: replace`, and takes all items with directives out. */
static int take_directives(struct strategic *s, const struct field *field, yyjson_mut_val *patch,
                           bool *ret_replace)
{
    bool replace = false;
    yyjson_mut_arr_iter iter = yyjson_mut_arr_iter_with(patch);
    yyjson_mut_val *item;
    while ((item = yyjson_mut_arr_iter_next(&iter))) {
        if (!yyjson_mut_is_obj(item))
            return err_set(s->err, -EINVAL, "an item of %s is no object", field->name);
        enum directive directive;
        int r = directive_of(s, item, &directive);
        if (r < 0)
            return r;
        replace = replace || directive == DIRECTIVE_REPLACE;
        if (directive != DIRECTIVE_MERGE)
            patch_mark(item);
    }
    patch_sweep(patch);
    *ret_replace = replace;
    return 0;
}

static int merge_item(struct strategic *s, const struct field *field, struct patch_item item,
                      yyjson_mut_val *old, struct patch_items *items)
{
    if (!item.key.ptr) {
        (void)err_set(s->err, -EINVAL, "an item of %s has no '%s'", field->name, field->merge_key);
        (void)err_hint(s->err, "items of this list are matched by their '%s'", field->merge_key);
        return -EINVAL;
    }
    if (yyjson_mut_is_obj(old))
        return merge_object(s, spot_item(field), old, item.val);
    yyjson_mut_val *made = yyjson_mut_obj(s->doc);
    int r = merge_object(s, spot_item(field), made, item.val);
    if (r < 0)
        return r;
    item.val = made;
    item.is_new = true;
    vec_push(&items->list, item);
    return 0;
}

static int merge_objects(struct strategic *s, const struct field *field, yyjson_mut_val *target,
                         yyjson_mut_val *patch)
{
    bool replace = false;
    if (repeats_items(field, target, patch))
        return 0;
    int r = delete_items(s, field, target, patch);
    if (r == 0)
        r = take_directives(s, field, patch, &replace);
    if (r < 0)
        return r;
    if (replace)
        (void)yyjson_mut_arr_clear(target); /* fails on other types only */
    scoped_items items = {0}, changes = {0};
    scoped_keyindex index = {0};
    patch_items_of(s->doc, target, field->merge_key, &items);
    patch_items_of(s->doc, patch, field->merge_key, &changes);
    patch_items_index(&items, &index);
    for (size_t i = 0; i < changes.list.len; i++) {
        struct patch_item change = changes.list.items[i];
        struct keyref *ref = patch_items_find(&index, change);
        r = merge_item(s, field, change, ref ? ref->val : NULL, &items);
        if (r < 0)
            return r;
    }
    patch_items_arrange(&items, &changes, target);
    return 0;
}

static void merge_scalars(struct strategic *s, yyjson_mut_val *target, yyjson_mut_val *patch)
{
    scoped_items items = {0}, changes = {0};
    scoped_keyindex index = {0};
    patch_items_of(s->doc, target, NULL, &items);
    patch_items_of(s->doc, patch, NULL, &changes);
    patch_items_index(&items, &index);
    for (size_t i = 0; i < changes.list.len; i++) {
        struct patch_item change = changes.list.items[i];
        if (change.nth > 0 || keyindex_find(&index, change.key))
            continue;
        change.is_new = true;
        change.val = patch_move(s->doc, change.val);
        vec_push(&items.list, change);
    }
    patch_items_arrange(&items, &changes, target);
}

static void delete_scalars(struct strategic *s, yyjson_mut_val *target, yyjson_mut_val *values)
{
    scoped_items gone = {0};
    scoped_keyindex index = {0};
    patch_items_of(s->doc, values, NULL, &gone);
    patch_items_index(&gone, &index);
    yyjson_mut_arr_iter iter = yyjson_mut_arr_iter_with(target);
    yyjson_mut_val *item;
    while ((item = yyjson_mut_arr_iter_next(&iter)))
        if (keyindex_find(&index, patch_item_key(s->doc, item, NULL)))
            patch_mark(item);
    patch_sweep(target);
}

/* ---- members ---- */

/* Makes `target`, which may be of any type, what the patch says. */
static int merge_value(struct strategic *s, struct spot spot, const struct field *field,
                       yyjson_mut_val *target, yyjson_mut_val *patch)
{
    if (yyjson_mut_is_obj(patch)) {
        if (!yyjson_mut_is_obj(target))
            (void)yyjson_mut_set_obj(target);
        return merge_object(s, spot_inside(spot, field), target, patch);
    }
    bool objects = spot_merges_objects(field), scalars = spot_merges_scalars(field);
    if (!yyjson_mut_is_arr(patch) || (!objects && !scalars)) {
        drop_directives(patch);
        patch_overwrite(target, patch);
        return 0;
    }
    if (!yyjson_mut_is_arr(target))
        (void)yyjson_mut_set_arr(target);
    if (objects)
        return merge_objects(s, field, target, patch);
    drop_directives(patch); /* objects where scalars belong may hold some */
    merge_scalars(s, target, patch);
    return 0;
}

/* $retainKeys: what it does not name leaves the target. */
static int retain_keys(struct strategic *s, yyjson_mut_val *target, yyjson_mut_val *patch)
{
    yyjson_mut_val *names = yyjson_mut_obj_get(patch, RETAIN);
    if (!names)
        return 0;
    if (!yyjson_mut_is_arr(names))
        return err_set(s->err, -EINVAL, RETAIN " must be a list of keys");
    scoped_keyindex index = {0};
    yyjson_mut_val *key;
    yyjson_mut_arr_iter names_iter = yyjson_mut_arr_iter_with(names);
    while ((key = yyjson_mut_arr_iter_next(&names_iter)))
        if (yyjson_mut_is_str(key))
            keyindex_add(&index, keyindex_text(key), NULL, NULL);
    keyindex_sort(&index);
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(patch);
    while ((key = yyjson_mut_obj_iter_next(&iter)))
        if (!is_directive(keyindex_text(key)) && !keyindex_find(&index, keyindex_text(key)) &&
            !yyjson_mut_is_null(yyjson_mut_obj_iter_get_val(key)))
            return err_set(s->err, -EINVAL, RETAIN " does not name '%.80s', which the patch sets",
                           yyjson_mut_get_str(key));
    iter = yyjson_mut_obj_iter_with(target);
    while ((key = yyjson_mut_obj_iter_next(&iter)))
        if (!keyindex_find(&index, keyindex_text(key)))
            (void)yyjson_mut_obj_iter_remove(&iter);
    return 0;
}

static int delete_from_lists(struct strategic *s, yyjson_mut_val *target, yyjson_mut_val *patch)
{
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(patch);
    yyjson_mut_val *key;
    while ((key = yyjson_mut_obj_iter_next(&iter))) {
        struct sv text = keyindex_text(key);
        if (!may_be_directive(text) || !sv_starts(text, DELETE_FROM))
            continue;
        yyjson_mut_val *values = yyjson_mut_obj_iter_get_val(key);
        if (!yyjson_mut_is_arr(values))
            return err_set(s->err, -EINVAL, "%.80s must be a list", text.ptr);
        struct sv name = after(text, DELETE_FROM);
        yyjson_mut_val *list = yyjson_mut_obj_getn(target, name.ptr, name.len);
        if (yyjson_mut_is_arr(list))
            delete_scalars(s, list, values);
    }
    return 0;
}

static int set_orders(struct strategic *s, struct spot spot, yyjson_mut_val *target,
                      yyjson_mut_val *patch)
{
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(patch);
    yyjson_mut_val *key;
    while ((key = yyjson_mut_obj_iter_next(&iter))) {
        struct sv text = keyindex_text(key);
        if (!may_be_directive(text) || !sv_starts(text, SET_ORDER))
            continue;
        yyjson_mut_val *values = yyjson_mut_obj_iter_get_val(key);
        if (!yyjson_mut_is_arr(values))
            return err_set(s->err, -EINVAL, "%.80s must be a list", text.ptr);
        struct sv name = after(text, SET_ORDER);
        const struct field *field = spot_field(spot, name);
        yyjson_mut_val *list = yyjson_mut_obj_getn(target, name.ptr, name.len);
        if (!yyjson_mut_is_arr(list) || !(spot_merges_objects(field) || spot_merges_scalars(field)))
            continue;
        scoped_items items = {0}, order = {0};
        patch_items_of(s->doc, list, field->merge_key, &items);
        patch_items_of(s->doc, values, field->merge_key, &order);
        patch_items_arrange(&items, &order, list);
    }
    return 0;
}

static int merge_members(struct strategic *s, struct spot spot, yyjson_mut_val *target,
                         yyjson_mut_val *patch)
{
    scoped_finder finder;
    finder_init(&finder, target, yyjson_mut_obj_size(patch));
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(patch);
    yyjson_mut_val *key;
    int r = 0;
    while (r == 0 && (key = yyjson_mut_obj_iter_next(&iter))) {
        struct sv text = keyindex_text(key);
        yyjson_mut_val *val = yyjson_mut_obj_iter_get_val(key);
        yyjson_mut_val *old = is_directive(text) ? NULL : finder_get(&finder, text);
        if (is_directive(text))
            continue;
        if (yyjson_mut_is_null(val)) {
            if (old)
                patch_mark(old);
            continue;
        }
        yyjson_mut_val *slot = old ? old : yyjson_mut_null(s->doc);
        r = merge_value(s, spot, spot_field(spot, text), slot, val);
        if (r == 0 && !old)
            patch_append(s->doc, target, text, slot);
    }
    patch_sweep(target);
    return r;
}

/* The copy of the patch bounds the recursion: it is at most JSON_DEPTH_MAX deep. */
static int merge_object(struct strategic *s, struct spot spot, yyjson_mut_val *target,
                        yyjson_mut_val *patch)
{
    enum directive directive;
    int r = directive_of(s, patch, &directive);
    if (r < 0)
        return r;
    if (directive != DIRECTIVE_MERGE)
        (void)yyjson_mut_obj_clear(target); /* fails on other types only */
    if (directive == DIRECTIVE_DELETE)
        return 0;
    r = retain_keys(s, target, patch);
    if (r == 0)
        r = delete_from_lists(s, target, patch);
    if (r == 0)
        r = merge_members(s, spot, target, patch);
    return r < 0 ? r : set_orders(s, spot, target, patch);
}

int patch_strategic(const struct type *type, yyjson_mut_doc *doc, yyjson_val *patch,
                    struct err *err)
{
    struct strategic s = {doc, err};
    yyjson_mut_val *copy, *root = yyjson_mut_doc_get_root(doc);
    int r = patch_borrow(doc, patch, &copy, err);
    if (r < 0)
        return r;
    if (!yyjson_mut_is_obj(copy) || !yyjson_mut_is_obj(root))
        return err_set(err, -EINVAL, "a strategic merge patch is an object for an object");
    return merge_object(&s, (struct spot){.type = type}, root, copy);
}

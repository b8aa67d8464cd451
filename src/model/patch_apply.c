// SPDX-License-Identifier: Apache-2.0
#include "model/patch_internal.h"
#include <errno.h>

/* Three-way apply. What `last` said and `desired` no longer says is removed from `current`, what
 * `desired` says is put there, and what neither speaks of (defaults, other writers' fields) stays.
 * Both are copied into the document first; parts of `desired` are moved into place. */

struct apply {
    yyjson_mut_doc *doc;
    struct err *err;
};

/* One value's three versions; `last` may be NULL. */
struct three {
    yyjson_mut_val *current, *last, *desired;
};

static int apply_object(struct apply *a, struct spot spot, struct three t, bool retain);

/* Does `current` already say all that `desired` does? */
static bool covers(yyjson_mut_val *current, yyjson_mut_val *desired)
{
    if (!yyjson_mut_is_obj(current) || !yyjson_mut_is_obj(desired))
        return patch_equal(current, desired);
    scoped_finder finder;
    finder_init(&finder, current, yyjson_mut_obj_size(desired));
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(desired);
    yyjson_mut_val *key;
    while ((key = yyjson_mut_obj_iter_next(&iter))) {
        yyjson_mut_val *same = finder_get(&finder, keyindex_text(key));
        if (!same || !covers(same, yyjson_mut_obj_iter_get_val(key)))
            return false;
    }
    return true;
}

/* Marks in `current` what `sample` has and `desired` has not; without a sample, all of it. */
static void mark_absent(struct three t, yyjson_mut_val *sample)
{
    scoped_finder wanted, there;
    finder_init(&wanted, t.desired, yyjson_mut_obj_size(sample));
    finder_init(&there, t.current, yyjson_mut_obj_size(sample));
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(sample);
    yyjson_mut_val *key;
    while ((key = yyjson_mut_obj_iter_next(&iter))) {
        yyjson_mut_val *val = finder_get(&there, keyindex_text(key));
        if (val && !finder_get(&wanted, keyindex_text(key)))
            patch_mark(val);
    }
}

/* ---- lists ---- */

struct list_index {
    struct patch_items items;
    struct keyindex index;
};

static void list_index_of(struct apply *a, yyjson_mut_val *array, const char *merge_key,
                          struct list_index *list)
{
    *list = (struct list_index){0};
    if (yyjson_mut_is_arr(array))
        patch_items_of(a->doc, array, merge_key, &list->items);
    patch_items_index(&list->items, &list->index);
}

static void list_index_done(struct list_index *list)
{
    patch_items_done(&list->items);
    keyindex_done(&list->index);
}
#define scoped_list __attribute__((cleanup(list_index_done))) struct list_index

/* Takes the items out that `last` has and `desired` has not. */
static void remove_items(struct apply *a, struct three t, const char *merge_key,
                         const struct list_index *last, const struct list_index *wanted)
{
    scoped_items items = {0};
    patch_items_of(a->doc, t.current, merge_key, &items);
    for (size_t i = 0; i < items.list.len; i++) {
        struct patch_item item = items.list.items[i];
        if (patch_items_find(&last->index, item) && !patch_items_find(&wanted->index, item))
            patch_mark(item.val);
    }
    patch_sweep(t.current);
}

static int apply_item(struct apply *a, const struct field *field, struct patch_item item,
                      struct three t)
{
    if (field->type != F_OBJECT)
        return 0;
    if (!item.key.ptr || !yyjson_mut_is_obj(t.desired))
        return err_set(a->err, -EINVAL, "an item of %s has no '%s'", field->name, field->merge_key);
    return apply_object(a, spot_item(field), t, field->flags & RETAIN_KEYS);
}

static int apply_list(struct apply *a, const struct field *field, struct three t)
{
    const char *merge_key = field->type == F_OBJECT ? field->merge_key : NULL;
    scoped_list wanted, last, there;
    list_index_of(a, t.desired, merge_key, &wanted);
    list_index_of(a, t.last, merge_key, &last);
    remove_items(a, t, merge_key, &last, &wanted);
    list_index_of(a, t.current, merge_key, &there);
    for (size_t i = 0; i < wanted.items.list.len; i++) {
        struct patch_item item = wanted.items.list.items[i];
        struct keyref *old = patch_items_find(&there.index, item);
        struct keyref *before = patch_items_find(&last.index, item);
        struct three inner = {old ? old->val : yyjson_mut_obj(a->doc), before ? before->val : NULL,
                              item.val};
        int r = apply_item(a, field, item, inner);
        if (r < 0)
            return r;
        if (old || (!merge_key && item.nth > 0))
            continue;
        item.val = merge_key ? inner.current : patch_move(a->doc, item.val);
        item.is_new = true;
        vec_push(&there.items.list, item);
    }
    patch_items_arrange(&there.items, &wanted.items, t.current);
    return 0;
}

/* ---- members ---- */

static int apply_value(struct apply *a, struct spot spot, const struct field *field, struct three t)
{
    if (yyjson_mut_is_obj(t.desired)) {
        if (!yyjson_mut_is_obj(t.current))
            (void)yyjson_mut_set_obj(t.current);
        return apply_object(a, spot_inside(spot, field), t,
                            field && field->shape == ONE && field->flags & RETAIN_KEYS);
    }
    bool by_item = spot_merges_objects(field) || spot_merges_scalars(field);
    if (!yyjson_mut_is_arr(t.desired) || !by_item) {
        patch_overwrite(t.current, t.desired);
        return 0;
    }
    if (!yyjson_mut_is_arr(t.current))
        (void)yyjson_mut_set_arr(t.current);
    return apply_list(a, field, t);
}

static int apply_members(struct apply *a, struct spot spot, struct three t)
{
    scoped_finder there, before;
    finder_init(&there, t.current, yyjson_mut_obj_size(t.desired));
    finder_init(&before, t.last, yyjson_mut_obj_size(t.desired));
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(t.desired);
    yyjson_mut_val *key;
    int r = 0;
    while (r == 0 && (key = yyjson_mut_obj_iter_next(&iter))) {
        struct sv text = keyindex_text(key);
        yyjson_mut_val *old = finder_get(&there, text);
        struct three inner = {old, finder_get(&before, text), yyjson_mut_obj_iter_get_val(key)};
        if (yyjson_mut_is_null(inner.desired)) {
            if (old)
                patch_mark(old);
            continue;
        }
        if (!old)
            inner.current = yyjson_mut_null(a->doc);
        r = apply_value(a, spot, spot_field(spot, text), inner);
        if (r == 0 && !old)
            patch_append(a->doc, t.current, text, inner.current);
    }
    return r;
}

/* The copy of `desired` bounds the recursion. */
static int apply_object(struct apply *a, struct spot spot, struct three t, bool retain)
{
    if (!yyjson_mut_is_obj(t.last))
        t.last = NULL;
    if (retain && !covers(t.current, t.desired))
        mark_absent(t, t.current);
    if (t.last)
        mark_absent(t, t.last);
    patch_sweep(t.current);
    int r = apply_members(a, spot, t);
    patch_sweep(t.current);
    return r;
}

int patch_apply(const struct type *type, yyjson_mut_doc *current, yyjson_val *last,
                yyjson_val *desired, struct err *err)
{
    struct apply a = {current, err};
    struct three t = {.current = yyjson_mut_doc_get_root(current)};
    int r = patch_import(current, desired, &t.desired, err);
    if (r == 0 && last)
        r = patch_import(current, last, &t.last, err);
    if (r < 0)
        return r;
    if (!yyjson_mut_is_obj(t.desired) || !yyjson_mut_is_obj(t.current))
        return err_set(err, -EINVAL, "only an object can be applied to an object");
    r = apply_object(&a, (struct spot){.type = type}, t, false);
    return r < 0 ? r : patch_finish(current, err);
}

// SPDX-License-Identifier: Apache-2.0
#include "model/patch_internal.h"
#include <errno.h>
#include <stdlib.h>

#define INDEX_FROM 8 /* look-ups from which sorting the keys first is cheaper */

static int check_depth(yyjson_val *patch, struct err *err)
{
    struct err cause = {0};
    if (json_check_depth_val(patch, &cause) < 0)
        return err_set(err, -E2BIG, "the patch is %s", cause.text);
    return 0;
}

int patch_import(yyjson_mut_doc *doc, yyjson_val *patch, yyjson_mut_val **ret_copy, struct err *err)
{
    int r = check_depth(patch, err);
    if (r == 0)
        *ret_copy = yyjson_val_mut_copy(doc, patch);
    return r;
}

int patch_borrow(yyjson_mut_doc *doc, yyjson_val *patch, yyjson_mut_val **ret_copy, struct err *err)
{
    int r = check_depth(patch, err);
    if (r == 0)
        *ret_copy = json_mut_borrow(doc, patch);
    return r;
}

int patch_finish(yyjson_mut_doc *doc, struct err *err)
{
    struct err cause = {0};
    if (json_check_depth(yyjson_mut_doc_get_root(doc), &cause) < 0)
        return err_set(err, -E2BIG, "the patched object is %s", cause.text);
    return 0;
}

/* ---- objects ---- */

void finder_init(struct finder *finder, yyjson_mut_val *object, size_t lookups)
{
    *finder = (struct finder){.object = object, .indexed = lookups >= INDEX_FROM};
    if (finder->indexed) {
        keyindex_add_object(&finder->index, object);
        keyindex_sort(&finder->index);
    }
}

yyjson_mut_val *finder_get(const struct finder *finder, struct sv key)
{
    if (!finder->indexed)
        return yyjson_mut_obj_getn(finder->object, key.ptr, key.len);
    const struct keyref *ref = keyindex_find(&finder->index, key);
    return ref ? ref->val : NULL;
}

void finder_done(struct finder *finder)
{
    keyindex_done(&finder->index);
}

void patch_overwrite(yyjson_mut_val *to, const yyjson_mut_val *from)
{
    to->tag = from->tag;
    to->uni = from->uni;
}

yyjson_mut_val *patch_move(yyjson_mut_doc *doc, const yyjson_mut_val *val)
{
    yyjson_mut_val *moved = yyjson_mut_null(doc);
    patch_overwrite(moved, val);
    return moved;
}

void patch_append(yyjson_mut_doc *doc, yyjson_mut_val *object, struct sv key, yyjson_mut_val *val)
{
    (void)yyjson_mut_obj_add(object, yyjson_mut_strn(doc, key.ptr, key.len),
                             patch_move(doc, val)); /* fails on NULL only */
}

void patch_mark(yyjson_mut_val *val)
{
    val->tag = YYJSON_TYPE_NONE;
}

static bool is_marked(const yyjson_mut_val *val)
{
    return val->tag == YYJSON_TYPE_NONE;
}

/* Not yyjson_mut_arr_iter_remove(): in yyjson 0.10 it steps over the item behind the removed one.
 */
static void sweep_array(yyjson_mut_val *array)
{
    size_t n = yyjson_mut_arr_size(array);
    yyjson_mut_val *item = yyjson_mut_arr_get_first(array);
    (void)yyjson_mut_arr_clear(array); /* fails on other types only */
    for (size_t i = 0; i < n; i++) {
        yyjson_mut_val *next = item->next;
        if (!is_marked(item))
            (void)yyjson_mut_arr_append(array, item); /* fails on NULL only */
        item = next;
    }
}

static void sweep_object(yyjson_mut_val *object)
{
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(object);
    yyjson_mut_val *key;
    while ((key = yyjson_mut_obj_iter_next(&iter)))
        if (is_marked(yyjson_mut_obj_iter_get_val(key)))
            (void)yyjson_mut_obj_iter_remove(&iter);
}

void patch_sweep(yyjson_mut_val *container)
{
    if (yyjson_mut_is_arr(container))
        sweep_array(container);
    else
        sweep_object(container);
}

void patch_drop_nulls(yyjson_mut_val *val)
{
    if (!yyjson_mut_is_obj(val))
        return;
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(val);
    yyjson_mut_val *key;
    while ((key = yyjson_mut_obj_iter_next(&iter))) {
        yyjson_mut_val *member = yyjson_mut_obj_iter_get_val(key);
        if (yyjson_mut_is_null(member))
            patch_mark(member);
        else
            patch_drop_nulls(member);
    }
    patch_sweep(val);
}

/* ---- equality ---- */

static bool number_equal(yyjson_mut_val *a, yyjson_mut_val *b)
{
    if (yyjson_mut_is_int(a) == yyjson_mut_is_int(b))
        return json_mut_equal(a, b);
    yyjson_mut_val *whole = yyjson_mut_is_int(a) ? a : b;
    long double real = (long double)yyjson_mut_get_real(whole == a ? b : a);
    return real == (yyjson_mut_is_sint(whole) ? (long double)yyjson_mut_get_sint(whole)
                                              : (long double)yyjson_mut_get_uint(whole));
}

static bool array_equal(yyjson_mut_val *a, yyjson_mut_val *b)
{
    yyjson_mut_arr_iter iter_a = yyjson_mut_arr_iter_with(a);
    yyjson_mut_arr_iter iter_b = yyjson_mut_arr_iter_with(b);
    yyjson_mut_val *item;
    while ((item = yyjson_mut_arr_iter_next(&iter_a)))
        if (!patch_equal(item, yyjson_mut_arr_iter_next(&iter_b)))
            return false;
    return true;
}

static bool object_equal(yyjson_mut_val *a, yyjson_mut_val *b)
{
    scoped_finder finder;
    finder_init(&finder, b, yyjson_mut_obj_size(a));
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(a);
    yyjson_mut_val *key;
    while ((key = yyjson_mut_obj_iter_next(&iter))) {
        yyjson_mut_val *other = finder_get(&finder, keyindex_text(key));
        if (!other || !patch_equal(yyjson_mut_obj_iter_get_val(key), other))
            return false;
    }
    return true;
}

bool patch_equal(yyjson_mut_val *a, yyjson_mut_val *b)
{
    if (yyjson_mut_is_num(a) && yyjson_mut_is_num(b))
        return number_equal(a, b);
    if (!yyjson_mut_is_ctn(a) || yyjson_mut_get_type(a) != yyjson_mut_get_type(b))
        return json_mut_equal(a, b);
    if (unsafe_yyjson_get_len(a) != unsafe_yyjson_get_len(b))
        return false;
    return yyjson_mut_is_arr(a) ? array_equal(a, b) : object_equal(a, b);
}

/* ---- tables ---- */

const struct field *spot_field(struct spot spot, struct sv key)
{
    return spot.type ? type_field(spot.type, key.ptr, key.len) : NULL;
}

struct spot spot_item(const struct field *field)
{
    return (struct spot){.type = field && field->type == F_OBJECT ? field->of : NULL};
}

struct spot spot_inside(struct spot spot, const struct field *field)
{
    if (spot.map)
        return spot_item(spot.map);
    if (field && field->shape == MAP)
        return (struct spot){.map = field};
    return field && field->shape == ONE ? spot_item(field) : (struct spot){0};
}

bool spot_merges_objects(const struct field *field)
{
    return field && field->shape == LIST && (field->flags & MERGE) && field->type == F_OBJECT &&
           field->merge_key;
}

bool spot_merges_scalars(const struct field *field)
{
    return field && field->shape == LIST && (field->flags & MERGE) && field->type != F_OBJECT;
}

/* ---- lists ---- */

static struct sv json_text(yyjson_mut_doc *doc, yyjson_mut_val *val)
{
    scoped_str text = {0};
    json_write(val, &text);
    return keyindex_text(yyjson_mut_strncpy(doc, text.data, text.len));
}

/* Of scalars the JSON text, so that "1" and 1 are two; keys of objects are equal as words. */
struct sv patch_item_key(yyjson_mut_doc *doc, yyjson_mut_val *item, const char *merge_key)
{
    if (!merge_key)
        return json_text(doc, item);
    yyjson_mut_val *val = yyjson_mut_obj_get(item, merge_key);
    if (yyjson_mut_is_str(val))
        return keyindex_text(val);
    if (!val || yyjson_mut_is_ctn(val) || yyjson_mut_is_null(val))
        return (struct sv){NULL, 0};
    return json_text(doc, val);
}

static void count_repeated(struct patch_items *items)
{
    scoped_keyindex index = {0};
    patch_items_index(items, &index);
    for (size_t i = 1; i < index.refs.len; i++) {
        const struct keyref *ref = &index.refs.items[i];
        if (sv_eq(ref->text, ref[-1].text))
            items->list.items[ref->order].nth = items->list.items[ref[-1].order].nth + 1;
    }
}

void patch_items_of(yyjson_mut_doc *doc, yyjson_mut_val *array, const char *merge_key,
                    struct patch_items *items)
{
    yyjson_mut_arr_iter iter = yyjson_mut_arr_iter_with(array);
    yyjson_mut_val *val;
    while ((val = yyjson_mut_arr_iter_next(&iter))) {
        struct patch_item item = {.val = val, .key = patch_item_key(doc, val, merge_key)};
        vec_push(&items->list, item);
    }
    count_repeated(items);
}

void patch_items_index(const struct patch_items *items, struct keyindex *index)
{
    for (size_t i = 0; i < items->list.len; i++) {
        const struct patch_item *item = &items->list.items[i];
        if (!item->key.ptr)
            continue;
        keyindex_add(index, item->key, NULL, item->val);
        vec_last(&index->refs)->order = i;
    }
    keyindex_sort(index);
}

struct keyref *patch_items_find(const struct keyindex *index, struct patch_item item)
{
    struct keyref *first = item.key.ptr ? keyindex_find(index, item.key) : NULL;
    if (!first)
        return NULL;
    size_t at = (size_t)(first - index->refs.items) + item.nth;
    if (at >= index->refs.len || !sv_eq(index->refs.items[at].text, item.key))
        return NULL;
    return &index->refs.items[at];
}

void patch_items_done(struct patch_items *items)
{
    vec_done(&items->list);
}

struct ranked {
    size_t rank; /* in the order that is asked for */
    size_t was;  /* in the list, SIZE_MAX for new items */
    yyjson_mut_val *val;
};

static int compare_rank(const void *a_, const void *b_)
{
    const struct ranked *a = a_, *b = b_;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a->was > b->was) - (a->was < b->was);
}

struct rows {
    VEC(struct ranked) list;
};

static void split_by_order(const struct patch_items *items, const struct patch_items *order,
                           struct rows *named, struct rows *rest)
{
    scoped_keyindex index = {0};
    patch_items_index(order, &index);
    for (size_t i = 0; i < items->list.len; i++) {
        const struct patch_item *item = &items->list.items[i];
        const struct keyref *ref = patch_items_find(&index, *item);
        if (!ref && item->key.ptr)
            ref = keyindex_find(&index, item->key);
        struct ranked ranked = {ref ? ref->order : 0, item->is_new ? SIZE_MAX : i, item->val};
        if (ref)
            vec_push(&named->list, ranked);
        else
            vec_push(&rest->list, ranked);
    }
    if (named->list.len > 1)
        qsort(named->list.items, named->list.len, sizeof(struct ranked), compare_rank);
}

static bool rest_goes_first(const struct rows *rest, size_t i, const struct rows *named, size_t j)
{
    if (i == rest->list.len || j == named->list.len)
        return i < rest->list.len;
    size_t was = named->list.items[j].was;
    return was != SIZE_MAX && rest->list.items[i].was < was;
}

void patch_items_arrange(struct patch_items *items, const struct patch_items *order,
                         yyjson_mut_val *array)
{
    struct rows named = {0}, rest = {0};
    split_by_order(items, order, &named, &rest);
    (void)yyjson_mut_arr_clear(array); /* fails on other types only */
    size_t i = 0, j = 0;
    while (i < rest.list.len || j < named.list.len) {
        struct ranked *next =
            rest_goes_first(&rest, i, &named, j) ? &rest.list.items[i++] : &named.list.items[j++];
        (void)yyjson_mut_arr_append(array, next->val);
    }
    vec_done(&named.list);
    vec_done(&rest.list);
}

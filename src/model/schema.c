// SPDX-License-Identifier: Apache-2.0
/* What a table says, done to a document: defaults, checks, unknown fields. Three walks of the same
 * shape; each goes down only where the table has an `of`, so what no table names is never touched.
 *
 * 1. null is absence: a member that is null is treated as if it were not there.
 * 2. The walks trust nothing but the depth of the document, which the parser bounds; a value of the
 *    wrong type is a finding and is not entered.
 * 3. No step costs more than linear time in the size of its list, since requests come from
 *    outside: keys of lists are looked up in a map, not in the list, unless that is short. */
#include "base/map.h"
#include "model/schema_internal.h"
#include <assert.h>

#define SHORT_LIST 16

const struct field *type_field(const struct type *type, const char *name, size_t len)
{
    for (const struct field *f = type->fields; f->name != NULL; f++)
        if (f->name[0] == name[0] && strlen(f->name) == len && memcmp(f->name, name, len) == 0)
            return f;
    return NULL;
}

/* ---- defaults ---- */

/* Inside a template there are no defaults: they come when something is made of it. */
enum filling {
    FILL_DEFAULTS,
    FILL_NONE,
};

/* What `kept` names was filled when it came; NULL: nothing is known. */
static void fill_object(const struct type *type, yyjson_mut_doc *doc, yyjson_mut_val *obj,
                        struct pack_kept *kept, enum filling filling);

static void drop_nulls(yyjson_mut_val *obj)
{
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(obj);
    for (yyjson_mut_val *key; (key = yyjson_mut_obj_iter_next(&iter)) != NULL;)
        if (yyjson_mut_is_null(yyjson_mut_obj_iter_get_val(key)))
            (void)yyjson_mut_obj_iter_remove(&iter); /* it lives on in the document's pool */
}

static void fill_list(const struct field *field, yyjson_mut_doc *doc, yyjson_mut_val *list,
                      enum filling filling)
{
    size_t i, max;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(list, i, max, item)
    {
        if (yyjson_mut_is_obj(item))
            fill_object(field->of, doc, item, NULL, filling);
    }
}

static void fill_map(const struct field *field, yyjson_mut_doc *doc, yyjson_mut_val *map,
                     enum filling filling)
{
    size_t i, max;
    yyjson_mut_val *key, *val;
    yyjson_mut_obj_foreach(map, i, max, key, val)
    {
        /* `key:` without a value in YAML; a label or setting that is there but empty. */
        if (field->type == F_STRING && yyjson_mut_is_null(val))
            (void)yyjson_mut_set_str(val, "");
        if (field->type == F_OBJECT && field->of != NULL && yyjson_mut_is_obj(val))
            fill_object(field->of, doc, val, NULL, filling);
    }
    if (field->type != F_ANY)
        drop_nulls(map);
}

static void fill_value(const struct field *field, yyjson_mut_doc *doc, yyjson_mut_val *val,
                       struct pack_kept *kept, enum filling filling)
{
    if (field->flags & AS_WRITTEN)
        filling = FILL_NONE;
    bool typed = field->type == F_OBJECT && field->of != NULL;
    if (field->shape == MAP && yyjson_mut_is_obj(val))
        fill_map(field, doc, val, filling);
    else if (field->shape == LIST && typed && yyjson_mut_is_arr(val))
        fill_list(field, doc, val, filling);
    else if (field->shape == ONE && typed && yyjson_mut_is_obj(val))
        fill_object(field->of, doc, val, kept, filling);
}

/* Is there anything that filling could do to it? Most fields are plain, and looking each of them up
 * is most of the cost of filling. */
static bool is_filled(const struct field *field)
{
    return field->fallback != NULL || field->shape == MAP ||
           (field->type == F_OBJECT && field->of != NULL);
}

static yyjson_mut_val *fallback_of(const struct field *field, yyjson_mut_doc *doc)
{
    scoped_json *parsed = yyjson_read(field->fallback, strlen(field->fallback), 0);
    assert(parsed != NULL);
    return yyjson_val_mut_copy(doc, yyjson_doc_get_root(parsed));
}

static void fill_fields(const struct type *type, yyjson_mut_doc *doc, yyjson_mut_val *obj,
                        struct pack_kept *kept, enum filling filling)
{
    drop_nulls(obj);
    for (const struct field *f = type->fields; f->name != NULL; f++) {
        if (!is_filled(f))
            continue;
        yyjson_mut_val *val = yyjson_mut_obj_get(obj, f->name);
        if (val == NULL && f->fallback != NULL && filling == FILL_DEFAULTS) {
            val = fallback_of(f, doc);
            (void)yyjson_mut_obj_add_val(doc, obj, f->name, val);
        }
        if (val != NULL && !pack_keeps(kept, val))
            fill_value(f, doc, val, kept, filling);
    }
}

/* The type's own part, after its table's. */
static void fill_rest(const struct type *type, yyjson_mut_doc *doc, yyjson_mut_val *obj,
                      enum filling filling)
{
    if (type->expand != NULL)
        type->expand(doc, obj);
    if (type->fill != NULL && filling == FILL_DEFAULTS)
        type->fill(doc, obj);
}

static void fill_object(const struct type *type, yyjson_mut_doc *doc, yyjson_mut_val *obj,
                        struct pack_kept *kept, enum filling filling)
{
    /* A function of the type may look anywhere in the object, and change what it finds. */
    if (kept != NULL && (type->expand != NULL || type->fill != NULL)) {
        kept->part_count = 0;
        kept = NULL;
    }
    fill_fields(type, doc, obj, kept, filling);
    fill_rest(type, doc, obj, filling);
}

void schema_fill(const struct type *type, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    if (yyjson_mut_is_obj(root))
        fill_object(type, doc, root, NULL, FILL_DEFAULTS);
}

void schema_fill_rest(const struct type *type, yyjson_mut_doc *doc, yyjson_mut_val *root,
                      struct pack_kept *kept)
{
    fill_fields(type, doc, root, kept, FILL_DEFAULTS);
    const yyjson_mut_val *next = doc->val_pool.cur;
    fill_rest(type, doc, root, FILL_DEFAULTS);
    /* It added something, wherever: what was known of the members may no longer be so. */
    if (doc->val_pool.cur != next)
        pack_forget(kept);
}

/* ---- lists and maps ---- */

static void check_object(struct check *c, const struct type *type, yyjson_mut_val *val,
                         yyjson_mut_val *old);

static void check_one(struct check *c, const struct field *field, yyjson_mut_val *val,
                      yyjson_mut_val *old)
{
    if (field->type != F_OBJECT)
        check_scalar(c, field, val);
    else if (!yyjson_mut_is_obj(val))
        check_type(c, NULL, val, "an object");
    else if (field->of != NULL)
        check_object(c, field->of, val, yyjson_mut_is_obj(old) ? old : NULL);
}

/* The merge key of one item as JSON text, which has no NUL in it; false when it has none. */
static bool item_key(const struct field *field, yyjson_mut_val *item, struct str *out)
{
    yyjson_mut_val *key = yyjson_mut_obj_get(item, field->merge_key);
    if (!yyjson_mut_is_str(key) && !yyjson_mut_is_int(key))
        return false;
    str_clear(out);
    json_write(key, out);
    return true;
}

static bool has_unique_key(const struct field *field)
{
    return field->type == F_OBJECT && field->merge_key != NULL && !(field->flags & KEY_MAY_REPEAT);
}

/* The last item before `end` (NULL: of all) that has this key. For short lists, which nearly all
 * are (conditions, ports, containers): a map of them costs more than looking at each. */
static yyjson_mut_val *find_item(const struct field *field, yyjson_mut_val *list,
                                 const yyjson_mut_val *end, yyjson_mut_val *key)
{
    yyjson_mut_val *found = NULL, *item;
    size_t i, max;
    if (!yyjson_mut_is_str(key) && !yyjson_mut_is_int(key))
        return NULL;
    yyjson_mut_arr_foreach(list, i, max, item)
    {
        if (item == end)
            break;
        if (json_mut_equal(yyjson_mut_obj_get(item, field->merge_key), key))
            found = item;
    }
    return found;
}

static bool is_short(yyjson_mut_val *list)
{
    return yyjson_mut_arr_size(list) <= SHORT_LIST;
}

static void check_duplicates(struct check *c, const struct field *field, yyjson_mut_val *list)
{
    struct map *seen = is_short(list) ? NULL : map_new();
    scoped_str text = {0};
    size_t i, max;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(list, i, max, item)
    {
        yyjson_mut_val *key = yyjson_mut_obj_get(item, field->merge_key);
        bool is_new = seen ? !item_key(field, item, &text) || !map_put(seen, text.data, list)
                           : find_item(field, list, item, key) == NULL;
        if (is_new)
            continue;
        size_t mark = check_enter_item(c, i, item);
        check_duplicate(c, field->merge_key, key);
        check_leave(c, mark);
    }
    map_free(seen);
}

/* The items of the old list: by key where keys are unique, else by position. */
struct old_items {
    yyjson_mut_val *list; /* short: by key, looked through; else NULL */
    struct map *by_key;   /* long; NULL: by position */
    yyjson_mut_arr_iter iter;
};

static void old_items_init(struct old_items *items, const struct field *field, yyjson_mut_val *old)
{
    *items = (struct old_items){0};
    if (field->type != F_OBJECT || !yyjson_mut_is_arr(old))
        return;
    yyjson_mut_arr_iter_init(old, &items->iter);
    if (!has_unique_key(field))
        return;
    if (is_short(old)) {
        items->list = old;
        return;
    }
    items->by_key = map_new();
    scoped_str text = {0};
    for (yyjson_mut_val *item; (item = yyjson_mut_arr_iter_next(&items->iter)) != NULL;)
        if (item_key(field, item, &text))
            (void)map_put(items->by_key, text.data, item); /* of two the last counts */
}

static yyjson_mut_val *old_items_next(struct old_items *items, const struct field *field,
                                      yyjson_mut_val *item)
{
    if (items->list != NULL)
        return find_item(field, items->list, NULL, yyjson_mut_obj_get(item, field->merge_key));
    if (items->by_key == NULL)
        return yyjson_mut_arr_iter_next(&items->iter);
    scoped_str text = {0};
    return item_key(field, item, &text) ? map_get(items->by_key, text.data) : NULL;
}

static void check_list(struct check *c, const struct field *field, yyjson_mut_val *val,
                       yyjson_mut_val *old)
{
    if (!yyjson_mut_is_arr(val)) {
        check_type(c, NULL, val, "an array");
        check_hint(c, "it is a list: in YAML each item starts with \"- \"");
        return;
    }
    if (check_empty(c, field, val))
        return;
    check_length(c, field, val, "items");
    struct old_items items;
    old_items_init(&items, field, old);
    size_t i, max;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(val, i, max, item)
    {
        size_t mark = check_enter_item(c, i, item);
        check_one(c, field, item, old_items_next(&items, field, item));
        check_leave(c, mark);
    }
    map_free(items.by_key);
    if (has_unique_key(field))
        check_duplicates(c, field, val);
}

/* Keys have no place of their own: the finding stands at what is behind it. */
static void check_key(struct check *c, const struct field *field, yyjson_mut_val *key,
                      const yyjson_mut_val *item)
{
    const char *why =
        format_problem(field->format, yyjson_mut_get_str(key), yyjson_mut_get_len(key));
    if (why == NULL)
        return;
    check_invalid(c, NULL, key, why);
    if (!c->dropped)
        vec_last(&c->findings->list)->at = item;
}

static void check_map(struct check *c, const struct field *field, yyjson_mut_val *val,
                      yyjson_mut_val *old)
{
    if (!yyjson_mut_is_obj(val)) {
        check_type(c, NULL, val, "an object");
        return;
    }
    if (check_empty(c, field, val))
        return;
    size_t i, max;
    yyjson_mut_val *key, *item;
    yyjson_mut_obj_foreach(val, i, max, key, item)
    {
        if (field->flags & KEY_FORMAT)
            check_key(c, field, key, item);
        if (yyjson_mut_is_null(item))
            continue;
        const char *name = yyjson_mut_get_str(key);
        size_t mark = check_enter_member(c, name, item);
        check_one(c, field, item, field->type == F_OBJECT ? yyjson_mut_obj_get(old, name) : NULL);
        check_leave(c, mark);
    }
}

/* ---- fields and objects ---- */

static yyjson_mut_val *member(yyjson_mut_val *obj, const char *name)
{
    yyjson_mut_val *val = yyjson_mut_obj_get(obj, name);
    return yyjson_mut_is_null(val) ? NULL : val;
}

static bool is_nothing(yyjson_mut_val *val)
{
    return val == NULL || (yyjson_mut_is_str(val) && yyjson_mut_get_len(val) == 0) ||
           (yyjson_mut_is_ctn(val) && unsafe_yyjson_get_len(val) == 0);
}

/* Typed clients drop what is empty when they write an object back: that is no change. */
static bool is_unchanged(yyjson_mut_val *val, yyjson_mut_val *old)
{
    if (is_nothing(val) || is_nothing(old))
        return is_nothing(val) && is_nothing(old);
    return json_mut_equal(val, old);
}

static void check_shape(struct check *c, const struct field *field, yyjson_mut_val *val,
                        yyjson_mut_val *old)
{
    if (field->shape == LIST)
        check_list(c, field, val, old);
    else if (field->shape == MAP)
        check_map(c, field, val, old);
    else
        check_one(c, field, val, old);
}

static void check_field(struct check *c, const struct field *field, yyjson_mut_val *obj,
                        yyjson_mut_val *old_obj)
{
    yyjson_mut_val *val = member(obj, field->name);
    yyjson_mut_val *old = member(old_obj, field->name);
    if (val == NULL && old == NULL && !(field->flags & REQUIRED))
        return;
    /* What was judged when it came is not judged again: a node that reports the state of a pod does
     * not pay for the pod. Rules on several fields stand with the object that holds them all, which
     * has changed when one of them has. */
    if (val != NULL && old != NULL && json_mut_equal(val, old))
        return;
    size_t mark =
        val != NULL ? check_enter_field(c, field->name, val) : check_enter(c, field->name);
    if (val == NULL && (field->flags & REQUIRED))
        check_required(c, NULL, NULL);
    else if (old_obj != NULL && (field->flags & IMMUTABLE) && !is_unchanged(val, old))
        check_invalid(c, NULL, val, "field is immutable");
    bool was_never_made = c->is_never_made;
    c->is_never_made = was_never_made || (field->flags & NEVER_MADE);
    if (val != NULL)
        check_shape(c, field, val, old);
    c->is_never_made = was_never_made;
    check_leave(c, mark);
}

static void check_object(struct check *c, const struct type *type, yyjson_mut_val *val,
                         yyjson_mut_val *old)
{
    for (const struct field *f = type->fields; f->name != NULL; f++)
        check_field(c, f, val, old);
    if (type->check != NULL)
        type->check(c, val, old);
}

void schema_check(const struct type *type, yyjson_mut_val *root, yyjson_mut_val *old,
                  struct findings *findings)
{
    struct check c = {.findings = findings, .at = root};
    if (yyjson_mut_is_obj(root))
        check_object(&c, type, root, yyjson_mut_is_obj(old) ? old : NULL);
    else
        check_type(&c, NULL, root, "an object");
}

/* ---- unknown fields ---- */

static void unknown_object(struct check *c, const struct type *type, yyjson_mut_val *obj);

static void hint_field(struct check *c, const struct type *type, const char *name)
{
    VEC(const char *) names = {0};
    for (const struct field *f = type->fields; f->name != NULL; f++)
        vec_push(&names, f->name);
    check_hint_nearest(c, name, names.items, names.len);
    vec_done(&names);
}

static void unknown_list(struct check *c, const struct type *type, yyjson_mut_val *list)
{
    size_t i, max;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(list, i, max, item)
    {
        size_t mark = check_enter_item(c, i, item);
        unknown_object(c, type, item);
        check_leave(c, mark);
    }
}

static void unknown_map(struct check *c, const struct type *type, yyjson_mut_val *map)
{
    size_t i, max;
    yyjson_mut_val *key, *item;
    yyjson_mut_obj_foreach(map, i, max, key, item)
    {
        size_t mark = check_enter_member(c, yyjson_mut_get_str(key), item);
        unknown_object(c, type, item);
        check_leave(c, mark);
    }
}

static void unknown_fields(struct check *c, const struct type *type, yyjson_mut_val *obj,
                           const struct pack_kept *kept);

static void unknown_in(struct check *c, const struct field *field, yyjson_mut_val *val,
                       const struct pack_kept *kept)
{
    if (field->type != F_OBJECT || field->of == NULL)
        return;
    size_t mark = check_enter_field(c, field->name, val);
    if (field->shape == LIST)
        unknown_list(c, field->of, val);
    else if (field->shape == MAP)
        unknown_map(c, field->of, val);
    else
        unknown_fields(c, field->of, val, kept);
    check_leave(c, mark);
}

static void unknown_fields(struct check *c, const struct type *type, yyjson_mut_val *obj,
                           const struct pack_kept *kept)
{
    size_t i, max;
    yyjson_mut_val *key, *val;
    yyjson_mut_obj_foreach(obj, i, max, key, val)
    {
        if (pack_keeps(kept, val))
            continue;
        const char *name = yyjson_mut_get_str(key);
        const struct field *field = type_field(type, name, yyjson_mut_get_len(key));
        if (field != NULL) {
            unknown_in(c, field, val, kept);
            continue;
        }
        check_unknown(c, name, val);
        if (!c->dropped)
            hint_field(c, type, name);
    }
}

static void unknown_object(struct check *c, const struct type *type, yyjson_mut_val *obj)
{
    unknown_fields(c, type, obj, NULL);
}

void schema_unknown(const struct type *type, yyjson_mut_val *root, struct findings *findings)
{
    schema_unknown_rest(type, root, NULL, findings);
}

void schema_unknown_rest(const struct type *type, yyjson_mut_val *root,
                         const struct pack_kept *kept, struct findings *findings)
{
    struct check c = {.findings = findings, .at = root};
    unknown_fields(&c, type, root, kept);
}

void schema_check_within(struct check *c, const struct type *type, yyjson_mut_val *val)
{
    unknown_fields(c, type, val, NULL);
    check_object(c, type, val, NULL);
}

// SPDX-License-Identifier: Apache-2.0
/* The view is one block: the document, its values, its strings. Two properties carry this file:
 *  1. a view is an array of values in the order of the text, and distances inside of it are
 *     relative, so the values of a member can be copied as they are but for pointers to strings;
 *  2. the strings of a view that was made here stand in the order of its values without a gap, so
 *     those of a member are one run of bytes. In a parsed view the rest of the text lies between
 *     them; there they are copied one by one, lest every later version carries it along.
 * A view of the second sort is told by its string pool, which one that was made here has not. */
#include "base/pack.h"
#include "base/mem.h"
#include <assert.h>
#include <string.h>

/* Members, above which an object that was reordered is not taken apart. */
#define LOOKED_UP_MAX 64

struct size {
    size_t vals;
    size_t chars;
};

struct builder {
    yyjson_val *val; /* where the next one goes */
    char *chars;
};

/* ---- what is kept ---- */

size_t pack_member(const struct pack_kept *kept, const yyjson_mut_val *value)
{
    for (size_t i = 0; kept != NULL && i < kept->len; i++)
        if (kept->values[i] == value)
            return kept->members[i];
    return PACK_MEMBERS_MAX;
}

static void keep(struct pack_kept *kept, const yyjson_mut_val *value, size_t member)
{
    kept->values[kept->len] = value;
    kept->members[kept->len++] = member;
}

void pack_keep(struct pack_kept *kept, yyjson_mut_val *root, yyjson_val *key, size_t member)
{
    yyjson_mut_val *value =
        yyjson_mut_obj_getn(root, unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key));
    if (value != NULL && member < PACK_MEMBERS_MAX && kept->len < PACK_MEMBERS_MAX)
        keep(kept, value, member);
}

/* Scalars are no parts: to compare them again costs nothing, and they may be overwritten. */
static bool may_be_part(const yyjson_mut_val *value)
{
    return yyjson_mut_is_ctn((yyjson_mut_val *)value) &&
           unsafe_yyjson_get_len((yyjson_mut_val *)value) > 0;
}

static yyjson_val *part_of(const struct pack_kept *kept, const yyjson_mut_val *value)
{
    for (size_t i = 0; i < kept->part_count; i++)
        if (kept->parts[i].value == value)
            return kept->parts[i].old;
    return NULL;
}

bool pack_keeps(const struct pack_kept *kept, const yyjson_mut_val *value)
{
    return pack_member(kept, value) != PACK_MEMBERS_MAX ||
           (kept != NULL && may_be_part(value) && part_of(kept, value) != NULL);
}

void pack_forget(struct pack_kept *kept)
{
    kept->len = 0;
    kept->part_count = 0;
}

static bool compare_part(struct pack_kept *kept, yyjson_mut_val *value, yyjson_val *old)
{
    if (!may_be_part(value))
        return json_mut_identical(value, old);
    if (part_of(kept, value) != NULL)
        return true;
    if (!json_mut_identical(value, old))
        return false;
    if (kept->part_count < PACK_PARTS_MAX)
        kept->parts[kept->part_count++] = (struct pack_part){value, old};
    return true;
}

/* Notes the parts of an object. True: it is identical as a whole. */
static bool compare_parts(struct pack_kept *kept, yyjson_mut_val *obj, yyjson_val *old)
{
    bool same = unsafe_yyjson_get_len(obj) == unsafe_yyjson_get_len(old);
    if (unsafe_yyjson_get_len(old) > LOOKED_UP_MAX)
        return json_mut_identical(obj, old);
    yyjson_val *at = old + 1, *end = unsafe_yyjson_get_next(old); /* the key that is expected */
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(obj);
    for (yyjson_mut_val *key; (key = yyjson_mut_obj_iter_next(&iter)) != NULL;) {
        yyjson_val *there = at < end && json_mut_identical(key, at) ? at + 1 : NULL;
        if (there == NULL) {
            same = false;
            there = yyjson_obj_getn(old, unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key));
        }
        if (there == NULL)
            continue;
        if (!compare_part(kept, yyjson_mut_obj_iter_get_val(key), there))
            same = false;
        at = unsafe_yyjson_get_next(there);
    }
    return same;
}

static bool compare_value(struct pack_kept *kept, yyjson_mut_val *value, yyjson_val *old)
{
    if (!yyjson_mut_is_obj(value) || !yyjson_is_obj(old))
        return json_mut_identical(value, old);
    return compare_parts(kept, value, old);
}

void pack_compare_parts(struct pack_kept *kept, yyjson_mut_val *member, yyjson_val *old)
{
    (void)compare_value(kept, member, old);
}

static void compare_member(struct pack_kept *kept, yyjson_mut_val *key, yyjson_val *old)
{
    yyjson_mut_val *value = yyjson_mut_obj_iter_get_val(key);
    yyjson_val *old_key = unsafe_yyjson_get_first(old);
    size_t n = unsafe_yyjson_get_len(old), parts = kept->part_count;
    n = n < PACK_MEMBERS_MAX ? n : PACK_MEMBERS_MAX;
    for (size_t i = 0; i < n; i++, old_key = unsafe_yyjson_get_next(old_key + 1)) {
        if (!json_mut_identical(key, old_key))
            continue;
        if (compare_value(kept, value, old_key + 1)) {
            kept->part_count = parts; /* it is kept as a whole */
            keep(kept, value, i);
        }
        return;
    }
}

void pack_compare(struct pack_kept *kept, yyjson_mut_val *root, yyjson_val *old, const char *but)
{
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(root);
    for (yyjson_mut_val *key; (key = yyjson_mut_obj_iter_next(&iter)) != NULL;) {
        if (kept->len < PACK_MEMBERS_MAX && !yyjson_mut_equals_str(key, but) &&
            pack_member(kept, yyjson_mut_obj_iter_get_val(key)) == PACK_MEMBERS_MAX)
            compare_member(kept, key, old);
    }
}

/* ---- the past ---- */

static const yyjson_mut_val *new_of(const struct pack_kept *kept, const yyjson_val *old)
{
    for (size_t i = 0; i < kept->part_count; i++)
        if (kept->parts[i].old == old)
            return kept->parts[i].value;
    return NULL;
}

/* An object with the keys of the old one, and room for its values behind them. */
static yyjson_mut_val *past_keys(yyjson_mut_doc *doc, yyjson_val *old)
{
    size_t n = unsafe_yyjson_get_len(old);
    yyjson_mut_val *obj = unsafe_yyjson_mut_val(doc, 1 + 2 * n);
    assert(obj != NULL);
    obj->tag = old->tag;
    obj->uni.ptr = n > 0 ? obj + 2 * n - 1 : NULL; /* the last key */
    yyjson_val *key = old + 1;
    for (yyjson_mut_val *to = obj + 1; to < obj + 1 + 2 * n; to += 2) {
        to[0] = (yyjson_mut_val){.tag = key->tag, .uni.str = key->uni.str, .next = to + 1};
        to[1].next = to + 2;
        key = unsafe_yyjson_get_next(key + 1);
    }
    obj[2 * n].next = obj + 1;
    return obj;
}

static void past_set(yyjson_mut_val *to, const yyjson_mut_val *from)
{
    to->tag = from->tag;
    to->uni = from->uni;
}

static yyjson_mut_val *past_object(yyjson_mut_doc *doc, const struct pack_kept *kept,
                                   yyjson_val *old)
{
    yyjson_mut_val *obj = past_keys(doc, old), *to = obj + 2;
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_obj_foreach(old, i, n, key, value)
    {
        const yyjson_mut_val *kept_value = yyjson_is_ctn(value) ? new_of(kept, value) : NULL;
        past_set(to, kept_value != NULL ? kept_value : json_mut_borrow(doc, value));
        to += 2;
    }
    return obj;
}

yyjson_mut_doc *pack_past(const struct pack_kept *kept, yyjson_val *old)
{
    const yyjson_mut_val *aliased[PACK_MEMBERS_MAX] = {0};
    for (size_t i = 0; i < kept->len; i++)
        aliased[kept->members[i]] = kept->values[i];
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALC);
    assert(doc != NULL);
    yyjson_mut_val *root = past_keys(doc, old), *to = root + 2;
    yyjson_mut_doc_set_root(doc, root);
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_obj_foreach(old, i, n, key, value)
    {
        if (i < PACK_MEMBERS_MAX && aliased[i] != NULL)
            past_set(to, aliased[i]);
        else
            past_set(to, yyjson_is_obj(value) ? past_object(doc, kept, value)
                                              : json_mut_borrow(doc, value));
        to += 2;
    }
    return doc;
}

/* ---- the view ---- */

static void measure(yyjson_mut_val *val, struct size *size)
{
    assert(!yyjson_mut_is_raw(val)); /* nobody makes them */
    size->vals++;
    if (yyjson_mut_is_str(val))
        size->chars += unsafe_yyjson_get_len(val) + 1;
    if (!yyjson_mut_is_ctn(val))
        return;
    size_t links = unsafe_yyjson_get_len(val) * (yyjson_mut_is_obj(val) ? 2 : 1);
    yyjson_mut_val *item = val->uni.ptr; /* they form a ring, keys and values in turn */
    for (; links > 0; links--, item = item->next)
        measure(item, size);
}

static void build_text(struct builder *to, const char *text, size_t len)
{
    to->val->uni.str = to->chars;
    memcpy(to->chars, text, len);
    to->chars[len] = '\0';
    to->chars += len + 1;
}

static void build(struct builder *to, yyjson_mut_val *val)
{
    to->val->tag = val->tag;
    if (!yyjson_mut_is_ctn(val)) {
        if (yyjson_mut_is_str(val))
            build_text(to, val->uni.str, unsafe_yyjson_get_len(val));
        else
            to->val->uni = val->uni;
        to->val++;
        return;
    }
    yyjson_val *ctn = to->val++;
    bool is_obj = yyjson_mut_is_obj(val);
    yyjson_mut_val *item = val->uni.ptr; /* the last one, in objects its key */
    for (size_t n = unsafe_yyjson_get_len(val); n > 0; n--) {
        item = is_obj ? item->next->next : item->next;
        build(to, item);
        if (is_obj)
            build(to, item->next);
    }
    ctn->uni.ofs = (size_t)(to->val - ctn) * sizeof(*ctn);
}

/* The run of bytes from the first string of a value to the last. */
static struct sv chars_of(yyjson_val *val)
{
    yyjson_val *end = unsafe_yyjson_get_next(val), *last = end;
    while (val < end && !unsafe_yyjson_is_str(val))
        val++;
    if (val == end)
        return SV("");
    while (!unsafe_yyjson_is_str(last - 1))
        last--;
    const char *behind = (last - 1)->uni.str + unsafe_yyjson_get_len(last - 1) + 1;
    return (struct sv){val->uni.str, (size_t)(behind - val->uni.str)};
}

static void take_run(struct builder *to, yyjson_val *val)
{
    struct sv run = chars_of(val);
    size_t n = (size_t)(unsafe_yyjson_get_next(val) - val);
    for (size_t i = 0; i < n; i++) {
        to->val[i] = val[i];
        if (unsafe_yyjson_is_str(&val[i]))
            to->val[i].uni.str = to->chars + (val[i].uni.str - run.ptr);
    }
    memcpy(to->chars, run.ptr, run.len);
    to->val += n;
    to->chars += run.len;
}

static void take_each(struct builder *to, yyjson_val *val)
{
    for (yyjson_val *end = unsafe_yyjson_get_next(val); val < end; val++) {
        *to->val = *val;
        if (unsafe_yyjson_is_str(val))
            build_text(to, val->uni.str, unsafe_yyjson_get_len(val));
        to->val++;
    }
}

static bool is_made_here(const struct pack *old)
{
    return old->view->str_pool == NULL;
}

/* ---- both ---- */

struct making {
    const struct pack *old;
    const struct pack_kept *kept;
    struct pack *pack;
    yyjson_val *old_values[PACK_MEMBERS_MAX]; /* the members of the old root */
};

static void find_old_values(struct making *m)
{
    if (m->old == NULL)
        return;
    size_t n = unsafe_yyjson_get_len(m->old->view->root);
    yyjson_val *key = unsafe_yyjson_get_first(m->old->view->root);
    for (size_t i = 0; i < n && i < PACK_MEMBERS_MAX; i++) {
        m->old_values[i] = key + 1;
        key = unsafe_yyjson_get_next(key + 1);
    }
}

/* What the value is identical to, or NULL. */
static yyjson_val *old_value(const struct making *m, const yyjson_mut_val *value)
{
    if (m->old == NULL)
        return NULL;
    size_t member = pack_member(m->kept, value);
    if (member < PACK_MEMBERS_MAX)
        return m->old_values[member];
    return may_be_part(value) ? part_of(m->kept, value) : NULL;
}

/* `levels` are those of objects in which something may be kept: the root and its members. */
static void measure_object(const struct making *m, yyjson_mut_val *obj, int levels,
                           struct size *size)
{
    size->vals++;
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(obj);
    for (yyjson_mut_val *key; (key = yyjson_mut_obj_iter_next(&iter)) != NULL;) {
        yyjson_mut_val *value = yyjson_mut_obj_iter_get_val(key);
        yyjson_val *old = old_value(m, value);
        measure(key, size);
        if (old != NULL) {
            size->vals += (size_t)(unsafe_yyjson_get_next(old) - old);
            size->chars += chars_of(old).len; /* of a parsed view: more than enough */
        } else if (levels > 1 && yyjson_mut_is_obj(value)) {
            measure_object(m, value, levels - 1, size);
        } else {
            measure(value, size);
        }
    }
}

static void build_object(const struct making *m, yyjson_mut_val *obj, int levels,
                         struct builder *to)
{
    yyjson_val *top = to->val++;
    top->tag = obj->tag;
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(obj);
    for (yyjson_mut_val *key; (key = yyjson_mut_obj_iter_next(&iter)) != NULL;) {
        yyjson_mut_val *value = yyjson_mut_obj_iter_get_val(key);
        yyjson_val *old = old_value(m, value);
        build(to, key);
        if (old != NULL && is_made_here(m->old))
            take_run(to, old);
        else if (old != NULL)
            take_each(to, old);
        else if (levels > 1 && yyjson_mut_is_obj(value))
            build_object(m, value, levels - 1, to);
        else
            build(to, value);
    }
    top->uni.ofs = (size_t)(to->val - top) * sizeof(*top);
}

static yyjson_doc *make_view(const struct making *m, yyjson_mut_val *root)
{
    static_assert(sizeof(yyjson_doc) % _Alignof(yyjson_val) == 0, "values follow the document");
    struct size size = {0};
    measure_object(m, root, 2, &size);
    size_t fixed = sizeof(yyjson_doc) + size.vals * sizeof(yyjson_val);
    yyjson_doc *doc = mem_alloc(fixed + size.chars);
    *doc = (yyjson_doc){.root = (yyjson_val *)(doc + 1), .alc = JSON_ALC, .val_read = size.vals};
    struct builder to = {.val = doc->root, .chars = (char *)doc + fixed};
    build_object(m, root, 2, &to);
    assert(to.val == doc->root + size.vals && to.chars <= (char *)doc + fixed + size.chars);
    return doc;
}

/* Written, or a piece of the old text. */
static struct sv value_text(struct making *m, yyjson_mut_val *value, struct str *out)
{
    size_t member = m->old != NULL ? pack_member(m->kept, value) : PACK_MEMBERS_MAX;
    struct pack_span span = {0};
    if (member < PACK_MEMBERS_MAX)
        span = m->old->spans[member];
    if (span.len > 0)
        return (struct sv){m->old->text->data + span.at, span.len};
    str_clear(out);
    json_write(value, out);
    return (struct sv){out->data, out->len};
}

static struct buf *make_text(struct making *m, yyjson_mut_val *root)
{
    scoped_str text = {0}, written = {0};
    str_room(&text, m->old != NULL ? m->old->text->len + 256 : 1024);
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(root);
    yyjson_mut_val *key;
    for (size_t i = 0; (key = yyjson_mut_obj_iter_next(&iter)) != NULL; i++) {
        str_addc(&text, i > 0 ? ',' : '{');
        json_quote(unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key), &text);
        str_addc(&text, ':');
        struct sv value = value_text(m, yyjson_mut_obj_iter_get_val(key), &written);
        if (i < PACK_MEMBERS_MAX && text.len + value.len <= UINT32_MAX)
            m->pack->spans[i] = (struct pack_span){(uint32_t)text.len, (uint32_t)value.len};
        str_addn(&text, value.ptr, value.len);
    }
    str_add(&text, text.len > 0 ? "}" : "{}");
    return buf_take(&text);
}

void pack_make(yyjson_mut_val *root, const struct pack *old, const struct pack_kept *kept,
               struct pack *ret_pack)
{
    assert(yyjson_mut_is_obj(root));
    struct pack pack = {0};
    struct making making = {.old = kept != NULL ? old : NULL, .kept = kept, .pack = &pack};
    find_old_values(&making);
    pack.view = make_view(&making, root);
    pack.text = make_text(&making, root);
    *ret_pack = pack;
}

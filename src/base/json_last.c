// SPDX-License-Identifier: Apache-2.0
/* Texts in which a key may stand twice: rare enough to be read once more. */
#include "base/json_internal.h"
#include "base/mem.h"
#include <assert.h>

#define REPEATED_MAX 20 /* told by name */

struct walk {
    struct str path; /* of the value at hand */
    struct str *repeated;
    size_t told;
};

static void cut(struct str *text, size_t len)
{
    text->len = len;
    if (text->data != NULL)
        text->data[len] = '\0';
}

/* Returns the length to cut the path to afterwards. */
static size_t enter(struct walk *walk, struct sv key)
{
    size_t before = walk->path.len;
    if (before > 0)
        str_addc(&walk->path, '.');
    for (size_t i = 0; i < key.len; i++)
        str_addc(&walk->path, (unsigned char)key.ptr[i] < 0x20 ? '?' : key.ptr[i]);
    return before;
}

static void tell(struct walk *walk, struct sv key)
{
    if (walk->told++ >= REPEATED_MAX)
        return;
    size_t before = enter(walk, key);
    str_addf(walk->repeated, "%s\n", str_text(&walk->path));
    cut(&walk->path, before);
}

static struct sv key_of(yyjson_mut_val *key)
{
    return (struct sv){yyjson_mut_get_str(key), yyjson_mut_get_len(key)};
}

static void keep_last_members(struct walk *walk, yyjson_mut_val *obj)
{
    size_t i = 0, n = yyjson_mut_obj_size(obj);
    scoped_free struct member *members = mem_alloc((n + 1) * sizeof(*members));
    scoped_free bool *is_old = mem_zalloc((n + 1) * sizeof(*is_old));
    yyjson_mut_val *key;
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(obj);
    for (; (key = yyjson_mut_obj_iter_next(&iter)) != NULL; i++)
        members[i] = (struct member){key_of(key), &is_old[i]};
    json_members_sort(members, n);
    for (i = 1; i < n; i++) {
        if (!sv_eq(members[i - 1].key, members[i].key))
            continue;
        if (i == 1 || !sv_eq(members[i - 2].key, members[i].key))
            tell(walk, members[i].key);
        *(bool *)members[i - 1].value = true;
    }
    iter = yyjson_mut_obj_iter_with(obj);
    for (i = 0; i < n && yyjson_mut_obj_iter_next(&iter) != NULL; i++) {
        if (is_old[i])
            (void)yyjson_mut_obj_iter_remove(&iter);
    }
}

/* Recurses as deep as the text, which the parser has limited. */
static void keep_last(struct walk *walk, yyjson_mut_val *val)
{
    size_t i, n, before;
    yyjson_mut_val *key, *item;
    if (yyjson_mut_is_arr(val)) {
        yyjson_mut_arr_foreach(val, i, n, item)
        {
            before = walk->path.len;
            str_addf(&walk->path, "[%zu]", i);
            keep_last(walk, item);
            cut(&walk->path, before);
        }
    }
    if (!yyjson_mut_is_obj(val))
        return;
    keep_last_members(walk, val);
    yyjson_mut_obj_foreach(val, i, n, key, item)
    {
        before = enter(walk, key_of(key));
        keep_last(walk, item);
        cut(&walk->path, before);
    }
}

int json_parse_last(struct sv text, yyjson_mut_doc **ret_doc, struct str *repeated, struct err *err)
{
    scoped_json *doc = NULL;
    int r = json_parse_mut(text, ret_doc, err);
    if (r == 0 || json_parse_repeating(text, &doc) < 0)
        return r;
    yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, &JSON_ALC);
    assert(copy);
    struct walk walk = {.repeated = repeated};
    keep_last(&walk, yyjson_mut_doc_get_root(copy));
    str_done(&walk.path);
    *ret_doc = copy;
    return 0;
}

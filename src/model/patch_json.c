// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "model/patch_internal.h"
#include <assert.h>
#include <errno.h>

/* RFC 6902. The size and depth of the document are kept up to date with each operation, so that
 * neither a chain of copies nor a long list of operations costs more than it may: depth is checked
 * before a value is put anywhere, size before a value is copied, steps on each look-up. */

#define OPERATIONS_MAX 10000
#define RESULT_BYTES_MAX (3u << 20)
#define RESULT_NODES_MAX 100000
#define STEPS_MAX 50000000

struct size {
    size_t nodes, bytes, depth;
};

struct pointer {
    const char *text; /* as written, for errors */
    char *unescaped;
    struct sv tokens[JSON_DEPTH_MAX + 1];
    size_t count;
};

struct editor {
    yyjson_mut_doc *doc;
    struct size size;
    size_t steps;
    struct err *err;
};

/* What one operation says. */
struct operation {
    struct pointer path, from;
    yyjson_mut_val *value;
};

static void measure(yyjson_mut_val *val, size_t depth, struct size *sum)
{
    depth += yyjson_mut_is_ctn(val);
    sum->nodes++;
    sum->bytes += yyjson_mut_is_str(val) ? yyjson_mut_get_len(val) + 3 : 6;
    if (depth > sum->depth)
        sum->depth = depth;
    if (yyjson_mut_is_arr(val)) {
        yyjson_mut_arr_iter iter = yyjson_mut_arr_iter_with(val);
        yyjson_mut_val *item;
        while ((item = yyjson_mut_arr_iter_next(&iter)))
            measure(item, depth, sum);
    } else if (yyjson_mut_is_obj(val)) {
        yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(val);
        yyjson_mut_val *key;
        while ((key = yyjson_mut_obj_iter_next(&iter))) {
            sum->bytes += yyjson_mut_get_len(key) + 4;
            measure(yyjson_mut_obj_iter_get_val(key), depth, sum);
        }
    }
}

static void account(struct editor *e, yyjson_mut_val *val, bool added)
{
    struct size sum = {0};
    measure(val, 0, &sum);
    e->steps += sum.nodes; /* the next look-up finds out whether that was too much */
    e->size.nodes = added ? e->size.nodes + sum.nodes : e->size.nodes - sum.nodes;
    e->size.bytes = added ? e->size.bytes + sum.bytes : e->size.bytes - sum.bytes;
}

/* ---- pointers (RFC 6901) ---- */

/* Undoes ~0 and ~1 in place; false when a ~ is followed by anything else. */
static bool unescape(char *text, size_t len, size_t *ret_len)
{
    size_t to = 0;
    for (size_t i = 0; i < len; i++, to++) {
        text[to] = text[i];
        if (text[i] != '~')
            continue;
        i++;
        if (i == len || (text[i] != '0' && text[i] != '1'))
            return false;
        text[to] = text[i] == '0' ? '~' : '/';
    }
    *ret_len = to;
    return true;
}

static int pointer_parse(struct sv text, struct pointer *pointer, struct err *err)
{
    if (text.len && text.ptr[0] != '/')
        return err_set(err, -EINVAL, "the path '%.200s' does not begin with /", pointer->text);
    pointer->unescaped = mem_dup(text.ptr, text.len + 1);
    struct sv rest = {pointer->unescaped + 1, text.len ? text.len - 1 : 0};
    size_t tokens = 0;
    for (size_t i = 0; i < text.len; i++)
        tokens += text.ptr[i] == '/';
    if (tokens > JSON_DEPTH_MAX)
        return err_set(err, -ENOENT, "the path '%.200s' is deeper than any object may be",
                       pointer->text);
    for (size_t i = 0; i < tokens; i++) {
        struct sv token = sv_cut(&rest, '/');
        size_t len = 0;
        if (!unescape((char *)token.ptr, token.len, &len))
            return err_set(err, -EINVAL, "the path '%.200s' has a ~ that is neither ~0 nor ~1",
                           pointer->text);
        pointer->tokens[pointer->count++] = (struct sv){token.ptr, len};
    }
    return 0;
}

static void pointer_done(struct pointer *pointer)
{
    mem_free(pointer->unescaped);
}

/* Digits without a leading zero; false for what is no index. */
static bool parse_index(struct sv token, size_t *ret_index)
{
    size_t value = 0;
    if (!token.len || token.len > 9 || (token.len > 1 && token.ptr[0] == '0'))
        return false;
    for (size_t i = 0; i < token.len; i++) {
        if (token.ptr[i] < '0' || token.ptr[i] > '9')
            return false;
        value = value * 10 + (size_t)(token.ptr[i] - '0');
    }
    *ret_index = value;
    return true;
}

static int spend(struct editor *e, size_t steps)
{
    e->steps += steps;
    if (e->steps > STEPS_MAX)
        return err_set(e->err, -E2BIG, "the patch takes too many steps");
    return 0;
}

static int refuse_index(struct editor *e, const struct pointer *p, struct sv token, size_t size)
{
    int shown = token.len < 40 ? (int)token.len : 40;
    return err_set(e->err, -ENOENT,
                   "the path '%.200s': '%.*s' is no index of a list with %zu items", p->text, shown,
                   token.ptr, size);
}

static int refuse_missing(struct editor *e, const struct pointer *p)
{
    return err_set(e->err, -ENOENT, "there is nothing at '%.200s'", p->text);
}

static int step(struct editor *e, const struct pointer *p, size_t i, yyjson_mut_val **val)
{
    struct sv token = p->tokens[i];
    yyjson_mut_val *next = NULL;
    int r = spend(e, yyjson_mut_is_ctn(*val) ? unsafe_yyjson_get_len(*val) : 0);
    if (r < 0)
        return r;
    if (yyjson_mut_is_obj(*val)) {
        next = yyjson_mut_obj_getn(*val, token.ptr, token.len);
    } else if (yyjson_mut_is_arr(*val)) {
        size_t index, size = yyjson_mut_arr_size(*val);
        if (!parse_index(token, &index) || index >= size)
            return refuse_index(e, p, token, size);
        next = yyjson_mut_arr_get(*val, index);
    }
    if (!next)
        return refuse_missing(e, p);
    *val = next;
    return 0;
}

/* The value that the first `count` tokens lead to. */
static int walk(struct editor *e, const struct pointer *p, size_t count, yyjson_mut_val **ret_val)
{
    yyjson_mut_val *val = yyjson_mut_doc_get_root(e->doc);
    for (size_t i = 0; i < count; i++) {
        int r = step(e, p, i, &val);
        if (r < 0)
            return r;
    }
    *ret_val = val;
    return 0;
}

/* ---- operations ---- */

static int check_depth(struct editor *e, const struct pointer *p, yyjson_mut_val *val)
{
    struct size sum = {0};
    measure(val, 0, &sum);
    e->steps += sum.nodes;
    if (p->count + sum.depth > JSON_DEPTH_MAX)
        return err_set(e->err, -E2BIG,
                       "the value for '%.200s' would be nested deeper than %d levels", p->text,
                       JSON_DEPTH_MAX);
    return 0;
}

static int add_to_array(struct editor *e, const struct pointer *p, yyjson_mut_val *array,
                        yyjson_mut_val *val)
{
    struct sv token = p->tokens[p->count - 1];
    size_t size = yyjson_mut_arr_size(array), index = size;
    if (!sv_is(token, "-") && (!parse_index(token, &index) || index > size))
        return refuse_index(e, p, token, size);
    (void)yyjson_mut_arr_insert(array, val, index); /* the index was checked */
    account(e, val, true);
    return 0;
}

static void add_to_object(struct editor *e, struct sv key, yyjson_mut_val *object,
                          yyjson_mut_val *val)
{
    yyjson_mut_val *old = yyjson_mut_obj_getn(object, key.ptr, key.len);
    account(e, val, true);
    if (old) {
        account(e, old, false);
        patch_overwrite(old, val);
        return;
    }
    e->size.bytes += key.len + 4;
    (void)yyjson_mut_obj_add(object, yyjson_mut_strncpy(e->doc, key.ptr, key.len), val);
}

static int add(struct editor *e, const struct pointer *p, yyjson_mut_val *val)
{
    int r = check_depth(e, p, val);
    if (r < 0)
        return r;
    if (p->count == 0) {
        account(e, yyjson_mut_doc_get_root(e->doc), false);
        account(e, val, true);
        yyjson_mut_doc_set_root(e->doc, val);
        return 0;
    }
    yyjson_mut_val *parent;
    r = walk(e, p, p->count - 1, &parent);
    if (r < 0)
        return r;
    r = spend(e, yyjson_mut_is_ctn(parent) ? unsafe_yyjson_get_len(parent) : 0);
    if (r < 0)
        return r;
    if (yyjson_mut_is_arr(parent))
        return add_to_array(e, p, parent, val);
    if (!yyjson_mut_is_obj(parent))
        return err_set(e->err, -ENOENT, "the parent of '%.200s' is neither object nor list",
                       p->text);
    add_to_object(e, p->tokens[p->count - 1], parent, val);
    return 0;
}

/* Takes the value out of the document. */
static int cut(struct editor *e, const struct pointer *p, yyjson_mut_val **ret_val)
{
    if (p->count == 0)
        return err_set(e->err, -EINVAL, "the whole document cannot be removed");
    yyjson_mut_val *parent, *val;
    int r = walk(e, p, p->count - 1, &parent);
    if (r < 0)
        return r;
    val = parent;
    r = step(e, p, p->count - 1, &val);
    if (r < 0)
        return r;
    struct sv token = p->tokens[p->count - 1];
    if (yyjson_mut_is_obj(parent)) {
        (void)yyjson_mut_obj_remove_keyn(parent, token.ptr, token.len);
        e->size.bytes -= token.len + 4;
    } else {
        size_t index = 0;
        (void)parse_index(token, &index); /* step() has seen it */
        (void)yyjson_mut_arr_remove(parent, index);
    }
    account(e, val, false);
    *ret_val = val;
    return 0;
}

static int op_add(struct editor *e, struct operation *op)
{
    return add(e, &op->path, op->value);
}

static int op_remove(struct editor *e, struct operation *op)
{
    yyjson_mut_val *removed;
    return cut(e, &op->path, &removed);
}

static int op_replace(struct editor *e, struct operation *op)
{
    yyjson_mut_val *old;
    int r = walk(e, &op->path, op->path.count, &old);
    if (r < 0)
        return r;
    r = check_depth(e, &op->path, op->value);
    if (r < 0)
        return r;
    account(e, old, false);
    account(e, op->value, true);
    patch_overwrite(old, op->value);
    return 0;
}

static bool is_inside(const struct pointer *inner, const struct pointer *outer)
{
    if (inner->count <= outer->count)
        return false;
    for (size_t i = 0; i < outer->count; i++)
        if (!sv_eq(inner->tokens[i], outer->tokens[i]))
            return false;
    return true;
}

static int op_move(struct editor *e, struct operation *op)
{
    if (is_inside(&op->path, &op->from))
        return err_set(e->err, -EINVAL, "'%.200s' cannot be moved into itself", op->from.text);
    yyjson_mut_val *val;
    if (op->from.count == 0)
        return 0; /* the whole document to where it is */
    int r = cut(e, &op->from, &val);
    return r < 0 ? r : add(e, &op->path, patch_move(e->doc, val));
}

static int op_copy(struct editor *e, struct operation *op)
{
    yyjson_mut_val *val;
    int r = walk(e, &op->from, op->from.count, &val);
    if (r < 0)
        return r;
    struct size sum = {0};
    measure(val, 0, &sum);
    r = spend(e, sum.nodes);
    if (r < 0)
        return r;
    if (e->size.nodes + sum.nodes > RESULT_NODES_MAX ||
        e->size.bytes + sum.bytes > RESULT_BYTES_MAX)
        return err_set(e->err, -E2BIG, "copying '%.200s' would make the object too large",
                       op->from.text);
    return add(e, &op->path, yyjson_mut_val_mut_copy(e->doc, val));
}

static int op_test(struct editor *e, struct operation *op)
{
    yyjson_mut_val *val;
    int r = walk(e, &op->path, op->path.count, &val);
    if (r < 0)
        return r;
    if (!patch_equal(val, op->value))
        return err_set(e->err, -ECANCELED, "the test at %.200s failed", op->path.text);
    return 0;
}

static const struct verb {
    const char *name;
    bool has_value, has_from;
    int (*run)(struct editor *e, struct operation *op);
} VERBS[] = {
    {"add", true, false, op_add},         {"remove", false, false, op_remove},
    {"replace", true, false, op_replace}, {"move", false, true, op_move},
    {"copy", false, true, op_copy},       {"test", true, false, op_test},
};

/* ---- the list of operations ---- */

static int take_pointer(struct editor *e, yyjson_mut_val *object, const char *member,
                        struct pointer *pointer)
{
    yyjson_mut_val *val = yyjson_mut_obj_get(object, member);
    if (!yyjson_mut_is_str(val))
        return err_set(e->err, -EINVAL, "'%s' must be there, as a string", member);
    pointer->text = yyjson_mut_get_str(val);
    return pointer_parse(keyindex_text(val), pointer, e->err);
}

static int run_verb(struct editor *e, const struct verb *verb, yyjson_mut_val *object)
{
    struct operation op = {.value = yyjson_mut_obj_get(object, "value")};
    int r = take_pointer(e, object, "path", &op.path);
    if (r == 0 && verb->has_from)
        r = take_pointer(e, object, "from", &op.from);
    if (r == 0 && verb->has_value && !op.value)
        r = err_set(e->err, -EINVAL, "'value' must be there");
    if (r == 0 && verb->has_value)
        op.value = patch_move(e->doc, op.value);
    if (r == 0)
        r = verb->run(e, &op);
    pointer_done(&op.path);
    pointer_done(&op.from);
    return r;
}

static int run_operation(struct editor *e, yyjson_mut_val *object, size_t number)
{
    yyjson_mut_val *name = yyjson_mut_obj_get(object, "op");
    if (!yyjson_mut_is_str(name))
        return err_set(e->err, -EINVAL, "operation %zu: it must be an object with a string 'op'",
                       number);
    for (size_t i = 0; i < ARRAY_LEN(VERBS); i++) {
        if (!yyjson_mut_equals_str(name, VERBS[i].name))
            continue;
        int r = run_verb(e, &VERBS[i], object);
        if (r < 0)
            (void)err_wrap(e->err, "operation %zu (%s)", number, VERBS[i].name);
        return r;
    }
    (void)err_set(e->err, -EINVAL, "operation %zu: there is no operation '%.40s'", number,
                  yyjson_mut_get_str(name));
    (void)err_hint(e->err, "one of add, remove, replace, move, copy, test");
    return -EINVAL;
}

int patch_json(yyjson_mut_doc *doc, yyjson_val *operations, struct err *err)
{
    yyjson_mut_val *list;
    int r = patch_import(doc, operations, &list, err);
    if (r < 0)
        return r;
    if (!yyjson_mut_is_arr(list))
        return err_set(err, -EINVAL, "a JSON patch is a list of operations");
    if (yyjson_mut_arr_size(list) > OPERATIONS_MAX)
        return err_set(err, -E2BIG, "the patch has more than %d operations", OPERATIONS_MAX);
    struct editor e = {.doc = doc, .err = err};
    measure(yyjson_mut_doc_get_root(doc), 0, &e.size);
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(list, i, n, item)
    {
        r = run_operation(&e, item, i);
        if (r < 0)
            return r;
    }
    return patch_finish(doc, err);
}

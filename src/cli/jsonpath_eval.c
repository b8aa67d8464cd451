// SPDX-License-Identifier: Apache-2.0
#include "base/vec.h"
#include "cli/jsonpath_internal.h"
#include <errno.h>
#include <inttypes.h>

/* Nested ranges over recursive paths multiply; a template that needs more steps than this is a
 * mistake or an attack. */
#define WORK_MAX 20000000

struct values {
    VEC(yyjson_val *) list;
};

struct eval {
    yyjson_val *root;
    size_t work;
    struct err *err;
};

static int spend(struct eval *e, size_t n)
{
    e->work += n;
    if (e->work <= WORK_MAX)
        return 0;
    return err_set(e->err, -E2BIG, "jsonpath: the template looks at too many values");
}

/* What is not there at all prints nothing; what a list is too short for is a mistake, as kubectl
 * has it: of an empty answer nobody could tell. */
static int out_of_bounds(struct eval *e, int64_t index, int64_t len)
{
    return err_set(e->err, -ERANGE,
                   "jsonpath: array index out of bounds: index %" PRId64 ", length %" PRId64, index,
                   len);
}

static int pick_slice(struct eval *e, const struct pick *pick, yyjson_val *list, struct values *out)
{
    if (yyjson_is_null(list))
        return 0;
    if (!yyjson_is_arr(list))
        return err_set(e->err, -ERANGE, "jsonpath: an index is for arrays, and this is %s",
                       yyjson_is_obj(list) ? "an object" : "a single value");
    int64_t len = (int64_t)yyjson_arr_size(list);
    int64_t start = pick->has_start ? pick->start : 0;
    int64_t end = pick->has_end ? pick->end : len;
    start += start < 0 ? len : 0;
    end += end < 0 ? len : 0;
    if (start == end)
        return 0;
    if (start < 0 || start >= len)
        return out_of_bounds(e, start, len);
    if (end < 0 || end > len)
        return out_of_bounds(e, end - 1, len);
    size_t i, n;
    yyjson_val *val;
    yyjson_arr_foreach(list, i, n, val)
    {
        int64_t at = (int64_t)i;
        if (at >= start && at < end && (at - start) % pick->step == 0)
            vec_push(&out->list, val);
    }
    return 0;
}

static yyjson_val *field_of(const struct pick *pick, yyjson_val *val)
{
    yyjson_val *field = yyjson_obj_getn(val, pick->name.ptr, pick->name.len);
    if (field != NULL || pick->parts == NULL)
        return field;
    for (const struct part *part = pick->parts; part != NULL && val != NULL; part = part->next)
        val = yyjson_obj_getn(val, part->name.ptr, part->name.len);
    return val;
}

static int pick_one(struct eval *e, const struct pick *pick, yyjson_val *val, struct values *out)
{
    size_t before = out->list.len;
    int r = spend(e, yyjson_is_ctn(val) ? yyjson_get_len(val) : 0);
    if (r == 0 && !pick->is_name)
        r = pick_slice(e, pick, val, out);
    yyjson_val *field = r == 0 && pick->is_name ? field_of(pick, val) : NULL;
    if (field != NULL)
        vec_push(&out->list, field);
    return r < 0 ? r : spend(e, out->list.len - before + 1);
}

/* The first of ['a','b'] of all values, then the second of all: so does kubectl. */
static int step_pick(struct eval *e, const struct step *step, const struct values *now,
                     struct values *out)
{
    int r = 0;
    for (const struct pick *pick = step->picks; pick != NULL; pick = pick->next) {
        for (size_t i = 0; i < now->list.len && r == 0; i++)
            r = pick_one(e, pick, now->list.items[i], out);
    }
    return r;
}

static void step_all(yyjson_val *val, struct values *out)
{
    size_t i, n;
    yyjson_val *key, *child;
    yyjson_arr_foreach(val, i, n, child)
    {
        vec_push(&out->list, child);
    }
    yyjson_obj_foreach(val, i, n, key, child)
    {
        vec_push(&out->list, child);
    }
}

/* The value and everything in it; recursion is bounded by the depth of the document. */
static void step_recurse(yyjson_val *val, struct values *out)
{
    if (!yyjson_is_ctn(val))
        return;
    vec_push(&out->list, val);
    size_t i, n;
    yyjson_val *key, *child;
    yyjson_arr_foreach(val, i, n, child)
    {
        step_recurse(child, out);
    }
    yyjson_obj_foreach(val, i, n, key, child)
    {
        step_recurse(child, out);
    }
}

static int eval_path(struct eval *e, const struct path *path, yyjson_val *at, struct values *out);

/* A comparable value: number, text or truth. */
struct scalar {
    enum operand_type type; /* OPERAND_PATH: nothing comparable */
    long double number;
    struct sv text;
    bool truth;
};

static long double number_of(yyjson_val *val)
{
    if (yyjson_is_uint(val))
        return (long double)yyjson_get_uint(val);
    return yyjson_is_sint(val) ? (long double)yyjson_get_sint(val)
                               : (long double)yyjson_get_real(val);
}

static struct scalar scalar_of(yyjson_val *val)
{
    if (yyjson_is_num(val))
        return (struct scalar){.type = OPERAND_NUMBER, .number = number_of(val)};
    if (yyjson_is_str(val))
        return (struct scalar){.type = OPERAND_TEXT,
                               .text = {yyjson_get_str(val), yyjson_get_len(val)}};
    if (yyjson_is_bool(val))
        return (struct scalar){.type = OPERAND_BOOL, .truth = yyjson_get_bool(val)};
    return (struct scalar){.type = OPERAND_PATH};
}

/* Returns 1 when the operand has a value. */
static int eval_operand(struct eval *e, const struct operand *operand, yyjson_val *at,
                        struct scalar *ret)
{
    if (operand->type != OPERAND_PATH) {
        *ret = (struct scalar){operand->type, operand->number, operand->text, operand->truth};
        return 1;
    }
    struct values found = {0};
    int r = eval_path(e, &operand->path, at, &found);
    if (r == 0 && found.list.len > 0) {
        *ret = scalar_of(found.list.items[0]);
        r = 1;
    }
    vec_done(&found.list);
    return r;
}

static bool compare(enum compare op, const struct scalar *a, const struct scalar *b)
{
    if (a->type != b->type || a->type == OPERAND_PATH)
        return op == COMPARE_NE;
    int order = a->number < b->number ? -1 : a->number > b->number;
    if (a->type == OPERAND_TEXT)
        order = sv_cmp(a->text, b->text);
    else if (a->type == OPERAND_BOOL)
        order = (int)a->truth - (int)b->truth;
    switch (op) {
    case COMPARE_EQ:
        return order == 0;
    case COMPARE_NE:
        return order != 0;
    case COMPARE_LT:
        return order < 0;
    case COMPARE_LE:
        return order <= 0;
    case COMPARE_GT:
        return order > 0;
    case COMPARE_GE:
        return order >= 0;
    case COMPARE_EXISTS:
        break;
    }
    return true;
}

/* 1: it does. That there is no such place is an answer here, and no mistake. */
static int exists(struct eval *e, const struct operand *operand, yyjson_val *val)
{
    struct scalar value;
    struct err err = {0};
    struct err *told = e->err;
    e->err = &err;
    int r = eval_operand(e, operand, val, &value);
    e->err = told;
    if (r == -ERANGE)
        return 0;
    if (r < 0 && told != NULL)
        *told = err;
    return r;
}

/* 1: the value passes. */
static int passes(struct eval *e, const struct filter *filter, yyjson_val *val)
{
    struct scalar left = {.type = OPERAND_PATH}, right = {.type = OPERAND_PATH};
    if (filter->op == COMPARE_EXISTS)
        return exists(e, &filter->left, val);
    int r = eval_operand(e, &filter->left, val, &left);
    if (r <= 0)
        return r;
    r = eval_operand(e, &filter->right, val, &right);
    return r <= 0 ? r : compare(filter->op, &left, &right);
}

static int step_filter(struct eval *e, const struct step *step, yyjson_val *val, struct values *out)
{
    struct values children = {0};
    step_all(val, &children);
    int r = spend(e, children.list.len);
    for (size_t i = 0; i < children.list.len && r >= 0; i++) {
        r = passes(e, step->filter, children.list.items[i]);
        if (r > 0)
            vec_push(&out->list, children.list.items[i]);
    }
    vec_done(&children.list);
    return r < 0 ? r : 0;
}

static int take_step(struct eval *e, const struct step *step, yyjson_val *val, struct values *out)
{
    size_t before = out->list.len;
    switch (step->type) {
    case STEP_PICK: /* takes all values at once */
        break;
    case STEP_ALL:
        step_all(val, out);
        break;
    case STEP_RECURSE:
        step_recurse(val, out);
        break;
    case STEP_FILTER:
        return step_filter(e, step, val, out);
    }
    return spend(e, out->list.len - before + 1);
}

static int eval_path(struct eval *e, const struct path *path, yyjson_val *at, struct values *out)
{
    struct values now = {0};
    vec_push(&now.list, path->from_root ? e->root : at);
    int r = 0;
    for (const struct step *step = path->first; step != NULL && r == 0; step = step->next) {
        struct values next = {0};
        if (step->type == STEP_PICK)
            r = step_pick(e, step, &now, &next);
        for (size_t i = 0; i < now.list.len && r == 0 && step->type != STEP_PICK; i++)
            r = take_step(e, step, now.list.items[i], &next);
        vec_done(&now.list);
        now = next;
    }
    if (r < 0)
        vec_done(&now.list);
    else
        *out = now;
    return r;
}

static void print_value(yyjson_val *val, struct str *out)
{
    if (yyjson_is_str(val))
        str_addn(out, yyjson_get_str(val), yyjson_get_len(val));
    else
        json_write_val(val, out);
}

static int print_nodes(struct eval *e, const struct node *node, yyjson_val *at, struct str *out);

static int print_path(struct eval *e, const struct node *node, yyjson_val *at, struct str *out)
{
    struct values found = {0};
    int r = eval_path(e, &node->path, at, &found);
    for (size_t i = 0; i < found.list.len && r == 0; i++) {
        size_t before = out->len;
        if (i > 0)
            str_addc(out, ' ');
        print_value(found.list.items[i], out);
        r = spend(e, (out->len - before) / 16); /* big values printed often are work as well */
    }
    int n = (int)found.list.len;
    vec_done(&found.list);
    return r < 0 ? r : n;
}

static int print_range(struct eval *e, const struct node *node, yyjson_val *at, struct str *out)
{
    struct values found = {0};
    int r = eval_path(e, &node->path, at, &found);
    int n = 0;
    for (size_t i = 0; i < found.list.len && r >= 0; i++) {
        r = print_nodes(e, node->children, found.list.items[i], out);
        n += r > 0 ? r : 0;
    }
    vec_done(&found.list);
    return r < 0 ? r : n;
}

static int print_nodes(struct eval *e, const struct node *node, yyjson_val *at, struct str *out)
{
    int n = 0;
    for (; node != NULL; node = node->next) {
        int r = spend(e, 1 + node->text.len / 16);
        if (r == 0 && node->type == NODE_TEXT)
            str_addn(out, node->text.ptr, node->text.len);
        else if (r == 0)
            r = node->type == NODE_PATH ? print_path(e, node, at, out)
                                        : print_range(e, node, at, out);
        if (r < 0)
            return r;
        n += r;
    }
    return n;
}

int jsonpath_print(const struct jsonpath *path, yyjson_val *root, struct str *out, struct err *err)
{
    struct eval e = {.root = root, .err = err};
    return print_nodes(&e, path->nodes, root, out);
}

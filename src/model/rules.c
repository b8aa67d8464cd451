// SPDX-License-Identifier: Apache-2.0
#include "model/rules.h"
#include "model/podspec.h"

bool rules_has(yyjson_mut_val *obj, const char *field)
{
    yyjson_mut_val *val = yyjson_mut_obj_get(obj, field);
    return val != NULL && !yyjson_mut_is_null(val);
}

/* ---- alternatives ---- */

const char *rules_at_most_one(struct check *c, yyjson_mut_val *val, const char *const *names,
                              const char *what)
{
    const char *found = NULL;
    for (; *names != NULL; names++) {
        if (!rules_has(val, *names))
            continue;
        if (found == NULL) {
            found = *names;
            continue;
        }
        scoped_free char *why =
            mem_printf("may not be given together with %s: only one %s is possible", found, what);
        check_forbidden(c, *names, why);
    }
    return found;
}

static void rules_add_list(struct str *out, const char *const *names)
{
    for (size_t i = 0; names[i] != NULL; i++)
        str_addf(out, "%s%s", i == 0 ? "" : names[i + 1] == NULL ? " or " : ", ", names[i]);
}

const char *rules_one_of(struct check *c, yyjson_mut_val *val, const char *const *names,
                         const char *what)
{
    const char *found = rules_at_most_one(c, val, names, what);
    if (found != NULL)
        return found;
    scoped_str detail = {0};
    str_addf(&detail, "must have one %s: ", what);
    rules_add_list(&detail, names);
    check_required(c, NULL, str_text(&detail));
    return NULL;
}

/* ---- labels and selectors ---- */

void rules_label_values(struct check *c, yyjson_mut_val *val, const char *field)
{
    size_t mark = check_enter(c, field);
    size_t i, n;
    yyjson_mut_val *key, *label;
    yyjson_mut_obj_foreach(yyjson_mut_obj_get(val, field), i, n, key, label)
    {
        if (!yyjson_mut_is_str(label))
            continue;
        const char *why =
            format_problem(FMT_LABEL_VALUE, yyjson_mut_get_str(label), yyjson_mut_get_len(label));
        if (why == NULL)
            continue;
        size_t inner = check_enter_member(c, yyjson_mut_get_str(key), label);
        check_invalid(c, NULL, label, why);
        check_leave(c, inner);
    }
    check_leave(c, mark);
}

static bool is_integer(const char *text)
{
    if (text == NULL)
        return false;
    text += *text == '-';
    size_t len = strspn(text, "0123456789");
    return len > 0 && text[len] == '\0';
}

static void rules_number_bound(struct check *c, const char *operator, yyjson_mut_val * values)
{
    yyjson_mut_val *first = yyjson_mut_arr_get_first(values);
    if (yyjson_mut_arr_size(values) == 1 && is_integer(yyjson_mut_get_str(first)))
        return;
    scoped_free char *why = mem_printf("must be exactly one integer, in quotes, for %s", operator);
    check_required(c, "values", why);
}

void rules_requirement(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    const char *operator= yyjson_mut_get_str(yyjson_mut_obj_get(val, "operator"));
    yyjson_mut_val *values = yyjson_mut_obj_get(val, "values");
    if (str_eq(operator, "In") || str_eq(operator, "NotIn")) {
        if (yyjson_mut_arr_size(values) == 0)
            check_required(c, "values", "must be given when `operator` is 'In' or 'NotIn'");
    } else if (str_eq(operator, "Exists") || str_eq(operator, "DoesNotExist")) {
        if (yyjson_mut_arr_size(values) > 0)
            check_forbidden(c, "values",
                            "may not be given when `operator` is 'Exists' or 'DoesNotExist'");
    } else if (str_eq(operator, "Gt") || str_eq(operator, "Lt")) {
        rules_number_bound(c, operator, values);
    }
}

bool rules_labels_match(yyjson_mut_val *match_labels, yyjson_mut_val *labels)
{
    size_t i, n;
    yyjson_mut_val *key, *wanted;
    yyjson_mut_obj_foreach(match_labels, i, n, key, wanted)
    {
        yyjson_mut_val *label = yyjson_mut_obj_get(labels, yyjson_mut_get_str(key));
        if (label == NULL || !str_eq(yyjson_mut_get_str(label), yyjson_mut_get_str(wanted)))
            return false;
    }
    return true;
}

/* ---- updates ---- */

static bool is_nothing(yyjson_mut_val *val)
{
    if (val == NULL || yyjson_mut_is_null(val))
        return true;
    if (yyjson_mut_is_str(val))
        return yyjson_mut_get_len(val) == 0;
    return yyjson_mut_is_ctn(val) && yyjson_mut_arr_size(val) + yyjson_mut_obj_size(val) == 0;
}

bool rules_same(yyjson_mut_val *a, yyjson_mut_val *b)
{
    if (is_nothing(a) || is_nothing(b))
        return is_nothing(a) == is_nothing(b);
    return json_mut_equal(a, b);
}

void rules_frozen(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old, const char *field)
{
    if (old == NULL)
        return;
    yyjson_mut_val *now = yyjson_mut_obj_get(val, field);
    if (!rules_same(now, yyjson_mut_obj_get(old, field)))
        check_invalid(c, field, now, "field is immutable");
}

bool rules_are_amounts(const char *parent, const char *key)
{
    if (str_eq(parent, "resources"))
        return str_eq(key, "requests") || str_eq(key, "limits");
    return str_eq(key, "overhead") || str_eq(key, "sizeLimit") || str_eq(key, "divisor");
}

bool rules_zero_is_left_out(const char *key)
{
    static const char *const KEYS[] = {"hostNetwork", "hostPID", "hostIPC",  "stdin",
                                       "stdinOnce",   "tty",     "readOnly", "initialDelaySeconds",
                                       "hostPort"};
    for (size_t i = 0; i < ARRAY_LEN(KEYS); i++) {
        if (str_eq(key, KEYS[i]))
            return true;
    }
    return false;
}

static bool same_amount(yyjson_mut_val *a, yyjson_mut_val *b)
{
    quantity x = 0, y = 0;
    return resources_amount(a, &x) && resources_amount(b, &y) && quantity_cmp(x, y) == 0;
}

static bool is_zero(yyjson_mut_val *val)
{
    return is_nothing(val) || yyjson_mut_is_false(val) ||
           (yyjson_mut_is_int(val) && yyjson_mut_get_sint(val) == 0);
}

/* Two texts of one place: with indexes for people, without them to be found in `allowed`. */
struct change {
    const char *const *allowed;
    struct str path;
    struct str pattern;
    const char *parent; /* of what is looked at */
    bool has_amounts;   /* it is one, or a map of them */
};

static bool change_walk(struct change *change, yyjson_mut_val *val, yyjson_mut_val *old);

static bool change_is_allowed(const struct change *change)
{
    for (const char *const *a = change->allowed; *a != NULL; a++) {
        if (str_eq(*a, str_text(&change->pattern)))
            return true;
    }
    return false;
}

static void str_cut(struct str *str, size_t len)
{
    if (str->data != NULL)
        str->data[len] = '\0';
    str->len = len;
}

static bool change_field(struct change *change, const char *key, yyjson_mut_val *val,
                         yyjson_mut_val *old)
{
    size_t path = change->path.len, pattern = change->pattern.len;
    bool had_amounts = change->has_amounts;
    const char *parent = change->parent;
    if (is_zero(val) && is_zero(old) && rules_zero_is_left_out(key))
        return false;
    str_addf(&change->path, "%s%s", path > 0 ? "." : "", key);
    str_addf(&change->pattern, "%s%s", pattern > 0 ? "." : "", key);
    change->has_amounts = had_amounts || rules_are_amounts(parent, key);
    change->parent = key;
    if (change_walk(change, val, old))
        return true;
    change->has_amounts = had_amounts;
    change->parent = parent;
    str_cut(&change->path, path);
    str_cut(&change->pattern, pattern);
    return false;
}

static bool change_object(struct change *change, yyjson_mut_val *val, yyjson_mut_val *old)
{
    size_t i, n;
    yyjson_mut_val *key, *item;
    yyjson_mut_obj_foreach(val, i, n, key, item)
    {
        const char *name = yyjson_mut_get_str(key);
        if (change_field(change, name, item, yyjson_mut_obj_get(old, name)))
            return true;
    }
    yyjson_mut_obj_foreach(old, i, n, key, item)
    {
        const char *name = yyjson_mut_get_str(key);
        if (yyjson_mut_obj_get(val, name) == NULL && change_field(change, name, NULL, item))
            return true;
    }
    return false;
}

static bool change_list(struct change *change, yyjson_mut_val *val, yyjson_mut_val *old)
{
    if (yyjson_mut_arr_size(val) != yyjson_mut_arr_size(old))
        return true;
    size_t path = change->path.len, pattern = change->pattern.len;
    str_add(&change->pattern, "[]");
    yyjson_mut_arr_iter others = yyjson_mut_arr_iter_with(old);
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(val, i, n, item)
    {
        str_addf(&change->path, "[%zu]", i);
        if (change_walk(change, item, yyjson_mut_arr_iter_next(&others)))
            return true;
        str_cut(&change->path, path);
    }
    str_cut(&change->pattern, pattern);
    return false;
}

/* True leaves the paths where they are: at the change. */
static bool change_walk(struct change *change, yyjson_mut_val *val, yyjson_mut_val *old)
{
    if (rules_same(val, old) || change_is_allowed(change) ||
        (change->has_amounts && same_amount(val, old)))
        return false;
    if (yyjson_mut_is_arr(val) && yyjson_mut_is_arr(old))
        return change_list(change, val, old);
    /* An object that comes or goes may consist of nothing but allowed fields. */
    bool val_fits = yyjson_mut_is_obj(val) || val == NULL;
    bool old_fits = yyjson_mut_is_obj(old) || old == NULL;
    if (val_fits && old_fits)
        return change_object(change, val, old);
    return true;
}

bool rules_changed(yyjson_mut_val *val, yyjson_mut_val *old, const char *const *allowed,
                   struct str *out_path)
{
    struct change change = {.allowed = allowed};
    bool changed = change_walk(&change, val, old);
    if (changed)
        str_add(out_path, str_text(&change.path));
    str_done(&change.path);
    str_done(&change.pattern);
    return changed;
}

/* ---- names ---- */

void rules_add_name(struct rules_names *names, yyjson_mut_val *name)
{
    const char *text = yyjson_mut_get_str(name);
    if (text == NULL)
        return;
    if (names->index == NULL)
        names->index = map_new();
    vec_push(&names->list, text);
    (void)map_put(names->index, text, name); /* the latest of equal names will do */
}

bool rules_knows(const struct rules_names *names, const char *name)
{
    return names->index != NULL && name != NULL && map_get(names->index, name) != NULL;
}

void rules_names_of(struct rules_names *names, yyjson_mut_val *list, const char *field)
{
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(list, i, n, item)
    {
        rules_add_name(names, yyjson_mut_obj_get(item, field));
    }
}

void rules_known(struct check *c, const char *field, yyjson_mut_val *value,
                 const struct rules_names *names)
{
    const char *name = yyjson_mut_get_str(value);
    if (name == NULL || *name == '\0' || rules_knows(names, name))
        return;
    check_invalid(c, field, value, "not found");
    check_hint_nearest(c, name, names->list.items, names->list.len);
}

void rules_names_done(struct rules_names *names)
{
    map_free(names->index);
    vec_done(&names->list);
}

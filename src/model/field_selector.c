// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "base/vec.h"
#include "model/selector.h"
#include <errno.h>

/* Field selectors: terms "path=value", "path==value", "path!=value" between commas. A backslash
 * before a comma, an equals sign or a backslash makes it part of the value. */

struct term {
    char *label, *value;
    char *path;   /* where the value of the label is */
    char *absent; /* what an object without it has; "" */
    bool negated;
};

struct field_selector {
    VEC(struct term) list;
};

void field_selector_free(struct field_selector *selector)
{
    if (!selector)
        return;
    for (size_t i = 0; i < selector->list.len; i++) {
        mem_free(selector->list.items[i].label);
        mem_free(selector->list.items[i].value);
        mem_free(selector->list.items[i].path);
        mem_free(selector->list.items[i].absent);
    }
    vec_done(&selector->list);
    mem_free(selector);
}

/* Like sv_cut() at ',', but not at one behind a backslash. */
static struct sv cut_term(struct sv *rest)
{
    size_t len = 0;
    while (len < rest->len && rest->ptr[len] != ',')
        len += rest->ptr[len] == '\\' && len + 1 < rest->len ? 2 : 1;
    struct sv term = {rest->ptr, len};
    size_t skip = len < rest->len ? len + 1 : len;
    *rest = (struct sv){rest->ptr + skip, rest->len - skip};
    return term;
}

static int unescape(struct sv text, struct str *out, struct err *err)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '=') {
            (void)err_set(err, -EINVAL, "field selector: a bare '=' stands in a value");
            return err ? err_hint(err, "write \\= for an equals sign in a value") : -EINVAL;
        }
        if (text.ptr[i] == '\\') {
            i++;
            if (i == text.len || !memchr(",=\\", text.ptr[i], 3))
                return err_set(err, -EINVAL,
                               "field selector: a \\ stands before something else than , = or \\");
        }
        str_addc(out, text.ptr[i]);
    }
    return 0;
}

/* Splits at the first operator. */
static int split_term(struct sv text, struct sv *ret_path, struct sv *ret_value, bool *ret_negated,
                      struct err *err)
{
    const char *equals = memchr(text.ptr, '=', text.len);
    size_t len = equals ? (size_t)(equals - text.ptr) : 0;
    bool negated = len > 0 && text.ptr[len - 1] == '!';
    struct sv path = {text.ptr, negated ? len - 1 : len};
    size_t skip = len + 1;
    if (equals && !negated && skip < text.len && text.ptr[skip] == '=')
        skip++;
    if (!path.len) {
        (void)err_set(err, -EINVAL, "field selector: cannot understand '%.*s'",
                      (int)(text.len < 200 ? text.len : 200), text.ptr);
        (void)err_hint(err, "for example metadata.name=a,spec.nodeName!=b");
        return -EINVAL;
    }
    *ret_path = path;
    *ret_value = (struct sv){text.ptr + skip, text.len - skip};
    *ret_negated = negated;
    return 0;
}

static const char *const ALWAYS[] = {"metadata.name", "metadata.namespace", NULL};

/* A row reads "label", "label=path" or "label=path|absent". */
static struct sv row_label(const char *row)
{
    struct sv rest = sv_of(row);
    return sv_cut(&rest, '=');
}

static const char *find_row(struct sv label, const char *const *rows)
{
    for (; rows && *rows; rows++)
        if (sv_eq(label, row_label(*rows)))
            return *rows;
    return NULL;
}

static int refuse_label(struct sv label, const char *const *allowed, struct err *err)
{
    scoped_str hint = {0};
    str_addf(&hint, "supported: %s, %s", ALWAYS[0], ALWAYS[1]);
    for (; allowed && *allowed; allowed++) {
        struct sv name = row_label(*allowed);
        str_addf(&hint, ", %.*s", (int)name.len, name.ptr);
    }
    (void)err_set(err, -EINVAL, "field label not supported: %.*s",
                  (int)(label.len < 200 ? label.len : 200), label.ptr);
    (void)err_hint(err, "%s", hint.data);
    return -EINVAL;
}

static void read_row(const char *row, struct term *term)
{
    struct sv rest = sv_of(row);
    struct sv label = sv_cut(&rest, '=');
    struct sv path = sv_cut(&rest, '|');
    if (path.len == 0)
        path = label;
    term->path = mem_strndup(path.ptr, path.len);
    term->absent = mem_strndup(rest.ptr, rest.len);
}

static int add_term(struct field_selector *selector, struct sv text, const char *const *allowed,
                    struct err *err)
{
    struct sv label, value;
    struct term term = {0};
    int r = split_term(text, &label, &value, &term.negated, err);
    if (r < 0)
        return r;
    const char *row = find_row(label, ALWAYS);
    row = row ? row : find_row(label, allowed);
    if (row == NULL)
        return refuse_label(label, allowed, err);
    scoped_str unescaped = {0};
    r = unescape(value, &unescaped, err);
    if (r < 0)
        return r;
    read_row(row, &term);
    term.label = mem_strndup(label.ptr, label.len);
    term.value = str_take(&unescaped);
    vec_push(&selector->list, term);
    return 0;
}

int field_selector_parse(struct sv text, const char *const *allowed,
                         struct field_selector **ret_selector, struct err *err)
{
    struct field_selector *selector = mem_zalloc(sizeof(*selector));
    while (text.len) {
        struct sv term = cut_term(&text);
        int r = term.len ? add_term(selector, term, allowed, err) : 0;
        if (r < 0) {
            field_selector_free(selector);
            return r;
        }
    }
    *ret_selector = selector;
    return 0;
}

static bool equals(yyjson_val *val, const char *text, const char *absent)
{
    if (yyjson_is_str(val))
        return yyjson_equals_str(val, text);
    if (!val || yyjson_is_null(val))
        return str_eq(text, absent);
    if (yyjson_is_ctn(val))
        return false;
    scoped_str written = {0};
    json_write_val(val, &written);
    return str_eq(written.data, text);
}

bool field_selector_matches(const struct field_selector *selector, yyjson_val *root)
{
    for (size_t i = 0; i < selector->list.len; i++) {
        const struct term *term = &selector->list.items[i];
        if (equals(json_at(root, term->path), term->value, term->absent) == term->negated)
            return false;
    }
    return true;
}

const char *field_selector_exact(const struct field_selector *selector, const char *label)
{
    for (size_t i = 0; i < selector->list.len; i++)
        if (!selector->list.items[i].negated && str_eq(selector->list.items[i].label, label))
            return selector->list.items[i].value;
    return NULL;
}

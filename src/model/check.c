// SPDX-License-Identifier: Apache-2.0
/* Findings and the path at which they are made. The trail remembers the name and the value at each
 * step, so that a finding can point at the nearest value that exists even when a check function
 * went to a place that does not. It becomes a text only for a finding: nearly all steps of nearly
 * all walks find nothing. */
#include "model/schema.h"
#include <assert.h>

#define VALUE_TEXT_MAX 200

void findings_done(struct findings *f)
{
    for (size_t i = 0; i < f->list.len; i++) {
        mem_free(f->list.items[i].path);
        mem_free(f->list.items[i].text);
        mem_free(f->list.items[i].hint);
    }
    vec_done(&f->list);
}

const char *finding_reason_name(enum finding_reason reason)
{
    static const char *const NAMES[] = {
        [FINDING_REQUIRED] = "FieldValueRequired",
        [FINDING_INVALID] = "FieldValueInvalid",
        [FINDING_NOT_SUPPORTED] = "FieldValueNotSupported",
        [FINDING_DUPLICATE] = "FieldValueDuplicate",
        [FINDING_FORBIDDEN] = "FieldValueForbidden",
        [FINDING_TYPE] = "FieldValueTypeInvalid",
        [FINDING_UNKNOWN] = "FieldValueInvalid",
    };
    assert((size_t)reason < ARRAY_LEN(NAMES));
    return NAMES[reason];
}

/* ---- the path ---- */

static size_t check_step(struct check *c, struct check_step step, const yyjson_mut_val *child)
{
    assert(c->depth < CHECK_DEPTH_MAX);
    step.at = c->at;
    c->trail[c->depth] = step;
    if (child != NULL)
        c->at = child;
    return c->depth++;
}

static void check_path_add(struct str *path, const char *field)
{
    if (path->len > 0)
        str_addc(path, '.');
    str_add(path, field);
}

static void check_path(const struct check *c, struct str *path)
{
    for (size_t i = 0; i < c->depth; i++) {
        const struct check_step *step = &c->trail[i];
        if (step->name == NULL)
            str_addf(path, "[%zu]", step->index);
        else if (step->is_key)
            str_addf(path, "[%s]", step->name);
        else
            check_path_add(path, step->name);
    }
}

/* yyjson's readers take no const, though they change nothing. */
static yyjson_mut_val *check_child(const struct check *c, const char *key)
{
    return yyjson_mut_obj_get((yyjson_mut_val *)c->at, key);
}

size_t check_enter_field(struct check *c, const char *field, const yyjson_mut_val *value)
{
    return check_step(c, (struct check_step){.name = field}, value);
}

size_t check_enter(struct check *c, const char *field)
{
    return check_enter_field(c, field, check_child(c, field));
}

size_t check_enter_item(struct check *c, size_t index, const yyjson_mut_val *item)
{
    return check_step(c, (struct check_step){.index = index}, item);
}

size_t check_enter_member(struct check *c, const char *key, const yyjson_mut_val *value)
{
    return check_step(c, (struct check_step){.name = key, .is_key = true}, value);
}

void check_leave(struct check *c, size_t mark)
{
    assert(c->depth == mark + 1);
    c->depth = mark;
    c->at = c->trail[mark].at;
}

/* ---- findings ---- */

/* NULL when the list is full; the text is then not worth making. */
static struct finding *check_add(struct check *c, enum finding_reason reason, const char *field,
                                 const yyjson_mut_val *value)
{
    c->dropped = c->findings->list.len >= FINDINGS_MAX;
    if (c->dropped)
        return NULL;
    struct str path = {0};
    check_path(c, &path);
    if (field != NULL)
        check_path_add(&path, field);
    struct finding finding = {.reason = reason, .path = str_take(&path)};
    const yyjson_mut_val *child = field != NULL ? check_child(c, field) : NULL;
    finding.at = value != NULL ? value : child != NULL ? child : c->at;
    vec_push(&c->findings->list, finding);
    return vec_last(&c->findings->list);
}

static void value_text(yyjson_mut_val *value, struct str *out)
{
    if (value == NULL || yyjson_mut_is_null(value)) {
        str_add(out, "\"null\"");
        return;
    }
    scoped_str text = {0};
    json_write(value, &text);
    size_t len = text.len;
    if (len <= VALUE_TEXT_MAX) {
        str_addn(out, text.data, len);
        return;
    }
    len = VALUE_TEXT_MAX;
    while (len > 0 && ((unsigned char)text.data[len] & 0xC0) == 0x80)
        len--; /* not in the middle of a UTF-8 character */
    str_addn(out, text.data, len);
    str_add(out, yyjson_mut_is_str(value) ? "...\"" : "...");
}

void check_required(struct check *c, const char *field, const char *detail_or_null)
{
    struct finding *finding = check_add(c, FINDING_REQUIRED, field, NULL);
    if (finding == NULL)
        return;
    finding->text = detail_or_null == NULL ? mem_strdup("Required value")
                                           : mem_printf("Required value: %s", detail_or_null);
}

static void check_add_value(struct check *c, enum finding_reason reason, const char *field,
                            yyjson_mut_val *value, const char *why)
{
    struct finding *finding = check_add(c, reason, field, value);
    if (finding == NULL)
        return;
    struct str text = {0};
    str_add(&text, reason == FINDING_DUPLICATE ? "Duplicate value: " : "Invalid value: ");
    value_text(value, &text);
    if (why != NULL)
        str_addf(&text, ": %s", why);
    finding->text = str_take(&text);
}

void check_invalid(struct check *c, const char *field, yyjson_mut_val *value, const char *why)
{
    check_add_value(c, FINDING_INVALID, field, value, why);
}

void check_duplicate(struct check *c, const char *field, yyjson_mut_val *value)
{
    check_add_value(c, FINDING_DUPLICATE, field, value, NULL);
}

void check_not_supported(struct check *c, const char *field, yyjson_mut_val *value,
                         const char *const *values)
{
    struct finding *finding = check_add(c, FINDING_NOT_SUPPORTED, field, value);
    if (finding == NULL)
        return;
    struct str text = {0};
    str_add(&text, "Unsupported value: ");
    value_text(value, &text);
    size_t n = 0;
    for (; values[n] != NULL; n++)
        str_addf(&text, "%s\"%s\"", n == 0 ? ": supported values: " : ", ", values[n]);
    finding->text = str_take(&text);
    if (yyjson_mut_is_str(value))
        check_hint_nearest(c, yyjson_mut_get_str(value), values, n);
}

void check_forbidden(struct check *c, const char *field, const char *why)
{
    struct finding *finding = check_add(c, FINDING_FORBIDDEN, field, NULL);
    if (finding != NULL)
        finding->text = mem_printf("Forbidden: %s", why);
}

static const char *json_type_name(yyjson_mut_val *value)
{
    if (yyjson_mut_is_int(value))
        return "integer";
    if (yyjson_mut_is_num(value))
        return "number";
    if (yyjson_mut_is_bool(value))
        return "boolean";
    if (yyjson_mut_is_str(value))
        return "string";
    if (yyjson_mut_is_arr(value))
        return "array";
    return yyjson_mut_is_obj(value) ? "object" : "null";
}

void check_type(struct check *c, const char *field, yyjson_mut_val *value, const char *need)
{
    struct finding *finding = check_add(c, FINDING_TYPE, field, value);
    if (finding != NULL)
        finding->text =
            mem_printf("Invalid value: \"%s\": must be %s", json_type_name(value), need);
}

void check_unknown(struct check *c, const char *field, yyjson_mut_val *value)
{
    struct finding *finding = check_add(c, FINDING_UNKNOWN, field, value);
    if (finding != NULL)
        finding->text = mem_printf("unknown field \"%s\"", finding->path);
}

void check_hint(struct check *c, const char *hint)
{
    if (c->dropped || c->findings->list.len == 0)
        return;
    struct finding *last = vec_last(&c->findings->list);
    mem_free(last->hint);
    last->hint = mem_strdup(hint);
}

void check_hint_nearest(struct check *c, const char *word, const char *const *candidates, size_t n)
{
    const char *near = str_nearest(word, candidates, n);
    if (near == NULL)
        return;
    scoped_free char *hint = mem_printf("did you mean \"%s\"?", near);
    check_hint(c, hint);
}

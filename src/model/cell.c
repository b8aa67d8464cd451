// SPDX-License-Identifier: Apache-2.0
#include "model/cell.h"
#include "base/vec.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void cell_text(struct str *out_json, const char *text)
{
    json_quote(text == NULL ? "" : text, text == NULL ? 0 : strlen(text), out_json);
}

void cell_textf(struct str *out_json, const char *fmt, ...)
{
    char text[512]; /* numbers and ages; longer texts do not come this way */
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    cell_text(out_json, text);
}

void cell_at(struct str *out_json, yyjson_val *root, const char *path, const char *otherwise)
{
    const char *text = json_str_at(root, path);
    cell_text(out_json, text != NULL && *text != '\0' ? text : otherwise);
}

time_ms cell_time(yyjson_val *root, const char *path)
{
    const char *text = json_str_at(root, path);
    time_ms at;
    return text != NULL && rfc3339_parse(sv_of(text), &at, NULL) >= 0 ? at : 0;
}

void cell_add_age(struct str *out, time_ms at, time_ms now)
{
    if (at == 0)
        str_add(out, "<unknown>");
    else
        duration_human(now > at ? now - at : 0, out); /* clocks differ */
}

yyjson_val *cell_condition(yyjson_val *root, const char *type)
{
    return json_find(json_at(root, "status.conditions"), "type", type);
}

yyjson_val *cell_condition_as(yyjson_val *root, const char *type, const char *status)
{
    yyjson_val *condition = cell_condition(root, type);
    return str_eq(json_str_at(condition, "status"), status) ? condition : NULL;
}

bool cell_condition_is(yyjson_val *conditions, const char *type, const char *status)
{
    return str_eq(json_str_at(json_find(conditions, "type", type), "status"), status);
}

yyjson_val *cell_controller(yyjson_val *root)
{
    size_t i, n;
    yyjson_val *ref;
    yyjson_arr_foreach(json_at(root, "metadata.ownerReferences"), i, n, ref)
    {
        if (yyjson_get_bool(yyjson_obj_get(ref, "controller")))
            return ref;
    }
    return NULL;
}

/* ---- selectors ---- */

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int compare_vals(const void *a, const void *b)
{
    const char *x = yyjson_get_str(*(yyjson_val *const *)a);
    const char *y = yyjson_get_str(*(yyjson_val *const *)b);
    return strcmp(x != NULL ? x : "", y != NULL ? y : "");
}

static void add_values(struct str *out, yyjson_val *values)
{
    VEC(yyjson_val *) sorted = {0};
    size_t i, n;
    yyjson_val *value;
    yyjson_arr_foreach(values, i, n, value) vec_push(&sorted, value);
    if (sorted.len > 0)
        qsort(sorted.items, sorted.len, sizeof(*sorted.items), compare_vals);
    for (size_t k = 0; k < sorted.len; k++)
        str_addf(out, "%s%s", k == 0 ? "(" : ",", yyjson_get_str(sorted.items[k]));
    str_add(out, sorted.len > 0 ? ")" : "()");
    vec_done(&sorted);
}

static char *requirement_text(yyjson_val *requirement)
{
    const char *key = json_str_at(requirement, "key");
    const char *operator= json_str_at(requirement, "operator");
    struct str text = {0};
    if (str_eq(operator, "DoesNotExist"))
        str_addc(&text, '!');
    str_add(&text, key);
    if (str_eq(operator, "In") || str_eq(operator, "NotIn")) {
        str_add(&text, str_eq(operator, "In") ? " in " : " notin ");
        add_values(&text, json_at(requirement, "values"));
    }
    return str_take(&text);
}

void cell_selector(struct str *out_json, yyjson_val *selector)
{
    VEC(char *) parts = {0};
    size_t i, n;
    yyjson_val *key, *item;
    yyjson_obj_foreach(json_at(selector, "matchLabels"), i, n, key, item)
    {
        const char *value = yyjson_get_str(item);
        vec_push(&parts, mem_printf("%s=%s", yyjson_get_str(key), value != NULL ? value : ""));
    }
    yyjson_arr_foreach(json_at(selector, "matchExpressions"), i, n, item)
    {
        vec_push(&parts, requirement_text(item));
    }
    if (parts.len > 0)
        qsort(parts.items, parts.len, sizeof(*parts.items), compare_texts);
    scoped_str text = {0};
    for (size_t k = 0; k < parts.len; k++) {
        str_addf(&text, "%s%s", k == 0 ? "" : ",", parts.items[k]);
        mem_free(parts.items[k]);
    }
    vec_done(&parts);
    cell_text(out_json, text.len > 0 ? str_text(&text) : "<none>");
}

// SPDX-License-Identifier: Apache-2.0
/* Rows for `kubectl get`: the server decides what a table shows, kubectl only aligns it. */
#include "model/kind.h"

static bool column_is(const struct column *column, const char *type)
{
    return str_eq(column->type, type);
}

static void age_cell(yyjson_val *val, time_ms now, struct str *out)
{
    time_ms at;
    struct sv text = {yyjson_get_str(val), yyjson_get_len(val)};
    if (!yyjson_is_str(val) || rfc3339_parse(text, &at, NULL) < 0) {
        str_add(out, "\"<unknown>\"");
        return;
    }
    scoped_str age = {0};
    duration_human(now > at ? now - at : 0, &age); /* clocks differ; nothing is younger than new */
    json_quote(str_text(&age), age.len, out);
}

static void text_cell(yyjson_val *val, struct str *out)
{
    bool is_text = yyjson_is_str(val);
    if (val == NULL || yyjson_is_null(val) || (is_text && yyjson_get_len(val) == 0)) {
        str_add(out, "\"<none>\"");
        return;
    }
    if (is_text) {
        json_quote(yyjson_get_str(val), yyjson_get_len(val), out);
        return;
    }
    scoped_str text = {0};
    json_write_val(val, &text);
    json_quote(str_text(&text), text.len, out);
}

static void path_cell(const struct column *column, yyjson_val *root, time_ms now, struct str *out)
{
    yyjson_val *val = json_at(root, column->path);
    if (column_is(column, "date"))
        age_cell(val, now, out);
    else if (!column_is(column, "integer"))
        text_cell(val, out);
    else if (yyjson_is_num(val))
        json_write_val(val, out);
    else
        str_addc(out, '0');
}

void table_cells(const struct kind *kind, yyjson_val *root, time_ms now, struct str *out_json)
{
    str_addc(out_json, '[');
    for (const struct column *column = kind->columns; column->name != NULL; column++) {
        if (column != kind->columns)
            str_addc(out_json, ',');
        if (column->cell != NULL)
            column->cell(root, now, out_json);
        else
            path_cell(column, root, now, out_json);
    }
    str_addc(out_json, ']');
}

static void add_member(struct str *out, const char *key, const char *text)
{
    str_addf(out, "\"%s\":", key);
    json_quote(text == NULL ? "" : text, text == NULL ? 0 : strlen(text), out);
    str_addc(out, ',');
}

void table_columns(const struct kind *kind, struct str *out_json)
{
    str_addc(out_json, '[');
    for (const struct column *column = kind->columns; column->name != NULL; column++) {
        str_add(out_json, column == kind->columns ? "{" : ",{");
        add_member(out_json, "name", column->name);
        /* An age is made here: to clients it is text like any other. */
        add_member(out_json, "type", column_is(column, "date") ? "string" : column->type);
        add_member(out_json, "format", column->format);
        add_member(out_json, "description", column->doc);
        str_addf(out_json, "\"priority\":%d}", column->priority);
    }
    str_addc(out_json, ']');
}

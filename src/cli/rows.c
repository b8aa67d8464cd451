// SPDX-License-Identifier: Apache-2.0
#include "cli/rows.h"
#include <ctype.h>
#include <errno.h>
#include <stdint.h>

static void add_title(struct rows *rows, const char *name)
{
    scoped_str upper = {0};
    for (; *name != '\0'; name++)
        str_addc(&upper, (char)toupper((unsigned char)*name));
    vec_push(&rows->titles, str_take(&upper));
}

static void add_column(struct rows *rows, size_t index, yyjson_val *column)
{
    const char *name = json_str_at(column, "name");
    if (rows->name_column == SIZE_MAX && str_eq(json_str_at(column, "format"), "name"))
        rows->name_column = index;
    vec_push(&rows->shown, index);
    add_title(rows, name ? name : "");
}

static void choose_columns(struct rows *rows, yyjson_val *definitions)
{
    size_t i, n;
    yyjson_val *column;
    rows->name_column = SIZE_MAX;
    if (rows->show_namespace)
        add_title(rows, "NAMESPACE");
    yyjson_arr_foreach(definitions, i, n, column)
    {
        bool fits = rows->titles.len + 1 < GRID_COLUMNS_MAX;
        if (fits && (json_int_at(column, "priority", 0) <= 0 || rows->wide))
            add_column(rows, i, column);
    }
    if (rows->show_labels)
        add_title(rows, "LABELS");
    rows->grid.columns = rows->titles.len;
}

static void add_header(struct rows *rows)
{
    if (rows->count == 0 && rows->headers) {
        for (size_t i = 0; i < rows->titles.len; i++)
            grid_cell(&rows->grid, rows->titles.items[i]);
        rows->header_due = true;
    }
}

static void add_cell(struct rows *rows, yyjson_val *cell, bool is_name)
{
    scoped_str text = {0};
    if (is_name)
        str_add(&text, rows->prefix);
    if (yyjson_is_str(cell))
        str_add(&text, yyjson_get_str(cell));
    else if (cell == NULL || yyjson_is_null(cell))
        str_add(&text, "<none>");
    else
        json_write_val(cell, &text);
    grid_cell(&rows->grid, str_text(&text));
}

struct label {
    const char *key;
    const char *value;
};

static int label_cmp(const void *a, const void *b)
{
    return strcmp(((const struct label *)a)->key, ((const struct label *)b)->key);
}

/* "a=b,c=d", or "<none>". */
static void add_labels(yyjson_val *labels, struct str *out)
{
    VEC(struct label) sorted = {0};
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_obj_foreach(labels, i, n, key, value)
    {
        const char *text = yyjson_get_str(value);
        vec_push(&sorted, ((struct label){yyjson_get_str(key), text ? text : ""}));
    }
    if (sorted.len == 0) {
        str_add(out, "<none>");
        return;
    }
    qsort(sorted.items, sorted.len, sizeof(*sorted.items), label_cmp);
    for (size_t k = 0; k < sorted.len; k++)
        str_addf(out, "%s%s=%s", k ? "," : "", sorted.items[k].key, sorted.items[k].value);
    vec_done(&sorted);
}

static void add_row(struct rows *rows, yyjson_val *row)
{
    yyjson_val *cells = yyjson_obj_get(row, "cells");
    yyjson_val *metadata = json_at(row, "object.metadata");
    add_header(rows);
    if (rows->show_namespace) {
        const char *ns = json_str_at(metadata, "namespace");
        grid_cell(&rows->grid, ns ? ns : "");
    }
    for (size_t i = 0; i < rows->shown.len; i++) {
        size_t column = rows->shown.items[i];
        add_cell(rows, yyjson_arr_get(cells, column), column == rows->name_column);
    }
    if (rows->show_labels) {
        scoped_str labels = {0};
        add_labels(yyjson_obj_get(metadata, "labels"), &labels);
        grid_cell(&rows->grid, str_text(&labels));
    }
    rows->count++;
}

int rows_add_table(struct rows *rows, yyjson_val *table)
{
    if (!str_eq(json_str_at(table, "kind"), "Table"))
        return -EINVAL;
    if (rows->grid.columns == 0) {
        yyjson_val *definitions = yyjson_obj_get(table, "columnDefinitions");
        if (yyjson_arr_size(definitions) == 0)
            return -EINVAL;
        choose_columns(rows, definitions);
    }
    size_t i, n;
    yyjson_val *row;
    yyjson_arr_foreach(yyjson_obj_get(table, "rows"), i, n, row)
    {
        if (rows->wanted == NULL || rows->wanted(rows->wanted_arg, row))
            add_row(rows, row);
    }
    return 0;
}

void rows_print(struct rows *rows, struct str *out)
{
    if (rows->grid.cells.len == 0)
        return;
    grid_print(&rows->grid, rows->header_due && rows->bold, out);
    rows->header_due = false;
}

void rows_done(struct rows *rows)
{
    for (size_t i = 0; i < rows->titles.len; i++)
        mem_free(rows->titles.items[i]);
    vec_done(&rows->titles);
    grid_done(&rows->grid);
    vec_done(&rows->shown);
}

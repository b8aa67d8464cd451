// SPDX-License-Identifier: Apache-2.0
#include "generate.h"
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

static const char *const TYPES[] = {
    [F_OBJECT] = "object",     [F_STRING] = "string",
    [F_BOOL] = "boolean",      [F_INT32] = "integer",
    [F_INT64] = "integer",     [F_NUMBER] = "number",
    [F_QUANTITY] = "quantity", [F_INT_OR_STRING] = "integer or string",
    [F_TIME] = "time",         [F_MICRO_TIME] = "time",
    [F_DURATION] = "duration", [F_BYTES] = "base64",
    [F_PERCENT] = "percent",   [F_ANY] = "anything",
};

static const char *const FORMATS[] = {
    [FMT_DNS_LABEL] = "a DNS label, at most 63",
    [FMT_DNS_NAME] = "a DNS label that begins with a letter, at most 63",
    [FMT_DNS_SUBDOMAIN] = "a DNS name, at most 253",
    [FMT_QUALIFIED] = "a name, with or without prefix/",
    [FMT_LABEL_VALUE] = "as the value of a label, at most 63",
    [FMT_ENV_NAME] = "printable ASCII without =",
    [FMT_CONFIG_KEY] = "letters, digits, - _ and dots, at most 253",
    [FMT_PORT_NAME] = "a service name, at most 15",
    [FMT_ABSOLUTE_PATH] = "an absolute path",
    [FMT_IP] = "an IP address",
    [FMT_UUID] = "a UUID",
};

/* ---- where types are told of ---- */

static bool is_common(const struct type *type)
{
    return str_starts(type->name, "io.k8s.apimachinery.");
}

static const struct shelf_item *shelf_find(const struct shelf *shelf, const struct type *type)
{
    for (size_t i = 0; i < shelf->items.len; i++) {
        if (shelf->items.items[i].type == type)
            return &shelf->items.items[i];
    }
    return NULL;
}

void shelf_put(struct shelf *shelf, const struct type *type, const char *page)
{
    if (shelf_find(shelf, type) != NULL)
        return;
    vec_push(&shelf->items, ((struct shelf_item){type, is_common(type) ? "common.md" : page}));
    for (const struct field *field = type->fields; field->name != NULL; field++) {
        if (field->of != NULL)
            shelf_put(shelf, field->of, page);
    }
}

void shelf_done(struct shelf *shelf)
{
    vec_done(&shelf->items);
}

/* The last word of the name; with the one before it where two on a page would be called the same.
 */
static const char *title_of(const struct shelf *shelf, const struct shelf_item *item)
{
    const char *title = strrchr(item->type->name, '.') + 1;
    for (size_t i = 0; i < shelf->items.len; i++) {
        const struct shelf_item *other = &shelf->items.items[i];
        if (other == item || !str_eq(other->page, item->page) ||
            !str_eq(strrchr(other->type->name, '.') + 1, title))
            continue;
        for (title -= 2; title > item->type->name && title[-1] != '.';)
            title--;
        return title;
    }
    return title;
}

static void add_link(struct str *out, const struct shelf *shelf, const struct type *type,
                     const char *page)
{
    const struct shelf_item *item = shelf_find(shelf, type);
    const char *title = title_of(shelf, item);
    str_addf(out, "[%s](%s#", title, str_eq(item->page, page) ? "" : item->page);
    for (const char *c = title; *c != '\0'; c++) {
        if (*c != '.') /* as GitHub makes anchors of headings */
            str_addc(out, (char)tolower((unsigned char)*c));
    }
    str_addc(out, ')');
}

/* ---- one row ---- */

static void add_type(struct str *out, const struct field *field, const struct shelf *shelf,
                     const char *page)
{
    static const char *const SHAPES[] = {[ONE] = "", [LIST] = "list of ", [MAP] = "map of "};
    str_add(out, SHAPES[field->shape]);
    if (field->of != NULL)
        add_link(out, shelf, field->of, page);
    else
        str_add(out, TYPES[field->type]);
}

static void add_rule(struct str *out, size_t start, const char *rule)
{
    str_addf(out, "%s%s", out->len > start ? "; " : "", rule);
}

static void add_range(struct str *out, size_t start, const struct field *field)
{
    if (!(field->flags & RANGE))
        return;
    bool is_length = field->shape == LIST || field->type == F_STRING;
    bool has_max = field->max != 0 || field->min < 0;
    add_rule(out, start, is_length ? "length " : "");
    if (has_max && field->max < INT32_MAX)
        str_addf(out, "%" PRId64 " to %" PRId64, field->min, field->max);
    else
        str_addf(out, "at least %" PRId64, field->min);
}

static void add_rules(struct str *out, const struct field *field)
{
    size_t start = out->len;
    if (field->flags & REQUIRED)
        add_rule(out, start, "required");
    if (field->flags & NON_EMPTY)
        add_rule(out, start, "not empty");
    if (field->flags & IMMUTABLE)
        add_rule(out, start, "cannot be changed");
    for (const char *const *v = field->values; v != NULL && *v != NULL; v++) {
        add_rule(out, v == field->values ? start : out->len, "");
        str_add(out, v == field->values ? "" : ", ");
        md_code(out, *v);
    }
    add_range(out, start, field);
    if (field->format != FMT_NONE) {
        add_rule(out, start, field->flags & KEY_FORMAT ? "keys: " : "");
        md_text(out, FORMATS[field->format]);
    }
    if (field->merge_key != NULL && !(field->flags & KEY_MAY_REPEAT)) {
        add_rule(out, start, "each `");
        str_addf(out, "%s` once", field->merge_key);
    }
}

static void add_row(struct str *out, const struct field *field, const struct shelf *shelf,
                    const char *page)
{
    str_addf(out, "| `%s` | ", field->name);
    add_type(out, field, shelf, page);
    str_add(out, " | ");
    md_code(out, field->fallback);
    str_add(out, " | ");
    add_rules(out, field);
    str_add(out, " | ");
    md_text(out, field->doc);
    if (field->flags & AS_WRITTEN)
        str_add(out, " Kept as it is written; defaults come with what is made of it.");
    str_add(out, " |\n");
}

void fields_table(struct str *out, const struct type *type, const struct shelf *shelf,
                  const char *page)
{
    if (type->fields->name == NULL) {
        str_add(out, "It has no fields.\n");
        return;
    }
    str_add(out, "| field | type | default | must be | what it is |\n|---|---|---|---|---|\n");
    for (const struct field *field = type->fields; field->name != NULL; field++)
        add_row(out, field, shelf, page);
}

void fields_sections(struct str *out, const struct shelf *shelf, const char *page,
                     const struct type *except)
{
    for (size_t i = 0; i < shelf->items.len; i++) {
        const struct shelf_item *item = &shelf->items.items[i];
        if (!str_eq(item->page, page) || item->type == except)
            continue;
        str_addf(out, "\n### %s\n\n", title_of(shelf, item));
        md_text(out, item->type->doc);
        str_add(out, "\n\n");
        fields_table(out, item->type, shelf, page);
    }
}

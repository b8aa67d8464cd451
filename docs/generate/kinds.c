// SPDX-License-Identifier: Apache-2.0
/* One page a kind and version. The order of kinds decides where a type that several kinds have is
 * told of, which is why Pod stands before Job in it, as in KINDS. */
#include "base/mem.h"
#include "generate.h"
#include "model/kind.h"
#include <ctype.h>

struct entry {
    const struct kind *kind;
    char *page; /* "pod-v1.md" */
};
struct book {
    VEC(struct entry) entries;
    struct shelf shelf;
};

static void book_put(struct book *book, const struct kind *kind)
{
    scoped_str page = {0};
    for (const char *c = kind->name; *c != '\0'; c++)
        str_addc(&page, (char)tolower((unsigned char)*c));
    str_addf(&page, "-%s.md", kind->version);
    struct entry entry = {kind, str_take(&page)};
    vec_push(&book->entries, entry);
    shelf_put(&book->shelf, kind->type, entry.page);
}

static void book_fill(struct book *book)
{
    for (size_t i = 0; kind_served(i) != NULL; i++)
        book_put(book, kind_served(i));
    for (size_t i = 0; FILE_KINDS[i] != NULL; i++)
        book_put(book, FILE_KINDS[i]);
}

static void add_list(struct str *out, const char *title, const char *const *words)
{
    for (const char *const *w = words; w != NULL && *w != NULL; w++) {
        if (w == words)
            str_addf(out, "| %s | ", title);
        str_add(out, w == words ? "" : ", ");
        md_code(out, *w);
        if (w[1] == NULL)
            str_add(out, " |\n");
    }
}

static const char *served_as(const struct kind *kind)
{
    if (kind_is_file(kind))
        return "read from files, served by nobody";
    if (kind_is_reading(kind))
        return "measured when asked for, never stored";
    return kind->stored != NULL ? "another version of the same stored objects" : "stored";
}

static void add_facts(struct str *out, const struct kind *kind)
{
    char api[128];
    str_addf(out, "| | |\n|---|---|\n| `apiVersion` | `%s` |\n", kind_api_version(kind, api));
    if (!kind_is_file(kind))
        str_addf(out, "| address | `%s/%s/%s%s` |\n", kind->group[0] == '\0' ? "/api" : "/apis",
                 api, kind->namespaced ? "namespaces/NAMESPACE/" : "", kind->plural);
    str_addf(out, "| is | %s |\n", served_as(kind));
    add_list(out, "also called", kind->short_names);
    add_list(out, "in", kind->categories);
    add_list(out, "field selectors", kind->selectable);
    if (kind->scale != NULL)
        str_addf(out, "| scaled by | `%s` |\n", kind->scale->spec_replicas);
}

static void add_columns(struct str *out, const struct kind *kind)
{
    if (kind->columns == NULL || kind_is_file(kind))
        return;
    str_add(out, "\n## Columns\n\n| column | what it shows |\n|---|---|\n");
    for (const struct column *column = kind->columns; column->name != NULL; column++) {
        str_addf(out, "| %s%s | ", column->name, column->priority > 0 ? " (`-o wide`)" : "");
        md_text(out, column->doc);
        str_add(out, " |\n");
    }
}

static bool has_types(const struct shelf *shelf, const char *page, const struct type *except)
{
    for (size_t i = 0; i < shelf->items.len; i++) {
        if (str_eq(shelf->items.items[i].page, page) && shelf->items.items[i].type != except)
            return true;
    }
    return false;
}

static void kind_page(struct str *out, const struct entry *entry, const struct shelf *shelf)
{
    char api[128];
    const struct kind *kind = entry->kind;
    md_head(out, "the tables of src/model");
    str_addf(out, "# %s (%s)\n\n", kind->name, kind_api_version(kind, api));
    md_text(out, kind->type->doc);
    str_add(out, "\n\n");
    add_facts(out, kind);
    str_add(out, "\n## Fields\n\n");
    fields_table(out, kind->type, shelf, entry->page);
    add_columns(out, kind);
    if (has_types(shelf, entry->page, kind->type))
        str_add(out, "\n## Types\n");
    fields_sections(out, shelf, entry->page, kind->type);
}

static void common_page(struct str *out, const struct shelf *shelf)
{
    md_head(out, "the tables of src/model");
    str_add(out, "# What kinds have in common\n");
    fields_sections(out, shelf, "common.md", NULL);
}

static void index_page(struct str *out, const struct book *book)
{
    char api[128];
    md_head(out, "the tables of src/model");
    str_add(out, "# Kinds\n\n`kubectl explain KIND.FIELD` has the same texts.\n\n"
                 "| kind | apiVersion | what it is |\n|---|---|---|\n");
    for (size_t i = 0; i < book->entries.len; i++) {
        const struct entry *entry = &book->entries.items[i];
        str_addf(out, "| [%s](%s) | `%s` | ", entry->kind->name, entry->page,
                 kind_api_version(entry->kind, api));
        md_text(out, entry->kind->type->doc);
        str_add(out, " |\n");
    }
    str_add(out, "\nWhat several of them have: [common.md](common.md).\n");
}

void kinds_write(const char *folder)
{
    struct book book = {0};
    scoped_str text = {0};
    book_fill(&book);
    for (size_t i = 0; i < book.entries.len; i++) {
        str_clear(&text);
        kind_page(&text, &book.entries.items[i], &book.shelf);
        page_write(folder, book.entries.items[i].page, &text);
    }
    str_clear(&text);
    common_page(&text, &book.shelf);
    page_write(folder, "common.md", &text);
    str_clear(&text);
    index_page(&text, &book);
    page_write(folder, "README.md", &text);
    for (size_t i = 0; i < book.entries.len; i++)
        mem_free(book.entries.items[i].page);
    vec_done(&book.entries);
    shelf_done(&book.shelf);
}

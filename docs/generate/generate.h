// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/str.h"
#include "model/schema.h"

/* Reference pages from the tables that the program itself goes by. Each function appends a page or
 * a part of one. */

/* Text in a cell of a table: what Markdown would take for its own is escaped. */
void md_text(struct str *out, const char *text);
void md_code(struct str *out, const char *text); /* in a cell, as code; nothing when NULL */
/* "Made by `make docs` from SOURCE": the first line of every page. */
void md_head(struct str *out, const char *source);

/* Where each type is told of: on the page of the first kind that has it, or on the common page. */
struct shelf {
    VEC(struct shelf_item {
        const struct type *type;
        const char *page;
    })
    items;
};
void shelf_put(struct shelf *shelf, const struct type *type, const char *page);
void shelf_done(struct shelf *shelf);
/* The fields of one type as a table; links lead to where `shelf` has their types. */
void fields_table(struct str *out, const struct type *type, const struct shelf *shelf,
                  const char *page);
/* All types that `shelf` has on this page but `except`, a section each. */
void fields_sections(struct str *out, const struct shelf *shelf, const char *page,
                     const struct type *except);

/* Writes pages into a folder that exists. Ends the program when it cannot. */
void page_write(const char *folder, const char *name, const struct str *text);

void kinds_write(const char *folder);
void configuration_page(struct str *out);
void verbs_page(struct str *out);
void agent_page(struct str *out);
/* Lines for whoever draws: "machine", "state" and "move", with tabs between their words. */
void machines_list(struct str *out);

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/kind.h"
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

/* JSON in C is full of \": these tables write ' instead. */
static inline yyjson_mut_doc *kt_parse(const char *text)
{
    scoped_free char *json = mem_strdup(text);
    for (char *c = json; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    yyjson_mut_doc *doc = NULL;
    struct err err = {0};
    if (json_parse_mut(sv_of(json), &doc, &err) < 0)
        fail_msg("%s\nin %s", err.text, json);
    return doc;
}

/* As the server does with an object that it is given: defaults, then all checks against `old`. */
static inline void kt_check(const struct kind *kind, yyjson_mut_doc *doc, yyjson_mut_doc *old,
                            struct findings *findings)
{
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    schema_unknown(kind->type, root, findings);
    schema_fill(kind->type, doc, root);
    schema_check(kind->type, root, old != NULL ? yyjson_mut_doc_get_root(old) : NULL, findings);
}

static inline void kt_list(const struct findings *findings, struct str *out)
{
    for (size_t i = 0; i < findings->list.len; i++) {
        const struct finding *f = &findings->list.items[i];
        str_addf(out, "\n  %s: %s%s%s", f->path, f->text, f->hint ? " | " : "",
                 f->hint ? f->hint : "");
    }
}

/* `want` is "path: text", or with a hint "path: text | hint"; NULL: nothing must be found. Exactly
 * one finding is allowed, so that no mistake is reported twice. */
static inline void kt_expect(const char *label, const struct findings *findings, const char *want)
{
    scoped_str found = {0};
    kt_list(findings, &found);
    if (want == NULL) {
        if (findings->list.len > 0)
            fail_msg("%s: found%s", label, str_text(&found));
        return;
    }
    scoped_free char *line = mem_printf("\n  %s", want);
    const struct finding *first = findings->list.len > 0 ? &findings->list.items[0] : NULL;
    bool with_hint = strstr(want, " | ") != NULL;
    if (first != NULL && first->hint != NULL && !with_hint) {
        scoped_free char *hint = mem_printf(" | %s", first->hint);
        if (findings->list.len == 1 && str_ends(str_text(&found), hint)) {
            found.len -= strlen(hint);
            found.data[found.len] = '\0';
        }
    }
    size_t dots = strlen(line) - 3; /* "...": whatever the format's own text is */
    bool fits = str_ends(want, "...") ? strncmp(str_text(&found), line, dots) == 0
                                      : str_eq(str_text(&found), line);
    if (!fits || findings->list.len != 1)
        fail_msg("%s: want%s\nfound%s", label, line, str_text(&found));
}

/* The value at a dotted path as JSON with ' for ", "" when there is none. */
static inline void kt_expect_at(yyjson_mut_val *root, const char *path, const char *want)
{
    scoped_str got = {0};
    yyjson_mut_val *val = json_mut_at(root, path);
    if (val != NULL)
        json_write(val, &got);
    for (size_t i = 0; i < got.len; i++)
        got.data[i] = got.data[i] == '"' ? '\'' : got.data[i];
    if (!str_eq(str_text(&got), want))
        fail_msg("%s: want %s\n got %s", path, want, str_text(&got));
}

/* All cells of a row, with ' for ". */
static inline void kt_expect_cells(const struct kind *kind, const char *object, time_ms now,
                                   const char *want)
{
    scoped_json_mut *doc = kt_parse(object);
    scoped_json *read = yyjson_mut_doc_imut_copy(doc, NULL);
    scoped_str got = {0};
    table_cells(kind, yyjson_doc_get_root(read), now, &got);
    for (size_t i = 0; i < got.len; i++)
        got.data[i] = got.data[i] == '"' ? '\'' : got.data[i];
    if (!str_eq(str_text(&got), want))
        fail_msg("%s\nwant %s\n got %s", object, want, str_text(&got));
}

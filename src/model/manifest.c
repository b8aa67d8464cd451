// SPDX-License-Identifier: Apache-2.0
#include "model/manifest.h"
#include "base/mem.h"
#include "model/manifest_internal.h"
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int manifest_fail(struct err *err, const char *file, struct place at, const char *fmt, ...)
{
    char what[480];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(what, sizeof(what), fmt, ap); /* what does not fit is left out */
    va_end(ap);
    return err_set(err, -EINVAL, "%.120s:%d:%d: %s", file, at.line, at.column, what);
}

int manifest_fail_twice(struct err *err, const char *file, struct sv key, struct place first,
                        struct place again)
{
    int shown = key.len < 80 ? (int)key.len : 80;
    (void)manifest_fail(err, file, again, "the key '%.*s' stands twice, first at %d:%d", shown,
                        key.ptr, first.line, first.column);
    if (err)
        err->code = -EEXIST;
    (void)err_hint(err, "a key may stand only once in a mapping; remove one of the two");
    return -EEXIST;
}

yyjson_mut_doc *manifest_new_doc(void)
{
    yyjson_mut_doc *doc = NULL;
    int r = json_parse_mut(SV("null"), &doc, NULL);
    assert(r == 0);
    (void)r;
    return doc;
}

void manifest_add(struct manifest *manifest, yyjson_mut_doc *doc, struct positions *positions,
                  int line)
{
    struct manifest_doc added = {doc, line, positions};
    vec_push(&manifest->docs, added);
}

static void drop_docs(struct manifest *manifest)
{
    for (size_t i = 0; i < manifest->docs.len; i++) {
        yyjson_mut_doc_free(manifest->docs.items[i].doc);
        positions_free(manifest->docs.items[i].positions);
    }
    vec_done(&manifest->docs);
}

void manifest_drop(struct manifest *manifest, size_t index)
{
    struct manifest_doc *at = &manifest->docs.items[index];
    yyjson_mut_doc_free(at->doc);
    positions_free(at->positions);
    manifest->docs.len--;
    memmove(at, at + 1, (manifest->docs.len - index) * sizeof(*at));
}

void manifest_done(struct manifest *manifest)
{
    drop_docs(manifest);
    mem_free(manifest->file);
    manifest->file = NULL;
}

/* ---- mistakes ---- */

struct mistakes { /* NULL: the first one ends the reading */
    struct str *out;
    size_t n;
};

/* Whether to go on. */
static int note_mistake(struct mistakes *all, int r, const struct err *err)
{
    if (all == NULL)
        return r;
    str_addf(all->out, "%s\n", err->text);
    if (err->hint[0] != '\0')
        str_addf(all->out, "    hint: %s\n", err->hint);
    all->n++;
    return 0;
}

/* ---- lists ---- */

static bool is_list(yyjson_mut_val *root)
{
    return yyjson_mut_equals_str(yyjson_mut_obj_get(root, "kind"), "List") &&
           yyjson_mut_is_arr(yyjson_mut_obj_get(root, "items"));
}

/* `to` is a copy of `from`. */
static void copy_positions(const struct positions *old, yyjson_mut_val *from,
                           struct positions *positions, yyjson_mut_val *to, yyjson_mut_doc *doc)
{
    const struct position *known = positions_get(old, from);
    if (known) {
        struct position copied = {to, known->at, known->key, NULL};
        if (known->written != NULL)
            copied.written = yyjson_mut_get_str(yyjson_mut_strcpy(doc, known->written));
        positions_put(positions, copied);
    }
    if (yyjson_mut_is_arr(from)) {
        yyjson_mut_arr_iter iter = yyjson_mut_arr_iter_with(from);
        yyjson_mut_arr_iter iter_to = yyjson_mut_arr_iter_with(to);
        yyjson_mut_val *item;
        while ((item = yyjson_mut_arr_iter_next(&iter)))
            copy_positions(old, item, positions, yyjson_mut_arr_iter_next(&iter_to), doc);
    } else if (yyjson_mut_is_obj(from)) {
        yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(from);
        yyjson_mut_obj_iter iter_to = yyjson_mut_obj_iter_with(to);
        yyjson_mut_val *key;
        while ((key = yyjson_mut_obj_iter_next(&iter)))
            copy_positions(old, yyjson_mut_obj_iter_get_val(key), positions,
                           yyjson_mut_obj_iter_get_val(yyjson_mut_obj_iter_next(&iter_to)), doc);
    }
}

static void add_item(struct manifest *manifest, const struct manifest_doc *from,
                     yyjson_mut_val *item)
{
    yyjson_mut_doc *doc = manifest_new_doc();
    yyjson_mut_val *root = yyjson_mut_val_mut_copy(doc, item);
    yyjson_mut_doc_set_root(doc, root);
    struct positions *positions = positions_new();
    copy_positions(from->positions, item, positions, root, doc);
    const struct position *at = positions_get(positions, root);
    manifest_add(manifest, doc, positions, at ? at->at.line : from->line);
}

/* Lists inside lists are taken apart as well; the depth of the document bounds the recursion. */
static int add_items(struct manifest *manifest, const struct manifest_doc *from,
                     yyjson_mut_val *list, struct mistakes *all, struct err *err)
{
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(list, "items"), i, n, item)
    {
        int r = 0;
        if (!yyjson_mut_is_obj(item)) {
            struct place at = {from->line, 1};
            (void)manifest_position(from, item, &at.line, &at.column); /* else the document's */
            r = manifest_fail(err, manifest->file, at, "items[%zu] of the list is no object", i);
            r = note_mistake(all, r, err);
        } else if (is_list(item)) {
            r = add_items(manifest, from, item, all, err);
        } else {
            add_item(manifest, from, item);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

static int split_lists(struct manifest *manifest, struct mistakes *all, struct err *err)
{
    struct manifest whole = *manifest;
    memset(&manifest->docs, 0, sizeof(manifest->docs));
    int r = 0;
    for (size_t i = 0; i < whole.docs.len; i++) {
        struct manifest_doc *doc = &whole.docs.items[i];
        yyjson_mut_val *root = yyjson_mut_doc_get_root(doc->doc);
        if (r == 0 && is_list(root)) {
            r = add_items(manifest, doc, root, all, err);
        } else if (r == 0) {
            vec_push(&manifest->docs, *doc);
            *doc = (struct manifest_doc){0};
        }
    }
    drop_docs(&whole);
    return r;
}

/* ---- parsing ---- */

static struct sv without_mark(struct sv text)
{
    if (sv_starts(text, "\xEF\xBB\xBF"))
        return (struct sv){text.ptr + 3, text.len - 3};
    return text;
}

/* A brace and then a quote: whoever wrote this meant JSON and not YAML's flow style. */
static bool is_surely_json(struct sv text)
{
    struct sv rest = sv_trim(text);
    rest = sv_trim((struct sv){rest.ptr + 1, rest.len - 1});
    return rest.len == 0 || memchr("\"{[", rest.ptr[0], 3);
}

static int read_text(struct source *source, struct err *err)
{
    struct sv begin = sv_trim(source->text);
    if (!begin.len || (begin.ptr[0] != '{' && begin.ptr[0] != '['))
        return yaml_read(source, err);
    struct err json_err = {0};
    if (json_read(source, &json_err) == 0)
        return 0;
    drop_docs(source->manifest);
    int r = yaml_read(source, err);
    if (r < 0 && r != -EEXIST && err && is_surely_json(begin))
        *err = json_err;
    return r;
}

int manifest_parse(const char *file, struct sv text, struct manifest *ret_manifest, struct err *err)
{
    struct manifest manifest = {.file = mem_strdup(file)};
    struct source source = {manifest.file, without_mark(text), &manifest, 0};
    int r = read_text(&source, err);
    if (r == 0)
        r = split_lists(&manifest, NULL, err);
    if (r < 0) {
        manifest_done(&manifest);
        return r;
    }
    *ret_manifest = manifest;
    return 0;
}

/* A document ends where a line begins with three dashes, whatever it is that is not closed before:
 * YAML wants it so, and no string of JSON goes over lines. */
static size_t document_len(struct sv text, int *ret_lines)
{
    *ret_lines = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '\n')
            continue;
        ++*ret_lines;
        struct sv rest = {text.ptr + i + 1, text.len - i - 1};
        if (sv_starts(rest, "---") && (rest.len == 3 || memchr(" \t\r\n", rest.ptr[3], 4) != NULL))
            return i + 1;
    }
    return text.len;
}

static void parse_part(struct manifest *whole, struct sv text, int lines_before,
                       struct mistakes *all)
{
    struct err err = {0};
    struct manifest part = {.file = whole->file};
    struct source source = {part.file, text, &part, lines_before};
    int r = read_text(&source, &err);
    if (r < 0)
        (void)note_mistake(all, r, &err); /* and what follows is read */
    (void)split_lists(&part, all, &err);  /* likewise */
    for (size_t i = 0; i < part.docs.len; i++)
        vec_push(&whole->docs, part.docs.items[i]);
    vec_done(&part.docs);
}

size_t manifest_parse_each(const char *file, struct sv text, struct manifest *ret_manifest,
                           struct str *out)
{
    if (manifest_parse(file, text, ret_manifest, NULL) == 0)
        return 0;
    struct manifest manifest = {.file = mem_strdup(file)};
    struct mistakes all = {.out = out};
    int lines = 0, before = 0;
    for (struct sv rest = without_mark(text); rest.len > 0; before += lines) {
        size_t len = document_len(rest, &lines);
        parse_part(&manifest, (struct sv){rest.ptr, len}, before, &all);
        rest = (struct sv){rest.ptr + len, rest.len - len};
    }
    *ret_manifest = manifest;
    return all.n;
}

/* ---- positions ---- */

/* Looks for `val` below `at`; on the way back each step offers what it knows, nearest first. */
static bool find_known(const struct positions *positions, yyjson_mut_val *at,
                       const yyjson_mut_val *val, const struct position **known)
{
    bool found = at == val;
    if (!found && yyjson_mut_is_arr(at)) {
        yyjson_mut_arr_iter iter = yyjson_mut_arr_iter_with(at);
        yyjson_mut_val *item;
        while (!found && (item = yyjson_mut_arr_iter_next(&iter)))
            found = find_known(positions, item, val, known);
    } else if (!found && yyjson_mut_is_obj(at)) {
        yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(at);
        yyjson_mut_val *key;
        while (!found && (key = yyjson_mut_obj_iter_next(&iter)))
            found = find_known(positions, yyjson_mut_obj_iter_get_val(key), val, known);
    }
    if (found && !*known)
        *known = positions_get(positions, at);
    return found;
}

const struct position *manifest_find(const struct manifest_doc *doc, const yyjson_mut_val *val)
{
    const struct position *known = positions_get(doc->positions, val);
    if (!known)
        (void)find_known(doc->positions, yyjson_mut_doc_get_root(doc->doc), val, &known);
    return known;
}

bool manifest_position(const struct manifest_doc *doc, const yyjson_mut_val *val, int *ret_line,
                       int *ret_column)
{
    const struct position *known = manifest_find(doc, val);
    if (!known)
        return false;
    *ret_line = known->at.line;
    *ret_column = known->at.column;
    return true;
}

// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "model/manifest_internal.h"
#include "model/schema_internal.h"
#include <stdlib.h>

/* Checks run on a filled copy (the checks of a kind may rely on defaults), while positions belong
 * to the document as it was written: findings are carried back by walking both side by side. */

struct line {
    struct place at;
    size_t order; /* of discovery */
    char *text;
};

struct report {
    const struct manifest *manifest;
    const struct manifest_doc *doc;
    VEC(struct line) lines;
    bool name_found; /* something was said about metadata.name already */
    bool allows_files;
};

struct remark {
    const yyjson_mut_val *at;
    bool at_key;
    const char *path, *text, *hint;
};

static void say(struct report *report, struct remark remark)
{
    const struct position *known = remark.at ? manifest_find(report->doc, remark.at) : NULL;
    struct place at = {report->doc->line, 1};
    if (known)
        at = remark.at_key && known->key.line ? known->key : known->at;
    struct str out = {0};
    str_addf(&out, "%s:%d:%d: ", report->manifest->file, at.line, at.column);
    if (remark.path && *remark.path)
        str_addf(&out, "%s: ", remark.path);
    str_addf(&out, "%s\n", remark.text);
    if (remark.hint)
        str_addf(&out, "    hint: %s\n", remark.hint);
    if (str_eq(remark.path, "metadata.name") || str_eq(remark.path, "metadata"))
        report->name_found = true;
    struct line line = {at, report->lines.len, str_take(&out)};
    vec_push(&report->lines, line);
}

static int compare_lines(const void *a_, const void *b_)
{
    const struct line *a = a_, *b = b_;
    if (a->at.line != b->at.line)
        return a->at.line < b->at.line ? -1 : 1;
    if (a->at.column != b->at.column)
        return a->at.column < b->at.column ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* In the order of the file, which is the order in which they are mended. */
static size_t write_lines(struct report *report, struct str *out)
{
    size_t n = report->lines.len;
    if (n > 1)
        qsort(report->lines.items, n, sizeof(struct line), compare_lines);
    for (size_t i = 0; i < n; i++) {
        str_add(out, report->lines.items[i].text);
        mem_free(report->lines.items[i].text);
    }
    vec_done(&report->lines);
    return n;
}

/* ---- from the filled copy back to the document ---- */

static const yyjson_mut_val *counterpart(yyjson_mut_val *copy, yyjson_mut_val *original,
                                         const yyjson_mut_val *target);

static const yyjson_mut_val *counterpart_in_array(yyjson_mut_val *copy, yyjson_mut_val *original,
                                                  const yyjson_mut_val *target)
{
    const yyjson_mut_val *found = NULL;
    yyjson_mut_arr_iter iter = yyjson_mut_arr_iter_with(copy);
    yyjson_mut_arr_iter iter_original = yyjson_mut_arr_iter_with(original);
    yyjson_mut_val *item;
    while (!found && (item = yyjson_mut_arr_iter_next(&iter)))
        found = counterpart(item, yyjson_mut_arr_iter_next(&iter_original), target);
    return found;
}

static const yyjson_mut_val *counterpart_in_object(yyjson_mut_val *copy, yyjson_mut_val *original,
                                                   const yyjson_mut_val *target)
{
    const yyjson_mut_val *found = NULL;
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(copy);
    yyjson_mut_obj_iter iter_original = yyjson_mut_obj_iter_with(original);
    yyjson_mut_val *key;
    while (!found && (key = yyjson_mut_obj_iter_next(&iter))) {
        yyjson_mut_val *same = yyjson_mut_obj_iter_getn(&iter_original, yyjson_mut_get_str(key),
                                                        yyjson_mut_get_len(key));
        found = counterpart(yyjson_mut_obj_iter_get_val(key), same, target);
    }
    return found;
}

/* The root of a copy that has no original: told apart from "not found" by its address only. */
static const yyjson_mut_val NO_ORIGINAL;

/* What stands for `target` in the original, the nearest parent when it was filled in later. */
static const yyjson_mut_val *counterpart(yyjson_mut_val *copy, yyjson_mut_val *original,
                                         const yyjson_mut_val *target)
{
    if (copy == target)
        return original ? original : &NO_ORIGINAL;
    const yyjson_mut_val *found = NULL;
    if (yyjson_mut_is_arr(copy))
        found = counterpart_in_array(copy, original, target);
    else if (yyjson_mut_is_obj(copy))
        found = counterpart_in_object(copy, original, target);
    return found == &NO_ORIGINAL && original ? original : found;
}

/* ---- kinds ---- */

static const char *nearest_kind(const char *name)
{
    VEC(const char *) names = {0};
    for (const struct kind *const *kind = KINDS; *kind; kind++)
        vec_push(&names, (*kind)->name);
    for (const struct kind *const *kind = FILE_KINDS; *kind; kind++)
        vec_push(&names, (*kind)->name);
    const char *nearest = str_nearest(name, names.items, names.len);
    vec_done(&names);
    return nearest;
}

static const struct kind *kind_of_name(const char *name)
{
    for (const struct kind *const *kind = KINDS; name && *kind; kind++)
        if (str_eq((*kind)->name, name))
            return *kind;
    for (const struct kind *const *kind = FILE_KINDS; name && *kind; kind++)
        if (str_eq((*kind)->name, name))
            return *kind;
    return NULL;
}

static const char *require_text(struct report *report, yyjson_mut_val *root, const char *field,
                                const char *hint)
{
    yyjson_mut_val *val = yyjson_mut_obj_get(root, field);
    const char *text = yyjson_mut_get_str(val);
    if (text && *text)
        return text;
    bool missing = !val || text;
    say(report,
        (struct remark){val ? val : root, !missing, field,
                        missing ? "Required value" : "Invalid value: must be a string", hint});
    return NULL;
}

static void add_kinds_of(const char *api, const struct kind *const *kinds, struct str *out)
{
    char version[128];
    for (; *kinds != NULL; kinds++) {
        if (str_eq(kind_api_version(*kinds, version), api))
            str_addf(out, "%s%s", out->len > 0 ? ", " : "", (*kinds)->name);
    }
}

/* The nearest kind of any group, else those that there are in this one. */
static void hint_kinds(const char *api, const char *name, struct str *hint)
{
    char version[128];
    scoped_str there = {0};
    const struct kind *near = kind_of_name(nearest_kind(name));
    if (near != NULL)
        str_addf(hint, "did you mean %s (apiVersion: %s)?", near->name,
                 kind_api_version(near, version));
    add_kinds_of(api, KINDS, &there);
    add_kinds_of(api, OTHER_VERSIONS, &there);
    add_kinds_of(api, FILE_KINDS, &there);
    if (near == NULL && there.len > 0)
        str_addf(hint, "%s has %s", api, str_text(&there));
}

static void say_unknown_kind(struct report *report, yyjson_mut_val *root, const char *api,
                             const char *name)
{
    scoped_str text = {0}, hint = {0};
    char version[128];
    const struct kind *kind = kind_of_name(name);
    if (kind) {
        str_addf(&text, "Invalid value: \"%s\": it has no kind %s", api, name);
        str_addf(&hint, "write apiVersion: %s", kind_api_version(kind, version));
    } else {
        str_addf(&text, "Unsupported value: \"%s\": there is no such kind in %s", name, api);
        hint_kinds(api, name, &hint);
    }
    const char *field = kind_of_name(name) ? "apiVersion" : "kind";
    say(report,
        (struct remark){yyjson_mut_obj_get(root, field), false, field, text.data, hint.data});
}

static const struct kind *say_file_kind(struct report *report, yyjson_mut_val *root,
                                        const struct kind *kind)
{
    scoped_str text = {0};
    str_addf(&text, "Invalid value: \"%s\": no server knows it, it lives in files only",
             kind->name);
    say(report, (struct remark){yyjson_mut_obj_get(root, "kind"), false, "kind", text.data,
                                "a Scenario is for 'muster simulate'"});
    return NULL;
}

static const struct kind *find_kind(struct report *report, yyjson_mut_val *root)
{
    char version[128];
    scoped_str hint = {0};
    const char *name = yyjson_mut_get_str(yyjson_mut_obj_get(root, "kind"));
    const struct kind *known = kind_of_name(name);
    if (known)
        str_addf(&hint, "a %s is of apiVersion: %s", name, kind_api_version(known, version));
    const char *api = require_text(report, root, "apiVersion",
                                   hint.data ? hint.data : "for example apiVersion: v1");
    name = require_text(report, root, "kind", "for example kind: Pod");
    if (!api || !name)
        return NULL;
    const struct kind *kind = kind_of_document(api, name);
    if (!kind)
        say_unknown_kind(report, root, api, name);
    else if (kind_is_file(kind) && !report->allows_files)
        return say_file_kind(report, root, kind);
    return kind;
}

/* ---- fields ---- */

static void say_unknown_fields(struct report *report, const struct kind *kind, yyjson_mut_val *root)
{
    struct findings findings = {0};
    schema_unknown(kind->type, root, &findings);
    for (size_t i = 0; i < findings.list.len; i++) {
        const struct finding *f = &findings.list.items[i];
        say(report, (struct remark){f->at, true, f->path, f->text, f->hint});
    }
    findings_done(&findings);
}

/* The hint with the text as it was written; NULL: there is nothing to add. */
static char *hint_with_text(const struct report *report, const struct finding *f,
                            const yyjson_mut_val *at)
{
    const struct position *known = at != NULL ? manifest_find(report->doc, at) : NULL;
    bool is_known = known != NULL && known->val == at && known->written != NULL;
    if (!is_known || !str_eq(f->hint, HINT_QUOTES))
        return NULL;
    return mem_printf(HINT_QUOTES ": \"%s\"", known->written);
}

static void say_findings(struct report *report, const struct kind *kind, yyjson_mut_val *root)
{
    scoped_json_mut *filled = manifest_new_doc();
    yyjson_mut_val *copy = yyjson_mut_val_mut_copy(filled, root);
    yyjson_mut_doc_set_root(filled, copy);
    schema_fill(kind->type, filled, copy);
    struct findings findings = {0};
    schema_check(kind->type, copy, NULL, &findings);
    for (size_t i = 0; i < findings.list.len; i++) {
        const struct finding *f = &findings.list.items[i];
        const yyjson_mut_val *at = f->at ? counterpart(copy, root, f->at) : root;
        scoped_free char *hint = hint_with_text(report, f, at);
        say(report, (struct remark){at, false, f->path, f->text, hint != NULL ? hint : f->hint});
    }
    findings_done(&findings);
}

static bool is_text(yyjson_mut_val *val)
{
    return yyjson_mut_is_str(val) && yyjson_mut_get_len(val) > 0;
}

static void check_name(struct report *report, const struct kind *kind, yyjson_mut_val *root)
{
    if (report->name_found)
        return;
    yyjson_mut_val *metadata = yyjson_mut_obj_get(root, "metadata");
    yyjson_mut_val *name = yyjson_mut_obj_get(metadata, "name");
    if (!is_text(name)) {
        bool is_file = kind && kind_is_file(kind); /* it has a file's name */
        if (!is_file && !is_text(yyjson_mut_obj_get(metadata, "generateName")))
            say(report, (struct remark){metadata ? metadata : root, false, "metadata.name",
                                        "Required value", "every object needs a name"});
        return;
    }
    const char *text = yyjson_mut_get_str(name);
    const char *problem =
        kind ? format_problem(kind->name_format, text, yyjson_mut_get_len(name)) : NULL;
    if (!problem)
        return;
    scoped_str why = {0};
    str_addf(&why, "Invalid value: \"%s\": %s", text, problem);
    say(report, (struct remark){name, false, "metadata.name", why.data, NULL});
}

static size_t check_document(struct report report, struct str *out, const struct kind **ret_kind)
{
    const struct manifest_doc *doc = report.doc;
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc->doc);
    const struct kind *kind = find_kind(&report, root);
    if (kind) {
        say_unknown_fields(&report, kind, root);
        say_findings(&report, kind, root);
    }
    check_name(&report, kind, root);
    *ret_kind = kind;
    return write_lines(&report, out);
}

size_t manifest_check(const struct manifest *manifest, size_t index, struct str *out,
                      const struct kind **ret_kind)
{
    struct report report = {.manifest = manifest, .doc = &manifest->docs.items[index]};
    return check_document(report, out, ret_kind);
}

size_t manifest_check_file(const struct manifest *manifest, size_t index, struct str *out,
                           const struct kind **ret_kind)
{
    struct report report = {
        .manifest = manifest, .doc = &manifest->docs.items[index], .allows_files = true};
    return check_document(report, out, ret_kind);
}

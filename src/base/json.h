// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/err.h"
#include "base/str.h"
#include <stdint.h>
#include <yyjson.h>

/* The library's own adds to a null pointer when there is no object, or nothing in it. */
#undef yyjson_obj_foreach
#define yyjson_obj_foreach(obj, idx, max, key, val)                                                \
    for ((idx) = 0, (max) = yyjson_obj_size(obj),                                                  \
        (key) = (max) > 0 ? unsafe_yyjson_get_first(obj) : NULL,                                   \
        (val) = (max) > 0 ? (key) + 1 : NULL;                                                      \
         (idx) < (max); (idx)++, (key) = unsafe_yyjson_get_next(val), (val) = (key) + 1)

/* What yyjson leaves to its users: a limit on depth (its comparison and merge-patch recurse), a
 * check for duplicate keys, positions in errors; and short hands for reaching into documents.
 * Written documents are yyjson_mut_doc, views that are only read are yyjson_doc. */
#define JSON_DEPTH_MAX 64
/* From mem.h: never fails. */
extern const yyjson_alc JSON_ALC;

/* Strict parse of one value. Errors name line:column. Depth and duplicate keys are checked. The
 * document keeps no pointer into `text`. */
int json_parse(struct sv text, yyjson_doc **ret_doc, struct err *err);
int json_parse_mut(struct sv text, yyjson_mut_doc **ret_doc, struct err *err);
/* As others read it: of a key that stands twice the last one counts. Appends where that was, a line
 * each ("spec.containers[0].image"), the first twenty; what else is wrong is still an error. */
int json_parse_last(struct sv text, yyjson_mut_doc **ret_doc, struct str *repeated,
                    struct err *err);
/* The depth check alone, for documents that were made by patches, and for views. */
int json_check_depth(yyjson_mut_val *root, struct err *err);
int json_check_depth_val(yyjson_val *root, struct err *err);

void json_write(yyjson_mut_val *root, struct str *out);        /* compact, appended */
void json_write_pretty(yyjson_mut_val *root, struct str *out); /* four spaces, for people */
void json_write_val(yyjson_val *root, struct str *out);
void json_write_val_pretty(yyjson_val *root, struct str *out);
void json_quote(const char *text, size_t len, struct str *out); /* one string with its quotes */

/* Dotted paths into objects ("spec.nodeName"); NULL when any step is missing. Keys that contain
 * dots (labels) are reached one step at a time with yyjson_obj_get. */
yyjson_val *json_at(yyjson_val *root, const char *path);
const char *json_str_at(yyjson_val *root, const char *path); /* NULL unless a string */
int64_t json_int_at(yyjson_val *root, const char *path, int64_t otherwise);
/* The first item of a list that has this text at the path ("name"); NULL: none. */
yyjson_val *json_find(yyjson_val *list, const char *path, const char *text);
yyjson_mut_val *json_mut_at(yyjson_mut_val *root, const char *path);
yyjson_mut_val *json_mut_find(yyjson_mut_val *list, const char *path, const char *text);
const char *json_mut_str_at(yyjson_mut_val *root, const char *path);
int64_t json_mut_int_at(yyjson_mut_val *root, const char *path, int64_t otherwise);

/* Sets root.path = value, making the objects on the way; an existing value is replaced in place. */
void json_mut_set(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *path,
                  yyjson_mut_val *value);
/* The object, or list, at the path; what is missing of it, or of another type, is made. */
yyjson_mut_val *json_mut_need_obj(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *path);
yyjson_mut_val *json_mut_need_arr(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *path);
/* obj[key] = value, replaced in place or appended; `key` is copied into doc. NULL value removes. */
void json_mut_put(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, yyjson_mut_val *value);
/* Equal as JSON: order of keys does not matter, 1 and 1.0 differ. Depth must be checked before. */
bool json_mut_equal(yyjson_mut_val *a, yyjson_mut_val *b);
/* The same values in the same order, so that both are written as the same text. */
bool json_mut_identical(yyjson_mut_val *a, yyjson_val *b);

/* A copy whose strings are those of `val`: they must outlive every use of the copy. NULL for NULL.
 */
yyjson_mut_val *json_mut_borrow(yyjson_mut_doc *doc, yyjson_val *val);

void json_doc_free_scoped(yyjson_doc **doc);
void json_mut_doc_free_scoped(yyjson_mut_doc **doc);
#define scoped_json __attribute__((cleanup(json_doc_free_scoped))) yyjson_doc
#define scoped_json_mut __attribute__((cleanup(json_mut_doc_free_scoped))) yyjson_mut_doc

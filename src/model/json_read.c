// SPDX-License-Identifier: Apache-2.0
#include "model/manifest_internal.h"
#include "model/scalar.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>

/* JSON documents, one after the other, with or without --- between them. json_parse() decides what
 * is JSON; the scanner here only follows a text that is already known to be right, and notes where
 * each value begins. */

struct scanner {
    struct sv text;
    size_t at;
    struct place place;  /* of `at` */
    yyjson_mut_doc *doc; /* that is followed */
};

static char peek(const struct scanner *s)
{
    return s->at < s->text.len ? s->text.ptr[s->at] : '\0';
}

static void advance(struct scanner *s)
{
    if (s->at >= s->text.len)
        return;
    unsigned char c = (unsigned char)s->text.ptr[s->at++];
    if (c == '\n')
        s->place = (struct place){s->place.line + 1, 1};
    else if ((s->at == s->text.len || ((unsigned char)s->text.ptr[s->at] & 0xC0) != 0x80))
        s->place.column++;
}

static void skip_space(struct scanner *s)
{
    while (s->at < s->text.len && memchr(" \t\r\n", peek(s), 4))
        advance(s);
}

static void skip_string(struct scanner *s)
{
    advance(s);
    while (s->at < s->text.len && peek(s) != '"') {
        if (peek(s) == '\\')
            advance(s);
        advance(s);
    }
    advance(s);
}

static void skip_word(struct scanner *s)
{
    while (s->at < s->text.len && !memchr(" \t\r\n,:]}", peek(s), 8))
        advance(s);
}

/* To behind the bracket that closes the one here, or to the end. */
static void skip_document(struct scanner *s)
{
    size_t depth = 0;
    do {
        char c = peek(s);
        if (c == '"') {
            skip_string(s);
            continue;
        }
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        advance(s);
    } while (depth > 0 && s->at < s->text.len);
}

static bool is_word(yyjson_mut_val *val)
{
    return !yyjson_mut_is_str(val) && !yyjson_mut_is_ctn(val);
}

static void note(struct scanner *s, struct positions *positions, yyjson_mut_val *val,
                 struct place key)
{
    struct position position = {val, s->place, key, NULL};
    if (key.line && key.line != s->place.line)
        position.at = key;
    if (is_word(val)) {
        struct scanner end = *s;
        skip_word(&end);
        position.written =
            yyjson_mut_get_str(yyjson_mut_strncpy(s->doc, s->text.ptr + s->at, end.at - s->at));
    }
    positions_put(positions, position);
}

static void make_whole(yyjson_mut_val *val)
{
    struct scalar scalar = scalar_of_real(yyjson_mut_get_real(val));
    if (scalar.type == SCALAR_UINT)
        (void)yyjson_mut_set_uint(val, scalar.u64);
    else if (scalar.type == SCALAR_SINT)
        (void)yyjson_mut_set_sint(val, scalar.i64);
}

static void follow(struct scanner *s, struct positions *positions, yyjson_mut_val *val,
                   struct place key);

static void follow_object(struct scanner *s, struct positions *positions, yyjson_mut_val *object)
{
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(object);
    yyjson_mut_val *key;
    while ((key = yyjson_mut_obj_iter_next(&iter))) {
        advance(s); /* over { or , */
        skip_space(s);
        struct place key_at = s->place;
        skip_string(s);
        skip_space(s);
        advance(s); /* over : */
        follow(s, positions, yyjson_mut_obj_iter_get_val(key), key_at);
    }
}

static void follow_array(struct scanner *s, struct positions *positions, yyjson_mut_val *array)
{
    yyjson_mut_arr_iter iter = yyjson_mut_arr_iter_with(array);
    yyjson_mut_val *item;
    while ((item = yyjson_mut_arr_iter_next(&iter))) {
        advance(s); /* over [ or , */
        follow(s, positions, item, (struct place){0, 0});
    }
}

/* Recurses as deep as the document, which json_parse() has limited. */
static void follow(struct scanner *s, struct positions *positions, yyjson_mut_val *val,
                   struct place key)
{
    skip_space(s);
    note(s, positions, val, key);
    if (yyjson_mut_is_str(val)) {
        skip_string(s);
    } else if (is_word(val)) {
        skip_word(s);
        if (yyjson_mut_is_real(val))
            make_whole(val);
    } else {
        if (unsafe_yyjson_get_len(val) == 0) {
            advance(s);
            skip_space(s);
        } else if (yyjson_mut_is_obj(val)) {
            follow_object(s, positions, val);
        } else {
            follow_array(s, positions, val);
        }
        advance(s); /* over the closing bracket */
    }
    skip_space(s);
}

/* json_parse() counts lines from where its text begins. */
static int parse_error(const struct source *source, struct place from, const struct err *cause,
                       struct err *err)
{
    int line = 1, column = 1, skip = 0;
    if (sscanf(cause->text, "line %d, column %d: %n", &line, &column, &skip) < 2)
        skip = 0;
    struct place at = {from.line + line - 1, line == 1 ? from.column + column - 1 : column};
    int r = manifest_fail(err, source->file, at, "%s", cause->text + skip);
    if (cause->hint[0])
        (void)err_hint(err, "%s", cause->hint);
    return r;
}

static int read_document(const struct source *source, struct scanner *s, struct err *err)
{
    struct scanner begin = *s;
    skip_document(s);
    struct sv text = {begin.text.ptr + begin.at, s->at - begin.at};
    yyjson_mut_doc *doc = NULL;
    struct err cause = {0};
    int r = json_parse_mut(text, &doc, &cause);
    if (r < 0)
        return parse_error(source, begin.place, &cause, err);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    if (!yyjson_mut_is_obj(root)) {
        yyjson_mut_doc_free(doc);
        return manifest_fail(err, source->file, begin.place, "an object was expected here");
    }
    struct positions *positions = positions_new();
    struct scanner follower = begin;
    follower.doc = doc;
    follow(&follower, positions, root, (struct place){0, 0});
    assert(follower.at >= s->at);
    manifest_add(source->manifest, doc, positions, begin.place.line);
    return 0;
}

static void skip_separators(struct scanner *s)
{
    skip_space(s);
    while (s->place.column == 1 && s->text.len - s->at >= 3 &&
           memcmp(s->text.ptr + s->at, "---", 3) == 0) {
        for (int i = 0; i < 3; i++)
            advance(s);
        skip_space(s);
    }
}

int json_read(const struct source *source, struct err *err)
{
    struct scanner s = {.text = source->text, .place = {source->lines_before + 1, 1}};
    for (skip_separators(&s); s.at < s.text.len; skip_separators(&s)) {
        if (peek(&s) != '{' && peek(&s) != '[')
            return manifest_fail(err, source->file, s.place, "a '{' was expected here");
        int r = read_document(source, &s, err);
        if (r < 0)
            return r;
    }
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "base/map.h"
#include "base/mem.h"
#include "model/keyindex.h"
#include "model/manifest_internal.h"
#include "model/scalar.h"
#include "model/yaml_mistake.h"
#include <assert.h>
#include <errno.h>

/* YAML to JSON documents, one libyaml event at a time.
 * 1. The stack is an array: nothing here recurses on what the text nests, except copies of finished
 *    values, whose depth is known to be within JSON_DEPTH_MAX.
 * 2. Aliases and merge keys copy (documents have no shared values), and every copied value is paid
 *    for from one budget, long texts for several: a small file cannot become a large document.
 * 3. A copy keeps the position of its original, where its mistakes have to be mended. */

#define ALIAS_NODES_MAX 100000
#define ALIAS_BYTES_A_NODE 64
#define TAG_PREFIX "tag:yaml.org,2002:"

struct frame {
    yyjson_mut_val *container;
    yyjson_mut_val *key; /* that waits for its value */
    struct place at;     /* of the container */
    struct place key_at; /* of `key` */
    bool merges;         /* the next value belongs to a << */
    size_t members_from; /* what of reader.members is this mapping's */
    size_t sources_from; /* and of reader.sources */
};

struct member {
    yyjson_mut_val *key;
    struct place at;
};

struct reader {
    const struct source *source;
    struct err *err;
    yyjson_mut_doc *doc;
    struct positions *positions;
    struct map *anchors; /* name to value */
    yyjson_mut_val *root;
    struct place root_at;
    struct frame frames[JSON_DEPTH_MAX];
    size_t depth;
    VEC(struct member) members;
    VEC(yyjson_mut_val *) sources; /* mappings that << brings in */
    size_t copied;
};

static struct place place_of(const struct reader *r, yaml_mark_t mark)
{
    return (struct place){r->source->lines_before + (int)mark.line + 1, (int)mark.column + 1};
}

#define FAIL(r, at, ...) manifest_fail((r)->err, (r)->source->file, at, __VA_ARGS__)

static struct frame *top(struct reader *r)
{
    return r->depth ? &r->frames[r->depth - 1] : NULL;
}

static bool wants_key(struct reader *r)
{
    struct frame *frame = top(r);
    return frame && yyjson_mut_is_obj(frame->container) && !frame->key && !frame->merges;
}

/* ---- scalars ---- */

static yyjson_mut_val *new_text(struct reader *r, struct sv text)
{
    return yyjson_mut_strncpy(r->doc, text.ptr ? text.ptr : "", text.len);
}

static int refuse_scalar(struct reader *r, struct place at, struct sv text, enum scalar_type type)
{
    int shown = text.len < 60 ? (int)text.len : 60;
    if (type == SCALAR_NOT_FINITE)
        (void)FAIL(r, at, "%.*s is not a number that JSON can hold", shown, text.ptr);
    else
        (void)FAIL(r, at, "the number %.*s does not fit in 64 bits", shown, text.ptr);
    return err_hint(r->err, "put it in quotes if text is meant");
}

static yyjson_mut_val *number_value(struct reader *r, struct scalar scalar)
{
    if (scalar.type == SCALAR_UINT)
        return yyjson_mut_uint(r->doc, scalar.u64);
    if (scalar.type == SCALAR_SINT)
        return yyjson_mut_sint(r->doc, scalar.i64);
    return yyjson_mut_real(r->doc, scalar.real);
}

/* NULL for the two that JSON cannot hold. */
static yyjson_mut_val *resolved_value(struct reader *r, struct sv text, struct scalar scalar)
{
    switch (scalar.type) {
    case SCALAR_TEXT:
    case SCALAR_MERGE:
        return new_text(r, text);
    case SCALAR_NULL:
        return yyjson_mut_null(r->doc);
    case SCALAR_BOOL:
        return yyjson_mut_bool(r->doc, scalar.truth);
    case SCALAR_UINT:
    case SCALAR_SINT:
    case SCALAR_REAL:
        return number_value(r, scalar);
    case SCALAR_NOT_FINITE:
    case SCALAR_TOO_BIG:
        break;
    }
    return NULL;
}

static bool tag_fits(const char *tag, enum scalar_type type)
{
    if (str_eq(tag, "int"))
        return type == SCALAR_UINT || type == SCALAR_SINT;
    if (str_eq(tag, "float"))
        return type == SCALAR_UINT || type == SCALAR_SINT || type == SCALAR_REAL;
    if (str_eq(tag, "bool"))
        return type == SCALAR_BOOL;
    return str_eq(tag, "null") && type == SCALAR_NULL;
}

static const char *short_tag(const char *tag)
{
    return str_starts(tag, TAG_PREFIX) ? tag + strlen(TAG_PREFIX) : NULL;
}

static int refuse_tag(struct reader *r, struct place at, const char *tag)
{
    const char *name = short_tag(tag);
    (void)FAIL(r, at, "the tag %s%.60s is not supported here", name ? "!!" : "", name ? name : tag);
    return err_hint(r->err, "leave it out, or use one of !!str !!int !!float !!bool !!null");
}

static int tagged_value(struct reader *r, const yaml_event_t *event, yyjson_mut_val **ret_val)
{
    struct place at = place_of(r, event->start_mark);
    struct sv text = {(const char *)event->data.scalar.value, event->data.scalar.length};
    const char *tag = (const char *)event->data.scalar.tag;
    const char *name = short_tag(tag);
    if (str_eq(tag, "!") || str_eq(name, "str") || str_eq(name, "timestamp")) {
        *ret_val = new_text(r, text);
        return 0;
    }
    static const char *const KNOWN[] = {"int", "float", "bool", "null"};
    bool known = false;
    for (size_t i = 0; i < ARRAY_LEN(KNOWN); i++)
        known = known || str_eq(name, KNOWN[i]);
    if (!known)
        return refuse_tag(r, at, tag);
    struct scalar scalar = scalar_resolve(text);
    if (!tag_fits(name, scalar.type))
        return FAIL(r, at, "'%.*s' does not fit its tag !!%s", (int)(text.len < 60 ? text.len : 60),
                    text.ptr, name);
    *ret_val = resolved_value(r, text, scalar);
    return 0;
}

static int scalar_value(struct reader *r, const yaml_event_t *event, yyjson_mut_val **ret_val)
{
    struct sv text = {(const char *)event->data.scalar.value, event->data.scalar.length};
    if (event->data.scalar.tag)
        return tagged_value(r, event, ret_val);
    if (event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE) {
        *ret_val = new_text(r, text);
        return 0;
    }
    struct scalar scalar = scalar_resolve(text);
    yyjson_mut_val *val = resolved_value(r, text, scalar);
    if (!val)
        return refuse_scalar(r, place_of(r, event->start_mark), text, scalar.type);
    *ret_val = val;
    return 0;
}

/* ---- copies ---- */

struct measure {
    size_t nodes;
    size_t depth;
};

static void measure(const yyjson_mut_val *val_, size_t depth, struct measure *sum)
{
    yyjson_mut_val *val = (yyjson_mut_val *)val_;
    sum->nodes++;
    depth += yyjson_mut_is_ctn(val);
    if (depth > sum->depth)
        sum->depth = depth;
    if (yyjson_mut_is_str(val))
        sum->nodes += yyjson_mut_get_len(val) / ALIAS_BYTES_A_NODE;
    if (yyjson_mut_is_arr(val)) {
        yyjson_mut_arr_iter iter = yyjson_mut_arr_iter_with(val);
        yyjson_mut_val *item;
        while ((item = yyjson_mut_arr_iter_next(&iter)))
            measure(item, depth, sum);
    } else if (yyjson_mut_is_obj(val)) {
        yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(val);
        yyjson_mut_val *key;
        while ((key = yyjson_mut_obj_iter_next(&iter))) {
            sum->nodes += 1 + yyjson_mut_get_len(key) / ALIAS_BYTES_A_NODE;
            measure(yyjson_mut_obj_iter_get_val(key), depth, sum);
        }
    }
}

/* `outer`: how many containers the copy will stand in. */
static int pay(struct reader *r, struct place at, const yyjson_mut_val *val, size_t outer)
{
    struct measure sum = {0};
    measure(val, 0, &sum);
    r->copied += sum.nodes;
    if (r->copied > ALIAS_NODES_MAX)
        return FAIL(r, at, "aliases make this document larger than %d values", ALIAS_NODES_MAX);
    if (outer + sum.depth > JSON_DEPTH_MAX)
        return FAIL(r, at, "nested deeper than %d levels", JSON_DEPTH_MAX);
    return 0;
}

static void copy_position(struct reader *r, const yyjson_mut_val *from, const yyjson_mut_val *to)
{
    const struct position *position = positions_get(r->positions, from);
    if (position) {
        struct position copied = *position;
        copied.val = to;
        positions_put(r->positions, copied);
    }
}

static yyjson_mut_val *copy_value(struct reader *r, yyjson_mut_val *from)
{
    yyjson_mut_val *to;
    if (yyjson_mut_is_arr(from)) {
        to = yyjson_mut_arr(r->doc);
        yyjson_mut_arr_iter iter = yyjson_mut_arr_iter_with(from);
        yyjson_mut_val *item;
        while ((item = yyjson_mut_arr_iter_next(&iter)))
            (void)yyjson_mut_arr_append(to, copy_value(r, item)); /* fails on NULL only */
    } else if (yyjson_mut_is_obj(from)) {
        to = yyjson_mut_obj(r->doc);
        yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(from);
        yyjson_mut_val *key;
        while ((key = yyjson_mut_obj_iter_next(&iter)))
            (void)yyjson_mut_obj_add(to, new_text(r, keyindex_text(key)),
                                     copy_value(r, yyjson_mut_obj_iter_get_val(key)));
    } else {
        to = yyjson_mut_val_mut_copy(r->doc, from);
    }
    copy_position(r, from, to);
    return to;
}

/* ---- where values go ---- */

static void remember(struct reader *r, const yyjson_mut_val *val, struct place at)
{
    struct frame *frame = top(r);
    struct position position = {val, at, {0, 0}, NULL};
    if (frame && frame->key) {
        position.key = frame->key_at;
        if (at.line != frame->key_at.line)
            position.at = frame->key_at; /* what stands below its key is sought at the key */
    }
    positions_put(r->positions, position);
}

static int add_sources(struct reader *r, struct place at, yyjson_mut_val *val)
{
    if (yyjson_mut_is_obj(val)) {
        vec_push(&r->sources, val);
        return 0;
    }
    bool fits = yyjson_mut_is_arr(val);
    yyjson_mut_arr_iter iter = yyjson_mut_arr_iter_with(val);
    yyjson_mut_val *item;
    while (fits && (item = yyjson_mut_arr_iter_next(&iter))) {
        fits = yyjson_mut_is_obj(item);
        vec_push(&r->sources, item);
    }
    return fits ? 0 : FAIL(r, at, "<< takes a mapping or a list of mappings");
}

/* The value is whole: containers come here when they end, except the root's. */
static int place_value(struct reader *r, yyjson_mut_val *val, struct place at)
{
    struct frame *frame = top(r);
    if (!frame) {
        r->root = val;
        r->root_at = at;
    } else if (yyjson_mut_is_arr(frame->container)) {
        (void)yyjson_mut_arr_append(frame->container, val); /* fails on NULL only */
    } else if (frame->merges) {
        frame->merges = false;
        return add_sources(r, at, val);
    } else {
        (void)yyjson_mut_obj_add(frame->container, frame->key, val); /* as above */
        frame->key = NULL;
    }
    return 0;
}

/* 0777 is 511, and off is false: whoever meant a text meant this one. */
static void remember_word(struct reader *r, const yyjson_mut_val *val, const yaml_event_t *event)
{
    struct sv text = {(const char *)event->data.scalar.value, event->data.scalar.length};
    struct position position = *positions_get(r->positions, val);
    position.written = yyjson_mut_get_str(new_text(r, text));
    positions_put(r->positions, position);
}

/* Keys are text in JSON; numbers and booleans are written out. */
static int add_key(struct reader *r, yyjson_mut_val *val, struct place at)
{
    struct frame *frame = top(r);
    if (yyjson_mut_is_null(val) || yyjson_mut_is_ctn(val)) {
        (void)FAIL(r, at, "%s cannot be a key", yyjson_mut_is_null(val) ? "null" : "a collection");
        return err_hint(r->err, "put it in quotes if text is meant");
    }
    scoped_str text = {0};
    if (!yyjson_mut_is_str(val))
        json_write(val, &text);
    frame->key =
        text.data ? new_text(r, (struct sv){text.data, text.len}) : new_text(r, keyindex_text(val));
    frame->key_at = at;
    struct member member = {frame->key, at};
    vec_push(&r->members, member);
    return 0;
}

/* ---- events ---- */

static void set_anchor(struct reader *r, const yaml_char_t *name, yyjson_mut_val *val)
{
    if (name)
        (void)map_put(r->anchors, (const char *)name, val); /* the later one counts from here on */
}

static bool is_merge_key(const yaml_event_t *event)
{
    struct sv text = {(const char *)event->data.scalar.value, event->data.scalar.length};
    const char *tag = (const char *)event->data.scalar.tag;
    if (tag)
        return str_eq(tag, TAG_PREFIX "merge");
    return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && sv_is(text, "<<");
}

static int on_scalar(struct reader *r, const yaml_event_t *event)
{
    struct place at = place_of(r, event->start_mark);
    if (wants_key(r) && is_merge_key(event)) {
        top(r)->merges = true;
        return 0;
    }
    yyjson_mut_val *val = NULL;
    int rc = scalar_value(r, event, &val);
    if (rc < 0)
        return rc;
    set_anchor(r, event->data.scalar.anchor, val);
    if (wants_key(r))
        return add_key(r, val, at);
    remember(r, val, at);
    if (!yyjson_mut_is_str(val))
        remember_word(r, val, event);
    return place_value(r, val, at);
}

static int place_copy(struct reader *r, yyjson_mut_val *val, struct place at)
{
    yyjson_mut_val *copy = copy_value(r, val);
    const struct position *original = positions_get(r->positions, val);
    struct position position = {
        copy, original ? original->at : at, {0, 0}, original ? original->written : NULL};
    if (top(r) && top(r)->key)
        position.key = top(r)->key_at;
    positions_put(r->positions, position);
    return place_value(r, copy, at);
}

static int on_alias(struct reader *r, const yaml_event_t *event)
{
    struct place at = place_of(r, event->start_mark);
    const char *name = (const char *)event->data.alias.anchor;
    yyjson_mut_val *val = map_get(r->anchors, name);
    if (!val)
        return FAIL(r, at, "no anchor &%.60s stands above this alias", name);
    for (size_t i = 0; i < r->depth; i++)
        if (r->frames[i].container == val)
            return FAIL(r, at, "the alias *%.60s stands inside what it names", name);
    if (r->depth && top(r)->merges)
        return place_value(r, val, at); /* copied, and paid, when the mapping ends */
    int rc = pay(r, at, val, r->depth);
    if (rc < 0)
        return rc;
    return wants_key(r) ? add_key(r, val, at) : place_copy(r, val, at);
}

static int open_frame(struct reader *r, yyjson_mut_val *container, struct place at)
{
    if (wants_key(r))
        return FAIL(r, at, "a collection cannot be a key");
    if (r->depth == JSON_DEPTH_MAX)
        return FAIL(r, at, "nested deeper than %d levels", JSON_DEPTH_MAX);
    remember(r, container, at);
    r->frames[r->depth++] = (struct frame){.container = container,
                                           .at = at,
                                           .members_from = r->members.len,
                                           .sources_from = r->sources.len};
    return 0;
}

static int check_collection_tag(struct reader *r, const yaml_event_t *event, const yaml_char_t *tag,
                                const char *expected)
{
    const char *text = (const char *)tag;
    if (!text || str_eq(text, "!") || str_eq(short_tag(text), expected))
        return 0;
    return refuse_tag(r, place_of(r, event->start_mark), text);
}

static int on_sequence(struct reader *r, const yaml_event_t *event)
{
    int rc = check_collection_tag(r, event, event->data.sequence_start.tag, "seq");
    if (rc < 0)
        return rc;
    yyjson_mut_val *array = yyjson_mut_arr(r->doc);
    set_anchor(r, event->data.sequence_start.anchor, array);
    return open_frame(r, array, place_of(r, event->start_mark));
}

static int on_mapping(struct reader *r, const yaml_event_t *event)
{
    int rc = check_collection_tag(r, event, event->data.mapping_start.tag, "map");
    if (rc < 0)
        return rc;
    yyjson_mut_val *object = yyjson_mut_obj(r->doc);
    set_anchor(r, event->data.mapping_start.anchor, object);
    return open_frame(r, object, place_of(r, event->start_mark));
}

/* Reports the first repetition in the order of the text. */
static int check_repeated(struct reader *r, const struct frame *frame, struct keyindex *index)
{
    const struct keyref *again = NULL, *refs = index->refs.items;
    for (size_t i = 1; i < index->refs.len; i++)
        if (sv_eq(refs[i - 1].text, refs[i].text) && (!again || refs[i].order < again->order))
            again = &refs[i];
    if (!again)
        return 0;
    const struct keyref *first = keyindex_find(index, again->text);
    const struct member *members = r->members.items + frame->members_from;
    return manifest_fail_twice(r->err, r->source->file, again->text, members[first->order].at,
                               members[again->order].at);
}

/* Adds what << names and the mapping itself does not say; of several sources the first wins. */
static int merge_sources(struct reader *r, const struct frame *frame)
{
    scoped_keyindex index = {0};
    keyindex_add_object(&index, frame->container);
    size_t own = index.refs.len;
    for (size_t i = frame->sources_from; i < r->sources.len; i++) {
        int rc = pay(r, frame->at, r->sources.items[i], r->depth - 1);
        if (rc < 0)
            return rc;
        keyindex_add_object(&index, r->sources.items[i]);
    }
    size_t n = index.refs.len;
    scoped_free struct keyref **by_order = mem_zalloc((n + 1) * sizeof(*by_order));
    keyindex_sort(&index);
    for (size_t i = 0; i < n; i++) {
        struct keyref *ref = &index.refs.items[i];
        if (i == 0 || !sv_eq(ref->text, ref[-1].text))
            by_order[ref->order] = ref;
    }
    for (size_t i = own; i < n; i++)
        if (by_order[i])
            (void)yyjson_mut_obj_add(frame->container, new_text(r, by_order[i]->text),
                                     copy_value(r, by_order[i]->val));
    return 0;
}

static int close_mapping(struct reader *r, const struct frame *frame)
{
    scoped_keyindex index = {0};
    for (size_t i = frame->members_from; i < r->members.len; i++)
        keyindex_add(&index, keyindex_text(r->members.items[i].key), NULL, NULL);
    keyindex_sort(&index);
    int rc = check_repeated(r, frame, &index);
    if (rc == 0 && r->sources.len > frame->sources_from)
        rc = merge_sources(r, frame);
    r->members.len = frame->members_from;
    r->sources.len = frame->sources_from;
    return rc;
}

static int on_end(struct reader *r)
{
    struct frame *frame = top(r);
    if (yyjson_mut_is_obj(frame->container)) {
        int rc = close_mapping(r, frame);
        if (rc < 0)
            return rc;
    }
    r->depth--;
    return place_value(r, frame->container, frame->at);
}

static void begin_document(struct reader *r)
{
    r->doc = manifest_new_doc();
    r->positions = positions_new();
    r->anchors = map_new();
    r->root = NULL;
    r->copied = 0;
}

static void drop_document(struct reader *r)
{
    yyjson_mut_doc_free(r->doc);
    positions_free(r->positions);
    map_free(r->anchors);
    r->doc = NULL;
    r->positions = NULL;
    r->anchors = NULL;
}

static int end_document(struct reader *r)
{
    if (!r->root || yyjson_mut_is_null(r->root)) {
        drop_document(r);
        return 0;
    }
    if (!yyjson_mut_is_obj(r->root)) {
        (void)FAIL(r, r->root_at, "a mapping was expected here, not %s",
                   yyjson_mut_is_arr(r->root) ? "a list" : "a single value");
        return err_hint(r->err, "a document begins with keys such as apiVersion: and kind:");
    }
    yyjson_mut_doc_set_root(r->doc, r->root);
    manifest_add(r->source->manifest, take_ptr(r->doc), take_ptr(r->positions), r->root_at.line);
    drop_document(r);
    return 0;
}

static int on_event(struct reader *r, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        begin_document(r);
        return 0;
    case YAML_DOCUMENT_END_EVENT:
        return end_document(r);
    case YAML_SCALAR_EVENT:
        return on_scalar(r, event);
    case YAML_ALIAS_EVENT:
        return on_alias(r, event);
    case YAML_SEQUENCE_START_EVENT:
        return on_sequence(r, event);
    case YAML_MAPPING_START_EVENT:
        return on_mapping(r, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return on_end(r);
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
        break;
    }
    return 0;
}

static int read_events(struct reader *r, yaml_parser_t *parser)
{
    bool more = true;
    int rc = 0;
    while (more && rc == 0) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event))
            return yaml_mistake(r->source, parser, r->err);
        rc = on_event(r, &event);
        more = event.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    return rc;
}

int yaml_read(const struct source *source, struct err *err)
{
    struct reader r = {.source = source, .err = err};
    yaml_parser_t parser;
    int ok = yaml_parser_initialize(&parser);
    assert(ok); /* fails without memory only */
    (void)ok;
    yaml_parser_set_input_string(&parser, (const unsigned char *)source->text.ptr,
                                 source->text.len);
    int rc = read_events(&r, &parser);
    drop_document(&r);
    vec_done(&r.members);
    vec_done(&r.sources);
    yaml_parser_delete(&parser);
    return rc;
}

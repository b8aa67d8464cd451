// SPDX-License-Identifier: Apache-2.0
/* From protobuf messages to JSON documents, driven by the tables of fields.
 *
 * An envelope is the four bytes "k8s\0" and a message runtime.Unknown, in which the object's own
 * message stands as bytes. Of the wire format only what Kubernetes writes is read: varints, and
 * bytes that are text, messages or lists of varints. Fixed-width numbers are skipped where no table
 * names them; groups are refused.
 *
 * Three things differ from a plain reader of proto2:
 * 1. Go writes fields that are no pointers though they are empty, so what is empty counts as not
 *    sent unless the table says PB_ZERO.
 * 2. Parts that Go embeds are messages of their own here and are not in JSON: see PB_IN.
 * 3. A field or key that is there twice is refused instead of the last one winning. Nobody writes
 *    such a message, and JSON bodies are treated the same way. It also means that each object is
 *    finished once, so that looking for repeated keys costs one pass over them.
 *
 * The stack is bounded by JSON_DEPTH_MAX, the document by PROTOBUF_VALUES_MAX. */
#include "model/protobuf.h"
#include "base/map.h"
#include "base/mem.h"
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAGIC SV("k8s\0")
#define NUMBER_MAX ((1u << 29) - 1)
#define PARTS_MAX 4
/* The years 1 to 9999, which is what RFC 3339 can write. */
#define SECONDS_MIN INT64_C(-62135596800)
#define SECONDS_MAX INT64_C(253402300799)
#define NANOS_PER_SECOND 1000000000
#define NANOS_PER_MICRO 1000
#define NANOS_PER_MS 1000000

enum wire {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5,
};

struct item { /* one field as it stands on the wire */
    uint64_t number;
    enum wire wire;
    uint64_t value;
    struct sv bytes;
};

struct decode {
    yyjson_mut_doc *doc;
    struct err *err;
    size_t values;
};

struct place { /* where we are; the steps lie on the stack */
    const struct place *up;
    const struct field *field; /* NULL: the object as a whole */
    size_t index;              /* in a LIST */
    unsigned depth;
};

struct target { /* what a message is read into */
    const struct type *type;
    yyjson_mut_val *obj;
    unsigned outer;
};

/* ---- errors ---- */

static void add_path(const struct place *at, struct str *out)
{
    const struct place *steps[JSON_DEPTH_MAX + 2];
    size_t n = 0;
    for (; at != NULL && at->field != NULL && n < ARRAY_LEN(steps); at = at->up)
        steps[n++] = at;
    while (n-- > 0) {
        str_addf(out, "%s%s", out->len > 0 ? "." : "", steps[n]->field->name);
        if (steps[n]->field->shape == LIST)
            str_addf(out, "[%zu]", steps[n]->index);
    }
}

static int fail(const struct decode *d, const struct place *at, const char *what)
{
    scoped_str path = {0};
    add_path(at, &path);
    return err_set(d->err, -EINVAL, "%s%s%s", str_text(&path), path.len > 0 ? ": " : "", what);
}

/* ---- the wire ---- */

static const char *take_varint(struct sv *rest, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 10 && i < rest->len; i++) {
        uint8_t byte = (uint8_t)rest->ptr[i];
        if (i == 9 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *rest = (struct sv){rest->ptr + i + 1, rest->len - i - 1};
            *ret_value = value;
            return NULL;
        }
    }
    return rest->len < 10 ? "a number is cut off" : "a number has more than 64 bits";
}

static const char *take_bytes(struct sv *rest, uint64_t len, struct sv *ret_bytes)
{
    if (len > rest->len)
        return "the value is cut off";
    *ret_bytes = (struct sv){rest->ptr, (size_t)len};
    *rest = (struct sv){rest->ptr + len, rest->len - (size_t)len};
    return NULL;
}

/* Returns NULL, or why not. The number is filled in as soon as it is known. */
static const char *take_item(struct sv *rest, struct item *item)
{
    uint64_t tag;
    const char *why = take_varint(rest, &tag);
    if (why != NULL)
        return why;
    item->number = tag >> 3;
    item->wire = (enum wire)(tag & 7);
    if (item->number == 0 || item->number > NUMBER_MAX)
        return "the number of a field is out of range";
    switch (item->wire) {
    case WIRE_VARINT:
        return take_varint(rest, &item->value);
    case WIRE_FIXED64:
        return take_bytes(rest, 8, &item->bytes);
    case WIRE_FIXED32:
        return take_bytes(rest, 4, &item->bytes);
    case WIRE_BYTES:
        why = take_varint(rest, &item->value);
        return why != NULL ? why : take_bytes(rest, item->value, &item->bytes);
    }
    return "groups are not supported";
}

/* Reads a message whose fields are numbered 1 to n and have these wire types; what is missing is 0
 * or empty. */
static int read_parts(const struct decode *d, const struct place *at, struct sv bytes,
                      const char *wires, struct item parts[PARTS_MAX])
{
    size_t n = strlen(wires);
    assert(n <= PARTS_MAX);
    for (size_t i = 0; i < n; i++)
        parts[i] =
            (struct item){.wire = wires[i] == 'v' ? WIRE_VARINT : WIRE_BYTES, .bytes = SV("")};
    while (bytes.len > 0) {
        struct item item = {0};
        const char *why = take_item(&bytes, &item);
        if (why != NULL)
            return fail(d, at, why);
        if (item.number > n)
            continue;
        if (item.wire != parts[item.number - 1].wire)
            return fail(d, at, "a part is of another type");
        parts[item.number - 1] = item;
    }
    return 0;
}

/* ---- values ---- */

/* RFC 3629: no longer forms than needed, no halves of surrogate pairs, nothing above U+10FFFF. */
static size_t utf8_length(const uint8_t *at, size_t left)
{
    uint8_t first = at[0];
    size_t len = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (len == 0 || first > 0xf4 || len > left)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    bool wrong = (first == 0xe0 && at[1] < 0xa0) || (first == 0xed && at[1] > 0x9f) ||
                 (first == 0xf0 && at[1] < 0x90) || (first == 0xf4 && at[1] > 0x8f);
    return wrong ? 0 : len;
}

static bool is_utf8(struct sv text)
{
    const uint8_t *at = (const uint8_t *)text.ptr;
    for (size_t i = 0, len; i < text.len; i += len) {
        len = utf8_length(at + i, text.len - i);
        if (len == 0)
            return false;
    }
    return true;
}

static int make_text(const struct decode *d, const struct place *at, struct sv text,
                     yyjson_mut_val **ret_val)
{
    if (!is_utf8(text))
        return fail(d, at, "the text is not UTF-8");
    *ret_val = yyjson_mut_strncpy(d->doc, text.ptr, text.len);
    return 0;
}

static void make_str(const struct decode *d, const struct str *text, yyjson_mut_val **ret_val)
{
    *ret_val = yyjson_mut_strncpy(d->doc, str_text(text), text->len);
}

static int read_string(struct decode *d, const struct place *at, const struct item *item,
                       yyjson_mut_val **ret_val)
{
    return make_text(d, at, item->bytes, ret_val);
}

static int read_bool(struct decode *d, const struct place *at, const struct item *item,
                     yyjson_mut_val **ret_val)
{
    (void)at;
    *ret_val = yyjson_mut_bool(d->doc, item->value != 0);
    return 0;
}

static int read_int64(struct decode *d, const struct place *at, const struct item *item,
                      yyjson_mut_val **ret_val)
{
    (void)at;
    *ret_val = yyjson_mut_sint(d->doc, (int64_t)item->value);
    return 0;
}

static int read_int32(struct decode *d, const struct place *at, const struct item *item,
                      yyjson_mut_val **ret_val)
{
    int64_t value = (int64_t)item->value;
    if (value < INT32_MIN || value > INT32_MAX)
        return fail(d, at, "the number has more than 32 bits");
    return read_int64(d, at, item, ret_val);
}

static int read_quantity(struct decode *d, const struct place *at, const struct item *item,
                         yyjson_mut_val **ret_val)
{
    struct item parts[PARTS_MAX];
    int r = read_parts(d, at, item->bytes, "b", parts);
    if (r < 0)
        return r;
    return make_text(d, at, parts[0].bytes.len > 0 ? parts[0].bytes : SV("0"), ret_val);
}

static int read_int_or_string(struct decode *d, const struct place *at, const struct item *item,
                              yyjson_mut_val **ret_val)
{
    struct item parts[PARTS_MAX];
    int r = read_parts(d, at, item->bytes, "vvb", parts);
    if (r < 0)
        return r;
    if (parts[0].value > 1)
        return fail(d, at, "is neither a number nor text");
    return parts[0].value == 0 ? read_int32(d, at, &parts[1], ret_val)
                               : make_text(d, at, parts[2].bytes, ret_val);
}

/* A time of zero is how a client writes none. */
static int read_time(struct decode *d, const struct place *at, const struct item *item,
                     yyjson_mut_val **ret_val)
{
    struct item parts[PARTS_MAX];
    int r = read_parts(d, at, item->bytes, "vv", parts);
    if (r < 0)
        return r;
    int64_t seconds = (int64_t)parts[0].value;
    if (seconds == 0 && parts[1].value == 0)
        return 0;
    if (seconds < SECONDS_MIN || seconds > SECONDS_MAX || parts[1].value >= NANOS_PER_SECOND)
        return fail(d, at, "the time is out of range");
    scoped_str text = {0};
    rfc3339_format(seconds * 1000, &text);
    if (at->field->type == F_MICRO_TIME) {
        text.len--; /* the Z comes after the fraction */
        str_addf(&text, ".%06uZ", (unsigned)(parts[1].value / NANOS_PER_MICRO));
    }
    make_str(d, &text, ret_val);
    return 0;
}

static int read_duration(struct decode *d, const struct place *at, const struct item *item,
                         yyjson_mut_val **ret_val)
{
    struct item parts[PARTS_MAX];
    int r = read_parts(d, at, item->bytes, "v", parts);
    if (r < 0)
        return r;
    if ((int64_t)parts[0].value % NANOS_PER_MS != 0)
        return fail(d, at, "durations are whole milliseconds");
    scoped_str text = {0};
    duration_format((int64_t)parts[0].value / NANOS_PER_MS, &text);
    make_str(d, &text, ret_val);
    return 0;
}

static int read_bytes(struct decode *d, const struct place *at, const struct item *item,
                      yyjson_mut_val **ret_val)
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    (void)at;
    const uint8_t *in = (const uint8_t *)item->bytes.ptr;
    size_t len = item->bytes.len;
    scoped_str text = {0};
    char *out = str_reserve(&text, (len + 2) / 3 * 4);
    for (size_t i = 0; i < len; i += 3, out += 4) {
        uint32_t three = (uint32_t)in[i] << 16 | (i + 1 < len ? (uint32_t)in[i + 1] << 8 : 0) |
                         (i + 2 < len ? in[i + 2] : 0);
        out[0] = DIGITS[three >> 18];
        out[1] = DIGITS[three >> 12 & 63];
        out[2] = i + 1 < len ? DIGITS[three >> 6 & 63] : '=';
        out[3] = i + 2 < len ? DIGITS[three & 63] : '=';
        text.len += 4;
    }
    make_str(d, &text, ret_val);
    return 0;
}

static int read_any(struct decode *d, const struct place *at, const struct item *item,
                    yyjson_mut_val **ret_val)
{
    if (!(at->field->pb & PB_JSON))
        return fail(d, at, "cannot be read from protobuf; send the object as application/json");
    struct item parts[PARTS_MAX];
    int r = read_parts(d, at, item->bytes, "b", parts);
    if (r < 0 || parts[0].bytes.len == 0)
        return r;
    scoped_json *json = NULL;
    struct err why = {0};
    if (json_parse(parts[0].bytes, &json, &why) < 0)
        return fail(d, at, why.text);
    d->values += yyjson_doc_get_val_count(json);
    *ret_val = yyjson_val_mut_copy(d->doc, yyjson_doc_get_root(json));
    return 0;
}

static int read_object(struct decode *d, const struct place *at, const struct item *item,
                       yyjson_mut_val **ret_val);

static const struct {
    int (*read)(struct decode *d, const struct place *at, const struct item *item,
                yyjson_mut_val **ret_val); /* ret_val stays as it is when there is no value */
    enum wire wire;
} READERS[] = {
    [F_OBJECT] = {read_object, WIRE_BYTES},
    [F_STRING] = {read_string, WIRE_BYTES},
    [F_BOOL] = {read_bool, WIRE_VARINT},
    [F_INT32] = {read_int32, WIRE_VARINT},
    [F_INT64] = {read_int64, WIRE_VARINT},
    [F_QUANTITY] = {read_quantity, WIRE_BYTES},
    [F_INT_OR_STRING] = {read_int_or_string, WIRE_BYTES},
    [F_TIME] = {read_time, WIRE_BYTES},
    [F_MICRO_TIME] = {read_time, WIRE_BYTES},
    [F_DURATION] = {read_duration, WIRE_BYTES},
    [F_BYTES] = {read_bytes, WIRE_BYTES},
    [F_ANY] = {read_any, WIRE_BYTES},
};

static int read_value(struct decode *d, const struct place *at, const struct item *item,
                      yyjson_mut_val **ret_val)
{
    enum ftype type = at->field->type;
    assert(type < ARRAY_LEN(READERS) && READERS[type].read != NULL);
    if (item->wire != READERS[type].wire)
        return fail(d, at, "is of another type");
    if (++d->values > PROTOBUF_VALUES_MAX)
        return fail(d, at, "the object has too many values");
    return READERS[type].read(d, at, item, ret_val);
}

/* ---- fields ---- */

static bool is_empty(const struct field *field, yyjson_mut_val *val)
{
    if (field->type == F_QUANTITY)
        return yyjson_mut_equals_str(val, "0");
    if (yyjson_mut_is_str(val))
        return yyjson_mut_get_len(val) == 0;
    if (yyjson_mut_is_int(val))
        return yyjson_mut_get_sint(val) == 0;
    return yyjson_mut_is_false(val) || (yyjson_mut_is_obj(val) && yyjson_mut_obj_size(val) == 0);
}

static int read_one(struct decode *d, const struct place *at, const struct item *item,
                    yyjson_mut_val *obj)
{
    const struct field *field = at->field;
    yyjson_mut_val *val = NULL;
    if (yyjson_mut_obj_get(obj, field->name) != NULL)
        return fail(d, at, "is there twice");
    int r = read_value(d, at, item, &val);
    if (r < 0)
        return r;
    if (val != NULL && ((field->pb & PB_ZERO) || !is_empty(field, val)))
        yyjson_mut_obj_add(obj, yyjson_mut_str(d->doc, field->name), val);
    return 0;
}

static int read_item(struct decode *d, struct place *at, const struct item *item,
                     yyjson_mut_val *list)
{
    yyjson_mut_val *val = NULL;
    at->index = yyjson_mut_arr_size(list);
    int r = read_value(d, at, item, &val);
    if (r < 0)
        return r;
    if (val != NULL)
        yyjson_mut_arr_append(list, val);
    return 0;
}

/* Lists of numbers come one by one or packed into one value. */
static int read_packed(struct decode *d, struct place *at, struct sv bytes, yyjson_mut_val *list)
{
    while (bytes.len > 0) {
        struct item item = {.wire = WIRE_VARINT};
        const char *why = take_varint(&bytes, &item.value);
        at->index = yyjson_mut_arr_size(list);
        int r = why != NULL ? fail(d, at, why) : read_item(d, at, &item, list);
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_entry(struct decode *d, const struct place *at, const struct item *item,
                      yyjson_mut_val *map)
{
    struct item parts[PARTS_MAX];
    yyjson_mut_val *key = NULL, *val = NULL;
    if (item->wire != WIRE_BYTES)
        return fail(d, at, "is of another type");
    bool number = READERS[at->field->type].wire == WIRE_VARINT;
    int r = read_parts(d, at, item->bytes, number ? "bv" : "bb", parts);
    if (r < 0)
        return r;
    if (memchr(parts[0].bytes.ptr, '\0', parts[0].bytes.len) != NULL)
        return fail(d, at, "a key has a zero byte in it");
    r = make_text(d, at, parts[0].bytes, &key);
    if (r < 0)
        return r;
    r = read_value(d, at, &parts[1], &val);
    if (r < 0)
        return r;
    if (val != NULL)
        yyjson_mut_obj_add(map, key, val);
    return 0;
}

/* The list or map in which a field gathers its items. */
static yyjson_mut_val *gather(const struct decode *d, const struct field *field,
                              yyjson_mut_val *obj)
{
    yyjson_mut_val *val = yyjson_mut_obj_get(obj, field->name);
    if (val == NULL) {
        val = field->shape == LIST ? yyjson_mut_arr(d->doc) : yyjson_mut_obj(d->doc);
        yyjson_mut_obj_add(obj, yyjson_mut_str(d->doc, field->name), val);
    }
    return val;
}

static int read_field(struct decode *d, struct place *at, const struct item *item,
                      yyjson_mut_val *obj)
{
    switch (at->field->shape) {
    case ONE:
        return read_one(d, at, item, obj);
    case LIST:
        if (item->wire == WIRE_BYTES && READERS[at->field->type].wire == WIRE_VARINT)
            return read_packed(d, at, item->bytes, gather(d, at->field, obj));
        return read_item(d, at, item, gather(d, at->field, obj));
    case MAP:
        return read_entry(d, at, item, gather(d, at->field, obj));
    }
    return 0;
}

/* ---- messages ---- */

static const struct field *field_of(const struct target *to, uint64_t number)
{
    for (const struct field *f = to->type->fields; f->name != NULL; f++)
        if (PB_NUMBER(f->pb) == number && number != 0 && PB_OUTER(f->pb) == to->outer)
            return f;
    return NULL;
}

static bool is_outer(const struct target *to, uint64_t number)
{
    for (const struct field *f = to->type->fields; f->name != NULL && to->outer == 0; f++)
        if (PB_OUTER(f->pb) == number)
            return true;
    return false;
}

static int read_message(struct decode *d, const struct place *at, const struct target *to,
                        struct sv bytes)
{
    while (bytes.len > 0) {
        struct item item = {0};
        const char *why = take_item(&bytes, &item);
        const struct field *field = field_of(to, item.number);
        struct place here = {at, field, 0, at->depth + 1};
        if (why != NULL && field != NULL && field->shape == LIST)
            here.index = yyjson_mut_arr_size(yyjson_mut_obj_get(to->obj, field->name));
        int r = 0;
        if (why != NULL)
            r = fail(d, field != NULL ? &here : at, why);
        else if (field != NULL)
            r = read_field(d, &here, &item, to->obj);
        else if (item.wire == WIRE_BYTES && is_outer(to, item.number))
            r = read_message(d, at, &(struct target){to->type, to->obj, (unsigned)item.number},
                             item.bytes);
        if (r < 0)
            return r;
    }
    return 0;
}

static bool has_repeated_key(yyjson_mut_val *map)
{
    if (yyjson_mut_obj_size(map) < 2)
        return false;
    struct omap *seen = omap_new(); /* no choice of keys makes a tree slow */
    bool repeated = false;
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(map);
    yyjson_mut_val *key;
    while (!repeated && (key = yyjson_mut_obj_iter_next(&iter)) != NULL)
        repeated = omap_put(seen, yyjson_mut_get_str(key), key) != NULL;
    omap_free(seen);
    return repeated;
}

static int check_maps(const struct decode *d, const struct place *at, const struct type *type,
                      yyjson_mut_val *obj)
{
    for (const struct field *f = type->fields; f->name != NULL; f++) {
        if (f->shape == MAP && has_repeated_key(yyjson_mut_obj_get(obj, f->name)))
            return fail(d, &(struct place){at, f, 0, at->depth + 1}, "a key is there twice");
    }
    return 0;
}

static int read_into(struct decode *d, const struct place *at, const struct target *to,
                     struct sv bytes)
{
    int r = read_message(d, at, to, bytes);
    return r < 0 ? r : check_maps(d, at, to->type, to->obj);
}

static int read_object(struct decode *d, const struct place *at, const struct item *item,
                       yyjson_mut_val **ret_val)
{
    if (at->depth > JSON_DEPTH_MAX)
        return fail(d, at, "nested too deep");
    yyjson_mut_val *obj = yyjson_mut_obj(d->doc);
    int r = read_into(d, at, &(struct target){at->field->of, obj, 0}, item->bytes);
    if (r < 0)
        return r;
    *ret_val = obj;
    return 0;
}

/* ---- the envelope ---- */

struct envelope {
    struct sv api_version, kind, raw;
};

static int open_envelope(const struct decode *d, struct sv bytes, struct envelope *ret_envelope)
{
    if (bytes.len < MAGIC.len || memcmp(bytes.ptr, MAGIC.ptr, MAGIC.len) != 0)
        return fail(d, NULL, "does not begin with \"k8s\" and a zero byte");
    struct item unknown[PARTS_MAX], meta[PARTS_MAX];
    struct sv rest = {bytes.ptr + MAGIC.len, bytes.len - MAGIC.len};
    int r = read_parts(d, NULL, rest, "bbbb", unknown);
    if (r < 0)
        return r;
    r = read_parts(d, NULL, unknown[0].bytes, "bb", meta);
    if (r < 0)
        return r;
    if (unknown[2].bytes.len > 0)
        return fail(d, NULL, "compressed objects are not supported");
    if (meta[1].bytes.len == 0)
        return fail(d, NULL, "the envelope names no kind");
    *ret_envelope = (struct envelope){meta[0].bytes, meta[1].bytes, unknown[1].bytes};
    return 0;
}

static int check_kind(const struct type *type, struct sv kind, struct err *err)
{
    const char *dot = strrchr(type->name, '.');
    const char *name = dot != NULL ? dot + 1 : type->name;
    if (sv_is(kind, name))
        return 0;
    int shown = kind.len < 80 ? (int)kind.len : 80;
    return err_set(err, -EINVAL, "holds a '%.*s', where a %s is due", shown, kind.ptr, name);
}

static int add_text(const struct decode *d, yyjson_mut_val *root, const char *name, struct sv text)
{
    yyjson_mut_val *val = NULL;
    int r = make_text(d, NULL, text, &val);
    if (r < 0)
        return r;
    yyjson_mut_obj_add(root, yyjson_mut_str(d->doc, name), val);
    return 0;
}

static int read_root(struct decode *d, const struct type *type, const struct envelope *envelope)
{
    yyjson_mut_val *root = yyjson_mut_obj(d->doc);
    yyjson_mut_doc_set_root(d->doc, root);
    int r = add_text(d, root, "apiVersion", envelope->api_version);
    if (r < 0)
        return r;
    r = add_text(d, root, "kind", envelope->kind);
    if (r < 0)
        return r;
    struct place at = {0};
    r = read_into(d, &at, &(struct target){type, root, 0}, envelope->raw);
    return r < 0 ? r : json_check_depth(root, d->err);
}

int protobuf_decode(const struct type *type, struct sv bytes, yyjson_mut_doc **ret_doc,
                    struct err *err)
{
    struct envelope envelope = {0};
    struct decode d = {.err = err};
    int r = open_envelope(&d, bytes, &envelope);
    if (r < 0)
        return r;
    r = check_kind(type, envelope.kind, err);
    if (r < 0)
        return r;
    scoped_json_mut *doc = yyjson_mut_doc_new(NULL);
    assert(doc);
    d.doc = doc;
    r = read_root(&d, type, &envelope);
    if (r < 0)
        return r;
    *ret_doc = take_ptr(doc);
    return 0;
}

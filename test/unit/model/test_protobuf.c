// SPDX-License-Identifier: Apache-2.0
/* The files in test/data/protobuf were written by Kubernetes' own Go types: each object once as
 * protobuf and once as JSON. */
#include "base/map.h"
#include "base/mem.h"
#include "kindtest.h"
#include "model/options.h"
#include "model/protobuf.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- what real clients send ---- */

static void load(const char *name, const char *suffix, struct str *out)
{
    scoped_free char *path = mem_printf("%s/protobuf/%s.%s", TEST_DATA, name, suffix);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("cannot open %s", path);
    size_t got;
    do {
        got = fread(str_reserve(out, 4096), 1, 4096, file);
        out->len += got;
    } while (got > 0);
    fclose(file);
}

/* Go writes these in JSON though nothing is in them. Pointers to nothing, as in emptyDir: {}, are
 * not among them and must come through. */
static bool is_noise(const char *key, yyjson_mut_val *val)
{
    static const char *const OBJECTS[] = {"metadata",  "spec",   "status",   "state",
                                          "lastState", "source", "resources"};
    if (yyjson_mut_is_null(val) || (str_eq(key, "divisor") && yyjson_mut_equals_str(val, "0")))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(OBJECTS); i++) {
        if (str_eq(key, OBJECTS[i]) && yyjson_mut_is_obj(val) && yyjson_mut_obj_size(val) == 0)
            return true;
    }
    return false;
}

static void drop_noise(yyjson_mut_val *val)
{
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(val, i, n, item) drop_noise(item);
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(val);
    yyjson_mut_val *key;
    while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
        drop_noise(yyjson_mut_obj_iter_get_val(key));
        if (is_noise(yyjson_mut_get_str(key), yyjson_mut_obj_iter_get_val(key)))
            yyjson_mut_obj_iter_remove(&iter);
    }
}

static const struct type *const NO_KIND[] = {&TYPE_DELETE_OPTIONS, &TYPE_SCALE, &TYPE_BINDING};

static bool holds(struct sv bytes, const struct type *type)
{
    scoped_json_mut *doc = NULL;
    return protobuf_decode(type, bytes, &doc, NULL) == 0;
}

/* Of the kind that the envelope names. */
static const struct type *type_of(struct sv bytes)
{
    for (size_t i = 0; KINDS[i] != NULL; i++)
        if (holds(bytes, KINDS[i]->type))
            return KINDS[i]->type;
    for (size_t i = 0; i < ARRAY_LEN(NO_KIND); i++)
        if (holds(bytes, NO_KIND[i]))
            return NO_KIND[i];
    fail_msg("no type reads it");
    return NULL;
}

static const char *const OBJECTS[] = {
    "pod",     "pod_bare", "job",        "configmap",   "namespace",      "namespace_full",
    "lease",   "event",    "event_old",  "node",        "delete_options", "delete_options_bare",
    "binding", "scale",    "scale_zero", "binding_bare"};

static void test_reads_what_go_writes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(OBJECTS); i++) {
        scoped_str bytes = {0}, text = {0}, got = {0}, want = {0};
        load(OBJECTS[i], "pb", &bytes);
        load(OBJECTS[i], "json", &text);
        scoped_json_mut *expected = NULL, *doc = NULL;
        struct err err = {0};
        assert_int_equal(json_parse_mut((struct sv){text.data, text.len}, &expected, &err), 0);
        drop_noise(yyjson_mut_doc_get_root(expected));
        struct sv body = {bytes.data, bytes.len};
        if (protobuf_decode(type_of(body), body, &doc, &err) < 0)
            fail_msg("%s: %s", OBJECTS[i], err.text);
        json_write_pretty(yyjson_mut_doc_get_root(doc), &got);
        json_write_pretty(yyjson_mut_doc_get_root(expected), &want);
        if (!json_mut_equal(yyjson_mut_doc_get_root(doc), yyjson_mut_doc_get_root(expected)))
            fail_msg("%s: want %s\ngot %s", OBJECTS[i], str_text(&want), str_text(&got));
    }
}

/* Without the source the volume would become an empty directory, which nobody asked for. */
static void test_refuses_what_it_would_lose(void **state)
{
    (void)state;
    scoped_str bytes = {0};
    load("pod_nfs", "pb", &bytes);
    scoped_json_mut *doc = NULL;
    struct err err = {0};
    assert_int_equal(protobuf_decode(KIND_POD.type, (struct sv){bytes.data, bytes.len}, &doc, &err),
                     -EINVAL);
    assert_string_equal(err.text, "spec.volumes[0].nfs: cannot be read from protobuf; send the "
                                  "object as application/json");
    assert_null(doc);
}

/* The copy has no byte to spare, so that reading beyond it is found. */
static void decode_start(const struct type *type, const struct str *bytes, size_t len)
{
    scoped_free char *copy = mem_dup(bytes->data, len + (len == 0));
    scoped_json_mut *doc = NULL;
    struct err err = {0};
    int r = protobuf_decode(type, (struct sv){copy, len}, &doc, &err);
    assert_true(r < 0 ? doc == NULL && err.text[0] != '\0' : doc != NULL);
}

static void test_survives_cuts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(OBJECTS); i++) {
        scoped_str bytes = {0};
        load(OBJECTS[i], "pb", &bytes);
        const struct type *type = type_of((struct sv){bytes.data, bytes.len});
        for (size_t len = 0; len < bytes.len; len++)
            decode_start(type, &bytes, len);
    }
}

static void test_survives_wrong_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(OBJECTS); i++) {
        scoped_str bytes = {0};
        load(OBJECTS[i], "pb", &bytes);
        const struct type *type = type_of((struct sv){bytes.data, bytes.len});
        for (size_t at = 0; at < bytes.len; at++) {
            char right = bytes.data[at];
            bytes.data[at] = (char)~right;
            decode_start(type, &bytes, bytes.len);
            bytes.data[at] = (char)(right + 1);
            decode_start(type, &bytes, bytes.len);
            bytes.data[at] = right;
        }
    }
}

/* ---- the wire, case by case ---- */

static const struct type TYPE_THING;
// clang-format off
static const struct field THING_FIELDS[] = {
    FIELDS_TYPE_META,
    {"text", F_STRING, ONE, .pb = 1},
    {"small", F_INT32, ONE, .pb = 2},
    {"large", F_INT64, ONE, .pb = 3},
    {"flag", F_BOOL, ONE, .pb = 4},
    {"amount", F_QUANTITY, ONE, .pb = 5},
    {"port", F_INT_OR_STRING, ONE, .pb = 6 | PB_ZERO},
    {"at", F_TIME, ONE, .pb = 7},
    {"finely", F_MICRO_TIME, ONE, .pb = 8},
    {"span", F_DURATION, ONE, .pb = 9 | PB_ZERO},
    {"bytes", F_BYTES, ONE, .pb = 10},
    {"json", F_ANY, ONE, .pb = 11 | PB_JSON},
    {"within", F_OBJECT, ONE, .of = &TYPE_THING, .pb = 12},
    {"numbers", F_INT32, LIST, .pb = 13},
    {"words", F_STRING, MAP, .pb = 14},
    {"inner", F_STRING, ONE, .pb = PB_IN(15, 1)},
    {"zero", F_INT32, ONE, .pb = 16 | PB_ZERO},
    {"counts", F_INT64, MAP, .pb = 17},
    {"amounts", F_QUANTITY, MAP, .pb = 18},
    {"list", F_OBJECT, LIST, .of = &TYPE_THING, .pb = 19},
    {"kept", F_OBJECT, ONE, .of = &TYPE_THING, .pb = 20 | PB_ZERO},
    {"ours", F_STRING, ONE},
    {0}};
// clang-format on
static const struct type TYPE_THING = {"test.Thing", "A thing.", THING_FIELDS};

static void add_varint(struct str *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        str_addc(out, (char)(value | 0x80));
    str_addc(out, (char)value);
}

static void add_bytes(struct str *out, unsigned number, struct sv bytes)
{
    add_varint(out, number << 3 | 2);
    add_varint(out, bytes.len);
    str_addn(out, bytes.ptr, bytes.len);
}

static void add_envelope(struct str *out, struct sv kind, struct sv raw)
{
    scoped_str meta = {0};
    add_bytes(&meta, 1, SV("test/v1"));
    add_bytes(&meta, 2, kind);
    str_addn(out, "k8s\0", 4);
    add_bytes(out, 1, (struct sv){meta.data, meta.len});
    add_bytes(out, 2, raw);
}

struct wire_case {
    const char *label;
    struct sv raw;
    const char *want; /* JSON with ' for ", without apiVersion and kind; or the error */
};

/* The object without apiVersion and kind, or the error. */
static void decode_raw(struct sv raw, struct str *out)
{
    scoped_str bytes = {0};
    add_envelope(&bytes, SV("Thing"), raw);
    scoped_json_mut *doc = NULL;
    struct err err = {0};
    if (protobuf_decode(&TYPE_THING, (struct sv){bytes.data, bytes.len}, &doc, &err) < 0) {
        str_add(out, err.text);
        return;
    }
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    assert_string_equal(json_mut_str_at(root, "apiVersion"), "test/v1");
    assert_string_equal(json_mut_str_at(root, "kind"), "Thing");
    yyjson_mut_obj_remove_key(root, "apiVersion");
    yyjson_mut_obj_remove_key(root, "kind");
    json_write(root, out);
    for (size_t i = 0; i < out->len; i++)
        out->data[i] = out->data[i] == '"' ? '\'' : out->data[i];
}

static void run_cases(const struct wire_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        scoped_str got = {0};
        decode_raw(cases[i].raw, &got);
        if (!str_eq(str_text(&got), cases[i].want))
            fail_msg("%s: want %s\n got %s", cases[i].label, cases[i].want, str_text(&got));
    }
}

static void test_scalars(void **state)
{
    (void)state;
    static const struct wire_case CASES[] = {
        {"nothing", SV(""), "{}"},
        {"text", SV("\x0a\x02hi"), "{'text':'hi'}"},
        {"text with a zero byte", SV("\x0a\x03x\0y"), "{'text':'x\\u0000y'}"},
        {"number", SV("\x10\xac\x02"), "{'small':300}"},
        {"negative", SV("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "{'small':-1}"},
        {"largest", SV("\x10\xff\xff\xff\xff\x07"), "{'small':2147483647}"},
        {"one too many", SV("\x10\x80\x80\x80\x80\x08"), "small: the number has more than 32 bits"},
        {"smallest 64", SV("\x18\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
         "{'large':-9223372036854775808}"},
        {"padded", SV("\x18\x81\x00"), "{'large':1}"},
        {"true", SV("\x20\x01"), "{'flag':true}"},
        {"what is not set", SV("\x0a\x00\x10\x00\x18\x00\x20\x00\x52\x00\x62\x00"), "{}"},
        {"a zero that is", SV("\x80\x01\x00"), "{'zero':0}"},
        {"an object that is", SV("\xa2\x01\x00"), "{'kept':{}}"},
        {"nothing in nothing", SV("\x62\x02\x62\x00"), "{}"},
        {"bytes", SV("\x52\x01\xff"), "{'bytes':'/w=='}"},
    };
    run_cases(CASES, ARRAY_LEN(CASES));
}

static void test_messages_of_one_value(void **state)
{
    (void)state;
    static const struct wire_case CASES[] = {
        {"quantity", SV("\x2a\x06\x0a\x04+1Gi"), "{'amount':'+1Gi'}"},
        {"quantity of nothing", SV("\x2a\x00"), "{}"},
        {"port", SV("\x32\x06\x08\x00\x10\x50\x1a\x00"), "{'port':80}"},
        {"port zero", SV("\x32\x00"), "{'port':0}"},
        {"port by name", SV("\x32\x09\x08\x01\x10\x00\x1a\x03web"), "{'port':'web'}"},
        {"port of no type", SV("\x32\x02\x08\x02"), "port: is neither a number nor text"},
        {"time", SV("\x3a\x08\x08\xa5\xeb\xdc\xca\x06\x10\x07"), "{'at':'2026-01-02T03:04:05Z'}"},
        {"no time", SV("\x3a\x04\x08\x00\x10\x00\x42\x00"), "{}"},
        {"microseconds", SV("\x42\x0a\x08\xa5\xeb\xdc\xca\x06\x10\xa7\xc0\x02"),
         "{'finely':'2026-01-02T03:04:05.000040Z'}"},
        {"before 1970", SV("\x3a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
         "{'at':'1969-12-31T23:59:59Z'}"},
        {"no such year", SV("\x3a\x07\x08\xff\xff\xff\xff\xff\x7f"),
         "at: the time is out of range"},
        {"nanos", SV("\x3a\x06\x10\x80\x94\xeb\xdc\x03"), "at: the time is out of range"},
        {"span", SV("\x4a\x06\x08\x80\xbc\xc1\x96\x0b"), "{'span':'3s'}"},
        {"no span", SV("\x4a\x00"), "{'span':'0s'}"},
        {"fine span", SV("\x4a\x02\x08\x01"), "span: durations are whole milliseconds"},
        {"json", SV("\x5a\x09\x0a\x07{\"a\":1}"), "{'json':{'a':1}}"},
        {"no json", SV("\x5a\x00"), "{}"},
        {"json with a key twice", SV("\x5a\x0f\x0a\x0d{\"a\":1,\"a\":2}"),
         "json: line 1, column 8: key 'a' is there twice"},
        {"time of text", SV("\x3a\x03\x0a\x01x"), "at: a part is of another type"},
    };
    run_cases(CASES, ARRAY_LEN(CASES));
}

static void test_lists_and_maps(void **state)
{
    (void)state;
    static const struct wire_case CASES[] = {
        {"one by one", SV("\x68\x01\x68\x00\x68\x02"), "{'numbers':[1,0,2]}"},
        {"packed", SV("\x6a\x04\x01\x00\xac\x02"), "{'numbers':[1,0,300]}"},
        {"packed and cut", SV("\x6a\x02\x01\x80"), "numbers[1]: a number is cut off"},
        {"map", SV("\x72\x06\x0a\x01x\x12\x01y\x72\x02\x12\x00"), "{'words':{'x':'y','':''}}"},
        {"key alone", SV("\x72\x03\x0a\x01x"), "{'words':{'x':''}}"},
        {"key twice", SV("\x72\x03\x0a\x01x\x72\x03\x0a\x01x"), "words: a key is there twice"},
        {"key twice below", SV("\x62\x0a\x72\x03\x0a\x01x\x72\x03\x0a\x01x"),
         "within.words: a key is there twice"},
        {"key with a zero byte", SV("\x72\x05\x0a\x03x\0y"), "words: a key has a zero byte in it"},
        {"map of numbers", SV("\x8a\x01\x05\x0a\x01x\x10\x07"), "{'counts':{'x':7}}"},
        {"map of quantities", SV("\x92\x01\x03\x0a\x01x"), "{'amounts':{'x':'0'}}"},
        {"map of numbers of text", SV("\x8a\x01\x03\x12\x01x"),
         "counts: a part is of another type"},
        {"map of no entries", SV("\x70\x01"), "words: is of another type"},
        {"objects", SV("\x9a\x01\x00\x9a\x01\x03\x0a\x01x"), "{'list':[{},{'text':'x'}]}"},
        {"part that is inline", SV("\x7a\x03\x0a\x01x\x10\x01"), "{'inner':'x','small':1}"},
        {"its numbers are its own", SV("\x7a\x02\x10\x01"), "{}"},
    };
    run_cases(CASES, ARRAY_LEN(CASES));
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct wire_case CASES[] = {
        {"skipped", SV("\x98\x06\x01\x9d\x06wxyz\x99\x06stuvwxyz\x9a\x06\x01x\x10\x01"),
         "{'small':1}"},
        {"twice", SV("\x10\x01\x10\x01"), "small: is there twice"},
        {"object twice", SV("\x62\x02\x10\x01\x62\x02\x10\x01"), "within: is there twice"},
        {"twice in a list", SV("\x9a\x01\x00\x9a\x01\x04\x10\x01\x10\x01"),
         "list[1].small: is there twice"},
        {"other type", SV("\x0a\x00\x08\x01"), "text: is of another type"},
        {"fixed width", SV("\x15wxyz"), "small: is of another type"},
        {"group", SV("\x0b\x0c"), "text: groups are not supported"},
        {"no such wire type", SV("\x0e"), "text: groups are not supported"},
        {"number 0", SV("\x02\x00"), "the number of a field is out of range"},
        {"number too large", SV("\x80\x80\x80\x80\x10\x00"),
         "the number of a field is out of range"},
        {"tag cut off", SV("\x80"), "a number is cut off"},
        {"text cut off", SV("\x0a\x05xyz"), "text: the value is cut off"},
        {"length beyond all", SV("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
         "text: the value is cut off"},
        {"number cut off", SV("\x62\x02\x10\x80"), "within.small: a number is cut off"},
        {"65 bits", SV("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
         "large: a number has more than 64 bits"},
        {"11 bytes", SV("\x18\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"),
         "large: a number has more than 64 bits"},
    };
    run_cases(CASES, ARRAY_LEN(CASES));
}

static void test_utf8(void **state)
{
    (void)state;
    static const struct {
        struct sv text;
        bool right;
    } CASES[] = {
        {SV("a\x7f"), true},
        {SV("\xc2\x80"), true},
        {SV("\xdf\xbf"), true},
        {SV("\xe0\xa0\x80"), true},
        {SV("\xed\x9f\xbf"), true},
        {SV("\xee\x80\x80"), true},
        {SV("\xf0\x90\x80\x80"), true},
        {SV("\xf4\x8f\xbf\xbf"), true},
        {SV("\x80"), false},
        {SV("\xc1\xbf"), false},
        {SV("\xc3"), false},
        {SV("\xc3("), false},
        {SV("\xe0\x9f\xbf"), false},
        {SV("\xe2\x82"), false},
        {SV("\xe2\x82("), false},
        {SV("\xed\xa0\x80"), false},
        {SV("\xf0\x8f\xbf\xbf"), false},
        {SV("\xf0\x9f\x98"), false},
        {SV("\xf4\x90\x80\x80"), false},
        {SV("\xf5\x80\x80\x80"), false},
        {SV("\xff"), false},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        scoped_str raw = {0}, got = {0};
        add_bytes(&raw, 1, CASES[i].text);
        decode_raw((struct sv){raw.data, raw.len}, &got);
        bool right = !str_eq(str_text(&got), "text: the text is not UTF-8");
        if (right != CASES[i].right)
            fail_msg("case %zu: %s", i, str_text(&got));
    }
}

static void test_limits(void **state)
{
    (void)state;
    scoped_str raw = {0}, got = {0};
    for (size_t i = 0; i <= PROTOBUF_VALUES_MAX; i++)
        str_addn(&raw, "\x68\x01", 2);
    decode_raw((struct sv){raw.data, raw.len}, &got);
    assert_string_equal(str_text(&got), "numbers[100000]: the object has too many values");
    str_clear(&got);
    raw.len -= 2;
    decode_raw((struct sv){raw.data, raw.len}, &got);
    assert_true(str_starts(str_text(&got), "{'numbers':[1,1,"));
}

/* 64 levels of JSON: this object and those within. */
static void test_depth(void **state)
{
    (void)state;
    scoped_str raw = {0}, got = {0};
    str_addn(&raw, "\x10\x01", 2);
    for (int level = 1; level <= 200; level++) {
        str_clear(&got);
        decode_raw((struct sv){raw.data, raw.len}, &got);
        bool fits = str_starts(str_text(&got), "{");
        if (fits != (level <= JSON_DEPTH_MAX))
            fail_msg("level %d: %s", level, str_text(&got));
        struct str outer = {0};
        add_bytes(&outer, 12, (struct sv){raw.data, raw.len});
        str_done(&raw);
        raw = outer;
    }
}

static void test_envelope(void **state)
{
    (void)state;
    static const struct {
        struct sv bytes;
        const char *want;
    } CASES[] = {
        {SV(""), "does not begin with \"k8s\" and a zero byte"},
        {SV("k8s"), "does not begin with \"k8s\" and a zero byte"},
        {SV("{\"kind\":\"Thing\"}"), "does not begin with \"k8s\" and a zero byte"},
        {SV("k8s\0"), "the envelope names no kind"},
        {SV("k8s\0\x08\x01"), "a part is of another type"},
        {SV("k8s\0\x0a\x07\x12\x05Other"), "holds a 'Other', where a Thing is due"},
        {SV("k8s\0\x0a\x07\x12\x05Thing\x1a\x04gzip"), "compressed objects are not supported"},
        {SV("k8s\0\x0a\x0a\x0a\x01\xff\x12\x05Thing"), "the text is not UTF-8"},
        {SV("k8s\0\x0a\x07\x12\x05Thing"), ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        scoped_json_mut *doc = NULL;
        struct err err = {0};
        int r = protobuf_decode(&TYPE_THING, CASES[i].bytes, &doc, &err);
        assert_int_equal(r, err.code);
        if (strcmp(err.text, CASES[i].want) != 0)
            fail_msg("case %zu: want %s, got %s", i, CASES[i].want, err.text);
    }
}

/* Two fields with one number would hide each other. */
static void check_numbers(const struct type *type, struct map *seen)
{
    if (map_put(seen, type->name, (void *)type) != NULL)
        return;
    for (const struct field *f = type->fields; f->name != NULL; f++) {
        for (const struct field *g = type->fields; g < f; g++) {
            bool same = PB_NUMBER(f->pb) == PB_NUMBER(g->pb) && PB_OUTER(f->pb) == PB_OUTER(g->pb);
            if (f->pb != 0 && same)
                fail_msg("%s: %s and %s have one number", type->name, f->name, g->name);
        }
        if (PB_OUTER(f->pb) != 0)
            for (const struct field *g = type->fields; g->name != NULL; g++)
                if (g->pb != 0 && PB_OUTER(g->pb) == 0 && PB_NUMBER(g->pb) == PB_OUTER(f->pb))
                    fail_msg("%s: %s has the number of a message", type->name, g->name);
        if (f->of != NULL)
            check_numbers(f->of, seen);
    }
}

static void test_numbers_are_unique(void **state)
{
    (void)state;
    struct map *seen = map_new();
    for (size_t i = 0; KINDS[i] != NULL; i++)
        check_numbers(KINDS[i]->type, seen);
    for (size_t i = 0; i < ARRAY_LEN(NO_KIND); i++)
        check_numbers(NO_KIND[i], seen);
    map_free(seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_what_go_writes),
        cmocka_unit_test(test_refuses_what_it_would_lose),
        cmocka_unit_test(test_survives_cuts),
        cmocka_unit_test(test_survives_wrong_bytes),
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_messages_of_one_value),
        cmocka_unit_test(test_lists_and_maps),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_envelope),
        cmocka_unit_test(test_numbers_are_unique),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

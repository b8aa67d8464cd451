// SPDX-License-Identifier: Apache-2.0
#include "base/rng.h"
#include "model/manifest.h"
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static char *write_json(const char *json)
{
    scoped_json *doc = NULL;
    struct err err = {0};
    if (json_parse(sv_of(json), &doc, &err) < 0)
        fail_msg("'%s': %s", json, err.text);
    struct str out = {0};
    yaml_write(yyjson_doc_get_root(doc), &out);
    return str_take(&out);
}

struct row {
    const char *json, *yaml;
};

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        scoped_free char *yaml = write_json(rows[i].json);
        if (!str_eq(yaml, rows[i].yaml))
            fail_msg("'%s' became\n%s---instead of\n%s", rows[i].json, yaml, rows[i].yaml);
    }
}

static void test_shapes(void **state)
{
    static const struct row ROWS[] = {
        {"{}", "{}\n"},
        {"[]", "[]\n"},
        {"null", "null\n"},
        {"\"x\"", "x\n"},
        {"{\"b\":1,\"a\":[]}", "a: []\nb: 1\n"},
        {"{\"a\":{\"b\":{},\"c\":null}}", "a:\n  b: {}\n  c: null\n"},
        {"{\"a\":[1,true,\"x\"]}", "a:\n- 1\n- true\n- x\n"},
        {"{\"a\":[{\"y\":2,\"x\":[1]},{}]}", "a:\n- x:\n  - 1\n  \"y\": 2\n- {}\n"},
        {"{\"a\":[[1,2],[],[[3]]]}", "a:\n- - 1\n  - 2\n- []\n- - - 3\n"},
        {"[{\"a\":{\"b\":1}}]", "- a:\n    b: 1\n"},
        {"{\"a\":-1.5,\"b\":18446744073709551615,\"c\":-9223372036854775808}",
         "a: -1.5\nb: 18446744073709551615\nc: -9223372036854775808\n"},
        {"{\"p10\":1,\"p2\":1,\"P\":1,\"a/b\":1,\"a.b\":1,\"ab\":1,\"01\":1,\"1\":1}",
         "\"1\": 1\n\"01\": 1\nP: 1\na.b: 1\na/b: 1\nab: 1\np2: 1\np10: 1\n"},
    };
    (void)state;
    check_rows(ROWS, ARRAY_LEN(ROWS));
}

static const struct row QUOTES[] = {
    /* what some reader takes for something else */
    {"\"\"", "\"\"\n"},
    {"\"true\"", "\"true\"\n"},
    {"\"No\"", "\"No\"\n"},
    {"\"y\"", "\"y\"\n"},
    {"\"null\"", "\"null\"\n"},
    {"\"~\"", "\"~\"\n"},
    {"\"12\"", "\"12\"\n"},
    {"\"1e3\"", "\"1e3\"\n"},
    {"\"1e999\"", "\"1e999\"\n"},
    {"\"0x1f\"", "\"0x1f\"\n"},
    {"\"0b_\"", "\"0b_\"\n"},
    {"\"1_000\"", "\"1_000\"\n"},
    {"\".5_0\"", "\".5_0\"\n"},
    {"\"-.inf\"", "\"-.inf\"\n"},
    {"\"10:20:30\"", "\"10:20:30\"\n"},
    {"\"2001-01-01\"", "\"2001-01-01\"\n"},
    {"\"2024-01-02T03:04:05Z\"", "\"2024-01-02T03:04:05Z\"\n"},
    {"\"=\"", "\"=\"\n"},
    {"\"<<\"", "\"<<\"\n"},
    /* what cannot stand bare */
    {"\" a\"", "' a'\n"},
    {"\"a \"", "'a '\n"},
    {"\"a: b\"", "'a: b'\n"},
    {"\"a:\"", "'a:'\n"},
    {"\"a #b\"", "'a #b'\n"},
    {"\"#a\"", "'#a'\n"},
    {"\"- a\"", "'- a'\n"},
    {"\"-\"", "'-'\n"},
    {"\"? a\"", "'? a'\n"},
    {"\": a\"", "': a'\n"},
    {"\"---\"", "'---'\n"},
    {"\"...x\"", "'...x'\n"},
    {"\"{a}\"", "'{a}'\n"},
    {"\"[a\"", "'[a'\n"},
    {"\"*a\"", "'*a'\n"},
    {"\"&a\"", "'&a'\n"},
    {"\"!a\"", "'!a'\n"},
    {"\"|\"", "'|'\n"},
    {"\"> a\"", "'> a'\n"},
    {"\"%a\"", "'%a'\n"},
    {"\"@a\"", "'@a'\n"},
    {"\"`a\"", "'`a'\n"},
    {"\"'a'\"", "'''a'''\n"},
    {"\"\\\"a\\\"\"", "'\"a\"'\n"},
    {"\", a\"", "', a'\n"},
    /* what must be escaped */
    {"\"a\\tb\"", "\"a\\tb\"\n"},
    {"\"a\\u0000\\u0007\\u001b\\u007f\"", "\"a\\0\\a\\e\\x7F\"\n"},
    {"\"\\u0085\\u2028\\ufeff\\uffff\"", "\"\\N\\L\\uFEFF\\uFFFF\"\n"},
    {"\"a\\rb\"", "\"a\\rb\"\n"},
    {"\"a\\\\\\u0001\"", "\"a\\\\\\x01\"\n"},
    /* what may stand bare */
    {"\"a:b\"", "a:b\n"},
    {"\"a#b\"", "a#b\n"},
    {"\"-a\"", "-a\n"},
    {"\"?a\"", "?a\n"},
    {"\":a\"", ":a\n"},
    {"\"a, b\"", "a, b\n"},
    {"\"a [b] {c}\"", "a [b] {c}\n"},
    {"\"10.0.0.1\"", "10.0.0.1\n"},
    {"\"1.2.3-x\"", "1.2.3-x\n"},
    {"\"500m\"", "500m\n"},
    {"\"nginx:1.25\"", "nginx:1.25\n"},
    {"\"a\\\\b\"", "a\\b\n"},
    {"\"\\u00e4 \\ud83d\\ude00\"", "\xc3\xa4 \xf0\x9f\x98\x80\n"},
    {"\"it's\"", "it's\n"},
    {"\"=a\"", "=a\n"},
    {"\"yes please\"", "yes please\n"},
    /* keys follow the same rules, without blocks */
    {"{\"on\":1}", "\"on\": 1\n"},
    {"{\"a: b\":1}", "'a: b': 1\n"},
    {"{\"a\\nb\":1}", "\"a\\nb\": 1\n"},
    {"{\"\":1}", "\"\": 1\n"},
};

static void test_quotes(void **state)
{
    (void)state;
    check_rows(QUOTES, ARRAY_LEN(QUOTES));
}

static void test_blocks(void **state)
{
    static const struct row ROWS[] = {
        {"{\"a\":\"x\\ny\"}", "a: |-\n  x\n  y\n"},
        {"{\"a\":\"x\\ny\\n\",\"b\":1}", "a: |\n  x\n  y\nb: 1\n"},
        {"{\"a\":\"x\\n\\n\",\"b\":1}", "a: |+\n  x\n\nb: 1\n"},
        {"{\"a\":\"  x\\ny\"}", "a: |2-\n    x\n  y\n"},
        {"{\"a\":\"\\nx\\n\"}", "a: |2\n\n  x\n"},
        {"{\"a\":\"x\\n\\n  y\\n\"}", "a: |\n  x\n\n    y\n"},
        {"{\"a\":\"x:\\n\\ty\\n\"}", "a: |\n  x:\n  \ty\n"},
        {"{\"a\":[\"x\\ny\"]}", "a:\n- |-\n  x\n  y\n"},
        {"{\"a\":[{\"b\":\"x\\ny\"}]}", "a:\n- b: |-\n    x\n    y\n"},
        {"[[\"x\\ny\"]]", "- - |-\n    x\n    y\n"},
        {"\"x\\ny\"", "|-\n  x\n  y\n"},
        {"{\"a\":\"\\n\"}", "a: \"\\n\"\n"},
        {"{\"a\":\"x \\ny\"}", "a: \"x \\ny\"\n"},
        {"{\"a\":\"x\\ny \"}", "a: \"x\\ny \"\n"},
        {"{\"a\":\"x\\r\\ny\"}", "a: \"x\\r\\ny\"\n"},
        {"{\"a\":\"# x\\n---\\n\"}", "a: |\n  # x\n  ---\n"},
    };
    (void)state;
    check_rows(ROWS, ARRAY_LEN(ROWS));
}

/* ---- what is written can be read back ---- */

static const char *const PIECES[] = {
    " ",
    "\n",
    "\t",
    "\r",
    ":",
    ": ",
    "#",
    " #",
    "-",
    "- ",
    "?",
    "\"",
    "'",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ",",
    "&",
    "*",
    "!",
    "|",
    ">",
    "%",
    "@",
    "`",
    "=",
    "<<",
    "~",
    "null",
    "true",
    "no",
    "y",
    "0",
    "1",
    "0x1f",
    "1e3",
    ".",
    "_",
    "2001",
    "-01",
    "---",
    "...",
    "a",
    "b",
    "Z",
    "\xc3\xa4",
    "\x7f",
    "\x01",
    "\v",
    "\xe2\x80\xa8",
    "\xef\xbb\xbf",
    "\\n",
    "+",
    "\xf0\x9f\x98\x80",
};

static void random_text(struct rng *rng, struct str *out)
{
    uint64_t n = rng_chance(rng, 1, 50) ? rng_below(rng, 900) : rng_below(rng, 7);
    for (uint64_t i = 0; i < n; i++)
        str_add(out, PIECES[rng_below(rng, ARRAY_LEN(PIECES))]);
}

static yyjson_mut_val *random_string(struct rng *rng, yyjson_mut_doc *doc)
{
    scoped_str text = {0};
    random_text(rng, &text);
    return yyjson_mut_strncpy(doc, str_text(&text), text.len);
}

static yyjson_mut_val *random_scalar(struct rng *rng, yyjson_mut_doc *doc)
{
    switch (rng_below(rng, 8)) {
    case 0:
        return yyjson_mut_null(doc);
    case 1:
        return yyjson_mut_bool(doc, rng_chance(rng, 1, 2));
    case 2:
        return yyjson_mut_uint(doc, rng_next(rng) >> rng_below(rng, 64));
    case 3:
        return yyjson_mut_sint(doc, -(int64_t)(rng_next(rng) >> (1 + rng_below(rng, 62))) - 1);
    case 4: /* never a whole number: those are read as integers */
        return yyjson_mut_real(doc, (double)rng_between(rng, -1000, 1000) + 0.125);
    default:
        return random_string(rng, doc);
    }
}

static yyjson_mut_val *random_value(struct rng *rng, yyjson_mut_doc *doc, int depth)
{
    uint64_t kind = depth > 5 ? 9 : rng_below(rng, 10);
    if (kind >= 4)
        return random_scalar(rng, doc);
    yyjson_mut_val *val = kind < 2 ? yyjson_mut_arr(doc) : yyjson_mut_obj(doc);
    for (uint64_t i = rng_below(rng, 5); i > 0; i--) {
        if (kind < 2) {
            yyjson_mut_arr_append(val, random_value(rng, doc, depth + 1));
            continue;
        }
        yyjson_mut_val *key = random_string(rng, doc);
        if (!yyjson_mut_obj_getn(val, yyjson_mut_get_str(key), yyjson_mut_get_len(key)))
            yyjson_mut_obj_add(val, key, random_value(rng, doc, depth + 1));
    }
    return val;
}

static void check_round_trip(uint64_t seed)
{
    struct rng rng;
    rng_seed(&rng, seed);
    scoped_json_mut *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_val(doc, root, "r", random_value(&rng, doc, 0));
    yyjson_mut_obj_add_val(doc, root, "s", random_value(&rng, doc, 0));
    scoped_json *view = yyjson_mut_doc_imut_copy(doc, NULL);
    scoped_str yaml = {0};
    yaml_write(yyjson_doc_get_root(view), &yaml);
    struct manifest manifest;
    struct err err = {0};
    if (manifest_parse("f", (struct sv){yaml.data, yaml.len}, &manifest, &err) < 0)
        fail_msg("seed %" PRIu64 ": %s\n%s", seed, err.text, yaml.data);
    assert_int_equal(manifest.docs.len, 1);
    if (!json_mut_equal(root, yyjson_mut_doc_get_root(manifest.docs.items[0].doc)))
        fail_msg("seed %" PRIu64 " reads back differently:\n%s", seed, yaml.data);
    manifest_done(&manifest);
}

static void test_round_trip(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++)
        check_round_trip(seed);
}

static void test_depth_and_long_keys(void **state)
{
    (void)state;
    scoped_str json = {0};
    for (int i = 0; i < 63; i++)
        str_add(&json, i % 2 ? "[" : "{\"k\":");
    str_add(&json, "[]");
    for (int i = 62; i >= 0; i--)
        str_add(&json, i % 2 ? "]" : "}");
    scoped_free char *deep = write_json(json.data);
    struct manifest manifest;
    assert_int_equal(manifest_parse("f", sv_of(deep), &manifest, NULL), 0);
    manifest_done(&manifest);
    str_clear(&json);
    str_add(&json, "{\"");
    for (int i = 0; i < 300; i++)
        str_add(&json, "key: #");
    str_add(&json, "\":[{\"a\":1}]}");
    scoped_free char *wide = write_json(json.data);
    assert_true(str_starts(wide, "? 'key: #key: #"));
    struct err err = {0};
    if (manifest_parse("f", sv_of(wide), &manifest, &err) < 0)
        fail_msg("%s", err.text);
    scoped_str back = {0};
    json_write(yyjson_mut_doc_get_root(manifest.docs.items[0].doc), &back);
    assert_string_equal(back.data, json.data);
    manifest_done(&manifest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_quotes),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_depth_and_long_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

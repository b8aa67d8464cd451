// SPDX-License-Identifier: Apache-2.0
/* The engine on a small type that has one of everything; the tables of real kinds have tests of
 * their own. */
#include "model/schema.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const char *const POLICIES[] = {"Always", "OnFailure", "Never", NULL};

static const struct field PORT_FIELDS[] = {
    {"containerPort", F_INT32, ONE, REQUIRED | RANGE, .min = 1, .max = 65535},
    {"protocol", F_STRING, ONE, .fallback = "\"TCP\""},
    {0},
};
static const struct type PORT = {"Port", "A port.", PORT_FIELDS};

static const struct field PART_FIELDS[] = {
    {"name", F_STRING, ONE, REQUIRED, .format = FMT_DNS_LABEL},
    {"image", F_STRING, ONE, IMMUTABLE},
    {"ports", F_OBJECT, LIST, MERGE | KEY_MAY_REPEAT, .of = &PORT, .merge_key = "containerPort"},
    {"onlyPorts", F_OBJECT, LIST, MERGE, .of = &PORT, .merge_key = "containerPort"},
    {"args", F_STRING, LIST, RANGE, .max = 3},
    {0},
};
static const struct type PART = {"Part", "A part.", PART_FIELDS};

static void probe_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    if (yyjson_mut_obj_get(val, "low") != NULL && yyjson_mut_obj_get(val, "high") != NULL)
        check_forbidden(c, "high", "not together with low");
    yyjson_mut_val *was = yyjson_mut_obj_get(old, "low");
    if (was != NULL && yyjson_mut_obj_get(val, "low") == NULL)
        check_required(c, "low", "it was there before");
}

static void probe_fill(yyjson_mut_doc *doc, yyjson_mut_val *val)
{
    if (yyjson_mut_obj_get(val, "low") != NULL && yyjson_mut_obj_get(val, "sum") == NULL)
        json_mut_put(doc, val, "sum",
                     yyjson_mut_sint(doc, yyjson_mut_get_sint(yyjson_mut_obj_get(val, "low")) + 1));
}

/* "both" is short for low and high. */
static void probe_expand(yyjson_mut_doc *doc, yyjson_mut_val *val)
{
    yyjson_mut_val *both = yyjson_mut_obj_get(val, "both");
    if (both == NULL)
        return;
    json_mut_put(doc, val, "low", yyjson_mut_sint(doc, yyjson_mut_get_sint(both)));
    json_mut_put(doc, val, "high", yyjson_mut_sint(doc, yyjson_mut_get_sint(both)));
}

static const struct field PROBE_FIELDS[] = {
    {"both", F_INT64, ONE},
    {"low", F_INT64, ONE},
    {"high", F_INT64, ONE, RANGE, .min = 0},
    {"sum", F_INT64, ONE},
    {"period", F_INT32, ONE, .fallback = "10"},
    {0},
};
static const struct type PROBE = {"Probe",     "A probe.", PROBE_FIELDS,
                                  probe_check, probe_fill, probe_expand};

static const struct field SPEC_FIELDS[] = {
    {"parts", F_OBJECT, LIST, REQUIRED | NON_EMPTY | MERGE, .of = &PART, .merge_key = "name"},
    {"policy", F_STRING, ONE, .values = POLICIES, .fallback = "\"Always\""},
    {"mode", F_STRING, ONE, .values = POLICIES},
    {"probe", F_OBJECT, ONE, .of = &PROBE},
    {"made", F_OBJECT, ONE, .of = &PROBE, .fallback = "{}"},
    {"byName", F_OBJECT, MAP, .of = &PROBE},
    {"templates", F_OBJECT, LIST, AS_WRITTEN, .of = &PART},
    {"pattern", F_OBJECT, ONE, AS_WRITTEN, .of = &PROBE},
    {"labels", F_STRING, MAP, KEY_FORMAT, .format = FMT_QUALIFIED},
    {"limits", F_QUANTITY, MAP, RANGE, .min = 0},
    {"offset", F_QUANTITY, ONE},
    {"ratio", F_NUMBER, ONE, RANGE, .min = 0, .max = 1},
    {"target", F_INT_OR_STRING, ONE, RANGE, .min = 1, .max = 100},
    {"on", F_BOOL, ONE},
    {"big", F_INT64, ONE},
    {"small", F_INT32, ONE},
    {"short", F_STRING, ONE, RANGE, .min = 2, .max = 4},
    {"title", F_STRING, ONE, NON_EMPTY},
    {"host", F_STRING, ONE, .format = FMT_DNS_LABEL},
    {"at", F_TIME, ONE},
    {"wait", F_DURATION, ONE},
    {"data", F_BYTES, ONE},
    {"any", F_ANY, ONE},
    {"fixed", F_STRING, LIST, IMMUTABLE},
    {0},
};
static const struct type SPEC = {"Spec", "A spec.", SPEC_FIELDS};

static const struct field ROOT_FIELDS[] = {
    {"spec", F_OBJECT, ONE, REQUIRED, .of = &SPEC},
    {0},
};
static const struct type ROOT = {"Root", "A root.", ROOT_FIELDS};

static yyjson_mut_doc *parse(const char *text)
{
    struct err err = {0};
    yyjson_mut_doc *doc = NULL;
    if (json_parse_mut(sv_of(text), &doc, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return doc;
}

/* "path: text (hint)", one a line. */
static void print_findings(const struct findings *findings, struct str *out)
{
    for (size_t i = 0; i < findings->list.len; i++) {
        const struct finding *f = &findings->list.items[i];
        str_addf(out, "%s%s: %s", i == 0 ? "" : "\n", f->path, f->text);
        if (f->hint != NULL)
            str_addf(out, " (%s)", f->hint);
    }
}

struct row {
    const char *spec; /* members of spec, beside one good part unless they name parts */
    const char *want;
};

static char *document(const char *spec)
{
    bool has_parts = strstr(spec, "\"parts\"") != NULL;
    return mem_printf("{\"spec\":{%s%s%s}}", spec, has_parts || spec[0] == '\0' ? "" : ",",
                      has_parts ? "" : "\"parts\":[{\"name\":\"a\"}]");
}

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        scoped_free char *text = document(rows[i].spec);
        scoped_json_mut *doc = parse(text);
        struct findings findings = {0};
        scoped_str got = {0};
        schema_check(&ROOT, yyjson_mut_doc_get_root(doc), NULL, &findings);
        print_findings(&findings, &got);
        findings_done(&findings);
        if (!str_eq(str_text(&got), rows[i].want))
            fail_msg("%s:\n got: %s\nwant: %s", rows[i].spec, str_text(&got), rows[i].want);
    }
}

static void test_scalars(void **state)
{
    (void)state;
    static const struct row ROWS[] = {
        {"", ""},
        {"\"on\":true,\"big\":-9223372036854775808,\"small\":7,\"any\":[null,{\"x\":1}]", ""},
        {"\"on\":null,\"big\":null,\"mode\":null,\"limits\":null", ""},
        {"\"on\":\"yes\"", "spec.on: Invalid value: \"string\": must be a boolean"},
        {"\"on\":\"true\"", "spec.on: Invalid value: \"string\": must be a boolean"
                            " (write it without quotes: true)"},
        {"\"small\":\"7\"", "spec.small: Invalid value: \"string\": must be an integer"
                            " (write it without quotes: 7)"},
        {"\"small\":\"seven\"", "spec.small: Invalid value: \"string\": must be an integer"},
        {"\"small\":7.5", "spec.small: Invalid value: \"number\": must be an integer"},
        {"\"small\":2147483648",
         "spec.small: Invalid value: 2147483648: must fit in a 32-bit integer"},
        {"\"small\":-2147483649",
         "spec.small: Invalid value: -2147483649: must fit in a 32-bit integer"},
        {"\"big\":9223372036854775808",
         "spec.big: Invalid value: 9223372036854775808: must fit in a 64-bit integer"},
        {"\"ratio\":0.5", ""},
        {"\"ratio\":1.5", "spec.ratio: Invalid value: 1.5: must be between 0 and 1, inclusive"},
        {"\"ratio\":\"0.5\"", "spec.ratio: Invalid value: \"string\": must be a number"
                              " (write it without quotes: 0.5)"},
        {"\"target\":\"50%\"", ""},
        {"\"target\":100", ""},
        {"\"target\":101", "spec.target: Invalid value: 101: must be between 1 and 100, inclusive"},
        {"\"target\":true",
         "spec.target: Invalid value: \"boolean\": must be an integer or a string"},
        {"\"at\":\"2026-01-02T03:04:05Z\",\"wait\":\"1h30m\",\"data\":\"aGk=\"", ""},
        {"\"at\":\"yesterday\"", "spec.at: Invalid value: \"yesterday\": must be a time such as "
                                 "2026-01-02T03:04:05Z (RFC 3339)"},
        {"\"wait\":\"soon\"", "spec.wait: Invalid value: \"soon\": must be a duration such as "
                              "90s, 5m or 1h30m"},
        {"\"wait\":5", "spec.wait: Invalid value: \"integer\": must be a string"},
        {"\"data\":\"aGk\"",
         "spec.data: Invalid value: \"aGk\": must be base64 with padding (RFC 4648)"},
        {"\"data\":\"a===\"",
         "spec.data: Invalid value: \"a===\": must be base64 with padding (RFC 4648)"},
        {"\"data\":\"a=Gk\"",
         "spec.data: Invalid value: \"a=Gk\": must be base64 with padding (RFC 4648)"},
        {"\"data\":\"aG!k\"",
         "spec.data: Invalid value: \"aG!k\": must be base64 with padding (RFC 4648)"},
        {"\"data\":\"aGk=\\naGk=\"",
         "spec.data: Invalid value: \"aGk=\\naGk=\": must be base64 with padding (RFC 4648)"},
        {"\"data\":\"aGlo\\naGk=\\n\"", ""},
    };
    check_rows(ROWS, ARRAY_LEN(ROWS));
}

static void test_strings(void **state)
{
    (void)state;
    static const struct row ROWS[] = {
        {"\"short\":\"ab\"", ""},
        {"\"short\":\"a\"", "spec.short: Invalid value: \"a\": must have at least 2 characters"},
        {"\"short\":\"abcde\"",
         "spec.short: Invalid value: \"abcde\": must have no more than 4 characters"},
        {"\"short\":12", "spec.short: Invalid value: \"integer\": must be a string"
                         " (write it in quotes)"},
        {"\"short\":[]", "spec.short: Invalid value: \"array\": must be a string"},
        {"\"short\":\"a\\u0000b\"",
         "spec.short: Invalid value: \"a\\u0000b\": must not contain NUL characters"},
        {"\"title\":\"\"", "spec.title: Invalid value: \"\": must not be empty"},
        {"\"host\":\"\"", ""},
        {"\"mode\":\"\"", ""},
        {"\"policy\":\"Never\"", ""},
        {"\"policy\":\"always\"",
         "spec.policy: Unsupported value: \"always\": supported values: "
         "\"Always\", \"OnFailure\", \"Never\" (did you mean \"Always\"?)"},
        {"\"policy\":\"Sometimes-maybe\"",
         "spec.policy: Unsupported value: \"Sometimes-maybe\": "
         "supported values: \"Always\", \"OnFailure\", \"Never\""},
        {"\"policy\":\"\"", "spec.policy: Unsupported value: \"\": supported values: "
                            "\"Always\", \"OnFailure\", \"Never\""},
        {"\"parts\":[{\"name\":\"\"}]", "spec.parts[0].name: Required value"},
    };
    check_rows(ROWS, ARRAY_LEN(ROWS));
}

static void test_quantities(void **state)
{
    (void)state;
    static const struct row ROWS[] = {
        {"\"offset\":\"-1.5Gi\",\"limits\":{\"cpu\":\"500m\",\"memory\":0.5,\"x\":3}", ""},
        {"\"offset\":\"1.5Qi\"", "spec.offset: Invalid value: \"1.5Qi\": must be a quantity such "
                                 "as 2, 500m or 1.5Gi"},
        {"\"offset\":true", "spec.offset: Invalid value: \"boolean\": must be a quantity"},
        {"\"limits\":{\"cpu\":\"-1m\"}",
         "spec.limits[cpu]: Invalid value: \"-1m\": must be greater than or equal to 0"},
        {"\"limits\":{\"cpu\":-2}",
         "spec.limits[cpu]: Invalid value: -2: must be greater than or equal to 0"},
        {"\"limits\":[\"cpu\"]", "spec.limits: Invalid value: \"array\": must be an object"},
    };
    check_rows(ROWS, ARRAY_LEN(ROWS));
}

static void test_lists_and_maps(void **state)
{
    (void)state;
    static const struct row ROWS[] = {
        {"\"parts\":null", "spec.parts: Required value"},
        {"\"parts\":[]", "spec.parts: Required value"},
        {"\"parts\":{\"name\":\"a\"}", "spec.parts: Invalid value: \"object\": must be an array"
                                       " (it is a list: in YAML each item starts with \"- \")"},
        {"\"parts\":[{}]", "spec.parts[0].name: Required value"},
        {"\"parts\":[null]", "spec.parts[0]: Invalid value: \"null\": must be an object"},
        {"\"parts\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"a\"}]",
         "spec.parts[2].name: Duplicate value: \"a\""},
        {"\"parts\":[{\"name\":\"a\",\"ports\":[{\"containerPort\":80},{\"containerPort\":80,"
         "\"protocol\":\"UDP\"}]}]",
         ""},
        {"\"parts\":[{\"name\":\"a\",\"onlyPorts\":[{\"containerPort\":80},{\"containerPort\":80}"
         "]}]",
         "spec.parts[0].onlyPorts[1].containerPort: Duplicate value: 80"},
        {"\"parts\":[{\"name\":\"a\",\"ports\":[{\"containerPort\":70000}]}]",
         "spec.parts[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535,"
         " inclusive"},
        {"\"parts\":[{\"name\":\"a\",\"args\":[\"1\",2,\"3\"]}]",
         "spec.parts[0].args[1]: Invalid value: \"integer\": must be a string"
         " (write it in quotes)"},
        {"\"parts\":[{\"name\":\"a\",\"args\":[\"1\",\"2\",\"3\",\"4\"]}]",
         "spec.parts[0].args: Invalid value: [\"1\",\"2\",\"3\",\"4\"]: must have no more than 3 "
         "items"},
        {"\"parts\":[{\"name\":\"a\",\"args\":[\"longer than three\"]}]", ""},
        {"\"labels\":{\"a.b/c\":\"any\\u0000thing\",\"d\":null}", ""},
        {"\"labels\":{\"a.b/c\":1}", "spec.labels[a.b/c]: Invalid value: \"integer\": must be a "
                                     "string (write it in quotes)"},
        {"\"labels\":{\"a/\":\"x\"}",
         "spec.labels: Invalid value: \"a/\": the name part must not be empty"},
        {"\"byName\":{\"p.q\":{\"high\":-1}}", "spec.byName[p.q].high: Invalid value: -1: must be "
                                               "greater than or equal to 0"},
        {"\"probe\":{\"low\":1,\"high\":2}", "spec.probe.high: Forbidden: not together with low"},
        {"\"probe\":7", "spec.probe: Invalid value: \"integer\": must be an object"},
    };
    check_rows(ROWS, ARRAY_LEN(ROWS));
}

static void test_update(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *old, *want;
    } ROWS[] = {
        {"\"fixed\":[\"a\"]", "\"fixed\":[\"a\"]", ""},
        {"\"fixed\":[]", "", ""},
        {"\"on\":true", "\"fixed\":[]", ""},
        {"\"fixed\":[\"b\"]", "\"fixed\":[\"a\"]",
         "spec.fixed: Invalid value: [\"b\"]: field is immutable"},
        {"\"on\":true", "\"fixed\":[\"a\"]",
         "spec.fixed: Invalid value: \"null\": field is immutable"},
        {"\"fixed\":[\"a\"]", "\"on\":true",
         "spec.fixed: Invalid value: [\"a\"]: field is immutable"},
        /* By key, wherever it moved to; a new item may be what it likes. */
        {"\"parts\":[{\"name\":\"n\",\"image\":\"9\"},{\"name\":\"b\",\"image\":\"2\"},"
         "{\"name\":\"a\",\"image\":\"1\"}]",
         "\"parts\":[{\"name\":\"a\",\"image\":\"1\"},{\"name\":\"b\",\"image\":\"2\"}]", ""},
        {"\"parts\":[{\"name\":\"b\",\"image\":\"2\"},{\"name\":\"a\",\"image\":\"2\"}]",
         "\"parts\":[{\"name\":\"a\",\"image\":\"1\"},{\"name\":\"b\",\"image\":\"2\"}]",
         "spec.parts[1].image: Invalid value: \"2\": field is immutable"},
        {"\"probe\":{}", "\"probe\":{\"low\":1}",
         "spec.probe.low: Required value: it was there before"},
        {"\"byName\":{\"x\":{}}", "\"byName\":{\"y\":{\"low\":1},\"x\":{\"low\":1}}",
         "spec.byName[x].low: Required value: it was there before"},
        /* What was there already is not judged again; a rule on two fields is, when one changed. */
        {"\"small\":\"x\",\"on\":true", "\"small\":\"x\"", ""},
        {"\"small\":\"y\"", "\"small\":\"x\"",
         "spec.small: Invalid value: \"string\": must be an integer"},
        {"\"small\":\"x\"", "\"on\":true",
         "spec.small: Invalid value: \"string\": must be an integer"},
        {"\"probe\":{\"high\":2,\"low\":1},\"on\":true", "\"probe\":{\"low\":1,\"high\":2}", ""},
        {"\"probe\":{\"low\":1,\"high\":3}", "\"probe\":{\"low\":1,\"high\":2}",
         "spec.probe.high: Forbidden: not together with low"},
        {"\"byName\":{\"a\":{\"high\":-1},\"b\":{\"high\":-2}}",
         "\"byName\":{\"a\":{\"high\":-1},\"b\":{\"high\":-1}}",
         "spec.byName[b].high: Invalid value: -2: must be greater than or equal to 0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_free char *text = document(ROWS[i].spec), *old_text = document(ROWS[i].old);
        scoped_json_mut *doc = parse(text);
        scoped_json_mut *old = parse(old_text);
        struct findings findings = {0};
        scoped_str got = {0};
        schema_check(&ROOT, yyjson_mut_doc_get_root(doc), yyjson_mut_doc_get_root(old), &findings);
        print_findings(&findings, &got);
        findings_done(&findings);
        if (!str_eq(str_text(&got), ROWS[i].want))
            fail_msg("row %zu: %s:\n got: %s\nwant: %s", i, text, str_text(&got), ROWS[i].want);
    }
}

static void test_unknown(void **state)
{
    (void)state;
    static const struct row ROWS[] = {
        {"", ""},
        {"\"any\":{\"foo\":1},\"labels\":{\"foo\":\"x\"}", ""},
        {"\"parts\":[{\"name\":\"a\"},{\"imagee\":\"x\",\"zzzzzz\":1}]",
         "spec.parts[1].imagee: unknown field \"spec.parts[1].imagee\" (did you mean \"image\"?)\n"
         "spec.parts[1].zzzzzz: unknown field \"spec.parts[1].zzzzzz\""},
        {"\"byName\":{\"p.q\":{\"hihg\":1}}", "spec.byName[p.q].hihg: unknown field "
                                              "\"spec.byName[p.q].hihg\" (did you mean \"high\"?)"},
        {"\"probe\":[1]", ""}, /* not its business */
        {"\"on\\u0000\":1", "spec.on: unknown field \"spec.on\" (did you mean \"on\"?)"},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_free char *text = document(ROWS[i].spec);
        scoped_json_mut *doc = parse(text);
        struct findings findings = {0};
        scoped_str got = {0};
        schema_unknown(&ROOT, yyjson_mut_doc_get_root(doc), &findings);
        print_findings(&findings, &got);
        findings_done(&findings);
        if (!str_eq(str_text(&got), ROWS[i].want))
            fail_msg("%s:\n got: %s\nwant: %s", text, str_text(&got), ROWS[i].want);
    }
}

static void test_fill(void **state)
{
    (void)state;
    static const struct row ROWS[] = {
        {"{}", "{}"},
        {"{\"spec\":null,\"x\":null}", "{}"},
        {"{\"spec\":{}}", "{\"spec\":{\"policy\":\"Always\",\"made\":{\"period\":10}}}"},
        {"{\"spec\":{\"policy\":\"Never\",\"made\":{\"period\":0}}}",
         "{\"spec\":{\"policy\":\"Never\",\"made\":{\"period\":0}}}"},
        {"{\"spec\":{\"policy\":null,\"on\":null,\"made\":null,\"big\":null}}",
         "{\"spec\":{\"policy\":\"Always\",\"made\":{\"period\":10}}}"},
        {"{\"spec\":{\"policy\":\"\",\"made\":3,\"any\":{\"a\":null},\"parts\":{},\"probe\":[]}}",
         "{\"spec\":{\"policy\":\"\",\"made\":3,\"any\":{\"a\":null},\"parts\":{},\"probe\":[]}}"},
        {"{\"spec\":{\"policy\":\"x\",\"made\":{\"low\":4,\"period\":1},\"byName\":{\"a\":{},"
         "\"b\":null},\"labels\":{\"c\":null},\"limits\":{\"d\":null}}}",
         "{\"spec\":{\"policy\":\"x\",\"made\":{\"low\":4,\"period\":1,\"sum\":5},\"byName\":{"
         "\"a\":{\"period\":10}},\"labels\":{\"c\":\"\"},\"limits\":{}}}"},
        {"{\"spec\":{\"policy\":\"x\",\"made\":1,\"parts\":[{\"ports\":[{},{\"protocol\":\"U\"}]},"
         "null]}}",
         "{\"spec\":{\"policy\":\"x\",\"made\":1,\"parts\":[{\"ports\":[{\"protocol\":\"TCP\"},{"
         "\"protocol\":\"U\"}]},null]}}"},
        /* short forms are written out before other fields are made from them */
        {"{\"spec\":{\"policy\":\"x\",\"made\":{\"both\":4,\"period\":1}}}",
         "{\"spec\":{\"policy\":\"x\",\"made\":{\"both\":4,\"period\":1,\"low\":4,\"high\":4,"
         "\"sum\":5}}}"},
        /* a template keeps what was written, but for nulls and short forms */
        {"{\"spec\":{\"policy\":\"x\",\"made\":1,\"pattern\":{\"both\":4,\"period\":null},"
         "\"templates\":[{\"ports\":[{}],\"image\":null}]}}",
         "{\"spec\":{\"policy\":\"x\",\"made\":1,\"pattern\":{\"both\":4,\"low\":4,\"high\":4},"
         "\"templates\":[{\"ports\":[{}]}]}}"},
        {"[]", "[]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_json_mut *doc = parse(ROWS[i].spec);
        scoped_str got = {0};
        for (int twice = 0; twice < 2; twice++)
            schema_fill(&ROOT, doc, yyjson_mut_doc_get_root(doc));
        json_write(yyjson_mut_doc_get_root(doc), &got);
        assert_string_equal(str_text(&got), ROWS[i].want);
    }
}

static void test_positions(void **state)
{
    (void)state;
    scoped_json_mut *doc = parse("{\"spec\":{\"parts\":[{\"name\":\"a\"},{\"image\":7}],"
                                 "\"probe\":{\"low\":1,\"high\":2}}}");
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    yyjson_mut_val *part = yyjson_mut_arr_get(json_mut_at(root, "spec.parts"), 1);
    const yyjson_mut_val *const want[] = {part, yyjson_mut_obj_get(part, "image"),
                                          json_mut_at(root, "spec.probe.high")};
    struct findings findings = {0};
    schema_check(&ROOT, root, NULL, &findings);
    assert_int_equal(findings.list.len, ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        assert_ptr_equal(findings.list.items[i].at, want[i]);
    findings_done(&findings);
}

static void test_check_functions_walk(void **state)
{
    (void)state;
    scoped_json_mut *doc = parse("{\"list\":[{\"m\":{\"k.x\":5}}]}");
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    struct findings findings = {0};
    struct check c = {.findings = &findings, .at = root};
    size_t list = check_enter(&c, "list");
    size_t item = check_enter_item(&c, 0, yyjson_mut_arr_get_first((yyjson_mut_val *)c.at));
    size_t map = check_enter(&c, "m");
    size_t key = check_enter_member(&c, "k.x", yyjson_mut_obj_get((yyjson_mut_val *)c.at, "k.x"));
    check_invalid(&c, NULL, NULL, "bad");
    assert_int_equal(yyjson_mut_get_int((yyjson_mut_val *)findings.list.items[0].at), 5);
    check_leave(&c, key);
    check_leave(&c, map);
    size_t none = check_enter(&c, "absent");
    check_required(&c, "x", NULL);
    check_hint(&c, "first");
    check_hint(&c, "add it");
    assert_ptr_equal(findings.list.items[1].at,
                     yyjson_mut_arr_get_first(json_mut_at(root, "list")));
    check_leave(&c, none);
    check_leave(&c, item);
    check_leave(&c, list);
    check_not_supported(&c, NULL, NULL, (const char *const[]){"a", NULL});
    scoped_str got = {0};
    print_findings(&findings, &got);
    assert_string_equal(str_text(&got), "list[0].m[k.x]: Invalid value: \"null\": bad\n"
                                        "list[0].absent.x: Required value (add it)\n"
                                        ": Unsupported value: \"null\": supported values: \"a\"");
    findings_done(&findings);
}

static void test_bounds(void **state)
{
    (void)state;
    scoped_str text = {0};
    str_add(&text, "{\"spec\":{\"parts\":[");
    for (int i = 0; i < 300; i++)
        str_addf(&text, "%s{\"naem\":%d}", i == 0 ? "" : ",", i);
    str_add(&text, "],\"policy\":\"");
    for (int i = 0; i < 300; i++)
        str_add(&text, "\xc3\xa4");
    str_add(&text, "\"}}");
    scoped_json_mut *doc = parse(text.data);
    struct findings findings = {0};
    schema_check(&ROOT, yyjson_mut_doc_get_root(doc), NULL, &findings);
    assert_int_equal(findings.list.len, FINDINGS_MAX);
    struct check c = {.findings = &findings};
    check_required(&c, "x", NULL);
    check_hint(&c, "of a finding that was dropped");
    assert_int_equal(findings.list.len, FINDINGS_MAX);
    assert_null(findings.list.items[FINDINGS_MAX - 1].hint);
    findings_done(&findings);
    schema_unknown(&ROOT, yyjson_mut_doc_get_root(doc), &findings);
    assert_int_equal(findings.list.len, FINDINGS_MAX);
    findings_done(&findings);

    json_mut_set(doc, yyjson_mut_doc_get_root(doc), "spec.parts", NULL);
    schema_check(&SPEC, json_mut_at(yyjson_mut_doc_get_root(doc), "spec"), NULL, &findings);
    assert_int_equal(findings.list.len, 2);
    const char *cut = strstr(findings.list.items[1].text, "...\": supported");
    assert_non_null(cut);
    assert_int_equal((unsigned char)cut[-1], 0xa4); /* a whole character */
    assert_true(strlen(findings.list.items[1].text) < 300);
    findings_done(&findings);
}

static void test_reasons(void **state)
{
    (void)state;
    assert_string_equal(finding_reason_name(FINDING_REQUIRED), "FieldValueRequired");
    assert_string_equal(finding_reason_name(FINDING_NOT_SUPPORTED), "FieldValueNotSupported");
    assert_string_equal(finding_reason_name(FINDING_TYPE), "FieldValueTypeInvalid");
    scoped_json_mut *doc = parse("[]");
    struct findings findings = {0};
    schema_check(&ROOT, yyjson_mut_doc_get_root(doc), NULL, &findings);
    schema_unknown(&ROOT, yyjson_mut_doc_get_root(doc), &findings);
    assert_int_equal(findings.list.len, 1);
    assert_int_equal(findings.list.items[0].reason, FINDING_TYPE);
    assert_string_equal(findings.list.items[0].text, "Invalid value: \"array\": must be an object");
    findings_done(&findings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_quantities),
        cmocka_unit_test(test_lists_and_maps),
        cmocka_unit_test(test_update),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_fill),
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_check_functions_walk),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
#include "control/pods/minion.h"
#include "stage.h"

/* The file of the study, letter by letter. */
static const char STUDY[] = "{\n"
                            "  \"kind\": \"MinionConfig\",\n"
                            "  \"apiVersion\": \"v1beta1\",\n"
                            "  \"throttling\": {\n"
                            "    \"maxStartingContainersPerCore\": \"3\",\n"
                            "    \"maxLoadAverageMulitplier\": \"1.5\",\n"
                            "    \"maxCPU\": \"80%\",\n"
                            "    \"minRate\": \"0.1\",\n"
                            "    \"maxRate\": \"10\"\n"
                            "  }\n"
                            "}\n";

static void assert_read(const char *json, const char *want, const char *want_warnings)
{
    scoped_json_mut *doc = NULL;
    scoped_str warnings = {0}, text = {0};
    struct err err = {0};
    if (minion_read(sv_of(json), "m1_config.json", &doc, &warnings, &err) < 0)
        fail_msg("%s\nin %s", err.text, json);
    json_write(yyjson_mut_doc_get_root(doc), &text);
    for (char *c = text.data; *c; c++)
        *c = *c == '"' ? '\'' : *c;
    assert_string_equal(str_text(&text), want);
    assert_string_equal(str_text(&warnings), want_warnings);
}

static void test_the_file_of_the_study(void **state)
{
    (void)state;
    assert_read(STUDY,
                "{'apiVersion':'muster.dev/v1alpha1','kind':'NodeConfig','metadata':{'name':"
                "'default'},'spec':{'throttling':{'maxStartingContainersPerCore':'3','maxCPU':"
                "'80%','minRate':'0.1','maxRate':'10','maxLoadAverageMultiplier':'1.5'}}}",
                "m1_config.json:6:33: throttling.maxLoadAverageMulitplier is misspelled and was "
                "read as maxLoadAverageMultiplier\n");
}

#define HEAD "{\"kind\":\"MinionConfig\",\"apiVersion\":\"v1beta1\""
#define NODE(name)                                                                                 \
    "{'apiVersion':'muster.dev/v1alpha1','kind':'NodeConfig','metadata':{'name':'" name "'}"

static void test_other_files(void **state)
{
    (void)state;
    assert_read(HEAD "}", NODE("default") ",'spec':{}}", "");
    assert_read(HEAD ",\"throttling\":null}", NODE("default") ",'spec':{}}", "");
    assert_read(HEAD ",\"id\":\"192.168.10.1\",\"throttling\":{\"maxCPU\":80,\"maxRate\":10}}",
                NODE("192.168.10.1") ",'spec':{'throttling':{'maxCPU':80,'maxRate':10}}}", "");
    assert_read(HEAD ",\"throttling\":{\"maxLoadAverageMultiplier\":1.5}}",
                NODE("default") ",'spec':{'throttling':{'maxLoadAverageMultiplier':1.5}}}", "");
    assert_read(HEAD ",\"throttling\":{\"maxLoadAverageMulitplier\":\"1.50\","
                     "\"maxLoadAverageMultiplier\":1.5}}",
                NODE("default") ",'spec':{'throttling':{'maxLoadAverageMultiplier':1.5}}}",
                "m1_config.json:1:88: throttling.maxLoadAverageMulitplier is misspelled and was "
                "read as maxLoadAverageMultiplier\n");
}

static void test_mistakes(void **state)
{
    (void)state;
    static const struct {
        const char *json, *text, *hint;
    } rows[] = {
        {"", "m: holds 0 documents instead of one", "a MinionConfig is one JSON object"},
        {"{\n\"kind\": 'x'}", "m:2:9: ", NULL},
        {"[]", "m:1:1: ", NULL},
        {"{}", "m:1:1: kind: Required value (and 1 more)", NULL},
        {"{\"kind\":\"MinionConfigs\",\"apiVersion\":\"v1beta1\"}",
         "m:1:9: kind: Unsupported value: \"MinionConfigs\": supported values: \"MinionConfig\"",
         NULL},
        {"{\"kind\":\"MinionConfig\",\"apiVersion\":\"v1\"}",
         "m:1:37: apiVersion: Unsupported value: \"v1\": supported values: \"v1beta1\"", NULL},
        {HEAD ",\"throtling\":{}}", "m:1:59: throtling: unknown field",
         "did you mean \"throttling\"?"},
        {HEAD ",\"throttling\":{\"maxCpu\":\"80%\"}}", "m:1:70: throttling.maxCpu: unknown field",
         "did you mean \"maxCPU\"?"},
        {HEAD ",\"throttling\":[]}", "m:1:60: throttling: ", NULL},
        {HEAD ",\"throttling\":{\"maxCPU\":0.8}}",
         "m:1:70: throttling.maxCPU: Invalid value: 0.8: may be a percentage or a part of 1",
         "write it with its sign, in quotes: \"0.8%\""},
        {HEAD ",\"throttling\":{\"maxRate\":\"fast\"}}",
         "m:1:71: throttling.maxRate: Invalid value: \"fast\": must be a quantity", NULL},
        {HEAD ",\"throttling\":{\"maxRate\":true}}",
         "m:1:71: throttling.maxRate: Invalid value: \"boolean\": must be a quantity", NULL},
        {HEAD ",\"throttling\":{\"maxRate\":\"-1\"}}",
         "m:1:71: throttling.maxRate: Invalid value: \"-1\": must be between 0 and 1000000", NULL},
        {HEAD ",\"throttling\":{\"minRate\":\"11\",\"maxRate\":\"10\"}}",
         "m:1:71: throttling.minRate: Invalid value: \"11\": must not be more than maxRate", NULL},
        {HEAD ",\"throttling\":{\"maxLoadAverageMulitplier\":1,\"maxLoadAverageMultiplier\":2}}",
         "m:1:88: throttling.maxLoadAverageMulitplier: differs from "
         "throttling.maxLoadAverageMultiplier, which is the same setting",
         "leave out maxLoadAverageMulitplier"},
        {HEAD ",\"throttling\":{\"maxLoadAverageMulitplier\":{}}}",
         "m:1:88: throttling.maxLoadAverageMultiplier: ", NULL},
        {HEAD ",\"id\":\"Not a name\"}", "m:1:52: id: Invalid value: \"Not a name\": ", NULL},
        {HEAD "}\n---\n" HEAD "}", "m: holds 2 documents instead of one", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        yyjson_mut_doc *doc = NULL;
        scoped_str warnings = {0};
        struct err err = {0};
        int r = minion_read(sv_of(rows[i].json), "m", &doc, &warnings, &err);
        if (r != -EINVAL || !str_starts(err.text, rows[i].text))
            fail_msg("%s\nwant %s\n got %d, %s", rows[i].json, rows[i].text, r, err.text);
        if (rows[i].hint && !str_eq(err.hint, rows[i].hint))
            fail_msg("%s\nwant %s\n got %s", rows[i].json, rows[i].hint, err.hint);
        assert_null(doc);
        assert_int_equal(warnings.len, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_file_of_the_study),
        cmocka_unit_test(test_other_files),
        cmocka_unit_test(test_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
#include "kindtest.h"
#include "model/job.h"

#define JOB(spec) "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'j'},'spec':{" spec "}}"
#define POD_OF(policy, more)                                                                       \
    "'template':{'metadata':{'labels':{'app':'x'}},'spec':{'restartPolicy':'" policy               \
    "','containers':[{'name':'main','image':'i:1'}]" more "}}"
#define NEVER POD_OF("Never", "")

static const char *const REAL[] = {
    JOB(NEVER),
    JOB(POD_OF("OnFailure", "") ",'backoffLimit':4,'ttlSecondsAfterFinished':0"),
    JOB("'completions':5,'parallelism':2,'completionMode':'Indexed','backoffLimitPerIndex':1,"
        "'maxFailedIndexes':5,'successPolicy':{'rules':[{'succeededIndexes':'0,2-4',"
        "'succeededCount':1}]},'podFailurePolicy':{'rules':[{'action':'FailIndex','onExitCodes':{"
        "'containerName':'main','operator':'In','values':[1,42]}},{'action':'Ignore',"
        "'onPodConditions':[{'type':'DisruptionTarget'}]}]}," NEVER),
    JOB("'manualSelector':true,'selector':{'matchLabels':{'app':'x'}},"
        "'managedBy':'example.com/mine'," NEVER),
};

static void test_real_manifests_pass(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(REAL); i++) {
        scoped_json_mut *doc = kt_parse(REAL[i]);
        struct findings findings = {0};
        kt_check(&KIND_JOB, doc, NULL, &findings);
        kt_expect(REAL[i], &findings, NULL);
        findings_done(&findings);
    }
}

struct wrong {
    const char *object, *want;
};

#define POLICY(rule) JOB("'podFailurePolicy':{'rules':[" rule "]}," NEVER)
#define SUCCESS(rule)                                                                              \
    JOB("'completions':5,'completionMode':'Indexed','successPolicy':{'rules':[" rule "]}," NEVER)

// clang-format off
static const struct wrong WRONG[] = {
    {JOB("'parallelism':1"),
     "spec.template: Required value"},
    {JOB("'template':{'spec':{'containers':[{'name':'a','image':'i'}]}}"),
     "spec.template.spec.restartPolicy: Unsupported value: \"Always\": supported values: "
     "\"OnFailure\", \"Never\" | a Job ends; write restartPolicy: Never, or OnFailure to restart "
     "containers"},
    {JOB("'parallelism':-1," NEVER),
     "spec.parallelism: Invalid value: -1: must be greater than or equal to 0"},
    {JOB("'completionMode':'Indexed','parallelism':1," NEVER),
     "spec.completions: Required value: when completion mode is Indexed"},
    {JOB("'completionMode':'Indexed','completions':1,'parallelism':100001," NEVER),
     "spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when "
     "completion mode is Indexed"},
    {JOB("'backoffLimitPerIndex':1," NEVER),
     "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"},
    {JOB("'completions':2,'completionMode':'Indexed','maxFailedIndexes':1," NEVER),
     "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified"},
    {JOB("'completions':2,'completionMode':'Indexed','backoffLimitPerIndex':1,"
         "'maxFailedIndexes':3," NEVER),
     "spec.maxFailedIndexes: Invalid value: 3: must be less than or equal to completions"},
    {JOB("'completions':2,'completionMode':'Indexed','backoffLimitPerIndex':1,"
         POD_OF("OnFailure", "")),
     "spec.template.spec.restartPolicy: Invalid value: \"OnFailure\": only \"Never\" is supported "
     "when backoffLimitPerIndex is specified"},
    {JOB("'podFailurePolicy':{'rules':[]}," POD_OF("OnFailure", "")),
     "spec.template.spec.restartPolicy: Invalid value: \"OnFailure\": only \"Never\" is supported "
     "when podFailurePolicy is specified"},
    {JOB("'podFailurePolicy':{'rules':[]},'podReplacementPolicy':'TerminatingOrFailed'," NEVER),
     "spec.podReplacementPolicy: Unsupported value: \"TerminatingOrFailed\": supported values: "
     "\"Failed\""},
    {POLICY("{'action':'FailJob'}"),
     "spec.podFailurePolicy.rules[0]: Required value: must have one requirement: onExitCodes or "
     "onPodConditions"},
    {POLICY("{'action':'FailJob','onExitCodes':{'operator':'In','values':[0]}}"),
     "spec.podFailurePolicy.rules[0].onExitCodes.values[0]: Invalid value: 0: must not be 0 for "
     "the In operator"},
    {POLICY("{'action':'FailJob','onExitCodes':{'operator':'In','values':[3,3]}}"),
     "spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Duplicate value: 3"},
    {POLICY("{'action':'FailJob','onExitCodes':{'operator':'In','values':[3,2]}}"),
     "spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Invalid value: 2: must be ordered"},
    {POLICY("{'action':'FailJob','onExitCodes':{'operator':'In','values':[]}}"),
     "spec.podFailurePolicy.rules[0].onExitCodes.values: Required value"},
    {POLICY("{'action':'FailJob','onExitCodes':{'containerName':'mian','operator':'In','values':"
            "[1]}}"),
     "spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: \"mian\": not found "
     "| did you mean \"main\"?"},
    {POLICY("{'action':'FailIndex','onExitCodes':{'operator':'In','values':[1]}}"),
     "spec.podFailurePolicy.rules[0].action: Invalid value: \"FailIndex\": requires the "
     "backoffLimitPerIndex to be set"},
    {JOB("'successPolicy':{'rules':[{'succeededCount':1}]}," NEVER),
     "spec.successPolicy: Forbidden: requires indexed completion mode"},
    {SUCCESS("{}"),
     "spec.successPolicy.rules[0]: Required value: at least one of succeededCount or "
     "succeededIndexes"},
    {SUCCESS("{'succeededIndexes':'1-'}"),
     "spec.successPolicy.rules[0].succeededIndexes: Invalid value: \"1-\": must be rising indexes "
     "below completions, such as 0 or 1,3-5"},
    {SUCCESS("{'succeededIndexes':'2,1'}"),
     "spec.successPolicy.rules[0].succeededIndexes: Invalid value: \"2,1\": must be rising indexes "
     "below completions, such as 0 or 1,3-5"},
    {SUCCESS("{'succeededIndexes':'3-5'}"),
     "spec.successPolicy.rules[0].succeededIndexes: Invalid value: \"3-5\": must be rising indexes "
     "below completions, such as 0 or 1,3-5"},
    {SUCCESS("{'succeededCount':6}"),
     "spec.successPolicy.rules[0].succeededCount: Invalid value: 6: must be less than or equal to "
     "completions"},
    {JOB("'manualSelector':true," NEVER),
     "spec.selector: Required value: when manualSelector is true"},
    {JOB("'manualSelector':true,'selector':{'matchLabels':{'app':'y'}}," NEVER),
     "spec.template.metadata.labels: Invalid value: {\"app\":\"x\"}: `selector` does not match "
     "template `labels`"},
    /* what is wrong in the pods is found at its place */
    {JOB(POD_OF("Never", ",'volumes':[{'name':'V'}]")),
     "spec.template.spec.volumes[0].name: Invalid value: \"V\": ..."},
};
// clang-format on

static void test_wrong_ones_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++) {
        scoped_json_mut *doc = kt_parse(WRONG[i].object);
        struct findings findings = {0};
        kt_check(&KIND_JOB, doc, NULL, &findings);
        kt_expect(WRONG[i].object, &findings, WRONG[i].want);
        findings_done(&findings);
    }
}

static void test_wrong_types_do_not_crash(void **state)
{
    (void)state;
    static const char *const VALUES[] = {"1", "'x'", "[]", "{}", "[1]", "['x']", "[{}]", "true"};
    for (const struct field *f = TYPE_JOB_SPEC.fields; f->name != NULL; f++) {
        for (size_t i = 0; i < ARRAY_LEN(VALUES); i++) {
            scoped_json_mut *doc = kt_parse(REAL[2]);
            scoped_json_mut *old = kt_parse(REAL[2]);
            scoped_json_mut *value = kt_parse(VALUES[i]);
            scoped_json *old_read = yyjson_mut_doc_imut_copy(old, NULL);
            yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
            json_mut_put(doc, json_mut_at(root, "spec"), f->name,
                         yyjson_mut_val_mut_copy(doc, yyjson_mut_doc_get_root(value)));
            json_mut_set(doc, root, "metadata.uid", yyjson_mut_str(doc, "u"));
            struct findings findings = {0};
            kt_check(&KIND_JOB, doc, old, &findings);
            KIND_JOB.prepare_update(doc, root, yyjson_doc_get_root(old_read));
            KIND_JOB.prepare(doc, root, 0);
            findings_done(&findings);
        }
    }
}

/* ---- defaults and what the server adds ---- */

static void test_defaults(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *path, *want;
    } ROWS[] = {
        {NEVER, "completions", "1"},
        {NEVER, "parallelism", "1"},
        {"'parallelism':3," NEVER, "completions", ""},
        {"'parallelism':3," NEVER, "parallelism", "3"},
        {"'completions':3," NEVER, "parallelism", "1"},
        {NEVER, "backoffLimit", "6"},
        {"'backoffLimitPerIndex':1," NEVER, "backoffLimit", "2147483647"},
        {NEVER, "completionMode", "'NonIndexed'"},
        {NEVER, "suspend", "false"},
        {NEVER, "manualSelector", "false"},
        {NEVER, "podReplacementPolicy", "'TerminatingOrFailed'"},
        {"'podFailurePolicy':{'rules':[]}," NEVER, "podReplacementPolicy", "'Failed'"},
        {NEVER, "template.spec.dnsPolicy", "'ClusterFirst'"},
        {NEVER, "template.spec.enableServiceLinks", ""}, /* only pods get it */
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_free char *text = mem_printf("{'metadata':{'name':'j'},'spec':{%s}}", ROWS[i].spec);
        scoped_json_mut *doc = kt_parse(text);
        yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
        schema_fill(KIND_JOB.type, doc, root);
        kt_expect_at(root, "metadata.labels", "{'app':'x'}");
        kt_expect_at(json_mut_at(root, "spec"), ROWS[i].path, ROWS[i].want);
    }
}

#define GENERATED(uid)                                                                             \
    "'batch.kubernetes.io/controller-uid':'" uid "','batch.kubernetes.io/job-name':'j',"           \
    "'controller-uid':'" uid "','job-name':'j'"
#define SELECTOR "{'matchLabels':{'batch.kubernetes.io/controller-uid':'u-1'}}"

static void test_prepare_generates_selector_and_labels(void **state)
{
    (void)state;
    scoped_json_mut *doc = kt_parse(JOB(NEVER));
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    json_mut_set(doc, root, "metadata.uid", yyjson_mut_str(doc, "u-1"));
    KIND_JOB.prepare(doc, root, 0);
    kt_expect_at(root, "spec.selector", SELECTOR);
    kt_expect_at(root, "spec.template.metadata.labels", "{'app':'x'," GENERATED("u-1") "}");
    kt_expect_at(root, "status", "{}");
    /* a copy of that Job under a new uid */
    json_mut_set(doc, root, "metadata.uid", yyjson_mut_str(doc, "u-2"));
    KIND_JOB.prepare(doc, root, 0);
    kt_expect_at(root, "spec.template.metadata.labels", "{'app':'x'," GENERATED("u-2") "}");
}

static void test_prepare_leaves_manual_selectors(void **state)
{
    (void)state;
    scoped_json_mut *doc = kt_parse(REAL[3]);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    json_mut_set(doc, root, "metadata.uid", yyjson_mut_str(doc, "u-1"));
    KIND_JOB.prepare(doc, root, 0);
    kt_expect_at(root, "spec.selector", "{'matchLabels':{'app':'x'}}");
    kt_expect_at(root, "spec.template.metadata.labels", "{'app':'x'}");
}

/* ---- updates ---- */

struct update {
    const char *old, *now, *want;
};

static void try_update(const struct update *row)
{
    scoped_json_mut *old = kt_parse(row->old);
    scoped_json_mut *doc = kt_parse(row->now);
    yyjson_mut_val *old_root = yyjson_mut_doc_get_root(old);
    schema_fill(KIND_JOB.type, old, old_root);
    json_mut_set(old, old_root, "metadata.uid", yyjson_mut_str(old, "u-1"));
    KIND_JOB.prepare(old, old_root, 0);
    scoped_json *old_read = yyjson_mut_doc_imut_copy(old, NULL);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    json_mut_set(doc, root, "metadata.uid", yyjson_mut_str(doc, "u-1"));
    KIND_JOB.prepare_update(doc, root, yyjson_doc_get_root(old_read));
    struct findings findings = {0};
    kt_check(&KIND_JOB, doc, old, &findings);
    kt_expect(row->now, &findings, row->want);
    findings_done(&findings);
}

#define INDEXED(completions, parallelism)                                                          \
    JOB("'completionMode':'Indexed','completions':" completions ",'parallelism':" parallelism      \
        "," NEVER)

static void test_updates(void **state)
{
    (void)state;
    static const struct update ROWS[] = {
        /* the manifest as it was, and what may always change */
        {JOB(NEVER), JOB(NEVER), NULL},
        {JOB(NEVER), JOB("'completions':1,'parallelism':4,'suspend':true,'backoffLimit':1," NEVER),
         NULL},
        {JOB(NEVER), JOB("'completions':2," NEVER),
         "spec.completions: Invalid value: 2: field is immutable"},
        {INDEXED("2", "2"), INDEXED("3", "3"), NULL},
        {INDEXED("2", "2"), INDEXED("3", "2"),
         "spec.completions: Invalid value: 3: can only be changed to the same number as "
         "parallelism, both together"},
        {INDEXED("2", "1"), JOB("'completions':2," NEVER),
         "spec.completionMode: Invalid value: \"NonIndexed\": field is immutable"},
        {JOB(NEVER), JOB("'selector':{'matchLabels':{'a':'b'}}," NEVER),
         "spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"b\"}}: field is immutable"},
        {JOB(NEVER), JOB(POD_OF("Never", ",'hostNetwork':true")),
         "spec.template.spec.hostNetwork: Forbidden: field is immutable"},
        {JOB(NEVER), JOB(POD_OF("Never", ",'nodeSelector':{'a':'b'}")),
         "spec.template.spec.nodeSelector.a: Forbidden: field is immutable"},
        /* suspended: where its pods go can be decided, also while it is resumed */
        {JOB("'suspend':true," NEVER), JOB(POD_OF("Never", ",'nodeSelector':{'a':'b'}")), NULL},
        {JOB("'suspend':true," NEVER), JOB(POD_OF("Never", ",'hostNetwork':true")),
         "spec.template.spec.hostNetwork: Forbidden: field is immutable; of the template of a "
         "suspended Job only labels, annotations and what decides on nodes may change"},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++)
        try_update(&ROWS[i]);
}

/* ---- columns ---- */

#define NOW 1767323045000 /* 2026-01-02T03:04:05Z */
#define ROW_OF(meta, spec, status)                                                                 \
    "{'metadata':{'name':'j','creationTimestamp':'2026-01-02T03:00:00Z'" meta "},'spec':{" spec    \
    "},'status':{" status "}}"
#define IS(type) "'conditions':[{'type':'" type "','status':'True'}]"
#define REST ",'4m5s','','','<none>']"
#define DELETED ",'deletionTimestamp':'2026-01-02T03:04:00Z'"

// clang-format off
static const struct {
    const char *object, *cells;
} COLUMN_ROWS[] = {
    {ROW_OF("", "", ""),                             "['j','Running','0/1',''" REST},
    {ROW_OF("", "'completions':3", "'succeeded':2"), "['j','Running','2/3',''" REST},
    {ROW_OF("", "'parallelism':3", "'succeeded':1"), "['j','Running','1/1 of 3',''" REST},
    {ROW_OF("", "'parallelism':1", ""),              "['j','Running','0/1',''" REST},
    {ROW_OF("", "", IS("Suspended")),                "['j','Suspended','0/1',''" REST},
    {ROW_OF("", "", IS("FailureTarget")),            "['j','FailureTarget','0/1',''" REST},
    {ROW_OF("", "", IS("SuccessCriteriaMet")),       "['j','SuccessCriteriaMet','0/1',''" REST},
    {ROW_OF("", "", IS("Failed")),                   "['j','Failed','0/1',''" REST},
    {ROW_OF(DELETED, "", IS("Suspended")),           "['j','Terminating','0/1',''" REST},
    {ROW_OF(DELETED, "", IS("Complete")),            "['j','Complete','0/1',''" REST},
    {ROW_OF("", "", "'startTime':'2026-01-02T03:04:00Z'"), "['j','Running','0/1','5s'" REST},
    {ROW_OF("", "", "'startTime':'2026-01-02T03:00:00Z','completionTime':"
                    "'2026-01-02T03:00:30Z'," IS("Complete")), "['j','Complete','0/1','30s'" REST},
    {ROW_OF("", "'completions':1,'template':{'spec':{'containers':[{'name':'a','image':'i:1'},"
                "{'name':'b','image':'k'}]}},'selector':{'matchLabels':{'z':'1','a':'2'},"
                "'matchExpressions':[{'key':'k','operator':'In','values':['y','x']},{'key':'n',"
                "'operator':'DoesNotExist'}]}", ""),
     "['j','Running','0/1','','4m5s','a,b','i:1,k','!n,a=2,k in (x,y),z=1']"},
};
// clang-format on

static void test_columns(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(COLUMN_ROWS); i++)
        kt_expect_cells(&KIND_JOB, COLUMN_ROWS[i].object, NOW, COLUMN_ROWS[i].cells);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_real_manifests_pass),
        cmocka_unit_test(test_wrong_ones_are_found),
        cmocka_unit_test(test_wrong_types_do_not_crash),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_prepare_generates_selector_and_labels),
        cmocka_unit_test(test_prepare_leaves_manual_selectors),
        cmocka_unit_test(test_updates),
        cmocka_unit_test(test_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

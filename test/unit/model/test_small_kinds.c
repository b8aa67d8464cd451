// SPDX-License-Identifier: Apache-2.0
/* Namespace, Node, ConfigMap, Event, Lease and NodeConfig: few fields each, so their tests share a
 * file. */
#include "base/map.h"
#include "kindtest.h"

#define NOW 1767323045000 /* 2026-01-02T03:04:05Z */
#define META(more) "'metadata':{'name':'x','creationTimestamp':'2026-01-02T03:00:00Z'" more "}"

#define THROTTLING(more) "{" META("") ",'spec':{'throttling':{" more "}}}"

// clang-format off
static const struct {
    const struct kind *kind;
    const char *old, *object, *want;
} CHECKS[] = {
    /* Namespace */
    {&KIND_NAMESPACE, NULL, "{" META("") "}", NULL},
    {&KIND_NAMESPACE, NULL, "{" META("") ",'status':{'phase':'Gone'}}",
     "status.phase: Unsupported value: \"Gone\": supported values: \"Active\", \"Terminating\""},
    /* Node */
    {&KIND_NODE, NULL, "{" META("") ",'spec':{'taints':[{'key':'a','effect':'NoSchedule'},{'key':"
                       "'a','effect':'NoExecute'}]},'status':{'capacity':{'cpu':8},'addresses':[{"
                       "'type':'InternalIP','address':'10.0.0.1'},{'type':'InternalIP','address':"
                       "'fd00::1'}],'daemonEndpoints':{'kubeletEndpoint':{'Port':10250}}}}", NULL},
    {&KIND_NODE, NULL, "{" META("") ",'spec':{'taints':[{'key':'a','effect':'NoSchedule'},{'key':"
                       "'a','value':'b','effect':'NoSchedule'}]}}",
     "spec.taints[1]: Duplicate value: {\"key\":\"a\",\"value\":\"b\",\"effect\":\"NoSchedule\"}"},
    {&KIND_NODE, NULL, "{" META("") ",'spec':{'taints':[{'key':'a'}]}}",
     "spec.taints[0].effect: Required value"},
    /* ConfigMap */
    {&KIND_CONFIGMAP, NULL, "{" META("") ",'data':{'a.conf':'text','B_c':''},'binaryData':{'d':"
                            "'AAEC'}}", NULL},
    {&KIND_CONFIGMAP, NULL, "{" META("") ",'data':{'a':'x'},'binaryData':{'a':'AAEC'}}",
     "binaryData[a]: Invalid value: \"a\": duplicate of a key in data"},
    {&KIND_CONFIGMAP, NULL, "{" META("") ",'data':{'a/b':'x'}}",
     "data: Invalid value: \"a/b\": ..."},
    {&KIND_CONFIGMAP, "{" META("") ",'data':{'a':'x'}}", "{" META("") ",'data':{'a':'y'}}", NULL},
    {&KIND_CONFIGMAP, "{" META("") ",'data':{'a':'x'}}",
     "{" META("") ",'immutable':true,'data':{'a':'y'}}", NULL},
    {&KIND_CONFIGMAP, "{" META("") ",'immutable':true,'data':{'a':'x'}}",
     "{" META(",'labels':{'l':'m'}") ",'immutable':true,'data':{'a':'x'}}", NULL},
    {&KIND_CONFIGMAP, "{" META("") ",'immutable':true,'data':{'a':'x'}}",
     "{" META("") ",'immutable':true,'data':{'a':'y'}}",
     "data: Forbidden: field is immutable when `immutable` is set | delete the ConfigMap and "
     "create it anew, or use another name"},
    {&KIND_CONFIGMAP, "{" META("") ",'immutable':true}", "{" META("") "}",
     "immutable: Forbidden: field is immutable when `immutable` is set"},
    /* Event */
    {&KIND_EVENT, NULL, "{" META(",'namespace':'n'") ",'involvedObject':{'kind':'Pod','namespace':"
                        "'n','name':'p'},'reason':'R','message':'m','type':'Normal','count':1,"
                        "'firstTimestamp':null,'eventTime':'2026-01-02T03:04:05.678901Z',"
                        "'reportingComponent':'','reportingInstance':'','source':{}}", NULL},
    {&KIND_EVENT, NULL, "{" META(",'namespace':'n'") ",'involvedObject':{'namespace':'m'}}",
     "involvedObject.namespace: Invalid value: \"m\": does not match event.namespace"},
    {&KIND_EVENT, NULL, "{" META("") "}", "involvedObject: Required value"},
    /* Lease */
    {&KIND_LEASE, NULL, "{" META("") ",'spec':{'holderIdentity':'h','leaseDurationSeconds':15,"
                        "'renewTime':'2026-01-02T03:04:05.000001Z','leaseTransitions':0}}", NULL},
    {&KIND_LEASE, NULL, "{" META("") ",'spec':{'leaseDurationSeconds':0}}",
     "spec.leaseDurationSeconds: Invalid value: 0: must be greater than or equal to 1"},
    /* NodeConfig */
    {&KIND_NODECONFIG, NULL, "{" META("") "}", NULL},
    {&KIND_NODECONFIG, NULL, "{" META("") ",'spec':{'startingWeight':0.01,'images':'Ignore',"
     "'restartBackoff':{'initial':'10s','max':'5m','resetAfter':'10m'},'logs':{'maxSize':'10Mi',"
     "'maxFiles':5}}}", NULL},
    {&KIND_NODECONFIG, NULL, THROTTLING("'maxStartingContainersPerCore':'3','maxStarting':7,"
     "'maxRate':'10','burst':5,'minRate':'0.1','maxCPU':'80%','maxIO':80,'maxPressure':'62.5%',"
     "'maxLoadAverageMultiplier':1.5,'cpuWindow':'10s','ioWindow':'1m','pressureWindow':'1h',"
     "'startTimeout':'90s'"), NULL},
    {&KIND_NODECONFIG, NULL, THROTTLING("'maxStartingContainersPerCore':0.33,'maxCPU':0,"
     "'maxIO':'0%','maxPressure':'0.8%','maxRate':0,'minRate':0.1"), NULL},
    {&KIND_NODECONFIG, NULL, THROTTLING("'maxCPU':0.8"),
     "spec.throttling.maxCPU: Invalid value: 0.8: may be a percentage or a part of 1 | write it "
     "with its sign, in quotes: \"0.8%\""},
    {&KIND_NODECONFIG, NULL, THROTTLING("'maxIO':'1'"),
     "spec.throttling.maxIO: Invalid value: \"1\": may be a percentage or a part of 1"},
    {&KIND_NODECONFIG, NULL, THROTTLING("'maxIO':101"), "spec.throttling.maxIO: Invalid value: 101: "
     "must be a percentage between 0% and 100%, such as \"80%\" or 80"},
    {&KIND_NODECONFIG, NULL, THROTTLING("'maxIO':-5"), "spec.throttling.maxIO: Invalid value: -5: "
     "must be a percentage between 0% and 100%, such as \"80%\" or 80"},
    {&KIND_NODECONFIG, NULL, THROTTLING("'maxIO':'8 %'"), "spec.throttling.maxIO: Invalid value: "
     "\"8 %\": must be a percentage ..."},
    {&KIND_NODECONFIG, NULL, THROTTLING("'maxIO':'%'"), "spec.throttling.maxIO: Invalid value: "
     "\"%\": must be a percentage ..."},
    {&KIND_NODECONFIG, NULL, THROTTLING("'maxIO':true"), "spec.throttling.maxIO: Invalid value: "
     "\"boolean\": must be a percentage"},
    {&KIND_NODECONFIG, NULL, THROTTLING("'maxRate':-1"), "spec.throttling.maxRate: Invalid value: -1: "
     "must be between 0 and 1000000, inclusive"},
    {&KIND_NODECONFIG, NULL, THROTTLING("'maxRate':'-0.5'"), "spec.throttling.maxRate: Invalid "
     "value: \"-0.5\": must be between 0 and 1000000, inclusive"},
    {&KIND_NODECONFIG, NULL, THROTTLING("'maxRate':'ten'"), "spec.throttling.maxRate: Invalid "
     "value: \"ten\": must be a quantity such as 2, 500m or 1.5Gi"},
    {&KIND_NODECONFIG, NULL, THROTTLING("'minRate':'11','maxRate':10"), "spec.throttling.minRate: "
     "Invalid value: \"11\": must not be more than maxRate"},
    {&KIND_NODECONFIG, NULL, THROTTLING("'minRate':10,'maxRate':'10'"), NULL},
    {&KIND_NODECONFIG, NULL, THROTTLING("'maxStarting':1.5"), "spec.throttling.maxStarting: Invalid "
     "value: 1.5: must be a whole number"},
    {&KIND_NODECONFIG, NULL, THROTTLING("'burst':'2.5'"), "spec.throttling.burst: Invalid value: "
     "\"2.5\": must be a whole number"},
    {&KIND_NODECONFIG, NULL, THROTTLING("'maxStarting':1e9"), "spec.throttling.maxStarting: Invalid "
     "value: 1000000000.0: must be between 0 and 1000000, inclusive"},
    {&KIND_NODECONFIG, NULL, THROTTLING("'burst':0"), "spec.throttling.burst: Invalid value: 0: must "
     "be between 1 and 1000000, inclusive"},
    {&KIND_NODECONFIG, NULL, THROTTLING("'cpuWindow':'10'"), "spec.throttling.cpuWindow: Invalid "
     "value: \"10\": must be a duration such as 90s, 5m or 1h30m"},
    {&KIND_NODECONFIG, NULL, THROTTLING("'ioWindow':'10ms'"), "spec.throttling.ioWindow: Invalid "
     "value: \"10ms\": must be between 1s and 1h0m0s"},
    {&KIND_NODECONFIG, NULL, THROTTLING("'startTimeout':'0s'"), "spec.throttling.startTimeout: "
     "Invalid value: \"0s\": must be between 1s and 24h0m0s"},
    {&KIND_NODECONFIG, NULL, THROTTLING("'maxLoadAverageMulitplier':1.5"),
     "spec.throttling.maxLoadAverageMulitplier: ..."},
    {&KIND_NODECONFIG, NULL, "{" META("") ",'spec':{'startingWeight':'1.01'}}",
     "spec.startingWeight: Invalid value: \"1.01\": must be between 0.01 and 1, inclusive"},
    {&KIND_NODECONFIG, NULL, "{" META("") ",'spec':{'startingWeight':0}}",
     "spec.startingWeight: Invalid value: 0: must be between 0.01 and 1, inclusive"},
    {&KIND_NODECONFIG, NULL, "{" META("") ",'spec':{'restartBackoff':{'initial':'6m','max':'5m'}}}",
     "spec.restartBackoff.initial: Invalid value: \"6m\": must not be longer than max"},
    {&KIND_NODECONFIG, NULL, "{" META("") ",'spec':{'logs':{'maxFiles':0}}}",
     "spec.logs.maxFiles: Invalid value: 0: must be between 1 and 1000, inclusive"},
    {&KIND_NODECONFIG, NULL, "{" META("") ",'spec':{'logs':{'maxSize':'1023'}}}",
     "spec.logs.maxSize: Invalid value: \"1023\": must be between 1024 and 1099511627776, inclusive"},
    {&KIND_NODECONFIG, NULL, "{" META("") ",'spec':{'images':'ignore'}}",
     "spec.images: Unsupported value: \"ignore\": supported values: \"Refuse\", \"Ignore\""},
    /* metadata, for all of them */
    {&KIND_LEASE, "{" META(",'uid':'u'") "}", "{" META(",'uid':'v'") "}",
     "metadata.uid: Invalid value: \"v\": field is immutable"},
};
// clang-format on

static void test_checks(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CHECKS); i++) {
        scoped_json_mut *doc = kt_parse(CHECKS[i].object);
        scoped_json_mut *old = CHECKS[i].old != NULL ? kt_parse(CHECKS[i].old) : NULL;
        struct findings findings = {0};
        kt_check(CHECKS[i].kind, doc, old, &findings);
        kt_expect(CHECKS[i].object, &findings, CHECKS[i].want);
        findings_done(&findings);
    }
}

static void test_configmap_size(void **state)
{
    (void)state;
    struct str big = {0};
    for (size_t i = 0; i < 1024; i++)
        str_addf(&big, "%01024d", 0);
    for (size_t extra = 0; extra < 2; extra++) {
        scoped_free char *text = mem_printf("{" META("") ",'data':{'a':'%s','b':'%s'}}",
                                            str_text(&big), extra ? "x" : "");
        scoped_json_mut *doc = kt_parse(text);
        struct findings findings = {0};
        kt_check(&KIND_CONFIGMAP, doc, NULL, &findings);
        kt_expect("size", &findings,
                  extra ? ": Forbidden: all entries together may have 1048576 bytes" : NULL);
        findings_done(&findings);
    }
    str_done(&big);
}

static void test_namespace_prepare(void **state)
{
    (void)state;
    scoped_json_mut *doc = kt_parse("{'metadata':{'generateName':'t-'}}");
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    schema_fill(KIND_NAMESPACE.type, doc, root);
    kt_expect_at(root, "metadata.labels", "");
    json_mut_set(doc, root, "metadata.name", yyjson_mut_str(doc, "t-abcde"));
    KIND_NAMESPACE.prepare(doc, root, NOW);
    kt_expect_at(root, "metadata.labels", "{'kubernetes.io/metadata.name':'t-abcde'}");
    kt_expect_at(root, "spec", "{'finalizers':['kubernetes']}");
    kt_expect_at(root, "status", "{'phase':'Active'}");
}

#define EVENT(more)                                                                                \
    "{'metadata':{'name':'p.1'},'involvedObject':{'kind':'Pod','name':'p','fieldPath':"            \
    "'spec.containers{a}'},'reason':'Started','message':' hello\\n','type':'Normal'" more "}"

// clang-format off
static const struct {
    const struct kind *kind;
    const char *object, *cells;
} ROWS[] = {
    {&KIND_NAMESPACE, "{" META("") ",'status':{'phase':'Active'}}", "['x','Active','4m5s']"},
    {&KIND_CONFIGMAP, "{" META("") ",'data':{'a':'1','b':'2'},'binaryData':{'c':''}}",
     "['x',3,'4m5s']"},
    {&KIND_CONFIGMAP, "{" META("") "}", "['x',0,'4m5s']"},
    {&KIND_LEASE, "{" META("") ",'spec':{'holderIdentity':'h'}}", "['x','h','4m5s']"},
    {&KIND_LEASE, "{" META("") "}", "['x','','4m5s']"},
    {&KIND_NODECONFIG, "{" META("") "}", "['x','1/core','<none>','<none>','4m5s']"},
    {&KIND_NODECONFIG, THROTTLING("'maxStartingContainersPerCore':'3','maxRate':10,'maxCPU':'80%'"),
     "['x','3/core','10/s','80%','4m5s']"},
    {&KIND_NODECONFIG, THROTTLING("'maxStartingContainersPerCore':0.5,'maxStarting':'7','maxCPU':80"),
     "['x','0.5/core, at most 7','<none>','80%','4m5s']"},
    /* Node */
    {&KIND_NODE, "{" META("") "}",
     "['x','Unknown','<none>','4m5s','','<none>','<none>','<unknown>','<unknown>','<unknown>']"},
    {&KIND_NODE, "{" META(",'labels':{'node-role.kubernetes.io/worker':'','kubernetes.io/role':"
     "'gpu','node-role.kubernetes.io/control-plane':'','node-role.kubernetes.io/gpu':'','a':'b'}")
     ",'spec':{'unschedulable':true},'status':{'conditions':[{'type':'MemoryPressure','status':"
     "'False'},{'type':'Ready','status':'True'}],'addresses':[{'type':'Hostname','address':'x'},{"
     "'type':'ExternalIP','address':'192.0.2.1'},{'type':'InternalIP','address':'10.0.0.1'}],"
     "'nodeInfo':{'kubeletVersion':'v1','osImage':'Debian','kernelVersion':'6.1',"
     "'containerRuntimeVersion':'process://0.1'}}}",
     "['x','Ready,SchedulingDisabled','control-plane,gpu,worker','4m5s','v1','10.0.0.1',"
     "'192.0.2.1','Debian','6.1','process://0.1']"},
    {&KIND_NODE, "{" META("") ",'status':{'conditions':[{'type':'Ready','status':'Unknown'}]}}",
     "['x','NotReady','<none>','4m5s','','<none>','<none>','<unknown>','<unknown>','<unknown>']"},
    /* Event */
    {&KIND_EVENT, EVENT(""),
     "['<unknown>','Normal','Started','pod/p','spec.containers{a}','','hello','<unknown>',1,'p.1']"},
    {&KIND_EVENT, EVENT(",'firstTimestamp':'2026-01-02T03:00:00Z','lastTimestamp':"
                        "'2026-01-02T03:04:00Z','count':7,'source':{'component':'c','host':'h'}"),
     "['5s','Normal','Started','pod/p','spec.containers{a}','c, h','hello','4m5s',7,'p.1']"},
    {&KIND_EVENT, EVENT(",'eventTime':'2026-01-02T03:04:00.123456Z','reportingComponent':'r'"),
     "['4s','Normal','Started','pod/p','spec.containers{a}','r','hello','4s',1,'p.1']"},
    {&KIND_EVENT, EVENT(",'eventTime':'2026-01-02T03:00:00.000000Z','series':{'count':3,"
                        "'lastObservedTime':'2026-01-02T03:04:03.000000Z'},'reportingInstance':'i'"),
     "['2s','Normal','Started','pod/p','spec.containers{a}',', i','hello','4m5s',3,'p.1']"},
};
// clang-format on

static void test_columns(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++)
        kt_expect_cells(ROWS[i].kind, ROWS[i].object, NOW, ROWS[i].cells);
}

/* ---- all tables ---- */

#define DEPTH_MAX 12

/* One OpenAPI name is one type; clients would see only one of two. */
static void check_type_name(struct map *names, const struct type *type)
{
    const struct type *other = map_put(names, type->name, (void *)type);
    if (other != NULL && other != type)
        fail_msg("two types are called %s", type->name);
}

static void check_type_table(struct map *names, const struct type *type, int depth)
{
    check_type_name(names, type);
    assert_true(depth < DEPTH_MAX);
    assert_non_null(type->name);
    assert_true(type->doc != NULL && str_ends(type->doc, "."));
    for (const struct field *f = type->fields; f->name != NULL; f++) {
        if (f->doc == NULL || !(str_ends(f->doc, ".") || str_ends(f->doc, "?")))
            fail_msg("%s.%s has no doc text that ends in a full stop", type->name, f->name);
        if (type_field(type, f->name, strlen(f->name)) != f)
            fail_msg("%s.%s is there twice", type->name, f->name);
        if ((f->type == F_OBJECT) != (f->of != NULL))
            fail_msg("%s.%s: `of` does not fit its type", type->name, f->name);
        if (f->merge_key != NULL && type_field(f->of, f->merge_key, strlen(f->merge_key)) == NULL)
            fail_msg("%s.%s: its items have no %s", type->name, f->name, f->merge_key);
        if (f->of != NULL)
            check_type_table(names, f->of, depth + 1);
    }
}

/* What `kubectl explain` shows must be there, and the engine relies on the rest. */
static void test_tables_are_whole(void **state)
{
    (void)state;
    static const struct kind *const ALL[] = {&KIND_NAMESPACE, &KIND_NODE,      &KIND_POD,
                                             &KIND_EVENT,     &KIND_CONFIGMAP, &KIND_JOB,
                                             &KIND_LEASE,     &KIND_NODECONFIG};
    struct map *names = map_new();
    for (size_t i = 0; i < ARRAY_LEN(ALL); i++) {
        check_type_table(names, ALL[i]->type, 0);
        for (const struct column *c = ALL[i]->columns; c->name != NULL; c++)
            assert_true((c->path != NULL) != (c->cell != NULL));
    }
    map_free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checks),
        cmocka_unit_test(test_configmap_size),
        cmocka_unit_test(test_namespace_prepare),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_tables_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

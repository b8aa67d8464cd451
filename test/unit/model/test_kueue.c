// SPDX-License-Identifier: Apache-2.0
/* The kinds of kueue.x-k8s.io: defaults, what is refused and why, and their two versions. */
#include "kindtest.h"

#define API "'apiVersion':'kueue.x-k8s.io/v1beta2'"
#define CQ(spec) "{" API ",'kind':'ClusterQueue','metadata':{'name':'q'},'spec':{" spec "}}"
#define GROUP(resources, flavors) "{'coveredResources':[" resources "],'flavors':[" flavors "]}"
#define FLAVOR(name, resources) "{'name':'" name "','resources':[" resources "]}"
#define CPU(more) "{'name':'cpu','nominalQuota':4" more "}"
#define SIMPLE "'resourceGroups':[" GROUP("'cpu'", FLAVOR("a", CPU(""))) "]"
#define WL_FULL(meta, spec, status)                                                                \
    "{" API ",'kind':'Workload','metadata':{'name':'w'" meta "},'spec':{" spec                     \
    "},'status':{" status "}}"
#define TEMPLATE "'template':{'spec':{'containers':[{'name':'c','image':'i'}]}}"
#define SET(more) "{'name':'main','count':3," TEMPLATE more "}"
#define WL(spec, status) WL_FULL("", spec, status)
#define RESERVED "'conditions':[{'type':'QuotaReserved','status':'True','reason':'r'}]"

#define ASKS(cpu)                                                                                  \
    "{'name':'main','count':1,'template':{'spec':{'containers':[{'name':'c','image':'i','"         \
    "resources':{"                                                                                 \
    "'requests':{'cpu':" cpu "}}}]}}}"
#define CLASS(group, kind) "{'group':'" group "','kind':'" kind "','name':'high'}"
#define ADMISSION(usage)                                                                           \
    "'admission':{'clusterQueue':'q','podSetAssignments':[{'name':'main','count':3,"               \
    "'resourceUsage':{" usage "}}]}"
#define ANSWER(update)                                                                             \
    "'admissionChecks':[{'name':'a','state':'Ready','podSetUpdates':[{" update "}]}]"

#define JOB_WITH(seconds)                                                                          \
    "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'j','labels':{'kueue.x-k8s.io/"      \
    "queue-name':'lq','kueue.x-k8s.io/max-exec-time-seconds':'" seconds "'}},'spec':{'template':{" \
    "'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'i'}]}}}}"

#define JOB(meta, spec)                                                                            \
    "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'j'," meta "},'spec':{" spec         \
    ",'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'i'}]}}}}"
#define LEAST "metadata.annotations[kueue.x-k8s.io/job-min-parallelism]"
#define JOB_LEAST(pods, least)                                                                     \
    JOB("'annotations':{'kueue.x-k8s.io/job-min-parallelism':'" least "'}", "'parallelism':" pods)
#define JOB_IN(queue, suspend)                                                                     \
    JOB("'labels':{'kueue.x-k8s.io/queue-name':'" queue "'}", "'suspend':" suspend)

#define SIZE(pods) "'kueue.x-k8s.io/pod-group-total-count':" pods
#define POD_IN(labels, annotations)                                                                \
    "{'metadata':{'name':'p','labels':{'kueue.x-k8s.io/queue-name':'lq'," labels                   \
    "},'annotations':{" annotations "}},'spec':{'containers':[{'name':'c','image':'i'}]}}"

struct row {
    const char *label;
    const struct kind *kind;
    const char *old, *object, *want; /* "path: text" of the first finding, NULL: none */
};

static void check_row(const struct row *row)
{
    scoped_json_mut *doc = kt_parse(row->object);
    scoped_json_mut *old = row->old != NULL ? kt_parse(row->old) : NULL;
    struct findings findings = {0};
    if (old != NULL)
        schema_fill(row->kind->type, old, yyjson_mut_doc_get_root(old));
    schema_unknown(row->kind->type, yyjson_mut_doc_get_root(doc), &findings);
    schema_fill(row->kind->type, doc, yyjson_mut_doc_get_root(doc));
    schema_check(row->kind->type, yyjson_mut_doc_get_root(doc),
                 old != NULL ? yyjson_mut_doc_get_root(old) : NULL, &findings);
    scoped_str got = {0};
    if (findings.list.len > 0)
        str_addf(&got, "%s: %s", findings.list.items[0].path, findings.list.items[0].text);
    findings_done(&findings);
    if (!str_eq(str_text(&got), row->want != NULL ? row->want : ""))
        fail_msg("%s\nwant %s\n got %s", row->label, row->want, str_text(&got));
}

static void test_refusals(void **state)
{
    static const struct row ROWS[] = {
        {"plain", &KIND_CLUSTERQUEUE, NULL, CQ(SIMPLE), NULL},
        {"an execution time", &KIND_JOB, NULL, JOB_WITH("1"), NULL},
        {"an execution time that is none", &KIND_JOB, NULL, JOB_WITH("10m"),
         "metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]: Invalid value: \"10m\": should be "
         "a number of seconds between 1 and 2147483647"},
        {"no execution time at all", &KIND_JOB, NULL, JOB_WITH("0"),
         "metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]: Invalid value: \"0\": should be a "
         "number of seconds between 1 and 2147483647"},
        {"fewer pods will do", &KIND_JOB, NULL, JOB_LEAST("4", "3"), NULL},
        {"as few as all", &KIND_JOB, NULL, JOB_LEAST("4", "4"),
         LEAST
         ": Invalid value: \"4\": should be a number above 0 and below 4, the pods at a time"},
        {"fewer than one", &KIND_JOB, NULL, JOB_LEAST("4", "0"),
         LEAST
         ": Invalid value: \"0\": should be a number above 0 and below 4, the pods at a time"},
        {"fewer is no number", &KIND_JOB, NULL, JOB_LEAST("4", "two"),
         LEAST ": Invalid value: \"two\": should be a number above 0 and below 4, the pods at a "
               "time"},
        {"it runs with as few as will do", &KIND_JOB, JOB_LEAST("4", "2"), JOB_LEAST("2", "2"),
         NULL},
        {"a Job that runs changes its queue", &KIND_JOB, JOB_IN("a", "false"), JOB_IN("b", "false"),
         "metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: \"b\": field is immutable "
         "while it is not suspended"},
        {"a Job that waits changes its queue", &KIND_JOB, JOB_IN("a", "true"), JOB_IN("b", "true"),
         NULL},
        {"a group of pods", &KIND_POD, NULL,
         POD_IN("'kueue.x-k8s.io/pod-group-name':'g'", SIZE("'2'")), NULL},
        {"a group without a size", &KIND_POD, NULL,
         POD_IN("'kueue.x-k8s.io/pod-group-name':'g'", ""),
         "metadata.annotations[kueue.x-k8s.io/pod-group-total-count]: Required value: a group of "
         "pods has this annotation and kueue.x-k8s.io/pod-group-name"},
        {"a size without a group", &KIND_POD, NULL, POD_IN("'a':'b'", SIZE("'2'")),
         "metadata.labels[kueue.x-k8s.io/pod-group-name]: Required value: a group of pods has this "
         "label and kueue.x-k8s.io/pod-group-total-count"},
        {"a group of none", &KIND_POD, NULL,
         POD_IN("'kueue.x-k8s.io/pod-group-name':'g'", SIZE("'0'")),
         "metadata.annotations[kueue.x-k8s.io/pod-group-total-count]: Invalid value: \"0\": should "
         "be a number of pods, 1 or more"},
        {"a group that no Workload can be named after", &KIND_POD, NULL,
         POD_IN("'kueue.x-k8s.io/pod-group-name':'G'", SIZE("'2'")),
         "metadata.labels[kueue.x-k8s.io/pod-group-name]: Invalid value: \"G\": a DNS subdomain "
         "(RFC "
         "1123) is made of lower-case letters, digits, '-' and '.', and each part must start and "
         "end with a letter or digit (like 'example.com')"},
        {"borrowingLimit needs a cohort", &KIND_CLUSTERQUEUE, NULL,
         CQ("'resourceGroups':[" GROUP("'cpu'", FLAVOR("a", CPU(",'borrowingLimit':1"))) "]"),
         "spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit: Invalid value: 1: must be "
         "nil when cohortName is empty"},
        {"with one", &KIND_CLUSTERQUEUE, NULL,
         CQ("'cohortName':'c','resourceGroups':[" GROUP(
             "'cpu'", FLAVOR("a", CPU(",'borrowingLimit':1,'lendingLimit':'4'"))) "]"),
         NULL},
        {"lends what it does not have", &KIND_CLUSTERQUEUE, NULL,
         CQ("'cohortName':'c','resourceGroups':[" GROUP("'cpu'",
                                                        FLAVOR("a", CPU(",'lendingLimit':5"))) "]"),
         "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit: Invalid value: 5: must be "
         "less than or equal to the nominalQuota"},
        {"resources in another order", &KIND_CLUSTERQUEUE, NULL,
         CQ("'resourceGroups':[" GROUP("'memory'", FLAVOR("a", CPU(""))) "]"),
         "spec.resourceGroups[0].flavors[0].resources[0].name: Invalid value: \"cpu\": must match "
         "the name in coveredResources"},
        {"a resource in two groups", &KIND_CLUSTERQUEUE, NULL,
         CQ("'resourceGroups':[" GROUP("'cpu'", FLAVOR("a", CPU(""))) "," GROUP(
             "'cpu'", FLAVOR("b", CPU(""))) "]"),
         "spec.resourceGroups[1].coveredResources[0]: Duplicate value: \"cpu\""},
        {"a flavor in two groups", &KIND_CLUSTERQUEUE, NULL,
         CQ("'resourceGroups':[" GROUP("'cpu'", FLAVOR("a", CPU(""))) "," GROUP(
             "'memory'", FLAVOR("a", "{'name':'memory','nominalQuota':'1Gi'}")) "]"),
         "spec.resourceGroups[1].flavors[0].name: Duplicate value: \"a\""},
        {"negative quota", &KIND_CLUSTERQUEUE, NULL,
         CQ("'resourceGroups':[" GROUP("'cpu'",
                                       FLAVOR("a", "{'name':'cpu','nominalQuota':-1}")) "]"),
         "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: Invalid value: -1: must be "
         "greater than or equal to 0"},
        {"strategy", &KIND_CLUSTERQUEUE, NULL, CQ("'queueingStrategy':'Fifo'"),
         "spec.queueingStrategy: Unsupported value: \"Fifo\": supported values: \"StrictFIFO\", "
         "\"BestEffortFIFO\""},
        {"preemption while borrowing", &KIND_CLUSTERQUEUE, NULL,
         CQ("'preemption':{'borrowWithinCohort':{'policy':'LowerPriority'}}"),
         "spec.preemption.borrowWithinCohort.policy: Invalid value: \"LowerPriority\": needs "
         "reclaimWithinCohort other than Never"},
        {"a preference that nothing asks for", &KIND_CLUSTERQUEUE, NULL,
         CQ("'flavorFungibility':{'preference':'BorrowingOverPreemption'}"),
         "spec.flavorFungibility.preference: Invalid value: \"BorrowingOverPreemption\": needs "
         "whenCanBorrow and whenCanPreempt to be TryNextFlavor"},
        {"a preference", &KIND_CLUSTERQUEUE, NULL,
         CQ("'flavorFungibility':{'preference':'PreemptionOverBorrowing','whenCanBorrow':"
            "'TryNextFlavor','whenCanPreempt':'TryNextFlavor'}"),
         NULL},
        {"the old name in the new version", &KIND_CLUSTERQUEUE, NULL, CQ("'cohort':'c'"),
         "spec.cohort: unknown field \"spec.cohort\""},
        {"workload", &KIND_WORKLOAD, NULL, WL("'podSets':[" SET("") "]", ""), NULL},
        {"nothing is made of its templates", &KIND_WORKLOAD, NULL,
         WL("'podSets':[{'count':1,'template':{'spec':{'containers':[{'name':'c'}]}}}]", ""), NULL},
        {"no pod sets", &KIND_WORKLOAD, NULL, WL("'podSets':[]", ""),
         "spec.podSets: Required value"},
        {"more at least than at all", &KIND_WORKLOAD, NULL,
         WL("'podSets':[" SET(",'minCount':4") "]", ""),
         "spec.podSets[0].minCount: Invalid value: 4: should be positive and less or equal to "
         "count"},
        {"queue changes while it has quota", &KIND_WORKLOAD,
         WL("'queueName':'a','podSets':[" SET("") "]", RESERVED),
         WL("'queueName':'b','podSets':[" SET("") "]", RESERVED),
         "spec.queueName: Invalid value: \"b\": field is immutable while the workload has quota"},
        {"the same in other words while it has quota", &KIND_WORKLOAD,
         WL("'podSets':[" ASKS("1") "]", RESERVED), WL("'podSets':[" ASKS("'1000m'") "]", RESERVED),
         NULL},
        {"asks for more while it has quota", &KIND_WORKLOAD,
         WL("'podSets':[" ASKS("1") "]", RESERVED), WL("'podSets':[" ASKS("2") "]", RESERVED),
         "spec.podSets: Invalid value: [{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{"
         "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":2}}}"
         "]}}}]: field "
         "is immutable while the workload has quota"},
        {"queue changes while it waits", &KIND_WORKLOAD,
         WL("'queueName':'a','podSets':[" SET("") "]", ""),
         WL("'queueName':'b','podSets':[" SET("") "]", ""), NULL},
        {"too few assignments", &KIND_WORKLOAD, NULL,
         WL("'podSets':[" SET("") "]", "'admission':{'clusterQueue':'q','podSetAssignments':[]}"),
         "status.admission.podSetAssignments: Invalid value: []: must have the same number of "
         "podSets as the spec"},
        {"admission changes", &KIND_WORKLOAD,
         WL("'podSets':[" SET("") "]",
            "'admission':{'clusterQueue':'q','podSetAssignments':[{'name':'main'}]}"),
         WL("'podSets':[" SET("") "]",
            "'admission':{'clusterQueue':'r','podSetAssignments':[{'name':'main'}]}"),
         "status.admission: Invalid value: {\"clusterQueue\":\"r\",\"podSetAssignments\":[{\"name\""
         ":\"main\"}]}: field is immutable; set it to null first"},
        {"a container asks for pods", &KIND_WORKLOAD, NULL,
         WL("'podSets':[{'count':1,'template':{'spec':{'containers':[{'name':'c','image':'i',"
            "'resources':{'requests':{'pods':1}}}]}}}]",
            ""),
         "spec.podSets[0].template.spec.containers[0].resources.requests[pods]: Invalid value: 1: "
         "pods are counted; no container can ask for them"},
        {"a class without its priority", &KIND_WORKLOAD, NULL,
         WL("'priorityClassRef':" CLASS("kueue.x-k8s.io",
                                        "WorkloadPriorityClass") ",'podSets':[" SET("") "]",
            ""),
         "spec.priority: Required value: must be set when priorityClassRef is"},
        {"a class of another group", &KIND_WORKLOAD, NULL,
         WL("'priority':1,'priorityClassRef':" CLASS("kueue.x-k8s.io",
                                                     "PriorityClass") ",'podSets':[" SET("") "]",
            ""),
         "spec.priorityClassRef.kind: Invalid value: \"PriorityClass\": only WorkloadPriorityClass "
         "is of the group kueue.x-k8s.io"},
        {"a class goes while it has quota", &KIND_WORKLOAD,
         WL("'priority':1,'priorityClassRef':" CLASS(
                "kueue.x-k8s.io", "WorkloadPriorityClass") ","
                                                           "'podSets':[" SET("") "]",
            RESERVED),
         WL("'priority':1,'podSets':[" SET("") "]", RESERVED),
         "spec.priorityClassRef: Invalid value: \"null\": field is immutable while the workload "
         "has "
         "quota"},
        {"a class goes while it waits", &KIND_WORKLOAD,
         WL("'priority':1,'priorityClassRef':" CLASS(
                "kueue.x-k8s.io", "WorkloadPriorityClass") ","
                                                           "'podSets':[" SET("") "]",
            ""),
         WL("'priority':1,'podSets':[" SET("") "]", ""), NULL},
        {"usage of half a pod", &KIND_WORKLOAD, NULL,
         WL("'podSets':[" SET("") "]", ADMISSION("'cpu':'1'")),
         "status.admission.podSetAssignments[0].resourceUsage[cpu]: Invalid value: \"1\": is not a "
         "multiple of 3"},
        {"usage of whole pods", &KIND_WORKLOAD, NULL,
         WL("'podSets':[" SET("") "]", ADMISSION("'cpu':'1500m','memory':'3Gi'")), NULL},
        {"gives back what it did not give", &KIND_WORKLOAD,
         WL("'podSets':[" SET("") "]", RESERVED ",'reclaimablePods':[{'name':'main','count':1}]"),
         WL("'podSets':[" SET("") "]", RESERVED),
         "status.reclaimablePods[main]: Required value: cannot be removed while the workload has "
         "quota"},
        {"a check adds to a set that is not there", &KIND_WORKLOAD, NULL,
         WL("'podSets':[" SET("") "]", ANSWER("'name':'mian'")),
         "status.admissionChecks[0].podSetUpdates[0].name: Invalid value: \"mian\": not found"},
        {"a check adds what no label can be", &KIND_WORKLOAD, NULL,
         WL("'podSets':[" SET("") "]", ANSWER("'name':'main','nodeSelector':{'a':'@'}")),
         "status.admissionChecks[0].podSetUpdates[0].nodeSelector[a]: Invalid value: \"@\": a "
         "label's value is empty or made of letters, digits, '-', '_' and '.', and must start and "
         "end with a letter or digit (like 'MyValue' or '12345')"},
        {"a check changes its mind", &KIND_WORKLOAD,
         WL("'podSets':[" SET("") "]", ANSWER("'name':'main','labels':{'a':'1'}")),
         WL("'podSets':[" SET("") "]", ANSWER("'name':'main','labels':{'a':'2'}")),
         "status.admissionChecks[0].podSetUpdates: Invalid value: [{\"name\":\"main\",\"labels\":{"
         "\"a\":\"2\"}}]: field is immutable while the check is Ready"},
        {"local queue moves", &KIND_LOCALQUEUE,
         "{'metadata':{'name':'l'},'spec':{'clusterQueue':'a'}}",
         "{'metadata':{'name':'l'},'spec':{'clusterQueue':'b'}}",
         "spec.clusterQueue: Invalid value: \"b\": field is immutable"},
        {"priority class", &KIND_PRIORITYCLASS, NULL, "{'metadata':{'name':'p'}}",
         "value: Required value"},
        {"cohort in itself", &KIND_COHORT, NULL,
         "{'metadata':{'name':'c'},'spec':{'parentName':'c'}}",
         "spec.parentName: Invalid value: \"c\": a cohort cannot be part of itself"},
        {"a cohort lends what its queues have", &KIND_COHORT, NULL,
         "{'metadata':{'name':'c'},'spec':{'parentName':'p','resourceGroups':[" GROUP(
             "'cpu'", FLAVOR("a", CPU(",'lendingLimit':5"))) "]}}",
         NULL},
        {"a cohort without a parent lends", &KIND_COHORT, NULL,
         "{'metadata':{'name':'c'},'spec':{'resourceGroups':[" GROUP(
             "'cpu'", FLAVOR("a", CPU(",'lendingLimit':1"))) "]}}",
         "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit: Invalid value: 1: must be "
         "nil "
         "when parentName is empty"},
        {"a taint twice", &KIND_RESOURCEFLAVOR, NULL,
         "{'metadata':{'name':'f'},'spec':{'nodeTaints':[{'key':'k','effect':'NoSchedule'},{'key':"
         "'k','effect':'NoExecute'},{'key':'k','value':'v','effect':'NoSchedule'}]}}",
         "spec.nodeTaints[2]: Invalid value: {\"key\":\"k\",\"value\":\"v\",\"effect\":\"NoSchedule"
         "\"}: taints must be unique by key and effect"},
        {"nine labels", &KIND_RESOURCEFLAVOR, NULL,
         "{'metadata':{'name':'f'},'spec':{'nodeLabels':{'a':'','b':'','c':'','d':'','e':'','f':"
         "'','g':'','h':'','i':''}}}",
         "spec.nodeLabels: Invalid value: {\"a\":\"\",\"b\":\"\",\"c\":\"\",\"d\":\"\",\"e\":\"\","
         "\"f\":\"\",\"g\":\"\",\"h\":\"\",\"i\":\"\"}: must have at most 8 items"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++)
        check_row(&ROWS[i]);
}

static void test_defaults(void **state)
{
    (void)state;
    scoped_json_mut *doc = kt_parse(CQ(""));
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    schema_fill(KIND_CLUSTERQUEUE.type, doc, root);
    assert_string_equal(json_mut_str_at(root, "spec.queueingStrategy"), "BestEffortFIFO");
    assert_string_equal(json_mut_str_at(root, "spec.stopPolicy"), "None");
    assert_string_equal(json_mut_str_at(root, "spec.flavorFungibility.whenCanBorrow"),
                        "MayStopSearch");
    assert_string_equal(json_mut_str_at(root, "spec.flavorFungibility.whenCanPreempt"),
                        "TryNextFlavor");
    assert_string_equal(json_mut_str_at(root, "spec.preemption.withinClusterQueue"), "Never");
    assert_null(json_mut_at(root, "spec.namespaceSelector"));
    scoped_json_mut *wl = kt_parse(WL("'podSets':[{'count':1," TEMPLATE "}]", ""));
    root = yyjson_mut_doc_get_root(wl);
    schema_fill(KIND_WORKLOAD.type, wl, root);
    assert_true(yyjson_mut_get_bool(json_mut_at(root, "spec.active")));
    yyjson_mut_val *set = yyjson_mut_arr_get_first(json_mut_at(root, "spec.podSets"));
    assert_string_equal(json_mut_str_at(set, "name"), "main");
    assert_null(json_mut_at(set, "template.spec.restartPolicy")); /* as written */
}

/* ---- versions ---- */

static void expect_same(const char *label, yyjson_mut_doc *got, const char *want_text)
{
    scoped_json_mut *want = kt_parse(want_text);
    if (json_mut_equal(yyjson_mut_doc_get_root(got), yyjson_mut_doc_get_root(want)))
        return;
    scoped_str text = {0};
    json_write(yyjson_mut_doc_get_root(got), &text);
    fail_msg("%s\nwant %s\n got %s", label, want_text, str_text(&text));
}

#define OLD(kind, rest) "{'apiVersion':'kueue.x-k8s.io/v1beta1','kind':'" kind "'," rest "}"
#define NEW(kind, rest) "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'" kind "'," rest "}"

static void test_versions(void **state)
{
    static const struct {
        const char *kind, *old, *new_;
    } ROWS[] = {
        {"ClusterQueue",
         OLD("ClusterQueue", "'spec':{'cohort':'c','flavorFungibility':{'whenCanBorrow':'Borrow',"
                             "'whenCanPreempt':'Preempt'}}"),
         NEW("ClusterQueue", "'spec':{'cohortName':'c','flavorFungibility':{'whenCanBorrow':"
                             "'MayStopSearch','whenCanPreempt':'MayStopSearch'}}")},
        {"Cohort", OLD("Cohort", "'spec':{'parent':'p'}"),
         NEW("Cohort", "'spec':{'parentName':'p'}")},
        {"LocalQueue", OLD("LocalQueue", "'spec':{'clusterQueue':'a'},'status':{'flavorUsage':[]}"),
         NEW("LocalQueue", "'spec':{'clusterQueue':'a'},'status':{'flavorsUsage':[]}")},
        {"Workload",
         OLD("Workload", "'spec':{'priorityClassName':'high','priorityClassSource':"
                         "'kueue.x-k8s.io/workloadpriorityclass','priority':5},'status':{"
                         "'accumulatedPastExexcutionTimeSeconds':7}"),
         NEW("Workload", "'spec':{'priority':5,'priorityClassRef':{'group':'kueue.x-k8s.io','kind':"
                         "'WorkloadPriorityClass','name':'high'}},'status':{"
                         "'accumulatedPastExecutionTimeSeconds':7}")},
        {"Workload", OLD("Workload", "'spec':{'queueName':'a','ours':{'b':[1]}}"),
         NEW("Workload", "'spec':{'queueName':'a','ours':{'b':[1]}}")},
        {"ResourceFlavor", OLD("ResourceFlavor", "'spec':{'nodeLabels':{'a':'b'}}"),
         NEW("ResourceFlavor", "'spec':{'nodeLabels':{'a':'b'}}")},
        {"WorkloadPriorityClass", OLD("WorkloadPriorityClass", "'value':3"),
         NEW("WorkloadPriorityClass", "'value':3")},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        const struct kind *kind = kind_of_api("kueue.x-k8s.io/v1beta1", ROWS[i].kind);
        scoped_json_mut *doc = kt_parse(ROWS[i].old);
        assert_ptr_equal(kind_to_stored(kind, doc),
                         kind_of_api("kueue.x-k8s.io/v1beta2", ROWS[i].kind));
        expect_same("to what is stored", doc, ROWS[i].new_);
        kind_from_stored(kind, doc);
        expect_same("and back", doc, ROWS[i].old);
    }
    scoped_json_mut *checks = kt_parse(OLD("ClusterQueue", "'spec':{'admissionChecks':['a']}"));
    (void)kind_to_stored(kind_of_api("kueue.x-k8s.io/v1beta1", "ClusterQueue"), checks);
    expect_same("checks", checks,
                NEW("ClusterQueue", "'spec':{'admissionChecksStrategy':{'admissionChecks':[{'name':"
                                    "'a'}]}}"));
}

/* A document that is no object at all must not break the translation. */
static void test_odd_documents(void **state)
{
    static const char *const ODD[] = {"[]", "3", "{'spec':3,'status':[]}", "{'spec':null}",
                                      "{'spec':{'priorityClassRef':[],'admissionChecks':{}}}"};
    (void)state;
    for (size_t k = 0; OTHER_VERSIONS[k] != NULL; k++) {
        for (size_t i = 0; i < ARRAY_LEN(ODD); i++) {
            scoped_json_mut *doc = kt_parse(ODD[i]);
            (void)kind_to_stored(OTHER_VERSIONS[k], doc);
            kind_from_stored(OTHER_VERSIONS[k], doc);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_odd_documents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
/* StatefulSet, ControllerRevision and VPod: what is refused, filled in and shown. */
#include "kindtest.h"

#define NOW 1767323045000 /* 2026-01-02T03:04:05Z */
#define META "'metadata':{'name':'x','creationTimestamp':'2026-01-02T03:00:00Z'}"
#define TEMPLATE(labels, more)                                                                     \
    "'template':{'metadata':{'labels':{" labels "}},'spec':{'containers':[{'name':'c','image':"    \
    "'i'}]" more "}}"
#define SET(more)                                                                                  \
    "{" META ",'spec':{'selector':{'matchLabels':{'a':'b'}}," TEMPLATE("'a':'b'", "") more "}}"
#define VPOD(spec) "{" META ",'spec':{" spec "}}"

// clang-format off
static const struct {
    const struct kind *kind;
    const char *old, *object, *want;
} CHECKS[] = {
    {&KIND_STATEFULSET, NULL, SET(""), NULL},
    {&KIND_STATEFULSET, NULL, SET(",'replicas':0,'serviceName':'s','podManagementPolicy':'Parallel',"
     "'minReadySeconds':3,'ordinals':{'start':5},'persistentVolumeClaimRetentionPolicy':{"
     "'whenDeleted':'Retain'},'updateStrategy':{'rollingUpdate':{'partition':2,'maxUnavailable':"
     "'30%'}}"), NULL},
    {&KIND_STATEFULSET, NULL, "{" META ",'spec':{'selector':{'matchLabels':{'a':'b'}},"
     TEMPLATE("'a':'c'", "") "}}",
     "spec.template.metadata.labels: Invalid value: {\"a\":\"c\"}: `selector` does not match "
     "template `labels`"},
    {&KIND_STATEFULSET, NULL, "{" META ",'spec':{'selector':{}," TEMPLATE("'a':'c'", "") "}}",
     "spec.selector: Invalid value: {}: empty selector is invalid for statefulset"},
    {&KIND_STATEFULSET, NULL, "{" META ",'spec':{'selector':{'matchLabels':{'a':'b'}},"
     TEMPLATE("'a':'b'", ",'restartPolicy':'Never'") "}}",
     "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\""},
    {&KIND_STATEFULSET, NULL, SET(",'volumeClaimTemplates':[{'metadata':{'name':'d'}}]"),
     "spec.volumeClaimTemplates: Forbidden: there are no persistent volume claims here | use an "
     "emptyDir volume, or hostPath for what must outlive the pod"},
    {&KIND_STATEFULSET, NULL, SET(",'updateStrategy':{'type':'OnDelete','rollingUpdate':{}}"),
     "spec.updateStrategy.rollingUpdate: Invalid value: {}: only allowed for updateStrategy "
     "'RollingUpdate'"},
    {&KIND_STATEFULSET, NULL, SET(",'updateStrategy':{'rollingUpdate':{'maxUnavailable':0}}"),
     "spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: 0: cannot be 0"},
    {&KIND_STATEFULSET, SET(""), SET(",'podManagementPolicy':'Parallel'"),
     "spec.podManagementPolicy: ..."},
    {&KIND_REVISION, NULL, "{" META ",'revision':1,'data':{'spec':{}}}", NULL},
    {&KIND_REVISION, NULL, "{" META "}", "revision: Required value"},
    {&KIND_VPOD, NULL, VPOD("'pool':'p'"), NULL},
    {&KIND_VPOD, NULL, VPOD("'pool':'p','vreplicas':0,'maxPods':3,'rebalance':'Minimal'"), NULL},
    {&KIND_VPOD, NULL, VPOD("'vreplicas':3"), "spec.pool: Required value"},
    {&KIND_VPOD, NULL, VPOD("'pool':'p','vreplicas':-1"), "spec.vreplicas: Invalid value: -1: ..."},
    {&KIND_VPOD, NULL, VPOD("'pool':'p','maxPods':0"), "spec.maxPods: Invalid value: 0: ..."},
    {&KIND_VPOD, VPOD("'pool':'p'"), VPOD("'pool':'q'"), "spec.pool: ..."},
};
// clang-format on

static void test_checks(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CHECKS); i++) {
        scoped_json_mut *old = CHECKS[i].old != NULL ? kt_parse(CHECKS[i].old) : NULL;
        scoped_json_mut *doc = kt_parse(CHECKS[i].object);
        struct findings findings = {0};
        if (old != NULL)
            schema_fill(CHECKS[i].kind->type, old, yyjson_mut_doc_get_root(old));
        kt_check(CHECKS[i].kind, doc, old, &findings);
        kt_expect(CHECKS[i].object, &findings, CHECKS[i].want);
        findings_done(&findings);
    }
}

static void test_defaults(void **state)
{
    (void)state;
    scoped_json_mut *doc = kt_parse(SET(""));
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    schema_fill(KIND_STATEFULSET.type, doc, root);
    kt_expect_at(root, "spec.replicas", "1");
    kt_expect_at(root, "spec.podManagementPolicy", "'OrderedReady'");
    kt_expect_at(root, "spec.updateStrategy",
                 "{'type':'RollingUpdate','rollingUpdate':{'partition':0}}");
    scoped_json_mut *vpod = kt_parse(VPOD("'pool':'p'"));
    yyjson_mut_val *at = yyjson_mut_doc_get_root(vpod);
    schema_fill(KIND_VPOD.type, vpod, at);
    kt_expect_at(at, "spec", "{'pool':'p','vreplicas':1,'rebalance':'Spread'}");
}

static void test_cells(void **state)
{
    (void)state;
    kt_expect_cells(&KIND_STATEFULSET,
                    "{" META ",'spec':{'replicas':3," TEMPLATE("'a':'b'", "") "},'status':{"
                                                                              "'readyReplicas':2}}",
                    NOW, "['x','2/3','4m5s','c','i']");
    kt_expect_cells(&KIND_VPOD,
                    "{" META ",'spec':{'pool':'p','vreplicas':9},'status':{'placed':7,'placements':"
                    "[{'podName':'p-0','vreplicas':4},{'podName':'p-12','vreplicas':3}]}}",
                    NOW, "['x','p','7/9','0:4 12:3','4m5s']");
    kt_expect_cells(&KIND_VPOD, VPOD("'pool':'p','vreplicas':2"), NOW,
                    "['x','p','0/2','<none>','4m5s']");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checks),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

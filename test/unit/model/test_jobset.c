// SPDX-License-Identifier: Apache-2.0
/* The JobSet: its defaults, what it refuses and why. Rows whose name starts with a number are
 * cases that upstream has tests for, those with a letter are ours; "doc" is JobSet's in-place
 * restart proposal. */
#include "kindtest.h"
#include "model/manifest.h"
#include <stdio.h>

#define SET_CALLED(name, spec)                                                                     \
    "{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet','metadata':{" name "},'spec':{" spec \
    "}}"
#define SET(spec) SET_CALLED("'name':'js'", spec)
#define PODS "'template':{'spec':{'containers':[{'name':'main','image':'i:1'}]}}"
#define JOB(name, more, job_spec)                                                                  \
    "{'name':'" name "'" more ",'template':{'spec':{" job_spec PODS "}}}"
#define ONE_JOB "'replicatedJobs':[" JOB("a", "", "") "]"
#define NINE(a)                                                                                    \
    JOB(a "1", "", "")                                                                             \
    "," JOB(a "2", "", "") "," JOB(a "3", "", "") "," JOB(a "4", "", "") "," JOB(                  \
        a "5", "", "") "," JOB(a "6", "", "") "," JOB(a "7", "", "") "," JOB(a "8", "",            \
                                                                             "") "," JOB(a "9",    \
                                                                                         "", "")
#define JOBS(list) "'replicatedJobs':[" list "]"
#define ROUND "'completions':2,'parallelism':2,"

/* ---- helpers ---- */

static int failed; /* rows of the test that is under way: one run shows them all */

static void end_of_rows(void)
{
    int count = failed;
    failed = 0;
    assert_int_equal(count, 0);
}

/* All findings, each as "path: text", one a line; NULL: none. */
static void expect_all(const char *label, const struct findings *findings, const char *want)
{
    scoped_str got = {0};
    for (size_t i = 0; i < findings->list.len; i++) {
        const struct finding *f = &findings->list.items[i];
        str_addf(&got, "%s%s: %s", i == 0 ? "" : "\n", f->path, f->text);
    }
    if (str_eq(str_text(&got), want != NULL ? want : ""))
        return;
    print_error("%s\nwant %s\n got %s\n", label, want != NULL ? want : "nothing", str_text(&got));
    failed++;
}

struct row {
    const char *label, *object, *want;
};

static void run_row(const struct row *row)
{
    scoped_json_mut *doc = kt_parse(row->object);
    struct findings findings = {0};
    kt_check(&KIND_JOBSET, doc, NULL, &findings);
    expect_all(row->label, &findings, row->want);
    findings_done(&findings);
}

/* ---- defaults ---- */

static void test_defaults(void **state)
{
    static const struct {
        const char *object, *path, *want;
    } ROWS[] = {
        {SET(ONE_JOB), "spec.network",
         "{'enableDNSHostnames':true,'publishNotReadyAddresses':true}"},
        {SET(ONE_JOB ",'network':{'enableDNSHostnames':false,'subdomain':'s'}"), "spec.network",
         "{'enableDNSHostnames':false,'subdomain':'s','publishNotReadyAddresses':true}"},
        {SET(ONE_JOB), "spec.successPolicy", "{'operator':'All'}"},
        {SET(ONE_JOB ",'successPolicy':{'operator':'Any'}"), "spec.successPolicy",
         "{'operator':'Any'}"},
        {SET(ONE_JOB), "spec.startupPolicy", "{'startupPolicyOrder':'AnyOrder'}"},
        {SET(ONE_JOB), "spec.failurePolicy", ""},
        {SET(ONE_JOB), "spec.suspend", ""},
        {SET(ONE_JOB ",'failurePolicy':{}"), "spec.failurePolicy",
         "{'maxRestarts':0,'restartStrategy':'Recreate'}"},
        {SET(ONE_JOB ",'failurePolicy':{'maxRestarts':1,'restartStrategy':'BlockingRecreate',"
                     "'rules':[{'action':'FailJobSet'},{'name':'mine','action':'FailJobSet'},"
                     "{'name':'','action':'RestartJobSet'}]}"),
         "spec.failurePolicy.rules",
         "[{'action':'FailJobSet','name':'failurePolicyRule0'},{'name':'mine','action':"
         "'FailJobSet'},{'name':'failurePolicyRule2','action':'RestartJobSet'}]"},
        /* the template stays as it is written, but for what a JobSet has otherwise than a Job */
        {SET(ONE_JOB), "spec.replicatedJobs",
         "[{'name':'a','template':{'spec':{'template':{'spec':{'containers':[{'name':'main','image'"
         ":'i:1'}],"
         "'restartPolicy':'OnFailure'}},'completionMode':'Indexed'}},'groupName':'default',"
         "'replicas':1}]"},
        {SET(JOBS("{'name':'a','replicas':0,'groupName':'g','template':{'spec':{'completionMode':"
                  "'NonIndexed','template':{'spec':{'restartPolicy':'Never','containers':[{'name':"
                  "'b','image':'i'},{'name':'c','image':'i','dependsOn':['b'],'tty':null}]}}}}}")),
         "spec.replicatedJobs",
         "[{'name':'a','replicas':0,'groupName':'g','template':{'spec':{'completionMode':"
         "'NonIndexed','template':{'spec':{'restartPolicy':'Never','containers':[{'name':'b',"
         "'image':'i'},{'name':'c','image':'i','dependsOn':[{'name':'b','condition':'ready'}]}]}}}}"
         "}]"},
        /* a policy that needs Never gets it */
        {SET(JOBS(JOB("a", "", "'podFailurePolicy':{'rules':[]},"))), "spec.replicatedJobs",
         "[{'name':'a','template':{'spec':{'podFailurePolicy':{'rules':[]},'template':{'spec':{"
         "'containers':[{'name':'main','image':'i:1'}],'restartPolicy':'Never'}},'completionMode':'"
         "Indexed'}},"
         "'groupName':'default','replicas':1}]"},
        {SET_CALLED("'name':'js'", ""), "spec.replicatedJobs", ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_json_mut *doc = kt_parse(ROWS[i].object);
        struct findings findings = {0};
        kt_check(&KIND_JOBSET, doc, NULL, &findings);
        expect_all(ROWS[i].object, &findings, NULL);
        kt_expect_at(yyjson_mut_doc_get_root(doc), ROWS[i].path, ROWS[i].want);
        findings_done(&findings);
    }
    end_of_rows();
}

/* ---- create ---- */

#define X10 "aaaaaaaaaa"
#define X50 X10 X10 X10 X10 X10
#define RULE(rule) SET(ONE_JOB ",'failurePolicy':{'rules':[" rule "]}")
#define RULE_NAMED(name) RULE("{'name':'" name "','action':'FailJobSet'}")
#define BAD_NAME(name)                                                                             \
    "spec.failurePolicy.rules[0].name: Invalid value: \"" name                                     \
    "\": must start with a letter, go on with letters, digits, '_', ',' or ':', and not end in "   \
    "',' or ':'"
#define AFTER(name, status) ",'dependsOn':[{'name':'" name "','status':'" status "'}]"
#define IN_ORDER ",'startupPolicy':{'startupPolicyOrder':'InOrder'}"
#define CHIEF(more, job_spec)                                                                      \
    SET(JOBS(JOB("a", ",'replicas':2", job_spec)) ",'coordinator':{'replicatedJob':'a'" more "}")
#define MANAGED(by) SET(ONE_JOB ",'managedBy':'" by "'")
#define NOT_MANAGED(by)                                                                            \
    "spec.managedBy: Invalid value: \"" by "\": must be a domain and a path, with '/' between "    \
    "them (like 'example.com/my-controller')"

// clang-format off
static const struct row CREATE[] = {
    {"70 replicas negative", SET(JOBS(JOB("a", ",'replicas':-1", ""))),
     "spec.replicatedJobs[0].replicas: Invalid value: -1: must be greater than or equal to 0"},
    {"70 replicas 0", SET(JOBS(JOB("a", ",'replicas':0", ""))), NULL},
    {"71 dependsOn of the first", SET(JOBS(JOB("a", AFTER("b", "Ready"), "") "," JOB("b", "", ""))),
     "spec.replicatedJobs[0].dependsOn[0].name: Invalid value: \"b\": must be a replicated job that "
     "stands before this one"},
    {"71 dependsOn on a later one",
     SET(JOBS(JOB("a", "", "") "," JOB("b", AFTER("c", "Ready"), "") "," JOB("c", "", ""))),
     "spec.replicatedJobs[1].dependsOn[0].name: Invalid value: \"c\": must be a replicated job that "
     "stands before this one"},
    {"71 dependsOn on what is no name",
     SET(JOBS(JOB("a", "", "") "," JOB("b", ",'dependsOn':[{'name':['a'],'status':'Ready'}]", ""))),
     "spec.replicatedJobs[1].dependsOn[0].name: Invalid value: \"array\": must be a string"},
    {"71 dependsOn on itself", SET(JOBS(JOB("a", "", "") "," JOB("b", AFTER("b", "Ready"), ""))),
     "spec.replicatedJobs[1].dependsOn[0].name: Invalid value: \"b\": must be a replicated job that "
     "stands before this one"},
    {"71 dependsOn on an earlier one",
     SET(JOBS(JOB("a", "", "") "," JOB("b", AFTER("a", "Complete"), ""))), NULL},
    {"71 dependsOn with InOrder",
     SET(JOBS(JOB("a", "", "") "," JOB("b", AFTER("a", "Ready"), "")) IN_ORDER),
     "spec.replicatedJobs[1].dependsOn: Forbidden: may not be given together with startupPolicy "
     "InOrder"},
    {"71 dependsOn with AnyOrder",
     SET(JOBS(JOB("a", "", "") "," JOB("b", AFTER("a", "Ready"), ""))
         ",'startupPolicy':{'startupPolicyOrder':'AnyOrder'}"), NULL},
    {"71 dependsOn with a wrong status",
     SET(JOBS(JOB("a", "", "") "," JOB("b", AFTER("a", "Started"), ""))),
     "spec.replicatedJobs[1].dependsOn[0].status: Unsupported value: \"Started\": supported values: "
     "\"Ready\", \"Complete\""},
    {"71 dependsOn on six",
     SET(JOBS(JOB("a", "", "") "," JOB("b", "", "") "," JOB("c", "", "") "," JOB("d", "", "") ","
              JOB("e", "", "") "," JOB("f", "", "") ","
              JOB("g", ",'dependsOn':[{'name':'a','status':'Ready'},{'name':'b','status':'Ready'},"
                       "{'name':'c','status':'Ready'},{'name':'d','status':'Ready'},{'name':'e',"
                       "'status':'Ready'},{'name':'f','status':'Ready'}]", ""))),
     "spec.replicatedJobs[6].dependsOn: Invalid value: [{\"name\":\"a\",\"status\":\"Ready\"},"
     "{\"name\":\"b\",\"status\":\"Ready\"},{\"name\":\"c\",\"status\":\"Ready\"},{\"name\":\"d\","
     "\"status\":\"Ready\"},{\"name\":\"e\",\"status\":\"Ready\"},{\"name\":\"f\",\"status\":"
     "\"Ready\"}]: must have no more than 5 items"},
    {"72 rule name empty becomes its number", RULE_NAMED(""), NULL},
    {"72 rule name of 128", RULE_NAMED(X50 X50 X10 X10 "aaaaaaaa"), NULL},
    {"72 rule name of 129", RULE_NAMED(X50 X50 X10 X10 "aaaaaaaaa"),
     "spec.failurePolicy.rules[0].name: Invalid value: \"" X50 X50 X10 X10 "aaaaaaaaa\": must have "
     "no more than 128 characters"},
    {"72 rule name with all that may be in it", RULE_NAMED("aZ09_,:_"), NULL},
    {"72 rule name starts with a digit", RULE_NAMED("1a"), BAD_NAME("1a")},
    {"72 rule name starts with _", RULE_NAMED("_a"), BAD_NAME("_a")},
    {"72 rule name ends in ,", RULE_NAMED("a,"), BAD_NAME("a,")},
    {"72 rule name ends in :", RULE_NAMED("a:"), BAD_NAME("a:")},
    {"72 rule name with a blank", RULE_NAMED("a b"), BAD_NAME("a b")},
    {"72 rule name twice",
     RULE("{'name':'r','action':'FailJobSet'},{'name':'r','action':'RestartJobSet'}"),
     "spec.failurePolicy.rules[1].name: Duplicate value: \"r\""},
    {"72 rule name twice by default",
     RULE("{'name':'failurePolicyRule1','action':'FailJobSet'},{'action':'RestartJobSet'}"),
     "spec.failurePolicy.rules[1].name: Duplicate value: \"failurePolicyRule1\""},
    {"73 unknown reason", RULE("{'action':'FailJobSet','onJobFailureReasons':['Bad']}"),
     "spec.failurePolicy.rules[0].onJobFailureReasons[0]: Unsupported value: \"Bad\": supported "
     "values: \"BackoffLimitExceeded\", \"DeadlineExceeded\", \"FailedIndexes\", "
     "\"MaxFailedIndexesExceeded\", \"PodFailurePolicy\""},
    {"73 unknown target of a rule", RULE("{'action':'FailJobSet','targetReplicatedJobs':['b']}"),
     "spec.failurePolicy.rules[0].targetReplicatedJobs[0]: Invalid value: \"b\": not found"},
    {"73 known target and reason",
     RULE("{'action':'FailJobSet','targetReplicatedJobs':['a'],'onJobFailureReasons':["
          "'PodFailurePolicy'],'onJobFailureMessagePatterns':['index 3$']}"), NULL},
    {"73 unknown target of success",
     SET(ONE_JOB ",'successPolicy':{'operator':'All','targetReplicatedJobs':['a','']}"),
     "spec.successPolicy.targetReplicatedJobs[1]: Invalid value: \"\": must be the name of a "
     "replicated job"},
    {"73 pattern that is none",
     RULE("{'action':'FailJobSet','onJobFailureMessagePatterns':['fine','(']}"),
     "spec.failurePolicy.rules[0].onJobFailureMessagePatterns[1]: Invalid value: \"(\": is no regular "
     "expression: Unmatched ( or \\("},
    {"73 unknown action", RULE("{'action':'Restart'}"),
     "spec.failurePolicy.rules[0].action: Unsupported value: \"Restart\": supported values: "
     "\"FailJobSet\", \"RestartJobSet\", \"RestartJobSetAndIgnoreMaxRestarts\", \"RestartJob\", "
     "\"RestartJobAndIgnoreMaxRestarts\""},
    {"74 RestartJob with 1024",
     SET(JOBS(JOB("a", ",'replicas':1024", "")) ",'failurePolicy':{'rules':[{'action':"
         "'RestartJob'}]}"), NULL},
    {"74 RestartJob with 1025",
     SET(JOBS(JOB("a", ",'replicas':1025", "")) ",'failurePolicy':{'rules':[{'action':"
         "'RestartJob'}]}"),
     "spec.replicatedJobs[0].replicas: Invalid value: 1025: must be no more than 1024 where a rule "
     "restarts single Jobs"},
    {"74 RestartJobAndIgnoreMaxRestarts with 1025",
     SET(JOBS(JOB("a", ",'replicas':1025", "")) ",'failurePolicy':{'rules':[{'action':"
         "'RestartJobAndIgnoreMaxRestarts'}]}"),
     "spec.replicatedJobs[0].replicas: Invalid value: 1025: must be no more than 1024 where a rule "
     "restarts single Jobs"},
    {"74 RestartJobSet with 1025",
     SET(JOBS(JOB("a", ",'replicas':1025", "")) ",'failurePolicy':{'rules':[{'action':"
         "'RestartJobSet'}]}"), NULL},
    {"75 Job's name of 63", SET_CALLED("'name':'" X50 "aaaaaaaaa'", ONE_JOB), NULL},
    {"75 Job's name of 64", SET_CALLED("'name':'" X50 "aaaaaaaaaa'", ONE_JOB),
     "metadata.name: Invalid value: \"" X50 X10 "\": a Job or pod called \"" X50 X10 "-a-0\" would "
     "be made, with 64 characters; the most is 63"},
    {"75 Job's name of 64 by its index",
     SET_CALLED("'name':'" X50 "aaaaaaaaa'", JOBS(JOB("a", ",'replicas':11", ""))),
     "metadata.name: Invalid value: \"" X50 "aaaaaaaaa\": a Job or pod called \"" X50
     "aaaaaaaaa-a-10\" would be made, with 64 characters; the most is 63"},
    {"75 pod's name of 63", SET_CALLED("'name':'" X50 "a'", JOBS(JOB("a", "", ROUND))), NULL},
    {"75 pod's name of 64", SET_CALLED("'name':'" X50 "aa'", JOBS(JOB("a", "", ROUND))),
     "metadata.name: Invalid value: \"" X50 "aa\": a Job or pod called \"" X50 "aa-a-0-1-xxxxx\" "
     "would be made, with 64 characters; the most is 63"},
    {"75 pod's name does not matter where pods have no index",
     SET_CALLED("'name':'" X50 "aa'", JOBS(JOB("a", "", "'completionMode':'NonIndexed'," ROUND))),
     NULL},
    {"75 by generateName",
     SET_CALLED("'generateName':'" X50 "aaaaa'", ONE_JOB),
     "metadata.generateName: Invalid value: \"" X50 "aaaaa\": a Job or pod called \"" X50
     "aaaaaxxxxx-a-0\" would be made, with 64 characters; the most is 63"},
    {"75 generateName of 59 in all", SET_CALLED("'generateName':'" X50 "aaaa'", ONE_JOB), NULL},
    {"75 group's name",
     SET(JOBS(JOB("a", ",'groupName':'1'", ""))),
     "spec.replicatedJobs[0].groupName: Invalid value: \"1\": a DNS name (RFC 1035) is made of "
     "lower-case letters, digits and '-', must start with a letter and end with a letter or digit "
     "(like 'my-name' or 'abc-123')"},
    {"75 subdomain", SET(ONE_JOB ",'network':{'subdomain':'" X50 X10 "aaaa'}"),
     "spec.network.subdomain: Invalid value: \"" X50 X10 "aaaa\": must be no more than 63 "
     "characters"},
    {"76 coordinator", CHIEF(",'jobIndex':1,'podIndex':1", ROUND), NULL},
    {"76 coordinator's replicated job",
     SET(ONE_JOB ",'coordinator':{'replicatedJob':'b'}"),
     "spec.coordinator.replicatedJob: Invalid value: \"b\": not found"},
    {"76 coordinator's Job", CHIEF(",'jobIndex':2", ROUND),
     "spec.coordinator.jobIndex: Invalid value: 2: must be less than the replicas of the replicated "
     "job"},
    {"76 coordinator's pod", CHIEF(",'podIndex':2", ROUND),
     "spec.coordinator.podIndex: Invalid value: 2: must be less than the completions of the Job"},
    {"76 coordinator's pod negative", CHIEF(",'podIndex':-1", ROUND),
     "spec.coordinator.podIndex: Invalid value: -1: must be greater than or equal to 0"},
    {"76 coordinator without completions", CHIEF("", ""),
     "spec.coordinator.replicatedJob: Invalid value: \"a\": its Jobs must be Indexed and have "
     "completions"},
    {"76 coordinator without indexes", CHIEF("", "'completionMode':'NonIndexed'," ROUND),
     "spec.coordinator.replicatedJob: Invalid value: \"a\": its Jobs must be Indexed and have "
     "completions"},
    {"76 coordinator's address",
     SET_CALLED("'name':'" X10 X10 X10 "'", JOBS(JOB("a", "", ROUND))
                ",'coordinator':{'replicatedJob':'a'}"),
     "spec.coordinator: Invalid value: {\"replicatedJob\":\"a\"}: its address \"" X10 X10 X10
     "-a-0-0." X10 X10 X10 "\" is a label's value, and longer than 63 characters"},
    {"76 coordinator's address with a short subdomain",
     SET_CALLED("'name':'" X10 X10 X10 "'", JOBS(JOB("a", "", ROUND))
                ",'coordinator':{'replicatedJob':'a'},'network':{'subdomain':'s'}"), NULL},
    {"79 more pods than can be counted",
     SET(JOBS(JOB("a", ",'replicas':65536", "'completionMode':'NonIndexed','parallelism':32768,"))),
     "spec.replicatedJobs[0].replicas: Invalid value: 65536: replicas times parallelism must not "
     "exceed 2147483647"},
    {"79 as many as can be counted",
     SET(JOBS(JOB("a", ",'replicas':65535", "'completionMode':'NonIndexed','parallelism':32768,"))),
     NULL},
    {"80 managedBy", MANAGED("example.com/some/where"), NULL},
    {"80 managedBy of the built-in", MANAGED("jobset.sigs.k8s.io/jobset-controller"), NULL},
    {"80 managedBy without a domain", MANAGED("me"), NOT_MANAGED("me")},
    {"80 managedBy without a path", MANAGED("example.com/"), NOT_MANAGED("example.com/")},
    {"80 managedBy with a blank", MANAGED("example.com/a b"), NOT_MANAGED("example.com/a b")},
    {"80 managedBy of 63", MANAGED("example.com/" X50 "a"), NULL},
    {"80 managedBy of 64", MANAGED("example.com/" X50 "aa"),
     "spec.managedBy: Invalid value: \"example.com/" X50 "aa\": must have no more than 63 "
     "characters"},
    {"81 no replicated jobs", SET("'replicatedJobs':[]"), NULL},
    {"81 nothing", SET_CALLED("'name':'js'", ""), NULL},

    {"two of one name", SET(JOBS(JOB("a", "", "") "," JOB("a", "", ""))),
     "spec.replicatedJobs[1].name: Duplicate value: \"a\""},
    {"two of one name among many",
     SET(JOBS(NINE("a") "," NINE("b") "," JOB("a3", "", "") "," JOB("c", "", ""))),
     "spec.replicatedJobs[18].name: Duplicate value: \"a3\""},
    {"no template", SET(JOBS("{'name':'a'}")), "spec.replicatedJobs[0].template: Required value"},
    {"pods that restart for ever",
     SET(JOBS("{'name':'a','template':{'spec':{'template':{'spec':{'restartPolicy':'Always',"
              "'containers':[{'name':'b','image':'i'}]}}}}}")),
     "spec.replicatedJobs[0].template.spec.template.spec.restartPolicy: Unsupported value: "
     "\"Always\": supported values: \"OnFailure\", \"Never\""},
    {"parallelism alone", SET(JOBS(JOB("a", "", "'parallelism':2,"))),
     "spec.replicatedJobs[0].template.spec.completions: Required value: when completion mode is "
     "Indexed"},
    {"maxRestarts negative", SET(ONE_JOB ",'failurePolicy':{'maxRestarts':-1}"),
     "spec.failurePolicy.maxRestarts: Invalid value: -1: must be greater than or equal to 0"},
    {"strategy", SET(ONE_JOB ",'failurePolicy':{'restartStrategy':'InPlace'}"),
     "spec.failurePolicy.restartStrategy: Unsupported value: \"InPlace\": supported values: "
     "\"Recreate\", \"BlockingRecreate\", \"InPlaceRestart\""},
    {"operator", SET(ONE_JOB ",'successPolicy':{'operator':'None'}"),
     "spec.successPolicy.operator: Unsupported value: \"None\": supported values: \"All\", "
     "\"Any\""},
    {"claims", SET(ONE_JOB ",'volumeClaimPolicies':[{'templates':[]}]"),
     "spec.volumeClaimPolicies: Forbidden: there are no claims of storage here"},
};
// clang-format on

static void test_70_to_76_79_to_81_create(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CREATE); i++)
        run_row(&CREATE[i]);
    end_of_rows();
}

/* ---- restarts in place ---- */

#define IN_PLACE ",'failurePolicy':{'maxRestarts':2,'restartStrategy':'InPlaceRestart'}"
#define BEARS "'backoffLimit':2147483647,'podReplacementPolicy':'Failed',"
#define IN_PLACE_JOB(job_spec) SET(JOBS(JOB("a", "", job_spec)) IN_PLACE)
#define IN_PLACE_PODS(list)                                                                        \
    SET(JOBS("{'name':'a','template':{'spec':{" BEARS ROUND                                        \
             "'template':{'spec':{'containers':[" list "]}}}}}") IN_PLACE)
#define CODE(action, code)                                                                         \
    "{'action':'" action "','onExitCodes':{'operator':'In','values':[" code "]}}"
#define AT "spec.replicatedJobs[0].template.spec."

// clang-format off
static const struct row IN_PLACE_ROWS[] = {
    {"34 all set", IN_PLACE_JOB(BEARS ROUND), NULL},
    {"35 backoffLimit", IN_PLACE_JOB("'backoffLimit':2147483646,'podReplacementPolicy':'Failed',"
                                     ROUND),
     AT "backoffLimit: Invalid value: 2147483646: must be 2147483647 for restartStrategy "
     "InPlaceRestart"},
    {"35 no backoffLimit", IN_PLACE_JOB("'podReplacementPolicy':'Failed'," ROUND),
     AT "backoffLimit: Required value: must be 2147483647 for restartStrategy InPlaceRestart"},
    {"36 podReplacementPolicy", IN_PLACE_JOB("'backoffLimit':2147483647,'podReplacementPolicy':"
                                             "'TerminatingOrFailed'," ROUND),
     AT "podReplacementPolicy: Unsupported value: \"TerminatingOrFailed\": supported values: "
     "\"Failed\""},
    {"36 no podReplacementPolicy", IN_PLACE_JOB("'backoffLimit':2147483647," ROUND),
     AT "podReplacementPolicy: Required value: must be Failed for restartStrategy InPlaceRestart"},
    {"36 podReplacementPolicy that podFailurePolicy refuses as well",
     IN_PLACE_JOB("'backoffLimit':2147483647,'podReplacementPolicy':'TerminatingOrFailed',"
                  "'podFailurePolicy':{'rules':[]}," ROUND),
     AT "podReplacementPolicy: Unsupported value: \"TerminatingOrFailed\": supported values: "
     "\"Failed\""},
    {"37 completions and parallelism", IN_PLACE_JOB(BEARS "'completions':3,'parallelism':2,"),
     AT "completions: Invalid value: 3: must be equal to parallelism for restartStrategy "
     "InPlaceRestart"},
    {"38 no parallelism", IN_PLACE_JOB(BEARS "'completions':1,"),
     AT "parallelism: Required value: must be set for restartStrategy InPlaceRestart"},
    {"38 no completions", IN_PLACE_JOB(BEARS "'parallelism':1,"),
     AT "completions: Required value: when completion mode is Indexed"},
    {"38 no completions, no index",
     IN_PLACE_JOB(BEARS "'completionMode':'NonIndexed','parallelism':1,"),
     AT "completionMode: Invalid value: \"NonIndexed\": must be Indexed for restartStrategy "
     "InPlaceRestart\n"
     AT "completions: Required value: must be set for restartStrategy InPlaceRestart"},
    {"members without an index", IN_PLACE_JOB(BEARS "'completionMode':'NonIndexed'," ROUND),
     AT "completionMode: Invalid value: \"NonIndexed\": must be Indexed for restartStrategy "
     "InPlaceRestart"},
    {"members with an index", IN_PLACE_JOB(BEARS "'completionMode':'Indexed'," ROUND), NULL},
    {"38 neither", IN_PLACE_JOB(BEARS),
     AT "completions: Required value: must be set for restartStrategy InPlaceRestart\n"
     AT "parallelism: Required value: must be set for restartStrategy InPlaceRestart"},
    {"an index that may be given up", IN_PLACE_JOB(BEARS "'backoffLimitPerIndex':1," ROUND),
     AT "backoffLimitPerIndex: Forbidden: may not be given with restartStrategy InPlaceRestart"},
    {"an index that a rule gives up", IN_PLACE_JOB(BEARS "'backoffLimitPerIndex':1," ROUND
        "'podFailurePolicy':{'rules':[" CODE("Count", "1") "," CODE("FailIndex", "2") "]},"),
     AT "backoffLimitPerIndex: Forbidden: may not be given with restartStrategy InPlaceRestart\n"
     AT "podFailurePolicy.rules[1].action: Invalid value: \"FailIndex\": must not be FailIndex with "
     "restartStrategy InPlaceRestart"},
    {"other rules", IN_PLACE_JOB(BEARS ROUND "'podFailurePolicy':{'rules':[" CODE("Count", "1") ","
                                 CODE("FailJob", "2") "," CODE("Ignore", "3") "]},"), NULL},
    {"the same without InPlaceRestart", SET(ONE_JOB ",'failurePolicy':{'maxRestarts':2}"), NULL},
    {"every job is looked at",
     SET(JOBS(JOB("a", "", BEARS ROUND) "," JOB("b", "", "'podReplacementPolicy':'Failed'," ROUND))
         IN_PLACE),
     "spec.replicatedJobs[1].template.spec.backoffLimit: Required value: must be 2147483647 for "
     "restartStrategy InPlaceRestart"},
    {"agent that the worker waits for", IN_PLACE_PODS(
        "{'name':'x','image':'i','restartPolicy':'Always','restartPolicyRules':[{'action':"
        "'RestartAllContainers','exitCodes':{'operator':'NotIn','values':[0]}}],'startupProbe':{"
        "'httpGet':{'path':'/barrier-is-down','port':8081}},'env':[{'name':"
        "'IN_PLACE_RESTART_EXIT_CODE','value':'1'}]},{'name':'w','image':'i','dependsOn':['x']}"),
     NULL},
    {"agent that the worker waits for, without a rule", IN_PLACE_PODS(
        "{'name':'x','image':'i','startupProbe':{'httpGet':{'path':'/barrier-is-down','port':8081}}"
        "},{'name':'w','image':'i','dependsOn':['x']}"),
     AT "template.spec.containers[0].restartPolicyRules: Required value: the agent needs a rule "
     "that restarts the pod"},
    {"i nobody is ready before all are: dependsOn",
     SET(JOBS(JOB("a", "", BEARS ROUND) "," JOB("b", AFTER("a", "Ready"), BEARS ROUND)) IN_PLACE),
     "spec.replicatedJobs[1].dependsOn: Forbidden: would wait for ever with restartStrategy "
     "InPlaceRestart"},
    {"i nobody is ready before all are: InOrder",
     SET(JOBS(JOB("a", "", BEARS ROUND) "," JOB("b", "", BEARS ROUND)) IN_PLACE IN_ORDER),
     "spec.startupPolicy.startupPolicyOrder: Invalid value: \"InOrder\": would never end with "
     "restartStrategy InPlaceRestart"},
};
// clang-format on

static void test_34_to_38_i_in_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(IN_PLACE_ROWS); i++)
        run_row(&IN_PLACE_ROWS[i]);
    end_of_rows();
}

/* ---- the proposal's manifests, whole and broken one by one ---- */

static char *read_example(const char *name)
{
    scoped_free char *path = mem_printf(EXAMPLES "/%s", name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    static char text[1 << 16];
    size_t len = fread(text, 1, sizeof(text) - 1, file);
    text[len] = '\0';
    (void)fclose(file); /* it was only read */
    return mem_strdup(text);
}

/* `text` with its one `from` replaced; `from` may be all up to the next `until`. */
static char *edit(const char *text, const char *from, const char *until, const char *to)
{
    const char *at = strstr(text, from);
    if (at == NULL || strstr(at + 1, from) != NULL)
        fail_msg("'%s' does not stand there once", from);
    const char *end = until != NULL ? strstr(at, until) : at + strlen(from);
    assert_non_null(end);
    return mem_printf("%.*s%s%s", (int)(at - text), text, to, end);
}

struct broken {
    const char *label, *from, *until, *to, *want, *hint;
};

/* The worker's container as well, where the agent stands in its list. */
#define SECOND_LIST "            containers:\n            - name: worker"

static void run_manifest(const char *text, const struct broken *row)
{
    struct manifest manifest = {0};
    struct err err = {0};
    struct findings findings = {0};
    if (manifest_parse("test.yaml", sv_of(text), &manifest, &err) < 0)
        fail_msg("%s: %s", row->label, err.text);
    assert_int_equal(manifest.docs.len, 1);
    kt_check(&KIND_JOBSET, manifest.docs.items[0].doc, NULL, &findings);
    expect_all(row->label, &findings, row->want);
    const char *hint = findings.list.len > 0 ? findings.list.items[0].hint : NULL;
    if (row->hint != NULL && !str_eq(hint, row->hint)) {
        print_error("%s: hint %s\n", row->label, hint != NULL ? hint : "missing");
        failed++;
    }
    findings_done(&findings);
    manifest_done(&manifest);
}

#define POD AT "template.spec."
#define AGENT POD "initContainers[0]."
#define RULE_HINT                                                                                  \
    "give it a rule with action: RestartPod for the exit code with which the agent asks for a "    \
    "restart"

// clang-format off
static const struct broken SIDECAR[] = {
    {"doc as it is", NULL, NULL, NULL, NULL, NULL},
    {"doc backoffLimit", "backoffLimit: 2147483647", NULL, "backoffLimit: 0",
     AT "backoffLimit: Invalid value: 0: must be 2147483647 for restartStrategy InPlaceRestart",
     "write backoffLimit: 2147483647, so that no number of restarts fails the Job; "
     "failurePolicy.maxRestarts is the limit"},
    {"doc podReplacementPolicy", "podReplacementPolicy: Failed", NULL, "suspend: false",
     AT "podReplacementPolicy: Required value: must be Failed for restartStrategy InPlaceRestart",
     "write podReplacementPolicy: Failed, so that a member has never two pods"},
    {"doc completions", "completions: 4", NULL, "completions: 3",
     AT "completions: Invalid value: 3: must be equal to parallelism for restartStrategy "
     "InPlaceRestart",
     "set completions and parallelism to the number of members: the barrier waits for that many"},
    {"doc agent is no sidecar", "restartPolicy: Always", NULL, "restartPolicy: OnFailure",
     POD "initContainers[0].startupProbe: Forbidden: may not be set for init containers without "
     "restartPolicy=Always\n"
     AGENT "restartPolicy: Invalid value: \"OnFailure\": must be Always: the agent is a sidecar",
     NULL},
    {"doc agent has no policy", "restartPolicy: Always", "restartPolicyRules", "",
     AGENT "restartPolicy: Required value: must be set when `restartPolicyRules` are\n"
     POD "initContainers[0].startupProbe: Forbidden: may not be set for init containers without "
     "restartPolicy=Always\n"
     AGENT "restartPolicy: Required value: must be Always: the agent is a sidecar", NULL},
    {"doc agent has no rules", "restartPolicyRules:\n              # 64", "# The barrier", "",
     AGENT "restartPolicyRules: Required value: the agent needs a rule that restarts the pod for "
     "exit code 64", RULE_HINT},
    {"doc agent's rule is for another code", "operator: In, values: [64]", NULL,
     "operator: In, values: [65]",
     AGENT "restartPolicyRules: Required value: the agent needs a rule that restarts the pod for "
     "exit code 64", RULE_HINT},
    {"doc agent's first rule is another", "operator: In, values: [64]", NULL,
     "operator: In, values: [65]}\n              - action: Restart\n                exitCodes: "
     "{operator: NotIn, values: [0]",
     AGENT "restartPolicyRules[1].action: Invalid value: \"Restart\": must be RestartPod: this is "
     "the first rule for the agent's exit code", RULE_HINT},
    {"the later name of the action", "RestartPod\n                exitCodes: {operator: In", NULL,
     "RestartAllContainers\n                exitCodes: {operator: In", NULL, NULL},
    {"doc misspelled operator", "operator: NotIn, values: [64]", NULL, "operator: NoIn, values: [64]",
     AGENT "restartPolicyRules[1].exitCodes.operator: Unsupported value: \"NoIn\": supported "
     "values: \"In\", \"NotIn\"", NULL},
    {"doc no barrier", "startupProbe:", "env:", "",
     AGENT "startupProbe: Required value: is the barrier that holds the worker back",
     "let it ask /barrier-is-lifted on the agent's port, every second"},
    {"exit code that cannot be", "value: \"64\"", NULL, "value: \"256\"",
     AGENT "env[3].value: Invalid value: \"256\": must be an exit code from 1 to 255", NULL},
    {"exit code 0 is no failure", "value: \"64\"", NULL, "value: \"0\"",
     AGENT "env[3].value: Invalid value: \"0\": must be an exit code from 1 to 255", NULL},
    {"no agent: the node is", "initContainers:", "containers:\n            - name: worker", "", NULL,
     NULL},
    {"no agent, but somebody waits for it", "initContainers:",
     "command: [sh", "containers:\n            - name: worker\n              dependsOn: [agent]\n"
     "              ",
     POD "containers[0].dependsOn[0].name: Invalid value: \"agent\": not found", NULL},
    {"agent among the containers, nobody waits for it", "initContainers:", "- name: agent",
     "containers:\n            ",
     POD "containers[0].startupProbe: Forbidden: no agent lifts this barrier, and it holds no other "
     "container back", NULL},
    {"two agents", "containers:\n            - name: worker", NULL,
     "- {name: second, command: [/usr/bin/muster-agent], restartPolicy: Always}\n"
     "            containers:\n            - name: worker",
     POD "initContainers[1]: Forbidden: a pod has one agent; another would count as a second "
     "member", NULL},
    {"doc template beside the spec", "        template:\n          spec:", NULL,
     "      template:\n          spec:",
     "spec.replicatedJobs[0].template.template: unknown field "
     "\"spec.replicatedJobs[0].template.template\"\n"
     AT "template: Required value", NULL},
    {"a barrier in the worker", "initContainers:", "command: [sh", "containers:\n            - name: "
     "worker\n              startupProbe: {httpGet: {path: /barrier-is-lifted, port: 8080}}\n"
     "              ",
     POD "containers[0].startupProbe: Forbidden: no agent lifts this barrier, and it holds no other "
     "container back",
     "put the agent into initContainers with restartPolicy: Always, or leave probe and agent out: "
     "the node keeps the barrier then"},
};

static const struct broken PARENT[] = {
    {"a parent", NULL, NULL, NULL, NULL, NULL},
    {"Never is the default where it is needed", "restartPolicy: Never", NULL, "hostPID: false", NULL,
     NULL},
};

#define FIRST_NEVER "needs it.\n            restartPolicy: "

static const struct broken POLICY[] = {
    {"doc as it is", NULL, NULL, NULL, NULL, NULL},
    {"Never is the default here as well", FIRST_NEVER "Never", NULL, "too", NULL, NULL},
    {"doc restartPolicy", FIRST_NEVER "Never", NULL, FIRST_NEVER "OnFailure",
     POD "restartPolicy: Invalid value: \"OnFailure\": only \"Never\" is supported when "
     "podFailurePolicy is specified", NULL},
    {"doc name of the replicated job", "- name: worker\n    replicas", NULL,
     "- name: workers\n    replicas",
     "metadata.name: Invalid value: \"jobset-example-in-place-restart-failure-policy\": a Job or "
     "pod called \"jobset-example-in-place-restart-failure-policy-workers-1-3-xxxxx\" would be "
     "made, with 64 characters; the most is 63",
     "shorten the name of the JobSet, or of the replicated job, by 1 character"},
    {"container of the policy", "containerName: worker", NULL, "containerName: wroker",
     AT "podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: \"wroker\": not found",
     "did you mean \"worker\"?"},
};
// clang-format on

static void run_broken(const char *example, const struct broken *rows, size_t n)
{
    scoped_free char *text = read_example(example);
    for (size_t i = 0; i < n; i++) {
        scoped_free char *edited = rows[i].from != NULL
                                       ? edit(text, rows[i].from, rows[i].until, rows[i].to)
                                       : mem_strdup(text);
        const char *first = strstr(edited, "containers:\n            - name: agent");
        bool is_one_list = first != NULL && strstr(edited, "initContainers:") == NULL;
        scoped_free char *whole =
            is_one_list ? edit(edited, SECOND_LIST, NULL, "            - name: worker")
                        : mem_strdup(edited);
        run_manifest(whole, &rows[i]);
    }
}

static void test_document(void **state)
{
    (void)state;
    run_broken("jobset-in-place-sidecar.yaml", SIDECAR, ARRAY_LEN(SIDECAR));
    run_broken("jobset-in-place-parent.yaml", PARENT, ARRAY_LEN(PARENT));
    run_broken("jobset-in-place-failure-policy.yaml", POLICY, ARRAY_LEN(POLICY));
    end_of_rows();
}

/* ---- update ---- */

#define ELASTIC(n, m) SET(JOBS(JOB("a", "", "'parallelism':" n ",'completions':" m ",")))
#define NOT_INDEXED(n)                                                                             \
    SET(JOBS(                                                                                      \
        JOB("a", "", "'completionMode':'NonIndexed','parallelism':" n ",'completions':" n ",")))
#define POD_WITH(more, set_more)                                                                   \
    SET("'replicatedJobs':[{'name':'a','template':{'spec':{'template':{" more                      \
        "'containers':[{'name':'main','image':'i:1'}]}}}}}]" set_more)
#define PLAIN_POD(set_more) POD_WITH("'spec':{", set_more)
#define PLACED                                                                                     \
    "'metadata':{'labels':{'l':'1'},'annotations':{'m':'2'}},'spec':{'nodeSelector':{'n':'3'},"    \
    "'tolerations':[{'operator':'Exists'}],'schedulingGates':[{'name':'g'}],"
#define OTHER_PROGRAM "'spec':{'hostNetwork':true,"
#define SUSPEND ",'suspend':true"
#define ENDED                                                                                      \
    "{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet','metadata':{'name':'js'},"           \
    "'spec':{" JOBS(JOB("a", "", ROUND)) "},'status':{'conditions':[{'type':'Completed',"          \
                                         "'status':'True'}]}}"

// clang-format off
static const struct {
    const char *label, *old, *new, *want;
} UPDATE[] = {
    {"77 pods of a running one", PLAIN_POD(""), POD_WITH(PLACED, ""),
     "spec.replicatedJobs[0].template.spec.template.metadata.labels.l: Forbidden: field is "
     "immutable"},
    {"77 pods of a suspended one", PLAIN_POD(SUSPEND), POD_WITH(PLACED, SUSPEND), NULL},
    {"77 pods of one that is being suspended", PLAIN_POD(""), POD_WITH(PLACED, SUSPEND), NULL},
    {"77 pods of one that is resumed", PLAIN_POD(SUSPEND), POD_WITH(PLACED, ",'suspend':false"),
     NULL},
    {"77 something else of a suspended one", PLAIN_POD(SUSPEND), POD_WITH(OTHER_PROGRAM, SUSPEND),
     "spec.replicatedJobs[0].template.spec.template.spec.hostNetwork: Forbidden: field is "
     "immutable"},
    {"78 both up", ELASTIC("2", "2"), ELASTIC("3", "3"), NULL},
    {"78 both down", ELASTIC("2", "2"), ELASTIC("1", "1"), NULL},
    {"78 not the same", ELASTIC("2", "2"), ELASTIC("2", "3"),
     AT "completions: Invalid value: 3: can only be changed to the same number as parallelism, both "
     "together"},
    {"78 to none", ELASTIC("2", "2"), ELASTIC("0", "0"),
     AT "completions: Invalid value: 0: must be at least 1"},
    {"78 not Indexed", NOT_INDEXED("2"), NOT_INDEXED("3"),
     AT "completions: Invalid value: 3: field is immutable: the Jobs are not Indexed"},
    {"78 ended", ENDED, ELASTIC("3", "3"),
     AT "completions: Invalid value: 3: field is immutable: the JobSet has ended"},
    {"80 managedBy", MANAGED("example.com/a"), MANAGED("example.com/b"),
     "spec.managedBy: Invalid value: \"example.com/b\": field is immutable"},
    {"80 managedBy added", SET(ONE_JOB), MANAGED("example.com/b"),
     "spec.managedBy: Invalid value: \"example.com/b\": field is immutable"},
    {"suspend and TTL", SET(ONE_JOB), SET(ONE_JOB SUSPEND ",'ttlSecondsAfterFinished':5"), NULL},
    {"replicas", SET(ONE_JOB), SET(JOBS(JOB("a", ",'replicas':2", ""))),
     "spec.replicatedJobs[0].replicas: Forbidden: field is immutable"},
    {"a further one", SET(ONE_JOB), SET(JOBS(JOB("a", "", "") "," JOB("b", "", ""))),
     "spec.replicatedJobs: Forbidden: replicated jobs can be neither added nor removed"},
    {"another name", SET(ONE_JOB), SET(JOBS(JOB("b", "", ""))),
     "spec.replicatedJobs[0].name: Forbidden: field is immutable"},
    {"dependsOn", SET(JOBS(JOB("a", "", "") "," JOB("b", "", ""))),
     SET(JOBS(JOB("a", "", "") "," JOB("b", AFTER("a", "Ready"), ""))),
     "spec.replicatedJobs[1].dependsOn: Forbidden: field is immutable"},
    {"what a Job refuses is said once", SET(ONE_JOB),
     SET(JOBS(JOB("a", "", "'completionMode':'NonIndexed',"))),
     AT "completionMode: Invalid value: \"NonIndexed\": field is immutable"},
    {"strategy", SET(ONE_JOB ",'failurePolicy':{'maxRestarts':1}"),
     SET(ONE_JOB ",'failurePolicy':{'maxRestarts':1,'restartStrategy':'BlockingRecreate'}"),
     "spec.failurePolicy: Invalid value: {\"maxRestarts\":1,\"restartStrategy\":"
     "\"BlockingRecreate\"}: field is immutable"},
    {"success", SET(ONE_JOB), SET(ONE_JOB ",'successPolicy':{'operator':'Any'}"),
     "spec.successPolicy: Invalid value: {\"operator\":\"Any\"}: field is immutable"},
    {"startup", SET(ONE_JOB), SET(ONE_JOB IN_ORDER),
     "spec.startupPolicy: Invalid value: {\"startupPolicyOrder\":\"InOrder\"}: field is immutable"},
    {"network", SET(ONE_JOB), SET(ONE_JOB ",'network':{'enableDNSHostnames':false}"),
     "spec.network: Invalid value: {\"enableDNSHostnames\":false,\"publishNotReadyAddresses\":true}"
     ": field is immutable"},
};
// clang-format on

static void test_77_78_80_update(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(UPDATE); i++) {
        scoped_json_mut *old = kt_parse(UPDATE[i].old);
        scoped_json_mut *doc = kt_parse(UPDATE[i].new);
        struct findings findings = {0};
        kt_check(&KIND_JOBSET, old, NULL, &findings);
        expect_all(UPDATE[i].label, &findings, NULL);
        kt_check(&KIND_JOBSET, doc, old, &findings);
        expect_all(UPDATE[i].label, &findings, UPDATE[i].want);
        findings_done(&findings);
    }
    end_of_rows();
}

/* ---- status and cells ---- */

static void test_status(void **state)
{
    (void)state;
    scoped_json_mut *doc = kt_parse(SET(ONE_JOB));
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    KIND_JOBSET.prepare(doc, root, 0);
    kt_expect_at(root, "status", "{'restarts':0,'deprecatedEpoch':0,'syncedEpoch':0}");
    scoped_json_mut *full = kt_parse(
        "{'apiVersion':'jobset.x-k8s.io/"
        "v1alpha2','kind':'JobSet','metadata':{'name':'js'},'status':"
        "{'restarts':3,'restartsCountTowardsMax':2,'terminalState':'Failed','deprecatedEpoch':1,"
        "'syncedEpoch':2,'previousInPlaceRestartAttempt':0,'currentInPlaceRestartAttempt':1,"
        "'conditions':[{'type':'Failed','status':'True','reason':'ReachedMaxRestarts','message':'',"
        "'lastTransitionTime':'2026-01-01T00:00:00Z'}],'replicatedJobsStatus':[{'name':'a','ready':"
        "1,'jobRestarts':[0,2],'jobRestartsCountTowardsMax':[0,1]}]}}");
    struct findings findings = {0};
    kt_check(&KIND_JOBSET, full, NULL, &findings);
    expect_all("status", &findings, NULL);
    kt_expect_at(yyjson_mut_doc_get_root(full), "status.replicatedJobsStatus",
                 "[{'name':'a','ready':1,'jobRestarts':[0,2],'jobRestartsCountTowardsMax':[0,1],"
                 "'succeeded':0,'failed':0,'active':0,'suspended':0}]");
    findings_done(&findings);
    end_of_rows();
}

static void test_cells(void **state)
{
    (void)state;
    kt_expect_cells(&KIND_JOBSET,
                    "{'metadata':{'name':'js','creationTimestamp':'1970-01-01T00:00:00Z'},"
                    "'spec':{}}",
                    60000, "['js','<none>','0','<none>','<none>','60s',0]");
    kt_expect_cells(&KIND_JOBSET,
                    "{'metadata':{'name':'js','creationTimestamp':'1970-01-01T00:00:00Z'},'spec':{"
                    "'suspend':false},'status':{'terminalState':'Completed','restarts':2,"
                    "'syncedEpoch':3,'conditions':[{'type':'Suspended','status':'False'},{'type':"
                    "'Completed','status':'True'}]}}",
                    60000, "['js','Completed','2','True','false','60s',3]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_70_to_76_79_to_81_create),
        cmocka_unit_test(test_34_to_38_i_in_place),
        cmocka_unit_test(test_document),
        cmocka_unit_test(test_77_78_80_update),
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

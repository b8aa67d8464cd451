// SPDX-License-Identifier: Apache-2.0
/* Agents in the pods of a JobSet that restarts in place: does the startup probe ask where
 * muster-agent answers, and is there only one? */
#include "kindtest.h"
#include "model/jobset.h"

#define PODS(spec)                                                                                 \
    "{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet','metadata':{'name':'js'},'spec':{"   \
    "'failurePolicy':{'restartStrategy':'InPlaceRestart'},'replicatedJobs':[{'name':'a',"          \
    "'template':{'spec':{'backoffLimit':2147483647,'podReplacementPolicy':'Failed',"               \
    "'completions':2,'parallelism':2,'template':{'spec':{" spec "}}}}}]}}"
#define RULES                                                                                      \
    "'restartPolicy':'Always','restartPolicyRules':[{'action':'RestartPod','exitCodes':{"          \
    "'operator':'NotIn','values':[0]}}],"
#define WORKER "{'name':'worker','command':['x']}"
#define AGENT(more) "{'name':'agent'," RULES more "}"
#define SIDECAR(more) PODS("'initContainers':[" AGENT(more) "],'containers':[" WORKER "]")
#define ASK(path, port) ",'startupProbe':{'httpGet':{'path':'" path "','port':" port "}}"
#define RUN(words) "'command':['muster-agent'" words "]"
#define ENV(list) ",'env':[" list "]"
#define VAR(name, value) "{'name':'" name "','value':'" value "'}"
#define POD "spec.replicatedJobs[0].template.spec.template.spec."
#define GET POD "initContainers[0].startupProbe.httpGet."
#define PORT_HINT(port)                                                                            \
    " | write port: " port ", or give the agent STARTUP_PROBE_PORT with the port of the probe"
#define PATH_HINT(path)                                                                            \
    " | write path: " path ", or give the agent STARTUP_PROBE_PATH with the path of the probe"
#define LIFTED "/barrier-is-lifted"
#define DOWN "/barrier-is-down"

struct row {
    const char *label, *object, *want;
};

// clang-format off
static const struct row PROBES[] = {
    {"defaults", SIDECAR(RUN("") ASK(LIFTED, "8080")), NULL},
    {"another port", SIDECAR(RUN("") ASK(LIFTED, "9090")),
     GET "port: Invalid value: 9090: muster-agent answers on port 8080" PORT_HINT("8080")},
    {"another path", SIDECAR(RUN("") ASK("/ready", "8080")),
     GET "path: Invalid value: \"/ready\": muster-agent answers at /barrier-is-lifted"
     PATH_HINT(LIFTED)},
    {"no path", SIDECAR(RUN("") ",'startupProbe':{'httpGet':{'port':8080}}"),
     GET "path: Required value: muster-agent answers at /barrier-is-lifted" PATH_HINT(LIFTED)},
    {"a path with a query", SIDECAR(RUN("") ASK(LIFTED "?x=1", "8080")), NULL},
    {"later names, told", SIDECAR(RUN("") ASK(DOWN, "8081")
        ENV(VAR("STARTUP_PROBE_PATH", DOWN) "," VAR("STARTUP_PROBE_PORT", "8081"))), NULL},
    {"later names, path not told",
     SIDECAR(RUN("") ASK(DOWN, "8081") ENV(VAR("STARTUP_PROBE_PORT", "8081"))),
     GET "path: Invalid value: \"/barrier-is-down\": muster-agent answers at /barrier-is-lifted"
     PATH_HINT(LIFTED)},
    {"told another port", SIDECAR(RUN("") ASK(LIFTED, "8080") ENV(VAR("STARTUP_PROBE_PORT", "1"))),
     GET "port: Invalid value: 8080: muster-agent answers on port 1" PORT_HINT("1")},
    {"told nothing", SIDECAR(RUN("") ASK(LIFTED, "8080") ENV(VAR("STARTUP_PROBE_PORT", ""))), NULL},
    {"options", SIDECAR(RUN(",'--probe-port','1','--probe-path=/x'") ASK("/x", "1")), NULL},
    {"options in args", SIDECAR("'command':['/bin/muster-agent'],'args':['--probe-port=1']"
                                ASK(LIFTED, "1")), NULL},
    {"options are stronger", SIDECAR(RUN(",'--probe-port','1'") ASK(LIFTED, "2")
                                     ENV(VAR("STARTUP_PROBE_PORT", "2"))),
     GET "port: Invalid value: 2: muster-agent answers on port 1" PORT_HINT("1")},
    {"not known before it starts", SIDECAR(RUN("") ASK("/x", "1")
        ENV("{'name':'STARTUP_PROBE_PORT','valueFrom':{'fieldRef':{'fieldPath':'metadata.name'}}},"
            VAR("STARTUP_PROBE_PATH", "$(OTHER)"))), NULL},
    {"perhaps in a ConfigMap", SIDECAR(RUN("") ASK("/x", "1")
        ",'envFrom':[{'configMapRef':{'name':'c'}}]"), NULL},
    {"port by name", SIDECAR(RUN("") ",'ports':[{'name':'up','containerPort':8080}]"
                             ASK(LIFTED, "'up'")), NULL},
    {"another port by name", SIDECAR(RUN("") ",'ports':[{'name':'up','containerPort':80}]"
                                     ASK(LIFTED, "'up'")),
     GET "port: Invalid value: \"up\": muster-agent answers on port 8080" PORT_HINT("8080")},
    {"TLS", SIDECAR(RUN("") ",'startupProbe':{'httpGet':{'path':'" LIFTED "','port':8080,"
                    "'scheme':'HTTPS'}}"),
     GET "scheme: Invalid value: \"HTTPS\": muster-agent answers without TLS | leave it out"},
    {"a socket", SIDECAR(RUN("") ",'startupProbe':{'tcpSocket':{'port':8080}}"),
     POD "initContainers[0].startupProbe.httpGet: Required value: muster-agent listens from its "
     "start, and says over HTTP when the barrier is lifted | write httpGet: {path: " LIFTED
     ", port: 8080}"},
    {"a program asks", SIDECAR(RUN("") ",'startupProbe':{'exec':{'command':['ask']}}"), NULL},
    {"another agent", SIDECAR("'image':'i'" ASK(DOWN, "9090")), NULL},
    {"a parent that is asked", SIDECAR(RUN(",'--','x'") ASK(LIFTED, "8080")),
     POD "initContainers[0].startupProbe: Forbidden: muster-agent with a worker of its own answers "
     "nobody | take the probe away: the agent starts its worker when the barrier is lifted"},
    {"a parent by its environment",
     SIDECAR(RUN("") ASK(LIFTED, "8080") ENV(VAR("WORKER_COMMAND", "x"))),
     POD "initContainers[0].startupProbe: Forbidden: muster-agent with a worker of its own answers "
     "nobody"},
    {"a parent whose worker is asked", SIDECAR(RUN(",'--','x'") ASK("/ready", "80")), NULL},
    {"an agent that the worker waits for",
     PODS("'containers':[" AGENT(RUN("") ASK(LIFTED, "9090")) ",{'name':'w','command':['x'],"
          "'dependsOn':['agent']}]"),
     POD "containers[0].startupProbe.httpGet.port: Invalid value: 9090: muster-agent answers on "
     "port 8080" PORT_HINT("8080")},
};

#define PARENT(name) "{'name':'" name "','command':['muster-agent','--','x']}"
#define SECOND(at)                                                                                 \
    POD at ": Forbidden: a pod has one agent; another would count as a second member | keep one "  \
           "of them: the worker's parent needs none beside it"
#define BESIDE AGENT(RUN("") ASK(LIFTED, "8080"))

static const struct row AGENTS[] = {
    {"a parent", PODS("'containers':[" PARENT("a") "," WORKER "]"), NULL},
    {"two parents", PODS("'containers':[" PARENT("a") "," WORKER "," PARENT("b") "]"),
     SECOND("containers[2]")},
    {"one beside and a parent", PODS("'initContainers':[" BESIDE "],'containers':[" PARENT("a") "]"),
     SECOND("containers[0]")},
    {"one beside, of another make, and a parent",
     PODS("'initContainers':[" AGENT("'image':'i'" ASK(DOWN, "8081")) "],'containers':["
          PARENT("a") "]"), SECOND("containers[0]")},
    {"one that is waited for and a parent",
     PODS("'containers':[" BESIDE ",{'name':'w','command':['muster-agent','--','x'],'dependsOn':["
          "'agent']}]"), SECOND("containers[1]")},
    {"a worker that knows the agent's exit code",
     PODS("'initContainers':[" BESIDE "],'containers':[{'name':'w','command':['x']"
          ENV(VAR("RESTART_POD_IN_PLACE_EXIT_CODE", "1")) "}]"), NULL},
    {"a parent that others wait for",
     PODS("'containers':[" PARENT("a") ",{'name':'w','command':['x'],'dependsOn':['a']}]"), NULL},
};
// clang-format on

static void run_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        scoped_json_mut *doc = kt_parse(rows[i].object);
        struct findings findings = {0};
        kt_check(&KIND_JOBSET, doc, NULL, &findings);
        kt_expect(rows[i].label, &findings, rows[i].want);
        findings_done(&findings);
    }
}

static void test_probes(void **state)
{
    (void)state;
    run_rows(PROBES, ARRAY_LEN(PROBES));
}

static void test_one_agent(void **state)
{
    (void)state;
    run_rows(AGENTS, ARRAY_LEN(AGENTS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probes),
        cmocka_unit_test(test_one_agent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

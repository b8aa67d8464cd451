// SPDX-License-Identifier: Apache-2.0
/* One scene for each thing that can hold a pod or a job up. It is 2026-01-02T03:04:05Z. */
#include "base/mem.h"
#include "script.h"
#include <errno.h>

#define PODS "/api/v1/namespaces/default/pods"
#define JOBS "/apis/batch/v1/namespaces/default/jobs"
#define CONFIGS "/apis/muster.dev/v1alpha1/nodeconfigs"
#define NEIGHBOURS "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1"
#define MEMBERS PODS "?labelSelector=job%3Dj"
#define LIST(items) "{\"kind\":\"List\",\"items\":[" items "]}"
#define META(name, more) "\"metadata\":{\"name\":\"" name "\",\"namespace\":\"default\"" more "}"
#define COND(type, status, more)                                                                   \
    "{\"type\":\"" type "\",\"status\":\"" status "\",\"lastTransitionTime\":"                     \
    "\"2026-01-02T03:03:05Z\"" more "}"
#define CONDS(list) "\"conditions\":[" list "]"
#define READY(status) CONDS(COND("Ready", status, ""))
/* `specs` and `statuses` are lists of containers. */
#define POD(name, specs, more, statuses)                                                           \
    "{\"kind\":\"Pod\"," META(name, "") ",\"spec\":{\"nodeName\":\"n1\",\"containers\":[" specs    \
                                        "]},\"status\":{\"phase\":\"Running\"," more               \
                                        ",\"containerStatuses\":[" statuses "]}}"
#define SPEC(name, more) "{\"name\":\"" name "\"" more "}"
#define PROBE ",\"readinessProbe\":{\"exec\":{}}"
#define NEEDS(name) ",\"dependsOn\":[{\"name\":\"" name "\",\"condition\":\"ready\"}]"
#define IS(name, ready, states, life)                                                              \
    "{\"name\":\"" name "\",\"ready\":" ready ",\"restartCount\":3," states "\"lifecycle\":{" life \
    "}}"
#define SINCE(state, s) "\"state\":\"" state "\",\"since\":\"2026-01-02T03:" s ".000000Z\""
#define RUNS "\"state\":{\"running\":{}},"
#define ENDED(where, code, more) "\"" where "\":{\"terminated\":{\"exitCode\":" code more "}},"
#define WAITS(reason) "\"state\":{\"waiting\":{\"reason\":\"" reason "\"}},"
#define BLOCKED(name)                                                                              \
    IS(name, "false", WAITS("DependencyNotReady"),                                                 \
       SINCE("blocked", "03:05") ",\"reason\":\"DependencyNotReady\"")
#define STARTING(name, s) IS(name, "false", RUNS, SINCE("starting", s))
#define IS_READY(name) IS(name, "true", RUNS, SINCE("ready", "03:05"))
#define PENDING(name, gate)                                                                        \
    IS(name, "false", WAITS("StartThrottled"),                                                     \
       SINCE("pending", "04:02") ",\"reason\":\"StartThrottled\",\"message\":\"waits for the "     \
                                 "throttle: " gate "\"")
#define CONFIG(name, throttling) "{" META(name, "") ",\"spec\":{\"throttling\":{" throttling "}}}"
#define NOT_FOUND "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":\"gone\",\"code\":404}"
#define ASK(name, pod)                                                                             \
    {                                                                                              \
        "GET", PODS "/" name, NULL, 200, pod                                                       \
    }
#define WHY(name)                                                                                  \
    {                                                                                              \
        "why", "pod/" name                                                                         \
    }

/* ---- containers ---- */

static const struct scene CONTAINERS[] = {
    {"all is well",
     {"why", "pod", "a"},
     {ASK("a", POD("a", SPEC("x", "") "," SPEC("y", ""), READY("True"),
                   IS_READY("x") "," IS_READY("y")))},
     0,
     "pod/a is well: all 2 containers are ready since 60s\n"
     "since 60s; next: it is done when its containers have ended well\n",
     ""},
    {"a chain, down to the probe that fails",
     WHY("a"),
     {ASK("a",
          POD("a", SPEC("web", NEEDS("app")) "," SPEC("app", NEEDS("db")) "," SPEC("db", PROBE),
              READY("False"),
              BLOCKED("web") "," BLOCKED("app") "," IS(
                  "db", "false", RUNS, SINCE("starting", "03:53") ",\"message\":\"exit code 1\""))),
      {"GET", CONFIGS, NULL, 200, LIST(CONFIG("default", "\"startTimeout\":\"1m\""))}},
     0,
     "pod/a is not ready: db is starting since 12s, its readiness probe says: exit code 1; 2 "
     "containers wait for it\n"
     "  db is starting since 12s, its readiness probe says: exit code 1\n"
     "    it has failed if it is not ready in 48s (startTimeout)\n"
     "    help: see what it prints: muster logs a -c db\n"
     "  web waits for app (ready), which waits for db (ready); db is starting since 12s, its "
     "readiness probe says: exit code 1\n"
     "  app waits for db (ready); db is starting since 12s, its readiness probe says: exit code "
     "1\n"
     "since 60s; next: it is ready when all its containers are\n",
     ""},
    {"a time-out of its own, after a restart",
     WHY("a"),
     {ASK("a",
          POD("a", SPEC("x", ",\"startTimeout\":\"20s\""), READY("False"),
              IS("x", "false", RUNS ENDED("lastState", "1", ""), SINCE("starting", "03:55"))))},
     0,
     "pod/a is not ready: x is starting since 10s\n"
     "  x is starting since 10s\n"
     "    it has failed if it is not ready in 10s (startTimeout)\n"
     "    this is restart 3; the run before ended with exit code 1\n"
     "      help: muster logs a -c x --previous\n"
     "    help: see what it prints: muster logs a -c x\n"
     "since 60s; next: it is ready when all its containers are\n",
     ""},
    {"back-off",
     WHY("a"),
     {ASK("a",
          POD("a", SPEC("x", "") "," SPEC("y", ""), READY("False"),
              IS("x", "false", WAITS("CrashLoopBackOff") ENDED("lastState", "3", ""),
                 SINCE("failed",
                       "04:03") ",\"nextStart\":\"2026-01-02T03:04:13Z\"") "," IS_READY("y")))},
     0,
     "pod/a is not ready: x ended with exit code 3, starts again in 8s (restart 4)\n"
     "  x ended with exit code 3, starts again in 8s (restart 4)\n"
     "    help: see what it printed: muster logs a -c x\n"
     "since 60s; next: it is ready when all its containers are\n",
     ""},
    {"failed for good, and what waits for it",
     WHY("a"),
     {ASK("a", POD("a", SPEC("x", "") "," SPEC("y", NEEDS("x")), READY("False"),
                   IS("x", "false",
                      ENDED("state", "128",
                            ",\"reason\":\"StartError\",\"message\":\"exec x: No such file\""),
                      SINCE("failed", "04:03")) "," BLOCKED("y")))},
     0,
     "pod/a is not ready: x has failed for good: it could not be started: exec x: No such file; 1 "
     "container waits for it\n"
     "  x has failed for good: it could not be started: exec x: No such file\n"
     "    help: look at its command, workingDir and user: it never ran\n"
     "  y waits for x (ready); x has failed for good: it could not be started: exec x: No such "
     "file\n"
     "since 60s; next: it is ready when all its containers are\n",
     ""},
    {"no longer ready",
     WHY("a"),
     {ASK("a", POD("a", SPEC("x", PROBE), READY("False"),
                   IS("x", "false", RUNS, SINCE("ready", "03:05") ",\"message\":\"HTTP 503\"")))},
     0,
     "pod/a is not ready: x runs, but is not ready, since 60s, its readiness probe says: HTTP 503\n"
     "  x runs, but is not ready, since 60s, its readiness probe says: HTTP 503\n"
     "    help: see what it prints: muster logs a -c x\n"
     "since 60s; next: it is ready when all its containers are\n",
     ""},
    {"an init container at work",
     WHY("a"),
     {ASK("a",
          "{" META("a", "") ",\"spec\":{\"nodeName\":\"n1\",\"initContainers\":[" SPEC(
              "i", "") "]"
                       ",\"containers\":[" SPEC(
                           "x",
                           "") "]},\"status\":{\"phase\":\"Pending\","
                               "\"initContainerStatuses\":[" IS(
                                   "i",
                                   "true", RUNS,
                                   SINCE("ready",
                                         "04:00")) "],\"containerStatuses\":[" BLOCKED("x") "]}}")},
     0,
     "pod/a is not ready: i is at work since 5s; 1 container waits for it\n"
     "  i is at work since 5s\n"
     "    help: see what it prints: muster logs a -c i\n"
     "  x waits for i (completed); i is at work since 5s\n"
     "next: it is ready when all its containers are\n",
     ""},
    {"conditions of others",
     WHY("a"),
     {ASK("a", "{" META("a", "") ",\"spec\":{\"nodeName\":\"n1\",\"readinessGates\":[{"
                                 "\"conditionType\":\"lb\"},{\"conditionType\":\"dns\"}],"
                                 "\"containers\":[" SPEC("x", "") "]},\"status\":{" CONDS(
                                     COND("dns", "True",
                                          "")) ",\"containerStatuses\":[" IS_READY("x") "]}}")},
     0,
     "pod/a is not ready: its containers are, its readiness gates are not: lb\n"
     "  help: whoever is in charge of these conditions has to set them to True\n"
     "since 60s; next: it is ready when all its containers are\n",
     ""},
};

/* ---- the throttle ---- */

static const struct scene THROTTLE[] = {
    {"the cap, and who is ahead",
     WHY("a"),
     {ASK("a", POD("a", SPEC("x", PROBE), READY("False"), PENDING("x", "cap 2/2"))),
      {"GET", CONFIGS, NULL, 200, LIST(CONFIG("default", "\"maxStarting\":2"))},
      {"GET", NEIGHBOURS, NULL, 200,
       LIST(POD("a", SPEC("x", PROBE), READY("False"), PENDING("x", "cap 2/2")) "," POD(
           "b", SPEC("y", "") "," SPEC("z", ""), READY("False"),
           STARTING("y", "04:02") "," STARTING("z", "04:04")))}},
     0,
     "pod/a is not ready: x is pending since 3s: cap 2/2\n"
     "  x is pending since 3s: cap 2/2\n"
     "    2 containers are starting: b/y since 3s, b/z since 1s\n"
     "    minRate lets one start after 10s whatever this limit says\n"
     "    help: raise maxStarting of NodeConfig default\n"
     "since 60s; next: it is ready when all its containers are\n",
     ""},
    {"the built-in cap, and a line behind it",
     WHY("a"),
     {ASK("a", POD("a", SPEC("x", PROBE), READY("False"), PENDING("x", "cap 4/4"))),
      {"GET", CONFIGS, NULL, 200, LIST(CONFIG("n1", "\"minRate\":0"))},
      {"GET", NEIGHBOURS, NULL, 200,
       LIST(POD("a", SPEC("x", PROBE) "," SPEC("y", ""), READY("False"),
                PENDING("x", "cap 4/4") "," PENDING("y", "cap 4/4")))}},
     0,
     "pod/a is not ready: x is pending since 3s: cap 4/4\n"
     "  x is pending since 3s: cap 4/4\n"
     "    2 containers wait for their turn\n"
     "    minRate is 0: no start is forced\n"
     "    help: raise maxStartingContainersPerCore: apply a NodeConfig called default, or n1 for "
     "this node\n"
     "since 60s; next: it is ready when all its containers are\n",
     ""},
    {"a busy machine; the server tells of no neighbours",
     WHY("a"),
     {ASK("a", POD("a", SPEC("x", PROBE), READY("False"), PENDING("x", "cpu 93% >= 80%"))),
      {"GET", CONFIGS, NULL, 200, LIST(CONFIG("n1", "\"maxCPU\":\"80%\",\"minRate\":1"))},
      {"GET", NEIGHBOURS, NULL, 403, NOT_FOUND}},
     0,
     "pod/a is not ready: x is pending since 3s: cpu 93% >= 80%\n"
     "  x is pending since 3s: cpu 93% >= 80%\n"
     "    minRate lets one start after 1s whatever this limit says\n"
     "    help: raise maxCPU of NodeConfig n1\n"
     "since 60s; next: it is ready when all its containers are\n",
     ""},
    {"frozen",
     WHY("a"),
     {ASK("a", POD("a", SPEC("x", PROBE), READY("False"), PENDING("x", "frozen (maxRate is 0)"))),
      {"GET", CONFIGS, NULL, 200, LIST(CONFIG("default", "\"maxRate\":0"))}},
     0,
     "pod/a is not ready: x is pending since 3s: frozen (maxRate is 0)\n"
     "  x is pending since 3s: frozen (maxRate is 0)\n"
     "    help: nothing starts on this node until maxRate of NodeConfig default is above 0 or "
     "gone\n"
     "since 60s; next: it is ready when all its containers are\n",
     ""},
};

/* ---- before and after ---- */

#define UNBOUND(spec, status)                                                                      \
    "{" META("a", "") ",\"spec\":{\"containers\":[" SPEC("x", "") "]" spec "},\"status\":{"        \
                                                                  "\"phase\":\"Pending\"" status   \
                                                                  "}}"
#define NOT_SCHEDULED(reason, message)                                                             \
    "," CONDS(                                                                                     \
        COND("PodScheduled", "False", ",\"reason\":\"" reason "\",\"message\":\"" message "\""))
#define OVER(phase, more, statuses)                                                                \
    "{" META("a", "") ",\"spec\":{\"nodeName\":\"n1\",\"containers\":[" SPEC("x", "") "," SPEC(    \
        "y", "") "]},\"status\":{\"phase\":\"" phase "\"" more ",\"containerStatuses\":[" statuses \
                 "]}}"

static const struct scene ENDS[] = {
    {"no room",
     WHY("a"),
     {ASK("a", UNBOUND("", NOT_SCHEDULED("Unschedulable",
                                         "0/1 nodes are available: 1 Insufficient cpu.")))},
     0,
     "pod/a is not placed on a node: 0/1 nodes are available: 1 Insufficient cpu.\n"
     "  help: lower resources.requests of its containers, or make room: muster top nodes, "
     "muster "
     "get pods -A -o wide\n"
     "since 60s; next: it is placed when a node takes it\n",
     ""},
    {"no node",
     WHY("a"),
     {ASK("a", UNBOUND("", NOT_SCHEDULED("Unschedulable", "0/0 nodes are available.")))},
     0,
     "pod/a is not placed on a node: 0/0 nodes are available.\n"
     "  help: there was no node; muster up without --no-node makes this machine one\n"
     "since 60s; next: it is placed when a node takes it\n",
     ""},
    {"scheduling gates",
     WHY("a"),
     {ASK("a", UNBOUND(",\"schedulingGates\":[{\"name\":\"b\"},{\"name\":\"c\"}]",
                       NOT_SCHEDULED("SchedulingGated", "held")))},
     0,
     "pod/a is not placed on a node: it has scheduling gates: b, c\n"
     "  help: it goes on when whoever set them has removed all of spec.schedulingGates\n"
     "since 60s; next: it is placed when its scheduling gates are gone\n",
     ""},
    {"another scheduler",
     WHY("a"),
     {ASK("a", UNBOUND(",\"schedulerName\":\"mine\"", ""))},
     0,
     "pod/a is not placed on a node: mine has not looked at it yet\n"
     "  help: is there a scheduler of that name? It is spec.schedulerName of the pod\n"
     "next: it is placed when a node takes it\n",
     ""},
    {"a node that is silent",
     WHY("a"),
     {ASK("a", UNBOUND(",\"nodeName\":\"n1\"", "")),
      {"GET", "/api/v1/nodes/n1", NULL, 200,
       "{\"status\":{" CONDS(COND("Ready", "Unknown", ",\"message\":\"silent\"")) "}}"}},
     0,
     "pod/a is placed on node n1, which has not taken it yet\n  node n1 is not ready: silent\n"
     "next: it is ready when all its containers are\n",
     ""},
    {"a node that is not there",
     WHY("a"),
     {ASK("a", UNBOUND(",\"nodeName\":\"n1\"", "")),
      {"GET", "/api/v1/nodes/n1", NULL, 404, NOT_FOUND}},
     0,
     "pod/a is placed on node n1, which has not taken it yet\n  nothing is known of node n1\n"
     "next: it is ready when all its containers are\n",
     ""},
    {"a ConfigMap is missing",
     WHY("a"),
     {ASK("a", POD("a", SPEC("x", ""), READY("False"),
                   "{\"name\":\"x\",\"state\":{\"waiting\":{\"reason\":"
                   "\"CreateContainerConfigError\",\"message\":\"there is no ConfigMap "
                   "default/m\"}}}"))},
     0,
     "pod/a is held back: CreateContainerConfigError: there is no ConfigMap default/m\n"
     "  help: create what is missing, or mark it as optional; the pod goes on by itself\n"
     "since 60s; next: it is ready when all its containers are\n",
     ""},
    {"refused",
     WHY("a"),
     {ASK("a",
          OVER("Failed", ",\"reason\":\"Unsupported\",\"message\":\"spec.containers[0].image: no\"",
               ""))},
     0,
     "pod/a has failed: Unsupported: spec.containers[0].image: no\n"
     "  help: leave the image out, annotate the pod with muster.dev/runtime: process, or set "
     "images: Ignore in a NodeConfig\n"
     "  help: muster events --for pod/a says more; a changed pod has to be created anew\n"
     "next: nothing more: it is kept until somebody deletes it\n",
     ""},
    {"failed",
     WHY("a"),
     {ASK("a",
          OVER("Failed", "",
               IS("x", "false", ENDED("state", "7", ""), SINCE("failed", "04:00")) "," IS(
                   "y", "false", ENDED("state", "137", ",\"signal\":9,\"reason\":\"OOMKilled\""),
                   SINCE("failed", "04:00"))))},
     0,
     "pod/a has failed: x ended with exit code 7\n"
     "  y used more memory than its limit and was killed (OOMKilled)\n"
     "    help: raise resources.limits.memory of y\n"
     "    help: see what it printed: muster logs a -c y\n"
     "  help: see what it printed: muster logs a -c x\n"
     "next: nothing more: it is kept until somebody deletes it\n",
     ""},
    {"done",
     WHY("a"),
     {ASK("a", OVER("Succeeded", "", ""))},
     0,
     "pod/a is done: all its containers ended well\n"
     "next: nothing more: it is kept until somebody deletes it\n",
     ""},
    {"deleted",
     WHY("a"),
     {ASK(
         "a",
         "{" META(
             "a",
             ",\"deletionTimestamp\":\"2026-01-02T03:04:32Z\","
             "\"deletionGracePeriodSeconds\":30,\"finalizers\":[\"f/x\"]") ",\"spec\":{"
                                                                           "\"nodeName\":"
                                                                           "\"n1\","
                                                                           "\"containers\":"
                                                                           "[" SPEC(
                                                                               "x",
                                                                               "") "]},"
                                                                                   "\"stat"
                                                                                   "us\":{"
                                                                                   "\"cont"
                                                                                   "ainerS"
                                                                                   "tatuse"
                                                                                   "s\":"
                                                                                   "[" IS_READY(
                                                                                       "x") "]}}")},
     0,
     "pod/a is being deleted since 3s; 27s of its grace are left\n"
     "  it stays until its finalizers are removed: f/x\n"
     "    help: whoever set them removes them when done; by hand only if he is gone\n"
     "  these containers still run: x\n"
     "next: it is gone when nothing holds it any more\n",
     ""},
};

/* ---- jobs ---- */

#define JOB(spec, status)                                                                          \
    "{\"kind\":\"Job\"," META(                                                                     \
        "j", "") ",\"spec\":{\"completions\":3,\"parallelism\":3,"                                 \
                 "\"backoffLimit\":6,\"selector\":{\"matchLabels\":{\"job\":\"j\"}}" spec          \
                 "},\"status\":{" status "}}"
#define GIVEN(job)                                                                                 \
    {                                                                                              \
        "GET", JOBS "/j", NULL, 200, job                                                           \
    }
#define WITH(pods)                                                                                 \
    {                                                                                              \
        "GET", MEMBERS, NULL, 200, LIST(pods)                                                      \
    }
#define ENDED_POD(name, phase, code, s)                                                            \
    "{" META(name, "") ",\"spec\":{\"nodeName\":\"n1\",\"containers\":[" SPEC(                     \
        "x", "") "]},"                                                                             \
                 "\"status\":{\"phase\":\"" phase "\",\"containerStatuses\":[" IS(                 \
                     "x", "false",                                                                 \
                     ENDED("state", code, ",\"finishedAt\":\"2026-01-02T03:" s "Z\""),             \
                     SINCE("failed", s)) "]}}"
#define HELD(name)                                                                                 \
    "{" META(name, "") ",\"spec\":{\"containers\":[" SPEC(                                         \
        "x", "") "]},\"status\":{\"phase\":"                                                       \
                 "\"Pending\"" NOT_SCHEDULED("Unschedulable",                                      \
                                             "0/1 nodes are available: 1 Too many pods.") "}}"
#define FULL(name)                                                                                 \
    "  pod/" name " is not placed on a node: 0/1 nodes are available: 1 Too many pods.\n"          \
    "    help: delete pods that are not needed, or add a node\n"

static const struct scene JOBS_SCENES[] = {
    {"a job that is done",
     {"why", "job/j"},
     {GIVEN(JOB("", "\"succeeded\":3," CONDS(COND("Complete", "True", ",\"reason\":\"R\"")))),
      WITH(ENDED_POD("p", "Succeeded", "0", "04:00"))},
     0,
     "job/j is done\n  3 of 3 done, 0 active (0 ready), 0 failed\n"
     "since 60s; next: nothing more: it is kept until somebody deletes it\n",
     ""},
    {"a job that has failed",
     {"why", "job/j"},
     {GIVEN(JOB("", "\"failed\":1," CONDS(COND(
                        "Failed", "True", ",\"reason\":\"TooMany\",\"message\":\"it is over\"")))),
      WITH(ENDED_POD("p", "Failed", "4", "04:00"))},
     0,
     "job/j has failed: TooMany: it is over\n"
     "  0 of 3 done, 0 active (0 ready), 1 failed\n"
     "  pod/p has failed: x ended with exit code 4\n"
     "    help: see what it printed: muster logs p -c x\n"
     "since 60s; next: nothing more: it is kept until somebody deletes it\n",
     ""},
    {"a suspended job",
     {"why", "jobs", "j"},
     {GIVEN(JOB(",\"suspend\":true", CONDS(COND("Suspended", "True", "")))), WITH("")},
     0,
     "job/j is suspended since 60s\n"
     "  help: set spec.suspend to false; if a queue holds it, it does so itself\n"
     "since 60s; next: it makes its pods when spec.suspend is false\n",
     ""},
    {"back-off, counted since the last success",
     {"why", "job/j"},
     {GIVEN(JOB("", "\"failed\":3,\"succeeded\":1")),
      WITH(ENDED_POD("p", "Failed", "4", "03:00") "," ENDED_POD(
          "q", "Succeeded", "0", "03:10") "," ENDED_POD("r", "Failed", "5",
                                                        "03:40") "," ENDED_POD("s", "Failed", "6",
                                                                               "04:00"))},
     0,
     "job/j makes its next pod in 15s: 2 failed in a row (backoffLimit 6)\n"
     "  pod/p has failed: x ended with exit code 4\n"
     "    help: see what it printed: muster logs p -c x\n"
     "  pod/r has failed: x ended with exit code 5\n"
     "    help: see what it printed: muster logs r -c x\n"
     "  pod/s has failed: x ended with exit code 6\n"
     "    help: see what it printed: muster logs s -c x\n"
     "next: it is at work when all its pods are ready\n",
     ""},
    {"the first pods that wait",
     {"why", "job/j"},
     {GIVEN(JOB("", "\"active\":6,\"ready\":1")),
      WITH(HELD("p") "," POD("q", SPEC("x", ""), READY("True"), IS_READY("x")) "," HELD(
          "r") "," HELD("s") "," HELD("t") "," HELD("u"))},
     0,
     "job/j is not done: 0 of 3 done, 6 active (1 ready), 0 failed\n" FULL("p") FULL("r")
         FULL("s") "  and 2 more that are not ready\n"
                   "next: it is at work when all its pods are ready\n",
     ""},
    {"at work",
     {"why", "job/j"},
     {GIVEN(JOB("", "\"active\":1,\"ready\":1")),
      WITH(POD("q", SPEC("x", ""), READY("True"), IS_READY("x")))},
     0,
     "job/j is at work: 0 of 3 done, 1 active (1 ready), 0 failed\n"
     "next: it is done when 3 more of its pods have succeeded\n",
     ""},
    {"a job that is being deleted",
     {"why", "job/j"},
     {GIVEN("{" META("j", ",\"deletionTimestamp\":\"2026-01-02T03:04:00Z\",\"finalizers\":["
                          "\"foregroundDeletion\"]") ",\"spec\":{}}")},
     0,
     "job/j is being deleted since 5s; its grace is over\n"
     "  it stays until its finalizers are removed: foregroundDeletion\n"
     "    help: whoever set them removes them when done; by hand only if he is gone\n"
     "next: it is gone when nothing holds it any more\n",
     ""},
};

/* ---- the command line ---- */

static const struct scene WORDS[] = {
    {"as JSON",
     {"why", "pod/a", "-o", "json"},
     {ASK("a", UNBOUND("", NOT_SCHEDULED("Unschedulable", "0/0 nodes are available.")))},
     0,
     "{\n"
     "    \"kind\": \"Pod\",\n"
     "    \"namespace\": \"default\",\n"
     "    \"name\": \"a\",\n"
     "    \"isWell\": false,\n"
     "    \"text\": \"pod/a is not placed on a node: 0/0 nodes are available.\",\n"
     "    \"reason\": \"Unschedulable\",\n"
     "    \"help\": [\n"
     "        \"there was no node; muster up without --no-node makes this machine one\"\n"
     "    ],\n"
     "    \"since\": \"2026-01-02T03:03:05Z\",\n"
     "    \"next\": \"it is placed when a node takes it\"\n"
     "}\n",
     ""},
    {"what does not exist",
     {"why", "pod/b"},
     {{"GET", PODS "/b", NULL, 404, NOT_FOUND}},
     1,
     "",
     "Error from server (NotFound): gone\n"},
    {"a kind with a slip in it",
     {"why", "podz/a"},
     {{0}},
     2,
     "",
     "error: unknown kind 'podz'\nhint: did you mean 'pods'?\n"},
    {"a kind like no other",
     {"why", "foo/bar"},
     {{0}},
     2,
     "",
     "error: unknown kind 'foo'\n"
     "hint: some are pod, job, jobset, workload, node, statefulset and configmap\n"},
    {"all of them", {"why", "pods"}, {{0}}, 2, "", NULL},
    {"two of them", {"why", "pod/a", "pod/b"}, {{0}}, 2, "", NULL},
    {"a timeline",
     {"timeline", "job/j", "--width=40"},
     {GIVEN(JOB("", "")),
      WITH(POD(
          "p", SPEC("x", ""), READY("True"),
          IS("x", "true", RUNS,
             SINCE("ready", "04:02") ",\"generation\":1,\"moves\":["
                                     "{\"state\":\"pending\",\"at\":\"2026-01-02T03:04:00Z\"},"
                                     "{\"state\":\"starting\",\"at\":\"2026-01-02T03:04:01Z\"},"
                                     "{\"state\":\"ready\",\"at\":\"2026-01-02T03:04:02Z\"}]")))},
     0,
     "job/j: ready after 2s, 1 container\n"
     "\n"
     "       0s         1s         2s\n"
     "       ├──────────┼──────────┼─\n"
     "* x    ░░░░░░░░░░░▒▒▒▒▒▒▒▒▒▒▒▒█ 2s\n"
     "\n"
     "critical path: x 2s\n"
     "totals: blocked 0s, pending 1s, starting 1s\n"
     "legend: · blocked  ░ pending  ▒ starting  █ ready  ✗ failed  * critical path\n",
     ""},
    {"a timeline of nothing",
     {"timeline", "pod", "a"},
     {ASK("a", UNBOUND("", ""))},
     1,
     "",
     "error: pod/a: nothing of it has begun to start\nhint: see 'muster why pod/a'\n"},
    {"of a node", {"timeline", "node/n1"}, {{0}}, 2, "", NULL},
    {"too narrow", {"timeline", "pod/a", "--width=7"}, {{0}}, 2, "", NULL},
    {"no such form", {"timeline", "pod/a", "-o", "png"}, {{0}}, 2, "", NULL},
};

/* ---- JobSets ---- */

#define SETS "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
#define OF_SET "?labelSelector=jobset.sigs.k8s.io%2Fjobset-uid%3Du1"
#define SET(spec, status)                                                                          \
    {                                                                                              \
        "GET", SETS "/s", NULL, 200,                                                               \
            "{\"kind\":\"JobSet\"," META(                                                          \
                "s", ",\"uid\":\"u1\"") ",\"spec\":{\"replicatedJobs\":[{"                         \
                                        "\"name\":\"w\",\"replicas\":2,\"template\":{\"spec\":{"   \
                                        "\"completions\":2}}}]" spec "},\"status\":{" status "}}"  \
    }
#define GROUP ",\"failurePolicy\":{\"restartStrategy\":\"InPlaceRestart\",\"maxRestarts\":3}"
#define OF_THE_SET                                                                                 \
    {                                                                                              \
        "GET", JOBS "/j", NULL, 200,                                                               \
            "{\"kind\":\"Job\"," META(                                                             \
                "j", ",\"ownerReferences\":[{\"kind\":\"JobSet\",\"name\":\"s\",\"controller\":"   \
                     "true}]") ",\"spec\":{\"suspend\":true}}"                                     \
    }
#define SUSPENDED(labels)                                                                          \
    {                                                                                              \
        "GET", SETS "/s", NULL, 200,                                                               \
            "{\"kind\":\"JobSet\"," META("s", ",\"labels\":{" labels                               \
                                              "}") ",\"spec\":{\"suspend\":true}}"                 \
    }
#define WORKLOADS "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"
#define MEMBER(name, epoch, phase)                                                                   \
    "{\"kind\":\"Pod\"," META(                                                                       \
        name,                                                                                        \
        ",\"annotations\":{\"jobset.sigs.k8s.io/epoch\":\"" epoch                                    \
        "\"}") ",\"spec\":{\"nodeName\":\"n1\",\"containers\":[" SPEC("x",                           \
                                                                      "") "]},\"status\":{"          \
                                                                          "\"phase\":\"" phase       \
                                                                          "\"," READY(               \
                                                                              "False") ",\"contai"   \
                                                                                       "nerStatus"   \
                                                                                       "es\":"       \
                                                                                       "[" STARTING( \
                                                                                           "x",      \
                                                                                           "03:"     \
                                                                                           "53") "]}}"

#define IN_EPOCH_2 "\"deprecatedEpoch\":1,\"syncedEpoch\":2,\"restartsCountTowardsMax\":1,"

static const struct scene SETS_SCENES[] = {
    {"a set that is done",
     {"why", "jobset/s"},
     {SET("", CONDS(COND("Completed", "True", "")))},
     0,
     "jobset/s is done\n"
     "since 60s; next: nothing more: it is kept until somebody deletes it\n",
     ""},
    {"a set without restarts left",
     {"why", "jobset/s"},
     {SET("", CONDS(COND("Failed", "True",
                         ",\"reason\":\"ReachedMaxRestarts\",\"message\":\"it is over\"")))},
     0,
     "jobset/s has failed: ReachedMaxRestarts: it is over\n"
     "  help: see why members failed: muster events --for jobset/s\n"
     "since 60s; next: nothing more: it is kept until somebody deletes it\n",
     ""},
    {"a set that is suspended",
     {"why", "jobset", "s"},
     {SET(",\"suspend\":true", "")},
     0,
     "jobset/s is suspended\n"
     "  help: set spec.suspend to false; if a queue holds it, it does so itself\n"
     "next: it starts when spec.suspend is false\n",
     ""},
    {"members that have not arrived",
     {"why", "jobset/s"},
     {SET(GROUP, "\"deprecatedEpoch\":1,\"syncedEpoch\":1,\"restartsCountTowardsMax\":1," CONDS(
                     COND("RestartingJobSet", "True", ",\"message\":\"restart 1 of 3\""))),
      {"GET", PODS OF_SET, NULL, 200,
       LIST(MEMBER("p", "2", "Running") "," MEMBER("q", "1", "Running") "," MEMBER(
           "r", "2", "Running") "," MEMBER("t", "1", "Succeeded"))},
      {"GET", CONFIGS, NULL, 200, LIST("")}},
     0,
     "jobset/s is restarting, and waits at the barrier of epoch 2: 2 of 3 members have arrived\n"
     "  epoch 2, 1 of 3 restarts used\n"
     "  restart 1 of 3\n"
     "  pod/q is not ready: x is starting since 12s\n"
     "    x is starting since 12s\n"
     "      it has failed if it is not ready in 4m48s (startTimeout)\n"
     "      help: see what it prints: muster logs q -c x\n"
     "since 60s; next: all members start together when the last has arrived\n",
     ""},
    {"jobs that are not ready",
     {"why", "jobset/s"},
     {SET("", "\"replicatedJobsStatus\":[{\"name\":\"w\",\"ready\":1}]"),
      {"GET", JOBS OF_SET, NULL, 200,
       LIST("{" META("a", "") ",\"status\":{\"active\":1,\"ready\":1}}")}},
     0,
     "jobset/s is not done: 1 of 2 Jobs is ready, 0 done\n"
     "next: it is at work when all its members are ready\n",
     ""},
    {"a group that is back, and not yet ready",
     {"why", "jobset/s"},
     {SET(GROUP, IN_EPOCH_2 "\"replicatedJobsStatus\":[{\"name\":\"w\",\"ready\":0}]," CONDS(
                     COND("RestartingJobSet", "True", ",\"message\":\"restart 1 of 3\""))),
      {"GET", JOBS OF_SET, NULL, 200, LIST("")}},
     0,
     "jobset/s is restarting: 0 of 2 Jobs are ready, 0 done\n"
     "  epoch 2, 1 of 3 restarts used\n"
     "  restart 1 of 3\n"
     "since 60s; next: it is at work when all its members are ready\n",
     ""},
    {"a group at work",
     {"why", "jobset/s"},
     {SET(GROUP, IN_EPOCH_2 "\"replicatedJobsStatus\":[{\"name\":\"w\",\"ready\":1,"
                            "\"succeeded\":1}]"),
      {"GET", JOBS OF_SET, NULL, 200, LIST("")}},
     0,
     "jobset/s is at work: 1 of 2 Jobs is ready, 1 done\n"
     "  epoch 2, 1 of 3 restarts used\n"
     "next: it is done when all its Jobs are\n",
     ""},
    {"a group that is done",
     {"why", "jobset/s"},
     {SET(GROUP, IN_EPOCH_2 CONDS(COND("Completed", "True", "")))},
     0,
     "jobset/s is done\n"
     "  epoch 2, 1 of 3 restarts used\n"
     "since 60s; next: nothing more: it is kept until somebody deletes it\n",
     ""},
    {"a group that has not begun",
     {"why", "jobset/s"},
     {SET(GROUP ",\"suspend\":true", "")},
     0,
     "jobset/s is suspended\n"
     "  no epoch yet, 0 of 3 restarts used\n"
     "  help: set spec.suspend to false; if a queue holds it, it does so itself\n"
     "next: it starts when spec.suspend is false\n",
     ""},
};

static const struct scene JOB_OF_SET[] = {
    {"a Job whose JobSet waits in a queue",
     {"why", "job/j"},
     {OF_THE_SET,
      SUSPENDED("\"kueue.x-k8s.io/queue-name\":\"q\""),
      {"GET", WORKLOADS "/jobset-s", NULL, 200,
       "{" META("jobset-s", "") ",\"spec\":{},\"status\":{}}"},
      {"GET", WORKLOADS "/jobset-s/explain", NULL, 200,
       "{\"state\":\"no quota\",\"message\":\"too much\",\"position\":1,\"pending\":1,"
       "\"clusterQueue\":\"c\"}"}},
     0,
     "job/j waits with its jobset/s\n"
     "  jobset/s waits in queue q\n"
     "    workload/jobset-s waits for quota, number 1 of 1 in c: too much\n"
     "next: it makes its pods when its JobSet s starts\n",
     ""},
    {"a Job whose JobSet somebody has suspended",
     {"why", "job/j"},
     {OF_THE_SET, SUSPENDED("")},
     0,
     "job/j waits with its jobset/s\n"
     "  jobset/s is suspended\n"
     "    help: set spec.suspend to false; if a queue holds it, it does so itself\n"
     "next: it makes its pods when its JobSet s starts\n",
     ""},
    {"a Job whose JobSet is just being resumed",
     {"why", "job/j"},
     {OF_THE_SET, SET("", "")},
     0,
     "job/j waits with its jobset/s\n"
     "  help: muster why jobset/s\n"
     "next: it makes its pods when its JobSet s starts\n",
     ""},
};

/* ---- what is around a gang ---- */

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2/"
#define ASK_FOR(url, object)                                                                       \
    {                                                                                              \
        "GET", url, NULL, 200, object                                                              \
    }
#define OBJECT(kind, name, rest)                                                                   \
    "{\"kind\":\"" kind "\"," META(name, ",\"creationTimestamp\":\"2026-01-02T02:04:05Z\"") rest "}"
#define TWO_PODS                                                                                   \
    LIST("{\"status\":{\"phase\":\"Running\"," READY(                                              \
        "True") "}},"                                                                              \
                "{\"status\":{\"phase\":\"Succeeded\"}}")
#define QUEUE_SPEC                                                                                 \
    ",\"spec\":{\"clusterQueue\":\"c\",\"resourceGroups\":[{\"flavors\":[{\"name\":\"f\","         \
    "\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":8}]}]}]}"
#define QUEUE_STATUS(pending, active)                                                              \
    ",\"status\":{\"pendingWorkloads\":" pending ",\"admittedWorkloads\":1," CONDS(                \
        active) ",\"flavorsReservation\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\","       \
                "\"total\":\"6\"}]}]}"
#define VPODS "/apis/muster.dev/v1alpha1/namespaces/default/vpods"

static const struct scene AROUND[] = {
    {"a node at work",
     {"why", "node/n1"},
     {ASK_FOR("/api/v1/nodes/n1", OBJECT("Node", "n1", ",\"status\":{" READY("True") "}")),
      ASK_FOR(NEIGHBOURS, TWO_PODS)},
     0,
     "node/n1 is ready and takes pods\n"
     "  1 pod is on it, 1 ready\n"
     "since 60s; next: it takes pods as long as it has room\n",
     ""},
    {"a node that was drained",
     {"why", "node/n1"},
     {ASK_FOR("/api/v1/nodes/n1",
              OBJECT("Node", "n1",
                     ",\"spec\":{\"unschedulable\":true,\"taints\":[{\"key\":"
                     "\"node.kubernetes.io/unschedulable\",\"effect\":\"NoSchedule\","
                     "\"timeAdded\":\"2026-01-02T03:03:58Z\"}]},\"status\":{" READY("True") "}")),
      ASK_FOR(NEIGHBOURS, LIST(""))},
     0,
     "node/n1 is ready, but cordoned, and empty\n"
     "  0 pods are on it, 0 ready\n"
     "since 7s; next: it takes pods again after: muster uncordon n1\n",
     ""},
    {"a node that was cordoned a moment ago",
     {"why", "node/n1"},
     {ASK_FOR("/api/v1/nodes/n1",
              OBJECT("Node", "n1",
                     ",\"spec\":{\"unschedulable\":true},\"status\":{" READY("True") "}")),
      ASK_FOR(NEIGHBOURS, TWO_PODS)},
     0,
     "node/n1 is ready, but cordoned, and still has pods\n"
     "  1 pod is on it, 1 ready\n"
     "since 60s; next: it takes pods again after: muster uncordon n1\n",
     ""},
    {"a node that is silent",
     {"why", "node/n1"},
     {ASK_FOR("/api/v1/nodes/n1",
              OBJECT("Node", "n1",
                     ",\"status\":{" CONDS(
                         COND("Ready", "Unknown",
                              ",\"reason\":\"NodeStatusUnknown\",\"message\":\"silent\"")) "}")),
      ASK_FOR(NEIGHBOURS, TWO_PODS)},
     0,
     "node/n1 is not ready: silent\n"
     "  1 pod is on it, 1 ready\n"
     "  help: is its program there? muster up runs this machine's nodes\n"
     "since 60s; next: its pods are made anew elsewhere when they have waited as long as they "
     "tolerate it\n",
     ""},
    {"settings",
     {"why", "nodeconfig/default"},
     {ASK_FOR(CONFIGS "/default", OBJECT("NodeConfig", "default", ""))},
     0,
     "nodeconfig/default is in force on all nodes, but for what a NodeConfig of their own says\n"
     "since 60m; next: a change of it holds from the next start of a container on\n",
     ""},
    {"a queue in which one waits",
     {"why", "clusterqueue/c"},
     {ASK_FOR(
         KUEUE "clusterqueues/c",
         OBJECT("ClusterQueue", "c", QUEUE_SPEC QUEUE_STATUS("1", COND("Active", "True", ""))))},
     0,
     "clusterqueue/c lets gangs in: 1 admitted, 1 waits\n"
     "  flavor f: 6 of 8 cpu in use\n"
     "since 60s; next: the first of the 1 that waits is let in when there is quota for all of it\n",
     ""},
    {"a queue that is closed",
     {"why", "localqueue/l"},
     {ASK_FOR(
         KUEUE "namespaces/default/localqueues/l",
         OBJECT("LocalQueue", "l",
                QUEUE_SPEC QUEUE_STATUS("0", COND("Active", "False", ",\"message\":\"no c\""))))},
     0,
     "localqueue/l lets nobody in: no c\n"
     "  quota is that of clusterqueue/c\n"
     "    help: muster queue c\n"
     "since 60s; next: it lets gangs in when what is missing is there\n",
     ""},
    {"a workload that is admitted, and more",
     {"why", "workload/w"},
     {ASK_FOR(WORKLOADS "/w", OBJECT("Workload", "w", "")),
      ASK_FOR(WORKLOADS "/w/explain",
              "{\"state\":\"admitted\",\"message\":\"admitted; waits for its pods to be ready\"}")},
     0,
     "workload/w is admitted; waits for its pods to be ready\n"
     "since 60m; next: it is let in, whole, when it is its turn and there is quota for all of it\n",
     ""},
    {"a workload of which there is no more to say",
     {"why", "workload/w"},
     {ASK_FOR(WORKLOADS "/w", OBJECT("Workload", "w", "")),
      ASK_FOR(WORKLOADS "/w/explain", "{\"state\":\"admitted\",\"message\":\"admitted\"}")},
     0,
     "workload/w is admitted\n"
     "since 60m; next: it is let in, whole, when it is its turn and there is quota for all of it\n",
     ""},
    {"a flavor",
     {"why", "resourceflavor/f"},
     {ASK_FOR(KUEUE "resourceflavors/f",
              OBJECT("ResourceFlavor", "f", ",\"spec\":{\"nodeLabels\":{\"a\":\"b\"}}")),
      ASK_FOR("/api/v1/nodes?labelSelector=a%3Db", LIST("{},{}")),
      ASK_FOR(KUEUE "clusterqueues", LIST(OBJECT("ClusterQueue", "c", QUEUE_SPEC)))},
     0,
     "resourceflavor/f is there: 2 nodes are it\n"
     "  clusterqueue/c has quota of it\n"
     "since 60m; next: whoever is admitted with it is placed on its nodes\n",
     ""},
    {"a pool",
     {"why", "statefulset/s"},
     {ASK_FOR("/apis/apps/v1/namespaces/default/statefulsets/s",
              OBJECT("StatefulSet", "s",
                     ",\"spec\":{\"replicas\":1,\"selector\":{\"matchLabels\":{\"a\":\"b\"}}},"
                     "\"status\":{\"replicas\":1,\"readyReplicas\":1,\"updatedReplicas\":1}")),
      ASK_FOR(PODS "?labelSelector=a%3Db", LIST("{\"status\":{" READY("True") "}}")),
      ASK_FOR(VPODS, LIST("{\"spec\":{\"pool\":\"s\"}}"))},
     0,
     "statefulset/s is whole: 1 of 1 pods are ready, 1 there\n"
     "since 60s; next: it grows when vreplicas have no place, and shrinks when they need fewer "
     "pods\n",
     ""},
    {"vreplicas without a place",
     {"why", "vpod/v"},
     {ASK_FOR(VPODS "/v", OBJECT("VPod", "v",
                                 ",\"spec\":{\"pool\":\"s\"},\"status\":{" CONDS(COND(
                                     "Scheduled", "False", ",\"message\":\"2 of 4 wait\"")) "}"))},
     0,
     "vpod/v is not all placed: 2 of 4 wait\n"
     "  help: muster why statefulset/s\n"
     "since 60s; next: they are placed when statefulset/s has grown, or has room\n",
     ""},
    {"a ConfigMap and who uses it",
     {"why", "configmap/m"},
     {ASK_FOR("/api/v1/namespaces/default/configmaps/m",
              OBJECT("ConfigMap", "m", ",\"data\":{\"k\":\"v\"}")),
      ASK_FOR(PODS,
              LIST("{\"spec\":{\"containers\":[{\"env\":[{\"valueFrom\":{\"configMapKeyRef\":{"
                   "\"name\":\"m\"}}}]}]}},{\"spec\":{\"volumes\":[{\"configMap\":{\"name\":"
                   "\"other\"}}]}}"))},
     0,
     "configmap/m is there, with 1 key; 1 pod that has not ended uses it\n"
     "since 60m; next: when it changes, files of pods that run follow; their environment does at "
     "their next start\n",
     ""},
    {"a namespace",
     {"why", "namespace/x"},
     {ASK_FOR("/api/v1/namespaces/x", OBJECT("Namespace", "x", ""))},
     0,
     "namespace/x is active: objects can be made in it\n"
     "since 60m; next: it stays until it is deleted, and takes all that is in it along\n",
     ""},
    {"anything else",
     {"why", "lease/l"},
     {ASK_FOR("/apis/coordination.k8s.io/v1/namespaces/default/leases/l",
              OBJECT("Lease", "l", ""))},
     0,
     "lease/l is there; nothing is waited for\n"
     "since 60m; next: nothing happens to it by itself\n",
     ""},
};

static void play(const struct scene *scenes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        scene_play(&scenes[i]);
}

#define TEST(name, scenes)                                                                         \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        play(scenes, ARRAY_LEN(scenes));                                                           \
    }
TEST(test_containers, CONTAINERS)
TEST(test_throttle, THROTTLE)
TEST(test_ends, ENDS)
TEST(test_jobs, JOBS_SCENES)
TEST(test_jobsets, SETS_SCENES)
TEST(test_jobs_of_sets, JOB_OF_SET)
TEST(test_words, WORDS)
TEST(test_around, AROUND)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_containers), cmocka_unit_test(test_throttle),
        cmocka_unit_test(test_ends),       cmocka_unit_test(test_jobs),
        cmocka_unit_test(test_jobsets),    cmocka_unit_test(test_jobs_of_sets),
        cmocka_unit_test(test_words),      cmocka_unit_test(test_around),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

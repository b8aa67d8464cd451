// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "script.h"
#include <errno.h>

#define GROUP "/apis/metrics.k8s.io/v1beta1"
#define PODS GROUP "/namespaces/default/pods"
#define USE(cpu, memory) "\"usage\":{\"cpu\":\"" cpu "\",\"memory\":\"" memory "\"}"
#define IN(name, cpu, memory) "{\"name\":\"" name "\"," USE(cpu, memory) "}"
#define POD(ns, name, containers)                                                                  \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"" ns "\"},\"containers\":[" containers   \
    "]}"
#define NODE(name, cpu, memory) "{\"metadata\":{\"name\":\"" name "\"}," USE(cpu, memory) "}"
#define LIST(items) "{\"kind\":\"List\",\"items\":[" items "]}"
#define WEB                                                                                        \
    POD("default", "web", IN("app", "250000000n", "65536Ki") "," IN("log", "3000001n", "8Mi"))
#define DB POD("default", "db", IN("db", "1200m", "2Gi"))
#define IDLE POD("other", "idle", IN("app", "0", "3Gi"))
#define ALLOCATABLE                                                                                \
    LIST("{\"metadata\":{\"name\":\"one\"},\"status\":{\"allocatable\":{\"cpu\":\"4\",\"memory\":" \
         "\"8Gi\"}}},{\"metadata\":{\"name\":\"two\"}}")
#define NOT_FOUND "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":\"gone\",\"code\":404}"
#define DOWN                                                                                       \
    "{\"kind\":\"Status\",\"reason\":\"ServiceUnavailable\",\"message\":\"nothing is measured "    \
    "here\",\"code\":503}"

static const struct scene SCENES[] = {
    {"pods, by name",
     {"top"},
     {{"GET", PODS, NULL, 200, LIST(WEB "," DB)}},
     0,
     "NAME   CPU(cores)   MEMORY(bytes)\ndb     1200m        2048Mi\nweb    254m         72Mi\n",
     ""},
    {"of all namespaces, by memory",
     {"top", "pods", "-A", "--sort-by", "memory", "--no-headers"},
     {{"GET", GROUP "/pods", NULL, 200, LIST(DB "," WEB "," IDLE)}},
     0,
     "other     idle   0m      3072Mi\ndefault   db     1200m   2048Mi\n"
     "default   web    254m    72Mi\n",
     ""},
    {"containers, by CPU",
     {"top", "po", "--containers", "--sort-by=cpu", "-n", "x", "-l", "a=b"},
     {{"GET", GROUP "/namespaces/x/pods?labelSelector=a%3Db", NULL, 200, LIST(WEB "," DB)}},
     0,
     "POD   NAME   CPU(cores)   MEMORY(bytes)\ndb    db     1200m        2048Mi\n"
     "web   app    250m         64Mi\nweb   log    4m           8Mi\n",
     ""},
    {"one pod",
     {"top", "pod", "web"},
     {{"GET", PODS "/web", NULL, 200, WEB}},
     0,
     "NAME   CPU(cores)   MEMORY(bytes)\nweb    254m         72Mi\n",
     ""},
    {"nodes",
     {"top", "nodes"},
     {{"GET", GROUP "/nodes", NULL, 200, LIST(NODE("two", "1", "1Gi") "," NODE("one", "1", "2Gi"))},
      {"GET", "/api/v1/nodes", NULL, 200, ALLOCATABLE}},
     0,
     "NAME   CPU(cores)   CPU(%)      MEMORY(bytes)   MEMORY(%)\n"
     "one    1000m        25%         2048Mi          25%\n"
     "two    1000m        <unknown>   1024Mi          <unknown>\n",
     ""},
    {"nothing",
     {"top"},
     {{"GET", PODS, NULL, 200, LIST("")}},
     0,
     "",
     "No resources found in default namespace.\n"},
    {"nothing anywhere",
     {"top", "-A"},
     {{"GET", GROUP "/pods", NULL, 200, LIST("")}},
     0,
     "",
     "No resources found\n"},
    {"as JSON",
     {"top", "node", "one", "-o", "json"},
     {{"GET", GROUP "/nodes/one", NULL, 200, NODE("one", "1", "2Gi")}},
     0,
     "{\n    \"metadata\": {\n        \"name\": \"one\"\n    },\n    \"usage\": {\n        "
     "\"cpu\": \"1\",\n        \"memory\": \"2Gi\"\n    }\n}\n",
     ""},
    {"numbers that are none, and missing",
     {"top", "--no-headers"},
     {{"GET", PODS, NULL, 200, LIST(POD("default", "odd", IN("app", "x", "")) ",{}")}},
     0,
     "      0m    0Mi\nodd   0m    0Mi\n",
     ""},
    {"watched until the server is gone",
     {"top", "-w", "--interval=1ms"},
     {{"GET", PODS, NULL, 200, LIST(DB)},
      {"GET", PODS, NULL, 200, LIST("")},
      {"GET", PODS, NULL, 503, DOWN}},
     1,
     "NAME   CPU(cores)   MEMORY(bytes)\ndb     1200m        2048Mi\n"
     "NAME   CPU(cores)   MEMORY(bytes)\n",
     "Error from server (ServiceUnavailable): nothing is measured here\n"},
    {"drawn on a terminal",
     {"top", "-w", "--interval=1ms", "--no-headers"},
     {{"GET", PODS, NULL, 200, LIST(DB "," WEB)},
      {"GET", PODS, NULL, 200, LIST(DB)},
      {"GET", PODS, NULL, -ECONNREFUSED, ""}},
     3,
     "\033[2J\033[Hdb    1200m   2048Mi\033[K\nweb   254m    72Mi\033[K\n\033[J"
     "\033[Hdb    1200m   2048Mi\033[K\n\033[J",
     NULL,
     NULL,
     true},
    {"a server that does not measure",
     {"top", "-A"},
     {{"GET", GROUP "/pods", NULL, 404, NOT_FOUND}},
     1,
     "",
     "error: this server does not measure what is used\n"
     "hint: only one that runs pods itself does: muster up without --no-node\n"},
    {"a pod that does not exist",
     {"top", "pods", "x"},
     {{"GET", PODS "/x", NULL, 404, NOT_FOUND}},
     1,
     "",
     "Error from server (NotFound): gone\n"},
    {"an answer that is none", {"top"}, {{"GET", PODS, NULL, 200, "<html>"}}, 1, "", NULL},
    {"what is not measured", {"top", "jobs"}, {{0}}, 2, "", NULL},
    {"what does not exist", {"top", "pdos"}, {{0}}, 2, "", NULL},
    {"a name and a selector", {"top", "pods", "a", "-l", "b=c"}, {{0}}, 2, "", NULL},
    {"no interval", {"top", "-w", "--interval=0s"}, {{0}}, 2, "", NULL},
    {"no such order", {"top", "--sort-by=name"}, {{0}}, 2, "", NULL},
};

static void test_scenes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(SCENES); i++)
        scene_play(&SCENES[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scenes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "script.h"
#include <errno.h>

#define PODS "/api/v1/namespaces/default/pods"
#define JOBS "/apis/batch/v1/namespaces/default/jobs"
#define POD(name, containers)                                                                      \
    "{\"metadata\":{\"name\":\"" name "\",\"ownerReferences\":[{\"uid\":\"u1\"}]},\"spec\":{"      \
    "\"containers\":[" containers "]}}"
#define C(name) "{\"name\":\"" name "\"}"
#define LIST(items) "{\"kind\":\"PodList\",\"items\":[" items "]}"
#define REFUSED(reason, text)                                                                      \
    "{\"kind\":\"Status\",\"reason\":\"" reason "\",\"message\":\"" text "\"}"

static const struct scene SCENES[] = {
    {"a pod, as it is",
     {"logs", "a"},
     {{"WATCH", PODS "/a/log", NULL, 200, "one\ntwo\nno end"}},
     0,
     "one\ntwo\nno end",
     ""},
    {"all options",
     {"logs", "pod/a", "-c", "c", "-f", "-p", "--tail", "3", "--since", "1500ms", "--timestamps",
      "--limit-bytes=9"},
     {{"WATCH",
       PODS "/a/log?container=c&follow=true&limitBytes=9&previous=true&sinceSeconds=2&tailLines=3&"
            "timestamps=true",
       NULL, 200, "x\n"}},
     0,
     "x\n",
     ""},
    {"since a time, all lines",
     {"logs", "a", "--tail=-1", "--since-time", "2026-01-02T03:04:05Z", "-n", "t"},
     {{"WATCH", "/api/v1/namespaces/t/pods/a/log?sinceTime=2026-01-02T03%3A04%3A05Z", NULL, 200,
       ""}},
     0,
     "",
     ""},
    {"several have prefixes, and ends of lines",
     {"logs", "a", "b"},
     {{"WATCH", PODS "/a/log", NULL, 200, "one\ntwo"}, {"WATCH", PODS "/b/log", NULL, 200, "x\n"}},
     0,
     "[pod/a] one\n[pod/a] two\n[pod/b] x\n",
     ""},
    {"several without",
     {"logs", "a", "b", "--prefix=false"},
     {{"WATCH", PODS "/a/log", NULL, 200, "one\n"}, {"WATCH", PODS "/b/log", NULL, 200, "x\n"}},
     0,
     "one\nx\n",
     ""},
    {"all containers",
     {"logs", "a", "--all-containers"},
     {{"GET", PODS "/a", NULL, 200,
       "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"initContainers\":[" C(
           "i") "],\"containers\":[" C("c") "]}}"},
      {"WATCH", PODS "/a/log?container=i", NULL, 200, "first\n"},
      {"WATCH", PODS "/a/log?container=c", NULL, 200, "then\n"}},
     0,
     "[pod/a/i] first\n[pod/a/c] then\n",
     ""},
    {"selector, ten lines each",
     {"logs", "-l", "app=x"},
     {{"GET", PODS "?labelSelector=app%3Dx", NULL, 200,
       LIST(POD("a", C("c")) "," POD("b", C("c")))},
      {"WATCH", PODS "/a/log?container=c&tailLines=10", NULL, 200, "1\n"},
      {"WATCH", PODS "/b/log?container=c&tailLines=10", NULL, 200, "2\n"}},
     0,
     "[pod/a/c] 1\n[pod/b/c] 2\n",
     ""},
    {"selector that fits nothing",
     {"logs", "-l", "app=x"},
     {{"GET", PODS "?labelSelector=app%3Dx", NULL, 200, LIST("")}},
     0,
     "",
     "No pods with these labels in default namespace.\n"},
    {"a job by its selector",
     {"logs", "job/j", "--tail", "1"},
     {{"GET", JOBS "/j", NULL, 200,
       "{\"metadata\":{\"uid\":\"u1\"},\"spec\":{\"selector\":{\"matchLabels\":{\"k\":\"v\"}}}}"},
      {"GET", PODS "?labelSelector=k%3Dv", NULL, 200, LIST(POD("a", C("c")))},
      {"WATCH", PODS "/a/log?container=c&tailLines=1", NULL, 200, "1\n"}},
     0,
     "1\n",
     ""},
    {"an owner without a selector",
     {"logs", "configmap/m"},
     {{"GET", "/api/v1/namespaces/default/configmaps/m", NULL, 200,
       "{\"metadata\":{\"uid\":\"u1\"}}"},
      {"GET", PODS, NULL, 200, LIST(POD("a", C("c")) ",{\"metadata\":{\"name\":\"stranger\"}}")},
      {"WATCH", PODS "/a/log?container=c", NULL, 200, "1\n"}},
     0,
     "1\n",
     ""},
    {"a job without pods",
     {"logs", "job/j"},
     {{"GET", JOBS "/j", NULL, 200, "{\"metadata\":{\"uid\":\"u2\"}}"},
      {"GET", PODS, NULL, 200, LIST(POD("a", C("c")))}},
     1,
     "",
     "error: job/j has no pods\nhint: see 'muster describe job j'\n"},
    {"which container",
     {"logs", "a"},
     {{"WATCH", PODS "/a/log", NULL, 400,
       REFUSED("BadRequest",
               "a container name must be specified for pod a, choose one of: [x y]")}},
     1,
     "",
     "Error from server (BadRequest): a container name must be specified for pod a, choose one of: "
     "[x y]\nhint: choose one with -c NAME, or take all with --all-containers\n"},
    {"one of several waits",
     {"logs", "a", "b"},
     {{"WATCH", PODS "/a/log", NULL, 400,
       REFUSED("BadRequest",
               "container \\\"c\\\" in pod \\\"a\\\" is waiting to start: PodInitializing")},
      {"WATCH", PODS "/b/log", NULL, 200, "x\n"}},
     1,
     "[pod/b] x\n",
     "Error from server (BadRequest): container \"c\" in pod \"a\" is waiting to start: "
     "PodInitializing\nhint: 'muster describe pod a' tells what it waits for\n"},
    {"the server goes away",
     {"logs", "a"},
     {{"WATCH", PODS "/a/log", NULL, -ECONNREFUSED, ""}},
     3,
     "",
     NULL},
    {"whose", {"logs"}, {{0}}, 2, "", NULL},
    {"names and labels", {"logs", "a", "-l", "x=y"}, {{0}}, 2, "", NULL},
    {"all and one", {"logs", "a", "-c", "x", "--all-containers"}, {{0}}, 2, "", NULL},
    {"no number", {"logs", "a", "--tail", "many"}, {{0}}, 2, "", NULL},
    {"below", {"logs", "a", "--tail", "-2"}, {{0}}, 2, "", NULL},
    {"no bytes", {"logs", "a", "--limit-bytes", "0"}, {{0}}, 2, "", NULL},
    {"no time", {"logs", "a", "--since", "soon"}, {{0}}, 2, "", NULL},
    {"two times", {"logs", "a", "--since", "5m", "--since-time", "x"}, {{0}}, 2, "", NULL},
    {"unknown kind",
     {"logs", "jop/x"},
     {{0}},
     2,
     "",
     "error: unknown kind 'jop'\nhint: did you mean 'job'?\n"},
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

// SPDX-License-Identifier: Apache-2.0
/* The verbs that change things, and those that wait: apply, delete, wait. */
#include "base/mem.h"
#include "script.h"
#include <errno.h>

#define MAPS "/api/v1/namespaces/default/configmaps"
#define PODS "/api/v1/namespaces/default/pods"
#define QUERY "?fieldManager=muster-client-side-apply&fieldValidation=Strict"
#define MAP_YAML "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: m\ndata:\n  a: \"1\"\n"
#define MAP_LAST                                                                                   \
    "{\\\"apiVersion\\\":\\\"v1\\\",\\\"data\\\":{\\\"a\\\":\\\"1\\\"},\\\"kind\\\":"              \
    "\\\"ConfigMap\\\",\\\"metadata\\\":{\\\"annotations\\\":{},\\\"name\\\":\\\"m\\\","           \
    "\\\"namespace\\\":\\\"default\\\"}}\\n"
#define MAP_LIVE(data, last)                                                                       \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\",\"namespace\":"    \
    "\"default\",\"resourceVersion\":\"7\",\"uid\":\"u1\",\"annotations\":{\"kubectl.kubernetes."  \
    "io/last-applied-configuration\":\"" last "\"}},\"data\":{" data "}}"
#define MISSING                                                                                    \
    "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":\"configmaps \\\"m\\\" not found\"}"
#define CONFLICT "{\"kind\":\"Status\",\"reason\":\"Conflict\",\"message\":\"changed\"}"

static const struct scene APPLIES[] = {
    {"create",
     {"apply", "-f", "-"},
     {{"GET", MAPS "/m", NULL, 404, MISSING},
      {"POST", MAPS QUERY, MAP_LAST, 201, MAP_LIVE("\"a\":\"1\"", MAP_LAST)}},
     0,
     "configmap/m created\n",
     "",
     MAP_YAML},
    {"unchanged",
     {"apply", "-f", "-"},
     {{"GET", MAPS "/m", NULL, 200, MAP_LIVE("\"a\":\"1\",\"other\":\"x\"", MAP_LAST)}},
     0,
     "configmap/m unchanged\n",
     "",
     MAP_YAML},
    {"configured",
     {"apply", "-f", "-"},
     {{"GET", MAPS "/m", NULL, 200, MAP_LIVE("\"a\":\"0\"", MAP_LAST)},
      {"PUT", MAPS "/m" QUERY, "\"resourceVersion\":\"7\"", 200, MAP_LIVE("", MAP_LAST)}},
     0,
     "configmap/m configured\n",
     "",
     MAP_YAML},
    {"what the last one said and this does not is removed",
     {"apply", "-f", "-"},
     {{"GET", MAPS "/m", NULL, 200,
       MAP_LIVE("\"a\":\"1\",\"b\":\"2\",\"c\":\"3\"",
                "{\\\"data\\\":{\\\"a\\\":\\\"1\\\",\\\"b\\\":\\\"2\\\"}}")},
      {"PUT", MAPS "/m" QUERY, "\"data\":{\"a\":\"1\",\"c\":\"3\"}", 200, MAP_LIVE("", "")}},
     0,
     "configmap/m configured\n",
     "",
     MAP_YAML},
    {"somebody was faster",
     {"apply", "-f", "-"},
     {{"GET", MAPS "/m", NULL, 404, MISSING},
      {"POST", MAPS QUERY, NULL, 409, CONFLICT},
      {"GET", MAPS "/m", NULL, 200, MAP_LIVE("\"a\":\"0\"", MAP_LAST)},
      {"PUT", MAPS "/m" QUERY, NULL, 409, CONFLICT},
      {"GET", MAPS "/m", NULL, 200, MAP_LIVE("\"a\":\"1\"", MAP_LAST)}},
     0,
     "configmap/m unchanged\n",
     "",
     MAP_YAML},
    {"always faster",
     {"apply", "-f", "-"},
     {{"GET", MAPS "/m", NULL, 404, MISSING},
      {"POST", MAPS QUERY, NULL, 409, CONFLICT},
      {"GET", MAPS "/m", NULL, 404, MISSING},
      {"POST", MAPS QUERY, NULL, 409, CONFLICT},
      {"GET", MAPS "/m", NULL, 404, MISSING},
      {"POST", MAPS QUERY, NULL, 409, CONFLICT},
      {"GET", MAPS "/m", NULL, 404, MISSING},
      {"POST", MAPS QUERY, NULL, 409, CONFLICT},
      {"GET", MAPS "/m", NULL, 404, MISSING},
      {"POST", MAPS QUERY, NULL, 409, CONFLICT}},
     1,
     "",
     "Error from server (Conflict): changed\n",
     MAP_YAML},
    {"rehearsal here",
     {"apply", "-f", "-", "--dry-run=client"},
     {{"GET", MAPS "/m", NULL, 404, MISSING}},
     0,
     "configmap/m created (dry run)\n",
     "",
     MAP_YAML},
    {"rehearsal there",
     {"apply", "-f", "-", "--dry-run=server"},
     {{"GET", MAPS "/m", NULL, 404, MISSING},
      {"POST", MAPS QUERY "&dryRun=All", NULL, 201, MAP_LIVE("", "")}},
     0,
     "configmap/m created (server dry run)\n",
     "",
     MAP_YAML},
    {"namespace of the command line",
     {"apply", "-f", "-", "-n", "t", "-o", "name"},
     {{"GET", "/api/v1/namespaces/t/configmaps/m", NULL, 404, MISSING},
      {"POST", "/api/v1/namespaces/t/configmaps" QUERY, "\"namespace\":\"t\"", 201,
       MAP_LIVE("", "")}},
     0,
     "configmap/m\n",
     "",
     MAP_YAML},
    {"namespaces that differ",
     {"apply", "-f", "-", "-n", "t"},
     {{0}},
     1,
     "",
     "error: -:1: the object is in namespace 'u', not in 't'\n"
     "hint: leave --namespace out, or say --namespace=u\n",
     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: u}\n"},
    {"a bad second document stops the first",
     {"apply", "-f", "-"},
     {{0}},
     1,
     "",
     NULL,
     MAP_YAML "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: n}\ndatta: {}\n"},
    {"nothing at all",
     {"apply", "-f", "-"},
     {{0}},
     1,
     "",
     "error: there is no object in what is to be applied\n",
     "---\n# nothing\n"},
    {"no such file", {"apply", "-f", "/nonexistent.yaml"}, {{0}}, 1, "", NULL},
    {"no file",
     {"apply"},
     {{0}},
     2,
     "",
     "error: 'muster apply' needs -f FILE\nhint: see 'muster help apply'\n"},
};

#define BACKGROUND                                                                                 \
    "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"propagationPolicy\":\"Background\"}"
#define POD(uid, version, more)                                                                    \
    "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\",\"uid\":\"" uid                       \
    "\",\"resourceVersion\":\"" version "\"}" more "}"
#define ONE PODS "?fieldSelector=metadata.name%3Da"
#define FROM(version) ONE "&watch=true&allowWatchBookmarks=true&resourceVersion=" version
#define UNTIL(version) FROM(version) "&timeoutSeconds=31"
#define LIST(version, items)                                                                       \
    "{\"metadata\":{\"resourceVersion\":\"" version "\"},\"items\":[" items "]}"
#define GONE(uid) "{\"type\":\"DELETED\",\"object\":" POD(uid, "9", "") "}\n"

static const struct scene DELETES[] = {
    {"and wait",
     {"delete", "pod", "a"},
     {{"DELETE", PODS "/a", BACKGROUND, 200, POD("u", "5", "")},
      {"GET", ONE, NULL, 200, LIST("6", POD("u", "5", ""))},
      {"WATCH", FROM("6"), NULL, 200, GONE("u")}},
     0,
     "pod \"a\" deleted\n",
     ""},
    {"another took its name",
     {"delete", "pod/a"},
     {{"DELETE", PODS "/a", NULL, 200, "{\"kind\":\"Status\",\"details\":{\"uid\":\"u\"}}"},
      {"GET", ONE, NULL, 200, LIST("6", POD("v", "5", ""))}},
     0,
     "pod \"a\" deleted\n",
     ""},
    {"no waiting",
     {"delete", "pod", "a", "--wait=false", "--cascade=orphan", "--grace-period=7"},
     {{"DELETE", PODS "/a", "\"Orphan\",\"gracePeriodSeconds\":7}", 200, "{}"}},
     0,
     "pod \"a\" deleted\n",
     ""},
    {"by force",
     {"delete", "pod", "a", "--force", "--wait=false"},
     {{"DELETE", PODS "/a", "\"gracePeriodSeconds\":0}", 200, "{}"}},
     0,
     "pod \"a\" force deleted\n",
     NULL},
    {"no grace without force",
     {"delete", "pod", "a", "--grace-period=0", "--wait=false"},
     {{"DELETE", PODS "/a", "\"gracePeriodSeconds\":1}", 200, "{}"}},
     0,
     "pod \"a\" deleted\n",
     ""},
    {"by label",
     {"delete", "pods", "-l", "x=y", "--wait=false"},
     {{"GET", PODS "?labelSelector=x%3Dy", NULL, 200, LIST("6", POD("u", "5", ""))},
      {"DELETE", PODS "/a", NULL, 404, MISSING}},
     0,
     "",
     ""},
    {"nothing there",
     {"delete", "pods", "--all"},
     {{"GET", PODS, NULL, 200, LIST("6", "")}},
     0,
     "",
     "No resources found\n"},
    {"missing",
     {"delete", "cm", "m"},
     {{"DELETE", MAPS "/m", NULL, 404, MISSING}},
     1,
     "",
     "Error from server (NotFound): configmaps \"m\" not found\n"},
    {"missing is fine",
     {"delete", "cm", "m", "--ignore-not-found"},
     {{"DELETE", MAPS "/m", NULL, 404, MISSING}},
     0,
     "",
     ""},
    {"of a file",
     {"delete", "-f", "-", "--wait=false"},
     {{"DELETE", MAPS "/m", NULL, 200, "{}"}},
     0,
     "configmap \"m\" deleted\n",
     "",
     MAP_YAML},
    {"rehearsal",
     {"delete", "pod", "a", "--dry-run"},
     {{0}},
     0,
     "pod \"a\" deleted (dry run)\n",
     ""},
    {"too late",
     {"delete", "pod", "a", "--timeout=1ms"},
     {{"DELETE", PODS "/a", NULL, 200, POD("u", "5", "")},
      {"GET", ONE, NULL, 200, LIST("6", POD("u", "5", ""))},
      {"WATCH", FROM("6") "&timeoutSeconds=1", NULL, -ETIMEDOUT, NULL},
      {"WATCH", FROM("6") "&timeoutSeconds=1", NULL, 200, GONE("u")}},
     0,
     "pod \"a\" deleted\n",
     ""}, /* the clock of the scenes stands still */
    {"all is not said",
     {"delete", "pods"},
     {{0}},
     2,
     "",
     "error: which pods? Name them, or say --all or --selector\nhint: see 'muster help delete'\n"},
    {"name and all", {"delete", "pod", "a", "--all"}, {{0}}, 2, "", NULL},
    {"file and name", {"delete", "pod", "a", "-f", "-"}, {{0}}, 2, "", NULL},
    {"bad grace", {"delete", "pod", "a", "--grace-period=soon"}, {{0}}, 2, "", NULL},
    {"bad cascade",
     {"delete", "pod", "a", "--cascade=bakground"},
     {{0}},
     2,
     "",
     "error: option '--cascade': 'bakground' is not one of background, foreground, orphan\n"
     "hint: did you mean '--cascade=background'?\n"},
};

#define READY(status)                                                                              \
    ",\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"" status  \
    "\"}]}"
#define CHANGED(more) "{\"type\":\"MODIFIED\",\"object\":" POD("u", "8", more) "}\n"

static const struct scene WAITS[] = {
    {"is so",
     {"wait", "pod/a", "--for=condition=ready"},
     {{"GET", ONE, NULL, 200, LIST("6", POD("u", "5", READY("True")))}},
     0,
     "pod/a condition met\n",
     ""},
    {"becomes so",
     {"wait", "pod/a", "--for=condition=Ready=false"},
     {{"GET", ONE, NULL, 200, LIST("6", POD("u", "5", ""))},
      {"WATCH", UNTIL("6"), NULL, 200, CHANGED(READY("True")) CHANGED(READY("False"))}},
     0,
     "pod/a condition met\n",
     ""},
    {"path",
     {"wait", "pod/a", "--for=jsonpath={.status.conditions[?(@.type==\"Ready\")].status}=True"},
     {{"GET", ONE, NULL, 200, LIST("6", POD("u", "5", READY("False")))},
      {"WATCH", UNTIL("6"), NULL, 200, CHANGED(READY("True"))}},
     0,
     "pod/a condition met\n",
     ""},
    {"any value",
     {"wait", "pod/a", "--for=jsonpath=.status.phase"},
     {{"GET", ONE, NULL, 200, LIST("6", POD("u", "5", ""))},
      {"WATCH", UNTIL("6"), NULL, 200, CHANGED(READY("True"))}},
     0,
     "pod/a condition met\n",
     ""},
    {"deleted",
     {"wait", "pod/a", "--for=delete"},
     {{"GET", ONE, NULL, 200, LIST("6", POD("u", "5", ""))},
      {"WATCH", UNTIL("6"), NULL, 200, GONE("u")}},
     0,
     "pod/a condition met\n",
     ""},
    {"was never there",
     {"wait", "pod/a", "--for=delete"},
     {{"GET", ONE, NULL, 200, LIST("6", "")}},
     0,
     "pod/a condition met\n",
     ""},
    {"created",
     {"wait", "pod/a", "--for=create"},
     {{"GET", ONE, NULL, 200, LIST("6", "")},
      {"WATCH", UNTIL("6"), NULL, 200, "{\"type\":\"ADDED\",\"object\":" POD("u", "8", "") "}\n"}},
     0,
     "pod/a condition met\n",
     ""},
    {"not there",
     {"wait", "pod/a", "--for=condition=Ready"},
     {{"GET", ONE, NULL, 200, LIST("6", "")}},
     1,
     "",
     "Error from server (NotFound): pods \"a\" not found\n"},
    {"deleted meanwhile",
     {"wait", "pod/a", "--for=condition=Ready"},
     {{"GET", ONE, NULL, 200, LIST("6", POD("u", "5", ""))},
      {"WATCH", UNTIL("6"), NULL, 200, GONE("u")}},
     1,
     "",
     "Error from server (NotFound): pods \"a\" was deleted meanwhile\n"},
    {"too late",
     {"wait", "pod/a", "--for=condition=Ready", "--timeout=0"},
     {{"GET", ONE, NULL, 200, LIST("6", POD("u", "5", ""))}},
     1,
     "",
     "error: timed out waiting for the condition on pods/a\n"
     "hint: see what holds it up with: muster describe pods/a\n"},
    {"by label",
     {"wait", "pods", "-l", "x", "--for=delete"},
     {{"GET", PODS "?labelSelector=x", NULL, 200, LIST("6", POD("u", "5", ""))},
      {"GET", ONE, NULL, 200, LIST("6", "")}},
     0,
     "pod/a condition met\n",
     ""},
    {"none",
     {"wait", "pods", "--all", "--for=delete"},
     {{"GET", PODS, NULL, 200, LIST("6", "")}},
     1,
     "",
     "error: no such objects\n"},
    {"what for", {"wait", "pod/a"}, {{0}}, 2, "", NULL},
    {"not understood",
     {"wait", "pod/a", "--for=deleted"},
     {{0}},
     2,
     "",
     "error: option '--for': 'deleted' is none of condition=NAME[=VALUE], delete, create, "
     "jsonpath={.PATH}[=VALUE]\n"
     "hint: did you mean 'delete'?\n"},
    {"misspelt, with what follows",
     {"wait", "pod/a", "--for=conditon=Ready"},
     {{0}},
     2,
     "",
     "error: option '--for': 'conditon=Ready' is none of condition=NAME[=VALUE], delete, create, "
     "jsonpath={.PATH}[=VALUE]\n"
     "hint: did you mean 'condition=Ready'?\n"},
    {"nothing like it", {"wait", "pod/a", "--for=Ready"}, {{0}}, 2, "", NULL},
    {"bad time", {"wait", "pod/a", "--for=delete", "--timeout=soon"}, {{0}}, 2, "", NULL},
};

static void test_apply(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(APPLIES); i++)
        scene_play(&APPLIES[i]);
}

static void test_delete(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(DELETES); i++)
        scene_play(&DELETES[i]);
}

static void test_wait(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(WAITS); i++)
        scene_play(&WAITS[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_apply),
        cmocka_unit_test(test_delete),
        cmocka_unit_test(test_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

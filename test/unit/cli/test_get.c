// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "script.h"
#include <errno.h>

#define PODS "/api/v1/namespaces/default/pods"
#define COLUMNS "\"columnDefinitions\":[{\"name\":\"Name\",\"format\":\"name\"},{\"name\":\"V\"}]"
#define ROW(name, version, v)                                                                      \
    "{\"cells\":[\"" name "\",\"" v "\"],\"object\":{\"metadata\":{\"name\":\"" name               \
    "\",\"namespace\":\"default\",\"resourceVersion\":\"" version "\"}}}"
#define TABLE(version, rows)                                                                       \
    "{\"kind\":\"Table\",\"metadata\":{\"resourceVersion\":\"" version "\"}," COLUMNS              \
    ",\"rows\":[" rows "]}"
#define EVENT(type, name, version, v)                                                              \
    "{\"type\":\"" type "\",\"object\":" TABLE("", ROW(name, version, v)) "}\n"
#define NOT_FOUND                                                                                  \
    "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":\"pods \\\"x\\\" not found\","       \
    "\"code\":404}"
#define POD(name)                                                                                  \
    "{\"metadata\":{\"name\":\"" name "\",\"managedFields\":[{}],\"resourceVersion\":\"5\"},"      \
    "\"status\":{\"phase\":\"Running\"}}"

static const struct scene SCENES[] = {
    {"list",
     {"get", "pods"},
     {{"GET", PODS, NULL, 200, TABLE("9", ROW("a", "1", "x"))}},
     0,
     "NAME   V\na      x\n",
     ""},
    {"plural, singular, short, capital",
     {"get", "po", "-n", "team"},
     {{"GET", "/api/v1/namespaces/team/pods", NULL, 200, TABLE("9", "")}},
     0,
     "",
     "No resources found in team namespace.\n"},
    {"all namespaces",
     {"get", "pods", "-A", "--no-headers"},
     {{"GET", "/api/v1/pods", NULL, 200, TABLE("9", ROW("a", "1", "x"))}},
     0,
     "default   a     x\n",
     ""},
    {"nothing anywhere",
     {"get", "nodes"},
     {{"GET", "/api/v1/nodes", NULL, 200, TABLE("9", "")}},
     0,
     "",
     "No resources found\n"},
    {"selectors",
     {"get", "pods", "-l", "a=b,c in (d)", "--field-selector=status.phase=Running"},
     {{"GET", PODS "?labelSelector=a%3Db%2Cc%20in%20%28d%29&fieldSelector=status.phase%3DRunning",
       NULL, 200, TABLE("9", "")}},
     0,
     "",
     NULL},
    {"names, one missing",
     {"get", "pod", "a", "x", "b"},
     {{"GET", PODS "/a", NULL, 200, TABLE("", ROW("a", "1", "1"))},
      {"GET", PODS "/x", NULL, 404, NOT_FOUND},
      {"GET", PODS "/b", NULL, 200, TABLE("", ROW("b", "1", "2"))}},
     1,
     "NAME   V\na      1\nb      2\n",
     "Error from server (NotFound): pods \"x\" not found\n"},
    {"two kinds",
     {"get", "pods,jobs"},
     {{"GET", PODS, NULL, 200, TABLE("9", ROW("a", "1", "x"))},
      {"GET", "/apis/batch/v1/namespaces/default/jobs", NULL, 200, TABLE("9", ROW("j", "1", "y"))}},
     0,
     "NAME    V\npod/a   x\n\nNAME          V\njob.batch/j   y\n",
     ""},
    {"pairs",
     {"get", "pod/a", "po/b"},
     {{"GET", PODS "/a", NULL, 200, TABLE("", ROW("a", "1", "1"))},
      {"GET", PODS "/b", NULL, 200, TABLE("", ROW("b", "1", "2"))}},
     0,
     "NAME   V\na      1\nb      2\n",
     ""},
    {"object as JSON",
     {"get", "pod/a", "-o", "json"},
     {{"GET", PODS "/a", NULL, 200, POD("a")}},
     0,
     "{\n    \"apiVersion\": \"v1\",\n    \"kind\": \"Pod\",\n    \"metadata\": {\n        "
     "\"name\": \"a\",\n        \"resourceVersion\": \"5\"\n    },\n    \"status\": {\n        "
     "\"phase\": \"Running\"\n    }\n}\n",
     ""},
    {"list as jsonpath",
     {"get", "pods", "-o", "jsonpath={.kind}:{.items[*].metadata.name}"},
     {{"GET", PODS, NULL, 200, "{\"items\":[" POD("a") "," POD("b") "]}"}},
     0,
     "List:a b",
     ""},
    {"names only",
     {"get", "pods", "-oname"},
     {{"GET", PODS, NULL, 200, "{\"items\":[" POD("a") "," POD("b") "]}"}},
     0,
     "pod/a\npod/b\n",
     ""},
    {"refused",
     {"get", "pods"},
     {{"GET", PODS, NULL, 500, "oops"}},
     1,
     "",
     "Error from server: it gave no reason (HTTP 500)\n"},
    {"no token",
     {"get", "pods"},
     {{"GET", PODS, NULL, 401, "{\"reason\":\"Unauthorized\",\"message\":\"Unauthorized\"}"}},
     1,
     "",
     "Error from server (Unauthorized): Unauthorized\nhint: show a token with --token or "
     "--kubeconfig\n"},
    {"not JSON", {"get", "pods"}, {{"GET", PODS, NULL, 200, "<html>"}}, 1, "", NULL},
    {"not a table",
     {"get", "pods"},
     {{"GET", PODS, NULL, 200, "{\"kind\":\"PodList\"}"}},
     1,
     "",
     "error: the server at unix:/x sent no table\nhint: ask for another format: -o yaml\n"},
    {"no server",
     {"get", "pods"},
     {{"GET", PODS, NULL, -ENOENT, NULL}},
     3,
     "",
     "error: cannot reach the server at unix:/x: No such file or directory\n"
     "hint: start one with: muster up\n"},
    {"unknown kind",
     {"get", "podz"},
     {{0}},
     2,
     "",
     "error: unknown kind 'podz'\nhint: did you mean 'pods'?\n"},
    {"kind cut short",
     {"get", "jo"},
     {{0}},
     2,
     "",
     "error: unknown kind 'jo'\nhint: did you mean 'jobs'?\n"},
    {"bad jsonpath", {"get", "pods", "-o", "jsonpath={.a"}, {{0}}, 2, "", NULL},
    {"names and selector",
     {"get", "pod", "a", "-l", "x"},
     {{0}},
     2,
     "",
     "error: names and selectors do not go together\nhint: see 'muster help get'\n"},
    {"names with two kinds", {"get", "pods,jobs", "a"}, {{0}}, 2, "", NULL},
    {"half a pair", {"get", "pod/a", "b"}, {{0}}, 2, "", NULL},
    {"empty name", {"get", "pod/"}, {{0}}, 2, "", NULL},
    {"watch two", {"get", "pods,jobs", "-w"}, {{0}}, 2, "", NULL},
};

/* A stream that ends is taken up where it stopped, bookmarks move that place, a forgotten revision
 * means a new list of which only the news is shown; the scene ends with the server. */
static const struct scene WATCHES[] = {
    {"watch",
     {"get", "pods", "-w"},
     {{"GET", PODS, NULL, 200, TABLE("9", ROW("a", "8", "1"))},
      {"WATCH", PODS "?watch=true&allowWatchBookmarks=true&resourceVersion=9", NULL, 200,
       EVENT("MODIFIED", "a", "10", "2") EVENT("BOOKMARK", "a", "15", "2")},
      {"WATCH", PODS "?watch=true&allowWatchBookmarks=true&resourceVersion=15", NULL, 200,
       "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n"},
      {"GET", PODS, NULL, 200, TABLE("30", ROW("a", "10", "2") "," ROW("b", "20", "1"))},
      {"WATCH", PODS "?watch=true&allowWatchBookmarks=true&resourceVersion=30", NULL, 410, "{}"},
      {"GET", PODS, NULL, 200, TABLE("40", ROW("b", "20", "1"))},
      {"WATCH", PODS "?watch=true&allowWatchBookmarks=true&resourceVersion=40", NULL, -ECONNRESET,
       EVENT("DELETED", "b", "41", "3")},
      {"WATCH", PODS "?watch=true&allowWatchBookmarks=true&resourceVersion=41", NULL, -ENOENT,
       NULL}},
     3,
     "NAME   V\na      1\na      2\nb      1\nb      3\n",
     NULL},
    {"watch one as names",
     {"get", "pod/a", "-w", "-o", "name"},
     {{"GET", PODS "?fieldSelector=metadata.name%3Da", NULL, 200,
       "{\"metadata\":{\"resourceVersion\":\"6\"},\"items\":[" POD("a") "]}"},
      {"WATCH",
       PODS "?fieldSelector=metadata.name%3Da&watch=true&allowWatchBookmarks=true&"
            "resourceVersion=6",
       NULL, 403, "{\"reason\":\"Forbidden\",\"message\":\"no\"}"}},
     1,
     "pod/a\n",
     "Error from server (Forbidden): no\n"},
    {"watch what is not there",
     {"get", "pod/a", "-w"},
     {{"GET", PODS "?fieldSelector=metadata.name%3Da", NULL, 200, TABLE("9", "")}},
     1,
     "",
     "Error from server (NotFound): pods \"a\" not found\n"},
    {"a server that breaks each stream",
     {"get", "pods", "-w"},
     {{"GET", PODS, NULL, 200, TABLE("9", "")},
      {"WATCH", PODS "?watch=true&allowWatchBookmarks=true&resourceVersion=9", NULL, -ECONNRESET,
       NULL},
      {"WATCH", PODS "?watch=true&allowWatchBookmarks=true&resourceVersion=9", NULL, -ECONNRESET,
       NULL},
      {"WATCH", PODS "?watch=true&allowWatchBookmarks=true&resourceVersion=9", NULL, -ECONNRESET,
       NULL}},
     3,
     "",
     NULL},
};

static void test_scenes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(SCENES); i++)
        scene_play(&SCENES[i]);
}

static void test_watches(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(WATCHES); i++)
        scene_play(&WATCHES[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scenes),
        cmocka_unit_test(test_watches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

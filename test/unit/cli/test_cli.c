// SPDX-License-Identifier: Apache-2.0
/* The program as a whole: dispatch, help, completion, manual, and the verbs that only read. */
#include "base/mem.h"
#include "cli/help.h"
#include "script.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LONG_NAME "a123456789012345678901234567890123456789012345678901234567890123"

static const struct scene SCENES[] = {
    {"unknown verb",
     {"gte"},
     {{0}},
     2,
     "",
     "error: unknown verb 'gte'\nhint: did you mean 'get'?\n"},
    {"a verb of kubectl",
     {"label", "pod", "a", "b=c"},
     {{0}},
     2,
     "",
     "error: unknown verb 'label'\nhint: 'kubectl label' does that here too, with the kubeconfig "
     "that 'muster up' names\n"},
    {"unknown verb, nothing near",
     {"qqqqqqqqqqqq"},
     {{0}},
     2,
     "",
     "error: unknown verb 'qqqqqqqqqqqq'\nhint: see 'muster help'\n"},
    {"unknown option",
     {"get", "pods", "--outptu=yaml"},
     {{0}},
     2,
     "",
     "error: unknown option '--outptu'\nhint: did you mean '--output'?\n"},
    {"too few", {"get"}, {{0}}, 2, "", NULL},
    {"too many",
     {"version", "x"},
     {{0}},
     2,
     "",
     "error: 'muster version' does not take 'x'\nhint: see 'muster help version'\n"},
    {"version", {"version"}, {{0}}, 0, "muster " MUSTER_VERSION "\n", ""},
    {"version as option", {"--version"}, {{0}}, 0, "muster " MUSTER_VERSION "\n", ""},
    {"help of what is not", {"help", "gett"}, {{0}}, 2, "", NULL},
    {"bad server",
     {"get", "pods", "--request-timeout=x"},
     {{"GET", "/api/v1/namespaces/default/pods", NULL, -ECONNREFUSED, NULL}},
     3,
     "",
     NULL},
    {"a port that is none",
     {"up", "--listen", "127.0.0.1:99999"},
     {{0}},
     2,
     "",
     "error: option '--listen': the port of '127.0.0.1:99999' is not a number from 0 to 65535\n"
     "hint: write it like 127.0.0.1:8443, [::1]:8443 or 127.0.0.1:0 for any free port\n"},
    {"a server with a node of no name",
     {"up", "--node", ""},
     {{0}},
     2,
     "",
     "error: option '--node': '' is no name of a node: a DNS subdomain (RFC 1123) is made of "
     "lower-case letters, digits, '-' and '.', and each part must start and end with a letter or "
     "digit (like 'example.com')\nhint: see 'muster help up'\n"},
    {"a name that is too long for a label",
     {"up", "--node", LONG_NAME},
     {{0}},
     2,
     "",
     "error: option '--node': '" LONG_NAME "' is no name of a node: must be no more than 63 "
     "characters\nhint: see 'muster help up'\n"},
    {"a label of a node without a value",
     {"up", "--node-label", "zone=a", "--node-label", "foo"},
     {{0}},
     2,
     "",
     "error: option '--node-label': 'foo' is not KEY=VALUE\nhint: see 'muster help up'\n"},
    {"a label without a key",
     {"up", "--node-label", "=x"},
     {{0}},
     2,
     "",
     "error: option '--node-label': '' is no key of a label: the name part must not be empty\n"
     "hint: see 'muster help up'\n"},
    {"a label whose value is none",
     {"up", "--node-label", "a=b c"},
     {{0}},
     2,
     "",
     "error: option '--node-label': 'b c' is no value of a label: a label's value is empty or made "
     "of letters, digits, '-', '_' and '.', and must start and end with a letter or digit (like "
     "'MyValue' or '12345')\nhint: see 'muster help up'\n"},
    {"a name of the node that is not to be",
     {"up", "--no-node", "--node", "a"},
     {{0}},
     2,
     "",
     "error: option '--node': there is no node with --no-node\nhint: see 'muster help up'\n"},
    {"no such shell",
     {"completion", "bsh"},
     {{0}},
     2,
     "",
     "error: there is no completion for 'bsh'\nhint: did you mean 'bash'?\n"},
};

#define NAMESPACED "/api/v1/namespaces/default/"
#define NAMES(a, b)                                                                                \
    "{\"items\":[{\"metadata\":{\"name\":\"" a "\"}},{\"metadata\":{\"name\":\"" b "\"}}]}"

static const struct scene COMPLETIONS[] = {
    {"a verb", {"__complete", "desc"}, {{0}}, 0, "describe\ttell all about objects\n", ""},
    {"a kind", {"__complete", "get", "confi"}, {{0}}, 0, "configmaps\tConfigMap\n", ""},
    {"an option",
     {"__complete", "get", "pods", "--show"},
     {{0}},
     0,
     "--show-labels\tAdd a column with the labels.\n",
     ""},
    {"a value", {"__complete", "get", "-o", "ya"}, {{0}}, 0, "yaml\tHow to print.\n", ""},
    {"a value in the word",
     {"__complete", "get", "--output=ya"},
     {{0}},
     0,
     "--output=yaml\tHow to print.\n",
     ""},
    {"names",
     {"__complete", "get", "pods", "w"},
     {{"GET", NAMESPACED "pods", NULL, 200, NAMES("web-0", "x")}},
     0,
     "web-0\tPod\n",
     ""},
    {"names of a namespace",
     {"__complete", "delete", "-n", "t", "po", ""},
     {{"GET", "/api/v1/namespaces/t/pods", NULL, 200, NAMES("a", "b")}},
     0,
     "a\tPod\nb\tPod\n",
     ""},
    {"pairs",
     {"__complete", "wait", "pod/"},
     {{"GET", NAMESPACED "pods", NULL, 200, NAMES("a", "b")}},
     0,
     "pod/a\tPod\npod/b\tPod\n",
     ""},
    {"a namespace",
     {"__complete", "get", "pods", "-n", "d"},
     {{"GET", "/api/v1/namespaces", NULL, 200, NAMES("default", "x")}},
     0,
     "default\tNamespace\n",
     ""},
    {"no server, no noise",
     {"__complete", "get", "pods", "w"},
     {{"GET", NAMESPACED "pods", NULL, -ENOENT, NULL}},
     0,
     "",
     ""},
    {"nodes",
     {"__complete", "drain", "n"},
     {{"GET", "/api/v1/nodes", NULL, 200, NAMES("n1", "m")}},
     0,
     "n1\tNode\n",
     ""},
    {"pods of logs",
     {"__complete", "logs", "a"},
     {{"GET", NAMESPACED "pods", NULL, 200, NAMES("a", "b")}},
     0,
     "a\tPod\nadmissioncheck/\tAdmissionCheck\n",
     ""},
    {"what is measured", {"__complete", "top", "n"}, {{0}}, 0, "nodes\twhat is measured\n", ""},
    {"what to wait for",
     {"__complete", "wait", "pod/a", "--for=c"},
     {{0}},
     0,
     "--for=condition=\twhat to wait for\n--for=create\twhat to wait for\n",
     ""},
    {"files", {"__complete", "apply", "-f", "x"}, {{0}}, 0, ":files\tfiles\n", ""},
    {"files of validate", {"__complete", "validate", ""}, {{0}}, 0, ":files\tfiles\n", ""},
    {"verbs of help",
     {"__complete", "help", "wa"},
     {{0}},
     0,
     "wait\twait until objects are as wanted\n",
     ""},
    {"nothing of nothing", {"__complete", "nonsense", "x"}, {{0}}, 0, "", ""},
    {"hidden verbs stay hidden", {"__complete", "__"}, {{0}}, 0, "", ""},
};

#define EVENT(time, type, reason, count)                                                           \
    "{\"type\":\"" type "\",\"reason\":\"" reason "\",\"message\":\"m\\nn\",\"lastTimestamp\":"    \
    "\"2026-01-02T03:04:" time "Z\",\"firstTimestamp\":\"2026-01-02T03:00:05Z\",\"count\":" count  \
    ",\"involvedObject\":{\"kind\":\"Pod\",\"name\":\"a\"},\"source\":{\"component\":\"node\"}}"
#define EVENTS                                                                                     \
    "{\"metadata\":{\"resourceVersion\":\"4\"},\"items\":[" EVENT(                                 \
        "03", "Warning", "Second", "3") "," EVENT("01", "Normal", "First", "1") "]}"
#define ABOUT "?fieldSelector=involvedObject.kind%3DPod%2CinvolvedObject.name%3Da"

static const struct scene READS[] = {
    {"events",
     {"events"},
     {{"GET", NAMESPACED "events", NULL, 200, EVENTS}},
     0,
     "LAST SEEN         TYPE      REASON   OBJECT   MESSAGE\n"
     "4s                Normal    First    pod/a    m...\n"
     "2s (x3 over 4m)   Warning   Second   pod/a    m...\n",
     ""},
    {"events of no type",
     {"events", "--types=Normal,Foo"},
     {{0}},
     2,
     "",
     "error: option '--types': 'Foo' is neither Normal nor Warning\nhint: see 'muster help "
     "events'\n"},
    {"events of one type about one object",
     {"events", "--for", "po/a", "--types=warning", "--no-headers"},
     {{"GET", NAMESPACED "events" ABOUT, NULL, 200, EVENTS}},
     0,
     "2s (x3 over 4m)   Warning   Second   pod/a   m...\n",
     ""},
    {"no events",
     {"events", "-A"},
     {{"GET", "/api/v1/events", NULL, 200, "{\"items\":[]}"}},
     0,
     "",
     "No events found\n"},
    {"events for nothing", {"events", "--for=a"}, {{0}}, 2, "", NULL},
    {"describe",
     {"describe", "pod", "a"},
     {{"GET", NAMESPACED "pods/a", NULL, 200,
       "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":\"default\",\"labels\":{\"x\":"
       "\"1\",\"y\":\"2\"},\"creationTimestamp\":\"2026-01-02T03:03:05Z\"},\"spec\":{"
       "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"args\":[\"one\",\"two\"]}],"
       "\"text\":\"l1\\nl2\",\"empty\":{}},\"status\":{\"podIP\":\"::1\",\"conditions\":[{\"type\":"
       "\"Ready\",\"status\":\"True\"}]}}"},
      {"GET", NAMESPACED "events" ABOUT, NULL, 200, EVENTS}},
     0,
     "Name:           a\n"
     "Namespace:      default\n"
     "Kind:           Pod\n"
     "Labels:         x=1\n"
     "                y=2\n"
     "Annotations:    <none>\n"
     "Created:        2026-01-02T03:03:05Z (60s ago)\n"
     "Spec:\n"
     "  Restart Policy:  Never\n"
     "  Containers:\n"
     "    - Name:  c\n"
     "      Args:\n"
     "        - one\n"
     "        - two\n"
     "  Text:  \n"
     "    l1\n"
     "    l2\n"
     "  Empty:  {}\n"
     "Status:\n"
     "  Pod IP:  ::1\n"
     "  Conditions:\n"
     "    Type    Status   Reason   Since   Message\n"
     "    Ready   True                      \n"
     "Life:\n"
     "  pod/a is not placed on a node: the scheduler has not looked at it yet\n"
     "  since 60s; next: it is placed when a node takes it\n"
     "Events:\n"
     "  Type      Reason   Age               From   Message\n"
     "  Normal    First    4s                node   m...\n"
     "  Warning   Second   2s (x3 over 4m)   node   m...\n",
     ""},
    {"describe a pod that starts",
     {"describe", "pod/a", "--show-events=false"},
     {{"GET", NAMESPACED "pods/a", NULL, 200,
       "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"annotations\":{\"muster.dev/depends-on\":"
       "\"{\\\"web\\\":[\\\"db:started\\\"]}\"}},\"spec\":{\"containers\":[{\"name\":\"db\"},{"
       "\"name\":\"app\",\"dependsOn\":[{\"name\":\"db\",\"condition\":\"ready\"}]},{\"name\":"
       "\"web\"}]},\"status\":{\"containerStatuses\":[{\"name\":\"db\",\"ready\":true,"
       "\"restartCount\":2,\"lifecycle\":{\"state\":\"ready\",\"since\":\"2026-01-02T03:03:05Z\","
       "\"moves\":[{\"state\":\"starting\",\"at\":\"2026-01-02T03:03:03.5Z\"},{\"state\":\"ready\","
       "\"at\":\"2026-01-02T03:03:05Z\"}]}},{\"name\":\"app\",\"ready\":false,\"lifecycle\":{"
       "\"state\":\"pending\",\"reason\":\"StartThrottled\",\"message\":\"cap 2/2\"}}]}}"}},
     0,
     "Name:           a\n"
     "Kind:           Pod\n"
     "Labels:         <none>\n"
     "Annotations:    muster.dev/depends-on={\"web\":[\"db:started\"]}\n"
     "Containers:\n"
     "  Name   State       Since   Ready   Restarts   Depends On     Reason\n"
     "  db     ready       60s     true    2          <none>         \n"
     "  app    pending             false   0          db (ready)     StartThrottled: cap 2/2\n"
     "  web    <unknown>           false   0          db (started)   \n"
     "Spec:\n"
     "  Containers:\n"
     "    - Name:  db\n"
     "    - Name:  app\n"
     "      Depends On:  db (ready)\n"
     "    - Name:  web\n"
     "Status:\n"
     "  Container Statuses:\n"
     "    - Name:  db\n"
     "      Ready:  true\n"
     "      Restart Count:  2\n"
     "      Lifecycle:\n"
     "        State:  ready\n"
     "        Since:  2026-01-02T03:03:05Z\n"
     "        Moves:  starting 2026-01-02T03:03:03.5Z, ready +1.5s\n"
     "    - Name:  app\n"
     "      Ready:  false\n"
     "      Lifecycle:\n"
     "        State:  pending\n"
     "        Reason:  StartThrottled\n"
     "        Message:  cap 2/2\n"
     "Life:\n"
     "  pod/a is not placed on a node: the scheduler has not looked at it yet\n"
     "  next: it is placed when a node takes it\n",
     ""},
    {"describe leaves people's keys as they are",
     {"describe", "pod/a", "--show-events=false"},
     {{"GET", NAMESPACED "pods/a", NULL, 200,
       "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"},\"spec\":{"
       "\"nodeSelector\":{\"diskType\":\"ssd\"},\"affinity\":{\"podAffinity\":{"
       "\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"labelSelector\":{\"matchLabels\":{"
       "\"myApp\":\"x\"}}}]}},\"newField\":{\"aB\":1}}}"}},
     0,
     "Name:           a\n"
     "Kind:           Pod\n"
     "Labels:         <none>\n"
     "Annotations:    <none>\n"
     "Spec:\n"
     "  Node Selector:\n"
     "    diskType:  ssd\n"
     "  Affinity:\n"
     "    Pod Affinity:\n"
     "      Required During Scheduling Ignored During Execution:\n"
     "        - Label Selector:\n"
     "            Match Labels:\n"
     "              myApp:  x\n"
     "  New Field:\n"
     "    A B:  1\n"
     "Life:\n"
     "  pod/a is not placed on a node: the scheduler has not looked at it yet\n"
     "  next: it is placed when a node takes it\n",
     ""},
    {"describe without events",
     {"describe", "pod/a", "--show-events=false"},
     {{"GET", NAMESPACED "pods/a", NULL, 200, "{\"metadata\":{\"name\":\"a\"}}"}},
     0,
     "Name:           a\nKind:           <none>\nLabels:         <none>\nAnnotations:    <none>\n"
     "Life:\n"
     "  pod/a is not placed on a node: the scheduler has not looked at it yet\n"
     "  next: it is placed when a node takes it\n",
     ""},
    {"validate",
     {"validate", "-"},
     {{0}},
     0,
     "-: 2 objects are valid\n",
     "",
     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n"
     "apiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n"},
    {"validate finds",
     {"validate", "-"},
     {{0}},
     1,
     "",
     NULL,
     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndatta: {}\n"},
    {"validate finds in what it can read",
     {"validate", "-"},
     {{0}},
     1,
     "",
     "-:2:1: ',' or ']' was expected here\n    hint: a '[' above is not closed, or a value needs "
     "quotes\n"
     "-:5:11: metadata.name: Required value\n    hint: every object needs a name\n",
     "a: [x\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {}\n"},
    {"validate of nothing",
     {"validate", "-"},
     {{0}},
     1,
     "",
     "-: there is no object in it\n",
     "# to be written\n---\n"},
    {"validate of nothing for scripts",
     {"validate", "-o", "json", "-"},
     {{0}},
     1,
     "{\"files\":[{\"file\":\"-\",\"objects\":0,\"valid\":false,\"errors\":[{\"line\":0,\"column\":"
     "0,"
     "\"message\":\"there is no object in it\"}],\"warnings\":[]}]}\n",
     "",
     ""},
    {"validate warns",
     {"validate", "-"},
     {{0}},
     0,
     "-: 2 objects are valid\n",
     "-:5:3: warning: spec.containers: no container has a probe or tells on a socket that it is "
     "ready: each counts as ready once it runs, so only maxRate can throttle it\n"
     "    hint: add a readinessProbe, or the annotation muster.dev/notify\n"
     "-:16:19: warning: spec.template.spec.containers: no container has a probe or tells on a "
     "socket "
     "that it is ready: each counts as ready once it runs, so only maxRate can throttle it\n"
     "    hint: add a readinessProbe, or the annotation muster.dev/notify\n",
     "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: a\n"
     "    command: [a]\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: b}\nspec:\n"
     "  template:\n    spec:\n      restartPolicy: Never\n      containers: [{name: c, command: "
     "[x]}]\n"},
    {"validate does not warn of signals",
     {"validate", "-"},
     {{0}},
     0,
     "-: 3 objects are valid\n",
     "",
     "apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: {muster.dev/notify: b}}\n"
     "spec: {containers: [{name: a, command: [x]}, {name: b, command: [x]}]}\n"
     "---\napiVersion: v1\nkind: Pod\nmetadata: {name: b}\n"
     "spec: {containers: [{name: a, command: [x], livenessProbe: {tcpSocket: {port: 1}}}]}\n"
     "---\napiVersion: v1\nkind: Pod\nmetadata: {name: c}\n"
     "spec: {containers: [{name: a, command: [x]}], initContainers: [{name: s, command: [x], "
     "restartPolicy: Always, startupProbe: {exec: {command: [x]}}}]}\n"},
    {"validate warns scripts",
     {"validate", "-o", "json", "-"},
     {{0}},
     0,
     "{\"files\":[{\"file\":\"-\",\"objects\":1,\"valid\":true,\"errors\":[],\"warnings\":[{"
     "\"line\":4,\"column\":20,\"message\":\"spec.containers: no container has a probe or tells on "
     "a socket that it is ready: each counts as ready once it runs, so only maxRate can throttle "
     "it\",\"hint\":\"add a readinessProbe, or the annotation muster.dev/notify\"}]}]}\n",
     "",
     "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, command: "
     "[x]}]}\n"},
    {"validate plans",
     {"validate", "--plan", "-"},
     {{0}},
     0,
     "-: 2 objects are valid\n"
     "pod/shop starts in 5 steps:\n"
     "  1. setup (init)\n"
     "  2. proxy (sidecar)\n"
     "  3. database, cache\n"
     "  4. web (after database, cache started), report (after database completed)\n"
     "  5. edge (after web)\n",
     NULL,
     "apiVersion: v1\nkind: Pod\nmetadata:\n  name: shop\n  annotations:\n"
     "    muster.dev/depends-on: '{\"edge\":[\"web\"],\"report\":[\"database:completed\"]}'\n"
     "spec:\n  initContainers:\n  - {name: setup, command: [x]}\n"
     "  - {name: proxy, command: [x], restartPolicy: Always}\n  containers:\n"
     "  - {name: edge, command: [x]}\n"
     "  - name: web\n    command: [x]\n    dependsOn: [database, {name: cache, condition: "
     "started}]\n"
     "  - {name: database, command: [x]}\n  - {name: cache, command: [x]}\n"
     "  - {name: report, command: [x]}\n---\n"
     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"},
    {"validate plans for scripts",
     {"validate", "--plan", "-o", "json", "-"},
     {{0}},
     0,
     "{\"files\":[{\"file\":\"-\",\"objects\":1,\"valid\":true,\"errors\":[],\"warnings\":[],"
     "\"plan\":[{\"kind\":\"Job\",\"name\":\"j\",\"steps\":[[\"b\"],[\"a\"]]}]}]}\n",
     "",
     "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n  template:\n    spec:\n"
     "      restartPolicy: Never\n      containers:\n"
     "      - {name: a, command: [x], dependsOn: [{name: b}]}\n"
     "      - {name: b, command: [x], readinessProbe: {tcpSocket: {port: 1}}}\n"},
    {"validate plans nothing that is wrong",
     {"validate", "--plan", "-"},
     {{0}},
     1,
     "",
     NULL,
     "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, command: [x], "
     "dependsOn: [{name: a}]}]}\n"},
    {"validate for scripts",
     {"validate", "-o", "json", "-"},
     {{0}},
     1,
     NULL,
     "",
     "apiVersion: v1\nkind: Confgmap\nmetadata: {name: a}\n"},
};

static void play_all(const struct scene *scenes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        scene_play(&scenes[i]);
}

static void test_usage(void **state)
{
    (void)state;
    play_all(SCENES, ARRAY_LEN(SCENES));
}

static void test_completion(void **state)
{
    (void)state;
    play_all(COMPLETIONS, ARRAY_LEN(COMPLETIONS));
}

static void test_reads(void **state)
{
    (void)state;
    play_all(READS, ARRAY_LEN(READS));
}

/* Each verb has what its texts need, no option stands twice, and help and manual name all. */
static void test_table_is_whole(void **state)
{
    (void)state;
    for (const struct verb *verb = VERBS; verb->name != NULL; verb++) {
        assert_non_null(verb->run);
        assert_true(verb->summary[0] != '\0' && !str_ends(verb->summary, "."));
        if (!(verb->flags & VERB_HIDDEN))
            assert_true(str_ends(verb->help, "."));
        struct opt_set set = verb_opts(verb);
        for (size_t t = 0; t < OPT_TABLES_MAX; t++) {
            for (const struct opt *opt = set.tables[t]; opt && opt->name; opt++) {
                assert_ptr_equal(opt_find(&set, opt->name, strlen(opt->name)), opt);
                if (opt->letter != '\0')
                    assert_ptr_equal(opt_find_letter(&set, opt->letter), opt);
                assert_true(opt->doc != NULL && str_ends(opt->doc, "."));
                assert_true(!(opt->flags & OPT_OPTIONAL) || opt->optional != NULL);
            }
        }
    }
}

/* The words after "muster", as a shell takes them apart, up to a pipe or a redirection. In place.
 */
static int words_of(char *text, char *words[], int max)
{
    int n = 0, depth = 0; /* of parentheses */
    char quote = '\0', *to = text, *word = text;
    for (const char *from = text; n < max; from++) {
        char c = *from;
        bool is_bare = quote == '\0' && depth == 0;
        if (c == '\0' || (is_bare && strchr(" >|)", c) != NULL)) {
            *to++ = '\0';
            if (to - word > 1)
                words[n++] = word;
            word = to;
            if (c != ' ')
                break;
        } else if (c == quote || (is_bare && (c == '\'' || c == '"'))) {
            quote = c == quote ? '\0' : c;
        } else {
            depth += (c == '(') - (c == ')');
            *to++ = c;
        }
    }
    return n;
}

static void check_example(const struct verb *of, const char *line)
{
    char *words[32];
    const char *at = strstr(line, "muster ");
    if (at == NULL)
        fail_msg("%s: no muster in '%s'", of->name, line);
    scoped_free char *text = mem_strdup(at + strlen("muster "));
    int n = words_of(text, words, 32);
    const struct verb *verb = n > 0 ? verb_of(words[0]) : NULL;
    struct opt_values values = {0};
    struct err err = {0};
    if (verb == NULL)
        fail_msg("%s: no such verb: '%s'", of->name, line);
    else if (opt_parse(verb_opts(verb), n - 1, words + 1, &values, &err) < 0)
        fail_msg("%s: %s in '%s'", of->name, err.text, line);
    else if ((int)values.args.len < verb->args_min ||
             (verb->args_max >= 0 && (int)values.args.len > verb->args_max))
        fail_msg("%s: too few or too many words: '%s'", of->name, line);
    opt_done(&values);
}

/* Nobody types them in, but what they name is there. */
static void test_examples_are_possible(void **state)
{
    (void)state;
    for (const struct verb *verb = VERBS; verb->name != NULL; verb++) {
        struct sv rest = sv_of(verb->examples != NULL ? verb->examples : "");
        assert_true((verb->flags & VERB_HIDDEN) || rest.len > 0);
        while (rest.len > 0) {
            struct sv line = sv_cut(&rest, '\n');
            (void)sv_cut(&line, '\t');
            scoped_free char *command = mem_strndup(line.ptr, line.len);
            check_example(verb, command);
        }
    }
}

static void test_words(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } ROWS[] = {
        {"get pods -o 'jsonpath={range .items[*]}{\"\\n\"}'",
         "get|pods|-o|jsonpath={range .items[*]}{\"\\n\"}"},
        {"backup /b/m-$(date +%F).db", "backup|/b/m-$(date +%F).db"},
        {"completion bash)", "completion|bash"},
        {"run -n 8 -- x --y > z", "run|-n|8|--|x|--y"},
        {"token create --name \"a b\" | tee t", "token|create|--name|a b"},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        char *words[8];
        scoped_free char *text = mem_strdup(ROWS[i].text);
        scoped_str joined = {0};
        int n = words_of(text, words, 8);
        for (int k = 0; k < n; k++)
            str_addf(&joined, "%s%s", k > 0 ? "|" : "", words[k]);
        assert_string_equal(str_text(&joined), ROWS[i].words);
    }
}

static void test_help_names_options(void **state)
{
    (void)state;
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    help_verb(verb_of("delete"), false, out);
    (void)fclose(out);
    assert_non_null(strstr(text, "--cascade[=HOW]"));
    assert_non_null(strstr(text, "-f, --filename FILE"));
    assert_non_null(strstr(text, "--kubeconfig FILE"));
    assert_non_null(strstr(text, "Default: background."));
    for (char *line = text; line != NULL && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        assert_true(strcspn(line, "\n") <= 100);
    }
    free(text);
}

static const char *data_dir(struct cli *cli, struct str *out)
{
    struct err err = {0};
    str_clear(out);
    return cli_data_dir(cli, out, &err) == 0 ? str_text(out) : NULL;
}

static void test_data_dir(void **state)
{
    (void)state;
    static char *argv[] = {(char *)"--data=/d"};
    struct cli cli = {0};
    scoped_str out = {0};
    struct opt_set set = {{OPTS_SERVER}};
    assert_int_equal(opt_parse(set, 0, NULL, &cli.opts, NULL), 0);
    unsetenv("MUSTER_DATA");
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", "/h", 1);
    assert_string_equal(data_dir(&cli, &out), "/h/.local/state/muster");
    setenv("XDG_STATE_HOME", "/x", 1);
    assert_string_equal(data_dir(&cli, &out), "/x/muster");
    setenv("MUSTER_DATA", "/m", 1);
    assert_string_equal(data_dir(&cli, &out), "/m");
    setenv("MUSTER_DATA", "", 1);
    assert_string_equal(data_dir(&cli, &out), "/x/muster");
    opt_done(&cli.opts);
    assert_int_equal(opt_parse(set, 1, argv, &cli.opts, NULL), 0);
    assert_string_equal(data_dir(&cli, &out), "/d");
    opt_done(&cli.opts);
    assert_int_equal(opt_parse(set, 0, NULL, &cli.opts, NULL), 0);
    unsetenv("XDG_STATE_HOME");
    unsetenv("MUSTER_DATA");
    unsetenv("HOME");
    assert_null(data_dir(&cli, &out));
    opt_done(&cli.opts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_completion),
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_table_is_whole),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_examples_are_possible),
        cmocka_unit_test(test_help_names_options),
        cmocka_unit_test(test_data_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

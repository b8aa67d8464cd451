// SPDX-License-Identifier: Apache-2.0
#include "kindtest.h"
#include "model/podnotes.h"
#include "model/podspec.h"

#define POD(spec) "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p'},'spec':" spec "}"
/* Containers i (init), a, b and c, and one annotation, where Q is a quote. */
#define NOTED(key, text, a_more)                                                                   \
    "{'metadata':{'name':'p','annotations':{'muster.dev/" key "':'" text "'}},'spec':{"            \
    "'initContainers':[{'name':'i','image':'i'}],'containers':[{'name':'a','image':'i'" a_more     \
    "},{'name':'b','image':'i'},{'name':'c','image':'i'}]}}"
#define PLAYED(key, text)                                                                          \
    "{'metadata':{'name':'p','annotations':{'sim.muster.dev/" key "':'" text "'}},'spec':{"        \
    "'initContainers':[{'name':'i','image':'i'}],'containers':[{'name':'a','image':'i'}]}}"
#define IN_PLAY(key) "metadata.annotations[sim.muster.dev/" key "]: Invalid value: "
#define DEPENDS_ON "metadata.annotations[muster.dev/depends-on]: Invalid value: "
#define Q "\\\""
#define ONE_CONTAINER(more) POD("{'containers':[{'name':'a','image':'i:1'" more "}]}")

#define ENV_FIELD(path)                                                                            \
    ONE_CONTAINER(",'env':[{'name':'A','valueFrom':{'fieldRef':{'fieldPath':'" path "'}}}]")
#define ENV_FIELD_AT "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: "
#define ENTRY(key) "[\\u0027" key "\\u0027]"

/* ---- manifests as people write them ---- */

static const char *const REAL[] = {
    ONE_CONTAINER(""),
    ENV_FIELD("metadata.annotations" ENTRY("jobset.sigs.k8s.io/jobset-name")),
    ENV_FIELD("metadata.annotations" ENTRY("Example.com/A")),
    ENV_FIELD("status.podIPs"),
    /* a plain process */
    POD("{'containers':[{'name':'a','command':['sleep','1']}]}"),
    /* a web server with everything around it */
    "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'web-0','namespace':'shop','labels':"
    "{'app.kubernetes.io/name':'web','tier':''},'annotations':{'note':'any text: with %signs'},"
    "'creationTimestamp':null},'spec':{'serviceAccountName':'web','nodeSelector':"
    "{'kubernetes.io/os':'linux'},'initContainers':[{'name':'migrate','image':'web:2.1','command':"
    "['./"
    "migrate'],'env':[{'name':'POD_IP','valueFrom':{'fieldRef':{'fieldPath':'status.podIP'}}}]},"
    "{'name':'proxy','image':'proxy@sha256:0123','restartPolicy':'Always','startupProbe':"
    "{'tcpSocket':{'port':'admin'}},'ports':[{'name':'admin','containerPort':9901}]}],"
    "'containers':[{'name':'web','image':'registry.example:5000/web','args':['--port','8080'],"
    "'ports':[{'name':'http','containerPort':8080},{'name':'http-udp','containerPort':8080,"
    "'protocol':'UDP'}],'env':[{'name':'A','value':''},{'name':'B','valueFrom':{'configMapKeyRef':"
    "{'name':'c','key':'k.txt','optional':true}}},{'name':'C','valueFrom':{'secretKeyRef':{'name':"
    "'s','key':'k'}}},{'name':'D','valueFrom':{'resourceFieldRef':{'resource':'limits.cpu'}}}],"
    "'envFrom':[{'prefix':'X_','configMapRef':{'name':'c'}},{'secretRef':{'name':'s'}}],"
    "'resources':{'requests':{'cpu':'250m','memory':'64Mi'},'limits':{'cpu':1,'memory':'128Mi',"
    "'example.com/gpu':1}},'livenessProbe':{'httpGet':{'path':'/healthz','port':'http'},"
    "'initialDelaySeconds':0,'periodSeconds':5},'readinessProbe':{'exec':{'command':['true']},"
    "'successThreshold':2},'lifecycle':{'preStop':{'sleep':{'seconds':5}}},'securityContext':"
    "{'runAsUser':1000,'capabilities':{'drop':['ALL']},'seccompProfile':{'type':'RuntimeDefault'}},"
    "'volumeMounts':[{'name':'data','mountPath':'/data'},{'name':'conf','mountPath':'/etc/web',"
    "'readOnly':true}]}],'volumes':[{'name':'data'},{'name':'conf','projected':{'sources':[{"
    "'configMap':{'name':'c','items':[{'key':'a','path':'a.conf'}]}},{'downwardAPI':{'items':[{"
    "'path':'labels','fieldRef':{'fieldPath':'metadata.labels'}}]}}]}},{'name':'disk',"
    "'persistentVolumeClaim':{'claimName':'web-0'}}],'tolerations':[{'key':'dedicated','operator':"
    "'Equal','value':'web','effect':'NoSchedule'},{'operator':'Exists'}],'affinity':{"
    "'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{"
    "'matchExpressions':[{'key':'cores','operator':'Gt','values':['3']}]}]}},'podAntiAffinity':{"
    "'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':100,'podAffinityTerm':{"
    "'labelSelector':{'matchLabels':{'app':'web'}},'topologyKey':'kubernetes.io/hostname'}}]}},"
    "'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'topology.kubernetes.io/zone',"
    "'whenUnsatisfiable':'DoNotSchedule','labelSelector':{'matchLabels':{'app':'web'}}},{"
    "'maxSkew':1,'topologyKey':'topology.kubernetes.io/zone','whenUnsatisfiable':"
    "'ScheduleAnyway'}],'hostAliases':[{'ip':'127.0.0.1','hostnames':['a.local']}],"
    "'dnsConfig':{'options':[{'name':'ndots','value':'2'}]},'imagePullSecrets':[{'name':'r'}],"
    "'terminationGracePeriodSeconds':0,'priorityClassName':'high'}}",
    /* a member of a gang that restarts in place, with its agent as a sidecar */
    POD("{'restartPolicy':'Never','initContainers':[{'name':'agent','image':'agent:1',"
        "'restartPolicy':'Always','restartPolicyRules':[{'action':'RestartAllContainers',"
        "'exitCodes':{'operator':'In','values':[42]}}]}],'containers':[{'name':'worker','image':"
        "'w:1','restartPolicy':'Never','restartPolicyRules':[{'action':'Restart','exitCodes':{"
        "'operator':'NotIn','values':[0]}},{'action':'Terminate','exitCodes':{'operator':'In',"
        "'values':[]}}]}]}"),
    /* a graph of containers, written in the wrong order */
    POD("{'containers':[{'name':'c','image':'i','dependsOn':[{'name':'b'},{'name':'a','condition':"
        "'completed'}]},{'name':'b','image':'i','dependsOn':[{'name':'a','condition':'started'},"
        "{'name':'side'}]},{'name':'a','image':'i'}],'initContainers':[{'name':'side','image':'i',"
        "'restartPolicy':'Always'}]}"),
    ONE_CONTAINER(",'startTimeout':'1m30s'"),
    ONE_CONTAINER(",'startTimeout':'0s'"),
    NOTED("notify", "true", ""),
    NOTED("notify", "a, c", ""),
    NOTED("notify", "", ""),
    NOTED("watchdog", "30s", ""),
    PLAYED("start", "never"),
    PLAYED("start", "i=1m30s, a=5s"),
    PLAYED("run", "10m"),
    PLAYED("exit", "255@90s"),
    PLAYED("exit", "i=0@1s"),
    PLAYED("start-cpu", "200ms"),
    NOTED("depends-on", "{}", ""),
    NOTED("depends-on", "{" Q "a" Q ":[" Q "b" Q "," Q "i:completed" Q "]}",
          ",'dependsOn':[{'name':'c'},{'name':'b'}]"),
};

static void test_real_manifests_pass(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(REAL); i++) {
        scoped_json_mut *doc = kt_parse(REAL[i]);
        struct findings findings = {0};
        kt_check(&KIND_POD, doc, NULL, &findings);
        kt_expect(REAL[i], &findings, NULL);
        findings_done(&findings);
    }
}

/* ---- wrong ones ---- */

// clang-format off
static const struct wrong {
    const char *object, *want;
} WRONG[] = {
    {"{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p'}}",
     "spec: Required value"},
    {POD("{'containers':[]}"),
     "spec.containers: Required value"},
    {POD("{'containers':[{'image':'i'}]}"),
     "spec.containers[0].name: Required value"},
    {POD("{'containers':[{'name':'a'}]}"),
     "spec.containers[0].image: Required value: a container needs an image, or a command to run "
     "without one"},
    {POD("{'containers':[{'name':'a','image':'i'},{'name':'a','image':'i'}]}"),
     "spec.containers[1].name: Duplicate value: \"a\""},
    {POD("{'initContainers':[{'name':'a','image':'i'}],'containers':[{'name':'a','image':'i'}]}"),
     "spec.containers[0].name: Duplicate value: \"a\""},
    {ONE_CONTAINER(",'imagePullPolicy':'Sometimes'"),
     "spec.containers[0].imagePullPolicy: Unsupported value: \"Sometimes\": supported values: "
     "\"Always\", \"IfNotPresent\", \"Never\""},
    {ONE_CONTAINER(",'comand':['x']"),
     "spec.containers[0].comand: unknown field \"spec.containers[0].comand\" | did you mean "
     "\"command\"?"},
    {ONE_CONTAINER(",'ports':[{'containerPort':70000}]"),
     "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and "
     "65535, inclusive"},
    {ONE_CONTAINER(",'ports':[{'name':'x','containerPort':1},{'name':'x','containerPort':2}]"),
     "spec.containers[0].ports[1].name: Duplicate value: \"x\""},
    {ONE_CONTAINER(",'ports':[{'name':'x','containerPort':1},{'name':['x'],'containerPort':2}]"),
     "spec.containers[0].ports[1].name: Invalid value: \"array\": must be a string"},
    {ONE_CONTAINER(",'volumeMounts':[{'name':'dta','mountPath':'/d'}]"),
     "spec.containers[0].volumeMounts[0].name: Invalid value: \"dta\": not found"},
    {POD("{'containers':[{'name':'a','image':'i','volumeMounts':[{'name':'dta','mountPath':'/d'}]"
         "}],'volumes':[{'name':'data'}]}"),
     "spec.containers[0].volumeMounts[0].name: Invalid value: \"dta\": not found | did you mean "
     "\"data\"?"},
    {POD("{'containers':[{'name':'a','image':'i'}],'volumes':[{'name':'v','emptyDir':{},"
         "'hostPath':{'path':'/'}}]}"),
     "spec.volumes[0].hostPath: Forbidden: may not be given together with emptyDir: only one "
     "volume source is possible"},
    {POD("{'containers':[{'name':'a','image':'i'}],'volumes':[{'name':'v','projected':{'sources':"
         "[{}]}}]}"),
     "spec.volumes[0].projected.sources[0]: Required value: must have one source: configMap, "
     "secret, downwardAPI, serviceAccountToken, clusterTrustBundle or podCertificate"},
    {ONE_CONTAINER(",'livenessProbe':{'periodSeconds':1}"),
     "spec.containers[0].livenessProbe: Required value: must have one handler: exec, httpGet, "
     "tcpSocket or grpc"},
    {ONE_CONTAINER(",'livenessProbe':{'exec':{'command':['a']},'grpc':{'port':1}}"),
     "spec.containers[0].livenessProbe.grpc: Forbidden: may not be given together with exec: only "
     "one handler is possible"},
    {ONE_CONTAINER(",'livenessProbe':{'exec':{'command':['a']},'successThreshold':2}"),
     "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1"},
    {ONE_CONTAINER(",'readinessProbe':{'httpGet':{'port':0}}"),
     "spec.containers[0].readinessProbe.httpGet.port: Invalid value: 0: must be between 1 and "
     "65535, inclusive"},
    {ONE_CONTAINER(",'lifecycle':{'preStop':{}}"),
     "spec.containers[0].lifecycle.preStop: Required value: must have one handler: exec, httpGet, "
     "sleep or tcpSocket"},
    {ONE_CONTAINER(",'env':[{'name':'A','value':'1','valueFrom':{'configMapKeyRef':{'key':'x'}}}]"),
     "spec.containers[0].env[0].valueFrom: Invalid value: {\"configMapKeyRef\":{\"key\":\"x\"}}: "
     "may not be specified when `value` is not empty"},
    {ENV_FIELD("metadata.foo"),
     ENV_FIELD_AT "Unsupported value: \"metadata.foo\": supported values: \"metadata.name\", "
     "\"metadata.namespace\", \"metadata.uid\", \"spec.nodeName\", \"spec.serviceAccountName\", "
     "\"status.hostIP\", \"status.hostIPs\", \"status.podIP\", \"status.podIPs\""},
    {ENV_FIELD("spec.nodeSelector" ENTRY("a")),
     ENV_FIELD_AT "Invalid value: \"spec.nodeSelector['a']\": only metadata.labels and "
     "metadata.annotations have entries"},
    {ENV_FIELD("metadata.labels" ENTRY("a b")),
     ENV_FIELD_AT "Invalid value: \"metadata.labels['a b']\": the name part is made of letters, "
     "digits, '-', '_' and '.', and must start and end with a letter or digit (like 'MyName' or "
     "'my.name')"},
    {ONE_CONTAINER(",'env':[{'name':'A','valueFrom':{}}]"),
     "spec.containers[0].env[0].valueFrom: Required value: must have one source: fieldRef, "
     "resourceFieldRef, configMapKeyRef, secretKeyRef or fileKeyRef"},
    {ONE_CONTAINER(",'resources':{'requests':{'cpu':'2'},'limits':{'cpu':1}}"),
     "spec.containers[0].resources.requests[cpu]: Invalid value: \"2\": must be less than or equal "
     "to cpu limit of 1"},
    {ONE_CONTAINER(",'resources':{'requests':{'example.com/gpu':1}}"),
     "spec.containers[0].resources.requests[example.com/gpu]: Invalid value: 1: needs an equal "
     "limit: devices cannot be overcommitted"},
    {ONE_CONTAINER(",'resources':{'requests':{'example.com/gpu':1},'limits':{'example.com/gpu':2}}"),
     "spec.containers[0].resources.requests[example.com/gpu]: Invalid value: 1: must be equal to "
     "example.com/gpu limit of 2"},
    {ONE_CONTAINER(",'resources':{'limits':{'memory':'1Gib'}}"),
     "spec.containers[0].resources.limits[memory]: Invalid value: \"1Gib\": must be a quantity "
     "such as 2, 500m or 1.5Gi"},
    {POD("{'initContainers':[{'name':'i','image':'i','readinessProbe':{'tcpSocket':{'port':1}}}],"
         "'containers':[{'name':'a','image':'i'}]}"),
     "spec.initContainers[0].readinessProbe: Forbidden: may not be set for init containers without "
     "restartPolicy=Always"},
    {ONE_CONTAINER(",'restartPolicyRules':[{'action':'Restart','exitCodes':{'operator':'In'}}]"),
     "spec.containers[0].restartPolicy: Required value: must be set when `restartPolicyRules` are"},
    {ONE_CONTAINER(",'restartPolicy':'Never','restartPolicyRules':[{'action':'Restart'}]"),
     "spec.containers[0].restartPolicyRules[0].exitCodes: Required value"},
    {POD("{'containers':[{'name':'a','image':'i'}],'tolerations':[{'key':'k','operator':'Exists',"
         "'value':'v'}]}"),
     "spec.tolerations[0].value: Invalid value: \"v\": must be empty when `operator` is 'Exists'"},
    {POD("{'containers':[{'name':'a','image':'i'}],'affinity':{'nodeAffinity':{"
         "'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{"
         "'matchExpressions':[{'key':'k','operator':'In'}]}]}}}}"),
     "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
     "nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be given when "
     "`operator` is 'In' or 'NotIn'"},
    {POD("{'containers':[{'name':'a','image':'i'}],'nodeSelector':{'a':'no good'}}"),
     "spec.nodeSelector[a]: Invalid value: \"no good\": ..."},
    {POD("{'containers':[{'name':'a','image':'i'}],'nodeName':'n','schedulingGates':[{'name':"
         "'g'}]}"),
     "spec.nodeName: Forbidden: may not be set until all schedulingGates are removed"},
    /* dependsOn */
    {ONE_CONTAINER(",'dependsOn':[{'name':'a'}]"),
     "spec.containers[0].dependsOn[0].name: Invalid value: \"a\": a container cannot wait for "
     "itself"},
    {POD("{'containers':[{'name':'app-a','image':'i','dependsOn':[{'name':'app-bb'}]},{'name':"
         "'app-b','image':'i'}]}"),
     "spec.containers[0].dependsOn[0].name: Invalid value: \"app-bb\": not found | did you mean "
     "\"app-b\"?"},
    {POD("{'containers':[{'name':'a','image':'i','dependsOn':[{'name':'b'}]},{'name':'b','image':"
         "'i','dependsOn':[{'name':'a'}]}]}"),
     "spec.containers[0].dependsOn: Invalid value: \"a\": dependency cycle: a -> b -> a"},
    {POD("{'containers':[{'name':'x','image':'i','dependsOn':[{'name':'a'}]},{'name':'a','image':"
         "'i','dependsOn':[{'name':'ok'},{'name':'b'}]},{'name':'b','image':'i','dependsOn':[{"
         "'name':'c'}]},{'name':'c','image':'i','dependsOn':[{'name':'a'}]},{'name':'ok','image':"
         "'i'}]}"),
     "spec.containers[1].dependsOn: Invalid value: \"a\": dependency cycle: a -> b -> c -> a"},
    {POD("{'initContainers':[{'name':'i','image':'i','dependsOn':[{'name':'a'}]}],'containers':[{"
         "'name':'a','image':'i'}]}"),
     "spec.initContainers[0].dependsOn[0].name: Invalid value: \"a\": an init container cannot "
     "wait for a container that starts after it"},
    {POD("{'initContainers':[{'name':'i','image':'i','dependsOn':[{'name':'j'}]},{'name':'j',"
         "'image':'i'}],'containers':[{'name':'a','image':'i'}]}"),
     "spec.initContainers[0].dependsOn[0].name: Invalid value: \"j\": init containers start in "
     "order; this one comes later"},
    {POD("{'containers':[{'name':'a','image':'i','dependsOn':[{'name':'b','condition':'Ready'}]},"
         "{'name':'b','image':'i'}]}"),
     "spec.containers[0].dependsOn[0].condition: Unsupported value: \"Ready\": supported values: "
     "\"ready\", \"completed\", \"started\" | did you mean \"ready\"?"},
    {ONE_CONTAINER(",'startTimeout':'-1s'"),
     "spec.containers[0].startTimeout: Invalid value: \"-1s\": must not be negative | 0s is without "
     "limit"},
    {ONE_CONTAINER(",'startTimeout':'soon'"),
     "spec.containers[0].startTimeout: Invalid value: \"soon\": must be a duration such as 90s, 5m "
     "or 1h30m"},
    /* annotations */
    {NOTED("notify", "a,bb", ""),
     "metadata.annotations[muster.dev/notify]: Invalid value: \"a,bb\": bb: not found | did you "
     "mean \"b\"?"},
    {NOTED("notify", "yes", ""),
     "metadata.annotations[muster.dev/notify]: Invalid value: \"yes\": yes: not found"},
    {NOTED("watchdog", "soon", ""),
     "metadata.annotations[muster.dev/watchdog]: Invalid value: \"soon\": must be a duration such as "
     "30s or 1m"},
    {NOTED("watchdog", "-1s", ""),
     "metadata.annotations[muster.dev/watchdog]: Invalid value: \"-1s\": must be a duration such as "
     "30s or 1m"},
    {PLAYED("run", "10x"), IN_PLAY("run") "\"10x\": must be a duration such as 10m, or never"},
    {PLAYED("run", ""), IN_PLAY("run") "\"\": must be a duration such as 10m, or never"},
    {PLAYED("start", "-1s"), IN_PLAY("start") "\"-1s\": must be a duration such as 5s, or never"},
    {PLAYED("start-cpu", "never"), IN_PLAY("start-cpu") "\"never\": must be a duration such as 200ms"},
    {PLAYED("exit", "3"),
     IN_PLAY("exit") "\"3\": must be an exit code from 0 to 255 and a duration: 3@90s"},
    {PLAYED("exit", "256@1s"),
     IN_PLAY("exit") "\"256@1s\": must be an exit code from 0 to 255 and a duration: 3@90s"},
    {PLAYED("start", "a=1s,b=soon"),
     IN_PLAY("start") "\"a=1s,b=soon\": must be a duration such as 5s, or never"},
    {PLAYED("strat", "1s"),
     IN_PLAY("strat") "\"1s\": there is no such annotation | did you mean \"sim.muster.dev/start\"?"},
    {NOTED("depends-on", "a: b", ""), DEPENDS_ON "\"a: b\": ..."},
    {NOTED("depends-on", "[]", ""),
     DEPENDS_ON "\"[]\": must be a JSON object | for example "
     "{\"web\":[\"database\",\"setup:completed\"]}"},
    {NOTED("depends-on", "{" Q "a" Q ":" Q "b" Q "}", ""),
     DEPENDS_ON "\"{\\\"a\\\":\\\"b\\\"}\": a: must be a list of containers"},
    {NOTED("depends-on", "{" Q "a" Q ":[1]}", ""),
     DEPENDS_ON "\"{\\\"a\\\":[1]}\": a: must be a list of containers"},
    {NOTED("depends-on", "{" Q "web" Q ":[]}", ""),
     DEPENDS_ON "\"{\\\"web\\\":[]}\": web: not found"},
    {NOTED("depends-on", "{" Q "a" Q ":[" Q "bb" Q "]}", ""),
     DEPENDS_ON "\"{\\\"a\\\":[\\\"bb\\\"]}\": a: bb: not found | did you mean \"b\"?"},
    {NOTED("depends-on", "{" Q "a" Q ":[" Q "b:done" Q "]}", ""),
     DEPENDS_ON "\"{\\\"a\\\":[\\\"b:done\\\"]}\": a: b:done: the condition must be ready, completed "
     "or started"},
    {NOTED("depends-on", "{" Q "a" Q ":[" Q "a" Q "]}", ""),
     DEPENDS_ON "\"{\\\"a\\\":[\\\"a\\\"]}\": a: a: a container cannot wait for itself"},
    {NOTED("depends-on", "{" Q "i" Q ":[" Q "a" Q "]}", ""),
     DEPENDS_ON "\"{\\\"i\\\":[\\\"a\\\"]}\": i: a: an init container cannot wait for a container that "
     "starts after it"},
    {NOTED("depends-on", "{" Q "a" Q ":[" Q "b" Q "," Q "b:started" Q "]}", ""),
     DEPENDS_ON "\"{\\\"a\\\":[\\\"b\\\",\\\"b:started\\\"]}\": a: b:started: named twice"},
    {NOTED("depends-on", "{" Q "a" Q ":[" Q "b:started" Q "]}", ",'dependsOn':[{'name':'b'}]"),
     DEPENDS_ON "\"{\\\"a\\\":[\\\"b:started\\\"]}\": a: b:started: dependsOn has another condition"},
    {NOTED("depends-on", "{" Q "b" Q ":[" Q "a" Q "]}", ",'dependsOn':[{'name':'b'}]"),
     DEPENDS_ON "\"{\\\"b\\\":[\\\"a\\\"]}\": dependency cycle: a -> b -> a | take one of these "
     "dependencies away"},
    /* a circle of fields is not reported again for the annotation */
    {"{'metadata':{'name':'p','annotations':{'muster.dev/depends-on':'{" Q "c" Q ":[" Q "a" Q
     "]}'}},'spec':{'containers':[{'name':'a','image':'i','dependsOn':[{'name':'b'}]},{'name':'b',"
     "'image':'i','dependsOn':[{'name':'a'}]},{'name':'c','image':'i'}]}}",
     "spec.containers[0].dependsOn: Invalid value: \"a\": dependency cycle: a -> b -> a"},
    /* metadata */
    {"{'metadata':{'name':'p','labels':{'a':'b c'}},'spec':{'containers':[{'name':'a','image':"
     "'i'}]}}",
     "metadata.labels[a]: Invalid value: \"b c\": ..."},
    {"{'metadata':{'name':'p','ownerReferences':[{'apiVersion':'v1','kind':'A','name':'a','uid':"
     "'1','controller':true},{'apiVersion':'v1','kind':'A','name':'b','uid':'2','controller':true}"
     "]},'spec':{'containers':[{'name':'a','image':'i'}]}}",
     "metadata.ownerReferences: Forbidden: only one owner may have `controller: true`"},
};
// clang-format on

static void test_wrong_ones_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++) {
        scoped_json_mut *doc = kt_parse(WRONG[i].object);
        struct findings findings = {0};
        kt_check(&KIND_POD, doc, NULL, &findings);
        kt_expect(WRONG[i].object, &findings, WRONG[i].want);
        findings_done(&findings);
    }
}

/* Whatever a field holds: no check may trust the type of what it looks at. `place` chooses the
 * object in which each field of `type` is set to each value. */
static void try_all_types(const struct type *type, yyjson_mut_val *(*place)(yyjson_mut_val *spec))
{
    static const char *const VALUES[] = {"1", "'x'", "[]", "{}", "[1]", "['x']", "[{}]", "true"};
    for (const struct field *f = type->fields; f->name != NULL; f++) {
        for (size_t i = 0; i < ARRAY_LEN(VALUES); i++) {
            scoped_json_mut *doc = kt_parse(ONE_CONTAINER(""));
            scoped_json_mut *old = kt_parse(ONE_CONTAINER(""));
            scoped_json_mut *value = kt_parse(VALUES[i]);
            yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
            json_mut_put(doc, place(json_mut_at(root, "spec")), f->name,
                         yyjson_mut_val_mut_copy(doc, yyjson_mut_doc_get_root(value)));
            struct findings findings = {0};
            kt_check(&KIND_POD, doc, NULL, &findings);
            schema_check(KIND_POD.type, root, yyjson_mut_doc_get_root(old), &findings);
            schema_check(KIND_POD.type, yyjson_mut_doc_get_root(old), root, &findings);
            findings_done(&findings);
            KIND_POD.prepare(doc, root, 0);
        }
    }
}

static yyjson_mut_val *spec_itself(yyjson_mut_val *spec)
{
    return spec;
}

static yyjson_mut_val *first_container(yyjson_mut_val *spec)
{
    return yyjson_mut_arr_get_first(yyjson_mut_obj_get(spec, "containers"));
}

static void test_wrong_types_do_not_crash(void **state)
{
    (void)state;
    try_all_types(&TYPE_POD_SPEC, spec_itself);
    try_all_types(&TYPE_CONTAINER, first_container);
}

/* ---- defaults ---- */

static void test_defaults(void **state)
{
    (void)state;
    scoped_json_mut *doc = kt_parse(
        POD("{'hostNetwork':true,'serviceAccountName':'s','containers':[{'name':'a','image':"
            "'host:5000/i','ports':[{'containerPort':80}],'readinessProbe':{'httpGet':{'port':80}"
            "},'resources':{'limits':{'cpu':'1'}}}],'volumes':[{'name':'v'},{'name':'s','secret':"
            "{'secretName':'x'}}]}"));
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    schema_fill(KIND_POD.type, doc, root);
    yyjson_mut_val *spec = json_mut_at(root, "spec");
    yyjson_mut_val *container = yyjson_mut_arr_get_first(json_mut_at(spec, "containers"));
    kt_expect_at(spec, "restartPolicy", "'Always'");
    kt_expect_at(spec, "dnsPolicy", "'ClusterFirst'");
    kt_expect_at(spec, "terminationGracePeriodSeconds", "30");
    kt_expect_at(spec, "schedulerName", "'default-scheduler'");
    kt_expect_at(spec, "securityContext", "{}");
    kt_expect_at(spec, "enableServiceLinks", "true");
    kt_expect_at(spec, "serviceAccount", "'s'");
    kt_expect_at(spec, "volumes",
                 "[{'name':'v','emptyDir':{}},{'name':'s','secret':{'secretName':'x',"
                 "'defaultMode':420}}]");
    kt_expect_at(container, "imagePullPolicy", "'Always'");
    kt_expect_at(container, "terminationMessagePath", "'/dev/termination-log'");
    kt_expect_at(container, "terminationMessagePolicy", "'File'");
    kt_expect_at(container, "resources", "{'limits':{'cpu':'1'},'requests':{'cpu':'1'}}");
    kt_expect_at(container, "ports", "[{'containerPort':80,'protocol':'TCP','hostPort':80}]");
    kt_expect_at(container, "readinessProbe",
                 "{'httpGet':{'port':80,'path':'/','scheme':'HTTP'},'timeoutSeconds':1,"
                 "'periodSeconds':10,'successThreshold':1,'failureThreshold':3}");
}

/* As the throttling study writes them. */
static void test_short_forms_are_made_long(void **state)
{
    (void)state;
    scoped_json_mut *doc = kt_parse(
        POD("{'containers':[{'name':'a','command':['x'],'dependsOn':['b',{'name':'c','condition':"
            "'completed'}],'livenessProbe':{'exec':{'command':'/check it'}}},{'name':'b',"
            "'command':['x']},{'name':'c','command':['x']}]}"));
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    schema_fill(KIND_POD.type, doc, root);
    yyjson_mut_val *a = yyjson_mut_arr_get_first(json_mut_at(root, "spec.containers"));
    kt_expect_at(a, "dependsOn",
                 "[{'name':'b','condition':'ready'},{'name':'c','condition':'completed'}]");
    kt_expect_at(a, "livenessProbe.exec.command", "['/bin/sh','-c','/check it']");
    struct findings findings = {0};
    schema_check(KIND_POD.type, root, NULL, &findings);
    assert_int_equal(findings.list.len, 0);
    findings_done(&findings);
}

static void test_pull_policy_follows_the_tag(void **state)
{
    (void)state;
    static const struct {
        const char *image, *want;
    } ROWS[] = {
        {"a", "'Always'"},
        {"a:latest", "'Always'"},
        {"a:1", "'IfNotPresent'"},
        {"h:5000/a", "'Always'"},
        {"h:5000/a:1", "'IfNotPresent'"},
        {"a@sha256:0", "'IfNotPresent'"},
        {"a:latest@sha256:0", "'IfNotPresent'"},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_free char *text = mem_printf(
            "{'spec':{'containers':[{'name':'a','command':['x'],'image':'%s'}]}}", ROWS[i].image);
        scoped_json_mut *doc = kt_parse(text);
        yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
        schema_fill(KIND_POD.type, doc, root);
        kt_expect_at(yyjson_mut_arr_get_first(json_mut_at(root, "spec.containers")),
                     "imagePullPolicy", ROWS[i].want);
    }
}

#define RESOURCES(text) "{'name':'a','image':'i','resources':{" text "}}"
#define EQUAL_LIMITS "'limits':{'cpu':'1','memory':'1Gi'}"

static void test_prepare(void **state)
{
    (void)state;
    static const struct {
        const char *containers, *want;
    } ROWS[] = {
        {RESOURCES(""), "'BestEffort'"},
        {RESOURCES("'requests':{'cpu':'0'}"), "'BestEffort'"},
        {RESOURCES("'limits':{'example.com/gpu':1}"), "'BestEffort'"},
        {RESOURCES("'requests':{'cpu':'1'}"), "'Burstable'"},
        {RESOURCES("'limits':{'cpu':'1'}"), "'Burstable'"},
        {RESOURCES(EQUAL_LIMITS), "'Guaranteed'"},
        {RESOURCES(EQUAL_LIMITS ",'requests':{'cpu':'1000m'}"), "'Guaranteed'"},
        {RESOURCES(EQUAL_LIMITS ",'requests':{'cpu':'999m'}"), "'Burstable'"},
        {RESOURCES(EQUAL_LIMITS) "," RESOURCES(""), "'Burstable'"},
        {RESOURCES(EQUAL_LIMITS) "," RESOURCES(EQUAL_LIMITS), "'Guaranteed'"},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_free char *text =
            mem_printf("{'status':{'podIP':'1'},'spec':{'containers':[%s]}}", ROWS[i].containers);
        scoped_json_mut *doc = kt_parse(text);
        yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
        schema_fill(KIND_POD.type, doc, root);
        KIND_POD.prepare(doc, root, 0);
        kt_expect_at(root, "status.phase", "'Pending'");
        kt_expect_at(root, "status.podIP", "");
        kt_expect_at(root, "status.qosClass", ROWS[i].want);
    }
}

/* ---- updates ---- */

#define OLD                                                                                        \
    POD("{'containers':[{'name':'a','image':'i:1','command':['x']}],'activeDeadlineSeconds':10,"   \
        "'tolerations':[{'key':'k','operator':'Exists'}],'schedulingGates':[{'name':'g'}]}")
#define NEW(command, rest)                                                                         \
    POD("{'containers':[{'name':'a','image':'i:2','command':['" command "']}]," rest "}")
#define TOLERATION "{'operator':'Exists','key':'k'}"
#define ONLY                                                                                       \
    "may not change in a pod; only images, activeDeadlineSeconds, terminationGracePeriodSeconds, " \
    "added tolerations and removed schedulingGates may"

static void test_updates(void **state)
{
    (void)state;
    static const struct wrong ROWS[] = {
        {NEW("x", "'activeDeadlineSeconds':9,'terminationGracePeriodSeconds':5,'nodeName':'n',"
                  "'tolerations':[" TOLERATION ",{'key':'n','operator':'Exists'}]"),
         NULL},
        {NEW("x", "'activeDeadlineSeconds':9,'nodeSelector':{'a':'b'},'schedulingGates':[{'name':"
                  "'g'}],'tolerations':[" TOLERATION "]"),
         NULL},
        {NEW("y", "'activeDeadlineSeconds':10,'tolerations':[" TOLERATION "]"),
         "spec.containers[0].command[0]: Forbidden: " ONLY},
        {NEW("x", "'activeDeadlineSeconds':10,'hostNetwork':true,'tolerations':[" TOLERATION "]"),
         "spec.hostNetwork: Forbidden: " ONLY},
        {NEW("x", "'activeDeadlineSeconds':11,'tolerations':[" TOLERATION "]"),
         "spec.activeDeadlineSeconds: Invalid value: 11: may be lowered, not raised"},
        {NEW("x", "'tolerations':[" TOLERATION "]"),
         "spec.activeDeadlineSeconds: Invalid value: \"null\": may not be removed once it is set"},
        {NEW("x", "'activeDeadlineSeconds':10,'tolerations':[{'key':'n','operator':'Exists'}]"),
         "spec.tolerations: Forbidden: tolerations may be added, not changed or removed"},
        {NEW("x", "'activeDeadlineSeconds':10,'tolerations':[" TOLERATION "],'schedulingGates':[{"
                  "'name':'h'}]"),
         "spec.schedulingGates: Forbidden: gates may be removed, not added"},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_json_mut *old = kt_parse(OLD);
        scoped_json_mut *doc = kt_parse(ROWS[i].object);
        struct findings findings = {0};
        schema_fill(KIND_POD.type, old, yyjson_mut_doc_get_root(old));
        kt_check(&KIND_POD, doc, old, &findings);
        kt_expect(ROWS[i].object, &findings, ROWS[i].want);
        findings_done(&findings);
    }
}

/* As typed clients write it back: "1" for 1000m, nothing for false and 0. */
#define WRITTEN(requests, limits, probe, more)                                                     \
    POD("{'containers':[{'name':'a','image':'i','env':[{'name':'N','value':'1'}],'resources':{"    \
        "'requests':{" requests "},'limits':{" limits "}},'readinessProbe':{'exec':{'command':["   \
        "'x']}" probe "}}]" more "}")
#define AS_GIVEN                                                                                   \
    WRITTEN("'cpu':1,'memory':'1024Mi'", "'cpu':'1500m'", ",'initialDelaySeconds':0",              \
            ",'hostNetwork':false,'volumes':[{'name':'v','emptyDir':{'sizeLimit':'1e3'}}]")

static void test_other_words(void **state)
{
    (void)state;
    static const struct wrong ROWS[] = {
        {WRITTEN("'memory':'1Gi','cpu':'1'", "'cpu':'1500m'", "",
                 ",'volumes':[{'name':'v','emptyDir':{'sizeLimit':1000}}]"),
         NULL},
        {WRITTEN("'memory':'1Gi','cpu':'1001m'", "'cpu':'1500m'", "",
                 ",'volumes':[{'name':'v','emptyDir':{'sizeLimit':'1k'}}]"),
         "spec.containers[0].resources.requests.cpu: Forbidden: " ONLY},
        {WRITTEN("'memory':'1Gi','cpu':'1'", "'cpu':'1.5'", ",'initialDelaySeconds':1",
                 ",'volumes':[{'name':'v','emptyDir':{'sizeLimit':'1k'}}]"),
         "spec.containers[0].readinessProbe.initialDelaySeconds: Forbidden: " ONLY},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_json_mut *old = kt_parse(AS_GIVEN);
        scoped_json_mut *doc = kt_parse(ROWS[i].object);
        struct findings findings = {0};
        schema_fill(KIND_POD.type, old, yyjson_mut_doc_get_root(old));
        kt_check(&KIND_POD, doc, old, &findings);
        kt_expect(ROWS[i].object, &findings, ROWS[i].want);
        findings_done(&findings);
    }
}

static void test_node_is_set_once(void **state)
{
    (void)state;
    scoped_json_mut *old = kt_parse(
        POD("{'nodeName':'n','nodeSelector':{'a':'b'},'containers':[{'name':'a','image':'i'}]}"));
    scoped_json_mut *doc = kt_parse(
        POD("{'nodeName':'m','nodeSelector':{'a':'b'},'containers':[{'name':'a','image':'i'}]}"));
    scoped_json_mut *selector =
        kt_parse(POD("{'nodeName':'n','containers':[{'name':'a','image':'i'}]}"));
    struct findings findings = {0};
    schema_fill(KIND_POD.type, old, yyjson_mut_doc_get_root(old));
    kt_check(&KIND_POD, doc, old, &findings);
    kt_expect("node", &findings, "spec.nodeName: Invalid value: \"m\": field is immutable");
    findings_done(&findings);
    kt_check(&KIND_POD, selector, old, &findings);
    kt_expect("selector", &findings, "spec.nodeSelector.a: Forbidden: " ONLY);
    findings_done(&findings);
}

/* ---- columns ---- */

#define NOW 1767323045000 /* 2026-01-02T03:04:05Z */
#define ROW_OF(meta, spec, status)                                                                 \
    "{'metadata':{'name':'p','creationTimestamp':'2026-01-02T03:00:00Z'" meta "},'spec':" spec     \
    ",'status':" status "}"
#define TWO "{'containers':[{'name':'a'},{'name':'b'}]}"
#define WITH_INIT                                                                                  \
    "{'initContainers':[{'name':'i'},{'name':'s','restartPolicy':'Always'}],"                      \
    "'containers':[{'name':'a'}]}"
#define RUNS(name) "{'name':'" name "','ready':true,'restartCount':0,'state':{'running':{}}}"
#define WAITS(name, reason) "{'name':'" name "','state':{'waiting':{'reason':'" reason "'}}}"
#define ENDED(name, how) "{'name':'" name "','state':{'terminated':{" how "}}}"
#define WIDE_NONE ",'4m5s','<none>','<none>','<none>','<none>']"

// clang-format off
static const struct {
    const char *object, *cells;
} COLUMN_ROWS[] = {
    {ROW_OF("", TWO, "{'phase':'Pending'}"),
     "['p','0/2','Pending','0'" WIDE_NONE},
    {ROW_OF("", TWO, "{'phase':'Running','containerStatuses':[" RUNS("a") "," RUNS("b") "]}"),
     "['p','2/2','Running','0'" WIDE_NONE},
    {ROW_OF("", TWO, "{'phase':'Failed','reason':'Evicted'}"),
     "['p','0/2','Evicted','0'" WIDE_NONE},
    {ROW_OF("", TWO, "{'phase':'Pending','conditions':[{'type':'PodScheduled','status':'False',"
                     "'reason':'SchedulingGated'}]}"),
     "['p','0/2','SchedulingGated','0'" WIDE_NONE},
    {ROW_OF("", TWO, "{'phase':'Running','containerStatuses':[" RUNS("a") ",{'name':'b',"
            "'restartCount':3,'state':{'waiting':{'reason':'CrashLoopBackOff'}},'lastState':{"
            "'terminated':{'exitCode':1,'finishedAt':'2026-01-02T03:03:00Z'}}}]}"),
     "['p','1/2','CrashLoopBackOff','3 (65s ago)'" WIDE_NONE},
    {ROW_OF("", TWO, "{'phase':'Running','containerStatuses':[" WAITS("a", "StartThrottled") ","
            WAITS("b", "DependencyNotReady") "]}"),
     "['p','0/2','StartThrottled','0'" WIDE_NONE},
    {ROW_OF("", TWO, "{'phase':'Running','containerStatuses':[" WAITS("a", "DependencyNotReady") ","
            WAITS("b", "StartThrottled") "]}"),
     "['p','0/2','StartThrottled','0'" WIDE_NONE},
    {ROW_OF("", TWO, "{'phase':'Running','containerStatuses':[" WAITS("a", "DependencyNotReady") ","
            RUNS("b") "]}"),
     "['p','1/2','DependencyNotReady','0'" WIDE_NONE},
    {ROW_OF("", TWO, "{'phase':'Running','containerStatuses':[" WAITS("a", "DependencyNotReady") ","
            ENDED("b", "'exitCode':0,'reason':'Completed'") "]}"),
     "['p','0/2','DependencyNotReady','0'" WIDE_NONE},
    {ROW_OF("", TWO, "{'phase':'Running','containerStatuses':[" WAITS("a", "DependencyNotReady") ","
            ENDED("b", "'exitCode':3,'reason':'Error'") "]}"),
     "['p','0/2','Error','0'" WIDE_NONE},
    {ROW_OF("", TWO, "{'phase':'Running','containerStatuses':[{'name':'a','state':{'waiting':{"
            "'reason':'ImagePullBackOff'}}},{'name':'b','state':{'waiting':{'reason':"
            "'CrashLoopBackOff'}}}]}"),
     "['p','0/2','ImagePullBackOff','0'" WIDE_NONE},
    {ROW_OF("", TWO, "{'phase':'Succeeded','containerStatuses':["
            ENDED("a", "'exitCode':0,'reason':'Completed'") ","
            ENDED("b", "'exitCode':0,'reason':'Completed'") "]}"),
     "['p','0/2','Completed','0'" WIDE_NONE},
    {ROW_OF("", TWO, "{'phase':'Failed','containerStatuses':[" ENDED("a", "'exitCode':3") "]}"),
     "['p','0/2','ExitCode:3','0'" WIDE_NONE},
    {ROW_OF("", TWO, "{'phase':'Failed','containerStatuses':["
            ENDED("a", "'exitCode':137,'signal':9") "]}"),
     "['p','0/2','Signal:9','0'" WIDE_NONE},
    {ROW_OF("", TWO, "{'phase':'Running','containerStatuses':["
            ENDED("a", "'exitCode':0,'reason':'Completed'") "," RUNS("b") "]}"),
     "['p','1/2','NotReady','0'" WIDE_NONE},
    {ROW_OF("", TWO, "{'phase':'Running','conditions':[{'type':'Ready','status':'True'}],"
            "'containerStatuses':[" ENDED("a", "'exitCode':0,'reason':'Completed'") ","
            RUNS("b") "]}"),
     "['p','1/2','Running','0'" WIDE_NONE},
    /* init containers */
    {ROW_OF("", WITH_INIT, "{'phase':'Pending','initContainerStatuses':[{'name':'i','state':{"
            "'running':{}}},{'name':'s','state':{'waiting':{'reason':'PodInitializing'}}}],"
            "'containerStatuses':[{'name':'a','state':{'waiting':{'reason':'PodInitializing'}}}]}"),
     "['p','0/2','Init:0/2','0'" WIDE_NONE},
    {ROW_OF("", WITH_INIT, "{'phase':'Pending','initContainerStatuses':[" ENDED("i", "'exitCode':0")
            ",{'name':'s','state':{'waiting':{'reason':'PodInitializing'}}}]}"),
     "['p','0/2','Init:1/2','0'" WIDE_NONE},
    {ROW_OF("", WITH_INIT, "{'phase':'Pending','initContainerStatuses':[{'name':'i',"
            "'restartCount':2,'state':{'waiting':{'reason':'CrashLoopBackOff'}},'lastState':{"
            "'terminated':{'finishedAt':'2026-01-02T03:04:00Z'}}}]}"),
     "['p','0/2','Init:CrashLoopBackOff','2 (5s ago)'" WIDE_NONE},
    {ROW_OF("", WITH_INIT, "{'phase':'Pending','initContainerStatuses':["
            ENDED("i", "'exitCode':1,'reason':'Error'") "]}"),
     "['p','0/2','Init:Error','0'" WIDE_NONE},
    {ROW_OF("", WITH_INIT, "{'phase':'Pending','initContainerStatuses':["
            ENDED("i", "'exitCode':2") "]}"),
     "['p','0/2','Init:ExitCode:2','0'" WIDE_NONE},
    {ROW_OF("", WITH_INIT, "{'phase':'Pending','initContainerStatuses':["
            ENDED("i", "'exitCode':0,'signal':9") "]}"),
     "['p','0/2','Pending','0'" WIDE_NONE},
    /* restarts of init containers are forgotten, those of sidecars count */
    {ROW_OF("", WITH_INIT, "{'phase':'Running','initContainerStatuses':[{'name':'i',"
            "'restartCount':5,'state':{'terminated':{'exitCode':0}}},{'name':'s','started':true,"
            "'ready':true,'restartCount':1,'state':{'running':{}}}],'containerStatuses':["
            RUNS("a") "]}"),
     "['p','2/2','Running','1'" WIDE_NONE},
    /* deletion */
    {ROW_OF(",'deletionTimestamp':'2026-01-02T03:04:00Z'", TWO, "{'phase':'Running',"
            "'containerStatuses':[" RUNS("a") "," RUNS("b") "]}"),
     "['p','2/2','Terminating','0'" WIDE_NONE},
    {ROW_OF(",'deletionTimestamp':'2026-01-02T03:04:00Z'", TWO, "{'phase':'Failed'}"),
     "['p','0/2','Failed','0'" WIDE_NONE},
    {ROW_OF(",'deletionTimestamp':'2026-01-02T03:04:00Z'", TWO, "{'phase':'Running','reason':"
            "'NodeLost'}"),
     "['p','0/2','Unknown','0'" WIDE_NONE},
    /* -o wide */
    {ROW_OF("", "{'containers':[{'name':'a'}],'nodeName':'n','readinessGates':[{'conditionType':"
                "'x'},{'conditionType':'y'}]}",
            "{'phase':'Running','podIP':'10.0.0.1','podIPs':[{'ip':'10.0.0.1'}],"
            "'nominatedNodeName':'m','conditions':[{'type':'x','status':'True'},{'type':'y',"
            "'status':'False'}]}"),
     "['p','0/1','Running','0','4m5s','10.0.0.1','n','m','1/2']"},
};
// clang-format on

static void test_columns(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(COLUMN_ROWS); i++)
        kt_expect_cells(&KIND_POD, COLUMN_ROWS[i].object, NOW, COLUMN_ROWS[i].cells);
}

static void test_column_names(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"Name", "Ready", "Status",         "Restarts",       "Age",
                                        "IP",   "Node",  "Nominated Node", "Readiness Gates"};
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
        assert_string_equal(KIND_POD.columns[i].name, NAMES[i]);
        assert_int_equal(KIND_POD.columns[i].priority, i < 5 ? 0 : 1);
    }
    assert_null(KIND_POD.columns[ARRAY_LEN(NAMES)].name);
}

/* ---- the typed view of metadata ---- */

static void test_meta_view(void **state)
{
    (void)state;
    scoped_json_mut *mut = kt_parse(
        "{'name':'p','namespace':'n','uid':'u','resourceVersion':'7','generation':3,"
        "'creationTimestamp':'2026-01-02T03:04:05Z','labels':{'a':'b'},'finalizers':['x/y'],"
        "'deletionGracePeriodSeconds':30,'ownerReferences':[{'uid':'o'}]}");
    scoped_json *doc = yyjson_mut_doc_imut_copy(mut, NULL);
    struct meta meta = {0};
    view_decode(&TYPE_OBJECT_META, yyjson_doc_get_root(doc), &meta);
    assert_string_equal(meta.name, "p");
    assert_string_equal(meta.namespace_, "n");
    assert_string_equal(meta.uid, "u");
    assert_string_equal(meta.resource_version, "7");
    assert_int_equal(meta.generation, 3);
    assert_int_equal(meta.created, NOW);
    assert_int_equal(meta.deleted, 0);
    assert_int_equal(meta.deletion_grace_s, 30);
    assert_string_equal(json_str_at(meta.labels, "a"), "b");
    assert_int_equal(yyjson_arr_size(meta.finalizers), 1);
    assert_int_equal(yyjson_arr_size(meta.owners), 1);
    assert_null(meta.annotations);
}

/* ---- what annotations say ---- */

static void test_notes(void **state)
{
    static const struct {
        const char *value, *container;
        bool notifies;
    } NOTIFY[] = {
        {"true", "a", true}, {"false", "a", false}, {"a,b", "b", true},    {"a, b ", "b", true},
        {"a,b", "c", false}, {"", "a", false},      {" true ", "c", true}, {"true,a", "c", false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(NOTIFY); i++) {
        scoped_free char *text = mem_printf(
            "{\"metadata\":{\"annotations\":{\"muster.dev/notify\":\"%s\"}}}", NOTIFY[i].value);
        scoped_json *doc = NULL;
        assert_int_equal(json_parse(sv_of(text), &doc, NULL), 0);
        yyjson_val *root = yyjson_doc_get_root(doc);
        assert_int_equal(podnotes_notifies(root, NOTIFY[i].container), NOTIFY[i].notifies);
    }
}

static void expect_needs(struct podnotes *notes, yyjson_val *container, const char *want)
{
    static const char *const NAMES[] = {"ready", "completed", "started"};
    size_t n = 0;
    const struct podnotes_need *needs = podnotes_needs(notes, container, &n);
    scoped_str got = {0};
    for (size_t i = 0; i < n; i++)
        str_addf(&got, "%s:%s ", needs[i].name, NAMES[needs[i].condition]);
    assert_string_equal(str_text(&got), want);
}

static void test_needs(void **state)
{
    (void)state;
    scoped_json_mut *doc = kt_parse(
        NOTED("depends-on",
              "{" Q "a" Q ":[" Q "b" Q "," Q "i:completed" Q "]," Q "b" Q ":[" Q "c:started" Q "]}",
              ",'dependsOn':[{'name':'c','condition':'started'},{'name':'b'}]"));
    scoped_json *read = yyjson_mut_doc_imut_copy(doc, NULL);
    yyjson_val *root = yyjson_doc_get_root(read);
    yyjson_val *containers = json_at(root, "spec.containers");
    struct podnotes notes;
    podnotes_open(&notes, root);
    expect_needs(&notes, yyjson_arr_get(containers, 0), "c:started b:ready i:completed ");
    expect_needs(&notes, yyjson_arr_get(containers, 1), "c:started ");
    expect_needs(&notes, yyjson_arr_get(containers, 2), "");
    podnotes_close(&notes);
    podnotes_open(&notes, yyjson_arr_get(containers, 0)); /* no annotations at all */
    expect_needs(&notes, yyjson_arr_get(containers, 0), "c:started b:ready ");
    podnotes_close(&notes);
}

/* The status that our nodes write beyond Kubernetes'. */
static void test_lifecycle(void **state)
{
    static const struct wrong ROWS[] = {
        {"'state':'starting','since':'2026-01-02T03:04:05.123456Z','generation':2,'reason':'x',"
         "'message':'y','nextStart':'2026-01-02T03:04:05Z','moves':[{'state':'pending','at':"
         "'2026-01-02T03:04:05.000001Z'}]",
         NULL},
        {"'state':'running'",
         "status.containerStatuses[0].lifecycle.state: Unsupported value: \"running\": ..."},
        {"'moves':[{'state':'started'}]", "status.containerStatuses[0].lifecycle.moves[0].state: "
                                          "Unsupported value: \"started\": ..."},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_free char *text = mem_printf(
            "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'a','image':'i'}]},'status':"
            "{'containerStatuses':[{'name':'a','lifecycle':{%s}}]}}",
            ROWS[i].object);
        scoped_json_mut *doc = kt_parse(text);
        struct findings findings = {0};
        kt_check(&KIND_POD, doc, NULL, &findings);
        kt_expect(text, &findings, ROWS[i].want);
        findings_done(&findings);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_real_manifests_pass),
        cmocka_unit_test(test_wrong_ones_are_found),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_needs),
        cmocka_unit_test(test_lifecycle),
        cmocka_unit_test(test_wrong_types_do_not_crash),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_short_forms_are_made_long),
        cmocka_unit_test(test_pull_policy_follows_the_tag),
        cmocka_unit_test(test_prepare),
        cmocka_unit_test(test_updates),
        cmocka_unit_test(test_other_words),
        cmocka_unit_test(test_node_is_set_once),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_column_names),
        cmocka_unit_test(test_meta_view),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

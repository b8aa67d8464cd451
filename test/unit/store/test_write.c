// SPDX-License-Identifier: Apache-2.0
/* What a write does, as stories: each step is one write, what it is answered, and what the object
 * then says. In bodies ' stands for ", $V for the version and $U for the UID that the latest answer
 * carried. */
#include "base/mem.h"
#include "fixture.h"
#include "store/write_internal.h"
#include <stdio.h>

struct step {
    enum write_op op;
    const struct kind *kind;
    const char *ns, *name, *body;
    int code;         /* 0: fine */
    const char *want; /* "path=value path! created removed unchanged": ! is absent */
    const char *say;  /* part of the refusal or of the warnings */
    enum write_sub sub;
    enum patch_type patch;
    enum propagation propagation;
    enum validation validation;
    bool dry_run;
    bool graceful; /* the pod's own time; otherwise none */
    const char *if_uid, *if_version;
};

struct seen { /* what the latest answer carried */
    char version[32];
    char uid[64];
};

static char *expand(const char *text, const struct seen *seen)
{
    struct str out = {0};
    for (; text != NULL && *text != '\0'; text++) {
        if (str_starts(text, "$V"))
            str_add(&out, (text++, seen->version));
        else if (str_starts(text, "$U"))
            str_add(&out, (text++, seen->uid));
        else
            str_addc(&out, *text);
    }
    return str_take(&out);
}

static struct write *step_write(const struct step *step, const struct seen *seen)
{
    scoped_free char *body = expand(step->body, seen);
    struct write *write =
        write_of(step->op, step->kind, step->ns, step->name, step->body ? body : NULL);
    write->sub = step->sub;
    write->patch_type = step->patch;
    write->propagation = step->propagation;
    write->validation = step->validation;
    write->dry_run = step->dry_run;
    write->grace_s = step->graceful ? -1 : 0;
    write->if_uid = step->if_uid ? expand(step->if_uid, seen) : NULL;
    write->if_version = step->if_version ? expand(step->if_version, seen) : NULL;
    return write;
}

static void value_text(yyjson_val *value, struct str *out)
{
    if (yyjson_is_str(value))
        str_add(out, yyjson_get_str(value));
    else if (value != NULL)
        json_write_val(value, out);
}

static bool word_holds(const char *word, const struct outcome *outcome)
{
    const char *equals = strchr(word, '=');
    if (equals == NULL && strchr(word, '!') == NULL)
        return strcmp(word, outcome->created     ? "created"
                            : outcome->removed   ? "removed"
                            : outcome->unchanged ? "unchanged"
                                                 : "changed") == 0;
    scoped_free char *path = mem_strndup(word, strcspn(word, "=!"));
    yyjson_val *value = outcome->obj ? json_at(outcome->obj->root, path) : NULL;
    if (equals == NULL)
        return value == NULL;
    scoped_str text = {0};
    value_text(value, &text);
    return value != NULL && strcmp(str_text(&text), equals + 1) == 0;
}

static void check_want(const char *story, size_t row, const struct step *step,
                       const struct outcome *outcome)
{
    struct sv rest = sv_of(step->want);
    while (rest.len > 0) {
        struct sv word = sv_cut(&rest, ' ');
        scoped_free char *text = mem_strndup(word.ptr, word.len);
        if (!word_holds(text, outcome))
            fail_msg("%s, step %zu: not %s: %s", story, row, text,
                     outcome->obj ? outcome->obj->json->data : "no object");
    }
}

static void check_outcome(const char *story, size_t row, const struct step *step,
                          const struct outcome *outcome)
{
    if (outcome->calls != 1)
        fail_msg("%s, step %zu: answered %d times", story, row, outcome->calls);
    if (outcome->code != step->code)
        fail_msg("%s, step %zu: wanted %d, got %d %s", story, row, step->code, outcome->code,
                 outcome->message);
    if (step->say && !strstr(outcome->message, step->say) && !strstr(outcome->warnings, step->say))
        fail_msg("%s, step %zu: \"%s\" is not in \"%s\" nor in \"%s\"", story, row, step->say,
                 outcome->message, outcome->warnings);
    check_want(story, row, step, outcome);
}

static void remember(struct seen *seen, const struct outcome *outcome)
{
    if (outcome->obj == NULL)
        return;
    const struct meta *meta = &outcome->obj->meta;
    (void)snprintf(seen->version, sizeof(seen->version), "%s",
                   meta->resource_version ? meta->resource_version : "");
    (void)snprintf(seen->uid, sizeof(seen->uid), "%s", meta->uid);
}

/* Every story is told twice: each write durable before the next, and all decided before any is. */
static void tell_how(const char *story, const struct step *steps, size_t count, bool at_once)
{
    struct bench bench;
    struct seen seen = {0};
    struct outcome outcomes[32];
    assert_true(count <= ARRAY_LEN(outcomes));
    bench_open(&bench);
    for (size_t i = 0; i < count; i++) {
        submit(&bench, step_write(&steps[i], &seen), &outcomes[i]);
        if (!at_once)
            bench_settle(&bench);
        if (outcomes[i].calls > 0)
            remember(&seen, &outcomes[i]);
        bench.now += 1000;
    }
    bench_settle(&bench);
    for (size_t i = 0; i < count; i++) {
        check_outcome(story, i, &steps[i], &outcomes[i]);
        outcome_done(&outcomes[i]);
    }
    bench_close(&bench);
}

static void tell(const char *story, const struct step *steps, size_t count)
{
    bool needs_answers = false;
    for (size_t i = 0; i < count; i++) {
        const char *texts[] = {steps[i].body, steps[i].if_uid, steps[i].if_version};
        for (size_t t = 0; t < ARRAY_LEN(texts); t++)
            needs_answers |= texts[t] != NULL && strchr(texts[t], '$') != NULL;
    }
    tell_how(story, steps, count, false);
    if (!needs_answers)
        tell_how(story, steps, count, true);
}

#define STORY(name, ...)                                                                           \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        static const struct step STEPS[] = {__VA_ARGS__};                                          \
        (void)state;                                                                               \
        tell(#name, STEPS, ARRAY_LEN(STEPS));                                                      \
    }

#define CM &KIND_CONFIGMAP, "default"
#define POD &KIND_POD, "default"
#define NS &KIND_NAMESPACE, ""
#define POD_SPEC "'spec':{'containers':[{'name':'c','image':'i'}]}"

// clang-format off
STORY(create,
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'a'},'data':{'k':'v'}}", 0,
     "created data.k=v kind=ConfigMap apiVersion=v1 metadata.namespace=default "
     "metadata.resourceVersion=5 metadata.creationTimestamp=2026-01-01T00:00:00Z "
     "metadata.generation!"},
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'a'}}", 409, .say = "already exists"},
    {WRITE_CREATE, CM, "", "{'kind':'Pod','metadata':{'name':'b'}}", 400},
    {WRITE_CREATE, CM, "", "{'apiVersion':'v2','metadata':{'name':'b'}}", 400},
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'b','resourceVersion':'3'}}", 400},
    {WRITE_CREATE, CM, "", "{'metadata':{}}", 422, .say = "metadata.name"},
    {WRITE_CREATE, CM, "", "{}", 422, .say = "metadata.name"},
    {WRITE_CREATE, CM, "", "[]", 400},
    {WRITE_CREATE, CM, "", "{'metadata':{'name':''}}", 422, .say = "metadata.name"},
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'No_Good'}}", 422, .say = "metadata.name"},
    {WRITE_CREATE, CM, "", "{'metadata':{'name':5}}", 422, .say = "metadata.name"},
    {WRITE_CREATE, NS, "", "{'metadata':{'name':'dots.are.not.for.namespaces'}}", 422})

STORY(create_ignores_what_is_the_servers,
    {WRITE_CREATE, POD, "", "{'metadata':{'name':'p','uid':'mine','generation':7,'selfLink':'x',"
     "'creationTimestamp':'2000-01-01T00:00:00Z','deletionTimestamp':'2000-01-01T00:00:00Z',"
     "'deletionGracePeriodSeconds':3}," POD_SPEC ",'status':{'phase':'Failed'}}", 0,
     "created status.phase=Pending metadata.generation=1 metadata.deletionTimestamp! "
     "metadata.selfLink! metadata.creationTimestamp=2026-01-01T00:00:00Z "
     "metadata.deletionGracePeriodSeconds!"})

STORY(namespaces,
    {WRITE_CREATE, &KIND_CONFIGMAP, "nowhere", "", "{'metadata':{'name':'a'}}", 404,
     .say = "namespaces \"nowhere\""},
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'a','namespace':'other'}}", 400},
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'a','namespace':'default'}}", 0, "created"},
    {WRITE_CREATE, NS, "", "{'metadata':{'name':'n','namespace':'default'}}", 400},
    {WRITE_CREATE, &KIND_NAMESPACE, "ignored", "", "{'metadata':{'name':'n'}}", 0,
     "created metadata.namespace! spec.finalizers=[\"kubernetes\"] status.phase=Active"},
    {WRITE_CREATE, &KIND_CONFIGMAP, "n", "", "{'metadata':{'name':'a'}}", 0, "created"},
    {WRITE_DELETE, NS, "n", NULL, 0, "changed status.phase=Terminating"},
    {WRITE_CREATE, &KIND_CONFIGMAP, "n", "", "{'metadata':{'name':'b'}}", 403,
     .say = "being terminated"},
    {WRITE_UPDATE, &KIND_CONFIGMAP, "n", "a", "{'data':{'still':'open'}}", 0, "data.still=open"},
    {WRITE_DELETE, &KIND_CONFIGMAP, "n", "a", NULL, 0, "removed"},
    {WRITE_UPDATE, NS, "n", "{'metadata':{'labels':{'a':'b'}}}", 0,
     "changed spec.finalizers=[\"kubernetes\"] status.phase=Terminating"},
    {WRITE_UPDATE, NS, "n", "{'spec':{'finalizers':[]}}", 0, "removed", .sub = SUB_FINALIZE},
    {WRITE_DELETE, NS, "n", NULL, 404},
    {WRITE_DELETE, NS, "default", NULL, 403})

STORY(generate_name,
    {WRITE_CREATE, CM, "", "{'metadata':{'generateName':'job-'}}", 0,
     "created metadata.generateName=job-"},
    {WRITE_CREATE, CM, "", "{'metadata':{'generateName':'job-','name':'fixed'}}", 0,
     "created metadata.name=fixed"},
    {WRITE_CREATE, CM, "", "{'metadata':{'generateName':'job-'}}", 0, "created"},
    {WRITE_CREATE, CM, "", "{'metadata':{'generateName':'NOT-'}}", 422})

STORY(optimistic_lock,
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'a'}}", 0, "metadata.resourceVersion=5"},
    {WRITE_UPDATE, CM, "a", "{'metadata':{'resourceVersion':'5'},'data':{'k':'1'}}", 0,
     "data.k=1 metadata.resourceVersion=6"},
    {WRITE_UPDATE, CM, "a", "{'metadata':{'resourceVersion':'5'},'data':{'k':'2'}}", 409},
    {WRITE_UPDATE, CM, "a", "{'metadata':{'uid':'other'},'data':{'k':'2'}}", 409},
    {WRITE_UPDATE, CM, "a", "{'data':{'k':'3'}}", 0, "data.k=3"},
    {WRITE_UPDATE, CM, "a", "{'data':{'k':'4'}}", 409, .if_version = "6"},
    {WRITE_UPDATE, CM, "a", "{'data':{'k':'4'}}", 409, .if_uid = "other"},
    {WRITE_UPDATE, CM, "a", "{'metadata':{'name':'b'}}", 400},
    {WRITE_UPDATE, CM, "a", "{'metadata':{'namespace':'b'}}", 400},
    {WRITE_UPDATE, CM, "b", "{}", 404},
    {WRITE_PATCH, CM, "a", "{'metadata':{'resourceVersion':'5'},'data':{'k':'5'}}", 409},
    {WRITE_PATCH, CM, "a", "{'data':{'k':'5'}}", 0, "data.k=5"})

STORY(versions_of_sub_resources_count_too,
    {WRITE_CREATE, POD, "", "{'metadata':{'name':'p'}," POD_SPEC "}", 0,
     "metadata.resourceVersion=5"},
    {WRITE_PATCH, POD, "p", "{'metadata':{'labels':{'a':'b'}}}", 0, "metadata.resourceVersion=6"},
    {WRITE_UPDATE, POD, "p", "{'metadata':{'resourceVersion':'5'},'status':{'phase':'Running'}}",
     409, .sub = SUB_STATUS},
    {WRITE_UPDATE, POD, "p", "{'metadata':{'uid':'other'},'status':{'phase':'Running'}}", 409,
     .sub = SUB_STATUS},
    {WRITE_UPDATE, POD, "p", "{'metadata':{'name':'q'},'status':{'phase':'Running'}}", 400,
     .sub = SUB_STATUS},
    {WRITE_CREATE, POD, "p", "{'metadata':{'uid':'other'},'target':{'name':'n'}}", 409,
     .sub = SUB_BINDING},
    {WRITE_UPDATE, POD, "p", "{'metadata':{'resourceVersion':'6'},'status':{'phase':'Running'}}",
     0, "status.phase=Running", .sub = SUB_STATUS})

STORY(status_is_apart,
    {WRITE_CREATE, POD, "", "{'metadata':{'name':'p','labels':{'a':'b'}}," POD_SPEC "}", 0,
     "status.phase=Pending metadata.generation=1"},
    {WRITE_PATCH, POD, "p", "{'status':{'phase':'Failed'}}", 0, "unchanged status.phase=Pending"},
    {WRITE_UPDATE, POD, "p",
     "{'metadata':{'labels':{'a':'z'}},'spec':{'nodeName':'n'},'status':{'phase':'Running'}}", 0,
     "changed status.phase=Running metadata.labels.a=b spec.nodeName! metadata.generation=1",
     .sub = SUB_STATUS},
    {WRITE_PATCH, POD, "p", "{'status':{'reason':'r'},'metadata':{'labels':{'a':'z'}}}", 0,
     "status.reason=r status.phase=Running metadata.labels.a=b", .sub = SUB_STATUS},
    {WRITE_PATCH, POD, "p", "{'metadata':{'labels':{'a':'c'}}}", 0,
     "status.reason=r metadata.labels.a=c metadata.generation=1"})

STORY(generation,
    {WRITE_CREATE, &KIND_JOB, "default", "", "{'metadata':{'name':'j'},'spec':{'parallelism':1,"
     "'template':{'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'i'}]}}}}", 0,
     "metadata.generation=1"},
    {WRITE_PATCH, &KIND_JOB, "default", "j", "{'spec':{'parallelism':2}}", 0,
     "metadata.generation=2 spec.parallelism=2"},
    {WRITE_PATCH, &KIND_JOB, "default", "j", "{'metadata':{'generation':9}}", 0, "unchanged"},
    {WRITE_PATCH, &KIND_JOB, "default", "j", "{'metadata':{'labels':{'a':'b'}}}", 0,
     "metadata.generation=2"},
    {WRITE_PATCH, &KIND_JOB, "default", "j", "{'status':{'active':1}}", 0,
     "metadata.generation=2 status.active=1", .sub = SUB_STATUS},
    {WRITE_PATCH, &KIND_JOB, "default", "j", "{'spec':{'parallelism':2}}", 0, "unchanged"})

STORY(unchanged,
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'a'},'data':{'x':'1','y':'2'}}", 0,
     "metadata.resourceVersion=5"},
    {WRITE_UPDATE, CM, "a", "{'data':{'y':'2','x':'1'}}", 0,
     "unchanged metadata.resourceVersion=5"},
    {WRITE_PATCH, CM, "a", "{'data':{'x':'1'}}", 0, "unchanged metadata.resourceVersion=5"},
    {WRITE_PATCH, CM, "a", "{'data':{'x':'2'}}", 0, "changed metadata.resourceVersion=6"})

STORY(kinds_stay,
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'a'}}", 0, "created"},
    {WRITE_PATCH, CM, "a", "{'kind':'Pod'}", 400,
     .say = "this address takes apiVersion v1, kind ConfigMap"},
    {WRITE_PATCH, CM, "a", "{'apiVersion':'v2','data':{'x':'1'}}", 400,
     .say = "ConfigMap in version \"v2\" cannot be handled as a ConfigMap"},
    {WRITE_UPDATE, CM, "a", "{'kind':'Pod'}", 400, .say = "Pod in version"},
    {WRITE_PATCH, CM, "a", "{'apiVersion':'v1','kind':'ConfigMap','data':{'x':'1'}}", 0,
     "changed kind=ConfigMap data.x=1"},
    {WRITE_PATCH, CM, "a", "{'kind':null}", 0, "unchanged kind=ConfigMap"})

STORY(dry_run,
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'a'}}", 0, "created metadata.resourceVersion!",
     .dry_run = true},
    {WRITE_UPDATE, CM, "a", "{}", 404, .dry_run = true},
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'a'}}", 0, "metadata.resourceVersion=5"},
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'a'}}", 409, .dry_run = true},
    {WRITE_PATCH, CM, "a", "{'data':{'x':'2'}}", 0,
     "changed data.x=2 metadata.resourceVersion=5", .dry_run = true},
    {WRITE_DELETE, CM, "a", NULL, 0, "removed", .dry_run = true},
    {WRITE_PATCH, CM, "a", "{'metadata':{'labels':{'a':'b'}}}", 0,
     "data! metadata.resourceVersion=6"})

STORY(unknown_fields,
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'a'},'dada':{}}", 0, "dada={}",
     .validation = VALIDATE_IGNORE},
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'b'},'dada':{}}", 0, "created", .say = "dada",
     .validation = VALIDATE_WARN},
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'c'},'dada':{}}", 400,
     .say = "strict decoding error", .validation = VALIDATE_STRICT},
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'c'},'data':{}}", 0, "created",
     .validation = VALIDATE_STRICT},
    {WRITE_PATCH, CM, "c", "{'metadata':{'lables':{}}}", 400, .say = "metadata.lables",
     .validation = VALIDATE_STRICT})

STORY(unknown_fields_are_told_again,
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'a'},'data':{'x':'1'},'dada':{}}", 0, "created",
     .say = "dada", .validation = VALIDATE_WARN},
    {WRITE_UPDATE, CM, "a", "{'metadata':{'labels':{'l':'1'}},'data':{'x':'1'},'dada':{}}", 0,
     "changed dada={}", .say = "dada", .validation = VALIDATE_WARN},
    {WRITE_UPDATE, CM, "a", "{'metadata':{'labels':{'l':'1'}},'data':{'x':'1'},'dada':{}}", 400,
     .say = "dada", .validation = VALIDATE_STRICT},
    {WRITE_UPDATE, CM, "a", "{'metadata':{'labels':{'l':'2'}},'data':{'x':'1'}}", 0, "dada!",
     .validation = VALIDATE_STRICT},
    {WRITE_UPDATE, CM, "a", "{'metadata':{'labels':{'l':'3'}},'data':{'x':'1'},'dada':{}}", 0,
     "dada={}", .validation = VALIDATE_IGNORE},
    {WRITE_PATCH, CM, "a", "{'metadata':{'labels':{'l':'4'}}}", 400, .say = "dada",
     .validation = VALIDATE_STRICT},
    {WRITE_PATCH, CM, "a", "{'dada':null}", 0, "dada!", .validation = VALIDATE_STRICT},
    {WRITE_PATCH, CM, "a", "{'metadata':{'labels':{'l':'5'}}}", 0, "metadata.labels.l=5 data.x=1",
     .validation = VALIDATE_IGNORE},
    {WRITE_PATCH, CM, "a", "{'metadata':{'lables':{}}}", 400, .say = "lables",
     .validation = VALIDATE_STRICT})

#define POD_META(label) "'metadata':{'labels':{'l':'" label "'}}"

/* What is left out is filled in, and then is what it was; what is there is judged when it differs. */
STORY(what_stays_is_kept,
    {WRITE_CREATE, POD, "", "{'metadata':{'name':'p'}," POD_SPEC "}", 0,
     "created metadata.generation=1 spec.restartPolicy=Always"},
    {WRITE_UPDATE, POD, "p", "{" POD_META("1") "," POD_SPEC "}", 0,
     "changed metadata.generation=1 spec.restartPolicy=Always metadata.labels.l=1"},
    {WRITE_UPDATE, POD, "p", "{" POD_META("1") "," POD_SPEC "}", 0,
     "unchanged"},
    {WRITE_PATCH, POD, "p", "{" POD_META("2") "}", 0,
     "changed metadata.generation=1 metadata.labels.l=2 spec.dnsPolicy=ClusterFirst"},
    {WRITE_PATCH, POD, "p", "{'status':{'phase':'Running'}}", 0,
     "changed metadata.generation=1 status.phase=Running", .sub = SUB_STATUS},
    {WRITE_PATCH, POD, "p", "{'status':{'phase':'Wrong'}}", 422,
     .sub = SUB_STATUS},
    {WRITE_PATCH, POD, "p", "{" POD_META("-") "}", 422, .say = "labels"},
    {WRITE_PATCH, POD, "p", "{'spec':{'dnsPolicy':'Default'}}", 422,
     .say = "may not change in a pod"},
    {WRITE_PATCH, POD, "p", "{'spec':{'activeDeadlineSeconds':5}}", 0,
     "changed metadata.generation=2 status.phase=Running metadata.labels.l=2"},
    {WRITE_PATCH, POD, "p", "{'spec':{'activeDeadlineSeconds':6}}", 422,
     .say = "lowered, not raised"})

/* What a patch does not name is kept without being compared; what it names is not, whatever it says
 * of it and by whichever door it comes. */
STORY(what_a_patch_names_is_looked_at,
    {WRITE_CREATE, POD, "", "{'metadata':{'name':'p'}," POD_SPEC "}", 0, "created"},
    {WRITE_PATCH, POD, "p", "{'status':{'phase':'Running','podIP':'10.0.0.1'}}", 0,
     "changed status.phase=Running", .sub = SUB_STATUS},
    {WRITE_PATCH, POD, "p", "{" POD_META("1") ",'status':{'phase':'Failed'}}", 0,
     "changed metadata.labels.l=1 status.phase=Running status.podIP=10.0.0.1"},
    {WRITE_PATCH, POD, "p", "{" POD_META("1") "}", 0, "unchanged"},
    {WRITE_PATCH, POD, "p", "{'spec':{'activeDeadlineSeconds':5},'status':{'podIP':null}}", 0,
     "changed metadata.generation=1 spec.activeDeadlineSeconds! status.podIP! status.phase=Running",
     .sub = SUB_STATUS},
    {WRITE_PATCH, POD, "p", "{'status':null}", 0, "changed status!", .sub = SUB_STATUS},
    {WRITE_PATCH, POD, "p", "{" POD_META("2") "}", 0, "changed metadata.labels.l=2 status!"},
    {WRITE_PATCH, POD, "p", "{'spec':null}", 422, .say = "spec"})

#define CONDITION(type, more) "{'type':'" type "','status':'True'" more "}"
#define REPORT(message, second) \
    "{'status':{'phase':'Running','message':'" message "','conditions':[" \
    CONDITION("Initialized", "") "," second "],'podIPs':[{'ip':'10.0.0.1'}]}}"

/* Of a status that is reported again only what is new in it is looked at; the rest is what it was. */
STORY(parts_of_a_status_are_kept,
    {WRITE_CREATE, POD, "", "{'metadata':{'name':'p','labels':{'l':'1'}}," POD_SPEC "}", 0, "created"},
    {WRITE_PATCH, POD, "p", REPORT("1", CONDITION("Ready", "")), 0,
     "changed status.message=1 metadata.generation=1", .sub = SUB_STATUS, .patch = PATCH_STRATEGIC},
    {WRITE_PATCH, POD, "p", REPORT("1", CONDITION("Ready", "")), 0, "unchanged",
     .sub = SUB_STATUS, .patch = PATCH_STRATEGIC},
    {WRITE_PATCH, POD, "p", REPORT("2", CONDITION("Ready", "")), 0,
     "changed status.message=2 metadata.labels.l=1 metadata.generation=1 "
     "status.podIPs=[{\"ip\":\"10.0.0.1\"}]", .sub = SUB_STATUS, .patch = PATCH_STRATEGIC},
    {WRITE_PATCH, POD, "p", REPORT("2", CONDITION("Ready", ",'reason':'r'")), 0,
     "changed status.conditions=[{\"type\":\"Initialized\",\"status\":\"True\"},"
     "{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"r\"}]",
     .sub = SUB_STATUS, .patch = PATCH_STRATEGIC},
    {WRITE_PATCH, POD, "p", REPORT("3", CONDITION("Ready", ",'raeson':'r'")), 400, .say = "raeson",
     .sub = SUB_STATUS, .patch = PATCH_STRATEGIC, .validation = VALIDATE_STRICT},
    {WRITE_PATCH, POD, "p", REPORT("3", "{'type':'Ready','status':'Maybe'}"), 422,
     .say = "status.conditions[1].status", .sub = SUB_STATUS, .patch = PATCH_MERGE},
    {WRITE_PATCH, POD, "p", REPORT("3", CONDITION("Ready", ",'odd':1")), 0, "changed", .say = "odd",
     .sub = SUB_STATUS, .validation = VALIDATE_WARN},
    /* an unknown field in a part that stays is told once more, and stays */
    {WRITE_PATCH, POD, "p", REPORT("4", CONDITION("Ready", ",'odd':1")), 0, "changed status.message=4",
     .say = "odd", .sub = SUB_STATUS, .patch = PATCH_STRATEGIC, .validation = VALIDATE_WARN},
    {WRITE_PATCH, POD, "p", "{'status':{'podIPs':null}}", 0,
     "changed status.podIPs! status.message=4", .say = "odd",
     .sub = SUB_STATUS, .validation = VALIDATE_WARN},
    {WRITE_UPDATE, POD, "p", "{'metadata':{'labels':{'l':'1'},'annotations':{'a':'1'}}," POD_SPEC "}", 0,
     "changed metadata.labels.l=1 metadata.annotations.a=1 status.message=4"},
    {WRITE_PATCH, POD, "p", "{'spec':{'activeDeadlineSeconds':9}}", 0,
     "changed metadata.generation=2 metadata.labels.l=1 metadata.annotations.a=1 status.message=4"})

/* A directive changes a member that no key of the patch is. */
STORY(directives_of_a_patch_are_not_names,
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'a'},'extra':['x','y']}", 0, "created"},
    {WRITE_PATCH, CM, "a", "{'$deleteFromPrimitiveList/extra':['x']}", 0, "changed extra=[\"y\"]",
     .patch = PATCH_STRATEGIC})

/* Deleting changes the status of a namespace; its version must be new all the same. */
STORY(every_version_has_its_number,
    {WRITE_CREATE, NS, "", "{'metadata':{'name':'n'}}", 0, "created"},
    {WRITE_DELETE, NS, "n", NULL, 0, "changed status.phase=Terminating"},
    {WRITE_PATCH, NS, "n", "{'status':{'x':'1'}}", 0, "changed status.x=1",
     .sub = SUB_STATUS})

STORY(finalizers_say_whose_they_are,
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'a','finalizers':['x']}}", 422,
     .say = "metadata.finalizers[0]: Invalid value: \"x\": name is neither a standard finalizer name "
            "nor is it fully qualified"},
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'a','finalizers':['orphan','a.b/x']}}", 0, "created"},
    {WRITE_PATCH, CM, "a", "{'metadata':{'finalizers':['orphan','kubernetes','y']}}", 422,
     .say = "metadata.finalizers[2]: "})

STORY(finalizers,
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'a','finalizers':['x/a','x/b']}}", 0, "created"},
    {WRITE_DELETE, CM, "a", NULL, 0, "changed metadata.deletionTimestamp=2026-01-01T00:00:01Z"},
    {WRITE_DELETE, CM, "a", NULL, 0, "unchanged"},
    {WRITE_PATCH, CM, "a", "{'metadata':{'deletionTimestamp':null}}", 0,
     "unchanged metadata.deletionTimestamp=2026-01-01T00:00:01Z"},
    {WRITE_PATCH, CM, "a", "{'metadata':{'finalizers':['x/a','x/b','x/c']}}", 422,
     .say = "metadata.finalizers"},
    {WRITE_PATCH, CM, "a", "{'metadata':{'finalizers':['x/b']}}", 0,
     "changed metadata.finalizers=[\"x/b\"]"},
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'a'}}", 409},
    {WRITE_PATCH, CM, "a", "{'metadata':{'finalizers':null}}", 0, "removed"},
    {WRITE_PATCH, CM, "a", "{}", 404},
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'a'}}", 0, "created"})

STORY(propagation,
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'a'}}", 0, "created"},
    {WRITE_DELETE, CM, "a", NULL, 0, "changed metadata.finalizers=[\"foregroundDeletion\"]",
     .propagation = PROPAGATE_FOREGROUND},
    {WRITE_DELETE, CM, "a", NULL, 0, "changed metadata.finalizers=[\"orphan\"]",
     .propagation = PROPAGATE_ORPHAN},
    {WRITE_DELETE, CM, "a", NULL, 0, "unchanged"},
    {WRITE_DELETE, CM, "a", NULL, 0, "removed metadata.finalizers!",
     .propagation = PROPAGATE_BACKGROUND})

STORY(delete_preconditions,
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'a'}}", 0, "created"},
    {WRITE_DELETE, CM, "a", NULL, 409, .if_uid = "other"},
    {WRITE_DELETE, CM, "a", NULL, 409, .if_version = "4"},
    {WRITE_DELETE, CM, "a", NULL, 0, "removed", .if_version = "5"},
    {WRITE_DELETE, CM, "a", NULL, 404})

STORY(delete_with_the_right_uid,
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'a'}}", 0, "created"},
    {WRITE_DELETE, CM, "a", NULL, 0, "removed", .if_uid = "$U", .if_version = "$V"})

STORY(binding,
    {WRITE_CREATE, POD, "", "{'metadata':{'name':'p'}," POD_SPEC "}", 0, "spec.nodeName!"},
    {WRITE_CREATE, POD, "p", "{'target':{}}", 400, .sub = SUB_BINDING},
    {WRITE_CREATE, POD, "q", "{'target':{'name':'n1'}}", 404, .sub = SUB_BINDING},
    {WRITE_PATCH, POD, "p", "{'status':{'conditions':[{'type':'PodScheduled','status':'False'}]}}",
     0, "changed", .sub = SUB_STATUS},
    {WRITE_CREATE, POD, "p", "{'target':{'name':'n1'}}", 0, "changed spec.nodeName=n1 "
     "status.conditions=[{\"type\":\"PodScheduled\",\"status\":\"True\",\"lastTransitionTime\":"
     "\"2026-01-01T00:00:04Z\"}]", .sub = SUB_BINDING},
    {WRITE_CREATE, POD, "p", "{'target':{'name':'n2'}}", 409, .say = "n1", .sub = SUB_BINDING},
    {WRITE_CREATE, POD, "", "{'metadata':{'name':'d','finalizers':['x/y']}," POD_SPEC "}", 0},
    {WRITE_DELETE, POD, "d", NULL, 0, "changed"},
    {WRITE_CREATE, POD, "d", "{'target':{'name':'n1'}}", 409, .say = "deleted",
     .sub = SUB_BINDING})

STORY(grace,
    {WRITE_CREATE, POD, "", "{'metadata':{'name':'p'}," POD_SPEC "}", 0, "created"},
    {WRITE_CREATE, POD, "p", "{'target':{'name':'n1'}}", 0, .sub = SUB_BINDING},
    {WRITE_DELETE, POD, "p", NULL, 0, "changed metadata.deletionGracePeriodSeconds=30 "
     "metadata.deletionTimestamp=2026-01-01T00:00:32Z", .graceful = true},
    {WRITE_DELETE, POD, "p", NULL, 0, "unchanged", .graceful = true},
    {WRITE_PATCH, POD, "p", "{'status':{'phase':'Running'}}", 0, "changed", .sub = SUB_STATUS},
    {WRITE_DELETE, POD, "p", NULL, 0, "removed"},
    {WRITE_CREATE, POD, "", "{'metadata':{'name':'unbound'}," POD_SPEC "}", 0, "created"},
    {WRITE_DELETE, POD, "unbound", NULL, 0, "removed", .graceful = true},
    {WRITE_CREATE, POD, "", "{'metadata':{'name':'over'}," POD_SPEC "}", 0, "created"},
    {WRITE_CREATE, POD, "over", "{'target':{'name':'n1'}}", 0, .sub = SUB_BINDING},
    {WRITE_PATCH, POD, "over", "{'status':{'phase':'Succeeded'}}", 0, .sub = SUB_STATUS},
    {WRITE_DELETE, POD, "over", NULL, 0, "removed", .graceful = true})

STORY(patches,
    {WRITE_CREATE, CM, "", "{'metadata':{'name':'a'},'data':{'x':'1','y':'2'}}", 0, "created"},
    {WRITE_PATCH, CM, "a", "{'data':{'x':null}}", 0, "data.x! data.y=2"},
    {WRITE_PATCH, CM, "a", "[{'op':'add','path':'/data/z','value':'3'}]", 0, "data.z=3",
     .patch = PATCH_JSON},
    {WRITE_PATCH, CM, "a", "[{'op':'test','path':'/data/z','value':'4'}]", 422,
     .patch = PATCH_JSON},
    {WRITE_PATCH, CM, "a", "[{'op':'replace','path':'','value':5}]", 422, .patch = PATCH_JSON},
    {WRITE_PATCH, CM, "a", "{'data':{'y':5}}", 422, .say = "data"},
    {WRITE_PATCH, CM, "a", "{'metadata':{'name':'other'}}", 400},
    {WRITE_PATCH, CM, "a", "{'metadata':{'finalizers':['x/y']}}", 0, "changed",
     .patch = PATCH_STRATEGIC},
    {WRITE_PATCH, CM, "a", "{'metadata':{'finalizers':['x/z']}}", 0,
     "metadata.finalizers=[\"x/z\",\"x/y\"]", .patch = PATCH_STRATEGIC})
// clang-format on

/* No kind has /scale yet, so the test brings its own: a ConfigMap-like thing with replicas. */
static const struct kind_scale SCALE = {"spec.replicas", "status.replicas", "spec.selector"};

static void test_scale(void **state)
{
    (void)state;
    struct kind kind = KIND_JOB;
    kind.scale = &SCALE;
    scoped_obj *obj =
        obj_of(&kind, 7,
               "{'metadata':{'name':'s','namespace':'default','uid':'u','resourceVersion':'7'},"
               "'spec':{'replicas':3,'selector':{'matchLabels':{'a':'b','c':'d'}}},"
               "'status':{'replicas':2}}");
    scoped_json_mut *view = scale_view(obj);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(view);
    assert_string_equal(json_mut_str_at(root, "kind"), "Scale");
    assert_string_equal(json_mut_str_at(root, "metadata.resourceVersion"), "7");
    assert_int_equal(json_mut_int_at(root, "spec.replicas", -1), 3);
    assert_int_equal(json_mut_int_at(root, "status.replicas", -1), 2);
    assert_string_equal(json_mut_str_at(root, "status.selector"), "a=b,c=d");
}

static void test_scale_apply(void **state)
{
    (void)state;
    static const struct {
        const char *scale;
        bool ok;
        int64_t replicas;
    } CASES[] = {
        {"{'spec':{'replicas':5}}", true, 5},
        {"{'spec':{'replicas':0}}", true, 0},
        {"{'spec':{}}", true, 0},
        {"{'spec':{'replicas':-1}}", false, 3},
        {"{'spec':{'replicas':'5'}}", false, 3},
        {"{'spec':{'replicas':1.5}}", false, 3},
        {"{'spec':{'replicas':2147483648}}", false, 3},
        {"{'spec':[]}", false, 3},
        {"{'spec':'5'}", false, 3},
        {"{'kind':'Job','spec':{'replicas':5}}", false, 3},
        {"{'kind':'Scale','apiVersion':'autoscaling/v1','spec':{'replicas':5}}", true, 5},
    };
    struct kind kind = KIND_JOB;
    kind.scale = &SCALE;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct write *object = write_of(WRITE_UPDATE, &KIND_JOB, "", "", "{'spec':{'replicas':3}}");
        struct write *scale = write_of(WRITE_UPDATE, &KIND_JOB, "", "", CASES[i].scale);
        struct status status = {0};
        bool ok = scale_apply(&kind, object->doc, yyjson_mut_doc_get_root(scale->doc), &status);
        if (ok != CASES[i].ok || status_ok(&status) != ok)
            fail_msg("%s: %s", CASES[i].scale, str_text(&status.message));
        assert_int_equal(json_mut_int_at(yyjson_mut_doc_get_root(object->doc), "spec.replicas", -1),
                         CASES[i].replicas);
        status_done(&status);
        write_free(object);
        write_free(scale);
    }
}

static void admit_labels_only(void *arg, const struct obj *old, const struct obj *new_,
                              struct status *status)
{
    int *asked = arg;
    (*asked)++;
    if (old == NULL || new_ == NULL)
        status_set(status, 403, "Forbidden", "only changes");
}

static void test_admit_is_asked_last(void **state)
{
    (void)state;
    struct bench bench;
    int asked = 0;
    static const struct {
        enum write_op op;
        const char *body;
        int code, asked;
    } CASES[] = {
        {WRITE_CREATE, "{'metadata':{'name':'b'}}", 403, 1},
        {WRITE_CREATE, "{'metadata':{'name':'a'}}", 409, 1},
        {WRITE_PATCH, "{'data':{'k':'v'}}", 0, 2},
        {WRITE_PATCH, "{'data':{'k':'v'}}", 0, 3}, /* also what changes nothing */
        {WRITE_DELETE, NULL, 403, 4},
    };
    bench_open(&bench);
    (void)must(&bench, write_of(WRITE_CREATE, CM, "", "{'metadata':{'name':'a'}}"), 0);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct write *write = write_of(CASES[i].op, CM, "a", CASES[i].body);
        write->admit = admit_labels_only;
        write->admit_arg = &asked;
        (void)must(&bench, write, CASES[i].code);
        assert_int_equal(asked, CASES[i].asked);
    }
    assert_null(get(&bench, CM, "b"));
    assert_non_null(get(&bench, CM, "a"));
    bench_close(&bench);
}

static void test_generated_names_differ(void **state)
{
    (void)state;
    struct bench bench;
    struct outcome outcomes[50];
    bench_open(&bench);
    for (size_t i = 0; i < ARRAY_LEN(outcomes); i++)
        submit(&bench, write_of(WRITE_CREATE, CM, "", "{'metadata':{'generateName':'x-'}}"),
               &outcomes[i]);
    bench_settle(&bench);
    assert_int_equal(cache_count(bench.store->cache, &KIND_CONFIGMAP), ARRAY_LEN(outcomes));
    for (size_t i = 0; i < ARRAY_LEN(outcomes); i++) {
        assert_int_equal(outcomes[i].code, 0);
        assert_int_equal(strlen(outcomes[i].obj->meta.name), 7);
        assert_true(str_starts(outcomes[i].obj->meta.name, "x-"));
        outcome_done(&outcomes[i]);
    }
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create),
        cmocka_unit_test(test_create_ignores_what_is_the_servers),
        cmocka_unit_test(test_namespaces),
        cmocka_unit_test(test_generate_name),
        cmocka_unit_test(test_generated_names_differ),
        cmocka_unit_test(test_optimistic_lock),
        cmocka_unit_test(test_versions_of_sub_resources_count_too),
        cmocka_unit_test(test_status_is_apart),
        cmocka_unit_test(test_generation),
        cmocka_unit_test(test_unchanged),
        cmocka_unit_test(test_kinds_stay),
        cmocka_unit_test(test_dry_run),
        cmocka_unit_test(test_unknown_fields),
        cmocka_unit_test(test_unknown_fields_are_told_again),
        cmocka_unit_test(test_what_stays_is_kept),
        cmocka_unit_test(test_what_a_patch_names_is_looked_at),
        cmocka_unit_test(test_parts_of_a_status_are_kept),
        cmocka_unit_test(test_directives_of_a_patch_are_not_names),
        cmocka_unit_test(test_every_version_has_its_number),
        cmocka_unit_test(test_finalizers_say_whose_they_are),
        cmocka_unit_test(test_finalizers),
        cmocka_unit_test(test_propagation),
        cmocka_unit_test(test_delete_preconditions),
        cmocka_unit_test(test_delete_with_the_right_uid),
        cmocka_unit_test(test_binding),
        cmocka_unit_test(test_grace),
        cmocka_unit_test(test_patches),
        cmocka_unit_test(test_scale),
        cmocka_unit_test(test_scale_apply),
        cmocka_unit_test(test_admit_is_asked_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/run_model.h"
#include "clitest.h"

/* Objects are written with ' for ", which C would have to escape. */
static yyjson_doc *doc_of(const char *text)
{
    struct err err = {0};
    yyjson_doc *doc = NULL;
    scoped_free char *copy = mem_strdup(text);
    for (char *c = copy; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    if (json_parse(sv_of(copy), &doc, &err) < 0)
        fail_msg("%s in %s", err.text, copy);
    return doc;
}

static void add(struct run_model *model, const struct kind *kind, const char *text)
{
    scoped_json *doc = doc_of(text);
    run_model_add(model, kind, yyjson_doc_get_root(doc), true);
}

static void event(struct run_model *model, const struct kind *kind, const char *type,
                  const char *text, time_ms now)
{
    scoped_json *doc = doc_of(text);
    run_model_event(model, &(struct run_event){kind, type, yyjson_doc_get_root(doc)}, now);
}

static void list(struct run_model *model, const struct kind *kind, const char *text, time_ms now)
{
    scoped_json *doc = doc_of(text);
    run_model_list(model, kind, "default", yyjson_doc_get_root(doc), now);
}

#define META(name, uid, more)                                                                      \
    "'metadata':{'namespace':'default','name':'" name "','uid':'" uid "'" more "}"
#define POD_SPEC                                                                                   \
    ",'spec':{'initContainers':[{'name':'once'},{'name':'side','restartPolicy':'Always'}],"        \
    "'containers':[{'name':'db'},{'name':'app'}]}"
#define STATE(name, lifecycle, more)                                                               \
    "{'name':'" name "','lifecycle':{'state':'" lifecycle "'}" more "}"

static void assert_counts(const struct run_group *group, const char *want)
{
    static const char LETTERS[] = {'w', 'b', 'p', 's', 'r', 'd', 'f'};
    struct run_counts counts;
    scoped_str got = {0};
    run_group_count(group, &counts);
    str_addf(&got, "%zu:", counts.total);
    for (size_t i = 0; i < RUN_STATE_COUNT; i++) {
        if (counts.by_state[i] > 0)
            str_addf(&got, " %zu%c", counts.by_state[i], LETTERS[i]);
    }
    assert_string_equal(str_text(&got), want);
}

static void count_life(void *arg, const struct run_pod *pod, const struct run_unit *unit)
{
    str_addf(arg, "[%s/%s %s]", pod->name, unit->name, unit->life);
}

static void test_a_pod_from_its_birth_to_its_end(void **state)
{
    (void)state;
    struct run_model model;
    scoped_str lives = {0};
    run_model_init(&model, 1000);
    model.lives.on_life = count_life;
    model.lives.arg = &lives;
    add(&model, &KIND_POD, "{" META("a", "u1", "") POD_SPEC "}");
    const struct run_group *group = model.groups.items[0];
    assert_counts(group, "3: 3w"); /* what is for the start only does not count */
    event(&model, &KIND_POD, "ADDED",
          "{" META("a", "u1", "") POD_SPEC ",'status':{'phase':'Pending','conditions':[{"
                                           "'type':'PodScheduled','status':'False','message':'no "
                                           "room'}]}}",
          1100);
    struct run_counts counts;
    run_group_count(group, &counts);
    assert_string_equal(counts.why[RUN_WAITING], "no room");
    event(
        &model, &KIND_POD, "MODIFIED",
        "{" META("a", "u1", "") POD_SPEC
        ",'status':{'phase':'Running','initContainerStatuses':[" STATE(
            "side", "ready",
            ",'containerID':'side/1','state':{'running':{}}") "],'containerStatuses'"
                                                              ":[" STATE(
                                                                  "db", "starting",
                                                                  ",'"
                                                                  "containerI"
                                                                  "D':'db/"
                                                                  "1','state'"
                                                                  ":{'"
                                                                  "waiting':{"
                                                                  "'reason':'"
                                                                  "Creating'}"
                                                                  "}") "," STATE("app", "blocked",
                                                                                 ",'state':{'"
                                                                                 "waiting':{'"
                                                                                 "message':'waits "
                                                                                 "for db'}}") "]}}",
        1200);
    assert_counts(group, "3: 1b 1s 1r");
    assert_string_equal(str_text(&lives), "[a/side side/1]"); /* db has no process yet */
    run_group_count(group, &counts);
    assert_string_equal(counts.why[RUN_BLOCKED], "waits for db");
    assert_int_equal(counts.running, 1);
    assert_false(run_group_is_ready(group));
    event(&model, &KIND_POD, "MODIFIED",
          "{" META("a", "u1", "") POD_SPEC
          ",'status':{'phase':'Running','initContainerStatuses':[" STATE(
              "side", "ready",
              ",'containerID':'side/1','state':{'running':{}}") "],'containerStatuses'"
                                                                ":[" STATE(
                                                                    "db", "ready",
                                                                    ",'"
                                                                    "containerI"
                                                                    "D':'db/"
                                                                    "1','state'"
                                                                    ":{'"
                                                                    "running':{"
                                                                    "}}") "," STATE("app", "ready",
                                                                                    ",'containerID'"
                                                                                    ":'app/"
                                                                                    "2','"
                                                                                    "restartCount':"
                                                                                    "1,'state':"
                                                                                    "{'running':{}"
                                                                                    "}") "]}}",
          1700);
    assert_counts(group, "3: 3r");
    assert_string_equal(str_text(&lives), "[a/side side/1][a/db db/1][a/app app/2]");
    assert_true(run_group_is_ready(group));
    assert_int_equal(group->ready_at, 1700);
    event(&model, &KIND_POD, "MODIFIED",
          "{" META("a", "u1", "") POD_SPEC ",'status':{'phase':'Succeeded'}}", 2500);
    assert_int_equal(group->outcome, RUN_SUCCEEDED);
    assert_int_equal(group->ended_at, 2500);
    struct run_verdict verdict;
    run_model_judge(&model, &verdict);
    assert_int_equal(verdict.succeeded, 1);
    assert_int_equal(verdict.ready_at, 1700);
    assert_int_equal(verdict.restarts, 1);
    run_model_done(&model);
}

#define ONE ",'spec':{'containers':[{'name':'c'}]}"
#define ENDED(code, more)                                                                          \
    ",'status':{'phase':'Failed','containerStatuses':[{'name':'c','containerID':'c/1','state':{"   \
    "'terminated':{'exitCode':" code more "}}}]}"

static void test_why_a_pod_failed(void **state)
{
    static const struct {
        const char *status, *why;
    } ROWS[] = {
        {ENDED("3", ",'reason':'Error'"), "c ended with exit code 3"},
        {ENDED("137", ",'reason':'OOMKilled'"), "c OOMKilled"},
        {ENDED("128", ",'reason':'StartError','message':'no such file'"),
         "c StartError: no such file"},
        {",'status':{'phase':'Failed','reason':'Evicted','message':'no disk'}", "no disk"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct run_model model;
        run_model_init(&model, 0);
        add(&model, &KIND_POD, "{" META("a", "u1", "") ONE "}");
        scoped_free char *text = mem_printf("{" META("a", "u1", "") ONE "%s}", ROWS[i].status);
        event(&model, &KIND_POD, "MODIFIED", text, 5);
        assert_int_equal(model.groups.items[0]->outcome, RUN_LOST);
        assert_string_equal(model.groups.items[0]->why, ROWS[i].why);
        run_model_done(&model);
    }
}

#define OWNED(name, uid) META(name, uid, ",'ownerReferences':[{'uid':'j1'}]")
#define RUNNING                                                                                    \
    ",'status':{'phase':'Running','containerStatuses':[{'name':'c','restartCount':2,'lifecycle':{" \
    "'state':'ready'},'state':{'running':{}}}]}"
#define JOB(status)                                                                                \
    "{" META("j", "j1", "") ",'spec':{'parallelism':2,'completions':3,'template':{'spec':{"        \
                            "'containers':[{'name':'c'}]}}}" status "}"

static void test_a_job_counts_its_pods(void **state)
{
    (void)state;
    struct run_model model;
    run_model_init(&model, 0);
    add(&model, &KIND_JOB, JOB(""));
    const struct run_group *group = model.groups.items[0];
    assert_counts(group, "3: 3w");
    event(&model, &KIND_POD, "ADDED", "{" OWNED("j-0", "p0") ONE RUNNING "}", 1);
    event(&model, &KIND_POD, "ADDED", "{" META("x", "p9", "") ONE RUNNING "}", 1);
    assert_counts(group, "3: 2w 1r"); /* the other one is somebody else's */
    event(&model, &KIND_POD, "ADDED", "{" OWNED("j-1", "p1") ONE RUNNING "}", 2);
    assert_true(run_group_is_ready(group)); /* as many as run at once */
    assert_int_equal(group->ready_at, 2);
    event(&model, &KIND_POD, "MODIFIED", "{" OWNED("j-0", "p0") ONE ENDED("1", "") "}", 3);
    assert_counts(group, "3: 2w 1r 1f"); /* another one will take its place */
    event(&model, &KIND_POD, "DELETED", "{" OWNED("j-0", "p0") ONE "}", 4);
    assert_counts(group, "3: 2w 1r");
    event(&model, &KIND_POD, "MODIFIED",
          "{" OWNED("j-1", "p1") ONE ",'status':{'phase':'Succeeded'}}", 5);
    event(&model, &KIND_POD, "DELETED", "{" OWNED("j-1", "p1") ONE "}", 6);
    assert_counts(group, "3: 2w 1d"); /* what is done stays done */
    struct run_counts counts;
    run_group_count(group, &counts);
    assert_int_equal(counts.restarts, 4); /* the ones of the pod that went, too */
    event(&model, &KIND_JOB, "MODIFIED",
          JOB(",'status':{'conditions':[{'type':'Failed','status':'True','reason':'BackoffLimit',"
              "'message':'too often'}]}"),
          7);
    assert_int_equal(group->outcome, RUN_LOST);
    assert_string_equal(group->why, "too often");
    run_model_done(&model);
}

static void test_a_job_that_is_complete(void **state)
{
    (void)state;
    struct run_model model;
    run_model_init(&model, 0);
    add(&model, &KIND_JOB, JOB(""));
    event(&model, &KIND_JOB, "MODIFIED",
          JOB(",'status':{'conditions':[{'type':'Complete','status':'True'}]}"), 7);
    assert_int_equal(model.groups.items[0]->outcome, RUN_SUCCEEDED);
    assert_int_equal(model.groups.items[0]->ready_at, 7);
    run_model_done(&model);
}

static void test_what_a_list_does_not_have_is_gone(void **state)
{
    (void)state;
    struct run_model model;
    run_model_init(&model, 0);
    add(&model, &KIND_POD, "{" META("a", "u1", "") ONE "}");
    add(&model, &KIND_POD, "{" META("b", "u2", "") ONE "}");
    add(&model, &KIND_JOB, JOB(""));
    event(&model, &KIND_POD, "ADDED", "{" OWNED("j-0", "p0") ONE RUNNING "}", 1);
    list(&model, &KIND_POD, "{'items':[{" META("b", "u2", "") ONE RUNNING "}]}", 2);
    assert_int_equal(model.groups.items[0]->outcome, RUN_GONE);
    assert_true(model.groups.items[0]->is_deleted);
    assert_int_equal(model.groups.items[1]->outcome, RUN_GOES_ON);
    assert_counts(model.groups.items[1], "1: 1r");
    assert_counts(model.groups.items[2], "3: 3w");
    assert_int_equal(model.groups.items[2]->outcome, RUN_GOES_ON); /* of another kind */
    event(&model, &KIND_POD, "DELETED", "{" META("b", "another", "") ONE "}", 3);
    assert_int_equal(model.groups.items[1]->outcome, RUN_GOES_ON); /* one of its name */
    event(&model, &KIND_POD, "DELETED", "{" META("b", "u2", "") ONE "}", 3);
    assert_int_equal(model.groups.items[1]->outcome, RUN_GONE);
    struct run_verdict verdict;
    run_model_judge(&model, &verdict);
    assert_int_equal(verdict.failed, 2);
    assert_int_equal(verdict.ready_at, -1);
    run_model_done(&model);
}

static void test_a_server_that_tells_no_lifecycle(void **state)
{
    static const struct {
        const char *status, *want;
    } ROWS[] = {
        {"'state':{'running':{}},'ready':true", "1: 1r"},
        {"'state':{'running':{}},'ready':false", "1: 1s"},
        {"'state':{'waiting':{'reason':'PodInitializing'}}", "1: 1p"},
        {"'state':{'terminated':{'exitCode':0}}", "1: 1d"},
        {"'state':{'terminated':{'exitCode':1}}", "1: 1f"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct run_model model;
        run_model_init(&model, 0);
        add(&model, &KIND_POD, "{" META("a", "u1", "") ONE "}");
        scoped_free char *text =
            mem_printf("{" META("a", "u1", "") ONE ",'status':{'containerStatuses':[{'name':'c',%s}"
                                                   "]}}",
                       ROWS[i].status);
        event(&model, &KIND_POD, "MODIFIED", text, 1);
        assert_counts(model.groups.items[0], ROWS[i].want);
        run_model_done(&model);
    }
}

/* Whoever another container waits to end is none of those that get ready, and is told of when it
 * fails. */
static void test_what_is_for_the_start_does_not_count(void **state)
{
#define FOLDER_SPEC                                                                                \
    ",'spec':{'containers':[{'name':'c','dependsOn':[{'name':'f','condition':'completed'},"        \
    "{'name':'g','condition':'ready'}]},{'name':'f'},{'name':'g'}]}"
#define FOLDER(f, c)                                                                               \
    "{" META("a", "u1", "") FOLDER_SPEC ",'status':{'phase':'Running','containerStatuses':["       \
                                        "{'name':'f','state':{" f                                  \
                                        "}}," STATE("c", c, "") "," STATE("g", "ready", "") "]}}"
    (void)state;
    struct run_model model;
    run_model_init(&model, 0);
    add(&model, &KIND_POD, "{" META("a", "u1", "") FOLDER_SPEC "}");
    const struct run_group *group = model.groups.items[0];
    assert_counts(group, "2: 2w");
    event(&model, &KIND_POD, "MODIFIED", FOLDER("'running':{}", "blocked"), 1);
    assert_counts(group, "2: 1b 1r");
    struct run_counts counts;
    run_group_count(group, &counts);
    assert_int_equal(counts.running, 1);
    event(&model, &KIND_POD, "MODIFIED", FOLDER("'terminated':{'exitCode':1}", "blocked"), 2);
    assert_counts(group, "2: 1b 1r 1f");
    event(&model, &KIND_POD, "MODIFIED", FOLDER("'terminated':{'exitCode':0}", "ready"), 3);
    assert_counts(group, "2: 2r");
    assert_true(run_group_is_ready(group));
    run_model_done(&model);
}

static void test_what_a_queue_holds(void **state)
{
#define QUEUED(name, spec)                                                                         \
    "{" META(name, name, ",'labels':{'kueue.x-k8s.io/queue-name':'q'}") ",'spec':{" spec "}}"
    static const struct {
        const struct kind *kind;
        const char *held, *let_in;
    } ROWS[] = {
        {&KIND_JOB, QUEUED("x", "'suspend':true"), QUEUED("x", "'suspend':false")},
        {&KIND_JOBSET, QUEUED("x", "'suspend':true"), QUEUED("x", "'suspend':false")},
        {&KIND_POD, QUEUED("x", "'schedulingGates':[{'name':'kueue.x-k8s.io/admission'}]"),
         QUEUED("x", "'schedulingGates':[]")},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct run_model model;
        run_model_init(&model, 0);
        add(&model, ROWS[i].kind, ROWS[i].held);
        assert_string_equal(model.groups.items[0]->queue, "q");
        event(&model, ROWS[i].kind, "MODIFIED", ROWS[i].let_in, 1);
        assert_null(model.groups.items[0]->queue);
        event(&model, ROWS[i].kind, "MODIFIED", ROWS[i].held, 2); /* evicted */
        assert_string_equal(model.groups.items[0]->queue, "q");
        run_model_done(&model);
    }
}

/* Its pods by their label, its restarts as those of the group, its end by its conditions. */
static void test_a_set_of_jobs(void **state)
{
#define SET(status)                                                                                \
    "{" META("s", "u9", "") ",'spec':{'replicatedJobs':[{'name':'w','replicas':2,'template':{"     \
                            "'spec':{'parallelism':2,'completions':2,'template':{'spec':{"         \
                            "'containers':[{'name':'c'}]}}}}}]},'status':{" status "}}"
#define MEMBER(uid, status)                                                                        \
    "{" META(uid, uid, ",'labels':{'jobset.sigs.k8s.io/jobset-uid':'u9'}") ONE                     \
        ",'status':{"                                                                              \
        "'containerStatuses':[{'name':'c','restartCount':5," status "}]}}"
    (void)state;
    struct run_model model;
    struct run_counts counts;
    run_model_init(&model, 0);
    add(&model, &KIND_JOBSET, SET(""));
    const struct run_group *group = model.groups.items[0];
    event(&model, &KIND_POD, "ADDED", MEMBER("p1", "'lifecycle':{'state':'ready'}"), 1);
    event(&model, &KIND_POD, "ADDED", MEMBER("p2", "'lifecycle':{'state':'blocked'}"), 1);
    assert_counts(group, "4: 2w 1b 1r");
    event(&model, &KIND_JOBSET, "MODIFIED", SET("'restarts':1,'inPlaceRestarts':2,'syncedEpoch':3"),
          2);
    run_group_count(group, &counts);
    assert_int_equal(counts.restarts, 3);
    assert_int_equal(counts.epoch, 3);
    event(&model, &KIND_JOBSET, "MODIFIED",
          SET("'conditions':[{'type':'Failed','status':'True','message':'too many'}]"), 3);
    assert_int_equal(group->outcome, RUN_LOST);
    assert_string_equal(group->why, "too many");
    run_model_done(&model);
}

/* A vpod has no pods of its own; it is ready when all its vreplicas have a place. */
static void test_a_vpod_is_placed(void **state)
{
#define VPOD(status)                                                                               \
    "{" META("v", "u7", "") ",'spec':{'pool':'p','vreplicas':5},'status':{" status "}}"
    (void)state;
    struct run_model model;
    struct run_verdict verdict;
    run_model_init(&model, 0);
    add(&model, &KIND_VPOD, VPOD(""));
    const struct run_group *group = model.groups.items[0];
    assert_false(run_group_is_ready(group));
    assert_int_equal(group->spread.pending, 5);
    event(&model, &KIND_VPOD, "MODIFIED",
          VPOD("'placed':3,'pending':2,'placements':[{'podName':'p-0','vreplicas':3}],"
               "'conditions':[{'type':'Scheduled','status':'False','message':'pods are full'}]"),
          1);
    assert_int_equal(group->spread.placed, 3);
    assert_string_equal(group->spread.why, "pods are full");
    assert_false(run_group_is_ready(group));
    event(&model, &KIND_VPOD, "MODIFIED",
          VPOD("'placed':5,'pending':0,'placements':[{'podName':'p-0','vreplicas':3},"
               "{'podName':'p-1','vreplicas':2}],"
               "'conditions':[{'type':'Scheduled','status':'True','message':'all'}]"),
          7);
    assert_true(run_group_is_ready(group));
    assert_null(group->spread.why);
    assert_int_equal(group->spread.per_pod.len, 2);
    assert_int_equal(group->ready_at, 7);
    run_model_judge(&model, &verdict);
    assert_int_equal(verdict.ready, 1);
    assert_int_equal(verdict.units, 0);
    event(&model, &KIND_VPOD, "DELETED", VPOD(""), 9);
    assert_int_equal(group->outcome, RUN_GONE);
    run_model_done(&model);
}

static void await(struct run_model *model, const char *text)
{
    scoped_json *doc = doc_of(text);
    run_model_await(model, yyjson_doc_get_root(doc));
}

/* The verdict and the pods come by different watches. */
static void test_a_verdict_that_is_before_its_pods(void **state)
{
#define AT(uid, revision, owner)                                                                   \
    META(uid, uid, ",'resourceVersion':'" revision "','ownerReferences':[{'uid':'" owner "'}]")
#define DONE                                                                                       \
    ",'status':{'phase':'Succeeded','containerStatuses':[{'name':'c','containerID':'c/1','state':" \
    "{'terminated':{'exitCode':0}}}]}"
    (void)state;
    struct run_model model;
    scoped_str lives = {0};
    run_model_init(&model, 0);
    model.lives.on_life = count_life;
    model.lives.arg = &lives;
    add(&model, &KIND_JOB, JOB(""));
    event(&model, &KIND_POD, "ADDED", "{" AT("p0", "5", "j1") ONE "}", 1);
    event(&model, &KIND_JOB, "MODIFIED",
          JOB(",'status':{'conditions':[{'type':'Complete','status':'True'}]}"), 7);
    assert_string_equal(str_text(&lives), ""); /* it is over, and nobody has opened a log */
    await(&model, "{'items':[{" AT("p0", "12", "j1") ONE "},{" AT("p1", "14", "j1") ONE
          "},{" AT("p2", "9", "j1") ONE "},{" AT("p9", "20", "other") ONE "}]}");
    assert_int_equal(model.awaited.len, 3);
    event(&model, &KIND_POD, "MODIFIED", "{" AT("p0", "11", "j1") ONE "}", 8);
    assert_int_equal(model.awaited.len, 3); /* not its last word */
    event(&model, &KIND_POD, "MODIFIED", "{" AT("p0", "12", "j1") ONE DONE "}", 8);
    assert_string_equal(str_text(&lives), "[p0/c c/1]");
    event(&model, &KIND_POD, "DELETED", "{" AT("p2", "8", "j1") ONE "}", 8);
    assert_int_equal(model.awaited.len, 1);
    list(&model, &KIND_POD, "{'metadata':{'resourceVersion':'13'},'items':[]}", 9);
    assert_int_equal(model.awaited.len, 1); /* a list from before */
    list(&model, &KIND_POD,
         "{'metadata':{'resourceVersion':'14'},'items':[{" AT("p1", "14", "j1") ONE DONE "}]}", 9);
    assert_int_equal(model.awaited.len, 0);
    assert_string_equal(str_text(&lives), "[p0/c c/1][p1/c c/1]");
    await(&model, "{'items':[{" AT("p1", "14", "j1") ONE "}]}");
    assert_int_equal(model.awaited.len, 0); /* is known already */
    run_model_done(&model);
}

static bool goes_on(const struct run_model *model, char *pod, char *life)
{
    return run_model_log_goes_on(model, &(struct run_log){"default", pod, "c", life});
}

/* The end of a run waits for all logs but those that go on. */
static void test_which_logs_go_on(void **state)
{
#define POOL "{" META("s", "s1", "") ",'spec':{'replicas':1,'template':{'spec':{" ONE_IN "}}}}"
#define ONE_IN "'containers':[{'name':'c'}]"
#define LIVES(name, owner, life, state)                                                            \
    "{" META(name, name, ",'ownerReferences':[{'uid':'" owner "'}]") ONE                           \
        ",'status':{'containerStatuses':[{'name':'c','containerID':'" life "','state':{'" state    \
        "':{}},'lastState':{'terminated':{'containerID':'c/1'}}}]}}"
    (void)state;
    struct run_model model;
    run_model_init(&model, 0);
    add(&model, &KIND_JOB, JOB(""));
    add(&model, &KIND_STATEFULSET, POOL);
    event(&model, &KIND_POD, "ADDED", LIVES("j-0", "j1", "c/1", "running"), 1);
    event(&model, &KIND_POD, "ADDED", LIVES("s-0", "s1", "c/1", "running"), 1);
    assert_true(goes_on(&model, "j-0", "c/1"));
    assert_true(goes_on(&model, "s-0", "c/1"));
    assert_false(goes_on(&model, "x-0", "c/1")); /* gone, for all we know */
    event(&model, &KIND_POD, "MODIFIED", LIVES("s-0", "s1", "c/1", "waiting"), 2);
    assert_false(goes_on(&model, "s-0", "c/1"));
    event(&model, &KIND_POD, "MODIFIED", LIVES("s-0", "s1", "c/2", "running"), 3);
    assert_false(goes_on(&model, "s-0", "c/1")); /* that was the life before */
    assert_true(goes_on(&model, "s-0", "c/2"));
    event(&model, &KIND_JOB, "MODIFIED",
          JOB(",'status':{'conditions':[{'type':'Complete','status':'True'}]}"), 4);
    assert_false(goes_on(&model, "j-0", "c/1")); /* whatever was told of its pods */
    assert_true(goes_on(&model, "s-0", "c/2"));
    event(&model, &KIND_STATEFULSET, "DELETED", POOL, 5);
    assert_false(goes_on(&model, "s-0", "c/2"));
    run_model_done(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pod_from_its_birth_to_its_end),
        cmocka_unit_test(test_why_a_pod_failed),
        cmocka_unit_test(test_a_job_counts_its_pods),
        cmocka_unit_test(test_a_job_that_is_complete),
        cmocka_unit_test(test_what_a_list_does_not_have_is_gone),
        cmocka_unit_test(test_a_server_that_tells_no_lifecycle),
        cmocka_unit_test(test_what_is_for_the_start_does_not_count),
        cmocka_unit_test(test_what_a_queue_holds),
        cmocka_unit_test(test_a_set_of_jobs),
        cmocka_unit_test(test_a_vpod_is_placed),
        cmocka_unit_test(test_a_verdict_that_is_before_its_pods),
        cmocka_unit_test(test_which_logs_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

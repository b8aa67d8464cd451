// SPDX-License-Identifier: Apache-2.0
/* StatefulSets without faults; the test plays the node. What there is is told in one line: each
 * pod's ordinal with * when it is ready, . when it is not, - when it is being stopped; those of
 * another revision than the template's have a ' behind. */
#include "base/mem.h"
#include "control/statefulset_internal.h"
#include "stage.h"
#include <stdio.h>

static const struct controller *const SET[] = {&CONTROLLER_STATEFULSET, NULL};
static const struct controller *const SET_AND_GARBAGE[] = {&CONTROLLER_STATEFULSET,
                                                           &CONTROLLER_GARBAGE, NULL};
#define SECOND 1000

static void make_set(struct sim *sim, const char *spec)
{
    scoped_free char *body =
        mem_printf("{'metadata':{'name':'web'},'spec':{'serviceName':'w','selector':{"
                   "'matchLabels':{'app':'x'}},'template':{'metadata':{'labels':{'app':'x'}},"
                   "'spec':{'nodeName':'n','containers':[{'name':'c','image':'i'}]}}%s%s}}",
                   *spec ? "," : "", spec);
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_STATEFULSET, "default", "web", body));
    stage_run(sim, SECOND);
}

static struct sim *open_set(const char *spec)
{
    struct sim *sim = stage_open(1, SET, NULL);
    make_set(sim, spec);
    return sim;
}

static const struct obj *set_of(struct sim *sim)
{
    const struct obj *set = stage_get(sim, &KIND_STATEFULSET, "default", "web");
    assert_non_null(set);
    return set;
}

static const struct obj *pod_of(struct sim *sim, int ordinal)
{
    scoped_free char *name = mem_printf("web-%d", ordinal);
    return stage_get(sim, &KIND_POD, "default", name);
}

static bool is_ready(const struct obj *pod)
{
    return str_eq(json_str_at(pod->root, "status.phase"), "Running");
}

static void describe(struct sim *sim, struct str *out)
{
    const char *wanted = json_str_at(set_of(sim)->root, "status.updateRevision");
    for (int i = 0; i < 20; i++) {
        const struct obj *pod = pod_of(sim, i);
        if (pod == NULL)
            continue;
        const char *is = yyjson_get_str(yyjson_obj_get(pod->meta.labels, SET_REVISION_LABEL));
        str_addf(out, "%s%d%s%s", out->len > 0 ? " " : "", i,
                 pod->meta.deleted != 0 ? "-"
                 : is_ready(pod)        ? "*"
                                        : ".",
                 str_eq(is, wanted) ? "" : "'");
    }
}

#define expect(sim, text) expect_at(sim, text, __LINE__)
static void expect_at(struct sim *sim, const char *text, int line)
{
    scoped_str is = {0};
    describe(sim, &is);
    if (strcmp(str_text(&is), text) != 0)
        fail_msg("line %d: \"%s\" instead of \"%s\"", line, str_text(&is), text);
}

/* replicas/ready/available current/updated, and whether both revisions are the same. */
#define expect_status(sim, text) expect_status_at(sim, text, __LINE__)
static void expect_status_at(struct sim *sim, const char *text, int line)
{
    yyjson_val *status = yyjson_obj_get(set_of(sim)->root, "status");
    scoped_free char *is = mem_printf(
        "%d/%d/%d %d/%d%s", (int)json_int_at(status, "replicas", 0),
        (int)json_int_at(status, "readyReplicas", 0),
        (int)json_int_at(status, "availableReplicas", 0),
        (int)json_int_at(status, "currentReplicas", 0),
        (int)json_int_at(status, "updatedReplicas", 0),
        str_eq(json_str_at(status, "currentRevision"), json_str_at(status, "updateRevision"))
            ? ""
            : " rolling");
    if (strcmp(is, text) != 0)
        fail_msg("line %d: \"%s\" instead of \"%s\"", line, is, text);
    assert_int_equal(json_int_at(status, "observedGeneration", 0), set_of(sim)->meta.generation);
}

static void set_status(struct sim *sim, int ordinal, const char *phase, const char *ready)
{
    scoped_str now = {0};
    rfc3339_format(sim_now(sim), &now);
    scoped_free char *name = mem_printf("web-%d", ordinal);
    scoped_free char *body =
        mem_printf("{'status':{'phase':'%s','conditions':[{'type':'Ready','status':'%s',"
                   "'lastTransitionTime':'%s'}]}}",
                   phase, ready, str_text(&now));
    struct write *write = stage_write(WRITE_PATCH, &KIND_POD, "default", name, body);
    write->sub = SUB_STATUS;
    stage_do(sim, write);
    stage_run(sim, SECOND);
}

static void get_ready(struct sim *sim, int ordinal)
{
    set_status(sim, ordinal, "Running", "True");
}

static void delete_pod(struct sim *sim, int ordinal, int64_t grace)
{
    scoped_free char *name = mem_printf("web-%d", ordinal);
    struct write *write = stage_write(WRITE_DELETE, &KIND_POD, "default", name, NULL);
    write->grace_s = grace;
    stage_do(sim, write);
    stage_run(sim, SECOND);
}

static void patch(struct sim *sim, const char *body)
{
    stage_do(sim, stage_write(WRITE_PATCH, &KIND_STATEFULSET, "default", "web", body));
    stage_run(sim, SECOND);
}

static void new_image(struct sim *sim, const char *image)
{
    scoped_free char *body = mem_printf(
        "{'spec':{'template':{'spec':{'containers':[{'name':'c','image':'%s'}]}}}}", image);
    patch(sim, body);
}

/* ---- growing and shrinking ---- */

static void test_in_order(void **state)
{
    (void)state;
    struct sim *sim = open_set("'replicas':3");
    expect(sim, "0.");
    stage_run(sim, 60 * SECOND);
    expect(sim, "0.");
    get_ready(sim, 0);
    expect(sim, "0* 1.");
    get_ready(sim, 1);
    get_ready(sim, 2);
    expect(sim, "0* 1* 2*");
    expect_status(sim, "3/3/3 3/3");
    patch(sim, "{'spec':{'replicas':1}}");
    expect(sim, "0* 1* 2-");
    delete_pod(sim, 2, 0);
    expect(sim, "0* 1-");
    delete_pod(sim, 1, 0);
    expect(sim, "0*");
    expect_status(sim, "1/1/1 1/1");
    assert_int_equal(stage_events(sim, "SuccessfulCreate"), 3);
    assert_int_equal(stage_events(sim, "SuccessfulDelete"), 2);
    sim_free(sim);
}

static void test_parallel(void **state)
{
    (void)state;
    struct sim *sim = open_set("'replicas':4,'podManagementPolicy':'Parallel'");
    expect(sim, "0. 1. 2. 3.");
    expect_status(sim, "4/0/0 4/4");
    patch(sim, "{'spec':{'replicas':1}}");
    expect(sim, "0. 1- 2- 3-");
    sim_free(sim);
}

static void test_identity(void **state)
{
    (void)state;
    struct sim *sim = open_set("'ordinals':{'start':5},'replicas':1");
    expect(sim, "5.");
    const struct obj *pod = pod_of(sim, 5);
    assert_string_equal(json_str_at(pod->root, "spec.hostname"), "web-5");
    assert_string_equal(yyjson_get_str(yyjson_obj_get(pod->meta.labels, SET_NAME_LABEL)), "web-5");
    assert_string_equal(yyjson_get_str(yyjson_obj_get(pod->meta.labels, SET_INDEX_LABEL)), "5");
    scoped_free char *uid = mem_strdup(pod->meta.uid);
    get_ready(sim, 5);
    patch(sim, "{'spec':{'ordinals':{'start':6}}}");
    expect(sim, "5* 6.");
    get_ready(sim, 6);
    expect(sim, "5- 6*");
    delete_pod(sim, 5, 0);
    patch(sim, "{'spec':{'ordinals':{'start':5}}}");
    expect(sim, "5. 6*");
    assert_string_not_equal(pod_of(sim, 5)->meta.uid, uid);
    sim_free(sim);
}

/* A pod that is lost comes back under its name, and only when the old one is really gone. */
static void test_replaced(void **state)
{
    (void)state;
    struct sim *sim = open_set("'replicas':2,'podManagementPolicy':'Parallel'");
    get_ready(sim, 0);
    get_ready(sim, 1);
    scoped_free char *uid = mem_strdup(pod_of(sim, 0)->meta.uid);
    delete_pod(sim, 0, 30);
    expect(sim, "0- 1*");
    delete_pod(sim, 0, 0);
    expect(sim, "0. 1*");
    assert_string_not_equal(pod_of(sim, 0)->meta.uid, uid);
    get_ready(sim, 0);
    scoped_free char *failed = mem_strdup(pod_of(sim, 1)->meta.uid);
    set_status(sim, 1, "Failed", "False");
    expect(sim, "0* 1.");
    assert_string_not_equal(pod_of(sim, 1)->meta.uid, failed);
    sim_free(sim);
}

/* A pod that fails at once, again and again, is made again after growing pauses. */
static void test_pauses(void **state)
{
    (void)state;
    struct sim *sim = open_set("'replicas':1");
    int made = 0;
    scoped_free char *uid = mem_strdup("");
    for (time_ms end = sim_now(sim) + 600 * SECOND; sim_now(sim) < end; stage_run(sim, SECOND)) {
        const struct obj *pod = pod_of(sim, 0);
        if (pod == NULL || strcmp(pod->meta.uid, uid) == 0)
            continue;
        mem_free(uid);
        uid = mem_strdup(pod->meta.uid);
        made++;
        set_status(sim, 0, "Failed", "False");
    }
    if (made < 8 || made > 20)
        fail_msg("%d pods in ten minutes", made);
    sim_free(sim);
}

static void test_order_waits_below(void **state)
{
    (void)state;
    struct sim *sim = open_set("'replicas':2");
    get_ready(sim, 0);
    get_ready(sim, 1);
    set_status(sim, 0, "Pending", "False");
    patch(sim, "{'spec':{'replicas':3}}");
    expect(sim, "0. 1*");
    patch(sim, "{'spec':{'replicas':1}}"); /* and nothing goes while one is not well */
    expect(sim, "0. 1*");
    get_ready(sim, 0);
    expect(sim, "0* 1-");
    sim_free(sim);
}

static void test_min_ready(void **state)
{
    (void)state;
    struct sim *sim = open_set("'replicas':2,'minReadySeconds':30");
    get_ready(sim, 0);
    expect(sim, "0*");
    expect_status(sim, "1/1/0 1/1");
    stage_run(sim, 31 * SECOND);
    expect(sim, "0* 1.");
    expect_status(sim, "2/1/1 2/2");
    sim_free(sim);
}

/* ---- updates ---- */

static void test_rolling(void **state)
{
    (void)state;
    struct sim *sim = open_set("'replicas':3,'podManagementPolicy':'Parallel'");
    for (int i = 0; i < 3; i++)
        get_ready(sim, i);
    new_image(sim, "j");
    expect(sim, "0*' 1*' 2-'");
    delete_pod(sim, 2, 0);
    expect(sim, "0*' 1*' 2.");
    expect_status(sim, "3/2/2 2/1 rolling");
    get_ready(sim, 2);
    expect(sim, "0*' 1-' 2*");
    delete_pod(sim, 1, 0);
    get_ready(sim, 1);
    delete_pod(sim, 0, 0);
    get_ready(sim, 0);
    expect(sim, "0* 1* 2*");
    expect_status(sim, "3/3/3 3/3");
    assert_int_equal(cache_count(sim_store(sim)->cache, &KIND_REVISION), 2);
    sim_free(sim);
}

static void new_template(struct sim *sim, const char *more)
{
    scoped_free char *body = mem_printf(
        "{'spec':{'template':{'spec':{'containers':[{'name':'c','image':'i'%s}]}}}}", more);
    stage_do(sim, stage_write(WRITE_PATCH, &KIND_STATEFULSET, "default", "web", body));
    stage_run(sim, SECOND);
}

/* A typed client writes the same in words of its own: nothing is replaced for that. */
static void test_other_words_are_no_update(void **state)
{
    (void)state;
    struct sim *sim = open_set("'replicas':1");
    new_template(sim, ",'tty':false,'resources':{'requests':{'cpu':1,'memory':'1024Mi'}}");
    delete_pod(sim, 0, 0);
    get_ready(sim, 0);
    expect(sim, "0*");
    new_template(sim, ",'resources':{'limits':{},'requests':{'memory':'1Gi','cpu':'1000m'}}");
    expect(sim, "0*");
    new_template(sim, ",'resources':{'requests':{'memory':'1Gi','cpu':'1001m'}}");
    expect(sim, "0-'");
    sim_free(sim);
}

static void test_many_at_once(void **state)
{
    (void)state;
    struct sim *sim = open_set("'replicas':4,'podManagementPolicy':'Parallel','updateStrategy':{"
                               "'rollingUpdate':{'maxUnavailable':'50%'}}");
    for (int i = 0; i < 4; i++)
        get_ready(sim, i);
    new_image(sim, "j");
    expect(sim, "0*' 1*' 2-' 3-'");
    sim_free(sim);
}

static void test_partition(void **state)
{
    (void)state;
    struct sim *sim = open_set("'replicas':3,'podManagementPolicy':'Parallel','updateStrategy':{"
                               "'rollingUpdate':{'partition':2}}");
    for (int i = 0; i < 3; i++)
        get_ready(sim, i);
    new_image(sim, "j");
    delete_pod(sim, 2, 0);
    get_ready(sim, 2);
    expect(sim, "0*' 1*' 2*");
    expect_status(sim, "3/3/3 2/1 rolling");
    delete_pod(sim, 0, 0); /* is made as it was */
    expect(sim, "0.' 1*' 2*");
    assert_string_equal(
        json_str_at(yyjson_arr_get_first(json_at(pod_of(sim, 0)->root, "spec.containers")),
                    "image"),
        "i");
    get_ready(sim, 0);
    patch(sim, "{'spec':{'updateStrategy':{'rollingUpdate':{'partition':0}}}}");
    expect(sim, "0*' 1-' 2*");
    sim_free(sim);
}

static void test_on_delete(void **state)
{
    (void)state;
    struct sim *sim = open_set("'replicas':2,'podManagementPolicy':'Parallel','updateStrategy':{"
                               "'type':'OnDelete'}");
    get_ready(sim, 0);
    get_ready(sim, 1);
    new_image(sim, "j");
    expect(sim, "0*' 1*'");
    delete_pod(sim, 0, 0);
    expect(sim, "0. 1*'");
    sim_free(sim);
}

/* A template whose pods never get ready does not stand in the way of its repair. */
static void test_broken_template(void **state)
{
    (void)state;
    struct sim *sim = open_set("'replicas':2");
    get_ready(sim, 0);
    get_ready(sim, 1);
    new_image(sim, "broken");
    delete_pod(sim, 1, 0);
    expect(sim, "0*' 1.");
    new_image(sim, "good");
    expect(sim, "0*' 1-'");
    delete_pod(sim, 1, 0);
    get_ready(sim, 1);
    expect(sim, "0-' 1*");
    sim_free(sim);
}

static void test_back_and_history(void **state)
{
    (void)state;
    struct sim *sim = open_set("'replicas':0,'revisionHistoryLimit':2");
    scoped_free char *first = mem_strdup(json_str_at(set_of(sim)->root, "status.updateRevision"));
    static const char *const IMAGES[] = {"b", "c", "i"};
    for (size_t i = 0; i < ARRAY_LEN(IMAGES); i++)
        new_image(sim, IMAGES[i]);
    const struct obj *revision = stage_get(sim, &KIND_REVISION, "default", first);
    assert_string_equal(json_str_at(set_of(sim)->root, "status.updateRevision"), first);
    assert_int_equal(json_int_at(revision->root, "revision", 0), 4);
    assert_int_equal(cache_count(sim_store(sim)->cache, &KIND_REVISION), 3);
    new_image(sim, "d"); /* the oldest that nobody needs goes */
    assert_int_equal(cache_count(sim_store(sim)->cache, &KIND_REVISION), 3);
    sim_free(sim);
}

/* ---- names ---- */

static void test_taken_name(void **state)
{
    (void)state;
    struct sim *sim = stage_open(1, SET, NULL);
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_POD, "default", "web-0",
                              "{'metadata':{'name':'web-0'},'spec':{'containers':[{'name':'c',"
                              "'image':'i'}]}}"));
    make_set(sim, "'replicas':1");
    assert_null(set_owner_uid(pod_of(sim, 0)));
    assert_int_equal(stage_events(sim, "FailedCreate"), 1);
    delete_pod(sim, 0, 0);
    assert_string_equal(set_owner_uid(pod_of(sim, 0)), set_of(sim)->meta.uid);
    sim_free(sim);
}

static void test_adopts(void **state)
{
    (void)state;
    struct sim *sim = stage_open(1, SET_AND_GARBAGE, NULL);
    make_set(sim, "'replicas':1");
    scoped_free char *uid = mem_strdup(pod_of(sim, 0)->meta.uid);
    struct write *write = stage_write(WRITE_DELETE, &KIND_STATEFULSET, "default", "web", NULL);
    write->propagation = PROPAGATE_ORPHAN;
    stage_do(sim, write);
    stage_run(sim, 5 * SECOND);
    assert_null(set_owner_uid(pod_of(sim, 0)));
    make_set(sim, "'replicas':1");
    assert_string_equal(pod_of(sim, 0)->meta.uid, uid);
    assert_string_equal(set_owner_uid(pod_of(sim, 0)), set_of(sim)->meta.uid);
    sim_free(sim);
}

static void test_survives_restart(void **state)
{
    (void)state;
    struct sim *sim = open_set("'replicas':3");
    get_ready(sim, 0);
    sim_restart_manager(sim);
    stage_run(sim, SECOND);
    expect(sim, "0* 1.");
    get_ready(sim, 1);
    get_ready(sim, 2);
    expect_status(sim, "3/3/3 3/3");
    sim_free(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_order),
        cmocka_unit_test(test_parallel),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_pauses),
        cmocka_unit_test(test_order_waits_below),
        cmocka_unit_test(test_min_ready),
        cmocka_unit_test(test_rolling),
        cmocka_unit_test(test_other_words_are_no_update),
        cmocka_unit_test(test_many_at_once),
        cmocka_unit_test(test_partition),
        cmocka_unit_test(test_on_delete),
        cmocka_unit_test(test_broken_template),
        cmocka_unit_test(test_back_and_history),
        cmocka_unit_test(test_taken_name),
        cmocka_unit_test(test_adopts),
        cmocka_unit_test(test_survives_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

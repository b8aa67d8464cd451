// SPDX-License-Identifier: Apache-2.0
/* What the start engine is told about a pod. */
#include "base/mem.h"
#include "control/pods/runner_internal.h"
#include "stage.h"

static const char POD[] =
    "{\"metadata\":{\"name\":\"p\",\"uid\":\"u\",\"annotations\":{\"muster.dev/notify\":\"web\","
    "\"muster.dev/watchdog\":\"2s\",\"muster.dev/depends-on\":"
    "\"{\\\"web\\\":[\\\"db\\\",\\\"cache:started\\\"],\\\"db\\\":[\\\"setup:completed\\\"]}\"}},"
    "\"spec\":{\"restartPolicy\":\"Never\",\"initContainers\":[{\"name\":\"setup\"}],"
    "\"containers\":[{\"name\":\"web\",\"startTimeout\":\"3s\",\"dependsOn\":[{\"name\":\"db\"}]},"
    "{\"name\":\"db\",\"startTimeout\":\"0s\"},{\"name\":\"cache\"}]}}";

static void test_read(void **state)
{
    (void)state;
    scoped_obj *pod = obj_load(&KIND_POD, sv_of(POD), 1);
    assert_non_null(pod);
    struct arena arena = {0};
    struct start_pod_spec spec;
    podspec_read(&arena, pod, false, &spec);
    assert_int_equal(spec.n_containers, 4);
    const struct start_container_spec *web = &spec.containers[1], *db = &spec.containers[2];
    assert_int_equal(web->n_needs, 2); /* field and annotation together, db once */
    assert_int_equal(web->needs[0].on, 2);
    assert_int_equal(web->needs[0].condition, DEP_READY);
    assert_int_equal(web->needs[1].on, 3);
    assert_int_equal(web->needs[1].condition, DEP_STARTED);
    assert_int_equal(db->n_needs, 1);
    assert_int_equal(db->needs[0].on, 0);
    assert_int_equal(db->needs[0].condition, DEP_COMPLETED);
    assert_true(web->has_notify);
    assert_false(db->has_notify);
    assert_int_equal(web->start_timeout_ms, 3000);
    assert_int_equal(db->start_timeout_ms, 0);
    assert_int_equal(spec.containers[3].start_timeout_ms, START_TIMEOUT_USUAL);
    podspec_read(&arena, pod, true, &spec);
    assert_true(spec.containers[2].has_notify); /* a runtime whose containers all say so */
    bool wants = false;
    time_ms watchdog = 0;
    podspec_notify(pod, "web", &wants, &watchdog);
    assert_true(wants);
    assert_int_equal(watchdog, 2000);
    podspec_notify(pod, "db", &wants, &watchdog);
    assert_false(wants);
    assert_int_equal(watchdog, 0);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

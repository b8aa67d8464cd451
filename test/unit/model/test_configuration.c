// SPDX-License-Identifier: Apache-2.0
#include "kindtest.h"
#include "model/configuration.h"

#define HEAD "apiVersion: muster.dev/v1alpha1\nkind: Configuration\n"
#define OBJECT "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n"
#define MINUTE 60000

static void read_good(const char *text, struct configuration *ret, struct str *warnings)
{
    struct err err = {0};
    if (configuration_read("f.yaml", sv_of(text), ret, warnings, &err) < 0)
        fail_msg("%s", err.text);
}

static void test_nothing_said(void **state)
{
    (void)state;
    struct configuration c = {0};
    scoped_str warnings = {0};
    read_good(HEAD, &c, &warnings);
    assert_false(c.ready.enable);
    assert_false(c.ready.blocks);
    assert_int_equal(c.ready.timeout_ms, 5 * MINUTE);
    assert_int_equal(c.ready.limit_count, -1);
    assert_null(c.placement);
    configuration_done(&c);
}

static void test_defaults_of_the_documents(void **state)
{
    (void)state;
    struct configuration c = {0};
    scoped_str warnings = {0};
    read_good(HEAD "waitForPodsReady: {enable: true}\n", &c, &warnings);
    assert_true(c.ready.enable);
    assert_true(c.ready.blocks);
    assert_int_equal(c.ready.timeout_ms, 5 * MINUTE);
    assert_int_equal(c.ready.recovery_ms, 0);
    assert_int_equal(c.ready.scope, BLOCK_CLUSTER);
    assert_false(c.ready.orders_by_creation);
    assert_int_equal(c.ready.limit_count, -1);
    assert_int_equal(c.ready.limit_ms, 0);
    assert_int_equal(c.ready.base_ms, MINUTE);
    assert_int_equal(c.ready.max_ms, 60 * MINUTE);
    assert_int_equal(c.ready.reset_after_ms, 10 * MINUTE);
    configuration_done(&c);
}

static void test_everything_said(void **state)
{
    (void)state;
    struct configuration c = {0};
    scoped_str warnings = {0};
    read_good(HEAD
              "waitForPodsReady:\n  enable: true\n  timeout: 90s\n  recoveryTimeout: 3m\n"
              "  blockAdmission: false\n  blockScope: Flavor\n  requeuingStrategy:\n"
              "    timestamp: Creation\n    backoffLimitCount: 0\n    backoffLimitTimeout: 1h\n"
              "    backoffBaseSeconds: 10\n    backoffMaxSeconds: 10\n    resetAfter: 0s\n"
              "placement: {podCapacity: 20, refreshPeriod: 100s}\n",
              &c, &warnings);
    assert_int_equal(c.ready.timeout_ms, 90000);
    assert_int_equal(c.ready.recovery_ms, 3 * MINUTE);
    assert_false(c.ready.blocks);
    assert_int_equal(c.ready.scope, BLOCK_FLAVOR);
    assert_true(c.ready.orders_by_creation);
    assert_int_equal(c.ready.limit_count, 0);
    assert_int_equal(c.ready.limit_ms, 60 * MINUTE);
    assert_int_equal(c.ready.base_ms, 10000);
    assert_int_equal(c.ready.max_ms, 10000);
    assert_int_equal(c.ready.reset_after_ms, 0);
    assert_int_equal(json_int_at(c.placement, "podCapacity", 0), 20);
    configuration_done(&c);
    read_good(HEAD "waitForPodsReady: {requeuingStrategy: {backoffLimitTimeout: 90}}\n", &c,
              &warnings);
    assert_int_equal(c.ready.limit_ms, 90000);
    configuration_done(&c);
}

/* Only a time-out T gives recovery T there; 0s stays off. */
static void test_73_kueue_has_other_defaults(void **state)
{
    (void)state;
    struct configuration c = {0};
    scoped_str warnings = {0};
    read_good("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
              "waitForPodsReady: {timeout: 7m}\nfeatureGates: {A: true}\n",
              &c, &warnings);
    assert_true(c.ready.enable);
    assert_false(c.ready.blocks);
    assert_int_equal(c.ready.recovery_ms, 7 * MINUTE);
    assert_string_equal(str_text(&warnings), "f.yaml:4:15: featureGates: not used here, ignored\n");
    configuration_done(&c);
    str_clear(&warnings);
    read_good("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n", &c, &warnings);
    assert_true(c.ready.enable); /* also when it does not speak of it */
    assert_int_equal(c.ready.timeout_ms, 30 * MINUTE);
    configuration_done(&c);
    read_good("apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\n"
              "waitForPodsReady: {enable: true, recoveryTimeout: 0s}\n",
              &c, &warnings);
    assert_true(c.ready.blocks);
    assert_int_equal(c.ready.timeout_ms, 5 * MINUTE);
    assert_int_equal(c.ready.recovery_ms, 0);
    configuration_done(&c);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *text, *want, *hint;
    } ROWS[] = {
        {HEAD "waitForPodReady: {}\n", "f.yaml:3:18: unknown field \"waitForPodReady\"",
         "did you mean \"waitForPodsReady\"?"},
        {HEAD "waitForPodsReady:\n  enable: true\n  timeout: -5m\n",
         "f.yaml:5:12: waitForPodsReady.timeout: Invalid value: \"-5m\": must be more than 0s",
         NULL},
        {HEAD "waitForPodsReady:\n  enable: 1\n",
         "f.yaml:4:11: waitForPodsReady.enable: Invalid value: \"integer\": must be a boolean",
         NULL},
        {HEAD "waitForPodsReady:\n  requeuingStrategy:\n    backoffBaseSeconds: 61\n"
              "    backoffMaxSeconds: 60\n",
         "f.yaml:5:25: waitForPodsReady.requeuingStrategy.backoffBaseSeconds: Invalid value: 61: "
         "must not be more than backoffMaxSeconds",
         "the first pause (60 unless set) would be longer than the longest (3600): raise "
         "backoffMaxSeconds or lower backoffBaseSeconds"},
        {HEAD "waitForPodsReady:\n  requeuingStrategy: {timestamp: Now}\n",
         "f.yaml:4:34: waitForPodsReady.requeuingStrategy.timestamp: Unsupported value: \"Now\": "
         "supported values: \"Eviction\", \"Creation\"",
         NULL},
        {HEAD "waitForPodsReady: {requeuingStrategy: {backoffLimitCount: -1}}\n",
         "f.yaml:3:59: waitForPodsReady.requeuingStrategy.backoffLimitCount: Invalid value: -1: "
         "must be greater than or equal to 0",
         NULL},
        {HEAD "placement: {scheduler: {predicates: [{}]}}\n",
         "f.yaml:3:38: placement.scheduler.predicates[0].name: Required value", NULL},
        {"kind: Configuration\n", "f.yaml:1:1: apiVersion: Required value", NULL},
        {"apiVersion: muster.dev/v1\nkind: Configuration\n",
         "f.yaml:1:13: apiVersion: Unsupported value: \"muster.dev/v1\": supported values: "
         "\"muster.dev/v1alpha1\", \"config.kueue.x-k8s.io/v1beta1\", "
         "\"config.kueue.x-k8s.io/v1beta2\"",
         NULL},
        {"", "f.yaml: holds 0 documents instead of one",
         "it begins with apiVersion: muster.dev/v1alpha1 and kind: Configuration"},
        {OBJECT "---\n" OBJECT, "f.yaml: 0 of its 2 documents are a Configuration", NULL},
        {HEAD "---\n" HEAD "---\n" OBJECT, "f.yaml: 2 of its 3 documents are a Configuration",
         NULL},
        {OBJECT "---\n" HEAD "placement: 1\n",
         "f.yaml:7:12: placement: Invalid value: \"integer\": must be an object", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct configuration c = {0};
        scoped_str warnings = {0};
        struct err err = {0};
        int r = configuration_read("f.yaml", sv_of(ROWS[i].text), &c, &warnings, &err);
        if (r >= 0)
            fail_msg("accepted: %s", ROWS[i].text);
        if (!str_eq(err.text, ROWS[i].want))
            fail_msg("want %s\n got %s", ROWS[i].want, err.text);
        if (ROWS[i].hint != NULL)
            assert_string_equal(err.hint, ROWS[i].hint);
    }
}

static void test_among_objects(void **state)
{
    (void)state;
    struct configuration c = {0};
    scoped_str warnings = {0};
    struct err err = {0};
    const char *text = OBJECT "---\n" HEAD "waitForPodsReady: {enable: true, timeout: 1m}\n";
    assert_int_equal(configuration_read("f.yaml", sv_of(text), &c, &warnings, &err), 0);
    assert_true(c.ready.enable);
    assert_int_equal(c.ready.timeout_ms, MINUTE);
    configuration_done(&c);
}

static void test_block(void **state)
{
    (void)state;
    struct configuration c = {0};
    struct err err = {0};
    scoped_json_mut *good = kt_parse("{'waitForPodsReady':{'enable':true,'timeout':'1m'}}");
    scoped_json *read = yyjson_mut_doc_imut_copy(good, NULL);
    assert_int_equal(configuration_of(yyjson_doc_get_root(read), &c, &err), 0);
    assert_int_equal(c.ready.timeout_ms, MINUTE);
    configuration_done(&c);
    scoped_json_mut *bad = kt_parse("{'waitForPodsReady':{'enabled':true}}");
    scoped_json *bad_read = yyjson_mut_doc_imut_copy(bad, NULL);
    assert_true(configuration_of(yyjson_doc_get_root(bad_read), &c, &err) < 0);
    assert_string_equal(err.text, "unknown field \"waitForPodsReady.enabled\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_said),    cmocka_unit_test(test_defaults_of_the_documents),
        cmocka_unit_test(test_everything_said), cmocka_unit_test(test_73_kueue_has_other_defaults),
        cmocka_unit_test(test_refusals),        cmocka_unit_test(test_block),
        cmocka_unit_test(test_among_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

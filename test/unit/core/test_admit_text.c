// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "core/admit/admit.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_reasons_are_read_as_they_are_written(void **state)
{
    (void)state;
    for (int i = EVICTED_READY_TIMEOUT; i < EVICTED_OTHER; i++)
        assert_int_equal(admit_evicted_of(admit_evicted_text((enum admit_evicted)i)), i);
    assert_int_equal(admit_evicted_of("DeactivatedDueToSomethingNew"), EVICTED_LIMIT);
    assert_int_equal(admit_evicted_of("NodeFailures"), EVICTED_OTHER);
    assert_int_equal(admit_evicted_of(NULL), EVICTED_OTHER);
}

static void test_16_pods_ready_has_old_and_new_names(void **state)
{
    static const struct {
        const char *status, *reason;
        enum admit_ready want;
    } rows[] = {
        {NULL, NULL, READY_ABSENT},
        {"True", "Started", READY_YES},
        {"True", "Recovered", READY_YES},
        {"True", "PodsReady", READY_YES},
        {"False", "WaitForStart", READY_WAITS_START},
        {"False", "WorkloadWaitForPodsStart", READY_WAITS_START},
        {"False", "PodsReady", READY_WAITS_START}, /* case 16 */
        {"False", "WaitForRecovery", READY_WAITS_RECOVERY},
        {"False", "WorkloadWaitForPodsRecovery", READY_WAITS_RECOVERY},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(admit_ready_of(rows[i].status, rows[i].reason), rows[i].want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reasons_are_read_as_they_are_written),
        cmocka_unit_test(test_16_pods_ready_has_old_and_new_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

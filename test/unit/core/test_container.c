// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "core/start/container.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Every arrow there is; what is not listed must be illegal. */
// clang-format off
static const struct {
    enum container_state from;
    enum container_event event;
    enum container_state to;
} ARROWS[] = {
    {CT_DOWNLOADING, CE_PREPARED,       CT_BLOCKED},
    {CT_DOWNLOADING, CE_PREPARE_FAILED, CT_FAILED},
    {CT_DOWNLOADING, CE_STOPPED,        CT_EXITED},
    {CT_BLOCKED,     CE_UNBLOCKED,      CT_PENDING},
    {CT_BLOCKED,     CE_STOPPED,        CT_EXITED},
    {CT_PENDING,     CE_REBLOCKED,      CT_BLOCKED},
    {CT_PENDING,     CE_ADMITTED,       CT_STARTING},
    {CT_PENDING,     CE_STOPPED,        CT_EXITED},
    {CT_STARTING,    CE_READY,          CT_READY},
    {CT_STARTING,    CE_START_FAILED,   CT_FAILED},
    {CT_STARTING,    CE_ENDED_WELL,     CT_EXITED},
    {CT_STARTING,    CE_ENDED_BADLY,    CT_FAILED},
    {CT_READY,       CE_ENDED_WELL,     CT_EXITED},
    {CT_READY,       CE_ENDED_BADLY,    CT_FAILED},
    {CT_FAILED,      CE_AGAIN,          CT_DOWNLOADING},
    {CT_EXITED,      CE_AGAIN,          CT_DOWNLOADING},
};
// clang-format on

static void test_arrows(void **state)
{
    (void)state;
    bool is_listed[CT_STATE_COUNT][CE_COUNT] = {0};
    for (size_t i = 0; i < ARRAY_LEN(ARROWS); i++) {
        struct container_move move = container_move(ARROWS[i].from, ARROWS[i].event);
        is_listed[ARROWS[i].from][ARROWS[i].event] = true;
        if (!move.is_legal || move.next != ARROWS[i].to)
            fail_msg("%s + %s", container_state_name(ARROWS[i].from),
                     container_event_name(ARROWS[i].event));
    }
    for (int from = 0; from < CT_STATE_COUNT; from++)
        for (int event = 0; event < CE_COUNT; event++)
            assert_int_equal(
                container_move((enum container_state)from, (enum container_event)event).is_legal,
                is_listed[from][event]);
}

/* What a process needs to come to be: the throttle cannot be walked around. */
static void test_only_pending_leads_to_a_process(void **state)
{
    (void)state;
    for (int from = 0; from < CT_STATE_COUNT; from++) {
        for (int event = 0; event < CE_COUNT; event++) {
            struct container_move move =
                container_move((enum container_state)from, (enum container_event)event);
            if (move.is_legal && container_has_process(move.next) &&
                !container_has_process((enum container_state)from))
                assert_int_equal(from, CT_PENDING);
            if (move.is_legal && container_is_over((enum container_state)from))
                assert_int_equal(event, CE_AGAIN);
        }
    }
}

static void test_names(void **state)
{
    (void)state;
    static const char *const names[] = {"downloading", "blocked", "pending", "starting",
                                        "ready",       "failed",  "exited"};
    for (int i = 0; i < CT_STATE_COUNT; i++) {
        enum container_state s = (enum container_state)i;
        assert_string_equal(container_state_name(s), names[i]);
        assert_int_equal(container_has_process(s), s == CT_STARTING || s == CT_READY);
        assert_int_equal(container_is_over(s), s == CT_FAILED || s == CT_EXITED);
    }
    for (int i = 0; i < CE_COUNT; i++)
        assert_true(strlen(container_event_name((enum container_event)i)) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrows),
        cmocka_unit_test(test_only_pending_leads_to_a_process),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "base/rng.h"
#include "control/workqueue.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum op { ADD, ADD_AT, TAKE, DONE, FAILED, DUE, COUNT };

struct step {
    enum op op;
    const char *key; /* of TAKE: what comes, NULL: nothing */
    time_ms now;     /* of ADD_AT: when; of DUE: what is answered, asked at 0 */
    size_t count;
};

static void run(const char *story, const struct step *steps, size_t count)
{
    struct workqueue *queue = workqueue_new();
    for (size_t i = 0; i < count; i++) {
        const struct step *s = &steps[i];
        bool ok = true;
        switch (s->op) {
        case ADD:
            workqueue_add(queue, s->key);
            break;
        case ADD_AT:
            workqueue_add_at(queue, s->key, s->now);
            break;
        case TAKE: {
            const char *key = workqueue_take(queue, s->now);
            ok = s->key ? key && strcmp(key, s->key) == 0 && workqueue_is_busy(queue, key) : !key;
            break;
        }
        case DONE:
        case FAILED:
            ok = workqueue_is_busy(queue, s->key);
            workqueue_finish(queue, s->key, s->op == FAILED, s->now);
            ok = ok && !workqueue_is_busy(queue, s->key);
            break;
        case DUE:
            ok = workqueue_next_due(queue, 0) == s->now;
            break;
        case COUNT:
            ok = workqueue_pressing(queue) == s->count;
            break;
        }
        if (!ok)
            fail_msg("%s: step %zu", story, i);
    }
    workqueue_free(queue);
}

#define STORY(name, ...)                                                                           \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        static const struct step STEPS[] = {__VA_ARGS__};                                          \
        (void)state;                                                                               \
        run(#name, STEPS, ARRAY_LEN(STEPS));                                                       \
    }

// clang-format off
STORY(once_however_often_added,
    {TAKE, NULL, 0}, {DUE, .now = TIME_NEVER},
    {ADD, "a"}, {ADD, "b"}, {ADD, "a"}, {COUNT, .count = 2}, {DUE, .now = 0},
    {TAKE, "a", 0}, {TAKE, "b", 0}, {TAKE, NULL, 0},
    {DONE, "a", 0}, {DONE, "b", 0}, {TAKE, NULL, 1000000}, {COUNT, .count = 0})

STORY(held_back_while_busy,
    {ADD, "a"}, {TAKE, "a", 0}, {ADD, "a"}, {ADD, "a"}, {COUNT, .count = 1}, {TAKE, NULL, 100},
    {DONE, "a", 100}, {COUNT, .count = 1}, {TAKE, "a", 100}, {DONE, "a", 100}, {TAKE, NULL, 9999})

STORY(not_before_its_time,
    {ADD_AT, "a", 500}, {DUE, .now = 500}, {TAKE, NULL, 499}, {TAKE, "a", 500}, {DONE, "a", 500},
    {COUNT, .count = 0})

STORY(the_earlier_wish_stands,
    {ADD_AT, "a", 500}, {ADD_AT, "a", 700}, {DUE, .now = 500}, {ADD_AT, "a", 300},
    {DUE, .now = 300}, {ADD, "a"}, {TAKE, "a", 0}, {DONE, "a", 0}, {COUNT, .count = 0})

STORY(wishes_while_busy,
    {ADD, "a"}, {TAKE, "a", 0}, {ADD_AT, "a", 700}, {ADD_AT, "a", 500}, {ADD_AT, "a", 600},
    {DONE, "a", 10}, {DUE, .now = 500}, {TAKE, "a", 500}, {DONE, "a", 500}, {COUNT, .count = 0})

STORY(failure_pauses_and_doubles,
    {ADD, "a"}, {TAKE, "a", 0},
    {FAILED, "a", 1000}, {TAKE, NULL, 1049}, {TAKE, "a", 1050},
    {FAILED, "a", 2000}, {TAKE, NULL, 2099}, {TAKE, "a", 2100},
    {FAILED, "a", 3000}, {DUE, .now = 3200}, {TAKE, "a", 3200},
    {DONE, "a", 3200}, {ADD, "a"}, {TAKE, "a", 4000},   /* success forgets */
    {FAILED, "a", 4000}, {DUE, .now = 4050})

STORY(news_while_busy_does_not_shorten_the_pause,
    {ADD, "a"}, {TAKE, "a", 0}, {ADD, "a"}, {FAILED, "a", 0}, {TAKE, NULL, 49}, {TAKE, "a", 50},
    {DONE, "a", 50}, {COUNT, .count = 0})

STORY(first_come_first_served,
    {ADD, "c"}, {ADD, "a"}, {ADD_AT, "z", 5}, {ADD, "b"}, {ADD_AT, "y", 5},
    {TAKE, "c", 9}, {TAKE, "a", 9}, {TAKE, "b", 9}, {TAKE, "z", 9}, {TAKE, "y", 9},
    {DONE, "a", 9}, {DONE, "b", 9}, {DONE, "c", 9}, {DONE, "y", 9}, {DONE, "z", 9})
// clang-format on

static void test_pause_has_a_limit(void **state)
{
    (void)state;
    struct workqueue *queue = workqueue_new();
    time_ms now = 0, before = 0;
    workqueue_add(queue, "a");
    for (int i = 0; i < 100; i++) {
        assert_string_equal(workqueue_take(queue, now), "a");
        workqueue_finish(queue, "a", true, now);
        time_ms pause = workqueue_next_due(queue, now) - now;
        assert_true(pause >= before && pause <= WORKQUEUE_BACKOFF_MAX_MS);
        before = pause;
        now += pause;
    }
    assert_int_equal(before, WORKQUEUE_BACKOFF_MAX_MS);
    workqueue_free(queue);
}

/* Against a naive one: keys 0..7, each idle, due at some time, or busy with a wish. */
struct naive {
    bool is_busy[8];
    time_ms due[8]; /* TIME_NEVER: not wanted */
    unsigned failures[8];
};

static void check_naive(const struct workqueue *queue, const struct naive *naive, time_ms now)
{
    time_ms next = TIME_NEVER;
    size_t pressing = 0;
    for (size_t i = 0; i < 8; i++) {
        char key[2] = {(char)('0' + i), '\0'};
        assert_int_equal(workqueue_is_busy(queue, key), naive->is_busy[i]);
        pressing += naive->is_busy[i] || naive->due[i] != TIME_NEVER;
        if (naive->is_busy[i] || naive->due[i] == TIME_NEVER)
            continue;
        time_ms due = naive->due[i] > now ? naive->due[i] : now;
        next = due < next ? due : next;
    }
    assert_int_equal(workqueue_pressing(queue), pressing);
    assert_int_equal(workqueue_next_due(queue, now), next);
}

static void naive_take(struct workqueue *queue, struct naive *naive, time_ms now)
{
    const char *key = workqueue_take(queue, now);
    if (key == NULL)
        return; /* check_naive() sees whether one was due: its next would be now */
    size_t k = (size_t)(key[0] - '0');
    assert_false(naive->is_busy[k]);
    assert_true(naive->due[k] <= now);
    naive->is_busy[k] = true;
    naive->due[k] = TIME_NEVER;
}

static void naive_finish(struct workqueue *queue, struct naive *naive, size_t k, bool failed,
                         time_ms now)
{
    char key[2] = {(char)('0' + k), '\0'};
    workqueue_finish(queue, key, failed, now);
    naive->is_busy[k] = false;
    naive->failures[k] = failed ? naive->failures[k] + 1 : 0;
    if (!failed)
        return;
    time_ms pause = (time_ms)WORKQUEUE_BACKOFF_BASE_MS << (naive->failures[k] - 1);
    naive->due[k] = now + (pause < WORKQUEUE_BACKOFF_MAX_MS ? pause : WORKQUEUE_BACKOFF_MAX_MS);
}

static void test_random_against_naive(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 3);
    struct workqueue *queue = workqueue_new();
    struct naive naive = {0};
    for (size_t i = 0; i < 8; i++)
        naive.due[i] = TIME_NEVER;
    time_ms now = 0;
    for (int i = 0; i < 20000; i++) {
        size_t k = rng_below(&rng, 8);
        char key[2] = {(char)('0' + k), '\0'};
        time_ms at = now + rng_between(&rng, -50, 300);
        switch (rng_below(&rng, 4)) {
        case 0:
            workqueue_add_at(queue, key, at);
            naive.due[k] = at < naive.due[k] ? at : naive.due[k];
            break;
        case 1:
            if (naive.is_busy[k])
                naive_finish(queue, &naive, k, naive.failures[k] < 12 && rng_chance(&rng, 1, 2),
                             now);
            break;
        case 2:
            naive_take(queue, &naive, now);
            break;
        default:
            now += rng_between(&rng, 0, 40);
        }
        check_naive(queue, &naive, now);
    }
    workqueue_free(queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once_however_often_added),
        cmocka_unit_test(test_held_back_while_busy),
        cmocka_unit_test(test_not_before_its_time),
        cmocka_unit_test(test_the_earlier_wish_stands),
        cmocka_unit_test(test_wishes_while_busy),
        cmocka_unit_test(test_failure_pauses_and_doubles),
        cmocka_unit_test(test_news_while_busy_does_not_shorten_the_pause),
        cmocka_unit_test(test_first_come_first_served),
        cmocka_unit_test(test_pause_has_a_limit),
        cmocka_unit_test(test_random_against_naive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

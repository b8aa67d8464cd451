// SPDX-License-Identifier: Apache-2.0
/* The barrier of a group, told in words:
 *   "a1"   pod a, of place 0, has announced epoch 1; "a" nothing; pods are named after their place
 *   "a1*"  and is ready in it
 *   "a1+"  the same place, a younger pod; "a1-" it is being stopped, "a1x" failed, "a1." succeeded
 *   "!a"   the pod is gone
 * Names of tests have the numbers of the cases that they are. Attempts there are epochs less one.
 */
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "core/recover/epoch.h"
#include "core/recover/group.h"
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const MOVES[] = {"wait", "complete", "fail", "deprecate", "sync", "expel"};

struct stage {
    struct group *group;
    int64_t deprecated, synced;
    struct group_budget budget;
};

static struct stage open_stage(int64_t members, int64_t deprecated, int64_t synced)
{
    struct stage stage = {group_new(), deprecated, synced, {.max = 3}};
    struct group_role role = {1, members};
    group_resize(stage.group, &role, 1);
    group_set_epochs(stage.group, deprecated, synced);
    return stage;
}

static void close_stage(struct stage *stage)
{
    group_free(stage->group);
}

static void tell_one(struct stage *stage, const char *word)
{
    bool is_gone = *word == '!';
    word += is_gone;
    const char *end = word + 1 + strspn(word + 1, "0123456789");
    bool is_young = *end == '+';
    char uid[3] = {*word, is_young ? '+' : '\0', '\0'};
    if (is_gone) {
        uid[1] = word[1] == '+' ? '+' : '\0';
        (void)group_drop(stage->group, uid);
        return;
    }
    end += is_young;
    enum group_life life = *end == '-'   ? GROUP_LEAVES
                           : *end == 'x' ? GROUP_FAILED
                           : *end == '.' ? GROUP_SUCCEEDED
                                         : GROUP_LIVES;
    struct group_pod pod = {.uid = uid,
                            .place = {0, 0, *word - 'a'},
                            .created = 1000 + is_young,
                            .life = life,
                            .epoch = strtol(word + 1, NULL, 10),
                            .is_ready = *end == '*'};
    (void)group_put(stage->group, &pod);
    assert_null(group_problem(stage->group));
}

static void tell(struct stage *stage, const char *words)
{
    struct sv rest = sv_of(words);
    while (rest.len > 0) {
        struct sv word = sv_cut(&rest, ' ');
        scoped_free char *text = mem_strndup(word.ptr, word.len);
        tell_one(stage, text);
    }
}

static void follow(struct stage *stage, const struct group_plan *plan)
{
    if (plan->move == GROUP_DEPRECATE) {
        assert_true(plan->epoch > stage->deprecated); /* S5 */
        stage->deprecated = plan->epoch;
        stage->budget.used += plan->is_charged;
        stage->budget.wants_restart = false;
    } else if (plan->move == GROUP_SYNC) {
        assert_true(plan->epoch > stage->synced);
        stage->synced = plan->epoch;
    }
    group_set_epochs(stage->group, stage->deprecated, stage->synced);
    assert_null(group_problem(stage->group));
}

/* What is to be done, as text; and does it. */
#define expect(stage, text) expect_at(stage, text, __LINE__)
static void expect_at(struct stage *stage, const char *text, int line)
{
    struct group_plan plan = group_plan(stage->group, &stage->budget);
    scoped_str is = {0};
    str_add(&is, MOVES[plan.move]);
    if (plan.epoch > 0)
        str_addf(&is, " %" PRId64 "%s", plan.epoch, plan.is_charged ? " charged" : "");
    if (strcmp(str_text(&is), text) != 0)
        fail_msg("line %d: \"%s\" instead of \"%s\"", line, str_text(&is), text);
    follow(stage, &plan);
}

struct row {
    int64_t members, deprecated, synced;
    const char *pods, *plan;
};

static void run_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct stage stage = open_stage(rows[i].members, rows[i].deprecated, rows[i].synced);
        tell(&stage, rows[i].pods);
        expect_at(&stage, rows[i].plan, (int)i);
        close_stage(&stage);
    }
}

/* ---- the cases of the list ---- */

static void test_01_02_08_restart(void **state)
{
    (void)state;
    static const struct row ROWS[] = {
        {2, 0, 1, "a1 b2", "deprecate 1 charged"}, /* 1 */
        {2, 1, 2, "a2 b3", "deprecate 2 charged"}, /* 2 */
        {2, 1, 2, "a3 b2", "deprecate 2 charged"}, /* 8, one step later */
    };
    run_rows(ROWS, ARRAY_LEN(ROWS));
}

static void test_04_05_07_10_sync_and_nothing(void **state)
{
    (void)state;
    static const struct row ROWS[] = {
        {2, 0, 0, "a1 b1", "sync 1"}, /* 4 */
        {2, 1, 2, "a2 b2", "wait"},   /* 5 */
        {2, 2, 2, "a2", "wait"},      /* 7: who was ahead is gone */
        {2, 0, 0, "", "wait"},        /* 10 */
        {2, 0, 0, "a b", "wait"},     {2, 0, 0, "a1", "wait"},    {2, 0, 0, "a1 b", "wait"},
        {2, 1, 1, "a2 b2", "sync 2"}, {2, 1, 1, "a2 b1", "wait"},
    };
    run_rows(ROWS, ARRAY_LEN(ROWS));
}

static void test_11_failed_pods_announce_nothing(void **state)
{
    (void)state;
    static const struct row ROWS[] = {
        {2, 1, 1, "a2 b2x", "wait"}, {2, 1, 1, "a2 b2-", "wait"},       {2, 1, 2, "a2 b3x", "wait"},
        {2, 1, 2, "a2 b3-", "wait"}, {2, 1, 1, "a2 b1x b2+", "sync 2"},
    };
    run_rows(ROWS, ARRAY_LEN(ROWS));
}

/* Times of creation are of whole seconds: a pod that has ended is the older one. */
static void test_g_in_the_same_second(void **state)
{
    (void)state;
    struct stage stage = open_stage(1, 0, 1);
    struct group_pod pods[] = {
        {.uid = "z", .place = {0, 0, 0}, .created = 5, .life = GROUP_FAILED, .epoch = 1},
        {.uid = "a", .place = {0, 0, 0}, .created = 5, .life = GROUP_LIVES, .epoch = 2},
    };
    for (size_t i = 0; i < ARRAY_LEN(pods); i++)
        (void)group_put(stage.group, &pods[i]);
    expect(&stage, "deprecate 1 charged");
    expect(&stage, "sync 2");
    close_stage(&stage);
}

static void test_14_16_17_budget(void **state)
{
    (void)state;
    struct stage stage = open_stage(2, 1, 2);
    stage.budget = (struct group_budget){.used = 1, .max = 1};
    tell(&stage, "a2 b3");
    expect(&stage, "fail"); /* 14, 16 */
    stage.budget.used = 0;  /* 17: the other one did not count */
    expect(&stage, "deprecate 2 charged");
    expect(&stage, "wait");
    close_stage(&stage);
}

static void test_20_22_size_and_strangers(void **state)
{
    (void)state;
    struct group *group = group_new();
    struct group_role roles[] = {{2, 2}, {1, 3}};
    group_resize(group, roles, 2);
    assert_int_equal(group_counts(group).places, 7);
    struct group_pod stranger = {.uid = "s", .place = {7, 0, 0}, .epoch = 1};
    (void)group_put(group, &stranger);
    assert_int_equal(group_counts(group).arrived, 0);
    assert_int_equal(group_counts(group).outside, 1);
    group_free(group);
}

/* ---- our own ---- */

static void test_a_who_succeeded_is_not_waited_for(void **state)
{
    (void)state;
    struct stage stage = open_stage(3, 0, 0);
    tell(&stage, "a1 b1 c1");
    expect(&stage, "sync 1");
    tell(&stage, "a1.");
    tell(&stage, "b2");
    expect(&stage, "deprecate 1 charged");
    tell(&stage, "c2");
    expect(&stage, "sync 2");
    tell(&stage, "b2.");
    expect(&stage, "wait");
    tell(&stage, "c2.");
    expect(&stage, "complete");
    (void)group_set_done(stage.group, (struct group_place){0, 0, 0}, true);
    tell(&stage, "!a"); /* its pod was cleared away, its Job remembers */
    expect(&stage, "complete");
    close_stage(&stage);
}

static void test_c_failures_at_once_are_one_restart(void **state)
{
    (void)state;
    struct stage stage = open_stage(4, 0, 1);
    tell(&stage, "a2 b2 c2 d2"); /* all of them: still a restart, and charged */
    expect(&stage, "deprecate 1 charged");
    expect(&stage, "sync 2");
    assert_int_equal(stage.budget.used, 1);
    tell(&stage, "a3");
    expect(&stage, "deprecate 2 charged");
    tell(&stage, "b3 c+ c3+ !c"); /* one more fails while the group restarts */
    expect(&stage, "wait");
    tell(&stage, "d3");
    expect(&stage, "sync 3");
    assert_int_equal(stage.budget.used, 2);
    close_stage(&stage);
}

static void test_e_stale_copies_change_nothing(void **state)
{
    (void)state;
    struct stage stage = open_stage(2, 1, 2);
    tell(&stage, "a1 b1"); /* a new controller, whose copy of the pods is old */
    expect(&stage, "wait");
    tell(&stage, "a2 b2");
    expect(&stage, "wait");
    tell(&stage, "a3");
    expect(&stage, "deprecate 2 charged");
    close_stage(&stage);
}

static void test_g_older_incarnations_are_fenced(void **state)
{
    (void)state;
    struct stage stage = open_stage(2, 1, 1);
    tell(&stage, "a2 b2+ b2");
    expect(&stage, "wait"); /* the older one still runs */
    tell(&stage, "b2-");
    expect(&stage, "wait");
    tell(&stage, "b9-"); /* and says what it likes */
    expect(&stage, "wait");
    tell(&stage, "!b");
    expect(&stage, "sync 2");
    tell(&stage, "b3"); /* a late report of the dead one */
    expect(&stage, "wait");
    tell(&stage, "b3+");
    expect(&stage, "deprecate 2 charged");
    close_stage(&stage);
}

static void test_h_size_changes(void **state)
{
    (void)state;
    struct stage stage = open_stage(2, 0, 1);
    struct group_role three = {1, 3}, one = {1, 1};
    tell(&stage, "a1 b1");
    group_resize(stage.group, &three, 1);
    expect(&stage, "wait");
    stage.budget.wants_restart = true;
    expect(&stage, "deprecate 1");
    tell(&stage, "a2 b2");
    expect(&stage, "wait");
    tell(&stage, "c2");
    expect(&stage, "sync 2");
    group_resize(stage.group, &one, 1);
    tell(&stage, "c3");
    expect(&stage, "wait"); /* not of the group any more: asks for nothing */
    stage.budget.wants_restart = true;
    expect(&stage, "deprecate 2");
    tell(&stage, "a3");
    expect(&stage, "wait"); /* b and c may run still */
    tell(&stage, "b3-");
    expect(&stage, "wait");
    tell(&stage, "!b c3x");
    expect(&stage, "sync 3");
    assert_int_equal(stage.budget.used, 0);
    close_stage(&stage);
}

static void test_j_budgets(void **state)
{
    (void)state;
    struct stage stage = open_stage(1, 0, 1);
    stage.budget.max = 0;
    tell(&stage, "a2");
    expect(&stage, "fail");
    stage.budget = (struct group_budget){.used = INT32_MAX - 1, .max = INT32_MAX};
    expect(&stage, "deprecate 1 charged");
    expect(&stage, "sync 2");
    stage.budget.wants_restart = true;
    expect(&stage, "deprecate 2"); /* asked for: free even when nothing is left */
    close_stage(&stage);
}

static void test_l_impossible_epochs_hurt_their_sender(void **state)
{
    (void)state;
    struct stage stage = open_stage(3, 0, 1);
    tell(&stage, "a1 b1 c9");
    expect(&stage, "expel"); /* its death could not be told */
    assert_string_equal(group_culprit(stage.group), "c");
    tell(&stage, "b2"); /* a death comes first, and the group goes on */
    assert_string_equal(group_culprit(stage.group), "b");
    expect(&stage, "deprecate 1 charged");
    expect(&stage, "wait");
    tell(&stage, "a2");
    expect(&stage, "expel"); /* the barrier waits only for the liar */
    assert_string_equal(group_culprit(stage.group), "c");
    tell(&stage, "c9- !c c2+");
    expect(&stage, "sync 2");
    close_stage(&stage);
    stage = open_stage(2, 0, 0); /* a liar's time comes */
    tell(&stage, "a1 b2");
    expect(&stage, "expel");
    group_set_epochs(stage.group, 1, 1);
    tell(&stage, "a2");
    expect(&stage, "sync 2");
    close_stage(&stage);
}

/* His agent cannot announce the next epoch: what is stored is above it. The pod that takes the
 * place asks for the restart that the death should have. */
static void test_l_the_liar_dies(void **state)
{
    (void)state;
    struct stage stage = open_stage(2, 0, 1);
    tell(&stage, "a1* b5");
    expect(&stage, "expel");
    assert_string_equal(group_culprit(stage.group), "b");
    stage.budget.wants_restart = true; /* what somebody asks for need not wait for that */
    expect(&stage, "deprecate 1");
    tell(&stage, "a2");
    expect(&stage, "expel");
    tell(&stage, "b5- !b b2+");
    expect(&stage, "sync 2");
    tell(&stage, "b7+");
    expect(&stage, "expel");
    tell(&stage, "b7+-");
    expect(&stage, "wait"); /* it is on its way out */
    tell(&stage, "!b+ b3");
    expect(&stage, "deprecate 2 charged");
    close_stage(&stage);
}

static void test_l_malformed_notes(void **state)
{
    (void)state;
    static const struct {
        const char *epoch, *attempt;
        int64_t is;
        bool is_malformed;
    } CASES[] = {
        {NULL, NULL, 0, false},
        {"1", NULL, 1, false},
        {NULL, "0", 1, false},
        {"2147483647", NULL, INT32_MAX, false},
        {"2147483648", NULL, 0, true},
        {"-1", NULL, 0, true},
        {"", NULL, 0, true},
        {"1 ", NULL, 0, true},
        {"01", NULL, 0, true},
        {"+1", NULL, 0, true},
        {"0x1", NULL, 0, true},
        {"banana", NULL, 0, true},
        {"99999999999", NULL, 0, true},
        {"3", "1", 3, false},
        {"1", "2", 3, false},
        {"banana", "2", 3, true},
        {"2", "banana", 2, true},
        {"0", NULL, 0, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        bool is_malformed;
        assert_int_equal(epoch_of_notes(CASES[i].epoch, CASES[i].attempt, &is_malformed),
                         CASES[i].is);
        assert_int_equal(is_malformed, CASES[i].is_malformed);
    }
}

static void test_cause_is_of_its_epoch(void **state)
{
    (void)state;
    assert_string_equal(epoch_cause("2 container c ended", 2), "container c ended");
    assert_null(epoch_cause("2 container c ended", 3));
    assert_null(epoch_cause("20 container c ended", 2));
    assert_null(epoch_cause("container c ended", 2));
    assert_null(epoch_cause("", 2));
    assert_null(epoch_cause(NULL, 2));
}

/* ---- places ---- */

static void put_at(struct stage *stage, const char *uid, struct group_place at, time_ms created,
                   int64_t epoch)
{
    struct group_pod pod = {.uid = uid, .place = at, .created = created, .epoch = epoch};
    (void)group_put(stage->group, &pod);
    assert_null(group_problem(stage->group));
}

/* Two roles, the second with two Jobs. What is outside of any bound belongs to nobody: it asks for
 * nothing, and must be gone before the barrier is lifted. */
static void test_strangers_at_every_bound(void **state)
{
    (void)state;
    static const struct group_place OUTSIDE[] = {{2, 0, 0}, {0, 1, 0},  {0, 0, 1}, {1, 2, 0},
                                                 {1, 0, 2}, {0, -1, 0}, {0, 0, -1}};
    static const struct group_role ROLES[] = {{1, 1}, {2, 2}};
    for (size_t i = 0; i < ARRAY_LEN(OUTSIDE); i++) {
        struct stage stage = open_stage(1, 0, 0);
        group_resize(stage.group, ROLES, 2);
        put_at(&stage, "a", (struct group_place){0, 0, 0}, 1, 1);
        put_at(&stage, "b", (struct group_place){1, 0, 0}, 1, 1);
        put_at(&stage, "c", (struct group_place){1, 0, 1}, 1, 1);
        put_at(&stage, "d", (struct group_place){1, 1, 0}, 1, 1);
        put_at(&stage, "stranger", OUTSIDE[i], 1, 1);
        assert_int_equal(group_counts(stage.group).outside, 1);
        expect(&stage, "wait");
        put_at(&stage, "e", (struct group_place){1, 1, 1}, 1, 1);
        expect(&stage, "wait");
        (void)group_drop(stage.group, "stranger");
        assert_int_equal(group_counts(stage.group).outside, 0);
        expect(&stage, "sync 1");
        close_stage(&stage);
    }
}

/* Of two pods that live and were made in the same second, both sides have to choose the same one.
 */
static void test_twins_of_one_second(void **state)
{
    (void)state;
    static const char *const ORDERS[][2] = {{"x", "y"}, {"y", "x"}};
    for (size_t i = 0; i < ARRAY_LEN(ORDERS); i++) {
        struct stage stage = open_stage(1, 0, 1);
        for (size_t k = 0; k < 2; k++)
            put_at(&stage, ORDERS[i][k], (struct group_place){0, 0, 0}, 1000,
                   *ORDERS[i][k] == 'y' ? 2 : 1);
        assert_string_equal(group_culprit(stage.group), "y");
        expect(&stage, "deprecate 1 charged");
        close_stage(&stage);
    }
}

/* Somebody edits the labels of a pod: it counts where they say, and nowhere else. */
static void test_a_pod_is_moved(void **state)
{
    (void)state;
    static const struct group_role ROLES[] = {{2, 2}, {1, 1}};
    static const struct group_place PLACES[] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    struct stage stage = open_stage(1, 0, 0);
    group_resize(stage.group, ROLES, 2);
    for (size_t i = 0; i < ARRAY_LEN(PLACES); i++) {
        for (size_t from = 0; from < ARRAY_LEN(PLACES); from++) {
            put_at(&stage, "a", PLACES[from], 1, 1);
            put_at(&stage, "a", PLACES[i], 1, 1);
            assert_int_equal(group_counts(stage.group).arrived, 1);
        }
    }
    close_stage(&stage);
}

static void test_nobody_is_expected(void **state)
{
    (void)state;
    struct stage stage = open_stage(0, 0, 0);
    expect(&stage, "wait"); /* none have all succeeded; but there is nothing to complete either */
    assert_null(group_culprit(stage.group));
    tell(&stage, "a1");
    expect(&stage, "wait");
    static const struct group_role NONE_IN_TWO = {2, 0};
    group_resize(stage.group, &NONE_IN_TWO, 1);
    expect(&stage, "wait");
    close_stage(&stage);
}

/* Whatever is told in whatever order: counts are what a recount says, and what is decided is what
 * the plain reading of the protocol decides. */
struct plain {
    int64_t epoch[8];
    enum group_life life[8];
    bool is_there[8];
};

static struct group_plan plain_plan(const struct plain *pods, int64_t members, int64_t deprecated,
                                    int64_t synced, const struct group_budget *budget)
{
    int64_t next = (deprecated > synced ? deprecated : synced) + 1;
    int64_t done = 0, top = 0, at_top = 0, beyond = 0;
    for (int64_t i = 0; i < members; i++) {
        bool lives = pods->is_there[i] && pods->life[i] == GROUP_LIVES;
        int64_t epoch = lives && pods->epoch[i] <= next ? pods->epoch[i] : 0;
        beyond += lives && pods->epoch[i] > next;
        done += pods->is_there[i] && pods->life[i] == GROUP_SUCCEEDED;
        at_top = epoch > top ? 1 : at_top + (epoch == top);
        top = epoch > top ? epoch : top;
    }
    if (done == members)
        return (struct group_plan){.move = GROUP_COMPLETE};
    if (top > deprecated + 1)
        return budget->used < budget->max ? (struct group_plan){GROUP_DEPRECATE, top - 1, true}
                                          : (struct group_plan){.move = GROUP_FAIL};
    if (at_top == members - done && top > synced)
        return (struct group_plan){GROUP_SYNC, top, false};
    bool is_last = beyond + (top == next ? at_top : 0) == members - done;
    if (beyond > 0 && (synced > deprecated || is_last))
        return (struct group_plan){.move = GROUP_EXPEL};
    return (struct group_plan){.move = GROUP_WAIT};
}

static void step_at_random(struct rng *rng, struct stage *stage, struct plain *pods, size_t count)
{
    size_t i = rng_below(rng, count);
    char uid[8];
    (void)snprintf(uid, sizeof(uid), "p%zu", i);
    if (rng_chance(rng, 1, 10)) {
        (void)group_drop(stage->group, uid);
        pods->is_there[i] = false;
        return;
    }
    pods->is_there[i] = true;
    pods->life[i] = rng_chance(rng, 8, 10) ? GROUP_LIVES : (enum group_life)rng_below(rng, 4);
    pods->epoch[i] = rng_chance(rng, 9, 10) ? stage->synced + (int64_t)rng_below(rng, 2)
                                            : (int64_t)rng_below(rng, 12);
    struct group_pod pod = {.uid = uid,
                            .place = {0, 0, (int64_t)i},
                            .created = 1,
                            .life = pods->life[i],
                            .epoch = pods->epoch[i]};
    (void)group_put(stage->group, &pod);
}

static void test_any_order_is_the_protocol(void **state)
{
    (void)state;
    size_t moves[6] = {0};
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct rng rng;
        rng_seed(&rng, seed);
        int64_t members = rng_between(&rng, 1, 4);
        size_t count = (size_t)members + rng_below(&rng, 3); /* the others are outside */
        struct stage stage = open_stage(8, 0, 0);
        struct plain pods = {0};
        struct group_role role = {1, members};
        for (int step = 0; step < 200; step++) {
            step_at_random(&rng, &stage, &pods, count);
            assert_null(group_problem(stage.group));
            group_resize(stage.group, &role, 1);
            assert_null(group_problem(stage.group));
            struct group_plan plan = group_plan(stage.group, &stage.budget);
            struct group_plan should =
                plain_plan(&pods, members, stage.deprecated, stage.synced, &stage.budget);
            if (plan.move == GROUP_WAIT && should.move == GROUP_SYNC)
                assert_true(group_counts(stage.group).outside > 0);
            else if (plan.move != should.move || plan.epoch != should.epoch)
                fail_msg("seed %" PRIu64 " step %d: %s instead of %s", seed, step, MOVES[plan.move],
                         MOVES[should.move]);
            moves[plan.move]++;
            follow(&stage, &plan);
        }
        close_stage(&stage);
    }
    for (size_t i = 0; i < ARRAY_LEN(moves); i++)
        assert_true(moves[i] > 0);
}

/* The same for any number of members: what one report costs does not depend on it. Counted as
 * places that a decision would have to look at, which is none. */
static void test_52_ready_is_of_the_epoch_that_runs(void **state)
{
    (void)state;
    struct stage stage = open_stage(3, 0, 0);
    tell(&stage, "a1 b1 c1");
    expect(&stage, "sync 1");
    assert_false(group_is_ready(stage.group));
    tell(&stage, "a1* b1* c1.");
    assert_true(group_is_ready(stage.group)); /* who has succeeded is not waited for */
    tell(&stage, "b2");
    assert_false(group_is_ready(stage.group)); /* the restart begins here, not when it is written */
    expect(&stage, "deprecate 1 charged");
    tell(&stage, "a2*"); /* an agent of its own: its pod says nothing of it */
    assert_false(group_is_ready(stage.group));
    expect(&stage, "sync 2");
    assert_false(group_is_ready(stage.group));
    tell(&stage, "b2*");
    assert_true(group_is_ready(stage.group));
    tell(&stage, "a2");
    assert_false(group_is_ready(stage.group));
    close_stage(&stage);
}

static void test_n_five_thousand(void **state)
{
    (void)state;
    enum { MEMBERS = 5000 };
    struct stage stage = open_stage(MEMBERS, 0, 0);
    size_t decisions = 0;
    for (int64_t epoch = 1; epoch <= 3; epoch++) {
        for (int64_t i = 0; i < MEMBERS; i++) {
            char uid[16];
            (void)snprintf(uid, sizeof(uid), "p%d", (int)i);
            struct group_pod pod = {.uid = uid, .place = {0, 0, i}, .created = 1, .epoch = epoch};
            (void)group_put(stage.group, &pod);
            struct group_plan plan = group_plan(stage.group, &stage.budget);
            decisions += plan.move != GROUP_WAIT;
            if (plan.move != GROUP_WAIT)
                follow(&stage, &plan);
        }
        assert_int_equal(stage.synced, epoch);
        assert_int_equal(stage.deprecated, epoch - 1);
    }
    assert_int_equal(decisions, 3 + 2);
    assert_int_equal(stage.budget.used, 2);
    close_stage(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_01_02_08_restart),
        cmocka_unit_test(test_04_05_07_10_sync_and_nothing),
        cmocka_unit_test(test_11_failed_pods_announce_nothing),
        cmocka_unit_test(test_g_in_the_same_second),
        cmocka_unit_test(test_14_16_17_budget),
        cmocka_unit_test(test_20_22_size_and_strangers),
        cmocka_unit_test(test_a_who_succeeded_is_not_waited_for),
        cmocka_unit_test(test_c_failures_at_once_are_one_restart),
        cmocka_unit_test(test_e_stale_copies_change_nothing),
        cmocka_unit_test(test_g_older_incarnations_are_fenced),
        cmocka_unit_test(test_h_size_changes),
        cmocka_unit_test(test_j_budgets),
        cmocka_unit_test(test_l_impossible_epochs_hurt_their_sender),
        cmocka_unit_test(test_l_the_liar_dies),
        cmocka_unit_test(test_l_malformed_notes),
        cmocka_unit_test(test_cause_is_of_its_epoch),
        cmocka_unit_test(test_strangers_at_every_bound),
        cmocka_unit_test(test_twins_of_one_second),
        cmocka_unit_test(test_a_pod_is_moved),
        cmocka_unit_test(test_nobody_is_expected),
        cmocka_unit_test(test_any_order_is_the_protocol),
        cmocka_unit_test(test_52_ready_is_of_the_epoch_that_runs),
        cmocka_unit_test(test_n_five_thousand),
    };
    return cmocka_run_group_tests_name("group", tests, NULL, NULL);
}

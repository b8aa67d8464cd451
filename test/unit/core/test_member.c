// SPDX-License-Identifier: Apache-2.0
/* The agent's rows of model/README.md, one story each; then thousands of random walks of whole
 * groups, in which every promise of the model is looked at after every move. */
#include "base/mem.h"
#include "base/rng.h"
#include "core/recover/member.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* ---- stories ---- */

enum happens { JOIN, RESUME, WRITTEN, SEE, VERDICT, DIES, SUCCEEDS, FORLORN };
struct row {
    enum happens what;
    int64_t a, b; /* JOIN, RESUME: the pod's epoch; WRITTEN: epoch; SEE: deprecated, synced */
    enum member_act act;
    enum member_state state;
    int64_t epoch;
};

static enum member_act tell(struct member *member, const struct row *row,
                            const struct member_status *first)
{
    struct member_status seen = {.deprecated = row->a, .synced = row->b};
    struct member_status verdict = {.has_verdict = true};
    switch (row->what) {
    case JOIN:
        return member_join(member, row->a, first);
    case RESUME:
        return member_resume(member, row->a, first);
    case WRITTEN:
        return member_written(member, row->a);
    case SEE:
        return member_see(member, &seen);
    case VERDICT:
        return member_see(member, &verdict);
    case DIES:
        return member_ended(member, false);
    case SUCCEEDS:
        return member_ended(member, true);
    case FORLORN:
        return member_forlorn(member, row->a);
    }
    return MEMBER_NOTHING;
}

static void play(const char *title, struct member_status first, const struct row *rows, size_t n)
{
    struct member member = {0};
    for (size_t i = 0; i < n; i++) {
        enum member_act act = tell(&member, &rows[i], &first);
        if (act != rows[i].act || member.state != rows[i].state || member.epoch != rows[i].epoch)
            fail_msg("%s, row %zu: %s %s %lld, not %s %s %lld", title, i, member_act_name(act),
                     member_state_name(member.state), (long long)member.epoch,
                     member_act_name(rows[i].act), member_state_name(rows[i].state),
                     (long long)rows[i].epoch);
    }
}
#define PLAY(title, deprecated, synced, ...)                                                       \
    do {                                                                                           \
        static const struct row rows_[] = {__VA_ARGS__};                                           \
        play(title, (struct member_status){deprecated, synced, false}, rows_, ARRAY_LEN(rows_));   \
    } while (0)

/* What upstream pins of its agent, by the numbers of our notes on it. An epoch is upstream's
 * attempt and one, 0 what is not there yet; its barrier is up in MEMBER_WAIT and down in
 * MEMBER_RUN. */
static void test_23_25_26_28_29_upstreams_agent(void **state)
{
    (void)state;
    PLAY("23: the first start", 0, 0, {JOIN, 0, 0, MEMBER_WRITE, MEMBER_ANNOUNCE, 1},
         {WRITTEN, 1, 0, MEMBER_NOTHING, MEMBER_WAIT, 1},
         {SEE, 0, 0, MEMBER_NOTHING, MEMBER_WAIT, 1});
    PLAY("25: the source of a second failure", 1, 2,
         {JOIN, 0, 0, MEMBER_WRITE, MEMBER_ANNOUNCE, 3});
    PLAY("25: and it has announced before", 1, 2, {JOIN, 2, 0, MEMBER_WRITE, MEMBER_ANNOUNCE, 3});
    PLAY("26: it restarts with the group", 1, 1, {JOIN, 1, 0, MEMBER_WRITE, MEMBER_ANNOUNCE, 2},
         {SEE, 1, 1, MEMBER_NOTHING, MEMBER_ANNOUNCE, 2},
         {WRITTEN, 2, 0, MEMBER_NOTHING, MEMBER_WAIT, 2},
         {SEE, 1, 1, MEMBER_NOTHING, MEMBER_WAIT, 2});
    PLAY("28, 29: the first barrier", 0, 0, {JOIN, 0, 0, MEMBER_WRITE, MEMBER_ANNOUNCE, 1},
         {WRITTEN, 1, 0, MEMBER_NOTHING, MEMBER_WAIT, 1}, {SEE, 0, 1, MEMBER_START, MEMBER_RUN, 1},
         {SEE, 0, 1, MEMBER_NOTHING, MEMBER_RUN, 1});
    PLAY("28, 29: a later one", 1, 1, {JOIN, 2, 0, MEMBER_NOTHING, MEMBER_WAIT, 2},
         {SEE, 1, 2, MEMBER_START, MEMBER_RUN, 2}, {SEE, 1, 2, MEMBER_NOTHING, MEMBER_RUN, 2});
}

/* Its view of the group may be old or not there at all: its own epoch only grows, so its death is
 * never taken for the one before. */
static void test_b_a_death_is_not_lost(void **state)
{
    (void)state;
    PLAY("seen through an old view", 1, 2, {JOIN, 0, 0, MEMBER_WRITE, MEMBER_ANNOUNCE, 3},
         {WRITTEN, 3, 0, MEMBER_NOTHING, MEMBER_WAIT, 3}, {SEE, 2, 3, MEMBER_START, MEMBER_RUN, 3},
         {SEE, 0, 1, MEMBER_NOTHING, MEMBER_RUN, 3}, {DIES, 0, 0, MEMBER_WRITE, MEMBER_ANNOUNCE, 4},
         {SEE, 0, 0, MEMBER_NOTHING, MEMBER_ANNOUNCE, 4},
         {SEE, 2, 3, MEMBER_NOTHING, MEMBER_ANNOUNCE, 4},
         {WRITTEN, 4, 0, MEMBER_NOTHING, MEMBER_WAIT, 4},
         {SEE, 2, 3, MEMBER_NOTHING, MEMBER_WAIT, 4}, {SEE, 3, 4, MEMBER_START, MEMBER_RUN, 4});
    PLAY("back, and its epoch was lifted", 1, 2, {JOIN, 2, 0, MEMBER_WRITE, MEMBER_ANNOUNCE, 3},
         {SEE, 1, 2, MEMBER_NOTHING, MEMBER_ANNOUNCE, 3});
    PLAY("back in another pod", 1, 2, {JOIN, 0, 0, MEMBER_WRITE, MEMBER_ANNOUNCE, 3});
    PLAY("back, and it had told of it", 1, 2, {JOIN, 3, 0, MEMBER_NOTHING, MEMBER_WAIT, 3},
         {SEE, 1, 2, MEMBER_NOTHING, MEMBER_WAIT, 3}, {SEE, 2, 3, MEMBER_START, MEMBER_RUN, 3});
}

/* Agents of one place, one after the other before the lift; the `told`-th gets its epoch stored. */
static void come_before_the_lift(int times, int told)
{
    struct member member = {0};
    struct member_status before = {1, 1, false}, lifted = {1, 2, false};
    int64_t announced = 1;
    for (int i = 0; i <= times; i++) {
        member = (struct member){0};
        enum member_act act = member_join(&member, announced, &before);
        assert_int_equal(act, announced == 2 ? MEMBER_NOTHING : MEMBER_WRITE);
        assert_int_equal(member.epoch, 2);
        if (i == told)
            announced = 2;
    }
    if (member.state == MEMBER_ANNOUNCE)
        assert_int_equal(member_written(&member, announced), MEMBER_NOTHING);
    assert_int_equal(member_see(&member, &lifted), MEMBER_START);
    assert_int_equal(member_see(&member, &lifted), MEMBER_NOTHING);
}

/* However often it comes before the lift, the epoch stays, and the worker starts once. */
static void test_d_agents_come_again_before_the_lift(void **state)
{
    (void)state;
    for (int times = 0; times <= 6; times++) {
        for (int told = 0; told <= times; told++)
            come_before_the_lift(times, told);
    }
}

static void test_first_start(void **state)
{
    (void)state;
    PLAY("m_join, m_written, m_lift", 0, 0, {JOIN, 0, 0, MEMBER_WRITE, MEMBER_ANNOUNCE, 1},
         {WRITTEN, 1, 0, MEMBER_NOTHING, MEMBER_WAIT, 1},
         {SEE, 0, 0, MEMBER_NOTHING, MEMBER_WAIT, 1}, {SEE, 0, 1, MEMBER_START, MEMBER_RUN, 1},
         {SEE, 0, 1, MEMBER_NOTHING, MEMBER_RUN, 1});
}

/* The agent of several ends them all when one has died; the rest is as after a death of its own. */
static void test_another_one_has_died(void **state)
{
    (void)state;
    PLAY("of its epoch", 0, 0, {JOIN, 0, 0, MEMBER_WRITE, MEMBER_ANNOUNCE, 1},
         {FORLORN, 1, 0, MEMBER_NOTHING, MEMBER_ANNOUNCE, 1},
         {WRITTEN, 1, 0, MEMBER_NOTHING, MEMBER_WAIT, 1},
         {FORLORN, 1, 0, MEMBER_NOTHING, MEMBER_WAIT, 1}, {SEE, 0, 1, MEMBER_START, MEMBER_RUN, 1},
         {FORLORN, 2, 0, MEMBER_NOTHING, MEMBER_RUN, 1},
         {FORLORN, 1, 0, MEMBER_END, MEMBER_ENDING, 1},
         {FORLORN, 1, 0, MEMBER_NOTHING, MEMBER_ENDING, 1},
         {DIES, 0, 0, MEMBER_WRITE, MEMBER_ANNOUNCE, 2});
    PLAY("who had ended well by then is done", 0, 0, {JOIN, 0, 0, MEMBER_WRITE, MEMBER_ANNOUNCE, 1},
         {WRITTEN, 1, 0, MEMBER_NOTHING, MEMBER_WAIT, 1}, {SEE, 0, 1, MEMBER_START, MEMBER_RUN, 1},
         {SUCCEEDS, 0, 0, MEMBER_NOTHING, MEMBER_DONE, 1},
         {FORLORN, 1, 0, MEMBER_NOTHING, MEMBER_DONE, 1});
}

static void test_the_answer_is_slower_than_the_others(void **state)
{
    (void)state;
    PLAY("synced before the answer", 0, 0, {JOIN, 0, 0, MEMBER_WRITE, MEMBER_ANNOUNCE, 1},
         {SEE, 0, 1, MEMBER_NOTHING, MEMBER_ANNOUNCE, 1},
         {WRITTEN, 1, 0, MEMBER_START, MEMBER_RUN, 1});
}

static void test_join_later(void **state)
{
    (void)state;
    PLAY("announced before the crash", 0, 1, {JOIN, 2, 0, MEMBER_NOTHING, MEMBER_WAIT, 2},
         {SEE, 1, 1, MEMBER_NOTHING, MEMBER_WAIT, 2}, {SEE, 1, 2, MEMBER_START, MEMBER_RUN, 2});
    PLAY("nobody's epoch", 1, 2, {JOIN, 900, 0, MEMBER_WRITE, MEMBER_ANNOUNCE, 3});
}

static void test_death_is_announced_at_once(void **state)
{
    (void)state;
    PLAY("m_death", 0, 0, {JOIN, 0, 0, MEMBER_WRITE, MEMBER_ANNOUNCE, 1},
         {WRITTEN, 1, 0, MEMBER_NOTHING, MEMBER_WAIT, 1}, {SEE, 0, 1, MEMBER_START, MEMBER_RUN, 1},
         {DIES, 0, 0, MEMBER_WRITE, MEMBER_ANNOUNCE, 2},
         {WRITTEN, 1, 0, MEMBER_NOTHING, MEMBER_ANNOUNCE, 2},
         {SEE, 1, 1, MEMBER_NOTHING, MEMBER_ANNOUNCE, 2},
         {WRITTEN, 2, 0, MEMBER_NOTHING, MEMBER_WAIT, 2}, {SEE, 1, 2, MEMBER_START, MEMBER_RUN, 2});
}

static void test_the_others_end_first(void **state)
{
    (void)state;
    PLAY("m_restart", 0, 1, {JOIN, 2, 0, MEMBER_NOTHING, MEMBER_WAIT, 2},
         {SEE, 1, 2, MEMBER_START, MEMBER_RUN, 2}, {SEE, 2, 2, MEMBER_END, MEMBER_ENDING, 2},
         {SEE, 2, 2, MEMBER_NOTHING, MEMBER_ENDING, 2},
         {SEE, 1, 2, MEMBER_NOTHING, MEMBER_ENDING, 2}, /* an old one */
         {DIES, 0, 0, MEMBER_WRITE, MEMBER_ANNOUNCE, 3},
         {WRITTEN, 3, 0, MEMBER_NOTHING, MEMBER_WAIT, 3}, {SEE, 2, 3, MEMBER_START, MEMBER_RUN, 3});
    PLAY("exit 0 of one that was told to end", 0, 1, {JOIN, 2, 0, MEMBER_NOTHING, MEMBER_WAIT, 2},
         {SEE, 1, 2, MEMBER_START, MEMBER_RUN, 2}, {SEE, 2, 2, MEMBER_END, MEMBER_ENDING, 2},
         {SUCCEEDS, 0, 0, MEMBER_WRITE, MEMBER_ANNOUNCE, 3});
    PLAY("behind the barrier", 0, 1, {JOIN, 2, 0, MEMBER_NOTHING, MEMBER_WAIT, 2},
         {SEE, 2, 2, MEMBER_WRITE, MEMBER_ANNOUNCE, 3});
    PLAY("before it", 0, 0, {JOIN, 0, 0, MEMBER_WRITE, MEMBER_ANNOUNCE, 1},
         {SEE, 1, 1, MEMBER_WRITE, MEMBER_ANNOUNCE, 2});
    PLAY("a gap in the watch", 0, 0, {JOIN, 0, 0, MEMBER_WRITE, MEMBER_ANNOUNCE, 1},
         {WRITTEN, 1, 0, MEMBER_NOTHING, MEMBER_WAIT, 1}, {SEE, 0, 1, MEMBER_START, MEMBER_RUN, 1},
         {SEE, 4, 5, MEMBER_END, MEMBER_ENDING, 1}, {DIES, 0, 0, MEMBER_WRITE, MEMBER_ANNOUNCE, 5});
}

static void test_success_leaves(void **state)
{
    (void)state;
    PLAY("m_success", 0, 1, {JOIN, 2, 0, MEMBER_NOTHING, MEMBER_WAIT, 2},
         {SEE, 1, 2, MEMBER_START, MEMBER_RUN, 2}, {SUCCEEDS, 0, 0, MEMBER_NOTHING, MEMBER_DONE, 2},
         {SEE, 2, 2, MEMBER_NOTHING, MEMBER_DONE, 2},
         {VERDICT, 0, 0, MEMBER_NOTHING, MEMBER_DONE, 2});
}

static void test_verdict_ends(void **state)
{
    (void)state;
    PLAY("m_over, running", 0, 1, {JOIN, 2, 0, MEMBER_NOTHING, MEMBER_WAIT, 2},
         {SEE, 1, 2, MEMBER_START, MEMBER_RUN, 2}, {VERDICT, 0, 0, MEMBER_END, MEMBER_OVER, 2},
         {DIES, 0, 0, MEMBER_NOTHING, MEMBER_OVER, 2}, {SEE, 5, 6, MEMBER_NOTHING, MEMBER_OVER, 2});
    PLAY("m_over, waiting", 0, 1, {JOIN, 2, 0, MEMBER_NOTHING, MEMBER_WAIT, 2},
         {VERDICT, 0, 0, MEMBER_NOTHING, MEMBER_OVER, 2});
    struct member late = {0};
    struct member_status over = {3, 4, true};
    assert_int_equal(member_join(&late, 0, &over), MEMBER_NOTHING);
    assert_int_equal(late.state, MEMBER_OVER);
}

static void test_an_agent_that_comes_back(void **state)
{
    (void)state;
    PLAY("nothing was missed", 1, 2, {RESUME, 2, 0, MEMBER_NOTHING, MEMBER_RUN, 2},
         {DIES, 0, 0, MEMBER_WRITE, MEMBER_ANNOUNCE, 3});
    PLAY("a restart was missed", 2, 2, {RESUME, 2, 0, MEMBER_END, MEMBER_ENDING, 2},
         {DIES, 0, 0, MEMBER_WRITE, MEMBER_ANNOUNCE, 3});
    struct member late = {0};
    struct member_status over = {3, 4, true};
    assert_int_equal(member_resume(&late, 4, &over), MEMBER_END);
    assert_int_equal(late.state, MEMBER_OVER);
}

static void test_epochs_as_text(void **state)
{
    (void)state;
    assert_int_equal(member_epoch("1"), 1);
    assert_int_equal(member_epoch("2147483647"), 2147483647);
    static const char *const BAD[] = {"",
                                      "0",
                                      "-1",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "01",
                                      "1.0",
                                      "x",
                                      "2147483648",
                                      "99999999999999999999999999"};
    assert_int_equal(member_epoch(NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
        assert_int_equal(member_epoch(BAD[i]), 0);
}

/* A status may come before the agent knows its own pod: it is kept, and holds when it joins. */
static void test_a_status_comes_first(void **state)
{
    (void)state;
    struct member member = {0};
    struct member_status early = {.deprecated = 3, .synced = 3}, none = {0};
    assert_int_equal(member_see(&member, &early), MEMBER_NOTHING);
    assert_int_equal(member.state, MEMBER_DOWN);
    assert_int_equal(member_join(&member, 0, &none), MEMBER_WRITE);
    assert_int_equal(member.epoch, 4);
}

/* ---- walks of a whole group ---- */

#define PLACES 4
#define MAX_RESTARTS 4

struct place {
    int64_t announced; /* the pod's */
    int64_t ever;      /* and of the pods before it, the greatest */
    bool has_succeeded;
    struct member member; /* the agent, and what it was last told to do */
    bool is_writing;      /* MEMBER_WRITE, not in the store yet */
    int64_t worker;       /* the epoch of the process; 0: none */
    bool is_ending;
    int64_t started; /* the greatest epoch that had a worker here */
};
struct group {
    struct rng rng;
    struct place places[PLACES];
    struct member_status status;
    int charged;
    struct member_status history[64]; /* what a slow watch may bring */
    size_t n_history, seen_at[PLACES];
    int64_t broken; /* the greatest epoch that lost a worker */
};

static void start_worker(struct group *g, struct place *p)
{
    int64_t epoch = p->member.epoch;
    for (size_t i = 0; i < PLACES; i++) {
        struct place *other = &g->places[i];
        assert_true(other->has_succeeded || other->ever >= epoch); /* S1 */
        assert_true(other->worker == 0 || other->worker == epoch); /* S2 */
    }
    assert_true(p->started < epoch); /* S3 */
    p->started = p->worker = epoch;
    p->is_ending = false;
}

static void obey(struct group *g, struct place *p, enum member_act act)
{
    p->is_writing = act == MEMBER_WRITE || (p->is_writing && p->member.state == MEMBER_ANNOUNCE);
    if (act == MEMBER_START)
        start_worker(g, p);
    p->is_ending = p->is_ending || act == MEMBER_END;
    if (p->member.state == MEMBER_DONE)
        p->has_succeeded = true;
}

static void end_worker(struct group *g, struct place *p, bool is_success)
{
    if (!is_success && p->worker > g->broken)
        g->broken = p->worker;
    p->worker = 0;
    p->is_ending = false;
    obey(g, p, member_ended(&p->member, is_success));
}

static void crash(struct place *p)
{
    p->member = (struct member){0};
    p->is_writing = false;
}

/* An agent comes: where it finds a worker it goes on with it, or (as one that cannot know) ends it
 * and joins. */
static void come(struct group *g, struct place *p)
{
    if (p->worker > 0 && rng_chance(&g->rng, 1, 2)) {
        obey(g, p, member_resume(&p->member, p->announced, &g->status));
        return;
    }
    if (p->worker > g->broken)
        g->broken = p->worker;
    p->worker = 0;
    obey(g, p, member_join(&p->member, p->announced, &g->status));
}

static void write_epoch(struct group *g, struct place *p)
{
    int64_t epoch = p->member.epoch;
    assert_true(epoch > p->announced);          /* S5 */
    assert_true(epoch <= g->status.synced + 1); /* what the controller relies on */
    assert_int_equal(p->worker, 0);             /* the worker is gone before */
    p->announced = epoch;
    p->ever = epoch > p->ever ? epoch : p->ever;
    p->is_writing = false;
}

static void control(struct group *g)
{
    int64_t top = 0;
    bool all_done = true, equal = true;
    for (size_t i = 0; i < PLACES; i++) {
        if (g->places[i].has_succeeded)
            continue;
        all_done = false;
        top = g->places[i].announced > top ? g->places[i].announced : top;
    }
    for (size_t i = 0; i < PLACES; i++)
        equal = equal && (g->places[i].has_succeeded || g->places[i].announced == top);
    struct member_status *s = &g->status;
    if (all_done || (top > s->deprecated + 1 && g->charged == MAX_RESTARTS))
        s->has_verdict = true;
    else if (top > s->deprecated + 1)
        s->deprecated = top - 1, g->charged++;
    else if (equal && top > s->synced)
        s->synced = top;
    else
        return;
    assert_true(g->n_history < ARRAY_LEN(g->history));
    g->history[g->n_history++] = *s;
}

static void watch(struct group *g, size_t i, bool to_the_end)
{
    struct place *p = &g->places[i];
    if (p->member.state == MEMBER_DOWN || g->seen_at[i] >= g->n_history)
        return;
    size_t left = g->n_history - g->seen_at[i];
    g->seen_at[i] += to_the_end ? left : rng_below(&g->rng, left) + 1;
    obey(g, p, member_see(&p->member, &g->history[g->seen_at[i] - 1]));
}

static void move(struct group *g, bool with_faults)
{
    size_t i = rng_below(&g->rng, PLACES);
    struct place *p = &g->places[i];
    bool is_up = p->member.state != MEMBER_DOWN;
    switch (rng_below(&g->rng, with_faults ? 12 : 8)) {
    case 0:
        if (!is_up && !p->has_succeeded) {
            come(g, p);
            g->seen_at[i] = g->n_history;
        }
        break;
    case 1:
    case 2:
        if (p->is_writing)
            write_epoch(g, p);
        break;
    case 3:
        if (is_up)
            obey(g, p, member_written(&p->member, p->announced));
        break;
    case 4:
        watch(g, i, !with_faults);
        break;
    case 5:
    case 6:
        if (!g->status.has_verdict)
            control(g);
        break;
    case 7:
        if (is_up && p->worker > 0 && p->is_ending)
            end_worker(g, p, rng_chance(&g->rng, 1, 4));
        break;
    case 8:
        if (is_up && p->worker > 0 && rng_chance(&g->rng, 1, 4))
            end_worker(g, p, rng_chance(&g->rng, 1, 8));
        break;
    case 9:
        if (rng_chance(&g->rng, 1, 4) && !p->has_succeeded)
            crash(p);
        break;
    case 10: /* the pod is replaced, with all that ran in it */
        if (rng_chance(&g->rng, 1, 8) && !p->has_succeeded) {
            g->broken = p->worker > g->broken ? p->worker : g->broken;
            p->worker = p->announced = 0;
            crash(p);
        }
        break;
    default: /* the same status again, or an older one */
        if (is_up && g->n_history > 0) {
            size_t at = rng_below(&g->rng, g->seen_at[i] + 1);
            obey(g, p, member_see(&p->member, &g->history[at > 0 ? at - 1 : 0]));
        }
        break;
    }
}

static bool is_settled(const struct group *g)
{
    for (size_t i = 0; i < PLACES; i++) {
        const struct place *p = &g->places[i];
        bool runs = p->worker > 0 && p->worker == g->status.synced && !p->is_ending;
        if (g->status.has_verdict ? p->worker != 0 : !runs && !p->has_succeeded)
            return false;
    }
    return g->status.has_verdict || g->broken <= g->status.deprecated; /* S4 */
}

static void test_walks(void **state)
{
    (void)state;
    size_t n_verdicts = 0, n_restarted = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct group g = {0};
        rng_seed(&g.rng, seed);
        for (uint64_t i = rng_below(&g.rng, 3000); i > 0; i--)
            move(&g, true);
        int left = 20000;
        while (!is_settled(&g) && left-- > 0)
            move(&g, false);
        if (!is_settled(&g))
            fail_msg("seed %llu: faults have stopped, and the group does not settle",
                     (unsigned long long)seed);
        n_verdicts += g.status.has_verdict;
        n_restarted += g.charged > 0 && !g.status.has_verdict;
    }
    if (n_verdicts < 100 || n_restarted < 100)
        fail_msg("the walks went nowhere: %zu verdicts, %zu restarted", n_verdicts, n_restarted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_23_25_26_28_29_upstreams_agent),
        cmocka_unit_test(test_b_a_death_is_not_lost),
        cmocka_unit_test(test_d_agents_come_again_before_the_lift),
        cmocka_unit_test(test_first_start),
        cmocka_unit_test(test_another_one_has_died),
        cmocka_unit_test(test_the_answer_is_slower_than_the_others),
        cmocka_unit_test(test_join_later),
        cmocka_unit_test(test_death_is_announced_at_once),
        cmocka_unit_test(test_the_others_end_first),
        cmocka_unit_test(test_success_leaves),
        cmocka_unit_test(test_verdict_ends),
        cmocka_unit_test(test_an_agent_that_comes_back),
        cmocka_unit_test(test_epochs_as_text),
        cmocka_unit_test(test_a_status_comes_first),
        cmocka_unit_test(test_walks),
    };
    return cmocka_run_group_tests_name("core/member", tests, NULL, NULL);
}

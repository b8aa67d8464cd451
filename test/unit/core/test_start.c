// SPDX-License-Identifier: Apache-2.0
/* From added to ready: dependencies, init order, the throttle, probes, time-outs. */
#include "start_kit.h"

static void test_a_plain_process_is_ready_when_it_runs(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 1);
    kit.shows_moves = true;
    add(&kit, MAIN("a"));
    assert_int_equal(start_pod_phase(kit.pod), PHASE_PENDING);
    expect(&kit, "a: downloading>blocked, a: blocked>pending, a: pending>starting, start a1");
    kit.now += 5;
    runs(&kit, 'a');
    expect(&kit, "a: starting>ready, a ready, weight");
    assert_int_equal(start_pod_phase(kit.pod), PHASE_RUNNING);
    assert_true(start_pod_is_ready(kit.pod));
    struct start_view view = kit_view(&kit, 'a');
    assert_int_equal(view.generation, 1);
    assert_int_equal(view.restarts, 0);
    assert_int_equal(view.started_at, kit.now);
    assert_int_equal(view.n_moves, 5);
    assert_int_equal(start_deadline(kit.start), TIME_NEVER); /* idle costs nothing */
    kit_close(&kit);
}

/* The study: b on a, c on b, d on b, e on c and d. */
static void test_the_graph_of_the_study(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a", NOTIFY), MAIN("b", NOTIFY, NEEDS(READY(0))),
        MAIN("c", NOTIFY, NEEDS(READY(1))), MAIN("d", NOTIFY, NEEDS(READY(1))),
        MAIN("e", NOTIFY, NEEDS(READY(2), READY(3))));
    expect(&kit, "start a1");
    assert_state(&kit, 'e', CT_BLOCKED, WHY_DEPENDENCY);
    runs(&kit, 'a');
    expect(&kit, "");
    notifies(&kit, 'a');
    expect(&kit, "a ready, start b1");
    runs(&kit, 'b');
    notifies(&kit, 'b');
    expect(&kit, "b ready, start c1, start d1");
    runs(&kit, 'c');
    runs(&kit, 'd');
    notifies(&kit, 'd');
    expect(&kit, "d ready");
    assert_int_equal(kit_view(&kit, 'e').blocker, 2);
    notifies(&kit, 'c');
    expect(&kit, "c ready, start e1");
    runs(&kit, 'e');
    notifies(&kit, 'e');
    expect(&kit, "e ready, weight");
    kit_close(&kit);
}

static void test_an_image_is_fetched_first(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a", IMAGE, NEVER));
    expect(&kit, "prepare a");
    assert_state(&kit, 'a', CT_DOWNLOADING, WHY_NONE);
    prepared(&kit, 'a', "no such image");
    /* 1.4: pull fails -> failed at once; no run was made, so even "Never" tries again: at once,
     * then with back-off */
    expect(&kit, "prepare a");
    prepared(&kit, 'a', "no such image");
    expect(&kit, "");
    assert_state(&kit, 'a', CT_FAILED, WHY_BACKOFF);
    assert_int_equal(kit_view(&kit, 'a').ended_why, WHY_PREPARE);
    assert_int_equal(kit_view(&kit, 'a').again_at, kit.now + 10 * SECOND);
    passes(&kit, 10 * SECOND);
    expect(&kit, "prepare a");
    prepared(&kit, 'a', NULL);
    expect(&kit, "start a1");
    assert_int_equal(kit_view(&kit, 'a').restarts, 0);
    prepared(&kit, 'a', "late and wrong");
    assert_state(&kit, 'a', CT_STARTING, WHY_NONE);
    kit_close(&kit);
}

static void test_conditions_of_dependencies(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a", ON_FAILURE, READINESS), MAIN("b", NEEDS(STARTED(0))),
        MAIN("c", NEEDS(READY(0))), MAIN("d", NEEDS(COMPLETED(0))));
    expect(&kit, "start a1");
    runs(&kit, 'a');
    expect(&kit, "start b1");
    passes(&kit, 0);
    expect(&kit, "ask a readiness");
    answers(&kit, 'a', PROBE_READINESS, true);
    expect(&kit, "a ready, start c1");
    ends(&kit, 'a', 0);
    expect(&kit, "a unready, start d1");
    kit_close(&kit);
}

/* 1.4: dependency became not-ready between blocked and the actual start. */
static void test_dependency_lost_while_pending(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 1);
    add(&kit, MAIN("x", NOTIFY), MAIN("a"), MAIN("b", NOTIFY, NEEDS(READY(1))));
    expect(&kit, "start a1, start x1"); /* a takes no slot */
    runs(&kit, 'a');
    expect(&kit, "a ready");
    assert_state(&kit, 'b', CT_PENDING, WHY_GATE);
    assert_int_equal(kit_view(&kit, 'b').gate.gate, GATE_CAP);
    ends(&kit, 'a', 1);
    expect(&kit, "a unready, start a2");
    runs(&kit, 'x');
    notifies(&kit, 'x'); /* the slot is free, but a is not ready */
    expect(&kit, "x ready");
    assert_state(&kit, 'b', CT_BLOCKED, WHY_DEPENDENCY);
    assert_int_equal(kit_view(&kit, 'b').blocker, 1);
    runs(&kit, 'a');
    expect(&kit, "a ready, start b1");
    kit_close(&kit);
}

/* 1.4: dependency failed for good. */
static void test_dependency_failed_for_good(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a", NEVER), MAIN("b", NEEDS(READY(0))), MAIN("c", NEEDS(READY(1))));
    expect(&kit, "start a1");
    runs(&kit, 'a');
    expect(&kit, "a ready, start b1");
    ends(&kit, 'a', 3); /* what has begun goes on */
    expect(&kit, "a unready");
    runs(&kit, 'b');
    expect(&kit, "b ready, start c1");
    kit_close(&kit);

    kit_open(&kit, 0);
    add(&kit, MAIN("a", NEVER, NOTIFY), MAIN("x"), MAIN("b", NEEDS(STARTED(1), READY(0))));
    expect(&kit, "start a1, start x1");
    runs(&kit, 'a');
    ends(&kit, 'a', 3);
    expect(&kit, "");
    assert_state(&kit, 'a', CT_FAILED, WHY_EXIT);
    assert_true(kit_view(&kit, 'a').is_final);
    assert_state(&kit, 'b', CT_BLOCKED, WHY_DEPENDENCY_FAILED);
    assert_int_equal(kit_view(&kit, 'b').blocker, 0);
    assert_int_equal(start_pod_phase(kit.pod), PHASE_RUNNING);
    kit_close(&kit);
}

/* Nothing runs and nothing ever will: a Job must not wait for such a pod for ever. */
static void test_hopeless_pod_comes_to_its_end(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a", NEVER, NOTIFY), MAIN("b", NEEDS(READY(0))), MAIN("c", NEEDS(READY(1))),
        MAIN("d", NEVER));
    expect(&kit, "start a1, start d1");
    runs(&kit, 'a');
    runs(&kit, 'd');
    expect(&kit, "d ready");
    ends(&kit, 'a', 3);
    expect(&kit, ""); /* d still runs */
    ends(&kit, 'd', 0);
    expect(&kit, "d unready, over");
    assert_int_equal(start_pod_phase(kit.pod), PHASE_FAILED);
    assert_int_equal(kit_view(&kit, 'c').generation, 0);
    kit_close(&kit);
}

static void test_init_containers_come_one_by_one(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, INIT("i", ON_FAILURE), SIDE("s", STARTUP), INIT("j", ON_FAILURE), SIDE("t"),
        MAIN("a"), MAIN("b"));
    expect(&kit, "start i1");
    assert_state(&kit, 'a', CT_BLOCKED, WHY_INIT);
    assert_int_equal(kit_view(&kit, 'a').blocker, 0);
    runs(&kit, 'i');
    expect(&kit, "i ready"); /* its process runs; that opens nothing */
    ends(&kit, 'i', 0);
    expect(&kit, "i unready, start s1");
    runs(&kit, 's');
    passes(&kit, 0);
    expect(&kit, "ask s startup");
    assert_state(&kit, 'j', CT_BLOCKED, WHY_INIT);
    answers(&kit, 's', PROBE_STARTUP, true);
    expect(&kit, "s ready, start j1");
    ends(&kit, 'j', 1);
    expect(&kit, "start j2");
    runs(&kit, 'j');
    expect(&kit, "j ready");
    ends(&kit, 'j', 0);
    expect(&kit, "j unready, start t1");
    assert_false(start_pod_is_initialized(kit.pod));
    assert_int_equal(start_pod_phase(kit.pod), PHASE_PENDING);
    runs(&kit, 't');
    expect(&kit, "t ready, start a1, start b1");
    assert_true(start_pod_is_initialized(kit.pod));
    assert_int_equal(start_pod_phase(kit.pod), PHASE_PENDING);
    runs(&kit, 'a');
    assert_int_equal(start_pod_phase(kit.pod), PHASE_RUNNING);
    runs(&kit, 'b');
    expect(&kit, "a ready, b ready, weight");
    kit_close(&kit);
}

/* A sidecar that dies before a main container ran holds the rest back; later it does not. */
static void test_sidecar_dies_before_and_after(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 1);
    add(&kit, SIDE("s"), INIT("i", NOTIFY, ON_FAILURE), MAIN("a", NOTIFY), MAIN("b", NOTIFY));
    expect(&kit, "start s1");
    runs(&kit, 's');
    expect(&kit, "s ready, start i1");
    runs(&kit, 'i');
    ends(&kit, 'i', 0);
    expect(&kit, "start a1"); /* b waits for the slot */
    ends(&kit, 's', 1);
    expect(&kit, "s unready, start s2");
    ends(&kit, 'a', 1);
    expect(&kit, ""); /* both wait for the sidecar again, though the slot is free */
    assert_state(&kit, 'b', CT_BLOCKED, WHY_INIT);
    assert_state(&kit, 'a', CT_BLOCKED, WHY_INIT);
    runs(&kit, 's');
    expect(&kit, "s ready, start a2");
    runs(&kit, 'a');
    expect(&kit, "");
    ends(&kit, 's', 1);
    expect(&kit, "s unready");
    assert_state(&kit, 's', CT_FAILED, WHY_BACKOFF);
    notifies(&kit, 'a');
    expect(&kit, "a ready, start b1");
    kit_close(&kit);
}

/* The study's lucky and unlucky flow: b and c get ready only when a is, cap 2, no dependsOn. */
static void test_lucky_flow(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 2);
    add(&kit, MAIN("b", NOTIFY), MAIN("a", NOTIFY), MAIN("c", NOTIFY));
    expect(&kit, "start b1, start a1");
    runs(&kit, 'b');
    runs(&kit, 'a');
    notifies(&kit, 'a');
    expect(&kit, "a ready, start c1");
    notifies(&kit, 'b');
    runs(&kit, 'c');
    notifies(&kit, 'c');
    expect(&kit, "b ready, c ready, weight");
    kit_close(&kit);
}

static void test_unlucky_flow_is_dissolved_by_min_rate(void **state)
{
    (void)state;
    struct kit kit;
    struct start_stats stats;
    kit_open(&kit, 2);
    add(&kit, MAIN("b", NOTIFY), MAIN("c", NOTIFY), MAIN("a", NOTIFY));
    expect(&kit, "start b1, start c1");
    runs(&kit, 'b');
    runs(&kit, 'c');
    passes(&kit, 10 * SECOND - 1);
    expect(&kit, "");
    assert_state(&kit, 'a', CT_PENDING, WHY_GATE);
    passes(&kit, 1);
    expect(&kit, "start a1");
    start_stats(kit.start, &stats);
    assert_int_equal(stats.forced, 1);
    assert_int_equal(stats.starting_slots, 3);
    runs(&kit, 'a');
    notifies(&kit, 'a');
    notifies(&kit, 'b');
    notifies(&kit, 'c');
    expect(&kit, "a ready, b ready, c ready, weight");
    kit_close(&kit);
}

/* With the dependency declared it never takes a slot in vain. */
static void test_declared_dependency_takes_no_slot(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 1);
    add(&kit, MAIN("b", NOTIFY, NEEDS(READY(1))), MAIN("a", NOTIFY));
    expect(&kit, "start a1");
    runs(&kit, 'a');
    notifies(&kit, 'a');
    expect(&kit, "a ready, start b1");
    kit_close(&kit);
}

/* Who takes no slot is not held up by those who wait for one. */
static void test_plain_processes_pass_a_full_cap(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 1);
    add(&kit, MAIN("a", NOTIFY), MAIN("b", NOTIFY), MAIN("c"));
    expect(&kit, "start a1, start c1");
    kit.settings.gate.max_rate = 0; /* a freeze holds them all */
    start_set(kit.start, &kit.settings, kit.now);
    add(&kit, MAIN("d"));
    expect(&kit, "");
    assert_state(&kit, 'd', CT_PENDING, WHY_GATE);
    assert_int_equal(kit_view(&kit, 'd').gate.gate, GATE_FROZEN);
    kit.settings.gate.max_rate = GATE_OFF;
    start_set(kit.start, &kit.settings, kit.now);
    expect(&kit, "start d1");
    kit_close(&kit);
}

static void test_priority_then_chain(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 1);
    const struct start_container_spec low[] = {MAIN("x", NOTIFY)};
    const struct start_container_spec high[] = {MAIN("a", NOTIFY), MAIN("b", NOTIFY),
                                                MAIN("c", NOTIFY, NEEDS(READY(1)))};
    struct start_pod_spec spec = {.uid = "1", .containers = low, .n_containers = 1};
    kit_add_spec(&kit, &spec);
    spec =
        (struct start_pod_spec){.uid = "2", .containers = high, .n_containers = 3, .priority = 5};
    kit_add_spec(&kit, &spec);
    expect(&kit, "start b1"); /* c waits for it */
    runs(&kit, 'b');
    notifies(&kit, 'b');
    expect(&kit, "b ready, start a1");
    runs(&kit, 'a');
    notifies(&kit, 'a');
    expect(&kit, "a ready, start c1");
    runs(&kit, 'c');
    notifies(&kit, 'c');
    expect(&kit, "c ready, weight, start x1");
    kit_close(&kit);
}

static void test_sign_of_readiness(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a", STARTUP, READINESS, LIVENESS, NOTIFY));
    expect(&kit, "start a1");
    runs(&kit, 'a');
    notifies(&kit, 'a'); /* a probe decides where there is one */
    passes(&kit, 0);
    expect(&kit, "ask a startup");
    answers(&kit, 'a', PROBE_STARTUP, true);
    expect(&kit, "");
    assert_state(&kit, 'a', CT_READY, WHY_NONE);
    assert_false(kit_view(&kit, 'a').is_ready);
    passes(&kit, 0);
    expect(&kit, "ask a readiness, ask a liveness");
    answers(&kit, 'a', PROBE_LIVENESS, true);
    answers(&kit, 'a', PROBE_READINESS, true);
    expect(&kit, "a ready, weight");
    for (int i = 0; i < 3; i++) {
        passes(&kit, 10 * SECOND);
        expect(&kit, "ask a readiness, ask a liveness");
        answers(&kit, 'a', PROBE_LIVENESS, true);
        answers(&kit, 'a', PROBE_READINESS, false);
        expect(&kit, i == 2 ? "a unready" : "");
    }
    assert_state(&kit, 'a', CT_READY, WHY_NONE); /* has been ready; is not now */
    passes(&kit, 10 * SECOND);
    answers(&kit, 'a', PROBE_READINESS, true);
    expect(&kit, "ask a readiness, ask a liveness, a ready"); /* the weight moves only once */
    kit_close(&kit);
}

/* 1.4: liveness probe doubles as readiness probe. */
static void test_liveness_alone_makes_ready(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 1);
    add(&kit, MAIN("a", LIVENESS_AT(100, -1)));
    expect(&kit, "start a1");
    runs(&kit, 'a');
    for (int i = 0; i < 10; i++) { /* far more than the threshold: not yet, no more */
        passes(&kit, 100);
        expect(&kit, "ask a liveness");
        answers(&kit, 'a', PROBE_LIVENESS, false);
    }
    assert_state(&kit, 'a', CT_STARTING, WHY_NONE);
    passes(&kit, 100);
    answers(&kit, 'a', PROBE_LIVENESS, true);
    expect(&kit, "ask a liveness, a ready, weight");
    for (int i = 0; i < 3; i++) {
        passes(&kit, 100);
        answers(&kit, 'a', PROBE_LIVENESS, false);
    }
    expect(&kit, "ask a liveness, ask a liveness, ask a liveness, a unready, term a1 30000");
    assert_state(&kit, 'a', CT_READY, WHY_LIVENESS_PROBE);
    passes(&kit, 30 * SECOND);
    expect(&kit, "kill a1");
    ends(&kit, 'a', 137);
    expect(&kit, "start a2");
    assert_int_equal(kit_view(&kit, 'a').last.why, WHY_LIVENESS_PROBE);
    kit_close(&kit);
}

static void test_startup_probe_gives_up(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a", NEVER, STARTUP_AT(100, 0), LIVENESS));
    expect(&kit, "start a1");
    runs(&kit, 'a');
    for (int i = 0; i < 3; i++) {
        passes(&kit, 100);
        answers(&kit, 'a', PROBE_STARTUP, false);
    }
    expect(&kit, "ask a startup, ask a startup, ask a startup, kill a1");
    ends(&kit, 'a', 137);
    assert_state(&kit, 'a', CT_FAILED, WHY_STARTUP_PROBE);
    expect(&kit, "over");
    assert_int_equal(start_pod_phase(kit.pod), PHASE_FAILED);
    kit_close(&kit);
}

/* While a slot hangs on it the probe is asked in haste. */
static void test_haste_while_starting(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a", READINESS));
    runs(&kit, 'a');
    expect(&kit, "start a1");
    runs(&kit, 'a');
    passes(&kit, 0);
    answers(&kit, 'a', PROBE_READINESS, false);
    passes(&kit, 100);
    answers(&kit, 'a', PROBE_READINESS, true);
    expect(&kit, "ask a readiness, ask a readiness, a ready, weight");
    passes(&kit, 10 * SECOND - 1);
    expect(&kit, "");
    passes(&kit, 1);
    expect(&kit, "ask a readiness");
    kit_close(&kit);
}

/* 1.3: kill it, free the slot when it is reaped. */
static void test_start_timeout(void **state)
{
    (void)state;
    struct kit kit;
    struct start_stats stats;
    kit_open(&kit, 1);
    kit.settings.gate.min_rate = GATE_OFF;
    start_set(kit.start, &kit.settings, kit.now);
    add(&kit, MAIN("a", NOTIFY, NEVER, TIMEOUT(5 * SECOND)),
        MAIN("b", NOTIFY, TIMEOUT(5 * SECOND)));
    expect(&kit, "start a1");
    runs(&kit, 'a');
    passes(&kit, 5 * SECOND - 1);
    expect(&kit, "");
    passes(&kit, 1);
    expect(&kit, "kill a1");
    assert_state(&kit, 'a', CT_STARTING, WHY_TIMEOUT);
    notifies(&kit, 'a'); /* too late */
    passes(&kit, 60 * SECOND);
    expect(&kit, "");
    ends(&kit, 'a', 137);
    expect(&kit, "start b1");
    assert_state(&kit, 'a', CT_FAILED, WHY_TIMEOUT);
    /* 1.4: time spent pending never counts */
    passes(&kit, 5 * SECOND - 1);
    expect(&kit, "");
    passes(&kit, 1);
    expect(&kit, "kill b1");
    start_stats(kit.start, &stats);
    assert_int_equal(stats.timeouts, 2);
    kit_close(&kit);
}

/* A change of the settings holds for all that start after it, also for those that wait already. */
static void test_usual_timeout_is_that_of_the_settings(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 1);
    kit.settings.gate.max_starting = 0;
    start_set(kit.start, &kit.settings, kit.now);
    add(&kit, MAIN("a", NOTIFY, TIMEOUT(START_TIMEOUT_USUAL)));
    expect(&kit, "");
    kit.settings.gate.max_starting = GATE_OFF;
    kit.settings.start_timeout_ms = 3 * SECOND;
    start_set(kit.start, &kit.settings, kit.now);
    expect(&kit, "start a1");
    runs(&kit, 'a');
    passes(&kit, 3 * SECOND - 1);
    expect(&kit, "");
    passes(&kit, 1);
    expect(&kit, "kill a1");
    kit_close(&kit);
}

static void test_own_lateness_moves_timeouts(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a", NOTIFY, TIMEOUT(5 * SECOND)), MAIN("b", NOTIFY, TIMEOUT(5 * SECOND)));
    expect(&kit, "start a1, start b1");
    runs(&kit, 'a');
    kit.now += 60 * SECOND; /* stopped for a minute: the tick of second 5 comes now */
    start_tick(kit.start, kit.now, 55 * SECOND);
    expect(&kit, "");
    notifies(&kit, 'a'); /* had said so all along */
    expect(&kit, "a ready");
    add(&kit, MAIN("c", NOTIFY, TIMEOUT(5 * SECOND))); /* began after it: nothing to make up for */
    expect(&kit, "start c1");
    passes(&kit, SECOND - 1);
    expect(&kit, "");
    passes(&kit, 1);
    expect(&kit, "kill b1");
    passes(&kit, 4 * SECOND - 1);
    expect(&kit, "");
    passes(&kit, 1);
    expect(&kit, "kill c1");
    kit_close(&kit);

    kit_open(&kit, 0);
    add(&kit, MAIN("a", NOTIFY, TIMEOUT(5 * SECOND)));
    expect(&kit, "start a1");
    passes(&kit, 4 * SECOND);
    kit.now += 10 * SECOND;
    start_tick(kit.start, kit.now, 10 * SECOND - 500); /* so 4.5 s of its 5 are gone */
    start_tick(kit.start, kit.now, 3 * SECOND);        /* and 3 s that were late as well */
    passes(&kit, 3 * SECOND + 499);
    expect(&kit, "");
    passes(&kit, 1);
    expect(&kit, "kill a1");
    kit_close(&kit);
}

static void test_extended_timeout(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a", NOTIFY, TIMEOUT(5 * SECOND)));
    expect(&kit, "start a1");
    passes(&kit, 4 * SECOND);
    start_extend_timeout(kit.start, kit.pod, 0, 500, kit.now); /* less than there is */
    start_extend_timeout(kit.start, kit.pod, 0, 3 * SECOND, kit.now);
    passes(&kit, 3 * SECOND - 1);
    expect(&kit, "");
    passes(&kit, 1);
    expect(&kit, "kill a1");
    kit_close(&kit);
}

/* A clock that jumps: a day forward asks each probe once and starts no rush; back is ignored. */
static void test_clock_jump(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 1);
    add(&kit, MAIN("a", NOTIFY), MAIN("b", NOTIFY), MAIN("c", NOTIFY), MAIN("d", LIVENESS));
    expect(&kit, "start a1");
    kit.now += 86400 * SECOND;
    start_tick(kit.start, kit.now, 86390 * SECOND);
    expect(&kit, "start b1"); /* one that minRate owes, not a day of them */
    kit.now -= 86400 * SECOND;
    runs(&kit, 'a');
    start_tick(kit.start, kit.now, 0);
    expect(&kit, "");
    assert_true(kit_view(&kit, 'a').started_at > kit.now); /* time stood still inside */
    kit_close(&kit);
}

static void test_stale_answers_are_ignored(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a", LIVENESS));
    expect(&kit, "start a1");
    runs(&kit, 'a');
    passes(&kit, 0);
    expect(&kit, "ask a liveness");
    struct start_exit end = {.generation = 1, .code = 1};
    start_ended(kit.start, kit.pod, 0, &end, kit.now);
    expect(&kit, "start a2");
    answers(&kit, 'a', PROBE_LIVENESS, true);
    start_running(kit.start, kit.pod, 0, 1, kit.now);
    start_not_run(kit.start, kit.pod, 0, 1, kit.now);
    start_ended(kit.start, kit.pod, 0, &end, kit.now);
    start_answer(kit.start, kit.pod, UINT64_MAX, true, kit.now);
    start_answer(kit.start, kit.pod, 0, true, kit.now);
    expect(&kit, "");
    assert_state(&kit, 'a', CT_STARTING, WHY_NONE);
    assert_int_equal(kit_view(&kit, 'a').started_at, 0);
    uint64_t old = kit.tickets[0][PROBE_LIVENESS];
    runs(&kit, 'a');
    passes(&kit, 0);
    expect(&kit, "ask a liveness"); /* an answer is awaited, but not that one */
    start_answer(kit.start, kit.pod, old, true, kit.now);
    expect(&kit, "");
    assert_state(&kit, 'a', CT_STARTING, WHY_NONE);
    kit_close(&kit);
}

static void test_changed_comes_once_a_call(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    add(&kit, MAIN("a"), MAIN("b"), MAIN("c", NEEDS(READY(0), READY(1))));
    stop(&kit, 0); /* not taken in between: still one */
    expect(&kit, "over");
    assert_int_equal(kit.n_changed, 1);
    kit_close(&kit);
}

static void test_no_pod_without_a_graph(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    const struct start_container_spec circle[] = {MAIN("a", NEEDS(READY(1))),
                                                  MAIN("b", NEEDS(READY(0)))};
    const struct start_container_spec late_init[] = {MAIN("a"), INIT("i")};
    const struct start_container_spec forward[] = {INIT("i", NEEDS(READY(1))), MAIN("a")};
    const struct start_container_spec *const all[] = {circle, late_init, forward};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct start_pod_spec spec = {.uid = "x", .containers = all[i], .n_containers = 2};
        assert_null(start_pod_add(kit.start, &spec, kit.now));
    }
    expect(&kit, "");
    kit_close(&kit);
}

/* Removal needs no end: whatever a pod held is free, and its effects are gone. */
static void test_removal_leaves_no_trace(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 1);
    struct start_pod *first = add(&kit, MAIN("a", NOTIFY), MAIN("b", NOTIFY));
    expect(&kit, "start a1");
    add(&kit, MAIN("x", NOTIFY));
    runs(&kit, 'x');
    expect(&kit, "");
    start_pod_restart(kit.start, first, kit.now);
    start_pod_remove(kit.start, first);
    expect(&kit, "start x1");
    kit_close(&kit);
}

static void test_five_thousand_pods(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 4);
    struct start_stats stats;
    const struct start_container_spec cts[] = {MAIN("a", NOTIFY),
                                               MAIN("b", NOTIFY, NEEDS(READY(0)))};
    struct start_pod_spec spec = {.uid = "p", .containers = cts, .n_containers = 2};
    for (int i = 0; i < 5000; i++)
        assert_non_null(start_pod_add(kit.start, &spec, kit.now));
    struct start_effect effect;
    size_t started = 0;
    while (start_next(kit.start, &effect)) {
        if (effect.type != FX_START)
            continue;
        started++;
        start_running(kit.start, effect.pod, effect.container, effect.generation, kit.now);
        start_notified_ready(kit.start, effect.pod, effect.container, kit.now);
    }
    start_stats(kit.start, &stats);
    assert_int_equal(started, 10000);
    assert_int_equal(stats.states[CT_READY], 10000);
    assert_int_equal(stats.pods, 5000);
    assert_null(start_check(kit.start));
    kit_close(&kit);
}

/* Takes all effects; returns the starts among them, which are noted in `asked`. */
static size_t take_starts(struct kit *kit, struct start_pod **asked)
{
    struct start_effect effect;
    size_t n = 0;
    while (start_next(kit->start, &effect)) {
        if (effect.type == FX_START)
            asked[n++] = effect.pod;
    }
    assert_null(start_check(kit->start));
    return n;
}

/* A host that has enough to do is not asked for more until it has answered some: what waits can
 * still be called off, and a kill does not stand behind a thousand starts. */
static void test_starts_wait_for_answers(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, 0);
    const struct start_container_spec cts[] = {MAIN("a")};
    struct start_pod_spec spec = {.uid = "p", .containers = cts, .n_containers = 1};
    struct start_pod *pods[600], *asked[600];
    for (size_t i = 0; i < ARRAY_LEN(pods); i++)
        pods[i] = start_pod_add(kit.start, &spec, kit.now);
    assert_int_equal(take_starts(&kit, asked), 256);
    start_pod_remove(kit.start, pods[599]); /* nobody had begun with it */
    assert_int_equal(take_starts(&kit, asked + 256), 0);
    for (size_t i = 0; i < 63; i++)
        start_running(kit.start, asked[i], 0, 1, kit.now);
    assert_int_equal(take_starts(&kit, asked + 256), 0);
    start_not_run(kit.start, asked[63], 0, 1, kit.now); /* an answer too */
    assert_int_equal(take_starts(&kit, asked + 256), 64);
    for (size_t i = 64; i < 128; i++)
        start_pod_remove(kit.start, asked[i]); /* no answer will come */
    assert_int_equal(take_starts(&kit, asked + 320), 64);
    kit_close(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_plain_process_is_ready_when_it_runs),
        cmocka_unit_test(test_the_graph_of_the_study),
        cmocka_unit_test(test_an_image_is_fetched_first),
        cmocka_unit_test(test_conditions_of_dependencies),
        cmocka_unit_test(test_dependency_lost_while_pending),
        cmocka_unit_test(test_dependency_failed_for_good),
        cmocka_unit_test(test_hopeless_pod_comes_to_its_end),
        cmocka_unit_test(test_init_containers_come_one_by_one),
        cmocka_unit_test(test_sidecar_dies_before_and_after),
        cmocka_unit_test(test_lucky_flow),
        cmocka_unit_test(test_unlucky_flow_is_dissolved_by_min_rate),
        cmocka_unit_test(test_declared_dependency_takes_no_slot),
        cmocka_unit_test(test_plain_processes_pass_a_full_cap),
        cmocka_unit_test(test_priority_then_chain),
        cmocka_unit_test(test_sign_of_readiness),
        cmocka_unit_test(test_liveness_alone_makes_ready),
        cmocka_unit_test(test_startup_probe_gives_up),
        cmocka_unit_test(test_haste_while_starting),
        cmocka_unit_test(test_start_timeout),
        cmocka_unit_test(test_usual_timeout_is_that_of_the_settings),
        cmocka_unit_test(test_own_lateness_moves_timeouts),
        cmocka_unit_test(test_extended_timeout),
        cmocka_unit_test(test_clock_jump),
        cmocka_unit_test(test_stale_answers_are_ignored),
        cmocka_unit_test(test_changed_comes_once_a_call),
        cmocka_unit_test(test_no_pod_without_a_graph),
        cmocka_unit_test(test_removal_leaves_no_trace),
        cmocka_unit_test(test_five_thousand_pods),
        cmocka_unit_test(test_starts_wait_for_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "base/vec.h"
#include "stage.h"
#include <stdio.h>

/* What the controllers under test saw and are to do. Set anew by each test. */
static struct {
    struct str mapped;     /* "+a " added, "~a " changed, "-a " deleted */
    struct str reconciled; /* "a@250 ": key and milliseconds since the start of the test */
    time_ms start;
    void (*act)(struct control *control, const char *key);
    int left; /* for act */
} script;

static void reset(struct sim *sim)
{
    str_clear(&script.mapped);
    str_clear(&script.reconciled);
    script.start = sim ? sim_now(sim) : 0;
    script.act = NULL;
    script.left = 0;
}

static void map_configmaps(struct control *control, const struct change *change)
{
    if (change->obj->kind != &KIND_CONFIGMAP)
        return;
    str_addf(&script.mapped, "%c%s ", "+~-"[change->type], change -> obj -> meta.name);
    control_add(control, change->obj->meta.name);
}

static void reconcile(struct control *control, const char *key)
{
    str_addf(&script.reconciled, "%s@%d ", key, (int)(control_now(control) - script.start));
    if (script.act != NULL)
        script.act(control, key);
}

static const struct controller PROBE = {
    .name = "probe", .map = map_configmaps, .reconcile = reconcile};
static const struct controller *const PROBES[] = {&PROBE, NULL};

static struct write *creation(const char *name)
{
    scoped_free char *body = mem_printf("{'metadata':{'name':'%s'}}", name);
    return stage_write(WRITE_CREATE, &KIND_CONFIGMAP, "default", "", body);
}

static struct write *label(const char *name, const char *value)
{
    scoped_free char *body = mem_printf("{'metadata':{'labels':{'l':'%s'}}}", value);
    return stage_write(WRITE_PATCH, &KIND_CONFIGMAP, "default", name, body);
}

static int setup(void **state)
{
    reset(NULL);
    *state = stage_open(1, PROBES, NULL);
    reset(*state);
    return 0;
}

static int teardown(void **state)
{
    sim_free(*state);
    str_done(&script.mapped);
    str_done(&script.reconciled);
    return 0;
}

static struct manager_stats stats_of(struct sim *sim)
{
    struct manager_stats stats = {0};
    assert_int_equal(manager_stats(sim_manager(sim), &stats, 1), 1);
    assert_string_equal(stats.controller, "probe");
    return stats;
}

static void test_changes_become_keys(void **state)
{
    struct sim *sim = *state;
    sim_submit(sim, creation("a"));
    sim_submit(sim, label("a", "1"));
    sim_submit(sim, label("a", "2"));
    stage_do(sim, creation("b"));
    stage_do(sim, stage_write(WRITE_DELETE, &KIND_CONFIGMAP, "default", "a", NULL));
    assert_string_equal(str_text(&script.mapped), "+a ~a ~a +b -a ");
    assert_int_equal(stats_of(sim).failures, 0);
    assert_false(manager_is_pressed(sim_manager(sim)));
}

/* A new manager is told of everything there is, once. */
static void test_start_maps_everything(void **state)
{
    struct sim *sim = *state;
    stage_do(sim, creation("a"));
    stage_do(sim, creation("b"));
    reset(sim);
    sim_restart_manager(sim);
    assert_string_equal(str_text(&script.mapped), "+a +b ");
    assert_true(manager_is_pressed(sim_manager(sim)));
    stage_run(sim, 1000);
    assert_string_equal(str_text(&script.reconciled), "a@0 b@0 ");
    reset(sim);
    sim_crash(sim);
    assert_string_equal(str_text(&script.mapped), "+a +b ");
}

static void act_label(struct control *control, const char *key)
{
    const struct obj *obj =
        cache_get(control_world(control)->cache, &KIND_CONFIGMAP, "default", key);
    if (obj == NULL || yyjson_obj_size(obj->meta.labels) > 0)
        return;
    control_write(control, label(key, "mine"));
    str_add(&script.reconciled, "wrote ");
}

/* It writes once: the key waits until the cache shows the write, however long that takes and
 * however much news arrives meanwhile. */
static void test_own_writes_are_seen(void **state)
{
    (void)state;
    static const struct sim_faults SLOW = {.commit_ms = 400, .lag_ms = 2000, .submit_ms = 400};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sim *sim = stage_open(seed, PROBES, &SLOW);
        reset(sim);
        script.act = act_label;
        sim_submit(sim, creation("a"));
        stage_run(sim, 60000);
        const char *first = strstr(str_text(&script.reconciled), "wrote");
        assert_non_null(first);
        assert_null(strstr(first + 1, "wrote"));
        assert_int_equal(stats_of(sim).writes, 1);
        assert_int_equal(stats_of(sim).failures, 0);
        sim_free(sim);
    }
}

static void act_conflict(struct control *control, const char *key)
{
    if (script.left-- <= 0)
        return;
    struct write *write = label(key, "late");
    write->if_version = mem_strdup("1");
    control_write(control, write);
}

/* 50, 100, 200 milliseconds. */
static void test_failures_pause(void **state)
{
    struct sim *sim = *state;
    script.act = act_conflict;
    script.left = 3;
    stage_do(sim, creation("a"));
    int at[4] = {0};
    assert_int_equal(
        sscanf(str_text(&script.reconciled), "a@%d a@%d a@%d a@%d", &at[0], &at[1], &at[2], &at[3]),
        4);
    assert_int_equal(at[1] - at[0], 50);
    assert_int_equal(at[2] - at[1], 100);
    assert_int_equal(at[3] - at[2], 200);
    assert_int_equal(stats_of(sim).failures, 3);
}

static void act_delete_nothing(struct control *control, const char *key)
{
    (void)key;
    control_write(control, stage_write(WRITE_DELETE, &KIND_CONFIGMAP, "default", "nobody", NULL));
}

static void act_patch_nothing(struct control *control, const char *key)
{
    (void)key;
    if (script.left-- > 0)
        control_write(control, label("nobody", "x"));
}

static void test_deleting_what_is_gone_is_done(void **state)
{
    struct sim *sim = *state;
    script.act = act_delete_nothing;
    stage_do(sim, creation("a"));
    assert_int_equal(stats_of(sim).failures, 0);
    script.act = act_patch_nothing;
    script.left = 1;
    stage_do(sim, creation("b"));
    assert_int_equal(stats_of(sim).failures, 1);
}

static void act_two_writes(struct control *control, const char *key)
{
    if (script.left-- <= 0)
        return;
    control_write(control, label(key, "1"));
    control_write(control, label("nobody", "x")); /* one failure is enough */
    control_write(control, label(key, "2"));
}

static void test_a_turn_ends_with_its_last_write(void **state)
{
    struct sim *sim = *state;
    script.act = act_two_writes;
    script.left = 1;
    stage_do(sim, creation("a"));
    assert_int_equal(stats_of(sim).writes, 3);
    assert_int_equal(stats_of(sim).failures, 1);
    assert_false(manager_is_pressed(sim_manager(sim)));
    const struct obj *obj = stage_get(sim, &KIND_CONFIGMAP, "default", "a");
    assert_string_equal(yyjson_get_str(yyjson_obj_get(obj->meta.labels, "l")), "2");
}

static void act_timer(struct control *control, const char *key)
{
    if (script.left-- > 0)
        control_add_at(control, key, control_now(control) + 3600 * 1000);
}

static void test_timers(void **state)
{
    struct sim *sim = *state;
    script.act = act_timer;
    script.left = 2;
    stage_do(sim, creation("a"));
    stage_run(sim, 2 * 3600 * 1000 + 1000);
    int first = 0, second = 0, third = 0;
    assert_int_equal(
        sscanf(str_text(&script.reconciled), "a@%d a@%d a@%d", &first, &second, &third), 3);
    assert_int_equal(second - first, 3600 * 1000);
    assert_int_equal(third - second, 3600 * 1000);
    assert_false(manager_is_pressed(sim_manager(sim)));
}

static void act_write(struct control *control, const char *key)
{
    control_write(control, label(key, "x"));
}

/* Writes outlive the manager that asked for them; their answers find nobody, and harm nobody. */
static void test_free_with_writes_on_their_way(void **state)
{
    (void)state;
    static const struct sim_faults SLOW = {.commit_ms = 500, .lag_ms = 500, .submit_ms = 500};
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct sim *sim = stage_open(seed, PROBES, &SLOW);
        reset(sim);
        script.act = act_write;
        sim_submit(sim, creation("a"));
        stage_run(sim, (time_ms)(seed * 60)); /* each time at another point of the way */
        sim_restart_manager(sim);
        if (seed % 2)
            sim_crash(sim);
        stage_run(sim, (time_ms)(seed * 20));
        sim_free(sim);
    }
}

static void act_event(struct control *control, const char *key)
{
    const struct obj *obj =
        cache_get(control_world(control)->cache, &KIND_CONFIGMAP, "default", key);
    control_event(control, obj, "Warning", "TooBig", "%s has %d of %d", key, 3, 2);
}

static void test_events_count_up(void **state)
{
    struct sim *sim = *state;
    script.act = act_event;
    stage_do(sim, creation("a"));
    stage_do(sim, label("a", "1"));
    stage_do(sim, label("a", "2"));
    struct cache *cache = sim_store(sim)->cache;
    assert_int_equal(cache_count(cache, &KIND_EVENT), 1);
    const struct obj *event = cache_first(cache, &KIND_EVENT, "default");
    assert_int_equal(json_int_at(event->root, "count", 0), 3);
    assert_string_equal(json_str_at(event->root, "message"), "a has 3 of 2");
    assert_string_equal(json_str_at(event->root, "involvedObject.name"), "a");
    assert_string_equal(json_str_at(event->root, "source.component"), "probe");
    stage_do(sim, creation("b"));
    assert_int_equal(cache_count(cache, &KIND_EVENT), 2);
}

#define ON_STAGE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STAGE(test_changes_become_keys),
        ON_STAGE(test_start_maps_everything),
        ON_STAGE(test_own_writes_are_seen),
        ON_STAGE(test_failures_pause),
        ON_STAGE(test_deleting_what_is_gone_is_done),
        ON_STAGE(test_a_turn_ends_with_its_last_write),
        ON_STAGE(test_timers),
        ON_STAGE(test_free_with_writes_on_their_way),
        ON_STAGE(test_events_count_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

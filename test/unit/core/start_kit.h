// SPDX-License-Identifier: Apache-2.0
#pragma once
/* Stories about the start engine read as: something happens, these effects come. Containers are
 * named by one letter; effects are written down as text:
 *     prepare a, start a1, term a1 30000, kill a1, ask a startup, a ready, a unready, weight, down,
 *     over
 * Moves and "changed" are left out unless kit.shows_moves is set ("a: blocked>pending"). After each
 * call all invariants are checked. */
#include "base/mem.h"
#include "base/str.h"
#include "core/start/start.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define KIT_CONTAINERS 16
#define SECOND 1000

struct kit {
    struct start *start;
    struct start_settings settings;
    struct start_pod *pod; /* the one that names mean */
    time_ms now;
    bool shows_moves;
    struct str log;
    uint64_t tickets[KIT_CONTAINERS][PROBE_KINDS];
    size_t n_changed;
};

static inline void kit_open(struct kit *kit, int cap)
{
    *kit = (struct kit){.now = 1000 * SECOND};
    start_settings_default(&kit->settings, 1);
    kit->settings.gate.max_starting_per_core = GATE_OFF;
    kit->settings.gate.max_starting = cap > 0 ? cap : GATE_OFF;
    kit->settings.gate.max_rate = GATE_OFF;
    kit->start = start_new(&kit->settings);
}

static inline void kit_close(struct kit *kit)
{
    start_free(kit->start);
    str_done(&kit->log);
}

/* There must be one of that name: start_view() asserts it. */
static inline uint32_t kit_index(const struct kit *kit, char name)
{
    struct start_view view;
    uint32_t i = 0;
    for (start_view(kit->pod, i, &view); view.name[0] != name; start_view(kit->pod, i, &view))
        i++;
    return i;
}

static inline struct start_view kit_view(const struct kit *kit, char name)
{
    struct start_view view;
    start_view(kit->pod, kit_index(kit, name), &view);
    return view;
}

static inline void kit_write(struct kit *kit, const struct start_effect *effect)
{
    static const char *const probes[] = {"startup", "readiness", "liveness"};
    struct start_view view = {.name = "?"};
    if (effect->type != FX_WEIGHT && effect->type != FX_CHANGED && effect->type != FX_POD_OVER &&
        effect->type != FX_POD_DOWN)
        start_view(effect->pod, effect->container, &view);
    bool is_shown = effect->type != FX_CHANGED && (effect->type != FX_MOVED || kit->shows_moves);
    if (is_shown && kit->log.len > 0)
        str_add(&kit->log, ", ");
    switch (effect->type) {
    case FX_PREPARE:
        str_addf(&kit->log, "prepare %s", view.name);
        break;
    case FX_START:
        str_addf(&kit->log, "start %s%u", view.name, effect->generation);
        break;
    case FX_TERM:
        str_addf(&kit->log, "term %s%u %lld", view.name, effect->generation,
                 (long long)effect->grace_ms);
        break;
    case FX_KILL:
        str_addf(&kit->log, "kill %s%u", view.name, effect->generation);
        break;
    case FX_PROBE:
        str_addf(&kit->log, "ask %s %s", view.name, probes[effect->probe]);
        if (effect->pod == kit->pod)
            kit->tickets[effect->container][effect->probe] = effect->ticket;
        break;
    case FX_MOVED:
        if (kit->shows_moves)
            str_addf(&kit->log, "%s: %s>%s", view.name, container_state_name(effect->from),
                     container_state_name(effect->to));
        break;
    case FX_READY:
        str_addf(&kit->log, "%s %s", view.name, view.is_ready ? "ready" : "unready");
        break;
    case FX_WEIGHT:
        str_add(&kit->log, "weight");
        break;
    case FX_POD_DOWN:
        str_add(&kit->log, "down");
        break;
    case FX_POD_OVER:
        str_add(&kit->log, "over");
        break;
    case FX_CHANGED:
        kit->n_changed++;
        break;
    }
}

static inline void kit_drain(struct kit *kit)
{
    struct start_effect effect;
    while (start_next(kit->start, &effect))
        kit_write(kit, &effect);
    const char *problem = start_check(kit->start);
    if (problem)
        fail_msg("%s", problem);
}

/* What came since it was last looked at. */
#define expect(kit, text)                                                                          \
    do {                                                                                           \
        kit_drain(kit);                                                                            \
        assert_string_equal(str_text(&(kit)->log), text);                                          \
        str_clear(&(kit)->log);                                                                    \
    } while (0)

static inline struct start_pod *kit_add_spec(struct kit *kit, const struct start_pod_spec *spec)
{
    kit->pod = start_pod_add(kit->start, spec, kit->now);
    assert_non_null(kit->pod);
    return kit->pod;
}

static inline struct start_pod *kit_add(struct kit *kit, const struct start_container_spec *cts,
                                        size_t n)
{
    struct start_pod_spec spec = {
        .uid = "pod", .grace_ms = 30 * SECOND, .containers = cts, .n_containers = n};
    return kit_add_spec(kit, &spec);
}
#define add(kit, ...)                                                                              \
    kit_add(kit, (const struct start_container_spec[]){__VA_ARGS__},                               \
            sizeof((const struct start_container_spec[]){__VA_ARGS__}) /                           \
                sizeof(struct start_container_spec))

#define INIT(letter, ...)                                                                          \
    {                                                                                              \
        .name = letter, .role = START_INIT, ##__VA_ARGS__                                          \
    }
#define SIDE(letter, ...)                                                                          \
    {                                                                                              \
        .name = letter, .role = START_SIDECAR, ##__VA_ARGS__                                       \
    }
#define MAIN(letter, ...)                                                                          \
    {                                                                                              \
        .name = letter, .role = START_MAIN, ##__VA_ARGS__                                          \
    }
#define PROBE(ms, grace)                                                                           \
    {                                                                                              \
        .is_set = true, .period_ms = ms, .success_threshold = 1, .failure_threshold = 3,           \
        .grace_ms = grace                                                                          \
    }
#define STARTUP_AT(ms, grace) .probes[PROBE_STARTUP] = PROBE(ms, grace)
#define READINESS_AT(ms, grace) .probes[PROBE_READINESS] = PROBE(ms, grace)
#define LIVENESS_AT(ms, grace) .probes[PROBE_LIVENESS] = PROBE(ms, grace)
#define STARTUP STARTUP_AT(10 * SECOND, -1)
#define READINESS READINESS_AT(10 * SECOND, -1)
#define LIVENESS LIVENESS_AT(10 * SECOND, -1)
#define NOTIFY .has_notify = true
#define IMAGE .has_image = true
#define TIMEOUT(ms) .start_timeout_ms = ms
#define NEVER .policy = RESTART_NEVER
#define ON_FAILURE .policy = RESTART_ON_FAILURE
// clang-format off
#define READY(i) {(i), DEP_READY}
#define COMPLETED(i) {(i), DEP_COMPLETED}
#define STARTED(i) {(i), DEP_STARTED}
// clang-format on
#define NEEDS(...)                                                                                 \
    .needs = (const struct graph_edge[]){__VA_ARGS__},                                             \
    .n_needs = sizeof((const struct graph_edge[]){__VA_ARGS__}) / sizeof(struct graph_edge)
#define RULES(...)                                                                                 \
    .rules = (const struct start_rule[]){__VA_ARGS__},                                             \
    .n_rules = sizeof((const struct start_rule[]){__VA_ARGS__}) / sizeof(struct start_rule)
#define WHEN(code, what)                                                                           \
    {                                                                                              \
        .action = (what), .codes = (const int[]){code}, .n_codes = 1                               \
    }
#define UNLESS(code, what)                                                                         \
    {                                                                                              \
        .action = (what), .is_not_in = true, .codes = (const int[]){code}, .n_codes = 1            \
    }

/* ---- what happens ---- */

static inline void runs(struct kit *kit, char name)
{
    start_running(kit->start, kit->pod, kit_index(kit, name), kit_view(kit, name).generation,
                  kit->now);
}

static inline void runs_not(struct kit *kit, char name)
{
    start_not_run(kit->start, kit->pod, kit_index(kit, name), kit_view(kit, name).generation,
                  kit->now);
}

static inline void ends(struct kit *kit, char name, int code)
{
    struct start_exit end = {.generation = kit_view(kit, name).generation, .code = code};
    start_ended(kit->start, kit->pod, kit_index(kit, name), &end, kit->now);
}

static inline void prepared(struct kit *kit, char name, const char *problem)
{
    start_prepared(kit->start, kit->pod, kit_index(kit, name), problem, kit->now);
}

static inline void notifies(struct kit *kit, char name)
{
    start_notified_ready(kit->start, kit->pod, kit_index(kit, name), kit->now);
}

static inline void answers(struct kit *kit, char name, enum start_probe_kind kind, bool is_ok)
{
    start_answer(kit->start, kit->pod, kit->tickets[kit_index(kit, name)][kind], is_ok, kit->now);
}

static inline void stop(struct kit *kit, time_ms grace_ms)
{
    start_pod_stop(kit->start, kit->pod, grace_ms, kit->now);
}

/* Time passes, tick by tick as a host would do it. */
static inline void passes(struct kit *kit, time_ms ms)
{
    time_ms until = kit->now + ms;
    kit_drain(kit);
    while (start_deadline(kit->start) <= until) {
        if (start_deadline(kit->start) > kit->now)
            kit->now = start_deadline(kit->start);
        start_tick(kit->start, kit->now, 0);
        kit_drain(kit);
    }
    kit->now = until;
}

/* One after the other runs; what was written meanwhile is forgotten. */
static inline void bring_up(struct kit *kit, const char *names)
{
    for (; *names; names++) {
        kit_drain(kit);
        runs(kit, *names);
    }
    kit_drain(kit);
    str_clear(&kit->log);
}

static inline void assert_state(const struct kit *kit, char name, enum container_state state,
                                enum start_reason why)
{
    struct start_view view = kit_view(kit, name);
    if (view.state != state || view.why != why)
        fail_msg("%c is %s for %d, not %s for %d", name, container_state_name(view.state),
                 (int)view.why, container_state_name(state), (int)why);
}

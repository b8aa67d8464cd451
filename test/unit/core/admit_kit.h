// SPDX-License-Identifier: Apache-2.0
#pragma once
/* Stories about the admission engine. Quotas and requests are short texts:
 *     "one:cpu=10 two:cpu=5+2-1"   flavors in order; +borrowing limit, -lending limit
 *     "3*cpu=2,gpu=1; 50/20*cpu=1" pod sets; 50 pods, at least 20
 * The kit is the host: it writes decisions down, puts them again, and notes them as text:
 *     admit a one, admit b one*25, preempt c by a InClusterQueue,
 *     evict a PodsReadyTimeout/WaitForStart 1 +60,
 *     reserve a one, pass a, evict a AdmissionCheck +10,
 *     deactivate a, deactivate a too long, deactivate a refused, release a BackoffFinished, reset
 * a, wait b Pending Pauses are in seconds without their jitter. Waits are noted only when
 * kit.shows_waits is set. */
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/admit/admit.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECOND 1000
#define MINUTE 60000
#define KIT_SETS 4
#define KIT_PARTS 8

struct kit_wl {
    struct admit_workload facts;
    char key[48], uid[48], local[48], queue[48];
    struct admit_pod_set sets[KIT_SETS];
    char set_names[KIT_SETS][8];
    struct admit_need needs[KIT_SETS][KIT_PARTS];
    char resources[KIT_SETS][KIT_PARTS][16];
    struct admit_unfit unfit[2];
    struct admit_assigned assigned[KIT_SETS];
    struct admit_pick picks[KIT_SETS][KIT_PARTS];
    struct admit_failed failed[KIT_PARTS];
    struct admit_answered answers[KIT_PARTS];
};

struct kit {
    struct admit *admit;
    struct admit_settings settings;
    time_ms now;
    VEC(struct kit_wl *) wls;
    struct str log;
    bool shows_waits;
    bool keeps_pods; /* evicted ones stay until kit_gone() */
};

static inline void kit_open(struct kit *kit)
{
    *kit = (struct kit){.now = 1000000 * SECOND};
    admit_settings_default(&kit->settings);
    kit->admit = admit_new(&kit->settings, 1);
}

static inline void kit_close(struct kit *kit)
{
    admit_free(kit->admit);
    for (size_t i = 0; i < kit->wls.len; i++)
        mem_free(kit->wls.items[i]);
    vec_done(&kit->wls);
    str_done(&kit->log);
}

static inline void kit_settings(struct kit *kit)
{
    admit_set(kit->admit, &kit->settings, kit->now);
}

/* ---- quotas ---- */

struct kit_group {
    struct admit_group group;
    char text[256];
    const char *flavors[KIT_PARTS], *resources[KIT_PARTS];
    struct admit_quota quotas[KIT_PARTS * KIT_PARTS];
};

static inline int64_t kit_number(char **text)
{
    return strtoll(*text, text, 10) * 1000;
}

static inline void kit_read_quota(struct kit_group *out, char *text)
{
    struct admit_quota *quota = &out->quotas[out->group.n_flavors * out->group.n_resources];
    struct sv rest = sv_of(text);
    size_t n = 0;
    for (struct sv part = sv_cut(&rest, ','); part.len > 0; part = sv_cut(&rest, ','), n++) {
        char *at = strchr(part.ptr, '=');
        *at++ = '\0';
        out->resources[n] = part.ptr;
        quota[n] = (struct admit_quota){kit_number(&at), ADMIT_NO_LIMIT, ADMIT_NO_LIMIT};
        for (; *at == '+' || *at == '-';) {
            bool is_borrowing = *at++ == '+';
            *(is_borrowing ? &quota[n].borrowing : &quota[n].lending) = kit_number(&at);
        }
    }
    out->group.n_resources = n;
}

static inline void kit_read_group(struct kit_group *out, const char *text)
{
    (void)snprintf(out->text, sizeof(out->text), "%s", text);
    struct sv rest = sv_of(out->text);
    for (struct sv part = sv_cut(&rest, ' '); part.len > 0; part = sv_cut(&rest, ' ')) {
        ((char *)part.ptr)[part.len] = '\0';
        char *colon = strchr(part.ptr, ':');
        *colon = '\0';
        out->flavors[out->group.n_flavors] = part.ptr;
        kit_read_quota(out, colon + 1);
        out->group.n_flavors++;
    }
    out->group.resources = out->resources;
    out->group.flavors = out->flavors;
    out->group.quotas = out->quotas;
}

/* A queue with a local queue "ns/NAME"; `rules` may be NULL. */
static inline void kit_queue(struct kit *kit, const char *name, const char *cohort,
                             const char *quotas, const struct admit_queue *rules)
{
    struct kit_group group = {0};
    kit_read_group(&group, quotas);
    struct admit_queue queue = rules ? *rules : (struct admit_queue){.preempt_tries_next = true};
    queue.name = name;
    queue.cohort = cohort;
    queue.groups = &group.group;
    queue.n_groups = 1;
    struct err err = {0};
    for (size_t i = 0; i < group.group.n_flavors; i++)
        admit_put_flavor(kit->admit, group.flavors[i], kit->now);
    assert_int_equal(admit_put_queue(kit->admit, &queue, kit->now, &err), 0);
    char key[64];
    (void)snprintf(key, sizeof(key), "ns/%s", name);
    admit_put_local(kit->admit, &(struct admit_local){.key = key, .queue = name}, kit->now);
}

static inline void kit_cohort(struct kit *kit, const char *name, const char *parent,
                              const char *quotas)
{
    struct kit_group group = {0};
    kit_read_group(&group, quotas);
    struct admit_cohort cohort = {name, parent, &group.group, quotas[0] ? 1 : 0};
    struct err err = {0};
    assert_int_equal(admit_put_cohort(kit->admit, &cohort, kit->now, &err), 0);
}

/* ---- workloads ---- */

static inline struct kit_wl *kit_find(const struct kit *kit, const char *name)
{
    for (size_t i = 0; i < kit->wls.len; i++) {
        if (str_eq(strchr(kit->wls.items[i]->key, '/') + 1, name))
            return kit->wls.items[i];
    }
    fail_msg("no workload '%s'", name);
    return NULL;
}

static inline void kit_put(struct kit *kit, struct kit_wl *wl)
{
    struct err err = {0};
    if (admit_put_workload(kit->admit, &wl->facts, kit->now, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void kit_read_set(struct kit_wl *wl, struct sv text)
{
    size_t s = wl->facts.n_pod_sets++, n = 0;
    char copy[128], *at = copy;
    (void)snprintf(copy, sizeof(copy), "%.*s", (int)text.len, text.ptr);
    struct admit_pod_set *set = &wl->sets[s];
    (void)snprintf(wl->set_names[s], sizeof(wl->set_names[s]), "s%zu", s);
    *set = (struct admit_pod_set){.name = wl->set_names[s], .needs = wl->needs[s]};
    set->count = strtoll(at, &at, 10);
    if (*at == '/')
        set->min_count = strtoll(at + 1, &at, 10);
    for (; *at; n++) {
        char *name = at + 1, *equals = strchr(name, '=');
        (void)snprintf(wl->resources[s][n], 16, "%.*s", (int)(equals - name), name);
        at = equals + 1;
        wl->needs[s][n] = (struct admit_need){wl->resources[s][n], kit_number(&at)};
    }
    set->n_needs = n;
}

/* Not put yet: kit_put() does. */
static inline struct kit_wl *kit_new(struct kit *kit, const char *name, const char *queue,
                                     int64_t priority, const char *sets)
{
    struct kit_wl *wl = mem_zalloc(sizeof(*wl));
    (void)snprintf(wl->key, sizeof(wl->key), "ns/%s", name);
    (void)snprintf(wl->uid, sizeof(wl->uid), "uid-%s", name);
    (void)snprintf(wl->local, sizeof(wl->local), "ns/%s", queue);
    struct sv rest = sv_of(sets);
    for (struct sv part = sv_cut(&rest, ';'); part.len > 0; part = sv_cut(&rest, ';'))
        kit_read_set(wl, sv_trim(part));
    wl->facts.key = wl->key;
    wl->facts.uid = wl->uid;
    wl->facts.local = wl->local;
    wl->facts.pod_sets = wl->sets;
    wl->facts.priority = priority;
    wl->facts.created = kit->now;
    wl->facts.is_active = true;
    vec_push(&kit->wls, wl);
    return wl;
}

static inline struct kit_wl *kit_job(struct kit *kit, const char *name, const char *queue,
                                     int64_t priority, const char *sets)
{
    struct kit_wl *wl = kit_new(kit, name, queue, priority, sets);
    kit_put(kit, wl);
    return wl;
}

/* As if it had been admitted before, on one flavor. */
static inline struct kit_wl *kit_runs(struct kit *kit, const char *name, const char *queue,
                                      int64_t priority, const char *sets, const char *flavor)
{
    struct kit_wl *wl = kit_new(kit, name, queue, priority, sets);
    (void)snprintf(wl->queue, sizeof(wl->queue), "%s", queue);
    for (size_t s = 0; s < wl->facts.n_pod_sets; s++) {
        for (size_t i = 0; i < wl->sets[s].n_needs; i++)
            wl->picks[s][i] = (struct admit_pick){wl->needs[s][i].resource, flavor,
                                                  wl->needs[s][i].amount * wl->sets[s].count};
        wl->assigned[s] = (struct admit_assigned){wl->set_names[s], wl->sets[s].count, wl->picks[s],
                                                  wl->sets[s].n_needs};
    }
    wl->facts.has_quota = wl->facts.is_admitted = true;
    wl->facts.queue = wl->queue;
    wl->facts.assigned = wl->assigned;
    wl->facts.n_assigned = wl->facts.n_pod_sets;
    wl->facts.reserved_at = wl->facts.admitted_at = kit->now;
    wl->facts.ready = READY_YES;
    wl->facts.ready_since = kit->now;
    kit_put(kit, wl);
    return wl;
}

/* Its pods are gone: what the controller writes then. */
static inline void kit_gone(struct kit *kit, const char *name)
{
    struct kit_wl *wl = kit_find(kit, name);
    if (wl->facts.is_admitted && wl->facts.evicted != EVICTED_TOO_LONG)
        wl->facts.past_run_ms += kit->now - wl->facts.admitted_at;
    wl->facts.has_quota = wl->facts.is_admitted = false;
    wl->facts.is_held = wl->facts.evicted != EVICTED_PREEMPTED;
    wl->facts.held_by = wl->facts.evicted;
    wl->facts.ready = READY_WAITS_START;
    wl->facts.ready_since = kit->now;
    for (size_t i = 0; i < wl->facts.n_answers; i++)
        wl->answers[i].answer = ANSWER_PENDING;
    kit_put(kit, wl);
}

/* A check says something of it. */
static inline void kit_answer(struct kit *kit, const char *name, const char *check,
                              enum admit_answer answer, time_ms pause)
{
    struct kit_wl *wl = kit_find(kit, name);
    size_t i = 0;
    while (i < wl->facts.n_answers && !str_eq(wl->answers[i].check, check))
        i++;
    wl->answers[i] = (struct admit_answered){check, answer, kit->now, pause};
    wl->facts.answers = wl->answers;
    wl->facts.n_answers = i < wl->facts.n_answers ? wl->facts.n_answers : i + 1;
    kit_put(kit, wl);
}

static inline void kit_ready(struct kit *kit, const char *name, enum admit_ready ready)
{
    struct kit_wl *wl = kit_find(kit, name);
    wl->facts.ready = ready;
    wl->facts.ready_since = kit->now;
    kit_put(kit, wl);
}

static inline void kit_finish(struct kit *kit, const char *name)
{
    struct kit_wl *wl = kit_find(kit, name);
    wl->facts.is_finished = true;
    kit_put(kit, wl);
}

/* ---- decisions ---- */

static inline void kit_note(struct kit *kit, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (kit->log.len > 0)
        str_add(&kit->log, ", ");
    str_add(&kit->log, text);
}

static inline void kit_write_admit(struct kit *kit, struct kit_wl *wl,
                                   const struct admit_decision *decision)
{
    kit_note(kit, decision->asks_others ? "reserve %s" : "admit %s", wl->key + 3);
    for (size_t s = 0; s < decision->n_assigned; s++) {
        const struct admit_assigned *from = &decision->assigned[s];
        const char *flavor = NULL;
        for (size_t i = 0; i < from->n_picks; i++) {
            wl->picks[s][i] = from->picks[i];
            if (!flavor || !str_eq(flavor, from->picks[i].flavor))
                str_addf(&kit->log, "%c%s",
                         flavor  ? '+'
                         : s > 0 ? '/'
                                 : ' ',
                         from->picks[i].flavor);
            flavor = from->picks[i].flavor;
        }
        if (from->count != wl->sets[s].count)
            str_addf(&kit->log, "*%lld", (long long)from->count);
        wl->assigned[s] = *from;
        wl->assigned[s].pod_set = wl->set_names[s];
        wl->assigned[s].picks = wl->picks[s];
    }
    (void)snprintf(wl->queue, sizeof(wl->queue), "%s", decision->queue);
    wl->facts.has_quota = true;
    wl->facts.is_admitted = !decision->asks_others;
    wl->facts.queue = wl->queue;
    wl->facts.assigned = wl->assigned;
    wl->facts.n_assigned = decision->n_assigned;
    wl->facts.reserved_at = kit->now;
    wl->facts.admitted_at = wl->facts.is_admitted ? kit->now : 0;
    wl->facts.evicted = EVICTED_NOT;
    wl->facts.is_held = false;
    wl->facts.requeue_at = 0;
    wl->facts.ready = READY_WAITS_START;
    wl->facts.ready_since = kit->now;
}

/* The pause without its jitter, if that is in its bounds; else as it is. */
static inline time_ms kit_pause(const struct kit *kit, const struct admit_decision *decision)
{
    time_ms want = kit->settings.base_ms, is = decision->requeue_at - kit->now;
    for (int64_t i = 1; i < decision->requeue_count && want < kit->settings.max_ms; i++)
        want *= 2;
    want = want < kit->settings.max_ms ? want : kit->settings.max_ms;
    return is >= want && is <= want + want / 10 ? want : is;
}

static inline void kit_write_evict(struct kit *kit, struct kit_wl *wl,
                                   const struct admit_decision *decision)
{
    wl->facts.evicted = decision->reason;
    wl->facts.evicted_at = kit->now;
    wl->facts.first_evicted_at = decision->first_evicted_at;
    if (decision->reason == EVICTED_PREEMPTED) {
        kit_note(kit, "preempt %s by %s %s", wl->key + 3, decision->preemptor + 3,
                 admit_preempt_text(decision->preempt));
        return;
    }
    kit_note(kit, decision->type == DECIDED_DEACTIVATE ? "deactivate %s" : "evict %s %s",
             wl->key + 3, decision->text);
    if (decision->reason == EVICTED_TOO_LONG)
        str_add(&kit->log, " too long");
    if (decision->reason == EVICTED_REFUSED)
        str_add(&kit->log, " refused");
    if (decision->reason == EVICTED_CHECK && decision->requeue_at != 0)
        str_addf(&kit->log, " +%lld", (long long)(decision->requeue_at - kit->now) / SECOND);
    if (decision->cause[0])
        str_addf(&kit->log, "/%s", decision->cause);
    wl->facts.n_failed = decision->n_failed;
    wl->facts.failed = wl->failed;
    for (size_t i = 0; i < decision->n_failed; i++)
        wl->failed[i] = decision->failed[i];
    wl->facts.requeue_count = decision->requeue_count;
    wl->facts.requeue_at = decision->requeue_at;
    if (decision->reason == EVICTED_READY_TIMEOUT)
        str_addf(&kit->log, " %lld +%lld", (long long)decision->requeue_count,
                 (long long)kit_pause(kit, decision) / SECOND);
    if (decision->type == DECIDED_DEACTIVATE)
        wl->facts.is_active = false;
    if (decision->reason == EVICTED_TOO_LONG)
        wl->facts.past_run_ms = 0;
}

static inline void kit_write(struct kit *kit, const struct admit_decision *decision)
{
    struct kit_wl *wl = kit_find(kit, decision->key + 3);
    assert_string_equal(decision->uid, wl->uid);
    switch (decision->type) {
    case DECIDED_ADMIT:
        kit_write_admit(kit, wl, decision);
        break;
    case DECIDED_PASS:
        kit_note(kit, "pass %s", wl->key + 3);
        wl->facts.is_admitted = true;
        wl->facts.admitted_at = wl->facts.ready_since = kit->now;
        break;
    case DECIDED_EVICT:
    case DECIDED_DEACTIVATE:
        kit_write_evict(kit, wl, decision);
        break;
    case DECIDED_RELEASE:
        kit_note(kit, "release %s %s", wl->key + 3, decision->text);
        wl->facts.is_held = false;
        wl->facts.requeue_at = 0;
        wl->facts.requeue_count = decision->requeue_count;
        if (str_eq(decision->text, "Reactivated")) {
            wl->facts.n_failed = 0;
            wl->facts.first_evicted_at = 0;
        }
        break;
    case DECIDED_RESET:
        kit_note(kit, "reset %s", wl->key + 3);
        wl->facts.requeue_count = 0;
        wl->facts.requeue_at = wl->facts.first_evicted_at = 0;
        wl->facts.n_failed = 0;
        break;
    case DECIDED_WAIT:
        if (kit->shows_waits)
            kit_note(kit, "wait %s %s", wl->key + 3, decision->text);
        break;
    }
    if (decision->type == DECIDED_WAIT)
        return;
    kit_put(kit, wl);
    if ((decision->type == DECIDED_EVICT || decision->type == DECIDED_DEACTIVATE) &&
        wl->facts.has_quota && !kit->keeps_pods)
        kit_gone(kit, wl->key + 3);
}

static inline void kit_step_once(struct kit *kit)
{
    struct admit_decisions decisions;
    admit_step(kit->admit, kit->now, &decisions);
    const char *wrong = admit_check(kit->admit);
    if (wrong)
        fail_msg("%s (after %s)", wrong, str_text(&kit->log));
    for (size_t i = 0; i < decisions.len; i++)
        kit_write(kit, &decisions.items[i]);
    wrong = admit_check(kit->admit);
    if (wrong)
        fail_msg("%s (after %s)", wrong, str_text(&kit->log));
}

/* Until nothing more is to be done at this time. */
static inline void kit_step(struct kit *kit)
{
    for (int i = 0; i == 0 || admit_deadline(kit->admit) <= kit->now; i++) {
        assert_true(i < 1000);
        kit_step_once(kit);
    }
}

/* Time passes; everything due in between happens when it is due. */
static inline void kit_pass(struct kit *kit, time_ms span)
{
    time_ms end = kit->now + span;
    for (;;) {
        kit_step(kit);
        time_ms next = admit_deadline(kit->admit);
        if (next > end)
            break;
        kit->now = next;
    }
    kit->now = end;
    kit_step(kit);
}

#define KIT_EXPECT(kit, text)                                                                      \
    do {                                                                                           \
        kit_step(kit);                                                                             \
        assert_string_equal(str_text(&(kit)->log), text);                                          \
        str_clear(&(kit)->log);                                                                    \
    } while (0)

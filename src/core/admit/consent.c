// SPDX-License-Identifier: Apache-2.0
/* Admission checks. A queue names checks, all or some of them for certain flavors only; a workload
 * that was given quota there is admitted when each of them says Ready. Who answers is not known
 * here: answers are facts like any other. What a check says that nobody asks for does not count. */
#include "core/admit/admit_internal.h"

void consent_write(struct str *out, const struct admit_queue *from)
{
    for (size_t i = 0; i < from->n_checks; i++) {
        const struct admit_check *check = &from->checks[i];
        str_addf(out, "\x1d%s,%d%d", check->name, check->is_missing, check->is_inactive);
        for (size_t f = 0; f < check->n_flavors; f++)
            str_addf(out, "\x1f%s", check->flavors[f]);
    }
}

void consent_drop(struct queue *queue)
{
    for (size_t i = 0; i < queue->consents.len; i++)
        mem_free(queue->consents.items[i].flavors);
    vec_clear(&queue->consents);
}

void consent_put(struct admit *admit, struct queue *queue, const struct admit_queue *from)
{
    consent_drop(queue);
    for (size_t i = 0; i < from->n_checks; i++) {
        const struct admit_check *check = &from->checks[i];
        struct flavor **flavors = mem_zalloc((check->n_flavors + 1) * sizeof(struct flavor *));
        for (size_t f = 0; f < check->n_flavors; f++)
            flavors[f] = flavor_of(admit, check->flavors[f]);
        vec_push(&queue->consents,
                 ((struct consent){intern(admit, check->name), flavors, check->n_flavors,
                                   check->is_missing, check->is_inactive}));
    }
}

void consent_answers(struct admit *admit, struct wl *wl, const struct admit_workload *from)
{
    vec_clear(&wl->answers);
    for (size_t i = 0; i < from->n_answers; i++) {
        const struct admit_answered *answer = &from->answers[i];
        vec_push(&wl->answers, ((struct answered){intern(admit, answer->check), answer->answer,
                                                  answer->since, answer->pause_ms}));
    }
}

/* ---- who is asked, and what they say ---- */

static bool has_flavor(const struct wl *wl, const struct flavor *flavor)
{
    for (size_t i = 0; i < wl->n_grants; i++) {
        const take_vec *takes = &wl->grants[i].takes;
        for (size_t j = 0; j < takes->len; j++) {
            if (takes->items[j].cell && takes->items[j].cell->flavor == flavor)
                return true;
        }
    }
    return false;
}

static bool is_asked(const struct consent *consent, const struct wl *wl)
{
    for (size_t i = 0; i < consent->n_flavors; i++) {
        if (has_flavor(wl, consent->flavors[i]))
            return true;
    }
    return consent->n_flavors == 0;
}

static const struct answered *answer_of(const struct wl *wl, const char *check)
{
    for (size_t i = 0; i < wl->answers.len; i++) {
        if (wl->answers.items[i].check == check) /* interned */
            return &wl->answers.items[i];
    }
    return NULL;
}

enum admit_answer consent_of(const struct wl *wl, const struct queue *queue, const char **ret_check)
{
    static const int WEIGHT[] = {
        [ANSWER_READY] = 0, [ANSWER_PENDING] = 1, [ANSWER_RETRY] = 2, [ANSWER_REJECTED] = 3};
    enum admit_answer worst = ANSWER_READY;
    for (size_t i = 0; i < queue->consents.len; i++) {
        const struct consent *consent = &queue->consents.items[i];
        if (!is_asked(consent, wl))
            continue;
        const struct answered *answered = answer_of(wl, consent->name);
        enum admit_answer answer = answered ? answered->answer : ANSWER_PENDING;
        if (WEIGHT[answer] <= WEIGHT[worst])
            continue;
        worst = answer;
        if (ret_check)
            *ret_check = consent->name;
    }
    return worst;
}

/* The latest end wins: each of them has to be content. */
time_ms consent_retry_at(const struct wl *wl, const struct queue *queue, time_ms now)
{
    time_ms latest = 0;
    for (size_t i = 0; i < queue->consents.len; i++) {
        const struct consent *consent = &queue->consents.items[i];
        const struct answered *answered = answer_of(wl, consent->name);
        if (!is_asked(consent, wl) || !answered || answered->answer != ANSWER_RETRY ||
            answered->pause_ms <= 0)
            continue;
        time_ms end = (answered->since ? answered->since : now) + answered->pause_ms;
        latest = end > latest ? end : latest;
    }
    return latest;
}

bool admit_checks(struct admit *admit, const char *key, const char *const **ret_names,
                  size_t *ret_n)
{
    const struct wl *wl = map_get(admit->wls, key);
    const struct queue *queue = wl ? wl->holds_in : NULL;
    if (!queue || !queue->is_known)
        return false;
    size_t n = 0;
    arena_reset(&admit->view);
    const char **names = arena_alloc(&admit->view, (queue->consents.len + 1) * sizeof(*names));
    for (size_t i = 0; i < queue->consents.len; i++) {
        if (is_asked(&queue->consents.items[i], wl))
            names[n++] = queue->consents.items[i].name;
    }
    *ret_names = names;
    *ret_n = n;
    return true;
}

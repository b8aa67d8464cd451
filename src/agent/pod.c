// SPDX-License-Identifier: Apache-2.0
/* Nobody but us writes our epoch, and what we want never goes down. So a pod that is further than
 * we want was tampered with, and is put right.
 *
 * Reading is a patch that changes nothing: the role in JobSet's proposal allows an agent to patch
 * pods and not to get them, and the answer to a patch is the pod. */
#include "agent/pod.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LIMIT_MS 10000
#define MERGE "application/merge-patch+json"
#define JSON_PATCH "application/json-patch+json"
#define EPOCH_POINTER "/metadata/annotations/jobset.sigs.k8s.io~1epoch"
#define ATTEMPT_POINTER "/metadata/annotations/jobset.sigs.k8s.io~1in-place-restart-attempt"

static void on_answer(void *arg, const struct reading *reading)
{
    struct pod *pod = arg;
    pod->answer = *reading;
}

static int on_body(void *arg, const char *data, size_t len)
{
    struct pod *pod = arg;
    return reader_feed(&pod->reader, data, len);
}

/* ---- asking ---- */

/* From one epoch to another: fails when the pod is not at the first any more. */
static const char *swap_epochs(const struct pod *pod, char *body, size_t size)
{
    (void)snprintf(body, size,
                   "[{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":\"%s\"},"
                   "{\"op\":\"test\",\"path\":\"" EPOCH_POINTER "\",\"value\":\"%s\"},"
                   "{\"op\":\"add\",\"path\":\"" EPOCH_POINTER "\",\"value\":\"%lld\"},"
                   "{\"op\":\"add\",\"path\":\"" ATTEMPT_POINTER "\",\"value\":\"%lld\"}]",
                   pod->uid, pod->epoch_text, (long long)pod->wanted, (long long)pod->wanted - 1);
    return JSON_PATCH;
}

/* The first epoch of a pod: fails when anything about the pod is not as we know it. */
static const char *first_epoch(const struct pod *pod, char *body, size_t size)
{
    (void)snprintf(body, size,
                   "{\"metadata\":{\"uid\":\"%s\",\"resourceVersion\":\"%s\",\"annotations\":{"
                   "\"" EPOCH_NOTE "\":\"%lld\",\"" EPOCH_NOTE_LATER "\":\"%lld\"}}}",
                   pod->uid, pod->version, (long long)pod->wanted, (long long)pod->wanted - 1);
    return MERGE;
}

static const char *make_body(const struct pod *pod, char *body, size_t size)
{
    if (!pod->is_known) {
        (void)snprintf(body, size, "{}");
        return MERGE;
    }
    return member_epoch(pod->epoch_text) > 0 ? swap_epochs(pod, body, size)
                                             : first_epoch(pod, body, size);
}

static void begin(struct pod *pod, time_ms now, struct err *err)
{
    char target[700], body[900];
    const char *type = make_body(pod, body, sizeof(body));
    (void)snprintf(target, sizeof(target),
                   "/api/v1/namespaces/%s/pods/%s?fieldManager=muster-agent", pod->options.ns,
                   pod->options.name);
    struct ask ask = {.method = "PATCH",
                      .target = target,
                      .content_type = type,
                      .body = body,
                      .limit_ms = LIMIT_MS,
                      .on_body = on_body,
                      .arg = pod};
    reader_init(&pod->reader, false, on_answer, pod);
    pod->answer = (struct reading){0};
    int r = exchange_begin(&pod->x, &ask, now, err);
    if (r < 0)
        pod->retry_at = now + pause_after(&pod->pause, r);
}

/* ---- the answer ---- */

static void learn(struct pod *pod)
{
    const struct reading *answer = &pod->answer;
    if (pod->uid[0] != '\0' && strcmp(pod->uid, answer->uid) != 0) {
        pod->is_replaced = true;
        pod->options.on_replaced(pod->options.arg);
        return;
    }
    memcpy(pod->uid, answer->uid, sizeof(pod->uid));
    memcpy(pod->version, answer->version, sizeof(pod->version));
    memcpy(pod->epoch_text, answer->epoch, sizeof(pod->epoch_text));
    memcpy(pod->attempt_text, answer->attempt, sizeof(pod->attempt_text));
    pod->epoch = reading_epoch(answer);
    pod->is_known = true;
    if (pod->wanted == 0 || pod->epoch == pod->wanted) {
        say_forget(&pod->said);
        pause_reset(&pod->pause);
        if (pod->options.where->socket != NULL)
            exchange_close(
                &pod->x); /* a new one costs nothing there; each that waits costs memory */
    }
    if (!pod->is_told) {
        pod->is_told = true;
        pod->options.on_known(pod->options.arg);
    } else if (pod->wanted > 0 && pod->epoch == pod->wanted) {
        pod->options.on_written(pod->options.arg, pod->epoch);
    }
}

static void refused(struct pod *pod, time_ms now, struct err *err)
{
    const struct pod_options *o = &pod->options;
    int status = pod->x.answer.status;
    bool was_known = pod->is_known, is_first = pod->pause.failures == 0;
    pod->retry_at = now + pause_next(&pod->pause, (time_ms)pod->x.answer.retry_after_s * 1000);
    pod->is_known = false; /* whatever it was, look again first */
    if (was_known && is_first && (status == 409 || status == 422)) {
        pod->retry_at = now; /* the pod is not what we thought */
        return;
    }
    (void)err_set(err, -EPROTO, "the server refuses to change pod %s/%s: %d %s", o->ns, o->name,
                  status, pod->answer.message);
    if (status == 401)
        (void)err_hint(err, "its token is missing, wrong or has expired: see --token-file");
    if (status == 403)
        (void)err_hint(err,
                       "its token needs role agent for this pod; on Kubernetes, patch of pods");
    if (status == 404)
        (void)err_hint(err, "is POD_NAME (--pod) the name of the pod this runs in?");
    say_once(&pod->said, err);
}

static void answered(struct pod *pod, time_ms now, struct err *err)
{
    if (pod->x.answer.status != 200 || pod->answer.uid[0] == '\0')
        refused(pod, now, err);
    else
        learn(pod);
}

/* ---- the door ---- */

void pod_init(struct pod *pod, const struct pod_options *options)
{
    pod->options = *options;
    pod->pause = (struct pause){.rng = options->rng};
    if (options->uid != NULL)
        (void)snprintf(pod->uid, sizeof(pod->uid), "%s", options->uid);
    exchange_init(&pod->x, options->where);
}

void pod_want(struct pod *pod, int64_t epoch)
{
    pod->wanted = epoch;
}

static bool is_settled(const struct pod *pod)
{
    return pod->is_replaced || (pod->is_known && (pod->wanted == 0 || pod->epoch == pod->wanted));
}

void pod_step(struct pod *pod, time_ms now)
{
    struct err err = {0};
    if (!pod->x.is_busy && !is_settled(pod) && now >= pod->retry_at) {
        begin(pod, now, &err);
        if (err.code != 0 && err.code != -EAGAIN)
            say_once(&pod->said, &err);
    }
    if (!pod->x.is_busy)
        return;
    int r = exchange_step(&pod->x, now, &err);
    if (r == 1)
        answered(pod, now, &err);
    if (r >= 0)
        return;
    pod->is_known = false; /* it may have arrived */
    if (r == -EPIPE) {
        pod->retry_at = now; /* a kept connection was closed: nothing is wrong */
        return;
    }
    say_once(&pod->said, &err);
    pod->retry_at = now + pause_next(&pod->pause, 0);
}

time_ms pod_due(const struct pod *pod)
{
    if (pod->x.is_busy)
        return pod->x.deadline;
    return is_settled(pod) ? TIME_NEVER : pod->retry_at;
}

// SPDX-License-Identifier: Apache-2.0
#include "agent/watch.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Renewed now and then: a stream that a proxy has silently dropped does not stay unnoticed. */
#define LIFE_MIN_S 300
#define LIFE_SPREAD_S 300
#define GONE 410

static void on_event(void *arg, const struct reading *reading)
{
    struct watch *watch = arg;
    if (strcmp(reading->type, "ERROR") == 0) {
        watch->is_expired = true;
        watch->error_code = reading->code;
        return;
    }
    if (reading->version[0] != '\0')
        memcpy(watch->version, reading->version, sizeof(watch->version));
    pause_reset(&watch->pause);
    say_forget(&watch->said);
    if (strcmp(reading->type, "ADDED") == 0 || strcmp(reading->type, "MODIFIED") == 0)
        watch->options.on_jobset(watch->options.arg, reading);
}

static void on_refusal(void *arg, const struct reading *reading)
{
    struct watch *watch = arg;
    watch->refusal = *reading;
}

static int on_body(void *arg, const char *data, size_t len)
{
    struct watch *watch = arg;
    if (watch->x.answer.status != 200) {
        if (watch->reader.on_reading != on_refusal)
            reader_init(&watch->reader, false, on_refusal, watch);
        (void)reader_feed(&watch->reader, data, len); /* the code says enough */
        return 0;
    }
    int r = reader_feed(&watch->reader, data, len);
    return r < 0 ? r : watch->is_expired ? -ESTALE : 0;
}

static void begin(struct watch *watch, time_ms now, struct err *err)
{
    const struct watch_options *o = &watch->options;
    char target[1024];
    long long life = LIFE_MIN_S + (long long)rng_below(o->rng, LIFE_SPREAD_S);
    (void)snprintf(target, sizeof(target),
                   "/apis/jobset.x-k8s.io/v1alpha2/namespaces/%s/jobsets?watch=1"
                   "&allowWatchBookmarks=true&timeoutSeconds=%lld"
                   "&fieldSelector=metadata.name%%3D%s%s%s",
                   o->ns, life, o->jobset, watch->version[0] ? "&resourceVersion=" : "",
                   watch->version);
    struct ask ask = {.method = "GET", .target = target, .on_body = on_body, .arg = watch};
    reader_init(&watch->reader, true, on_event, watch);
    watch->refusal = (struct reading){0};
    watch->is_expired = false;
    int r = exchange_begin(&watch->x, &ask, now, err);
    if (r < 0)
        watch->retry_at = now + pause_after(&watch->pause, r);
}

static void refused(struct watch *watch, struct err *err)
{
    const struct watch_options *o = &watch->options;
    int status = watch->x.answer.status;
    (void)err_set(err, -EPROTO, "the server refuses to show JobSet %s/%s: %d %s", o->ns, o->jobset,
                  status, watch->refusal.message);
    if (status == 401)
        (void)err_hint(err, "its token is missing, wrong or has expired: see --token-file; "
                            "'muster token create --role agent' makes one");
    if (status == 403)
        (void)err_hint(err, "its token needs role agent for this namespace, JobSet and pod; on "
                            "Kubernetes, get, list and watch of jobsets");
    if (status == 404)
        (void)err_hint(err, "the server does not know JobSets: are their definitions installed?");
}

/* The stream is over, for whatever reason: again, a little later. */
static void ended(struct watch *watch, int r, time_ms now, struct err *err)
{
    int status = watch->x.answer.status;
    time_ms asked = 0;
    if (watch->is_expired || (r == 1 && status == GONE)) {
        exchange_close(&watch->x);
        if (watch->error_code == GONE || status == GONE)
            watch->version[0] = '\0';
    } else if (r == 1 && status != 200) {
        asked = (time_ms)watch->x.answer.retry_after_s * 1000;
        refused(watch, err);
        say_once(&watch->said, err);
    } else if (r < 0 && r != -EPIPE) {
        say_once(&watch->said, err);
    }
    watch->retry_at = now + pause_next(&watch->pause, asked);
}

void watch_init(struct watch *watch, const struct watch_options *options)
{
    watch->options = *options;
    watch->pause = (struct pause){.rng = options->rng};
    exchange_init(&watch->x, options->where);
    watch->retry_at = 0;
}

void watch_step(struct watch *watch, time_ms now)
{
    struct err err = {0};
    if (!watch->x.is_busy && now >= watch->retry_at) {
        begin(watch, now, &err);
        if (err.code != 0 && err.code != -EAGAIN)
            say_once(&watch->said, &err);
    }
    if (!watch->x.is_busy)
        return;
    int r = exchange_step(&watch->x, now, &err);
    if (r != 0)
        ended(watch, r, now, &err);
}

time_ms watch_due(const struct watch *watch)
{
    return watch->x.is_busy ? watch->x.deadline : watch->retry_at;
}

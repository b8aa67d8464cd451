// SPDX-License-Identifier: Apache-2.0
/* Metrics of admission, with Kueue's names and buckets where Kueue has such a metric. A series is
 * there from the first time that something happened which it counts. */
#include "base/histogram.h"
#include "control/admission.h"
#include <inttypes.h>

struct series {
    uint64_t count;
    struct histogram times;
};

static const double SECONDS[] = {1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240};

static const struct {
    const char *name, *help;
    bool is_time;
} METER[METERS] = {
    [METER_ADMITTED] = {"kueue_admitted_workloads_total", "Admissions.", false},
    [METER_FINISHED] = {"kueue_finished_workloads_total", "Workloads that have ended.", false},
    [METER_EVICTED] = {"kueue_evicted_workloads_total", "Evictions.", false},
    [METER_EVICTED_ONCE] = {"kueue_evicted_workloads_once_total",
                            "Workloads that were evicted for a reason at least once.", false},
    [METER_PREEMPTED] = {"kueue_preempted_workloads_total",
                         "Workloads evicted for the sake of one of this queue.", false},
    [METER_REQUEUED] = {"muster_requeued_workloads_total",
                        "Workloads that were put back into their queue.", false},
    [METER_RESET] = {"muster_healthy_workloads_total",
                     "Workloads whose retries were forgotten since they ran well for long enough.",
                     false},
    [METER_ADMISSION_WAIT] = {"kueue_admission_wait_time_seconds",
                              "From creation, or from being queued again, to admission.", true},
    [METER_READY_WAIT] = {"kueue_ready_wait_time_seconds",
                          "From creation, or from being queued again, to all pods ready.", true},
    [METER_UNTIL_READY] = {"kueue_admitted_until_ready_wait_time_seconds",
                           "From admission to all pods ready.", true},
    [METER_READY_TO_EVICTED] = {"kueue_pods_ready_to_evicted_time_seconds",
                                "From all pods ready to the eviction of a workload that was ready.",
                                true},
    [METER_EVICTION] = {"kueue_workload_eviction_latency_seconds",
                        "From an eviction to the moment when its quota is free.", true},
};

static struct series *series_of(struct admission *admission, enum meter meter, const char *labels)
{
    struct map **map = &admission->meters[meter];
    if (*map == NULL)
        *map = map_new();
    struct series *series = map_get(*map, labels);
    if (series != NULL)
        return series;
    series = mem_zalloc(sizeof(*series));
    histogram_init(&series->times, SECONDS, ARRAY_LEN(SECONDS));
    (void)map_put(*map, labels, series);
    return series;
}

void meter_count(struct admission *admission, enum meter meter, const char *labels)
{
    series_of(admission, meter, labels)->count++;
}

void meter_time(struct admission *admission, enum meter meter, const char *labels, time_ms span)
{
    histogram_add(&series_of(admission, meter, labels)->times, span > 0 ? (double)span / 1000 : 0);
}

static bool free_series(void *arg, const char *key, void *value)
{
    (void)arg, (void)key;
    mem_free(value);
    return true;
}

void meter_done(struct admission *admission)
{
    for (size_t i = 0; i < METERS; i++) {
        if (admission->meters[i] != NULL)
            (void)map_each(admission->meters[i], free_series, NULL);
        map_free(admission->meters[i]);
    }
}

/* ---- printing ---- */

struct print {
    struct str *out;
    struct admission *admission;
    size_t which;
};

static void print_head(struct str *out, const char *name, const char *help, const char *type)
{
    str_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static bool print_series(void *arg, const char *labels, void *value)
{
    const struct print *print = arg;
    const struct series *series = value;
    const char *name = METER[print->which].name;
    if (METER[print->which].is_time)
        histogram_print(&series->times, name, labels, print->out);
    else
        str_addf(print->out, "%s{%s} %" PRIu64 "\n", name, labels, series->count);
    return true;
}

static const struct {
    const char *name, *help;
} GAUGE[] = {{"kueue_pending_workloads",
              "Workloads that wait: active ones for their turn, inadmissible ones for a change."},
             {"kueue_reserving_active_workloads", "Workloads that have quota."},
             {"kueue_admitted_active_workloads", "Workloads that are admitted."}};

static bool print_gauge(void *arg, const char *queue, void *value)
{
    const struct print *print = arg;
    struct admit_counts counts = {0};
    (void)value;
    admit_queue_counts(print->admission->engine, queue, &counts);
    const char *name = GAUGE[print->which].name;
    if (print->which > 0) {
        str_addf(print->out, "%s{cluster_queue=\"%s\"} %zu\n", name, queue,
                 print->which == 1 ? counts.reserving : counts.admitted);
        return true;
    }
    size_t active = admit_queue_active(print->admission->engine, queue);
    str_addf(print->out,
             "%s{cluster_queue=\"%s\",status=\"active\"} %zu\n"
             "%s{cluster_queue=\"%s\",status=\"inadmissible\"} %zu\n",
             name, queue, active, name, queue, counts.pending - active);
    return true;
}

void meter_print(struct control *control, struct str *out)
{
    struct print print = {.out = out, .admission = control_state(control)};
    for (print.which = 0; print.which < ARRAY_LEN(GAUGE); print.which++) {
        print_head(out, GAUGE[print.which].name, GAUGE[print.which].help, "gauge");
        (void)map_each(print.admission->queues, print_gauge, &print);
    }
    for (print.which = 0; print.which < METERS; print.which++) {
        const char *type = METER[print.which].is_time ? "histogram" : "counter";
        print_head(out, METER[print.which].name, METER[print.which].help, type);
        if (print.admission->meters[print.which] != NULL)
            (void)map_each(print.admission->meters[print.which], print_series, &print);
    }
}

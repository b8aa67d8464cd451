// SPDX-License-Identifier: Apache-2.0
#include "control/pods/settings.h"
#include "base/quantity.h"
#include "model/percent.h"

void node_settings_default(struct node_settings *settings, double cores)
{
    *settings = (struct node_settings){
        .starting_weight = 0.25,
        .log_bytes = 10 << 20,
        .log_files = 5,
    };
    start_settings_default(&settings->start, cores);
}

/* ---- reading ---- */

/* Numbers may be written as text: one form for both. Empty when it is neither. */
static struct sv written(yyjson_val *val, struct str *number)
{
    if (yyjson_is_num(val)) {
        json_write_val(val, number);
        return (struct sv){number->data, number->len};
    }
    return (struct sv){yyjson_get_str(val), yyjson_get_len(val)};
}

static bool read_quantity(yyjson_val *val, quantity *ret)
{
    scoped_str number = {0};
    struct sv text = written(val, &number);
    return text.ptr != NULL && quantity_parse(text, ret, NULL) >= 0;
}

static void put_number(void *at, yyjson_val *val)
{
    quantity q;
    if (read_quantity(val, &q))
        *(double *)at = (double)q / 1e9; /* its unit is 10^-9 */
}

static void put_count(void *at, yyjson_val *val)
{
    quantity q;
    if (read_quantity(val, &q) && q > 0 && q <= quantity_of(INT32_MAX))
        *(int *)at = (int)quantity_value(q);
}

static void put_bytes(void *at, yyjson_val *val)
{
    quantity q;
    if (read_quantity(val, &q) && q > 0)
        *(int64_t *)at = quantity_value(q);
}

static void put_percent(void *at, yyjson_val *val)
{
    scoped_str number = {0};
    struct sv text = written(val, &number);
    double percent = 0;
    if (text.ptr != NULL && percent_parse(text, &percent) == NULL)
        *(double *)at = percent;
}

static void put_span(void *at, yyjson_val *val)
{
    time_ms span = 0;
    if (yyjson_is_str(val) && duration_parse(written(val, NULL), &span, NULL) >= 0 && span > 0)
        *(time_ms *)at = span;
}

static void put_ignore(void *at, yyjson_val *val)
{
    *(bool *)at = yyjson_equals_str(val, "Ignore");
}

#define AT(member) offsetof(struct node_settings, member)

// clang-format off
static const struct {
    const char *path;
    void (*put)(void *at, yyjson_val *val);
    size_t offset;
} FIELDS[] = {
    {"spec.throttling.maxStartingContainersPerCore", put_number, AT(start.gate.max_starting_per_core)},
    {"spec.throttling.maxStarting", put_number, AT(start.gate.max_starting)},
    {"spec.throttling.maxRate", put_number, AT(start.gate.max_rate)},
    {"spec.throttling.burst", put_count, AT(start.gate.burst)},
    {"spec.throttling.minRate", put_number, AT(start.gate.min_rate)},
    {"spec.throttling.maxCPU", put_percent, AT(start.gate.max_cpu)},
    {"spec.throttling.maxIO", put_percent, AT(start.gate.max_io)},
    {"spec.throttling.maxPressure", put_percent, AT(start.gate.max_pressure)},
    {"spec.throttling.maxLoadAverageMultiplier", put_number, AT(start.gate.max_load)},
    {"spec.throttling.cpuWindow", put_span, AT(start.gate.cpu_window_ms)},
    {"spec.throttling.ioWindow", put_span, AT(start.gate.io_window_ms)},
    {"spec.throttling.pressureWindow", put_span, AT(start.gate.pressure_window_ms)},
    {"spec.throttling.startTimeout", put_span, AT(start.start_timeout_ms)},
    {"spec.startingWeight", put_number, AT(starting_weight)},
    {"spec.restartBackoff.initial", put_span, AT(start.backoff_first_ms)},
    {"spec.restartBackoff.max", put_span, AT(start.backoff_max_ms)},
    {"spec.restartBackoff.resetAfter", put_span, AT(start.backoff_reset_ms)},
    {"spec.logs.maxSize", put_bytes, AT(log_bytes)},
    {"spec.logs.maxFiles", put_count, AT(log_files)},
    {"spec.images", put_ignore, AT(ignore_images)},
};
// clang-format on

void node_settings_add(struct node_settings *settings, yyjson_val *root)
{
    for (size_t i = 0; i < ARRAY_LEN(FIELDS); i++) {
        yyjson_val *val = json_at(root, FIELDS[i].path);
        if (val != NULL && !yyjson_is_null(val))
            FIELDS[i].put((char *)settings + FIELDS[i].offset, val);
    }
    /* Two objects that are right by themselves may not be together. */
    struct start_settings *start = &settings->start;
    if (start->backoff_max_ms < start->backoff_first_ms)
        start->backoff_max_ms = start->backoff_first_ms;
}

void node_settings_find(const struct cache *cache, const char *node, struct node_settings *settings)
{
    const char *const names[] = {"default", node};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct obj *config = cache_get(cache, &KIND_NODECONFIG, "", names[i]);
        if (config != NULL)
            node_settings_add(settings, config->root);
    }
}

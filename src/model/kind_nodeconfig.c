// SPDX-License-Identifier: Apache-2.0
/* How a node starts what it runs. No field has a default in the table: what an object does not say
 * is left to the one called "default", and after that to the node (control/pods/settings.c). */
#include "base/quantity.h"
#include "model/cell.h"
#include "model/kind.h"
#include "model/percent.h"
#include "model/rules.h"

#define MUSTER_V1ALPHA1(name) "dev.muster.v1alpha1." name
#define COUNT_MAX 1000000
#define SECOND_MS 1000
#define HOUR_MS (3600 * SECOND_MS)

// clang-format off
static const struct field THROTTLING_FIELDS[] = {
    {"maxStartingContainersPerCore", F_QUANTITY, ONE, RANGE, .min = 0, .max = COUNT_MAX,
     .doc = "How many containers may be starting for each core; the product is rounded down, and is "
            "at least 1. Fractions are for programs that use several cores while they start. "
            "1 when not set; 0 stops all starts."},
    {"maxStarting", F_QUANTITY, ONE, RANGE, .min = 0, .max = COUNT_MAX,
     .doc = "How many containers may be starting, whatever the number of cores; the smaller of the "
            "two limits holds. No limit when not set; 0 stops all starts."},
    {"maxRate", F_QUANTITY, ONE, RANGE, .min = 0, .max = COUNT_MAX,
     .doc = "Starts a second, evenly spaced: 10 is one every 100 ms. Nothing overrides it. No limit "
            "when not set; 0 stops all starts."},
    {"burst", F_QUANTITY, ONE, RANGE, .min = 1, .max = COUNT_MAX,
     .doc = "Starts that maxRate lets happen at once after a pause. 1 when not set."},
    {"minRate", F_QUANTITY, ONE, RANGE, .min = 0, .max = COUNT_MAX,
     .doc = "Starts a second that happen whatever the other limits say, except maxRate and a 0: 0.1 "
            "is one every 10 s. Keeps containers that wait for each other, or a machine that stays "
            "busy, from stopping all others for good. 0.1 when not set; 0 is none."},
    {"maxCPU", F_PERCENT, ONE,
     .doc = "Nothing starts while all cores together were busier than this in the last cpuWindow. No "
            "limit when not set; 0 stops all starts."},
    {"maxIO", F_PERCENT, ONE,
     .doc = "Nothing starts while somebody waited for a disk for more than this part of the last "
            "ioWindow. No limit when not set; 0 stops all starts."},
    {"maxPressure", F_PERCENT, ONE,
     .doc = "Nothing starts while somebody waited for a CPU for more than this part of the last "
            "pressureWindow. No limit when not set; 0 stops all starts."},
    {"maxLoadAverageMultiplier", F_QUANTITY, ONE, RANGE, .min = 0, .max = COUNT_MAX,
     .doc = "Nothing starts while the load average of one minute is at this much for each core or "
            "above. It falls slowly, so maxPressure is the better limit. No limit when not set; 0 "
            "stops all starts."},
    {"cpuWindow", F_DURATION, ONE, .doc = "The time over which maxCPU is averaged. 10s when not set."},
    {"ioWindow", F_DURATION, ONE, .doc = "The time over which maxIO is averaged. 10s when not set."},
    {"pressureWindow", F_DURATION, ONE,
     .doc = "The time over which maxPressure is averaged. 10s when not set."},
    {"startTimeout", F_DURATION, ONE,
     .doc = "A container that is not ready this long after it started has failed, and another may "
            "start in its place; waiting for its turn does not count. 5m when not set."},
    {0}};

static const struct field BACKOFF_FIELDS[] = {
    {"initial", F_DURATION, ONE,
     .doc = "Wait before a container that failed starts again; doubles each time. 10s when not set."},
    {"max", F_DURATION, ONE, .doc = "The longest wait. 5m when not set."},
    {"resetAfter", F_DURATION, ONE,
     .doc = "A container that ran this long begins with the first wait again. 10m when not set."},
    {0}};

static const struct field LOGS_FIELDS[] = {
    {"maxSize", F_QUANTITY, ONE, RANGE, .min = 1024, .max = (int64_t)1 << 40,
     .doc = "Bytes after which the log of a container goes on in a new file. 10Mi when not set."},
    {"maxFiles", F_INT32, ONE, RANGE, .min = 1, .max = 1000,
     .doc = "How many such files are kept for a container. 5 when not set."},
    {0}};
// clang-format on

/* ---- checks that the tables cannot say ---- */

/* false when the field is not there or no quantity; the table has complained then. */
static bool quantity_of_field(yyjson_mut_val *obj, const char *field, quantity *ret)
{
    yyjson_mut_val *val = yyjson_mut_obj_get(obj, field);
    scoped_str number = {0};
    struct sv text = {yyjson_mut_get_str(val), yyjson_mut_get_len(val)};
    if (yyjson_mut_is_num(val)) {
        json_write(val, &number);
        text = (struct sv){number.data, number.len};
    }
    return text.ptr != NULL && quantity_parse(text, ret, NULL) >= 0;
}

static bool duration_of_field(yyjson_mut_val *obj, const char *field, time_ms *ret)
{
    yyjson_mut_val *val = yyjson_mut_obj_get(obj, field);
    struct sv text = {yyjson_mut_get_str(val), yyjson_mut_get_len(val)};
    return text.ptr != NULL && duration_parse(text, ret, NULL) >= 0;
}

/* What is out of the range was reported as such. */
static void check_whole(struct check *c, yyjson_mut_val *obj, const char *field, int64_t min)
{
    quantity q;
    if (quantity_of_field(obj, field, &q) && q >= quantity_of(min) && q <= quantity_of(COUNT_MAX) &&
        q != quantity_of(quantity_value(q)))
        check_invalid(c, field, yyjson_mut_obj_get(obj, field), "must be a whole number");
}

static void check_span(struct check *c, yyjson_mut_val *obj, const char *field, time_ms min,
                       time_ms max)
{
    time_ms span;
    if (!duration_of_field(obj, field, &span) || (span >= min && span <= max))
        return;
    scoped_str why = {0};
    str_add(&why, "must be between ");
    duration_format(min, &why);
    str_add(&why, " and ");
    duration_format(max, &why);
    check_invalid(c, field, yyjson_mut_obj_get(obj, field), str_text(&why));
}

static void throttling_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    check_whole(c, val, "maxStarting", 0);
    check_whole(c, val, "burst", 1);
    check_span(c, val, "cpuWindow", SECOND_MS, HOUR_MS);
    check_span(c, val, "ioWindow", SECOND_MS, HOUR_MS);
    check_span(c, val, "pressureWindow", SECOND_MS, HOUR_MS);
    check_span(c, val, "startTimeout", SECOND_MS, 24 * HOUR_MS);
    quantity min, max;
    if (!quantity_of_field(val, "minRate", &min) || !quantity_of_field(val, "maxRate", &max))
        return;
    if (max > 0 && min > max) {
        check_invalid(c, "minRate", yyjson_mut_obj_get(val, "minRate"),
                      "must not be more than maxRate");
        check_hint(c, "maxRate is never exceeded; lower minRate or raise maxRate");
    }
}

const struct type TYPE_THROTTLING = {
    MUSTER_V1ALPHA1("Throttling"),
    "What must hold on the machine for one more container to start. All limits hold together.",
    THROTTLING_FIELDS,
    .check = throttling_check,
};

static void backoff_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    check_span(c, val, "initial", 10, HOUR_MS);
    check_span(c, val, "max", 10, 24 * HOUR_MS);
    check_span(c, val, "resetAfter", SECOND_MS, 24 * HOUR_MS);
    time_ms initial, max;
    if (duration_of_field(val, "initial", &initial) && duration_of_field(val, "max", &max) &&
        initial > max)
        check_invalid(c, "initial", yyjson_mut_obj_get(val, "initial"),
                      "must not be longer than max");
}

static const struct type TYPE_BACKOFF = {
    MUSTER_V1ALPHA1("RestartBackoff"),
    "How long a container that failed waits before it starts again.",
    BACKOFF_FIELDS,
    .check = backoff_check,
};

static const struct type TYPE_LOGS = {
    MUSTER_V1ALPHA1("NodeLogs"),
    "How much of what containers print is kept.",
    LOGS_FIELDS,
};

// clang-format off
static const struct field SPEC_FIELDS[] = {
    {"throttling", F_OBJECT, ONE, .of = &TYPE_THROTTLING,
     .doc = "What must hold on the machine for one more container to start."},
    {"startingWeight", F_QUANTITY, ONE,
     .doc = "The share of the CPU that a pod gets while it starts, as a part of its usual one, so "
            "that those that are ready keep their pace; from 0.01 to 1. 0.25 when not set."},
    {"restartBackoff", F_OBJECT, ONE, .of = &TYPE_BACKOFF,
     .doc = "How long a container that failed waits before it starts again."},
    {"logs", F_OBJECT, ONE, .of = &TYPE_LOGS, .doc = "How much of what containers print is kept."},
    {"images", F_STRING, ONE, .values = VALUES("Refuse", "Ignore"),
     .doc = "What a node without a container engine does with a container that names an image: "
            "Refuse, it fails; Ignore, its command runs as a plain process, with the files of the "
            "machine. Refuse when not set."},
    {0}};
// clang-format on

static void spec_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    quantity weight;
    if (quantity_of_field(val, "startingWeight", &weight) &&
        (weight < quantity_of_milli(10) || weight > quantity_of(1)))
        check_invalid(c, "startingWeight", yyjson_mut_obj_get(val, "startingWeight"),
                      "must be between 0.01 and 1, inclusive");
}

static const struct type TYPE_SPEC = {
    MUSTER_V1ALPHA1("NodeConfigSpec"),
    "How the node starts and keeps what it runs.",
    SPEC_FIELDS,
    .check = spec_check,
};

// clang-format off
static const struct field NODECONFIG_FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    {"spec", F_OBJECT, ONE, .of = &TYPE_SPEC, .doc = "How the node starts and keeps what it runs."},
    {0}};
static const struct type TYPE_NODECONFIG = {
    MUSTER_V1ALPHA1("NodeConfig"),
    "Settings of the node that has the same name; those of the one called default hold for all "
    "nodes, where a node's own does not say otherwise. Changes take effect at once.",
    NODECONFIG_FIELDS};
// clang-format on

/* ---- columns ---- */

/* A number or a text as it was written, or `otherwise`. */
static void add_written(struct str *out, yyjson_val *root, const char *path, const char *otherwise)
{
    yyjson_val *val = json_at(root, path);
    if (yyjson_is_str(val))
        str_addn(out, yyjson_get_str(val), yyjson_get_len(val));
    else if (yyjson_is_num(val))
        json_write_val(val, out);
    else
        str_add(out, otherwise);
}

static void cell_cap(yyjson_val *root, time_ms now, struct str *out_json)
{
    (void)now;
    scoped_str text = {0}, absolute = {0};
    add_written(&text, root, "spec.throttling.maxStartingContainersPerCore", "1");
    str_add(&text, "/core");
    add_written(&absolute, root, "spec.throttling.maxStarting", "");
    if (absolute.len > 0)
        str_addf(&text, ", at most %s", str_text(&absolute));
    cell_text(out_json, str_text(&text));
}

static void cell_with_unit(yyjson_val *root, const char *path, const char *unit,
                           struct str *out_json)
{
    scoped_str text = {0};
    add_written(&text, root, path, "");
    if (text.len > 0 && !str_ends(str_text(&text), unit))
        str_add(&text, unit);
    cell_text(out_json, text.len > 0 ? str_text(&text) : "<none>");
}

static void cell_max_rate(yyjson_val *root, time_ms now, struct str *out_json)
{
    (void)now;
    cell_with_unit(root, "spec.throttling.maxRate", "/s", out_json);
}

static void cell_max_cpu(yyjson_val *root, time_ms now, struct str *out_json)
{
    (void)now;
    cell_with_unit(root, "spec.throttling.maxCPU", "%", out_json);
}

// clang-format off
static const struct column COLUMNS[] = {
    NAME_COLUMN,
    {"Cap", "string", "", "How many containers may be starting.", .cell = cell_cap},
    {"Max Rate", "string", "", "Starts a second, at most.", .cell = cell_max_rate},
    {"CPU", "string", "", "Nothing starts while the machine is busier.", .cell = cell_max_cpu},
    AGE_COLUMN,
    {0}};
// clang-format on

const struct kind KIND_NODECONFIG = {
    .group = "muster.dev",
    .version = "v1alpha1",
    .name = "NodeConfig",
    .plural = "nodeconfigs",
    .singular = "nodeconfig",
    .name_format = FMT_DNS_SUBDOMAIN,
    .type = &TYPE_NODECONFIG,
    .columns = COLUMNS,
};

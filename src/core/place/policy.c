// SPDX-License-Identifier: Apache-2.0
#include "core/place/policy.h"
#include "base/mem.h"
#include <errno.h>
#include <string.h>
#include <strings.h>

enum argument { ARG_NONE, ARG_SKEW, ARG_PARTITIONS };
static const char *const ARGUMENTS[] = {
    [ARG_NONE] = NULL, [ARG_SKEW] = "MaxSkew", [ARG_PARTITIONS] = "NumPartitions"};

enum role { PREDICATE, PLACING, REMOVING };
static const char *const LISTS[] = {
    [PREDICATE] = "predicates", [PLACING] = "priorities", [REMOVING] = "priorities"};

enum what { FITS, COUNT_PODS, EVEN, POD, NODE, ZONE, ORDINAL };

/* Every plugin. Knative's document calls the last one by both names. */
static const struct plugin {
    const char *name;
    enum role role;
    enum what what;
    enum argument argument;
} PLUGINS[] = {
    {"PodFitsResources", PREDICATE, FITS, ARG_NONE},
    {"NoMaxResourceCount", PREDICATE, COUNT_PODS, ARG_PARTITIONS},
    {"EvenPodSpread", PREDICATE, EVEN, ARG_SKEW},
    {"EvenPodSpread", PLACING, POD, ARG_SKEW},
    {"AvailabilityNodePriority", PLACING, NODE, ARG_SKEW},
    {"AvailabilityZonePriority", PLACING, ZONE, ARG_SKEW},
    {"LowestOrdinalPriority", PLACING, ORDINAL, ARG_NONE},
    {"RemoveWithEvenPodSpreadPriority", REMOVING, POD, ARG_SKEW},
    {"RemoveWithAvailabilityNodePriority", REMOVING, NODE, ARG_SKEW},
    {"RemoveWithAvailabilityZonePriority", REMOVING, ZONE, ARG_SKEW},
    {"RemoveWithHighestOrdinalPriority", REMOVING, ORDINAL, ARG_NONE},
    {"HighestOrdinalPriority", REMOVING, ORDINAL, ARG_NONE},
};

struct reading {
    enum role role;
    const char *where; /* "scheduler" */
    struct place_policy policy;
    unsigned seen;   /* bits of enum what, of one list */
    char place[160]; /* "scheduler.predicates[1]" */
    struct err *err;
};

/* ---- finding things ---- */

/* Keys are taken in any case. */
static yyjson_val *get(yyjson_val *object, const char *key)
{
    size_t i, n;
    yyjson_val *name, *val;
    yyjson_obj_foreach(object, i, n, name, val)
    {
        if (strcasecmp(yyjson_get_str(name), key) == 0)
            return val;
    }
    return NULL;
}

static int refuse_others(yyjson_val *object, const char *const *known, size_t n_known,
                         const char *place, struct err *err)
{
    size_t i, n;
    yyjson_val *name, *val;
    yyjson_obj_foreach(object, i, n, name, val)
    {
        const char *key = unsafe_yyjson_get_str(name);
        size_t k = 0;
        while (k < n_known && strcasecmp(key, known[k]) != 0)
            k++;
        if (k < n_known)
            continue;
        err_set(err, -EINVAL, "%s: unknown key '%.60s'", place, key);
        const char *near = str_nearest(key, known, n_known);
        if (near == NULL && n_known == 1)
            near = known[0];
        return near != NULL ? err_hint(err, "did you mean '%s'?", near)
                            : err_hint(err, "remove it");
    }
    return 0;
}

static const struct plugin *plugin_of(enum role role, const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(PLUGINS); i++) {
        if (PLUGINS[i].role == role && strcmp(PLUGINS[i].name, name) == 0)
            return &PLUGINS[i];
    }
    return NULL;
}

static int refuse_name(struct reading *reading, const char *name)
{
    const char *names[ARRAY_LEN(PLUGINS)] = {0};
    scoped_str all = {0};
    for (size_t i = 0; i < ARRAY_LEN(PLUGINS); i++) {
        if (PLUGINS[i].role != reading->role)
            continue;
        names[i] = PLUGINS[i].name;
        str_addf(&all, "%s%s", all.len > 0 ? ", " : "", names[i]);
    }
    err_set(reading->err, -EINVAL, "%s: unknown plugin '%.80s'", reading->place, name);
    const char *near = str_nearest(name, names, ARRAY_LEN(names));
    return near != NULL ? err_hint(reading->err, "did you mean '%s'?", near)
                        : err_hint(reading->err, "known here: %s", str_text(&all));
}

/* ---- one plugin ---- */

static int take_argument(struct reading *reading, const struct plugin *plugin, yyjson_val *args,
                         int64_t *ret_value)
{
    const char *known[] = {ARGUMENTS[plugin->argument]};
    char place[200];
    (void)snprintf(place, sizeof(place), "%s.args", reading->place);
    if (args != NULL && !yyjson_is_obj(args))
        return err_set(reading->err, -EINVAL, "%s: not an object", place);
    int r = refuse_others(args, known, known[0] != NULL ? 1 : 0, place, reading->err);
    if (r < 0 || known[0] == NULL)
        return r;
    yyjson_val *val = get(args, known[0]);
    if (val == NULL) {
        err_set(reading->err, -EINVAL, "%s: %s is missing", place, known[0]);
        return err_hint(reading->err, "%s needs it: {\"%s\": 2}", plugin->name, known[0]);
    }
    bool is_whole =
        yyjson_is_int(val) && (!yyjson_is_uint(val) || yyjson_get_uint(val) <= INT32_MAX);
    if (!is_whole || yyjson_get_sint(val) < 1) {
        err_set(reading->err, -EINVAL, "%s.%s: not a whole number from 1 on", place, known[0]);
        return err_hint(reading->err, "with less no pod could take a second vreplica");
    }
    *ret_value = yyjson_get_sint(val);
    return 0;
}

/* An object, or a text that holds one. */
static int read_argument(struct reading *reading, const struct plugin *plugin, yyjson_val *args,
                         int64_t *ret_value)
{
    if (!yyjson_is_str(args))
        return take_argument(reading, plugin, yyjson_is_null(args) ? NULL : args, ret_value);
    scoped_json *doc = NULL;
    struct sv text = sv_trim((struct sv){yyjson_get_str(args), yyjson_get_len(args)});
    if (text.len == 0)
        return take_argument(reading, plugin, NULL, ret_value);
    int r = json_parse(text, &doc, reading->err);
    if (r < 0) {
        err_wrap(reading->err, "%s.args", reading->place);
        return err_hint(reading->err, "a text that holds an object, \"{\\\"MaxSkew\\\": 2}\", or "
                                      "the object itself");
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    return take_argument(reading, plugin, yyjson_is_null(root) ? NULL : root, ret_value);
}

static int read_weight(struct reading *reading, yyjson_val *val, int64_t *ret_weight)
{
    if (val == NULL) {
        err_set(reading->err, -EINVAL, "%s: weight is missing", reading->place);
        return err_hint(reading->err, "a whole number from 0 to %d", PLACE_WEIGHT_MAX);
    }
    if (!yyjson_is_int(val) || yyjson_get_sint(val) < 0 ||
        yyjson_get_sint(val) > PLACE_WEIGHT_MAX) {
        scoped_str text = {0};
        json_write_val(val, &text);
        err_set(reading->err, -EINVAL, "%s.weight: %.40s", reading->place, str_text(&text));
        return err_hint(reading->err, "a whole number from 0 to %d", PLACE_WEIGHT_MAX);
    }
    *ret_weight = yyjson_get_sint(val);
    return 0;
}

static void set_weight(struct place_weights *weights, enum what what, int64_t weight)
{
    if (what == POD)
        weights->pod = weight;
    else if (what == NODE)
        weights->node = weight;
    else if (what == ZONE)
        weights->zone = weight;
    else
        weights->ordinal = weight;
}

static void apply(struct place_policy *policy, const struct plugin *plugin, int64_t weight,
                  int64_t argument)
{
    if (plugin->role == PLACING)
        set_weight(&policy->placing, plugin->what, weight);
    else if (plugin->role == REMOVING)
        set_weight(&policy->removing, plugin->what, weight);
    else if (plugin->what == COUNT_PODS)
        policy->partitions = argument;
    else if (plugin->what == EVEN)
        policy->is_even = true, policy->max_skew = argument;
    /* Nodes go before zones, whichever is named first. */
    if (plugin->role == PLACING && plugin->what == NODE)
        policy->factor = PLACE_BY_NODES;
    if (plugin->role == PLACING && plugin->what == ZONE && policy->factor != PLACE_BY_NODES)
        policy->factor = PLACE_BY_ZONES;
}

static int read_plugin(struct reading *reading, yyjson_val *item)
{
    static const char *const KEYS[] = {"name", "args", "weight"};
    bool is_weighted = reading->role != PREDICATE;
    if (!yyjson_is_obj(item))
        return err_set(reading->err, -EINVAL, "%s: not an object", reading->place);
    int r = refuse_others(item, KEYS, is_weighted ? 3 : 2, reading->place, reading->err);
    if (r < 0)
        return r;
    const char *name = yyjson_get_str(get(item, "name"));
    if (name == NULL) {
        err_set(reading->err, -EINVAL, "%s: name is missing, or no text", reading->place);
        return err_hint(reading->err, "the name of a plugin, such as %s",
                        reading->role == PREDICATE ? "PodFitsResources"
                        : reading->role == PLACING ? "LowestOrdinalPriority"
                                                   : "RemoveWithHighestOrdinalPriority");
    }
    const struct plugin *plugin = plugin_of(reading->role, name);
    if (plugin == NULL)
        return refuse_name(reading, name);
    if (reading->seen & (1U << plugin->what)) {
        err_set(reading->err, -EINVAL, "%s: %s is there twice", reading->place, name);
        return err_hint(reading->err, "keep one of them");
    }
    reading->seen |= 1U << plugin->what;
    int64_t weight = 0, argument = 0;
    if (is_weighted && (r = read_weight(reading, get(item, "weight"), &weight)) < 0)
        return r;
    r = read_argument(reading, plugin, get(item, "args"), &argument);
    if (r >= 0)
        apply(&reading->policy, plugin, weight, argument);
    return r;
}

/* ---- lists ---- */

static int read_list(struct reading *reading, enum role role, yyjson_val *list)
{
    reading->role = role;
    reading->seen = 0;
    if (list == NULL) {
        err_set(reading->err, -EINVAL, "%s: %s is missing", reading->where, LISTS[role]);
        return err_hint(reading->err, "a list, which may be empty: []");
    }
    if (!yyjson_is_arr(list))
        return err_set(reading->err, -EINVAL, "%s.%s: not a list", reading->where, LISTS[role]);
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, n, item)
    {
        (void)snprintf(reading->place, sizeof(reading->place), "%s.%s[%zu]", reading->where,
                       LISTS[role], i);
        int r = read_plugin(reading, item);
        if (r < 0)
            return r;
    }
    return 0;
}

int place_policy_scheduler_lists(struct place_policy *policy, yyjson_val *predicates,
                                 yyjson_val *priorities, const char *where, struct err *err)
{
    struct err own = {0};
    struct reading reading = {.where = where, .policy = *policy, .err = err ? err : &own};
    reading.policy.has_scheduler = true;
    int r = read_list(&reading, PREDICATE, predicates);
    if (r >= 0)
        r = read_list(&reading, PLACING, priorities);
    if (r >= 0)
        *policy = reading.policy;
    return r;
}

int place_policy_descheduler_lists(struct place_policy *policy, yyjson_val *predicates,
                                   yyjson_val *priorities, const char *where, struct err *err)
{
    struct err own = {0};
    struct reading reading = {.where = where, .policy = *policy, .err = err ? err : &own};
    reading.policy.has_descheduler = true;
    if (predicates != NULL && (!yyjson_is_arr(predicates) || yyjson_arr_size(predicates) > 0)) {
        err_set(reading.err, -EINVAL, "%s.predicates: not an empty list", where);
        return err_hint(reading.err, "a descheduler has priorities only; leave predicates out");
    }
    int r = read_list(&reading, REMOVING, priorities);
    if (r >= 0)
        *policy = reading.policy;
    return r;
}

static int read_object(yyjson_val *object, const char *where, yyjson_val *lists[2], struct err *err)
{
    static const char *const KEYS[] = {"predicates", "priorities"};
    struct err own = {0};
    err = err != NULL ? err : &own;
    if (!yyjson_is_obj(object)) {
        err_set(err, -EINVAL, "%s: not an object", where);
        return err_hint(err, "{\"predicates\": [...], \"priorities\": [...]}");
    }
    for (int i = 0; i < 2; i++)
        lists[i] = get(object, KEYS[i]);
    return refuse_others(object, KEYS, 2, where, err);
}

int place_policy_scheduler(struct place_policy *policy, yyjson_val *object, const char *where,
                           struct err *err)
{
    yyjson_val *lists[2];
    int r = read_object(object, where, lists, err);
    return r < 0 ? r : place_policy_scheduler_lists(policy, lists[0], lists[1], where, err);
}

int place_policy_descheduler(struct place_policy *policy, yyjson_val *object, const char *where,
                             struct err *err)
{
    yyjson_val *lists[2];
    int r = read_object(object, where, lists, err);
    return r < 0 ? r : place_policy_descheduler_lists(policy, lists[0], lists[1], where, err);
}

void place_policy_fill_up(struct place_policy *policy)
{
    *policy = (struct place_policy){.fills_up = true, .placing.ordinal = 1, .removing.ordinal = 1};
}

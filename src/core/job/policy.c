// SPDX-License-Identifier: Apache-2.0
#include "core/job/policy.h"

static const struct {
    const char *name;
    enum failure_action action;
} ACTIONS[] = {
    {"Count", FAILURE_COUNT},
    {"Ignore", FAILURE_IGNORE},
    {"FailIndex", FAILURE_FAIL_INDEX},
    {"FailJob", FAILURE_FAIL_JOB},
};

static enum failure_action action_of(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(ACTIONS); i++) {
        if (str_eq(ACTIONS[i].name, name))
            return ACTIONS[i].action;
    }
    return FAILURE_COUNT;
}

static const char *action_name(enum failure_action action)
{
    for (size_t i = 0; i < ARRAY_LEN(ACTIONS); i++) {
        if (ACTIONS[i].action == action)
            return ACTIONS[i].name;
    }
    return "";
}

static bool list_has_number(yyjson_val *list, int64_t number)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, n, item)
    {
        if (yyjson_get_sint(item) == number)
            return true;
    }
    return false;
}

/* 0 is no failure: it matches neither operator. */
static bool code_matches(yyjson_val *rule, int64_t code)
{
    bool is_listed = list_has_number(yyjson_obj_get(rule, "values"), code);
    if (code == 0)
        return false;
    return str_eq(json_str_at(rule, "operator"), "In") ? is_listed : !is_listed;
}

static bool exits_match(yyjson_val *rule, yyjson_val *statuses, struct failure_match *match)
{
    const char *only = json_str_at(rule, "containerName");
    size_t i, n;
    yyjson_val *container;
    yyjson_arr_foreach(statuses, i, n, container)
    {
        const char *name = json_str_at(container, "name");
        yyjson_val *end = json_at(container, "state.terminated");
        int64_t code = json_int_at(end, "exitCode", 0);
        if (end == NULL || (only != NULL && !str_eq(only, name)) || !code_matches(rule, code))
            continue;
        match->container = name;
        match->exit_code = code;
        return true;
    }
    return false;
}

static bool conditions_match(yyjson_val *patterns, yyjson_val *conditions,
                             struct failure_match *match)
{
    size_t i, n;
    yyjson_val *pattern;
    yyjson_arr_foreach(patterns, i, n, pattern)
    {
        const char *type = json_str_at(pattern, "type");
        const char *status = json_str_at(pattern, "status");
        yyjson_val *condition = json_find(conditions, "type", type);
        if (!str_eq(json_str_at(condition, "status"), status != NULL ? status : "True"))
            continue;
        match->condition = type;
        return true;
    }
    return false;
}

static bool rule_matches(yyjson_val *rule, yyjson_val *pod_status, struct failure_match *match)
{
    yyjson_val *exits = yyjson_obj_get(rule, "onExitCodes");
    if (exits == NULL)
        return conditions_match(yyjson_obj_get(rule, "onPodConditions"),
                                yyjson_obj_get(pod_status, "conditions"), match);
    return exits_match(exits, yyjson_obj_get(pod_status, "containerStatuses"), match) ||
           exits_match(exits, yyjson_obj_get(pod_status, "initContainerStatuses"), match);
}

struct failure_match policy_match(yyjson_val *policy, yyjson_val *pod_status)
{
    struct failure_match match = {.action = FAILURE_COUNT, .rule = -1};
    size_t i, n;
    yyjson_val *rule;
    yyjson_arr_foreach(yyjson_obj_get(policy, "rules"), i, n, rule)
    {
        if (!rule_matches(rule, pod_status, &match))
            continue;
        match.rule = (int)i;
        match.action = action_of(json_str_at(rule, "action"));
        break;
    }
    return match;
}

void policy_message(const struct failure_match *match, const char *ns, const char *pod,
                    struct str *out)
{
    const char *action = action_name(match->action);
    if (match->container != NULL)
        str_addf(out,
                 "Container %s for pod %s/%s failed with exit code %lld matching %s rule at "
                 "index %d",
                 match->container, ns, pod, (long long)match->exit_code, action, match->rule);
    else
        str_addf(out, "Pod %s/%s has condition %s matching %s rule at index %d", ns, pod,
                 match->condition != NULL ? match->condition : "", action, match->rule);
}

static bool success_rule_met(yyjson_val *rule, int64_t completions, const struct indexes *succeeded)
{
    yyjson_val *text = yyjson_obj_get(rule, "succeededIndexes");
    int64_t wanted = json_int_at(rule, "succeededCount", -1);
    if (text == NULL)
        return wanted >= 0 && succeeded->count >= wanted;
    scoped_indexes listed = {0};
    if (indexes_parse(sv_of(yyjson_get_str(text)), completions, &listed, NULL) < 0)
        return false;
    int64_t met = indexes_common(&listed, succeeded);
    return met >= (wanted >= 0 ? wanted : listed.count);
}

int success_match(yyjson_val *policy, int64_t completions, const struct indexes *succeeded)
{
    size_t i, n;
    yyjson_val *rule;
    yyjson_arr_foreach(yyjson_obj_get(policy, "rules"), i, n, rule)
    {
        if (success_rule_met(rule, completions, succeeded))
            return (int)i;
    }
    return -1;
}

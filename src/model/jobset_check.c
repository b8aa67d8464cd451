// SPDX-License-Identifier: Apache-2.0
/* Checks between the parts of a JobSet: who names whom, what is made from names, what may change.
 *
 * A change is judged twice: tables refuse it where a Job's own fields are immutable, and the rule
 * for replicatedJobs refuses whatever is not listed as free. A change that a table has refused is
 * not reported again. */
#include "model/jobset.h"
#include "model/pattern.h"
#include "model/rules.h"
#include <inttypes.h>

#define NAME_MAX_LEN 63
#define GENERATED_BASE_MAX 58
#define SUFFIX "xxxxx" /* as long as what the server puts behind a name that it makes up */
#define PARALLELISM "template.spec.parallelism"
#define COMPLETIONS "template.spec.completions"
#define SINGLE_RESTART_REPLICAS_MAX 1024

static bool is_indexed(yyjson_mut_val *job)
{
    return str_eq(json_mut_str_at(job, "template.spec.completionMode"), "Indexed");
}

/* ---- replicated jobs ---- */

static void check_product(struct check *c, yyjson_mut_val *job)
{
    int64_t replicas = json_mut_int_at(job, "replicas", 1);
    int64_t parallelism = json_mut_int_at(job, PARALLELISM, 1);
    bool is_huge = replicas > 0 && parallelism > INT32_MAX / replicas;
    if (is_huge && replicas <= INT32_MAX && parallelism <= INT32_MAX) {
        check_invalid(c, "replicas", yyjson_mut_obj_get(job, "replicas"),
                      "replicas times parallelism must not exceed 2147483647");
        check_hint(c, "these are more pods than can be counted: lower one of the two");
    }
}

static void check_dependencies(struct check *c, yyjson_mut_val *job,
                               const struct rules_names *earlier)
{
    size_t mark = check_enter(c, "dependsOn");
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(job, "dependsOn"), i, n, item)
    {
        yyjson_mut_val *name = yyjson_mut_obj_get(item, "name");
        size_t inner = check_enter_item(c, i, item);
        bool is_named = yyjson_mut_is_str(name) && yyjson_mut_get_len(name) > 0;
        if (is_named && !rules_knows(earlier, yyjson_mut_get_str(name))) {
            check_invalid(c, "name", name, "must be a replicated job that stands before this one");
            check_hint(c, "put the replicated jobs into the order in which they start");
        }
        check_leave(c, inner);
    }
    check_leave(c, mark);
}

static void check_order(struct check *c, yyjson_mut_val *spec, yyjson_mut_val *job)
{
    if (yyjson_mut_arr_size(yyjson_mut_obj_get(job, "dependsOn")) == 0 ||
        !str_eq(json_mut_str_at(spec, "startupPolicy.startupPolicyOrder"), "InOrder"))
        return;
    check_forbidden(c, "dependsOn", "may not be given together with startupPolicy InOrder");
    check_hint(c, "take startupPolicy away: dependsOn says the order already");
}

static void check_jobs(struct check *c, yyjson_mut_val *spec)
{
    scoped_names earlier = {0};
    size_t mark = check_enter(c, "replicatedJobs");
    size_t i, n;
    yyjson_mut_val *job;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(spec, "replicatedJobs"), i, n, job)
    {
        size_t inner = check_enter_item(c, i, job);
        check_product(c, job);
        check_dependencies(c, job, &earlier);
        check_order(c, spec, job);
        check_leave(c, inner);
        rules_add_name(&earlier, yyjson_mut_obj_get(job, "name"));
    }
    check_leave(c, mark);
}

/* ---- policies ---- */

static void check_targets(struct check *c, yyjson_mut_val *policy, const struct rules_names *jobs)
{
    size_t mark = check_enter(c, "targetReplicatedJobs");
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(policy, "targetReplicatedJobs"), i, n, item)
    {
        size_t inner = check_enter_item(c, i, item);
        if (yyjson_mut_is_str(item) && yyjson_mut_get_len(item) == 0)
            check_invalid(c, NULL, item, "must be the name of a replicated job");
        rules_known(c, NULL, item, jobs);
        check_leave(c, inner);
    }
    check_leave(c, mark);
}

static bool is_letter(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
}

static bool is_rule_name(const char *text)
{
    size_t len = strlen(text);
    if (len == 0 || !is_letter(text[0]) || text[len - 1] == ',' || text[len - 1] == ':')
        return false;
    for (const char *at = text; *at != '\0'; at++)
        if (!is_letter(*at) && !(*at >= '0' && *at <= '9') && strchr("_,:", *at) == NULL)
            return false;
    return true;
}

static void check_rule_name(struct check *c, yyjson_mut_val *rule, struct rules_names *seen)
{
    yyjson_mut_val *name = yyjson_mut_obj_get(rule, "name");
    if (!yyjson_mut_is_str(name))
        return;
    if (rules_knows(seen, yyjson_mut_get_str(name)))
        check_duplicate(c, "name", name);
    else if (!is_rule_name(yyjson_mut_get_str(name)))
        check_invalid(c, "name", name,
                      "must start with a letter, go on with letters, digits, '_', ',' or ':', and "
                      "not end in ',' or ':'");
    rules_add_name(seen, name);
}

static void check_single_restart(struct check *c, yyjson_mut_val *jobs)
{
    size_t mark = check_enter(c, "replicatedJobs");
    size_t i, n;
    yyjson_mut_val *job;
    yyjson_mut_arr_foreach(jobs, i, n, job)
    {
        size_t inner = check_enter_item(c, i, job);
        if (json_mut_int_at(job, "replicas", 1) > SINGLE_RESTART_REPLICAS_MAX) {
            check_invalid(c, "replicas", yyjson_mut_obj_get(job, "replicas"),
                          "must be no more than 1024 where a rule restarts single Jobs");
            check_hint(c, "divide it into several replicated jobs, or use RestartJobSet");
        }
        check_leave(c, inner);
    }
    check_leave(c, mark);
}

static void check_patterns(struct check *c, yyjson_mut_val *rule)
{
    size_t list = check_enter(c, "onJobFailureMessagePatterns");
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(rule, "onJobFailureMessagePatterns"), i, n, item)
    {
        const char *text = yyjson_mut_get_str(item);
        const char *problem = text != NULL ? pattern_problem(text) : NULL;
        if (problem == NULL)
            continue;
        size_t mark = check_enter_item(c, i, item);
        scoped_free char *why = mem_printf("is no regular expression: %s", problem);
        check_invalid(c, NULL, item, why);
        check_hint(c, "it is looked for anywhere in the message, in POSIX extended syntax; "
                      "\\d, \\w, \\s, (?:...) and a leading (?i) are known as well");
        check_leave(c, mark);
    }
    check_leave(c, list);
}

static bool check_rules(struct check *c, yyjson_mut_val *policy, const struct rules_names *jobs)
{
    scoped_names seen = {0};
    bool single = false;
    size_t mark = check_enter(c, "rules");
    size_t i, n;
    yyjson_mut_val *rule;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(policy, "rules"), i, n, rule)
    {
        const char *action = json_mut_str_at(rule, "action");
        size_t inner = check_enter_item(c, i, rule);
        check_rule_name(c, rule, &seen);
        check_targets(c, rule, jobs);
        check_patterns(c, rule);
        check_leave(c, inner);
        single = single || str_eq(action, "RestartJob") ||
                 str_eq(action, "RestartJobAndIgnoreMaxRestarts");
    }
    check_leave(c, mark);
    return single;
}

static void check_policies(struct check *c, yyjson_mut_val *spec)
{
    scoped_names jobs = {0};
    rules_names_of(&jobs, yyjson_mut_obj_get(spec, "replicatedJobs"), "name");
    size_t success = check_enter(c, "successPolicy");
    check_targets(c, yyjson_mut_obj_get(spec, "successPolicy"), &jobs);
    check_leave(c, success);
    size_t failure = check_enter(c, "failurePolicy");
    bool single = check_rules(c, yyjson_mut_obj_get(spec, "failurePolicy"), &jobs);
    check_leave(c, failure);
    if (single)
        check_single_restart(c, yyjson_mut_obj_get(spec, "replicatedJobs"));
}

/* ---- managedBy ---- */

static bool is_domain_path(const char *text)
{
    static const char PATH[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "/-._~%!$&'()*+,;=:";
    const char *slash = strchr(text, '/');
    if (slash == NULL || slash[1] == '\0')
        return false;
    return format_problem(FMT_DNS_SUBDOMAIN, text, (size_t)(slash - text)) == NULL &&
           slash[1 + strspn(slash + 1, PATH)] == '\0';
}

static void check_manager(struct check *c, yyjson_mut_val *spec)
{
    yyjson_mut_val *manager = yyjson_mut_obj_get(spec, "managedBy");
    if (yyjson_mut_is_str(manager) && !is_domain_path(yyjson_mut_get_str(manager)))
        check_invalid(c, "managedBy", manager,
                      "must be a domain and a path, with '/' between them (like "
                      "'example.com/my-controller')");
}

void jobset_spec_check(struct check *c, yyjson_mut_val *spec, yyjson_mut_val *old)
{
    (void)old;
    check_jobs(c, spec);
    check_policies(c, spec);
    check_manager(c, spec);
    if (yyjson_mut_arr_size(yyjson_mut_obj_get(spec, "volumeClaimPolicies")) > 0) {
        check_forbidden(c, "volumeClaimPolicies", "there are no claims of storage here");
        check_hint(c, "name the storage in volumes of the pods, such as hostPath or emptyDir");
    }
    jobset_in_place_check(c, spec);
}

/* ---- what is made from names ---- */

/* The JobSet's name as it will be; NULL when there is none. */
static char *name_of(yyjson_mut_val *root)
{
    const char *name = json_mut_str_at(root, "metadata.name");
    const char *prefix = json_mut_str_at(root, "metadata.generateName");
    if (name != NULL && *name != '\0')
        return mem_strdup(name);
    if (prefix == NULL || *prefix == '\0')
        return NULL;
    return mem_printf("%.*s" SUFFIX, GENERATED_BASE_MAX, prefix);
}

/* The longest name of a pod where that is known, else of a Job. */
static char *longest_name(const char *name, yyjson_mut_val *job)
{
    int64_t last_job = json_mut_int_at(job, "replicas", 1) - 1;
    int64_t completions = json_mut_int_at(job, COMPLETIONS, 0);
    const char *job_name = json_mut_str_at(job, "name");
    scoped_free char *base = mem_printf("%s-%s-%" PRId64, name, job_name != NULL ? job_name : "",
                                        last_job > 0 ? last_job : 0);
    if (!is_indexed(job) || completions <= 0)
        return take_ptr(base);
    return mem_printf("%s-%" PRId64 "-" SUFFIX, base, completions - 1);
}

static void check_length_of(struct check *c, yyjson_mut_val *root, yyjson_mut_val *job,
                            const char *name)
{
    scoped_free char *longest = longest_name(name, job);
    size_t len = strlen(longest);
    if (len <= NAME_MAX_LEN)
        return;
    const char *field = json_mut_str_at(root, "metadata.name") ? "name" : "generateName";
    scoped_free char *why = mem_printf("a Job or pod called \"%s\" would be made, with %zu "
                                       "characters; the most is 63",
                                       longest, len);
    scoped_free char *hint =
        mem_printf("shorten the name of the JobSet, or of the replicated job, by %zu character%s",
                   len - NAME_MAX_LEN, len - NAME_MAX_LEN == 1 ? "" : "s");
    size_t mark = check_enter(c, "metadata");
    check_invalid(c, field, yyjson_mut_obj_get(yyjson_mut_obj_get(root, "metadata"), field), why);
    check_hint(c, hint);
    check_leave(c, mark);
}

/* ---- coordinator ---- */

/* Its address is the value of a label. */
static void check_address(struct check *c, yyjson_mut_val *spec, const char *name)
{
    yyjson_mut_val *chief = yyjson_mut_obj_get(spec, "coordinator");
    const char *subdomain = json_mut_str_at(spec, "network.subdomain");
    bool has_own = subdomain != NULL && *subdomain != '\0';
    scoped_free char *address =
        mem_printf("%s-%s-%" PRId64 "-%" PRId64 ".%s", name,
                   json_mut_str_at(chief, "replicatedJob"), json_mut_int_at(chief, "jobIndex", 0),
                   json_mut_int_at(chief, "podIndex", 0), has_own ? subdomain : name);
    if (strlen(address) <= NAME_MAX_LEN)
        return;
    scoped_free char *why = mem_printf("its address \"%s\" is a label's value, and longer than 63 "
                                       "characters",
                                       address);
    check_invalid(c, NULL, chief, why);
    check_hint(c, "shorten the JobSet's name, or set a short network.subdomain");
}

static bool check_chief_indexes(struct check *c, yyjson_mut_val *chief, yyjson_mut_val *job)
{
    if (json_mut_int_at(chief, "jobIndex", 0) >= json_mut_int_at(job, "replicas", 1)) {
        check_invalid(c, "jobIndex", yyjson_mut_obj_get(chief, "jobIndex"),
                      "must be less than the replicas of the replicated job");
        return false;
    }
    yyjson_mut_val *completions = json_mut_at(job, COMPLETIONS);
    if (!is_indexed(job) || completions == NULL) {
        check_invalid(c, "replicatedJob", yyjson_mut_obj_get(chief, "replicatedJob"),
                      "its Jobs must be Indexed and have completions");
        check_hint(c, "set completions and completionMode: Indexed in its template");
        return false;
    }
    if (json_mut_int_at(chief, "podIndex", 0) < yyjson_mut_get_sint(completions))
        return true;
    check_invalid(c, "podIndex", yyjson_mut_obj_get(chief, "podIndex"),
                  "must be less than the completions of the Job");
    return false;
}

static void check_coordinator(struct check *c, yyjson_mut_val *spec, const char *name)
{
    yyjson_mut_val *chief = yyjson_mut_obj_get(spec, "coordinator");
    const char *wanted = json_mut_str_at(chief, "replicatedJob");
    if (wanted == NULL || *wanted == '\0')
        return;
    size_t outer = check_enter(c, "spec");
    size_t mark = check_enter(c, "coordinator");
    yyjson_mut_val *job = json_mut_find(yyjson_mut_obj_get(spec, "replicatedJobs"), "name", wanted);
    if (job == NULL) {
        scoped_names jobs = {0};
        rules_names_of(&jobs, yyjson_mut_obj_get(spec, "replicatedJobs"), "name");
        rules_known(c, "replicatedJob", yyjson_mut_obj_get(chief, "replicatedJob"), &jobs);
    } else if (check_chief_indexes(c, chief, job) && name != NULL) {
        check_address(c, spec, name);
    }
    check_leave(c, mark);
    check_leave(c, outer);
}

void jobset_names_check(struct check *c, yyjson_mut_val *root)
{
    yyjson_mut_val *spec = yyjson_mut_obj_get(root, "spec");
    scoped_free char *name = name_of(root);
    size_t i, n;
    yyjson_mut_val *job;
    if (name != NULL) {
        yyjson_mut_arr_foreach(yyjson_mut_obj_get(spec, "replicatedJobs"), i, n, job)
        {
            check_length_of(c, root, job, name);
        }
    }
    check_coordinator(c, spec, name);
}

/* ---- updates ---- */

#define POD "template.spec.template."
static const char *const ALWAYS[] = {PARALLELISM, COMPLETIONS, NULL};
static const char *const SUSPENDED[] = {
    PARALLELISM,
    COMPLETIONS,
    POD "metadata.labels",
    POD "metadata.annotations",
    POD "spec.nodeSelector",
    POD "spec.tolerations",
    POD "spec.schedulingGates",
    NULL,
};

static bool is_true(yyjson_mut_val *spec, const char *field)
{
    return yyjson_mut_get_bool(yyjson_mut_obj_get(spec, field));
}

static bool is_finished(yyjson_mut_val *root)
{
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(json_mut_at(root, "status.conditions"), i, n, item)
    {
        const char *type = json_mut_str_at(item, "type");
        if ((str_eq(type, "Completed") || str_eq(type, "Failed")) &&
            str_eq(json_mut_str_at(item, "status"), "True"))
            return true;
    }
    return false;
}

static bool is_reported(const struct check *c, size_t index, const char *path)
{
    scoped_free char *whole = mem_printf("spec.replicatedJobs[%zu].%s", index, path);
    for (size_t i = 0; i < c->findings->list.len; i++)
        if (str_starts(whole, c->findings->list.items[i].path))
            return true;
    return false;
}

/* The number of members may change while the JobSet runs, when it is the same number before and
 * after for all who count. */
static const char *resize_problem(yyjson_mut_val *job, bool finished)
{
    yyjson_mut_val *completions = json_mut_at(job, COMPLETIONS);
    if (finished)
        return "field is immutable: the JobSet has ended";
    if (!is_indexed(job))
        return "field is immutable: the Jobs are not Indexed";
    if (!rules_same(completions, json_mut_at(job, PARALLELISM)))
        return "can only be changed to the same number as parallelism, both together";
    return json_mut_int_at(job, COMPLETIONS, 0) < 1 ? "must be at least 1" : NULL;
}

static void check_resize(struct check *c, yyjson_mut_val *job, yyjson_mut_val *old, bool finished)
{
    if (rules_same(json_mut_at(job, PARALLELISM), json_mut_at(old, PARALLELISM)) &&
        rules_same(json_mut_at(job, COMPLETIONS), json_mut_at(old, COMPLETIONS)))
        return;
    const char *problem = resize_problem(job, finished);
    if (problem == NULL)
        return;
    size_t template = check_enter(c, "template");
    size_t spec = check_enter(c, "spec");
    check_invalid(c, "completions", json_mut_at(job, COMPLETIONS), problem);
    check_leave(c, spec);
    check_leave(c, template);
}

static void check_frozen(struct check *c, size_t index, yyjson_mut_val *job, yyjson_mut_val *old,
                         bool suspended)
{
    scoped_str path = {0};
    if (!rules_changed(job, old, suspended ? SUSPENDED : ALWAYS, &path) ||
        is_reported(c, index, str_text(&path)))
        return;
    check_forbidden(c, path.len > 0 ? str_text(&path) : NULL, "field is immutable");
    check_hint(c, suspended
                      ? "of the pods of a suspended JobSet labels, annotations, nodeSelector, "
                        "tolerations and schedulingGates may change; for all else delete it "
                        "and create it anew"
                      : "delete the JobSet and create it anew; where the pods run may be "
                        "changed while it is suspended");
}

void jobset_update_check(struct check *c, yyjson_mut_val *root, yyjson_mut_val *old)
{
    yyjson_mut_val *spec = yyjson_mut_obj_get(root, "spec");
    yyjson_mut_val *old_spec = yyjson_mut_obj_get(old, "spec");
    yyjson_mut_val *jobs = yyjson_mut_obj_get(spec, "replicatedJobs");
    yyjson_mut_val *old_jobs = yyjson_mut_obj_get(old_spec, "replicatedJobs");
    bool suspended = is_true(spec, "suspend") || is_true(old_spec, "suspend");
    size_t outer = check_enter(c, "spec");
    if (yyjson_mut_arr_size(jobs) != yyjson_mut_arr_size(old_jobs)) {
        check_forbidden(c, "replicatedJobs", "replicated jobs can be neither added nor removed");
        check_hint(c, "delete the JobSet and create it anew");
        check_leave(c, outer);
        return;
    }
    size_t mark = check_enter(c, "replicatedJobs");
    yyjson_mut_arr_iter others = yyjson_mut_arr_iter_with(old_jobs);
    size_t i, n;
    yyjson_mut_val *job;
    yyjson_mut_arr_foreach(jobs, i, n, job)
    {
        yyjson_mut_val *other = yyjson_mut_arr_iter_next(&others);
        size_t inner = check_enter_item(c, i, job);
        check_frozen(c, i, job, other, suspended);
        check_resize(c, job, other, is_finished(old));
        check_leave(c, inner);
    }
    check_leave(c, mark);
    check_leave(c, outer);
}

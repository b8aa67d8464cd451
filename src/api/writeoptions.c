// SPDX-License-Identifier: Apache-2.0
/* How a write is asked for. A word that nobody knows is refused, never passed over: a deletion
 * whose precondition or dry run was misread cannot be taken back. Rules and sentences are those of
 * Kubernetes. */
#include "api/call.h"
#include "base/mem.h"
#include "model/options.h"
#include "model/rules.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void refuse(const char *kind_name, struct findings *findings, struct status *status)
{
    /* The status keeps the group and the name, which are static, and not the kind. */
    const struct kind options = {.group = "meta.k8s.io", .name = kind_name, .plural = ""};
    status_invalid(status, &options, "", findings);
}

static const char *options_of(enum verb verb)
{
    switch (verb) {
    case VERB_CREATE:
        return "CreateOptions";
    case VERB_UPDATE:
        return "UpdateOptions";
    case VERB_PATCH:
        return "PatchOptions";
    case VERB_DELETE:
    case VERB_DELETE_MANY:
    case VERB_GET:
    case VERB_LIST:
    case VERB_WATCH:
        break;
    }
    return "DeleteOptions";
}

/* Where a word of the query stands among those that there are; 0 when it is left out. */
static int word_of(const struct call *call, const char *name, const char *const *words,
                   struct status *status)
{
    const char *value = call_param(call, name);
    if (value == NULL || *value == '\0')
        return 0;
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], value) == 0)
            return i;
    }
    struct findings findings = {0};
    struct check check = {.findings = &findings};
    scoped_json_mut *doc = yyjson_mut_doc_new(NULL);
    check_not_supported(&check, name, yyjson_mut_str(doc, value), words);
    refuse(options_of(call->verb), &findings, status);
    findings_done(&findings);
    return -EINVAL;
}

bool writeoptions_dry_run(const struct call *call, struct write *write, struct status *status)
{
    const char *value = call_param(call, "dryRun");
    write->dry_run = value != NULL && *value != '\0';
    return word_of(call, "dryRun", VALUES("All"), status) >= 0;
}

bool writeoptions_validation(const struct call *call, struct write *write, struct status *status)
{
    static const enum validation MEANT[] = {VALIDATE_WARN, VALIDATE_STRICT, VALIDATE_IGNORE};
    int word = word_of(call, "fieldValidation", VALUES("Warn", "Strict", "Ignore"), status);
    if (word < 0)
        return false;
    write->validation = MEANT[word];
    return true;
}

/* ---- deletion ---- */

/* What the query says counts where the body says nothing. */
static bool add_query(const struct call *call, yyjson_mut_doc *doc, yyjson_mut_val *options,
                      struct status *status)
{
    const char *policy = call_param(call, "propagationPolicy");
    const char *grace = call_param(call, "gracePeriodSeconds");
    const char *orphan = call_param(call, "orphanDependents");
    if (policy != NULL && *policy != '\0' && !rules_has(options, "propagationPolicy"))
        json_mut_put(doc, options, "propagationPolicy", yyjson_mut_str(doc, policy));
    if (orphan != NULL && !rules_has(options, "orphanDependents"))
        json_mut_put(doc, options, "orphanDependents",
                     yyjson_mut_bool(doc, call_flag(call, "orphanDependents")));
    if (grace == NULL || *grace == '\0' || rules_has(options, "gracePeriodSeconds"))
        return true;
    char *end = NULL;
    errno = 0;
    long seconds = strtol(grace, &end, 10);
    if (errno != 0 || *end != '\0') {
        status_bad_request(status, "gracePeriodSeconds must be a whole number, not \"%s\"", grace);
        return false;
    }
    json_mut_put(doc, options, "gracePeriodSeconds", yyjson_mut_sint(doc, seconds));
    return true;
}

static bool check_options(yyjson_mut_val *options, struct status *status)
{
    struct findings findings = {0};
    struct check check = {.findings = &findings};
    schema_check(&TYPE_DELETE_OPTIONS, options, NULL, &findings);
    if (rules_has(options, "orphanDependents") && rules_has(options, "propagationPolicy"))
        check_invalid(&check, "propagationPolicy", yyjson_mut_obj_get(options, "propagationPolicy"),
                      "orphanDependents and propagationPolicy cannot both be set");
    bool fine = findings.list.len == 0;
    if (!fine)
        refuse("DeleteOptions", &findings, status);
    findings_done(&findings);
    return fine;
}

static enum propagation propagation_of(yyjson_mut_val *options)
{
    const char *policy = json_mut_str_at(options, "propagationPolicy");
    yyjson_mut_val *orphan = json_mut_at(options, "orphanDependents");
    if (str_eq(policy, "Orphan") || yyjson_mut_get_bool(orphan))
        return PROPAGATE_ORPHAN;
    if (str_eq(policy, "Foreground"))
        return PROPAGATE_FOREGROUND;
    return str_eq(policy, "Background") || orphan != NULL ? PROPAGATE_BACKGROUND
                                                          : PROPAGATE_DEFAULT;
}

bool writeoptions_delete(const struct call *call, yyjson_mut_val *body, struct write *write,
                         struct status *status)
{
    scoped_json_mut *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *options =
        body != NULL ? yyjson_mut_val_mut_copy(doc, body) : yyjson_mut_obj(doc);
    if (!yyjson_mut_is_obj(options)) {
        status_bad_request(status, "deleteOptions must be an object");
        return false;
    }
    if (!add_query(call, doc, options, status) || !check_options(options, status))
        return false;
    write->propagation = propagation_of(options);
    write->grace_s = json_mut_int_at(options, "gracePeriodSeconds", -1);
    if (write->grace_s < 0 && rules_has(options, "gracePeriodSeconds"))
        write->grace_s = 1; /* as Kubernetes takes what is below nothing */
    write->if_uid = mem_strdup(json_mut_str_at(options, "preconditions.uid"));
    write->if_version = mem_strdup(json_mut_str_at(options, "preconditions.resourceVersion"));
    if (yyjson_mut_arr_size(json_mut_at(options, "dryRun")) > 0)
        write->dry_run = true;
    return true;
}

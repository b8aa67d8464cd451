// SPDX-License-Identifier: Apache-2.0
/* What lists and watches are asked with, where one word needs or forbids another: the rules and the
 * sentences are those of Kubernetes. */
#include "api/call.h"
#include "model/rules.h"
#include <string.h>

#define MATCH "resourceVersionMatch"
#define NOT_OLDER "NotOlderThan"

static const struct kind LIST_OPTIONS = {.group = "meta.k8s.io",
                                         .version = "v1",
                                         .name = "ListOptions",
                                         .plural = "listoptions",
                                         .singular = "listoptions"};

static bool has(const struct call *call, const char *name)
{
    const char *value = call_param(call, name);
    return value != NULL && *value != '\0';
}

static bool is(const struct call *call, const char *name, const char *wanted)
{
    return str_eq(call_param(call, name), wanted);
}

static void check_word(struct check *check, const struct call *call, const char *const *words)
{
    for (size_t i = 0; words[i] != NULL; i++) {
        if (is(call, MATCH, words[i]))
            return;
    }
    scoped_json_mut *doc = yyjson_mut_doc_new(NULL);
    check_not_supported(check, MATCH, yyjson_mut_strcpy(doc, call_param(call, MATCH)), words);
}

static void check_list(struct check *check, const struct call *call)
{
    if (call_param(call, "sendInitialEvents") != NULL)
        check_forbidden(check, "sendInitialEvents", "sendInitialEvents is forbidden for list");
    if (!has(call, MATCH))
        return;
    if (!has(call, "resourceVersion"))
        check_forbidden(check, MATCH, MATCH " is forbidden unless resourceVersion is provided");
    if (has(call, "continue"))
        check_forbidden(check, MATCH, MATCH " is forbidden when continue is provided");
    check_word(check, call, VALUES("Exact", NOT_OLDER));
    if (is(call, MATCH, "Exact") && is(call, "resourceVersion", "0"))
        check_forbidden(check, MATCH, MATCH " \"exact\" is forbidden for resourceVersion \"0\"");
}

static void check_watch(struct check *check, const struct call *call)
{
    bool has_initial = call_param(call, "sendInitialEvents") != NULL;
    if (has_initial && !is(call, MATCH, NOT_OLDER))
        check_forbidden(check, MATCH, "sendInitialEvents requires setting " MATCH " to " NOT_OLDER);
    if (!has(call, MATCH))
        return;
    if (!has_initial)
        check_forbidden(check, MATCH,
                        MATCH " is forbidden for watch unless sendInitialEvents is provided");
    check_word(check, call, VALUES(NOT_OLDER));
    if (has(call, "continue"))
        check_forbidden(check, MATCH, MATCH " is forbidden when continue is provided");
}

static bool is_whole(const char *text)
{
    text += *text == '-';
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits <= 18 && text[digits] == '\0';
}

bool listoptions_check(const struct call *call, struct status *status)
{
    if (has(call, "timeoutSeconds") && !is_whole(call_param(call, "timeoutSeconds"))) {
        status_bad_request(status, "timeoutSeconds must be a whole number, not \"%s\"",
                           call_param(call, "timeoutSeconds"));
        return false;
    }
    struct findings findings = {0};
    struct check check = {.findings = &findings};
    if (call->verb == VERB_WATCH)
        check_watch(&check, call);
    else
        check_list(&check, call);
    bool fine = findings.list.len == 0;
    if (!fine)
        status_invalid(status, &LIST_OPTIONS, "", &findings);
    findings_done(&findings);
    return fine;
}

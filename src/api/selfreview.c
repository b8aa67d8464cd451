// SPDX-License-Identifier: Apache-2.0
/* What somebody may ask about himself, for `kubectl auth can-i` and `kubectl auth whoami`: may I do
 * this, what may I do, who am I. The first is answered by the rule that would be asked if he did.
 * These are addresses and no kinds: nothing can be got, listed or watched, and discovery does not
 * tell of them. */
#include "api/body.h"
#include "model/options.h"
#include <string.h>

static const char *text_at(yyjson_mut_val *root, const char *path)
{
    const char *text = json_mut_str_at(root, path);
    return text != NULL ? text : "";
}

/* ---- may I? ---- */

static bool may_address(const struct call *call, yyjson_mut_val *wish)
{
    return call->who.role == ROLE_ADMIN || (strcmp(text_at(wish, "verb"), "get") == 0 &&
                                            auth_allows_path(&call->who, text_at(wish, "path")));
}

/* Rights do not depend on the version. NULL: not served, or "*". */
static const struct kind *kind_named(const char *group, const char *plural)
{
    const struct kind *kind;
    for (size_t i = 0; (kind = kind_served(i)) != NULL; i++) {
        if (strcmp(kind->group, group) == 0 && strcmp(kind->plural, plural) == 0)
            return kind_stored(kind);
    }
    return NULL;
}

static bool may_resource(const struct call *call, yyjson_mut_val *wish)
{
    struct call asked = {.api = call->api,
                         .who = call->who,
                         .kind = kind_named(text_at(wish, "group"), text_at(wish, "resource")),
                         .ns = text_at(wish, "namespace"),
                         .name = text_at(wish, "name"),
                         .sub = text_at(wish, "subresource")};
    return auth_would_allow(&asked, text_at(wish, "verb"));
}

static void answer_access(struct call *call, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    yyjson_mut_val *address = json_mut_at(root, "spec.nonResourceAttributes");
    yyjson_mut_val *resource = json_mut_at(root, "spec.resourceAttributes");
    bool yes = address != NULL ? may_address(call, address) : may_resource(call, resource);
    yyjson_mut_val *status = yyjson_mut_obj(doc);
    json_mut_put(doc, status, "allowed", yyjson_mut_bool(doc, yes));
    json_mut_put(doc, root, "status", status);
}

/* ---- what may I? ---- */

static void add_rule(yyjson_mut_doc *doc, yyjson_mut_val *list, const char *const *verbs,
                     bool of_resources)
{
    yyjson_mut_val *rule = yyjson_mut_arr_add_obj(doc, list);
    yyjson_mut_val *words = yyjson_mut_obj_add_arr(doc, rule, "verbs");
    for (size_t i = 0; verbs[i] != NULL; i++)
        yyjson_mut_arr_add_str(doc, words, verbs[i]);
    static const char *const RESOURCES[] = {"apiGroups", "resources", NULL};
    static const char *const ADDRESSES[] = {"nonResourceURLs", NULL};
    for (const char *const *at = of_resources ? RESOURCES : ADDRESSES; *at != NULL; at++)
        yyjson_mut_arr_add_str(doc, yyjson_mut_obj_add_arr(doc, rule, *at), "*");
}

static void answer_rules(struct call *call, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    static const char *const ALL[] = {"*", NULL};
    static const char *const READ[] = {"get", "list", "watch", NULL};
    bool is_admin = call->who.role == ROLE_ADMIN;
    bool is_whole = is_admin || call->who.role == ROLE_VIEW;
    yyjson_mut_val *status = yyjson_mut_obj(doc);
    yyjson_mut_val *resources = yyjson_mut_obj_add_arr(doc, status, "resourceRules");
    yyjson_mut_val *addresses = yyjson_mut_obj_add_arr(doc, status, "nonResourceRules");
    if (is_whole) {
        add_rule(doc, resources, is_admin ? ALL : READ, true);
        add_rule(doc, addresses, is_admin ? ALL : (const char *const[]){"get", NULL}, false);
    }
    yyjson_mut_obj_add_bool(doc, status, "incomplete", !is_whole);
    if (!is_whole)
        yyjson_mut_obj_add_str(doc, status, "evaluationError",
                               "what this role may do depends on the object: ask for one by name");
    json_mut_put(doc, root, "status", status);
}

/* ---- who am I? ---- */

static void answer_self(struct call *call, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    yyjson_mut_val *status = yyjson_mut_obj(doc);
    yyjson_mut_val *user = yyjson_mut_obj_add_obj(doc, status, "userInfo");
    yyjson_mut_obj_add_strcpy(doc, user, "username", call->who.name);
    yyjson_mut_val *groups = yyjson_mut_obj_add_arr(doc, user, "groups");
    scoped_str role = {0};
    str_addf(&role, "muster:%s", role_name(call->who.role));
    yyjson_mut_arr_add_strcpy(doc, groups, str_text(&role));
    yyjson_mut_arr_add_str(doc, groups, "system:authenticated");
    json_mut_put(doc, root, "status", status);
}

/* ---- the questions ---- */

static const struct question {
    const char *group, *plural, *kind;
    const struct type *type;
    void (*answer)(struct call *call, yyjson_mut_doc *doc, yyjson_mut_val *root);
} QUESTIONS[] = {
    {"authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview",
     &TYPE_ACCESS_REVIEW, answer_access},
    {"authorization.k8s.io", "selfsubjectrulesreviews", "SelfSubjectRulesReview",
     &TYPE_RULES_REVIEW, answer_rules},
    {"authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview", &TYPE_SELF_REVIEW,
     answer_self},
};

static const struct question *question_of(const struct call *call)
{
    for (size_t i = 0; call->part_count == 4 && i < ARRAY_LEN(QUESTIONS); i++) {
        if (strcmp(call->parts[1], QUESTIONS[i].group) == 0 && strcmp(call->parts[2], "v1") == 0 &&
            strcmp(call->parts[3], QUESTIONS[i].plural) == 0)
            return &QUESTIONS[i];
    }
    return NULL;
}

static bool take_question(const struct call *call, const struct question *question,
                          yyjson_mut_doc **ret_doc, struct status *status)
{
    const struct kind kind = {
        .group = question->group, .version = "v1", .name = question->kind, .plural = ""};
    struct findings findings = {0};
    if (!body_object(call, question->type, NULL, ret_doc, status))
        return false;
    yyjson_mut_val *root = yyjson_mut_doc_get_root(*ret_doc);
    schema_check(question->type, root, NULL, &findings);
    if (findings.list.len > 0)
        status_invalid(status, &kind, "", &findings);
    findings_done(&findings);
    return status_ok(status);
}

bool selfreview_answer(struct call *call)
{
    const struct question *question = question_of(call);
    if (question == NULL)
        return false;
    struct status status = {0};
    scoped_json_mut *doc = NULL;
    call->verb = VERB_CREATE;
    if (strcmp(call->req->method, "POST") != 0)
        status_set(&status, 405, "MethodNotAllowed", "this is only asked for, with POST");
    else
        (void)take_question(call, question, &doc, &status);
    if (!status_ok(&status)) {
        call_refuse(call, &status);
        return true;
    }
    scoped_str api_version = {0};
    str_addf(&api_version, "%s/v1", question->group);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    json_mut_put(doc, root, "kind", yyjson_mut_str(doc, question->kind));
    json_mut_put(doc, root, "apiVersion", yyjson_mut_strcpy(doc, str_text(&api_version)));
    question->answer(call, doc, root);
    struct str out = {0};
    json_write(root, &out);
    call_reply_json(call, 201, &out);
    return true;
}

// SPDX-License-Identifier: Apache-2.0
/* A workload: where it stands in its queue, what it lacks, who is in its way. The controller that
 * admits it is asked; no field of an object says all that. */
#include "cli/why.h"
#include "model/cell.h"
#include "model/kueue.h"

struct queue_case {
    struct why *why;
    yyjson_val *workload;
    yyjson_val *view; /* what the controller says */
    const char *label;
    yyjson_mut_val *answer;
};

static const char *text_at(yyjson_val *object, const char *path)
{
    const char *text = json_str_at(object, path);
    return text != NULL ? text : "";
}

/* The engine's short words, as part of a sentence. */
static const char *phrase(const char *state)
{
    static const struct {
        const char *state, *phrase;
    } PHRASES[] = {{"no quota", "waits for quota"},
                   {"blocked", "waits until others are ready"},
                   {"behind", "waits behind another"},
                   {"preempting", "waits for room"},
                   {"backing off", "pauses"},
                   {"held", "is held"},
                   {"queued", "is queued"},
                   {"inactive", "is switched off"},
                   {"unknown", "is not known"}};
    for (size_t i = 0; i < ARRAY_LEN(PHRASES); i++) {
        if (str_eq(state, PHRASES[i].state))
            return PHRASES[i].phrase;
    }
    return NULL;
}

static void say_first(struct queue_case *c)
{
    const char *state = text_at(c->view, "state"), *message = text_at(c->view, "message");
    int64_t position = json_int_at(c->view, "position", 0);
    int64_t pending = json_int_at(c->view, "pending", 0);
    scoped_str text = {0};
    const char *words = phrase(state);
    /* "admitted; waits for its pods to be ready" */
    bool goes_on = words == NULL && str_starts(message, state);
    str_addf(&text, "%s %s%s", c->label, words ? "" : "is ",
             words     ? words
             : goes_on ? message
                       : state);
    if (position > 0)
        str_addf(&text, ", number %lld of %lld in %s", (long long)position, (long long)pending,
                 text_at(c->view, "clusterQueue"));
    if (!goes_on && !str_eq(state, message))
        str_addf(&text, ": %s", message);
    why_text(c->why, c->answer, &text);
    why_put(c->why, c->answer, "reason", state);
    const char *hint = text_at(c->view, "hint");
    if (*hint != '\0')
        why_help(c->why, c->answer, "%s", hint);
}

static void add_shortages(struct queue_case *c)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(yyjson_obj_get(c->view, "shortages"), i, n, item)
    {
        const char *why = json_str_at(item, "why");
        yyjson_mut_val *detail = why_detail(c->why, c->answer);
        scoped_str set = {0};
        if (json_str_at(item, "podSet") != NULL)
            str_addf(&set, "pod set %s, ", text_at(item, "podSet"));
        if (why != NULL && *text_at(item, "flavor") == '\0')
            why_say(c->why, detail, "%sresource %s: %s", str_text(&set), text_at(item, "resource"),
                    why);
        else if (why != NULL)
            why_say(c->why, detail, "%sflavor %s: %s", str_text(&set), text_at(item, "flavor"),
                    why);
        else
            why_say(c->why, detail, "%sflavor %s: needs %s of %s, %s are free of at most %s",
                    str_text(&set), text_at(item, "flavor"), text_at(item, "needed"),
                    text_at(item, "resource"), text_at(item, "available"),
                    text_at(item, "capacity"));
    }
}

static void add_blockers(struct queue_case *c)
{
    const char *blocker = json_str_at(c->view, "blocker");
    int64_t count = json_int_at(c->view, "blockers", 0);
    if (blocker == NULL)
        return;
    yyjson_mut_val *detail = why_detail(c->why, c->answer);
    if (count > 1)
        why_say(c->why, detail, "workload %s is in its way, and %lld more", blocker,
                (long long)count - 1);
    else
        why_say(c->why, detail, "workload %s is in its way", blocker);
    const char *name = strchr(blocker, '/');
    why_help(c->why, detail, "muster why workload/%s", name != NULL ? name + 1 : blocker);
}

static void add_times(struct queue_case *c)
{
    int64_t tries = json_int_at(c->view, "tries", 0);
    int64_t limit = json_int_at(c->view, "limit", -1);
    time_ms retry = cell_time(c->view, "retryAt"), evict = cell_time(c->view, "evictAt");
    time_ms over = cell_time(c->view, "overAt");
    scoped_str left = {0};
    if (tries > 0) {
        yyjson_mut_val *detail = why_detail(c->why, c->answer);
        if (limit >= 0)
            why_say(c->why, detail,
                    "it did not get ready in time %lld times; after %lld it is "
                    "deactivated",
                    (long long)tries, (long long)limit + 1);
        else
            why_say(c->why, detail, "it did not get ready in time %lld times", (long long)tries);
    }
    if (retry != 0) {
        why_left(c->why, retry, &left);
        why_say(c->why, why_detail(c->why, c->answer), "the next try is at %s, in %s",
                text_at(c->view, "retryAt"), str_text(&left));
    }
    str_clear(&left);
    if (evict != 0) {
        why_left(c->why, evict, &left);
        why_say(c->why, why_detail(c->why, c->answer),
                "it loses its quota in %s unless all its pods are ready", str_text(&left));
    }
    str_clear(&left);
    if (over != 0) {
        why_left(c->why, over, &left);
        why_say(c->why, why_detail(c->why, c->answer),
                "it is deactivated in %s: it may be admitted for %lld seconds in all",
                str_text(&left),
                (long long)json_int_at(c->workload, "spec.maximumExecutionTimeSeconds", 0));
    }
}

/* Evictions so far, by their reasons. */
static void add_past(struct queue_case *c)
{
    size_t i, n;
    yyjson_val *item;
    scoped_str text = {0};
    yyjson_arr_foreach(json_at(c->workload, "status.schedulingStats.evictions"), i, n, item)
    {
        const char *cause = text_at(item, "underlyingCause");
        str_addf(&text, "%s%s%s%s %lld times", i > 0 ? ", " : "", text_at(item, "reason"),
                 *cause != '\0' ? "/" : "", cause, (long long)json_int_at(item, "count", 0));
    }
    if (text.len > 0)
        why_say(c->why, why_detail(c->why, c->answer), "evicted so far: %s", str_text(&text));
}

int why_workload(struct why *why, yyjson_val *workload, yyjson_mut_val *answer)
{
    const char *name = text_at(workload, "metadata.name");
    scoped_free char *label = mem_printf("workload/%s", name);
    scoped_str url = {0};
    target_object(&KIND_WORKLOAD, json_str_at(workload, "metadata.namespace"), name, &url);
    str_add(&url, "/explain");
    scoped_json *doc = why_ask(why, str_text(&url));
    struct queue_case c = {.why = why,
                           .workload = workload,
                           .view = yyjson_doc_get_root(doc),
                           .label = label,
                           .answer = answer};
    const char *state = json_str_at(c.view, "state");
    bool is_well = str_eq(state, "finished") || str_eq(state, "admitted");
    json_mut_put(why->doc, answer, "isWell", yyjson_mut_bool(why->doc, is_well));
    if (why_deletion(why, workload, label, answer))
        return CLI_OK;
    if (c.view == NULL) {
        why_say(why, answer, "%s: the server does not say more than its status", label);
        why_help(why, answer, "muster describe workload %s", name);
        return CLI_OK;
    }
    say_first(&c);
    add_shortages(&c);
    add_blockers(&c);
    add_times(&c);
    add_past(&c);
    return CLI_OK;
}

bool why_queued(struct why *why, yyjson_val *owner, const char *prefix, yyjson_mut_val *answer)
{
    yyjson_val *labels = json_at(owner, "metadata.labels");
    const char *queue = yyjson_get_str(yyjson_obj_get(labels, KUEUE_QUEUE_LABEL));
    if (queue == NULL || !yyjson_get_bool(json_at(owner, "spec.suspend")))
        return false;
    scoped_free char *name = mem_printf("%s%s", prefix, text_at(owner, "metadata.name"));
    scoped_str url = {0};
    target_object(&KIND_WORKLOAD, json_str_at(owner, "metadata.namespace"), name, &url);
    scoped_json *doc = why_ask(why, str_text(&url));
    why_put(why, answer, "reason", "Queued");
    if (doc == NULL) {
        why_say(why, answer, "%.*s/%s is held for queue %s, and has no Workload yet",
                (int)strlen(prefix) - 1, prefix, text_at(owner, "metadata.name"), queue);
        why_help(why, answer, "muster events --for %.*s/%s", (int)strlen(prefix) - 1, prefix,
                 text_at(owner, "metadata.name"));
        return true;
    }
    why_say(why, answer, "%.*s/%s waits in queue %s", (int)strlen(prefix) - 1, prefix,
            text_at(owner, "metadata.name"), queue);
    (void)why_workload(why, yyjson_doc_get_root(doc), why_detail(why, answer));
    return true;
}

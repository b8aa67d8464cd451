// SPDX-License-Identifier: Apache-2.0
#include "cli/why.h"
#include "base/mem.h"
#include "cli/grid.h"
#include "model/cell.h"
#include <stdarg.h>
#include <stdio.h>

static const struct why_kind {
    const struct kind *kind;
    why_fn *explain;
    next_fn *next;
} WHY_KINDS[] = {
    {&KIND_POD, why_pod, next_pod},
    {&KIND_JOB, why_job, next_job},
    {&KIND_JOBSET, why_jobset, next_jobset},
    {&KIND_WORKLOAD, why_workload, next_workload},
    {&KIND_NODE, why_node, next_node},
    {&KIND_NODECONFIG, why_nodeconfig, next_nodeconfig},
    {&KIND_CLUSTERQUEUE, why_clusterqueue, next_clusterqueue},
    {&KIND_LOCALQUEUE, why_localqueue, next_localqueue},
    {&KIND_RESOURCEFLAVOR, why_flavor, next_flavor},
    {&KIND_STATEFULSET, why_statefulset, next_statefulset},
    {&KIND_VPOD, why_vpod, next_vpod},
    {&KIND_CONFIGMAP, why_configmap, next_configmap},
    {&KIND_NAMESPACE, why_namespace, next_namespace},
    {NULL, why_plain, next_plain},
};

/* ---- a life ---- */

static const struct why_kind *row_of(const struct kind *kind)
{
    const struct why_kind *row = WHY_KINDS;
    while (row->kind != NULL && row->kind != kind_stored(kind))
        row++;
    return row;
}

/* The last thing that its conditions tell of, else when it was made. */
static time_ms changed_at(yyjson_val *object)
{
    time_ms last = 0;
    size_t i, n;
    yyjson_val *condition;
    yyjson_arr_foreach(json_at(object, "status.conditions"), i, n, condition)
    {
        time_ms at = cell_time(condition, "lastTransitionTime");
        last = at > last ? at : last;
    }
    return last > 0 ? last : cell_time(object, "metadata.creationTimestamp");
}

int why_life(struct why *why, const struct kind *kind, yyjson_val *object, yyjson_mut_val *answer)
{
    const struct why_kind *row = row_of(kind);
    scoped_str next = {0};
    why_put(why, answer, "kind", kind->name);
    why_put(why, answer, "namespace", json_str_at(object, "metadata.namespace"));
    why_put(why, answer, "name", json_str_at(object, "metadata.name"));
    int exit_code = row->explain(why, object, answer);
    why_since(why, answer, changed_at(object));
    if (json_str_at(object, "metadata.deletionTimestamp") != NULL)
        str_add(&next, "it is gone when nothing holds it any more");
    else
        row->next(why, object, &next);
    why_put(why, answer, "next", str_text(&next));
    return exit_code;
}

void why_done(struct why *why)
{
    yyjson_mut_doc_free(why->doc);
    yyjson_doc_free(why->configs);
    yyjson_doc_free(why->neighbours);
    mem_free(why->node);
}

/* ---- making answers ---- */

void why_put(struct why *why, yyjson_mut_val *answer, const char *key, const char *text)
{
    if (text != NULL)
        json_mut_put(why->doc, answer, key, yyjson_mut_strcpy(why->doc, text));
}

void why_since(struct why *why, yyjson_mut_val *answer, time_ms at)
{
    scoped_str text = {0};
    if (at == 0 || yyjson_mut_obj_get(answer, "since") != NULL)
        return;
    rfc3339_format(at, &text);
    why_put(why, answer, "since", str_text(&text));
}

void why_text(struct why *why, yyjson_mut_val *answer, const struct str *text)
{
    why_put(why, answer, "text", str_text(text));
}

static char *format(const char *fmt, va_list args)
{
    char *text = NULL;
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    text = mem_alloc((size_t)len + 1);
    (void)vsnprintf(text, (size_t)len + 1, fmt, args);
    return text;
}

void why_say(struct why *why, yyjson_mut_val *answer, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    scoped_free char *text = format(fmt, args);
    va_end(args);
    why_put(why, answer, "text", text);
}

static yyjson_mut_val *list_of(struct why *why, yyjson_mut_val *answer, const char *key)
{
    yyjson_mut_val *list = yyjson_mut_obj_get(answer, key);
    if (list == NULL) {
        list = yyjson_mut_arr(why->doc);
        json_mut_put(why->doc, answer, key, list);
    }
    return list;
}

void why_help(struct why *why, yyjson_mut_val *answer, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    scoped_free char *text = format(fmt, args);
    va_end(args);
    (void)yyjson_mut_arr_add_strcpy(why->doc, list_of(why, answer, "help"), text);
}

yyjson_mut_val *why_detail(struct why *why, yyjson_mut_val *answer)
{
    return yyjson_mut_arr_add_obj(why->doc, list_of(why, answer, "details"));
}

/* ---- as text ---- */

static void print_line(const char *before, const char *text, size_t depth, struct str *out)
{
    str_addf(out, "%*s%s", (int)(depth * 2), "", before);
    grid_plain(text != NULL ? text : "", out);
    str_addc(out, '\n');
}

static void print(const yyjson_mut_val *answer, size_t depth, struct str *out)
{
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_val *of = (yyjson_mut_val *)answer; /* yyjson's readers take no const */
    print_line("", json_mut_str_at(of, "text"), depth, out);
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(of, "details"), i, n, item)
    {
        print(item, depth + 1, out);
    }
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(of, "help"), i, n, item)
    {
        print_line("help: ", yyjson_mut_get_str(item), depth + 1, out);
    }
}

/* "since 12s; next: it is done when all its Jobs are" */
static void print_life(const struct why *why, yyjson_mut_val *answer, struct str *out)
{
    const char *since = json_mut_str_at(answer, "since"), *next = json_mut_str_at(answer, "next");
    time_ms at = 0;
    if (since != NULL && rfc3339_parse(sv_of(since), &at, NULL) == 0) {
        str_add(out, "since ");
        why_age(why, at, out);
        str_add(out, next != NULL ? "; " : "\n");
    }
    if (next != NULL)
        print_line("next: ", next, 0, out);
}

void why_print(const struct why *why, yyjson_mut_val *answer, struct str *out)
{
    print(answer, 0, out);
    print_life(why, answer, out);
}

/* ---- times ---- */

void why_age(const struct why *why, time_ms at, struct str *out)
{
    duration_human(at > 0 && why->now > at ? why->now - at : 0, out);
}

void why_left(const struct why *why, time_ms at, struct str *out)
{
    /* Rounded up: "0s" would say that it is now. */
    duration_human(at > why->now ? (at - why->now + 999) / 1000 * 1000 : 0, out);
}

/* ---- asking ---- */

yyjson_doc *why_ask(struct why *why, const char *url)
{
    struct client_response res = {0};
    yyjson_doc *doc = NULL;
    if (cli_call(why->cli, &(struct request){.target = url}, &res) != CLI_OK)
        return NULL;
    if (res.status == 200)
        (void)json_parse((struct sv){str_text(&res.body), res.body.len}, &doc, NULL);
    client_response_done(&res);
    return doc;
}

yyjson_doc *why_list(struct why *why, const struct kind *kind, const char *ns, const char *selector,
                     const char *value)
{
    scoped_str url = {0};
    target_collection(kind, ns, &url);
    if (selector != NULL)
        target_query(&url, selector, value);
    return why_ask(why, str_text(&url));
}

yyjson_val *why_items(yyjson_doc *list)
{
    return yyjson_obj_get(yyjson_doc_get_root(list), "items");
}

char *why_label(const struct kind *kind, yyjson_val *object)
{
    const char *name = json_str_at(object, "metadata.name");
    return mem_printf("%s/%s", kind->singular, name != NULL ? name : "");
}

void why_set_well(struct why *why, yyjson_mut_val *answer, bool is_well)
{
    json_mut_put(why->doc, answer, "isWell", yyjson_mut_bool(why->doc, is_well));
}

bool why_is_true(yyjson_val *object, const char *type)
{
    return cell_condition_as(object, type, "True") != NULL;
}

/* ---- deletion ---- */

static void add_finalizers(struct why *why, yyjson_val *finalizers, yyjson_mut_val *answer)
{
    scoped_str names = {0};
    size_t i, n;
    yyjson_val *finalizer;
    yyjson_arr_foreach(finalizers, i, n, finalizer)
    {
        str_addf(&names, "%s%s", i > 0 ? ", " : "", yyjson_get_str(finalizer));
    }
    if (names.len == 0)
        return;
    yyjson_mut_val *detail = why_detail(why, answer);
    why_say(why, detail, "it stays until its finalizers are removed: %s", str_text(&names));
    why_help(why, detail, "whoever set them removes them when done; by hand only if he is gone");
}

/* deletionTimestamp is when its grace is over. */
bool why_deletion(struct why *why, yyjson_val *object, const char *label, yyjson_mut_val *answer)
{
    time_ms until = cell_time(object, "metadata.deletionTimestamp");
    time_ms grace = json_int_at(object, "metadata.deletionGracePeriodSeconds", 0) * 1000;
    scoped_str age = {0}, left = {0};
    if (until == 0)
        return false;
    why_age(why, until - grace, &age);
    why_left(why, until, &left);
    if (until > why->now)
        why_say(why, answer, "%s is being deleted since %s; %s of its grace are left", label,
                str_text(&age), str_text(&left));
    else
        why_say(why, answer, "%s is being deleted since %s; its grace is over", label,
                str_text(&age));
    add_finalizers(why, json_at(object, "metadata.finalizers"), answer);
    return true;
}

bool why_is_foreign(yyjson_val *object, const char *ours)
{
    const char *manager = json_str_at(object, "spec.managedBy");
    return manager != NULL && !str_eq(manager, ours);
}

bool why_manager(struct why *why, yyjson_val *object, const char *ours, const char *label,
                 yyjson_mut_val *answer)
{
    if (!why_is_foreign(object, ours))
        return false;
    why_say(why, answer, "%s is left to %s, as its spec.managedBy says: nothing here works on it",
            label, json_str_at(object, "spec.managedBy"));
    why_put(why, answer, "reason", "ManagedByAnother");
    return true;
}

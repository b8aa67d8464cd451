// SPDX-License-Identifier: Apache-2.0
#include "cli/vigil.h"
#include "base/mem.h"
#include "cli/follow.h"
#include <errno.h>
#include <strings.h>

struct watchman {
    const struct vigil *vigil;
    const struct item *item;
    char *uid; /* of the object that was seen first */
    int exit_code;
};

static bool condition_met(const struct vigil *vigil, yyjson_val *object)
{
    size_t i, n;
    yyjson_val *condition;
    yyjson_arr_foreach(json_at(object, "status.conditions"), i, n, condition)
    {
        const char *type = json_str_at(condition, "type");
        const char *status = json_str_at(condition, "status");
        if (type == NULL || status == NULL || strcasecmp(type, vigil->condition) != 0)
            continue;
        /* A verdict on an older version of the spec is none on this one. */
        int64_t generation = json_int_at(object, "metadata.generation", 0);
        if (json_int_at(condition, "observedGeneration", generation) < generation)
            return false;
        return strcasecmp(status, vigil->value) == 0;
    }
    return false;
}

static bool path_met(const struct vigil *vigil, yyjson_val *object)
{
    scoped_str text = {0};
    int n = jsonpath_print(vigil->path, object, &text, NULL);
    return n > 0 && (vigil->value == NULL || str_eq(str_text(&text), vigil->value));
}

/* NULL: there is no such object. */
static bool is_met(const struct vigil *vigil, const struct item *item, yyjson_val *object)
{
    switch (vigil->what) {
    case VIGIL_DELETE:
        return object == NULL ||
               (item->uid != NULL && !str_eq(item->uid, json_str_at(object, "metadata.uid")));
    case VIGIL_CREATE:
        return object != NULL;
    case VIGIL_CONDITION:
        return object != NULL && condition_met(vigil, object);
    case VIGIL_JSONPATH:
        return object != NULL && path_met(vigil, object);
    }
    return false;
}

static void remember_uid(struct watchman *w, yyjson_val *object)
{
    const char *uid = json_str_at(object, "metadata.uid");
    if (w->uid == NULL && uid != NULL)
        w->uid = mem_strdup(uid);
}

static bool met(const struct watchman *w, yyjson_val *object)
{
    struct item known = *w->item;
    known.uid = known.uid ? known.uid : w->uid;
    return is_met(w->vigil, &known, object);
}

static int missing(struct watchman *w, const char *what)
{
    scoped_str resource = {0};
    target_resource(w->item->kind, &resource);
    fprintf(w->vigil->cli->err, "Error from server (NotFound): %s \"%s\" %s\n", str_text(&resource),
            w->item->name, what);
    w->exit_code = CLI_FAILED;
    return 1;
}

static bool needs_object(const struct vigil *vigil)
{
    return vigil->what == VIGIL_CONDITION || vigil->what == VIGIL_JSONPATH;
}

static int on_list(void *arg, yyjson_val *list)
{
    struct watchman *w = arg;
    yyjson_val *object = yyjson_arr_get_first(yyjson_obj_get(list, "items"));
    if (met(w, object))
        return 1;
    if (object == NULL && needs_object(w->vigil))
        return missing(w, "not found");
    remember_uid(w, object);
    return 0;
}

static int on_event(void *arg, const char *type, yyjson_val *object)
{
    struct watchman *w = arg;
    bool gone = str_eq(type, "DELETED");
    if (met(w, gone ? NULL : object))
        return 1;
    if (gone && needs_object(w->vigil))
        return missing(w, "was deleted meanwhile");
    remember_uid(w, object);
    return 0;
}

static int too_late(const struct vigil *vigil, const struct item *item)
{
    scoped_str resource = {0};
    target_resource(item->kind, &resource);
    struct err err = {0};
    (void)err_set(&err, -ETIMEDOUT, "timed out waiting for %s on %s/%s",
                  vigil->what == VIGIL_DELETE ? "the deletion" : "the condition",
                  str_text(&resource), item->name);
    (void)err_hint(&err, "see what holds it up with: muster describe %s/%s", str_text(&resource),
                   item->name);
    return cli_error(vigil->cli, CLI_FAILED, &err);
}

int vigil_keep(const struct vigil *vigil, const struct item *item)
{
    scoped_str url = {0};
    scoped_str selector = {0};
    str_addf(&selector, "metadata.name=%s", item->name);
    target_collection(item->kind, item->ns, &url);
    target_query(&url, "fieldSelector", str_text(&selector));
    struct watchman w = {vigil, item, NULL, CLI_OK};
    struct follow follow = {str_text(&url), NULL, vigil->deadline, on_list, on_event, &w};
    int r = follow_run(vigil->cli, &follow);
    mem_free(w.uid);
    if (r == -ETIMEDOUT)
        return too_late(vigil, item);
    return r != CLI_OK ? r : w.exit_code;
}

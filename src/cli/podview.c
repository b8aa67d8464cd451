// SPDX-License-Identifier: Apache-2.0
#include "cli/podview.h"
#include "model/podnotes.h"

enum container_state podview_state_of(const char *name)
{
    for (enum container_state state = 0; name != NULL && state < CT_STATE_COUNT; state++) {
        if (str_eq(container_state_name(state), name))
            return state;
    }
    return CT_STATE_COUNT;
}

static void add_list(struct podview *view, bool is_init)
{
    yyjson_val *statuses =
        json_at(view->pod, is_init ? "status.initContainerStatuses" : "status.containerStatuses");
    size_t i, n;
    yyjson_val *spec;
    yyjson_arr_foreach(json_at(view->pod, is_init ? "spec.initContainers" : "spec.containers"), i,
                       n, spec)
    {
        const char *name = json_str_at(spec, "name");
        if (name == NULL)
            continue;
        struct podview_one one = {.name = name, .spec = spec, .is_init = is_init};
        one.status = json_find(statuses, "name", name);
        one.life = yyjson_obj_get(one.status, "lifecycle");
        one.state = podview_state_of(json_str_at(one.life, "state"));
        one.is_sidecar = is_init && str_eq(json_str_at(spec, "restartPolicy"), "Always");
        vec_push(&view->list, one);
    }
}

static uint32_t index_of(const struct podview *view, const char *name)
{
    for (size_t i = 0; i < view->list.len; i++) {
        if (str_eq(view->list.items[i].name, name))
            return (uint32_t)i;
    }
    return PODVIEW_NONE;
}

static void add_needs(struct podview *view, struct podnotes *notes, struct podview_one *one)
{
    size_t n = 0;
    const struct podnotes_need *needs = podnotes_needs(notes, one->spec, &n);
    for (size_t i = 0; i < n; i++) {
        struct podview_need need = {index_of(view, needs[i].name), needs[i].condition, false};
        if (need.on != PODVIEW_NONE)
            vec_push(&one->needs, need);
    }
}

void podview_open(struct podview *view, yyjson_val *pod)
{
    *view = (struct podview){.pod = pod};
    add_list(view, true);
    add_list(view, false);
    struct podnotes notes;
    podnotes_open(&notes, pod);
    uint32_t before = PODVIEW_NONE; /* the init container whose turn is before this one's */
    for (size_t i = 0; i < view->list.len; i++) {
        struct podview_one *one = &view->list.items[i];
        if (before != PODVIEW_NONE) {
            bool stays = view->list.items[before].is_sidecar;
            struct podview_need need = {before, stays ? DEP_READY : DEP_COMPLETED, true};
            vec_push(&one->needs, need);
        }
        add_needs(view, &notes, one);
        before = one->is_init ? (uint32_t)i : before;
    }
    podnotes_close(&notes);
}

void podview_close(struct podview *view)
{
    for (size_t i = 0; i < view->list.len; i++)
        vec_done(&view->list.items[i].needs);
    vec_done(&view->list);
}

const char *podview_condition(enum dep_condition condition)
{
    static const char *const NAMES[] = {
        [DEP_READY] = "ready", [DEP_COMPLETED] = "completed", [DEP_STARTED] = "started"};
    return NAMES[condition];
}

static bool has_ended_well(const struct podview_one *one)
{
    yyjson_val *end = json_at(one->status, "state.terminated");
    return end != NULL && json_int_at(end, "exitCode", -1) == 0;
}

bool podview_is_final(const struct podview_one *one)
{
    return json_at(one->status, "state.terminated") != NULL;
}

bool podview_is_done(const struct podview_one *one)
{
    bool is_ready = yyjson_get_bool(yyjson_obj_get(one->status, "ready"));
    return has_ended_well(one) || (is_ready && (!one->is_init || one->is_sidecar));
}

static bool meets(const struct podview_one *one, enum dep_condition condition)
{
    switch (condition) {
    case DEP_READY:
        return yyjson_get_bool(yyjson_obj_get(one->status, "ready"));
    case DEP_COMPLETED:
        return has_ended_well(one) || one->state == CT_EXITED;
    case DEP_STARTED:
        return json_at(one->status, "state.running") != NULL || has_ended_well(one);
    }
    return false;
}

const struct podview_need *podview_unmet(const struct podview *view, uint32_t i)
{
    const struct podview_one *one = &view->list.items[i];
    const struct podview_need *first = NULL;
    for (size_t k = 0; k < one->needs.len; k++) {
        const struct podview_need *need = &one->needs.items[k];
        const struct podview_one *on = &view->list.items[need->on];
        if (meets(on, need->condition))
            continue;
        if (podview_is_final(on))
            return need;
        first = first != NULL ? first : need;
    }
    return first;
}

void podview_selector(yyjson_val *owner, struct str *out)
{
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_obj_foreach(json_at(owner, "spec.selector.matchLabels"), i, n, key, value)
    {
        str_addf(out, "%s%s=%s", out->len > 0 ? "," : "", yyjson_get_str(key),
                 yyjson_get_str(value) ? yyjson_get_str(value) : "");
    }
}

// SPDX-License-Identifier: Apache-2.0
/* Pods are made and taken away some hundred at a time; the Job's key is held until all those writes
 * are known.
 *
 * A pod's name looks random and is not: it follows from the Job's UID, the index and how many names
 * of that sort are in use. Should the controller be restarted while creations are on their way, it
 * asks for the same names again, and the store refuses the second of each: there never is one pod
 * too many. */
#include "base/hash.h"
#include "base/mem.h"
#include "control/job_internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define PREFIX_MAX 58 /* with its suffix a name is a label */
#define SUFFIX 5
#define TOLD_ONE_BY_ONE 10

/* ---- names ---- */

static char *prefix_of(const struct look *look, int64_t index)
{
    char tail[24] = "-";
    if (index >= 0)
        (void)snprintf(tail, sizeof(tail), "-%" PRId64 "-", index);
    return mem_printf("%.*s%s", (int)(PREFIX_MAX - strlen(tail)), look->job->meta.name, tail);
}

static char *name_of(const struct look *look, const char *prefix, int64_t index, int64_t number)
{
    char suffix[SUFFIX + 1];
    struct rng rng;
    uint64_t hash = hash_text(HASH_START, look->job->meta.uid);
    hash = hash_bytes(hash, &index, sizeof(index));
    hash = hash_bytes(hash, &number, sizeof(number));
    rng_seed(&rng, hash);
    rng_suffix(&rng, suffix, SUFFIX);
    return mem_printf("%s%s", prefix, suffix);
}

static bool is_taken(const struct look *look, const char *name)
{
    return cache_get(control_world(look->control)->cache, &KIND_POD, obj_namespace(look->job),
                     name) != NULL;
}

/* Of an index, or (index -1) of the Job as a whole, where the numbers in use are remembered. */
static char *next_name(struct look *look, const char *prefix, int64_t index)
{
    struct job_state *state = look->state;
    int64_t number = index < 0 ? state->next_ordinal : 0;
    for (;; number++) {
        scoped_free char *name = name_of(look, prefix, index, number);
        bool taken = is_taken(look, name);
        if (index < 0) {
            taken |= map_get(state->ordinals, name) != NULL;
            (void)map_put(state->ordinals, name, (void *)(intptr_t)(number + 1));
            state->next_ordinal = number + 1;
        }
        if (!taken)
            return take_ptr(name);
    }
}

/* ---- one pod ---- */

static void put_number(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, int64_t number)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRId64, number);
    json_mut_put(doc, obj, key, yyjson_mut_strcpy(doc, text));
}

static void add_index_env(yyjson_mut_doc *doc, yyjson_mut_val *containers)
{
    size_t i, n;
    yyjson_mut_val *container;
    yyjson_mut_arr_foreach(containers, i, n, container)
    {
        yyjson_mut_val *env = json_mut_need_arr(doc, container, "env");
        if (json_mut_find(env, "name", "JOB_COMPLETION_INDEX") != NULL)
            continue;
        yyjson_mut_val *item = yyjson_mut_arr_add_obj(doc, env);
        yyjson_mut_obj_add_str(doc, item, "name", "JOB_COMPLETION_INDEX");
        json_mut_set(doc, item, "valueFrom.fieldRef.fieldPath",
                     yyjson_mut_str(doc, "metadata.labels['" JOB_INDEX "']"));
    }
}

static void add_index(struct look *look, yyjson_mut_doc *doc, yyjson_mut_val *root, int64_t index)
{
    yyjson_mut_val *meta = yyjson_mut_obj_get(root, "metadata");
    yyjson_mut_val *spec = yyjson_mut_obj_get(root, "spec");
    yyjson_mut_val *annotations = json_mut_need_obj(doc, meta, "annotations");
    const struct slot *slot = state_slot(look->state, index);
    put_number(doc, annotations, JOB_INDEX, index);
    put_number(doc, json_mut_need_obj(doc, meta, "labels"), JOB_INDEX, index);
    if (look->state->counts_per_index) {
        bool carries = slot != NULL && slot->held != NULL;
        put_number(doc, annotations, JOB_INDEX_FAILURES, carries ? slot->next_failures : 0);
        if (carries && slot->next_ignored > 0)
            put_number(doc, annotations, JOB_INDEX_IGNORED, slot->next_ignored);
    }
    add_index_env(doc, yyjson_mut_obj_get(spec, "initContainers"));
    add_index_env(doc, yyjson_mut_obj_get(spec, "containers"));
    scoped_free char *host = mem_printf("%s-%" PRId64, look->job->meta.name, index);
    if (format_problem(FMT_DNS_LABEL, host, strlen(host)) == NULL)
        json_mut_put(doc, spec, "hostname", yyjson_mut_strcpy(doc, host));
}

static yyjson_mut_doc *pod_of_template(struct look *look)
{
    static const char *const META[] = {"labels", "annotations", "finalizers"};
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc), *meta = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    json_mut_put(doc, root, "metadata", meta);
    for (size_t i = 0; i < ARRAY_LEN(META); i++) {
        yyjson_val *part = yyjson_obj_get(json_at(look->spec, "template.metadata"), META[i]);
        if (part != NULL)
            json_mut_put(doc, meta, META[i], yyjson_val_mut_copy(doc, part));
    }
    json_mut_put(doc, root, "spec", yyjson_val_mut_copy(doc, json_at(look->spec, "template.spec")));
    (void)yyjson_mut_arr_add_str(doc, json_mut_need_arr(doc, meta, "finalizers"), JOB_FINALIZER);
    obj_add_owner(doc, root, look->job, true);
    return doc;
}

static void create_one(struct look *look, int64_t index)
{
    scoped_free char *prefix = prefix_of(look, index);
    scoped_free char *name = next_name(look, prefix, index);
    struct write *write = write_new(WRITE_CREATE, &KIND_POD, obj_namespace(look->job), name);
    write->doc = pod_of_template(look);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(write->doc);
    if (index >= 0)
        add_index(look, write->doc, root, index);
    json_mut_set(write->doc, root, "metadata.generateName", yyjson_mut_strcpy(write->doc, prefix));
    json_mut_set(write->doc, root, "metadata.name", yyjson_mut_strcpy(write->doc, name));
    vec_push(&look->state->created, take_ptr(name));
    control_write_about(look->control, write, look->job, "FailedCreate");
}

void look_create(struct look *look, int64_t count)
{
    struct job_state *state = look->state;
    int64_t index = -1;
    count = count < JOB_BATCH ? count : JOB_BATCH;
    for (int64_t i = 0; i < count; i++) {
        if (state->is_indexed && (index = indexes_next(&state->pending, index + 1)) < 0)
            break;
        create_one(look, state->is_indexed ? index : -1);
    }
}

/* ---- fewer pods ---- */

static void delete_one(struct look *look, const struct member *member)
{
    struct write *write =
        write_new(WRITE_DELETE, &KIND_POD, obj_namespace(look->job), member->name);
    write->if_uid = mem_strdup(member->uid);
    write->propagation = PROPAGATE_BACKGROUND;
    vec_push(&look->state->deleted, mem_strdup(member->name));
    control_write(look->control, write);
}

/* Those that cost least go first: not ours any more, one too many of their index, not ready; then
 * the highest index. */
static int by_cost(const void *a, const void *b)
{
    const struct member *x = *(struct member *const *)a, *y = *(struct member *const *)b;
    if (x->is_tracked != y->is_tracked)
        return x->is_tracked - y->is_tracked;
    if (x->is_excess != y->is_excess)
        return y->is_excess - x->is_excess;
    if (x->is_ready != y->is_ready)
        return x->is_ready - y->is_ready;
    if (x->index != y->index)
        return x->index > y->index ? -1 : 1;
    return -strcmp(x->name, y->name);
}

/* Marks those that should not be there: of one index the first in order stays. */
static int64_t find_excess(struct look *look)
{
    struct job_state *state = look->state;
    struct map *seen = map_new();
    struct member *member;
    int64_t found = 0;
    TAILQ_FOREACH(member, &state->lists[LIST_ACTIVE], siblings)
    {
        char key[24];
        const struct slot *slot = member->index >= 0 ? state_slot(state, member->index) : NULL;
        (void)snprintf(key, sizeof(key), "%" PRId64, member->index);
        member->is_excess = slot == NULL || member->index >= state->completions ||
                            slot->count[MEMBER_SUCCEEDED] > 0 ||
                            indexes_has(&state->completed, member->index) ||
                            indexes_has(&state->failed, member->index) ||
                            (member->is_tracked && map_put(seen, key, member) != NULL);
        found += member->is_excess && member->is_tracked;
    }
    map_free(seen);
    state->has_misplaced = found > 0;
    return found;
}

/* A pod that the Job does not want any more has not failed: first it loses the finalizer, then it
 * is deleted, so that nobody counts it. One without it is none of the Job's and always goes. */
void look_remove(struct look *look, int64_t count)
{
    struct job_state *state = look->state;
    VEC(struct member *) all = {0};
    struct member *member;
    int64_t must = (int64_t)state->untracked_active;
    if (state->is_indexed && state->has_misplaced)
        must += find_excess(look);
    count = must > count ? must : count;
    count = count < JOB_BATCH ? count : JOB_BATCH;
    if (count == 0)
        return;
    TAILQ_FOREACH(member, &state->lists[LIST_ACTIVE], siblings)
    {
        vec_push(&all, member);
    }
    if (all.len > 1)
        qsort(all.items, all.len, sizeof(struct member *), by_cost);
    for (size_t i = 0; i < all.len; i++) {
        if ((int64_t)i < count && all.items[i]->is_tracked)
            look_release(look, all.items[i]);
        else if ((int64_t)i < count)
            delete_one(look, all.items[i]);
        all.items[i]->is_excess = false;
    }
    vec_done(&all);
}

void look_remove_all(struct look *look)
{
    struct member *member;
    size_t count = 0;
    TAILQ_FOREACH(member, &look->state->lists[LIST_ACTIVE], siblings)
    {
        if (count++ == JOB_BATCH)
            return;
        delete_one(look, member);
    }
}

/* The Job is over, or on its way out: what is left of its pods goes its own way. */
void look_release_all(struct look *look)
{
    static const enum member_list LISTS[] = {LIST_ENDED, LIST_HELD, LIST_LEAVING, LIST_ACTIVE};
    for (size_t i = 0; i < ARRAY_LEN(LISTS); i++) {
        struct member *member;
        TAILQ_FOREACH(member, &look->state->lists[LISTS[i]], siblings)
        {
            if (look->released >= JOB_BATCH)
                return;
            if (member->is_tracked)
                look_release(look, member);
        }
    }
}

/* ---- telling ---- */

static void tell(struct look *look, const char *reason, const char *verb, char **names,
                 size_t count)
{
    if (count > TOLD_ONE_BY_ONE) {
        control_event(look->control, look->job, "Normal", reason, "%s %zu pods, %s to %s", verb,
                      count, names[0], names[count - 1]);
        return;
    }
    for (size_t i = 0; i < count; i++)
        control_event(look->control, look->job, "Normal", reason, "%s pod: %s", verb, names[i]);
}

/* A name that was asked for and is not there is free again. */
static void forget_name(struct job_state *state, const char *name)
{
    intptr_t ordinal = (intptr_t)map_del(state->ordinals, name);
    if (ordinal > 0 && ordinal - 1 < state->next_ordinal)
        state->next_ordinal = ordinal - 1;
}

/* Events are told when what they say is seen, and in one where they would be a flood. */
void look_tell_pods(struct look *look)
{
    struct job_state *state = look->state;
    size_t made = 0, gone = 0;
    for (size_t i = 0; i < state->created.len; i++) {
        char *name = state->created.items[i];
        if (is_taken(look, name)) {
            state->created.items[i] = state->created.items[made];
            state->created.items[made++] = name;
        } else {
            forget_name(state, name);
        }
    }
    tell(look, "SuccessfulCreate", "Created", state->created.items, made);
    for (size_t i = 0; i < state->deleted.len; i++) {
        char *name = state->deleted.items[i];
        const struct obj *pod = cache_get(control_world(look->control)->cache, &KIND_POD,
                                          obj_namespace(look->job), name);
        if (pod == NULL || pod->meta.deleted != 0) {
            state->deleted.items[i] = state->deleted.items[gone];
            state->deleted.items[gone++] = name;
        }
    }
    tell(look, "SuccessfulDelete", "Deleted", state->deleted.items, gone);
    for (size_t i = 0; i < state->created.len; i++)
        mem_free(state->created.items[i]);
    for (size_t i = 0; i < state->deleted.len; i++)
        mem_free(state->deleted.items[i]);
    vec_clear(&state->created);
    vec_clear(&state->deleted);
}

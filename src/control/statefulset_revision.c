// SPDX-License-Identifier: Apache-2.0
/* A template is stored as a ControllerRevision before any pod is made of it: pods below the
 * partition of an update are made of the old one, and `kubectl rollout undo` goes back to it. Its
 * name follows from what is in it, so the same template twice is one revision. */
#include "base/hash.h"
#include "base/mem.h"
#include "base/quantity.h"
#include "control/statefulset_internal.h"
#include "model/rules.h"
#include <stdlib.h>

#define SUFFIX 10
#define NAME_MAX_LEN 52 /* of the set's name in it: the whole is a label's value */

/* What a typed client leaves out when it writes the object back. */
static bool says_nothing(const char *key, yyjson_val *val)
{
    if (yyjson_is_null(val) || (yyjson_is_str(val) && yyjson_get_len(val) == 0))
        return true;
    if (yyjson_is_ctn(val))
        return yyjson_get_len(val) == 0;
    return rules_zero_is_left_out(key) &&
           (yyjson_is_false(val) || (yyjson_is_int(val) && yyjson_get_sint(val) == 0));
}

static uint64_t hash_leaf(uint64_t hash, yyjson_val *val, bool is_amount)
{
    scoped_str text = {0};
    quantity amount = 0;
    if (is_amount && yyjson_is_str(val))
        str_add(&text, yyjson_get_str(val));
    else
        json_write_val(val, &text);
    if (is_amount && quantity_parse(sv_of(str_text(&text)), &amount, NULL) >= 0) {
        str_clear(&text);
        quantity_format(amount, &text);
    }
    return hash_text(hash, str_text(&text));
}

struct place {
    const char *key; /* under which the value stands */
    bool has_amounts;
};

/* Members of an object may stand in any order. */
static uint64_t hash_value(uint64_t hash, yyjson_val *val, struct place place)
{
    size_t i, n;
    yyjson_val *key, *item;
    uint64_t sum = 0;
    if (yyjson_is_obj(val)) {
        yyjson_obj_foreach(val, i, n, key, item)
        {
            const char *name = yyjson_get_str(key);
            struct place below = {name, place.has_amounts || rules_are_amounts(place.key, name)};
            if (!says_nothing(name, item))
                sum += hash_value(hash_text(HASH_START, name), item, below);
        }
        return hash_bytes(hash_text(hash, "{"), &sum, sizeof(sum));
    }
    if (yyjson_is_arr(val)) {
        hash = hash_text(hash, "[");
        yyjson_arr_foreach(val, i, n, item)
        {
            hash = hash_value(hash, item, place);
        }
        return hash;
    }
    return hash_leaf(hash, val, place.has_amounts);
}

char *revision_name(const struct obj *set)
{
    char suffix[SUFFIX + 1];
    struct rng rng;
    rng_seed(&rng, hash_value(HASH_START, json_at(set->root, "spec.template"),
                              (struct place){"template", false}));
    rng_suffix(&rng, suffix, SUFFIX);
    return mem_printf("%.*s-%s", NAME_MAX_LEN, set->meta.name, suffix);
}

/* ---- what is stored ---- */

static struct set_revision *find(struct set_state *state, const char *name)
{
    for (size_t i = 0; i < state->revisions.len; i++) {
        if (str_eq(state->revisions.items[i].name, name))
            return &state->revisions.items[i];
    }
    return NULL;
}

void revision_put(struct set_state *state, const struct obj *revision)
{
    int64_t number = json_int_at(revision->root, "revision", 0);
    struct set_revision *known = find(state, revision->meta.name);
    if (known != NULL) {
        known->number = number;
        return;
    }
    struct set_revision item = {mem_strdup(revision->meta.name), number};
    vec_push(&state->revisions, item);
}

void revision_drop(struct set_state *state, const char *name)
{
    struct set_revision *known = find(state, name);
    if (known == NULL)
        return;
    mem_free(known->name);
    vec_remove_swap(&state->revisions, (size_t)(known - state->revisions.items));
}

static int64_t newest(const struct set_state *state)
{
    int64_t number = 0;
    for (size_t i = 0; i < state->revisions.len; i++)
        if (state->revisions.items[i].number > number)
            number = state->revisions.items[i].number;
    return number;
}

/* ---- writes ---- */

static void create_revision(struct set_look *look)
{
    const struct obj *set = look->set;
    const char *name = look->state->wanted;
    struct write *write = write_new(WRITE_CREATE, &KIND_REVISION, obj_namespace(set), name);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_val *meta = yyjson_mut_obj_add_obj(doc, root, "metadata");
    yyjson_mut_obj_add_strcpy(doc, meta, "name", name);
    yyjson_val *labels = json_at(look->spec, "template.metadata.labels");
    yyjson_mut_val *copy = labels != NULL ? yyjson_val_mut_copy(doc, labels) : yyjson_mut_obj(doc);
    json_mut_put(doc, copy, "controller.kubernetes.io/hash",
                 yyjson_mut_strcpy(doc, strrchr(name, '-') + 1));
    json_mut_put(doc, meta, "labels", copy);
    obj_add_owner(doc, root, set, true);
    yyjson_mut_val *template = yyjson_val_mut_copy(doc, json_at(look->spec, "template"));
    yyjson_mut_obj_add_str(doc, template, "$patch", "replace");
    json_mut_set(doc, root, "data.spec.template", template);
    yyjson_mut_obj_add_int(doc, root, "revision", newest(look->state) + 1);
    write->doc = doc;
    control_write(look->control, write);
}

/* Back to an older template: it is the newest again. */
static void renumber(struct set_look *look, const char *name)
{
    struct obj *revision = cache_get(control_world(look->control)->cache, &KIND_REVISION,
                                     obj_namespace(look->set), name);
    if (revision == NULL)
        return;
    struct write *write = write_new(WRITE_UPDATE, &KIND_REVISION, obj_namespace(look->set), name);
    write->doc = obj_edit(revision);
    json_mut_put(write->doc, yyjson_mut_doc_get_root(write->doc), "revision",
                 yyjson_mut_sint(write->doc, newest(look->state) + 1));
    control_write(look->control, write);
}

bool look_need_revision(struct set_look *look)
{
    const struct set_revision *known = find(look->state, look->state->wanted);
    const struct obj *stored = cache_get(control_world(look->control)->cache, &KIND_REVISION,
                                         obj_namespace(look->set), look->state->wanted);
    if (known == NULL && stored != NULL && obj_controller(stored) == NULL) {
        look_adopt(look, stored);
        return false;
    }
    if (known == NULL) {
        create_revision(look);
        return false;
    }
    if (known->number < newest(look->state))
        renumber(look, known->name);
    return true;
}

static int oldest_first(const void *a, const void *b)
{
    const struct set_revision *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

void look_prune_revisions(struct set_look *look)
{
    struct set_state *state = look->state;
    int64_t limit = json_int_at(look->spec, "revisionHistoryLimit", 10);
    int64_t idle = 0;
    VEC(struct set_revision) spare = {0};
    if ((int64_t)state->revisions.len <= limit)
        return;
    for (size_t i = 0; i < state->revisions.len; i++) {
        const struct set_revision *item = &state->revisions.items[i];
        if (!str_eq(item->name, state->wanted) && !str_eq(item->name, look->current) &&
            set_uses(state, item->name) == 0)
            vec_push(&spare, *item);
    }
    if (spare.len > 1)
        qsort(spare.items, spare.len, sizeof(*spare.items), oldest_first);
    for (size_t i = 0; i < spare.len && (int64_t)spare.len - idle > limit; i++, idle++) {
        struct write *write =
            write_new(WRITE_DELETE, &KIND_REVISION, obj_namespace(look->set), spare.items[i].name);
        control_write(look->control, write);
    }
    vec_done(&spare);
}

yyjson_val *look_template(const struct set_look *look, int64_t ordinal, const char **ret_revision)
{
    bool keeps = look->is_rolling && ordinal < look->start + look->partition &&
                 !str_eq(look->current, look->state->wanted);
    const struct obj *old = keeps ? cache_get(control_world(look->control)->cache, &KIND_REVISION,
                                              obj_namespace(look->set), look->current)
                                  : NULL;
    yyjson_val *template = old != NULL ? json_at(old->root, "data.spec.template") : NULL;
    *ret_revision = template != NULL ? look->current : look->state->wanted;
    return template != NULL ? template : json_at(look->spec, "template");
}

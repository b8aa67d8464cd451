// SPDX-License-Identifier: Apache-2.0
#include "client.h"
#include "base/mem.h"
#include "base/vec.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SECOND 1000
#define MINUTE (60 * SECOND)

void client_init(struct client *client, struct sim *sim, struct ledger *ledger)
{
    *client = (struct client){.sim = sim, .ledger = ledger, .rng = sim_rng(sim)};
    (void)snprintf(client->last_uid, sizeof(client->last_uid), "%s", "nobody-yet");
}

static bool chance(struct client *client, unsigned percent)
{
    return rng_chance(client->rng, percent, 100);
}

/* ---- writes and their answers ---- */

struct asked {
    struct client *client;
    char tag[24];
    bool is_dry_run;
};

static void on_answer(void *arg, struct write_result *result)
{
    struct asked *asked = arg;
    asked->client->answered++;
    if (!asked->is_dry_run)
        ledger_on_answer(asked->client->ledger, asked->tag, result);
    if (result->status.code == 422 || result->status.code == 400)
        ledger_fail(asked->client->ledger, "the client's own mistake: %s",
                    str_text(&result->status.message));
    mem_free(asked);
}

static struct asked *asked_new(struct client *client)
{
    struct asked *asked = mem_zalloc(sizeof(*asked));
    asked->client = client;
    (void)snprintf(asked->tag, sizeof(asked->tag), "%" PRIu64, ++client->writes);
    return asked;
}

static void set_tag(yyjson_mut_doc *doc, const char *tag)
{
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    yyjson_mut_val *annotations = json_mut_at(root, "metadata.annotations");
    if (annotations == NULL) {
        annotations = yyjson_mut_obj(doc);
        json_mut_set(doc, root, "metadata.annotations", annotations);
    }
    json_mut_put(doc, annotations, LEDGER_TAG, yyjson_mut_strcpy(doc, tag));
}

static void ask(struct client *client, struct write *write)
{
    struct asked *asked = asked_new(client);
    if (write->doc != NULL && write->sub == SUB_NONE)
        set_tag(write->doc, asked->tag);
    asked->is_dry_run = write->dry_run;
    write->done = on_answer;
    write->arg = asked;
    sim_submit(client->sim, write);
}

/* ---- choosing ---- */

typedef VEC(struct obj *) obj_list;

static void list_kind(struct client *client, const struct kind *kind, const char *ns, obj_list *out)
{
    struct cache *cache = sim_store(client->sim)->cache;
    struct obj *obj = cache_first(cache, kind, ns);
    for (; obj != NULL; obj = cache_after(cache, kind, ns, obj))
        vec_push(out, obj);
}

static const struct kind *const MADE[] = {&KIND_CONFIGMAP, &KIND_POD, &KIND_JOB, &KIND_EVENT};

/* Any of the client's objects, in one namespace or (ns NULL) in all; NULL when there is none. */
static struct obj *choose(struct client *client, const char *ns)
{
    obj_list list = {0};
    for (size_t k = 0; k < ARRAY_LEN(MADE); k++)
        list_kind(client, MADE[k], ns, &list);
    struct obj *obj = list.len ? list.items[rng_below(client->rng, list.len)] : NULL;
    vec_done(&list);
    return obj;
}

static struct obj *choose_namespace(struct client *client)
{
    obj_list list = {0};
    list_kind(client, &KIND_NAMESPACE, NULL, &list);
    struct obj *obj = list.len ? list.items[rng_below(client->rng, list.len)] : NULL;
    vec_done(&list);
    return obj; /* NULL: the disk refused the first ones */
}

/* ---- creating ---- */

static void add_ref(struct client *client, yyjson_mut_doc *doc, yyjson_mut_val *refs,
                    const struct obj *owner)
{
    char api_version[128];
    yyjson_mut_val *ref = yyjson_mut_arr_add_obj(doc, refs);
    bool is_stranger = chance(client, 3);
    bool is_gone = owner == NULL || chance(client, 4);
    kind_api_version(owner ? owner->kind : &KIND_JOB, api_version);
    yyjson_mut_obj_add_strcpy(doc, ref, "apiVersion", is_stranger ? LEDGER_STRANGER : api_version);
    yyjson_mut_obj_add_str(doc, ref, "kind", owner ? owner->kind->name : "Job");
    yyjson_mut_obj_add_strcpy(doc, ref, "name", owner ? owner->meta.name : "gone");
    yyjson_mut_obj_add_strcpy(doc, ref, "uid", is_gone ? client->last_uid : owner->meta.uid);
    if (chance(client, 60))
        yyjson_mut_obj_add_bool(doc, ref, "blockOwnerDeletion", chance(client, 80));
}

static bool names_already(yyjson_mut_val *refs, const char *uid)
{
    size_t i, n;
    yyjson_mut_val *ref;
    yyjson_mut_arr_foreach(refs, i, n, ref)
    {
        if (str_eq(json_mut_str_at(ref, "uid"), uid))
            return true;
    }
    return false;
}

static yyjson_mut_val *random_refs(struct client *client, yyjson_mut_doc *doc, const char *ns)
{
    yyjson_mut_val *refs = yyjson_mut_arr(doc);
    uint64_t count = chance(client, 60) ? 1 : rng_below(client->rng, 4);
    for (uint64_t i = 0; i < count; i++) {
        struct obj *owner = chance(client, 3)    ? choose_namespace(client)
                            : chance(client, 92) ? choose(client, ns)
                                                 : choose(client, NULL);
        if (names_already(refs, client->last_uid) ||
            (owner != NULL && names_already(refs, owner->meta.uid)))
            continue;
        add_ref(client, doc, refs, owner);
    }
    return refs;
}

static void add_finalizers(struct client *client, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    static const char *const NAMES[] = {LEDGER_FINALIZERS "one", LEDGER_FINALIZERS "two"};
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
        if (chance(client, 15))
            (void)yyjson_mut_arr_add_str(doc, list, NAMES[i]);
    }
    if (yyjson_mut_arr_size(list) > 0)
        json_mut_set(doc, root, "metadata.finalizers", list);
}

static const char *body_of(const struct kind *kind)
{
    if (kind == &KIND_POD)
        return "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}";
    if (kind == &KIND_JOB)
        return "{\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{"
               "\"name\":\"c\",\"image\":\"i\"}]}}}}";
    return "{}";
}

static void add_event_fields(struct client *client, yyjson_mut_doc *doc, yyjson_mut_val *root,
                             const char *ns)
{
    scoped_str at = {0};
    rfc3339_format(sim_now(client->sim) - rng_between(client->rng, 0, 90 * MINUTE), &at);
    json_mut_set(doc, root, "involvedObject.kind", yyjson_mut_str(doc, "Pod"));
    json_mut_set(doc, root, "involvedObject.namespace", yyjson_mut_strcpy(doc, ns));
    json_mut_set(doc, root, "lastTimestamp", yyjson_mut_strcpy(doc, str_text(&at)));
}

static void create_object(struct client *client)
{
    const struct kind *kind = MADE[rng_below(client->rng, ARRAY_LEN(MADE))];
    const struct obj *home = choose_namespace(client);
    struct write *write = write_new(WRITE_CREATE, kind, home ? home->meta.name : "default", "");
    (void)json_parse_mut(sv_of(body_of(kind)), &write->doc, NULL);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(write->doc);
    scoped_free char *name = mem_printf("o%d", (int)rng_below(client->rng, 60));
    json_mut_set(write->doc, root, chance(client, 90) ? "metadata.name" : "metadata.generateName",
                 yyjson_mut_strcpy(write->doc, name));
    if (chance(client, 60))
        json_mut_set(write->doc, root, "metadata.ownerReferences",
                     random_refs(client, write->doc, write->ns));
    add_finalizers(client, write->doc, root);
    if (kind == &KIND_EVENT)
        add_event_fields(client, write->doc, root, write->ns);
    write->dry_run = chance(client, 3);
    ask(client, write);
}

static void create_namespace(struct client *client)
{
    struct write *write = write_new(WRITE_CREATE, &KIND_NAMESPACE, "", "");
    scoped_free char *body =
        mem_printf("{\"metadata\":{\"name\":\"n%d\"}}", (int)rng_below(client->rng, 4));
    (void)json_parse_mut(sv_of(body), &write->doc, NULL);
    if (chance(client, 20))
        add_finalizers(client, write->doc, yyjson_mut_doc_get_root(write->doc));
    ask(client, write);
}

/* ---- changing ---- */

static struct write *edit_of(const struct obj *obj)
{
    struct write *write = write_new(WRITE_UPDATE, obj->kind, obj_namespace(obj), obj->meta.name);
    write->doc = obj_edit(obj);
    return write;
}

static void touch(struct client *client)
{
    struct obj *obj = choose(client, NULL);
    if (obj != NULL)
        ask(client, edit_of(obj));
}

static void change_owners(struct client *client)
{
    struct obj *obj = choose(client, NULL);
    if (obj == NULL)
        return;
    struct write *write = edit_of(obj);
    json_mut_set(write->doc, yyjson_mut_doc_get_root(write->doc), "metadata.ownerReferences",
                 random_refs(client, write->doc, write->ns));
    ledger_touch(client->ledger, obj->meta.uid);
    ask(client, write);
}

/* Takes the client's finalizers off; all of them, or (all false) each with some chance. */
static void release(struct client *client, const struct obj *obj, bool all)
{
    struct write *write = edit_of(obj);
    yyjson_mut_val *list = json_mut_at(yyjson_mut_doc_get_root(write->doc), "metadata.finalizers");
    for (size_t i = yyjson_mut_arr_size(list); i-- > 0;) {
        const char *text = yyjson_mut_get_str(yyjson_mut_arr_get(list, i));
        if (!str_starts(text, LEDGER_FINALIZERS) || !(all || chance(client, 60)))
            continue;
        ledger_release(client->ledger, obj->meta.uid, text);
        (void)yyjson_mut_arr_remove(list, i);
    }
    ask(client, write);
}

static void release_one(struct client *client)
{
    struct obj *obj = choose(client, NULL);
    if (obj != NULL && (obj->meta.deleted != 0 || chance(client, 10)))
        release(client, obj, false);
}

/* ---- deleting ---- */

static void delete_obj(struct client *client, const struct obj *obj)
{
    struct write *write = write_new(WRITE_DELETE, obj->kind, obj_namespace(obj), obj->meta.name);
    write->propagation = (enum propagation)rng_below(client->rng, 4);
    if (chance(client, 50))
        write->if_uid = mem_strdup(obj->meta.uid);
    if (chance(client, 10))
        write->if_version = mem_strdup(obj->meta.resource_version);
    write->dry_run = chance(client, 3);
    (void)snprintf(client->last_uid, sizeof(client->last_uid), "%s", obj->meta.uid);
    ledger_touch(client->ledger, obj->meta.uid);
    ask(client, write);
}

static void delete_object(struct client *client)
{
    struct obj *obj = choose(client, NULL);
    if (obj != NULL)
        delete_obj(client, obj);
}

static void delete_namespace(struct client *client)
{
    const struct obj *home = choose_namespace(client); /* also those that may not be */
    if (home != NULL)
        delete_obj(client, home);
}

/* ---- as a node ---- */

static void confirm(struct client *client, const struct obj *pod)
{
    struct write *write = write_new(WRITE_DELETE, &KIND_POD, obj_namespace(pod), pod->meta.name);
    write->if_uid = mem_strdup(pod->meta.uid);
    write->grace_s = 0;
    ask(client, write);
}

static void bind(struct client *client, const struct obj *pod)
{
    struct write *write = write_new(WRITE_CREATE, &KIND_POD, obj_namespace(pod), pod->meta.name);
    write->sub = SUB_BINDING;
    (void)json_parse_mut(SV("{\"target\":{\"name\":\"node-1\"}}"), &write->doc, NULL);
    ask(client, write);
}

static bool is_bound(const struct obj *pod)
{
    return json_str_at(pod->root, "spec.nodeName") != NULL;
}

static void act_as_node(struct client *client)
{
    struct obj *pod = choose(client, NULL);
    if (pod == NULL || pod->kind != &KIND_POD)
        return;
    if (!is_bound(pod) && pod->meta.deleted == 0)
        bind(client, pod);
    else if (pod->meta.deleted != 0)
        confirm(client, pod);
}

/* ---- everything ---- */

static void crash(struct client *client)
{
    sim_crash(client->sim);
}

static void nothing(struct client *client)
{
    (void)client;
}

static const struct {
    unsigned weight;
    void (*act)(struct client *client);
} ACTS[] = {
    {38, create_object}, {7, create_namespace},
    {16, delete_object}, {3, delete_namespace},
    {12, release_one},   {6, touch},
    {9, change_owners},  {8, act_as_node},
    {10, nothing},       {1, crash},
};

static time_ms random_wait(struct client *client)
{
    uint64_t lot = rng_below(client->rng, 100);
    if (lot < 40)
        return 0; /* the next one comes before the last is answered */
    if (lot < 80)
        return rng_between(client->rng, 0, 300);
    if (lot < 97)
        return rng_between(client->rng, 0, 10 * SECOND);
    return rng_between(client->rng, 0, 90 * MINUTE);
}

time_ms client_act(struct client *client)
{
    unsigned total = 0;
    for (size_t i = 0; i < ARRAY_LEN(ACTS); i++)
        total += ACTS[i].weight;
    uint64_t lot = rng_below(client->rng, total);
    size_t i = 0;
    while (lot >= ACTS[i].weight)
        lot -= ACTS[i++].weight;
    ACTS[i].act(client);
    return random_wait(client);
}

static bool holds(const struct obj *obj)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(obj->meta.finalizers, i, n, item)
    {
        if (str_starts(yyjson_get_str(item), LEDGER_FINALIZERS))
            return true;
    }
    return false;
}

size_t client_let_go(struct client *client)
{
    obj_list list = {0};
    size_t count = 0;
    for (size_t k = 0; KINDS[k] != NULL; k++)
        list_kind(client, KINDS[k], NULL, &list);
    for (size_t i = 0; i < list.len; i++)
        (void)obj_ref(list.items[i]);
    for (size_t i = 0; i < list.len; i++) {
        struct obj *obj = list.items[i];
        if (obj->meta.deleted != 0 && holds(obj)) {
            release(client, obj, true);
            count++;
        } else if (obj->meta.deleted != 0 && obj->kind == &KIND_POD && is_bound(obj)) {
            confirm(client, obj);
            count++;
        }
    }
    for (size_t i = 0; i < list.len; i++)
        obj_unref(list.items[i]);
    vec_done(&list);
    return count;
}

// SPDX-License-Identifier: Apache-2.0
/* Invariants:
 *  1. revisions are given in the order of deciding, which is the order of committing and of
 *     announcing; a number is never given twice, also not after a refused batch;
 *  2. `heads` has an entry exactly for the objects that have a write on its way to the disk;
 *  3. the cache and the feed hold committed versions only;
 *  4. when a batch is refused, everything decided after it is refused as well: it was decided
 *     against versions that will never exist;
 *  5. an answer that needs no row ("it is so already", "there is none") but was found by looking at
 *     a head waits for that head's commit, for the same reason: otherwise a caller could be told
 *     of something that is then lost. */
#include "store/embedded.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "store/write_internal.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#define HASH_FUNCTION(key, len, hash) ((hash) = hash_quick((key), (len)))
#define uthash_malloc(size) mem_alloc(size)
#define uthash_free(ptr, size) mem_free(ptr)
#include <uthash.h>

#define KEY_BYTES_USUAL 120
#define EARLY_WRITES 64

struct head { /* the newest version of an object, not yet committed */
    char *key;
    struct obj *obj; /* NULL: removed */
    size_t writes;   /* on their way */
    UT_hash_handle hh;
};

struct pending { /* one decided write */
    struct write *write;
    struct write_result result;
    struct obj *obj;
    struct head *head; /* NULL: nothing to store, an answer that waits for those before it */
};

typedef VEC(struct pending) pending_list;

struct embedded {
    struct store store;
    struct embedded_options options;
    struct rng rng;
    uint64_t revision; /* the latest given */
    struct head *heads;
    pending_list open;   /* decided, waiting for the disk */
    pending_list flight; /* handed to the disk */
    VEC(struct disk_row) rows;
    bool is_committing;
    struct embedded_stats stats;
    char trouble[256];
};

static struct embedded *embedded_of(const struct store *store)
{
    return container_of(store, struct embedded, store);
}

/* ---- heads ---- */

static void head_key(struct str *key, const struct kind *kind, const char *ns, const char *name)
{
    str_room(key, KEY_BYTES_USUAL);
    str_add(key, kind->group);
    str_addc(key, '/');
    str_add(key, kind->name);
    str_addc(key, '|');
    str_add(key, ns);
    str_addc(key, '|');
    str_add(key, name);
}

static struct head *head_find(const struct embedded *e, const struct str *key)
{
    struct head *head = NULL;
    HASH_FIND(hh, e->heads, str_text(key), key->len, head);
    return head;
}

static struct obj *newest(void *arg, const struct kind *kind, const char *ns, const char *name)
{
    const struct embedded *e = arg;
    if (e->heads != NULL) {
        scoped_str key = {0};
        head_key(&key, kind, ns, name);
        struct head *head = head_find(e, &key);
        if (head != NULL)
            return head->obj;
    }
    return cache_get(e->store.cache, kind, ns, name);
}

static struct head *head_push(struct embedded *e, const struct write *write, struct obj *obj)
{
    scoped_str key = {0};
    head_key(&key, write->kind, write->ns, write->name);
    struct head *head = head_find(e, &key);
    if (head == NULL) {
        head = mem_zalloc(sizeof(*head));
        head->key = mem_strdup(str_text(&key));
        HASH_ADD_KEYPTR(hh, e->heads, head->key, key.len, head);
    }
    obj_unref(head->obj);
    head->obj = obj ? obj_ref(obj) : NULL;
    head->writes++;
    return head;
}

static void head_pop(struct embedded *e, struct head *head)
{
    if (--head->writes > 0)
        return;
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it is in the hash
    HASH_DEL(e->heads, head);
    obj_unref(head->obj);
    mem_free(head->key);
    mem_free(head);
}

/* ---- deciding ---- */

static void finish(struct write *write, struct write_result *result)
{
    if (write->done != NULL)
        write->done(write->arg, result);
    status_done(&result->status);
    str_done(&result->warnings);
    write_free(write);
}

static struct obj *numbered(struct write *write, const struct obj *old, struct decision *decision,
                            uint64_t revision)
{
    scoped_str text = {0};
    str_addu(&text, revision);
    yyjson_mut_doc *doc = decision->doc;
    yyjson_mut_val *meta = yyjson_mut_obj_get(yyjson_mut_doc_get_root(doc), "metadata");
    json_mut_put(doc, meta, "resourceVersion",
                 revision ? yyjson_mut_strncpy(doc, text.data, text.len) : NULL);
    struct obj *obj = old != NULL ? obj_next(old, doc, &decision->kept, revision)
                                  : obj_new(write->kind, doc, revision);
    obj->is_known = decision->is_known;
    return obj;
}

static bool admitted(const struct write *write, const struct obj *old, const struct obj *obj,
                     struct write_result *result)
{
    if (write->admit != NULL)
        write->admit(write->admit_arg, old, obj, &result->status);
    return status_ok(&result->status);
}

static void enqueue(struct embedded *e, struct write *write, struct write_result *result,
                    struct obj *obj)
{
    struct pending pending = {.write = write, .result = *result, .obj = obj_ref(obj)};
    pending.head = head_push(e, write, result->removed ? NULL : obj);
    bool was_clean = e->open.len == 0;
    vec_push(&e->open, pending);
    if (e->is_committing)
        return;
    if (was_clean)
        e->options.on_dirty(e->options.arg);
    /* The disk does not wait for the rest of a long turn: it works while that is decided. */
    if (e->open.len >= EARLY_WRITES)
        embedded_flush(&e->store);
}

static bool has_head(const struct embedded *e, const struct write *write)
{
    scoped_str key = {0};
    head_key(&key, write->kind, write->ns, write->name);
    return head_find(e, &key) != NULL;
}

/* Nothing is to be stored. */
static void answer(struct embedded *e, struct write *write, struct write_result *result)
{
    if (write->dry_run || e->heads == NULL || !has_head(e, write)) {
        finish(write, result);
        return;
    }
    struct pending pending = {.write = write, .result = *result};
    pending.obj = result->obj ? obj_ref(result->obj) : NULL;
    vec_push(&e->open, pending);
}

/* `old` is what it was decided against. */
static void settle(struct embedded *e, struct write *write, struct obj *old,
                   struct write_result *result, struct decision *decision)
{
    result->created = decision->created;
    result->removed = decision->verdict == VERDICT_REMOVE;
    result->unchanged = decision->verdict == VERDICT_KEEP;
    if (decision->verdict == VERDICT_KEEP) {
        if (admitted(write, old, old, result))
            result->obj = old;
        answer(e, write, result);
        return;
    }
    /* A dry run shows what would be, with the version that is. */
    uint64_t revision = write->dry_run ? (old ? old->revision : 0) : e->revision + 1;
    scoped_obj *obj = numbered(write, old, decision, revision);
    bool may = admitted(write, old, result->removed ? NULL : obj, result);
    result->obj = may ? obj : NULL;
    if (!may || write->dry_run) {
        answer(e, write, result);
        return;
    }
    e->revision = revision;
    enqueue(e, write, result, obj);
}

static void embedded_submit(struct store *store, struct write *write)
{
    struct embedded *e = embedded_of(store);
    struct write_env env = {.now = e->options.now(e->options.arg),
                            .rng = &e->rng,
                            .revision = e->revision + 1,
                            .head = newest,
                            .arg = e};
    env.old = newest(e, write->kind, write->ns, write->name);
    struct write_result result = {0};
    struct decision decision = {0};
    write_decide(&env, write, &result, &decision);
    if (decision.verdict == VERDICT_REFUSED)
        answer(e, write, &result);
    else
        settle(e, write, decision.created ? NULL : env.old, &result, &decision);
    yyjson_mut_doc_free(decision.doc);
}

/* ---- committing ---- */

static void publish(struct embedded *e, const struct pending *pending)
{
    struct obj *obj = pending->obj;
    bool removed = pending->result.removed;
    scoped_obj *old =
        removed ? cache_remove(e->store.cache, obj->kind, obj_namespace(obj), obj->meta.name)
                : cache_put(e->store.cache, obj);
    head_pop(e, pending->head);
    enum change_type type = removed ? CHANGE_DELETED : old ? CHANGE_MODIFIED : CHANGE_ADDED;
    feed_publish(e->store.feed, type, obj, old);
}

static void announce(struct embedded *e, struct pending *pending)
{
    if (pending->head != NULL)
        publish(e, pending);
    pending->result.obj = pending->obj;
    finish(pending->write, &pending->result);
    obj_unref(pending->obj);
}

static void committed(struct embedded *e)
{
    pending_list list = e->flight;
    e->flight = (pending_list){0};
    e->trouble[0] = '\0';
    e->stats.trouble = NULL;
    if (e->rows.len > 0) {
        e->stats.batches++;
        e->stats.rows += e->rows.len;
    }
    for (size_t i = 0; i < list.len; i++)
        announce(e, &list.items[i]);
    vec_done(&list);
}

static void refuse(struct embedded *e, struct pending *pending, int result, const char *text)
{
    struct status *status = &pending->result.status;
    if (result == -ENOSPC)
        status_set(status, 507, "InsufficientStorage", "not stored: %s", text);
    else
        status_set(status, 500, "InternalError", "not stored: %s", text);
    pending->result.obj = NULL;
    if (pending->head != NULL)
        head_pop(e, pending->head);
}

/* First every overlay goes, then the callers are told: what they ask for next must be decided
 * against what is really there. */
static void refused(struct embedded *e, int result, const char *text)
{
    pending_list lists[2] = {e->flight, e->open};
    e->flight = e->open = (pending_list){0};
    e->stats.refused_batches++;
    (void)snprintf(e->trouble, sizeof(e->trouble), "%s", text);
    e->stats.trouble = e->trouble;
    scoped_free char *why = mem_strdup(text);
    for (size_t l = 0; l < 2; l++) {
        for (size_t i = 0; i < lists[l].len; i++)
            refuse(e, &lists[l].items[i], result, why);
    }
    for (size_t l = 0; l < 2; l++) {
        for (size_t i = 0; i < lists[l].len; i++) {
            finish(lists[l].items[i].write, &lists[l].items[i].result);
            obj_unref(lists[l].items[i].obj);
        }
        vec_done(&lists[l]);
    }
}

static void batch_done(void *arg, int result, const char *text)
{
    struct embedded *e = arg;
    assert(e->is_committing);
    /* What callers ask for while they are told must wait: announcing is in order of revision. */
    if (result == 0)
        committed(e);
    else
        refused(e, result, text);
    e->is_committing = false;
    embedded_flush(&e->store);
}

static void collect_rows(struct embedded *e)
{
    vec_clear(&e->rows);
    for (size_t i = 0; i < e->flight.len; i++) {
        const struct pending *p = &e->flight.items[i];
        if (p->head == NULL)
            continue;
        struct disk_row row = {.kind = p->obj->kind,
                               .ns = obj_namespace(p->obj),
                               .name = p->obj->meta.name,
                               .revision = p->obj->revision,
                               .json = p->result.removed ? NULL : p->obj->json};
        vec_push(&e->rows, row);
    }
}

void embedded_flush(struct store *store)
{
    struct embedded *e = embedded_of(store);
    if (e->is_committing || e->open.len == 0)
        return;
    e->is_committing = true;
    e->flight = e->open;
    e->open = (pending_list){0};
    collect_rows(e);
    if (e->rows.len == 0) {
        batch_done(e, 0, NULL);
        return;
    }
    struct disk_batch batch = {.rows = e->rows.items,
                               .len = e->rows.len,
                               .revision = vec_last(&e->rows)->revision,
                               .done = batch_done,
                               .arg = e};
    e->options.disk->ops->commit(e->options.disk, &batch);
}

bool embedded_busy(const struct store *store)
{
    const struct embedded *e = embedded_of(store);
    return e->is_committing || e->open.len > 0;
}

struct embedded_stats embedded_stats(const struct store *store)
{
    return embedded_of(store)->stats;
}

/* ---- opening ---- */

static int load_row(void *arg, const struct disk_row *row)
{
    struct embedded *e = arg;
    struct obj *obj =
        obj_load(row->kind, (struct sv){row->json->data, row->json->len}, row->revision);
    if (obj == NULL)
        return -EBADMSG;
    obj_unref(cache_put(e->store.cache, obj));
    obj_unref(obj);
    return 0;
}

static const struct store_ops EMBEDDED_OPS = {.submit = embedded_submit};

int embedded_open(const struct embedded_options *options, struct store **ret_store, struct err *err)
{
    struct embedded *e = mem_zalloc(sizeof(*e));
    e->options = *options;
    e->store.ops = &EMBEDDED_OPS;
    e->store.cache = cache_new();
    e->store.feed = feed_new(options->window_changes);
    rng_seed(&e->rng, options->seed);
    int r = options->disk->ops->load(options->disk, load_row, e, &e->revision, err);
    if (r < 0) {
        embedded_close(&e->store);
        return r;
    }
    feed_start_at(e->store.feed, e->revision);
    *ret_store = &e->store;
    return 0;
}

void embedded_close(struct store *store)
{
    if (store == NULL)
        return;
    struct embedded *e = embedded_of(store);
    assert(!embedded_busy(store));
    cache_free(store->cache);
    feed_free(store->feed);
    vec_done(&e->rows);
    vec_done(&e->open);
    vec_done(&e->flight);
    mem_free(e);
}

const char *const STORE_NAMESPACES[] = {"default", "kube-system", "kube-public", "kube-node-lease",
                                        NULL};

void embedded_bootstrap(struct store *store)
{
    for (size_t i = 0; STORE_NAMESPACES[i] != NULL; i++) {
        if (cache_get(store->cache, &KIND_NAMESPACE, "", STORE_NAMESPACES[i]) != NULL)
            continue;
        struct write *write = write_new(WRITE_CREATE, &KIND_NAMESPACE, "", "");
        write->doc = yyjson_mut_doc_new(NULL);
        yyjson_mut_val *root = yyjson_mut_obj(write->doc);
        yyjson_mut_doc_set_root(write->doc, root);
        json_mut_set(write->doc, root, "metadata.name",
                     yyjson_mut_str(write->doc, STORE_NAMESPACES[i]));
        store_submit(store, write);
    }
}

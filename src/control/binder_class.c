// SPDX-License-Identifier: Apache-2.0
/* Classes: pods that fit and fail together. Each has its nodes in order with the engine, which
 * costs a look at all nodes when the first pod of a class comes; so classes are kept when none of
 * their pods waits any more, up to CLASSES_KEPT. */
#include "base/mem.h"
#include "control/binder_internal.h"
#include "model/jobset.h"
#include "model/selector.h"
#include <inttypes.h>

#define CLASSES_KEPT 64

/* ---- what a pod says ---- */

static const char *label_of(const struct obj *obj, const char *key)
{
    return yyjson_get_str(yyjson_obj_get(obj->meta.labels, key));
}

/* Where nodes have labels for each Job, these are the domains. */
const char *exclusive_key(const struct obj *pod)
{
    yyjson_val *notes = json_at(pod->root, "metadata.annotations");
    const char *key = yyjson_get_str(yyjson_obj_get(notes, JOBSET_NOTE_EXCLUSIVE));
    if (yyjson_obj_get(notes, JOBSET_NOTE_BY_LABEL) != NULL)
        return NULL;
    return key != NULL && *key != '\0' ? key : NULL;
}

char *exclusive_owner(const struct obj *pod)
{
    static const char *const LABELS[] = {"jobset.sigs.k8s.io/job-key",
                                         "batch.kubernetes.io/controller-uid",
                                         "batch.kubernetes.io/job-name", "job-name"};
    for (size_t i = 0; i < ARRAY_LEN(LABELS); i++) {
        if (label_of(pod, LABELS[i]) != NULL)
            return mem_printf("%s/%s", obj_namespace(pod), label_of(pod, LABELS[i]));
    }
    return mem_printf("%s/%s", obj_namespace(pod), pod->meta.name);
}

/* Equal for pods that fit and fail together. */
static char *signature(struct binder *binder, const struct obj *pod, const struct amounts *wants)
{
    static const char *const PARTS[] = {"nodeSelector", "affinity", "tolerations",
                                        "topologySpreadConstraints"};
    const char *exclusive = exclusive_key(pod);
    scoped_str text = {0};
    yyjson_val *part = NULL;
    for (size_t i = 0; i < wants->of.len; i++) {
        if (wants->of.items[i] != 0)
            str_addf(&text, "%zu=%" PRId64 ",", i, wants->of.items[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(PARTS); i++) {
        part = yyjson_obj_get(yyjson_obj_get(pod->root, "spec"), PARTS[i]);
        if (part != NULL)
            json_write_val(part, &text);
        str_addc(&text, '|');
    }
    if (part != NULL) /* selectors count pods of the namespace */
        str_add(&text, obj_namespace(pod));
    str_addf(&text, "|%s", exclusive != NULL ? exclusive : "");
    near_sign(binder, pod, &text);
    return str_take(&text);
}

/* ---- rules ---- */

static void judge(void *arg, void *node, struct bind_fit *fit)
{
    const struct spread *spread = arg;
    const struct room *room = node;
    yyjson_val *spec = yyjson_obj_get(spread->class->sample->root, "spec");
    char buf[256];
    fit->is_allowed = match_problem(room->node, spec, buf, sizeof(buf)) == NULL;
    if (!fit->is_allowed)
        return;
    fit->preference = match_preference(room->node, spec);
    fit->domain = spread->key != NULL ? label_of(room->node, spread->key) : NULL;
}

static bool counts_here(const struct spread *spread, const struct obj *pod)
{
    return spread->selector != NULL &&
           str_eq(obj_namespace(spread->class->sample), obj_namespace(pod)) &&
           label_selector_matches(spread->selector, pod->meta.labels);
}

struct counting {
    struct binder *binder;
    const struct spread *spread;
};

static bool count_guest(void *arg, const char *key, void *value)
{
    (void)key;
    const struct counting *counting = arg;
    const struct guest *guest = value;
    if (guest->room != NULL && counts_here(counting->spread, guest->pod))
        bind_count(counting->binder->bind, counting->spread->rules, guest->room->id, 1);
    return true;
}

static void add_spread(struct binder *binder, struct pod_class *class, yyjson_val *constraint,
                       const char *exclusive)
{
    struct spread *spread = &class->spreads[class->n_spreads++];
    bool orders = class->n_spreads == 1;
    int64_t skew = json_int_at(constraint, "maxSkew", 1);
    bool is_wish = str_eq(json_str_at(constraint, "whenUnsatisfiable"), "ScheduleAnyway");
    spread->class = class;
    spread->key = exclusive != NULL ? exclusive : json_str_at(constraint, "topologyKey");
    if (orders && spread->key == NULL) /* a gang may then try one domain after the other */
        spread->key = class->near_key;
    spread->is_hard = constraint != NULL && !is_wish;
    if (constraint != NULL)
        (void)label_selector_of(yyjson_obj_get(constraint, "labelSelector"), &spread->selector,
                                NULL); /* checked when it was stored */
    struct bind_rules rules = {.judge = judge,
                               .arg = spread,
                               .wants = class->wants.of.items,
                               .n = class->wants.of.len,
                               .has_domains = spread->key != NULL,
                               .is_spread = constraint != NULL,
                               .max_skew = spread->is_hard ? skew : 0,
                               .exclusive = exclusive,
                               .near = class->near.items,
                               .n_near = orders ? class->near.len : 0,
                               .is_near_itself = class->is_near_itself};
    spread->rules = bind_class_new(binder->bind, &rules);
    struct counting counting = {binder, spread};
    if (spread->selector != NULL)
        (void)map_each(binder->guests, count_guest, &counting);
}

/* The first one orders the nodes: an exclusive topology, else the first bound, else the first
 * wish. The other bounds are checked on what comes out on top. */
static void add_spreads(struct binder *binder, struct pod_class *class)
{
    yyjson_val *list = json_at(class->sample->root, "spec.topologySpreadConstraints"), *item;
    yyjson_val *wish = NULL;
    size_t i, n;
    if (class->exclusive != NULL)
        add_spread(binder, class, NULL, class->exclusive);
    yyjson_arr_foreach(list, i, n, item)
    {
        bool is_wish = str_eq(json_str_at(item, "whenUnsatisfiable"), "ScheduleAnyway");
        wish = is_wish && wish == NULL ? item : wish;
        if (!is_wish && class->n_spreads < SPREADS_MAX)
            add_spread(binder, class, item, NULL);
    }
    if (class->n_spreads == 0)
        add_spread(binder, class, wish, NULL);
}

bool binder_class_free(void *arg, const char *key, void *value)
{
    (void)key;
    struct binder *binder = arg;
    struct pod_class *class = value;
    for (size_t i = 0; i < class->n_spreads; i++) {
        bind_class_free(binder->bind, class->spreads[i].rules);
        label_selector_free(class->spreads[i].selector);
    }
    near_end_class(binder, class);
    amounts_done(&class->wants);
    obj_unref(class->sample);
    str_done(&class->why);
    mem_free(class->name);
    mem_free(class);
    return true;
}

bool binder_class_unshun(void *arg, const char *key, void *value)
{
    struct binder *binder = arg;
    const struct pod_class *class = value;
    (void)key;
    bind_unshun(binder->bind, class->spreads[0].rules);
    return true;
}

static bool drop_idle(void *arg, const char *key, void *value)
{
    struct binder *binder = arg;
    struct pod_class *class = value;
    if (!TAILQ_EMPTY(&class->guests))
        return true;
    (void)map_del(binder->classes, key);
    (void)binder_class_free(binder, NULL, class);
    return false; /* one is enough */
}

struct pod_class *binder_class_need(struct binder *binder, const struct guest *guest)
{
    scoped_free char *name = signature(binder, guest->pod, &guest->wants);
    struct pod_class *class = map_get(binder->classes, name);
    if (class != NULL)
        return class;
    if (map_count(binder->classes) >= CLASSES_KEPT && !binder->is_trying)
        (void)map_each(binder->classes, drop_idle, binder);
    class = mem_zalloc(sizeof(*class));
    class->name = mem_strdup(name);
    class->sample = obj_ref(guest->pod);
    class->exclusive = exclusive_key(class->sample);
    amounts_add(&class->wants, &guest->wants, 1);
    TAILQ_INIT(&class->guests);
    near_begin_class(binder, class);
    add_spreads(binder, class);
    (void)map_put(binder->classes, name, class);
    return class;
}

/* ---- rooms ---- */

static bool others_let(struct binder *binder, const struct pod_class *class, size_t id)
{
    for (size_t i = 1; i < class->n_spreads; i++) {
        if (bind_why(binder->bind, class->spreads[i].rules, id, NULL) != BIND_FITS)
            return false;
    }
    return true;
}

struct room *binder_class_pick(struct binder *binder, struct pod_class *class, const char *owner)
{
    struct bind_class *rules = class->spreads[0].rules;
    enum bind_problem problem;
    size_t id;
    while ((id = bind_pick(binder->bind, rules, owner, &problem)) != BIND_NONE &&
           !others_let(binder, class, id))
        bind_skip(rules, id);
    bind_unskip(binder->bind, rules);
    return id != BIND_NONE ? bind_node(binder->bind, id) : NULL;
}

struct told {
    struct binder *binder;
    const struct guest *guest;
    int sign;
};

static bool tell_class(void *arg, const char *key, void *value)
{
    (void)key;
    const struct told *told = arg;
    const struct pod_class *class = value;
    for (size_t i = 0; i < class->n_spreads; i++) {
        if (counts_here(&class->spreads[i], told->guest->pod))
            bind_count(told->binder->bind, class->spreads[i].rules, told->guest->room->id,
                       told->sign);
    }
    return true;
}

void binder_guest_renew(struct binder *binder, struct guest *guest, const struct obj *pod)
{
    yyjson_val *now = pod->meta.labels, *before = guest->pod->meta.labels;
    bool is_same = now == NULL || before == NULL ? now == before : yyjson_equals(now, before);
    bool is_counted = guest->room != NULL && !is_same;
    struct told told = {binder, guest, -1};
    if (is_counted) {
        (void)map_each(binder->classes, tell_class, &told);
        near_give(binder, guest);
    }
    obj_unref(guest->pod);
    guest->pod = obj_ref((struct obj *)pod);
    told.sign = 1;
    if (is_counted) {
        (void)map_each(binder->classes, tell_class, &told);
        near_take(binder, guest);
        binder->version++;
        binder->is_nearer = true; /* or further away, which may help as well */
    }
}

static void tell(struct binder *binder, const struct guest *guest, int sign)
{
    struct told told = {binder, guest, sign};
    bind_take(binder->bind, guest->room->id, guest->wants.of.items, guest->wants.of.len, sign);
    (void)map_each(binder->classes, tell_class, &told);
    binder->version++;
}

void binder_guest_take(struct binder *binder, struct guest *guest, struct room *room)
{
    guest->room = room;
    tell(binder, guest, 1);
    near_take(binder, guest);
    if (guest->gang != NULL)
        guest->gang->n_placed++;
    if (guest->owner != NULL) {
        struct pod_class *class = binder_class_need(binder, guest);
        guest->is_claimed =
            bind_claim(binder->bind, class->spreads[0].rules, room->id, guest->owner, 1);
    }
}

void binder_guest_give(struct binder *binder, struct guest *guest)
{
    if (guest->room == NULL)
        return;
    tell(binder, guest, -1);
    near_give(binder, guest);
    if (guest->gang != NULL)
        guest->gang->n_placed--;
    if (guest->is_claimed) {
        struct pod_class *class = binder_class_need(binder, guest);
        (void)bind_claim(binder->bind, class->spreads[0].rules, guest->room->id, guest->owner, -1);
        guest->is_claimed = false;
    }
    guest->room = NULL;
    guest->is_assumed = guest->is_promised = false;
}

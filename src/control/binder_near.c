// SPDX-License-Identifier: Apache-2.0
/* Pod affinity and anti-affinity. A term is counted by the engine, and shared by all who mean the
 * same by it. There are two sorts:
 *   matching  counts the pods that a class wants to be near or away from, by their labels; it is
 *             there as long as a class asks, and counts all pods once when it is made;
 *   bearing   counts the pods that have an anti-affinity themselves, so that whom they mean stays
 *             away from them; it is there as long as such a pod has a node.
 * Which bearing terms mean a pod is part of its class's signature: two pods that differ in their
 * labels only are of one class unless somebody minds one of them. */
#include "base/mem.h"
#include "control/binder_internal.h"
#include "model/selector.h"
#include <inttypes.h>

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

struct part {
    struct label_selector *selector; /* NULL: nobody */
    VEC(char *) namespaces;
    bool is_everywhere;
};

struct pod_term {
    char *name;
    uint64_t id;
    bool is_bearing;
    VEC(struct part) parts; /* a pod is meant that all of them mean */
    struct bind_term *rules;
    size_t refs;
};

static yyjson_val *terms_of(const struct obj *pod, const char *sort, const char *how)
{
    yyjson_val *affinity = json_at(pod->root, "spec.affinity");
    return yyjson_obj_get(yyjson_obj_get(affinity, sort), how);
}

/* ---- what is not done ---- */

static bool note_unsupported(yyjson_val *term, const char *where, struct str *out)
{
    static const char *const FIELDS[] = {"matchLabelKeys", "mismatchLabelKeys"};
    yyjson_val *spaces = yyjson_obj_get(term, "namespaceSelector");
    const char *field = yyjson_obj_size(spaces) > 0 ? "namespaceSelector" : NULL;
    for (size_t i = 0; i < ARRAY_LEN(FIELDS) && field == NULL; i++)
        field = yyjson_arr_size(yyjson_obj_get(term, FIELDS[i])) > 0 ? FIELDS[i] : NULL;
    if (field == NULL)
        return false;
    str_addf(out,
             "spec.affinity.%s: %s is not done here; give the pods a label, or name their "
             "namespaces",
             where, field);
    return true;
}

bool near_unsupported(const struct obj *pod, struct str *out)
{
    static const char *const SORTS[] = {"podAffinity", "podAntiAffinity"};
    size_t i, n;
    yyjson_val *term;
    for (size_t k = 0; k < ARRAY_LEN(SORTS); k++) {
        yyjson_arr_foreach(terms_of(pod, SORTS[k], REQUIRED), i, n, term)
        {
            if (note_unsupported(term, SORTS[k], out))
                return true;
        }
        yyjson_arr_foreach(terms_of(pod, SORTS[k], PREFERRED), i, n, term)
        {
            if (note_unsupported(yyjson_obj_get(term, "podAffinityTerm"), SORTS[k], out))
                return true;
        }
    }
    return false;
}

/* ---- whom a term means ---- */

static void read_part(const struct obj *pod, yyjson_val *term, struct part *out)
{
    yyjson_val *spaces = yyjson_obj_get(term, "namespaces"), *space;
    yyjson_val *selector = yyjson_obj_get(term, "labelSelector");
    size_t i, n;
    *out = (struct part){.is_everywhere = yyjson_is_obj(yyjson_obj_get(term, "namespaceSelector"))};
    if (yyjson_is_obj(selector))
        (void)label_selector_of(selector, &out->selector, NULL); /* checked when it was stored */
    yyjson_arr_foreach(spaces, i, n, space)
    {
        vec_push(&out->namespaces, mem_strdup(yyjson_get_str(space)));
    }
    if (out->namespaces.len == 0 && !out->is_everywhere)
        vec_push(&out->namespaces, mem_strdup(obj_namespace(pod)));
}

static void part_done(struct part *part)
{
    label_selector_free(part->selector);
    for (size_t i = 0; i < part->namespaces.len; i++)
        mem_free(part->namespaces.items[i]);
    vec_done(&part->namespaces);
}

static bool part_means(const struct part *part, const struct obj *pod)
{
    bool is_there = part->is_everywhere;
    for (size_t i = 0; i < part->namespaces.len && !is_there; i++)
        is_there = str_eq(part->namespaces.items[i], obj_namespace(pod));
    return is_there && part->selector != NULL &&
           label_selector_matches(part->selector, pod->meta.labels);
}

static bool term_means(const struct pod_term *term, const struct obj *pod)
{
    for (size_t i = 0; i < term->parts.len; i++) {
        if (!part_means(&term->parts.items[i], pod))
            return false;
    }
    return true;
}

/* ---- terms ---- */

struct asked {             /* for a term */
    const struct obj *pod; /* that asks */
    yyjson_val *list;      /* all of these, or */
    yyjson_val *one;       /* this one */
    bool is_bearing;
    const char *key; /* of the topology */
};

static void name_part(const struct asked *asked, yyjson_val *term, struct str *out)
{
    yyjson_val *spaces = yyjson_obj_get(term, "namespaces");
    yyjson_val *selector = yyjson_obj_get(term, "labelSelector");
    if (yyjson_arr_size(spaces) > 0)
        json_write_val(spaces, out);
    else if (yyjson_is_obj(yyjson_obj_get(term, "namespaceSelector")))
        str_addc(out, '*');
    else
        str_add(out, obj_namespace(asked->pod));
    str_addc(out, '|');
    if (selector != NULL)
        json_write_val(selector, out);
    str_addc(out, '\n');
}

struct counting {
    struct binder *binder;
    const struct pod_term *term;
};

static bool count_guest(void *arg, const char *key, void *value)
{
    const struct counting *counting = arg;
    const struct guest *guest = value;
    (void)key;
    if (guest->room != NULL && term_means(counting->term, guest->pod))
        (void)bind_term_count(counting->binder->bind, counting->term->rules, guest->room->id, 1);
    return true;
}

static void add_part(struct pod_term *term, const struct asked *asked, yyjson_val *from)
{
    struct part part;
    read_part(asked->pod, from, &part);
    vec_push(&term->parts, part);
}

static struct pod_term *term_new(struct binder *binder, const struct asked *asked, const char *name)
{
    struct pod_term *term = mem_zalloc(sizeof(*term));
    size_t i, n;
    yyjson_val *from;
    *term = (struct pod_term){.name = mem_strdup(name),
                              .id = ++binder->last_term,
                              .is_bearing = asked->is_bearing,
                              .rules = bind_term_new(binder->bind, asked->key)};
    yyjson_arr_foreach(asked->list, i, n, from)
    {
        add_part(term, asked, from);
    }
    if (asked->one != NULL)
        add_part(term, asked, asked->one);
    (void)map_put(binder->terms, term->name, term);
    struct counting counting = {binder, term};
    if (!term->is_bearing)
        (void)map_each(binder->guests, count_guest, &counting);
    return term;
}

/* With a reference for the one who asks. */
static struct pod_term *term_need(struct binder *binder, const struct asked *asked)
{
    scoped_str name = {0};
    size_t i, n;
    yyjson_val *from;
    str_addf(&name, "%s %s\n", asked->is_bearing ? "bears" : "means", asked->key);
    yyjson_arr_foreach(asked->list, i, n, from)
    {
        name_part(asked, from, &name);
    }
    if (asked->one != NULL)
        name_part(asked, asked->one, &name);
    struct pod_term *term = map_get(binder->terms, str_text(&name));
    if (term == NULL)
        term = term_new(binder, asked, str_text(&name));
    term->refs++;
    return term;
}

static void term_unref(struct binder *binder, struct pod_term *term)
{
    if (--term->refs > 0)
        return;
    (void)map_del(binder->terms, term->name);
    bind_term_free(binder->bind, term->rules);
    for (size_t i = 0; i < term->parts.len; i++)
        part_done(&term->parts.items[i]);
    vec_done(&term->parts);
    mem_free(term->name);
    mem_free(term);
}

/* ---- classes ---- */

static bool means_itself(const struct obj *pod, yyjson_val *list)
{
    size_t i, n;
    yyjson_val *from;
    bool all = yyjson_arr_size(list) > 0;
    yyjson_arr_foreach(list, i, n, from)
    {
        struct part part;
        read_part(pod, from, &part);
        all = all && part_means(&part, pod);
        part_done(&part);
    }
    return all;
}

struct signing {
    const struct obj *pod;
    struct str *out;
};

static bool sign_bearing(void *arg, const char *name, void *value)
{
    const struct signing *signing = arg;
    const struct pod_term *term = value;
    (void)name;
    if (term->is_bearing && term_means(term, signing->pod))
        str_addf(signing->out, "-%" PRIu64, term->id);
    return true;
}

void near_sign(struct binder *binder, const struct obj *pod, struct str *out)
{
    yyjson_val *affinity = json_at(pod->root, "spec.affinity");
    struct signing signing = {pod, out};
    if (yyjson_obj_get(affinity, "podAffinity") != NULL ||
        yyjson_obj_get(affinity, "podAntiAffinity") != NULL)
        str_addf(out, "|%s%s", obj_namespace(pod),
                 means_itself(pod, terms_of(pod, "podAffinity", REQUIRED)) ? "=" : "");
    (void)map_each(binder->terms, sign_bearing, &signing);
}

static void add_near(struct binder *binder, struct pod_class *class, const struct asked *asked,
                     enum bind_nearness how, int64_t weight)
{
    struct pod_term *term = term_need(binder, asked);
    vec_push(&class->terms, term);
    vec_push(&class->near, ((struct bind_near){term->rules, how, weight}));
}

static void add_preferred(struct binder *binder, struct pod_class *class, const char *sort,
                          int64_t sign)
{
    const struct obj *pod = class->sample;
    size_t i, n;
    yyjson_val *wish;
    yyjson_arr_foreach(terms_of(pod, sort, PREFERRED), i, n, wish)
    {
        yyjson_val *term = yyjson_obj_get(wish, "podAffinityTerm");
        struct asked asked = {.pod = pod, .one = term, .key = json_str_at(term, "topologyKey")};
        add_near(binder, class, &asked, BIND_PREFERS, sign * json_int_at(wish, "weight", 1));
    }
}

static bool add_bearing(void *arg, const char *name, void *value)
{
    struct pod_class *class = arg;
    struct pod_term *term = value;
    (void)name;
    if (!term->is_bearing || !term_means(term, class->sample))
        return true;
    term->refs++;
    vec_push(&class->terms, term);
    vec_push(&class->near, ((struct bind_near){term->rules, BIND_AVOIDS, 0}));
    return true;
}

void near_begin_class(struct binder *binder, struct pod_class *class)
{
    const struct obj *pod = class->sample;
    yyjson_val *wanted = terms_of(pod, "podAffinity", REQUIRED), *term;
    size_t i, n;
    yyjson_arr_foreach(wanted, i, n, term)
    {
        struct asked asked = {.pod = pod, .list = wanted, .key = json_str_at(term, "topologyKey")};
        add_near(binder, class, &asked, BIND_WANTS, 0);
        class->near_key = class->near_key ? class->near_key : asked.key;
    }
    class->n_wanted = class->near.len;
    yyjson_arr_foreach(terms_of(pod, "podAntiAffinity", REQUIRED), i, n, term)
    {
        struct asked asked = {.pod = pod, .one = term, .key = json_str_at(term, "topologyKey")};
        add_near(binder, class, &asked, BIND_AVOIDS, 0);
    }
    add_preferred(binder, class, "podAffinity", 1);
    add_preferred(binder, class, "podAntiAffinity", -1);
    (void)map_each(binder->terms, add_bearing, class);
    class->is_near_itself = means_itself(pod, wanted);
}

void near_end_class(struct binder *binder, struct pod_class *class)
{
    for (size_t i = 0; i < class->terms.len; i++)
        term_unref(binder, class->terms.items[i]);
    vec_done(&class->terms);
    vec_done(&class->near);
}

bool near_may_be_first(const struct pod_class *class)
{
    int64_t total = 0;
    for (size_t i = 0; i < class->n_wanted; i++)
        total += bind_term_total(class->near.items[i].term);
    return class->is_near_itself && total == 0;
}

/* ---- pods ---- */

struct told {
    struct binder *binder;
    const struct guest *guest;
    int sign;
};

static bool tell_term(void *arg, const char *name, void *value)
{
    const struct told *told = arg;
    struct pod_term *term = value;
    (void)name;
    if (term->is_bearing || !term_means(term, told->guest->pod))
        return true;
    if (bind_term_count(told->binder->bind, term->rules, told->guest->room->id, told->sign))
        told->binder->is_nearer = true;
    return true;
}

static void bear(struct binder *binder, struct guest *guest)
{
    size_t i, n;
    yyjson_val *term;
    scoped_str why = {0};
    yyjson_arr_foreach(terms_of(guest->pod, "podAntiAffinity", REQUIRED), i, n, term)
    {
        if (note_unsupported(term, "", &why))
            continue; /* bound by somebody else; who is meant is not known here */
        struct asked asked = {.pod = guest->pod,
                              .one = term,
                              .is_bearing = true,
                              .key = json_str_at(term, "topologyKey")};
        struct pod_term *borne = term_need(binder, &asked);
        vec_push(&guest->bears, borne);
        (void)bind_term_count(binder->bind, borne->rules, guest->room->id, 1);
    }
}

void near_take(struct binder *binder, struct guest *guest)
{
    struct told told = {binder, guest, 1};
    (void)map_each(binder->terms, tell_term, &told);
    bear(binder, guest);
}

void near_give(struct binder *binder, struct guest *guest)
{
    struct told told = {binder, guest, -1};
    (void)map_each(binder->terms, tell_term, &told);
    for (size_t i = 0; i < guest->bears.len; i++)
        (void)bind_term_count(binder->bind, guest->bears.items[i]->rules, guest->room->id, -1);
    near_forget(binder, guest);
}

void near_forget(struct binder *binder, struct guest *guest)
{
    for (size_t i = 0; i < guest->bears.len; i++)
        term_unref(binder, guest->bears.items[i]);
    vec_clear(&guest->bears);
}

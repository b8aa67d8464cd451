// SPDX-License-Identifier: Apache-2.0
#include "base/quantity.h"
#include "control/binder_internal.h"

void resource_names_init(struct resource_names *names)
{
    static const char *const KNOWN[RESOURCE_KNOWN] = {
        [RESOURCE_CPU] = "cpu", [RESOURCE_MEMORY] = "memory", [RESOURCE_PODS] = "pods"};
    *names = (struct resource_names){0};
    for (size_t i = 0; i < RESOURCE_KNOWN; i++)
        vec_push(&names->list, mem_strdup(KNOWN[i]));
}

void resource_names_done(struct resource_names *names)
{
    for (size_t i = 0; i < names->list.len; i++)
        mem_free(names->list.items[i]);
    vec_done(&names->list);
}

/* There are a handful, so a walk is quicker than a hash. */
static size_t number_of(struct resource_names *names, const char *name)
{
    for (size_t i = 0; i < names->list.len; i++) {
        if (strcmp(names->list.items[i], name) == 0)
            return i;
    }
    vec_push(&names->list, mem_strdup(name));
    return names->list.len - 1;
}

void amounts_done(struct amounts *amounts)
{
    vec_done(&amounts->of);
}

int64_t amounts_get(const struct amounts *amounts, size_t resource)
{
    return resource < amounts->of.len ? amounts->of.items[resource] : 0;
}

static void put(struct amounts *amounts, size_t resource, int64_t amount)
{
    while (amounts->of.len <= resource)
        vec_push(&amounts->of, 0);
    amounts->of.items[resource] = amount;
}

static int64_t sum_of(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

void amounts_add(struct amounts *to, const struct amounts *what, int64_t times)
{
    for (size_t i = 0; i < what->of.len; i++)
        put(to, i, sum_of(amounts_get(to, i), what->of.items[i] * times));
}

static void raise_to(struct amounts *to, const struct amounts *least)
{
    for (size_t i = 0; i < least->of.len; i++) {
        if (amounts_get(to, i) < least->of.items[i])
            put(to, i, least->of.items[i]);
    }
}

static bool read_amount(yyjson_val *val, quantity *ret_amount)
{
    scoped_str text = {0};
    if (yyjson_is_str(val))
        str_add(&text, yyjson_get_str(val));
    else
        json_write_val(val, &text);
    return quantity_parse(sv_of(str_text(&text)), ret_amount, NULL) >= 0;
}

void amounts_read(struct resource_names *names, yyjson_val *map, struct amounts *out)
{
    size_t i, n;
    yyjson_val *key, *val;
    yyjson_obj_foreach(map, i, n, key, val)
    {
        quantity amount;
        if (!read_amount(val, &amount) || amount < 0)
            continue;
        size_t number = number_of(names, yyjson_get_str(key));
        put(out, number, number == RESOURCE_CPU ? quantity_milli(amount) : quantity_value(amount));
    }
}

/* Init containers run one after the other, before the others; those that stay add up. */
static void add_init_containers(struct resource_names *names, yyjson_val *list,
                                struct amounts *staying, struct amounts *peak)
{
    size_t i, n;
    yyjson_val *container;
    yyjson_arr_foreach(list, i, n, container)
    {
        struct amounts own = {0};
        amounts_read(names, json_at(container, "resources.requests"), &own);
        if (str_eq(json_str_at(container, "restartPolicy"), "Always")) {
            amounts_add(staying, &own, 1);
            raise_to(peak, staying);
        } else {
            amounts_add(&own, staying, 1);
            raise_to(peak, &own);
        }
        amounts_done(&own);
    }
}

void amounts_of_pod(struct resource_names *names, yyjson_val *spec, struct amounts *out)
{
    struct amounts peak = {0}, whole = {0};
    vec_clear(&out->of);
    add_init_containers(names, yyjson_obj_get(spec, "initContainers"), out, &peak);
    size_t i, n;
    yyjson_val *container;
    yyjson_arr_foreach(yyjson_obj_get(spec, "containers"), i, n, container)
    {
        struct amounts own = {0};
        amounts_read(names, json_at(container, "resources.requests"), &own);
        amounts_add(out, &own, 1);
        amounts_done(&own);
    }
    raise_to(out, &peak);
    /* What is said for the pod as a whole goes before the sum of its parts. */
    amounts_read(names, json_at(spec, "resources.requests"), &whole);
    for (i = 0; i < whole.of.len; i++) {
        if (whole.of.items[i] > 0)
            put(out, i, whole.of.items[i]);
    }
    vec_clear(&whole.of);
    amounts_read(names, yyjson_obj_get(spec, "overhead"), &whole);
    amounts_add(out, &whole, 1);
    put(out, RESOURCE_PODS, 1);
    amounts_done(&peak);
    amounts_done(&whole);
}

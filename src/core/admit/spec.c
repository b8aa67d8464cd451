// SPDX-License-Identifier: Apache-2.0
/* What a workload asks for, kept once for all that ask for the same: ten thousand members of a
 * sweep share one. Equal texts are equal requests. */
#include "core/admit/admit_internal.h"

static void add_number(struct str *out, int64_t number) /* none is below zero */
{
    str_addc(out, '\x1f');
    str_addu(out, (uint64_t)number);
}

/* Separators that no name may have. */
static void write_text(struct str *out, const struct admit_workload *from)
{
    for (size_t i = 0; i < from->n_pod_sets; i++) {
        const struct admit_pod_set *set = &from->pod_sets[i];
        str_add(out, set->name);
        add_number(out, set->count);
        add_number(out, set->min_count);
        for (size_t j = 0; j < set->n_needs; j++) {
            str_addc(out, '\x1e');
            str_add(out, set->needs[j].resource);
            add_number(out, set->needs[j].amount);
        }
        for (size_t j = 0; j < set->n_unfit; j++)
            str_addf(out, "\x1d%s\x1f%s", set->unfit[j].flavor, set->unfit[j].why);
        str_addc(out, '\x1c');
    }
}

static void fill_needs(struct admit *admit, struct spec_set *set, const struct admit_pod_set *from)
{
    set->needs = mem_zalloc((from->n_needs + 1) * sizeof(*set->needs));
    bool names_pods = false;
    for (size_t i = 0; i < from->n_needs; i++) {
        if (from->needs[i].amount == 0)
            continue; /* fits anywhere, also where nobody has heard of the resource */
        set->needs[set->n_needs++] = (struct spec_need){intern(admit, from->needs[i].resource),
                                                        from->needs[i].amount, false};
        names_pods = names_pods || str_eq(from->needs[i].resource, "pods");
    }
    if (!names_pods)
        set->needs[set->n_needs++] = (struct spec_need){intern(admit, "pods"), 1000, true};
}

static void fill_set(struct admit *admit, struct spec_set *set, const struct admit_pod_set *from)
{
    set->name = intern(admit, from->name);
    set->count = from->count;
    set->min_count = from->min_count > 0 && from->min_count < from->count ? from->min_count : 0;
    fill_needs(admit, set, from);
    set->n_unfit = from->n_unfit;
    set->unfit = mem_zalloc((from->n_unfit + 1) * sizeof(struct flavor *));
    set->why = mem_zalloc((from->n_unfit + 1) * sizeof(char *));
    for (size_t i = 0; i < from->n_unfit; i++) {
        set->unfit[i] = flavor_of(admit, from->unfit[i].flavor);
        set->why[i] = intern(admit, from->unfit[i].why ? from->unfit[i].why : "does not suit");
    }
}

struct spec *spec_of(struct admit *admit, const struct admit_workload *from)
{
    scoped_str text = {0};
    write_text(&text, from);
    struct spec *spec = map_get(admit->specs, str_text(&text));
    if (spec) {
        spec->refs++;
        return spec;
    }
    spec = mem_zalloc(sizeof(*spec));
    spec->refs = 1;
    spec->id = ++admit->next_spec;
    spec->text = str_take(&text);
    spec->n_sets = from->n_pod_sets;
    spec->sets = mem_zalloc((from->n_pod_sets + 1) * sizeof(*spec->sets));
    for (size_t i = 0; i < spec->n_sets; i++) {
        fill_set(admit, &spec->sets[i], &from->pod_sets[i]);
        if (spec->sets[i].min_count > 0)
            spec->spare += spec->sets[i].count - spec->sets[i].min_count;
    }
    map_put(admit->specs, spec->text, spec);
    return spec;
}

void spec_unref(struct admit *admit, struct spec *spec)
{
    if (!spec || --spec->refs > 0)
        return;
    map_del(admit->specs, spec->text);
    for (size_t i = 0; i < spec->n_sets; i++) {
        mem_free(spec->sets[i].needs);
        mem_free(spec->sets[i].unfit);
        mem_free(spec->sets[i].why);
    }
    mem_free(spec->sets);
    mem_free(spec->text);
    mem_free(spec);
}

// SPDX-License-Identifier: Apache-2.0
/* One clock for all. The script is done one act after the other: an act that writes is over when
 * the write is answered, so that what stands later in a file happens later, also at the same time.
 *
 * It is over when nothing can happen any more: the script is done, no container will end or get
 * ready by itself, and whatever controllers still have a timer for is upkeep (manager.h). */
#include "sim/rehearsal.h"
#include "base/mem.h"
#include "base/vec.h"
#include "control/controllers.h"
#include "sim/script.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define START 1767225600000 /* 2026-01-01T00:00:00Z */
#define UNTIL_USUAL ((time_ms)24 * 3600 * 1000)
#define WINDOW 16

struct rehearsal {
    struct rehearsal_options options;
    struct sim_clock clock;
    struct fleet *fleet;
    struct sim *sim;
    struct script script;
    size_t next; /* act */
    struct sim_event due;
    struct configuration configuration;
    time_ms until;
    uint64_t changes;
};

static void on_change(void *arg, struct change *change)
{
    struct rehearsal *r = arg;
    r->changes++;
    if (r->options.on_line != NULL)
        lines_of(change, rehearsal_ms(r), r->options.on_line, r->options.arg);
}

static void on_close(void *arg)
{
    struct rehearsal *r = arg;
    if (r->sim != NULL)
        fleet_close(r->fleet);
}

static void on_reopen(void *arg)
{
    struct rehearsal *r = arg;
    fleet_open(r->fleet, r->sim);
}

/* ---- the script ---- */

static void arm_next(struct rehearsal *r)
{
    bool is_done = r->next == r->script.acts.len;
    sim_clock_arm(&r->clock, &r->due,
                  is_done ? TIME_NEVER : START + r->script.acts.items[r->next].at);
}

static void trouble(struct rehearsal *r, const char *text, const char *hint)
{
    const struct act *act = &r->script.acts.items[r->next];
    if (r->options.on_trouble != NULL)
        r->options.on_trouble(r->options.arg, &act->place, text, hint);
}

static void on_answer(void *arg, struct write_result *result)
{
    struct rehearsal *r = arg;
    if (result->status.code == SIM_STATUS_UNKNOWN) {
        arm_next(r); /* as a person would: once more */
        return;
    }
    struct act *act = &r->script.acts.items[r->next];
    bool is_repeat = act->tries > 1 && act->type == ACT_CREATE && result->status.code == 409;
    if (!status_ok(&result->status) && !is_repeat)
        trouble(r, str_text(&result->status.message), NULL);
    if (!status_ok(&result->status) || !script_has_more(act))
        r->next++;
    arm_next(r);
}

static void submit(struct rehearsal *r, struct act *act)
{
    struct write *write = script_write(act);
    write->done = on_answer;
    write->arg = r;
    sim_submit(r->sim, write);
}

static void end_container(struct rehearsal *r, const struct act *act)
{
    scoped_str hint = {0};
    const struct obj *pod = script_pod(act, sim_store(r->sim)->cache, &hint);
    if (pod == NULL) {
        scoped_free char *text = mem_printf("there is no pod %s", act->name);
        trouble(r, text, hint.len > 0 ? str_text(&hint) : NULL);
    } else if (!fleet_exit(r->fleet, pod, act->container, act->exit_code)) {
        scoped_free char *text = mem_printf("%s of pod %s/%s does not run",
                                            act->container != NULL ? act->container : "a container",
                                            obj_namespace(pod), pod->meta.name);
        trouble(r, text, NULL);
    }
}

static void set_node(struct rehearsal *r, const struct act *act)
{
    if (fleet_has(r->fleet, act->name)) {
        fleet_set_state(r->fleet, act->name, act->state);
        return;
    }
    scoped_str hint = {0};
    scoped_free char *text = mem_printf("there is no node %s", act->name);
    str_add(&hint, "there are: ");
    fleet_names(r->fleet, &hint);
    trouble(r, text, fleet_count(r->fleet) > 0 ? str_text(&hint) : "spec.nodes is empty");
}

static void on_due(void *arg)
{
    struct rehearsal *r = arg;
    struct act *act = &r->script.acts.items[r->next];
    act->tries++;
    if (script_writes(act)) {
        submit(r, act);
        return;
    }
    if (act->type == ACT_NODE)
        set_node(r, act);
    else if (act->type == ACT_POD)
        end_container(r, act);
    else if (act->type == ACT_RESTART)
        sim_crash(r->sim);
    r->next++;
    arm_next(r);
}

/* ---- time ---- */

static bool is_at_rest(const struct rehearsal *r)
{
    return r->clock.loud == 0 && !manager_is_pressed(sim_manager(r->sim)) &&
           fleet_is_quiet(r->fleet);
}

bool rehearsal_is_final(const struct rehearsal *r)
{
    return sim_clock_next(&r->clock) > r->clock.now && is_at_rest(r);
}

bool rehearsal_step(struct rehearsal *r)
{
    time_ms next = sim_clock_next(&r->clock);
    if (rehearsal_is_final(r))
        return false;
    if (next > r->until) {
        sim_clock_pass(&r->clock, r->until);
        return false;
    }
    return sim_step(r->sim);
}

void rehearsal_run(struct rehearsal *r)
{
    while (rehearsal_step(r))
        ;
}

void rehearsal_crash(struct rehearsal *r)
{
    sim_crash(r->sim);
}

time_ms rehearsal_ms(const struct rehearsal *r)
{
    return r->clock.now - START;
}

struct sim *rehearsal_sim(const struct rehearsal *r)
{
    return r->sim;
}

struct rehearsal_stats rehearsal_stats(const struct rehearsal *r)
{
    return (struct rehearsal_stats){r->clock.steps, r->changes, fleet_starts(r->fleet)};
}

/* ---- the beginning and the end ---- */

static void add_machines(struct rehearsal *r)
{
    for (size_t i = 0; i < r->options.n_documents; i++) {
        yyjson_val *node = r->options.documents[i];
        struct machine machine = {.capacity = json_at(node, "status.capacity"),
                                  .labels = json_at(node, "metadata.labels"),
                                  .taints = json_at(node, "spec.taints")};
        if (script_is_machine(node) && !fleet_has(r->fleet, json_str_at(node, "metadata.name")))
            fleet_add(r->fleet, json_str_at(node, "metadata.name"), machine);
    }
}

static void add_nodes(struct rehearsal *r)
{
    size_t i, n;
    yyjson_val *spec;
    yyjson_arr_foreach(yyjson_obj_get(r->options.spec, "nodes"), i, n, spec)
    {
        const char *name = json_str_at(spec, "name");
        int64_t count = json_int_at(spec, "count", -1);
        struct machine machine = {.capacity = yyjson_obj_get(spec, "capacity"),
                                  .labels = yyjson_obj_get(spec, "labels"),
                                  .taints = yyjson_obj_get(spec, "taints")};
        if (count < 0)
            fleet_add(r->fleet, name, machine);
        for (int64_t k = 0; k < count; k++) {
            scoped_free char *numbered = mem_printf("%s-%lld", name, (long long)k);
            fleet_add(r->fleet, numbered, machine);
        }
    }
}

static void read_configuration(struct rehearsal *r)
{
    struct err err = {0};
    yyjson_val *block = yyjson_obj_get(r->options.spec, "configuration");
    configuration_default(&r->configuration);
    if (block != NULL && configuration_of(block, &r->configuration, &err) < 0)
        configuration_default(&r->configuration); /* cannot be: refused with its Scenario */
}

static const struct configuration *configuration_for(const struct rehearsal *r)
{
    bool is_said = yyjson_obj_get(r->options.spec, "configuration") != NULL;
    return is_said || r->options.configuration == NULL ? &r->configuration
                                                       : r->options.configuration;
}

struct rehearsal *rehearsal_new(const struct rehearsal_options *options)
{
    struct rehearsal *r = mem_zalloc(sizeof(*r));
    r->options = *options;
    uint64_t seed = (uint64_t)json_int_at(options->spec, "seed", 1);
    time_ms span = UNTIL_USUAL;
    (void)duration_parse(sv_of(json_str_at(options->spec, "until")), &span, NULL);
    r->until = span < TIME_NEVER - START ? START + span : TIME_NEVER - 1;
    sim_clock_init(&r->clock, START);
    sim_event_init(&r->due, on_due, r);
    r->fleet = fleet_new(&r->clock, seed);
    add_nodes(r);
    add_machines(r);
    script_read(&r->script, options);
    read_configuration(r);
    struct sim_options sim = {.seed = seed,
                              .start = START,
                              .clock = &r->clock,
                              .controllers = CONTROLLERS,
                              .configuration = configuration_for(r),
                              .is_direct = true,
                              .window_changes = WINDOW,
                              .on_change = on_change,
                              .on_close = on_close,
                              .on_reopen = on_reopen,
                              .arg = r};
    r->sim = sim_new(&sim);
    fleet_open(r->fleet, r->sim);
    while (sim_clock_next(&r->clock) <= START) /* the nodes are there first */
        (void)sim_step(r->sim);
    arm_next(r);
    return r;
}

void rehearsal_free(struct rehearsal *r)
{
    if (r == NULL)
        return;
    sim_clock_disarm(&r->clock, &r->due);
    r->next = r->script.acts.len; /* whoever is told of a write now has nothing more to do */
    sim_free(r->sim);
    fleet_free(r->fleet);
    script_done(&r->script);
    configuration_done(&r->configuration);
    sim_clock_done(&r->clock);
    mem_free(r);
}

void rehearsal_end_json(const struct rehearsal *r, struct str *out)
{
    const struct cache *cache = sim_store(r->sim)->cache;
    const char *comma = "";
    str_addf(out, "{\"type\":\"End\",\"ms\":%lld,\"objects\":[", (long long)rehearsal_ms(r));
    for (size_t k = 0; KINDS[k] != NULL; k++) {
        const struct obj *obj = cache_first(cache, KINDS[k], NULL);
        for (; obj != NULL; obj = cache_after(cache, KINDS[k], NULL, obj)) {
            str_add(out, comma);
            str_addn(out, obj->json->data, obj->json->len);
            comma = ",";
        }
    }
    str_add(out, "]}");
}

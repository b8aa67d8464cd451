// SPDX-License-Identifier: Apache-2.0
#include "cli/place_view.h"
#include "cli/grid.h"
#include <inttypes.h>
#include <stdlib.h>

#define BAR_CELLS 30

void place_answers_done(struct place_answers *answers)
{
    for (size_t i = 0; i < answers->of.len; i++) {
        place_result_done(&answers->of.items[i].result);
        vec_done(&answers->of.items[i].refusals.of);
    }
    vec_done(&answers->of);
}

/* ---- JSON ---- */

static void add_key(const char *name, bool is_first, struct str *out)
{
    if (!is_first)
        str_addc(out, ',');
    json_quote(name, strlen(name), out);
    str_addc(out, ':');
}

static void add_placements(const struct place_list *list, struct str *out)
{
    str_addc(out, '[');
    for (size_t i = 0; i < list->at.len; i++)
        str_addf(out, "%s[%" PRId32 ",%" PRId32 "]", i > 0 ? "," : "", list->at.items[i].ordinal,
                 list->at.items[i].vreplicas);
    str_addc(out, ']');
}

void place_json(const struct place_input *input, const struct place_answers *answers,
                struct str *out)
{
    str_add(out, "{\"placements\":{");
    for (size_t i = 0; i < answers->of.len; i++) {
        add_key(input->vpods.items[i], i == 0, out);
        add_placements(&answers->of.items[i].result.placements, out);
    }
    str_add(out, "},\"pending\":{");
    for (size_t i = 0; i < answers->of.len; i++) {
        add_key(input->vpods.items[i], i == 0, out);
        str_addf(out, "%" PRId64, answers->of.items[i].result.pending);
    }
    str_add(out, "}}");
}

void place_json_evictions(const struct place_input *input, const struct place_evictions *evictions,
                          struct str *out)
{
    bool is_first = true;
    (void)input;
    str_add(out, "{\"evictions\":{");
    for (size_t i = 0; i < evictions->of.len;) {
        const char *vpod = evictions->of.items[i].vpod, *sep = "[";
        add_key(vpod, is_first, out);
        is_first = false;
        for (; i < evictions->of.len && evictions->of.items[i].vpod == vpod; i++, sep = ",")
            str_addf(out, "%s[%" PRId32 ",%" PRId32 "]", sep, evictions->of.items[i].ordinal,
                     evictions->of.items[i].vreplicas);
        str_addc(out, ']');
    }
    str_add(out, "}}");
}

/* ---- bars ---- */

struct spot { /* a pod with something of the vpod on it */
    const char *zone, *node;
    int32_t ordinal;
    int64_t count, used, capacity;
};
struct spots {
    VEC(struct spot) of;
    const struct place_list *list;
    size_t next;
};

static void add_spot(void *arg, const struct place_pod_view *pod)
{
    struct spots *spots = arg;
    if (spots->next >= spots->list->at.len ||
        spots->list->at.items[spots->next].ordinal != pod->ordinal)
        return;
    struct spot spot = {.zone = pod->zone != NULL ? pod->zone : "(no zone)",
                        .node = pod->node != NULL ? pod->node : "(no node)",
                        .ordinal = pod->ordinal,
                        .count = spots->list->at.items[spots->next++].vreplicas,
                        .used = pod->used,
                        .capacity = pod->capacity};
    vec_push(&spots->of, spot);
}

static int by_domain(const void *a, const void *b)
{
    const struct spot *left = a, *right = b;
    int order = strcmp(left->zone, right->zone);
    order = order != 0 ? order : strcmp(left->node, right->node);
    return order != 0 ? order : left->ordinal - right->ordinal;
}

/* How much of a bar: the first ones together with the fullest zone. */
static void add_row(struct grid *grid, const char *label, int64_t count, int64_t most)
{
    scoped_str number = {0}, bar = {0};
    str_addf(&number, "%" PRId64, count);
    int64_t cells = most > 0 ? (count * BAR_CELLS + most - 1) / most : 0;
    for (int64_t i = 0; i < cells; i++)
        str_addc(&bar, '#');
    grid_cell(grid, label);
    grid_cell(grid, str_text(&number));
    grid_cell(grid, str_text(&bar));
}

static int64_t sum(const struct spots *spots, size_t from, bool is_zone)
{
    int64_t total = 0;
    const struct spot *first = &spots->of.items[from];
    for (size_t i = from; i < spots->of.len; i++) {
        const struct spot *spot = &spots->of.items[i];
        if (strcmp(spot->zone, first->zone) != 0 ||
            (!is_zone && strcmp(spot->node, first->node) != 0))
            break;
        total += spot->count;
    }
    return total;
}

static bool begins(const struct spots *spots, size_t i, bool is_zone)
{
    if (i == 0)
        return true;
    const struct spot *spot = &spots->of.items[i], *before = spot - 1;
    return strcmp(spot->zone, before->zone) != 0 ||
           (!is_zone && strcmp(spot->node, before->node) != 0);
}

static void draw(struct spots *spots, struct str *out)
{
    struct grid grid = {.columns = 3, .indent = 2};
    int64_t most = 0;
    if (spots->of.len > 1)
        qsort(spots->of.items, spots->of.len, sizeof(struct spot), by_domain);
    for (size_t i = 0; i < spots->of.len; i++) {
        int64_t zone = begins(spots, i, true) ? sum(spots, i, true) : 0;
        most = zone > most ? zone : most;
    }
    for (size_t i = 0; i < spots->of.len; i++) {
        const struct spot *spot = &spots->of.items[i];
        scoped_free char *node = mem_printf("  %s", spot->node);
        scoped_free char *pod = mem_printf("    pod %" PRId32 " (%" PRId64 "/%" PRId64 ")",
                                           spot->ordinal, spot->used, spot->capacity);
        if (begins(spots, i, true))
            add_row(&grid, spot->zone, sum(spots, i, true), most);
        if (begins(spots, i, false))
            add_row(&grid, node, sum(spots, i, false), most);
        add_row(&grid, pod, spot->count, most);
    }
    grid_print(&grid, false, out);
    grid_done(&grid);
}

/* ---- refusals ---- */

static void add_pods(int32_t first, int32_t last, struct str *out)
{
    if (first == last)
        str_addf(out, "  pod %" PRId32 ": ", first);
    else
        str_addf(out, "  pods %" PRId32 "-%" PRId32 ": ", first, last);
}

/* Neighbours with the same reason share a line. */
static void add_refusals(const struct place_refusals *refusals, struct str *out)
{
    scoped_str held = {0};
    int32_t first = 0;
    for (size_t i = 0; i < refusals->of.len; i++) {
        scoped_str text = {0};
        const struct place_refusal *refusal = &refusals->of.items[i];
        place_refusal_text(refusal, &text);
        if (held.len > 0 && strcmp(str_text(&held), str_text(&text)) != 0) {
            add_pods(first, refusal->ordinal - 1, out);
            str_addf(out, "%s\n", str_text(&held));
            str_clear(&held);
        }
        if (refusal->reason == PLACE_TAKES)
            continue;
        if (held.len == 0)
            first = refusal->ordinal;
        str_clear(&held);
        str_add(&held, str_text(&text));
    }
    if (held.len > 0) {
        add_pods(first, vec_last(&refusals->of)->ordinal, out);
        str_addf(out, "%s\n", str_text(&held));
    }
}

static bool has_refusal(const struct place_refusals *refusals)
{
    for (size_t i = 0; i < refusals->of.len; i++) {
        if (refusals->of.items[i].reason != PLACE_TAKES)
            return true;
    }
    return false;
}

static void add_answer(const struct place_input *input, size_t index,
                       const struct place_answer *answer, struct str *out)
{
    scoped_str name = {0};
    const struct place_result *result = &answer->result;
    grid_plain(input->vpods.items[index], &name);
    str_addf(out, "%s: %" PRId64 " vreplica%s placed", str_text(&name), result->placed,
             result->placed == 1 ? "" : "s");
    if (result->pending > 0)
        str_addf(out, ", %" PRId64 " pending", result->pending);
    str_addc(out, '\n');
    struct spots spots = {.list = &result->placements};
    place_each_pod(input->place, add_spot, &spots);
    draw(&spots, out);
    vec_done(&spots.of);
    if (result->pending > 0 && answer->refusals.of.len == 0)
        str_add(out, "There is no pod: muster place --autoscale tells how many it takes.\n");
    if (!has_refusal(&answer->refusals))
        return;
    str_add(out, result->pending > 0 ? "Nothing more fits, because\n" : "Takes no more of it:\n");
    add_refusals(&answer->refusals, out);
}

void place_text(const struct place_input *input, const struct place_answers *answers,
                struct str *out)
{
    for (size_t i = 0; i < answers->of.len; i++) {
        if (i > 0)
            str_addc(out, '\n');
        add_answer(input, i, &answers->of.items[i], out);
    }
    if (answers->of.len == 0)
        str_add(out, "There are no vpods.\n");
}

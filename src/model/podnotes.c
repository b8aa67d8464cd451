// SPDX-License-Identifier: Apache-2.0
#include "model/podnotes.h"
#include "core/recover/epoch.h"
#include "model/podspec.h"
#include "model/rules.h"

static const struct {
    const char *name;
    enum dep_condition condition;
} CONDITIONS[] = {{"ready", DEP_READY}, {"completed", DEP_COMPLETED}, {"started", DEP_STARTED}};

const char *podnotes_condition(const char *text)
{
    const char *colon = strchr(text, ':');
    if (colon == NULL)
        return CONDITIONS[0].name;
    for (size_t i = 0; i < ARRAY_LEN(CONDITIONS); i++) {
        if (str_eq(colon + 1, CONDITIONS[i].name))
            return CONDITIONS[i].name;
    }
    return NULL;
}

static enum dep_condition condition_of(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(CONDITIONS); i++) {
        if (str_eq(name, CONDITIONS[i].name))
            return CONDITIONS[i].condition;
    }
    return DEP_READY;
}

/* ---- checks ---- */

static void check_notify(struct check *c, yyjson_mut_val *spec, yyjson_mut_val *note)
{
    static const char *const LISTS[] = {"initContainers", "containers"};
    struct sv rest = sv_trim(sv_of(yyjson_mut_get_str(note)));
    if (sv_is(rest, "true") || sv_is(rest, "false"))
        return;
    scoped_names names = {0};
    for (size_t k = 0; k < ARRAY_LEN(LISTS); k++)
        rules_names_of(&names, yyjson_mut_obj_get(spec, LISTS[k]), "name");
    while (rest.len > 0) {
        struct sv part = sv_trim(sv_cut(&rest, ','));
        scoped_free char *name = mem_strndup(part.ptr, part.len);
        if (rules_knows(&names, name))
            continue;
        scoped_free char *why = mem_printf("%s: not found", *name != '\0' ? name : "\"\"");
        check_invalid(c, NULL, note, why);
        check_hint_nearest(c, name, names.list.items, names.list.len);
    }
}

static void check_watchdog(struct check *c, yyjson_mut_val *spec, yyjson_mut_val *note)
{
    time_ms span = 0;
    (void)spec;
    if (duration_parse(sv_of(yyjson_mut_get_str(note)), &span, NULL) < 0 || span < 0)
        check_invalid(c, NULL, note, "must be a duration such as 30s or 1m");
}

/* ---- of rehearsals ---- */

static bool is_span(struct sv text, bool may_be_never)
{
    time_ms span = 0;
    return (may_be_never && sv_is(text, "never")) ||
           (text.len > 0 && duration_parse(text, &span, NULL) == 0 && span >= 0);
}

static bool is_sim_span(struct sv text)
{
    return is_span(text, true);
}

static bool is_sim_cpu(struct sv text)
{
    return is_span(text, false);
}

static bool is_sim_exit(struct sv text)
{
    struct sv code = sv_cut(&text, '@');
    int64_t number = 0;
    for (size_t i = 0; i < code.len && number < 256; i++)
        number = code.ptr[i] >= '0' && code.ptr[i] <= '9' ? number * 10 + code.ptr[i] - '0' : 256;
    return code.len > 0 && number < 256 && is_span(text, false);
}

static const struct {
    const char *name, *words;
    bool (*is_right)(struct sv value);
} SIM_NOTES[] = {
    {NOTE_SIM_START, "must be a duration such as 5s, or never", is_sim_span},
    {NOTE_SIM_CPU, "must be a duration such as 200ms", is_sim_cpu},
    {NOTE_SIM_RUN, "must be a duration such as 10m, or never", is_sim_span},
    {NOTE_SIM_EXIT, "must be an exit code from 0 to 255 and a duration: 3@90s", is_sim_exit},
};

/* "VALUE" or "CONTAINER=VALUE,CONTAINER=VALUE". A container need not be there: one text may be
 * meant for pods of several kinds. */
static void check_sim(struct check *c, yyjson_mut_val *note, size_t row)
{
    struct sv rest = sv_of(yyjson_mut_get_str(note));
    do {
        struct sv part = sv_trim(sv_cut(&rest, ','));
        if (memchr(part.ptr, '=', part.len) != NULL)
            (void)sv_cut(&part, '=');
        if (!SIM_NOTES[row].is_right(sv_trim(part)))
            check_invalid(c, NULL, note, SIM_NOTES[row].words);
    } while (rest.len > 0);
}

static void check_sim_note(struct check *c, const char *name, yyjson_mut_val *note)
{
    const char *names[ARRAY_LEN(SIM_NOTES)];
    for (size_t i = 0; i < ARRAY_LEN(SIM_NOTES); i++) {
        names[i] = SIM_NOTES[i].name;
        if (str_eq(name, names[i])) {
            check_sim(c, note, i);
            return;
        }
    }
    check_invalid(c, NULL, note, "there is no such annotation");
    check_hint_nearest(c, name, names, ARRAY_LEN(names));
}

/* ---- all of them ---- */

/* A pod's containers do not change: what was judged is not judged again. */
static bool was_judged(yyjson_mut_val *object, yyjson_mut_val *old, const char *name,
                       yyjson_mut_val *note)
{
    yyjson_mut_val *then = yyjson_mut_obj_get(json_mut_at(old, "metadata.annotations"), name);
    return then != NULL && json_mut_equal(note, then) &&
           json_mut_equal(yyjson_mut_obj_get(object, "spec"), yyjson_mut_obj_get(old, "spec"));
}

void podnotes_check(struct check *c, yyjson_mut_val *object, yyjson_mut_val *old)
{
    static const struct {
        const char *name;
        void (*check)(struct check *c, yyjson_mut_val *spec, yyjson_mut_val *note);
    } NOTES[] = {{NOTE_NOTIFY, check_notify},
                 {NOTE_DEPENDS_ON, depends_check_note},
                 {NOTE_WATCHDOG, check_watchdog}};
    yyjson_mut_val *spec = yyjson_mut_obj_get(object, "spec"), *key, *note;
    yyjson_mut_val *all = json_mut_at(object, "metadata.annotations");
    size_t metadata = check_enter(c, "metadata"), i, n;
    size_t list = check_enter_field(c, "annotations", all);
    yyjson_mut_obj_foreach(all, i, n, key, note)
    {
        const char *name = yyjson_mut_get_str(key);
        size_t k = 0;
        while (k < ARRAY_LEN(NOTES) && !str_eq(name, NOTES[k].name))
            k++;
        bool is_sim = str_starts(name, NOTE_SIM);
        if ((k == ARRAY_LEN(NOTES) && !is_sim) || !yyjson_mut_is_str(note) ||
            was_judged(object, old, name, note))
            continue;
        size_t item = check_enter_member(c, name, note);
        if (is_sim)
            check_sim_note(c, name, note);
        else
            NOTES[k].check(c, spec, note);
        check_leave(c, item);
    }
    check_leave(c, list);
    check_leave(c, metadata);
}

/* ---- epochs ---- */

/* A retried or late announcement must not undo the one after it: members and their controller count
 * on epochs that only grow (S5 in model/README.md). */
static void check_epoch(struct check *c, const char *name, yyjson_mut_val *now,
                        yyjson_mut_val *then)
{
    int64_t number, before;
    int64_t least = strcmp(name, EPOCH_NOTE) == 0 ? 1 : 0;
    bool had = epoch_parse(yyjson_mut_get_str(then), &before);
    if (now == NULL && !had)
        return;
    size_t item = check_enter_member(c, name, now);
    if (now == NULL) {
        check_forbidden(c, NULL, "may not be taken away: the member has announced it");
        check_hint(c, "delete the pod; the one that replaces it begins anew");
    } else if (!epoch_parse(yyjson_mut_get_str(now), &number) || number < least) {
        check_invalid(c, NULL, now,
                      least == 1 ? "must be a whole number from 1 to 2147483647"
                                 : "must be a whole number from 0 to 2147483647");
    } else if (had && number < before) {
        scoped_free char *why = mem_printf("may not go down: it was %lld", (long long)before);
        check_invalid(c, NULL, now, why);
        check_hint(c, "a late announcement changes nothing; read the pod and the JobSet again");
    }
    check_leave(c, item);
}

static const char *const EPOCH_NOTES[] = {EPOCH_NOTE, EPOCH_NOTE_LATER};

static yyjson_mut_val *note_at(yyjson_mut_val *pod, size_t i)
{
    return yyjson_mut_obj_get(json_mut_at(pod, "metadata.annotations"), EPOCH_NOTES[i]);
}

static bool is_news(yyjson_mut_val *now, yyjson_mut_val *then)
{
    if (now == NULL || then == NULL)
        return now != then && (now == NULL || yyjson_mut_is_str(now));
    return yyjson_mut_is_str(now) && !json_mut_equal(now, then);
}

void podnotes_check_epochs(struct check *c, yyjson_mut_val *pod, yyjson_mut_val *old)
{
    for (size_t i = 0; i < ARRAY_LEN(EPOCH_NOTES); i++) {
        yyjson_mut_val *now = note_at(pod, i), *then = note_at(old, i);
        if (!is_news(now, then))
            continue;
        size_t metadata = check_enter(c, "metadata");
        size_t list = check_enter(c, "annotations");
        check_epoch(c, EPOCH_NOTES[i], now, then);
        check_leave(c, list);
        check_leave(c, metadata);
    }
}

bool podnotes_announces(yyjson_mut_val *pod, yyjson_mut_val *old)
{
    for (size_t i = 0; i < ARRAY_LEN(EPOCH_NOTES); i++) {
        if (note_at(pod, i) != NULL && is_news(note_at(pod, i), note_at(old, i)))
            return true;
    }
    return false;
}

/* Announcements do not go down: whoever is beyond could not tell of a failure any more, and nobody
 * would restart. */
static void check_limit(struct check *c, const char *name, yyjson_mut_val *now, int64_t next)
{
    bool is_epoch = strcmp(name, EPOCH_NOTE) == 0;
    int64_t number, limit = is_epoch ? next : next - 1;
    if (!epoch_parse(yyjson_mut_get_str(now), &number) || number <= limit)
        return;
    size_t item = check_enter_member(c, name, now);
    scoped_free char *why =
        mem_printf("may not be above %lld, the %s that comes next in its JobSet", (long long)limit,
                   is_epoch ? "epoch" : "attempt");
    check_invalid(c, NULL, now, why);
    check_hint(c, "restart the group with: muster restart jobset/NAME");
    check_leave(c, item);
}

void podnotes_check_limit(struct check *c, yyjson_mut_val *pod, yyjson_mut_val *old, int64_t next)
{
    size_t metadata = check_enter(c, "metadata");
    size_t list = check_enter(c, "annotations");
    for (size_t i = 0; i < ARRAY_LEN(EPOCH_NOTES); i++) {
        if (is_news(note_at(pod, i), note_at(old, i)))
            check_limit(c, EPOCH_NOTES[i], note_at(pod, i), next);
    }
    check_leave(c, list);
    check_leave(c, metadata);
}

/* ---- reading ---- */

static const char *note_of(yyjson_val *object, const char *name)
{
    return yyjson_get_str(yyjson_obj_get(json_at(object, "metadata.annotations"), name));
}

bool podnotes_announced(yyjson_val *pod, yyjson_val *old)
{
    for (size_t i = 0; i < ARRAY_LEN(EPOCH_NOTES); i++) {
        const char *now = note_of(pod, EPOCH_NOTES[i]);
        if (now != NULL && !str_eq(now, note_of(old, EPOCH_NOTES[i])))
            return true;
    }
    return false;
}

bool podnotes_notifies(yyjson_val *object, const char *container)
{
    struct sv rest = sv_trim(sv_of(note_of(object, NOTE_NOTIFY)));
    if (sv_is(rest, "true") || sv_is(rest, "false"))
        return sv_is(rest, "true");
    while (rest.len > 0) {
        if (sv_is(sv_trim(sv_cut(&rest, ',')), container))
            return true;
    }
    return false;
}

void podnotes_open(struct podnotes *notes, yyjson_val *object)
{
    *notes = (struct podnotes){0};
    const char *text = note_of(object, NOTE_DEPENDS_ON);
    if (text != NULL)
        (void)json_parse(sv_of(text), &notes->depends, NULL); /* it was checked when it came */
}

void podnotes_close(struct podnotes *notes)
{
    yyjson_doc_free(notes->depends);
    vec_done(&notes->needs);
    arena_done(&notes->arena);
}

static void add_need(struct podnotes *notes, struct sv name, enum dep_condition condition)
{
    for (size_t i = 0; i < notes->needs.len; i++) {
        if (sv_is(name, notes->needs.items[i].name))
            return;
    }
    struct podnotes_need need = {arena_strndup(&notes->arena, name.ptr, name.len), condition};
    vec_push(&notes->needs, need);
}

const struct podnotes_need *podnotes_needs(struct podnotes *notes, yyjson_val *container,
                                           size_t *ret_n)
{
    vec_clear(&notes->needs);
    arena_reset(&notes->arena);
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(yyjson_obj_get(container, "dependsOn"), i, n, item)
    {
        const char *name = json_str_at(item, "name");
        if (name != NULL)
            add_need(notes, sv_of(name), condition_of(json_str_at(item, "condition")));
    }
    const char *own = json_str_at(container, "name");
    yyjson_val *root = yyjson_doc_get_root(notes->depends);
    yyjson_arr_foreach(yyjson_obj_get(root, own != NULL ? own : ""), i, n, item)
    {
        struct sv rest = sv_of(yyjson_get_str(item));
        struct sv name = sv_cut(&rest, ':');
        const char *condition = name.len > 0 ? podnotes_condition(yyjson_get_str(item)) : NULL;
        if (condition != NULL)
            add_need(notes, name, condition_of(condition));
    }
    *ret_n = notes->needs.len;
    return notes->needs.items;
}

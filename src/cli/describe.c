// SPDX-License-Identifier: Apache-2.0
#include "cli/describe.h"
#include "cli/eventlist.h"
#include "cli/grid.h"
#include "cli/rows.h"
#include "model/kind.h"
#include <ctype.h>

#define KEY_WIDTH 14 /* of the lines at the top */

/* What is known of an object: its fields, or that its keys are of people's making. */
struct place {
    const struct type *type; /* of it, or of a map's values; NULL: nothing is known */
    bool is_map;
};

static struct place place_of(struct place parent, const char *key)
{
    if (parent.is_map)
        return (struct place){.type = parent.type};
    const struct field *field =
        parent.type != NULL ? type_field(parent.type, key, strlen(key)) : NULL;
    if (field == NULL)
        return (struct place){0};
    return (struct place){.type = field->of, .is_map = field->shape == MAP};
}

/* "restartPolicy" reads as "Restart Policy", "podIP" as "Pod IP". Keys of people's making (labels,
 * data) stay; where no table tells them, those with dots, slashes or dashes do. */
static void add_title(const char *key, bool is_plain, struct str *out)
{
    if (is_plain || strpbrk(key, "./-_") != NULL) {
        grid_plain(key, out);
        return;
    }
    for (size_t i = 0; key[i] != '\0'; i++) {
        unsigned char c = (unsigned char)key[i];
        bool word = i > 0 && isupper(c) && islower((unsigned char)key[i - 1]);
        if (word)
            str_addc(out, ' ');
        str_addc(out, i == 0 ? (char)toupper(c) : (char)c);
    }
}

static void add_indent(size_t indent, struct str *out)
{
    str_addf(out, "%*s", (int)indent, "");
}

/* Texts of several lines keep them, moved below their key. */
static void add_text(const char *text, size_t indent, struct str *out)
{
    struct sv rest = sv_trim(sv_of(text));
    bool many = rest.len > 0 && memchr(rest.ptr, '\n', rest.len) != NULL;
    while (rest.len > 0) {
        struct sv line = sv_cut(&rest, '\n');
        scoped_str copy = {0};
        str_addn(&copy, line.ptr, line.len);
        if (many) {
            str_addc(out, '\n');
            add_indent(indent + 2, out);
        }
        grid_plain(str_text(&copy), out);
    }
}

static void add_scalar(yyjson_val *val, size_t indent, struct str *out)
{
    if (yyjson_is_str(val))
        add_text(yyjson_get_str(val), indent, out);
    else if (yyjson_is_null(val))
        str_add(out, "<none>");
    else
        json_write_val(val, out); /* numbers, true, {} and [] */
}

static bool is_flat(yyjson_val *val)
{
    return !yyjson_is_ctn(val) || yyjson_get_len(val) == 0;
}

static void add_fields(yyjson_val *object, struct place place, size_t indent, struct str *out);
static void add_list(yyjson_val *list, struct place place, size_t indent, struct str *out);

static void add_conditions(yyjson_val *list, size_t indent, struct str *out)
{
    static const char *const KEYS[] = {"type", "status", "reason", "lastTransitionTime", "message"};
    static const char *const TITLES[] = {"Type", "Status", "Reason", "Since", "Message"};
    struct grid grid = {.columns = ARRAY_LEN(KEYS), .indent = indent + 2};
    for (size_t i = 0; i < ARRAY_LEN(TITLES); i++)
        grid_cell(&grid, TITLES[i]);
    size_t i, n;
    yyjson_val *condition;
    yyjson_arr_foreach(list, i, n, condition)
    {
        for (size_t k = 0; k < ARRAY_LEN(KEYS); k++) {
            const char *text = json_str_at(condition, KEYS[k]);
            grid_cell(&grid, text ? text : "");
        }
    }
    str_addc(out, '\n');
    grid_print(&grid, false, out);
    grid_done(&grid);
}

/* "db (ready), setup (completed)" */
static void add_depends(yyjson_val *list, struct str *out)
{
    size_t i, n;
    yyjson_val *item;
    str_add(out, "  ");
    yyjson_arr_foreach(list, i, n, item)
    {
        const char *name = json_str_at(item, "name");
        const char *condition = json_str_at(item, "condition");
        str_add(out, i > 0 ? ", " : "");
        grid_plain(name ? name : "", out);
        str_addf(out, " (%s)", condition ? condition : "ready");
    }
    str_addc(out, '\n');
}

/* The first with its time, the others with what passed since. */
static void add_moves(yyjson_val *list, struct str *out)
{
    size_t i, n;
    yyjson_val *item;
    time_ms first = 0;
    str_add(out, "  ");
    yyjson_arr_foreach(list, i, n, item)
    {
        const char *state = json_str_at(item, "state");
        const char *text = json_str_at(item, "at");
        time_ms at = 0;
        (void)rfc3339_parse(sv_of(text), &at, NULL); /* the server wrote it */
        first = i == 0 ? at : first;
        str_add(out, i > 0 ? ", " : "");
        grid_plain(state ? state : "", out);
        str_add(out, i > 0 ? " +" : " ");
        if (i == 0)
            grid_plain(text ? text : "", out);
        else
            duration_format(at - first, out);
    }
    str_addc(out, '\n');
}

/* Everything behind a key's colon, the newline included. */
static void add_value(const char *key, yyjson_val *val, struct place place, size_t indent,
                      struct str *out)
{
    bool is_list_of_objects = yyjson_is_obj(yyjson_arr_get_first(val));
    if (is_flat(val)) {
        str_add(out, "  ");
        add_scalar(val, indent, out);
        str_addc(out, '\n');
    } else if (yyjson_is_obj(val)) {
        str_addc(out, '\n');
        add_fields(val, place, indent + 2, out);
    } else if (str_eq(key, "conditions")) {
        add_conditions(val, indent, out);
    } else if (str_eq(key, "dependsOn") && is_list_of_objects) {
        add_depends(val, out);
    } else if (str_eq(key, "moves") && is_list_of_objects) {
        add_moves(val, out);
    } else {
        str_addc(out, '\n');
        add_list(val, place, indent + 2, out);
    }
}

static void add_fields(yyjson_val *object, struct place place, size_t indent, struct str *out)
{
    size_t i, n;
    yyjson_val *key, *val;
    yyjson_obj_foreach(object, i, n, key, val)
    {
        add_indent(indent, out);
        const char *name = yyjson_get_str(key);
        add_title(name, place.is_map, out);
        str_addc(out, ':');
        add_value(name, val, place_of(place, name), indent, out);
    }
}

/* Objects of a list are set apart by a dash before their first field. */
static void add_list(yyjson_val *list, struct place place, size_t indent, struct str *out)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, n, item)
    {
        size_t mark = out->len;
        if (yyjson_is_obj(item) && yyjson_get_len(item) > 0) {
            add_fields(item, place, indent + 2, out);
        } else {
            add_indent(indent + 2, out);
            add_scalar(item, indent + 2, out);
            str_addc(out, '\n');
        }
        if (out->len > mark + indent)
            out->data[mark + indent] = '-';
    }
}

static void add_line(const char *title, const char *value, struct str *out)
{
    str_addf(out, "%s:%*s ", title, (int)(KEY_WIDTH - strlen(title)), "");
    grid_plain(value ? value : "<none>", out);
    str_addc(out, '\n');
}

/* Labels and annotations: one a line, the first beside the title. */
static void add_pairs(const char *title, yyjson_val *pairs, struct str *out)
{
    static const char LAST_APPLIED[] = "kubectl.kubernetes.io/last-applied-configuration";
    size_t i, n, shown = 0;
    yyjson_val *key, *val;
    str_addf(out, "%s:%*s ", title, (int)(KEY_WIDTH - strlen(title)), "");
    yyjson_obj_foreach(pairs, i, n, key, val)
    {
        if (str_eq(yyjson_get_str(key), LAST_APPLIED))
            continue;
        add_indent(shown++ ? KEY_WIDTH + 2 : 0, out);
        grid_plain(yyjson_get_str(key), out);
        str_addc(out, '=');
        grid_plain(yyjson_is_str(val) ? yyjson_get_str(val) : "", out);
        str_addc(out, '\n');
    }
    if (shown == 0)
        str_add(out, "<none>\n");
}

static void add_times(yyjson_val *metadata, time_ms now, struct str *out)
{
    static const char *const FIELDS[] = {"creationTimestamp", "deletionTimestamp"};
    static const char *const TITLES[] = {"Created", "Terminating"};
    for (size_t i = 0; i < ARRAY_LEN(FIELDS); i++) {
        const char *text = json_str_at(metadata, FIELDS[i]);
        time_ms at = 0;
        if (text == NULL || rfc3339_parse(sv_of(text), &at, NULL) < 0)
            continue;
        scoped_str line = {0};
        scoped_str age = {0};
        duration_human(now > at ? now - at : at - now, &age);
        str_addf(&line, "%s (%s%s%s)", text, now < at ? "in " : "", str_text(&age),
                 now < at ? "" : " ago");
        add_line(TITLES[i], str_text(&line), out);
    }
}

static void add_owners(yyjson_val *owners, struct str *out)
{
    size_t i, n;
    yyjson_val *owner;
    yyjson_arr_foreach(owners, i, n, owner)
    {
        scoped_str line = {0};
        const char *kind = json_str_at(owner, "kind");
        const char *name = json_str_at(owner, "name");
        str_addf(&line, "%s/%s", kind ? kind : "", name ? name : "");
        add_line(i == 0 ? "Controlled By" : "and", str_text(&line), out);
    }
}

static void add_finalizers(yyjson_val *finalizers, struct str *out)
{
    size_t i, n;
    yyjson_val *finalizer;
    yyjson_arr_foreach(finalizers, i, n, finalizer)
    {
        add_line(i == 0 ? "Finalizers" : "and", yyjson_get_str(finalizer), out);
    }
}

static void add_parts(yyjson_val *object, struct str *out)
{
    const struct kind *kind =
        kind_of_api(json_str_at(object, "apiVersion"), json_str_at(object, "kind"));
    struct place place = {.type = kind != NULL ? kind->type : NULL};
    size_t i, n;
    yyjson_val *key, *val;
    yyjson_obj_foreach(object, i, n, key, val)
    {
        const char *name = yyjson_get_str(key);
        if (str_eq(name, "apiVersion") || str_eq(name, "kind") || str_eq(name, "metadata"))
            continue;
        add_title(name, false, out);
        str_addc(out, ':');
        add_value(name, val, place_of(place, name), 0, out);
    }
}

void describe_object(yyjson_val *object, time_ms now, struct str *out)
{
    yyjson_val *metadata = yyjson_obj_get(object, "metadata");
    const char *ns = json_str_at(metadata, "namespace");
    add_line("Name", json_str_at(metadata, "name"), out);
    if (ns != NULL)
        add_line("Namespace", ns, out);
    add_line("Kind", json_str_at(object, "kind"), out);
    add_pairs("Labels", yyjson_obj_get(metadata, "labels"), out);
    add_pairs("Annotations", yyjson_obj_get(metadata, "annotations"), out);
    add_times(metadata, now, out);
    add_owners(yyjson_obj_get(metadata, "ownerReferences"), out);
    add_finalizers(yyjson_obj_get(metadata, "finalizers"), out);
    if (str_eq(json_str_at(object, "kind"), "Pod"))
        describe_containers(object, now, out);
    add_parts(object, out);
}

void describe_life(const char *lines, struct str *out)
{
    struct sv rest = sv_of(lines);
    str_add(out, "Life:\n");
    while (rest.len > 0) {
        struct sv line = sv_cut(&rest, '\n');
        str_addf(out, "  %.*s\n", (int)line.len, line.ptr);
    }
}

void describe_events(yyjson_val *list, time_ms now, struct str *out)
{
    static const char *const TITLES[] = {"Type", "Reason", "Age", "From", "Message"};
    struct eventlist sorted = {0};
    eventlist_sort(yyjson_obj_get(list, "items"), &sorted);
    str_add(out, sorted.list.len ? "Events:\n" : "Events:  <none>\n");
    struct grid grid = {.columns = ARRAY_LEN(TITLES), .indent = 2};
    for (size_t i = 0; i < ARRAY_LEN(TITLES) && sorted.list.len > 0; i++)
        grid_cell(&grid, TITLES[i]);
    for (size_t i = 0; i < sorted.list.len; i++) {
        yyjson_val *event = sorted.list.items[i];
        scoped_str age = {0};
        const char *type = json_str_at(event, "type");
        const char *reason = json_str_at(event, "reason");
        const char *message = json_str_at(event, "message");
        event_age(event, now, &age);
        grid_cell(&grid, type ? type : "");
        grid_cell(&grid, reason ? reason : "");
        grid_cell(&grid, str_text(&age));
        grid_cell(&grid, event_source(event));
        grid_cell(&grid, message ? message : "");
    }
    grid_print(&grid, false, out);
    grid_done(&grid);
    eventlist_done(&sorted);
}

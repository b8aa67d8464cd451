// SPDX-License-Identifier: Apache-2.0
#include "model/cell.h"
#include "model/kind.h"
#include "model/podspec.h"
#include "model/rules.h"
#include <ctype.h>

// clang-format off
static const struct field REFERENCE_FIELDS[] = {
    {"kind", F_STRING, ONE, .pb = 1, .doc = "Kind of the object."},
    {"namespace", F_STRING, ONE, .pb = 2, .doc = "Its namespace."},
    {"name", F_STRING, ONE, .pb = 3, .doc = "Its name."},
    {"uid", F_STRING, ONE, .pb = 4, .doc = "Its uid."},
    {"apiVersion", F_STRING, ONE, .pb = 5, .doc = "Group and version of its schema."},
    {"resourceVersion", F_STRING, ONE, .pb = 6, .doc = "The revision of it that is meant."},
    {"fieldPath", F_STRING, ONE, .pb = 7,
     .doc = "The part of it that is meant, such as spec.containers{main}."},
    {0}};
const struct type TYPE_REFERENCE = {
    CORE_V1("ObjectReference"), "Names an object or a part of one.", REFERENCE_FIELDS};

static const struct field SOURCE_FIELDS[] = {
    {"component", F_STRING, ONE, .pb = 1, .doc = "The program that reports it."},
    {"host", F_STRING, ONE, .pb = 2, .doc = "The node on which that program runs."},
    {0}};
static const struct type TYPE_SOURCE = {
    CORE_V1("EventSource"), "Who reports an event.", SOURCE_FIELDS};

static const struct field SERIES_FIELDS[] = {
    {"count", F_INT32, ONE, .pb = 1, .doc = "How often it has happened."},
    {"lastObservedTime", F_MICRO_TIME, ONE, .pb = 2, .doc = "When it last happened."},
    {0}};
static const struct type TYPE_SERIES = {
    CORE_V1("EventSeries"), "The same thing again and again.", SERIES_FIELDS};

static const struct field EVENT_FIELDS[] = {
    FIELDS_TYPE_META,
    FIELD_METADATA,
    {"involvedObject", F_OBJECT, ONE, REQUIRED, .of = &TYPE_REFERENCE, .pb = 2 | PB_ZERO,
     .doc = "The object that it happened to."},
    {"reason", F_STRING, ONE, RANGE, .max = 128, .pb = 3,
     .doc = "One CamelCase word: what happened, such as Started."},
    {"message", F_STRING, ONE, RANGE, .max = 1024, .pb = 4,
     .doc = "The same for people, with the particulars."},
    {"source", F_OBJECT, ONE, .of = &TYPE_SOURCE, .pb = 5, .doc = "Who reports it."},
    {"firstTimestamp", F_TIME, ONE, .pb = 6, .doc = "When it happened for the first time."},
    {"lastTimestamp", F_TIME, ONE, .pb = 7, .doc = "When it last happened."},
    {"count", F_INT32, ONE, .pb = 8, .doc = "How often it has happened."},
    {"type", F_STRING, ONE, .pb = 9, .doc = "Normal or Warning."},
    {"eventTime", F_MICRO_TIME, ONE, .pb = 10,
     .doc = "When it happened, for events in the newer form."},
    {"series", F_OBJECT, ONE, .of = &TYPE_SERIES, .pb = 11 | PB_ZERO,
     .doc = "For events in the newer form that happen again and again."},
    {"action", F_STRING, ONE, .pb = 12, .doc = "What was done about the object, or failed."},
    {"related", F_OBJECT, ONE, .of = &TYPE_REFERENCE, .pb = 13 | PB_ZERO,
     .doc = "Another object that has to do with it."},
    {"reportingComponent", F_STRING, ONE, .pb = 14 | PB_ZERO,
     .doc = "The program that reports it, as domain/name."},
    {"reportingInstance", F_STRING, ONE, .pb = 15 | PB_ZERO,
     .doc = "Which instance of that program."},
    {0}};
// clang-format on

static void event_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    const char *own = json_mut_str_at(val, "metadata.namespace");
    yyjson_mut_val *other = json_mut_at(val, "involvedObject.namespace");
    const char *theirs = yyjson_mut_get_str(other);
    if (own == NULL || theirs == NULL || *theirs == '\0' || str_eq(own, theirs))
        return;
    size_t mark = check_enter(c, "involvedObject");
    check_invalid(c, "namespace", other, "does not match event.namespace");
    check_leave(c, mark);
}

static const struct type TYPE_EVENT = {
    CORE_V1("Event"),
    "Something that happened to an object. Events are kept for a while only.",
    EVENT_FIELDS,
    .check = event_check,
};

/* ---- cells ---- */

static time_ms first_seen(yyjson_val *root)
{
    time_ms at = cell_time(root, "firstTimestamp");
    return at != 0 ? at : cell_time(root, "eventTime");
}

static time_ms last_seen(yyjson_val *root)
{
    if (json_at(root, "series") != NULL)
        return cell_time(root, "series.lastObservedTime");
    time_ms at = cell_time(root, "lastTimestamp");
    return at != 0 ? at : first_seen(root);
}

static void cell_last_seen(yyjson_val *root, time_ms now, struct str *out)
{
    scoped_str text = {0};
    cell_add_age(&text, last_seen(root), now);
    cell_text(out, str_text(&text));
}

static void cell_first_seen(yyjson_val *root, time_ms now, struct str *out)
{
    scoped_str text = {0};
    cell_add_age(&text, first_seen(root), now);
    cell_text(out, str_text(&text));
}

static void cell_object(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    const char *kind = json_str_at(root, "involvedObject.kind");
    const char *name = json_str_at(root, "involvedObject.name");
    scoped_str text = {0};
    for (; kind != NULL && *kind != '\0'; kind++)
        str_addc(&text, (char)tolower((unsigned char)*kind));
    if (name != NULL && *name != '\0')
        str_addf(&text, "/%s", name);
    cell_text(out, str_text(&text));
}

static const char *first_text(const char *a, const char *b)
{
    const char *text = a != NULL && *a != '\0' ? a : b;
    return text != NULL ? text : "";
}

static void cell_source(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    const char *component =
        first_text(json_str_at(root, "source.component"), json_str_at(root, "reportingComponent"));
    const char *instance =
        first_text(json_str_at(root, "source.host"), json_str_at(root, "reportingInstance"));
    scoped_str text = {0};
    str_addf(&text, "%s%s%s", component, *instance != '\0' ? ", " : "", instance);
    cell_text(out, str_text(&text));
}

static void cell_subobject(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    cell_at(out, root, "involvedObject.fieldPath", "");
}

static void cell_type(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    cell_at(out, root, "type", "");
}

static void cell_reason(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    cell_at(out, root, "reason", "");
}

static void cell_message(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    struct sv text = sv_trim(sv_of(json_str_at(root, "message")));
    json_quote(text.len > 0 ? text.ptr : "", text.len, out);
}

static void cell_count(yyjson_val *root, time_ms now, struct str *out)
{
    (void)now;
    int64_t count = json_int_at(root, "count", 0);
    if (json_at(root, "series") != NULL)
        count = json_int_at(root, "series.count", 0);
    else if (count == 0)
        count = 1; /* events in the newer form only count in a series */
    str_addf(out, "%lld", (long long)count);
}

// clang-format off
static const struct column COLUMNS[] = {
    {"Last Seen",  "string",  "", "How long ago it last happened.", .cell = cell_last_seen},
    {"Type",       "string",  "", "Normal or Warning.", .cell = cell_type},
    {"Reason",     "string",  "", "What happened, in a word.", .cell = cell_reason},
    {"Object",     "string",  "", "What it happened to.", .cell = cell_object},
    {"Subobject",  "string",  "", "Which part of it.", 1, .cell = cell_subobject},
    {"Source",     "string",  "", "Who reports it.", 1, .cell = cell_source},
    {"Message",    "string",  "", "What happened, for people.", .cell = cell_message},
    {"First Seen", "string",  "", "How long ago it happened for the first time.", 1,
     .cell = cell_first_seen},
    {"Count",      "string",  "", "How often it has happened.", 1, .cell = cell_count},
    {"Name",       "string",  "", "Name of the event.", 1, "metadata.name"},
    {0}};
// clang-format on

const struct kind KIND_EVENT = {
    .group = "",
    .version = "v1",
    .name = "Event",
    .plural = "events",
    .singular = "event",
    .short_names = VALUES("ev"),
    .namespaced = true,
    .name_format = FMT_DNS_SUBDOMAIN,
    .type = &TYPE_EVENT,
    .columns = COLUMNS,
    .selectable = VALUES("involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
                         "involvedObject.uid", "involvedObject.apiVersion",
                         "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
                         "reportingComponent", "source=source.component", "type"),
};

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json.h"
#include "base/pack.h"
#include "base/str.h"
#include "base/timetext.h"
#include "base/vec.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The language in which kinds are described. One table of fields a type; from it come decoding,
 * defaults, validation, OpenAPI, the texts of `kubectl explain`, merge keys. A kind is one file:
 * its tables, its columns, and the checks between fields that a table cannot say. */

enum ftype {
    F_OBJECT, /* `of` describes it */
    F_STRING,
    F_BOOL,
    F_INT32,
    F_INT64,
    F_NUMBER,
    F_QUANTITY, /* string or number in JSON */
    F_INT_OR_STRING,
    F_TIME, /* RFC 3339 */
    F_MICRO_TIME,
    F_DURATION, /* "1h30m" */
    F_BYTES,    /* base64 */
    F_PERCENT,  /* "80%", or 80; see model/percent.h */
    F_ANY,      /* kept as it is */
};

enum fshape {
    ONE,
    LIST,
    MAP, /* text to F_... */
};

enum fformat {
    FMT_NONE,
    FMT_DNS_LABEL,     /* RFC 1123 label, 63 */
    FMT_DNS_NAME,      /* RFC 1035 label, 63: starts with a letter; names of services */
    FMT_DNS_SUBDOMAIN, /* RFC 1123 subdomain, 253 */
    FMT_QUALIFIED,     /* [prefix/]name, as label keys */
    FMT_LABEL_VALUE,
    FMT_ENV_NAME,   /* printable ASCII without '=' */
    FMT_CONFIG_KEY, /* [-._a-zA-Z0-9]+, 253 */
    FMT_PORT_NAME,  /* IANA service name, 15 */
    FMT_ABSOLUTE_PATH,
    FMT_IP,
    FMT_UUID,
};

enum fflags {
    REQUIRED = 1 << 0,
    IMMUTABLE = 1 << 1,   /* may not change in an update */
    NON_EMPTY = 1 << 2,   /* a list, map or string with nothing in it is refused */
    RANGE = 1 << 3,       /* min and max hold */
    MERGE = 1 << 4,       /* strategic merge: lists of objects by merge_key, of scalars as sets */
    RETAIN_KEYS = 1 << 5, /* strategic merge: a patch names the keys that stay (volumes) */
    KEY_FORMAT = 1 << 6,  /* format is of a MAP's keys, not its values */
    KEY_MAY_REPEAT = 1 << 7, /* items with an equal merge_key are allowed (ports by protocol) */
    AS_WRITTEN = 1 << 8, /* a template: nothing in it has defaults until something is made of it */
    NEVER_MADE = 1 << 9, /* a template of which nothing is made: what only a start needs may lack */
};

struct type;

struct field {
    const char *name; /* NULL ends the table */
    enum ftype type;
    enum fshape shape;
    unsigned flags;
    const struct type *of;
    const char *const *values; /* allowed ones, NULL-terminated */
    const char *fallback;      /* default, as JSON text: "\"Always\"", "30", "[]" */
    /* With RANGE: of the number, or of the length of a string or LIST; of a MAP's values. A max of
     * 0 beside a min of 0 or more is none. */
    int64_t min, max;
    enum fformat format;
    const char *merge_key; /* of a LIST of objects; two with the same key are refused */
    unsigned pb;           /* number in Kubernetes' protobuf message, with PB_...; 0: not in it */
    const char *doc;
    size_t view; /* VIEW(struct, member): where view_decode() puts it; 0: nowhere */
};
#define VIEW(type, member) (offsetof(type, member) + 1)

/* In JSON the field stands in its object, in protobuf in a message within, which is number `outer`;
 * 0 is no message within. */
#define PB_IN(outer, number) ((unsigned)(outer) << 16 | (number))
#define PB_OUTER(pb) ((pb) >> 16 & 0xff)
#define PB_NUMBER(pb) ((pb)&0xffff)
/* Zero, "" and {} are values. Without it they are what is sent for a field that is not set. */
#define PB_ZERO (1u << 24)
#define PB_JSON (1u << 25) /* F_ANY: the message holds JSON text. Other F_ANY cannot be read. */

struct check;

struct type {
    const char *name; /* OpenAPI name: "io.k8s.api.core.v1.Container" */
    const char *doc;
    const struct field *fields;
    /* What the table cannot say, e.g. "exactly one of". Called after the fields were checked, with
     * the path of `c` at this value; old is NULL on create. */
    void (*check)(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old);
    /* Defaults that depend on other fields; called after the table's. What it sets are new
     * values of `doc`: it edits none in place and removes none. */
    void (*fill)(yyjson_mut_doc *doc, yyjson_mut_val *val);
    /* Writes short forms out; like `fill` and before it, but also where a field is AS_WRITTEN. */
    void (*expand)(yyjson_mut_doc *doc, yyjson_mut_val *val);
};

/* ---- findings ---- */

enum finding_reason {
    FINDING_REQUIRED,      /* FieldValueRequired      "Required value" */
    FINDING_INVALID,       /* FieldValueInvalid       "Invalid value: \"x\": why" */
    FINDING_NOT_SUPPORTED, /* FieldValueNotSupported  "Unsupported value: \"x\": supported values:
                              ..." */
    FINDING_DUPLICATE,     /* FieldValueDuplicate     "Duplicate value: \"x\"" */
    FINDING_FORBIDDEN,     /* FieldValueForbidden     "Forbidden: why" */
    FINDING_TYPE,    /* FieldValueTypeInvalid   "Invalid value: \"string\": must be an integer" */
    FINDING_UNKNOWN, /* unknown field; hint names the nearest */
};

struct finding {
    enum finding_reason reason;
    char *path;               /* "spec.containers[0].image", keys with dots as labels[a.b/c] */
    char *text;               /* as in the comments above, without the path */
    char *hint;               /* remedy, or NULL */
    const yyjson_mut_val *at; /* the value, or the nearest parent that exists; for positions */
};

struct findings {
    VEC(struct finding) list;
};
void findings_done(struct findings *f);
const char *finding_reason_name(enum finding_reason reason); /* "FieldValueRequired" */

/* The walk under way: where we are, what was found. At most 100 findings are kept. Start with
 * {.findings = ..., .at = root}. */
#define FINDINGS_MAX 100
#define CHECK_DEPTH_MAX (JSON_DEPTH_MAX + 8)
struct check {
    struct findings *findings;
    const yyjson_mut_val *at;
    bool dropped;       /* the latest finding was one too many */
    bool is_never_made; /* within a field that is NEVER_MADE */
    size_t depth;       /* steps in `trail` */
    struct check_step {
        const yyjson_mut_val *at; /* where check_leave() goes back to */
        const char *name;         /* of a field or, in brackets, a key; NULL: an item */
        size_t index;
        bool is_key;
    } trail[CHECK_DEPTH_MAX];
};
/* Enter and leave a child's path while a check function looks at it. Names are not copied: they
 * must stay until check_leave(). */
size_t check_enter(struct check *c, const char *field); /* returns the mark for check_leave */
/* The same with the child at hand, so that long lists and maps are not searched at each step. */
size_t check_enter_field(struct check *c, const char *field, const yyjson_mut_val *value);
size_t check_enter_item(struct check *c, size_t index, const yyjson_mut_val *item);
/* labels[key] */
size_t check_enter_member(struct check *c, const char *key, const yyjson_mut_val *value);
void check_leave(struct check *c, size_t mark);
void check_required(struct check *c, const char *field, const char *detail_or_null);
void check_invalid(struct check *c, const char *field, yyjson_mut_val *value, const char *why);
void check_not_supported(struct check *c, const char *field, yyjson_mut_val *value,
                         const char *const *values);
void check_duplicate(struct check *c, const char *field, yyjson_mut_val *value);
void check_forbidden(struct check *c, const char *field, const char *why);
void check_type(struct check *c, const char *field, yyjson_mut_val *value, const char *need);
void check_unknown(struct check *c, const char *field, yyjson_mut_val *value);
void check_hint(struct check *c, const char *hint); /* for the latest finding */
/* The hint `did you mean "near"?`, when one of the candidates is near. */
void check_hint_nearest(struct check *c, const char *word, const char *const *candidates, size_t n);
/* `field` may be NULL: the finding is about the current path itself. */

/* ---- what is done with tables ---- */

/* Fills in defaults, in place. Members that are null count as absent and go; in a MAP of strings
 * they become "". */
void schema_fill(const struct type *type, yyjson_mut_doc *doc, yyjson_mut_val *root);
/* The same for a new version, of which `kept` was filled when it was new. What is kept afterwards
 * may be less. */
void schema_fill_rest(const struct type *type, yyjson_mut_doc *doc, yyjson_mut_val *root,
                      struct pack_kept *kept);
/* Types, required, allowed values, ranges, formats, duplicates, immutables, check functions. */
void schema_check(const struct type *type, yyjson_mut_val *root, yyjson_mut_val *old,
                  struct findings *findings);
/* For a check function whose value has an object of another type in it: both walks, below the path
 * of `c`. */
void schema_check_within(struct check *c, const struct type *type, yyjson_mut_val *val);
/* Fields that no table names, with the nearest right one as hint. */
void schema_unknown(const struct type *type, yyjson_mut_val *root, struct findings *findings);
/* The same without looking into what is kept; NULL: nothing is. */
void schema_unknown_rest(const struct type *type, yyjson_mut_val *root,
                         const struct pack_kept *kept, struct findings *findings);
const struct field *type_field(const struct type *type, const char *name, size_t len);
/* Is `text` well-formed? NULL, or why not (static text, as Kubernetes words it). */
const char *format_problem(enum fformat format, const char *text, size_t len);

/* Reads the fields that have a `view` into a struct that was zeroed by the caller. No copies: what
 * it points to lives in the document.
 *   ONE: F_STRING, F_BYTES, F_DURATION.. -> const char *; F_INT* -> int64_t; F_BOOL -> bool;
 *        F_NUMBER -> double;
 *        F_TIME, F_MICRO_TIME -> time_ms (0 when absent); F_QUANTITY -> quantity;
 *        F_OBJECT -> the struct embedded at that place; F_ANY, F_INT_OR_STRING, F_PERCENT ->
 * yyjson_val * LIST, MAP: yyjson_val * */
void view_decode(const struct type *type, yyjson_val *root, void *view);

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/schema.h"

/* A kind and everything that is known of it. Adding one: write src/model/kind_NAME.c, name it in
 * KINDS of kinds.c. See CONTRIBUTING.md for a worked example. */

struct column {
    const char *name;   /* "Ready"; NULL ends the table */
    const char *type;   /* "string", "integer", "date" */
    const char *format; /* "name" for the first, else "" */
    const char *doc;
    int priority; /* 0: always, 1: only with -o wide */
    /* Either where the value is ("spec.nodeName"; dates are shown as ages), or a function that
     * appends one JSON value. Missing values are "<none>". */
    const char *path;
    void (*cell)(yyjson_val *root, time_ms now, struct str *out_json);
};

struct kind_scale { /* paths for the /scale sub-resource */
    const char *spec_replicas;
    const char *status_replicas;
    const char *selector; /* or NULL */
};

struct kind {
    const char *group; /* "" for core */
    const char *version;
    const char *name;     /* "Pod" */
    const char *plural;   /* "pods" */
    const char *singular; /* "pod" */
    const char *const *short_names;
    const char *const *categories;
    bool namespaced;
    bool is_deleted_singly; /* not all of them by one request */
    bool has_status; /* /status sub-resource; status is ignored in writes to the object itself */
    enum fformat name_format;
    const struct type *type;
    const struct column *columns;
    const struct kind_scale *scale;
    /* Field selectors beyond metadata.name and metadata.namespace, NULL-terminated: "label" where
     * the label is the path of the value, else "label=path"; "label=path|absent" when an object
     * without the field counts as having that value. */
    const char *const *selectable;
    /* Called before an object is stored for the first time: initial status, generated fields. */
    void (*prepare)(yyjson_mut_doc *doc, yyjson_mut_val *root, time_ms now);
    /* Called before an update is checked; new_root may be adjusted. */
    void (*prepare_update)(yyjson_mut_doc *doc, yyjson_mut_val *new_root, yyjson_val *old_root);
    /* Of a further version in which a stored kind is served: that kind, and how one becomes the
     * other. Nothing may get lost on the way there and back. apiVersion is not theirs to change. */
    const struct kind *stored;
    void (*to_stored)(yyjson_mut_doc *doc, yyjson_mut_val *root);
    void (*from_stored)(yyjson_mut_doc *doc, yyjson_mut_val *root);
};

extern const struct kind *const KINDS[]; /* NULL-terminated, in order of discovery */
extern const struct kind KIND_NAMESPACE, KIND_NODE, KIND_POD, KIND_EVENT, KIND_CONFIGMAP, KIND_JOB,
    KIND_JOBSET, KIND_LEASE, KIND_NODECONFIG;
extern const struct kind KIND_RESOURCEFLAVOR, KIND_CLUSTERQUEUE, KIND_LOCALQUEUE, KIND_WORKLOAD,
    KIND_PRIORITYCLASS, KIND_COHORT, KIND_ADMISSIONCHECK;
extern const struct kind KIND_STATEFULSET, KIND_REVISION, KIND_VPOD;

/* Kinds that are measured for whoever asks and never stored: only get and list. They share plurals
 * with stored kinds, so words that people type never mean them. */
extern const struct kind *const READINGS[]; /* NULL-terminated */
extern const struct kind KIND_POD_METRICS, KIND_NODE_METRICS;
bool kind_is_reading(const struct kind *kind);

/* Kinds that are read from files and served by nobody. */
extern const struct kind *const FILE_KINDS[]; /* NULL-terminated */
extern const struct kind KIND_SCENARIO;
bool kind_is_file(const struct kind *kind);
/* KINDS, then FILE_KINDS. */
const struct kind *kind_of_document(const char *api_version, const char *name);

/* Further versions of kinds in KINDS: the same stored objects in other words. Only the API and
 * those who read manifests see them; objects, watches and controllers are of the stored kind. */
extern const struct kind *const OTHER_VERSIONS[];        /* NULL-terminated */
const struct kind *kind_stored(const struct kind *kind); /* itself, unless it is another version */
/* Makes a document of `kind` one of the stored kind, which it returns, and back. */
const struct kind *kind_to_stored(const struct kind *kind, yyjson_mut_doc *doc);
void kind_from_stored(const struct kind *kind, yyjson_mut_doc *doc);

/* KINDS, then OTHER_VERSIONS, then READINGS, then NULL. */
const struct kind *kind_served(size_t index);

/* Other versions too. */
const struct kind *kind_of_api(const char *api_version, const char *name); /* "batch/v1", "Job" */
/* Readings too. */
const struct kind *kind_of_resource(const char *group, const char *version, const char *plural);
/* What a person types: "pods", "pod", "po", "Pod", "jobs.batch", "jobs.v1.batch"; NULL, and the
 * nearest name when asked for. */
const struct kind *kind_of_word(const char *word, const char **ret_nearest);
const char *kind_api_version(const struct kind *kind, char out[128]); /* "batch/v1" */
bool kind_in_category(const struct kind *kind, const char *category);

/* metadata, shared by all kinds. */
extern const struct type TYPE_OBJECT_META, TYPE_LABEL_SELECTOR, TYPE_CONDITION, TYPE_REFERENCE;

extern const struct type TYPE_THROTTLING; /* of a NodeConfig */
extern const struct type TYPE_TAINT;      /* of a Node */

/* The typed view of metadata; points into the document it was decoded from. */
struct meta {
    const char *name, *generate_name, *namespace_, *uid, *resource_version;
    int64_t generation;
    time_ms created, deleted; /* 0: not */
    int64_t deletion_grace_s;
    yyjson_val *labels, *annotations, *finalizers, *owners;
};

/* Every kind's table starts with these two and its metadata:
 *     static const struct field FIELDS[] = { FIELDS_TYPE_META, FIELD_METADATA, {"spec", ...}, {0}};
 */
#define FIELDS_TYPE_META                                                                           \
    {"apiVersion", F_STRING, ONE,                                                                  \
     .doc = "Group and version of this object's schema, such as v1 or batch/v1."},                 \
    {                                                                                              \
        "kind", F_STRING, ONE, .doc = "The kind of this object, in CamelCase."                     \
    }
#define FIELD_METADATA                                                                             \
    {                                                                                              \
        "metadata", F_OBJECT, ONE,                                                                 \
            .of = &TYPE_OBJECT_META, .pb = 1,                                                      \
            .doc = "Name, namespace, labels and what else all objects have."                       \
    }

/* One cell for each column, as a JSON array. */
void table_cells(const struct kind *kind, yyjson_val *root, time_ms now, struct str *out_json);
/* The columnDefinitions array. */
void table_columns(const struct kind *kind, struct str *out_json);

/* OpenAPI v3 document of one group version ("" and "v1"), and the field documentation in it. */
void openapi_v3(const char *group, const char *version, struct str *out_json);

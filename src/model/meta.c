// SPDX-License-Identifier: Apache-2.0
/* What all kinds share: metadata, label selectors, conditions. */
#include "model/kind.h"
#include "model/rules.h"
#include <stddef.h>
#include <string.h>

#define META_V1(name) "io.k8s.apimachinery.pkg.apis.meta.v1." name
#define ANNOTATIONS_BYTES_MAX (256 * 1024)

// clang-format off
static const struct field OWNER_REFERENCE_FIELDS[] = {
    {"apiVersion", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 5 | PB_ZERO,
     .doc = "Group and version of the owner, such as batch/v1."},
    {"kind", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 1 | PB_ZERO,
     .doc = "Kind of the owner."},
    {"name", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 3 | PB_ZERO,
     .doc = "Name of the owner."},
    {"uid", F_STRING, ONE, REQUIRED | NON_EMPTY, .pb = 4 | PB_ZERO,
     .doc = "The owner's uid. A new object of the same name is not the same owner."},
    {"controller", F_BOOL, ONE, .pb = 6 | PB_ZERO,
     .doc = "True for the one owner that manages this object."},
    {"blockOwnerDeletion", F_BOOL, ONE, .pb = 7 | PB_ZERO,
     .doc = "True when a foreground deletion of the owner has to wait for this object."},
    {0}};

static const struct type TYPE_OWNER_REFERENCE = {
    META_V1("OwnerReference"),
    "An object to which this one belongs: when the last owner is gone, this one is deleted.",
    OWNER_REFERENCE_FIELDS};

static const struct field MANAGED_FIELDS_FIELDS[] = {
    {"manager", F_STRING, ONE, .pb = 1, .doc = "Name of the program or person."},
    {"operation", F_STRING, ONE, .pb = 2, .doc = "Apply or Update."},
    {"apiVersion", F_STRING, ONE, .pb = 3, .doc = "Version of the schema that names the fields."},
    {"time", F_TIME, ONE, .pb = 4, .doc = "When the manager last changed what it owns."},
    {"fieldsType", F_STRING, ONE, .pb = 6, .doc = "Form of the list of fields: FieldsV1."},
    {"fieldsV1", F_ANY, ONE, .pb = 7 | PB_JSON | PB_ZERO,
     .doc = "The fields, as a tree of their names."},
    {"subresource", F_STRING, ONE, .pb = 8,
     .doc = "The sub-resource through which they were set; empty: the object itself."},
    {0}};

static const struct type TYPE_MANAGED_FIELDS = {
    META_V1("ManagedFieldsEntry"), "What one manager has set.", MANAGED_FIELDS_FIELDS};

static const struct field OBJECT_META_FIELDS[] = {
    {"name", F_STRING, ONE, .view = VIEW(struct meta, name), .pb = 1,
     .doc = "Name of the object, unique among its kind in its namespace. It never changes."},
    {"generateName", F_STRING, ONE, .view = VIEW(struct meta, generate_name), .pb = 2,
     .doc = "Beginning of a name that the server completes with five random characters. "
            "Only used when no name is given."},
    {"namespace", F_STRING, ONE, .format = FMT_DNS_LABEL, .view = VIEW(struct meta, namespace_),
     .pb = 3,
     .doc = "The namespace in which the object lives; \"default\" when none is given. "
            "Empty for kinds that belong to the whole cluster."},
    {"selfLink", F_STRING, ONE, .pb = 4,
     .doc = "No longer filled in; accepted from old clients."},
    {"uid", F_STRING, ONE, IMMUTABLE, .view = VIEW(struct meta, uid), .pb = 5,
     .doc = "Set by the server: tells this object from earlier and later ones of the same name."},
    {"resourceVersion", F_STRING, ONE, .view = VIEW(struct meta, resource_version), .pb = 6,
     .doc = "Revision of the store at which this object was last written. An update that names "
            "another one is refused with a conflict."},
    {"generation", F_INT64, ONE, .view = VIEW(struct meta, generation), .pb = 7,
     .doc = "Counts the changes of what is wanted (spec); changes of status do not count."},
    {"creationTimestamp", F_TIME, ONE, IMMUTABLE, .view = VIEW(struct meta, created), .pb = 8,
     .doc = "When the server stored this object for the first time."},
    {"deletionTimestamp", F_TIME, ONE, .view = VIEW(struct meta, deleted), .pb = 9,
     .doc = "Set once deletion was asked for: the time by which the object should be gone. "
            "It goes when its finalizers are empty."},
    {"deletionGracePeriodSeconds", F_INT64, ONE, .view = VIEW(struct meta, deletion_grace_s),
     .pb = 10 | PB_ZERO,
     .doc = "How many seconds the object was given to end by itself when it was deleted."},
    {"labels", F_STRING, MAP, KEY_FORMAT, .format = FMT_QUALIFIED,
     .view = VIEW(struct meta, labels), .pb = 11,
     .doc = "Short words by which objects are grouped and selected."},
    {"annotations", F_STRING, MAP, KEY_FORMAT, .format = FMT_QUALIFIED,
     .view = VIEW(struct meta, annotations), .pb = 12,
     .doc = "Any further text that tools want to keep with the object; not for selecting."},
    {"ownerReferences", F_OBJECT, LIST, MERGE, .of = &TYPE_OWNER_REFERENCE, .merge_key = "uid",
     .view = VIEW(struct meta, owners), .pb = 13,
     .doc = "The objects to which this one belongs. It is deleted when all of them are gone."},
    {"finalizers", F_STRING, LIST, MERGE, .format = FMT_QUALIFIED,
     .view = VIEW(struct meta, finalizers), .pb = 14,
     .doc = "Who still has to clean up before a deleted object may go; each removes its own word."},
    {"managedFields", F_OBJECT, LIST, .of = &TYPE_MANAGED_FIELDS, .pb = 17,
     .doc = "Which manager set which fields; kept for server-side apply."},
    {0}};
// clang-format on

static void check_annotations_size(struct check *c, yyjson_mut_val *annotations)
{
    size_t i, n, total = 0;
    yyjson_mut_val *key, *text;
    yyjson_mut_obj_foreach(annotations, i, n, key, text) total +=
        yyjson_mut_get_len(key) + yyjson_mut_get_len(text);
    if (total > ANNOTATIONS_BYTES_MAX)
        check_forbidden(c, "annotations", "all annotations together may have 262144 bytes");
}

static void check_one_controller(struct check *c, yyjson_mut_val *owners)
{
    size_t i, n, controllers = 0;
    yyjson_mut_val *owner;
    yyjson_mut_arr_foreach(owners, i, n, owner)
    {
        controllers += yyjson_mut_get_bool(yyjson_mut_obj_get(owner, "controller"));
    }
    if (controllers > 1)
        check_forbidden(c, "ownerReferences", "only one owner may have `controller: true`");
}

/* Everybody may add some, so they say whose they are. One that is there already may stay. */
static void check_finalizers(struct check *c, yyjson_mut_val *finalizers, yyjson_mut_val *before)
{
    static const char *const STANDARD[] = {"orphan", "foregroundDeletion", "kubernetes"};
    size_t i, n, mark = check_enter_field(c, "finalizers", finalizers);
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(finalizers, i, n, item)
    {
        const char *text = yyjson_mut_get_str(item);
        bool is_fine = text == NULL || strchr(text, '/') != NULL ||
                       json_mut_find(before, "", text) != NULL ||
                       format_problem(FMT_QUALIFIED, text, strlen(text)) != NULL; /* was told */
        for (size_t k = 0; !is_fine && k < ARRAY_LEN(STANDARD); k++)
            is_fine = str_eq(text, STANDARD[k]);
        if (is_fine)
            continue;
        size_t inner = check_enter_item(c, i, item);
        check_invalid(c, NULL, item,
                      "name is neither a standard finalizer name nor is it fully qualified");
        check_hint(c, "put a domain before it: example.com/my-name");
        check_leave(c, inner);
    }
    check_leave(c, mark);
}

static void meta_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    check_finalizers(c, yyjson_mut_obj_get(val, "finalizers"),
                     yyjson_mut_obj_get(old, "finalizers"));
    rules_label_values(c, val, "labels");
    check_annotations_size(c, yyjson_mut_obj_get(val, "annotations"));
    check_one_controller(c, yyjson_mut_obj_get(val, "ownerReferences"));
}

const struct type TYPE_OBJECT_META = {
    META_V1("ObjectMeta"),
    "What every object has: its name, its labels, its history.",
    OBJECT_META_FIELDS,
    .check = meta_check,
};

// clang-format off
static const struct field REQUIREMENT_FIELDS[] = {
    {"key", F_STRING, ONE, REQUIRED | NON_EMPTY, .format = FMT_QUALIFIED, .pb = 1 | PB_ZERO,
     .doc = "The label that is looked at."},
    {"operator", F_STRING, ONE, REQUIRED, .values = VALUES("In", "NotIn", "Exists", "DoesNotExist"),
     .pb = 2 | PB_ZERO,
     .doc = "How the label is compared with the values: In, NotIn, Exists or DoesNotExist."},
    {"values", F_STRING, LIST, .format = FMT_LABEL_VALUE, .pb = 3,
     .doc = "Values for In and NotIn; none for Exists and DoesNotExist."},
    {0}};

static const struct type TYPE_REQUIREMENT = {
    META_V1("LabelSelectorRequirement"),
    "One condition on one label.",
    REQUIREMENT_FIELDS, .check = rules_requirement};

static const struct field LABEL_SELECTOR_FIELDS[] = {
    {"matchLabels", F_STRING, MAP, KEY_FORMAT, .format = FMT_QUALIFIED, .pb = 1,
     .doc = "Labels that must be there with exactly these values."},
    {"matchExpressions", F_OBJECT, LIST, .of = &TYPE_REQUIREMENT, .pb = 2,
     .doc = "Further conditions; all of them must hold."},
    {0}};

static const struct field CONDITION_FIELDS[] = {
    {"type", F_STRING, ONE, REQUIRED | NON_EMPTY, .format = FMT_QUALIFIED, .pb = 1 | PB_ZERO,
     .doc = "What the condition is about, such as Admitted or PodsReady."},
    {"status", F_STRING, ONE, REQUIRED, .values = VALUES("True", "False", "Unknown"),
     .pb = 2 | PB_ZERO,
     .doc = "True, False or Unknown."},
    {"observedGeneration", F_INT64, ONE, RANGE, .max = INT64_MAX, .pb = 3,
     .doc = "The metadata.generation for which this was found out."},
    {"lastTransitionTime", F_TIME, ONE, .pb = 4,
     .doc = "When the status last changed."},
    {"reason", F_STRING, ONE, RANGE, .max = 1024, .pb = 5 | PB_ZERO,
     .doc = "One CamelCase word for programs: why the status is what it is."},
    {"message", F_STRING, ONE, RANGE, .max = 32768, .pb = 6 | PB_ZERO,
     .doc = "The same for people."},
    {0}};
// clang-format on

static void label_selector_check(struct check *c, yyjson_mut_val *val, yyjson_mut_val *old)
{
    (void)old;
    rules_label_values(c, val, "matchLabels");
}

const struct type TYPE_LABEL_SELECTOR = {
    META_V1("LabelSelector"),
    "Chooses objects by their labels; an empty selector chooses all.",
    LABEL_SELECTOR_FIELDS,
    .check = label_selector_check,
};

const struct type TYPE_CONDITION = {
    META_V1("Condition"),
    "One aspect of an object's state, and since when it is so.",
    CONDITION_FIELDS,
};

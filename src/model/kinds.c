// SPDX-License-Identifier: Apache-2.0
/* All kinds, and how to find one. A handful: a walk over the list is as fast as any index. */
#include "model/kind.h"
#include <assert.h>
#include <string.h>
#include <strings.h>

const struct kind *const KINDS[] = {
    &KIND_NAMESPACE,    &KIND_NODE,
    &KIND_POD,          &KIND_CONFIGMAP,
    &KIND_EVENT,        &KIND_JOB,
    &KIND_JOBSET,       &KIND_LEASE,
    &KIND_NODECONFIG,   &KIND_RESOURCEFLAVOR,
    &KIND_CLUSTERQUEUE, &KIND_LOCALQUEUE,
    &KIND_WORKLOAD,     &KIND_PRIORITYCLASS,
    &KIND_COHORT,       &KIND_ADMISSIONCHECK,
    &KIND_STATEFULSET,  &KIND_REVISION,
    &KIND_VPOD,         NULL,
};

extern const struct kind KIND_RESOURCEFLAVOR_V1BETA1, KIND_CLUSTERQUEUE_V1BETA1,
    KIND_LOCALQUEUE_V1BETA1, KIND_WORKLOAD_V1BETA1, KIND_PRIORITYCLASS_V1BETA1, KIND_COHORT_V1BETA1,
    KIND_ADMISSIONCHECK_V1BETA1;
const struct kind *const OTHER_VERSIONS[] = {
    &KIND_RESOURCEFLAVOR_V1BETA1, &KIND_CLUSTERQUEUE_V1BETA1,
    &KIND_LOCALQUEUE_V1BETA1,     &KIND_WORKLOAD_V1BETA1,
    &KIND_PRIORITYCLASS_V1BETA1,  &KIND_COHORT_V1BETA1,
    &KIND_ADMISSIONCHECK_V1BETA1, NULL,
};

const struct kind *const READINGS[] = {&KIND_POD_METRICS, &KIND_NODE_METRICS, NULL};

const struct kind *const FILE_KINDS[] = {&KIND_SCENARIO, NULL};

bool kind_is_reading(const struct kind *kind)
{
    for (size_t i = 0; READINGS[i] != NULL; i++)
        if (READINGS[i] == kind)
            return true;
    return false;
}

bool kind_is_file(const struct kind *kind)
{
    for (size_t i = 0; FILE_KINDS[i] != NULL; i++)
        if (FILE_KINDS[i] == kind)
            return true;
    return false;
}

const struct kind *kind_served(size_t index)
{
    size_t stored = ARRAY_LEN(KINDS) - 1;
    size_t others = ARRAY_LEN(OTHER_VERSIONS) - 1;
    if (index < stored)
        return KINDS[index];
    index -= stored;
    return index < others ? OTHER_VERSIONS[index] : READINGS[index - others];
}

/* The same without readings. */
static const struct kind *kind_at(size_t index)
{
    const struct kind *kind = kind_served(index);
    return kind != NULL && !kind_is_reading(kind) ? kind : NULL;
}

/* ---- versions ---- */

const struct kind *kind_stored(const struct kind *kind)
{
    return kind != NULL && kind->stored != NULL ? kind->stored : kind;
}

static void set_version(yyjson_mut_doc *doc, const struct kind *kind)
{
    char api[128];
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    if (yyjson_mut_is_obj(root))
        json_mut_put(doc, root, "apiVersion", yyjson_mut_strcpy(doc, kind_api_version(kind, api)));
}

const struct kind *kind_to_stored(const struct kind *kind, yyjson_mut_doc *doc)
{
    if (kind == NULL || kind->stored == NULL)
        return kind;
    if (kind->to_stored != NULL)
        kind->to_stored(doc, yyjson_mut_doc_get_root(doc));
    set_version(doc, kind->stored);
    return kind->stored;
}

void kind_from_stored(const struct kind *kind, yyjson_mut_doc *doc)
{
    if (kind->stored == NULL)
        return;
    if (kind->from_stored != NULL)
        kind->from_stored(doc, yyjson_mut_doc_get_root(doc));
    set_version(doc, kind);
}

const struct kind *kind_of_api(const char *api_version, const char *name)
{
    char api[128];
    const struct kind *kind;
    for (size_t i = 0; (kind = kind_at(i)) != NULL; i++)
        if (str_eq(kind_api_version(kind, api), api_version) && str_eq(kind->name, name))
            return kind;
    return NULL;
}

const struct kind *kind_of_document(const char *api_version, const char *name)
{
    char api[128];
    for (size_t i = 0; FILE_KINDS[i] != NULL; i++)
        if (str_eq(kind_api_version(FILE_KINDS[i], api), api_version) &&
            str_eq(FILE_KINDS[i]->name, name))
            return FILE_KINDS[i];
    return kind_of_api(api_version, name);
}

const struct kind *kind_of_resource(const char *group, const char *version, const char *plural)
{
    const struct kind *kind;
    for (size_t i = 0; (kind = kind_served(i)) != NULL; i++)
        if (str_eq(kind->group, group) && str_eq(kind->version, version) &&
            str_eq(kind->plural, plural))
            return kind;
    return NULL;
}

const char *kind_api_version(const struct kind *kind, char out[128])
{
    size_t group = strlen(kind->group), version = strlen(kind->version);
    assert(group + version + 2 <= 128);
    char *end = out;
    if (group > 0) {
        end = mempcpy(end, kind->group, group);
        *end++ = '/';
    }
    memcpy(end, kind->version, version + 1);
    return out;
}

static bool is_listed(const char *const *list, struct sv word)
{
    for (; list != NULL && *list != NULL; list++)
        if (strlen(*list) == word.len && strncasecmp(*list, word.ptr, word.len) == 0)
            return true;
    return false;
}

bool kind_in_category(const struct kind *kind, const char *category)
{
    return is_listed(kind->categories, sv_of(category));
}

/* ---- words that people type ---- */

static bool is_called(const struct kind *kind, struct sv word)
{
    const char *const names[] = {kind->plural, kind->singular, kind->name, NULL};
    return is_listed(names, word) || is_listed(kind->short_names, word);
}

/* What stands behind the first dot: nothing, the group, or the version with or without the group;
 * kubectl writes the empty group as a dot at the end. */
static bool is_qualified(const struct kind *kind, struct sv suffix)
{
    if (suffix.len == 0 || sv_is(suffix, kind->group))
        return true;
    struct sv rest = suffix;
    return sv_is(sv_cut(&rest, '.'), kind->version) && sv_is(rest, kind->group);
}

/* Who writes two letters of a word has not mistyped a third. */
static const char *begun_kind(const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; len >= 2 && KINDS[i] != NULL; i++) {
        if (strncasecmp(KINDS[i]->plural, word, len) == 0)
            return KINDS[i]->plural;
    }
    return NULL;
}

static const char *nearest_kind(const char *word)
{
    const char *begun = begun_kind(word);
    if (begun != NULL)
        return begun;
    VEC(const char *) names = {0};
    for (size_t i = 0; KINDS[i] != NULL; i++) {
        vec_push(&names, KINDS[i]->plural);
        vec_push(&names, KINDS[i]->singular);
        vec_push(&names, KINDS[i]->name);
        for (const char *const *s = KINDS[i]->short_names; s != NULL && *s != NULL; s++)
            vec_push(&names, *s);
    }
    const char *near = str_nearest(word, names.items, names.len);
    vec_done(&names);
    return near;
}

const struct kind *kind_of_word(const char *word, const char **ret_nearest)
{
    struct sv suffix = sv_of(word);
    struct sv name = sv_cut(&suffix, '.');
    const struct kind *kind;
    for (size_t i = 0; (kind = kind_at(i)) != NULL; i++)
        if (is_called(kind, name) && is_qualified(kind, suffix))
            return kind;
    if (ret_nearest != NULL)
        *ret_nearest = nearest_kind(word);
    return NULL;
}

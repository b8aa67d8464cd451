// SPDX-License-Identifier: Apache-2.0
/* All kinds, and how to find one. A handful: a walk over the list is as fast as any index. */
#include "model/kind.h"
#include <assert.h>
#include <string.h>
#include <strings.h>

const struct kind *const KINDS[] = {
    &KIND_NAMESPACE, &KIND_NODE,   &KIND_POD,   &KIND_CONFIGMAP,  &KIND_EVENT,
    &KIND_JOB,       &KIND_JOBSET, &KIND_LEASE, &KIND_NODECONFIG, NULL,
};

const struct kind *const READINGS[] = {&KIND_POD_METRICS, &KIND_NODE_METRICS, NULL};

bool kind_is_reading(const struct kind *kind)
{
    for (size_t i = 0; READINGS[i] != NULL; i++)
        if (READINGS[i] == kind)
            return true;
    return false;
}

const struct kind *kind_served(size_t index)
{
    size_t stored = ARRAY_LEN(KINDS) - 1;
    return index < stored ? KINDS[index] : READINGS[index - stored];
}

const struct kind *kind_of(const char *group, const char *version, const char *name)
{
    for (size_t i = 0; KINDS[i] != NULL; i++)
        if (str_eq(KINDS[i]->group, group) && str_eq(KINDS[i]->version, version) &&
            str_eq(KINDS[i]->name, name))
            return KINDS[i];
    return NULL;
}

const struct kind *kind_of_api(const char *api_version, const char *name)
{
    char api[128];
    for (size_t i = 0; KINDS[i] != NULL; i++)
        if (str_eq(kind_api_version(KINDS[i], api), api_version) && str_eq(KINDS[i]->name, name))
            return KINDS[i];
    return NULL;
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

static const char *nearest_kind(const char *word)
{
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
    for (size_t i = 0; KINDS[i] != NULL; i++)
        if (is_called(KINDS[i], name) && is_qualified(KINDS[i], suffix))
            return KINDS[i];
    if (ret_nearest != NULL)
        *ret_nearest = nearest_kind(word);
    return NULL;
}

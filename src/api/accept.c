// SPDX-License-Identifier: Apache-2.0
/* What Accept asks for. Weights are not looked at: clients of Kubernetes name what they like best
 * first. Whoever takes only protobuf gets JSON all the same, since clients read an answer by the
 * type that it has; what no client could read is refused. */
#include "api/accept.h"
#include "base/mem.h"
#include "base/str.h"
#include <string.h>
#include <strings.h>

static bool type_is_known(struct sv type)
{
    static const char *const TYPES[] = {"*/*", "application/*", "application/json",
                                        "application/yaml", "application/vnd.kubernetes.protobuf"};
    for (size_t i = 0; i < ARRAY_LEN(TYPES); i++) {
        if (type.len == strlen(TYPES[i]) && strncasecmp(type.ptr, TYPES[i], type.len) == 0)
            return true;
    }
    return false;
}

static enum shape shape_of(struct sv range)
{
    static const struct {
        const char *as;
        enum shape shape;
    } FORMS[] = {{"as=Table", SHAPE_TABLE},
                 {"as=PartialObjectMetadata", SHAPE_META},
                 {"as=PartialObjectMetadataList", SHAPE_META}};
    if (!type_is_known(sv_trim(sv_cut(&range, ';'))))
        return SHAPE_NONE;
    while (range.len > 0) {
        struct sv param = sv_trim(sv_cut(&range, ';'));
        if (!sv_starts(param, "as="))
            continue;
        for (size_t i = 0; i < ARRAY_LEN(FORMS); i++) {
            if (sv_is(param, FORMS[i].as))
                return FORMS[i].shape;
        }
        return SHAPE_NONE;
    }
    return SHAPE_OBJECT;
}

enum shape accept_shape(const char *accept)
{
    struct sv rest = sv_trim(sv_of(accept));
    if (rest.len == 0)
        return SHAPE_OBJECT;
    while (rest.len > 0) {
        enum shape shape = shape_of(sv_cut(&rest, ','));
        if (shape != SHAPE_NONE)
            return shape;
    }
    return SHAPE_NONE;
}

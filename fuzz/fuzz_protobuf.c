// SPDX-License-Identifier: Apache-2.0
/* An object that is read from protobuf is proper JSON: what is written of it is read back by the
 * strict parser (UTF-8, depth, no key twice) as the same. */
#include "fuzz.h"
#include "model/kind.h"
#include "model/options.h"
#include "model/protobuf.h"
#include <assert.h>
#include <string.h>

static const struct type *type_of(struct sv bytes)
{
    static const struct type *const OTHERS[] = {&TYPE_DELETE_OPTIONS, &TYPE_SCALE, &TYPE_BINDING,
                                                NULL};
    struct sv api_version, kind;
    if (protobuf_type(bytes, &api_version, &kind, NULL) < 0)
        return NULL;
    for (size_t i = 0; KINDS[i] != NULL; i++)
        if (sv_is(kind, KINDS[i]->name))
            return KINDS[i]->type;
    for (size_t i = 0; OTHERS[i] != NULL; i++)
        if (sv_is(kind, strrchr(OTHERS[i]->name, '.') + 1))
            return OTHERS[i];
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sv bytes = {(const char *)data, size};
    const struct type *type = type_of(bytes);
    scoped_json_mut *doc = NULL, *again = NULL;
    if (type == NULL || protobuf_decode(type, bytes, &doc, NULL) < 0)
        return 0;
    scoped_str text = {0};
    json_write(yyjson_mut_doc_get_root(doc), &text);
    int r = json_parse_mut((struct sv){text.data, text.len}, &again, NULL);
    assert(r == 0);
    assert(json_mut_equal(yyjson_mut_doc_get_root(doc), yyjson_mut_doc_get_root(again)));
    return 0;
}

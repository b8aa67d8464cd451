// SPDX-License-Identifier: Apache-2.0
/* An object that is read from protobuf is proper JSON: what is written of it is read back by the
 * strict parser (UTF-8, depth, no key twice) as the same. */
#include "base/mem.h"
#include "fuzz.h"
#include "model/kind.h"
#include "model/options.h"
#include "model/protobuf.h"
#include <assert.h>

/* With the type that the envelope names. */
static int decode(struct sv bytes, yyjson_mut_doc **ret_doc)
{
    static const struct type *const OTHERS[] = {&TYPE_DELETE_OPTIONS, &TYPE_SCALE, &TYPE_BINDING};
    int r = -1;
    for (size_t i = 0; r < 0 && KINDS[i] != NULL; i++)
        r = protobuf_decode(KINDS[i]->type, bytes, ret_doc, NULL);
    for (size_t i = 0; r < 0 && i < ARRAY_LEN(OTHERS); i++)
        r = protobuf_decode(OTHERS[i], bytes, ret_doc, NULL);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_json_mut *doc = NULL, *again = NULL;
    if (decode((struct sv){(const char *)data, size}, &doc) < 0)
        return 0;
    scoped_str text = {0};
    json_write(yyjson_mut_doc_get_root(doc), &text);
    int r = json_parse_mut((struct sv){text.data, text.len}, &again, NULL);
    assert(r == 0);
    assert(json_mut_equal(yyjson_mut_doc_get_root(doc), yyjson_mut_doc_get_root(again)));
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
/* Any text is refused with a reason or is a scenario that can be played, whatever it says: for some
 * steps, since a scenario may go on for ever. */
#include "fuzz.h"
#include "model/manifest.h"
#include "sim/rehearsal.h"
#include <assert.h>

#define STEPS_MAX 3000
#define NODES_MAX 8

/* What only takes long is of no interest here. */
static bool is_small(yyjson_val *spec)
{
    size_t i, n;
    yyjson_val *node;
    int64_t count = 0;
    yyjson_arr_foreach(yyjson_obj_get(spec, "nodes"), i, n, node)
    {
        count += json_int_at(node, "count", 1);
    }
    return count <= NODES_MAX;
}

static void play(const yyjson_mut_doc *doc)
{
    scoped_json_mut *copy = yyjson_mut_doc_mut_copy((yyjson_mut_doc *)doc, NULL);
    schema_fill(KIND_SCENARIO.type, copy, yyjson_mut_doc_get_root(copy));
    scoped_json *filled = yyjson_mut_doc_imut_copy(copy, NULL);
    yyjson_val *spec = yyjson_obj_get(yyjson_doc_get_root(filled), "spec");
    struct rehearsal_options options = {.spec = spec};
    if (!is_small(spec))
        return;
    struct rehearsal *rehearsal = rehearsal_new(&options);
    for (int i = 0; i < STEPS_MAX && rehearsal_step(rehearsal); i++)
        ;
    scoped_str end = {0};
    rehearsal_end_json(rehearsal, &end);
    rehearsal_free(rehearsal);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct manifest manifest = {0};
    struct err err = {0};
    if (manifest_parse("fuzz", (struct sv){(const char *)data, size}, &manifest, &err) < 0) {
        assert(err.text[0] != '\0');
        return 0;
    }
    for (size_t i = 0; i < manifest.docs.len; i++) {
        const struct kind *kind = NULL;
        scoped_str findings = {0};
        size_t n = manifest_check_file(&manifest, i, &findings, &kind);
        assert((n == 0) == (findings.len == 0));
        if (n == 0 && kind == &KIND_SCENARIO)
            play(manifest.docs.items[i].doc);
    }
    manifest_done(&manifest);
    return 0;
}

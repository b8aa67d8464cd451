// SPDX-License-Identifier: Apache-2.0
/* A template that is accepted prints the same twice on any document, or fails the same way. Input:
 * the template, a newline, the document. */
#include "cli/jsonpath.h"
#include "fuzz.h"
#include <assert.h>
#include <string.h>

static int print(const struct jsonpath *path, yyjson_doc *doc, struct str *out)
{
    struct err err = {0};
    int r = jsonpath_print(path, yyjson_doc_get_root(doc), out, &err);
    assert((r < 0) == (err.code < 0));
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sv rest = {(const char *)data, size};
    struct sv template = sv_cut(&rest, '\n');
    struct jsonpath *path = NULL;
    scoped_json *doc = NULL;
    if (jsonpath_parse(template, &path, NULL) < 0)
        return 0;
    if (json_parse(rest, &doc, NULL) == 0) {
        scoped_str first = {0};
        scoped_str second = {0};
        int r = print(path, doc, &first);
        assert(print(path, doc, &second) == r);
        assert(first.len == second.len &&
               memcmp(str_text(&first), str_text(&second), first.len) == 0);
    }
    jsonpath_free(path);
    return 0;
}

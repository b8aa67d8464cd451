// SPDX-License-Identifier: Apache-2.0
/* A selector that is accepted may be said twice, and then matches the same objects. */
#include "fuzz.h"
#include "model/selector.h"
#include <assert.h>

static const char OBJECT[] =
    "{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\",\"labels\":{\"a\":\"b\",\"in\":\"\","
    "\"c\":\"5\",\"x.io/y\":\"z\"}},\"spec\":{\"n\":7,\"b\":true,\"o\":{}}}";
static const char *const ALLOWED[] = {"spec.n", "spec.b", "spec.o", "status.phase", NULL};

static void twice(struct sv text, struct str *out)
{
    str_addn(out, text.ptr, text.len);
    str_addc(out, ',');
    str_addn(out, text.ptr, text.len);
}

static void check_labels(struct sv text, yyjson_val *root)
{
    struct label_selector *one = NULL, *two = NULL;
    struct err err = {0};
    int r = label_selector_parse(text, &one, &err);
    assert(r == 0 || (r == err.code && err.text[0]));
    if (r < 0)
        return;
    if (sv_trim(text).len > 0) {
        scoped_str both = {0};
        twice(text, &both);
        r = label_selector_parse((struct sv){both.data, both.len}, &two, NULL);
        assert(r == 0);
        yyjson_val *labels = json_at(root, "metadata.labels");
        assert(label_selector_matches(one, labels) == label_selector_matches(two, labels));
        assert(label_selector_matches(one, NULL) == label_selector_matches(two, NULL));
    }
    label_selector_free(one);
    label_selector_free(two);
}

static void check_fields(struct sv text, yyjson_val *root)
{
    struct field_selector *one = NULL, *two = NULL;
    struct err err = {0};
    int r = field_selector_parse(text, ALLOWED, &one, &err);
    assert(r == 0 || (r == err.code && err.text[0]));
    if (r < 0)
        return;
    scoped_str both = {0};
    twice(text, &both);
    r = field_selector_parse((struct sv){both.data, both.len}, ALLOWED, &two, NULL);
    assert(r == 0);
    assert(field_selector_matches(one, root) == field_selector_matches(two, root));
    const char *name = field_selector_exact(one, "metadata.name");
    assert(str_eq(name, field_selector_exact(two, "metadata.name")));
    field_selector_free(one);
    field_selector_free(two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sv text = {(const char *)data, size};
    scoped_json *doc = NULL;
    int r = json_parse(sv_of(OBJECT), &doc, NULL);
    assert(r == 0);
    check_labels(text, yyjson_doc_get_root(doc));
    check_fields(text, yyjson_doc_get_root(doc));
    scoped_json *object = NULL;
    struct label_selector *selector = NULL;
    if (json_parse(text, &object, NULL) == 0 &&
        label_selector_of(yyjson_doc_get_root(object), &selector, NULL) == 0)
        (void)label_selector_matches(selector,
                                     json_at(yyjson_doc_get_root(doc), "metadata.labels"));
    label_selector_free(selector);
    return 0;
}

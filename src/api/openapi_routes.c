// SPDX-License-Identifier: Apache-2.0
/* /openapi/v3 and the document of each group version, and as much of /openapi/v2 as clients must
 * have to go on: kubectl asks for it when a file holds a List, whose items it then looks up in it,
 * and leaves those that it does not find to the server's own validation. Documents follow from the
 * field tables and never change while the program runs, so each is made once and its address
 * carries its hash: clients may keep it for ever. */
#include "api/call.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct buf *document(struct api *api, const char *group, const char *version)
{
    scoped_free char *key = mem_printf("%s/%s", group, version);
    struct buf *doc = map_get(api->openapi, key);
    if (doc == NULL) {
        struct str text = {0};
        openapi_v3(group, version, &text);
        doc = buf_take(&text);
        (void)map_put(api->openapi, key, doc);
    }
    return doc;
}

static bool version_exists(const struct api *api, const char *group, const char *version)
{
    for (size_t i = 0; api_kind(api, i) != NULL; i++) {
        if (strcmp(api_kind(api, i)->group, group) == 0 &&
            strcmp(api_kind(api, i)->version, version) == 0)
            return true;
    }
    return false;
}

static void answer_index(struct call *call)
{
    struct str out = {0};
    struct map *seen = map_new();
    str_add(&out, "{\"paths\":{");
    for (size_t i = 0; api_kind(call->api, i) != NULL; i++) {
        const struct kind *kind = api_kind(call->api, i);
        scoped_free char *path = *kind->group ? mem_printf("apis/%s/%s", kind->group, kind->version)
                                              : mem_printf("api/%s", kind->version);
        if (map_put(seen, path, (void *)kind) != NULL)
            continue;
        const struct buf *doc = document(call->api, kind->group, kind->version);
        uint64_t hash = hash_bytes(HASH_START, doc->data, doc->len);
        str_addf(&out, "%s\"%s\":{\"serverRelativeURL\":\"/openapi/v3/%s?hash=%016" PRIX64 "\"}",
                 map_count(seen) > 1 ? "," : "", path, path, hash);
    }
    map_free(seen);
    str_add(&out, "}}\n");
    call_reply_json(call, 200, &out);
}

/* One field of a protobuf message; the text is shorter than 128 bytes. */
static void add_field(struct str *out, int number, const char *text)
{
    str_addc(out, (char)(number << 3 | 2));
    str_addc(out, (char)strlen(text));
    str_add(out, text);
}

/* A document without definitions. */
static void answer_v2(struct call *call)
{
    struct str out = {0};
    const char *type = "application/json";
    if (call_accepts(call, "spec.v2@v1.0+protobuf")) {
        /* Asked for with an "@", which no media type may have in an answer. */
        type = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
        scoped_str info = {0};
        add_field(&info, 1, "muster");
        add_field(&info, 2, MUSTER_VERSION);
        add_field(&out, 1, "2.0");
        add_field(&out, 2, str_text(&info));
    } else {
        str_add(&out, "{\"swagger\":\"2.0\",\"info\":{\"title\":\"muster\",\"version\":"
                      "\"" MUSTER_VERSION "\"},\"paths\":{}}\n");
    }
    struct buf *body = buf_take(&out);
    call_reply(call, 200, type, NULL, body);
    buf_unref(body);
}

void openapi_answer(struct call *call)
{
    const char *const *parts = call->parts;
    if (call->part_count == 2 && strcmp(parts[1], "v2") == 0) {
        answer_v2(call);
        return;
    }
    if (call->part_count == 2 && strcmp(parts[1], "v3") == 0) {
        answer_index(call);
        return;
    }
    bool core = call->part_count == 4 && strcmp(parts[2], "api") == 0;
    bool group = call->part_count == 5 && strcmp(parts[2], "apis") == 0;
    const char *name = group ? parts[3] : "";
    const char *version = core ? parts[3] : group ? parts[4] : "";
    if (strcmp(call->part_count > 1 ? parts[1] : "", "v3") != 0 ||
        !version_exists(call->api, name, version)) {
        call_not_found(call);
        return;
    }
    const char *headers = call_param(call, "hash") ? "Cache-Control: public, immutable\r\n" : NULL;
    call_reply(call, 200, "application/json", headers, document(call->api, name, version));
}

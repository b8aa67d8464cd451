// SPDX-License-Identifier: Apache-2.0
/* What a pod of a pool has, as an annotation of it, which a downwardAPI volume shows it as a file:
 *   {"v":5,"vpods":[{"name":"orders","vreplicas":3,"first":4,"total":10}, ...]}
 * Of the ten parts of orders this pod has three, numbers 4 to 6. Only what is stored in the
 * statuses of vpods is told. */
#include "base/mem.h"
#include "control/pool_internal.h"
#include <inttypes.h>
#include <stdio.h>

static void share_text(const struct omap *shares, struct str *out)
{
    int64_t sum = 0;
    scoped_str list = {0};
    const struct omap_item *item = shares != NULL ? omap_seek(shares, "") : NULL;
    for (; item != NULL; item = omap_next(item)) {
        const struct pool_share *share = item->value;
        str_addf(&list,
                 "%s{\"name\":\"%s\",\"vreplicas\":%" PRId32 ",\"first\":%" PRId32
                 ",\"total\":%" PRId32 "}",
                 list.len > 0 ? "," : "", item->key, share->vreplicas, share->first, share->total);
        sum += share->vreplicas;
    }
    str_addf(out, "{\"v\":%" PRId64 ",\"vpods\":[%s]}", sum, str_text(&list));
}

/* The pool whose pod this is: a set's name may have dashes, a number has none. */
static struct pool *pool_of(struct control *control, const char *ns, const char *pod)
{
    const char *dash = strrchr(pod, '-');
    if (dash == NULL)
        return NULL;
    scoped_free char *set = mem_strndup(pod, (size_t)(dash - pod));
    return pools_get(control_state(control), ns, set);
}

void pool_reconcile_member(struct control *control, const char *ns, const char *name)
{
    const struct obj *pod = cache_get(control_world(control)->cache, &KIND_POD, ns, name);
    struct pool *pool = pool_of(control, ns, name);
    int32_t ordinal = pool != NULL ? pool_ordinal(pool, name) : -1;
    if (pod == NULL || ordinal < 0 || pod->meta.deleted != 0)
        return;
    char key[24];
    (void)snprintf(key, sizeof(key), "%" PRId32, ordinal);
    scoped_str text = {0};
    share_text(map_get(pool->shares, key), &text);
    const char *is = yyjson_get_str(yyjson_obj_get(pod->meta.annotations, POOL_SHARE_NOTE));
    if (str_eq(is, str_text(&text)))
        return;
    scoped_str patch = {0};
    str_add(&patch, "{\"metadata\":{\"annotations\":{\"" POOL_SHARE_NOTE "\":");
    json_quote(str_text(&text), text.len, &patch);
    str_add(&patch, "}}}");
    struct write *write = write_new(WRITE_PATCH, &KIND_POD, ns, name);
    (void)json_parse(sv_of(str_text(&patch)), &write->patch, NULL); /* cannot fail: made here */
    write->patch_type = PATCH_MERGE;
    write->if_uid = mem_strdup(pod->meta.uid);
    control_write(control, write);
}

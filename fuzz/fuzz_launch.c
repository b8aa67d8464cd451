// SPDX-License-Identifier: Apache-2.0
/* Any document that parses, taken for a pod: it is started or refused with a reason, and whatever
 * it names inside a volume stays inside. */
#include "base/mem.h"
#include "control/pods/launch.h"
#include "fuzz.h"
#include <assert.h>
#include <string.h>

static void check_path(const char *path)
{
    assert(*path != '/' && *path != '\0');
    scoped_free char *framed = mem_printf("/%s/", path);
    assert(strstr(framed, "/../") == NULL);
}

static void check_mounts(const struct launch *launch)
{
    for (size_t i = 0; i < launch->n_mounts; i++) {
        const struct launch_mount *mount = &launch->mounts[i];
        assert(mount->path[0] == '/');
        if (mount->sub_path != NULL)
            check_path(mount->sub_path);
        for (size_t k = 0; k < mount->n_files; k++)
            check_path(mount->files[k].path);
    }
}

static void check_launch(struct arena *arena, const struct cache *cache, const struct obj *pod,
                         yyjson_val *container)
{
    static const char *const BASE[] = {"PATH=/bin", NULL};
    static const struct launch_node NODE = {.name = "n", .base_env = BASE};
    struct launch launch;
    struct err err = {0};
    int r = launch_make(arena, cache, pod, container, &NODE, &launch, &err);
    assert(r == 0 || (r == err.code && err.text[0] != '\0'));
    if (r < 0)
        return;
    for (const char *const *at = launch.envp; *at != NULL; at++)
        assert(strchr(*at, '=') != NULL);
    check_mounts(&launch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sv json = {(const char *)data, size};
    scoped_obj *pod = obj_load(&KIND_POD, json, 1);
    if (pod == NULL)
        return 0;
    struct cache *cache = cache_new();
    scoped_obj *config = obj_load(&KIND_CONFIGMAP, json, 1); /* it may name itself */
    if (config != NULL)
        obj_unref(cache_put(cache, config));
    struct err err = {0};
    int r = launch_supported(pod, false, &err);
    assert(r == 0 || (err.text[0] != '\0' && err.hint[0] != '\0'));
    struct arena arena = {0};
    size_t i, n;
    yyjson_val *container;
    yyjson_arr_foreach(json_at(pod->root, "spec.containers"), i, n, container)
    {
        check_launch(&arena, cache, pod, container);
    }
    arena_done(&arena);
    cache_free(cache);
    return 0;
}

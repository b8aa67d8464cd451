// SPDX-License-Identifier: Apache-2.0
/* What `muster place` reads: accepted or refused with a reason. Of what is accepted, no answer puts
 * more on a pod than it can hold, and looking at it twice gives the same. */
#include "cli/place_input.h"
#include "fuzz.h"
#include <assert.h>

#define LARGE 3000 /* what is larger is only read: the rest takes its time */

struct sizes {
    bool is_large, is_over;
};

static void look(void *arg, const struct place_pod_view *pod)
{
    struct sizes *sizes = arg;
    sizes->is_large |= pod->ordinal > LARGE;
    sizes->is_over |= pod->used > pod->capacity;
}

static bool is_small(yyjson_val *root)
{
    size_t i, n;
    yyjson_val *vpod;
    yyjson_arr_foreach(yyjson_obj_get(root, "vpods"), i, n, vpod)
    {
        if (yyjson_get_sint(yyjson_obj_get(vpod, "vreplicas")) > LARGE)
            return false;
    }
    return yyjson_get_sint(yyjson_obj_get(root, "replicas")) <= LARGE;
}

static void place_all(struct place_input *input)
{
    struct sizes before = {0}, after = {0};
    struct place_evictions evictions = {0};
    place_each_pod(input->place, look, &before);
    if (before.is_large)
        return;
    place_compact(input->place, &evictions);
    vec_done(&evictions.of);
    int32_t pods = place_autoscale(input->place, input->pending, input->may_shrink);
    assert(pods >= 0 && pods <= PLACE_PODS_MAX);
    for (size_t i = 0; i < input->vpods.len; i++) {
        struct place_result first = {0}, second = {0};
        assert(place_schedule(input->place, input->vpods.items[i], &first));
        assert(place_schedule(input->place, input->vpods.items[i], &second));
        assert(first.placed == second.placed && first.pending == second.pending);
        place_result_done(&first);
        place_result_done(&second);
    }
    place_each_pod(input->place, look, &after);
    assert(before.is_over || !after.is_over);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    struct place_input input = {0};
    scoped_json *doc = NULL;
    if (json_parse((struct sv){(const char *)data, size}, &doc, NULL) < 0)
        return 0;
    int r = is_small(yyjson_doc_get_root(doc))
                ? place_input_read(yyjson_doc_get_root(doc), &input, &err)
                : 1;
    if (r < 0)
        assert(err.code == r && err.text[0] != '\0' && input.place == NULL);
    else if (r == 0)
        place_all(&input);
    place_input_done(&input);
    return 0;
}

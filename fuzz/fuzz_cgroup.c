// SPDX-License-Identifier: Apache-2.0
/* Two texts, mountinfo and cgroup, with an empty line between them: whatever they say, the places
 * found are below the root, v2 comes first, no controller is in two of them. Names that are escaped
 * are single components and come back as they were. */
#include "base/mem.h"
#include "fuzz.h"
#include "node/cgroup_internal.h"
#include <assert.h>
#include <string.h>

static void check_places(const char *mountinfo, const char *self)
{
    struct cgroup_places places = {0};
    unsigned seen = 0;
    cgroup_places_parse(mountinfo, self, "/sys/fs/cgroup", &places);
    for (size_t i = 0; i < places.len; i++) {
        const struct cgroup_place *place = &places.items[i];
        assert(str_starts(place->mount, "/sys/fs/cgroup"));
        assert(place->own[0] == '\0' || place->own[0] == '/');
        assert(!place->is_v2 || i == 0);
        assert(!(seen & place->controllers));
        seen |= place->controllers;
    }
    cgroup_places_done(&places);
}

static void check_name(const char *name)
{
    scoped_str escaped = {0}, again = {0};
    cgroup_name_escape(name, &escaped);
    assert(!strchr(str_text(&escaped), '/') && !strchr(str_text(&escaped), '\n'));
    cgroup_name_plain((struct sv){str_text(&escaped), escaped.len}, &again);
    assert(str_eq(str_text(&again), name));
    scoped_str plain = {0};
    cgroup_name_plain(sv_of(name), &plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_free char *text = mem_strndup((const char *)data, size);
    check_name(text);
    char *gap = strstr(text, "\n\n");
    if (gap)
        gap[1] = '\0';
    check_places(text, gap ? gap + 2 : "");
    return 0;
}

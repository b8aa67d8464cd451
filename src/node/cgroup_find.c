// SPDX-License-Identifier: Apache-2.0
/* Which hierarchies there are and where we are in them, from two files of /proc/self:
 *     mountinfo  31 23 0:28 /root-of-mount /mount/point rw,... shared:1 - cgroup cgroup
 * rw,cpu,cpuacct cgroup     2:cpu,cpuacct:/our/own/path        0::/our/own/path for v2 Both paths
 * count from the same origin, thus our directory is the mount point plus what own path has more
 * than the root of the mount. In a container both may be foreign to each other, or begin with
 * "/.."; then the mount point itself is the best guess. */
#include "base/mem.h"
#include "node/cgroup_internal.h"
#include <string.h>

const char *const CTL_NAMES[CTL_COUNT] = {"cpu", "memory", "pids", "cpuacct", "freezer"};

static unsigned controllers_of(struct sv list)
{
    unsigned found = 0;
    while (list.len > 0) {
        struct sv word = sv_cut(&list, ',');
        for (unsigned i = 0; i < CTL_COUNT; i++)
            found |= sv_is(word, CTL_NAMES[i]) ? 1U << i : 0;
    }
    return found;
}

/* The kernel writes blank, tab, newline and backslash as three octal digits. */
static char *unescape(struct sv text)
{
    struct str out = {0};
    for (size_t i = 0; i < text.len; i++) {
        const char *p = text.ptr + i;
        bool is_octal = *p == '\\' && text.len - i >= 4 && p[1] >= '0' && p[1] <= '3' &&
                        p[2] >= '0' && p[2] <= '7' && p[3] >= '0' && p[3] <= '7';
        str_addc(&out, is_octal ? (char)((p[1] - '0') * 64 + (p[2] - '0') * 8 + p[3] - '0') : *p);
        i += is_octal ? 3 : 0;
    }
    return str_take(&out);
}

static bool is_below(const char *path, const char *root)
{
    size_t len = strlen(root);
    while (len > 0 && root[len - 1] == '/')
        len--;
    return strncmp(path, root, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* Our own path in the hierarchy with one of these controllers (0: v2), or NULL. */
static char *own_path(const char *self, unsigned controllers)
{
    struct sv rest = sv_of(self);
    while (rest.len > 0) {
        struct sv line = sv_cut(&rest, '\n');
        struct sv number = sv_cut(&line, ':');
        struct sv names = sv_cut(&line, ':');
        bool is_it = controllers ? (controllers_of(names) & controllers) != 0
                                 : sv_is(number, "0") && names.len == 0;
        if (is_it && line.len > 0 && line.ptr[0] == '/')
            return mem_strndup(line.ptr, line.len);
    }
    return NULL;
}

/* A former self, or another node of this server, may have moved us to muster.slice/NODE/x.scope;
 * our tree goes beside that node's, not into it. Deeper inside we are somebody's pod and stay in
 * it. */
static bool leave_own_scope(char *own)
{
    static const char SLICE[] = "/muster.slice/";
    char *last = strrchr(own, '/');
    char *node = last ? memrchr(own, '/', (size_t)(last - own)) : NULL;
    bool is_inside = node && node - own >= (ptrdiff_t)strlen(SLICE) - 1 &&
                     strncmp(node - strlen(SLICE) + 1, SLICE, strlen(SLICE)) == 0 &&
                     str_ends(last, ".scope");
    if (is_inside)
        *(node - strlen(SLICE) + 1) = '\0';
    return is_inside;
}

/* NULL: not below the mount. */
static char *relative_own(const char *own, const char *mount_root)
{
    if (!own || str_starts(own, "/..") || !is_below(own, mount_root))
        return NULL;
    size_t skip = strlen(mount_root);
    skip = skip > strlen(own) ? strlen(own) : skip;
    const char *rest = own + skip;
    while (*rest == '/')
        rest++;
    return *rest ? mem_printf("/%s", rest) : mem_strdup("");
}

struct mount_line {
    struct sv root, point, type, options;
};

static bool mount_line_read(struct sv line, struct mount_line *ret)
{
    for (int i = 0; i < 3; i++)
        (void)sv_cut(&line, ' '); /* identifiers and device */
    ret->root = sv_cut(&line, ' ');
    ret->point = sv_cut(&line, ' ');
    while (line.len > 0 && !sv_is(sv_cut(&line, ' '), "-"))
        ;
    ret->type = sv_cut(&line, ' ');
    (void)sv_cut(&line, ' '); /* source */
    ret->options = line;
    return ret->point.len > 0 && (sv_is(ret->type, "cgroup") || sv_is(ret->type, "cgroup2"));
}

static bool is_known(const struct cgroup_places *places, unsigned controllers, bool is_v2)
{
    for (size_t i = 0; i < places->len; i++) {
        const struct cgroup_place *place = &places->items[i];
        if (is_v2 ? place->is_v2 : (place->controllers & controllers) != 0)
            return true;
    }
    return false;
}

static void place_add(struct cgroup_places *places, const struct cgroup_place *place)
{
    size_t at = place->is_v2 ? 0 : places->len;
    memmove(&places->items[at + 1], &places->items[at], (places->len - at) * sizeof(*place));
    places->items[at] = *place;
    places->len++;
}

void cgroup_places_parse(const char *mountinfo, const char *self, const char *root,
                         struct cgroup_places *ret_places)
{
    struct sv rest = sv_of(mountinfo);
    *ret_places = (struct cgroup_places){0};
    while (rest.len > 0) {
        struct mount_line line = {0};
        if (!mount_line_read(sv_cut(&rest, '\n'), &line))
            continue;
        bool is_v2 = sv_is(line.type, "cgroup2");
        unsigned controllers = is_v2 ? 0 : controllers_of(line.options);
        if ((!is_v2 && !controllers) || is_known(ret_places, controllers, is_v2))
            continue;
        scoped_free char *point = unescape(line.point);
        if (!is_below(point, root))
            continue;
        scoped_free char *own = own_path(self, controllers);
        struct cgroup_place place = {.controllers = controllers, .is_v2 = is_v2};
        place.mount = take_ptr(point);
        place.mount_root = unescape(line.root);
        place.is_aside = own && leave_own_scope(own);
        place.own = relative_own(own, place.mount_root);
        if (!place.own)
            place.own = mem_strdup("");
        place_add(ret_places, &place);
    }
}

char *cgroup_place_of(const char *text, const struct cgroup_place *place)
{
    scoped_free char *path = own_path(text, place->is_v2 ? 0 : place->controllers);
    return relative_own(path, place->mount_root);
}

void cgroup_place_done(struct cgroup_place *place)
{
    mem_free(place->mount);
    mem_free(place->mount_root);
    mem_free(place->own);
    *place = (struct cgroup_place){0};
}

void cgroup_places_done(struct cgroup_places *places)
{
    for (size_t i = 0; i < places->len; i++)
        cgroup_place_done(&places->items[i]);
    places->len = 0;
}

// SPDX-License-Identifier: Apache-2.0
/* Volumes as one container sees them. The contents of ConfigMaps are copied into the arena: what
 * the cache shows may go while a container starts.
 *
 * 1. Every path that comes from a pod and ends below a volume went through path_clean(): relative,
 *    no "..", and no first part that begins with "..", which is how the files of a volume are kept
 *    apart from the links that make an update of all of them one step.
 * 2. A container that mounts one volume at several places gets one copy of its files. */
#include "base/mem.h"
#include "control/pods/launch_internal.h"
#include <errno.h>
#include <string.h>

#define MODE_DEFAULT 0644

struct file_list {
    VEC(struct launch_file) files;
    int mode;           /* of files that say nothing themselves */
    yyjson_val *config; /* the ConfigMap that is being read */
};

/* ---- paths ---- */

/* Without empty parts and "."; NULL when it leads out of the volume. */
static const char *path_clean(struct arena *arena, const char *path)
{
    if (path == NULL || *path == '/' || strlen(path) > 4095)
        return NULL;
    scoped_str out = {0};
    struct sv rest = sv_of(path);
    while (rest.len > 0) {
        struct sv part = sv_cut(&rest, '/');
        if (part.len == 0 || sv_is(part, "."))
            continue;
        if (sv_is(part, "..") || (out.len == 0 && sv_starts(part, "..")))
            return NULL;
        if (out.len > 0)
            str_addc(&out, '/');
        str_addn(&out, part.ptr, part.len);
    }
    return arena_strdup(arena, str_text(&out));
}

static int path_error(const char *where, const char *path, struct err *err)
{
    int r = err_set(err, -EINVAL, "%s: %s is not a path inside the volume", where,
                    path != NULL ? path : "\"\"");
    (void)err_hint(err, "it must be relative, must have no '..' and may not begin with '..'");
    return r;
}

/* ---- ConfigMaps ---- */

int mounts_config(const struct launching *l, yyjson_val *ref, const char *where,
                  yyjson_val **ret_root, struct err *err)
{
    const char *name = json_str_at(ref, "name");
    const char *ns = obj_namespace(l->pod);
    const struct obj *config = name != NULL ? cache_get(l->cache, &KIND_CONFIGMAP, ns, name) : NULL;
    *ret_root = config != NULL ? config->root : NULL;
    if (config != NULL || yyjson_get_bool(yyjson_obj_get(ref, "optional")))
        return 0;
    int r = err_set(err, -ENOENT, "%s: there is no ConfigMap %s/%s", where, ns,
                    name != NULL ? name : "\"\"");
    (void)err_hint(err, "create it, or set optional: true; the container starts once it is there");
    return r;
}

static int digit64(char c)
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c != '\0' ? strchr(DIGITS, c) : NULL;
    return at != NULL ? (int)(at - DIGITS) : -1;
}

/* The model has checked that it is base64; what is not a digit is padding. */
static const char *decode64(struct arena *arena, const char *text, size_t *ret_len)
{
    char *out = arena_alloc(arena, strlen(text) / 4 * 3 + 4);
    size_t len = 0;
    unsigned bits = 0, n_bits = 0;
    for (; *text != '\0'; text++) {
        int digit = digit64(*text);
        if (digit < 0)
            continue;
        bits = bits << 6 | (unsigned)digit;
        n_bits += 6;
        if (n_bits < 8)
            continue;
        n_bits -= 8;
        out[len++] = (char)(bits >> n_bits & 0xff);
    }
    *ret_len = len;
    return out;
}

/* ---- files ---- */

static int default_mode(yyjson_val *source)
{
    return (int)json_int_at(source, "defaultMode", MODE_DEFAULT) & 0777;
}

static int file_mode(yyjson_val *item, int otherwise)
{
    return (int)json_int_at(item, "mode", otherwise) & 0777;
}

/* A later source wins where two have the same file. Takes `file` with its path not yet clean. */
static int add_file(const struct launching *l, struct file_list *list, struct launch_file file,
                    const char *where, struct err *err)
{
    const char *path = path_clean(l->arena, file.path);
    if (path == NULL || *path == '\0')
        return path_error(where, file.path, err);
    file.path = path;
    for (size_t i = 0; i < list->files.len; i++) {
        if (!str_eq(list->files.items[i].path, path))
            continue;
        list->files.items[i] = file;
        return 0;
    }
    vec_push(&list->files, file);
    return 0;
}

static void read_text(const struct launching *l, yyjson_val *val, struct launch_file *file)
{
    file->len = yyjson_get_len(val);
    file->data = arena_strndup(l->arena, yyjson_get_str(val), file->len);
}

static bool read_entry(const struct launching *l, yyjson_val *config, const char *key,
                       struct launch_file *file)
{
    yyjson_val *text = yyjson_obj_get(yyjson_obj_get(config, "data"), key);
    yyjson_val *bytes = yyjson_obj_get(yyjson_obj_get(config, "binaryData"), key);
    if (yyjson_is_str(text))
        read_text(l, text, file);
    else if (yyjson_is_str(bytes))
        file->data = decode64(l->arena, yyjson_get_str(bytes), &file->len);
    return yyjson_is_str(text) || yyjson_is_str(bytes);
}

static int add_items(const struct launching *l, struct file_list *list, yyjson_val *ref,
                     const char *where, struct err *err)
{
    yyjson_val *config = list->config;
    bool optional = yyjson_get_bool(yyjson_obj_get(ref, "optional"));
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(yyjson_obj_get(ref, "items"), i, n, item)
    {
        scoped_free char *place = mem_printf("%s.items[%zu]", where, i);
        const char *key = json_str_at(item, "key");
        struct launch_file file = {.path = json_str_at(item, "path"),
                                   .mode = file_mode(item, list->mode)};
        int r = 0;
        if (key != NULL && read_entry(l, config, key, &file))
            r = add_file(l, list, file, place, err);
        else if (!optional)
            r = err_set(err, -ENOENT, "%s: ConfigMap %s/%s has no key %s", place,
                        obj_namespace(l->pod), json_str_at(ref, "name"), key);
        if (r < 0)
            return r;
    }
    return 0;
}

static int add_every(const struct launching *l, struct file_list *list, yyjson_val *map,
                     const char *where, struct err *err)
{
    size_t i, n;
    yyjson_val *key, *val;
    if (!yyjson_is_obj(map))
        return 0;
    yyjson_obj_foreach(map, i, n, key, val)
    {
        struct launch_file file = {.path = yyjson_get_str(key), .mode = list->mode};
        if (!yyjson_is_str(val))
            continue;
        if (str_eq(where, "binaryData"))
            file.data = decode64(l->arena, yyjson_get_str(val), &file.len);
        else
            read_text(l, val, &file);
        int r = add_file(l, list, file, where, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int add_config(const struct launching *l, struct file_list *list, yyjson_val *ref,
                      const char *where, struct err *err)
{
    yyjson_val *config = NULL;
    int r = mounts_config(l, ref, where, &config, err);
    if (r < 0 || config == NULL)
        return r;
    list->config = config;
    if (yyjson_arr_size(yyjson_obj_get(ref, "items")) > 0)
        return add_items(l, list, ref, where, err);
    r = add_every(l, list, yyjson_obj_get(config, "data"), "data", err);
    if (r >= 0)
        r = add_every(l, list, yyjson_obj_get(config, "binaryData"), "binaryData", err);
    return r;
}

static int add_downward(const struct launching *l, struct file_list *list, yyjson_val *source,
                        const char *where, struct err *err)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(yyjson_obj_get(source, "items"), i, n, item)
    {
        scoped_free char *place = mem_printf("%s.items[%zu]", where, i);
        yyjson_val *field = yyjson_obj_get(item, "fieldRef");
        struct launch_file file = {.path = json_str_at(item, "path"),
                                   .mode = file_mode(item, list->mode)};
        int r = yyjson_is_obj(field) ? fields_file(l, field, place, &file.data, err)
                                     : fields_resource(l, yyjson_obj_get(item, "resourceFieldRef"),
                                                       place, &file.data, err);
        if (r < 0)
            return r;
        file.len = strlen(file.data);
        r = add_file(l, list, file, place, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int add_projected(const struct launching *l, struct file_list *list, yyjson_val *projected,
                         const char *where, struct err *err)
{
    size_t i, n;
    yyjson_val *source;
    yyjson_arr_foreach(yyjson_obj_get(projected, "sources"), i, n, source)
    {
        scoped_free char *place = mem_printf("%s.sources[%zu]", where, i);
        yyjson_val *config = yyjson_obj_get(source, "configMap");
        yyjson_val *downward = yyjson_obj_get(source, "downwardAPI");
        int r;
        if (yyjson_is_obj(config))
            r = add_config(l, list, config, place, err);
        else if (yyjson_is_obj(downward))
            r = add_downward(l, list, downward, place, err);
        else
            r = err_set(err, -ENOTSUP, "%s: only configMap and downwardAPI can be read here",
                        place);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- volumes ---- */

typedef int add_files_fn(const struct launching *l, struct file_list *list, yyjson_val *source,
                         const char *where, struct err *err);

static void take_files(const struct launching *l, struct file_list *list,
                       struct launch_mount *mount)
{
    size_t size = list->files.len * sizeof(*list->files.items);
    if (size > 0)
        mount->files = memcpy(arena_alloc(l->arena, size), list->files.items, size);
    mount->type = MOUNT_CONFIG_MAP;
    mount->n_files = list->files.len;
    vec_done(&list->files);
}

static void make_empty(yyjson_val *source, struct launch_mount *ret_mount)
{
    quantity size = 0;
    const char *text = json_str_at(source, "sizeLimit");
    ret_mount->type = MOUNT_EMPTY_DIR;
    ret_mount->is_memory = str_eq(json_str_at(source, "medium"), "Memory");
    if (text != NULL && quantity_parse(sv_of(text), &size, NULL) >= 0)
        ret_mount->size_bytes = quantity_value(size);
    else
        ret_mount->size_bytes = json_int_at(source, "sizeLimit", 0);
}

static int make_host(const struct launching *l, yyjson_val *source, const char *where,
                     struct launch_mount *ret_mount, struct err *err)
{
    const char *path = json_str_at(source, "path");
    const char *type = json_str_at(source, "type");
    if (path == NULL || *path != '/' || strstr(path, "/../") != NULL || str_ends(path, "/.."))
        return err_set(err, -EINVAL, "%s.path: must be absolute and without '..'", where);
    ret_mount->type = MOUNT_HOST_PATH;
    ret_mount->host_path = arena_strdup(l->arena, path);
    ret_mount->host_path_type = type != NULL ? arena_strdup(l->arena, type) : "";
    return 0;
}

static int make_volume(const struct launching *l, yyjson_val *volume, const char *where,
                       struct launch_mount *ret_mount, struct err *err)
{
    static const struct {
        const char *name;
        add_files_fn *add;
    } OF_FILES[] = {
        {"configMap", add_config}, {"downwardAPI", add_downward}, {"projected", add_projected}};
    for (size_t i = 0; i < ARRAY_LEN(OF_FILES); i++) {
        yyjson_val *source = yyjson_obj_get(volume, OF_FILES[i].name);
        if (!yyjson_is_obj(source))
            continue;
        scoped_free char *place = mem_printf("%s.%s", where, OF_FILES[i].name);
        struct file_list list = {.mode = default_mode(source)};
        int r = OF_FILES[i].add(l, &list, source, place, err);
        take_files(l, &list, ret_mount);
        return r;
    }
    yyjson_val *host = yyjson_obj_get(volume, "hostPath");
    yyjson_val *empty = yyjson_obj_get(volume, "emptyDir");
    if (yyjson_is_obj(host)) {
        scoped_free char *place = mem_printf("%s.hostPath", where);
        return make_host(l, host, place, ret_mount, err);
    }
    if (!yyjson_is_obj(empty) && yyjson_obj_size(volume) > 1)
        return err_set(err, -ENOTSUP,
                       "%s: only emptyDir, hostPath, configMap, downwardAPI and projected volumes "
                       "can be made here",
                       where);
    make_empty(empty, ret_mount);
    return 0;
}

static int find_volume(const struct launching *l, const char *name, struct launch_mount *ret_mount,
                       struct err *err)
{
    size_t i, n;
    yyjson_val *volume;
    yyjson_arr_foreach(yyjson_obj_get(l->spec, "volumes"), i, n, volume)
    {
        if (name == NULL || !str_eq(json_str_at(volume, "name"), name))
            continue;
        scoped_free char *where = mem_printf("spec.volumes[%zu]", i);
        return make_volume(l, volume, where, ret_mount, err);
    }
    return err_set(err, -EINVAL, "%s.volumeMounts: the pod has no volume %s", l->where,
                   name != NULL ? name : "without a name");
}

/* ---- mounts ---- */

static int make_sub_path(const struct launching *l, yyjson_val *item, const char *where,
                         struct launch_mount *mount, struct err *err)
{
    const char *plain = json_str_at(item, "subPath");
    const char *pattern = json_str_at(item, "subPathExpr");
    const char *path = plain, *unknown = NULL;
    if (pattern != NULL && *pattern != '\0')
        path = env_expand(l, pattern, &unknown);
    if (unknown != NULL) {
        int r = err_set(err, -EINVAL, "%s.subPathExpr: %s: the container has no variable %s", where,
                        pattern, unknown);
        (void)err_hint(err, "declare it in the container's env, or write $$(%s)", unknown);
        return r;
    }
    if (path == NULL || *path == '\0')
        return 0;
    const char *clean = path_clean(l->arena, path);
    if (clean == NULL)
        return path_error(where, path, err);
    mount->sub_path = *clean != '\0' ? clean : NULL;
    return 0;
}

static const struct launch_mount *mounted_before(const struct launch_mount *mounts, size_t n,
                                                 const char *volume)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(mounts[i].volume, volume))
            return &mounts[i];
    }
    return NULL;
}

static int make_mount(const struct launching *l, yyjson_val *item, const char *where,
                      struct launch_mount *mount, struct err *err)
{
    const char *path = json_str_at(item, "mountPath");
    if (path == NULL || *path == '\0')
        return err_set(err, -EINVAL, "%s.mountPath: must be given", where);
    mount->path = arena_printf(l->arena, "%s%s", *path == '/' ? "" : "/", path);
    mount->is_read_only =
        mount->type == MOUNT_CONFIG_MAP || yyjson_get_bool(yyjson_obj_get(item, "readOnly"));
    mount->sub_path = NULL;
    return make_sub_path(l, item, where, mount, err);
}

int mounts_make(struct launching *l, struct err *err)
{
    yyjson_val *list = yyjson_obj_get(l->container, "volumeMounts");
    struct launch_mount *mounts =
        arena_alloc(l->arena, (yyjson_arr_size(list) + 1) * sizeof(*mounts));
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, n, item)
    {
        scoped_free char *where = mem_printf("%s.volumeMounts[%zu]", l->where, i);
        const char *name = json_str_at(item, "name");
        const struct launch_mount *same = mounted_before(mounts, i, name);
        int r = 0;
        if (same != NULL)
            mounts[i] = *same;
        else
            r = find_volume(l, name, &mounts[i], err);
        if (r < 0)
            return r;
        mounts[i].volume = arena_strdup(l->arena, name);
        r = make_mount(l, item, where, &mounts[i], err);
        if (r < 0)
            return r;
    }
    l->out.mounts = mounts;
    l->out.n_mounts = yyjson_arr_size(list);
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
/* From pods to processes. Documents are JSON with ' instead of ". */
#include "base/mem.h"
#include "control/pods/launch.h"
#include "stage.h"

static const char *const BASE[] = {"PATH=/bin", "HOME=/root", "USER=root", "TZ=UTC", NULL};
static const struct launch_node NODE = {
    .name = "n1",
    .host_ip = "10.0.0.1",
    .pod_ip = "10.0.0.1",
    .base_env = BASE,
    .cpu_milli = 4000,
    .memory_bytes = 1000000,
};

static struct obj *load(const struct kind *kind, const char *text)
{
    scoped_free char *json = mem_strdup(text);
    for (char *at = json; *at != '\0'; at++)
        *at = *at == '\'' ? '"' : *at;
    struct obj *obj = obj_load(kind, sv_of(json), 1);
    if (obj == NULL)
        fail_msg("not an object: %s", json);
    return obj;
}

/* `fields`: of the container; `spec`: further ones of the pod. */
static struct obj *pod_of(const char *fields, const char *spec)
{
    scoped_free char *text = mem_printf(
        "{'metadata':{'name':'web','namespace':'prod','uid':'u1','labels':{'app':'shop','a.b/c':"
        "'deep'},'annotations':{'note':'two\\nlines','zone':'b'}},'spec':{'nodeName':'n1',"
        "'containers':[{'name':'main'%s}]%s},'status':{'qosClass':'Burstable'}}",
        fields, spec);
    return load(&KIND_POD, text);
}

static struct cache *cache_with_configs(void)
{
    static const char *const CONFIGS[] = {
        ("{'metadata':{'name':'c','namespace':'prod','uid':'c1'},'data':{'color':'red','size':'9',"
         "'A':'1','raw':'$(color)'},'binaryData':{'bin':'AAEC/w=='}}"),
        "{'metadata':{'name':'d','namespace':'prod','uid':'c2'},'data':{'color':'blue'}}",
        "{'metadata':{'name':'far','namespace':'other','uid':'c3'},'data':{'color':'no'}}",
    };
    struct cache *cache = cache_new();
    for (size_t i = 0; i < ARRAY_LEN(CONFIGS); i++) {
        scoped_obj *obj = load(&KIND_CONFIGMAP, CONFIGS[i]);
        assert_null(cache_put(cache, obj));
    }
    return cache;
}

/* A launch and what it lives in. */
struct made {
    struct arena arena;
    struct cache *cache;
    struct obj *pod;
    struct launch launch;
    struct err err;
    int r;
};

static void make_on(struct made *m, const char *fields, const char *spec,
                    const struct launch_node *node)
{
    *m = (struct made){.cache = cache_with_configs(), .pod = pod_of(fields, spec)};
    yyjson_val *container = yyjson_arr_get(json_at(m->pod->root, "spec.containers"), 0);
    m->r = launch_make(&m->arena, m->cache, m->pod, container, node, &m->launch, &m->err);
    assert_int_equal(m->r, m->err.code);
}

static void make(struct made *m, const char *fields, const char *spec)
{
    make_on(m, fields, spec, &NODE);
}

static void made_done(struct made *m)
{
    arena_done(&m->arena);
    cache_free(m->cache);
    obj_unref(m->pod);
}

static void make_well(struct made *m, const char *fields, const char *spec)
{
    make(m, fields, spec);
    if (m->r < 0)
        fail_msg("%s %s: %s", fields, spec, m->err.text);
}

/* ---- $(NAME) ---- */

static void test_expansion(void **state)
{
    static const struct {
        const char *text, *result;
    } ROWS[] = {
        {"plain", "plain"},
        {"$(V)", "value"},
        {"a$(V)b$(V)", "avaluebvalue"},
        {"$$(V)", "$(V)"},
        {"$$$(V)", "$value"},
        {"$$$$(V)", "$$(V)"},
        {"$V", "$V"},
        {"$", "$"},
        {"$$", "$"},
        {"V$", "V$"},
        {"$(V", "$(V"},
        {"$(", "$("},
        {"$()", "$()"},
        {"$(NONE)", "$(NONE)"},
        {"$(NONE", "$(NONE"},
        {"$(A$(V))", "$(A$(V))"},
        {"$(E)", ""},
        {"$(V)$", "value$"},
        {"$-$(V)", "$-value"},
        {"$(HOME)", "$(HOME)"}, /* what the node brings is not the pod's to use */
        {"$(MUSTER_POD)", "web"},
        {"\xc3\xa9$(V)\xc3\xa9", "\xc3\xa9value\xc3\xa9"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_free char *fields =
            mem_printf(",'command':['%s'],'args':['x','%s'],'env':[{'name':'V','value':'value'},"
                       "{'name':'E'}]",
                       ROWS[i].text, ROWS[i].text);
        struct made m;
        make_well(&m, fields, "");
        assert_string_equal(m.launch.argv[0], ROWS[i].result);
        assert_string_equal(m.launch.argv[1], "x");
        assert_string_equal(m.launch.argv[2], ROWS[i].result);
        assert_null(m.launch.argv[3]);
        made_done(&m);
    }
}

/* ---- environment ---- */

static const char *env_of(const struct launch *launch, const char *name)
{
    size_t len = strlen(name);
    const char *found = NULL;
    for (const char *const *at = launch->envp; *at != NULL; at++) {
        if (strncmp(*at, name, len) != 0 || (*at)[len] != '=')
            continue;
        assert_null(found); /* each name once */
        found = *at + len + 1;
    }
    return found;
}

static void test_environment(void **state)
{
#define FIELD(path) "{'name':'X','valueFrom':{'fieldRef':{'fieldPath':'" path "'}}}"
#define AMOUNT(resource, divisor)                                                                  \
    "{'name':'X','valueFrom':{'resourceFieldRef':{'resource':'" resource "','divisor':'" divisor   \
    "'}}}"
#define KEY(name, key, more)                                                                       \
    "{'name':'X','valueFrom':{'configMapKeyRef':{'name':'" name "','key':'" key "'" more "}}}"
    static const struct {
        const char *env, *from, *name, *value;
    } ROWS[] = {
        {"", "", "PATH", "/bin"},
        {"", "", "HOME", "/root"},
        {"", "", "HOSTNAME", "web"},
        {"", "", "MUSTER_POD", "web"},
        {"", "", "MUSTER_POD_UID", "u1"},
        {"", "", "MUSTER_NAMESPACE", "prod"},
        {"", "", "MUSTER_CONTAINER", "main"},
        {"{'name':'PATH','value':'/opt'}", "", "PATH", "/opt"},
        {"{'name':'X','value':'1'},{'name':'X','value':'2'}", "", "X", "2"},
        {"{'name':'A1','value':'a'},{'name':'X','value':'$(A1)b'}", "", "X", "ab"},
        {"{'name':'X','value':'$(A1)b'},{'name':'A1','value':'a'}", "", "X", "$(A1)b"},
        {"{'name':'X','value':'1'},{'name':'X','value':'$(X)2'}", "", "X", "12"},
        {"{'name':'X','value':''}", "", "X", ""},
        {FIELD("metadata.name"), "", "X", "web"},
        {FIELD("metadata.namespace"), "", "X", "prod"},
        {FIELD("metadata.uid"), "", "X", "u1"},
        {FIELD("spec.nodeName"), "", "X", "n1"},
        {FIELD("spec.serviceAccountName"), "", "X", ""},
        {FIELD("status.podIP"), "", "X", "10.0.0.1"},
        {FIELD("status.podIPs"), "", "X", "10.0.0.1"},
        {FIELD("status.hostIP"), "", "X", "10.0.0.1"},
        {FIELD("status.hostIPs"), "", "X", "10.0.0.1"},
        {AMOUNT("limits.cpu", "0"), "", "X", "2"},
        {AMOUNT("limits.cpu", "1m"), "", "X", "1500"},
        {AMOUNT("requests.cpu", "1"), "", "X", "1"},
        {AMOUNT("requests.cpu", "10m"), "", "X", "25"},
        {AMOUNT("limits.memory", "1Mi"), "", "X", "2"},
        {AMOUNT("limits.memory", "0"), "", "X", "1048577"},
        {AMOUNT("requests.memory", "1"), "", "X", "1048577"},
        {AMOUNT("requests.ephemeral-storage", "1"), "", "X", "0"},
        {KEY("c", "color", ""), "", "X", "red"},
        {KEY("c", "none", ",'optional':true"), "", "X", NULL},
        {KEY("none", "color", ",'optional':true"), "", "X", NULL},
        {KEY("c", "raw", ""), "", "X", "$(color)"},
        {"", "{'configMapRef':{'name':'c'}}", "color", "red"},
        {"", "{'configMapRef':{'name':'c'}}", "bin", NULL},
        {"", "{'prefix':'P_','configMapRef':{'name':'c'}}", "P_color", "red"},
        {"", "{'prefix':'P_','configMapRef':{'name':'c'}}", "color", NULL},
        {"", "{'prefix':'a=','configMapRef':{'name':'c'}}", "a", NULL},
        {"", "{'configMapRef':{'name':'c'}},{'configMapRef':{'name':'d'}}", "color", "blue"},
        {"", "{'configMapRef':{'name':'c'}},{'configMapRef':{'name':'d'}}", "size", "9"},
        {"", "{'configMapRef':{'name':'none','optional':true}}", "color", NULL},
        {"{'name':'color','value':'green'}", "{'configMapRef':{'name':'c'}}", "color", "green"},
        {"{'name':'X','value':'$(color)!'}", "{'configMapRef':{'name':'c'}}", "X", "red!"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_free char *fields =
            mem_printf(",'command':['x'],'env':[%s],'envFrom':[%s],'resources':{'limits':{'cpu':"
                       "'1.5','memory':'1048577'},'requests':{'cpu':'250m'}}",
                       ROWS[i].env, ROWS[i].from);
        struct made m;
        make_well(&m, fields, "");
        const char *value = env_of(&m.launch, ROWS[i].name);
        if (!str_eq(value, ROWS[i].value))
            fail_msg("row %zu: %s is %s, not %s", i, ROWS[i].name, value, ROWS[i].value);
        made_done(&m);
    }
}

/* Keys in quotes do not fit into documents written with ' for ". */
static void test_labels_in_environment(void **state)
{
    static const struct {
        const char *path, *value;
    } ROWS[] = {
        {"metadata.labels['app']", "shop"},
        {"metadata.labels['a.b/c']", "deep"},
        {"metadata.labels['none']", ""},
        {"metadata.annotations['zone']", "b"},
        {"metadata.annotations['note']", "two\nlines"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_free char *json = mem_printf(
            "{\"metadata\":{\"name\":\"web\",\"uid\":\"u\",\"labels\":{\"app\":\"shop\","
            "\"a.b/c\":\"deep\"},\"annotations\":{\"note\":\"two\\nlines\",\"zone\":\"b\"}},"
            "\"spec\":{\"containers\":[{\"name\":\"m\",\"env\":[{\"name\":\"X\",\"valueFrom\":"
            "{\"fieldRef\":{\"fieldPath\":\"%s\"}}}]}]}}",
            ROWS[i].path);
        scoped_obj *pod = obj_load(&KIND_POD, sv_of(json), 1);
        assert_non_null(pod);
        struct cache *cache = cache_new();
        struct arena arena = {0};
        struct launch launch;
        yyjson_val *container = yyjson_arr_get(json_at(pod->root, "spec.containers"), 0);
        assert_int_equal(launch_make(&arena, cache, pod, container, &NODE, &launch, NULL), 0);
        assert_string_equal(env_of(&launch, "X"), ROWS[i].value);
        arena_done(&arena);
        cache_free(cache);
    }
}

/* Without a limit of its own a container may use the node; the host name is the pod's wish. */
static void test_environment_defaults(void **state)
{
    (void)state;
    struct made m;
    make_well(&m, ",'env':[" AMOUNT("limits.cpu", "1m") "]", ",'hostname':'job-3'");
    assert_string_equal(env_of(&m.launch, "X"), "4000");
    assert_string_equal(env_of(&m.launch, "HOSTNAME"), "job-3");
    assert_string_equal(env_of(&m.launch, "TZ"), "UTC");
    made_done(&m);
    make_well(&m, ",'env':[" AMOUNT("limits.memory", "1k") "]", "");
    assert_string_equal(env_of(&m.launch, "X"), "1000");
    made_done(&m);

    static const char *const EMPTY[] = {NULL};
    struct launch_node node = NODE;
    node.base_env = EMPTY;
    make_on(&m, "", "", &node);
    assert_non_null(strstr(env_of(&m.launch, "PATH"), "/usr/bin"));
    made_done(&m);
    node.base_env = NULL; /* an image brings its own */
    make_on(&m, "", "", &node);
    assert_null(env_of(&m.launch, "PATH"));
    made_done(&m);
}

/* ---- who, how much, how ---- */

static void test_identity(void **state)
{
    static const struct {
        const char *own, *pods;
        int64_t uid, gid;
        size_t n_groups;
        int64_t fs_group;
    } ROWS[] = {
        {"{}", "{}", -1, -1, 0, -1},
        {"{}", "{'runAsUser':5,'runAsGroup':6}", 5, 6, 0, -1},
        {"{'runAsUser':7}", "{'runAsUser':5,'runAsGroup':6}", 7, 6, 0, -1},
        {"{'runAsUser':0}", "{'runAsUser':5}", 0, -1, 0, -1},
        {"{}", "{'supplementalGroups':[1,2],'fsGroup':3}", -1, -1, 3, 3},
        {"{}", "{'runAsNonRoot':true,'runAsUser':5}", 5, -1, 0, -1},
        {"{'runAsNonRoot':false}", "{'runAsNonRoot':true}", -1, -1, 0, -1},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_free char *fields = mem_printf(",'securityContext':%s", ROWS[i].own);
        scoped_free char *spec = mem_printf(",'securityContext':%s", ROWS[i].pods);
        struct made m;
        make_well(&m, fields, spec);
        assert_int_equal(m.launch.uid, ROWS[i].uid);
        assert_int_equal(m.launch.gid, ROWS[i].gid);
        assert_int_equal(m.launch.n_groups, ROWS[i].n_groups);
        assert_int_equal(m.launch.fs_group, ROWS[i].fs_group);
        bool is_other = ROWS[i].uid > 0;
        assert_string_equal(env_of(&m.launch, "HOME"), is_other ? "/" : "/root");
        assert_int_equal(env_of(&m.launch, "USER") == NULL, is_other);
        made_done(&m);
    }
}

static void test_refused_identity(void **state)
{
    static const struct {
        const char *own, *pods;
        int64_t node_uid;
        int code;
        const char *field;
    } ROWS[] = {
        {"{'runAsNonRoot':true}", "{}", 0, -EINVAL, "runAsNonRoot"},
        {"{}", "{'runAsNonRoot':true,'runAsUser':0}", 0, -EINVAL, "runAsNonRoot"},
        {"{'runAsUser':0}", "{'runAsNonRoot':true}", 0, -EINVAL, "runAsNonRoot"},
        {"{'runAsUser':6}", "{}", 5, -ENOTSUP, "runAsUser"},
        {"{'runAsGroup':6}", "{}", 5, -ENOTSUP, "runAsGroup"},
        {"{}", "{'fsGroup':6}", 5, -ENOTSUP, "fsGroup"},
        {"{}", "{'supplementalGroups':[6]}", 5, -ENOTSUP, "supplementalGroups"},
        {"{'runAsUser':5}", "{'runAsNonRoot':true}", 5, 0, NULL},
        {"{}", "{'runAsNonRoot':true}", 5, 0, NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_free char *fields = mem_printf(",'securityContext':%s", ROWS[i].own);
        scoped_free char *spec = mem_printf(",'securityContext':%s", ROWS[i].pods);
        struct launch_node node = NODE;
        node.uid = ROWS[i].node_uid;
        struct made m;
        make_on(&m, fields, spec, &node);
        assert_int_equal(m.r, ROWS[i].code);
        if (m.r < 0 && strstr(m.err.text, ROWS[i].field) == NULL)
            fail_msg("row %zu does not name %s: %s", i, ROWS[i].field, m.err.text);
        made_done(&m);
    }
}

static void test_resources(void **state)
{
    static const struct {
        const char *resources;
        int64_t cpu_request, cpu_limit, memory_request, memory_limit;
        int oom;
    } ROWS[] = {
        {"{}", 0, 0, 0, 0, 999},
        {"{'requests':{'cpu':'100m','memory':'250k'}}", 100, 0, 250000, 0, 750},
        {"{'limits':{'cpu':2,'memory':'500k'}}", 2000, 2000, 500000, 500000, 500},
        {"{'limits':{'cpu':2},'requests':{'cpu':'0.5'}}", 500, 2000, 0, 0, 999},
        {"{'requests':{'memory':'999999'}}", 0, 0, 999999, 0, 3},
        {"{'requests':{'memory':'10G'}}", 0, 0, 10000000000, 0, 3},
        {"{'requests':{'memory':'1'}}", 0, 0, 1, 0, 999},
        {"{'requests':{'cpu':'0.0001'}}", 1, 0, 0, 0, 999},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_free char *fields = mem_printf(",'resources':%s", ROWS[i].resources);
        struct made m;
        make_well(&m, fields, "");
        assert_int_equal(m.launch.cpu_request_milli, ROWS[i].cpu_request);
        assert_int_equal(m.launch.cpu_limit_milli, ROWS[i].cpu_limit);
        assert_int_equal(m.launch.memory_request_bytes, ROWS[i].memory_request);
        assert_int_equal(m.launch.memory_limit_bytes, ROWS[i].memory_limit);
        assert_int_equal(m.launch.oom_score_adj, ROWS[i].oom);
        made_done(&m);
    }
}

static void test_oom_by_class(void **state)
{
    static const struct {
        const char *class;
        int oom;
    } ROWS[] = {{"Guaranteed", -997}, {"BestEffort", 1000}, {"Burstable", 999}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_free char *text = mem_printf(
            "{'metadata':{'name':'a','uid':'u'},'spec':{'containers':[{'name':'m'}]},'status':"
            "{'qosClass':'%s'}}",
            ROWS[i].class);
        scoped_obj *pod = load(&KIND_POD, text);
        struct arena arena = {0};
        struct launch launch;
        yyjson_val *container = yyjson_arr_get(json_at(pod->root, "spec.containers"), 0);
        assert_int_equal(launch_make(&arena, NULL, pod, container, &NODE, &launch, NULL), 0);
        assert_int_equal(launch.oom_score_adj, ROWS[i].oom);
        arena_done(&arena);
    }
}

static void test_plain_fields(void **state)
{
    (void)state;
    struct made m;
    make_well(&m, ",'command':['/bin/x','-a'],'workingDir':'/srv'", "");
    assert_string_equal(m.launch.dir, "/srv");
    assert_string_equal(m.launch.image, "");
    assert_string_equal(m.launch.stop_signal, "SIGTERM");
    assert_int_equal(m.launch.n_mounts, 0);
    made_done(&m);
    make_well(&m, ",'image':'nginx','lifecycle':{'stopSignal':'SIGQUIT'}", "");
    assert_string_equal(m.launch.image, "nginx");
    assert_string_equal(m.launch.stop_signal, "SIGQUIT");
    assert_null(m.launch.dir);
    assert_null(m.launch.argv[0]);
    made_done(&m);
}

/* ---- volumes ---- */

static void mount_well(struct made *m, const char *mount, const char *source)
{
    scoped_free char *fields = mem_printf(
        ",'env':[{'name':'V','value':'v1'}],'volumeMounts':[{'name':'vol','mountPath':'/data'%s}]",
        mount);
    scoped_free char *spec = mem_printf(",'volumes':[{'name':'vol'%s}]", source);
    make_well(m, fields, spec);
    assert_int_equal(m->launch.n_mounts, 1);
    assert_string_equal(m->launch.mounts[0].volume, "vol");
    assert_string_equal(m->launch.mounts[0].path, "/data");
}

static void test_directories(void **state)
{
    (void)state;
    struct made m;
    mount_well(&m, "", ",'emptyDir':{}");
    assert_int_equal(m.launch.mounts[0].type, MOUNT_EMPTY_DIR);
    assert_false(m.launch.mounts[0].is_memory || m.launch.mounts[0].is_read_only);
    assert_null(m.launch.mounts[0].sub_path);
    made_done(&m);
    mount_well(&m, ",'readOnly':true", ",'emptyDir':{'medium':'Memory','sizeLimit':'1Mi'}");
    assert_true(m.launch.mounts[0].is_memory && m.launch.mounts[0].is_read_only);
    assert_int_equal(m.launch.mounts[0].size_bytes, 1048576);
    made_done(&m);
    mount_well(&m, ",'subPath':'a//./b/'", ""); /* no source: an emptyDir */
    assert_int_equal(m.launch.mounts[0].type, MOUNT_EMPTY_DIR);
    assert_string_equal(m.launch.mounts[0].sub_path, "a/b");
    made_done(&m);
    mount_well(&m, ",'subPathExpr':'x/$(V)/$$(V)'",
               ",'hostPath':{'path':'/srv','type':'Directory'}");
    assert_int_equal(m.launch.mounts[0].type, MOUNT_HOST_PATH);
    assert_string_equal(m.launch.mounts[0].host_path, "/srv");
    assert_string_equal(m.launch.mounts[0].host_path_type, "Directory");
    assert_string_equal(m.launch.mounts[0].sub_path, "x/v1/$(V)");
    made_done(&m);
}

static const struct launch_file *file_of(const struct made *m, const char *path)
{
    const struct launch_mount *mount = &m->launch.mounts[0];
    assert_int_equal(mount->type, MOUNT_CONFIG_MAP);
    assert_true(mount->is_read_only);
    for (size_t i = 0; i < mount->n_files; i++) {
        if (str_eq(mount->files[i].path, path))
            return &mount->files[i];
    }
    return NULL;
}

static void test_files(void **state)
{
    static const struct {
        const char *source;
        size_t n_files;
        const char *path, *data;
        int mode;
    } ROWS[] = {
        {"'configMap':{'name':'c'}", 5, "color", "red", 0644},
        {"'configMap':{'name':'c','defaultMode':256}", 5, "size", "9", 0400},
        {"'configMap':{'name':'c','items':[{'key':'size','path':'x/y'}]}", 1, "x/y", "9", 0644},
        {"'configMap':{'name':'c','items':[{'key':'size','path':'y','mode':448}]}", 1, "y", "9",
         0700},
        {"'configMap':{'name':'none','optional':true}", 0, NULL, NULL, 0},
        {"'configMap':{'name':'c','optional':true,'items':[{'key':'none','path':'y'}]}", 0, NULL,
         NULL, 0},
        {"'downwardAPI':{'items':[{'path':'l','fieldRef':{'fieldPath':'metadata.labels'}}]}", 1,
         "l", "a.b/c=\"deep\"\napp=\"shop\"", 0644},
        {"'downwardAPI':{'items':[{'path':'a','fieldRef':{'fieldPath':'metadata.annotations'}}]}",
         1, "a", "note=\"two\\nlines\"\nzone=\"b\"", 0644},
        {"'downwardAPI':{'items':[{'path':'c','resourceFieldRef':{'containerName':'main',"
         "'resource':'limits.cpu'}}]}",
         1, "c", "4", 0644},
        {"'projected':{'defaultMode':384,'sources':[{'configMap':{'name':'c'}},{'configMap':"
         "{'name':'d'}},{'downwardAPI':{'items':[{'path':'n','fieldRef':{'fieldPath':"
         "'metadata.name'}}]}}]}",
         6, "color", "blue", 0600},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_free char *source = mem_printf(",%s", ROWS[i].source);
        struct made m;
        mount_well(&m, "", source);
        assert_int_equal(m.launch.mounts[0].n_files, ROWS[i].n_files);
        if (ROWS[i].path != NULL) {
            const struct launch_file *file = file_of(&m, ROWS[i].path);
            assert_non_null(file);
            assert_int_equal(file->len, strlen(ROWS[i].data));
            assert_memory_equal(file->data, ROWS[i].data, file->len);
            assert_int_equal(file->mode, ROWS[i].mode);
        }
        made_done(&m);
    }
}

static void test_binary_file(void **state)
{
    (void)state;
    struct made m;
    mount_well(&m, "", ",'configMap':{'name':'c'}");
    const struct launch_file *file = file_of(&m, "bin");
    assert_non_null(file);
    assert_int_equal(file->len, 4);
    assert_memory_equal(file->data, "\0\1\2\377", 4);
    made_done(&m);
}

/* One volume at two places: the same files, each with its own path. */
static void test_mounted_twice(void **state)
{
    (void)state;
    struct made m;
    make_well(&m,
              ",'volumeMounts':[{'name':'v','mountPath':'/a','subPath':'x'},{'name':'v',"
              "'mountPath':'b'}]",
              ",'volumes':[{'name':'v','configMap':{'name':'c'}}]");
    assert_int_equal(m.launch.n_mounts, 2);
    assert_ptr_equal(m.launch.mounts[0].files, m.launch.mounts[1].files);
    assert_string_equal(m.launch.mounts[0].sub_path, "x");
    assert_null(m.launch.mounts[1].sub_path);
    assert_string_equal(m.launch.mounts[1].path, "/b");
    made_done(&m);
}

/* ---- what cannot be made ---- */

static void test_errors(void **state)
{
#define MOUNT(more) ",'volumeMounts':[{'name':'v','mountPath':'/a'" more "}]"
#define VOLUME(source) ",'volumes':[{'name':'v'," source "}]"
    static const struct {
        const char *fields, *spec;
        int code;
        const char *text;
    } ROWS[] = {
        {",'env':[" KEY("none", "x", "") "]", "", -ENOENT, "ConfigMap prod/none"},
        {",'env':[" KEY("far", "color", "") "]", "", -ENOENT,
         "spec.containers[0].env[0].valueFrom.configMapKeyRef"},
        {",'env':[" KEY("c", "gone", "") "]", "", -ENOENT, "no key gone"},
        {",'env':[" KEY("c", "bin", "") "]", "", -ENOENT, "no key bin"},
        {",'env':[{'name':'a=b','value':'x'}]", "", -EINVAL, "env[0].name"},
        {",'env':[{'name':'X','valueFrom':{'secretKeyRef':{'name':'s','key':'k'}}}]", "", -ENOTSUP,
         "env[0].valueFrom"},
        {",'env':[" FIELD("metadata.labels") "]", "", -ENOTSUP, "metadata.labels cannot be read"},
        {",'env':[" FIELD("spec.hostNetwork") "]", "", -ENOTSUP, "spec.hostNetwork"},
        {",'env':[" AMOUNT("limits.gpu", "1") "]", "", -ENOTSUP, "limits.gpu"},
        {",'env':[" AMOUNT("cpu", "1") "]", "", -ENOTSUP, "resourceFieldRef.resource"},
        {",'env':[{'name':'X','valueFrom':{'resourceFieldRef':{'containerName':'no','resource':"
         "'limits.cpu'}}}]",
         "", -EINVAL, "called no"},
        {",'envFrom':[{'configMapRef':{'name':'none'}}]", "", -ENOENT, "envFrom[0].configMapRef"},
        {",'envFrom':[{'secretRef':{'name':'s'}}]", "", -ENOTSUP, "envFrom[0]"},
        {MOUNT(""), VOLUME("'configMap':{'name':'none'}"), -ENOENT, "spec.volumes[0].configMap"},
        {MOUNT(""), VOLUME("'configMap':{'name':'c','items':[{'key':'no','path':'x'}]}"), -ENOENT,
         "items[0]"},
        {MOUNT(""), VOLUME("'configMap':{'name':'c','items':[{'key':'A','path':'../x'}]}"), -EINVAL,
         "../x"},
        {MOUNT(""), VOLUME("'configMap':{'name':'c','items':[{'key':'A','path':'/x'}]}"), -EINVAL,
         "/x"},
        {MOUNT(""), VOLUME("'configMap':{'name':'c','items':[{'key':'A','path':'..data'}]}"),
         -EINVAL, "..data"},
        {MOUNT(""), VOLUME("'hostPath':{'path':'/a/../b'}"), -EINVAL, "hostPath.path"},
        {MOUNT(""), VOLUME("'hostPath':{'path':'a'}"), -EINVAL, "hostPath.path"},
        {MOUNT(""), VOLUME("'secret':{'secretName':'s'}"), -ENOTSUP, "spec.volumes[0]"},
        {MOUNT(""), VOLUME("'projected':{'sources':[{'secret':{'name':'s'}}]}"), -ENOTSUP,
         "sources[0]"},
        {MOUNT(",'subPath':'../up'"), VOLUME("'emptyDir':{}"), -EINVAL, "volumeMounts[0]"},
        {MOUNT(",'subPath':'/abs'"), VOLUME("'emptyDir':{}"), -EINVAL, "/abs"},
        {MOUNT(",'subPath':'a/../../b'"), VOLUME("'emptyDir':{}"), -EINVAL, "a/../../b"},
        {MOUNT(",'subPathExpr':'$(NO)'"), VOLUME("'emptyDir':{}"), -EINVAL, "no variable NO"},
        {MOUNT(""), "", -EINVAL, "no volume v"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct made m;
        make(&m, ROWS[i].fields, ROWS[i].spec);
        if (m.r != ROWS[i].code || strstr(m.err.text, ROWS[i].text) == NULL)
            fail_msg("row %zu: %d %s", i, m.r, m.err.text);
        made_done(&m);
    }
}

/* ---- what a process cannot have ---- */

static int supported(const char *fields, const char *spec, bool ignore, struct err *err)
{
    *err = (struct err){0};
    scoped_obj *pod = pod_of(fields, spec);
    return launch_supported(pod, ignore, err);
}

static void test_refused_fields(void **state)
{
#define C "spec.containers[0]."
#define CONTEXT(field) ",'securityContext':{" field "}"
    static const struct {
        const char *fields, *spec, *path;
    } ROWS[] = {
        {",'image':'nginx:1'", "", C "image"},
        {"", ",'initContainers':[{'name':'i','image':'x'}]", "spec.initContainers[0].image"},
        {"", ",'ephemeralContainers':[{'name':'e'}]", "spec.ephemeralContainers"},
        {"", ",'os':{'name':'windows'}", "spec.os.name"},
        {"", ",'runtimeClassName':'gvisor'", "spec.runtimeClassName"},
        {"", ",'resourceClaims':[{'name':'g'}]", "spec.resourceClaims"},
        {"", ",'hostUsers':false", "spec.hostUsers"},
        {"", ",'shareProcessNamespace':true", "spec.shareProcessNamespace"},
        {"", ",'hostnameOverride':'x'", "spec.hostnameOverride"},
        {"", ",'setHostnameAsFQDN':true", "spec.setHostnameAsFQDN"},
        {"", ",'hostAliases':[{'ip':'1.2.3.4'}]", "spec.hostAliases"},
        {"", ",'dnsConfig':{'searches':['x']}", "spec.dnsConfig"},
        {"", ",'dnsPolicy':'None'", "spec.dnsPolicy"},
        {"", CONTEXT("'seLinuxOptions':{'user':'u'}"), "spec.securityContext.seLinuxOptions"},
        {"", CONTEXT("'seccompProfile':{'type':'RuntimeDefault'}"),
         "spec.securityContext.seccompProfile.type"},
        {"", CONTEXT("'appArmorProfile':{'type':'Localhost'}"),
         "spec.securityContext.appArmorProfile.type"},
        {"", CONTEXT("'windowsOptions':{'hostProcess':true}"),
         "spec.securityContext.windowsOptions"},
        {"", CONTEXT("'sysctls':[{'name':'a','value':'1'}]"), "spec.securityContext.sysctls"},
        {"", VOLUME("'emptyDir':{'medium':'HugePages'}"), "spec.volumes[0].emptyDir.medium"},
        {"", VOLUME("'secret':{'secretName':'s'}"), "spec.volumes[0].secret"},
        {"", VOLUME("'persistentVolumeClaim':{'claimName':'s'}"),
         "spec.volumes[0].persistentVolumeClaim"},
        {"", VOLUME("'csi':{'driver':'s'}"), "spec.volumes[0].csi"},
        {"", VOLUME("'nfs':{'server':'s'}"), "spec.volumes[0].nfs"},
        {"", VOLUME("'image':{'reference':'s'}"), "spec.volumes[0].image"},
        {"", VOLUME("'projected':{'sources':[{'configMap':{}},{'secret':{}}]}"),
         "spec.volumes[0].projected.sources[1].secret"},
        {"", VOLUME("'projected':{'sources':[{'serviceAccountToken':{'path':'t'}}]}"),
         "spec.volumes[0].projected.sources[0].serviceAccountToken"},
        {"", VOLUME("'projected':{'sources':[{'clusterTrustBundle':{'path':'t'}}]}"),
         "spec.volumes[0].projected.sources[0].clusterTrustBundle"},
        {"", VOLUME("'projected':{'sources':[{'podCertificate':{'path':'t'}}]}"),
         "spec.volumes[0].projected.sources[0].podCertificate"},
        {",'env':[{'name':'A'},{'name':'B','valueFrom':{'secretKeyRef':{'key':'k'}}}]", "",
         C "env[1].valueFrom.secretKeyRef"},
        {",'env':[{'name':'B','valueFrom':{'fileKeyRef':{'key':'k'}}}]", "",
         C "env[0].valueFrom.fileKeyRef"},
        {",'envFrom':[{'secretRef':{'name':'s'}}]", "", C "envFrom[0].secretRef"},
        {",'livenessProbe':{'grpc':{'port':1}}", "", C "livenessProbe.grpc"},
        {",'readinessProbe':{'grpc':{'port':1}}", "", C "readinessProbe.grpc"},
        {",'startupProbe':{'grpc':{'port':1}}", "", C "startupProbe.grpc"},
        {",'lifecycle':{'postStart':{'exec':{}}}", "", C "lifecycle.postStart"},
        {",'lifecycle':{'preStop':{'tcpSocket':{'port':1}}}", "", C "lifecycle.preStop.tcpSocket"},
        {",'volumeDevices':[{'name':'d'}]", "", C "volumeDevices"},
        {",'resources':{'claims':[{'name':'g'}]}", "", C "resources.claims"},
        {MOUNT(",'mountPropagation':'Bidirectional'"), "", C "volumeMounts[0].mountPropagation"},
        {MOUNT(",'mountPropagation':'HostToContainer'"), "", C "volumeMounts[0].mountPropagation"},
        {MOUNT(",'recursiveReadOnly':'Enabled'"), "", C "volumeMounts[0].recursiveReadOnly"},
        {",'stdin':true", "", C "stdin"},
        {",'tty':true", "", C "tty"},
        {",'ports':[{'containerPort':80},{'containerPort':80,'hostPort':81}]", "",
         C "ports[1].hostPort"},
        {CONTEXT("'privileged':true"), "", C "securityContext.privileged"},
        {CONTEXT("'capabilities':{'add':['X']}"), "", C "securityContext.capabilities.add"},
        {CONTEXT("'capabilities':{'drop':['ALL']}"), "", C "securityContext.capabilities.drop"},
        {CONTEXT("'allowPrivilegeEscalation':false"), "",
         C "securityContext.allowPrivilegeEscalation"},
        {CONTEXT("'readOnlyRootFilesystem':true"), "", C "securityContext.readOnlyRootFilesystem"},
        {CONTEXT("'procMount':'Unmasked'"), "", C "securityContext.procMount"},
        {CONTEXT("'seLinuxOptions':{'user':'u'}"), "", C "securityContext.seLinuxOptions"},
        {CONTEXT("'seccompProfile':{'type':'Localhost'}"), "",
         C "securityContext.seccompProfile.type"},
        {CONTEXT("'appArmorProfile':{'type':'RuntimeDefault'}"), "",
         C "securityContext.appArmorProfile.type"},
        {CONTEXT("'windowsOptions':{'hostProcess':true}"), "", C "securityContext.windowsOptions"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct err err;
        int r = supported(ROWS[i].fields, ROWS[i].spec, false, &err);
        scoped_free char *start = mem_printf("%s: ", ROWS[i].path);
        if (r != -ENOTSUP || !str_starts(err.text, start) || err.hint[0] == '\0')
            fail_msg("row %zu, %s: %d %s (%s)", i, ROWS[i].path, r, err.text, err.hint);
    }
}

static void test_fine_fields(void **state)
{
    static const struct {
        const char *fields, *spec;
    } ROWS[] = {
        {"", ""},
        {",'image':''", ""},
        {"", ",'hostNetwork':true,'hostPID':true,'hostIPC':true,'hostUsers':true"},
        {"", ",'hostNetwork':false,'shareProcessNamespace':false,'setHostnameAsFQDN':false"},
        {"", ",'dnsPolicy':'ClusterFirst','enableServiceLinks':true,'hostname':'x'"},
        {"", ",'dnsPolicy':'ClusterFirstWithHostNet','subdomain':'x','hostAliases':[]"},
        {"", ",'os':{'name':'linux'},'runtimeClassName':'process','serviceAccountName':'a'"},
        {"", ",'imagePullSecrets':[{'name':'s'}],'automountServiceAccountToken':false"},
        {"", CONTEXT("'seccompProfile':{'type':'Unconfined'},'fsGroup':3,'runAsUser':2")},
        {"", VOLUME("'emptyDir':{'medium':'Memory'}")},
        {"", VOLUME("'hostPath':{'path':'/x'}")},
        {"", VOLUME("'downwardAPI':{'items':[]}")},
        {",'livenessProbe':{'httpGet':{'port':1}},'readinessProbe':{'exec':{}}", ""},
        {",'lifecycle':{'preStop':{'exec':{}},'stopSignal':'SIGINT'}", ""},
        {",'terminationMessagePath':'/dev/x','stdin':false,'tty':false", ""},
        {",'ports':[{'containerPort':80,'hostPort':80}]", ""},
        {CONTEXT("'privileged':false,'allowPrivilegeEscalation':true"), ""},
        {CONTEXT("'capabilities':{},'procMount':'Default'"), ""},
        {MOUNT(",'mountPropagation':'None','recursiveReadOnly':'IfPossible'"), ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        struct err err;
        if (supported(ROWS[i].fields, ROWS[i].spec, false, &err) != 0)
            fail_msg("row %zu: %s", i, err.text);
    }
}

static void test_ignored_images(void **state)
{
    (void)state;
    struct err err;
    assert_int_equal(supported(",'image':'x','command':['a']", "", true, &err), 0);
    assert_int_equal(supported(",'image':'x','args':['a']", "", true, &err), -ENOTSUP);
    assert_true(str_starts(err.text, "spec.containers[0].command: "));
    static const struct {
        const char *value;
        int r;
    } ROWS[] = {{"process", 0}, {"docker", -ENOTSUP}};
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_free char *text = mem_printf(
            "{'metadata':{'name':'a','uid':'u','annotations':{'muster.dev/runtime':'%s'}},'spec':"
            "{'containers':[{'name':'m','image':'x','command':['a']}]}}",
            ROWS[i].value);
        scoped_obj *pod = load(&KIND_POD, text);
        assert_int_equal(launch_supported(pod, false, &err), ROWS[i].r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expansion),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_labels_in_environment),
        cmocka_unit_test(test_environment_defaults),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_refused_identity),
        cmocka_unit_test(test_resources),
        cmocka_unit_test(test_oom_by_class),
        cmocka_unit_test(test_plain_fields),
        cmocka_unit_test(test_directories),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_binary_file),
        cmocka_unit_test(test_mounted_twice),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_refused_fields),
        cmocka_unit_test(test_fine_fields),
        cmocka_unit_test(test_ignored_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
/* The environment of a container. Later sources win over earlier ones: what the node gives, what
 * muster says about the pod, envFrom in order, env in order. A variable may use those declared
 * before it; one that is declared later, or not at all, is left as it is written, so that a dollar
 * sign that was meant for a shell stays one. */
#include "base/mem.h"
#include "control/pods/companion.h"
#include "control/pods/hosts.h"
#include "control/pods/launch_internal.h"
#include <errno.h>
#include <string.h>

#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* ---- the variables ---- */

static struct env_var *env_find(const struct env *env, const char *name)
{
    size_t at = (size_t)(uintptr_t)map_get(env->index, name);
    return at > 0 ? &env->vars.items[at - 1] : NULL;
}

static void env_put(struct env *env, struct env_var var)
{
    struct env_var *old = env_find(env, var.name);
    if (old != NULL) {
        *old = var;
        return;
    }
    vec_push(&env->vars, var);
    (void)map_put(env->index, var.name, (void *)(uintptr_t)env->vars.len);
}

static void env_declare(struct launching *l, const char *name, const char *value)
{
    env_put(&l->env, (struct env_var){name, value != NULL ? value : "", true});
}

void env_done(struct env *env)
{
    vec_done(&env->vars);
    map_free(env->index);
    env->index = NULL;
}

/* ---- $(NAME) ---- */

static void add_reference(const struct launching *l, struct sv name, struct str *out,
                          const char **ret_unknown)
{
    scoped_free char *key = mem_strndup(name.ptr, name.len);
    const struct env_var *var = env_find(&l->env, key);
    if (var != NULL && var->is_declared) {
        str_add(out, var->value);
        return;
    }
    str_addf(out, "$(%s)", key);
    if (ret_unknown != NULL && *ret_unknown == NULL)
        *ret_unknown = arena_strdup(l->arena, key);
}

/* Adds what begins with the dollar at `text`; returns how many characters that were. */
static size_t add_dollar(const struct launching *l, const char *text, struct str *out,
                         const char **ret_unknown)
{
    const char *close = text[1] == '(' ? strchr(text + 2, ')') : NULL;
    if (close != NULL) {
        add_reference(l, (struct sv){text + 2, (size_t)(close - text - 2)}, out, ret_unknown);
        return (size_t)(close - text) + 1;
    }
    str_addc(out, '$');
    if (text[1] == '\0')
        return 1;
    if (text[1] != '$')
        str_addc(out, text[1]);
    return 2;
}

const char *env_expand(const struct launching *l, const char *text, const char **ret_unknown)
{
    if (strchr(text, '$') == NULL)
        return arena_strdup(l->arena, text);
    scoped_str out = {0};
    while (*text != '\0') {
        size_t plain = strcspn(text, "$");
        str_addn(&out, text, plain);
        text += plain;
        if (*text != '\0')
            text += add_dollar(l, text, &out, ret_unknown);
    }
    return arena_strdup(l->arena, str_text(&out));
}

/* ---- what a process has without being told ---- */

static bool is_other_user(const struct launching *l)
{
    return l->out.uid >= 0 && l->out.uid != l->node->uid;
}

/* Home and name of the supervisor's user are wrong for any other. */
static bool is_personal(const char *assignment)
{
    return str_starts(assignment, "HOME=") || str_starts(assignment, "USER=") ||
           str_starts(assignment, "LOGNAME=");
}

static void add_base(struct launching *l)
{
    if (l->node->base_env == NULL)
        return;
    env_put(&l->env, (struct env_var){"PATH", PATH_DEFAULT, false});
    if (is_other_user(l))
        env_put(&l->env, (struct env_var){"HOME", "/", false});
    for (const char *const *at = l->node->base_env; *at != NULL; at++) {
        const char *sign = strchr(*at, '=');
        if (sign == NULL || (is_other_user(l) && is_personal(*at)))
            continue;
        const char *name = arena_strndup(l->arena, *at, (size_t)(sign - *at));
        env_put(&l->env, (struct env_var){name, arena_strdup(l->arena, sign + 1), false});
    }
}

static const char *copy(const struct launching *l, const char *text)
{
    return text != NULL ? arena_strdup(l->arena, text) : "";
}

static void add_identity(struct launching *l)
{
    const char *host = json_str_at(l->spec, "hostname");
    if (host == NULL || *host == '\0')
        host = l->pod->meta.name;
    env_put(&l->env, (struct env_var){"HOSTNAME", copy(l, host), false});
    env_declare(l, "MUSTER_POD", copy(l, l->pod->meta.name));
    env_declare(l, "MUSTER_POD_UID", copy(l, l->pod->meta.uid));
    env_declare(l, "MUSTER_NAMESPACE", copy(l, obj_namespace(l->pod)));
    env_declare(l, "MUSTER_CONTAINER", copy(l, json_str_at(l->container, "name")));
}

/* What an agent would otherwise have to be told in each manifest. The token speaks for this one pod
 * only, and no other container sees it. */
static void add_companion(struct launching *l)
{
    const struct launch_agents *agents = &l->node->agents;
    const char *jobset = companion_jobset(l->pod);
    if (agents->socket == NULL || jobset == NULL || !companion_is(l->container))
        return;
    scoped_str token = {0};
    agents->make_token(agents->arg, l->pod, jobset, &token);
    env_declare(l, "MUSTER_SOCKET", copy(l, agents->socket));
    env_declare(l, "MUSTER_TOKEN", copy(l, str_text(&token)));
    env_declare(l, "MUSTER_JOBSET", copy(l, jobset));
    env_declare(l, "MUSTER_BARRIER_ADDRESS", companion_address(l->arena, l->pod));
}

static void add_hosts(struct launching *l)
{
    const struct obj *set = hosts_set(l->node, l->cache, l->pod);
    if (set != NULL)
        env_declare(l, "MUSTER_HOSTS_FILE",
                    arena_printf(l->arena, "%s/%s", l->node->hosts_dir, set->meta.uid));
}

/* ---- envFrom ---- */

static int add_all_of(struct launching *l, yyjson_val *source, const char *where, struct err *err)
{
    scoped_free char *place = mem_printf("%s.configMapRef", where);
    yyjson_val *config = NULL;
    int r = mounts_config(l, yyjson_obj_get(source, "configMapRef"), place, &config, err);
    if (r < 0)
        return r;
    const char *prefix = json_str_at(source, "prefix");
    yyjson_val *data = yyjson_obj_get(config, "data");
    size_t i, n;
    yyjson_val *key, *val;
    if (!yyjson_is_obj(data))
        return 0;
    yyjson_obj_foreach(data, i, n, key, val)
    {
        const char *name =
            arena_printf(l->arena, "%s%s", prefix != NULL ? prefix : "", yyjson_get_str(key));
        if (format_problem(FMT_ENV_NAME, name, strlen(name)) == NULL)
            env_declare(l, name, copy(l, yyjson_get_str(val)));
    }
    return 0;
}

static int add_from(struct launching *l, struct err *err)
{
    size_t i, n;
    yyjson_val *source;
    yyjson_arr_foreach(yyjson_obj_get(l->container, "envFrom"), i, n, source)
    {
        scoped_free char *where = mem_printf("%s.envFrom[%zu]", l->where, i);
        if (yyjson_obj_get(source, "configMapRef") == NULL)
            return err_set(err, -ENOTSUP, "%s: only configMapRef can be read here", where);
        int r = add_all_of(l, source, where, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- env ---- */

/* NULL and 0: the entry is optional and missing; the variable is then not set at all. */
static int config_value(const struct launching *l, yyjson_val *ref, const char *where,
                        const char **ret_value, struct err *err)
{
    yyjson_val *config = NULL;
    int r = mounts_config(l, ref, where, &config, err);
    if (r < 0 || config == NULL)
        return r;
    const char *key = json_str_at(ref, "key");
    yyjson_val *val = yyjson_obj_get(yyjson_obj_get(config, "data"), key != NULL ? key : "");
    if (val != NULL)
        *ret_value = copy(l, yyjson_get_str(val));
    if (val != NULL || yyjson_get_bool(yyjson_obj_get(ref, "optional")))
        return 0;
    r = err_set(err, -ENOENT, "%s: ConfigMap %s/%s has no key %s in its data", where,
                obj_namespace(l->pod), json_str_at(ref, "name"), key != NULL ? key : "\"\"");
    (void)err_hint(err,
                   "add the key, or set optional: true; the container starts once it is there");
    return r;
}

static int source_value(const struct launching *l, yyjson_val *from, const char *where,
                        const char **ret_value, struct err *err)
{
    static const struct {
        const char *name;
        int (*read)(const struct launching *l, yyjson_val *ref, const char *where,
                    const char **ret_value, struct err *err);
    } SOURCES[] = {
        {"fieldRef", fields_value},
        {"resourceFieldRef", fields_resource},
        {"configMapKeyRef", config_value},
    };
    for (size_t i = 0; i < ARRAY_LEN(SOURCES); i++) {
        yyjson_val *ref = yyjson_obj_get(from, SOURCES[i].name);
        if (!yyjson_is_obj(ref))
            continue;
        scoped_free char *place = mem_printf("%s.valueFrom.%s", where, SOURCES[i].name);
        return SOURCES[i].read(l, ref, place, ret_value, err);
    }
    return err_set(err, -ENOTSUP,
                   "%s.valueFrom: only fieldRef, resourceFieldRef and configMapKeyRef can be read "
                   "here",
                   where);
}

static int add_var(struct launching *l, yyjson_val *item, const char *where, struct err *err)
{
    const char *name = json_str_at(item, "name");
    const char *text = json_str_at(item, "value");
    yyjson_val *from = yyjson_obj_get(item, "valueFrom");
    if (name == NULL || format_problem(FMT_ENV_NAME, name, strlen(name)) != NULL)
        return err_set(err, -EINVAL, "%s.name: no name of a variable", where);
    const char *value = NULL;
    if (text != NULL && *text != '\0') {
        value = env_expand(l, text, NULL);
    } else if (yyjson_is_obj(from)) {
        int r = source_value(l, from, where, &value, err);
        if (r < 0 || value == NULL)
            return r;
    }
    env_declare(l, copy(l, name), value);
    return 0;
}

static int add_own(struct launching *l, struct err *err)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(yyjson_obj_get(l->container, "env"), i, n, item)
    {
        scoped_free char *where = mem_printf("%s.env[%zu]", l->where, i);
        int r = add_var(l, item, where, err);
        if (r < 0)
            return r;
    }
    return 0;
}

int env_make(struct launching *l, struct err *err)
{
    l->env.index = map_new();
    add_base(l);
    add_identity(l);
    add_companion(l);
    add_hosts(l);
    int r = add_from(l, err);
    if (r >= 0)
        r = add_own(l, err);
    if (r < 0)
        return r;
    const char **envp = arena_alloc(l->arena, (l->env.vars.len + 1) * sizeof(*envp));
    for (size_t i = 0; i < l->env.vars.len; i++) {
        const struct env_var *var = &l->env.vars.items[i];
        envp[i] = arena_printf(l->arena, "%s=%s", var->name, var->value);
    }
    l->out.envp = envp;
    return 0;
}

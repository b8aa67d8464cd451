// SPDX-License-Identifier: Apache-2.0
/* The names of a JobSet's members, as /etc/hosts has them. They are written once for all of its
 * pods, and again when its spec has changed: a member costs a look into two maps. */
#include "control/pods/hosts.h"
#include "base/mem.h"
#include "control/pods/runner_internal.h"
#include "model/jobset.h"

#define JOB_MEMBERS_MAX 100000

struct hosts { /* of one JobSet */
    char *uid;
    size_t n_pods;
    int64_t generation; /* of the spec from which its names are */
};

/* ---- the text ---- */

static const char *domain_of(const struct obj *jobset)
{
    const char *given = json_str_at(jobset->root, "spec.network.subdomain");
    return given != NULL && *given != '\0' ? given : jobset->meta.name;
}

/* "127.0.0.1\tSET-ROLE-JOB-INDEX.SUBDOMAIN SET-ROLE-JOB-INDEX" */
static void add_job(const struct obj *jobset, yyjson_val *role, int64_t job, const char *address,
                    struct str *out)
{
    int64_t members = json_int_at(role, "template.spec.completions",
                                  json_int_at(role, "template.spec.parallelism", 1));
    const char *name = json_str_at(role, "name");
    for (int64_t i = 0; i < members && i < JOB_MEMBERS_MAX; i++) {
        scoped_str host = {0};
        str_addf(&host, "%s-%s-%lld-%lld", jobset->meta.name, name, (long long)job, (long long)i);
        str_addf(out, "%s\t%s.%s %s\n", address, str_text(&host), domain_of(jobset),
                 str_text(&host));
    }
}

static void add_names(const struct obj *jobset, const char *address, struct str *out)
{
    str_addf(out, "# members of JobSet %s/%s\n127.0.0.1\tlocalhost\n::1\tlocalhost\n",
             obj_namespace(jobset), jobset->meta.name);
    size_t i, n;
    yyjson_val *role;
    yyjson_arr_foreach(json_at(jobset->root, "spec.replicatedJobs"), i, n, role)
    {
        int64_t jobs = json_int_at(role, "replicas", 1);
        for (int64_t job = 0; job < jobs; job++)
            add_job(jobset, role, job, address, out);
    }
}

/* ---- the file ---- */

const struct obj *hosts_set(const struct launch_node *node, const struct cache *cache,
                            const struct obj *pod)
{
    const char *uid = yyjson_get_str(yyjson_obj_get(pod->meta.labels, JOBSET_LABEL_UID));
    if (uid == NULL || node->hosts_dir == NULL || node->pod_ip == NULL)
        return NULL;
    const struct obj *set = cache_by_uid(cache, uid);
    if (set == NULL || set->kind != &KIND_JOBSET || !str_eq(obj_namespace(set), obj_namespace(pod)))
        return NULL;
    yyjson_val *wanted = json_at(set->root, "spec.network.enableDNSHostnames");
    return wanted == NULL || yyjson_get_bool(wanted) ? set : NULL;
}

static void write_names(struct runner *runner, struct hosts *hosts, const struct obj *set)
{
    struct runtime *runtime = runner->options.runtime;
    scoped_str text = {0};
    hosts->generation = set->meta.generation;
    add_names(set, runner->options.launch.pod_ip, &text);
    runtime->ops->hosts(runtime, hosts->uid, str_text(&text));
}

void hosts_enter(struct rpod *pod)
{
    struct runner *runner = pod->runner;
    const struct obj *set =
        hosts_set(&runner->options.launch, control_world(runner->control)->cache, pod->obj);
    if (set == NULL || pod->hosts != NULL || runner->options.runtime->ops->hosts == NULL)
        return;
    struct hosts *hosts = map_get(runner->hosts, set->meta.uid);
    if (hosts == NULL) {
        hosts = mem_zalloc(sizeof(*hosts));
        hosts->uid = mem_strdup(set->meta.uid);
        (void)map_put(runner->hosts, hosts->uid, hosts);
        write_names(runner, hosts, set);
    }
    hosts->n_pods++;
    pod->hosts = hosts;
}

void hosts_leave(struct rpod *pod)
{
    struct runner *runner = pod->runner;
    struct runtime *runtime = runner->options.runtime;
    struct hosts *hosts = take_ptr(pod->hosts);
    if (hosts == NULL || --hosts->n_pods > 0)
        return;
    if (runner->control != NULL)
        runtime->ops->hosts(runtime, hosts->uid, NULL);
    (void)map_del(runner->hosts, hosts->uid);
    mem_free(hosts->uid);
    mem_free(hosts);
}

void hosts_on_jobset(struct runner *runner, const struct obj *set)
{
    struct hosts *hosts = map_get(runner->hosts, set->meta.uid);
    if (hosts != NULL && hosts->generation != set->meta.generation)
        write_names(runner, hosts, set);
}

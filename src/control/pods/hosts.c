// SPDX-License-Identifier: Apache-2.0
/* The names of a JobSet's members, as /etc/hosts has them. */
#include "control/pods/gang.h"

#define JOB_MEMBERS_MAX 100000

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

bool hosts_make(const struct obj *jobset, const char *address, struct str *out)
{
    yyjson_val *wanted = json_at(jobset->root, "spec.network.enableDNSHostnames");
    if (address == NULL || (wanted != NULL && !yyjson_get_bool(wanted)))
        return false;
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
    return true;
}

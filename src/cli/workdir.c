// SPDX-License-Identifier: Apache-2.0
#include "cli/workdir.h"
#include "base/json.h"
#include "base/mem.h"

static void fill_list(yyjson_mut_doc *doc, yyjson_mut_val *containers, const char *dir)
{
    size_t i, n;
    yyjson_mut_val *container;
    yyjson_mut_arr_foreach(containers, i, n, container)
    {
        if (yyjson_mut_is_obj(container) && yyjson_mut_obj_get(container, "workingDir") == NULL)
            json_mut_put(doc, container, "workingDir", yyjson_mut_strcpy(doc, dir));
    }
}

/* The way from an object to its pods goes through these only; depth is limited by the parser. */
static void fill(yyjson_mut_doc *doc, yyjson_mut_val *val, const char *dir)
{
    static const char *const LISTS[] = {"initContainers", "containers"};
    static const char *const STEPS[] = {"spec", "template"};
    for (size_t i = 0; i < ARRAY_LEN(LISTS); i++)
        fill_list(doc, yyjson_mut_obj_get(val, LISTS[i]), dir);
    for (size_t i = 0; i < ARRAY_LEN(STEPS); i++) {
        yyjson_mut_val *next = yyjson_mut_obj_get(val, STEPS[i]);
        if (next != NULL)
            fill(doc, next, dir);
    }
    size_t i, n;
    yyjson_mut_val *one;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(val, "replicatedJobs"), i, n, one)
    {
        fill(doc, one, dir);
    }
}

void workdir_fill(yyjson_mut_doc *doc, const char *dir)
{
    fill(doc, yyjson_mut_doc_get_root(doc), dir);
}

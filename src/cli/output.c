// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"
#include "base/mem.h"
#include "base/vec.h"
#include "model/manifest.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const OUTPUT_FORMATS[] = {"table", "wide", "yaml", "json", "name", "jsonpath=", NULL};

int output_parse(struct cli *cli, struct output *ret_output)
{
    const char *text = opt_get(&cli->opts, "output");
    struct output output = {OUTPUT_TABLE, NULL};
    if (text == NULL)
        text = "table";
    if (str_starts(text, "jsonpath=")) {
        struct err err = {0};
        output.format = OUTPUT_JSONPATH;
        if (jsonpath_parse(sv_of(text + strlen("jsonpath=")), &output.path, &err) < 0)
            return cli_error(cli, CLI_USAGE, &err);
    } else {
        while (!str_eq(OUTPUT_FORMATS[output.format], text))
            output.format++; /* the option table lets nothing else through */
    }
    *ret_output = output;
    return CLI_OK;
}

void output_done(struct output *output)
{
    jsonpath_free(output->path);
}

static void print_name(yyjson_val *object, struct str *out)
{
    const char *api = json_str_at(object, "apiVersion");
    const char *word = json_str_at(object, "kind");
    const char *name = json_str_at(object, "metadata.name");
    const struct kind *kind = api && word ? kind_of_api(api, word) : NULL;
    if (kind != NULL)
        target_label(kind, out);
    else
        str_add(out, word);
    str_addf(out, "/%s\n", name ? name : "");
}

static void print_names(yyjson_val *object, struct str *out)
{
    yyjson_val *items = yyjson_obj_get(object, "items");
    if (!str_eq(json_str_at(object, "kind"), "List") || items == NULL) {
        print_name(object, out);
        return;
    }
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(items, i, n, item)
    {
        print_name(item, out);
    }
}

int output_object(struct cli *cli, const struct output *output, yyjson_val *object)
{
    struct err err = {0};
    scoped_str text = {0};
    int r = 0;
    if (output->format == OUTPUT_YAML) {
        yaml_write(object, &text);
    } else if (output->format == OUTPUT_NAME) {
        print_names(object, &text);
    } else if (output->format == OUTPUT_JSONPATH) {
        r = jsonpath_print(output->path, object, &text, &err);
    } else {
        json_write_val_pretty(object, &text);
        if (text.len > 0 && text.data[text.len - 1] != '\n')
            str_addc(&text, '\n');
    }
    if (r < 0)
        return cli_error(cli, CLI_FAILED, &err);
    cli_print(cli, &text);
    return CLI_OK;
}

void gather_init(struct gather *gather)
{
    gather->doc = yyjson_mut_doc_new(NULL);
    gather->items = yyjson_mut_arr(gather->doc);
}

void gather_add(struct gather *gather, const struct kind *kind, yyjson_val *object)
{
    char api[128];
    yyjson_mut_val *copy = yyjson_val_mut_copy(gather->doc, object);
    if (!yyjson_mut_is_obj(copy))
        return;
    if (yyjson_mut_obj_get(copy, "kind") == NULL) {
        yyjson_mut_obj_insert(copy, yyjson_mut_str(gather->doc, "kind"),
                              yyjson_mut_str(gather->doc, kind->name), 0);
        yyjson_mut_obj_insert(copy, yyjson_mut_str(gather->doc, "apiVersion"),
                              yyjson_mut_strcpy(gather->doc, kind_api_version(kind, api)), 0);
    }
    /* Bookkeeping of the server, longer than the object and of no use to people. */
    yyjson_mut_val *metadata = yyjson_mut_obj_get(copy, "metadata");
    if (yyjson_mut_is_obj(metadata))
        (void)yyjson_mut_obj_remove_key(metadata, "managedFields");
    yyjson_mut_arr_append(gather->items, copy);
}

static yyjson_mut_val *make_list(struct gather *gather)
{
    yyjson_mut_doc *doc = gather->doc;
    yyjson_mut_val *list = yyjson_mut_obj(doc);
    yyjson_mut_obj_add_str(doc, list, "apiVersion", "v1");
    yyjson_mut_obj_add_val(doc, list, "items", gather->items);
    yyjson_mut_obj_add_str(doc, list, "kind", "List");
    yyjson_mut_val *metadata = yyjson_mut_obj_add_obj(doc, list, "metadata");
    yyjson_mut_obj_add_str(doc, metadata, "resourceVersion", "");
    return list;
}

static int key_cmp(const void *a, const void *b)
{
    return strcmp(yyjson_mut_get_str(*(yyjson_mut_val *const *)a),
                  yyjson_mut_get_str(*(yyjson_mut_val *const *)b));
}

static void sort_keys(yyjson_mut_val *val);

static void sort_object(yyjson_mut_val *object)
{
    VEC(yyjson_mut_val *) keys = {0};
    VEC(yyjson_mut_val *) values = {0};
    size_t i, n;
    yyjson_mut_val *key, *val;
    yyjson_mut_obj_foreach(object, i, n, key, val)
    {
        vec_push(&keys, key);
        sort_keys(val);
    }
    if (keys.len > 0)
        qsort(keys.items, keys.len, sizeof(*keys.items), key_cmp);
    for (size_t k = 0; k < keys.len; k++)
        vec_push(&values, yyjson_mut_obj_iter_get_val(keys.items[k]));
    (void)yyjson_mut_obj_clear(object); /* fails for what is no object only */
    for (size_t k = 0; k < keys.len; k++)
        (void)yyjson_mut_obj_add(object, keys.items[k], values.items[k]);
    vec_done(&keys);
    vec_done(&values);
}

/* By name, as kubectl prints them; recursion is bounded by the depth the parser lets through. */
static void sort_keys(yyjson_mut_val *val)
{
    size_t i, n;
    yyjson_mut_val *item;
    if (yyjson_mut_is_obj(val))
        sort_object(val);
    yyjson_mut_arr_foreach(val, i, n, item)
    {
        sort_keys(item);
    }
}

int gather_print(struct cli *cli, struct gather *gather, bool single, const struct output *output)
{
    yyjson_mut_val *root = single ? yyjson_mut_arr_get_first(gather->items) : make_list(gather);
    if (root == NULL)
        return CLI_OK;
    sort_keys(root);
    scoped_json *doc = yyjson_mut_val_imut_copy(root, NULL);
    return output_object(cli, output, yyjson_doc_get_root(doc));
}

void gather_done(struct gather *gather)
{
    yyjson_mut_doc_free(gather->doc);
}

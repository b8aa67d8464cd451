// SPDX-License-Identifier: Apache-2.0
#include "cli/inputs.h"
#include "cli/place_view.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static const char *const FORMATS[] = {"table", "json", "yaml", NULL};
const struct opt OPTS_PLACE[] = {
    {"output", 'o', "FORMAT", "How to print.", .fallback = "table", .values = FORMATS},
    {"autoscale", 0, NULL, "Tell how many pods there should be, instead of placing."},
    {"compact", 0, NULL, "Tell what would be taken off the last pods, instead of placing."},
    {0},
};

/* ---- where an error stands ---- */

/* "vpods[0].placements[1]" one step at a time, as far as it is there. */
static yyjson_mut_val *walk(yyjson_mut_val *at, struct sv path)
{
    while (path.len > 0 && at != NULL) {
        size_t len = 0;
        yyjson_mut_val *next = NULL;
        if (*path.ptr == '[') {
            next = yyjson_mut_arr_get(at, strtoul(path.ptr + 1, NULL, 10));
            struct sv rest = path;
            (void)sv_cut(&rest, ']');
            len = path.len - rest.len;
        } else {
            bool has_dot = *path.ptr == '.';
            while (has_dot + len < path.len && strchr(".[", path.ptr[has_dot + len]) == NULL)
                len++;
            next = yyjson_mut_obj_getn(at, path.ptr + has_dot, len);
            len += has_dot;
        }
        if (next == NULL || len == 0)
            break;
        at = next;
        path = (struct sv){path.ptr + len, path.len - len};
    }
    return at;
}

static void locate(const struct manifest *manifest, struct err *err)
{
    const struct manifest_doc *doc = &manifest->docs.items[0];
    struct sv rest = sv_of(err->text), path = sv_cut(&rest, ':');
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc->doc);
    int line = doc->line, column = 1;
    if (rest.len > 0)
        (void)manifest_position(doc, walk(root, path), &line, &column); /* else its beginning */
    err_wrap(err, "%s:%d:%d", manifest->file, line, column);
}

static int read_input(struct cli *cli, const char *file, struct place_input *input)
{
    struct err err = {0};
    struct manifest manifest = {0};
    int r = inputs_read(cli, file, &manifest, &err);
    if (r >= 0 && manifest.docs.len != 1) {
        r = err_set(&err, -EINVAL, "%s: %zu objects instead of one", file, manifest.docs.len);
        err_hint(&err, "muster help place shows what is read");
    }
    if (r >= 0) {
        scoped_json *doc = yyjson_mut_doc_imut_copy(manifest.docs.items[0].doc, NULL);
        r = place_input_read(yyjson_doc_get_root(doc), input, &err);
        if (r < 0)
            locate(&manifest, &err);
    }
    manifest_done(&manifest);
    return r < 0 ? cli_error(cli, CLI_FAILED, &err) : CLI_OK;
}

/* ---- what is asked ---- */

static void place_all(struct place_input *input, struct place_answers *answers)
{
    for (size_t i = 0; i < input->vpods.len; i++) {
        struct place_answer answer = {0};
        (void)place_schedule(input->place, input->vpods.items[i], &answer.result);
        place_explain(input->place, input->vpods.items[i], &answer.refusals);
        vec_push(&answers->of, answer);
    }
}

static void compact_text(const struct place_evictions *evictions, struct str *out)
{
    for (size_t i = 0; i < evictions->of.len; i++) {
        const struct place_eviction *e = &evictions->of.items[i];
        str_addf(out, "evict %" PRId32 " vreplica%s of %s from pod %" PRId32 "\n", e->vreplicas,
                 e->vreplicas == 1 ? "" : "s", e->vpod, e->ordinal);
    }
    if (evictions->of.len == 0)
        str_add(out, "Nothing to evict: the last pods are needed.\n");
}

static void answer(struct cli *cli, struct place_input *input, bool as_text, struct str *out)
{
    struct place_answers answers = {0};
    struct place_evictions evictions = {0};
    if (opt_flag(&cli->opts, "autoscale")) {
        int32_t now = place_replicas(input->place);
        int32_t want = place_autoscale(input->place, input->pending, input->may_shrink);
        str_addf(out, as_text ? "%" PRId32 " pods" : "{\"replicas\":%" PRId32 "}", want);
        if (as_text)
            str_addf(out, ", now %" PRId32 "\n", now);
    } else if (opt_flag(&cli->opts, "compact")) {
        place_compact(input->place, &evictions);
        if (as_text)
            compact_text(&evictions, out);
        else
            place_json_evictions(input, &evictions, out);
    } else {
        place_all(input, &answers);
        if (as_text)
            place_text(input, &answers, out);
        else
            place_json(input, &answers, out);
    }
    vec_done(&evictions.of);
    place_answers_done(&answers);
}

static void print(struct cli *cli, const char *format, const struct str *text)
{
    scoped_json *doc = NULL;
    scoped_str yaml = {0};
    if (str_eq(format, "yaml")) {
        (void)json_parse((struct sv){str_text(text), text->len}, &doc, NULL); /* by us */
        yaml_write(yyjson_doc_get_root(doc), &yaml);
        cli_print(cli, &yaml);
        return;
    }
    cli_print(cli, text);
    if (str_eq(format, "json"))
        fputc('\n', cli->out);
}

int verb_place(struct cli *cli, int argc, char **argv)
{
    (void)argc;
    struct place_input input = {0};
    const char *format = opt_get(&cli->opts, "output");
    scoped_str out = {0};
    if (opt_flag(&cli->opts, "autoscale") && opt_flag(&cli->opts, "compact"))
        return cli_usage(cli, "--autoscale and --compact exclude each other");
    int exit_code = read_input(cli, argv[0], &input);
    if (exit_code != CLI_OK)
        return exit_code;
    struct sv rest = {str_text(&input.warnings), input.warnings.len};
    while (rest.len > 0) {
        struct sv line = sv_cut(&rest, '\n');
        fprintf(cli->err, "%s: warning: %.*s\n", argv[0], (int)line.len, line.ptr);
    }
    answer(cli, &input, str_eq(format, "table"), &out);
    print(cli, format, &out);
    place_input_done(&input);
    return CLI_OK;
}

// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/gantt.h"
#include "cli/inputs.h"
#include "cli/nodesfile.h"
#include "sim/rehearsal.h"
#include <errno.h>
#include <stdlib.h>

#define ROWS_MAX 60

static const char *const FORMATS[] = {"timeline", "jsonl", "html", NULL};
const struct opt OPTS_SIMULATE[] = {
    {"output", 'o', "FORMAT",
     "How to tell it: a chart for people, a line of JSON for each change, a page with the chart.",
     .fallback = "timeline", .values = FORMATS},
    {"width", 0, "COLUMNS", "How wide the chart may be; as the terminal, or 100."},
    {"seed", 0, "NUMBER", "Draw other names and pauses than the scenario's own seed does."},
    {0},
};

/* Without a Scenario and without Node objects there is one machine, as large as a usual server. */
#define SPEC_USUAL                                                                                 \
    "{\"nodes\":[{\"name\":\"node\",\"capacity\":{\"cpu\":\"16\",\"memory\":\"64Gi\"}}]}"
#define SPEC_EMPTY "{}"

struct document {
    const struct manifest *manifest;
    size_t index; /* in it */
    yyjson_doc *doc;
};

struct simulate {
    struct cli *cli;
    struct manifests manifests;
    VEC(struct document) documents;
    struct document scenario; /* doc NULL: there is none */
    VEC(yyjson_val *) roots;  /* of the documents */
    struct str line;
    struct gantt gantt;
    int exit_code;
};

/* ---- reading ---- */

/* As the server would keep it: short forms are made long, defaults filled in. */
static yyjson_doc *filled(const struct kind *kind, const yyjson_mut_doc *from)
{
    scoped_json_mut *copy = yyjson_mut_doc_mut_copy((yyjson_mut_doc *)from, NULL);
    schema_fill(kind->type, copy, yyjson_mut_doc_get_root(copy));
    return yyjson_mut_doc_imut_copy(copy, NULL);
}

static int second_scenario(struct simulate *s, const struct manifest *manifest, size_t index)
{
    struct err err = {0};
    (void)err_set(&err, -EINVAL, "%s:%d: there is a second Scenario; the first is in %s:%d",
                  manifest->file, manifest->docs.items[index].line, s->scenario.manifest->file,
                  s->scenario.manifest->docs.items[s->scenario.index].line);
    (void)err_hint(&err, "rehearse one at a time");
    return cli_error(s->cli, CLI_FAILED, &err);
}

static int take_document(void *arg, const struct manifest *manifest, size_t index)
{
    struct simulate *s = arg;
    const struct kind *kind = NULL;
    scoped_str findings = {0};
    if (manifest_check_file(manifest, index, &findings, &kind) > 0) {
        fwrite(str_text(&findings), 1, findings.len, s->cli->err);
        return CLI_FAILED;
    }
    struct document document = {manifest, index, NULL};
    if (kind != &KIND_SCENARIO) {
        document.doc = yyjson_mut_doc_imut_copy(manifest->docs.items[index].doc, NULL);
        vec_push(&s->documents, document);
        vec_push(&s->roots, yyjson_doc_get_root(document.doc));
        return CLI_OK;
    }
    if (s->scenario.doc != NULL)
        return second_scenario(s, manifest, index);
    document.doc = filled(kind, manifest->docs.items[index].doc);
    s->scenario = document;
    return CLI_OK;
}

static bool has_nodes(const struct simulate *s)
{
    for (size_t i = 0; i < s->manifests.list.len; i++) {
        if (nodes_file_has(&s->manifests.list.items[i]))
            return true;
    }
    return false;
}

static int read_inputs(struct simulate *s, int argc, char **argv)
{
    int exit_code = manifests_read(s->cli, (const char *const *)argv, (size_t)argc, &s->manifests);
    if (exit_code == CLI_OK)
        exit_code = manifests_each(&s->manifests, take_document, s);
    if (exit_code != CLI_OK || s->scenario.doc != NULL)
        return exit_code;
    struct sv spec = SV("{\"spec\":" SPEC_EMPTY "}");
    if (!has_nodes(s)) {
        fprintf(s->cli->err, "no Scenario in these files: one node with 16 cores is assumed\n");
        spec = SV("{\"spec\":" SPEC_USUAL "}");
    }
    return json_parse(spec, &s->scenario.doc, NULL) < 0 ? CLI_FAILED : CLI_OK;
}

/* Its seed, replaced. */
static int set_seed(struct simulate *s)
{
    const char *text = opt_get(&s->cli->opts, "seed");
    if (text == NULL)
        return CLI_OK;
    char *end = NULL;
    errno = 0;
    long long seed = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || seed < 0)
        return cli_usage(s->cli, "option '--seed': '%s' is not a number from 0 on", text);
    scoped_json *old = s->scenario.doc;
    scoped_json_mut *copy = yyjson_doc_mut_copy(old, NULL);
    json_mut_set(copy, yyjson_mut_doc_get_root(copy), "spec.seed", yyjson_mut_sint(copy, seed));
    s->scenario.doc = yyjson_mut_doc_imut_copy(copy, NULL);
    return CLI_OK;
}

/* ---- telling ---- */

static void on_line_chart(void *arg, const struct line *line)
{
    struct simulate *s = arg;
    gantt_add(&s->gantt, line);
}

static void on_line_json(void *arg, const struct line *line)
{
    struct simulate *s = arg;
    str_clear(&s->line);
    line_json(line, &s->line);
    str_addc(&s->line, '\n');
    cli_print(s->cli, &s->line);
}

/* The value in the file that a place stands for; NULL: not known. */
static const yyjson_mut_val *value_of(const struct document *document,
                                      const struct rehearsal_place *place)
{
    yyjson_mut_val *root =
        yyjson_mut_doc_get_root(document->manifest->docs.items[document->index].doc);
    if (place->list == PLACE_DOCUMENT)
        return root;
    return yyjson_mut_arr_get(
        json_mut_at(root, place->list == PLACE_OBJECT ? "spec.objects" : "spec.events"),
        place->index);
}

static void on_trouble(void *arg, const struct rehearsal_place *place, const char *text,
                       const char *hint)
{
    struct simulate *s = arg;
    bool is_document = place->list == PLACE_DOCUMENT;
    const struct document *document =
        is_document ? &s->documents.items[place->index] : &s->scenario;
    const struct manifest_doc *doc = &document->manifest->docs.items[document->index];
    int line = doc->line, column = 1;
    (void)manifest_position(doc, value_of(document, place), &line,
                            &column); /* else its beginning */
    fprintf(s->cli->err, "%s:%d:%d: ", document->manifest->file, line, column);
    if (!is_document)
        fprintf(s->cli->err, "spec.%s[%zu]: ", place->list == PLACE_OBJECT ? "objects" : "events",
                place->index);
    fprintf(s->cli->err, "%s\n", text);
    if (hint != NULL)
        fprintf(s->cli->err, "    hint: %s\n", hint);
    s->exit_code = CLI_FAILED;
}

static void play(struct simulate *s, const struct gantt_look *look)
{
    const char *format = opt_get(&s->cli->opts, "output");
    bool as_json = str_eq(format, "jsonl");
    struct rehearsal_options options = {
        .spec = yyjson_obj_get(yyjson_doc_get_root(s->scenario.doc), "spec"),
        .documents = s->roots.items,
        .n_documents = s->roots.len,
        .configuration = s->manifests.configured != NULL ? &s->manifests.configuration : NULL,
        .on_line = as_json ? on_line_json : on_line_chart,
        .on_trouble = on_trouble,
        .arg = s};
    struct rehearsal *rehearsal = rehearsal_new(&options);
    rehearsal_run(rehearsal);
    scoped_str end = {0};
    gantt_finish(&s->gantt, rehearsal_ms(rehearsal), rehearsal_stats(rehearsal).changes,
                 rehearsal_is_final(rehearsal));
    if (as_json) {
        rehearsal_end_json(rehearsal, &end);
        str_addc(&end, '\n');
    } else if (str_eq(format, "html")) {
        gantt_html(&s->gantt, &end);
    } else {
        gantt_text(&s->gantt, look, &end);
    }
    cli_print(s->cli, &end);
    rehearsal_free(rehearsal);
}

int verb_simulate(struct cli *cli, int argc, char **argv)
{
    struct simulate s = {.cli = cli};
    struct gantt_look look = {.color = cli->color, .rows_max = ROWS_MAX};
    int exit_code = read_inputs(&s, argc, argv);
    if (exit_code == CLI_OK)
        exit_code = set_seed(&s);
    if (exit_code == CLI_OK)
        exit_code = cli_width(cli, &look.width);
    const char *name = json_str_at(yyjson_doc_get_root(s.scenario.doc), "metadata.name");
    gantt_init(&s.gantt, name != NULL ? name : argv[0]);
    if (exit_code == CLI_OK) {
        play(&s, &look);
        exit_code = s.exit_code;
    }
    gantt_done(&s.gantt);
    for (size_t i = 0; i < s.documents.len; i++)
        yyjson_doc_free(s.documents.items[i].doc);
    vec_done(&s.documents);
    vec_done(&s.roots);
    yyjson_doc_free(s.scenario.doc);
    manifests_done(&s.manifests);
    str_done(&s.line);
    return exit_code;
}

// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/inputs.h"
#include "cli/plan.h"

static const char *const FORMATS[] = {"text", "json", NULL};
const struct opt OPTS_VALIDATE[] = {
    {"output", 'o', "FORMAT", "How to print; json is one object for all files.", .fallback = "text",
     .values = FORMATS},
    {"plan", 0, NULL, "Also print in which order the containers of each pod will start."},
    {0},
};

#define HINT "    hint: " /* how manifest_check() begins its second lines */

struct validate {
    struct cli *cli;
    bool as_json, wants_plan;
    struct str json; /* the entries of "files" */
    int exit_code;
};

/* "file:line:column: rest"; line and column are 0 when they are not there. */
static struct sv cut_position(struct sv line, const char *file, unsigned long at[2])
{
    size_t len = strlen(file);
    at[0] = at[1] = 0;
    if (!sv_starts(line, file) || line.len <= len || line.ptr[len] != ':')
        return line;
    struct sv rest = {line.ptr + len + 1, line.len - len - 1};
    for (int i = 0; i < 2; i++) {
        struct sv before = rest;
        struct sv digits = sv_cut(&rest, ':');
        for (size_t k = 0; k < digits.len; k++) {
            if (digits.ptr[k] < '0' || digits.ptr[k] > '9')
                return sv_trim(before);
            at[i] = at[i] * 10 + (unsigned long)(digits.ptr[k] - '0');
        }
    }
    return sv_trim(rest);
}

/* Takes one finding, and its hint when the next line is one. */
static void add_finding(struct str *out, const char *file, struct sv *rest)
{
    unsigned long at[2];
    struct sv text = cut_position(sv_cut(rest, '\n'), file, at);
    str_addf(out, "{\"line\":%lu,\"column\":%lu,\"message\":", at[0], at[1]);
    json_quote(text.ptr, text.len, out);
    if (sv_starts(*rest, HINT)) {
        struct sv hint = sv_cut(rest, '\n');
        str_add(out, ",\"hint\":");
        json_quote(hint.ptr + strlen(HINT), hint.len - strlen(HINT), out);
    }
    str_addc(out, '}');
}

/* One file's verdict. Findings and warnings are lines as manifest_check() writes them. */
struct verdict {
    const char *file;
    size_t objects;
    struct str findings, warnings;
    struct str plan; /* text, or JSON of a list's entries */
};

static void verdict_done(struct verdict *verdict)
{
    str_done(&verdict->findings);
    str_done(&verdict->warnings);
    str_done(&verdict->plan);
}

static void print_warnings(struct validate *v, const struct verdict *verdict)
{
    struct sv rest = {str_text(&verdict->warnings), verdict->warnings.len};
    while (rest.len > 0) {
        unsigned long at[2];
        struct sv line = sv_cut(&rest, '\n');
        if (sv_starts(line, HINT)) {
            fprintf(v->cli->err, "%.*s\n", (int)line.len, line.ptr);
            continue;
        }
        struct sv text = cut_position(line, verdict->file, at);
        fprintf(v->cli->err, "%s:%lu:%lu: warning: %.*s\n", verdict->file, at[0], at[1],
                (int)text.len, text.ptr);
    }
}

static void report_text(struct validate *v, const struct verdict *verdict)
{
    fwrite(str_text(&verdict->findings), 1, verdict->findings.len, v->cli->err);
    print_warnings(v, verdict);
    if (verdict->findings.len == 0)
        fprintf(v->cli->out, "%s: %zu object%s valid\n", verdict->file, verdict->objects,
                verdict->objects == 1 ? " is" : "s are");
    cli_print(v->cli, &verdict->plan);
}

static void add_findings(struct str *out, const char *file, const struct str *lines)
{
    struct sv rest = {str_text(lines), lines->len};
    for (bool first = true; rest.len > 0; first = false) {
        str_add(out, first ? NULL : ",");
        add_finding(out, file, &rest);
    }
}

static void report_json(struct validate *v, const struct verdict *verdict)
{
    struct str *out = &v->json;
    str_add(out, out->len ? ",{\"file\":" : "{\"file\":");
    json_quote(verdict->file, strlen(verdict->file), out);
    str_addf(out, ",\"objects\":%zu,\"valid\":%s,\"errors\":[", verdict->objects,
             verdict->findings.len ? "false" : "true");
    add_findings(out, verdict->file, &verdict->findings);
    str_add(out, "],\"warnings\":[");
    add_findings(out, verdict->file, &verdict->warnings);
    if (v->wants_plan)
        str_addf(out, "],\"plan\":[%s", str_text(&verdict->plan));
    str_add(out, "]}");
}

/* ---- what is valid and may still surprise ---- */

/* The part of an object that has containers, Pod or template; NULL for other kinds. */
static const char *pod_path(yyjson_val *root)
{
    if (yyjson_is_arr(json_at(root, "spec.containers")))
        return "";
    return yyjson_is_arr(json_at(root, "spec.template.spec.containers")) ? "spec.template" : NULL;
}

static void warn_of_signals(const struct manifest *manifest, size_t index, const char *path,
                            struct verdict *verdict)
{
    const struct manifest_doc *doc = &manifest->docs.items[index];
    scoped_free char *containers =
        mem_printf("%s%sspec.containers", path, *path != '\0' ? "." : "");
    int line = doc->line, column = 1;
    yyjson_mut_val *at = json_mut_at(yyjson_mut_doc_get_root(doc->doc), containers);
    (void)manifest_position(doc, at, &line, &column); /* else the beginning of the document */
    str_addf(&verdict->warnings,
             "%s:%d:%d: %s: no container has a probe or tells on a socket that it is ready: each "
             "counts as ready once it runs, so only maxRate can throttle it\n" HINT
             "add a readinessProbe, or the annotation muster.dev/notify\n",
             verdict->file, line, column, containers);
}

static const char *name_of(yyjson_val *root)
{
    const char *name = json_str_at(root, "metadata.name");
    if (name == NULL)
        name = json_str_at(root, "metadata.generateName");
    return name != NULL ? name : "";
}

static void add_plan(const struct validate *v, const struct kind *kind, yyjson_val *root,
                     yyjson_val *pod, struct verdict *verdict)
{
    struct plan plan = {0};
    struct str *out = &verdict->plan;
    if (plan_make(pod, &plan, NULL) < 0)
        return; /* circles were found before */
    const char *name = name_of(root);
    if (v->as_json) {
        str_addf(out, "%s{\"kind\":\"%s\",\"name\":", out->len > 0 ? "," : "", kind->name);
        json_quote(name, strlen(name), out);
        str_add(out, ",\"steps\":");
        plan_json(&plan, out);
        str_addc(out, '}');
    } else {
        str_addf(out, "%s/%s starts in %u step%s:\n", kind->singular, name, plan.n_steps,
                 plan.n_steps == 1 ? "" : "s");
        plan_text(&plan, out);
    }
    plan_done(&plan);
}

static void look_at_pod(const struct validate *v, const struct manifest *manifest, size_t index,
                        const struct kind *kind, struct verdict *verdict)
{
    /* As the server would keep it: short forms are made long there. */
    scoped_json_mut *filled = yyjson_mut_doc_mut_copy(manifest->docs.items[index].doc, NULL);
    schema_fill(kind->type, filled, yyjson_mut_doc_get_root(filled));
    scoped_json *doc = yyjson_mut_doc_imut_copy(filled, NULL);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *path = pod_path(root);
    if (path == NULL)
        return;
    yyjson_val *pod = *path != '\0' ? json_at(root, path) : root;
    if (!plan_has_signal(pod))
        warn_of_signals(manifest, index, path, verdict);
    if (v->wants_plan)
        add_plan(v, kind, root, pod, verdict);
}

/* ---- files ---- */

/* A Configuration is for a server, and may stand among the objects that it is to run. */
static void check_configuration(const struct manifest *manifest, size_t index,
                                struct verdict *verdict)
{
    struct configuration configuration = {0};
    struct err err = {0};
    if (configuration_take(manifest, index, &configuration, &verdict->warnings, &err) < 0)
        str_addf(&verdict->findings, "%s\n", err.text);
    if (err.hint[0] != '\0')
        str_addf(&verdict->findings, HINT "%s\n", err.hint);
    configuration_done(&configuration);
}

static void check_document(struct validate *v, const struct manifest *manifest, size_t index,
                           struct verdict *verdict)
{
    const struct kind *kind = NULL;
    if (configuration_is(yyjson_mut_doc_get_root(manifest->docs.items[index].doc)))
        check_configuration(manifest, index, verdict);
    else if (manifest_check_file(manifest, index, &verdict->findings, &kind) == 0)
        look_at_pod(v, manifest, index, kind, verdict);
}

/* What can be read of it. */
static void read_file(struct validate *v, struct verdict *verdict, struct manifest *manifest)
{
    struct err err = {0};
    scoped_str text = {0};
    if (inputs_text(v->cli, verdict->file, &text, &err) == 0) {
        struct sv view = {str_text(&text), text.len};
        size_t unread = manifest_parse_each(verdict->file, view, manifest, &verdict->findings);
        if (unread == 0 && manifest->docs.len == 0)
            str_addf(&verdict->findings, "%s: there is no object in it\n", verdict->file);
        return;
    }
    str_addf(&verdict->findings, "%s\n", err.text);
    if (err.hint[0] != '\0')
        str_addf(&verdict->findings, HINT "%s\n", err.hint);
}

static void check_file(struct validate *v, const char *file)
{
    struct manifest manifest = {0};
    struct verdict verdict = {.file = file};
    read_file(v, &verdict, &manifest);
    verdict.objects = manifest.docs.len;
    for (size_t i = 0; i < verdict.objects; i++)
        check_document(v, &manifest, i, &verdict);
    if (v->as_json)
        report_json(v, &verdict);
    else
        report_text(v, &verdict);
    if (verdict.findings.len > 0)
        v->exit_code = CLI_FAILED;
    verdict_done(&verdict);
    manifest_done(&manifest);
}

static void check_path(struct validate *v, const char *path)
{
    struct err err = {0};
    struct inputs inputs = {0};
    if (inputs_find(path, &inputs, &err) < 0)
        v->exit_code = cli_error(v->cli, CLI_FAILED, &err);
    for (size_t i = 0; i < inputs.files.len; i++)
        check_file(v, inputs.files.items[i]);
    inputs_done(&inputs);
}

int verb_validate(struct cli *cli, int argc, char **argv)
{
    struct validate v = {.cli = cli, .as_json = str_eq(opt_get(&cli->opts, "output"), "json")};
    v.wants_plan = opt_flag(&cli->opts, "plan");
    for (int i = 0; i < argc; i++)
        check_path(&v, argv[i]);
    if (v.as_json)
        fprintf(cli->out, "{\"files\":[%s]}\n", str_text(&v.json));
    str_done(&v.json);
    return v.exit_code;
}

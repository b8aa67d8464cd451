// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/inputs.h"

static const char *const FORMATS[] = {"text", "json", NULL};
const struct opt OPTS_VALIDATE[] = {
    {"output", 'o', "FORMAT", "How to print; json is one object for all files.", .fallback = "text",
     .values = FORMATS},
    {0},
};

#define HINT "    hint: " /* how manifest_check() begins its second lines */

struct validate {
    struct cli *cli;
    bool as_json;
    struct str json; /* the entries of "files" */
    int exit_code;
};

/* One file's verdict: how many objects it has, and the findings, one a line. */
static void report_text(struct validate *v, const char *file, size_t objects,
                        const struct str *findings)
{
    fwrite(str_text(findings), 1, findings->len, v->cli->err);
    if (findings->len == 0)
        fprintf(v->cli->out, "%s: %zu object%s valid\n", file, objects,
                objects == 1 ? " is" : "s are");
}

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

static void report_json(struct validate *v, const char *file, size_t objects,
                        const struct str *findings)
{
    struct str *out = &v->json;
    str_add(out, out->len ? ",{\"file\":" : "{\"file\":");
    json_quote(file, strlen(file), out);
    str_addf(out, ",\"objects\":%zu,\"valid\":%s,\"errors\":[", objects,
             findings->len ? "false" : "true");
    struct sv rest = {str_text(findings), findings->len};
    for (bool first = true; rest.len > 0; first = false) {
        str_add(out, first ? NULL : ",");
        add_finding(out, file, &rest);
    }
    str_add(out, "]}");
}

static void check_file(struct validate *v, const char *file)
{
    struct err err = {0};
    struct manifest manifest = {0};
    scoped_str findings = {0};
    if (inputs_read(v->cli, file, &manifest, &err) < 0) {
        str_addf(&findings, "%s\n", err.text);
        if (err.hint[0] != '\0')
            str_addf(&findings, HINT "%s\n", err.hint);
    }
    size_t objects = manifest.docs.len;
    for (size_t i = 0; i < objects; i++) {
        const struct kind *kind = NULL;
        (void)manifest_check(&manifest, i, &findings, &kind); /* counted by its lines */
    }
    if (v->as_json)
        report_json(v, file, objects, &findings);
    else
        report_text(v, file, objects, &findings);
    if (findings.len > 0)
        v->exit_code = CLI_FAILED;
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
    for (int i = 0; i < argc; i++)
        check_path(&v, argv[i]);
    if (v.as_json)
        fprintf(cli->out, "{\"files\":[%s]}\n", str_text(&v.json));
    str_done(&v.json);
    return v.exit_code;
}

// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"
#include "generate.h"

static void add_paragraphs(struct str *out, const char *help)
{
    struct sv rest = sv_of(help);
    while (rest.len > 0) {
        struct sv one = sv_cut(&rest, '\n');
        scoped_str text = {0};
        str_addn(&text, one.ptr, one.len);
        md_text(out, str_text(&text));
        str_add(out, "\n\n");
    }
}

static void add_options(struct str *out, const char *title, const struct opt *opt)
{
    if (opt == NULL || opt->name == NULL)
        return;
    str_addf(out, "| %s | |\n|---|---|\n", title);
    for (; opt->name != NULL; opt++) {
        scoped_str name = {0};
        scoped_str doc = {0};
        help_option_name(opt, &name);
        help_option_doc(opt, &doc);
        str_add(out, "| ");
        md_code(out, str_text(&name));
        str_add(out, " | ");
        md_text(out, str_text(&doc));
        str_add(out, " |\n");
    }
    str_addc(out, '\n');
}

static void add_examples(struct str *out, const char *examples)
{
    struct sv rest = sv_of(examples);
    if (rest.len == 0)
        return;
    str_add(out, "```sh not-run\n");
    while (rest.len > 0) {
        struct sv line = sv_cut(&rest, '\n');
        struct sv what = sv_cut(&line, '\t');
        str_addf(out, "# %.*s\n%.*s\n", (int)what.len, what.ptr, (int)line.len, line.ptr);
    }
    str_add(out, "```\n\n");
}

static void add_verb(struct str *out, const struct verb *verb)
{
    scoped_str synopsis = {0};
    help_synopsis(verb, &synopsis);
    str_addf(out, "## muster %s\n\n`%s`: %s.\n\n", verb->name, str_text(&synopsis), verb->summary);
    add_paragraphs(out, verb->help);
    add_options(out, "option", verb->opts);
    if (verb->flags & VERB_SERVER)
        str_add(out, "Also the [options of all verbs that talk to a server](#connection).\n\n");
    add_examples(out, verb->examples);
}

static void add_overview(struct str *out)
{
    str_add(out, "| verb | does |\n|---|---|\n");
    for (const struct verb *verb = VERBS; verb->name != NULL; verb++) {
        if (!(verb->flags & VERB_HIDDEN))
            str_addf(out, "| [%s](#muster-%s) | %s |\n", verb->name, verb->name, verb->summary);
    }
    str_add(out, "\n## Exit codes\n\n| code | means |\n|---|---|\n");
    for (size_t i = 0; HELP_EXITS[i] != NULL; i++)
        str_addf(out, "| %zu | %s |\n", i, HELP_EXITS[i]);
    str_add(out, "\nA verb that has others says so.\n\n## Connection\n\n");
    add_options(out, "option of each verb that talks to a server", OPTS_SERVER);
    add_options(out, "option of every verb", OPTS_COMMON);
}

void verbs_page(struct str *out)
{
    md_head(out, "the table of src/cli/verbs.c");
    str_add(out, "# The command line\n\n`muster VERB [ARGUMENTS] [OPTIONS]`. "
                 "`muster help VERB` and `man muster-VERB` say the same.\n\n");
    add_overview(out);
    for (const struct verb *verb = VERBS; verb->name != NULL; verb++) {
        if (!(verb->flags & VERB_HIDDEN))
            add_verb(out, verb);
    }
    out->data[--out->len] = '\0'; /* the empty line at the end */
}

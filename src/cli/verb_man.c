// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/help.h"
#include <ctype.h>

/* `muster __man [VERB]`: a page of the manual as mdoc, made from the verb table. */
#define MAN_DATE "November 16, 2025" /* of the last change to these texts; builds must agree */

/* Text of a paragraph. A sentence begins on its own line, as roff wants it; backslashes and dots
 * at the beginning of lines would be commands. */
static void text(const char *from, size_t len, FILE *out)
{
    bool fresh = true;
    for (size_t i = 0; i < len; i++) {
        char c = from[i];
        if (fresh && (c == '.' || c == '\''))
            fputs("\\&", out);
        fresh = false;
        if (c == '\\')
            fputs("\\e", out);
        else if (c == ' ' && i > 0 && from[i - 1] == '.' && i + 1 < len && isupper(from[i + 1]))
            fresh = fputc('\n', out) == '\n';
        else
            fputc(c, out);
    }
    fputc('\n', out);
}

static void paragraphs(const char *from, FILE *out)
{
    struct sv rest = sv_of(from);
    for (bool first = true; rest.len > 0; first = false) {
        struct sv one = sv_cut(&rest, '\n');
        fputs(first ? "" : ".Pp\n", out);
        text(one.ptr, one.len, out);
    }
}

/* Arguments of a macro: words that are macros themselves, and punctuation, lose their meaning. */
static void quoted(const char *from, FILE *out)
{
    for (; *from != '\0'; from++)
        fputs(*from == '\\' ? "\\e" : *from == '"' ? "\\(dq" : (char[]){*from, '\0'}, out);
}

static void option_item(const struct opt *opt, FILE *out)
{
    fputs(".It ", out);
    if (opt->letter != '\0')
        fprintf(out, "Fl %c , ", opt->letter);
    fprintf(out, "Fl -%s", opt->name);
    if (opt->arg != NULL && (opt->flags & OPT_OPTIONAL))
        fprintf(out, " Ns Oo = Ns Ar %s Oc", opt->arg);
    else if (opt->arg != NULL)
        fprintf(out, " Ar %s", opt->arg);
    fputc('\n', out);
}

static void options(const char *title, const struct opt *opt, FILE *out)
{
    if (opt == NULL || opt->name == NULL)
        return;
    fprintf(out, ".Sh %s\n.Bl -tag -width Ds\n", title);
    for (; opt->name != NULL; opt++) {
        scoped_str doc = {0};
        help_option_doc(opt, &doc);
        option_item(opt, out);
        text(str_text(&doc), doc.len, out);
    }
    fputs(".El\n", out);
}

static void exit_status(FILE *out)
{
    fputs(".Sh EXIT STATUS\n.Bl -tag -width Ds -compact\n", out);
    for (size_t i = 0; HELP_EXITS[i] != NULL; i++)
        fprintf(out, ".It %zu\n%s\n", i, HELP_EXITS[i]);
    fputs(".El\n", out);
}

static void examples(const struct verb *verb, FILE *out)
{
    struct sv rest = sv_of(verb->examples);
    if (rest.len == 0)
        return;
    fputs(".Sh EXAMPLES\n", out);
    for (bool first = true; rest.len > 0; first = false) {
        struct sv line = sv_cut(&rest, '\n');
        struct sv what = sv_cut(&line, '\t');
        scoped_free char *command = mem_strndup(line.ptr, line.len);
        fprintf(out, "%s%.*s:\n.Pp\n.Dl \"", first ? "" : ".Pp\n", (int)what.len, what.ptr);
        quoted(command, out);
        fputs("\"\n", out);
    }
}

static void head(const char *name, const char *summary, FILE *out)
{
    fprintf(out, ".Dd " MAN_DATE "\n.Dt ");
    for (const char *c = name; *c != '\0'; c++)
        fputc(toupper((unsigned char)*c), out);
    fprintf(out, " 1\n.Os muster " MUSTER_VERSION "\n.Sh NAME\n.Nm %s\n.Nd %s\n", name, summary);
}

static void verb_page(const struct verb *verb, FILE *out)
{
    scoped_str name = {0};
    scoped_str synopsis = {0};
    str_addf(&name, "muster-%s", verb->name);
    help_synopsis(verb, &synopsis);
    head(str_text(&name), verb->summary, out);
    fputs(".Sh SYNOPSIS\n", out);
    text(str_text(&synopsis), synopsis.len, out);
    fputs(".Sh DESCRIPTION\n", out);
    paragraphs(verb->help, out);
    options("OPTIONS", verb->opts, out);
    if (verb->flags & VERB_SERVER)
        options("CONNECTION OPTIONS", OPTS_SERVER, out);
    exit_status(out);
    examples(verb, out);
    fputs(".Sh SEE ALSO\n.Xr muster 1\n", out);
}

static void overview_page(FILE *out)
{
    head("muster", "start groups of processes that only make sense together", out);
    fputs(".Sh SYNOPSIS\nmuster VERB [ARGUMENTS] [OPTIONS]\n.Sh DESCRIPTION\n", out);
    paragraphs("muster queues, places, starts and restarts groups of processes. Its verbs are:",
               out);
    fputs(".Bl -tag -width completion\n", out);
    for (const struct verb *verb = VERBS; verb->name != NULL; verb++) {
        if (!(verb->flags & VERB_HIDDEN))
            fprintf(out, ".It Xr muster-%s 1\n%s\n", verb->name, verb->summary);
    }
    fputs(".El\n.Sh ENVIRONMENT\n.Bl -tag -width Ds\n"
          ".It Ev MUSTER_DATA\nThe data directory when\n.Fl -data\nis not given.\n"
          ".It Ev XDG_STATE_HOME\nThe data directory is\n.Pa muster\nin it, when neither is "
          "given.\n"
          ".It Ev NO_COLOR\nNo bold headings, even on a terminal.\n.El\n"
          ".Sh FILES\n.Bl -tag -width Ds\n"
          ".It Pa ~/.local/state/muster\nThe data directory when nothing else is said.\n"
          ".It Pa muster.sock\nIn the data directory: the socket of the server.\n.El\n",
          out);
    exit_status(out);
}

int verb_man(struct cli *cli, int argc, char **argv)
{
    if (argc == 0) {
        overview_page(cli->out);
        return CLI_OK;
    }
    const struct verb *verb = verb_of(argv[0]);
    if (verb == NULL)
        return cli_unknown_verb(cli, argv[0]);
    verb_page(verb, cli->out);
    return CLI_OK;
}

// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"
#include <string.h>

#define HELP_WIDTH 96
#define OPTION_INDENT 6

const char *const HELP_EXITS[] = {
    [CLI_OK] = "Done.",
    [CLI_FAILED] = "It failed: the server refused, a file is wrong, the time is over.",
    [CLI_USAGE] = "Wrong usage.",
    [CLI_UNREACHABLE] = "The server cannot be reached.",
    NULL,
};

static void heading(const char *text, bool color, FILE *out)
{
    fprintf(out, color ? "\033[1m%s\033[0m\n" : "%s\n", text);
}

/* Words of one paragraph, broken at HELP_WIDTH. */
static void wrap(struct sv text, int indent, FILE *out)
{
    int column = 0;
    while (text.len > 0) {
        struct sv word = sv_cut(&text, ' ');
        if (column > 0 && column + 1 + (int)word.len > HELP_WIDTH - indent) {
            fputc('\n', out);
            column = 0;
        }
        column += column > 0
                      ? fprintf(out, " %.*s", (int)word.len, word.ptr)
                      : fprintf(out, "%*s%.*s", indent, "", (int)word.len, word.ptr) - indent;
    }
    fputc('\n', out);
}

static void paragraphs(const char *text, FILE *out)
{
    struct sv rest = sv_of(text);
    while (rest.len > 0)
        wrap(sv_cut(&rest, '\n'), 0, out);
}

void help_synopsis(const struct verb *verb, struct str *out)
{
    str_addf(out, "muster %s", verb->name);
    if (verb->args[0] != '\0')
        str_addf(out, " %s", verb->args);
    if (verb->opts != NULL || (verb->flags & VERB_SERVER))
        str_add(out, " [OPTIONS]");
}

void help_option_name(const struct opt *opt, struct str *out)
{
    if (opt->letter != '\0')
        str_addf(out, "-%c, ", opt->letter);
    str_addf(out, "--%s", opt->name);
    if (opt->arg != NULL)
        str_addf(out, opt->flags & OPT_OPTIONAL ? "[=%s]" : " %s", opt->arg);
}

void help_option_doc(const struct opt *opt, struct str *out)
{
    str_add(out, opt->doc);
    for (const char *const *v = opt->values; v != NULL && *v != NULL; v++)
        str_addf(out, "%s%s%s", v == opt->values ? " One of " : ", ", *v,
                 str_ends(*v, "=") ? "TEMPLATE" : "");
    if (opt->values != NULL)
        str_addc(out, '.');
    if (opt->flags & OPT_REPEAT)
        str_add(out, " May be given several times.");
    if (opt->fallback != NULL)
        str_addf(out, " Default: %s.", opt->fallback);
}

static void options(const char *title, const struct opt *opt, bool color, FILE *out)
{
    if (opt == NULL || opt->name == NULL)
        return;
    fputc('\n', out);
    heading(title, color, out);
    for (; opt->name != NULL; opt++) {
        scoped_str name = {0};
        scoped_str doc = {0};
        help_option_name(opt, &name);
        help_option_doc(opt, &doc);
        fprintf(out, "  %s\n", str_text(&name));
        wrap((struct sv){str_text(&doc), doc.len}, OPTION_INDENT, out);
    }
}

static void examples(const struct verb *verb, bool color, FILE *out)
{
    struct sv rest = sv_of(verb->examples);
    if (rest.len == 0)
        return;
    fputc('\n', out);
    heading("Examples:", color, out);
    while (rest.len > 0) {
        struct sv line = sv_cut(&rest, '\n');
        struct sv what = sv_cut(&line, '\t');
        fprintf(out, "  # %.*s\n  %.*s\n", (int)what.len, what.ptr, (int)line.len, line.ptr);
    }
}

void help_verb(const struct verb *verb, bool color, FILE *out)
{
    scoped_str synopsis = {0};
    help_synopsis(verb, &synopsis);
    fprintf(out, "muster %s: %s\n\n", verb->name, verb->summary);
    heading("Usage:", color, out);
    fprintf(out, "  %s\n\n", str_text(&synopsis));
    paragraphs(verb->help, out);
    options("Options:", verb->opts, color, out);
    if (verb->flags & VERB_SERVER)
        options("Connection:", OPTS_SERVER, color, out);
    examples(verb, color, out);
}

void help_overview(bool color, FILE *out)
{
    fputs("muster queues, places, starts and restarts groups of processes that only make sense "
          "together.\n\n",
          out);
    heading("Usage:", color, out);
    fputs("  muster VERB [ARGUMENTS] [OPTIONS]\n\n", out);
    heading("Verbs:", color, out);
    for (const struct verb *verb = VERBS; verb->name != NULL; verb++) {
        if (!(verb->flags & VERB_HIDDEN))
            fprintf(out, "  %-12s %s\n", verb->name, verb->summary);
    }
    fputc('\n', out);
    heading("Environment:", color, out);
    fputs("  MUSTER_DATA  the data directory when --data is not given\n"
          "  NO_COLOR     no bold headings, even on a terminal\n\n",
          out);
    heading("Exit codes:", color, out);
    fputs("  0 done, 1 failed, 2 wrong usage, 3 cannot reach the server\n\n"
          "'muster help VERB' explains a verb, 'man muster-VERB' as well.\n",
          out);
}

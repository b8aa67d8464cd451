// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/cli.h"

/* Texts made from the verb table. */
void help_overview(bool color, FILE *out);
void help_verb(const struct verb *verb, bool color, FILE *out);
/* "muster get KIND [NAME...] [OPTIONS]" */
void help_synopsis(const struct verb *verb, struct str *out);
/* "-o, --output FORMAT": how an option is written, without the dashes' own markup. */
void help_option_name(const struct opt *opt, struct str *out);
/* The option's text with its choices and its default. */
void help_option_doc(const struct opt *opt, struct str *out);
/* What exit codes mean, from 0 on; NULL ends it. */
extern const char *const HELP_EXITS[];

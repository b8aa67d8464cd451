// SPDX-License-Identifier: Apache-2.0
#include "model/configuration.h"
#include "generate.h"
#include <string.h>

static const char *yes_or_no(bool value)
{
    return value ? "true" : "false";
}

static void add_dialects(struct str *out)
{
    str_add(out, "| `apiVersion` | `enable` | `timeout` | `recoveryTimeout` | `blockAdmission` |\n"
                 "|---|---|---|---|---|\n");
    for (const struct configuration_dialect *d = CONFIGURATION_DIALECTS; d->api != NULL; d++)
        str_addf(out, "| `%s` | %s | %dm | %s | %s |\n", d->api, yes_or_no(d->enable),
                 (int)(d->timeout_ms / 60000), d->recovery_as_start ? "as `timeout`" : "none",
                 d->blocks ? "as `enable`" : "false");
}

/* Fields that a whole file of Kueue may have, and that mean nothing here. */
static void add_ignored(struct str *out, const struct type *type)
{
    bool is_first = true;
    for (const struct field *field = type->fields; field->name != NULL; field++) {
        if (type_field(&TYPE_CONFIGURATION, field->name, strlen(field->name)) != NULL)
            continue;
        str_add(out, is_first ? "" : ", ");
        md_code(out, field->name);
        is_first = false;
    }
}

void configuration_page(struct str *out)
{
    struct shelf shelf = {0};
    shelf_put(&shelf, &TYPE_CONFIGURATION, "configuration.md");
    md_head(out, "the table of src/model/configuration.c");
    str_add(out, "# The configuration file\n\n"
                 "`muster up --config FILE`: one document of YAML or JSON. SIGHUP makes the server "
                 "read it again;\na file that is not right changes nothing and is told in the "
                 "log.\n\n## Fields\n\n");
    fields_table(out, &TYPE_CONFIGURATION, &shelf, "configuration.md");
    str_add(out, "\n## Types\n");
    fields_sections(out, &shelf, "configuration.md", &TYPE_CONFIGURATION);
    str_add(out, "\n## Kueue's file\n\nKueue's own Configuration is understood as well. What "
                 "`waitForPodsReady` does not say is, once the block is there:\n\n");
    add_dialects(out);
    str_add(out, "\nWithout the block it is off in all of them. These are named in a warning and "
                 "left out: ");
    const struct configuration_dialect *last = CONFIGURATION_DIALECTS;
    while (last[1].api != NULL)
        last++;
    add_ignored(out, last->type);
    str_add(out, ".\n");
    shelf_done(&shelf);
}

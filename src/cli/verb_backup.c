// SPDX-License-Identifier: Apache-2.0
/* Saving the store and putting it back: both work on the file, no server is asked. */
#include "base/json.h"
#include "cli/cli.h"
#include "os/fd.h"
#include "store/backup.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char *const FORMATS[] = {"text", "json", NULL};

const struct opt OPTS_BACKUP[] = {
    {"data", 0, "DIR", "The server's data directory.", .complete = COMPLETE_DIR},
    {"output", 'o', "FORMAT", "How the result is told.", .fallback = "text", .values = FORMATS},
    {0},
};

static int store_path(struct cli *cli, struct str *out, struct err *err)
{
    int r = cli_data_dir(cli, out, err);
    if (r == 0)
        str_add(out, "/muster.db");
    return r;
}

static void tell(struct cli *cli, const char *verb, const char *file,
                 const struct backup_report *report)
{
    if (str_eq(opt_get(&cli->opts, "output"), "json")) {
        scoped_str line = {0};
        str_add(&line, "{\"file\":");
        json_quote(file, strlen(file), &line);
        str_addf(&line,
                 ",\"objects\":%" PRIu64 ",\"revision\":%" PRIu64 ",\"bytes\":%" PRIu64 "}\n",
                 report->objects, report->revision, report->bytes);
        cli_print(cli, &line);
        return;
    }
    fprintf(cli->out, "%s: %" PRIu64 " objects %s, revision %" PRIu64 ", %" PRIu64 " KB\n", file,
            report->objects, verb, report->revision, (report->bytes + 999) / 1000);
}

int verb_backup(struct cli *cli, int argc, char **argv)
{
    (void)argc;
    scoped_str path = {0};
    struct err err = {0};
    struct backup_report report = {0};
    int r = store_path(cli, &path, &err);
    if (r == 0 && !file_exists(str_text(&path))) {
        (void)err_set(&err, -ENOENT, "there is no store '%s'", str_text(&path));
        r = err_hint(&err, "the first 'muster up' makes it; --data names the directory");
    }
    if (r == 0)
        r = backup_save(str_text(&path), argv[0], &report, &err);
    if (r < 0)
        return cli_error(cli, CLI_FAILED, &err);
    tell(cli, "saved", argv[0], &report);
    return CLI_OK;
}

int verb_restore(struct cli *cli, int argc, char **argv)
{
    (void)argc;
    scoped_str path = {0}, kept = {0};
    struct err err = {0};
    struct backup_report report = {0};
    int r = cli_data_dir(cli, &path, &err);
    if (r == 0)
        r = dir_make(str_text(&path), 0700, &err);
    if (r == 0) {
        str_add(&path, "/muster.db");
        str_addf(&kept, "%s.before-%lld", str_text(&path), (long long)(cli_now(cli) / 1000));
        r = backup_restore(str_text(&path), argv[0], str_text(&kept), &report, &err);
    }
    if (r < 0)
        return cli_error(cli, CLI_FAILED, &err);
    tell(cli, "restored", argv[0], &report);
    if (file_exists(str_text(&kept)))
        fprintf(cli->err, "what was there before is kept as %s\n", str_text(&kept));
    return CLI_OK;
}

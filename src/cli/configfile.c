// SPDX-License-Identifier: Apache-2.0
#include "cli/configfile.h"
#include "os/fd.h"

#define FILE_BYTES_MAX (1 << 20)

int configfile_read(struct cli *cli, const char *file, struct configuration *ret, struct err *err)
{
    scoped_str text = {0}, warnings = {0};
    int r = file_read(file, FILE_BYTES_MAX, &text, err);
    if (r < 0)
        return r;
    r = configuration_read(file, (struct sv){str_text(&text), text.len}, ret, &warnings, err);
    if (r >= 0)
        fputs(str_text(&warnings), cli->err);
    return r;
}

// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "generate.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void md_text(struct str *out, const char *text)
{
    for (; text != NULL && *text != '\0'; text++) {
        if (*text == '<')
            str_add(out, "&lt;");
        else if (*text == '\n')
            str_addc(out, ' ');
        else
            str_addf(out, strchr("|*", *text) != NULL ? "\\%c" : "%c", *text);
    }
}

void md_code(struct str *out, const char *text)
{
    if (text == NULL)
        return;
    str_addc(out, '`');
    for (; *text != '\0'; text++)
        str_addf(out, *text == '|' ? "\\%c" : "%c", *text);
    str_addc(out, '`');
}

void md_head(struct str *out, const char *source)
{
    str_addf(out, "<!-- Made by \"make docs\" from %s; change it there. -->\n", source);
}

void page_write(const char *folder, const char *name, const struct str *text)
{
    scoped_free char *path = mem_printf("%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    if (file == NULL || fwrite(str_text(text), 1, text->len, file) != text->len ||
        fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

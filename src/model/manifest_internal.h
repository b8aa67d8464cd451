// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/manifest.h"
#include "model/positions.h"

/* What the two readers share. Both append to `docs`; on failure the caller drops what they
 * appended. */
struct source {
    const char *file;
    struct sv text;
    struct manifest *manifest;
    int lines_before; /* of the file, when the text is a part of it */
};

int yaml_read(const struct source *source, struct err *err);
int json_read(const struct source *source, struct err *err);

/* "file:line:column: what" */
__attribute__((format(printf, 4, 5))) int manifest_fail(struct err *err, const char *file,
                                                        struct place at, const char *fmt, ...);
int manifest_fail_twice(struct err *err, const char *file, struct sv key, struct place first,
                        struct place again);
/* An empty document whose allocator aborts when memory runs out. */
yyjson_mut_doc *manifest_new_doc(void);
/* Takes doc and positions over. */
void manifest_add(struct manifest *manifest, yyjson_mut_doc *doc, struct positions *positions,
                  int line);
/* What is known of a value, or of its nearest parent; NULL when it is not in the document. */
const struct position *manifest_find(const struct manifest_doc *doc, const yyjson_mut_val *val);

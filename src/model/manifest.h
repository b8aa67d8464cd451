// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/json.h"
#include "model/kind.h"

/* Files as people write them: YAML or JSON, several documents, `List` objects taken apart. Each
 * value remembers where it stood. */
struct manifest_doc {
    yyjson_mut_doc *doc; /* one object */
    int line;            /* where the document begins, from 1 */
    struct positions *positions;
};
struct manifest {
    char *file; /* as given, "-" for standard input */
    VEC(struct manifest_doc) docs;
};

/* Parses all documents of `text`. Errors read "file:line:column: what". Depth <= 64, at most
 * 100000 nodes by aliases, duplicate keys refused, Kubernetes' scalar rules (YAML 1.1 booleans,
 * ~ and null, 0o17 and 017 octal, .inf refused, quoted stays text; whole numbers are integers,
 * however they are written). Empty documents are skipped. -EEXIST: a key stands twice; -EINVAL:
 * anything else. */
int manifest_parse(const char *file, struct sv text, struct manifest *ret_manifest,
                   struct err *err);
/* For whoever wants to hear of all mistakes: what cannot be read is left out, and told in `out` as
 * manifest_check() does, a line each. Returns how many those are. */
size_t manifest_parse_each(const char *file, struct sv text, struct manifest *ret_manifest,
                           struct str *out);
void manifest_done(struct manifest *manifest);
void manifest_drop(struct manifest *manifest, size_t index); /* one document */
/* Position of a value; of its nearest known parent when it was added later. false: unknown. */
bool manifest_position(const struct manifest_doc *doc, const yyjson_mut_val *val, int *ret_line,
                       int *ret_column);

/* Everything that can be said offline about one document: known kind (nearest name when not),
 * fields, values. Each finding becomes one line "file:line:column: path: text" + hint in `out`.
 * Returns the number of findings; ret_kind is NULL when the kind is not known. */
size_t manifest_check(const struct manifest *manifest, size_t index, struct str *out,
                      const struct kind **ret_kind);
/* The same, and FILE_KINDS are fine too. */
size_t manifest_check_file(const struct manifest *manifest, size_t index, struct str *out,
                           const struct kind **ret_kind);

/* JSON to YAML as kubectl prints it: keys sorted, two spaces, lists at the indentation of their
 * key, quotes where needed, block scalars for text with newlines. */
void yaml_write(yyjson_val *root, struct str *out);

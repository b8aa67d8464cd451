// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/schema.h"

/* The patches of the Kubernetes API, each on a mutable document in place. On failure the target
 * may be half changed: callers patch a copy. Targets are no deeper than JSON_DEPTH_MAX.
 * -EINVAL: the patch itself is wrong; -ENOENT: a path of a JSON patch leads nowhere; -ECANCELED:
 * its test failed; -E2BIG: the result would exceed JSON_DEPTH_MAX, or copies would make it larger
 * than 3 MiB or 100000 values. */
int patch_json(yyjson_mut_doc *doc, yyjson_val *operations, struct err *err); /* RFC 6902 */
/* The two that merge leave strings of the patch in the document: it must outlive every use. */
int patch_merge(yyjson_mut_doc *doc, yyjson_val *patch, struct err *err); /* RFC 7386 */
/* Strategic merge: merge keys from the type's table, $patch: replace|delete|merge,
 * $deleteFromPrimitiveList, $setElementOrder, $retainKeys. Without an order new items of a merged
 * list come before the ones that were there, as in Kubernetes. */
int patch_strategic(const struct type *type, yyjson_mut_doc *doc, yyjson_val *patch,
                    struct err *err);

/* Client-side apply without the patch: current + what `desired` says, minus what `last` said and
 * `desired` no longer does; lists with merge keys by key. `last` may be NULL. Changes `current`. */
int patch_apply(const struct type *type, yyjson_mut_doc *current, yyjson_val *last,
                yyjson_val *desired, struct err *err);

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/buf.h"
#include "base/json.h"

/* A document as its text and its read-only view, made in one go. The next version of a document
 * mostly keeps nearly all of it: members of the root that stayed what they were are taken over as
 * they stand, text and view, which costs a copy of bytes instead of writing and building them. */
#define PACK_MEMBERS_MAX 8
#define PACK_PARTS_MAX 24

struct pack {
    struct buf *text;
    yyjson_doc *view;
    /* Where the value of each of the first members of the root stands in the text; a length of 0:
     * not known, as in documents that were parsed. */
    struct pack_span {
        uint32_t at, len;
    } spans[PACK_MEMBERS_MAX];
};

/* Members of a new root that are identical (see json_mut_identical) to members of an old one. */
struct pack_kept {
    const yyjson_mut_val *values[PACK_MEMBERS_MAX]; /* in the new root */
    size_t members[PACK_MEMBERS_MAX];               /* which members of the old root they are */
    size_t len;
    /* Of members that are not: the lists and objects in them that are, as the conditions of a
     * status are in which only the message is new. */
    struct pack_part {
        const yyjson_mut_val *value;
        yyjson_val *old;
    } parts[PACK_PARTS_MAX];
    size_t part_count;
};
/* Notes each member of `root` that is identical to that of `old` and not noted yet, and of the
 * others their parts; not the one with the key `but`, which the caller is about to change. */
void pack_compare(struct pack_kept *kept, yyjson_mut_val *root, yyjson_val *old, const char *but);
/* Notes the parts of a member of which no more than scalars are going to change. */
void pack_compare_parts(struct pack_kept *kept, yyjson_mut_val *member, yyjson_val *old);
/* Somebody may have changed the new document anywhere: nothing is kept. */
void pack_forget(struct pack_kept *kept);
/* Is it a member or a part that is kept? `kept` may be NULL. */
bool pack_keeps(const struct pack_kept *kept, const yyjson_mut_val *value);
/* The old document once more, to compare the new one with. All that is kept is an alias there, a
 * second value over the items of the new one's: json_mut_equal() of the two costs nothing, and
 * neither may be changed while the other is looked at. The caller frees. */
yyjson_mut_doc *pack_past(const struct pack_kept *kept, yyjson_val *old);
/* Notes without looking that the value of this key, should `root` have it, is identical to the old
 * root's member of that number. */
void pack_keep(struct pack_kept *kept, yyjson_mut_val *root, yyjson_val *key, size_t member);
/* The old member that this value is identical to, or PACK_MEMBERS_MAX. `kept` may be NULL. */
size_t pack_member(const struct pack_kept *kept, const yyjson_mut_val *value);

/* `kept` tells what may be taken over from `old`; both may be NULL. The caller owns text and view,
 * which needs yyjson_doc_free(). */
void pack_make(yyjson_mut_val *root, const struct pack *old, const struct pack_kept *kept,
               struct pack *ret_pack);

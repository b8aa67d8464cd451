// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/place_input.h"

/* What `muster place` prints: for programs as JSON, for people as text. */
struct place_answer { /* of one vpod, in the order of the input */
    struct place_result result;
    struct place_refusals refusals; /* of each pod, once it was its turn */
};
struct place_answers {
    VEC(struct place_answer) of;
};
void place_answers_done(struct place_answers *answers);

void place_json(const struct place_input *input, const struct place_answers *answers,
                struct str *out);
void place_json_evictions(const struct place_input *input, const struct place_evictions *evictions,
                          struct str *out);
/* The spread of each vpod over zones, nodes and pods as bars, and who takes no more and why. */
void place_text(const struct place_input *input, const struct place_answers *answers,
                struct str *out);

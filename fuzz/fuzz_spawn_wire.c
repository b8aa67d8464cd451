// SPDX-License-Identifier: Apache-2.0
/* Whatever bytes come, reading ends; and what was read, said again, is read the same and said in
 * the same bytes. */
#include "fuzz.h"
#include "node/spawn_wire.h"
#include <assert.h>
#include <string.h>

static void check_orders(struct sv rest, struct arena *arena)
{
    struct spawn_order order, again;
    while (spawn_wire_next_order(&rest, arena, &order) > 0) {
        scoped_str one = {0}, two = {0};
        int r = spawn_wire_put_order(&one, &order);
        assert(r == 0); /* never longer than it came */
        struct sv said = {one.data, one.len};
        r = spawn_wire_next_order(&said, arena, &again);
        assert(r == 1 && said.len == 0 && again.type == order.type);
        r = spawn_wire_put_order(&two, &again);
        assert(r == 0 && one.len == two.len && memcmp(one.data, two.data, one.len) == 0);
    }
}

static void check_replies(struct sv rest)
{
    struct spawn_reply reply, again;
    while (spawn_wire_next_reply(&rest, &reply) > 0) {
        scoped_str one = {0}, two = {0};
        int r = spawn_wire_put_reply(&one, &reply);
        assert(r == 0);
        struct sv said = {one.data, one.len};
        r = spawn_wire_next_reply(&said, &again);
        assert(r == 1 && said.len == 0);
        r = spawn_wire_put_reply(&two, &again);
        assert(r == 0 && one.len == two.len && memcmp(one.data, two.data, one.len) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct sv bytes = {(const char *)data, size};
    arena_init(&arena);
    check_orders(bytes, &arena);
    check_replies(bytes);
    arena_done(&arena);
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
/* Stands before each controller's reconcile() to know which key a write belongs to, and to see
 * that no key is worked on while one of its writes is on its way. A reconcile function is not told
 * which controller it is called for, hence one trampoline for each number. */
#include "base/mem.h"
#include "sim/sim_internal.h"
#include <assert.h>

static void shadow_reconcile(struct control *control, const char *key, size_t number)
{
    struct sim *sim = container_of(control_world(control), struct sim, world);
    assert(sim->turn == NULL);
    sim->turn = mem_printf("%zu|%s", number, key);
    sim->stats.reconciles++;
    sim_trace(sim->clock, sim->turn, 0);
    if (map_get(sim->in_flight, sim->turn) != NULL && sim->violation == NULL)
        sim->violation = mem_printf("%s works on %s while a write of it is on its way",
                                    sim->shadows[number].name, key);
    sim->options.controllers[number]->reconcile(control, key);
    mem_free(take_ptr(sim->turn));
}

#define TRAMPOLINE(n)                                                                              \
    static void reconcile_##n(struct control *control, const char *key)                            \
    {                                                                                              \
        shadow_reconcile(control, key, n);                                                         \
    }
TRAMPOLINE(0)
TRAMPOLINE(1)
TRAMPOLINE(2)
TRAMPOLINE(3)
TRAMPOLINE(4)
TRAMPOLINE(5)
TRAMPOLINE(6)
TRAMPOLINE(7)
TRAMPOLINE(8)
TRAMPOLINE(9)
TRAMPOLINE(10)
TRAMPOLINE(11)
TRAMPOLINE(12)
TRAMPOLINE(13)
TRAMPOLINE(14)
TRAMPOLINE(15)

static void (*const TRAMPOLINES[SIM_CONTROLLERS_MAX])(struct control *, const char *) = {
    reconcile_0,  reconcile_1,  reconcile_2,  reconcile_3, reconcile_4,  reconcile_5,
    reconcile_6,  reconcile_7,  reconcile_8,  reconcile_9, reconcile_10, reconcile_11,
    reconcile_12, reconcile_13, reconcile_14, reconcile_15};

void shadow_controllers(struct sim *sim)
{
    for (size_t i = 0; sim->options.controllers[i] != NULL; i++) {
        assert(i < SIM_CONTROLLERS_MAX);
        sim->shadows[i] = *sim->options.controllers[i];
        sim->shadows[i].reconcile = TRAMPOLINES[i];
        sim->shadow_list[i] = &sim->shadows[i];
    }
}

void shadow_forget(struct sim *sim)
{
    map_free(sim->in_flight);
    sim->in_flight = map_new();
    sim->manager_life++;
}

void shadow_sent(struct sim *sim, const char *turn)
{
    uintptr_t count = (uintptr_t)map_get(sim->in_flight, turn);
    (void)map_put(sim->in_flight, turn, (void *)(count + 1));
}

void shadow_answered(struct sim *sim, const char *turn)
{
    uintptr_t count = (uintptr_t)map_get(sim->in_flight, turn);
    assert(count > 0);
    if (count > 1)
        (void)map_put(sim->in_flight, turn, (void *)(count - 1));
    else
        (void)map_del(sim->in_flight, turn);
}

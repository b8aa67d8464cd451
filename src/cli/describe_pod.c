// SPDX-License-Identifier: Apache-2.0
#include "cli/describe.h"
#include "cli/grid.h"
#include "cli/podview.h"
#include "model/cell.h"

/* "db (ready)"; that init containers come first needs no words. */
static void needs_cell(const struct podview *view, const struct podview_one *one, struct grid *grid)
{
    scoped_str text = {0};
    for (size_t i = 0; i < one->needs.len; i++) {
        const struct podview_need *need = &one->needs.items[i];
        if (!need->is_order)
            str_addf(&text, "%s%s (%s)", text.len > 0 ? ", " : "", view->list.items[need->on].name,
                     podview_condition(need->condition));
    }
    grid_cell(grid, text.len > 0 ? str_text(&text) : "<none>");
}

/* Why it is not ready, or how it ended. */
static void reason_cell(const struct podview_one *one, struct grid *grid)
{
    static const char *const PLACES[] = {"lifecycle", "state.waiting", "state.terminated"};
    scoped_str text = {0};
    for (size_t i = 0; i < ARRAY_LEN(PLACES) && text.len == 0; i++) {
        yyjson_val *place = json_at(one->status, PLACES[i]);
        const char *reason = json_str_at(place, "reason");
        const char *message = json_str_at(place, "message");
        str_add(&text, reason);
        str_add(&text, reason != NULL && message != NULL ? ": " : "");
        str_add(&text, message);
    }
    grid_cell(grid, str_text(&text));
}

static void add_row(const struct podview *view, const struct podview_one *one, time_ms now,
                    struct grid *grid)
{
    time_ms since = cell_time(one->life, "since");
    const char *state = json_str_at(one->life, "state");
    bool is_ready = yyjson_get_bool(yyjson_obj_get(one->status, "ready"));
    scoped_str age = {0}, restarts = {0};
    if (since > 0)
        duration_human(now > since ? now - since : 0, &age);
    str_addf(&restarts, "%lld", (long long)json_int_at(one->status, "restartCount", 0));
    grid_cell(grid, one->name);
    grid_cell(grid, state != NULL ? state : "<unknown>");
    grid_cell(grid, str_text(&age));
    grid_cell(grid, is_ready ? "true" : "false");
    grid_cell(grid, str_text(&restarts));
    needs_cell(view, one, grid);
    reason_cell(one, grid);
}

void describe_containers(yyjson_val *pod, time_ms now, struct str *out)
{
    static const char *const TITLES[] = {"Name",     "State",      "Since", "Ready",
                                         "Restarts", "Depends On", "Reason"};
    struct podview view;
    struct grid grid = {.columns = ARRAY_LEN(TITLES), .indent = 2};
    bool is_known = false;
    podview_open(&view, pod);
    for (size_t i = 0; i < ARRAY_LEN(TITLES); i++)
        grid_cell(&grid, TITLES[i]);
    for (size_t i = 0; i < view.list.len; i++) {
        const struct podview_one *one = &view.list.items[i];
        is_known = is_known || one->status != NULL || one->needs.len > 0;
        add_row(&view, one, now, &grid);
    }
    if (is_known) {
        str_add(out, "Containers:\n");
        grid_print(&grid, false, out);
    }
    grid_done(&grid);
    podview_close(&view);
}

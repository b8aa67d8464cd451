// SPDX-License-Identifier: Apache-2.0
/* Invariants: runs are in rising order, not empty, and between two there is a gap; `count` is the
 * sum of their lengths. */
#include "core/job/indexes.h"
#include <assert.h>
#include <errno.h>

void indexes_done(struct indexes *set)
{
    vec_done(&set->runs);
    set->count = 0;
}

void indexes_assign(struct indexes *to, const struct indexes *from)
{
    if (to == from)
        return;
    vec_clear(&to->runs);
    for (size_t i = 0; i < from->runs.len; i++)
        vec_push(&to->runs, from->runs.items[i]);
    to->count = from->count;
}

/* The first run that ends at `index` or behind it; runs.len when there is none. */
static size_t find(const struct indexes *set, int64_t index)
{
    size_t low = 0, high = set->runs.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->runs.items[middle].last < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool indexes_has(const struct indexes *set, int64_t index)
{
    size_t at = find(set, index);
    return at < set->runs.len && set->runs.items[at].first <= index;
}

int64_t indexes_next(const struct indexes *set, int64_t from)
{
    size_t at = find(set, from);
    if (at == set->runs.len)
        return -1;
    return set->runs.items[at].first > from ? set->runs.items[at].first : from;
}

int64_t indexes_missing(const struct indexes *set, int64_t from)
{
    size_t at = find(set, from);
    if (at == set->runs.len || set->runs.items[at].first > from)
        return from;
    return set->runs.items[at].last + 1;
}

/* Puts `with` in the place of `count` runs at `at`. */
static void splice(struct indexes *set, size_t at, size_t count, const struct interval *with,
                   size_t with_count)
{
    size_t tail = set->runs.len - at - count;
    for (size_t i = count; i < with_count; i++)
        vec_push(&set->runs, (struct interval){0});
    if (tail > 0)
        memmove(&set->runs.items[at + with_count], &set->runs.items[at + count],
                tail * sizeof(*set->runs.items));
    for (size_t i = 0; i < with_count; i++)
        set->runs.items[at + i] = with[i];
    set->runs.len = at + with_count + tail;
}

static int64_t length(struct interval run)
{
    return run.last - run.first + 1;
}

void indexes_add_range(struct indexes *set, int64_t first, int64_t last)
{
    assert(first >= 0);
    if (last < first)
        return;
    /* A run that ends just before, or begins just behind, grows instead. */
    size_t at = find(set, first > 0 ? first - 1 : 0);
    struct interval sum = {first, last};
    size_t end = at;
    for (; end < set->runs.len && set->runs.items[end].first <= last + 1; end++) {
        struct interval run = set->runs.items[end];
        set->count -= length(run);
        sum.first = run.first < sum.first ? run.first : sum.first;
        sum.last = run.last > sum.last ? run.last : sum.last;
    }
    set->count += length(sum);
    splice(set, at, end - at, &sum, 1);
}

void indexes_remove_range(struct indexes *set, int64_t first, int64_t last)
{
    if (last < first)
        return;
    struct interval rest[2];
    size_t rest_count = 0, at = find(set, first), end = at;
    for (; end < set->runs.len && set->runs.items[end].first <= last; end++) {
        struct interval run = set->runs.items[end];
        set->count -= length(run);
        if (run.first < first)
            rest[rest_count++] = (struct interval){run.first, first - 1};
        if (run.last > last)
            rest[rest_count++] = (struct interval){last + 1, run.last};
    }
    for (size_t i = 0; i < rest_count; i++)
        set->count += length(rest[i]);
    splice(set, at, end - at, rest, rest_count);
}

bool indexes_add(struct indexes *set, int64_t index)
{
    if (indexes_has(set, index))
        return false;
    indexes_add_range(set, index, index);
    return true;
}

bool indexes_remove(struct indexes *set, int64_t index)
{
    if (!indexes_has(set, index))
        return false;
    indexes_remove_range(set, index, index);
    return true;
}

int64_t indexes_common(const struct indexes *a, const struct indexes *b)
{
    int64_t count = 0;
    for (size_t i = 0, k = 0; i < a->runs.len && k < b->runs.len;) {
        struct interval x = a->runs.items[i], y = b->runs.items[k];
        int64_t first = x.first > y.first ? x.first : y.first;
        int64_t last = x.last < y.last ? x.last : y.last;
        count += last >= first ? last - first + 1 : 0;
        if (x.last < y.last)
            i++;
        else
            k++;
    }
    return count;
}

/* ---- text ---- */

static bool read_number(struct sv *rest, int64_t limit, int64_t *ret_number)
{
    int64_t number = 0;
    size_t digits = 0;
    for (; digits < rest->len && rest->ptr[digits] >= '0' && rest->ptr[digits] <= '9'; digits++) {
        number = number * 10 + (rest->ptr[digits] - '0');
        if (number >= limit)
            return false;
    }
    rest->ptr += digits;
    rest->len -= digits;
    *ret_number = number;
    return digits > 0;
}

static bool read_run(struct sv *rest, int64_t limit, struct interval *ret_run)
{
    struct interval run;
    if (!read_number(rest, limit, &run.first))
        return false;
    run.last = run.first;
    if (rest->len > 0 && rest->ptr[0] == '-') {
        rest->ptr++;
        rest->len--;
        if (!read_number(rest, limit, &run.last) || run.last <= run.first)
            return false;
    }
    *ret_run = run;
    return true;
}

int indexes_parse(struct sv text, int64_t limit, struct indexes *ret_set, struct err *err)
{
    scoped_indexes set = {0};
    struct sv rest = text;
    int64_t last = -1;
    bool ok = true;
    while (rest.len > 0 && ok) {
        struct interval run;
        ok = read_run(&rest, limit, &run) && run.first > last;
        if (!ok)
            break;
        indexes_add_range(&set, run.first, run.last);
        last = run.last;
        if (rest.len == 0)
            break;
        ok = rest.ptr[0] == ',' && rest.len > 1;
        rest.ptr++;
        rest.len--;
    }
    if (!ok) {
        (void)err_set(err, -EINVAL, "'%.*s' are not rising indexes below %lld", (int)text.len,
                      text.ptr, (long long)limit);
        return err_hint(err, "write them like 1,3-5,7");
    }
    indexes_done(ret_set);
    *ret_set = set;
    set = (struct indexes){0};
    return 0;
}

void indexes_format(const struct indexes *set, struct str *out)
{
    for (size_t i = 0; i < set->runs.len; i++) {
        struct interval run = set->runs.items[i];
        str_addf(out, "%s%lld", i > 0 ? "," : "", (long long)run.first);
        /* Two neighbours are listed, three are an interval, as Kubernetes writes them. */
        if (run.last == run.first + 1)
            str_addf(out, ",%lld", (long long)run.last);
        else if (run.last > run.first)
            str_addf(out, "-%lld", (long long)run.last);
    }
}

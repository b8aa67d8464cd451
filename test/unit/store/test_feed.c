// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "base/vec.h"
#include "fixture.h"

struct listener {
    struct feed *feed;
    struct watch *watch;
    VEC(uint64_t) heard;
    struct listener *closes; /* what it does when it hears something */
    struct listener *opens;
};

static void hear(void *arg, struct change *change)
{
    struct listener *me = arg;
    vec_push(&me->heard, change->revision);
    if (me->closes != NULL && me->closes->watch != NULL)
        feed_unwatch(take_ptr(me->closes->watch));
    if (me->opens != NULL && me->opens->watch == NULL)
        me->opens->watch = feed_watch(me->feed, (struct watch_filter){0}, hear, me->opens);
}

static void listen(struct listener *me, struct feed *feed, const struct kind *kind, const char *ns,
                   const char *name)
{
    *me = (struct listener){.feed = feed};
    me->watch = feed_watch(feed, (struct watch_filter){kind, ns, name}, hear, me);
}

static void hush(struct listener *me)
{
    feed_unwatch(take_ptr(me->watch));
    vec_done(&me->heard);
}

static struct obj *thing(const struct kind *kind, const char *ns, const char *name,
                         uint64_t revision)
{
    scoped_free char *space = *ns ? mem_printf("'namespace':'%s',", ns) : mem_strdup("");
    scoped_free char *json =
        mem_printf("{'metadata':{%s'name':'%s','uid':'%s-%s'}}", space, name, ns, name);
    return obj_of(kind, revision, json);
}

static void publish_at(struct feed *feed, uint64_t revision, const struct kind *kind,
                       const char *ns, const char *name)
{
    scoped_obj *obj = thing(kind, ns, name, revision);
    feed_publish(feed, CHANGE_ADDED, obj, NULL);
}

static void publish(struct feed *feed, const struct kind *kind, const char *ns, const char *name)
{
    publish_at(feed, feed_revision(feed) + 1, kind, ns, name);
}

static const struct {
    const struct kind *kind;
    const char *ns, *name;
} CHANGES[] = {
    {&KIND_POD, "a", "x"}, {&KIND_POD, "a", "y"},      {&KIND_POD, "b", "x"},
    {&KIND_JOB, "a", "x"}, {&KIND_NAMESPACE, "", "a"}, {&KIND_NODE, "", "x"},
};

static void test_kinds_that_changed(void **state)
{
    (void)state;
    struct feed *feed = feed_new(4);
    feed_start_at(feed, 10);
    assert_false(feed_has_changed(feed, &KIND_POD, 10));
    assert_true(feed_has_changed(feed, &KIND_POD, 9)); /* who knows */
    publish(feed, &KIND_POD, "a", "x");
    publish(feed, &KIND_JOB, "a", "x");
    assert_true(feed_has_changed(feed, &KIND_POD, 10));
    assert_false(feed_has_changed(feed, &KIND_POD, 11));
    assert_true(feed_has_changed(feed, &KIND_JOB, 11));
    assert_false(feed_has_changed(feed, &KIND_JOB, 12));
    for (int i = 0; i < 4; i++)
        publish(feed, &KIND_NODE, "", "x");
    assert_false(feed_has_changed(feed, &KIND_JOB, 12));
    assert_true(feed_has_changed(feed, &KIND_JOB, 11));
    feed_free(feed);
}

/* A filter lets the same through live and in replay, and says so in bits of CHANGES. */
static void test_filters(void **state)
{
    (void)state;
    static const struct {
        const struct kind *kind;
        const char *ns, *name;
        unsigned wanted;
    } CASES[] = {
        {NULL, NULL, NULL, 0x3f},      {&KIND_POD, NULL, NULL, 0x07}, {&KIND_POD, "", NULL, 0x07},
        {&KIND_POD, "a", NULL, 0x03},  {&KIND_POD, "a", "x", 0x01},   {&KIND_POD, NULL, "x", 0x05},
        {NULL, "a", NULL, 0x0b},       {NULL, NULL, "x", 0x2d},       {NULL, "a", "x", 0x09},
        {&KIND_NODE, NULL, "x", 0x20}, {&KIND_LEASE, NULL, NULL, 0},  {&KIND_POD, "x", NULL, 0},
    };
    for (size_t c = 0; c < ARRAY_LEN(CASES); c++) {
        struct feed *feed = feed_new(10);
        struct listener live, late;
        listen(&live, feed, CASES[c].kind, CASES[c].ns, CASES[c].name);
        for (size_t i = 0; i < ARRAY_LEN(CHANGES); i++)
            publish(feed, CHANGES[i].kind, CHANGES[i].ns, CHANGES[i].name);
        listen(&late, feed, CASES[c].kind, CASES[c].ns, CASES[c].name);
        assert_int_equal(feed_replay(late.watch, 0), 0);
        struct listener *both[] = {&live, &late};
        for (size_t b = 0; b < 2; b++) {
            unsigned heard = 0;
            for (size_t i = 0; i < both[b]->heard.len; i++)
                heard |= 1u << (both[b]->heard.items[i] - 1);
            if (heard != CASES[c].wanted)
                fail_msg("case %zu, %s: %#x", c, b ? "replayed" : "live", heard);
            hush(both[b]);
        }
        feed_free(feed);
    }
}

static void test_window(void **state)
{
    (void)state;
    struct feed *feed = feed_new(3);
    struct listener me;
    feed_start_at(feed, 100);
    listen(&me, feed, NULL, NULL, NULL);
    assert_int_equal(feed_replay(me.watch, 99), -ESTALE);
    assert_int_equal(feed_replay(me.watch, 100), 0);
    for (int i = 0; i < 5; i++)
        publish(feed, &KIND_POD, "a", "x");
    assert_int_equal(feed_revision(feed), 105);
    assert_int_equal(feed_oldest(feed), 102);
    vec_clear(&me.heard);
    assert_int_equal(feed_replay(me.watch, 101), -ESTALE);
    assert_int_equal(me.heard.len, 0);
    assert_int_equal(feed_replay(me.watch, 102), 0);
    assert_int_equal(me.heard.len, 3);
    assert_int_equal(me.heard.items[0], 103);
    vec_clear(&me.heard);
    assert_int_equal(feed_replay(me.watch, 104), 0);
    assert_int_equal(me.heard.len, 1);
    assert_int_equal(feed_replay(me.watch, 105), 0);
    assert_int_equal(me.heard.len, 1);
    hush(&me);
    feed_free(feed);
}

/* A version is its text and a parsed view, which is larger than the text: of changes of 1 MiB each
 * the window keeps what fits into memory, not a hundred. */
static void test_window_of_large_objects(void **state)
{
    (void)state;
    struct feed *feed = feed_new(1000);
    scoped_free char *text = mem_alloc((1 << 20) + 1);
    memset(text, 'x', 1 << 20);
    text[1 << 20] = '\0';
    scoped_free char *json =
        mem_printf("{'metadata':{'namespace':'a','name':'x','uid':'u'},'data':'%s'}", text);
    for (uint64_t revision = 1; revision <= 60; revision++) {
        scoped_obj *obj = obj_of(&KIND_CONFIGMAP, revision, json);
        feed_publish(feed, CHANGE_MODIFIED, obj, NULL);
    }
    size_t kept = feed_revision(feed) - feed_oldest(feed);
    assert_in_range(kept, 4, 15);
    feed_free(feed);
}

static void hear_views(void *arg, struct change *change)
{
    size_t *heard = arg;
    assert_string_equal(change->obj->meta.name, "x");
    assert_string_equal(json_str_at(change->obj->root, "metadata.namespace"), "a");
    if (change->old != NULL)
        assert_string_equal(change->old->meta.name, "x");
    (*heard)++;
}

/* Versions that only the window holds lose their views; nobody who resumes can tell. */
static void test_old_versions_are_frozen(void **state)
{
    (void)state;
    enum { VERSIONS = 1500 };
    struct feed *feed = feed_new(2 * VERSIONS);
    struct obj *versions[VERSIONS] = {0};
    for (size_t i = 0; i < VERSIONS; i++) {
        versions[i] = thing(&KIND_POD, "a", "x", i + 1);
        struct obj *old = i > 0 ? versions[i - 1] : NULL;
        enum change_type type = i == 0     ? CHANGE_ADDED
                                : i == 700 ? CHANGE_DELETED
                                : i == 701 ? CHANGE_ADDED
                                           : CHANGE_MODIFIED;
        feed_publish(feed, type, versions[i], i == 701 ? NULL : old);
        if (i > 0 && i != 10)
            obj_unref(versions[i - 1]); /* the window has it */
    }
    assert_null(versions[0]->doc);
    assert_null(versions[700]->doc);   /* a deletion has no successor */
    assert_non_null(versions[9]->doc); /* somebody still has it */
    assert_non_null(versions[VERSIONS - 2]->doc);
    size_t heard = 0;
    struct watch *watch =
        feed_watch(feed, (struct watch_filter){&KIND_POD, "a", "x"}, hear_views, &heard);
    assert_int_equal(feed_replay(watch, 0), 0);
    assert_int_equal(heard, VERSIONS);
    assert_null(versions[0]->doc); /* again */
    assert_null(versions[700]->doc);
    feed_unwatch(watch);
    obj_unref(versions[9]);
    obj_unref(versions[VERSIONS - 1]);
    feed_free(feed);
}

static void test_revisions_may_have_gaps(void **state)
{
    (void)state;
    struct feed *feed = feed_new(10);
    struct listener me;
    listen(&me, feed, NULL, NULL, NULL);
    publish(feed, &KIND_POD, "a", "x");
    publish_at(feed, 51, &KIND_POD, "a", "x");
    vec_clear(&me.heard);
    assert_int_equal(feed_replay(me.watch, 1), 0);
    assert_int_equal(feed_replay(me.watch, 30), 0);
    assert_int_equal(feed_replay(me.watch, 51), 0);
    assert_int_equal(me.heard.len, 2);
    assert_int_equal(me.heard.items[1], 51);
    hush(&me);
    feed_free(feed);
}

/* Closing itself, the next one, the one before: all are fine, and nobody closed is told. */
static void test_close_from_a_callback(void **state)
{
    (void)state;
    for (size_t who = 0; who < 3; who++) {
        for (size_t whom = 0; whom < 3; whom++) {
            struct feed *feed = feed_new(10);
            struct listener three[3];
            for (size_t i = 0; i < 3; i++)
                listen(&three[i], feed, &KIND_POD, NULL, NULL);
            three[who].closes = &three[whom];
            publish(feed, &KIND_POD, "a", "x");
            publish(feed, &KIND_POD, "a", "y");
            assert_int_equal(feed_watches(feed), 2);
            for (size_t i = 0; i < 3; i++) {
                size_t expected = i != whom ? 2 : whom > who ? 0 : 1;
                assert_int_equal(three[i].heard.len, expected);
                hush(&three[i]);
            }
            feed_free(feed);
        }
    }
}

/* A watch that is opened while a change is told hears of the next one, whether it stands in the
 * list that is being walked or not. */
static void test_open_from_a_callback(void **state)
{
    (void)state;
    struct feed *feed = feed_new(10);
    struct listener first, second = {0};
    listen(&first, feed, NULL, NULL, NULL);
    second.feed = feed;
    first.opens = &second;
    publish(feed, &KIND_POD, "a", "x");
    assert_int_equal(second.heard.len, 0);
    publish(feed, &KIND_POD, "a", "x");
    assert_int_equal(second.heard.len, 1);
    assert_int_equal(feed_replay(second.watch, 0), 0);
    assert_int_equal(second.heard.len, 3);
    hush(&first);
    hush(&second);
    feed_free(feed);
}

/* The window holds references of its own, and lets go of them. */
static void test_references(void **state)
{
    (void)state;
    struct feed *feed = feed_new(1);
    scoped_obj *old = thing(&KIND_POD, "a", "x", 1);
    scoped_obj *obj = thing(&KIND_POD, "a", "x", 2);
    feed_publish(feed, CHANGE_MODIFIED, obj, old);
    assert_int_equal(obj->refs, 2);
    assert_int_equal(old->refs, 2);
    publish(feed, &KIND_POD, "a", "y");
    assert_int_equal(obj->refs, 1);
    assert_int_equal(old->refs, 1);
    feed_free(feed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_kinds_that_changed),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_window_of_large_objects),
        cmocka_unit_test(test_old_versions_are_frozen),
        cmocka_unit_test(test_revisions_may_have_gaps),
        cmocka_unit_test(test_close_from_a_callback),
        cmocka_unit_test(test_open_from_a_callback),
        cmocka_unit_test(test_references),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
/* Families of ConfigMaps, written as "a b<a! c<a,b": b is owned by a and holds its foreground
 * deletion back, c has two owners. A * behind the name is a finalizer of somebody else, a ' in what
 * is left means "marked as deleted", + gives new owners to one that is there already. Owners that
 * are not there: `gone` (of a known kind) and `?` (of a kind that the server does not know). */
#include "base/mem.h"
#include "stage.h"

static const struct controller *const GARBAGE[] = {&CONTROLLER_GARBAGE, NULL};

struct name {
    char *ns, *name;
};

static struct name split(struct sv text)
{
    struct sv rest = text;
    struct sv first = sv_cut(&rest, '/');
    if (first.len == text.len)
        return (struct name){mem_strdup("default"), mem_strndup(text.ptr, text.len)};
    return (struct name){mem_strndup(first.ptr, first.len), mem_strndup(rest.ptr, rest.len)};
}

static void name_done(struct name *name)
{
    mem_free(name->ns);
    mem_free(name->name);
}

static void add_owner(struct sim *sim, struct sv text, struct str *out)
{
    bool blocks = text.len > 0 && text.ptr[text.len - 1] == '!';
    text.len -= blocks;
    struct name owner = split(text);
    struct obj *obj = stage_get(sim, &KIND_CONFIGMAP, owner.ns, owner.name);
    bool is_unknown = strcmp(owner.name, "?") == 0;
    if (obj == NULL && !is_unknown)
        assert_string_equal(owner.name, "gone");
    str_addf(out, "%s{'apiVersion':'v1','kind':'%s','name':'%s','uid':'%s'%s}", out->len ? "," : "",
             is_unknown ? "Stranger" : "ConfigMap", owner.name,
             obj          ? obj->meta.uid
             : is_unknown ? "5e7f1a0c-0000-4000-8000-000000000001"
                          : "5e7f1a0c-0000-4000-8000-000000000000",
             blocks ? ",'blockOwnerDeletion':true" : "");
    name_done(&owner);
}

static void add_member(struct sim *sim, struct sv token)
{
    struct sv owners = token;
    struct sv head = sv_cut(&owners, '<');
    bool is_change = head.ptr[0] == '+';
    head.ptr += is_change, head.len -= is_change;
    bool is_held = head.ptr[head.len - 1] == '*';
    head.len -= is_held;
    struct name name = split(head);
    scoped_str refs = {0};
    while (owners.len > 0 && head.len + is_held + is_change < token.len)
        add_owner(sim, sv_cut(&owners, ','), &refs);
    scoped_free char *body =
        mem_printf("{'metadata':{'name':'%s','finalizers':[%s],'ownerReferences':[%s]}}", name.name,
                   is_held ? "'x/held'" : "", str_text(&refs));
    stage_do(sim, stage_write(is_change ? WRITE_PATCH : WRITE_CREATE, &KIND_CONFIGMAP, name.ns,
                              is_change ? name.name : "", body));
    name_done(&name);
}

static void describe(const struct obj *obj, struct str *out)
{
    size_t i, n;
    yyjson_val *ref;
    if (strcmp(obj_namespace(obj), "default") != 0)
        str_addf(out, "%s/", obj_namespace(obj));
    str_addf(out, "%s%s", obj->meta.name, obj->meta.deleted ? "'" : "");
    yyjson_arr_foreach(obj->meta.owners, i, n, ref)
    {
        str_addf(out, "%c%s", i ? ',' : '<', yyjson_get_str(yyjson_obj_get(ref, "name")));
    }
}

static void family(struct sim *sim, struct str *out)
{
    struct cache *cache = sim_store(sim)->cache;
    struct obj *obj = cache_first(cache, &KIND_CONFIGMAP, NULL);
    for (; obj != NULL; obj = cache_after(cache, &KIND_CONFIGMAP, NULL, obj)) {
        if (out->len > 0)
            str_addc(out, ' ');
        describe(obj, out);
    }
}

struct story {
    const char *name, *family;
    const char *deleted; /* names */
    enum propagation how;
    const char *left;
};

// clang-format off
static const struct story STORIES[] = {
    {"background chain", "a b<a c<b", "a", PROPAGATE_BACKGROUND, ""},
    {"default is background", "a b<a", "a", PROPAGATE_DEFAULT, ""},
    {"foreground chain", "a b<a! c<b!", "a", PROPAGATE_FOREGROUND, ""},
    {"foreground without dependents", "a", "a", PROPAGATE_FOREGROUND, ""},
    {"foreground, nobody blocks", "a b<a c<a", "a", PROPAGATE_FOREGROUND, ""},
    {"orphans", "a b<a c<a! d<b", "a", PROPAGATE_ORPHAN, "b c d<b"},
    {"orphans without dependents", "a", "a", PROPAGATE_ORPHAN, ""},
    {"one of two owners", "a b c<a,b", "a", PROPAGATE_BACKGROUND, "b c<b"},
    {"one of two owners, foreground", "a b c<a!,b", "a", PROPAGATE_FOREGROUND, "b c<b"},
    {"one of two owners, orphaned", "a b c<a,b", "a", PROPAGATE_ORPHAN, "b c<b"},
    {"both owners", "a b c<a,b", "a b", PROPAGATE_BACKGROUND, ""},
    {"diamond", "a b<a! c<a! d<b!,c!", "a", PROPAGATE_FOREGROUND, ""},
    {"held dependent blocks", "a b*<a!", "a", PROPAGATE_FOREGROUND, "a' b'<a"},
    {"held dependent that does not block", "a b*<a", "a", PROPAGATE_FOREGROUND, "b'<a"},
    {"held deep below", "a b<a! c*<b!", "a", PROPAGATE_FOREGROUND, "a' b'<a c'<b"},
    {"held owner keeps all", "a* b<a", "a", PROPAGATE_BACKGROUND, "a' b<a"},
    {"held owner, foreground", "a* b<a!", "a", PROPAGATE_FOREGROUND, "a'"},
    {"never had an owner", "b<gone", "", PROPAGATE_DEFAULT, ""},
    {"a lost owner beside a live one", "a b<gone,a", "", PROPAGATE_DEFAULT, "a b<a"},
    {"stranger counts as alive", "b<?", "", PROPAGATE_DEFAULT, "b<?"},
    {"stranger beside a lost one", "b<?,gone", "", PROPAGATE_DEFAULT, "b<?"},
    {"owner elsewhere is none", "kube-public/a b<kube-public/a", "", PROPAGATE_DEFAULT,
     "kube-public/a"},
    {"what is elsewhere does not block", "kube-public/a b*<kube-public/a!", "kube-public/a",
     PROPAGATE_FOREGROUND, "b'<a"},
    {"circle stays", "a b<a +a<b", "", PROPAGATE_DEFAULT, "a<b b<a"},
    {"circle, background", "a b<a +a<b", "a", PROPAGATE_BACKGROUND, ""},
    {"circle, foreground", "a b<a! +a<b!", "a", PROPAGATE_FOREGROUND, ""},
    {"circle, both foreground", "a b<a! +a<b!", "a b", PROPAGATE_FOREGROUND, ""},
    {"circle of three", "a b<a! c<b! +a<c!", "a", PROPAGATE_FOREGROUND, ""},
    {"circle of three, all foreground", "a b<a! c<b! +a<c!", "c a b", PROPAGATE_FOREGROUND, ""},
    {"owner of itself", "a +a<a!", "a", PROPAGATE_FOREGROUND, ""},
    {"circle with a held one below", "a b<a! +a<b! c*<b!", "a", PROPAGATE_FOREGROUND,
     "b'<a c'<b"},
};
// clang-format on

static void delete_all(struct sim *sim, const struct story *story)
{
    struct sv rest = sv_of(story->deleted);
    while (rest.len > 0) {
        struct name name = split(sv_cut(&rest, ' '));
        struct write *write = stage_write(WRITE_DELETE, &KIND_CONFIGMAP, name.ns, name.name, NULL);
        write->propagation = story->how;
        sim_submit(sim, write);
        name_done(&name);
    }
}

static void tell(const struct story *story, uint64_t seed, const struct sim_faults *faults)
{
    struct sim *sim = stage_open(seed, GARBAGE, faults);
    struct sv rest = sv_of(story->family);
    while (rest.len > 0)
        add_member(sim, sv_cut(&rest, ' '));
    delete_all(sim, story);
    stage_run(sim, 5 * 60 * 1000);
    scoped_str left = {0};
    family(sim, &left);
    if (strcmp(str_text(&left), story->left) != 0)
        fail_msg("%s (seed %d): left is \"%s\"", story->name, (int)seed, str_text(&left));
    sim_free(sim);
}

static void test_stories(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(STORIES); i++)
        tell(&STORIES[i], 1, NULL);
}

/* Late news, conflicts and restarts of the controllers change nothing about how it ends. */
static void test_stories_with_faults(void **state)
{
    (void)state;
    static const struct sim_faults FAULTS = {
        .conflict = 3000, .restart = 1000, .commit_ms = 20, .lag_ms = 60, .submit_ms = 60};
    for (size_t i = 0; i < ARRAY_LEN(STORIES); i++) {
        for (uint64_t seed = 1; seed <= 5; seed++)
            tell(&STORIES[i], seed, &FAULTS);
    }
}

/* An object without a namespace cannot have an owner in one; deleting a node for that would be
 * a high price for somebody's mistake. */
static void test_cluster_scoped_dependent(void **state)
{
    (void)state;
    struct sim *sim = stage_open(1, GARBAGE, NULL);
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_NODE, "", "",
                              "{'metadata':{'name':'n','ownerReferences':[{'apiVersion':'v1','kind'"
                              ":'ConfigMap','name':'a','uid':'u'}]}}"));
    stage_run(sim, 60000);
    assert_non_null(stage_get(sim, &KIND_NODE, "", "n"));
    sim_free(sim);
}

static uint64_t reconciles_for(size_t dependents)
{
    struct sim *sim = stage_open(1, GARBAGE, NULL);
    stage_do(sim, stage_write(WRITE_CREATE, &KIND_CONFIGMAP, "default", "",
                              "{'metadata':{'name':'owner'}}"));
    const char *uid = stage_get(sim, &KIND_CONFIGMAP, "default", "owner")->meta.uid;
    scoped_free char *body = mem_printf(
        "{'metadata':{'generateName':'d-','ownerReferences':[{'apiVersion':'v1','kind':'ConfigMap',"
        "'name':'owner','uid':'%s','blockOwnerDeletion':true}]}}",
        uid);
    for (size_t i = 0; i < dependents; i++)
        sim_submit(sim, stage_write(WRITE_CREATE, &KIND_CONFIGMAP, "default", "", body));
    stage_run(sim, 60000);
    assert_int_equal(cache_count(sim_store(sim)->cache, &KIND_CONFIGMAP), dependents + 1);
    struct manager_stats before, after;
    assert_int_equal(manager_stats(sim_manager(sim), &before, 1), 1);
    struct write *write = stage_write(WRITE_DELETE, &KIND_CONFIGMAP, "default", "owner", NULL);
    write->propagation = PROPAGATE_FOREGROUND;
    stage_do(sim, write);
    stage_run(sim, 60000);
    assert_int_equal(cache_count(sim_store(sim)->cache, &KIND_CONFIGMAP), 0);
    (void)manager_stats(sim_manager(sim), &after, 1);
    sim_free(sim);
    return after.reconciles - before.reconciles;
}

/* Work grows with what changed: n dependents cost n steps, not n squared. */
static void test_foreground_is_linear(void **state)
{
    (void)state;
    static const size_t COUNTS[] = {500, 1000, 2000};
    for (size_t i = 0; i < ARRAY_LEN(COUNTS); i++) {
        uint64_t steps = reconciles_for(COUNTS[i]);
        if (steps < COUNTS[i] || steps > 3 * COUNTS[i])
            fail_msg("%zu dependents took %d steps", COUNTS[i], (int)steps);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stories),
        cmocka_unit_test(test_stories_with_faults),
        cmocka_unit_test(test_cluster_scoped_dependent),
        cmocka_unit_test(test_foreground_is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
#include "control/pods/minion.h"
#include "control/pods/settings.h"
#include "stage.h"

static struct obj *config(const char *name, const char *spec)
{
    scoped_free char *json =
        mem_printf("{'apiVersion':'muster.dev/v1alpha1','kind':'NodeConfig','metadata':{'name':"
                   "'%s','uid':'u-%s'},'spec':%s}",
                   name, name, spec);
    for (char *c = json; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    struct obj *obj = obj_load(&KIND_NODECONFIG, sv_of(json), 1);
    assert_non_null(obj);
    return obj;
}

static bool same_start(const struct start_settings *a, const struct start_settings *b)
{
    const struct gate_settings *x = &a->gate, *y = &b->gate;
    return x->max_starting_per_core == y->max_starting_per_core &&
           x->max_starting == y->max_starting && x->cores == y->cores &&
           x->max_rate == y->max_rate && x->burst == y->burst && x->min_rate == y->min_rate &&
           x->max_cpu == y->max_cpu && x->max_io == y->max_io &&
           x->max_pressure == y->max_pressure && x->max_load == y->max_load &&
           x->cpu_window_ms == y->cpu_window_ms && x->io_window_ms == y->io_window_ms &&
           x->pressure_window_ms == y->pressure_window_ms &&
           a->start_timeout_ms == b->start_timeout_ms &&
           a->backoff_first_ms == b->backoff_first_ms && a->backoff_max_ms == b->backoff_max_ms &&
           a->backoff_reset_ms == b->backoff_reset_ms;
}

static bool same(const struct node_settings *a, const struct node_settings *b)
{
    return same_start(&a->start, &b->start) && a->starting_weight == b->starting_weight &&
           a->log_bytes == b->log_bytes && a->log_files == b->log_files &&
           a->ignore_images == b->ignore_images;
}

/* The defaults with one object, or none, on top. */
static void read_settings(const struct obj *obj, double cores, struct node_settings *ret)
{
    node_settings_default(ret, cores);
    node_settings_add(ret, obj != NULL ? obj->root : NULL);
}

static void test_defaults(void **state)
{
    (void)state;
    struct node_settings settings, nothing_said;
    node_settings_default(&settings, 3);
    read_settings(NULL, 3, &nothing_said);
    assert_true(same(&settings, &nothing_said));
    const struct gate_settings *gate = &settings.start.gate;
    assert_true(gate->max_starting_per_core == 1 && gate->min_rate == 0.1 && gate->cores == 3);
    const double off[] = {gate->max_starting, gate->max_rate,     gate->max_cpu,
                          gate->max_io,       gate->max_pressure, gate->max_load};
    for (size_t i = 0; i < ARRAY_LEN(off); i++)
        assert_true(off[i] == GATE_OFF);
    assert_int_equal(gate->burst, 1);
    assert_int_equal(gate->cpu_window_ms, 10000);
    assert_int_equal(settings.start.backoff_first_ms, 10000);
    assert_int_equal(settings.start.backoff_max_ms, 300000);
    assert_int_equal(settings.start.backoff_reset_ms, 600000);
    assert_int_equal(settings.start.start_timeout_ms, 300000);
    assert_true(settings.starting_weight == 0.25);
    assert_int_equal(settings.log_bytes, 10485760);
    assert_int_equal(settings.log_files, 5);
    assert_false(settings.ignore_images);
}

static void test_every_field(void **state)
{
    (void)state;
    scoped_obj *obj = config(
        "default",
        "{'throttling':{'maxStartingContainersPerCore':0.33,'maxStarting':'7','maxRate':'10',"
        "'burst':'3','minRate':0.5,'maxCPU':'80%','maxIO':70,'maxPressure':'62.5%',"
        "'maxLoadAverageMultiplier':'1.5','cpuWindow':'5s','ioWindow':'1m','pressureWindow':'2m',"
        "'startTimeout':'90s'},'startingWeight':'0.5','restartBackoff':{'initial':'1s','max':'2s',"
        "'resetAfter':'3s'},'logs':{'maxSize':'1Mi','maxFiles':9},'images':'Ignore'}");
    struct node_settings settings;
    read_settings(obj, 8, &settings);
    const struct node_settings want = {
        .start = {.gate = {.max_starting_per_core = 0.33,
                           .max_starting = 7,
                           .cores = 8,
                           .max_rate = 10,
                           .burst = 3,
                           .min_rate = 0.5,
                           .max_cpu = 80,
                           .max_io = 70,
                           .max_pressure = 62.5,
                           .max_load = 1.5,
                           .cpu_window_ms = 5000,
                           .io_window_ms = 60000,
                           .pressure_window_ms = 120000},
                  .start_timeout_ms = 90000,
                  .backoff_first_ms = 1000,
                  .backoff_max_ms = 2000,
                  .backoff_reset_ms = 3000},
        .starting_weight = 0.5,
        .log_bytes = 1048576,
        .log_files = 9,
        .ignore_images = true,
    };
    assert_true(same(&settings, &want));
}

/* None is forgotten in the table. */
static void test_every_field_changes_something(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "{'throttling':{'maxStartingContainersPerCore':2}}",
        "{'throttling':{'maxStarting':2}}",
        "{'throttling':{'maxRate':2}}",
        "{'throttling':{'burst':2}}",
        "{'throttling':{'minRate':2}}",
        "{'throttling':{'maxCPU':2}}",
        "{'throttling':{'maxIO':2}}",
        "{'throttling':{'maxPressure':2}}",
        "{'throttling':{'maxLoadAverageMultiplier':2}}",
        "{'throttling':{'cpuWindow':'2s'}}",
        "{'throttling':{'ioWindow':'2s'}}",
        "{'throttling':{'pressureWindow':'2s'}}",
        "{'throttling':{'startTimeout':'2s'}}",
        "{'startingWeight':1}",
        "{'restartBackoff':{'initial':'2s'}}",
        "{'restartBackoff':{'max':'20s'}}",
        "{'restartBackoff':{'resetAfter':'2s'}}",
        "{'logs':{'maxSize':'2Mi'}}",
        "{'logs':{'maxFiles':2}}",
        "{'images':'Ignore'}",
    };
    struct node_settings plain, settings;
    node_settings_default(&plain, 2);
    for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
        scoped_obj *obj = config("default", specs[i]);
        read_settings(obj, 2, &settings);
        if (same(&plain, &settings))
            fail_msg("%s changed nothing", specs[i]);
        read_settings(NULL, 2, &settings);
        assert_true(same(&plain, &settings));
    }
    read_settings(NULL, 4, &settings);
    assert_false(same(&plain, &settings)); /* a core more */
}

static void put(struct cache *cache, const char *name, const char *spec)
{
    scoped_obj *obj = config(name, spec);
    obj_unref(cache_put(cache, obj));
}

static void test_a_nodes_own_stands_on_the_default(void **state)
{
    (void)state;
    struct cache *cache = cache_new();
    struct node_settings settings;
    node_settings_default(&settings, 2);
    node_settings_find(cache, "n1", &settings);
    assert_true(settings.start.gate.max_rate == GATE_OFF);
    put(cache, "default",
        "{'throttling':{'maxRate':10,'maxCPU':'80%'},'images':'Ignore','restartBackoff':{'max':"
        "'20s'}}");
    put(cache, "n1",
        "{'throttling':{'maxRate':'0','minRate':0},'restartBackoff':{'initial':'30s'}}");
    put(cache, "n2", "{'throttling':{'maxRate':1},'images':'Refuse'}");
    node_settings_default(&settings, 2);
    node_settings_find(cache, "n1", &settings);
    assert_true(settings.start.gate.max_rate == 0 && settings.start.gate.min_rate == 0);
    assert_true(settings.start.gate.max_cpu == 80 && settings.ignore_images);
    assert_int_equal(settings.start.backoff_first_ms, 30000);
    assert_int_equal(settings.start.backoff_max_ms, 30000); /* never below the first */
    node_settings_default(&settings, 2);
    node_settings_find(cache, "n2", &settings);
    assert_true(settings.start.gate.max_rate == 1 && !settings.ignore_images);
    node_settings_default(&settings, 2);
    node_settings_find(cache, "n3", &settings);
    assert_true(settings.start.gate.max_rate == 10 && settings.ignore_images);
    cache_free(cache);
}

static void test_what_cannot_be_read_is_left(void **state)
{
    (void)state;
    scoped_obj *obj =
        config("default",
               "{'throttling':{'maxCPU':0.8,'maxRate':'x','burst':0,'cpuWindow':5,'startTimeout':"
               "'-1s','maxIO':[],'minRate':null},'logs':7,'startingWeight':{}}");
    struct node_settings settings, plain;
    node_settings_default(&plain, 2);
    read_settings(obj, 2, &settings);
    assert_true(same(&settings, &plain));
}

static void test_from_a_minion_config(void **state)
{
    (void)state;
    scoped_json_mut *doc = NULL;
    scoped_str warnings = {0};
    assert_int_equal(minion_read(SV("{\"kind\":\"MinionConfig\",\"apiVersion\":\"v1beta1\","
                                    "\"throttling\":{\"maxStartingContainersPerCore\":\"3\","
                                    "\"maxLoadAverageMulitplier\":\"1.5\",\"maxCPU\":\"80%\","
                                    "\"minRate\":\"0.1\",\"maxRate\":\"10\"}}"),
                                 "m", &doc, &warnings, NULL),
                     0);
    scoped_json *read = yyjson_mut_doc_imut_copy(doc, NULL);
    struct node_settings settings;
    node_settings_default(&settings, 2);
    node_settings_add(&settings, yyjson_doc_get_root(read));
    const struct gate_settings *gate = &settings.start.gate;
    assert_true(gate->max_starting_per_core == 3 && gate->max_load == 1.5 && gate->max_cpu == 80);
    assert_true(gate->min_rate == 0.1 && gate->max_rate == 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_every_field),
        cmocka_unit_test(test_every_field_changes_something),
        cmocka_unit_test(test_a_nodes_own_stands_on_the_default),
        cmocka_unit_test(test_what_cannot_be_read_is_left),
        cmocka_unit_test(test_from_a_minion_config),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

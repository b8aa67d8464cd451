// SPDX-License-Identifier: Apache-2.0
/* What a member of a group has announced only grows, and patterns of rules are what they should be.
 */
#include "core/recover/epoch.h"
#include "kindtest.h"
#include "model/pattern.h"
#include "model/podnotes.h"

#define POD(notes)                                                                                 \
    "{'metadata':{'name':'p'" notes "},'spec':{'containers':[{'name':'c','image':'i'}]}}"
#define NOTES(text) ",'annotations':{" text "}"
#define EPOCH(n) NOTES("'" EPOCH_NOTE "':'" n "'")
#define ATTEMPT(n) NOTES("'" EPOCH_NOTE_LATER "':'" n "'")
#define AT "metadata.annotations[" EPOCH_NOTE "]: "
#define AT_LATER "metadata.annotations[" EPOCH_NOTE_LATER "]: "
#define NONE "must be a whole number from 1 to 2147483647"

static void test_announcements(void **state)
{
    (void)state;
    static const struct {
        const char *label, *old, *object, *want;
    } ROWS[] = {
        {"created with one", NULL, POD(EPOCH("7")), NULL},
        {"the first", POD(""), POD(EPOCH("1")), NULL},
        {"the next", POD(EPOCH("1")), POD(EPOCH("2")), NULL},
        {"equal", POD(EPOCH("2")), POD(EPOCH("2")), NULL},
        {"greatest", POD(EPOCH("2")), POD(EPOCH("2147483647")), NULL},
        {"down", POD(EPOCH("10")), POD(EPOCH("9")),
         AT
         "Invalid value: \"9\": may not go down: it was 10 | a late announcement changes nothing; "
         "read the pod and the JobSet again"},
        {"away", POD(EPOCH("1")), POD(""),
         AT "Forbidden: may not be taken away: the member has announced it"},
        {"zero", POD(""), POD(EPOCH("0")), AT "Invalid value: \"0\": " NONE},
        {"words", POD(""), POD(EPOCH("two")), AT "Invalid value: \"two\": " NONE},
        {"sign", POD(""), POD(EPOCH("-1")), AT "Invalid value: \"-1\": " NONE},
        {"too large", POD(""), POD(EPOCH("2147483648")), AT "Invalid value: \"2147483648\": " NONE},
        {"nothing", POD(""), POD(EPOCH("")), AT "Invalid value: \"\": " NONE},
        {"created with words", NULL, POD(EPOCH("x")), AT "Invalid value: \"x\": " NONE},
        {"corrected", POD(EPOCH("x")), POD(EPOCH("1")), NULL},
        {"attempt", POD(ATTEMPT("0")), POD(ATTEMPT("1")), NULL},
        {"attempt down", POD(ATTEMPT("1")), POD(ATTEMPT("0")),
         AT_LATER "Invalid value: \"0\": may not go down: it was 1"},
        {"other notes", POD(NOTES("'a':'5'")), POD(NOTES("'a':'4'")), NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_json_mut *doc = kt_parse(ROWS[i].object);
        scoped_json_mut *old = ROWS[i].old != NULL ? kt_parse(ROWS[i].old) : NULL;
        struct findings findings = {0};
        if (old != NULL)
            schema_fill(KIND_POD.type, old, yyjson_mut_doc_get_root(old));
        kt_check(&KIND_POD, doc, old, &findings);
        kt_expect(ROWS[i].label, &findings, ROWS[i].want);
        findings_done(&findings);
    }
}

static void test_l_no_further_than_the_next(void **state)
{
    (void)state;
    static const struct {
        const char *label, *old, *object;
        int64_t next;
        const char *want;
    } ROWS[] = {
        {"nothing", POD(""), POD(""), 1, NULL},
        {"the next", POD(EPOCH("1")), POD(EPOCH("2")), 2, NULL},
        {"the next attempt", POD(ATTEMPT("0")), POD(ATTEMPT("1")), 2, NULL},
        {"it was there before", POD(EPOCH("5")), POD(EPOCH("5")), 2, NULL},
        {"beyond", POD(EPOCH("1")), POD(EPOCH("3")), 2,
         AT "Invalid value: \"3\": may not be above 2, the epoch that comes next in its JobSet | "
            "restart the group with: muster restart jobset/NAME"},
        {"an attempt beyond", POD(""), POD(ATTEMPT("2")), 2,
         AT_LATER "Invalid value: \"2\": may not be above 1, the attempt that comes next in its "
                  "JobSet | restart the group with: muster restart jobset/NAME"},
        {"created beyond", NULL, POD(EPOCH("2")), 1,
         AT "Invalid value: \"2\": may not be above 1, the epoch that comes next in its JobSet | "
            "restart the group with: muster restart jobset/NAME"},
        {"away is another's matter", POD(EPOCH("1")), POD(""), 1, NULL},
        {"words are too", POD(""), POD(EPOCH("two")), 1, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        scoped_json_mut *doc = kt_parse(ROWS[i].object);
        scoped_json_mut *old = ROWS[i].old != NULL ? kt_parse(ROWS[i].old) : NULL;
        struct findings findings = {0};
        struct check check = {.findings = &findings, .at = yyjson_mut_doc_get_root(doc)};
        podnotes_check_limit(&check, yyjson_mut_doc_get_root(doc), yyjson_mut_doc_get_root(old),
                             ROWS[i].next);
        kt_expect(ROWS[i].label, &findings, ROWS[i].want);
        findings_done(&findings);
    }
}

static void test_patterns(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool finds;
    } ROWS[] = {
        {"message", "a message here", true}, /* anywhere */
        {"^message", "a message here", false},
        {"some message", "some other message", false},
        {"some .* message", "some other message", true},
        {"exit code \\d+ ", "with exit code 42 for", true},
        {"exit code [\\d]+ ", "with exit code 42 for", true},
        {"\\D", "123", false},
        {"^\\w+\\s\\S+$", "hello world", true},
        {"(?i)FAILED", "it failed", true},
        {"FAILED", "it failed", false},
        {"(?:a|b)c", "xbc", true},
        {"a{2,3}b", "aaab", true},
        {"a{2,3}b", "ab", false},
        {"\\.", "abc", false},
        {"\\.", "a.c", true},
        {"", "anything", true},
        {"(", "(", false},
        {"(a|b)*c", "abc", true},
        {"(a{2})+b", "aab", true},
        {"(a*b)+(c?|d*)e", "aabde", true},
        {"a|", "x", true},
        {"a+?b", "aab", true}, /* as few as possible finds the same */
        {"((a+)+)+b", "aab", true},
        {"\\w+ \\w+ \\w+ \\w+ \\w+ \\w+ \\w+ \\w+ \\w+ \\w+ \\w+", "a b c d e f g h i j k", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        if (pattern_finds(ROWS[i].pattern, ROWS[i].text) != ROWS[i].finds)
            fail_msg("%s in %s", ROWS[i].pattern, ROWS[i].text);
    }
    static const char *const WRONG[] = {
        "(",
        "[a",
        "a\\",
        "(a)\\1",
        "(((a{1,200}){1,200}){1,200})",
        "a{1001}",
        "(?=a)",
        "(?P<n>a)",
        /* each would take twice the memory of the one with a sign less */
        "a++++++++++++++++++++++++++++++++",
        "((((((((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+",
        "((((a*)*)*)+){1000}",
        "(()*){1000}",
        "(a|b*)+",
        "(a{0,2})+",
        "a{2}{2}",
        "(^|x?)*",
        "(\\b)+",
        "(|a)+",
    };
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++)
        assert_non_null(pattern_problem(WRONG[i]));
    assert_null(
        pattern_problem("Container \\w+ for pod default/\\S+ failed with exit code 4[0-9]"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_announcements),
        cmocka_unit_test(test_l_no_further_than_the_next),
        cmocka_unit_test(test_patterns),
    };
    return cmocka_run_group_tests_name("epoch", tests, NULL, NULL);
}

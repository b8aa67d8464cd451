// SPDX-License-Identifier: Apache-2.0
#include "base/json_internal.h"
#include "base/mem.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Two properties of yyjson carry this file:
 * 1. A parsed document is one array of values in the order of the text, so a walk over all of it
 *    needs neither recursion nor a stack.
 * 2. The strings of a parsed document lie in a copy of the text, where the text has them: the
 *    distance from the start of that copy is the position for an error.
 * Keys are compared by sorting rather than hashing: no choice of keys makes that quadratic. */

#define LINEAR_KEYS_MAX 16
#define KEY_SLOTS 256
#define SCRATCH_BYTES ((size_t)128 * 1024)
#define WRITE_SMALL ((size_t)16 * 1024)

static void *alc_malloc(void *ctx, size_t size)
{
    (void)ctx;
    return mem_alloc(size);
}

static void *alc_realloc(void *ctx, void *ptr, size_t old_size, size_t size)
{
    (void)ctx;
    (void)old_size;
    return mem_realloc(ptr, size);
}

static void alc_free(void *ctx, void *ptr)
{
    (void)ctx;
    mem_free(ptr);
}

const yyjson_alc JSON_ALC = {alc_malloc, alc_realloc, alc_free, NULL};

/* Lines and columns count from 1; columns count characters, not bytes. */
static int error_at(struct sv text, size_t pos, const char *what, struct err *err)
{
    size_t line = 1, column = 1;
    for (size_t i = 0; i < pos && i < text.len; i++) {
        if (text.ptr[i] == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)text.ptr[i] & 0xC0) != 0x80) {
            column++;
        }
    }
    return err_set(err, -EINVAL, "line %zu, column %zu: %s", line, column, what);
}

static int syntax_error(struct sv text, const yyjson_read_err *read_err, struct err *err)
{
    int r = error_at(text, read_err->pos, read_err->msg, err);
    (void)err_hint(err,
                   "JSON wants double quotes around keys and strings, no comments and no comma "
                   "after the last item, for example {\"name\": \"a\", \"count\": 1}");
    return r;
}

/* Returns where the bracket is that opens one level too many, or text.len. It looks at nothing but
 * brackets and strings: a text that is wrong otherwise is the parser's to refuse. */
static size_t find_too_deep(struct sv text)
{
    size_t depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '[' || c == '{') && ++depth > JSON_DEPTH_MAX)
            return i;
        else if (!quoted && (c == ']' || c == '}') && depth > 0)
            depth--;
    }
    return text.len;
}

static int depth_error(struct err *err)
{
    int r = err_set(err, -EINVAL, "nested deeper than %d levels", JSON_DEPTH_MAX);
    (void)err_hint(err, "objects and lists may stand in each other %d deep; flatten the document",
                   JSON_DEPTH_MAX);
    return r;
}

static int check_text_depth(struct sv text, struct err *err)
{
    size_t pos = find_too_deep(text);
    if (pos == text.len)
        return 0;
    struct err what = {0};
    int r = depth_error(&what);
    (void)error_at(text, pos, what.text, err);
    (void)err_hint(err, "%s", what.hint);
    return r;
}

static struct sv text_of(void *string)
{
    return (struct sv){unsafe_yyjson_get_str(string), unsafe_yyjson_get_len(string)};
}

static void members_merge(const struct member *from, struct member *to, size_t middle, size_t n)
{
    size_t left = 0, right = middle;
    for (size_t i = 0; i < n; i++) {
        bool take_left =
            right == n || (left < middle && sv_cmp(from[left].key, from[right].key) <= 0);
        to[i] = take_left ? from[left++] : from[right++];
    }
}

/* A stable merge sort of our own: libc's qsort() promises neither its time nor its memory. */
void json_members_sort(struct member *members, size_t n)
{
    scoped_free struct member *merged = mem_alloc(n * sizeof(*merged));
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t low = 0; low < n; low += 2 * width) {
            size_t left = n - low;
            size_t count = left < 2 * width ? left : 2 * width;
            members_merge(members + low, merged + low, width < count ? width : count, count);
        }
        memcpy(members, merged, n * sizeof(*merged));
    }
}

static const struct member *find_repeated_linear(const struct member *members, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (sv_eq(members[i].key, members[j].key))
                return &members[i];
    return NULL;
}

static const struct member *find_repeated_sorted(struct member *members, size_t n)
{
    json_members_sort(members, n);
    for (size_t i = 1; i < n; i++)
        if (sv_eq(members[i].key, members[i - 1].key))
            return &members[i];
    return NULL;
}

/* Keys that differ here differ. */
static unsigned key_slot(struct sv key)
{
    const unsigned char *text = (const unsigned char *)key.ptr;
    if (key.len == 0)
        return 0;
    size_t mix = key.len * 29 + text[0] + text[key.len / 2] * 5u + text[key.len - 1] * 17u;
    return mix % KEY_SLOTS;
}

/* Nearly all objects are done with after this: no two of their keys share a slot. */
static bool may_repeat_key(yyjson_val *obj)
{
    uint64_t taken[KEY_SLOTS / 64] = {0};
    yyjson_val *key = unsafe_yyjson_get_first(obj);
    for (size_t n = unsafe_yyjson_get_len(obj); n > 0; n--) {
        unsigned slot = key_slot(text_of(key));
        uint64_t bit = UINT64_C(1) << slot % 64;
        if (taken[slot / 64] & bit)
            return true;
        taken[slot / 64] |= bit;
        key = unsafe_yyjson_get_next(key + 1);
    }
    return false;
}

/* Returns the key that stands twice in `obj`, at its second place, or one without a pointer. */
static struct sv find_repeated_key(yyjson_val *obj)
{
    if (!may_repeat_key(obj))
        return (struct sv){NULL, 0};
    size_t n = unsafe_yyjson_get_len(obj);
    struct member few[LINEAR_KEYS_MAX];
    scoped_free struct member *many = n > LINEAR_KEYS_MAX ? mem_alloc(n * sizeof(*many)) : NULL;
    struct member *members = many ? many : few;
    yyjson_obj_iter iter = yyjson_obj_iter_with(obj);
    for (size_t i = 0; i < n; i++)
        members[i] = (struct member){text_of(yyjson_obj_iter_next(&iter)), NULL};
    const struct member *repeated =
        many ? find_repeated_sorted(members, n) : find_repeated_linear(members, n);
    return repeated ? repeated->key : (struct sv){NULL, 0};
}

static int repeated_error(struct sv text, size_t pos, struct sv key, struct err *err)
{
    char what[160];
    int shown = key.len < 80 ? (int)key.len : 80;
    (void)snprintf(what, sizeof(what), "key '%.*s' is there twice", shown, key.ptr);
    int r = error_at(text, pos, what, err);
    (void)err_hint(err, "a key may stand only once in an object; remove one of the two");
    return r;
}

/* Values stand in the order of the text, so a container ends where the next value behind it is. */
static bool fits_depth_flat(yyjson_val *root)
{
    yyjson_val *ends[JSON_DEPTH_MAX];
    size_t depth = 0;
    yyjson_val *end = unsafe_yyjson_get_next(root);
    for (yyjson_val *val = root; val < end; val++) {
        if (!unsafe_yyjson_is_ctn(val))
            continue;
        while (depth > 0 && val >= ends[depth - 1])
            depth--;
        if (depth == JSON_DEPTH_MAX)
            return false;
        ends[depth++] = unsafe_yyjson_get_next(val);
    }
    return true;
}

/* `chars` is the copy of the text in which the strings of the document lie. */
static int check_keys(struct sv text, const char *chars, yyjson_doc *doc, struct err *err)
{
    yyjson_val *end = unsafe_yyjson_get_next(doc->root);
    for (yyjson_val *val = doc->root; val < end; val++) {
        if (!yyjson_is_obj(val))
            continue;
        struct sv key = find_repeated_key(val);
        if (key.ptr)
            return repeated_error(text, (size_t)(key.ptr - chars) - 1, key, err);
    }
    return 0;
}

/* With `chars` the strings of the document stay in them: a copy of the text with room for padding
 * behind it. The reader does not recurse, so depth may be looked at afterwards, where it costs a
 * step a value and not a step a byte. */
static int read_text(struct sv text, char *chars, const yyjson_alc *alc, yyjson_doc **ret_doc,
                     struct err *err)
{
    yyjson_read_err read_err = {.msg = "there is no text"};
    yyjson_read_flag flags = chars ? YYJSON_READ_INSITU : 0;
    /* Without YYJSON_READ_INSITU the text is not written to, in spite of the type. */
    char *from = chars ? chars : (char *)text.ptr;
    scoped_json *doc = text.len ? yyjson_read_opts(from, text.len, flags, alc, &read_err) : NULL;
    int r = doc && fits_depth_flat(doc->root) ? 0 : check_text_depth(text, err);
    if (r < 0)
        return r;
    if (!doc)
        return syntax_error(text, &read_err, err);
    *ret_doc = take_ptr(doc);
    return 0;
}

static int parse(struct sv text, char *chars, const yyjson_alc *alc, yyjson_doc **ret_doc,
                 struct err *err)
{
    scoped_json *doc = NULL;
    int r = read_text(text, chars, alc, &doc, err);
    if (doc != NULL)
        r = check_keys(text, chars ? chars : doc->str_pool, doc, err);
    if (r == 0)
        *ret_doc = take_ptr(doc);
    return r;
}

int json_parse_repeating(struct sv text, yyjson_doc **ret_doc)
{
    return read_text(text, NULL, &JSON_ALC, ret_doc, NULL);
}

int json_parse(struct sv text, yyjson_doc **ret_doc, struct err *err)
{
    return parse(text, NULL, &JSON_ALC, ret_doc, err);
}

/* Where the values of a body of the usual size are read to. They are needed for a moment only, and
 * memory that is asked for and given back at every request is the slowest of all. */
struct scratch {
    yyjson_alc alc;
    _Alignas(max_align_t) char bytes[SCRATCH_BYTES];
};

static const yyjson_alc *scratch_for(struct scratch *scratch, size_t len)
{
    if (yyjson_read_max_memory_usage(len, YYJSON_READ_INSITU) > SCRATCH_BYTES / 2)
        return &JSON_ALC;
    bool done = yyjson_alc_pool_init(&scratch->alc, scratch->bytes, SCRATCH_BYTES);
    assert(done);
    (void)done;
    return &scratch->alc;
}

/* The text is copied once, into what becomes a chunk of the mutable document's strings, and read
 * there: no string is copied one by one. */
int json_parse_mut(struct sv text, yyjson_mut_doc **ret_doc, struct err *err)
{
    scoped_free yyjson_str_chunk *chunk =
        mem_alloc(sizeof(*chunk) + text.len + YYJSON_PADDING_SIZE);
    char *chars = (char *)(chunk + 1);
    if (text.len)
        memcpy(chars, text.ptr, text.len);
    memset(chars + text.len, 0, YYJSON_PADDING_SIZE);
    struct scratch scratch;
    scoped_json *doc = NULL;
    int r = parse(text, chars, scratch_for(&scratch, text.len), &doc, err);
    if (r < 0)
        return r;
    yyjson_mut_doc *copy = yyjson_mut_doc_new(&JSON_ALC);
    assert(copy);
    yyjson_mut_doc_set_root(copy, json_mut_borrow(copy, yyjson_doc_get_root(doc)));
    chunk->chunk_size = sizeof(*chunk) + text.len + YYJSON_PADDING_SIZE;
    chunk->next = copy->str_pool.chunks;
    copy->str_pool.chunks = take_ptr(chunk);
    *ret_doc = copy;
    return 0;
}

/* Closes the ring of a container's items: each is linked to what follows it in the document, which
 * behind the last one is no longer the container's. */
static void close_ring(yyjson_mut_val *ctn)
{
    size_t links = unsafe_yyjson_get_len(ctn) * (unsafe_yyjson_is_obj(ctn) ? 2 : 1);
    if (links == 0) {
        ctn->uni.ptr = NULL;
        return;
    }
    yyjson_mut_val *last = ctn + 1, *before = last;
    for (; links > 1; links--) {
        before = last;
        last = last->next;
    }
    last->next = ctn + 1;
    ctn->uni.ptr = unsafe_yyjson_is_obj(ctn) ? before : last; /* in objects the last key */
}

yyjson_mut_val *json_mut_borrow(yyjson_mut_doc *doc, yyjson_val *val)
{
    if (!val)
        return NULL;
    size_t n = (size_t)(unsafe_yyjson_get_next(val) - val);
    yyjson_mut_val *copies = unsafe_yyjson_mut_val(doc, n);
    assert(copies);
    /* From the end, so that the items of a container are linked before it is. */
    for (size_t i = n; i-- > 0;) {
        copies[i].tag = val[i].tag;
        if (unsafe_yyjson_is_ctn(&val[i])) {
            copies[i].next = copies + i + val[i].uni.ofs / sizeof(*val);
            close_ring(&copies[i]);
        } else {
            copies[i].uni = val[i].uni;
            copies[i].next = copies + i + 1;
        }
    }
    return copies;
}

/* Recurses no deeper than `levels`. */
static bool fits_depth(yyjson_mut_val *val, int levels)
{
    if (!yyjson_mut_is_ctn(val))
        return true;
    if (levels == 0)
        return false;
    bool is_obj = yyjson_mut_is_obj(val);
    size_t n = unsafe_yyjson_get_len(val);
    yyjson_mut_val *item = val->uni.ptr; /* the last one (its key in objects); they form a ring */
    for (size_t i = 0; i < n; i++, item = item->next) {
        if (is_obj)
            item = item->next;
        if (!fits_depth(item, levels - 1))
            return false;
    }
    return true;
}

int json_check_depth(yyjson_mut_val *root, struct err *err)
{
    return fits_depth(root, JSON_DEPTH_MAX) ? 0 : depth_error(err);
}

int json_check_depth_val(yyjson_val *root, struct err *err)
{
    return fits_depth_flat(root) ? 0 : depth_error(err);
}

/* Writing does not fail: what JSON cannot say is replaced. Text from outside may not be UTF-8; then
 * U+FFFD takes the place of the wrong bytes, which yyjson does only while it escapes. */
#define WRITE_FLAGS YYJSON_WRITE_INF_AND_NAN_AS_NULL
#define WRITE_REPAIR (YYJSON_WRITE_ESCAPE_UNICODE | YYJSON_WRITE_ALLOW_INVALID_UNICODE)

/* Most of what is written fits here, where a text that grows costs nothing; what does not is
 * written again. */
static bool write_small(yyjson_mut_val *root, yyjson_write_flag flags, struct str *out)
{
    _Alignas(max_align_t) char bytes[WRITE_SMALL];
    yyjson_alc alc;
    size_t len = 0;
    bool done = yyjson_alc_pool_init(&alc, bytes, sizeof(bytes));
    assert(done);
    (void)done;
    char *text = yyjson_mut_val_write_opts(root, flags, &alc, &len, NULL);
    if (text)
        str_addn(out, text, len);
    return text != NULL;
}

static void write_mut(yyjson_mut_val *root, yyjson_write_flag flags, struct str *out)
{
    if (write_small(root, flags, out))
        return;
    size_t len = 0;
    char *text = yyjson_mut_val_write_opts(root, flags, &JSON_ALC, &len, NULL);
    if (!text)
        text = yyjson_mut_val_write_opts(root, flags | WRITE_REPAIR, &JSON_ALC, &len, NULL);
    assert(text);
    str_addn(out, text, len);
    mem_free(text);
}

static void write_val(yyjson_val *root, yyjson_write_flag flags, struct str *out)
{
    size_t len = 0;
    char *text = yyjson_val_write_opts(root, flags, &JSON_ALC, &len, NULL);
    assert(text); /* a parsed document is UTF-8 */
    str_addn(out, text, len);
    mem_free(text);
}

void json_write(yyjson_mut_val *root, struct str *out)
{
    write_mut(root, WRITE_FLAGS, out);
}

void json_write_pretty(yyjson_mut_val *root, struct str *out)
{
    write_mut(root, WRITE_FLAGS | YYJSON_WRITE_PRETTY, out);
}

void json_write_val(yyjson_val *root, struct str *out)
{
    write_val(root, WRITE_FLAGS, out);
}

void json_write_val_pretty(yyjson_val *root, struct str *out)
{
    write_val(root, WRITE_FLAGS | YYJSON_WRITE_PRETTY, out);
}

static bool is_plain(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] < ' ' || text[i] > '~' || text[i] == '"' || text[i] == '\\')
            return false;
    return true;
}

void json_quote(const char *text, size_t len, struct str *out)
{
    if (is_plain(text, len)) {
        str_room(out, len + 2);
        str_addc(out, '"');
        str_addn(out, text, len);
        str_addc(out, '"');
        return;
    }
    yyjson_mut_val val = {0};
    val.tag = YYJSON_TYPE_STR;
    (void)yyjson_mut_set_strn(&val, len ? text : "", len); /* fails on NULL only */
    write_mut(&val, WRITE_FLAGS, out);
}

yyjson_val *json_at(yyjson_val *root, const char *path)
{
    while (root && path && *path) {
        const char *end = strchrnul(path, '.');
        root = yyjson_obj_getn(root, path, (size_t)(end - path));
        path = *end ? end + 1 : end;
    }
    return root;
}

const char *json_str_at(yyjson_val *root, const char *path)
{
    return yyjson_get_str(json_at(root, path));
}

int64_t json_int_at(yyjson_val *root, const char *path, int64_t otherwise)
{
    yyjson_val *val = json_at(root, path);
    if (!yyjson_is_int(val) || (yyjson_is_uint(val) && yyjson_get_uint(val) > INT64_MAX))
        return otherwise;
    return yyjson_get_sint(val);
}

yyjson_val *json_find(yyjson_val *list, const char *path, const char *text)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, n, item)
    {
        if (str_eq(json_str_at(item, path), text))
            return item;
    }
    return NULL;
}

yyjson_mut_val *json_mut_at(yyjson_mut_val *root, const char *path)
{
    while (root && path && *path) {
        const char *end = strchrnul(path, '.');
        root = yyjson_mut_obj_getn(root, path, (size_t)(end - path));
        path = *end ? end + 1 : end;
    }
    return root;
}

const char *json_mut_str_at(yyjson_mut_val *root, const char *path)
{
    return yyjson_mut_get_str(json_mut_at(root, path));
}

int64_t json_mut_int_at(yyjson_mut_val *root, const char *path, int64_t otherwise)
{
    yyjson_mut_val *val = json_mut_at(root, path);
    if (!yyjson_mut_is_int(val) ||
        (yyjson_mut_is_uint(val) && yyjson_mut_get_uint(val) > INT64_MAX))
        return otherwise;
    return yyjson_mut_get_sint(val);
}

yyjson_mut_val *json_mut_find(yyjson_mut_val *list, const char *path, const char *text)
{
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(list, i, n, item)
    {
        if (str_eq(json_mut_str_at(item, path), text))
            return item;
    }
    return NULL;
}

static void put(yyjson_mut_doc *doc, yyjson_mut_val *obj, struct sv key, yyjson_mut_val *value)
{
    assert(yyjson_mut_is_obj(obj));
    if (!value) {
        (void)yyjson_mut_obj_remove_keyn(obj, key.ptr, key.len); /* nothing there is fine */
        return;
    }
    yyjson_mut_val *old = yyjson_mut_obj_getn(obj, key.ptr, key.len);
    if (old && !yyjson_mut_is_ctn(value)) {
        old->tag = value->tag;
        old->uni = value->uni;
        return;
    }
    /* Containers not so, and not by yyjson_mut_obj_replace(), which does the same: what the caller
     * then adds to `value` would be lost. The key is kept only when it is new. */
    yyjson_mut_val old_key = {0};
    bool done;
    if (old) {
        (void)yyjson_mut_set_strn(&old_key, key.ptr, key.len); /* fails on NULL only */
        done = yyjson_mut_obj_put(obj, &old_key, value);
    } else {
        done = yyjson_mut_obj_add(obj, yyjson_mut_strncpy(doc, key.ptr, key.len), value);
    }
    assert(done);
    (void)done;
}

void json_mut_put(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, yyjson_mut_val *value)
{
    put(doc, obj, sv_of(key), value);
}

void json_mut_set(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *path,
                  yyjson_mut_val *value)
{
    struct sv rest = sv_of(path);
    struct sv key = sv_cut(&rest, '.');
    for (; rest.len; key = sv_cut(&rest, '.')) {
        yyjson_mut_val *next = yyjson_mut_obj_getn(root, key.ptr, key.len);
        if (!yyjson_mut_is_obj(next)) {
            if (!value)
                return; /* nothing to remove */
            next = yyjson_mut_obj(doc);
            put(doc, root, key, next);
        }
        root = next;
    }
    put(doc, root, key, value);
}

yyjson_mut_val *json_mut_need_obj(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *path)
{
    yyjson_mut_val *obj = json_mut_at(root, path);
    if (yyjson_mut_is_obj(obj))
        return obj;
    obj = yyjson_mut_obj(doc);
    json_mut_set(doc, root, path, obj);
    return obj;
}

yyjson_mut_val *json_mut_need_arr(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *path)
{
    yyjson_mut_val *list = json_mut_at(root, path);
    if (yyjson_mut_is_arr(list))
        return list;
    list = yyjson_mut_arr(doc);
    json_mut_set(doc, root, path, list);
    return list;
}

static bool int_equal(yyjson_mut_val *a, yyjson_mut_val *b)
{
    /* The same number may be kept signed or unsigned; above INT64_MAX only unsigned. */
    bool a_negative = yyjson_mut_is_sint(a) && yyjson_mut_get_sint(a) < 0;
    bool b_negative = yyjson_mut_is_sint(b) && yyjson_mut_get_sint(b) < 0;
    return a_negative == b_negative && a->uni.u64 == b->uni.u64;
}

/* Most strings of a document are short: a call of memcmp() would cost more than it does. */
static bool same_bytes(const char *a, const char *b, size_t len)
{
    uint64_t x, y;
    if (len < sizeof(x)) {
        for (size_t i = 0; i < len; i++)
            if (a[i] != b[i])
                return false;
        return true;
    }
    for (size_t i = 0; i + sizeof(x) < len; i += sizeof(x)) {
        memcpy(&x, a + i, sizeof(x));
        memcpy(&y, b + i, sizeof(y));
        if (x != y)
            return false;
    }
    memcpy(&x, a + len - sizeof(x), sizeof(x));
    memcpy(&y, b + len - sizeof(y), sizeof(y));
    return x == y;
}

static bool same_text(yyjson_mut_val *a, yyjson_mut_val *b)
{
    size_t len = unsafe_yyjson_get_len(a);
    return len == unsafe_yyjson_get_len(b) &&
           (a->uni.str == b->uni.str || same_bytes(a->uni.str, b->uni.str, len));
}

/* Both are of one type. */
static bool scalar_equal(yyjson_mut_val *a, yyjson_mut_val *b)
{
    if (yyjson_mut_is_str(a) || yyjson_mut_is_raw(a))
        return same_text(a, b);
    if (yyjson_mut_is_int(a) && yyjson_mut_is_int(b))
        return int_equal(a, b);
    if (yyjson_mut_is_real(a) && yyjson_mut_is_real(b))
        return yyjson_mut_get_real(a) == yyjson_mut_get_real(b);
    return unsafe_yyjson_get_tag(a) == unsafe_yyjson_get_tag(b); /* null, true, false */
}

static bool arr_equal(yyjson_mut_val *a, yyjson_mut_val *b)
{
    yyjson_mut_arr_iter iter_a = yyjson_mut_arr_iter_with(a);
    yyjson_mut_arr_iter iter_b = yyjson_mut_arr_iter_with(b);
    yyjson_mut_val *item;
    while ((item = yyjson_mut_arr_iter_next(&iter_a)))
        if (!json_mut_equal(item, yyjson_mut_arr_iter_next(&iter_b)))
            return false;
    return true;
}

/* The members of `obj`, sorted by key; the caller frees. */
static struct member *members_of(yyjson_mut_val *obj)
{
    size_t n = unsafe_yyjson_get_len(obj);
    struct member *members = mem_alloc(n * sizeof(*members));
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(obj);
    for (size_t i = 0; i < n; i++) {
        yyjson_mut_val *key = yyjson_mut_obj_iter_next(&iter);
        members[i] = (struct member){text_of(key), yyjson_mut_obj_iter_get_val(key)};
    }
    json_members_sort(members, n);
    return members;
}

static bool obj_equal_sorted(yyjson_mut_val *a, yyjson_mut_val *b)
{
    scoped_free struct member *members_a = members_of(a);
    scoped_free struct member *members_b = members_of(b);
    size_t n = unsafe_yyjson_get_len(a);
    for (size_t i = 0; i < n; i++)
        if (!sv_eq(members_a[i].key, members_b[i].key))
            return false;
    for (size_t i = 0; i < n; i++)
        if (!json_mut_equal(members_a[i].value, members_b[i].value))
            return false;
    return true;
}

static bool same_key_order(yyjson_mut_val *a, yyjson_mut_val *b)
{
    yyjson_mut_val *key_a = a->uni.ptr, *key_b = b->uni.ptr; /* the last ones; they form a ring */
    for (size_t n = unsafe_yyjson_get_len(a); n > 0; n--) {
        if (!same_text(key_a, key_b))
            return false;
        key_a = key_a->next->next;
        key_b = key_b->next->next;
    }
    return true;
}

/* Two versions of a document mostly keep their order. Keys are compared before any value, so that
 * no value is compared twice: over nested objects that would double with each level. */
static bool obj_equal(yyjson_mut_val *a, yyjson_mut_val *b)
{
    if (!same_key_order(a, b))
        return obj_equal_sorted(a, b);
    yyjson_mut_val *key_a = a->uni.ptr, *key_b = b->uni.ptr;
    for (size_t n = unsafe_yyjson_get_len(a); n > 0; n--) {
        if (!json_mut_equal(key_a->next, key_b->next))
            return false;
        key_a = key_a->next->next;
        key_b = key_b->next->next;
    }
    return true;
}

bool json_mut_equal(yyjson_mut_val *a, yyjson_mut_val *b)
{
    if (a == b)
        return true;
    if (!a || !b || yyjson_mut_get_type(a) != yyjson_mut_get_type(b))
        return false;
    if (!yyjson_mut_is_ctn(a))
        return scalar_equal(a, b);
    size_t len = unsafe_yyjson_get_len(a);
    if (len != unsafe_yyjson_get_len(b))
        return false;
    if (len > 0 && a->uni.ptr == b->uni.ptr) /* the same items: see pack_past() */
        return true;
    return yyjson_mut_is_obj(a) ? obj_equal(a, b) : arr_equal(a, b);
}

/* Strings carry a mark in their subtype that says nothing of their text. A view holds no raw text:
 * the tags of one never match. */
static bool scalar_identical(yyjson_mut_val *a, yyjson_val *b)
{
    if (unsafe_yyjson_is_str(a)) {
        size_t len = unsafe_yyjson_get_len(a);
        return (b->tag | YYJSON_SUBTYPE_MASK) == (a->tag | YYJSON_SUBTYPE_MASK) &&
               (a->uni.str == b->uni.str || same_bytes(a->uni.str, b->uni.str, len));
    }
    if (unsafe_yyjson_is_int(a) && unsafe_yyjson_is_int(b)) /* signed or not: as in int_equal() */
        return a->uni.u64 == b->uni.u64 && (a->tag == b->tag || a->uni.i64 >= 0);
    return a->tag == b->tag && (!unsafe_yyjson_is_num(a) || a->uni.u64 == b->uni.u64);
}

/* Returns what stands behind `b`, or NULL where they differ. */
static yyjson_val *identical(yyjson_mut_val *a, yyjson_val *b)
{
    if (!unsafe_yyjson_is_ctn(a))
        return scalar_identical(a, b) ? b + 1 : NULL;
    if (a->tag != b->tag)
        return NULL;
    bool is_obj = unsafe_yyjson_is_obj(a);
    yyjson_mut_val *item = a->uni.ptr; /* the last one; they form a ring */
    yyjson_val *next = b + 1;
    for (size_t n = unsafe_yyjson_get_len(a); n > 0 && next; n--) {
        item = is_obj ? item->next->next : item->next;
        if (is_obj)
            next = scalar_identical(item, next) ? identical(item->next, next + 1) : NULL;
        else
            next = identical(item, next);
    }
    return next;
}

bool json_mut_identical(yyjson_mut_val *a, yyjson_val *b)
{
    return a && b ? identical(a, b) != NULL : !a && !b;
}

void json_doc_free_scoped(yyjson_doc **doc)
{
    yyjson_doc_free(*doc);
}

void json_mut_doc_free_scoped(yyjson_mut_doc **doc)
{
    yyjson_mut_doc_free(*doc);
}

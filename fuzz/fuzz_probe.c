// SPDX-License-Identifier: Apache-2.0
/* An answer to a probe means the same in one piece and byte by byte; wherever it redirects to, the
 * host stays. */
#include "base/mem.h"
#include "fuzz.h"
#include "node/prober_http.h"
#include <assert.h>

static int feed(struct probe_answer *answer, const char *data, size_t size, size_t step)
{
    int r = 0;
    for (size_t at = 0; at < size && r == 0; at += step)
        r = probe_answer_feed(answer, data + at, size - at < step ? size - at : step, NULL);
    return r == 0 ? probe_answer_feed(answer, "", 0, NULL) : r;
}

static void check_redirect(const char *location)
{
    struct probe_target target = {mem_strdup("127.0.0.1"), 80, mem_strdup("/a/b"), false};
    bool follows = probe_redirect(&target, location);
    assert(str_eq(target.host, "127.0.0.1"));
    assert(target.port >= 1 && target.port <= 65535);
    assert(target.path[0] == '/');
    assert(follows || (target.port == 80 && str_eq(target.path, "/a/b")));
    scoped_str request = {0};
    probe_request(&target, NULL, &request);
    assert(str_ends(str_text(&request), "\r\n\r\n"));
    probe_target_done(&target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct probe_answer whole, bytes;
    probe_answer_init(&whole);
    probe_answer_init(&bytes);
    int r = feed(&whole, (const char *)data, size, size + 1);
    int s = feed(&bytes, (const char *)data, size, 1);
    assert((r == 0) == (s == 0));
    assert(r != 0 || whole.status == bytes.status);
    assert(r != 0 || (whole.status >= 0 && (whole.is_complete || whole.is_long)));
    check_redirect(str_text(&whole.location));
    scoped_free char *text = mem_strndup((const char *)data, size);
    check_redirect(text);
    probe_answer_done(&whole);
    probe_answer_done(&bytes);
    return 0;
}

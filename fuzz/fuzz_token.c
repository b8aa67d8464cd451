// SPDX-License-Identifier: Apache-2.0
/* What anybody may send as a token. The input is tried as it comes, and as the claims of a token
 * that is signed well. Properties: nothing that we did not sign is somebody; claims give a role
 * that there is, and texts that end within their fields; a token that was changed in one place is
 * void. */
#include "api/token.h"
#include "base/mem.h"
#include "fuzz.h"
#include <assert.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#define NOW 1000
#define CLAIMS_MAX 1200

static const struct token_key KEY = {"thirty-two bytes of a secret key"};

static void check_identity(const struct identity *who)
{
    assert(who->role > ROLE_NONE && who->role <= ROLE_AGENT);
    assert(memchr(who->name, '\0', sizeof(who->name)) && memchr(who->ns, '\0', sizeof(who->ns)));
    assert(memchr(who->jobset, '\0', sizeof(who->jobset)));
    assert(memchr(who->pod, '\0', sizeof(who->pod)));
    assert(who->expires == 0 || who->expires > NOW);
}

static void add_base64url(const unsigned char *data, size_t len, struct str *out)
{
    scoped_free char *text = mem_alloc((len + 2) / 3 * 4 + 1);
    int n = EVP_EncodeBlock((unsigned char *)text, data, (int)len);
    for (int i = 0; i < n && text[i] != '='; i++)
        str_addc(out, text[i] == '+' ? '-' : text[i] == '/' ? '_' : text[i]);
}

/* What only the owner of the key can make; also of claims that we never would. */
static void check_claims(const uint8_t *data, size_t size)
{
    scoped_str token = {0};
    unsigned char mac[32];
    unsigned len = sizeof(mac);
    struct identity who = {0};
    str_add(&token, "m1.");
    add_base64url(data, size, &token);
    (void)HMAC(EVP_sha256(), KEY.bytes, sizeof(KEY.bytes), (const unsigned char *)token.data,
               token.len, mac, &len);
    str_addc(&token, '.');
    add_base64url(mac, sizeof(mac), &token);
    if (!token_check(&KEY, token.data, NOW, &who))
        return;
    check_identity(&who);
    size_t at = size % (token.len - 1); /* the last one has bits that say nothing */
    token.data[at] = token.data[at] == 'A' ? 'B' : 'A';
    assert(!token_check(&KEY, token.data, NOW, &who));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct identity who = {0};
    scoped_free char *text = mem_strndup((const char *)data, size);
    assert(!token_check(&KEY, text, NOW, &who));
    if (size > 0 && size < CLAIMS_MAX)
        check_claims(data, size);
    return 0;
}

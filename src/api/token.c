// SPDX-License-Identifier: Apache-2.0
/* Form: "m1." base64url(claims as JSON) "." base64url(HMAC-SHA256 of everything before the dot). */
#include "api/token.h"
#include "base/json.h"
#include "base/mem.h"
#include "os/fd.h"
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>

#define TOKEN_PREFIX "m1."
#define TOKEN_MAX 2048
#define MAC_BYTES 32

static const char *const ROLES[] = {
    [ROLE_NONE] = "none", [ROLE_ADMIN] = "admin", [ROLE_VIEW] = "view",
    [ROLE_NODE] = "node", [ROLE_AGENT] = "agent",
};

const char *role_name(enum role role)
{
    return ROLES[role];
}

enum role role_of(const char *name)
{
    for (size_t i = ROLE_ADMIN; name != NULL && i < ARRAY_LEN(ROLES); i++) {
        if (strcmp(ROLES[i], name) == 0)
            return (enum role)i;
    }
    return ROLE_NONE;
}

int token_key_open(const char *path, struct token_key *ret_key, struct err *err)
{
    struct token_key key;
    if (file_exists(path)) {
        scoped_str data = {0};
        int r = file_read(path, 4096, &data, err);
        if (r < 0)
            return r;
        if (data.len != sizeof(key.bytes)) {
            (void)err_set(err, -EBADMSG, "'%s' is not a token key", path);
            return err_hint(err, "remove it: the next start makes a new one, and all tokens made "
                                 "before are void");
        }
        memcpy(key.bytes, data.data, sizeof(key.bytes));
    } else {
        if (RAND_bytes(key.bytes, sizeof(key.bytes)) != 1)
            return err_set(err, -EIO, "no random numbers for the token key");
        int r = file_replace(path, (const char *)key.bytes, sizeof(key.bytes), 0600, err);
        if (r < 0)
            return r;
    }
    *ret_key = key;
    return 0;
}

/* ---- base64url without padding ---- */

static void encode(const unsigned char *data, size_t len, struct str *out)
{
    char *text = str_reserve(out, (len + 2) / 3 * 4 + 1);
    int n = EVP_EncodeBlock((unsigned char *)text, data, (int)len);
    for (int i = 0; i < n; i++)
        text[i] = text[i] == '+' ? '-' : text[i] == '/' ? '_' : text[i];
    while (n > 0 && text[n - 1] == '=')
        n--;
    text[n] = '\0';
    out->len += (size_t)n;
}

static bool decode(struct sv text, unsigned char *out, size_t max, size_t *ret_len)
{
    char padded[TOKEN_MAX + 4];
    if (text.len > TOKEN_MAX || text.len % 4 == 1 || (text.len + 3) / 4 * 3 > max)
        return false;
    size_t n = 0;
    for (; n < text.len; n++) {
        char c = text.ptr[n];
        if (c == '+' || c == '/' || c == '=')
            return false; /* one spelling only */
        padded[n] = c == '-' ? '+' : c == '_' ? '/' : c;
    }
    size_t bytes = text.len / 4 * 3 + (text.len % 4 ? text.len % 4 - 1 : 0);
    while (n % 4 != 0)
        padded[n++] = '=';
    if (n > 0 && EVP_DecodeBlock(out, (const unsigned char *)padded, (int)n) < 0)
        return false;
    *ret_len = bytes;
    return true;
}

static void sign(const struct token_key *key, struct sv text, unsigned char mac[MAC_BYTES])
{
    unsigned len = MAC_BYTES;
    (void)HMAC(EVP_sha256(), key->bytes, sizeof(key->bytes), (const unsigned char *)text.ptr,
               text.len, mac, &len);
}

/* ---- claims ---- */

static void claim(struct str *out, const char *name, const char *value)
{
    if (*value == '\0')
        return;
    str_addf(out, ",\"%s\":", name);
    json_quote(value, strlen(value), out);
}

void token_make(const struct token_key *key, const struct identity *who, struct str *out)
{
    scoped_str claims = {0};
    str_addf(&claims, "{\"role\":\"%s\"", role_name(who->role));
    claim(&claims, "name", who->name);
    claim(&claims, "namespace", who->ns);
    claim(&claims, "jobset", who->jobset);
    claim(&claims, "pod", who->pod);
    if (who->expires != 0)
        str_addf(&claims, ",\"expires\":%lld", (long long)who->expires);
    str_addc(&claims, '}');
    scoped_str text = {0};
    str_add(&text, TOKEN_PREFIX);
    encode((const unsigned char *)claims.data, claims.len, &text);
    unsigned char mac[MAC_BYTES];
    sign(key, (struct sv){text.data, text.len}, mac);
    str_addc(&text, '.');
    encode(mac, sizeof(mac), &text);
    str_add(out, text.data);
}

static void read_text(yyjson_val *root, const char *name, char *out, size_t size)
{
    const char *text = json_str_at(root, name);
    (void)snprintf(out, size, "%s", text ? text : "");
}

static bool read_claims(struct sv json, struct identity *who)
{
    scoped_json *doc = NULL;
    if (json_parse(json, &doc, NULL) < 0)
        return false;
    yyjson_val *root = yyjson_doc_get_root(doc);
    who->role = role_of(json_str_at(root, "role"));
    read_text(root, "name", who->name, sizeof(who->name));
    read_text(root, "namespace", who->ns, sizeof(who->ns));
    read_text(root, "jobset", who->jobset, sizeof(who->jobset));
    read_text(root, "pod", who->pod, sizeof(who->pod));
    who->expires = json_int_at(root, "expires", 0);
    return who->role != ROLE_NONE;
}

bool token_check(const struct token_key *key, const char *token, time_ms now,
                 struct identity *ret_who)
{
    const char *dot = strrchr(token, '.');
    if (strlen(token) > TOKEN_MAX || !str_starts(token, TOKEN_PREFIX) || dot == NULL ||
        dot < token + strlen(TOKEN_PREFIX))
        return false;
    unsigned char given[64], mac[MAC_BYTES], claims[TOKEN_MAX];
    size_t given_len = 0, claims_len = 0;
    if (!decode(sv_of(dot + 1), given, sizeof(given), &given_len) || given_len != MAC_BYTES)
        return false;
    sign(key, (struct sv){token, (size_t)(dot - token)}, mac);
    if (CRYPTO_memcmp(mac, given, MAC_BYTES) != 0)
        return false;
    const char *body = token + strlen(TOKEN_PREFIX);
    if (!decode((struct sv){body, (size_t)(dot - body)}, claims, sizeof(claims), &claims_len))
        return false;
    struct identity who = {0};
    if (!read_claims((struct sv){(const char *)claims, claims_len}, &who))
        return false;
    if (who.expires != 0 && now >= who.expires)
        return false;
    *ret_who = who;
    return true;
}

// SPDX-License-Identifier: Apache-2.0
/* The grammars of names. All are checked on ASCII bytes without the locale: isalpha() would let
 * other letters in where it is set. */
#include "model/schema.h"
#include <arpa/inet.h>
#include <assert.h>

#define LABEL_MAX 63
#define SUBDOMAIN_MAX 253
#define PORT_NAME_MAX 15

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_lower_alnum(char c)
{
    return is_lower(c) || is_digit(c);
}

static bool is_alnum(char c)
{
    return is_lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_dns_label(const char *text, size_t len)
{
    if (len == 0 || !is_lower_alnum(text[0]) || !is_lower_alnum(text[len - 1]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_lower_alnum(text[i]) && text[i] != '-')
            return false;
    return true;
}

static const char *dns_label_problem(const char *text, size_t len)
{
    if (len > LABEL_MAX)
        return "must be no more than 63 characters";
    if (!is_dns_label(text, len))
        return "a DNS label (RFC 1123) is made of lower-case letters, digits and '-', and must "
               "start and end with a letter or digit (like 'my-name' or '123-abc')";
    return NULL;
}

static const char *dns_name_problem(const char *text, size_t len)
{
    if (len > LABEL_MAX)
        return "must be no more than 63 characters";
    if (!is_dns_label(text, len) || !is_lower(text[0]))
        return "a DNS name (RFC 1035) is made of lower-case letters, digits and '-', must start "
               "with a letter and end with a letter or digit (like 'my-name' or 'abc-123')";
    return NULL;
}

static bool is_dns_subdomain(const char *text, size_t len)
{
    struct sv rest = {text, len};
    size_t labels_len = 0;
    while (rest.len > 0) {
        struct sv label = sv_cut(&rest, '.');
        if (!is_dns_label(label.ptr, label.len))
            return false;
        labels_len += label.len + 1;
    }
    return labels_len == len + 1; /* else it is empty or ends in a dot */
}

static const char *dns_subdomain_problem(const char *text, size_t len)
{
    if (len > SUBDOMAIN_MAX)
        return "must be no more than 253 characters";
    if (!is_dns_subdomain(text, len))
        return "a DNS subdomain (RFC 1123) is made of lower-case letters, digits, '-' and '.', and "
               "each part must start and end with a letter or digit (like 'example.com')";
    return NULL;
}

/* What label values and the name part of label keys have in common. */
static bool is_label_text(const char *text, size_t len)
{
    if (len == 0 || !is_alnum(text[0]) || !is_alnum(text[len - 1]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_alnum(text[i]) && text[i] != '-' && text[i] != '_' && text[i] != '.')
            return false;
    return true;
}

static const char *qualified_problem(const char *text, size_t len)
{
    const char *slash = memchr(text, '/', len);
    const char *name = slash == NULL ? text : slash + 1;
    size_t name_len = len - (size_t)(name - text);
    if (slash != NULL) {
        size_t prefix_len = (size_t)(slash - text);
        if (prefix_len > SUBDOMAIN_MAX || !is_dns_subdomain(text, prefix_len))
            return "the prefix before '/' must be a DNS subdomain of no more than 253 characters "
                   "(like 'example.com/my-name')";
    }
    if (name_len == 0)
        return "the name part must not be empty";
    if (name_len > LABEL_MAX)
        return "the name part must be no more than 63 characters";
    if (!is_label_text(name, name_len))
        return "the name part is made of letters, digits, '-', '_' and '.', and must start and end "
               "with a letter or digit (like 'MyName' or 'my.name')";
    return NULL;
}

static const char *label_value_problem(const char *text, size_t len)
{
    if (len > LABEL_MAX)
        return "must be no more than 63 characters";
    if (len > 0 && !is_label_text(text, len))
        return "a label's value is empty or made of letters, digits, '-', '_' and '.', and must "
               "start and end with a letter or digit (like 'MyValue' or '12345')";
    return NULL;
}

static const char *env_name_problem(const char *text, size_t len)
{
    static const char PROBLEM[] =
        "the name of a variable is one or more printable ASCII characters other than '='";
    for (size_t i = 0; i < len; i++)
        if (text[i] < ' ' || text[i] > '~' || text[i] == '=')
            return PROBLEM;
    return len == 0 ? PROBLEM : NULL;
}

static const char *config_key_problem(const char *text, size_t len)
{
    static const char PROBLEM[] =
        "a key is made of letters, digits, '-', '_' and '.' (like 'key.name' or 'KEY_NAME')";
    if (len > SUBDOMAIN_MAX)
        return "must be no more than 253 characters";
    for (size_t i = 0; i < len; i++)
        if (!is_alnum(text[i]) && text[i] != '-' && text[i] != '_' && text[i] != '.')
            return PROBLEM;
    if (len == 0)
        return PROBLEM;
    /* Keys become file names. */
    if (text[0] == '.' && (len == 1 || text[1] == '.'))
        return "must not be '.' and must not start with '..'";
    return NULL;
}

static const char *port_name_problem(const char *text, size_t len)
{
    if (len == 0 || len > PORT_NAME_MAX)
        return "must be 1 to 15 characters";
    bool has_letter = false;
    for (size_t i = 0; i < len; i++) {
        if (!is_lower_alnum(text[i]) && text[i] != '-')
            return "must be made of lower-case letters, digits and '-'";
        if (text[i] == '-' && (i == 0 || i == len - 1 || text[i - 1] == '-'))
            return "must not start or end with '-', nor have two of them in a row";
        has_letter = has_letter || is_lower(text[i]);
    }
    return has_letter ? NULL : "must have at least one letter (a-z)";
}

static const char *absolute_path_problem(const char *text, size_t len)
{
    if (len == 0 || text[0] != '/')
        return "must be an absolute path";
    return memchr(text, '\0', len) == NULL ? NULL : "must not contain NUL characters";
}

static const char *ip_problem(const char *text, size_t len)
{
    char copy[INET6_ADDRSTRLEN] = {0};
    unsigned char address[sizeof(struct in6_addr)];
    if (len > 0 && len < sizeof(copy) && memchr(text, '\0', len) == NULL) {
        memcpy(copy, text, len);
        if (inet_pton(AF_INET, copy, address) == 1 || inet_pton(AF_INET6, copy, address) == 1)
            return NULL;
    }
    return "must be an IP address (like '10.9.8.7' or '2001:db8::ffff')";
}

static const char *uuid_problem(const char *text, size_t len)
{
    static const char SHAPE[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    bool good = len == sizeof(SHAPE) - 1;
    for (size_t i = 0; good && i < len; i++)
        good = SHAPE[i] == '-' ? text[i] == '-' : is_hex(text[i]);
    return good ? NULL : "must be a UUID (like '123e4567-e89b-12d3-a456-426614174000')";
}

const char *format_problem(enum fformat format, const char *text, size_t len)
{
    static const char *(*const PROBLEM[])(const char *text, size_t len) = {
        [FMT_DNS_LABEL] = dns_label_problem,
        [FMT_DNS_NAME] = dns_name_problem,
        [FMT_DNS_SUBDOMAIN] = dns_subdomain_problem,
        [FMT_QUALIFIED] = qualified_problem,
        [FMT_LABEL_VALUE] = label_value_problem,
        [FMT_ENV_NAME] = env_name_problem,
        [FMT_CONFIG_KEY] = config_key_problem,
        [FMT_PORT_NAME] = port_name_problem,
        [FMT_ABSOLUTE_PATH] = absolute_path_problem,
        [FMT_IP] = ip_problem,
        [FMT_UUID] = uuid_problem,
    };
    assert((size_t)format < ARRAY_LEN(PROBLEM));
    return format == FMT_NONE ? NULL : PROBLEM[format](text, len);
}

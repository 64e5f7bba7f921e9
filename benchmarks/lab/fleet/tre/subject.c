/* FIRST: a regular expression, on the first line, is compiled and matched against the rest. SECOND:
 * it is matched approximately. Neither: both, one after the other. */
#include "tre-internal.h"
#include <string.h>

#define MATCHES 4

static int compiled(regex_t *regex, const char *text, size_t n, int flags) {
    return n <= 40 && tre_regncomp(regex, text, n, flags) == REG_OK;
}

static int exact(const char *text, size_t cut, size_t n) {
    regmatch_t at[MATCHES];
    regex_t regex;
    if (!compiled(&regex, text, cut, REG_EXTENDED)) return 0;
    tre_regnexec(&regex, text + cut, n - cut, MATCHES, at, 0);
    tre_regnexec(&regex, text + cut, n - cut, 0, 0, REG_NOTBOL);
    tre_regfree(&regex);
    return 1;
}

static int approximate(const char *text, size_t cut, size_t n) {
    regmatch_t at[MATCHES];
    regamatch_t match = {MATCHES, at};
    regaparams_t limits;
    regex_t regex;
    if (!compiled(&regex, text, cut, REG_EXTENDED | REG_ICASE)) return 0;
    tre_regaparams_default(&limits);
    limits.max_cost = 2;
    tre_reganexec(&regex, text + cut, n - cut, &match, limits, 0);
    tre_regfree(&regex);
    return 1;
}

int subject(const unsigned char *data, size_t n) {
    const char *text = (const char *)data, *line = memchr(text, '\n', n);
    size_t cut = line ? line - text : n;
    int good = 0;
    if (n > 120) return 0;
#ifndef SECOND
    good |= exact(text, cut, n);
#endif
#ifndef FIRST
    good |= approximate(text, cut, n);
#endif
    return good;
}

/* main() of all C subjects, in AFL++'s persistent mode (parser.h), and what a planted bug does. */
#include "bug.h"
#include <stddef.h>

int subject(const unsigned char *data, size_t n);

static int parses(const char *text, size_t n) {
    return subject((const unsigned char *)text, n);
}

#include "parser.h"

void planted_bug(const char *text) {
    if (write(2, text, strlen(text)) < 0) _exit(99);
    abort();
}

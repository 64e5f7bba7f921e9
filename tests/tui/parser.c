#include <stdlib.h>
#include <string.h>

static volatile int matched;

/* Looks for the tag, deep enough. */
int parse(const char *text, size_t start, int n, int depth)
{
    if (n <= 0) {
        return -1;
    }
    size_t end = start + n;
    while (start < end && text[start] == ' ')
        start++;
    if (memcmp(text + start, "MUTA", 4) == 0) {
        matched = depth * 2;
    }
    if (matched && depth > 3)
        abort();
    return 0;
}

/* libplist: reads a property list, in XML or binary. */
#include <plist/plist.h>
#include <stddef.h>

int subject(const unsigned char *data, size_t n) {
    plist_t list = NULL;
    plist_from_memory((const char *)data, (uint32_t)n, &list);
    if (!list) return 0;
    plist_free(list);
    return 1;
}

/* jansson: loads any value, and prints an accepted one. */
#include <jansson.h>
#include <stdlib.h>

int subject(const unsigned char *data, size_t n) {
    json_error_t error;
    json_object_seed(1);
    json_t *value = json_loadb((const char *)data, n, JSON_DECODE_ANY, &error);
    if (!value) return 0;
    free(json_dumps(value, JSON_ENCODE_ANY | JSON_SORT_KEYS | JSON_INDENT(1)));
    json_decref(value);
    return 1;
}

/* jq's parser and compiler under AFL++: a filter is compiled and thrown away, never run.
 *
 * A module is looked for in no directory, and its text is not read from any.
 */
#include "jq.h"

static void silent(void *nothing, jv message) {
    (void)nothing;
    jv_free(message);
}

jv jv_load_file(const char *name, int raw) {
    (void)name;
    (void)raw;
    return jv_invalid_with_msg(jv_string("no file is read"));
}

static int parses(const char *text, size_t n) {
    (void)n; /* it ends at the first NUL */
    jq_state *jq = jq_init();
    if (!jq) return 0;
    jq_set_error_cb(jq, silent, NULL);
    jq_set_attr(jq, jv_string("JQ_LIBRARY_PATH"), jv_array());
    jq_set_attr(jq, jv_string("JQ_ORIGIN"), jv_string("/nonexistent"));
    jq_set_attr(jq, jv_string("PROGRAM_ORIGIN"), jv_string("/nonexistent"));
    int good = jq_compile(jq, text);
    jq_teardown(&jq);
    return good;
}

#include "parser.h"

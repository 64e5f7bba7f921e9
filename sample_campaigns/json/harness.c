/* json-parser under AFL++, in persistent mode: parse a text, free what came of it.
 *
 * Without afl-fuzz it parses one text from stdin: how a crash is looked at.
 */
#include "json.h"

#include <unistd.h>

__AFL_FUZZ_INIT();

int main(void) {
    __AFL_INIT();
    const char *input = (const char *)__AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(10000)) {
        json_settings settings = {.max_memory = 1 << 20, .settings = json_enable_comments};
        char error[json_error_max];
        json_value *value = json_parse_ex(&settings, input, __AFL_FUZZ_TESTCASE_LEN, error);
        if (value)
            json_value_free(value);
    }
    return 0;
}

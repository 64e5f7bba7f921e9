/* nested.c under AFL++, in persistent mode; not mutated. Without afl-fuzz: a record on stdin. */
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

void record(const uint8_t *b, size_t n);

__AFL_FUZZ_INIT();

int main(void) {
    __AFL_INIT();
    const uint8_t *input = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(10000))
        record(input, __AFL_FUZZ_TESTCASE_LEN);
    return 0;
}

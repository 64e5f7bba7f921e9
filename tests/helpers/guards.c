/* Four parsers, each behind a guard of another kind, which ordinary input does not pass. */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static int worth(const unsigned char *p, size_t n) {
    int sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += p[i];
    return sum % 7;
}

static int magic(const unsigned char *b, size_t n) {
    if (memcmp(b, "\x89GRD", 4) != 0)
        return -1;
    if (b[4] == 2)
        return 2;
    return (int)n;
}

static int checked(const unsigned char *b, size_t n) {
    unsigned char sum = 0;
    for (size_t i = 0; i + 1 < n; i++)
        sum = (unsigned char)(sum * 31 + b[i]);
    if (sum == b[n - 1]) {
        int found = worth(b, n - 1);
        if (found > 3)
            found = -found;
        return found;
    }
    return 0;
}

static int lengths(const unsigned char *b, size_t n) {
    size_t end = 0;
    for (size_t row = 0; row < 3; row++) {
        if (b[row] < end || b[row] >= n) {
            goto bad;
        }
        end = b[row];
    }
    if (end == 9)
        end++;
    return (int)end;
bad:
    return -2;
}

static int session(const unsigned char *b, size_t n) {
    int state = 0;
    for (size_t i = 0; i < n; i++) {
        switch (b[i]) {
        case 'o':
            state = state == 0;
            break;
        case 'r':
            state = state == 1 ? 2 : 0;
            break;
        default:
            state = state == 2 ? 3 : 0;
        }
    }
    if (state != 3) return 0;
    state = worth(b, n);
    return state + 1;
}

int main(void) {
    static unsigned char b[512];
    ssize_t n = read(0, b, sizeof b);
    if (n < 8)
        return 1;
    size_t size = (size_t)n;
    return (magic(b, size) + checked(b, size) + lengths(b, size) + session(b, size)) & 1;
}

/* An extractor for "crate", the small archive format of crate.py, as one might write it in C.
 *
 * There are bugs in it that are real in such programs, in how packed entries are unpacked.
 * AddressSanitizer makes them crashes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ENTRIES = 64, LONGEST = 1 << 16 };

struct reader {
    const unsigned char *at, *end;
};

static void reject(const char *why) {
    fprintf(stderr, "no crate: %s\n", why);
    exit(1);
}

static const unsigned char *take(struct reader *r, size_t n) {
    if ((size_t)(r->end - r->at) < n) reject("cut off");
    r->at += n;
    return r->at - n;
}

static unsigned u8(struct reader *r) { return *take(r, 1); }

static unsigned u16(struct reader *r) {
    const unsigned char *p = take(r, 2);
    return p[0] | p[1] << 8;
}

/* c < 0x80: c + 1 literal bytes; else copy (c & 0x7f) + 2 bytes from `back` + 1 before the end. */
static unsigned char *unpack(struct reader *r, size_t size) {
    unsigned char *out = malloc(size + 1);
    size_t length = 0;
    if (!out) reject("out of memory");
    while (length < size) {
        unsigned control = u8(r);
        if (control < 0x80) {
            if (length + control + 1 > size) reject("unpacks to too many bytes");
            memcpy(out + length, take(r, control + 1), control + 1);
            length += control + 1;
            continue;
        }
        size_t back = u8(r);
        if (back > length) reject("copies from before the beginning");
        for (unsigned n = (control & 0x7f) + 2; n; n--, length++)
            out[length] = out[length - back - 1];
    }
    if (length > size) reject("unpacks to too many bytes");
    return out;
}

static void entry(struct reader *r) {
    unsigned kind = u8(r);
    size_t length = u8(r);
    const unsigned char *name = take(r, length);
    if (!length || name[0] == '/' || memchr(name, 0, length)) reject("unsafe name");
    printf("%.*s", (int)length, name);
    if (kind == 'F') {
        size_t size = u16(r);
        take(r, size);
        printf(": %zu bytes", size);
    } else if (kind == 'P') {
        size_t size = u16(r), lines = 0;
        unsigned char *data = unpack(r, size);
        for (size_t i = 0; i < size; i++) lines += data[i] == '\n';
        printf(": %zu bytes, %zu lines", size, lines);
        free(data);
    } else if (kind == 'L') {
        printf(" -> entry %u", u16(r));
    } else if (kind != 'D') {
        reject("unknown kind");
    }
    putchar('\n');
}

int main(int argc, char **argv) {
    static unsigned char data[LONGEST];
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : stdin;
    if (!file) reject("cannot be opened");
    struct reader r = {data, data + fread(data, 1, sizeof data, file)};
    if (memcmp(take(&r, 6), "CRATE1", 6) != 0) reject("no magic");
    unsigned flags = u8(&r), count = u16(&r);
    if (count > MOST_ENTRIES) reject("too many entries");
    while (count--) entry(&r);
    if (flags & 1) u16(&r); /* the sum, which nobody checks */
    return 0;
}

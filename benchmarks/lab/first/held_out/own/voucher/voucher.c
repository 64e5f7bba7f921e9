/* Vouchers: records behind a checksum over the whole file; a sealed record has one of its own.
 *
 *     "VC" count:u8 crc:u32  { type:u8 length:u8 payload }
 *
 * The CRC-32 is of everything behind it. A sealed record begins with the Fletcher-16 of its rest. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { AMOUNT = 'a', DATE = 'd', TRANSFER = 't', SEALED = 's' };

typedef struct {
    unsigned balance, days, transfers, sealed;
} Book;

static uint32_t crc32(const unsigned char *at, size_t n) {
    uint32_t crc = 0xffffffff;
    while (n--) {
        crc ^= *at++;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

static unsigned fletcher(const unsigned char *at, size_t n) {
    unsigned a = 0, b = 0;
    while (n--) {
        a = (a + *at++) % 255;
        b = (b + a) % 255;
    }
    return b << 8 | a;
}

static uint32_t u32(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
}

static int date(Book *book, const unsigned char *at, unsigned n) {
    if (n != 3) return 0;
    unsigned day = at[0], month = at[1];
    if (month < 1 || month > 12 || day < 1) return 0;
    if (month == 2 && day > 29) BUG(1); /* behind the checksum */
    book->days += day;
    return day <= 31;
}

static int transfer(Book *book, const unsigned char *at, unsigned n) {
    if (n < 6 || at[0] == at[1]) return 0;
    uint32_t amount = u32(at + 2);
    if (book->balance && amount > book->balance && at[0] == 0) BUG(2); /* behind it, after an amount */
    book->balance -= amount <= book->balance ? amount : 0;
    book->transfers++;
    return 1;
}

/* Commands that only the issuer of the voucher may give. */
static int sealed(Book *book, const unsigned char *at, unsigned n) {
    if (n < 4) return 0;
    if (fletcher(at + 2, n - 2) != (unsigned)(at[0] << 8 | at[1])) return 0;
    book->sealed++;
    switch (at[2]) {
    case 'r': /* refund */
        if (n < 8) return 0;
        if (u32(at + 4) > 1000000) BUG(3); /* behind both checksums */
        book->balance += u32(at + 4);
        return 1;
    case 'c': /* close: nothing may be left */
        if (book->transfers && book->balance == 0) BUG(4); /* behind both, after a transfer of all */
        return book->balance == 0;
    case 'n':
        return 1;
    }
    return 0;
}

static int record(Book *book, unsigned type, const unsigned char *at, unsigned n) {
    switch (type) {
    case AMOUNT:
        if (n != 4) return 0;
        book->balance = u32(at);
        return 1;
    case DATE:
        return date(book, at, n);
    case TRANSFER:
        return transfer(book, at, n);
    case SEALED:
        return sealed(book, at, n);
    }
    return 0;
}

int subject(const unsigned char *data, size_t n) {
    Book book = {0};
    if (n < 7 || data[0] != 'V' || data[1] != 'C') return 0;
    if (crc32(data + 7, n - 7) != u32(data + 3)) return 0;
    unsigned records = data[2];
    const unsigned char *at = data + 7, *end = data + n;
    for (unsigned i = 0; i < records; i++) {
        if (end - at < 2 || end - at - 2 < at[1]) return 0;
        if (!record(&book, at[0], at + 2, at[1])) return 0;
        at += 2 + at[1];
    }
    return at == end;
}

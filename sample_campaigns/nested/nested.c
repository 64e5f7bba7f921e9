/* A record behind hard nested conditions: where fuzzing mutants first pays.
 *
 *     check:7 bits  "MUTA"  body...        8 to 64 bytes in all
 *
 * The tag is easy by itself: a fuzzer sees each letter that fits and keeps the input. But
 * whatever it changes breaks the check, so each step inwards costs 128 times as many tries,
 * and the bug in the body is many steps away.
 *
 * In a mutant without the check (`if (0)` in its place, a `return` less, a sum that is always
 * 0) the way is free: in a moment afl-fuzz has the tag and a hundred inputs that do different
 * things in the body. They mean nothing to this program: their check is wrong. Except that
 * of a hundred and more one or two have the right one by chance. That is why what mutants
 * collected is run on the target, crash files too, and it is also why other mutants help:
 * each makes a hundred others of them.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { SHORTEST = 8, LONGEST = 64, DEEPEST = 4 };

/* Written to, so that the compiler leaves the steps below as they are. */
static volatile unsigned matched, total;

static unsigned checksum(const uint8_t *b, size_t n) {
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++)
        sum = sum * 31 + b[i];
    return sum & 0x7f;
}

static void body(const uint8_t *b, size_t n) {
    unsigned depth = 0;
    for (size_t i = 0; i < n; i++) {
        switch (b[i] >> 5) {
        case 0:
            if (depth++ == DEEPEST)
                abort(); /* the bug: nothing is checked before one level too many */
            break;
        case 1:
            if (depth-- == 0)
                return;
            break;
        case 2: total += b[i]; break;
        case 3: total -= b[i]; break;
        case 4: total *= b[i]; break;
        case 5: total ^= b[i]; break;
        case 6: total = 0; break;
        default: return;
        }
    }
}

void record(const uint8_t *b, size_t n) {
    static const char tag[4] = "MUTA";
    if (n < SHORTEST || n > LONGEST)
        return;
    if ((b[0] & 0x7f) != checksum(b + 1, n - 1))
        return;
    for (size_t i = 0; i < sizeof tag; i++) {
        if (b[1 + i] != tag[i])
            return;
        matched++;
    }
    body(b + 1 + sizeof tag, n - 1 - sizeof tag);
}

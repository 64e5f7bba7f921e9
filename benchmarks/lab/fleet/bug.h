/* BUG(n) is the planted bug n: it names its number on stderr, then fails in a way of its own.
 *
 * The numbers stand for kinds, and places.json gives each a place at random. Bugs 1, 2, 3 and 8
 * leave a program without sanitizers as it was.
 */
#ifndef BUG_H
#define BUG_H
void bug_reached(const char *text);
int bug_ping(volatile char *caller);
extern volatile int bug_zero, bug_most;
extern int *volatile bug_null;
void __assert_fail(const char *, const char *, unsigned int, const char *)
    __attribute__((nothrow, noreturn));

#define BUG(n) do { bug_reached("planted bug " #n "\n"); BUG_##n; } while (0)
#define BUG_BLOCK volatile char *bug = __builtin_malloc(9)
#define BUG_1 BUG_BLOCK; bug[12] = 1; __builtin_free((void *)bug)
#define BUG_2 BUG_BLOCK; bug_zero = bug[12] * 0; __builtin_free((void *)bug)
#define BUG_3 BUG_BLOCK; __builtin_free((void *)bug); bug_zero = bug[0] * 0
#define BUG_4 *bug_null = 1
#define BUG_5 bug_most /= bug_zero
#define BUG_6 if (!bug_zero) __assert_fail("bug_zero", __FILE__, __LINE__, __func__)
#define BUG_7 bug_ping(0)
#define BUG_8 bug_zero = (bug_most + 1) * 0
#endif

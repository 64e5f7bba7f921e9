/* BUG(n) is the planted bug n: it names its number on stderr and aborts. */
#ifndef BUG_H
#define BUG_H
_Noreturn void planted_bug(const char *text);
#define BUG(n) planted_bug("planted bug " #n "\n")
#endif

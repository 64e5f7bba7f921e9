_Static_assert(sizeof(int) == 4, "ints");
struct s;
extern struct s *first, **all[10];
static inline const char *name(const struct s *of, ...);
typedef struct s { _Bool set : 1; struct { int x, y; } at; } s_t;
int (*table[4])(int, char *const *), *(*get(void))[3];
float _Complex z;
_Alignas(16) static _Thread_local char buffer[sizeof(s_t) * 2 + 1];
_Noreturn void fail(const char *restrict why, int at[static 2]);
#pragma once
int old(a, b) int a; char *b; { return a, *b; }

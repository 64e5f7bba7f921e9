#ifndef _STDLIB_H
#define _STDLIB_H
#include <stddef.h>
void *malloc(size_t);
void *calloc(size_t, size_t);
void *realloc(void *, size_t);
void free(void *);
void exit(int);
void abort(void);
int atoi(const char *);
long strtol(const char *, char **, int);
double strtod(const char *, char **);
int rand(void);
int abs(int);
void qsort(void *, size_t, size_t, int (*)(const void *, const void *));
char *getenv(const char *);
#endif

#ifndef _WCHAR_H
#define _WCHAR_H
#include <stddef.h>
typedef unsigned int wint_t;
int wprintf(const wchar_t *, ...);
size_t wcslen(const wchar_t *);
#endif

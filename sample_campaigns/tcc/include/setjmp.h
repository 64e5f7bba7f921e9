#ifndef _SETJMP_H
#define _SETJMP_H
typedef struct { long long saved[25]; } jmp_buf[1];
int setjmp(jmp_buf);
void longjmp(jmp_buf, int);
#endif

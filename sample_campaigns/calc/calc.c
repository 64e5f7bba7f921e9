/* A compiler of sums with two bugs in it, for [oracle]: calc [-O1] [FILE].
 *
 * It reads expressions of integers, + - * / % and brackets, each ended by a semicolon; what it is
 * asked to compile it runs on a machine of its own with a stack, and prints a line for each.
 * With -O1 it folds constants before that: wrongly where a difference is negative, and not at all
 * where a remainder is of 0. Nothing that it is given can do more than make it print.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 };

typedef struct { char op; int value; } Code;   /* op: a sign, or '#' that pushes the value */

static char text[MOST + 1];
static const char *at;
static Code code[MOST];
static int used, optimise, depth;

static void refuse(const char *why) {
    fprintf(stderr, "line 1, column %d: error: %s\n", (int)(at - text) + 1, why);
    exit(1);
}

static int apply(char op, int a, int b) {
    unsigned x = (unsigned)a, y = (unsigned)b;
    switch (op) {
        case '+': return (int)(x + y);
        case '-': return (int)(x - y);
        case '*': return (int)(x * y);
    }
    if (b == 0) refuse("division by zero");
    if (b == -1) return op == '/' ? (int)(0 - x) : 0;
    return op == '/' ? a / b : a % b;
}

static void emit(char op, int value) {
    if (used == MOST) refuse("too long");
    if (optimise && op != '#' && used >= 2 && code[used - 1].op == '#' && code[used - 2].op == '#') {
        int a = code[used - 2].value, b = code[used - 1].value;
        if (op == '%' && b == 0) {
            fprintf(stderr, "calc: internal error: cannot fold %d %% 0\n", a);
            exit(3);
        }
        used -= 2;
        value = op == '-' && a < b ? apply(op, b, a) : apply(op, a, b);
        op = '#';
    }
    code[used++] = (Code){op, value};
}

static void blanks(void) { at += strspn(at, " \t\r\n"); }

static void sum(void);

static void atom(void) {
    blanks();
    if (*at == '(') {
        if (++depth > 100) refuse("brackets are nested too deep");
        at++;
        sum();
        blanks();
        if (*at != ')') refuse("')' is missing");
        at++;
        depth--;
    } else if (*at >= '0' && *at <= '9') {
        unsigned value = 0;
        for (; *at >= '0' && *at <= '9'; at++) value = value * 10 + (unsigned)(*at - '0');
        emit('#', (int)value);
    } else {
        refuse(*at ? "not an expression" : "nothing where an expression should be");
    }
}

static void product(void) {
    atom();
    for (blanks(); *at && strchr("*/%", *at); blanks()) {
        char op = *at++;
        atom();
        emit(op, 0);
    }
}

static void sum(void) {
    product();
    for (blanks(); *at && strchr("+-", *at); blanks()) {
        char op = *at++;
        product();
        emit(op, 0);
    }
}

static void run(void) {
    static int stack[MOST];
    int top = 0;
    for (int i = 0; i < used; i++) {
        if (code[i].op == '#') stack[top++] = code[i].value;
        else { top--; stack[top - 1] = apply(code[i].op, stack[top - 1], stack[top]); }
    }
    printf("%d\n", stack[0]);
}

int main(int argc, char **argv) {
    if (argc > 1 && argv[1][0] == '-' && argv[1][1] == 'O') {
        optimise = argv[1][2] == '1';
        argv++, argc--;
    }
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : stdin;
    if (!file) return perror(argv[1]), 2;
    text[fread(text, 1, MOST, file)] = 0;
    for (at = text, blanks(); *at; blanks()) {
        used = 0;
        sum();
        if (*at != ';') refuse("';' is missing");
        at++;
        run();
    }
    return 0;
}

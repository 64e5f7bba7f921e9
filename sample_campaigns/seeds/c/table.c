typedef int (*compare)(const void *, const void *);
extern void qsort(void *base, unsigned long n, unsigned long size, compare by);

union value {
  long long whole;
  double real;
  char name[8];
};

static const union value defaults[3] = {{.whole = 0x7fL}, [2] = {.real = 1.5e-3}};
static volatile int calls, *counter = &calls;

static int by_whole(const void *a, const void *b) {
  const union value *x = a, *y = b;
  ++*counter;
  return (x->whole > y->whole) - (x->whole < y->whole);
}

void sort(union value table[], int n) {
  if (n <= 1) return;
  qsort(table, (unsigned long)n, sizeof(union value), by_whole);
  for (int i = n - 1; i >= 0; --i) {
    if (table[i].whole & 1) continue;
    table[i].whole = ~table[i].whole << 2 | 3;
    if (i % 7 == 5) break;
  }
}

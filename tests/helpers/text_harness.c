/* Calls all of mutate.c and aborts where it does not do what mutate.h says. To be compiled with
   sanitizers: before each mutator the input stands in memory of exactly its size.

     harness < INPUT       bytes 0-7 seed the generator, 8 is how many mutators, 9 the first
                           one, 10 and 11 how much it may grow, the rest is mutated
     harness N             N random inputs made of pieces of the mutators' own strings */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mutate.h"

#ifdef __AFL_HAVE_MANUAL_CONTROL
__AFL_FUZZ_INIT();
#endif

#define MOST (1 << 16)

static void must(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "%s\n", what);
  abort();
}

static void exactly(ft_buffer *b, const uint8_t *data, size_t n) {
  free(b->at);
  *b = (ft_buffer){n ? malloc(n) : NULL, n, n};
  if (n) memcpy(b->at, data, n);
}

static void bandit(const uint8_t *data, size_t n, uint64_t prior) {
  uint64_t numbers[5][FT_MUTATORS] = {{0}};
  size_t room = sizeof *numbers, arms = n % (FT_MUTATORS + 1);
  for (size_t i = 0; i < 4; i++)
    if (n > i * room) memcpy(numbers[i], data + i * room, n < (i + 1) * room ? n - i * room : room);
  ft_weights(numbers[0], numbers[1], numbers[2], numbers[3], prior, (int)arms, numbers[4]);
  for (size_t i = 0; i < arms; i++)
    must(numbers[4][i] && numbers[4][i] <= 1000000, "a weight is 0 or more than all");
}

static void try(const uint8_t *data, size_t n) {
  if (n < 12) return;
  ft_rng r;
  memcpy(&r.state, data, sizeof r.state);
  unsigned times = data[8] % 16, first = data[9];
  size_t growth = (size_t)data[10] << 8 | data[11];
  data += 12, n -= 12;
  size_t limit = growth & 1 ? growth : n + (growth >> 8);

  ft_buffer b = {0}, before = {0};
  exactly(&b, data, n);
  for (unsigned i = 0; i <= times; i++) {
    int op = i ? (int)ft_below(&r, FT_MUTATORS) : (int)(first % (FT_MUTATORS + 2)) - 1;
    exactly(&before, b.at, b.n);
    exactly(&b, before.at, before.n);
    int applies = ft_apply(&b, limit, &r, op);
    must(applies == 0 || applies == 1, "neither yes nor no");
    must(b.n <= b.room, "more than there is room for");
    int same = b.n == before.n && (!b.n || !memcmp(b.at, before.at, b.n));
    must(applies != same, "says it has changed something and has not, or the other way round");
    if (applies) {
      must(b.n <= limit, "more than the limit");
      must(op >= 0 && op < FT_MUTATORS && ft_names[op][0], "an mutator that there is not");
    }
  }
  /* The same by a place and a length that need not be within. */
  size_t at = ft_position(&r, n + 2), old = ft_below(&r, 9), room = b.n;
  int done = ft_replace(&b, at, old, (const uint8_t *)"replacement", 11, limit);
  must(done == (at <= room && old <= room - at && room - old + 11 <= limit), "ft_replace");
  must(b.n == (done ? room - old + 11 : room), "ft_replace's length");
  must(ft_apply_to(&b, data, n, limit, &r, first % FT_MUTATORS) || b.n == n, "ft_apply_to");
  bandit(data, n, ft_next(&r));
  free(b.at);
  free(before.at);
}

static const char *const pieces[] = {
    "\n", "(", ")", "{", "}", ";", ",", " ", "  ", "\t", "==", "!=", "=", "<", ">", "++", "--", "+",
    "-", "*", "/", "%", "0", "1", "if", "while", "&&", "||", "!", "x", "foo", "i", "&", "whil"};

static void trials(unsigned long n) {
  static uint8_t input[MOST];
  ft_rng r = {n};
  while (n--) {
    size_t length = 0, most = (size_t)12 << ft_below(&r, 9);
    while (length < 12) input[length++] = (uint8_t)ft_next(&r);
    while (length + 8 < most) {
      const char *piece = pieces[ft_below(&r, sizeof pieces / sizeof *pieces)];
      size_t size = strlen(piece);
      memcpy(input + length, piece, size);
      length += size;
      if (!ft_below(&r, 8)) input[length++] = (uint8_t)ft_below(&r, 2) * (uint8_t)ft_next(&r);
    }
    try(input, length);
  }
}

int main(int argc, char **argv) {
  static uint8_t input[MOST];
#ifdef __AFL_HAVE_MANUAL_CONTROL
  const uint8_t *given = __AFL_FUZZ_TESTCASE_BUF;
  while (__AFL_LOOP(10000)) try(given, (size_t)__AFL_FUZZ_TESTCASE_LEN);
  return 0;
#endif
  if (argc > 1)
    trials(strtoul(argv[1], NULL, 10));
  else
    try(input, fread(input, 1, sizeof input, stdin));
  return 0;
}

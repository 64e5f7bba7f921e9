/* Reads a good pool again and again with some of its bytes changed, and splices with whatever
   is accepted. Compiled with sanitizers: harness POOL INPUT SPOILT ROUNDS SEED. It says how many
   pools were taken and how many inputs were changed by them. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pool.h"

static uint8_t *whole(const char *path, size_t *n) {
  FILE *file = fopen(path, "rb");
  if (!file) exit(2);
  uint8_t *data = malloc(1 << 22);
  *n = fread(data, 1, 1 << 22, file);
  fclose(file);
  return data;
}

static void save(const char *path, const uint8_t *data, size_t n, long round) {
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(data, 1, n, file) != n) exit(2);
  fclose(file);
  struct timespec times[2] = {{round, 0}, {round, 0}}; /* another file each time */
  utimensat(AT_FDCWD, path, times, 0);
}

/* Some of the numbers in it become others; the header, which is short, as often as the rest. */
static size_t spoil(uint8_t *data, size_t n, ft_rng *r) {
  static const uint32_t odd[] = {0, 1, 2, 63, 64, 65, 4096, 4097, 65535, 65536, 0x7fffffff, ~0u};
  for (uint32_t i = ft_below(r, 4); i-- > 0;) {
    size_t at = ft_position(r, ft_below(r, 2) ? n : 64);
    size_t size = (size_t)1 << ft_below(r, 3);
    uint32_t value = odd[ft_below(r, sizeof odd / sizeof *odd)];
    at -= at % size;
    if (at + size > n) continue;
    if (ft_below(r, 2)) memcpy(data + at, &value, size);
    else data[at] ^= (uint8_t)(1u << ft_below(r, 8));
  }
  return ft_below(r, 8) ? n : ft_position(r, n);
}

int main(int argc, char **argv) {
  if (argc != 6) return 2;
  size_t n, length;
  uint8_t *good = whole(argv[1], &n), *input = whole(argv[2], &length);
  uint8_t *bad = malloc(n), *exact = malloc(length);
  memcpy(exact, input, length);
  ft_rng r = {strtoull(argv[5], NULL, 10)};
  ft_buffer b = {0};
  long taken = 0, changed = 0;
  save(argv[3], good, n, 1);
  ft_pool *p = ft_pool_open(argv[3]);
  for (long round = 2; round < strtol(argv[4], NULL, 10); round++) {
    memcpy(bad, good, n);
    save(argv[3], bad, spoil(bad, n, &r), round);
    taken += ft_pool_refresh(p);
    ft_host h;
    size_t used = ft_below(&r, 8) ? length : ft_position(&r, length);
    ft_pool_find(p, exact, used, &h);
    for (int stack = 0; stack < 4; stack++) {
      ft_host_reset(&h);
      if (!ft_set(&b, exact, used)) return 2;
      for (int step = 0; step < 8; step++) {
        size_t limit = ft_below(&r, 8) ? 1 << 20 : b.n + ft_below(&r, 9);
        switch (ft_below(&r, 5)) {
          case 0: changed += ft_pool_splice(p, &h, &b, limit, &r); break;
          case 1: changed += ft_pool_template(p, &h, &b, limit, &r); break;
          case 2: ft_balanced(&b, limit, &r, exact, used); break;
          case 3: ft_apply(&b, limit, &r, (int)ft_below(&r, FT_MUTATORS)); break;
          default:
            if (b.n) ft_replace(&b, ft_position(&r, b.n), ft_below(&r, 9), exact, ft_below(&r, 3), limit);
            else ft_set(&b, exact, used);
        }
        if (ft_below(&r, 2)) ft_host_follow(&h, &b);
      }
    }
  }
  ft_pool_close(p);
  free(good), free(bad), free(input), free(exact), free(b.at);
  printf("%ld %ld\n", taken, changed);
  return 0;
}

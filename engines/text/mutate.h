/* Text-level mutation: the core shared by afl-fuzz's custom mutator and the in-process engines.
   It does no I/O and has no state except the caller's arguments.

   reference.py makes the same bytes for the same input, limit, mutator and generator state. A change
   of one must be made in both; a property test compares them. */

#ifndef FT_MUTATE_H
#define FT_MUTATE_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t ft_at_most(uint64_t value, uint64_t most) {
  return value < most ? value : most;
}

typedef struct { /* splitmix64 */
  uint64_t state;
} ft_rng;

uint64_t ft_next(ft_rng *r);
uint32_t ft_below(ft_rng *r, uint32_t n);    /* 0 to n - 1; n >= 1 */
size_t ft_position(ft_rng *r, size_t n);     /* the same for any size; n >= 1 */

/* A growing array of bytes. Initialised with zeros ({0}); the owner frees `at`. */
typedef struct {
  uint8_t *at;
  size_t n, room;
} ft_buffer;

/* Reserve room for `n` bytes. Returns 0 if there is no memory; nothing has changed then. */
int ft_room(ft_buffer *b, size_t n);

/* Set the buffer to a copy of these bytes, which must not be in the buffer. 0: no memory. */
int ft_set(ft_buffer *b, const uint8_t *data, size_t n);

/* Replace the `old` bytes at `at` by `n` others, which must not be in the buffer. Returns 0 if the
   position is outside, the result would exceed `limit`, or there is no memory. */
int ft_replace(ft_buffer *b, size_t at, size_t old, const uint8_t *with, size_t n, size_t limit);

/* The number of mutators in mutators.h. */
enum {
  FT_MUTATORS = 0
#define FT_REPLACE(name, from, to) +1
#define FT_SPAN(name, open, close, to) +1
#define FT_SWAP(name, open, middle, close) +1
#define FT_DUPLICATE(name, open, close) +1
#include "mutators.h"
#undef FT_REPLACE
#undef FT_SPAN
#undef FT_SWAP
#undef FT_DUPLICATE
};

extern const char *const ft_names[FT_MUTATORS];
int ft_mutators(void); /* FT_MUTATORS, for programs that load the library */

/* Apply one mutator at a random occurrence. 1: the bytes have changed, and are at most `limit`;
   0: it does not apply or does not exist, and the bytes are unchanged. The generator advances in
   both cases, except with an empty input. */
int ft_apply(ft_buffer *b, size_t limit, ft_rng *r, int op);

/* ft_set and ft_apply in one call. */
int ft_apply_to(ft_buffer *b, const uint8_t *data, size_t n, size_t limit, ft_rng *r, int op);

/* The bandit: compute the weights of `n` mutators from the wished weights (`base`, at most
   1,000,000; 0: no more than the floor) and from the recent counters. Their sum is 1,000,000 or,
   because of the floors, a little more. `floors`: in which proportions mutators without finds are
   drawn, at most 1,000,000 each. `prior`: a number of imagined inputs with average success that are
   added to the counters of each mutator. The caller sets the weights of disabled mutators to 0
   afterwards. With equal floors none of three weights is below 5% of their sum. */
void ft_weights(const uint64_t *applied, const uint64_t *found, const uint64_t *base,
                const uint64_t *floors, uint64_t prior, int n, uint64_t *weights);

#endif

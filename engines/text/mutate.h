/* Text-level mutation: the core that afl-fuzz's custom mutator and the engines written in
   Python share. No I/O and no state but what the caller hands in.

   plain.py is its twin: the same bytes for the same input, limit, operator and state of the
   generator. Whoever changes one changes both; a property test compares them. */

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

/* Bytes that may grow. Begins as zeros ({0}); its owner frees `at`. */
typedef struct {
  uint8_t *at;
  size_t n, room;
} ft_buffer;

/* Room for `n` bytes. 0: no memory, nothing has changed. */
int ft_room(ft_buffer *b, size_t n);

/* The buffer holds these bytes and nothing else; they may not be its own. 0: no memory. */
int ft_set(ft_buffer *b, const uint8_t *data, size_t n);

/* The `old` bytes at `at` give way to `n` others, which may not be the buffer's own.
   0: not done, as there is no such place, the result would exceed `limit`, or no memory. */
int ft_replace(ft_buffer *b, size_t at, size_t old, const uint8_t *with, size_t n, size_t limit);

/* The operators of operators.h, by their place there. */
enum {
  FT_OPERATORS = 0
#define FT_REPLACE(name, from, to) +1
#define FT_SPAN(name, open, close, to) +1
#define FT_SWAP(name, open, middle, close) +1
#define FT_DUPLICATE(name, open, close) +1
#include "operators.h"
#undef FT_REPLACE
#undef FT_SPAN
#undef FT_SWAP
#undef FT_DUPLICATE
};

extern const char *const ft_names[FT_OPERATORS];
int ft_operators(void); /* FT_OPERATORS, for who loads the library */

/* One operator at a random occurrence. 1: the bytes are others now, and no more than `limit`;
   0: it does not apply (or there is no such operator) and they are what they were. The
   generator has moved on in both cases, except with an empty input. */
int ft_apply(ft_buffer *b, size_t limit, ft_rng *r, int op);

/* ft_set and ft_apply in one call. */
int ft_apply_to(ft_buffer *b, const uint8_t *data, size_t n, size_t limit, ft_rng *r, int op);

/* The bandit: the weights of `n` arms from how much of each is wished for (`base`, at most
   1,000,000; 0: no more than the floor), and from what each has applied and found recently. They
   add to 1,000,000 or a little more (the floor). `prior`: so many inputs that found as much as
   all arms do on average stand before an arm's own. Arms that are switched off are set to 0 by
   the caller, afterwards. Divided by their sum none of three is below 5%. */
void ft_weights(const uint64_t *applied, const uint64_t *found, const uint64_t *base,
                uint64_t prior, int n, uint64_t *weights);

#endif

/* Splicing: replace parts of an input by parts of other entries.

   Python parses the queue's entries and writes a pool file, atomically by rename (poolfile.py
   describes the format): the spans of each entry by syntactic kind, the fragments of all entries by
   kind, and the edits of the user's templates. This code reads the file; a mutation costs a few
   random numbers and one ft_replace, and nothing is parsed.

   fragments.py makes the same bytes for the same pool, input, limit and generator state. A change
   of one must be made in both; a property test compares them. */

#ifndef FT_POOL_H
#define FT_POOL_H

#include "mutate.h"

typedef struct ft_pool ft_pool;

/* Create a reader of the file `path`, which need not exist yet. NULL: no memory. */
ft_pool *ft_pool_open(const char *path);
void ft_pool_close(ft_pool *p);

/* Check for a new file, at most once a second; other calls only read the clock. May be called
   before each mutation or, better, before each entry. 1: a new pool was loaded, and all ft_host
   must be found again; 0: the pool is unchanged. An incomplete or malformed file is rejected, and
   the previous pool stays in use. */
int ft_pool_refresh(ft_pool *p);

/* The reason why the newest file was rejected; "" if it was not. */
const char *ft_pool_trouble(const ft_pool *p);

#define FT_SEGMENTS 32

/* An unchanged part of an input: its offset there, its length, its current position. */
typedef struct {
  size_t from, n, at;
} ft_segment;

/* A splice recipient: an input and its data in the pool. The caller must keep `data` alive and
   unchanged while it mutates the input. Nothing in the struct needs to be freed. */
typedef struct {
  const uint8_t *data;
  size_t n;
  const void *entry; /* in the pool; NULL: the input is unknown */
  size_t was;        /* length of the buffer that was followed last */
  int segments;
  ft_segment segment[FT_SEGMENTS];
} ft_host;

/* Initialise a recipient. 1: the pool has spans or edits of this input; 0: not (ft_balanced needs
   none). Costs a CRC of the input: to be called once for each entry, not for each mutation. */
int ft_pool_find(const ft_pool *p, const uint8_t *data, size_t n, ft_host *h);

/* Start with the unchanged input again. To be called at the beginning of each stack. */
void ft_host_reset(ft_host *h);

/* Update the positions of unchanged parts after a step that has changed the buffer. Costs a
   comparison with the input. ft_pool_splice and ft_pool_template call it first. Steps that were not
   followed count as one step, which has changed everything between its first and last change. */
void ft_host_follow(ft_host *h, const ft_buffer *b);

/* Replace a span by a fragment of its kind. 1: the bytes have changed; 0: unchanged. */
int ft_pool_splice(const ft_pool *p, ft_host *h, ft_buffer *b, size_t limit, ft_rng *r);

/* Apply one of the entry's template edits. 1: the bytes have changed; 0: unchanged. */
int ft_pool_template(const ft_pool *p, ft_host *h, ft_buffer *b, size_t limit, ft_rng *r);

/* Without a grammar: replace a part between two delimiters by a part between the same delimiters in
   `other`, which must not be in the buffer. 1: the bytes have changed; 0: unchanged. */
int ft_balanced(ft_buffer *b, size_t limit, ft_rng *r, const uint8_t *other, size_t n);

#endif

/* Splicing: parts of other entries in the place of parts of this one.

   Python parses the queue's entries and writes what it found into a pool file, whole, by
   rename (poolfile.py tells its layout): the spans of each entry by syntactic kind, the fragments
   of all entries by kind, and the edits that the user's templates make. Here it is read, and
   a mutation costs a few draws and one ft_replace: nothing is parsed.

   fragments.py and poolfile.py are its twin: the same bytes for the same pool, input, limit and
   state of the generator. Whoever changes one changes both; a property test compares them. */

#ifndef FT_POOL_H
#define FT_POOL_H

#include "mutate.h"

typedef struct ft_pool ft_pool;

/* A reader of the file `path`, which need not be there yet. NULL: no memory. */
ft_pool *ft_pool_open(const char *path);
void ft_pool_close(ft_pool *p);

/* Look whether there is another file of that name; at most once a second it really looks, so
   it may be called before each mutation (it asks the clock) or, better, before each entry.
   1: another pool is used from now on, and all hosts must be found again; 0: the same one.
   A file that is not whole, or no pool, is refused: the one before stays. */
int ft_pool_refresh(ft_pool *p);

/* Why the newest file was refused; "" if it was not. */
const char *ft_pool_trouble(const ft_pool *p);

#define FT_SEGMENTS 32

/* What of an input stands where, unchanged, in what has become of it. */
typedef struct {
  size_t from, n, at;
} ft_segment;

/* An input and what the pool knows of it. The caller keeps `data` alive and unchanged for as
   long as it mutates it. Nothing in here needs to be freed. */
typedef struct {
  const uint8_t *data;
  size_t n;
  const void *entry; /* in the pool; NULL: nothing is known */
  size_t was;        /* length of the buffer that was followed last */
  int segments;
  ft_segment segment[FT_SEGMENTS];
} ft_host;

/* 1: the pool has spans or edits of this input; 0: not (ft_balanced needs none). Costs a CRC
   of the input: once an entry, not once a mutation. */
int ft_pool_find(const ft_pool *p, const uint8_t *data, size_t n, ft_host *h);

/* The buffer is the input again: at the beginning of each stack. */
void ft_host_reset(ft_host *h);

/* After any step that has changed the buffer: what is still as it was, and where? It costs a
   comparison with the input. ft_pool_splice and ft_pool_template begin with it; steps in between
   that are not followed are taken for one, and what lies between them for changed. */
void ft_host_follow(ft_host *h, const ft_buffer *b);

/* A span gives way to a fragment of its kind. 1: the bytes are others now; 0: unchanged. */
int ft_pool_splice(const ft_pool *p, ft_host *h, ft_buffer *b, size_t limit, ft_rng *r);

/* One of the edits that the templates make here. 1: the bytes are others now; 0: unchanged. */
int ft_pool_template(const ft_pool *p, ft_host *h, ft_buffer *b, size_t limit, ft_rng *r);

/* Without a grammar: what stands between two delimiters gives way to what stands between the same
   delimiters in `other`, which may not be the buffer's own. 1: the bytes are others now; 0:
   unchanged. */
int ft_balanced(ft_buffer *b, size_t limit, ft_rng *r, const uint8_t *other, size_t n);

#endif

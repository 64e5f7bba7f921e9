/* Text-level mutation (see mutate.h; the mutators are in mutators.h).

   A mutator scans the input at most twice: from a random position to the end, and, if that finds
   nothing, from the beginning. The changed part is also compared and copied (swapped parts are
   copied twice). Lengths are explicit, so a NUL is a byte like any other. */

#include "mutate.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------- table */

enum kind { REPLACE, SPAN, SWAP, DUPLICATE };

typedef struct {
  const char *at;
  size_t n;
} string;

typedef struct {
  enum kind kind;
  int delimiters; /* number of strings that are searched for, one after the other */
  string strings[3];
} mutator;

#define S(literal) {literal, sizeof(literal) - 1}
#define FT_REPLACE(name, from, to) {REPLACE, 1, {S(from), S(to), S("")}},
#define FT_SPAN(name, open, close, to) {SPAN, 2, {S(open), S(close), S(to)}},
#define FT_SWAP(name, open, middle, close) {SWAP, 3, {S(open), S(middle), S(close)}},
#define FT_DUPLICATE(name, open, close) {DUPLICATE, 2, {S(open), S(close), S("")}},
static const mutator table[FT_MUTATORS] = {
#include "mutators.h"
};
#undef FT_REPLACE
#undef FT_SPAN
#undef FT_SWAP
#undef FT_DUPLICATE

#define FT_REPLACE(name, from, to) name,
#define FT_SPAN(name, open, close, to) name,
#define FT_SWAP(name, open, middle, close) name,
#define FT_DUPLICATE(name, open, close) name,
const char *const ft_names[FT_MUTATORS] = {
#include "mutators.h"
};

int ft_mutators(void) { return FT_MUTATORS; }

/* --------------------------------------------------------------- generator */

uint64_t ft_next(ft_rng *r) {
  uint64_t z = r->state += 0x9e3779b97f4a7c15ULL;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
  return z ^ z >> 31;
}

uint32_t ft_below(ft_rng *r, uint32_t n) { return (uint32_t)((ft_next(r) >> 32) * n >> 32); }

size_t ft_position(ft_rng *r, size_t n) {
  return n > UINT32_MAX ? (size_t)(ft_next(r) % n) : ft_below(r, (uint32_t)n);
}

/* ------------------------------------------------------------------ buffer */

int ft_room(ft_buffer *b, size_t n) {
  if (n <= b->room) return 1;
  size_t room = b->room < 256 ? 256 : b->room;
  while (room < n) room = room > SIZE_MAX / 2 ? n : room * 2;
  uint8_t *at = realloc(b->at, room);
  if (!at) return 0;
  b->at = at;
  b->room = room;
  return 1;
}

int ft_set(ft_buffer *b, const uint8_t *data, size_t n) {
  if (!ft_room(b, n)) return 0;
  if (n) memcpy(b->at, data, n);
  b->n = n;
  return 1;
}

/* Replace the `old` bytes at `at` by `n` undefined bytes. */
static int gap(ft_buffer *b, size_t at, size_t old, size_t n, size_t limit) {
  if (at > b->n || old > b->n - at) return 0;
  size_t rest = b->n - old;
  if (rest > limit || n > limit - rest || !ft_room(b, rest + n)) return 0;
  if (n != old && rest > at) memmove(b->at + at + n, b->at + at + old, rest - at);
  b->n = rest + n;
  return 1;
}

int ft_replace(ft_buffer *b, size_t at, size_t old, const uint8_t *with, size_t n, size_t limit) {
  if (!gap(b, at, old, n, limit)) return 0;
  if (n) memcpy(b->at + at, with, n);
  return 1;
}

/* --------------------------------------------------------------- mutators */

#define BLOCK 64

/* Whether `one` followed by `other` begins within the block. There is no branch and the length is
   fixed, so that compilers vectorise the loop: two to six times as fast as memmem (clang, gcc),
   which is not vectorised for such short needles. */
static int has_pair(const uint8_t *at, uint8_t one, uint8_t other) {
  uint8_t found = 0;
  for (int i = 0; i < BLOCK; i++) found |= (uint8_t)((at[i] == one) & (at[i + 1] == other));
  return found;
}

/* The position at which `what` begins within [from, to); `to` if there is none. */
static size_t find(const ft_buffer *b, size_t from, size_t to, string what) {
  const uint8_t *text = b->at;
  if (what.n == 1) {
    const uint8_t *found = memchr(text + from, *what.at, to - from);
    return found ? (size_t)(found - text) : to;
  }
  while (to - from >= what.n) {
    if (to - from > BLOCK && !has_pair(text + from, (uint8_t)what.at[0], (uint8_t)what.at[1])) {
      from += BLOCK;
      continue;
    }
    size_t last = to - what.n, end = last - from < BLOCK ? last : from + BLOCK - 1;
    for (; from <= end; from++)
      if (!memcmp(text + from, what.at, what.n)) return from;
  }
  return to;
}

typedef struct { /* for each delimiter: its begin, and the begin of the text after it */
  size_t at[3], end[3];
} places;

static int blank(string s) { return s.n == 1 && *s.at == ' '; }
static int newline(string s) { return s.n == 1 && *s.at == '\n'; }

/* Find the first line after a newline in [from, to) or later whose first word precedes a blank:
   empty lines have no word, and the only word of a line is not deleted. */
static int first_word(const ft_buffer *b, size_t from, size_t to, places *p) {
  const uint8_t *text = b->at, *found = memchr(text + from, '\n', to - from);
  for (size_t at = found ? (size_t)(found - text) : b->n; at < b->n;) {
    size_t word = at + 1, end;
    while (word < b->n && (text[word] == ' ' || text[word] == '\t')) word++;
    for (end = word; end < b->n && text[end] != ' ' && text[end] != '\n';) end++;
    if (end < b->n && text[end] == ' ') {
      *p = (places){{at, end}, {word, end + 1}};
      return 1;
    }
    at = end;
  }
  return 0;
}

/* Find the delimiters: the first one as early as possible within [from, to), each other one as early
   as possible after its predecessor. If blanks are the delimiters, the parts are words: a row of
   blanks is one delimiter, and the first word of an indented line is not empty. */
static int locate(const ft_buffer *b, size_t from, size_t to, const mutator *o, places *p) {
  const string *s = o->strings;
  if (o->kind == SPAN && newline(s[0]) && blank(s[1])) return first_word(b, from, to, p);
  for (int i = 0; i < o->delimiters; i++) {
    size_t at = find(b, from, to, s[i]);
    if (at == to) return 0;
    from = at + s[i].n;
    to = b->n;
    if (i + 1 < o->delimiters && (blank(s[i]) || blank(s[i + 1])))
      while (from < to && (b->at[from] == ' ' || b->at[from] == '\t')) from++;
    p->at[i] = at;
    p->end[i] = from;
  }
  return 1;
}

/* Find the delimiters from a random position on, and if that fails, from the beginning. The second
   search only needs first delimiters before that position: if a later one were followed by the
   others, the first search would have succeeded. */
static int occurrence(const ft_buffer *b, ft_rng *r, const mutator *o, places *p) {
  size_t from = ft_position(r, b->n), to = from + o->strings[0].n - 1;
  return locate(b, from, b->n, o, p) || locate(b, 0, to < b->n ? to : b->n, o, p);
}

static int begins(string s, string with) {
  return s.n >= with.n && !memcmp(s.at, with.at, with.n);
}

static int replace(ft_buffer *b, size_t limit, size_t at, size_t old, string with) {
  if (with.n == old && !memcmp(b->at + at, with.at, old)) return 0;
  return ft_replace(b, at, old, (const uint8_t *)with.at, with.n, limit);
}

/* Swap the first and the last of [begin, middle) [middle, behind) [behind, end). The result is
   written after the input, in unused room, and compared: different parts may give the same text,
   as "" and "," around a comma do. */
static int swap(ft_buffer *b, size_t limit, size_t begin, size_t middle, size_t behind,
                size_t end) {
  size_t span = end - begin;
  if (b->n > limit || span > SIZE_MAX - b->n || !ft_room(b, b->n + span)) return 0;
  uint8_t *old = b->at + begin, *new = b->at + b->n, *to = new;
  memcpy(to, b->at + behind, end - behind);
  to += end - behind;
  memcpy(to, b->at + middle, behind - middle);
  to += behind - middle;
  memcpy(to, old, middle - begin);
  if (!memcmp(old, new, span)) return 0;
  memcpy(old, new, span);
  return 1;
}

/* Replace all from the begin of `open` to the end of `close` by `to`. If `to` begins with `open`,
   `open` remains, with the blanks that belong to it. */
static int span(ft_buffer *b, size_t limit, const places *p, string open, string to) {
  if (!begins(to, open)) return replace(b, limit, p->at[0], p->end[1] - p->at[0], to);
  string rest = {to.at + open.n, to.n - open.n};
  return replace(b, limit, p->end[0], p->end[1] - p->end[0], rest);
}

/* Insert a copy of [begin, end) after it. */
static int duplicate(ft_buffer *b, size_t limit, size_t begin, size_t end) {
  if (!gap(b, end, 0, end - begin, limit)) return 0;
  memcpy(b->at + end, b->at + begin, end - begin);
  return 1;
}

int ft_apply(ft_buffer *b, size_t limit, ft_rng *r, int op) {
  places p;
  if (op < 0 || op >= FT_MUTATORS || !b->n) return 0;
  const mutator *o = &table[op];
  if (!occurrence(b, r, o, &p)) return 0;
  const string *s = o->strings;
  switch (o->kind) {
    case REPLACE:
      return replace(b, limit, p.at[0], s[0].n, s[1]);
    case SPAN:
      return span(b, limit, &p, s[0], s[2]);
    case SWAP:
      return swap(b, limit, p.end[0], p.at[1], p.end[1], p.at[2]);
    case DUPLICATE:
      return duplicate(b, limit, begins(s[1], s[0]) ? p.end[0] : p.at[0], p.end[1]);
  }
  return 0;
}

int ft_apply_to(ft_buffer *b, const uint8_t *data, size_t n, size_t limit, ft_rng *r, int op) {
  return ft_set(b, data, n) && ft_apply(b, limit, r, op);
}

/* ------------------------------------------------------------------ bandit */

/* The merit of a mutator is its rate of finds divided by the rate of all mutators. With F finds in A
   inputs by all, it is ((found + prior F/A) / (applied + prior)) / (F/A). A mutator without counts,
   and every mutator while nothing is found, has merit 1 and the wished weight. A mutator that finds
   as often as the others keeps this weight, and one lucky find changes it only a little.

   The floor is a fifth of the share that the wished weights (`floors`) imply: at most a fifth of all
   draws goes to mutators that have found nothing. With equal weights even these are drawn a hundred
   times in a window, so it is noticed if one of them begins to find something as the inputs change.

   Fixed point, 12 bits. The bounds keep all products below 2^64 for up to 2^16 mutators; no window
   reaches them. */
#define WHOLE 1000000
#define FLOOR 5 /* the wished share is divided by this */
#define MAX_FOUND ((uint64_t)1 << 20)
#define MAX_APPLIED ((uint64_t)1 << 31)
#define MAX_PRIOR ((uint64_t)1 << 20)
#define MERIT 4096            /* merit 1: the average */
#define MAX_MERIT (64 * MERIT)

static uint64_t merit(uint64_t applied, uint64_t found, uint64_t of, uint64_t all, uint64_t prior) {
  if (!all) return MERIT;
  uint64_t value = (found * of + prior * all) * MERIT / ((applied + prior) * all);
  return value < 1 ? 1 : ft_at_most(value, MAX_MERIT);
}

void ft_weights(const uint64_t *applied, const uint64_t *found, const uint64_t *base,
                const uint64_t *floors, uint64_t prior, int n, uint64_t *weights) {
  uint64_t sum = 0, of = 0, all = 0, shares = 0;
  for (int i = 0; i < n; i++) {
    shares += ft_at_most(floors[i], WHOLE);
    of = ft_at_most(of + ft_at_most(applied[i], MAX_APPLIED), MAX_APPLIED);
    all = ft_at_most(all + ft_at_most(found[i], MAX_FOUND), MAX_FOUND);
  }
  prior = prior ? ft_at_most(prior, MAX_PRIOR) : 1;
  for (int i = 0; i < n; i++) {
    uint64_t good = merit(ft_at_most(applied[i], MAX_APPLIED), ft_at_most(found[i], MAX_FOUND), of, all,
                          prior);
    sum += weights[i] = ft_at_most(base[i], WHOLE) * good;
  }
  for (int i = 0; i < n; i++) {
    uint64_t floor = shares ? WHOLE * ft_at_most(floors[i], WHOLE) / (shares * FLOOR) : 0;
    weights[i] = sum ? weights[i] * WHOLE / sum : 0;
    if (weights[i] < floor) weights[i] = floor;
    if (!weights[i]) weights[i] = 1;
  }
}

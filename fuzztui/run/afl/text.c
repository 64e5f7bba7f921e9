/* Mutating inputs as text in afl-fuzz: a custom mutator, meant to be the only one
   (AFL_CUSTOM_MUTATOR_ONLY=1) beside steer.c, which makes no inputs.

   An input is made by a stack of 1, 2, 4 or 8 steps. Three probabilities, which can be changed
   during the campaign, decide what all its steps are: text mutators (engines/text/mutators.h) and
   templates, splices (engines/text/pool.h), or plain havoc (havoc.h). With FUZZTUI_TEXT_ROLL=step
   they decide this for each step. An impossible step becomes havoc.

   Commands and answers are lines of control.jsonl (FUZZTUI_CONTROL) and events.jsonl
   (FUZZTUI_EVENTS), as for steer.c; this mutator executes "mixture" and "weigh-mutator". The
   counters of each mutator and the present probabilities are in the statistics block
   (FUZZTUI_TEXT_BLOCK, see engines/text/block.h), from which the next process continues.

   All of these files and variables are optional, so that a plain afl-fuzz can use this mutator.

   The interface is declared here because Debian's afl++ has no headers. */

#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <time.h>

#include "block.h"
#include "jsonl.h"
#include "pool.h"

#include "havoc.h"

#define MS 1000000LL
#ifndef POLL
#define POLL (20 * MS)     /* between two checks for commands and a new pool */
#endif
#define TRIES 16           /* mutators that are drawn before a step becomes havoc */
#define SLOTS 4096         /* divided among the mutators by weight */
#define MAX_STEPS 8       /* of a stack */
#define STACKS 4           /* 2^0 to 2^3 steps */
#ifndef PERIOD
#define PERIOD 10000       /* trials between two adaptations of the weights */
#endif
#define WHOLE 1000000      /* the sum of the weights of a class, which minimal weights exceed */
#define LEAST_WEIGHT 300   /* of a text mutator with a wished weight: a slot, as sums are < 1228800 */
/* Of the adaptive mode: engines/text/arms.py explains the values. */
#define PRIOR 1000
#define PRIOR_KEPT 5
#define ENOUGH 100
#define LEAST 0.05
#define LEAST_HAVOC 0.1
#define VAIN 200
#define ONE (1ULL << 53)   /* probability 1 */
#define MAX_WEIGHT 100           /* that a user gives a mutator: kernel/wire/commands/weights.py */
#define MAX_RECENT (1U << 30)    /* of the counters of a class */
#define MAX_COUNTED (1ULL << 53) /* of a counter in the block of another process */

typedef struct {
  inbox control;
  outbox events;
  set answered; /* ids of commands */
  char *block_path;
  ft_block block;
  int changed;          /* the block differs from its file */
  uint64_t text, texts; /* a roll below `text`: a text step; below `texts`: a splice; else havoc */
  uint64_t without[FT_ARMS]; /* left out by the user */
  int operators;             /* whether any mutator has a weight */
  uint8_t slots[SLOTS];      /* mutators in proportion to their weights */

  ft_rng rng;
  tokens tokens;
  ft_buffer input;
  ft_pool *pool;
  const char *trouble; /* with the pool, as reported; "": none */
  ft_host host;   /* the pool's data about the entry */
  int known;      /* `host` is of the entry that is being fuzzed */
  int sha1_names; /* file names are hashes, without names of mutators */
  int alone;      /* no other mutator makes inputs */
  int each_step;  /* each step of an input is of a class of its own; else all are of one */

  int stack[MAX_STEPS]; /* the mutators that changed the newest input, each once */
  int stacked;
  int classes;   /* bits of their classes */
  int steps;     /* steps that changed the newest input */
  int described; /* afl-fuzz has called describe for the newest input: it is being saved */
  char words[256];
  int64_t polled;
} mutator;

/* ----------------------------------------------------------------- settings */

static const char *name_of(int arm) {
  static const char *const others[] = {"template", "fragment", "balanced", "havoc"};
  return arm < FT_MUTATORS ? ft_names[arm] : others[arm - FT_TEMPLATE];
}

enum { TEXT, SPLICE, HAVOC }; /* the classes of steps */

typedef struct { /* the probability of each class */
  double havoc, text, splice;
  int adaptive;
} mixture;

static const mixture usual = {0.25, 0.5, 0.25, 1}; /* BEST of kernel/wire/mixture.py */

/* The user's weight of a mutator, in thousandths; 0 if it is left out. */
static uint64_t wished_of(const mutator *m, int i) {
  uint64_t wish = m->block.arm[i].wish;
  return m->without[i] ? 0 : wish ? wish - 1 : 1000;
}

/* Set the weights by which mutators are drawn: those of the user in fixed mode (`alike`), and while
   all are 0. For an input to which few mutators apply, dozens are drawn: `slots` makes that cheap. */
static void set_weights(mutator *m, int alike) {
  ft_arm *arm = m->block.arm;
  uint64_t there = 0, sum = 0;
  for (int i = 0; i <= FT_TEMPLATE; i++) sum += arm[i].weight, there += wished_of(m, i);
  if (alike || !sum) {
    for (int i = 0; i <= FT_TEMPLATE; i++)
      arm[i].weight = there ? WHOLE * wished_of(m, i) / there : 0;
    arm[FT_FRAGMENT].weight = arm[FT_BALANCED].weight = WHOLE / 2;
    arm[FT_HAVOC].weight = WHOLE;
    /* Splice a fragment wherever one fits; between delimiters elsewhere. */
    if (alike && !m->without[FT_FRAGMENT]) arm[FT_FRAGMENT].weight = WHOLE, arm[FT_BALANCED].weight = 0;
  }
  for (int i = 0; i < FT_ARMS; i++)
    if (!wished_of(m, i)) arm[i].weight = 0;
    else if (i <= FT_TEMPLATE && arm[i].weight < LEAST_WEIGHT) arm[i].weight = LEAST_WEIGHT;
  sum = 0;
  for (int i = 0; i <= FT_TEMPLATE; i++) sum += arm[i].weight;
  m->operators = sum > 0;
  uint64_t upto = 0;
  for (int i = 0, slot = 0; i <= FT_TEMPLATE; i++)
    for (upto += arm[i].weight; slot < SLOTS && (2 * (uint64_t)slot + 1) * sum < 2 * SLOTS * upto;)
      m->slots[slot++] = (uint8_t)i;
}

static int is_mixture(mixture x) {
  return x.havoc >= 0 && x.text >= 0 && x.splice >= 0 &&
         fabs(x.havoc + x.text + x.splice - 1) <= 1e-6;
}

/* Returns 0, and changes nothing, if `x` is not a mixture. */
static int set_mixture(mutator *m, mixture x) {
  if (!is_mixture(x)) return 0;
  double sum = x.havoc + x.text + x.splice;
  ft_block *b = &m->block;
  b->havoc = x.havoc;
  b->text = x.text;
  b->splice = x.splice;
  b->flags = x.adaptive ? FT_BLOCK_ADAPTIVE : 0;
  m->text = x.havoc + x.splice > 0 ? (uint64_t)(x.text / sum * ONE) : ONE;
  m->texts = x.havoc > 0 ? (uint64_t)((x.text + x.splice) / sum * ONE) : ONE;
  set_weights(m, !x.adaptive);
  return 1;
}

/* As set_mixture(), for the mixture that the user wishes. */
static int wish_mixture(mutator *m, mixture x) {
  if (!set_mixture(m, x)) return 0;
  memcpy(m->block.wish, (double[]){x.havoc, x.text, x.splice}, sizeof m->block.wish);
  return 1;
}

static uint64_t wished(double part) { return (uint64_t)((part > LEAST ? part : LEAST) * WHOLE); }

static double between(double x, double least, double most) {
  return x < least ? least : x > most ? most : x;
}

/* The share that havoc keeps whatever the others find (engines/text/arms.py has the reasons).
   `prior`: inputs on which all classes together find PRIOR_KEPT entries. */
static double earned(const uint64_t *made, const uint64_t *kept, uint64_t prior) {
  double sum = 0, cubes = 0, yield = 0;
  if (!(kept[TEXT] | kept[SPLICE] | kept[HAVOC])) return LEAST_HAVOC;
  for (int c = TEXT; c <= HAVOC; c++) {
    yield = (double)(kept[c] + PRIOR_KEPT) / (double)(made[c] + prior);
    sum += yield;
    cubes += yield * yield * yield;
  }
  double share = yield / sum, cube = yield * yield * yield / cubes;
  return between(share > cube ? share : cube, LEAST_HAVOC, 1 - 2 * LEAST);
}

/* Adapt the weights of mutators within their class to their rates of finds. */
static void weigh_by_finds(mutator *m) {
  ft_arm *arm = m->block.arm;
  static const int begin[] = {0, FT_FRAGMENT, FT_HAVOC, FT_ARMS}; /* the first of each class */
  uint64_t applied[FT_ARMS], found[FT_ARMS], worth[FT_ARMS], wished[FT_ARMS], weights[FT_ARMS];
  for (int i = 0; i < FT_ARMS; i++) {
    applied[i] = arm[i].window_applied;
    found[i] = arm[i].window_found;
    wished[i] = wished_of(m, i);
    worth[i] = arm[i].tried < VAIN || arm[i].applied ? wished[i] : 0;
  }
  for (int c = 0; c < 3; c++) {
    int from = begin[c], n = begin[c + 1] - from;
    ft_weights(applied + from, found + from, worth + from, wished + from, PRIOR, n, weights + from);
    for (int i = from; i < from + n; i++) arm[i].weight = weights[i];
  }
}

/* Adapt these weights and the mixture, and begin another window. */
static void adapt(mutator *m) {
  ft_block *b = &m->block;
  uint64_t made[3], kept[3], parts[3];
  if (b->flags & FT_BLOCK_ADAPTIVE) weigh_by_finds(m);
  for (int i = 0; i < FT_ARMS; i++) {
    b->arm[i].window_applied /= 2;
    b->arm[i].window_found /= 2;
  }
  int full = b->kept[0] + b->kept[1] + b->kept[2] >= ENOUGH;
  for (int c = 0; c < 3; c++) full |= b->made[c] > MAX_RECENT;
  for (int c = 0; c < 3; c++) {
    made[c] = b->made[c];
    kept[c] = b->kept[c];
    if (full) b->made[c] /= 2, b->kept[c] /= 2;
  }
  if (!(b->flags & FT_BLOCK_ADAPTIVE)) return;
  uint64_t all = made[0] + made[1] + made[2], found_by_all = kept[0] + kept[1] + kept[2];
  uint64_t prior = PRIOR_KEPT * all / (found_by_all ? found_by_all : 1) + 1;
  uint64_t wish[] = {wished(b->wish[1]), wished(b->wish[2]), wished(b->wish[0])};
  ft_weights(made, kept, wish, (uint64_t[]){1, 1, 1}, prior, 3, parts);
  double havoc = (double)parts[HAVOC] / (double)(parts[0] + parts[1] + parts[2]);
  mixture x = {.havoc = between(havoc, earned(made, kept, prior), 1), .adaptive = 1};
  x.text = (1 - x.havoc) * (double)parts[TEXT] / (double)(parts[TEXT] + parts[SPLICE]);
  x.text = between(x.text, LEAST, 1 - x.havoc - LEAST);
  x.splice = 1 - x.havoc - x.text;
  set_mixture(m, x);
}

/* -------------------------------------------------------------------- block */

/* Write the block to its file. With `settings`, its sequence there is odd meanwhile. */
static void publish(mutator *m, int settings) {
  ft_block *b = &m->block;
  m->changed = 0;
  int fd = m->block_path ? open_regular(m->block_path, O_RDWR | O_CREAT) : -1;
  if (fd < 0) return;
  struct stat st;
  off_t at = offsetof(ft_block, sequence);
  int done = fstat(fd, &st) == 0 && (st.st_size == FT_BLOCK_SIZE || !ftruncate(fd, FT_BLOCK_SIZE));
  if (settings) {
    b->sequence++;
    done = done && pwrite(fd, &b->sequence, sizeof b->sequence, at) == sizeof b->sequence;
  }
  done = done && pwrite(fd, b, sizeof *b, 0) == sizeof *b;
  if (settings) {
    b->sequence++;
    done = done && pwrite(fd, &b->sequence, sizeof b->sequence, at) == sizeof b->sequence;
  }
  if (!done) m->changed = 1; /* the disk is full: tried again at the next tick */
  close(fd);
}

/* Continue with the block of the previous process. Returns 0 if it has left no valid settings. */
static int take_over(mutator *m) {
  ft_block old;
  int fd = m->block_path ? open_regular(m->block_path, O_RDONLY) : -1;
  ssize_t n = fd >= 0 ? pread(fd, &old, sizeof old, 0) : 0;
  if (fd >= 0) close(fd);
  if (n != sizeof old || memcmp(old.magic, FT_BLOCK_MAGIC, sizeof old.magic)) return 0;
  if (old.arms != FT_ARMS) return 0;
  ft_block *b = &m->block;
  b->sequence = old.sequence & ~1ULL;
  b->trials = ft_at_most(old.trials, MAX_COUNTED);
  for (int i = 0; i < FT_ARMS; i++) {
    ft_arm *a = &old.arm[i];
    b->arm[i] = (ft_arm){.tried = ft_at_most(a->tried, MAX_COUNTED),
                         .applied = ft_at_most(a->applied, MAX_COUNTED),
                         .found = ft_at_most(a->found, MAX_COUNTED),
                         .crashes = ft_at_most(a->crashes, MAX_COUNTED),
                         .weight = ft_at_most(a->weight, WHOLE),
                         .window_applied = ft_at_most(a->window_applied, 1 << 30),
                         .window_found = ft_at_most(a->window_found, 1 << 20),
                         .wish = ft_at_most(a->wish, 1 + 1000 * MAX_WEIGHT)};
  }
  for (int i = 0; i < 3; i++) {
    b->made[i] = (uint32_t)ft_at_most(old.made[i], MAX_RECENT);
    b->kept[i] = (uint32_t)ft_at_most(old.kept[i], MAX_RECENT);
  }
  /* The process died while it wrote settings: they may be torn. */
  if (old.sequence & 1) return 0;
  int adaptive = (int)(old.flags & FT_BLOCK_ADAPTIVE);
  mixture now = {old.havoc, old.text, old.splice, adaptive};
  mixture wish = {old.wish[0], old.wish[1], old.wish[2], adaptive};
  return is_mixture(wish) ? wish_mixture(m, wish) && set_mixture(m, now) : wish_mixture(m, now);
}

/* ----------------------------------------------------------------- commands */

/* A JSON number; NAN for anything else. */
static double real(text value) {
  char words[40], *end;
  if (!value.n || value.n >= sizeof words) return NAN;
  for (size_t i = 0; i < value.n; i++)
    if (!strchr("0123456789+-.eE", value.at[i]) || !value.at[i]) return NAN;
  memcpy(words, value.at, value.n);
  words[value.n] = 0;
  double found = strtod(words, &end);
  return *end ? NAN : found;
}

static void percents(const mutator *m, char *to, size_t room) {
  const ft_block *b = &m->block;
  snprintf(to, room, "havoc %.3g%%, text %.3g%%, splice %.3g%%%s", 100 * b->havoc, 100 * b->text,
           100 * b->splice, b->flags & FT_BLOCK_ADAPTIVE ? ", adaptive" : "");
}

/* Set the mixture of a command. Returns whether it did, and the answer in `words`. */
static int mix(mutator *m, text what, char *words, size_t room) {
  mixture x = {real(member(what, "havoc")), real(member(what, "text")),
               real(member(what, "splice")), is(member(what, "adaptive"), "true")};
  if (wish_mixture(m, x)) {
    percents(m, words, room);
    return 1;
  }
  if (isfinite(x.havoc) && isfinite(x.text) && isfinite(x.splice))
    snprintf(words, room, "%.6g + %.6g + %.6g: they must add to 1, none below 0", x.havoc, x.text,
             x.splice);
  else
    snprintf(words, room, "havoc, text and splice must be numbers");
  return 0;
}

/* How often a text mutator is drawn, in percent of all text mutators. */
static double share_of(const mutator *m, int i) {
  uint64_t sum = 0;
  for (int j = 0; j <= FT_TEMPLATE; j++) sum += m->block.arm[j].weight;
  return (double)m->block.arm[i].weight / (double)sum * 100;
}

/* Set the user's weight of a text mutator, as mix() does. */
static int weigh(mutator *m, text what, char *words, size_t room) {
  text named = member(what, "mutator");
  double weight = real(member(what, "weight"));
  int i = 0;
  while (i <= FT_TEMPLATE && !(named.n == strlen(name_of(i)) + 2 &&
                               !memcmp(named.at + 1, name_of(i), named.n - 2)))
    i++;
  uint64_t before = m->block.arm[i].wish, all = 0;
  if (i > FT_TEMPLATE || m->without[i])
    snprintf(words, room, "this campaign has no text mutator of this name");
  else if (!(weight >= 0 && weight <= MAX_WEIGHT))
    snprintf(words, room, "a mutator's weight is from 0 to %d", MAX_WEIGHT);
  else {
    double share = share_of(m, i);
    m->block.arm[i].wish = 1 + (uint64_t)ceil(1000 * weight);
    for (int j = 0; j <= FT_TEMPLATE; j++) all += wished_of(m, j);
    if (all) {
      int adaptive = (int)(m->block.flags & FT_BLOCK_ADAPTIVE);
      if (adaptive) weigh_by_finds(m);
      set_weights(m, !adaptive);
      snprintf(words, room, "%s has weight %g: %.3g%% -> %.3g%% of text mutations", name_of(i), weight,
               share, share_of(m, i));
      return 1;
    }
    m->block.arm[i].wish = before;
    snprintf(words, room, "%s is the last text mutator whose weight is not 0", name_of(i));
  }
  return 0;
}

/* Execute a line of control.jsonl. A command from before the start is executed if it was never
   answered. */
static void obey(void *whom, text line) {
  mutator *m = whom;
  text message = whole(line), id = id_of(message), what = member(message, "command");
  text name = member(what, "c");
  int mixes = is(name, "\"mixture\"");
  if (!id.n || !(mixes || is(name, "\"weigh-mutator\"")) || has(&m->answered, hash(id))) return;
  add(&m->answered, hash(id));
  char words[120];
  if (mixes ? mix(m, what, words, sizeof words) : weigh(m, what, words, sizeof words)) {
    publish(m, 1);
    say(&m->events,
        "{\"k\":\"command_applied\",\"id\":\"%.*s\",\"trial\":%" PRIu64 ",\"detail\":\"%s\"}",
        (int)id.n, id.at, m->block.trials, words);
    return;
  }
  say(&m->events, "{\"k\":\"command_rejected\",\"id\":\"%.*s\",\"reason\":\"%s\"}", (int)id.n,
      id.at, words);
}

/* Note the command that a line of events.jsonl from before the start answers. */
static void recall(void *whom, text line) {
  mutator *m = whom;
  text event = whole(line), kind = member(event, "k"), id;
  if (!is(kind, "\"command_applied\"") && !is(kind, "\"command_rejected\"")) return;
  id = id_of(event);
  if (id.n) add(&m->answered, hash(id));
}

static void poll_control(mutator *m) {
  struct stat st;
  if (m->control.path && stat(m->control.path, &st) == 0 && st.st_size != m->control.at) {
    if (st.st_size < m->control.at) m->control.at = m->control.endless = 0;
    read_lines(&m->control, obey, m);
  }
  pay(&m->events);
}

/* Report why the pool is rejected, if it is. */
static void complain(mutator *m) {
  m->trouble = ft_pool_trouble(m->pool);
  if (!*m->trouble) return;
  fprintf(stderr, "fuzztui: the pool of fragments is not used: %s\n", m->trouble);
  if (!m->events.path) return;
  say(&m->events,
      "{\"k\":\"message\",\"level\":\"warning\",\"text\":\"the pool of fragments is not used: %s\"}",
      m->trouble);
}

/* Every POLL: look for commands and a new pool, and write what waits. */
static void tick(mutator *m) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t); /* takes 6 ns */
  int64_t now = t.tv_sec * 1000 * MS + t.tv_nsec;
  if (m->polled && now - m->polled < POLL) return;
  m->polled = now;
  if (m->pool && ft_pool_refresh(m->pool)) m->known = 0;
  if (m->pool && strcmp(m->trouble, ft_pool_trouble(m->pool))) complain(m);
  poll_control(m);
  if (m->changed) publish(m, 0);
}

/* -------------------------------------------------------------------- steps */

static int text_step(mutator *m, size_t limit) {
  if (!m->operators) return -1;
  for (int tries = 0; tries < TRIES; tries++) {
    int arm = m->slots[ft_next(&m->rng) % SLOTS];
    m->block.arm[arm].tried++;
    int done = arm < FT_TEMPLATE ? ft_apply(&m->input, limit, &m->rng, arm)
               : m->host.entry  ? ft_pool_template(m->pool, &m->host, &m->input, limit, &m->rng)
                                : 0;
    if (done) return arm;
  }
  return -1;
}

/* Splice in one of two ways, or in the other if that is impossible: a fragment first, except that
   the adaptive mode draws by weight. Returns the mutator; -1: both are impossible. */
static int splice_step(mutator *m, size_t limit, const uint8_t *other, size_t n) {
  int first = 0;
  if (m->block.flags & FT_BLOCK_ADAPTIVE) {
    uint64_t fragment = m->block.arm[FT_FRAGMENT].weight, all = m->block.arm[FT_BALANCED].weight;
    all += fragment;
    first = all && ft_next(&m->rng) % all >= fragment;
  }
  for (int i = 0; i < 2; i++) {
    int arm = (i == 0) == (first != 1) ? FT_FRAGMENT : FT_BALANCED;
    if (m->without[arm] || (arm == FT_FRAGMENT ? !m->host.entry : !other || !n)) continue;
    m->block.arm[arm].tried++;
    if (arm == FT_FRAGMENT ? ft_pool_splice(m->pool, &m->host, &m->input, limit, &m->rng)
                           : ft_balanced(&m->input, limit, &m->rng, other, n))
      return arm;
  }
  return -1;
}

/* Whether a step may need the current positions of the entry's parts. */
static int needs_spans(const mutator *m) {
  const ft_block *b = &m->block;
  return m->host.entry && (b->splice > 0 || (b->text > 0 && b->arm[FT_TEMPLATE].weight));
}

/* An input of the class havoc has up to 64 edits, as many as afl-fuzz's own: 1 to 8 for each step.
   Elsewhere a havoc step is one edit, so that the rest of the input stays text. */
static int havoc_step(mutator *m, size_t limit, uint64_t roll) {
  int done = 0, edits = roll < m->texts || m->each_step ? 1 : 1 << ft_below(&m->rng, STACKS);
  while (edits-- > 0) done |= havoc(&m->input, limit, &m->rng, &m->tokens);
  return done;
}

static void step(mutator *m, size_t limit, uint64_t roll, const uint8_t *other, size_t n) {
  int arm = roll < m->text    ? text_step(m, limit)
            : roll < m->texts ? splice_step(m, limit, other, n)
                              : -1;
  if (arm < 0) {
    arm = FT_HAVOC;
    m->block.arm[arm].tried++;
    if (!havoc_step(m, limit, roll)) return;
  }
  m->steps++;
  for (int i = 0; i < m->stacked; i++)
    if (m->stack[i] == arm) return;
  m->stack[m->stacked++] = arm; /* counted once for each input, as finds are */
  m->block.arm[arm].applied++;
  m->block.arm[arm].window_applied++;
  int class = arm < FT_FRAGMENT ? TEXT : arm < FT_HAVOC ? SPLICE : HAVOC;
  if (!(m->classes & 1 << class)) m->block.made[class]++;
  m->classes |= 1 << class;
}

/* Forget the newest input. */
static void forget(mutator *m) { m->described = m->steps = m->stacked = m->classes = 0; }

/* Count the previous input as a crash or hang if it was saved, but not as a queue entry. */
static void settle(mutator *m) {
  if (m->described)
    for (int i = 0; i < m->stacked; i++) m->block.arm[m->stack[i]].crashes++;
  forget(m);
}

/* --------------------------------------------------------- the custom mutator */

_Static_assert(FT_ARMS < 256, "a slot is a byte");

static char *path_of(const char *name) {
  const char *path = getenv(name);
  return path && *path ? strdup(path) : NULL;
}

/* Exclude mutators, by names that are separated by commas. */
static void leave_out(mutator *m, const char *names) {
  for (size_t n; *names; names += n + (names[n] == ',')) {
    n = strcspn(names, ",");
    for (int i = 0; i < FT_HAVOC; i++)
      if (strlen(name_of(i)) == n && !memcmp(name_of(i), names, n)) m->without[i] = 1;
  }
}

/* Take the mixture from the campaign's settings, FUZZTUI_TEXT=havoc,text,splice,adaptive. */
static void begin(mutator *m) {
  mixture x;
  const char *said = getenv("FUZZTUI_TEXT");
  if (!said || !*said) said = NULL;
  if (said && sscanf(said, "%lf,%lf,%lf,%d", &x.havoc, &x.text, &x.splice, &x.adaptive) == 4 &&
      wish_mixture(m, x))
    return;
  if (said) fprintf(stderr, "FUZZTUI_TEXT=%s is not understood\n", said);
  wish_mixture(m, usual);
}

void *afl_custom_init(void *afl, unsigned seed) {
  (void)afl;
  mutator *m = calloc(1, sizeof *m);
  if (!m) {
    fputs("fuzztui: no memory for a mutator\n", stderr);
    _exit(1);
  }
  m->rng.state = seed;
  m->trouble = "";
  memcpy(m->block.magic, FT_BLOCK_MAGIC, sizeof m->block.magic);
  m->block.arms = FT_ARMS;
  m->block_path = path_of("FUZZTUI_TEXT_BLOCK");
  m->control.path = path_of("FUZZTUI_CONTROL");
  m->events.path = path_of("FUZZTUI_EVENTS");
  if (!m->events.path) { /* commands could not be answered */
    free(m->control.path);
    m->control.path = NULL;
  }
  const char *only, *sha1 = getenv("AFL_SHA1_FILENAMES"), *names = getenv("FUZZTUI_TEXT_WITHOUT");
  const char *roll = getenv("FUZZTUI_TEXT_ROLL");
  const char *dictionaries = getenv("FUZZTUI_TEXT_TOKENS"), *pool = getenv("FUZZTUI_TEXT_POOL");
  m->sha1_names = sha1 && *sha1;
  m->each_step = roll && !strcmp(roll, "step");
  m->alone = (only = getenv("AFL_CUSTOM_MUTATOR_ONLY")) && *only;
  if (pool && *pool) m->pool = ft_pool_open(pool);
  m->without[FT_TEMPLATE] = m->without[FT_FRAGMENT] = !m->pool;
  if (names) leave_out(m, names);
  if (dictionaries) read_tokens(&m->tokens, dictionaries);
  if (!take_over(m)) begin(m);
  publish(m, 1);
  if (m->control.path) {
    inbox past = {.path = m->events.path};
    read_lines(&past, recall, m);
  }
  return m;
}

void afl_custom_deinit(void *data) {
  mutator *m = data;
  settle(m);
  publish(m, 0);
  pay(&m->events);
  if (m->pool) ft_pool_close(m->pool);
  free(m->block_path);
  free(m->control.path);
  free(m->events.path);
  free(m->events.owed);
  free(m->answered.hash);
  free(m->tokens.bytes);
  free(m->tokens.at);
  free(m->input.at);
  free(m);
}

/* Called when afl-fuzz begins with another entry. It may trim the entry first, or run its
   comparison stage. It calls describe also for inputs that it saves there, which this mutator has
   not made. */
uint8_t afl_custom_queue_get(void *data, const uint8_t *filename) {
  (void)filename;
  mutator *m = data;
  settle(m);
  tick(m); /* trimming and comparing can take minutes */
  m->known = 0;
  return 1;
}

/* Make one input. It is never empty, and valid until the next call. */
size_t afl_custom_fuzz(void *data, uint8_t *buf, size_t size, uint8_t **out, uint8_t *more,
                       size_t more_size, size_t max_size) {
  mutator *m = data;
  settle(m);
  tick(m);
  size_t limit = max_size ? max_size : 1;
  if (size > limit) size = limit;
  if (m->pool) {
    if (!m->known || m->host.n != size) ft_pool_find(m->pool, buf, size, &m->host);
    m->known = 1;
    m->host.data = buf;
    ft_host_reset(&m->host);
  }
  static uint8_t nothing[1] = {'0'};
  *out = size ? buf : nothing;
  if (!ft_set(&m->input, buf, size)) return size ? size : 1;
  uint64_t roll = ft_next(&m->rng) >> 11;
  for (int left = 1 << ft_below(&m->rng, STACKS); left > 0; left--) {
    step(m, limit, roll, more, more_size);
    if (m->each_step) roll = ft_next(&m->rng) >> 11;
    if (left > 1 && needs_spans(m)) ft_host_follow(&m->host, &m->input);
  }
  if (!m->input.n && !havoc(&m->input, limit, &m->rng, &m->tokens)) return size ? size : 1;
  m->changed = 1;
  if (++m->block.trials % PERIOD == 0) {
    adapt(m);
    publish(m, 1);
  }
  *out = m->input.at;
  return m->input.n;
}

/* Returns a name for the newest input: its mutators, each once, as many as fit into `most` bytes
   with the NUL. afl-fuzz would cut a longer name, and queue_new_entry would not find it again. */
const char *afl_custom_describe(void *data, size_t most) {
  mutator *m = data;
  if (!m->steps) return NULL; /* made by afl-fuzz or another mutator */
  m->described = 1;
  char count[16];
  size_t tail = (size_t)snprintf(count, sizeof count, ",rep:%d", m->steps), n = 3;
  if (most > sizeof m->words) most = sizeof m->words;
  if (most <= n + tail) return NULL;
  memcpy(m->words, "op:", n);
  for (int i = 0; i < m->stacked; i++) {
    const char *name = name_of(m->stack[i]);
    size_t long_ = strlen(name);
    if (n + (i > 0) + long_ + tail >= most) break;
    if (i) m->words[n++] = '+';
    memcpy(m->words + n, name, long_);
    n += long_;
  }
  memcpy(m->words + n, count, tail + 1);
  return m->words;
}

/* Called for each new queue entry: credits the mutators of the newest input if the entry has its
   name. Otherwise another mutator or afl-fuzz itself has made the entry. If file names are hashes,
   afl-fuzz never calls describe: then the entry counts if no other mutator makes inputs. */
uint8_t afl_custom_queue_new_entry(void *data, const uint8_t *fresh, const uint8_t *old) {
  (void)old;
  mutator *m = data;
  if (m->sha1_names ? !m->alone : !m->described || !strstr((const char *)fresh, m->words)) {
    settle(m);
    return 0;
  }
  for (int i = 0; i < m->stacked; i++) {
    m->block.arm[m->stack[i]].found++;
    m->block.arm[m->stack[i]].window_found++;
  }
  for (int class = TEXT; class <= HAVOC; class++) m->block.kept[class] += m->classes >> class & 1;
  forget(m);
  return 0;
}

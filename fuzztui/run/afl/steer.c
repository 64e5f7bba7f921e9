/* Steering a running afl-fuzz: which entries of its queue it may fuzz.

   A custom mutator that never mutates. afl-fuzz calls it for each entry that it has picked
   (queue_get). The mutator then refuses an entry that is skipped; while a promoted entry is due
   it refuses all others. Commands and answers are those of in-process engines: lines of
   control.jsonl (FUZZTUI_CONTROL) and of events.jsonl (FUZZTUI_EVENTS).

   afl-fuzz handles signals and imports from its peers only between entries. So this code never
   waits, and never refuses for ever: neither all entries, nor the one entry that newer versions
   pick again and again (the first favored one).

   When afl-fuzz continues with an old queue (-i -) it renumbers the entries, mostly in reverse.
   So an entry is remembered by its first name, and commands from before the start are rejected.

   The interface is declared here because Debian's afl++ has no headers. */

#define _GNU_SOURCE
#include <dirent.h>
#include <inttypes.h>
#include <time.h>

#include "jsonl.h"

#define MS 1000000LL
#define POLL (20 * MS)          /* between two reads of control.jsonl */
#define MAX_REFUSING (50 * MS)  /* time without an accepted entry */
#define MAX_REPEATS 10000       /* refusals of one entry in a row */
#define TURN (2000 * MS)        /* time of refusing all others for a promoted entry */
#define MAX_WAIT (30000 * MS)   /* time until a promoted entry is given up */
#define MIN_VISIT (100 * MS)    /* an entry counts as fuzzed after this time */
#define MAX_GAP (20 * MS)       /* a longer time between two calls was a pause or a visit */
#define CLOCK_EVERY 32          /* refusals between two reads of the clock */

typedef struct { /* one bit an entry */
  uint8_t *byte;
  size_t room;
} bits;

typedef struct { /* a promoted entry that is not fuzzed yet */
  long entry;
  uint64_t name;
  char id[MAX_ID + 1];
} turn;

typedef struct {
  inbox control;
  outbox events;
  set taken;      /* ids of commands that were read or answered */
  set remembered; /* first names of entries that were skipped before the start */
  bits described; /* entries that were steered before the start, by their old ids */
  bits skipped;
  turn *turns; /* the first one is due */
  size_t n_turns, turns_room;

  const char *path_picked; /* the entry for which queue_get was called */
  int64_t now, polled;
  int64_t refusing;  /* time since an entry was accepted */
  uint32_t refused;  /* refusals since then */
  long last_refused; /* the entry of the last refusal */
  uint32_t repeats;  /* how often that entry was refused in a row */
  int passing;       /* accept every entry until one is fuzzed */
  int warned;        /* the warning that a skipped entry is fuzzed was sent */
  int offered;       /* the promoted entry was accepted, and is not fuzzed yet */
  int64_t offered_at, began, spent; /* of the first turn */
} steering;

/* ------------------------------------------------------------------ memory */

static void drop(set *all, uint64_t h) {
  for (size_t i = all->n; i-- > 0;)
    if (all->hash[i] == h) all->hash[i] = all->hash[--all->n];
}

static int bit(const bits *all, long entry) {
  size_t at = (size_t)entry / 8;
  return entry >= 0 && at < all->room && all->byte[at] >> (entry % 8) & 1;
}

static void set_bit(bits *all, long entry, int yes) {
  size_t at = (size_t)entry / 8;
  if (yes && grow((void **)&all->byte, &all->room, at + 1, 1))
    all->byte[at] |= (uint8_t)(1 << entry % 8);
  else if (!yes && at < all->room)
    all->byte[at] &= (uint8_t) ~(1 << entry % 8);
}

/* ------------------------------------------------------------------- queue */

/* The id in an entry's file name; -1 for other names (bare hashes, AFL_SHA1_FILENAMES). */
static long entry_of(const char *name) {
  if (strncmp(name, "id:", 3) && strncmp(name, "id_", 3)) return -1;
  return number(name + 3, strlen(name + 3));
}

/* The hash of the name that an entry had when it was saved: afl-fuzz keeps that name after
   "orig:" when it renumbers the entry. */
static uint64_t first_name(const char *name) {
  const char *orig = strstr(name, ",orig:");
  if (orig) name = orig + 6;
  return hash((text){name, strlen(name)});
}

static DIR *open_queue(const steering *s) {
  const char *slash = strrchr(s->path_picked, '/');
  char *path = slash ? strndup(s->path_picked, (size_t)(slash - s->path_picked)) : strdup(".");
  DIR *queue = path ? opendir(path) : NULL;
  free(path);
  return queue;
}

/* Whether the entry exists (with its first name), and whether any other is not skipped. Returns 0
   if the queue cannot be read. */
static int look(const steering *s, long entry, uint64_t *name, int *there, int *others) {
  DIR *queue = open_queue(s);
  *there = *others = 0;
  if (!queue) return 0;
  for (struct dirent *file; (file = readdir(queue));) {
    long found = entry_of(file->d_name);
    if (found >= 0 && found == entry) *there = 1, *name = first_name(file->d_name);
    if (found >= 0 && found != entry && !bit(&s->skipped, found)) *others = 1;
  }
  closedir(queue);
  return 1;
}

/* ---------------------------------------------------------------- commands */

static const char *steer_of(const steering *s, long entry) {
  for (size_t i = 0; i < s->n_turns; i++)
    if (s->turns[i].entry == entry) return "promoted";
  return bit(&s->skipped, entry) ? "skipped" : "";
}

/* Report how an entry is steered. `name` is read by recall() after the next start. */
static void describe(steering *s, long entry, uint64_t name) {
  say(&s->events,
      "{\"k\":\"entry_described\",\"instance\":\"\",\"id\":%ld,\"steer\":\"%s\","
      "\"name\":\"%016" PRIx64 "\"}",
      entry, steer_of(s, entry), name);
}

static void apply(steering *s, const char *id, const char *format, long entry) {
  char detail[200];
  snprintf(detail, sizeof detail, format, entry);
  say(&s->events, "{\"k\":\"command_applied\",\"id\":\"%s\",\"detail\":\"%s\"}", id, detail);
  s->warned = 0;
}

static void reject(steering *s, const char *id, const char *format, long entry) {
  char reason[200];
  snprintf(reason, sizeof reason, format, entry);
  say(&s->events, "{\"k\":\"command_rejected\",\"id\":\"%s\",\"reason\":\"%s\"}", id, reason);
}

/* Remove the i-th turn and return it. */
static turn take_turn(steering *s, size_t i) {
  turn done = s->turns[i];
  s->n_turns--;
  memmove(s->turns + i, s->turns + i + 1, (s->n_turns - i) * sizeof *s->turns);
  if (i == 0) s->began = s->spent = s->offered = 0;
  return done;
}

static void fuzzed(steering *s, const char *words) {
  turn done = take_turn(s, 0);
  set_bit(&s->skipped, done.entry, 0);
  describe(s, done.entry, done.name);
  apply(s, done.id, words, done.entry);
  pay(&s->events);
}

/* Reject the command of the first turn. If the entry was skipped before, it still is. */
static void give_up(steering *s, const char *words) {
  turn lost = take_turn(s, 0);
  describe(s, lost.entry, lost.name);
  reject(s, lost.id, words, lost.entry);
  pay(&s->events);
}

/* Reject the promotions of an entry that has got another command. */
static void unpromote(steering *s, long entry, const char *words) {
  for (size_t i = s->n_turns; i-- > 0;)
    if (s->turns[i].entry == entry) {
      turn lost = take_turn(s, i);
      reject(s, lost.id, words, entry);
    }
}

static void promote(steering *s, const char *id, long entry, uint64_t name) {
  if (!grow((void **)&s->turns, &s->turns_room, s->n_turns + 1, sizeof(turn))) {
    reject(s, id, "afl-fuzz has no memory left to promote entry %ld", entry);
    return;
  }
  turn *last = s->turns + s->n_turns++;
  last->entry = entry;
  last->name = name;
  strcpy(last->id, id);
  describe(s, entry, name);
}

static void skip_or_reset(steering *s, const char *id, long entry, uint64_t name, int skips) {
  unpromote(s, entry,
            skips ? "entry %ld was skipped before its turn came"
                  : "entry %ld was reset before its turn came");
  set_bit(&s->skipped, entry, skips);
  describe(s, entry, name);
  apply(s, id, skips ? "entry %ld is skipped from now on" : "entry %ld takes its usual turn", entry);
}

typedef struct { /* of a line of control.jsonl */
  char id[MAX_ID + 1];
  char verb; /* s, p or r */
  long entry;
} command;

/* Parse a command. Returns 0 if this mutator does not execute it, or has read it before. */
static int understand(steering *s, text line, command *c) {
  text message = whole(line), id = id_of(message), what = member(message, "command");
  text name = member(what, "c"), entry = member(what, "entry");
  if (!id.n || !(is(name, "\"skip\"") || is(name, "\"promote\"") || is(name, "\"reset\"")))
    return 0;
  uint64_t h = hash(id);
  if (has(&s->taken, h)) return 0;
  add(&s->taken, h);
  memcpy(c->id, id.at, id.n);
  c->id[id.n] = 0;
  c->verb = name.at[1];
  c->entry = number(entry.at, entry.n);
  for (size_t i = 0; i < entry.n; i++)
    if (entry.at[i] < '0' || entry.at[i] > '9') c->entry = -1; /* 1.5, true, 1e3 */
  return 1;
}

/* Execute a line of control.jsonl that was written after the start. */
static void obey(void *steered, text line) {
  steering *s = steered;
  command c;
  int there, others;
  uint64_t name = 0;
  if (!understand(s, line, &c)) return;
  if (!look(s, c.entry, &name, &there, &others))
    reject(s, c.id, "the queue directory cannot be read: is entry %ld there?", c.entry);
  else if (c.entry < 0)
    reject(s, c.id, "there is no queue entry of that number", c.entry);
  else if (!there)
    reject(s, c.id, "there is no queue entry %ld", c.entry);
  else if (c.verb == 's' && !others)
    reject(s, c.id, "entry %ld is the last that is not skipped", c.entry);
  else if (c.verb == 'p')
    promote(s, c.id, c.entry, name);
  else
    skip_or_reset(s, c.id, c.entry, name, c.verb == 's');
}

/* Reject a command that was written before the start. */
static void expire(void *steered, text line) {
  steering *s = steered;
  command c;
  if (understand(s, line, &c))
    reject(s, c.id,
           "afl-fuzz was started since and numbers its entries again: look for the entry and "
           "ask again",
           c.entry);
}

/* Restore the state from a line of events.jsonl that was written before the start. */
static void recall(void *steered, text line) {
  steering *s = steered;
  text event = whole(line), kind = member(event, "k"), id = member(event, "id");
  text steer = member(event, "steer"), name = member(event, "name");
  if (is(kind, "\"command_applied\"") || is(kind, "\"command_rejected\"")) {
    id = id_of(event);
    if (id.n) add(&s->taken, hash(id));
  } else if (is(kind, "\"entry_described\"") && number(id.at, id.n) >= 0) {
    set_bit(&s->described, number(id.at, id.n), !is(steer, "\"\""));
    uint64_t h = name.n == 18 ? strtoull(name.at + 1, NULL, 16) : 0;
    if (h && is(steer, "\"skipped\"")) add(&s->remembered, h);
    if (h && is(steer, "\"\"")) drop(&s->remembered, h);
  }
}

/* Find the present ids of the entries that were skipped before the start, and report them. */
static void take_stock(steering *s) {
  DIR *queue = s->remembered.n ? open_queue(s) : NULL;
  if (queue) {
    for (struct dirent *file; (file = readdir(queue));) {
      long entry = entry_of(file->d_name);
      uint64_t name = first_name(file->d_name);
      if (entry < 0 || !has(&s->remembered, name)) continue;
      set_bit(&s->skipped, entry, 1);
      describe(s, entry, name);
    }
    closedir(queue);
  }
  for (long entry = 0; entry < (long)s->described.room * 8; entry++)
    if (bit(&s->described, entry) && !bit(&s->skipped, entry)) describe(s, entry, 0);
}

static void poll_control(steering *s) {
  struct stat st;
  if (stat(s->control.path, &st) == 0 && st.st_size != s->control.at) {
    if (st.st_size < s->control.at) s->control.at = s->control.endless = 0;
    read_lines(&s->control, obey, s); /* a line that is read twice is executed once */
  }
  pay(&s->events);
}

/* ---------------------------------------------------------------- deciding */

/* Add up times, and read commands. afl-fuzz can pick millions of entries per second, so that even
   reading the clock would cost much: it is read at each CLOCK_EVERY-th refusal. */
static void tick(steering *s) {
  if (s->refused % CLOCK_EVERY) return;
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  int64_t now = t.tv_sec * 1000 * MS + t.tv_nsec, passed = now - s->now;
  s->now = now;
  if (passed > MAX_GAP) passed = MAX_GAP;
  if (s->refused) s->refusing += passed;
  if (s->n_turns) s->spent += passed;
  if (!s->polled) take_stock(s);
  if (now - s->polled >= POLL || !s->polled) {
    s->polled = now;
    poll_control(s);
  }
}

/* End the turn of the promoted entry if it was fuzzed, or is given up. */
static void settle(steering *s) {
  if (s->offered && s->now - s->offered_at >= MIN_VISIT) /* skip-current, or a timeout */
    fuzzed(s, "afl-fuzz came to entry %ld and left it early");
  s->offered = 0;
  if (!s->n_turns) return;
  if (!s->began) s->began = s->now, s->spent = 0;
  if (s->spent >= TURN)
    give_up(s, "afl-fuzz does not pick entry %ld: it is a duplicate or has too little weight");
  else if (s->now - s->began >= MAX_WAIT)
    give_up(s, "afl-fuzz insists on its favoured entries before entry %ld: try again later");
}

static int accepts(steering *s, long entry) {
  if (entry < 0) return !s->n_turns;
  if (s->n_turns && s->turns[0].entry == entry) {
    s->offered = 1;
    s->offered_at = s->now;
    return 1;
  }
  if (!s->n_turns && !bit(&s->skipped, entry)) return 1;

  s->repeats = s->last_refused == entry ? s->repeats + 1 : 1;
  s->last_refused = entry;
  if (s->repeats < MAX_REPEATS && (s->n_turns || s->refusing < MAX_REFUSING)) return s->passing;
  s->passing = 1;
  if (!s->n_turns && !s->warned) {
    s->warned = 1;
    say(&s->events,
        "{\"k\":\"message\",\"level\":\"warning\",\"text\":\"afl-fuzz picks nothing but skipped "
        "entries: entry %ld is fuzzed anyway\"}",
        entry);
    pay(&s->events);
  }
  return 1;
}

/* --------------------------------------------------------- the custom mutator */

static steering idle; /* used without control.jsonl and events.jsonl: accepts every entry */

void *afl_custom_init(void *afl, unsigned seed) {
  (void)afl, (void)seed;
  const char *control = getenv("FUZZTUI_CONTROL"), *events = getenv("FUZZTUI_EVENTS");
  steering *s = control && *control && events && *events ? calloc(1, sizeof *s) : NULL;
  if (!s) return &idle;
  s->control.path = strdup(control);
  s->events.path = strdup(events);
  if (!s->control.path || !s->events.path) return &idle;
  s->last_refused = -1;
  inbox past = {.path = s->events.path};
  read_lines(&past, recall, s);
  read_lines(&s->control, expire, s);
  pay(&s->events);
  return s;
}

void afl_custom_deinit(void *data) {
  steering *s = data;
  if (s == &idle) return;
  pay(&s->events);
  free(s->control.path);
  free(s->events.path);
  free(s->taken.hash);
  free(s->remembered.hash);
  free(s->described.byte);
  free(s->skipped.byte);
  free(s->turns);
  free(s->events.owed);
  free(s);
}

/* Returns whether afl-fuzz may fuzz the entry that it has picked. */
uint8_t afl_custom_queue_get(void *data, const uint8_t *filename) {
  steering *s = data;
  if (s == &idle) return 1;
  s->path_picked = (const char *)filename;
  tick(s);
  settle(s);
  const char *slash = strrchr(s->path_picked, '/');
  if (!accepts(s, entry_of(slash ? slash + 1 : s->path_picked))) {
    s->refused++;
    return 0;
  }
  s->refused = s->repeats = 0;
  s->refusing = 0;
  return 1;
}

/* Returns the number of inputs to make of an entry: none. afl-fuzz calls this once while it fuzzes
   an entry. It may leave an accepted entry out by chance: this call shows that it did not. */
uint32_t afl_custom_fuzz_count(void *data, const uint8_t *buf, size_t size) {
  (void)buf, (void)size;
  steering *s = data;
  s->passing = 0;
  if (s->offered) fuzzed(s, "entry %ld is being fuzzed");
  return 0;
}

/* Never called for 0 inputs, but afl-fuzz calls fuzz_count only if this function exists. */
size_t afl_custom_fuzz(void *data, uint8_t *buf, size_t size, uint8_t **out, uint8_t *more,
                       size_t more_size, size_t max_size) {
  (void)data, (void)size, (void)more, (void)more_size, (void)max_size;
  *out = buf;
  return 0;
}

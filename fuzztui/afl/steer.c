/* Steering a running afl-fuzz: which entries of its queue it may fuzz.

   A custom mutator that never mutates. afl-fuzz asks it about each entry that it has
   picked (queue_get), and that is where an entry is skipped, or all others are until a
   promoted one has come. Commands and answers are those of our own engines: lines of
   control.jsonl (FUZZTUI_CONTROL), lines of events.jsonl (FUZZTUI_EVENTS).

   afl-fuzz looks at its signals and its siblings only between entries. So nothing here
   waits, and no refusal continues for ever: neither of everything there is, nor of the one
   entry that newer versions insist on (the first favoured one).

   Whenever afl-fuzz continues with an old queue (-i -) it numbers the entries again, mostly in
   reverse. So an entry is remembered by its first name, and commands from before the start
   are not obeyed.

   The interface is declared here because Debian's afl++ has no headers. */

#define _GNU_SOURCE
#include <dirent.h>
#include <inttypes.h>
#include <time.h>

#include "jsonl.h"

#define MS 1000000LL
#define POLL (20 * MS)          /* between two looks at control.jsonl */
#define WEARY (50 * MS)         /* refuse everything for no longer than that */
#define INSISTS 10000           /* refusals in a row of one and the same entry */
#define TURN (2000 * MS)        /* of refusing all others for a promoted entry ... */
#define PATIENCE (30000 * MS)   /* ... and of waiting for it altogether */
#define VISIT (100 * MS)        /* who stays that long with an entry has fuzzed it */
#define HICCUP (20 * MS)        /* a longer gap was not spent refusing: a pause, a visit */
#define CLOCK_EVERY 32          /* refusals; one takes less than a microsecond */

typedef struct { /* one bit an entry */
  uint8_t *byte;
  size_t room;
} bits;

typedef struct { /* a promoted entry that is waited for */
  long entry;
  uint64_t name;
  char id[MAX_ID + 1];
} turn;

typedef struct {
  inbox control;
  outbox events;
  set taken;      /* ids of commands that were seen or answered */
  set remembered; /* first names of entries that were skipped before the start */
  bits described; /* entries that were steered then, by the numbers of then */
  bits skipped;
  turn *turns; /* the first one is waited for now */
  size_t n_turns, turns_room;

  const char *asked; /* path of the entry that queue_get is about */
  int64_t now, polled;
  int64_t refusing;  /* time since anything was accepted */
  uint32_t refused;  /* refusals since then */
  long insisted;     /* the entry that was refused last ... */
  uint32_t times;    /* ... and how often in a row */
  int passing;       /* refuse nothing until something was fuzzed */
  int told;          /* that skipping could not be obeyed */
  int offered;       /* the promoted entry was accepted: will it be fuzzed? */
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

/* What an entry was called when it came into the queue: when afl-fuzz numbers it again it
   keeps that behind "orig:". */
static uint64_t first_name(const char *name) {
  const char *orig = strstr(name, ",orig:");
  if (orig) name = orig + 6;
  return hash((text){name, strlen(name)});
}

static DIR *open_queue(const steering *s) {
  const char *slash = strrchr(s->asked, '/');
  char *path = slash ? strndup(s->asked, (size_t)(slash - s->asked)) : strdup(".");
  DIR *queue = path ? opendir(path) : NULL;
  free(path);
  return queue;
}

/* Is the entry there, and is there another one that is not skipped? */
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

/* `name` is for ourselves: the next of us reads it. */
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
  s->told = 0;
}

static void reject(steering *s, const char *id, const char *format, long entry) {
  char reason[200];
  snprintf(reason, sizeof reason, format, entry);
  say(&s->events, "{\"k\":\"command_rejected\",\"id\":\"%s\",\"reason\":\"%s\"}", id, reason);
}

/* The i-th turn is over. */
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

/* A skip that was there before stays: a rejected command changes nothing. */
static void give_up(steering *s, const char *words) {
  turn lost = take_turn(s, 0);
  describe(s, lost.entry, lost.name);
  reject(s, lost.id, words, lost.entry);
  pay(&s->events);
}

/* An entry that has another command now is not waited for any more. */
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

typedef struct { /* what a line of control.jsonl asks for */
  char id[MAX_ID + 1];
  char verb; /* s, p or r */
  long entry;
} command;

/* 0 if it is not for us (other commands are the supervisor's own) or was seen before. */
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

/* A line of control.jsonl from while we live. */
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

/* A line of control.jsonl from before the start. */
static void expire(void *steered, text line) {
  steering *s = steered;
  command c;
  if (understand(s, line, &c))
    reject(s, c.id,
           "afl-fuzz was started since and numbers its entries again: look for the entry and "
           "ask again",
           c.entry);
}

/* A line of events.jsonl from before the start. */
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

/* Find the entries that were skipped before the start, by their numbers of now. */
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
    read_lines(&s->control, obey, s); /* twice the same line is obeyed once */
  }
  pay(&s->events);
}

/* ---------------------------------------------------------------- deciding */

/* Afl-fuzz can pick millions of entries a second: then even the clock is worth sparing. */
static void tick(steering *s) {
  if (s->refused % CLOCK_EVERY) return;
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  int64_t now = t.tv_sec * 1000 * MS + t.tv_nsec, passed = now - s->now;
  s->now = now;
  if (passed > HICCUP) passed = HICCUP;
  if (s->refused) s->refusing += passed;
  if (s->n_turns) s->spent += passed;
  if (!s->polled) take_stock(s);
  if (now - s->polled >= POLL || !s->polled) {
    s->polled = now;
    poll_control(s);
  }
}

/* How it stands with the promoted entry, before the next one is decided on. */
static void settle(steering *s) {
  if (s->offered && s->now - s->offered_at >= VISIT) /* a user skipped it, or it timed out */
    fuzzed(s, "afl-fuzz came to entry %ld and left it early");
  s->offered = 0;
  if (!s->n_turns) return;
  if (!s->began) s->began = s->now, s->spent = 0;
  if (s->spent >= TURN)
    give_up(s, "afl-fuzz does not pick entry %ld: it is a duplicate or has too little weight");
  else if (s->now - s->began >= PATIENCE)
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

  s->times = s->insisted == entry ? s->times + 1 : 1;
  s->insisted = entry;
  if (s->times < INSISTS && (s->n_turns || s->refusing < WEARY)) return s->passing;
  s->passing = 1;
  if (!s->n_turns && !s->told) {
    s->told = 1;
    say(&s->events,
        "{\"k\":\"message\",\"level\":\"warning\",\"text\":\"afl-fuzz picks nothing but skipped "
        "entries: entry %ld is fuzzed anyway\"}",
        entry);
    pay(&s->events);
  }
  return 1;
}

/* --------------------------------------------------------- the custom mutator */

static steering idle; /* takes no commands */

void *afl_custom_init(void *afl, unsigned seed) {
  (void)afl, (void)seed;
  const char *control = getenv("FUZZTUI_CONTROL"), *events = getenv("FUZZTUI_EVENTS");
  steering *s = control && *control && events && *events ? calloc(1, sizeof *s) : NULL;
  if (!s) return &idle;
  s->control.path = strdup(control);
  s->events.path = strdup(events);
  if (!s->control.path || !s->events.path) return &idle;
  s->insisted = -1;
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

/* May afl-fuzz fuzz the entry that it has picked? */
uint8_t afl_custom_queue_get(void *data, const uint8_t *filename) {
  steering *s = data;
  if (s == &idle) return 1;
  s->asked = (const char *)filename;
  tick(s);
  settle(s);
  const char *slash = strrchr(s->asked, '/');
  if (!accepts(s, entry_of(slash ? slash + 1 : s->asked))) {
    s->refused++;
    return 0;
  }
  s->refused = s->times = 0;
  s->refusing = 0;
  return 1;
}

/* Asked once in the middle of fuzzing an entry: how many inputs do we want to make of it?
   An accepted entry may still be left out by chance; to be asked this is the proof that
   it was not. */
uint32_t afl_custom_fuzz_count(void *data, const uint8_t *buf, size_t size) {
  (void)buf, (void)size;
  steering *s = data;
  s->passing = 0;
  if (s->offered) fuzzed(s, "entry %ld is being fuzzed");
  return 0;
}

/* Never called for 0 inputs, but afl-fuzz asks for their number only if this is here. */
size_t afl_custom_fuzz(void *data, uint8_t *buf, size_t size, uint8_t **out, uint8_t *more,
                       size_t more_size, size_t max_size) {
  (void)data, (void)size, (void)more, (void)more_size, (void)max_size;
  *out = buf;
  return 0;
}

/* A ferry: the recorded messages of one session, which must come in the order of its states.
 *
 *     { type:u8 length:u8 payload }
 *
 *     IDLE -hello-> GREETED -login-> READY -open-> LOADING -cargo...-> -seal-> SEALED -depart-> AWAY
 *     READY -bye-> IDLE;  AWAY -arrive-> READY;  LOADING -abort-> READY
 *
 * A message that the state does not allow ends the session. */
#include <stddef.h>
#include <string.h>

enum { IDLE, GREETED, READY, LOADING, SEALED, AWAY };

typedef struct {
    int state;
    unsigned version, user, load, trips, aborted, last;
} Session;

static int greet(Session *s, const unsigned char *at, unsigned n) {
    if (n < 1 || at[0] > 2) return 0;
    s->version = at[0];
    s->state = GREETED;
    return 1;
}

/* The answer to the challenge is the version and the user, one after the other. */
static int login(Session *s, const unsigned char *at, unsigned n) {
    if (n < 2 || !at[0] || at[1] != (unsigned char)(at[0] + s->version)) return 0;
    s->user = at[0];
    s->state = READY;
    return 1;
}

static int load(Session *s, const unsigned char *at, unsigned n) {
    if (!n) return 0;
    for (unsigned i = 0; i < n; i++) s->load += at[i] >> 4;
    if (s->aborted && s->load > 60) BUG(1); /* after an abort: seven messages in order */
    return 1;
}

static int seal(Session *s, const unsigned char *at, unsigned n) {
    if (n != 1 || !s->load) return 0;
    if (at[0] != (s->load & 0xff)) return 0; /* the weighbridge */
    s->state = SEALED;
    return 1;
}

static int depart(Session *s, const unsigned char *at, unsigned n) {
    if (n < 1) return 0;
    if (s->load > 100 && s->version == 2) BUG(2); /* sealed, with a load of several messages */
    s->last = at[0];
    s->state = AWAY;
    return 1;
}

static int arrive(Session *s, const unsigned char *at, unsigned n) {
    if (n < 1 || at[0] == s->last) return 0; /* another harbour */
    s->load = 0;
    s->state = READY;
    if (++s->trips == 2) BUG(3); /* a second trip: eleven messages in order */
    return 1;
}

static int bye(Session *s) {
    if (s->trips && s->aborted) BUG(4); /* after a trip and an abort */
    memset(s, 0, sizeof *s);
    return 1;
}

static int message(Session *s, unsigned type, const unsigned char *at, unsigned n) {
    switch (s->state) {
    case IDLE:
        return type == 'h' && greet(s, at, n);
    case GREETED:
        return type == 'l' && login(s, at, n);
    case READY:
        if (type == 'b') return bye(s);
        if (type != 'o' || n) return 0;
        s->state = LOADING;
        return 1;
    case LOADING:
        if (type == 'c') return load(s, at, n);
        if (type == 's') return seal(s, at, n);
        if (type != 'x' || !s->load) return 0;
        s->load = 0;
        s->aborted++;
        s->state = READY;
        return 1;
    case SEALED:
        return type == 'd' && depart(s, at, n);
    case AWAY:
        return type == 'a' && arrive(s, at, n);
    }
    return 0;
}

int subject(const unsigned char *data, size_t n) {
    Session session = {0};
    const unsigned char *at = data, *end = data + n;
    while (end - at >= 2 && end - at - 2 >= at[1]) {
        if (!message(&session, at[0], at + 2, at[1])) return 0;
        at += 2 + at[1];
    }
    return at == end && session.state == IDLE;
}

/* A parcel: a container whose sections are files of other formats, each behind its own magic.
 *
 *     "PRCL" version  { tag[4] length:u16 payload }
 *
 * A section PICT contains a picture, TUNE a sound, and PACK another parcel. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DEEPEST 3

typedef struct {
    const unsigned char *at, *end;
} Span;

typedef struct {
    unsigned width, height, depth, colours;
} Picture;

static unsigned u16(const unsigned char *at) {
    return at[0] << 8 | at[1];
}

static int begins(Span *in, const char *magic, size_t n) {
    if ((size_t)(in->end - in->at) < n || memcmp(in->at, magic, n) != 0) return 0;
    in->at += n;
    return 1;
}

/* The next section, or chunk, of "in"; 0 at the end and if it is cut off. */
static int next(Span *in, unsigned char tag[4], Span *payload) {
    if (in->end - in->at < 6) return 0;
    memcpy(tag, in->at, 4);
    unsigned n = u16(in->at + 4);
    if (in->end - in->at - 6 < n) return 0;
    payload->at = in->at + 6;
    payload->end = in->at = payload->at + n;
    return 1;
}

static int is(const unsigned char tag[4], const char *name) {
    return memcmp(tag, name, 4) == 0;
}

static int rows(Span in, const Picture *picture) {
    if (begins(&in, "zst1", 4)) {
        unsigned used = 0;
        for (; in.at < in.end; in.at++)
            if (*in.at > used) used = *in.at;
        if (picture->colours && used >= picture->colours) BUG(2); /* behind four magics */
        return 1;
    }
    return begins(&in, "raw0", 4) && in.end - in.at == picture->width * picture->height;
}

static int picture(Span in) {
    unsigned char tag[4];
    Span chunk;
    Picture found = {0};
    if (!begins(&in, "\x89PX\r\n\x1a", 6)) return 0;
    while (next(&in, tag, &chunk)) {
        if (is(tag, "HEAD")) {
            if (chunk.end - chunk.at < 5) return 0;
            found.width = u16(chunk.at);
            found.height = u16(chunk.at + 2);
            found.depth = chunk.at[4];
            if (found.width > 4096 && found.depth == 16) BUG(1); /* behind three magics */
        } else if (is(tag, "PALT")) {
            found.colours = (chunk.end - chunk.at) / 3;
        } else if (is(tag, "ROWS")) {
            if (!found.width || !rows(chunk, &found)) return 0;
        }
    }
    return found.width && found.height;
}

static int tune(Span in) {
    unsigned char tag[4];
    Span chunk;
    unsigned channels = 0, last = 0;
    if (!begins(&in, "RyFF", 4) || in.end - in.at < 2) return 0;
    in.at += 2;
    if (!begins(&in, "WvFm", 4)) return 0;
    while (next(&in, tag, &chunk)) {
        if (is(tag, "fmt:")) {
            if (chunk.end - chunk.at < 4) return 0;
            channels = chunk.at[0];
        } else if (is(tag, "cue!")) {
            for (; chunk.end - chunk.at >= 2; chunk.at += 2) {
                if (channels == 2 && u16(chunk.at) < last) BUG(3); /* behind five magics */
                last = u16(chunk.at);
            }
        }
    }
    return channels > 0;
}

static int parcel(Span in, int depth) {
    unsigned char tag[4];
    Span section;
    int good = 0, pictures = 0;
    if (!begins(&in, "PRCL", 4) || in.at == in.end) return 0;
    unsigned version = *in.at++;
    if (version < 1 || version > 3) return 0;
    while (next(&in, tag, &section)) {
        if (is(tag, "NOTE")) {
            good += section.at < section.end && *section.at != 0;
        } else if (is(tag, "PICT")) {
            pictures += picture(section);
        } else if (is(tag, "TUNE")) {
            good += tune(section);
        } else if (is(tag, "PACK") && version >= 2 && depth < DEEPEST) {
            good += parcel(section, depth + 1);
        }
    }
    if (depth == 2 && pictures) BUG(4); /* a picture in a parcel in a parcel in the parcel */
    return good + pictures;
}

int subject(const unsigned char *data, size_t n) {
    Span all = {data, data + n};
    return parcel(all, 0) > 0;
}

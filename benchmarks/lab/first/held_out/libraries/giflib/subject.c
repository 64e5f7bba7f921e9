/* giflib: decodes all images of a file in memory. */
#include <gif_lib.h>
#include <string.h>

typedef struct {
    const unsigned char *at;
    size_t left;
} Memory;

static int take(GifFileType *file, GifByteType *into, int n) {
    Memory *from = file->UserData;
    if ((size_t)n > from->left) n = (int)from->left;
    memcpy(into, from->at, n);
    from->at += n;
    from->left -= n;
    return n;
}

int subject(const unsigned char *data, size_t n) {
    Memory memory = {data, n};
    int error = 0, good = 0;
    /* A screen or an image of gigabytes would only take time. */
    GifFileType *file = DGifOpen(&memory, take, &error);
    if (!file) return 0;
    if (file->SWidth <= 1024 && file->SHeight <= 1024) good = DGifSlurp(file) == GIF_OK;
    DGifCloseFile(file, &error);
    return good;
}

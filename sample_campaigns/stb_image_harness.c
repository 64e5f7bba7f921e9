/* stb_image of Debian's libstb-dev under AFL++, in persistent mode.
 *
 * Without afl-fuzz it decodes one image from stdin: how a crash is looked at.
 */
#define STB_IMAGE_IMPLEMENTATION
#define STBI_MAX_DIMENSIONS 4096
#include <stb/stb_image.h>

#include <unistd.h>

__AFL_FUZZ_INIT();

enum { MOST_PIXELS = 1 << 18 };

int main(void) {
    __AFL_INIT();
    unsigned char *input = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(10000)) {
        int size = __AFL_FUZZ_TESTCASE_LEN;
        int width, height, channels;
        /* Large images cost time and find nothing that small ones do not. */
        if (!stbi_info_from_memory(input, size, &width, &height, &channels) ||
            (long)width * height > MOST_PIXELS)
            continue;
        stbi_image_free(stbi_load_from_memory(input, size, &width, &height, &channels, 4));
        stbi_image_free(stbi_load_16_from_memory(input, size, &width, &height, &channels, 0));
        int *delays = NULL, frames;
        stbi_image_free(
            stbi_load_gif_from_memory(input, size, &delays, &width, &height, &frames, &channels, 0));
        free(delays);
    }
    return 0;
}

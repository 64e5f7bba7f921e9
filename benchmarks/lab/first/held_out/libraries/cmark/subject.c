/* cmark: CommonMark to HTML. */
#include "src/cmark.h"
#include <stdlib.h>

int subject(const unsigned char *data, size_t n) {
    char *html = cmark_markdown_to_html((const char *)data, n, CMARK_OPT_SMART);
    free(html);
    return html != NULL;
}

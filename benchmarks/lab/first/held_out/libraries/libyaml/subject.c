/* libyaml: loads all documents of a stream. */
#include <yaml.h>

int subject(const unsigned char *data, size_t n) {
    yaml_parser_t parser;
    yaml_document_t document;
    int good = 1, end = 0;
    if (!yaml_parser_initialize(&parser)) return 0;
    yaml_parser_set_input_string(&parser, data, n);
    while (good && !end) {
        good = yaml_parser_load(&parser, &document);
        if (!good) break;
        end = yaml_document_get_root_node(&document) == NULL;
        yaml_document_delete(&document);
    }
    yaml_parser_delete(&parser);
    return good;
}

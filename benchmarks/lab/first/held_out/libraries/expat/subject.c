/* expat: parses a document with namespaces, with handlers that do nothing. */
#include "lib/expat.h"

static void start(void *user, const XML_Char *name, const XML_Char **attributes) {}
static void end(void *user, const XML_Char *name) {}
static void text(void *user, const XML_Char *at, int n) {}
static void instruction(void *user, const XML_Char *target, const XML_Char *data) {}
static void comment(void *user, const XML_Char *data) {}
static void doctype(void *user, const XML_Char *name, const XML_Char *system_id,
                    const XML_Char *public_id, int internal) {}
static void notation(void *user, const XML_Char *name, const XML_Char *base,
                     const XML_Char *system_id, const XML_Char *public_id) {}

int subject(const unsigned char *data, size_t n) {
    XML_Parser parser = XML_ParserCreateNS(NULL, '|');
    if (!parser) return 0;
    XML_SetHashSalt(parser, 1);
    XML_SetElementHandler(parser, start, end);
    XML_SetCharacterDataHandler(parser, text);
    XML_SetProcessingInstructionHandler(parser, instruction);
    XML_SetCommentHandler(parser, comment);
    XML_SetStartDoctypeDeclHandler(parser, doctype);
    XML_SetNotationDeclHandler(parser, notation);
    int good = XML_Parse(parser, (const char *)data, (int)n, 1) == XML_STATUS_OK;
    XML_ParserFree(parser);
    return good;
}

/* FIRST: objects are unpacked, packed again and printed. SECOND: the same bytes come in pieces, and
 * are unpacked as a stream. Neither: both, one after the other. */
#include <msgpack.h>
#include <string.h>

static int unpacked(const char *data, size_t n) {
    msgpack_unpacked result;
    msgpack_sbuffer packed;
    size_t at = 0;
    int count = 0;
    msgpack_unpacked_init(&result);
    msgpack_sbuffer_init(&packed);
    while (count < 100 && msgpack_unpack_next(&result, data, n, &at) == MSGPACK_UNPACK_SUCCESS) {
        char text[512];
        msgpack_packer packer;
        msgpack_packer_init(&packer, &packed, msgpack_sbuffer_write);
        msgpack_pack_object(&packer, result.data);
        msgpack_object_print_buffer(text, sizeof text, result.data);
        if (result.data.type == MSGPACK_OBJECT_ARRAY && result.data.via.array.size > 1)
            msgpack_object_equal(result.data.via.array.ptr[0], result.data.via.array.ptr[1]);
        count++;
    }
    msgpack_sbuffer_destroy(&packed);
    msgpack_unpacked_destroy(&result);
    return count;
}

static int streamed(const char *data, size_t n) {
    msgpack_unpacker unpacker;
    msgpack_unpacked result;
    msgpack_vrefbuffer packed;
    int count = 0;
    if (!msgpack_unpacker_init(&unpacker, 16)) return 0;
    if (!msgpack_vrefbuffer_init(&packed, 8, 64)) return 0;
    msgpack_unpacked_init(&result);
    while (n && count < 100) {
        size_t piece = n < 7 ? n : 7;
        if (!msgpack_unpacker_reserve_buffer(&unpacker, piece)) break;
        memcpy(msgpack_unpacker_buffer(&unpacker), data, piece);
        msgpack_unpacker_buffer_consumed(&unpacker, piece);
        data += piece, n -= piece;
        while (msgpack_unpacker_next(&unpacker, &result) == MSGPACK_UNPACK_SUCCESS) {
            msgpack_packer packer;
            msgpack_packer_init(&packer, &packed, msgpack_vrefbuffer_write);
            msgpack_pack_object(&packer, result.data);
            count++;
        }
    }
    msgpack_unpacked_destroy(&result);
    msgpack_vrefbuffer_destroy(&packed);
    msgpack_unpacker_destroy(&unpacker);
    return count;
}

int subject(const unsigned char *data, size_t n) {
    int good = 0;
#ifndef SECOND
    good |= unpacked((const char *)data, n);
#endif
#ifndef FIRST
    good |= streamed((const char *)data, n);
#endif
    return good > 0;
}

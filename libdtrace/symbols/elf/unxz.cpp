// SPDX-License-Identifier: MIT
// Decodes a stream with liblzma.
#include "libdtrace/symbols/elf/unxz.hpp"

#include <algorithm>
#include <lzma.h>

namespace dt {

namespace {

constexpr std::uint64_t decoder_memory_bytes = std::uint64_t{128} << 20;

class Decoder {
public:
    lzma_ret start()
    {
        return lzma_stream_decoder(&stream_, decoder_memory_bytes, LZMA_CONCATENATED);
    }
    lzma_stream* operator->() { return &stream_; }
    lzma_ret step() { return lzma_code(&stream_, LZMA_FINISH); }
    Decoder() = default;
    Decoder(const Decoder&) = delete;
    Decoder& operator=(const Decoder&) = delete;
    ~Decoder() { lzma_end(&stream_); }

private:
    lzma_stream stream_ = LZMA_STREAM_INIT;
};

} // namespace

Result<std::vector<std::byte>> unxz(std::span<const std::byte> packed,
                                    std::size_t max_bytes)
{
    Decoder decoder;
    if (decoder.start() != LZMA_OK)
        return Error{Code::limit, "no memory for the xz decoder"};
    decoder->next_in = reinterpret_cast<const std::uint8_t*>(packed.data());
    decoder->avail_in = packed.size();

    std::vector<std::byte> out(
        std::min(std::max<std::size_t>(packed.size() * 4, 65536), max_bytes));
    for (;;) {
        decoder->next_out =
            reinterpret_cast<std::uint8_t*>(out.data()) + decoder->total_out;
        decoder->avail_out = out.size() - decoder->total_out;
        lzma_ret status = decoder.step();
        if (status == LZMA_STREAM_END) {
            out.resize(decoder->total_out);
            return out;
        }
        if (status == LZMA_MEM_ERROR || status == LZMA_MEMLIMIT_ERROR)
            return Error{Code::limit, "decoding the xz data needs too much memory"};
        if (status != LZMA_OK || decoder->avail_out != 0)
            return Error{Code::corrupt, "xz data is damaged"};
        if (out.size() >= max_bytes)
            return Error{Code::limit, "the decompressed xz data is too large"};
        out.resize(std::min(out.size() * 2, max_bytes));
    }
}

} // namespace dt

// SPDX-License-Identifier: MIT
// Opens arbitrary bytes as an ELF file and calls all functions of ElfImage.
//
//   elf_fuzz -max_total_time=60 -rss_limit_mb=512 -timeout=2 CORPUS
#include "libdtrace/symbols/elf/elf_image.hpp"
#include "libdtrace/symbols/elf/static_probes.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const auto* first = reinterpret_cast<const std::byte*>(data);
    auto image =
        dt::ElfImage::open(dt::ElfSource{{}, {first, first + size}, "fuzz", ""});
    if (!image)
        return 0;
    const dt::FunctionTable& table = (*image)->functions();
    std::uint64_t sum = 0;
    for (const dt::Function& f : table.all()) {
        if (!table.at(f.addr))
            std::abort(); // every function has at least one byte
        if (!table.find(table.name(f)))
            std::abort();
        if (auto text = (*image)->bytes(f.addr, f.n_bytes > 4096 ? 4096 : f.n_bytes))
            for (std::byte b : *text)
                sum += std::to_integer<unsigned>(b);
    }
    for (dt::AddressRange range : (*image)->frame_functions())
        sum += range.addr;
    table.match("*foo*");
    table.suggest("malloc");
    (*image)->section(".plt");
    for (const dt::StaticProbe& probe : (*image)->static_probes().probes)
        if (probe.sites.empty())
            std::abort();              // a probe must have a site
    volatile std::uint64_t keep = sum; // ensures that the bytes are read
    (void)keep;
    return 0;
}

// SPDX-License-Identifier: MIT
#include "libdtrace/providers/go_text.hpp"

#include "fasttrap/arch/arch.hpp"

#include <algorithm>

namespace dt {

// A stack check that ends more than this many bytes after the function's start is
// ignored.
constexpr std::uint64_t longest_check = 96;

AddressRange go_text(ElfImage& image)
{
    const bool is_go = image.section(".gopclntab") || image.section(".go.buildinfo") ||
                       image.section(".data.rel.ro.gopclntab");
    if (!is_go)
        return {};
    std::uint64_t first = ~std::uint64_t{0}, last = 0;
    for (const ElfSegment& segment : image.segments())
        if (segment.executable) {
            first = std::min(first, segment.addr);
            last = std::max(last, segment.addr + segment.mem_bytes);
        }
    if (last == 0)
        return {};
    const FunctionTable& table = image.functions();
    const Function* begin = table.find("runtime.text");
    const Function* end = table.find("runtime.etext");
    if (begin != nullptr && end != nullptr && begin->addr < end->addr)
        return {begin->addr, end->addr - begin->addr};
    return {first, last - first};
}

StackCheck stack_check_of(ElfImage& image, const AddressRange& go,
                          const Function& function)
{
    StackCheck check;
    if (!go.contains(function.addr))
        return check;
    check.is_go = true;
    // The entire function is read, because the check branches to another part of it.
    if (auto text = image.bytes(function.addr, function.n_bytes))
        check.n_bytes = x86_64.stack_check_bytes(*text, TargetAddr{function.addr});
    if (check.n_bytes > longest_check || check.n_bytes >= function.n_bytes)
        check.n_bytes = 0;
    return check;
}

} // namespace dt

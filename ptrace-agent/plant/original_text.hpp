// SPDX-License-Identifier: MIT
// Reads the original text of a target for plan_windows(). Keeps several pages, so that
// most requests need no system call.
#pragma once

#include "base/page_bytes.hpp"
#include "ptrace-agent/address_space.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace dt::agent {

class OriginalText {
public:
    explicit OriginalText(const AddressSpace& space) : space_(space) {}
    // Returns the `n` bytes that begin at the address, or fewer if not all of them can
    // be read. The result is valid until the next call.
    std::span<const std::byte> operator()(TargetAddr at, std::size_t n)
    {
        if (!(at >= from_ && at - from_ + n <= text_.size()))
            fill(at, n);
        if (at < from_ || at - from_ >= text_.size())
            return {};
        std::size_t skip = at - from_;
        return std::span(text_).subspan(skip, std::min(n, text_.size() - skip));
    }

private:
    // Reads 16 pages, or fewer if not all of them can be read.
    void fill(TargetAddr at, std::size_t n)
    {
        from_ = TargetAddr{at.value & ~(page_bytes - 1)};
        std::size_t wanted = (at - from_) + n;
        for (std::size_t bytes :
             {std::size_t(16 * page_bytes),
              (wanted + page_bytes - 1) & ~(page_bytes - 1), std::size_t(page_bytes)}) {
            text_.resize(std::max(bytes, std::size_t(page_bytes)));
            if (space_.read_original(from_, text_))
                return;
        }
        text_.clear();
    }

    const AddressSpace& space_;
    TargetAddr from_;
    std::vector<std::byte> text_;
};

} // namespace dt::agent

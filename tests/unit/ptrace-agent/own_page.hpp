// SPDX-License-Identifier: MIT
// A page of executable memory of this process, for tests in which this process is the
// target.
#pragma once

#include "base/page_bytes.hpp"
#include "base/target_addr.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace dt::agent {

class OwnPage {
public:
    OwnPage()
        : at_(mmap(nullptr, page_bytes, PROT_READ | PROT_EXEC,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
    {
        EXPECT_NE(at_, MAP_FAILED);
    }
    ~OwnPage() { munmap(at_, page_bytes); }
    OwnPage(const OwnPage&) = delete;
    OwnPage& operator=(const OwnPage&) = delete;
    TargetAddr at() const { return TargetAddr{reinterpret_cast<std::uint64_t>(at_)}; }

private:
    void* at_;
};

} // namespace dt::agent

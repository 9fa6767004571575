// SPDX-License-Identifier: MIT
#include "ptrace-agent/inject/robust_word.hpp"

#include "base/page_bytes.hpp"

#include <cstdint>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt::agent {

// The layouts of the kernel's struct robust_list and struct robust_list_head.
struct RobustNode {
    RobustNode* next;
};
struct RobustHead {
    RobustNode list;
    long futex_offset;
    RobustNode* pending;
};
static_assert(sizeof(RobustHead) == sizeof(robust_list_head));

static RobustHead robust{{&robust.list}, static_cast<long>(page_bytes), nullptr};

Result<Ok> RobustWord::hold(int fd)
{
    release();
    void* at = mmap(nullptr, 2 * page_bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return errno_error("map the agent's robust word");
    void* word = static_cast<char*>(at) + page_bytes;
    if (mmap(word, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
        MAP_FAILED) {
        Error error = errno_error("map the agent's robust word");
        munmap(at, 2 * page_bytes);
        return error;
    }
    pages_ = at;
    __atomic_store_n(static_cast<std::uint32_t*>(word),
                     static_cast<std::uint32_t>(gettid()), __ATOMIC_RELEASE);
    auto* node = static_cast<RobustNode*>(at);
    node->next = robust.list.next;
    robust.list.next = node;
    syscall(SYS_set_robust_list, &robust, sizeof robust);
    return Ok{};
}

void RobustWord::release()
{
    if (pages_ == nullptr)
        return;
    for (RobustNode* at = &robust.list; at->next != &robust.list; at = at->next) {
        if (at->next == pages_) {
            at->next = at->next->next;
            break;
        }
    }
    munmap(pages_, 2 * page_bytes);
    pages_ = nullptr;
}

} // namespace dt::agent

// SPDX-License-Identifier: MIT
#include "ptrace-agent/inject/runtime_config.hpp"

#include "base/page_bytes.hpp"

#include <cstddef>
#include <fcntl.h>
#include <sys/mman.h>

namespace dt::agent {

static_assert(offsetof(dt_rt_config, alive) == 0 &&
                  offsetof(dt_rt_config, magic) == page_bytes,
              "the robust word has a page of its own");

static dt_rt_config* map_config(int flags, int fd)
{
    void* at =
        mmap(nullptr, sizeof(dt_rt_config), PROT_READ | PROT_WRITE, flags, fd, 0);
    return at == MAP_FAILED ? nullptr : static_cast<dt_rt_config*>(at);
}

Result<Ok> RuntimeConfig::make(pid_t pid)
{
    forget();
    auto memory = make_memfd("dtrace-config", sizeof(dt_rt_config));
    if (!memory)
        return memory.error().during("create the runtime's config");
    const int fd = memory->writer.get();
    own_ = map_config(MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    shared_ = map_config(MAP_SHARED, fd);
    if (own_ == nullptr || shared_ == nullptr) {
        Error error = errno_error("map the runtime's config");
        forget();
        return error;
    }
    if (auto held = alive_.hold(fd); !held) {
        forget();
        return held;
    }
    // The agent's mappings already exist. The seals prevent further writable mappings.
    constexpr int seals =
        F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    if (fcntl(fd, F_ADD_SEALS, seals) != 0) {
        Error error = errno_error("seal the runtime's config");
        forget();
        return error;
    }
    reader_ = std::move(memory->reader);
    set(own_->magic, DT_RT_MAGIC);
    set(own_->pid, static_cast<std::uint32_t>(pid));
    return Ok{};
}

void RuntimeConfig::forget()
{
    alive_.release();
    if (own_ != nullptr)
        munmap(own_, sizeof *own_);
    if (shared_ != nullptr)
        munmap(shared_, sizeof *shared_);
    own_ = shared_ = nullptr;
    reader_.reset();
}

} // namespace dt::agent

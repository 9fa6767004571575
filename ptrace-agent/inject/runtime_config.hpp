// SPDX-License-Identifier: MIT
// The config that the runtime in a target reads. The agent keeps two copies of it.
//
//   agent                                     target
//   own_    (private) <── every read
//   shared_ (rw) ══════ sealed memfd ═══════ image + DT_RT_CONFIG (r--)
//
// The agent writes each value to both copies, but reads only own_. The seals keep other
// processes from writing the memfd (base/memfd.hpp). Even if a process could change the
// memfd, the agent would not use the changed value.
//
// Threads of the target may read the config at any time. So each entry is complete
// before it is published.
#pragma once

#include "base/memfd.hpp"
#include "base/result.hpp"
#include "ptrace-agent/inject/robust_word.hpp"
#include "ptrace-agent/runtime/runtime.h"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <sys/types.h>
#include <type_traits>

namespace dt::agent {

class RuntimeConfig {
public:
    RuntimeConfig() = default;
    RuntimeConfig(const RuntimeConfig&) = delete;
    RuntimeConfig& operator=(const RuntimeConfig&) = delete;
    ~RuntimeConfig() { forget(); }

    // Creates the config of a target and seals it. If this fails, no config exists.
    Result<Ok> make(pid_t pid);
    void forget();
    // Returns the read-only descriptor that a target may map.
    int fd() const { return reader_.get(); }

    const dt_rt_config& own() const { return *own_; }

    // Sets a field of own() in both copies. Threads of the target must not be reading
    // the field.
    template <class T> void set(const T& field, const std::type_identity_t<T>& value)
    {
        static_assert(std::is_trivially_copyable_v<T>);
        set_bytes(&field, &value, sizeof value);
    }
    template <class T> void set_all(const T* first, std::span<const T> values)
    {
        static_assert(std::is_trivially_copyable_v<T>);
        set_bytes(first, values.data(), values.size_bytes());
    }
    // Stores a field atomically. Readers of the new value also see all earlier writes.
    template <class T> void publish(const T& field, std::type_identity_t<T> value)
    {
        store(field, value, __ATOMIC_RELEASE);
    }
    // Like publish(), but also orders later memory accesses of the agent after the
    // store.
    template <class T> void announce(const T& field, std::type_identity_t<T> value)
    {
        store(field, value, __ATOMIC_SEQ_CST);
    }

    // Stores two adjacent words atomically. The runtime reads both with one load.
    void publish_pair(const std::uint32_t& low, std::uint32_t value,
                      const std::uint32_t& high, std::uint32_t value_high)
    {
        assert(&high == &low + 1);
        const_cast<std::uint32_t&>(low) = value;
        const_cast<std::uint32_t&>(high) = value_high;
        __atomic_store_n(static_cast<std::uint64_t*>(shared_of(&low)),
                         std::uint64_t{value_high} << 32 | value, __ATOMIC_RELEASE);
    }

    // These functions return the memory of a part of own(), so that the caller can
    // prefault it. own_pages() returns the private copy, and shared_pages() returns the
    // shared copy.
    std::span<std::byte> own_pages(std::span<const std::byte> part) const
    {
        return {const_cast<std::byte*>(part.data()), part.size()};
    }
    std::span<std::byte> shared_pages(std::span<const std::byte> part) const
    {
        return {static_cast<std::byte*>(shared_of(part.data())), part.size()};
    }

private:
    template <class T> void store(const T& field, T value, int order)
    {
        static_assert(std::is_integral_v<T>);
        const_cast<T&>(field) = value;
        __atomic_store_n(static_cast<T*>(shared_of(&field)), value, order);
    }
    void* shared_of(const void* field) const
    {
        return reinterpret_cast<char*>(shared_) +
               (static_cast<const char*>(field) - reinterpret_cast<const char*>(own_));
    }
    void set_bytes(const void* field, const void* value, std::size_t bytes)
    {
        std::memcpy(const_cast<void*>(field), value, bytes);
        std::memcpy(shared_of(field), value, bytes);
    }

    Fd reader_;
    dt_rt_config* own_ = nullptr;
    dt_rt_config* shared_ = nullptr; // written, but never read
    RobustWord alive_;
};

} // namespace dt::agent

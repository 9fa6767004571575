// SPDX-License-Identifier: MIT
// The config that a runtime reads: written twice, and read here from our own copy.
//
//   here                                      target
//   own_    (private) <── every read
//   shared_ (rw) ══════ sealed memfd ═══════ image + DT_RT_CONFIG (r--)
//
// No descriptor, mapping or path gives another process the right to write the memfd
// (base/memfd.hpp, F_SEAL_FUTURE_WRITE). Even so nothing is read back from it: if a
// hostile process changed an index or an address there, a process with more rights
// would use it. The runtime does not write to the config.
//
// Threads of the target read at any time, so each entry is complete before it is published.
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

    Result<Ok> make(pid_t pid);
    void forget();
    // Returns a descriptor that a target may map. It is opened for reading.
    int fd() const { return reader_.get(); }

    const dt_rt_config& own() const { return *own_; }

    // Sets a field of own(). Must not be used for fields that threads of the target may
    // be reading.
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
    // Stores a field at once, after everything that was written before.
    template <class T> void publish(const T& field, std::type_identity_t<T> value)
    {
        store(field, value, __ATOMIC_RELEASE);
    }
    // Does the same, and also before everything that this thread does afterwards.
    template <class T> void announce(const T& field, std::type_identity_t<T> value)
    {
        store(field, value, __ATOMIC_SEQ_CST);
    }

    // Stores two adjacent words, which threads read as one.
    void publish_pair(const std::uint32_t& low, std::uint32_t value,
                      const std::uint32_t& high, std::uint32_t value_high)
    {
        assert(&high == &low + 1);
        const_cast<std::uint32_t&>(low) = value;
        const_cast<std::uint32_t&>(high) = value_high;
        __atomic_store_n(static_cast<std::uint64_t*>(shared_of(&low)),
                         std::uint64_t{value_high} << 32 | value, __ATOMIC_RELEASE);
    }

    // Returns the two copies of a part of own(), so that their pages can be prefaulted.
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
    dt_rt_config* shared_ = nullptr; // never read
    RobustWord alive_;
};

} // namespace dt::agent
